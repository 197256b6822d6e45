//! HTTP clients.

use std::time::Duration;

/// Shorter than the server keeps an idle connection open: whoever uses one just when it is closed gets no answer.
const IDLE: Duration = Duration::from_secs(2);

/// A client with connections of its own. It follows no redirect, and trusts no certificate: reading those of the system
/// takes longer than a test.
pub fn client() -> reqwest::Client {
    choose_cryptography();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).no_proxy();
    builder.pool_idle_timeout(IDLE).tls_certs_only([]).build().unwrap()
}

/// What `main` does first. Whoever comes later in this process finds it done.
pub fn choose_cryptography() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}
