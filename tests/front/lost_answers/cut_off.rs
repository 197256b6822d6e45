//! The way to Postgres breaks at a COMMIT: before the server hears of it, while it works on it, or with its answer.

use countersign::audit::Source;
use countersign::auth::accounts::Changed;
use countersign::store::people::Role;
use futures_util::future::join_all;
use reqwest::StatusCode;

use super::calls::{Call, Ready, Scene};
use crate::support::cable::{Cabled, Cut};
use crate::support::races::repeat;
use crate::support::run::run;
use crate::support::settings::rounds;
use crate::support::shop::{id, refund};
use crate::support::{Backend, Session, TestApp};

const ROUNDS: usize = 10;

#[test]
fn a_lost_commit_is_looked_up_before_anybody_is_told() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let scene = &Scene::of(app).await;
        let (books, session) = (app.books(), app.session(&scene.person).await);
        repeat("connections cut at a commit", Backend::Postgres, ROUNDS, async |round| {
            for cut in Cut::ALL {
                for (number, status) in ["executed", "rejected"].into_iter().enumerate() {
                    let seen = asked(app, scene, &format!("{round}{cut:?}"), number).await;
                    cable.cut_a_commit(cut);
                    let click = if number == 0 { session.approving(&seen) } else { session.rejecting(&seen) };
                    assert_eq!(click.await.status, StatusCode::SEE_OTHER);
                    finds(&session, &seen, status).await;
                }
                for call in Call::ALL {
                    let order = app.order(&format!("#{round}{cut:?}{call:?}"), 50_000).await.name;
                    let ready = Ready::new(scene, call, &order).await;
                    cable.cut_a_commit(cut);
                    let told = ready.send(scene).await.unwrap();
                    assert!(ready.is_done(&told), "{cut:?} {call:?}: {told:?}");
                    assert_eq!(told.body.get("disposition"), ready.disposition_after().as_ref());
                    books.balance();
                    ready.send_again(scene, true).await;
                    books.balance();
                }
            }
        })
        .await;
    });
}

#[test]
fn a_commit_that_is_still_under_way_is_waited_for() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let scene = &Scene::of(app).await;
        let books = app.books();
        app.rival().block_commits();
        repeat("connections cut during a commit", Backend::Postgres, ROUNDS, async |round| {
            for call in Call::ALL {
                let order = app.order(&format!("#{round}{call:?}"), 50_000).await.name;
                let ready = Ready::new(scene, call, &order).await;
                let mut rival = app.rival();
                rival.begin("UPDATE turnstile SET one = one");
                cable.cut_a_commit(Cut::Behind);
                let sent = tokio::spawn(ready.send(scene));
                // The first try at its commit, and the second at the first one's rows.
                app.until_waiting(2).await;
                rival.run("COMMIT");

                let told = sent.await.unwrap().unwrap();
                assert!(ready.is_done(&told), "{call:?}: {told:?}");
                assert_eq!(told.body.get("disposition"), ready.disposition_after().as_ref());
                ready.send_again(scene, true).await;
                books.balance();
            }
        })
        .await;
    });
}

#[test]
fn without_a_way_to_find_out_nobody_is_told_that_it_failed() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let scene = &Scene::of(app).await;
        let (books, session) = (app.books(), app.session(&scene.person).await);
        repeat("cut off from the database at a commit", Backend::Postgres, ROUNDS, async |round| {
            let mut calls = Vec::new();
            for call in Call::ALL {
                let order = app.order(&format!("#{round}{call:?}"), 50_000).await.name;
                calls.push(Ready::new(scene, call, &order).await);
            }
            let (approved, rejected) = (
                asked(app, scene, &round.to_string(), 1).await,
                asked(app, scene, &round.to_string(), 2).await,
            );
            // One after the other would each wait for a database that is away.
            cable.cut_commits_and_go_dead(calls.len() + 2);
            let sent = join_all(calls.iter().map(|ready| ready.send(scene)));
            let (told, approval, rejection) =
                tokio::join!(sent, session.approving(&approved), session.rejecting(&rejected));
            cable.until_dead().await;
            for (told, ready) in told.into_iter().zip(&calls) {
                let told = told.unwrap();
                assert!(told.is_error, "{:?}: {told:?}", ready.call);
                let error = told.body.get("error").unwrap_or(&told.body);
                assert_eq!(error["code"], "unavailable", "{:?}: {told:?}", ready.call);
                let sentence = error.get("message").or(error.get("detail")).unwrap().to_string();
                assert!(sentence.contains("outcome is unknown"), "{sentence}");
                assert!(sentence.contains("same call again"), "{sentence}");
            }
            for page in [approval, rejection] {
                assert_eq!(page.status, StatusCode::SERVICE_UNAVAILABLE);
                assert!(!page.html.to_lowercase().contains("failed"), "{}", page.html);
            }

            cable.revive();
            books.balance();
            finds(&session, &approved, "executed").await;
            finds(&session, &rejected, "rejected").await;
            for ready in &calls {
                ready.send_again(scene, true).await;
            }
            books.balance();
        })
        .await;
    });
}

/// A request for a refund on an order of its own, as an approver sees it.
async fn asked(app: &TestApp, scene: &Scene<'_>, round: &str, number: usize) -> serde_json::Value {
    let order = app.order(&format!("#{round}.{number}"), 50_000).await.name;
    let action = app.ask("request_refund", refund(&order, 100)).await;
    scene.person.action(&action).await
}

/// Whoever clicks again is told by whom it was decided: by themselves.
async fn finds(session: &Session, seen: &serde_json::Value, status: &str) {
    let page = session.approving(seen).await;
    assert_eq!(page.status, StatusCode::CONFLICT);
    let sentence = format!("already {status}: approver@example.com was first");
    assert!(page.html.contains(&sentence), "{} {}", id(seen), page.html);
}

#[test]
fn an_owner_whose_pause_was_committed_is_told_so() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let owner = app.session(app.person(Role::Owner).await).await;
        let pauses = |event: &str| {
            app.rival().count("audit_events", &format!("event = '{event}' AND outcome = 'done'"))
        };
        repeat("a pause cut at its commit", Backend::Postgres, ROUNDS, async |round| {
            for (number, cut) in (1..).zip(Cut::ALL) {
                let turns = i64::try_from(3 * round + number).unwrap();
                for (path, event) in [("/pause", "pause"), ("/resume", "resume")] {
                    cable.cut_a_commit(cut);
                    let page = owner.submit(path, &[("target", "all")]).await;
                    assert_eq!(page.status, StatusCode::SEE_OTHER, "{cut:?} {path}");
                    assert_eq!(pauses(event), turns, "{cut:?} {path}");
                }
            }
        })
        .await;
    });
}

#[test]
fn a_key_whose_commit_was_cut_is_shown_all_the_same() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let (auth, scopes) = (&app.inner.auth, ["orders:read".to_owned()]);
        let known = app.inner.gate.registry.scopes();
        repeat("an account cut at its commit", Backend::Postgres, ROUNDS, async |round| {
            for cut in Cut::ALL {
                let (agent, email) = (format!("{round}{cut:?}"), format!("{round}{cut:?}@example.com"));
                cable.cut_a_commit(cut);
                let added = auth.add_agent(&agent, &scopes, None, &known).await.unwrap();
                auth.agent_key(&added.key, &Source::CLI).await.unwrap();
                cable.cut_a_commit(cut);
                let rotated = auth.rotate(&agent).await.unwrap();
                auth.agent_key(&rotated.key, &Source::CLI).await.unwrap();
                assert!(auth.agent_key(&added.key, &Source::CLI).await.is_err());
                cable.cut_a_commit(cut);
                assert!(matches!(auth.revoke(&agent).await.unwrap(), Changed::Now(_)));

                cable.cut_a_commit(cut);
                let added = auth.add_person(&email, Role::Viewer).await.unwrap();
                auth.api_token(&added.api_token, &Source::CLI).await.unwrap();
                cable.cut_a_commit(cut);
                let reset = auth.reset_password(&email).await.unwrap();
                auth.api_token(&reset.api_token, &Source::CLI).await.unwrap();
                assert!(auth.api_token(&added.api_token, &Source::CLI).await.is_err());
                cable.cut_a_commit(cut);
                assert!(matches!(auth.set_role(&email, Role::Auditor).await.unwrap(), Changed::Now(_)));
            }
        })
        .await;
        let written = (app.rival().count("audit_events", "outcome = 'key_rotated'"), rounds(ROUNDS) * 3);
        assert_eq!(usize::try_from(written.0).unwrap(), written.1, "one event each");
    });
}

#[test]
fn a_change_whose_commit_takes_its_time_is_told_as_one() {
    run(Backend::Postgres, async |Cabled { app, cable }: &Cabled| {
        let person = app.person(Role::Viewer).await;
        app.rival().block_commits();
        let mut rival = app.rival();
        rival.begin("UPDATE turnstile SET one = one");
        cable.cut_a_commit(Cut::Behind);
        let (auth, email) = (app.inner.auth.clone(), person.email.clone());
        let changing = tokio::spawn(async move { auth.set_role(&email, Role::Auditor).await });
        // The commit, and the second try behind it.
        app.until_waiting(2).await;
        rival.run("ROLLBACK");
        assert!(matches!(changing.await.unwrap().unwrap(), Changed::Now(_)));
        assert_eq!(app.rival().count("audit_events", "outcome = 'role_changed'"), 1);
    });
}
