//! Leaving a list from a mail, and what a program that opens every link in it can do: nothing more.

use countersign::store::people::Role;
use reqwest::StatusCode;

use super::{mails, with_post, work};
use crate::support::{Backend, Mail, Post, TestApp, backends, http, shop};

backends!(one_click_leaves_the_list_and_does_nothing_else);
async fn one_click_leaves_the_list_and_does_nothing_else(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    let approver = app.person(Role::Approver).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    let mail = mails(&app, &post, 1).await.remove(0);
    let address = one_click(&mail);
    // On its way already, but for the pace.
    app.ask("request_refund", shop::refund("1001", 2)).await;
    work(&app).await;
    app.until_quiet().await;
    let before = app.rows().await;

    // Opening the page changes nothing.
    let opened = http::client().get(&address).send().await.unwrap();
    assert_eq!(opened.status(), StatusCode::OK);
    // It says what is left in the words of the mail, and of the account page.
    let what = "requests that wait for a decision, reminders, and requests nobody decided";
    assert!(opened.text().await.unwrap().contains(what) && mail.text.contains(what), "{}", mail.text);
    assert_eq!(app.rival().count("notification_mutes", "1 = 1"), 0);
    // A mail program's own click, as RFC 8058 has it: no cookie, no form of ours.
    for _ in 0..2 {
        let click = http::client().post(&address).header("content-type", "application/x-www-form-urlencoded");
        let left = click.body("List-Unsubscribe=One-Click").send().await.unwrap();
        assert_eq!(left.status(), StatusCode::OK);
    }
    assert_eq!(app.rival().count("notification_mutes", "list = 'requests'"), 1);
    assert_eq!(app.grown_since(&before).await, [("events", 1), ("wishes", 1)]);

    app.time().shift(chrono::TimeDelta::minutes(3));
    app.ask("request_refund", shop::refund("1001", 3)).await;
    work(&app).await;
    assert_eq!(post.mails().len(), 1);
    // Back on the account page.
    let session = app.session(approver).await;
    let fields = [("time_zone", "UTC"), ("list.requests", "on"), ("list.outcomes", "on")];
    assert_eq!(session.submit("/account/mail", &fields).await.status, StatusCode::SEE_OTHER);
    app.time().shift(chrono::TimeDelta::minutes(3));
    app.ask("request_refund", shop::refund("1001", 4)).await;
    mails(&app, &post, 3).await;
}

backends!(an_address_that_was_changed_leaves_nothing);
async fn an_address_that_was_changed_leaves_nothing(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    let owner = app.person(Role::Owner).await;
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 1)).await;
    let mails = super::mails(&app, &post, 2).await;
    let mail = mails.iter().find(|mail| mail.to == ["approver@example.com"]).unwrap();
    let others = mails.iter().find(|mail| mail.to == [owner.email.as_str()]).unwrap();
    let (address, other) = (one_click(mail), one_click(others));
    let token = |address: &str| address.rsplit_once("token=").unwrap().1.to_owned();
    let forged = [
        address.replace(&token(&address), &token(&other)),
        address.replace("list=requests", "list=outcomes"),
        address.replace("list=requests", "list=everything"),
        address.replace("&token=", "&tokens="),
        format!("{address}0"),
        address.split('?').next().unwrap().to_owned(),
    ];
    for address in forged {
        for request in [http::client().get(&address), http::client().post(&address)] {
            assert_eq!(request.send().await.unwrap().status(), StatusCode::NOT_FOUND, "{address}");
        }
    }
    assert_eq!(app.rival().count("notification_mutes", "1 = 1"), 0);
}

backends!(a_scanner_that_opens_every_link_and_posts_every_form_changes_nothing_but_that);
async fn a_scanner_that_opens_every_link_and_posts_every_form_changes_nothing_but_that(backend: &Backend) {
    let post = Post::open();
    let app = with_post(*backend, &post).await;
    app.person(Role::Approver).await;
    let agent = app.agent_of(app.person(Role::Owner).await, "helper").await;
    app.order("#1001", 50_000).await;
    let asked = agent.call("request_refund", shop::refund("1001", 1)).await.ok();
    let rejected = agent.call("request_refund", shop::refund("1001", 2)).await.ok();
    app.person(Role::Approver).await.reject(shop::id(&rejected), "No").await.ok();
    app.time().shift(chrono::TimeDelta::minutes(3));
    work(&app).await;
    let mails = super::mails(&app, &post, 3).await;
    app.until_quiet().await;

    let before = app.rows().await;
    let decisions = "event IN ('approval', 'rejection', 'pause', 'redelivery')";
    let decided = app.rival().count("audit_events", decisions);
    let sessions = app.rival().count("sessions", "1 = 1");
    for mail in &mails {
        for link in mail.links() {
            scan(&app, &link).await;
        }
    }
    let grown = app.grown_since(&before).await;
    let lists = app.rival().count("notification_mutes", "1 = 1");
    assert!(lists >= 2, "the scanner found the way to leave");
    // Each list that was left is an event; forms that were refused are at most one a minute and path.
    let left = |(what, by): &(&str, i64)| *what == "events" || (*what, *by) == ("wishes", lists);
    assert!(grown.iter().all(left), "{grown:?}");
    let waiting = app.person(Role::Approver).await.action(shop::id(&asked)).await;
    assert_eq!(waiting["status"], "pending");
    assert_eq!(app.rival().count("audit_events", decisions), decided);
    assert_eq!(app.rival().count("sessions", "1 = 1"), sessions);
}

/// Opens an address, follows where it leads, and posts every form on the page with what is in it.
async fn scan(app: &TestApp, link: &str) {
    assert!(link.starts_with(&app.url), "only this server: {link}");
    let page = http::client().get(link).send().await.unwrap();
    assert!(!page.status().is_server_error(), "{link}");
    let html = page.text().await.unwrap();
    for form in html.split("<form").skip(1).map(|rest| rest.split("</form>").next().unwrap()) {
        let value = |text: &str, name: &str| {
            let (_, rest) = text.split_once(&format!("{name}=\""))?;
            Some(rest.split('"').next()?.replace("&amp;", "&").replace("&#38;", "&"))
        };
        let action = value(form, "action").unwrap();
        let fields: Vec<_> = form
            .split("<input")
            .skip(1)
            .filter_map(|input| Some((value(input, "name")?, value(input, "value").unwrap_or_default())))
            .collect();
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let posted = http::client()
            .post(format!("{}{action}", app.url))
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body)
            .send()
            .await
            .unwrap();
        assert!(!posted.status().is_server_error(), "{action}");
    }
}

fn one_click(mail: &Mail) -> String {
    assert_eq!(mail.headers("List-Unsubscribe-Post"), ["List-Unsubscribe=One-Click"]);
    let address = mail.headers("List-Unsubscribe").remove(0);
    address.trim_matches(['<', '>']).to_owned()
}
