//! How a test is run: once on each backend.

use super::races::SEVERAL_PROCESSES;
use super::{Backend, Browser, TestApp, browser, http};

/// Makes two tests of each function named, `name::sqlite` and `name::postgres`. The function is async and takes
/// a reference to what it runs on, some [`Fixture`].
macro_rules! backends {
    ($($name:ident),+ $(,)?) => { $crate::support::run::on_each_backend!(run: $($name),+); };
}
pub(crate) use backends;

/// The same for functions that take a `&TestApp` and a `&Browser` with a window on it.
macro_rules! in_browser {
    ($($name:ident),+ $(,)?) => { $crate::support::run::on_each_backend!(run_in_browser: $($name),+); };
}
pub(crate) use in_browser;

/// The same for functions whose contenders can be spread over several processes: they take a reference to some [`Spread`], and
/// run with one process as well as with three, as `on_several_processes::name`.
macro_rules! races {
    ($($name:ident),+ $(,)?) => {
        $crate::support::backends!($($name),+);

        mod on_several_processes {
            use super::*;

            $crate::support::run::on_each_backend!(run_on_several_processes: $($name),+);
        }
    };
}
pub(crate) use races;

macro_rules! on_each_backend {
    ($run:ident: $($name:ident),+) => {$(
        mod $name {
            use $crate::support::{Backend, run::$run};

            #[test]
            fn sqlite() {
                $run(Backend::Sqlite, super::$name);
            }

            #[test]
            fn postgres() {
                $run(Backend::Postgres, super::$name);
            }
        }
    )+};
}
pub(crate) use on_each_backend;

/// What a test runs on: made for it alone, gone after it.
pub trait Fixture: Sized {
    async fn set_up(backend: Backend) -> Self;

    /// After a test that passed. After one that panics there is only `Drop`.
    async fn tear_down(self) {}
}

/// What can run in several processes too: two servers, and a program that speaks MCP over its standard input and output.
pub trait Spread: Fixture {
    async fn spread(backend: Backend) -> Self;
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

/// Runs a test in a browser, unless this run leaves out its backend or the browser.
pub fn run_in_browser(backend: Backend, test: impl AsyncFnOnce(&TestApp, &Browser)) {
    if !browser::is_selected() {
        return;
    }
    run(backend, async |app: &TestApp| {
        let browser = Browser::open(&app.url).await;
        test(app, &browser).await;
        browser.close().await;
    });
}

/// Runs a test in several processes, unless this run leaves its backend out.
pub fn run_on_several_processes<F: Spread>(backend: Backend, test: impl AsyncFnOnce(&F)) {
    if !backend.is_selected() {
        return;
    }
    runtime().block_on(async {
        let fixture = F::spread(backend).await;
        SEVERAL_PROCESSES.scope((), test(&fixture)).await;
        fixture.tear_down().await;
    });
}

/// A runtime for a test, with threads of its own.
pub fn runtime() -> tokio::runtime::Runtime {
    http::choose_cryptography();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}
