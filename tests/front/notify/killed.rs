//! Delivery by a process that is killed again and again: nobody stays untold, and what comes twice comes under one id.

use std::collections::BTreeMap;

use countersign::store::people::Role;

use crate::support::failpoints::Failpoints;
use crate::support::program::Program;
use crate::support::random::{Random, seed};
use crate::support::rival::Rival;
use crate::support::settings::{figure, rounds};
use crate::support::{Backend, Database, Post, TestApp, backends, shop};

/// How often the process is killed, and how much is asked for in between.
const KILLS: usize = 100;
const ASKED: usize = 10;

backends!(killed_while_it_delivers);
async fn killed_while_it_delivers(backend: &Backend) {
    let (post, failpoints) = (Post::open(), Failpoints::new());
    let app = TestApp::with(*backend, |_| {}).await;
    app.person(Role::Approver).await;
    app.order("#1001", 1_000_000_000).await;
    let agent = app.agent.clone();
    let database = app.leave().await;
    let program = Program::on(&database)
        .with("FAILPOINTS", failpoints.folder())
        .with("COUNTERSIGN_LISTEN", "127.0.0.1:0")
        .with("COUNTERSIGN_WRITE_RATE", "off")
        .with("COUNTERSIGN_READ_RATE", "off")
        .with("COUNTERSIGN_ACTION_TTL", "30d")
        .with("SMTP_URL", &post.url);

    let (mut random, mut asked, mut minutes) = (Random::from_seed(seed()), Vec::new(), 0_i64);
    for kill in 0..rounds(KILLS) {
        // Past the pace and the leases of the one before.
        minutes += 3;
        failpoints.set_clock(minutes * 60_000_000);
        // At the worst moments, and at any moment.
        let point = [Some("claimed"), Some("delivered"), None][kill % 3];
        if let Some(point) = point {
            failpoints.arm(point);
        }
        let serving = program.serve(&["serve"]);
        let agent = agent.at(&serving.url);
        for number in 0..ASKED {
            let cents = i64::try_from(kill * ASKED + number + 1).unwrap();
            let answer = agent.call("request_refund", shop::refund("1001", cents)).await.ok();
            asked.push(shop::id(&answer).to_owned());
        }
        if let Some(point) = point {
            failpoints.until_reached(point).await;
            serving.stop("KILL");
            failpoints.release(point);
        } else {
            tokio::time::sleep(std::time::Duration::from_millis(random.below(2500))).await;
            serving.stop("KILL");
        }
    }
    let serving = program.serve(&["serve"]);
    let told = loop {
        minutes += 3;
        failpoints.set_clock(minutes * 60_000_000);
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        let mails = post.mails();
        let messages = messages_about(&database);
        let came = |id: &String| mails.iter().any(|mail| mail.message_id.starts_with(&format!("{id}@")));
        let untold = asked
            .iter()
            .filter(|action| !messages.get(*action).is_some_and(|ids| ids.iter().any(came)));
        if untold.count() == 0 {
            break mails;
        }
        assert!(minutes < 3 * i64::try_from(rounds(KILLS)).unwrap() + 120, "somebody is never told");
    };
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    for mail in &told {
        *by_id.entry(&mail.message_id).or_default() += 1;
    }
    // One request is told in one message, however often that was sent.
    for (action, messages) in messages_about(&database) {
        assert_eq!(messages.len(), 1, "{action} in {messages:?}");
    }
    // A letter that was handed over, and never marked, came again.
    let twice = by_id.values().filter(|count| **count > 1).count();
    assert!(twice > 0, "no kill fell between the sending and the marking");
    figure(&format!(
        "killed while it delivers, {backend}: {} requests in {} messages, {} kills, {twice} sent more than once",
        asked.len(),
        by_id.len(),
        rounds(KILLS)
    ));
    serving.stop("TERM");
}

/// Which messages tell of the request of an action. A long one names some and counts the others.
fn messages_about(database: &Database) -> BTreeMap<String, Vec<String>> {
    let mut messages: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let rows = "SELECT action_id || ' ' || message_id AS t FROM outbox_items WHERE topic = 'requested'";
    for row in Rival::on(database).texts(rows) {
        let (action, message) = row.split_once(' ').unwrap();
        messages.entry(action.to_owned()).or_default().push(message.to_owned());
    }
    messages
}
