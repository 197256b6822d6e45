//! The conversation with the mail server: encrypted, refused, put off, broken off, and held up.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use countersign::store::people::Role;
use reqwest::StatusCode;

use super::{mails, with_post, work};
use crate::support::post::{Line, PASSWORD, Spelling};
use crate::support::{Backend, Fault, Post, TestApp, backends, shop};

backends!(mail_goes_over_an_encrypted_line);
async fn mail_goes_over_an_encrypted_line(backend: &Backend) {
    for line in [Line::StartTls, Line::Tls] {
        let post = Post::on(line);
        let app = with_post(*backend, &post).await;
        app.person(Role::Approver).await;
        app.order("#1001", 50_000).await;
        app.ask("request_refund", shop::refund("1001", 100)).await;
        assert_eq!(mails(&app, &post, 1).await[0].to, ["approver@example.com"], "{line:?}");
    }
}

backends!(a_server_that_nobody_vouches_for_gets_no_mail);
async fn a_server_that_nobody_vouches_for_gets_no_mail(backend: &Backend) {
    for line in [Line::StartTls, Line::Tls] {
        let post = Post::on(line);
        let app = TestApp::with(*backend, |config| config.smtp_url = Some(post.url.parse().unwrap())).await;
        ask_once(&app).await;
        work(&app).await;
        let page = app.session(app.person(Role::Owner).await).await.get("/deliveries").await;
        assert!(
            page.html.contains("Will be tried again") && page.html.contains("COUNTERSIGN_SMTP_CA"),
            "{}",
            page.html
        );
        assert!(!page.html.contains(PASSWORD));
        assert_eq!(post.mails().len(), 0);
    }
}

backends!(a_server_that_is_busy_is_asked_again_later);
async fn a_server_that_is_busy_is_asked_again_later(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::Busy(2)).await;
    // Half a minute, then a whole one, and a quarter more at most.
    for wait in [38, 76] {
        work(&app).await;
        assert_eq!(post.mails().len(), 0);
        app.time().shift(TimeDelta::seconds(wait));
    }
    assert_eq!(mails(&app, &post, 1).await.len(), 1);
}

backends!(what_the_server_took_and_did_not_confirm_comes_again_under_the_same_id);
async fn what_the_server_took_and_did_not_confirm_comes_again_under_the_same_id(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::HangUp(2)).await;
    for taken in 1..=2 {
        mails(&app, &post, taken).await;
        work(&app).await;
        app.time().shift(TimeDelta::seconds(80));
    }
    let mails = super::mails(&app, &post, 3).await;
    assert!(mails.iter().all(|mail| mail.message_id == mails[0].message_id));
    app.time().shift(TimeDelta::minutes(5));
    work(&app).await;
    assert_eq!(post.mails().len(), 3);
}

backends!(a_mailbox_that_does_not_exist_is_given_up_shown_and_tried_again_when_asked);
async fn a_mailbox_that_does_not_exist_is_given_up_shown_and_tried_again_when_asked(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::UnknownRecipient).await;
    work(&app).await;
    let owner = app.person(Role::Owner).await;
    let session = app.session(owner).await;
    let page = session.get("/deliveries").await.html;
    for said in ["approver@example.com", "Given up", "No such mailbox here"] {
        assert!(page.contains(said), "{said}: {page}");
    }
    // The owner is told of it, once the server takes mail again.
    post.does(None);
    work(&app).await;
    let told = mails(&app, &post, 1).await;
    let told: Vec<_> = told.iter().filter(|mail| mail.text.contains("No such mailbox here")).collect();
    assert_eq!(told[0].to, ["owner@example.com"]);

    let (_, retry) = page.split_once("action=\"/deliveries/").expect("a form to try again");
    let path = format!("/deliveries/{}", retry.split('"').next().unwrap());
    assert_eq!(session.submit(&path, &[]).await.status, StatusCode::SEE_OTHER);
    work(&app).await;
    assert!(post.mails().iter().any(|mail| mail.to == ["approver@example.com"]));
    assert_eq!(session.submit(&path, &[]).await.status, StatusCode::NOT_FOUND);
    let log = app.rival().count("audit_events", "event = 'redelivery'");
    assert_eq!(log, 2, "both tries are in the log");
}

backends!(a_server_that_never_takes_it_is_given_up_after_days);
async fn a_server_that_never_takes_it_is_given_up_after_days(backend: &Backend) {
    let post = Post::open();
    let app = TestApp::with(*backend, |config| {
        post.set_in(config);
        config.action_ttl = "30d".parse().unwrap();
    })
    .await;
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    post.does(Fault::Busy(usize::MAX));
    app.ask("request_refund", shop::refund("1001", 100)).await;
    let mut tries = 0;
    while app.rival().count("outbox", "status = 'dead'") == 0 {
        work(&app).await;
        app.time().shift(TimeDelta::hours(8));
        tries += 1;
        assert!(tries < 30);
    }
    assert!(tries >= 9, "for three days: {tries} times eight hours");
}

backends!(a_refusal_that_may_pass_is_no_end);
async fn a_refusal_that_may_pass_is_no_end(backend: &Backend) {
    for (words, kept) in [
        ("Not from you", "Not from you"),
        ("5.1.8 Bad outbound sender", "5.1.8 Bad outbound sender"),
        ("5.7.1 Client host 5.1.1.7 blocked", "5.7.1 Client host 5.1.1.7 blocked"),
        ("Not\0from \u{1b}[2Jyou", "Not[U+0000]from [U+001B][2Jyou"),
    ] {
        let post = Post::open();
        let app = asked_once(*backend, &post, Fault::Refuses(words)).await;
        work(&app).await;
        let failed = format!("status = 'waiting' AND last_error LIKE '%{kept}%'");
        assert_eq!(app.rival().count("outbox", &failed), 1, "{words}");
        post.does(None);
        app.time().shift(TimeDelta::seconds(40));
        assert_eq!(mails(&app, &post, 1).await.len(), 1);
    }
}

backends!(however_the_server_spells_its_replies_their_digits_count);
async fn however_the_server_spells_its_replies_their_digits_count(backend: &Backend) {
    use Spelling::{Bare, Latin1, LineFeed, Long, ManyLines};
    for spelling in [Bare, Latin1, Long, LineFeed, ManyLines] {
        let post = Post::open();
        let app = asked_once(*backend, &post, Fault::Spells(spelling, true)).await;
        assert_eq!(mails(&app, &post, 1).await.len(), 1, "{spelling:?}");
        let is_sent = "status = 'sent' AND attempts = 1 AND last_error IS NULL";
        assert_eq!(app.rival().count("outbox", is_sent), 1, "{spelling:?}");

        post.does(Fault::Spells(spelling, false));
        app.time().shift(TimeDelta::minutes(3));
        app.ask("request_refund", shop::refund("1001", 200)).await;
        work(&app).await;
        let is_dead = "status = 'dead' AND last_error LIKE '%No such mailbox here%'";
        assert_eq!(app.rival().count("outbox", is_dead), 1, "{spelling:?}");
        assert_eq!(post.mails().len(), 1);
    }
}

backends!(a_conversation_out_of_step_hands_over_nothing);
async fn a_conversation_out_of_step_hands_over_nothing(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::Spells(Spelling::Twice, true)).await;
    work(&app).await;
    let failed = "status = 'waiting' AND last_error LIKE '%answered out of turn: 250%'";
    assert_eq!(app.rival().count("outbox", failed), 1);
    post.does(None);
    app.time().shift(TimeDelta::seconds(40));
    assert_eq!(mails(&app, &post, 1).await.len(), 1);
}

backends!(a_wrong_password_is_told_without_what_the_server_repeats);
async fn a_wrong_password_is_told_without_what_the_server_repeats(backend: &Backend) {
    let post = Post::on(Line::StartTls);
    let app = TestApp::with(*backend, |config| {
        post.set_in(config);
        config.smtp_url = Some(post.url.replace("p%40ss", "another").parse().unwrap());
    })
    .await;
    ask_once(&app).await;
    work(&app).await;
    let told = "last_error = 'The mail server does not take this user and password (535).'";
    assert_eq!(app.rival().count("outbox", told), 1);
}

backends!(a_server_without_starttls_is_told_from_one_that_is_away);
async fn a_server_without_starttls_is_told_from_one_that_is_away(backend: &Backend) {
    let post = Post::open();
    let server = post.url.replace("?tls=none", "");
    let app = TestApp::with(*backend, |config| config.smtp_url = Some(server.parse().unwrap())).await;
    ask_once(&app).await;
    work(&app).await;
    let said = "status = 'waiting' AND last_error LIKE '%does not offer STARTTLS%smtps://%tls=none%'";
    assert_eq!(app.rival().count("outbox", said), 1);
    assert_eq!(post.mails().len(), 0);
}

backends!(what_the_server_said_to_the_mail_counts_though_it_never_says_goodbye);
async fn what_the_server_said_to_the_mail_counts_though_it_never_says_goodbye(backend: &Backend) {
    let post = Post::open();
    post.is_deaf_to_goodbyes();
    let app = asked_once(*backend, &post, None).await;
    assert_eq!(mails(&app, &post, 1).await.len(), 1);
    assert_eq!(app.rival().count("outbox", "status = 'sent' AND attempts = 1"), 1);

    post.does(Fault::UnknownRecipient);
    app.time().shift(TimeDelta::minutes(3));
    app.ask("request_refund", shop::refund("1001", 200)).await;
    let patience = Instant::now() + Duration::from_secs(10);
    while app.rival().count("outbox", "status = 'dead'") == 0 {
        assert!(Instant::now() < patience, "a refusal is never heard");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

backends!(a_server_that_comes_back_is_found_while_the_request_can_be_decided);
async fn a_server_that_comes_back_is_found_while_the_request_can_be_decided(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::Busy(usize::MAX)).await;
    let minute = async || {
        work(&app).await;
        app.time().shift(TimeDelta::minutes(1));
    };
    for _ in 0..16 {
        minute().await;
    }
    let metrics = reqwest::get(format!("{}/metrics", app.url)).await.unwrap().text().await.unwrap();
    let oldest = metrics.lines().find_map(|line| line.strip_prefix("countersign_outbox_oldest_seconds "));
    assert!(oldest.unwrap().parse::<i64>().unwrap() >= 900, "{oldest:?}");
    post.does(None);
    for _ in 0..6 {
        minute().await;
    }
    assert!(!post.mails().is_empty(), "it expires untold");
}

backends!(a_server_that_hangs_holds_up_nobody_else);
async fn a_server_that_hangs_holds_up_nobody_else(backend: &Backend) {
    let post = Post::open();
    let app = asked_once(*backend, &post, Fault::Hang).await;
    post.mails_when(1).await;
    app.session(app.person(Role::Viewer).await).await;
    post.mails_when(2).await;
    post.let_go();
    work(&app).await;
    assert_eq!(post.mails().len(), 2);
}

/// An approver, and a request that is told of while the post office does that.
async fn asked_once(backend: Backend, post: &Post, fault: impl Into<Option<Fault>>) -> TestApp {
    let app = with_post(backend, post).await;
    post.does(fault);
    ask_once(&app).await;
    app
}

/// An approver, and a request to tell of.
async fn ask_once(app: &TestApp) {
    app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 100)).await;
}
