//! Postgres URLs, looked at before libpq does: it would quote what it can't read, which may be the password.

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
