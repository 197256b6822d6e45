//! Years of history, put into a database beside its server.

use countersign::db::Conn;
use diesel::{
    Connection, PgConnection, QueryableByName, RunQueryDsl, SqliteConnection, connection::SimpleConnection,
    sql_query, sql_types::Text,
};
use serde_json::json;

use super::{
    history::{self, Morning},
    refund, sample,
    site::Site,
};
use crate::support::Outcome;

/// Twice so many actions, with ten times as many events.
pub async fn grow(site: &Site, copies: usize) -> Outcome<()> {
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
