//! The same calls on a short history and on long ones, in turn.

use std::{ops::Range, sync::Arc, time::Duration};

use serde_json::{Value, json};

use super::{
    FIRST, grown,
    load::{Call, Calls, Figures, ask},
    measure,
    orders::Order,
    refund, sample,
    site::{Backend, Site},
    tool,
};
use crate::support::{Outcome, Server, result};

/// How many actions there are before, with ten times as many events.
const ACTIONS: [usize; 3] = [1_000, 100_000, 1_000_000];
/// How often everything is measured, on each history in turn.
const ROUNDS: usize = 15;
/// Calls of one kind in a round.
const CALLS: usize = 100;
/// What agents ask for without writing.
const TOOLS: [&str; 2] = ["list_actions", "search_orders"];
/// What programs and browsers get of people's. In the place of `{}` is an action that waits, or an order.
const PATHS: [&str; 15] = [
    "/api/v1/actions",
    "/api/v1/actions?status=pending",
    "/api/v1/actions?status=executed",
    "/api/v1/actions/{}",
    "/api/v1/audit",
    "/api/v1/audit?category=decisions",
    "/",
    "/actions",
    "/actions/{}",
    "/orders",
    "/orders/{}",
    "/products",
    "/audit",
    "/agents",
    "/deliveries",
];

pub async fn print(nothing: &str) -> Outcome<()> {
    for backend in super::backends() {
        let mut histories = Vec::new();
        for actions in ACTIONS {
            histories.push(History::of(backend, actions).await?);
        }
        let mut rounds = Vec::new();
        for round in 0..ROUNDS {
            let mut took = Vec::new();
            for history in &histories {
                took.push(history.medians(round, nothing).await?);
            }
            rounds.push(took);
        }
        print_table(backend, &rounds);
    }
    Ok(())
}

/// The calls of a round. Those of the round after the last wait for a decision all the while.
fn calls(round: usize) -> Range<usize> {
    let start = FIRST + round * CALLS;
    start..start + CALLS
}

/// What is compared was measured within seconds: a machine that is slower for a while is so for every history.
fn print_table(backend: Backend, rounds: &[Vec<Medians>]) {
    println!("\n{backend:?}, one caller: the median in ms, with {ACTIONS:?} actions;");
    println!(
        "behind it, as a multiple of that with {}: the median of {ROUNDS} rounds, and all but the two furthest out",
        ACTIONS[0]
    );
    let of_rounds = |figure: &dyn Fn(&Vec<Medians>) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(figure).collect();
        figures.sort_by(f64::total_cmp);
        figures
    };
    for (row, (what, _)) in rounds[0][0].iter().enumerate() {
        print!("{what:<34}");
        for history in 0..ACTIONS.len() {
            print!("{:>8.2}", of_rounds(&|round| round[history][row].1)[ROUNDS / 2]);
            if history > 0 {
                let times = of_rounds(&|round| round[history][row].1 / round[0][row].1);
                print!("  {:.2} ({:.2} to {:.2})", times[ROUNDS / 2], times[1], times[ROUNDS - 2]);
            }
        }
        println!();
    }
}

/// What was called, each with its median in milliseconds.
type Medians = Vec<(String, f64)>;

/// A server with so much behind it.
struct History {
    server: Server,
    site: Site,
    /// Of the owner's browser.
    session: String,
    /// An action that is pending.
    waiting: String,
}

impl History {
    async fn of(backend: Backend, actions: usize) -> Outcome<Self> {
        let site = Site::new(backend, calls(ROUNDS).end)?;
        grown::grow(&site, actions / 2).await?;
        let server = Server::start(site.place()).await?;
        let look = |answer: &Value| result(answer).map(drop);
        let refunds = tool(&site.cast.key, "request_refund", refund);
        ask(server.address(), 8, Duration::MAX, calls(ROUNDS), &refunds, look).await?;
        Ok(Self {
            session: sample::signed_in(site.url(), &site.cast).await?,
            waiting: sample::requested(site.url(), &site.cast, refund(calls(ROUNDS).start)).await?,
            server,
            site,
        })
    }

    async fn medians(&self, round: usize, nothing: &str) -> Outcome<Medians> {
        let cast = &self.site.cast;
        let measured = measure(&self.server, cast, calls(round), 1, nothing).await?;
        let mut rows = vec![
            ("requests".to_owned(), measured.requests),
            ("replays".to_owned(), measured.replays),
            ("reads".to_owned(), measured.reads),
            ("approvals".to_owned(), measured.approvals),
        ];
        for name in TOOLS {
            let arguments = move |_| if name == "search_orders" { json!({"query": "10"}) } else { json!({}) };
            let look = |answer: &Value| result(answer).map(drop);
            rows.push((name.to_owned(), self.repeated(&tool(&cast.key, name, arguments), look).await?));
        }
        for path in PATHS {
            rows.push((format!("GET {path}"), self.repeated(&self.gets(path), |_| Ok(())).await?));
        }
        let in_ms = |(what, figures): (String, Figures)| (what, figures.median.as_secs_f64() * 1e3);
        Ok(rows.into_iter().map(in_ms).collect())
    }

    async fn repeated(&self, calls: &Calls, look: fn(&Value) -> Outcome<()>) -> Outcome<Figures> {
        ask(self.server.address(), 1, Duration::MAX, 0..CALLS, calls, look).await
    }

    fn gets(&self, path: &str) -> Calls {
        let order = Order::numbered(calls(ROUNDS).start).name;
        let of = if path.starts_with("/orders") { &order[1..] } else { &self.waiting };
        let headers = if path.starts_with("/api") {
            format!("Authorization: Bearer {}\r\n", self.site.cast.token)
        } else {
            format!("Cookie: {}\r\n", self.session)
        };
        let line = format!("GET {}", path.replace("{}", of));
        Arc::new(move |_| Call {
            line: line.clone(),
            headers: headers.clone(),
            body: String::new(),
        })
    }
}
