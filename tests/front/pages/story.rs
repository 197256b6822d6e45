//! What happened to an action, however much that is.

use countersign::audit::{self, Actor, Entry, Source, What};
use countersign::store::people::Role;
use countersign::store::{agents, new_id};
use serde_json::json;

use crate::support::{TestApp, backends, shop};

backends!(a_long_story_has_its_beginning_and_its_end);
async fn a_long_story_has_its_beginning_and_its_end(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let action = app.ask("request_refund", shop::refund(&order, 100)).await;
    ask_again(app, &action, "joined", 450).await;
    let person = app.person(Role::Approver).await;
    person.approve(&action).await.ok();

    let page = app.session(person).await.get(&format!("/actions/{action}")).await.html;
    for told in ["asked for it", "approved it, and it was done", "asked again 450 times", "… 251 more"] {
        assert!(page.contains(told), "no {told}");
    }
    assert_eq!(page.matches("<li><time").count(), 201);
}

backends!(no_agent_pushes_the_decision_out_of_the_story);
async fn no_agent_pushes_the_decision_out_of_the_story(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    let session = app.session(person).await;
    for (order, told) in [("#1001", "approved it, and it was done"), ("#1002", "took it back")] {
        app.order(order, 50_000).await;
        let action = app.ask("request_refund", shop::refund(order, 100)).await;
        ask_again(app, &action, "joined", 30).await;
        if order == "#1001" {
            person.approve(&action).await.ok();
        } else {
            app.agent.call("withdraw_action", json!({ "action_id": action })).await.ok();
        }
        ask_again(app, &action, "replayed", 250).await;

        let page = session.get(&format!("/actions/{action}")).await.html;
        let (_, story) = page.split_once("What happened so far").unwrap();
        let parts = ["asked for it", "… 30 more", told, "… 50 more", "asked again, and was told the outcome"];
        let found: Vec<_> = parts.iter().map(|part| story.find(part)).collect();
        assert!(found.is_sorted() && found[0].is_some(), "{found:?}");
        assert_eq!(story.matches("<li><time").count(), 202);
    }
}

/// What many calls about an action leave in the log.
async fn ask_again(app: &TestApp, action: &str, outcome: &'static str, times: usize) {
    let (clock, id) = (app.inner.clock.clone(), action.to_owned());
    let ask = move |conn: &mut _| {
        let now = clock.now(conn)?;
        let agent = agents::by_name(conn, "assistant")?.unwrap().id;
        for _ in 0..times {
            let entry = Entry::new(What::ToolCall, Actor::Agent(agent.clone()), &Source::INTERNAL, outcome);
            audit::record(conn, &new_id(), now, &entry.action(id.as_str()))?;
        }
        Ok(())
    };
    app.inner.db.write(ask).await.unwrap();
}
