//! What a request says of who sent it: its address, and its token.

use std::net::IpAddr;

use actix_web::{HttpRequest, http::header, web};
use ipnet::IpNet;

use crate::audit::{Door, Source};

/// The networks whose `X-Forwarded-For` counts, as app data.
pub struct Proxies(pub Vec<IpNet>);

impl Proxies {
    /// Whether an address is one of theirs.
    pub fn trust(&self, address: &IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }
}

/// The address at the other end of the connection. One of IPv4 is written as such, also where the server listens on
/// IPv6 and is told `::ffff:192.0.2.7`: it is the same client.
pub fn peer(request: &HttpRequest) -> Option<IpAddr> {
    request.peer_addr().map(|peer| peer.ip().to_canonical())
}

/// The token of the one `Authorization: Bearer` header. Two of them could mean one thing here and another to a proxy.
pub fn bearer(request: &HttpRequest) -> Option<String> {
    let mut headers = request.headers().get_all(header::AUTHORIZATION);
    let (Some(header), None) = (headers.next(), headers.next()) else {
        return None;
    };
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

/// Where a request came from. `X-Forwarded-For` counts as far as trusted proxies wrote it.
pub fn source(request: &HttpRequest, door: Door) -> Source {
    let proxies = request.app_data::<web::Data<Proxies>>();
    let trusted = |address: &IpAddr| proxies.is_some_and(|proxies| proxies.trust(address));
    let Some(peer) = peer(request) else {
        return Source { door, address: None };
    };
    let forwarded: Vec<&str> = request
        .headers()
        .get_all("x-forwarded-for")
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let mut client = peer;
    for hop in forwarded.iter().rev() {
        if !trusted(&client) {
            break;
        }
        match hop.parse::<IpAddr>() {
            Ok(address) => client = address.to_canonical(),
            Err(_) => break,
        }
    }
    Source {
        door,
        address: Some(client.to_string()),
    }
}
