//! The ways on: from a form, and by sign-in.

use actix_web::{HttpResponse, http::header};
use url::Url;

/// After a form: another page, so that reloading repeats nothing.
pub fn see_other(address: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, address)).finish()
}

/// The address that leads to sign-in, and from there to `next`.
pub fn sign_in(next: &str) -> String {
    match local(next) {
        "/" => "/login".to_owned(),
        next => {
            let query: String = url::form_urlencoded::byte_serialize(next.as_bytes()).collect();
            format!("/login?next={query}")
        }
    }
}

/// `next` if it is a path on this server, else the queue.
pub fn local(next: &str) -> &str {
    let here = Url::parse("http://here.invalid").expect("a URL");
    let odd = |c: char| c == '\\' || c.is_control() || !c.is_ascii();
    let is_local = next.starts_with('/')
        && !next.contains(odd)
        && next.len() <= 2000
        && here
            .join(next)
            .is_ok_and(|url| url.origin() == here.origin() && url.username().is_empty());
    if is_local { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_on_this_server_are_ways_on() {
        for good in ["/", "/actions/0199?kind=refund", "/audit?since=7d&denied=1", "/orders/1044"] {
            assert_eq!(local(good), good);
        }
        for bad in [
            "",
            "actions",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/a\r\nSet-Cookie: x=y",
            "/ä",
        ] {
            assert_eq!(local(bad), "/", "{bad:?}");
        }
        assert_eq!(sign_in("/orders?q=a&b"), "/login?next=%2Forders%3Fq%3Da%26b");
        assert_eq!(sign_in("//evil.example"), "/login");
    }
}
