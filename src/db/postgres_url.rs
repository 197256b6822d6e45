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

/// The one parameter that is Countersign's own: whether connections keep their statements prepared, each under a name.
const PREPARED: &str = "prepared_statements";

/// The URL as libpq takes it, and whether statements are kept prepared.
pub(super) fn for_libpq(url: &str) -> (String, bool) {
    let (before, query) = url.split_once('?').unwrap_or((url, ""));
    let Some(said) = query.split('&').filter_map(own).next_back() else {
        return (with_limits(url), false);
    };
    let others: Vec<_> = query.split('&').filter(|pair| own(pair).is_none()).collect();
    (with_limits(&format!("{before}?{}", others.join("&"))), said == "yes")
}

/// What a pair says, if it is the parameter of our own.
fn own(pair: &str) -> Option<&str> {
    pair.split_once('=').filter(|(name, _)| *name == PREPARED).map(|(_, value)| value)
}

/// The URL with what it does not say of time-outs.
fn with_limits(url: &str) -> String {
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
        return check_own(rest);
    }
    Err("must be written as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with what is special in a URL percent-encoded: in \
         a password @ is %40, / is %2F, ? is %3F, # is %23 and % is %25"
        .to_owned())
}

fn check_own(rest: &str) -> Result<(), String> {
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    if query.split('&').filter_map(own).all(|value| ["yes", "no"].contains(&value)) {
        return Ok(());
    }
    Err(format!("must say {PREPARED}=yes or {PREPARED}=no"))
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

    #[test]
    fn its_own_parameter_is_kept_from_libpq() {
        for (query, prepared) in [
            ("", false),
            ("?prepared_statements=yes", true),
            ("?prepared_statements=no", false),
            ("?prepared_statements=no&prepared_statements=yes", true),
        ] {
            let (url, said) = for_libpq(&format!("postgres://a@b/c{query}"));
            assert_eq!((url, said), (with_limits("postgres://a@b/c"), prepared), "{query}");
        }
        let (url, prepared) = for_libpq("postgres://a@b/c?sslmode=require&prepared_statements=yes&options=x");
        assert_eq!(url, with_limits("postgres://a@b/c?sslmode=require&options=x"));
        assert!(prepared);
    }

    #[test]
    fn its_own_parameter_is_yes_or_no() {
        for query in [
            "prepared_statements=yes",
            "sslmode=require&prepared_statements=no",
            "prepared_statement=1",
        ] {
            assert_eq!(check(&format!("postgres://a@b/c?{query}")), Ok(()), "{query}");
        }
        for query in [
            "prepared_statements=",
            "prepared_statements=Yes",
            "prepared_statements=no=yes",
            "prepared_statements=yes&prepared_statements=1",
        ] {
            let refusal = check(&format!("postgres://a@b/c?{query}")).unwrap_err();
            assert_eq!(refusal, "must say prepared_statements=yes or prepared_statements=no", "{query}");
        }
    }
}
