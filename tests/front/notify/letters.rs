//! Who gets which mail.

use countersign::store::people::Role;
use serde_json::json;

use super::{mails, told, with_post};
use crate::support::{Backend, Post, TestApp, backends, shop};

backends!(those_who_decide_hear_of_a_request_and_the_agents_owner_of_the_decision);
async fn those_who_decide_hear_of_a_request_and_the_agents_owner_of_the_decision(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    for role in Role::ALL {
        app.person(*role).await;
    }
    let agent = app.agent_of(app.person(Role::Owner).await, "helper").await;
    app.order("#1001", 50_000).await;
    let asked = agent.call("request_refund", shop::refund("1001", 100)).await.ok();

    let mails = super::mails(&app, &post, 2).await;
    let subject = "Refund INR 1.00 on order #1001";
    let to = |who: &str| format!("{who}@example.com: {subject}");
    assert_eq!(told(&mails), [to("approver"), to("owner")]);
    for mail in &mails {
        for part in [&mail.text, &mail.html] {
            for said in ["Arrived broken", "helper", "INR 0.00", "INR 1.00"] {
                assert!(part.contains(said), "{said}: {part}");
            }
        }
        assert!(
            mail.links().contains(&asked["review_url"].as_str().unwrap().to_owned()),
            "{:?}",
            mail.links()
        );
        assert_eq!(mail.headers("Auto-Submitted"), ["auto-generated"]);
        assert_eq!(mail.in_reply_to, None);
    }

    app.person(Role::Approver).await.approve(shop::id(&asked)).await.ok();
    let mails = super::mails(&app, &post, 3).await;
    let first = mails[..2].iter().find(|mail| mail.to == ["owner@example.com"]).unwrap();
    assert_eq!(told(&mails[2..]), [format!("owner@example.com: Re: {subject}")]);
    assert_eq!(mails[2].in_reply_to.as_ref(), Some(&first.message_id));
}

backends!(who_decided_is_not_told_of_their_own_decision);
async fn who_decided_is_not_told_of_their_own_decision(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    let owner = app.person(Role::Owner).await;
    let agent = app.agent_of(owner, "helper").await;
    app.order("#1001", 50_000).await;
    for decide in ["approve", "reject"] {
        let seen = post.mails().len();
        let cents = if decide == "approve" { 100 } else { 200 };
        let asked = agent.call("request_refund", shop::refund("1001", cents)).await.ok();
        mails(&app, &post, seen + 1).await;
        match decide {
            "approve" => owner.approve(shop::id(&asked)).await.ok(),
            _ => owner.reject(shop::id(&asked), "No").await.ok(),
        };
        app.time().shift(chrono::TimeDelta::minutes(3));
        super::work(&app).await;
        assert_eq!(post.mails().len(), seen + 1, "{decide}");
    }
}

backends!(a_request_that_waits_is_told_once_more_at_half_its_time_and_when_it_is_over);
async fn a_request_that_waits_is_told_once_more_at_half_its_time_and_when_it_is_over(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 100)).await;
    let first = mails(&app, &post, 1).await.remove(0);

    app.time().shift(chrono::TimeDelta::minutes(15));
    let reminder = mails(&app, &post, 2).await.remove(1);
    app.time().shift(chrono::TimeDelta::minutes(15));
    let over = mails(&app, &post, 3).await.remove(2);
    for mail in [&reminder, &over] {
        assert_eq!(mail.in_reply_to.as_ref(), Some(&first.message_id));
        assert_eq!(mail.subject, format!("Re: {}", first.subject));
    }
    assert_ne!(reminder.text, over.text);
    app.time().shift(chrono::TimeDelta::hours(1));
    super::work(&app).await;
    assert_eq!(post.mails().len(), 3);
}

backends!(a_request_that_no_longer_waits_is_not_told);
async fn a_request_that_no_longer_waits_is_not_told(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    let approver = app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    mails(&app, &post, 1).await;
    // The pace has the next one wait for two minutes.
    let asked = app.ask("request_refund", shop::refund("1001", 2)).await;
    super::work(&app).await;
    approver.approve(&asked).await.ok();
    app.time().shift(chrono::TimeDelta::minutes(3));
    super::work(&app).await;
    assert_eq!(post.mails().len(), 1);
    let metrics = reqwest::get(format!("{}/metrics", app.url)).await.unwrap().text().await.unwrap();
    assert!(
        metrics.contains(r#"countersign_deliveries_total{channel="email",outcome="dropped"} 1"#),
        "{metrics}"
    );
    assert!(metrics.contains("countersign_outbox_depth 0"), "{metrics}");
}

backends!(new_places_and_new_passwords_are_told_to_the_person);
async fn new_places_and_new_passwords_are_told_to_the_person(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    let viewer = app.person(Role::Viewer).await;
    app.session(viewer).await;
    let mails = super::mails(&app, &post, 1).await;
    assert_eq!(mails[0].to, ["viewer@example.com"]);
    assert!(mails[0].text.contains("127.0.0.1"), "{}", mails[0].text);
    app.session(viewer).await;

    app.inner.auth.reset_password("viewer@example.com").await.unwrap();
    let mails = super::mails(&app, &post, 2).await;
    assert_eq!(mails[1].to, ["viewer@example.com"]);
    assert!(mails[1].headers("List-Unsubscribe").is_empty());
    for mail in &mails {
        assert!(mail.subject.is_ascii() && !mail.subject.is_empty(), "{}", mail.subject);
        assert!(!mail.raw.contains(&viewer.password), "{}", mail.raw);
    }
    app.time().shift(chrono::TimeDelta::minutes(3));
    super::work(&app).await;
    assert_eq!(post.mails().len(), 2, "the second sign-in is from the same place");
}

backends!(nobody_is_told_where_mail_is_off_and_everything_else_works);
async fn nobody_is_told_where_mail_is_off_and_everything_else_works(backend: &Backend) {
    let app = TestApp::with(*backend, |_| {}).await;
    let owner = app.person(Role::Owner).await;
    app.order("#1001", 50_000).await;
    let asked = app.ask("request_refund", shop::refund("1001", 100)).await;
    assert_eq!(owner.approve(&asked).await.ok()["status"], json!("executed"));
    let session = app.session(owner).await;
    for path in ["/deliveries", "/account"] {
        assert!(session.get(path).await.html.contains("Mail is off"), "{path}");
    }
}
