//! What happened to an action, however much that is.

use countersign::audit::{self, Actor, Entry, Source, What};
use countersign::store::people::Role;
use countersign::store::{agents, new_id};

use crate::support::{TestApp, backends, shop};

backends!(a_long_story_has_its_beginning_and_its_end);
async fn a_long_story_has_its_beginning_and_its_end(app: &TestApp) {
    let order = app.order("#1001", 50_000).await.name;
    let action = app.ask("request_refund", shop::refund(&order, 100)).await;
    let (clock, id) = (app.inner.clock.clone(), action.clone());
    let join_often = move |conn: &mut _| {
        let now = clock.now(conn)?;
        let agent = agents::by_name(conn, "assistant")?.unwrap().id;
        for _ in 0..450 {
            let entry = Entry::new(What::ToolCall, Actor::Agent(agent.clone()), &Source::INTERNAL, "joined");
            audit::record(conn, &new_id(), now, &entry.action(id.as_str()))?;
        }
        Ok(())
    };
    app.inner.db.write(join_often).await.unwrap();
    let person = app.person(Role::Approver).await;
    person.approve(&action).await.ok();

    let page = app.session(person).await.get(&format!("/actions/{action}")).await.html;
    for told in ["asked for it", "approved it, and it was done", "asked again 450 times", "… 251 more"] {
        assert!(page.contains(told), "no {told}");
    }
    assert_eq!(page.matches("<li><time").count(), 201);
}
