//! `check`: what is in force, what is wrong, and how to mend it.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use clap::Args;

use super::{logging, out::say, pause, secret, sentence, serve::bind};
use crate::{
    app,
    auth::SESSION_HOURS,
    config::Config,
    db::{Clock, Db, Schema},
    error::{Error, Result},
    kinds::Kind,
    notify::email::Mailer,
    store::{new_id, people},
    workflow::restored,
};

/// Read the settings, reach the database, and print what is in force and what is wrong
///
/// Ends with 0 only if `countersign serve` would work and mail, where it is set up, would be taken. Writes nothing.
#[derive(Args)]
pub struct Check {
    /// Send a test mail to this address
    #[arg(long, value_name = "ADDRESS")]
    mail_to: Option<String>,
    #[command(flatten)]
    config: Config,
}

impl Check {
    pub(super) async fn run(self) -> Result<()> {
        logging::start(self.config.log);
        let config = &self.config;
        let (listens, is_taken) = listens(config).await;
        let mut problems = usize::from(!listens);
        problems += usize::from(!addresses(config));
        limits(config);
        let secret = config.look_at_secret().map(|secret| place(config, secret.is_some()));
        problems += usize::from(!found("Secret", secret));
        for (kind, window) in windows(config) {
            problems += usize::from(!found(&kind, window));
        }
        problems += database(config).await;
        let mailer = config.mailer();
        problems += usize::from(mailer.is_err());
        let mail_works = mail(config, mailer, self.mail_to.as_deref()).await;
        match problems {
            0 if mail_works => {
                let once = if is_taken { ", once the one that listens there is stopped" } else { "" };
                say!("\n`countersign serve` would work{once}.");
                Ok(())
            }
            0 => Err(Error::Setup(
                "`countersign serve` would work, but there is a problem with mail.".to_owned(),
            )),
            1 => Err(Error::Setup("`countersign serve` would not work: there is a problem.".to_owned())),
            many => {
                Err(Error::Setup(format!("`countersign serve` would not work: there are {many} problems.")))
            }
        }
    }
}

fn line(what: &str, value: impl std::fmt::Display) {
    say!("{what:<24}{value}");
}

/// Prints what is in force, or what would keep `serve` from working. Answers whether all is well.
fn found(what: &str, value: Result<String>) -> bool {
    match &value {
        Ok(value) => line(what, value),
        Err(error) => line(what, format!("PROBLEM: {}", sentence(error))),
    }
    value.is_ok()
}

/// Whether the address is one to listen on, and whether a Countersign does so already.
async fn listens(config: &Config) -> (bool, bool) {
    match bind(config.listen) {
        Ok((_, _)) => (found("Listens on", Ok(config.listen.to_string())), false),
        Err(_) if answers(config.listen).await => {
            let taken = "where a Countersign is running already; another one needs another --listen";
            (found("Listens on", Ok(format!("{}, {taken}", config.listen))), true)
        }
        Err(error) => (found("Listens on", Err(error)), false),
    }
}

fn addresses(config: &Config) -> bool {
    let public = config.check_public_url().map(|()| config.public_url().to_string());
    let reached = found("Public URL", public);
    let proxies: Vec<_> = config.proxies().iter().map(ToString::to_string).collect();
    line("Trusted proxies", if proxies.is_empty() { "none".to_owned() } else { proxies.join(", ") });
    let readers = if config.metrics_token.is_some() {
        "the bearer of the token"
    } else {
        "this machine only"
    };
    line("/metrics is for", readers);
    reached
}

/// Whether a Countersign answers there.
async fn answers(listen: SocketAddr) -> bool {
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build();
    let Ok(client) = client else { return false };
    let answer = client.get(format!("http://{listen}/healthz")).send().await;
    match answer {
        Ok(answer) => answer.text().await.is_ok_and(|text| text == "ok\n"),
        Err(_) => false,
    }
}

fn limits(config: &Config) {
    line("Requests wait", shown(config.action_ttl.duration()));
    line("Sign-ins last", format!("{SESSION_HOURS} h"));
    line("Reads per agent", config.read_rate);
    line("New requests per agent", config.write_rate);
    line("Largest stock change", config.max_stock_delta);
}

/// Each kind with how long a repeated request replays the outcome.
fn windows(config: &Config) -> Vec<(String, Result<String>)> {
    let registry = app::registry(config, Clock::default());
    let windows = match app::retry_windows(config, &registry) {
        Ok(windows) => windows,
        Err(error) => return vec![("Repetitions".to_owned(), Err(error))],
    };
    let window = |kind: &Arc<dyn Kind>| match windows.of(kind.spec()) {
        Duration::ZERO => "every request needs an idempotency_key".to_owned(),
        window => format!("a repetition replays the outcome for {}", shown(window)),
    };
    registry.kinds().map(|kind| (kind.spec().name.to_owned(), Ok(window(kind)))).collect()
}

fn place(config: &Config, is_there: bool) -> String {
    let place = match (&config.secret, is_there) {
        (Some(_), _) => "from COUNTERSIGN_SECRET",
        (None, true) => "kept beside the database's file",
        (None, false) if config.database_url.file().is_some_and(Path::exists) => "none at hand",
        (None, false) => "none yet; `countersign serve` makes one beside the database's file",
    };
    place.to_owned()
}

/// How many problems there are with the database.
async fn database(config: &Config) -> usize {
    line("Database", &config.database_url);
    let (schema, db) = match schema(config).await {
        Ok(looked) => looked,
        Err(error) => return usize::from(!found("Schema", Err(error))),
    };
    let stands = match (schema, &db) {
        (Schema::Current, _) => Ok("up to date"),
        (Schema::Behind, _) if config.no_migrate => Err(Error::Setup(
            "COUNTERSIGN_NO_MIGRATE (--no-migrate) leaves the schema alone, and it is not up to date; run `countersign \
             migrate`."
                .to_owned(),
        )),
        (Schema::Behind, None) => Ok("none yet; `countersign serve` makes the database and brings it up to date"),
        (Schema::Behind, Some(_)) => Ok("behind; `countersign serve` brings it up to date"),
    };
    let mut problems = usize::from(!found("Schema", stands.map(ToOwned::to_owned)));
    if let Some(db) = db {
        problems += usize::from(!keys(config, &db).await);
        if schema == Schema::Current {
            problems += usize::from(!found("Can decide", deciders(&db).await));
        }
    }
    problems
}

/// Whether the database's keys are made under the secret that there is.
async fn keys(config: &Config, db: &Db) -> bool {
    // What is wrong with the secret itself was told before.
    if config.look_at_secret().is_err() {
        return true;
    }
    let standing = secret::standing(config, db).await;
    match standing.and_then(|standing| secret::is_told(config, standing, secret::REPLACE)) {
        Ok(false) => true,
        made => found("Keys", made.map(|_| "are made under this secret".to_owned())),
    }
}

/// Reaches the mail server, and has it take a test mail where one is asked for. Answers whether all is well.
async fn mail(config: &Config, mailer: Result<Option<Mailer>>, test_to: Option<&str>) -> bool {
    let mailer = match (mailer, &config.smtp_url) {
        (Err(error), _) => return found("E-mail", Err(error)),
        (Ok(Some(mailer)), Some(server)) => {
            let reached =
                mailer.look().await.map(|()| format!("through {server}, from {}", config.mail_from()));
            if !found("E-mail", reached) {
                return false;
            }
            mailer
        }
        _ => {
            line("E-mail", "off; set SMTP_URL to tell people of what waits");
            let nowhere =
                || Error::Setup("There is no mail server to send it through; set SMTP_URL.".to_owned());
            return test_to.is_none() || found("Test mail", Err(nowhere()));
        }
    };
    let Some(to) = test_to else { return true };
    let sent = mailer.send_test(to, &new_id()).await.map(|()| format!("the server took one for {to}"));
    found("Test mail", sent)
}

/// How the schema stands, and the database unless it is yet to be made.
async fn schema(config: &Config) -> Result<(Schema, Option<Db>)> {
    match Db::look(&config.database_url)? {
        Some(db) => Ok((db.schema().await?, Some(db))),
        None => Ok((Schema::Behind, None)),
    }
}

/// Who can approve, and what is paused.
async fn deciders(db: &Db) -> Result<String> {
    let (people, paused) = db.read(|conn| Ok((people::all(conn)?, pause::in_force(conn)?))).await?;
    for (pause, what) in paused {
        let why = restored(&pause).map(|why| format!(", because this database was {why}"));
        line("Paused", what + &why.unwrap_or_default());
    }
    let able = people.iter().filter(|person| person.enabled && person.role.decides()).count();
    Ok(match able {
        0 => "nobody yet; add somebody with `countersign person add --email … --role owner`".to_owned(),
        able => format!("{able} of {} people", people.len()),
    })
}

/// A duration in the largest unit that makes it whole.
fn shown(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let units = [(3600, "h"), (60, "min"), (1, "s")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds.is_multiple_of(*size)).unwrap_or((1, "s"));
    format!("{} {unit}", seconds / size)
}
