//! The names this server answers to. A web page can make a browser take a name of its own for this machine (DNS
//! rebinding); such a request carries that name.
//!
//! An address in figures is never such a name, whichever it is. Behind a trusted proxy the name is the proxy's matter.
//! Probes may use any name; so may a monitoring system with a token, which no web page has.

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header,
    middleware::Next,
    web,
};
use url::{Host, Url};

use crate::{
    api,
    auth::guard::{Proxies, peer},
    config::Config,
    mcp, web as pages,
};

/// Where every name is right.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Refuses requests by a name that is none of this server's.
pub(super) async fn check(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    if is_open(request.request()) || is_proxied(request.request()) || is_ours(request.request()) {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    }
    let refused = misdirected(request.request());
    Ok(request.into_response(refused))
}

fn is_open(request: &HttpRequest) -> bool {
    let config = request.app_data::<web::Data<Config>>();
    let by_token = config.is_some_and(|config| config.metrics_token.is_some());
    OPEN.contains(&request.path()) || (by_token && request.path() == "/metrics")
}

fn misdirected(request: &HttpRequest) -> HttpResponse {
    match request.path() {
        mcp::http::PATH => mcp::http::misdirected(),
        path if api::owns(path) => api::misdirected().error_response(),
        _ => pages::misdirected(),
    }
}

fn is_proxied(request: &HttpRequest) -> bool {
    let proxies = request.app_data::<web::Data<Proxies>>();
    peer(request).zip(proxies).is_some_and(|(peer, proxies)| proxies.trust(&peer))
}

/// Whether every name the request carries is ours. Browsers always send one.
fn is_ours(request: &HttpRequest) -> bool {
    let public = request.app_data::<web::Data<Config>>().map(|config| config.public_url());
    let mut names = request.headers().get_all(header::HOST);
    names.all(|name| name.to_str().is_ok_and(|name| is_name_of(name, public.as_ref())))
}

fn is_name_of(name: &str, public: Option<&Url>) -> bool {
    let Ok(url) = Url::parse(&format!("http://{name}/")) else { return false };
    if url.path() != "/" || !url.username().is_empty() || url.query().is_some() || url.fragment().is_some() {
        return false;
    }
    match url.host() {
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || public.and_then(Url::host_str) == Some(name)
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_ours_or_a_figure() {
        let public: Url = "https://gate.example.com".parse().expect("a URL");
        let is_ours = |name: &str| is_name_of(name, Some(&public));
        for ours in [
            "localhost",
            "localhost:8080",
            "LOCALHOST.",
            "127.0.0.1:8080",
            "192.168.1.5",
            "[::1]:8080",
            "gate.example.com",
            "GATE.example.com:443",
            "gate.example.com.",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for other in [
            "",
            "evil.example",
            "evil.example:8080",
            "gate.example.com.evil.example",
            "evil-gate.example.com",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "gate.example.com@evil.example",
            "evil.example/gate.example.com",
            "evil.example#gate.example.com",
            "gate.example.com, evil.example",
        ] {
            assert!(!is_ours(other), "{other}");
        }
        assert!(!is_name_of("gate.example.com", None));
    }
}
