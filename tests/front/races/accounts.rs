//! Accounts changed by two operators at once: each change is decided on what the one before it left.

use chrono::Utc;
use countersign::audit::Source;
use countersign::auth::accounts::Changed;
use countersign::store::people::Role;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::ROUNDS;
use crate::support::races::repeat;
use crate::support::{TestApp, backends};

backends!(
    of_two_rotations_one_key_works,
    a_rotation_leaves_no_key_to_a_revoked_agent,
    of_two_revocations_one_is_written,
    a_role_and_a_disabling_are_both_kept,
    each_change_of_scopes_tells_what_it_replaced,
    a_change_is_dated_after_what_it_waited_for,
);

/// Holds every account as it is.
pub(super) const ACCOUNTS: &str = "UPDATE agents SET lock_no = lock_no; UPDATE people SET lock_no = lock_no;
     UPDATE credentials SET mac = mac";

async fn of_two_rotations_one_key_works(app: &TestApp) {
    repeat("rotate × rotate", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        let first = app.add_agent(&name, &["orders:read"]).await.key;
        let rotations = [(); 2].map(|()| rotation(app, &name));
        let keys = app.in_order(ACCOUNTS, rotations).await.into_iter().map(Option::unwrap);
        let mut works = 0;
        for key in keys.chain([first]) {
            works += usize::from(app.inner.auth.agent_key(&key, &Source::CLI).await.is_ok());
        }
        assert_eq!(works, 1, "of three keys");
        assert_eq!((live_keys(app, &name), events(app, "key_rotated", &name)), (1, 2));
    })
    .await;
}

async fn a_rotation_leaves_no_key_to_a_revoked_agent(app: &TestApp) {
    repeat("rotate × revoke", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        app.add_agent(&name, &["orders:read"]).await;
        let mut changes = [rotation(app, &name).map(|key| key.is_some()).boxed(), revocation(app, &name)];
        changes.rotate_left(round % 2);
        let mut outcomes = app.in_order(ACCOUNTS, changes).await;
        outcomes.rotate_left(round % 2);
        assert!(outcomes[1], "it is revoked in any case");
        assert_eq!((live_keys(app, &name), events(app, "agent_revoked", &name)), (0, 1));
        let late = "outcome = 'key_rotated' AND seq > (SELECT MAX(seq) FROM audit_events WHERE outcome = 'agent_revoked')";
        assert_eq!(app.rival().count("audit_events", late), 0, "no key for a revoked agent");
    })
    .await;
}

async fn of_two_revocations_one_is_written(app: &TestApp) {
    repeat("revoke × revoke", app.database.backend, ROUNDS, async |round| {
        let name = format!("{round}");
        app.add_agent(&name, &["orders:read"]).await;
        let revocations = [(); 2].map(|()| revocation(app, &name));
        let revoked = app.in_order(ACCOUNTS, revocations).await.into_iter().filter(|now| *now).count();
        assert_eq!((revoked, events(app, "agent_revoked", &name)), (1, 1));
    })
    .await;
}

async fn a_role_and_a_disabling_are_both_kept(app: &TestApp) {
    repeat("role × role × disable", app.database.backend, ROUNDS, async |round| {
        let person = app.add_person(&format!("p{round}"), Role::Approver).await;
        let change = |role: Option<Role>| {
            let (auth, email) = (app.inner.auth.clone(), person.email.clone());
            async move {
                let changed = match role {
                    Some(role) => auth.set_role(&email, role).await,
                    None => auth.disable(&email).await,
                };
                matches!(changed.unwrap(), Changed::Now(_))
            }
            .boxed()
        };
        let mut changes = vec![change(Some(Role::Viewer)), change(None), change(Some(Role::Viewer))];
        changes.rotate_left(round % 3);
        let changed = app.in_order(ACCOUNTS, changes).await.into_iter().filter(|now| *now).count();
        assert_eq!(changed, 2, "a role, once, and the end of the account");
        let mut rival = app.rival();
        let one = format!("email = '{}' AND role = 'viewer' AND NOT enabled", person.email);
        assert_eq!(rival.count("people", &one), 1);
        let id = format!("(SELECT id FROM people WHERE email = '{}')", person.email);
        assert_eq!(rival.count("credentials", &format!("person_id = {id} AND revoked_at IS NULL")), 0);
        for event in ["role_changed", "person_disabled"] {
            let about = format!("outcome = '{event}' AND body LIKE '%' || {id} || '%'");
            assert_eq!(rival.count("audit_events", &about), 1, "{event}");
        }
    })
    .await;
}

async fn each_change_of_scopes_tells_what_it_replaced(app: &TestApp) {
    const SCOPES: [&str; 3] = ["inventory:read", "inventory:write", "orders:read"];
    repeat("scopes × scopes × scopes", app.database.backend, ROUNDS / 4, async |round| {
        let name = format!("{round}");
        app.add_agent(&name, &["orders:write"]).await;
        let changes = SCOPES.map(|scope| {
            let (auth, name, known) =
                (app.inner.auth.clone(), name.clone(), app.inner.gate.registry.scopes());
            let known: Vec<String> = known.into_iter().map(str::to_owned).collect();
            async move {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                auth.set_scopes(&name, &[scope.to_owned()], &known).await.unwrap();
            }
            .boxed()
        });
        app.in_order(ACCOUNTS, changes).await;
        let about = about("scopes_changed", &name);
        let told = app
            .rival()
            .texts(&format!("SELECT body AS t FROM audit_events WHERE {about} ORDER BY seq"));
        let mut held = "orders:write".to_owned();
        for told in &told {
            let told: serde_json::Value = serde_json::from_str(told).unwrap();
            assert_eq!(told["was"], held.as_str());
            told["scopes"].as_str().unwrap().clone_into(&mut held);
        }
        assert_eq!(told.len(), 3);
    })
    .await;
}

async fn a_change_is_dated_after_what_it_waited_for(app: &TestApp) {
    repeat("revoked after a wait", app.database.backend, ROUNDS / 4, async |round| {
        let name = format!("{round}");
        app.add_agent(&name, &["orders:read"]).await;
        let mut rival = app.rival();
        rival.begin(ACCOUNTS);
        let waiting = tokio::spawn(revocation(app, &name));
        app.until_blocked(0, 1).await;
        let before = Utc::now();
        rival.run("COMMIT");
        assert!(waiting.await.unwrap());
        let about = about("agent_revoked", &name);
        let told = rival.texts(&format!("SELECT body AS t FROM audit_events WHERE {about}"));
        let told: serde_json::Value = serde_json::from_str(&told[0]).unwrap();
        let at: chrono::DateTime<Utc> = told["at"].as_str().unwrap().parse().unwrap();
        assert!(at >= before - chrono::TimeDelta::milliseconds(1), "{at} is before {before}");
    })
    .await;
}

/// The new key, unless the agent is gone.
fn rotation(app: &TestApp, name: &str) -> BoxFuture<'static, Option<String>> {
    let (auth, name) = (app.inner.auth.clone(), name.to_owned());
    async move { auth.rotate(&name).await.ok().map(|new| new.key) }.boxed()
}

/// Whether it was this one that revoked the agent.
fn revocation(app: &TestApp, name: &str) -> BoxFuture<'static, bool> {
    let (auth, name) = (app.inner.auth.clone(), name.to_owned());
    async move { matches!(auth.revoke(&name).await.unwrap(), Changed::Now(_)) }.boxed()
}

fn live_keys(app: &TestApp, name: &str) -> i64 {
    let id = format!("(SELECT id FROM agents WHERE name = '{name}')");
    app.rival().count("credentials", &format!("agent_id = {id} AND revoked_at IS NULL"))
}

fn events(app: &TestApp, outcome: &str, name: &str) -> i64 {
    app.rival().count("audit_events", &about(outcome, name))
}

/// The condition for events of an outcome about an agent.
fn about(outcome: &str, name: &str) -> String {
    let id = format!("(SELECT id FROM agents WHERE name = '{name}')");
    format!("outcome = '{outcome}' AND body LIKE '%' || {id} || '%'")
}
