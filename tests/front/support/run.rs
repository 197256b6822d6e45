//! How a test is run: once on each backend.

use super::Backend;

/// Makes two tests of each function named, `name::sqlite` and `name::postgres`. The function is async and takes
/// a reference to what it runs on, some [`Fixture`].
macro_rules! backends {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            use crate::support::{Backend, run::run};

            #[test]
            fn sqlite() {
                run(Backend::Sqlite, super::$name);
            }

            #[test]
            fn postgres() {
                run(Backend::Postgres, super::$name);
            }
        }
    )+};
}
pub(crate) use backends;

/// What a test runs on: made for it alone, gone after it.
pub trait Fixture: Sized {
    async fn set_up(backend: Backend) -> Self;

    /// After a test that passed. After one that panics there is only `Drop`.
    async fn tear_down(self) {}
}

/// Runs a test, unless this run leaves its backend out.
pub fn run<F: Fixture>(backend: Backend, test: impl AsyncFnOnce(&F)) {
    if !backend.is_selected() {
        return;
    }
    runtime().block_on(async {
        let fixture = F::set_up(backend).await;
        test(&fixture).await;
        fixture.tear_down().await;
    });
}

/// A runtime for a test, with threads of its own.
pub fn runtime() -> tokio::runtime::Runtime {
    // What `main` does first. A second test in this process finds it done.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
