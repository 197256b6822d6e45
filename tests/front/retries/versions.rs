//! A later version of a kind, with one more optional field, still finds the write that an earlier one was asked for.

use std::time::Duration;

use countersign::db::{Conn, QueryResult};
use countersign::error::Denial;
use countersign::kinds::{ActionKind, Change, Effect, Lock, Preview, Refusal, Registry, Wording};
use countersign::store::people::Role;
use countersign::store::subjects::Versions;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::shop::id;
use crate::support::{Backend, TestApp, backends};

/// A letter to somebody. Its second version can be registered mail.
#[derive(Clone)]
struct Letter<const VERSION: i32>;

#[derive(Deserialize, JsonSchema)]
struct Arguments {
    to: String,
    #[serde(default)]
    registered: bool,
}

#[derive(Serialize, Deserialize)]
struct Params {
    to: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    registered: bool,
}

impl<const VERSION: i32> ActionKind for Letter<VERSION> {
    const NAME: &'static str = "letter";
    const VERSION: i32 = VERSION;
    const SCOPE: &'static str = "letters:write";
    const TITLE: &'static str = "Letter";
    const DESCRIPTION: &'static str = "Asks for a letter to be sent.";
    const RETRY_WINDOW: Duration = Duration::from_secs(60 * 60);
    const DESTRUCTIVE: bool = false;

    type Arguments = Arguments;
    type Params = Params;
    type Record = ();

    fn resolve(
        &self,
        _: &mut Conn,
        Arguments { to, registered }: Arguments,
    ) -> QueryResult<Result<Params, Denial>> {
        Ok(Ok(Params { to, registered }))
    }

    fn load(&self, _: &mut Conn, _: &Params, _: Lock) -> QueryResult<Option<()>> {
        Ok(Some(()))
    }

    fn versions(&self, (): &()) -> Versions {
        Versions::new()
    }

    fn check(&self, _: &Params, (): &()) -> Result<(), Refusal> {
        Ok(())
    }

    fn wording(&self, params: &Params, (): &()) -> Wording {
        Wording {
            summary: format!("Write to {}", params.to),
            headline: "Write a letter".to_owned(),
            figure: String::new(),
            amount: None,
        }
    }

    fn preview(&self, params: &Params, (): &()) -> Preview {
        Preview {
            changes: vec![Change::new("Letters", "none", &*params.to)],
            facts: String::new(),
        }
    }

    fn apply(&self, _: &mut Conn, _: &Effect<'_>, _: &Params, (): &()) -> QueryResult<Value> {
        Ok(json!({ "sent": true }))
    }
}

backends!(a_later_version_finds_the_earlier_action);
async fn a_later_version_finds_the_earlier_action(backend: &Backend) {
    let app = TestApp::with_registry(*backend, Registry::default().kind(Letter::<1>)).await;
    let later = app.another_server_of(Registry::default().kind(Letter::<2>));
    let there = app.agent.at(&later.url);
    let approver = app.person(Role::Approver).await;
    let letter = json!({ "to": "Ada", "reason": "She asked" });
    let plain = json!({ "to": "Ada", "registered": false, "reason": "She asked again" });
    let registered = json!({ "to": "Ada", "registered": true, "reason": "She asked" });

    let first = app.ask("request_letter", letter.clone()).await;
    for same in [&letter, &plain] {
        let joined = there.call("request_letter", same.clone()).await.ok();
        assert_eq!((id(&joined), &joined["disposition"]), (first.as_str(), &json!("joined")));
    }
    let other = there.call("request_letter", registered).await.ok();
    assert_eq!(other["disposition"], "new", "another write");

    let at_later = approver.at(&later.url);
    let failed = at_later.approve(&first).await.ok();
    assert_eq!(
        (&failed["status"], &failed["refusal"]["rule"]),
        (&json!("failed"), &json!("kind_changed"))
    );
    let second = there.call("request_letter", letter.clone()).await.ok();
    assert_eq!((&second["disposition"], &second["previous_action_id"]), (&json!("new"), &json!(first)));
    assert_eq!(at_later.approve(id(&second)).await.ok()["status"], "executed");

    for agent in [&app.agent, &there] {
        let replayed = agent.call("request_letter", letter.clone()).await.ok();
        assert_eq!((id(&replayed), &replayed["disposition"]), (id(&second), &json!("replayed")));
    }
    later.stop().await;
    drop((there, at_later));
    app.leave().await;
}
