//! The same calls on longer and longer histories, one after the other.

use std::{sync::Arc, time::Duration};

use countersign::db::Conn;
use diesel::{
    Connection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, connection::SimpleConnection,
    sql_query, sql_types::Text,
};
use serde_json::json;

use super::{
    history::{self, Morning},
    load::{Call, Calls, Figures, ask},
    measure, range, refund, sample,
    site::Site,
    tool,
};
use crate::support::{Cast, Outcome, Server, result};

/// How many actions there are before, with ten times as many events.
const ACTIONS: [usize; 3] = [1_000, 100_000, 1_000_000];
/// Calls of a list, at most…
const CALLS: usize = 1_000;
/// …and for how long.
const WHILE: Duration = Duration::from_secs(10);
/// What agents ask for without writing.
const TOOLS: [&str; 2] = ["list_actions", "search_orders"];
/// What people look at.
const PATHS: [&str; 5] = [
    "actions",
    "actions?status=pending",
    "actions?status=executed",
    "audit",
    "audit?category=decisions",
];

pub async fn print(nothing: &str) -> Outcome<()> {
    for backend in super::backends() {
        println!(
            "\n{backend:?}, one caller: the median in ms, and as a multiple of that with {} actions",
            ACTIONS[0]
        );
        let mut first = None;
        for actions in ACTIONS {
            let site = Site::new(backend, range(0).end)?;
            grow(&site, actions / 2).await?;
            let server = Server::start(site.place()).await?;
            let rows = rows(&server, &site.cast, nothing).await?;
            let first = first.get_or_insert_with(|| rows.clone());
            println!("{actions} actions");
            for ((what, took), (_, before)) in rows.iter().zip(first) {
                println!("  {what:<34}{took:>8.2}{:>8.2}", took / *before);
            }
        }
    }
    Ok(())
}

async fn grow(site: &Site, copies: usize) -> Outcome<()> {
    let (url, cast) = (site.url(), &site.cast);
    let refunded = sample::executed(url, cast, "request_refund", refund(1)).await?;
    let adjustment = json!({"sku": "CB-ETH-500", "delta": 1, "reason": "bench"});
    let adjusted = sample::executed(url, cast, "request_stock_adjustment", adjustment).await?;
    let morning = Morning {
        refunded: &refunded,
        adjusted: &adjusted,
    };
    history::grow(&mut Beside::of(site)?, &morning, copies);
    Ok(())
}

/// What was measured, each with its name.
async fn rows(server: &Server, cast: &Cast, nothing: &str) -> Outcome<Vec<(String, f64)>> {
    let measured = measure(server, cast, range(0), 1, nothing).await?;
    let mut rows = vec![
        ("requests".to_owned(), measured.requests),
        ("replays".to_owned(), measured.replays),
        ("reads".to_owned(), measured.reads),
        ("approvals".to_owned(), measured.approvals),
    ];
    for name in TOOLS {
        let arguments = move |_| if name == "search_orders" { json!({"query": "10"}) } else { json!({}) };
        rows.push((name.to_owned(), repeated(server, tool(&cast.key, name, arguments)).await?));
    }
    for path in PATHS {
        let headers = format!("Authorization: Bearer {}\r\n", cast.token);
        let calls: Calls = Arc::new(move |_| Call {
            line: format!("GET /api/v1/{path}"),
            headers: headers.clone(),
            body: String::new(),
        });
        rows.push((format!("GET /api/v1/{path}"), repeated(server, calls).await?));
    }
    Ok(rows
        .into_iter()
        .map(|(what, figures)| (what, figures.median.as_secs_f64() * 1e3))
        .collect())
}

async fn repeated(server: &Server, calls: Calls) -> Outcome<Figures> {
    let look = |answer: &serde_json::Value| match answer.get("jsonrpc") {
        Some(_) => result(answer).map(drop),
        None => Ok(()),
    };
    ask(server.address(), 1, WHILE, 0..CALLS, &calls, look).await
}

/// A connection beside the server's.
struct Beside(Conn);

impl Beside {
    fn of(site: &Site) -> Outcome<Self> {
        Ok(Self(match site.url().strip_prefix("sqlite://") {
            Some(file) => {
                let mut conn = SqliteConnection::establish(file)?;
                // What is lost with the machine can be made again.
                conn.batch_execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144")?;
                Conn::Sqlite(conn)
            }
            None => Conn::Postgres(PgConnection::establish(site.url())?),
        }))
    }
}

impl history::Sql for Beside {
    fn is_postgres(&self) -> bool {
        matches!(self.0, Conn::Postgres(_))
    }

    fn run(&mut self, sql: &str) {
        self.0.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    fn texts(&mut self, sql: &str) -> Vec<String> {
        #[derive(QueryableByName)]
        struct Row {
            #[diesel(sql_type = Text)]
            t: String,
        }
        let rows: Vec<Row> =
            sql_query(sql).load(&mut self.0).unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.into_iter().map(|row| row.t).collect()
    }
}
