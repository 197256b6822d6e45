//! What the database had to look at: on Postgres the rows it read, which it counts; on SQLite how it means to find them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use diesel::connection::{InstrumentationEvent, set_default_instrumentation};

use crate::support::settings::figure;
use crate::support::{Backend, TestApp};

/// The tables that grow with every call.
const GROWING: [&str; 10] = [
    "actions",
    "action_subjects",
    "slots",
    "audit_events",
    "refunds",
    "stock_movements",
    "outbox",
    "outbox_items",
    "sessions",
    "notices",
];
/// What half of a growing table may fulfil: who looks for no more than this reads through it.
const BROAD: [&str; 9] = [
    "actions_by_due (status=?)",
    "actions_by_kind_due (kind=? AND status=?)",
    "actions_by_status (status=?)",
    "actions_by_kind (kind=?)",
    "actions_by_kind_status (kind=? AND status=?)",
    "actions_by_agent (agent_id=?)",
    "actions_by_agent_status (agent_id=? AND status=?)",
    "audit_events_by_category (category=?)",
    "audit_events_by_actor (actor_id=?)",
];
/// Through these, what is looked for in one state is looked for in all of them.
const OF_ALL_STATES: [&str; 2] = ["actions_by_kind (kind=?", "actions_by_agent (agent_id=?"];
/// How a statement says that it looks for one state, or for what was denied.
const OF_A_STATE: &str = "`actions`.`status` = ?";
const DENIED: &str = "`audit_events`.`denied`";
/// The calls send more kinds of statements than this. Were fewer heard, the listening would be at fault.
const KINDS_OF_STATEMENTS: usize = 100;
/// How many rows of one table a call may look at on the average.
const FEW: i64 = 50;
/// How many events a page of the log may look at: those that are counted, those it shows, and a few more.
const OF_A_PAGE: i64 = 1_500;
/// An idle connection to Postgres tells what it read after ten seconds.
pub const TOLD_AFTER: Duration = Duration::from_secs(11);

/// Every statement of this process, as it was sent.
static STATEMENTS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// What was done up to a moment.
pub struct Work {
    read: BTreeMap<String, Read>,
}

/// Rows of one table.
#[derive(Default)]
struct Read {
    in_scans: i64,
    by_index: i64,
}

impl Work {
    /// From now on connections are watched.
    pub fn watch(backend: Backend) {
        if backend == Backend::Sqlite {
            set_default_instrumentation(|| Some(Box::new(listen))).unwrap();
        }
    }

    pub fn begun(app: &TestApp) -> Self {
        STATEMENTS.lock().unwrap().clear();
        Self { read: read(app) }
    }

    /// Panics with whatever read much more than it showed.
    pub async fn was_little(self, app: &TestApp, calls: i64) {
        if app.database.backend == Backend::Sqlite {
            let plans = plans(app);
            assert!(plans.len() > KINDS_OF_STATEMENTS, "{} kinds of statements were heard", plans.len());
            for said in [OF_A_STATE, DENIED] {
                assert!(plans.iter().any(|(sql, _)| asked(sql).contains(said)), "nobody asked for {said}");
            }
            let bad: Vec<_> = plans.into_iter().filter(|(_, plan)| !plan.is_good()).collect();
            let bad: Vec<_> =
                bad.iter().map(|(sql, plan)| format!("{sql}\n  {}", plan.steps.join("\n  "))).collect();
            assert!(bad.is_empty(), "{} statements read through history:\n{}", bad.len(), bad.join("\n"));
            return;
        }
        tokio::time::sleep(TOLD_AFTER).await;
        let mut bad = Vec::new();
        for (table, now) in read(app) {
            let before = self.read.get(&table).map_or((0, 0), |read| (read.in_scans, read.by_index));
            let (scanned, found) = (now.in_scans - before.0, now.by_index - before.1);
            figure(&format!(
                "{calls} calls on a long history: {scanned} rows of {table} in scans, {found} by an index"
            ));
            if scanned > calls || found > calls * FEW {
                bad.push(format!("{table}: {scanned} rows in scans, {found} by an index"));
            }
        }
        assert!(bad.is_empty(), "{calls} calls read\n{}", bad.join("\n"));
    }

    /// Panics if so many calls looked at much more of the log than 1,000 events each, which are counted, and a page.
    pub async fn was_of_pages_of_the_log(self, app: &TestApp, calls: i64) {
        if app.database.backend == Backend::Sqlite {
            let (plans, sorts) = (plans(app), |plan: &Plan| plan.sorts());
            let of_log = plans.iter().filter(|(sql, _)| sql.contains("`audit_events`.`at` >="));
            let (sorting, others): (Vec<_>, Vec<_>) = of_log.partition(|(_, plan)| sorts(plan));
            assert!(others.len() >= 3, "{} statements on a period were heard", others.len());
            let sorting: Vec<_> = sorting.iter().map(|(sql, _)| sql).collect();
            assert!(sorting.is_empty(), "these read all of a period: {sorting:#?}");
            let ends = |sql: &str| sql.matches("`audit_events`.`at` <").count();
            let undecided: Vec<_> = others.iter().map(|(sql, _)| sql).filter(|sql| ends(sql) > 2).collect();
            assert!(undecided.is_empty(), "SQLite begins these at the first bound: {undecided:#?}");
            return;
        }
        tokio::time::sleep(TOLD_AFTER).await;
        let (before, now) = (self.read, read(app));
        let of_log = |read: &BTreeMap<String, Read>| {
            read.get("audit_events").map_or(0, |read| read.in_scans.max(read.by_index))
        };
        let looked_at = of_log(&now) - of_log(&before);
        assert!(looked_at < calls * OF_A_PAGE, "{calls} calls read {looked_at} events");
    }
}

fn listen(event: InstrumentationEvent<'_>) {
    if let InstrumentationEvent::StartQuery { query, .. } = event {
        let text = query.to_string();
        let sql = text.split(" -- binds:").next().unwrap();
        STATEMENTS.lock().unwrap().insert(sql.to_owned());
    }
}

/// What Postgres says it read of each growing table.
fn read(app: &TestApp) -> BTreeMap<String, Read> {
    if app.database.backend == Backend::Sqlite {
        return BTreeMap::new();
    }
    let lines = app.rival().texts(
        "SELECT relname || ' ' || seq_tup_read || ' ' || (SELECT coalesce(sum(idx_tup_read), 0)
         FROM pg_stat_user_indexes i WHERE i.relid = t.relid) AS t FROM pg_stat_user_tables t",
    );
    let parsed = lines.iter().map(|line| {
        let mut words = line.split(' ');
        let mut next = || words.next().unwrap();
        let table = next().to_owned();
        (
            table,
            Read {
                in_scans: next().parse().unwrap(),
                by_index: next().parse().unwrap(),
            },
        )
    });
    parsed.filter(|(table, _)| GROWING.contains(&table.as_str())).collect()
}

/// How SQLite means to find what a statement asks for.
struct Plan {
    steps: Vec<String>,
    /// Whether it stops when it has enough.
    is_limited: bool,
    /// Whether it can find nothing at all: one of no ids.
    is_empty: bool,
    scans_what_grows: bool,
    /// Whether it looks for one state among all of them, or for what was denied among everything.
    passes_over_others: bool,
}

impl Plan {
    fn is_good(&self) -> bool {
        if self.passes_over_others {
            return false;
        }
        !self.scans_what_grows || self.is_empty || (self.is_limited && !self.sorts())
    }

    fn sorts(&self) -> bool {
        self.steps.iter().any(|step| step.contains("TEMP B-TREE FOR ORDER BY"))
    }
}

fn plans(app: &TestApp) -> Vec<(String, Plan)> {
    let statements = STATEMENTS.lock().unwrap().clone();
    let mut rival = app.rival();
    let asking = statements.into_iter().filter(|sql| {
        let verb = sql.trim_start().split(' ').next().unwrap().to_uppercase();
        ["SELECT", "WITH", "UPDATE", "DELETE", "INSERT"].contains(&verb.as_str())
    });
    let plans = asking.map(|sql| {
        let steps = rival.plan(&sql);
        let scanned = steps.iter().filter_map(|step| step.strip_prefix("SCAN ")?.split(' ').next());
        let scans_what_grows =
            scanned.map(|name| table_of(name, &sql)).any(|table| GROWING.contains(&table.as_str()));
        let searches = |found: &dyn Fn(&str) -> bool| {
            steps.iter().any(|step| step.starts_with("SEARCH ") && found(step))
        };
        let scans_what_grows =
            scans_what_grows || searches(&|step| BROAD.iter().any(|index| step.ends_with(index)));
        let among_all_states = searches(&|step| OF_ALL_STATES.iter().any(|index| step.contains(index)));
        let of_what_was_denied = asked(&sql).contains(DENIED) && !asked(&sql).contains("NOT (");
        let among_everything = steps.iter().any(|step| step == "SCAN audit_events");
        let passes_over_others =
            sql.contains(OF_A_STATE) && among_all_states || of_what_was_denied && among_everything;
        let is_limited = sql.to_uppercase().contains("LIMIT");
        let is_empty = sql.contains("WHERE (1=0)");
        (
            sql,
            Plan {
                steps,
                is_limited,
                is_empty,
                scans_what_grows,
                passes_over_others,
            },
        )
    });
    plans.collect()
}

/// What a statement asks for, without what it is to answer.
fn asked(sql: &str) -> &str {
    sql.split_once(" WHERE ").map_or("", |(_, asked)| asked)
}

/// The table that a statement calls by this name.
fn table_of(name: &str, sql: &str) -> String {
    let words: Vec<_> =
        sql.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '`', '"'])).collect();
    let before = words.windows(2).find(|pair| pair[1] == name && GROWING.contains(&pair[0]));
    let before_as = words.windows(3).find(|three| three[1] == "AS" && three[2] == name);
    before.map(|pair| pair[0]).or(before_as.map(|three| three[0])).unwrap_or(name).to_owned()
}
