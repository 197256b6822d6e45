//! `demo`: everything at once, for trying out: a shop, people, agents and requests, served.

mod accounts;
mod first;
mod sheet;
mod story;

use std::{
    fs::DirBuilder,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use clap::Args;

use self::sheet::{ENDED, Sheet};
use super::{logging, out::say, secret, serve};
use crate::{
    app::App,
    config::{self, Config, PublicUrl},
    db::{DatabaseUrl, Db},
    error::{Error, Result},
    mcp::connect::{Client, set_up},
    shop::import,
    text::shell_word,
};

/// Try it out: a shop, people, agents and requests in a folder of their own, served on this machine
///
/// Other settings come from the environment, except DATABASE_URL and COUNTERSIGN_SECRET, which are kept in the folder, and
/// SMTP_URL: the people of the demo don't exist, and no mail is sent to them.
#[derive(Args)]
pub struct Demo {
    /// The address to listen on; port 0 takes a free one
    #[arg(
        long,
        env = "COUNTERSIGN_LISTEN",
        default_value = "127.0.0.1:8080",
        value_name = "ADDRESS:PORT",
        value_parser = config::address
    )]
    listen: SocketAddr,

    /// The folder that holds everything; a second start continues with what is there
    #[arg(long, env = "COUNTERSIGN_DATA_DIR", default_value = "countersign-demo", value_name = "DIR")]
    data_dir: PathBuf,
}

impl Demo {
    pub(super) async fn run(self) -> Result<()> {
        let database = self.data_dir.join("countersign.db");
        let config = Config::on(&format!("sqlite://{}", database.display()))?;
        logging::start(config.log);
        let (listener, listen) = serve::bind(self.listen)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.data_dir).map_err(|error| {
            let folder = self.data_dir.display();
            Error::Setup(format!(
                "COUNTERSIGN_DATA_DIR (--data-dir) is {folder}, which can't be made: {error}."
            ))
        })?;
        // What is refused bears no mark.
        Db::look(&config.database_url)?;
        let first = first::begin(&self.data_dir, &database)?;
        let config = Config {
            public_url: config.public_url.or_else(|| this_machine(listen)),
            listen,
            secret: None,
            smtp_url: None,
            ..config
        };
        secret::check(&config, "Put it back, or remove the folder and start the demo anew.").await?;
        let path = self.data_dir.join("demo.json");
        accounts::are_ours(&config).await?;
        let app = App::build(config)?;
        if let Some(first) = &first {
            first.owns_the_database()?;
        }
        app.db.migrate().await?;
        app.auth.tell_secret().await?;
        import::seed(&app.db).await?;
        let sheet = accounts::prepare(&app, sheet::read(&path)?).await?;
        sheet.write(&path)?;
        let told = story::tell(&app, &sheet).await?;
        if let Some(first) = first {
            first.end()?;
        }
        welcome(&sheet, &path, &app.config.database_url, &told);
        serve::serve(app, listener).await
    }
}

/// An address that can be opened, where the one to listen on is every address of the machine.
fn this_machine(listen: SocketAddr) -> Option<PublicUrl> {
    let url = listen.ip().is_unspecified().then(|| format!("http://localhost:{}", listen.port()))?;
    Some(url.parse().expect("a host and a port make an address"))
}

/// What a person who tries it out needs to know.
fn welcome(sheet: &Sheet, path: &Path, database: &DatabaseUrl, told: &str) {
    say!("Countersign's demo: for trying out only. Whoever reads {} can sign in.\n", path.display());
    say!("Dashboard: {}", sheet.dashboard_url);
    for person in &sheet.people {
        say!("  {:<22} {}   ({})", person.email, person.password, person.role);
    }
    say!("\nAgents: {}", sheet.mcp_url);
    for agent in &sheet.agents {
        say!("  {:<16} {}   ({})", agent.name, agent.key, agent.scopes.join(" "));
    }
    if sheet.has_ended() {
        say!(
            "`countersign agent rotate` and `countersign person reset-password` make new ones, but not of what was revoked."
        );
    }
    if let Some(agent) = sheet.agents.last().filter(|agent| agent.key != ENDED) {
        say!("\nConnect Claude Code (`countersign connect` knows other clients):");
        for line in set_up(Client::ClaudeCode, &sheet.dashboard_url, &agent.key).lines() {
            say!("  {line}");
        }
    }
    say!("\nFor other commands on it, such as `countersign audit export`, in another shell:");
    say!("  export DATABASE_URL={}", shell_word(&database.to_string()));
    say!("\n{told}\nStop it with Ctrl-C; a second start continues with the same data.");
}
