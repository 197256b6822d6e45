//! HTTP clients.

/// A client with connections of its own. It follows no redirect, and trusts no certificate: reading those of the system
/// takes longer than a test.
pub fn client() -> reqwest::Client {
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    builder.tls_certs_only([]).build().unwrap()
}
