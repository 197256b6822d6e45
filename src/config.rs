//! Every setting, its default and its environment variable.

mod refused;
mod units;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Arg, Args, Command, FromArgMatches};
use ipnet::IpNet;

pub use refused::sentence as refused;
pub use units::{Lifetime, LogStyle, PublicUrl, TrustedProxies, Windows, address, server};

pub use crate::{
    gateway::Rate,
    notify::email::{Authority, Sender, SmtpUrl},
};

use crate::{
    auth::Secret,
    db::DatabaseUrl,
    error::{Error, Result},
    notify::email::Mailer,
};

/// The settings. Flags come before environment variables, and those before defaults.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Settings")]
pub struct Config {
    /// Where the database is: sqlite://PATH or postgres://…
    #[arg(
        long,
        env = "DATABASE_URL",
        default_value = Self::DEFAULT_DATABASE,
        hide_env_values = true,
        value_name = "URL"
    )]
    pub database_url: DatabaseUrl,

    /// Leave the schema alone: `serve` does not start unless it is up to date
    #[arg(long, env = "COUNTERSIGN_NO_MIGRATE", value_parser = units::yes_or_no)]
    pub no_migrate: bool,

    /// The address to listen on
    #[arg(
        long,
        env = "COUNTERSIGN_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS:PORT",
        value_parser = units::address
    )]
    pub listen: SocketAddr,

    /// Where people and agents reach this server [default: http://, then the listen address]
    #[arg(long, env = "COUNTERSIGN_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<PublicUrl>,

    /// Networks of proxies whose X-Forwarded-For counts, separated by commas [default: none]
    #[arg(long, env = "COUNTERSIGN_TRUSTED_PROXIES", value_name = "NETWORKS")]
    pub trusted_proxies: Option<TrustedProxies>,

    /// 32 or more random bytes that key every stored token; kept beside the SQLite file if absent, required on Postgres
    #[arg(long, env = "COUNTERSIGN_SECRET", hide_env_values = true, value_name = "SECRET", value_parser = units::secret)]
    pub secret: Option<String>,

    /// How long a request waits for a decision: a number with s, m, h or d
    #[arg(long, env = "COUNTERSIGN_ACTION_TTL", default_value = "30m", value_name = "DURATION")]
    pub action_ttl: Lifetime,

    /// How long a repeated request replays the outcome: one duration, or KIND=DURATION separated by commas; 0 requires keys
    /// [default: each kind's own]
    #[arg(long, env = "COUNTERSIGN_RETRY_WINDOW", value_name = "DURATIONS")]
    pub retry_window: Option<Windows>,

    /// Calls per agent, as RATE/s, /min or /h, a colon, and the burst; or off
    #[arg(long, env = "COUNTERSIGN_READ_RATE", default_value = "120/min:60", value_name = "RATE")]
    pub read_rate: Rate,

    /// New requests per agent, in the same form
    #[arg(long, env = "COUNTERSIGN_WRITE_RATE", default_value = "30/min:15", value_name = "RATE")]
    pub write_rate: Rate,

    /// The largest stock change one request may ask for
    #[arg(long, env = "COUNTERSIGN_MAX_STOCK_DELTA", default_value = "1000", value_name = "PIECES",
          value_parser = units::pieces)]
    pub max_stock_delta: i64,

    /// The bearer token that opens /metrics [default: only this machine may read it]
    #[arg(long, env = "COUNTERSIGN_METRICS_TOKEN", hide_env_values = true, value_name = "TOKEN", value_parser = units::token)]
    pub metrics_token: Option<String>,

    /// The mail server: smtp:// (STARTTLS) or smtps:// (TLS), user and password, host and port [default: no mail is sent]
    #[arg(long, env = "SMTP_URL", hide_env_values = true, value_name = "URL")]
    pub smtp_url: Option<SmtpUrl>,

    /// A PEM file with one more authority that may vouch for the mail server
    #[arg(long, env = "COUNTERSIGN_SMTP_CA", value_name = "FILE")]
    pub smtp_ca: Option<Authority>,

    /// Who mail is from [default: Countersign <countersign@ and the host of the public address>]
    #[arg(long, env = "COUNTERSIGN_MAIL_FROM", value_name = "ADDRESS")]
    pub mail_from: Option<Sender>,

    /// What is logged to stderr: error, warn, info, debug or trace, and json for machines, separated by commas
    #[arg(long, env = "COUNTERSIGN_LOG", default_value = "info", value_name = "LEVEL")]
    pub log: LogStyle,
}

impl Config {
    /// Where the database is unless something else is said.
    pub const DEFAULT_DATABASE: &str = "sqlite://countersign.db";

    /// The settings of the environment, on another database.
    ///
    /// # Errors
    /// `Setup` when the environment holds a bad value.
    pub fn on(database_url: &str) -> Result<Self> {
        Self::read(&["--database-url", database_url])
    }

    /// The settings that these flags make of the environment's.
    ///
    /// # Errors
    /// `Setup` for a value that a setting can't take.
    pub fn read(flags: &[&str]) -> Result<Self> {
        let mut command = Self::command();
        command
            .try_get_matches_from_mut(flags)
            .and_then(|matches| Self::from_arg_matches(&matches))
            .map_err(|error| {
                Error::Setup(refused::sentence(&error, &command).unwrap_or_else(|| error.to_string()))
            })
    }

    /// Every setting's environment variable and flag.
    pub fn settings() -> Vec<(String, String)> {
        let command = Self::command();
        let named = |setting: &Arg| {
            let variable = setting.get_env()?.to_str()?.to_owned();
            Some((variable, format!("--{}", setting.get_long()?)))
        };
        command.get_arguments().filter_map(named).collect()
    }

    fn command() -> Command {
        Self::augment_args(Command::new("countersign").no_binary_name(true))
    }

    /// What hands mail to the mail server; nothing where none is set.
    ///
    /// # Errors
    /// `Internal` when TLS can't be set up.
    pub fn mailer(&self) -> Result<Option<Mailer>> {
        let Some(server) = &self.smtp_url else { return Ok(None) };
        Mailer::new(server, self.smtp_ca.as_ref(), self.mail_from(), &self.public_url()).map(Some)
    }

    /// Who mail is from.
    pub fn mail_from(&self) -> Sender {
        self.mail_from.clone().unwrap_or_else(|| Sender::of(&self.public_url()))
    }

    /// Refuses to serve at every address of the machine without being told which of them people open.
    ///
    /// # Errors
    /// `Setup`.
    pub fn check_public_url(&self) -> Result<()> {
        if self.public_url.is_some() || !self.listen.ip().is_unspecified() {
            return Ok(());
        }
        Err(Error::Setup(format!(
            "COUNTERSIGN_PUBLIC_URL (--public-url) is missing: COUNTERSIGN_LISTEN is {}, which is no address that anybody \
             can open; set it to where people and agents reach this server, such as https://gate.example.com.",
            self.listen
        )))
    }

    /// Where people and agents reach this server: an origin.
    pub fn public_url(&self) -> url::Url {
        let listen = || format!("http://{}", self.listen).parse().expect("a socket address makes a URL");
        self.public_url.as_ref().map_or_else(listen, |url| url.url().clone())
    }

    /// Whether cookies must only travel encrypted.
    pub fn is_https(&self) -> bool {
        self.public_url().scheme() == "https"
    }

    /// The networks whose `X-Forwarded-For` counts.
    pub fn proxies(&self) -> &[IpNet] {
        self.trusted_proxies.as_ref().map_or(&[], |proxies| proxies.networks())
    }

    /// The secret from the configuration, or the one kept beside the SQLite file, which is made if there is none.
    ///
    /// # Errors
    /// `Setup` when it is short, looks like an example, or is missing on Postgres.
    pub fn open_secret(&self) -> Result<Secret> {
        let database = match (self.look_at_secret()?, self.database_url.file()) {
            (Some(secret), _) => return Ok(secret),
            (None, Some(database)) => database,
            (None, None) => return Err(no_secret()),
        };
        Secret::beside(&secret_path(database))
    }

    /// The same, but nothing where one is yet to be made. Writes nothing.
    ///
    /// # Errors
    /// As [`Config::open_secret`].
    pub fn look_at_secret(&self) -> Result<Option<Secret>> {
        match (&self.secret, self.database_url.file()) {
            (Some(secret), _) => Secret::new(secret).map(Some),
            (None, Some(path)) => Secret::kept(&secret_path(path)),
            (None, None) => Err(no_secret()),
        }
    }

    /// Where it is, as the beginning of a sentence.
    pub fn secret_place(&self) -> String {
        match self.secret_file() {
            Some(file) => format!("The secret in {}", file.display()),
            None => "COUNTERSIGN_SECRET".to_owned(),
        }
    }

    /// The file that it is in, or would be, unless it is set.
    pub fn secret_file(&self) -> Option<PathBuf> {
        let database = self.database_url.file().filter(|_| self.secret.is_none())?;
        let path = secret_path(database);
        Some(std::path::absolute(&path).unwrap_or(path))
    }

    /// The same settings with a secret that is kept nowhere: for what needs none, in the place of one that is missing.
    #[must_use]
    pub fn with_a_passing_secret(self) -> Self {
        Self {
            secret: Some(Secret::random_text()),
            ..self
        }
    }
}

fn no_secret() -> Error {
    Error::Setup(
        "COUNTERSIGN_SECRET is missing. On Postgres every process needs the same one; for a new database make it with \
         `openssl rand -hex 32`."
            .to_owned(),
    )
}

fn secret_path(database: &Path) -> PathBuf {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push(".secret");
    database.with_file_name(name)
}
