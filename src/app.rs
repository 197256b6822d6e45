//! The whole application: what it is made of, every route it has, and how it serves.

mod health;
mod host;
mod routes;

use std::{future::Future, net::TcpListener, sync::Arc, time::Duration};

use actix_web::{
    App as Actix, HttpServer,
    body::MessageBody,
    dev::{ServiceFactory, ServiceRequest, ServiceResponse},
    http::Method,
    middleware, web,
};
use tokio::task::JoinHandle;

pub use routes::routes;

use crate::{
    audit::Door,
    auth::{
        Auth, SignInLimits,
        guard::{Proxies, source},
    },
    config::Config,
    db::{Clock, Db},
    error::{Error, Result},
    gateway::{AgentLimits, Gateway},
    kinds::Registry,
    mcp,
    metrics::Metrics,
    notify::{Channel, Notifier, Outcome},
    shop,
    tasks::keep,
    web as pages,
    workflow::{Gate, Policy, RetryWindows, Waiters},
};

/// How often the sweeper looks for what is past due.
const SWEEP_EVERY: Duration = Duration::from_secs(5);
/// How long what is under way may take to finish after SIGTERM: requests, and messages to people.
const GRACE: Duration = Duration::from_secs(8);

/// Everything a process needs to answer; cheap to clone.
#[derive(Clone)]
pub struct App {
    pub config: Config,
    pub db: Db,
    pub clock: Clock,
    pub gate: Gate,
    pub auth: Auth,
    pub gateway: Gateway,
    pub notifier: Notifier,
    pub metrics: Metrics,
}

impl App {
    /// Puts the application together. The database is not reached yet.
    ///
    /// # Errors
    /// `Setup` for a configuration that can't work.
    pub fn build(config: Config) -> Result<Self> {
        let clock = Clock::default();
        let registry = registry(&config, clock.clone());
        Self::assemble(None, config, registry, clock)
    }

    /// The application on a database that is open already.
    ///
    /// # Errors
    /// As [`App::build`].
    pub fn on(db: Db, config: Config) -> Result<Self> {
        let clock = Clock::default();
        let registry = registry(&config, clock.clone());
        Self::assemble(Some(db), config, registry, clock)
    }

    /// The application with kinds and read tools of one's own.
    ///
    /// # Errors
    /// As [`App::build`].
    pub fn with_registry(config: Config, registry: Registry) -> Result<Self> {
        Self::assemble(None, config, registry, Clock::default())
    }

    fn assemble(db: Option<Db>, config: Config, registry: Registry, clock: Clock) -> Result<Self> {
        let policy = Policy {
            action_ttl: chrono::TimeDelta::from_std(config.action_ttl.duration())
                .map_err(|_| Error::Setup("COUNTERSIGN_ACTION_TTL is too long.".to_owned()))?,
            retry_windows: retry_windows(&config, &registry)?,
            write_limit: config.write_rate.write_limit(),
            public_url: config.public_url().origin().ascii_serialization(),
        };
        // Nothing is made under settings that can't work.
        config.look_at_secret()?;
        let mailer = config.mailer()?.map(|mailer| Arc::new(mailer) as Arc<dyn Channel>);
        let db = match db {
            Some(db) => db,
            None => Db::open(&config.database_url)?,
        };
        let metrics = Metrics::default();
        let secret = config.open_secret()?;
        let counted = metrics.clone();
        let gate = Gate {
            db: db.clone(),
            clock: clock.clone(),
            registry,
            policy,
            waiters: Waiters::default(),
            observe: Arc::new(move |outcome: &str| counted.decision(outcome)),
        };
        let auth = Auth {
            db: db.clone(),
            clock: clock.clone(),
            secret,
            limits: Arc::new(SignInLimits::default()),
            failures: Arc::default(),
        };
        let observed = metrics.clone();
        let observe = Arc::new(move |channel: &str, outcome: Outcome| observed.delivery(channel, outcome));
        let notifier =
            Notifier::new(gate.clone(), auth.secret.clone(), mailer.into_iter().collect(), observe);
        let limits = AgentLimits::new(config.read_rate, config.write_rate);
        let observed = metrics.clone();
        let observe = Arc::new(move |tool: &str, outcome: &str, took| observed.tool(tool, outcome, took));
        let gateway = Gateway::new(gate.clone(), auth.clone(), limits, observe);
        Ok(Self {
            config,
            db,
            clock,
            gate,
            auth,
            gateway,
            notifier,
            metrics,
        })
    }

    /// Begins what a process does beside answering; whoever answers agents does.
    pub fn begin_chores(&self) -> Chores {
        let (app, gate) = (self.clone(), self.gate.clone());
        Chores([
            tokio::spawn(keep("sweeper", move || app.clone().sweep_for_ever())),
            tokio::spawn(keep("watcher", move || gate.clone().watch_for_ever())),
        ])
    }

    /// Expires what is past due, every few seconds, for ever. Stopping it changes nothing but labels.
    async fn sweep_for_ever(self) {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            self.auth.limits.tidy();
            if let Err(error) = self.auth.write_down_failures().await {
                tracing::warn!(%error, "denials will be counted later");
            }
            if let Err(error) = self.gate.sweep().await {
                tracing::warn!(%error, "the sweeper will try again");
            }
        }
    }
}

/// The sweeper, and the watcher of other processes' decisions: they end when this is dropped.
pub struct Chores([JoinHandle<()>; 2]);

impl Drop for Chores {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// Serves until `shutdown` resolves, then lets requests under way finish. `app.config.listen` names the listener's
/// address: bind before building the application when the port is 0.
///
/// # Errors
/// When the listener can't be used.
pub async fn serve(app: App, listener: TcpListener, shutdown: impl Future<Output = ()>) -> Result<()> {
    let (chores, workers) = (app.begin_chores(), app.notifier.start());
    let (waiters, auth) = (app.gate.waiters.clone(), app.auth.clone());
    let listener_error = |error: std::io::Error| Error::Setup(format!("The server can't listen: {error}"));
    let server = HttpServer::new(move || application(&app))
        .listen(listener)
        .map_err(listener_error)?
        // A client that has hung up is not waited for; what it asked for is done all the same.
        .h1_allow_half_closed(false)
        .disable_signals()
        .shutdown_timeout(GRACE.as_secs())
        .run();
    let handle = server.handle();
    let mut running = tokio::spawn(server);
    let ended = tokio::select! {
        () = shutdown => None,
        ended = &mut running => Some(ended),
    };
    drop(chores);
    waiters.stop();
    let handed_back = tokio::spawn(tokio::time::timeout(GRACE, workers.stop()));
    let ended = match ended {
        Some(ended) => ended,
        None => {
            handle.stop(true).await;
            running.await
        }
    };
    match handed_back.await {
        Ok(Ok(())) => {}
        Ok(Err(_)) => tracing::warn!("messages under way could not be handed back in time"),
        Err(panic) => tracing::warn!(%panic, "messages under way are delivered again later"),
    }
    auth.write_down_the_last_failures().await;
    ended.map_err(Error::internal)?.map_err(listener_error)
}

/// One worker's application: shared state, headers for every answer, and the table of routes.
fn application(
    app: &App,
) -> Actix<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<impl MessageBody + use<>>,
        Error = actix_web::Error,
        InitError = (),
    > + use<>,
> {
    Actix::new()
        .app_data(web::Data::new(app.gate.clone()))
        .app_data(web::Data::new(app.auth.clone()))
        .app_data(web::Data::new(app.metrics.clone()))
        .app_data(web::Data::new(app.notifier.clone()))
        .app_data(web::Data::new(app.config.clone()))
        .app_data(web::Data::new(Proxies(app.config.proxies().to_vec())))
        .configure(routes::mount)
        .configure(pages::configure)
        .service(mcp::http::service(agents_door(app)))
        .wrap(middleware::from_fn(host::check))
        .wrap(pages::headers())
        .wrap(middleware::from_fn(count))
}

fn agents_door(app: &App) -> mcp::http::Mount {
    mcp::http::Mount {
        gateway: app.gateway.clone(),
        public_url: app.config.public_url(),
        address: Arc::new(|request| source(request, Door::Http).address),
    }
}

/// Counts each answer under the table's path.
async fn count(
    request: ServiceRequest,
    next: middleware::Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let metrics = request.app_data::<web::Data<Metrics>>().cloned();
    let response = next.call(request).await?;
    if let Some(metrics) = metrics {
        let route = response.request().match_pattern().unwrap_or_else(|| "none".to_owned());
        metrics.http(method(response.request().method()), &route, response.status().as_u16());
    }
    Ok(response)
}

/// A client may send any word as a method; only the usual ones become a label.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::POST => "POST",
        Method::HEAD => "HEAD",
        _ => "other",
    }
}

/// Every kind and read tool there is, under these settings and by this clock.
pub fn registry(config: &Config, clock: Clock) -> Registry {
    let limits = shop::Limits {
        max_stock_delta: config.max_stock_delta,
    };
    shop::register(Registry::default(), limits, clock)
}

/// The retry windows that the settings put in place of the kinds' own.
///
/// # Errors
/// `Setup` when they name a kind that is none.
pub fn retry_windows(config: &Config, registry: &Registry) -> Result<RetryWindows> {
    let windows = config.retry_window.clone().map(|windows| windows.0).unwrap_or_default();
    if let Some(unknown) = windows.by_kind.keys().find(|kind| registry.find_kind(kind).is_none()) {
        return Err(Error::Setup(format!(
            "COUNTERSIGN_RETRY_WINDOW names {unknown}, which is no kind of action."
        )));
    }
    Ok(windows)
}
