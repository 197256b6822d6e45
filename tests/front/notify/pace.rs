//! When people are told: a flood in one mail, digests, quiet hours, and never too late.

use chrono::{TimeDelta, Timelike};
use countersign::store::people::Role;
use countersign::store::preferences::Timing;
use tokio_util::sync::CancellationToken;

use super::{mails, told, with_post, work, work_as};
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(a_flood_is_one_mail_and_each_request_of_it_is_in_there);
async fn a_flood_is_one_mail_and_each_request_of_it_is_in_there(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    mails(&app, &post, 1).await;
    let mut asked = Vec::new();
    for cents in 2..=38 {
        asked.push(app.ask("request_refund", shop::refund("1001", cents)).await);
    }
    work(&app).await;
    assert_eq!(post.mails().len(), 1, "within two minutes nothing more is sent");

    app.time().shift(TimeDelta::minutes(2));
    let mails = super::mails(&app, &post, 2).await;
    assert!(mails[1].subject.starts_with("37 requests"), "{}", mails[1].subject);
    assert!(mails[1].subject.contains("assistant"), "{}", mails[1].subject);
    for action in &asked {
        let link = format!("/actions/{action}");
        assert!(mails[1].html.contains(&link) && mails[1].text.contains(&link), "{action}");
    }
    work(&app).await;
    assert_eq!(post.mails().len(), 2);
}

backends!(no_reason_makes_a_mail_so_long_that_readers_cut_it);
async fn no_reason_makes_a_mail_so_long_that_readers_cut_it(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    mails(&app, &post, 1).await;
    for cents in 2..=40 {
        let mut arguments = shop::refund("1001", cents);
        arguments["reason"] = format!("a{}", "\u{E0041}".repeat(999)).into();
        app.ask("request_refund", arguments).await;
    }
    work(&app).await;
    app.time().shift(TimeDelta::minutes(2));
    let mails = super::mails(&app, &post, 2).await;
    assert!(mails[1].html.len() < 130_000, "{} bytes", mails[1].html.len());
    assert!(mails[1].subject.starts_with("39 requests"), "{}", mails[1].subject);
}

backends!(a_digest_comes_at_the_mark_and_never_after_half_the_time);
async fn a_digest_comes_at_the_mark_and_never_after_half_the_time(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |config| {
        post.set_in(config);
        config.action_ttl = "2h".parse().unwrap();
    })
    .await;
    let approver = app.person(Role::Approver).await;
    wish(&app, &post, &[("timing.refund", Timing::Hourly.as_str())]).await;
    app.order("#1001", 500_000).await;
    let minute = app.inner.db.read({
        let clock = app.inner.clock.clone();
        move |conn| clock.now(conn)
    });
    // Twenty past, whatever the time is.
    let past = TimeDelta::minutes(i64::from((80 - minute.await.unwrap().minute()) % 60));
    app.time().shift(past);
    for cents in 1..=3 {
        app.ask("request_refund", shop::refund("1001", cents)).await;
    }
    app.time().shift(TimeDelta::minutes(35));
    work(&app).await;
    assert_eq!(told(&post.mails()), Vec::<String>::new(), "before the hour nothing is sent");
    app.time().shift(TimeDelta::minutes(6));
    let mails = super::mails(&app, &post, 1).await;
    assert!(mails[0].subject.starts_with("3 requests"), "{}", mails[0].subject);
    assert_eq!(mails[0].to, [approver.email.as_str()]);

    // A request with little time does not wait for the hour.
    let hasty = app.another_server_with(|config| config.action_ttl = "10m".parse().unwrap());
    let asked = app.agent.at(&hasty.url).call("request_refund", shop::refund("1001", 9)).await.ok();
    app.time().shift(TimeDelta::minutes(-41) - past);
    app.time().shift(TimeDelta::minutes(4));
    work(&app).await;
    assert_eq!(post.mails().len(), 1);
    app.time().shift(TimeDelta::minutes(2));
    let mails = super::mails(&app, &post, 2).await;
    assert!(mails[1].html.contains(shop::id(&asked)), "{}", mails[1].text);
    hasty.stop().await;
}

backends!(quiet_hours_hold_mail_back_until_half_the_time);
async fn quiet_hours_hold_mail_back_until_half_the_time(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    let now = app.inner.db.read({
        let clock = app.inner.clock.clone();
        move |conn| clock.now(conn)
    });
    let now = now.await.unwrap();
    let hour = |hours: i64| (now + TimeDelta::hours(hours)).format("%H:%M").to_string();
    wish(&app, &post, &[("quiet_from", &hour(-1)), ("quiet_until", &hour(5))]).await;
    app.order("#1001", 500_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    app.time().shift(TimeDelta::minutes(14));
    work(&app).await;
    assert_eq!(post.mails().len(), 0);
    app.time().shift(TimeDelta::minutes(2));
    mails(&app, &post, 1).await;
    work(&app).await;
    assert_eq!(post.mails().len(), 1, "who has just been told is not reminded");
}

backends!(quiet_hours_hold_back_what_failed_as_well);
async fn quiet_hours_hold_back_what_failed_as_well(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |config| config.action_ttl = "2h".parse().unwrap()).await;
    app.person(Role::Approver).await;
    app.order("#1001", 500_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    let worker = app.unserved_with(|config| post.set_in(config));
    let stop = CancellationToken::new();
    worker.notifier.plan_all(&stop).await.unwrap();
    // It is due, and then the night begins.
    let clock = worker.clock.clone();
    let now = worker.db.read(move |conn| clock.now(conn)).await.unwrap();
    let minute = now.hour() * 60 + now.minute();
    app.rival().run(&format!(
        "INSERT INTO notification_settings (person_id, time_zone, quiet_from, quiet_until) \
         SELECT id, 'UTC', {}, {} FROM people",
        (minute + 1380) % 1440,
        (minute + 300) % 1440
    ));
    post.does(Fault::Busy(1));
    worker.notifier.deliver_all(&stop).await.unwrap();
    // At half its time the request itself comes, and the reminder of whoever has not been told so far.
    for (minutes, count) in [(50, 0), (12, 2)] {
        worker.clock.shift(TimeDelta::minutes(minutes));
        work_as(&worker.notifier).await;
        assert_eq!(post.mails().len(), count);
    }
}

backends!(amounts_decide_who_hears_of_what);
async fn amounts_decide_who_hears_of_what(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    let large = [("from.refund.0", "100.00"), ("unit.refund.0", "inr"), ("timing.refund.0", "at_once")];
    wish(&app, &post, &[&[("timing.refund", "never")], &large[..]].concat()).await;
    app.order("#1001", 500_000).await;
    app.product("SKU-1", 5).await;
    app.ask("request_refund", shop::refund("1001", 9_999)).await;
    work(&app).await;
    assert_eq!(told(&post.mails()), Vec::<String>::new());
    app.ask("request_refund", shop::refund("1001", 10_000)).await;
    assert_eq!(
        told(&mails(&app, &post, 1).await),
        ["approver@example.com: Refund INR 100.00 on order #1001"]
    );
    app.time().shift(TimeDelta::minutes(3));
    app.ask("request_stock_adjustment", shop::adjustment("SKU-1", 1)).await;
    assert_eq!(mails(&app, &post, 2).await[1].subject, "Change the stock of SKU-1 by +1");
}

/// Has the approver send the form with these fields, everything else being as it is at first.
async fn wish(app: &TestApp, post: &Post, fields: &[(&str, &str)]) {
    let session = app.session(app.person(Role::Approver).await).await;
    let mut all = vec![("time_zone", "UTC"), ("list.requests", "on"), ("list.outcomes", "on")];
    all.extend_from_slice(fields);
    let kept = session.submit("/account/mail", &all).await;
    assert_eq!(kept.location.as_deref(), Some("/account?kept=1#mail"), "{}", kept.html);
    // The sign-in was told too.
    mails(app, post, 1).await;
    post.forget();
}
