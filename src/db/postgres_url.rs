//! Postgres URLs, looked at before libpq does: it would quote what it can't read, which may be the password.

/// How soon a server is given up that says nothing any more: one that can't be reached, and one that is gone without a word.
/// Whoever writes these into the URL has their own way.
const LIMITS: [(&str, &str); 6] = [
    ("connect_timeout", "5"),
    ("keepalives", "1"),
    ("keepalives_idle", "5"),
    ("keepalives_interval", "2"),
    ("keepalives_count", "3"),
    ("tcp_user_timeout", "10000"),
];

/// The URL with what it does not say of time-outs.
pub(super) fn with_limits(url: &str) -> String {
    let said = |name: &str| {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        query.split('&').any(|pair| pair.split_once('=').is_some_and(|(known, _)| known == name))
    };
    let limits: Vec<_> = LIMITS
        .iter()
        .filter(|(name, _)| !said(name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let joint = match url.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some(_) => "&",
    };
    format!("{url}{}{}", if limits.is_empty() { "" } else { joint }, limits.join("&"))
}

/// Refuses what is not written as a URL is, without repeating any of it.
pub(super) fn check(url: &str) -> Result<(), String> {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    if is_plain(rest) {
        return Ok(());
    }
    Err("must be written as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with what is special in a URL percent-encoded: in \
         a password @ is %40, / is %2F, ? is %3F, # is %23 and % is %25"
        .to_owned())
}

fn is_plain(rest: &str) -> bool {
    let (before, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = before.split_once('/').unwrap_or((before, ""));
    let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let odd = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    !rest.contains(odd)
        && is_encoded(rest)
        && !user.contains(['@', '[', ']'])
        && hosts.split(',').all(is_host)
        && !database.contains(['@', '/', '[', ']'])
        && !query.contains(['@', '?'])
        && (query.is_empty() || query.split('&').all(|pair| pair.contains('=')))
}

/// Each `%` begins the two hexadecimal digits of a byte other than zero.
fn is_encoded(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit) && digits != b"00")
    })
}

/// A name or an address, and perhaps a port.
fn is_host(host: &str) -> bool {
    let port = match (host.strip_prefix('['), host.rsplit_once(':')) {
        (Some(address), _) => match address.split_once(']') {
            Some((_, "")) => return true,
            Some((_, after)) => after.strip_prefix(':'),
            None => None,
        },
        (None, Some((name, port))) => Some(port).filter(|_| !name.contains(':')),
        (None, None) => return !host.contains(']'),
    };
    port.is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_added_where_there_are_none() {
        let all = "connect_timeout=5&keepalives=1&keepalives_idle=5&keepalives_interval=2&keepalives_count=3&tcp_user_timeout=10000";
        assert_eq!(with_limits("postgres://a@b/c"), format!("postgres://a@b/c?{all}"));
        assert_eq!(with_limits("postgres://a@b/c?"), format!("postgres://a@b/c?{all}"));
        let own = with_limits("postgres://a@b/c?sslmode=require&connect_timeout=60");
        let others = all.split_once('&').unwrap().1;
        assert_eq!(own, format!("postgres://a@b/c?sslmode=require&connect_timeout=60&{others}"));
    }
}
