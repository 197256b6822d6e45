//! Years of history: whatever agents and people call reads what it shows, and not all that ever was.

mod work;

use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::history::{Morning, busy, grow};
use crate::support::run::{Fixture, run};
use crate::support::settings::rounds;
use crate::support::shop::{adjustment, id, refund};
use crate::support::{Backend, Person, Session, TestApp, backends};
use work::{TOLD_AFTER, Work};

/// How many of each sort of action a long history has; and ten times as many events.
const LONG: usize = 100_000;
/// How many events a busy day has at least. Of fewer, Postgres would rather read all.
const BUSY: usize = 50_000;
/// From its sixth run on a connection on, a statement that is kept may be planned for whatever is bound. Who calls one after the
/// other is served by the same connection.
const TIMES: usize = 7;

backends!(no_call_reads_through_history);
async fn no_call_reads_through_history(backend: &Backend) {
    Work::watch(*backend);
    reads_through_no_history(TestApp::set_up(*backend).await, 1).await;
}

#[test]
fn no_list_that_is_kept_reads_through_history() {
    run(Backend::Postgres, async |backend: &Backend| {
        let database = backend.fresh_database();
        let app = TestApp::at(&database.keeping_statements(), database).await;
        reads_through_no_history(app, TIMES).await;
    });
}

/// Looks at everything so many times, and does everything once. The last time counts.
async fn reads_through_no_history(app: TestApp, times: usize) {
    let owner = app.person(Role::Owner).await;
    let session = app.session(owner).await;
    let cast = Cast::on_stage(&app, owner).await;
    let morning = Morning {
        refunded: &cast.refunded,
        adjusted: &cast.adjusted,
    };
    grow(&mut app.rival(), &morning, rounds(LONG));

    for _ in 1..times {
        look(&session).await;
        look_as_program(owner, &cast).await;
    }
    if times > 1 {
        tokio::time::sleep(TOLD_AFTER).await;
    }
    let begun = Work::begun(&app);
    app.session(owner).await;
    let mut calls = 1 + look(&session).await + look_as_program(owner, &cast).await;
    calls += act(&app, owner, &cast).await;
    app.inner.gate.sweep().await.unwrap();
    begun.was_little(&app, calls).await;
    app.tear_down().await;
}

backends!(a_page_of_the_log_reads_through_no_busy_day);
async fn a_page_of_the_log_reads_through_no_busy_day(backend: &Backend) {
    Work::watch(*backend);
    let app = TestApp::set_up(*backend).await;
    let owner = app.person(Role::Owner).await;
    let session = app.session(owner).await;
    let cast = Cast::on_stage(&app, owner).await;
    // What Postgres knows of the log is from before that.
    busy(&mut app.rival(), &cast.refunded, rounds(LONG).max(BUSY), 3_600);
    let begun = Work::begun(&app);
    let pages = ["/audit", "/audit?before=5000", "/audit?period=week", "/audit?period=month&before=30"];
    for page in pages {
        assert_eq!(session.get(page).await.status, 200, "{page}");
    }
    let bounded = [
        "/audit?since=2020-01-01&until=2100-01-01",
        "/audit?since=2020-01-01&until=2100-01-01&cursor=5000",
    ];
    for path in bounded {
        assert_eq!(owner.get(path).await.status, 200, "{path}");
    }
    begun
        .was_of_pages_of_the_log(&app, i64::try_from(pages.len() + bounded.len()).unwrap())
        .await;
    app.tear_down().await;
}

/// One action of each sort.
struct Cast {
    refunded: String,
    adjusted: String,
    pending: String,
    arguments: Value,
}

impl Cast {
    async fn on_stage(app: &TestApp, owner: &Person) -> Self {
        app.order("#1001", 9_000_000).await;
        app.product("SKU-1", 9_000_000).await;
        let arguments = refund("#1001", 100);
        let refunded = app.ask("request_refund", arguments.clone()).await;
        let adjusted = app.ask("request_stock_adjustment", adjustment("SKU-1", -1)).await;
        let rejected = app.ask("request_refund", refund("#1001", 300)).await;
        for action in [&refunded, &adjusted] {
            assert_eq!(owner.approve(action).await.ok()["status"], "executed");
        }
        assert_eq!(owner.reject(&rejected, "No").await.ok()["status"], "rejected");
        let pending = app.ask("request_refund", refund("#1001", 200)).await;
        Self {
            refunded,
            adjusted,
            pending,
            arguments,
        }
    }
}

/// Every page of the dashboard, from its beginning and from the middle.
async fn look(session: &Session) -> i64 {
    let pages = [
        "/",
        "/?kind=refund",
        "/actions",
        "/actions?status=executed",
        "/actions?status=expired",
        "/actions?kind=refund",
        "/actions?status=executed&kind=refund",
        "/actions?status=failed&kind=refund",
        "/actions?status=failed&kind=refund&before=01900000-0000-7000-8000-000000500000",
        "/actions?status=expired&agent=assistant",
        "/actions?agent=assistant",
        "/actions?agent=reader",
        "/actions?status=rejected&kind=refund&agent=assistant",
        "/actions?before=01900000-0000-7000-8000-000000500000",
        "/audit",
        "/audit?category=decisions",
        "/audit?category=accounts",
        "/audit?denied=true",
        "/audit?denied=false",
        "/audit?actor=assistant",
        "/audit?period=hour",
        "/audit?period=all",
        "/audit?period=week&category=tools",
        "/audit?before=2000",
        "/agents",
        "/people",
        "/account",
        "/deliveries",
        "/orders",
        "/orders/1001",
        "/products",
    ];
    for page in pages {
        let shown = session.get(page).await;
        assert_eq!(shown.status, 200, "{page}");
    }
    i64::try_from(pages.len()).unwrap()
}

async fn look_as_program(owner: &Person, cast: &Cast) -> i64 {
    let mut calls = 0;
    for action in [&cast.refunded, &cast.adjusted, &cast.pending] {
        owner.action(action).await;
        calls += 1;
    }
    for path in [
        "/actions",
        "/actions?status=pending",
        "/actions?kind=refund",
        "/audit",
        "/audit?category=decisions",
    ] {
        let reply = owner.get(path).await;
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        calls += 1;
    }
    calls
}

/// What agents call, and the decisions on it.
async fn act(app: &TestApp, owner: &Person, cast: &Cast) -> i64 {
    let agent = &app.agent;
    let replayed = agent.call("request_refund", cast.arguments.clone()).await.ok();
    assert_eq!(replayed["disposition"], "replayed");
    for (tool, arguments) in [
        ("get_order", json!({ "order_id": "1001" })),
        ("search_orders", json!({ "query": "10" })),
        ("list_products", json!({})),
        ("list_actions", json!({})),
        ("list_actions", json!({ "status": "pending" })),
        ("list_actions", json!({ "status": "failed" })),
        ("get_action_status", json!({ "action_id": cast.adjusted })),
    ] {
        agent.call(tool, arguments).await.ok();
    }
    let again = app.ask("request_stock_adjustment", adjustment("SKU-1", -2)).await;
    owner.approve(&again).await.ok();
    owner.reject(&cast.pending, "No").await.ok();
    let clerk = app.add_agent("clerk", &app.inner.gate.registry.scopes()).await;
    let equal = clerk.call("request_stock_adjustment", adjustment("SKU-1", -1)).await.ok();
    assert_eq!(owner.approve(id(&equal)).await.ok()["status"], "executed");
    let more = app.ask("request_refund", refund("#1001", 400)).await;
    agent.call("withdraw_action", json!({ "action_id": more })).await.ok();
    17
}
