//! Lists: filters, pages one after the other, and the log as a file.

use countersign::store::people::Role;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_DISPOSITION, CONTENT_TYPE};

use super::request;
use crate::support::browser::Screen;
use crate::support::session::Session;
use crate::support::{Browser, TestApp, backends, in_browser, shop};

backends!(orders_come_page_by_page_each_once);
async fn orders_come_page_by_page_each_once(app: &TestApp) {
    for number in 1..=120 {
        app.order(&format!("#{}", 2000 + number), 1000).await;
    }
    let session = app.session(app.person(Role::Viewer).await).await;
    let mut seen = rows(&session, "/orders", "/orders/").await;
    assert_eq!(seen.len(), 120);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 120);
    assert_eq!(rows(&session, "/orders?q=%232077", "/orders/").await, ["2077"]);
    assert_eq!(rows(&session, "/orders?q=CUSTOMER%40example", "/orders/").await.len(), 120);
    assert_eq!(rows(&session, "/orders?q=%25", "/orders/").await.len(), 0, "a wildcard is a character");
    assert_eq!(rows(&session, "/orders?payment=refunded", "/orders/").await.len(), 0);
    assert_eq!(session.get("/orders/%232077").await.status, StatusCode::OK);
    assert_eq!(session.get("/orders/9999").await.status, StatusCode::NOT_FOUND);
    assert_eq!(session.get("/orders/%00").await.status, StatusCode::BAD_REQUEST);
}

backends!(actions_are_found_by_status_kind_and_agent);
async fn actions_are_found_by_status_kind_and_agent(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.product("SKU-1", 3).await;
    let refund = app.ask("request_refund", shop::refund("1001", 100)).await;
    let stock = app.ask("request_stock_adjustment", shop::adjustment("SKU-1", 2)).await;
    app.person(Role::Owner).await.approve(&refund).await;
    let session = app.session(app.person(Role::Viewer).await).await;
    for (query, expected) in [
        ("", vec![&stock, &refund]),
        ("?status=executed", vec![&refund]),
        ("?status=pending", vec![&stock]),
        ("?status=rejected", vec![]),
        ("?kind=stock_adjustment", vec![&stock]),
        ("?agent=assistant", vec![&stock, &refund]),
        ("?agent=reader", vec![]),
    ] {
        let found = rows(&session, &format!("/actions{query}"), "/actions/").await;
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
}

backends!(the_log_is_filtered_and_exported_as_it_is_shown);
async fn the_log_is_filtered_and_exported_as_it_is_shown(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = app.ask("request_refund", shop::refund("1001", 100)).await;
    app.reader.call("request_refund", shop::refund("1001", 100)).await;
    app.person(Role::Approver).await.approve(&id).await;
    let session = app.session(app.person(Role::Auditor).await).await;

    let denied = session.get("/audit?denied=true").await;
    assert!(denied.html.contains("scope_missing") && !denied.html.contains("approved refund"));
    let decisions = session.get("/audit?category=decisions").await;
    assert!(decisions.html.contains("approved refund") && decisions.html.contains("1 event<"));
    let of_one = session.get(&format!("/audit?action={id}&actor=assistant")).await;
    assert!(of_one.html.contains("called request_refund") && !of_one.html.contains("approved refund"));

    for (format, media_type) in
        [("csv", "text/csv; charset=utf-8"), ("jsonl", "application/jsonl; charset=utf-8")]
    {
        let file = request(app, &session, &format!("/audit/export?denied=true&format={format}"))
            .send()
            .await
            .unwrap();
        assert_eq!(file.headers()[CONTENT_TYPE], media_type);
        let name = format!("attachment; filename=\"countersign-audit.{format}\"");
        assert_eq!(file.headers()[CONTENT_DISPOSITION], name.as_str());
        let file = file.text().await.unwrap();
        assert!(file.contains("scope_missing") && !file.contains("executed"), "{file}");
    }
    assert_eq!(session.get("/audit/export?format=exe").await.status, StatusCode::BAD_REQUEST);
}

backends!(a_list_says_which_filter_it_does_not_understand);
async fn a_list_says_which_filter_it_does_not_understand(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let id = app.ask("request_refund", shop::refund("1001", 100)).await;
    let session = app.session(app.person(Role::Auditor).await).await;
    let action = format!("/actions/{id}");
    for (list, query, named) in [
        ("/", "kind=nonsense", "kind must be one of"),
        ("/", "after=1001", "after must be an id"),
        (
            "/",
            "after=01995a3e-8f0c-7c21-b6d4-2f9e0a1b3c4d",
            "after must be the last action of the page before.",
        ),
        ("/", "page=2", "There is no parameter `page` here."),
        (&action, "kind=nonsense", "kind must be one of"),
        ("/actions", "status=nonsense", "status must be one of"),
        ("/actions", "kind=nonsense", "kind must be one of"),
        ("/actions", "agent=nobody", "There is no agent of that name."),
        ("/actions", "before=1001", "before must be an id"),
        ("/actions", "status=pending&status=executed", "status is given twice."),
        ("/orders", "payment=nonsense", "payment must be one of"),
        ("/orders", "delivery=nonsense", "delivery must be one of"),
        ("/orders", "cursor=nonsense", "cursor must be the next_cursor of an earlier page"),
        ("/orders", "cursor=IzE", "cursor must be the next_cursor of an earlier page"),
        ("/orders", "sort=total", "There is no parameter `sort` here."),
        ("/products", "cursor=%2B", "cursor must be the next_cursor of an earlier page"),
        ("/products", "sku=1", "There is no parameter `sku` here."),
        ("/audit", "period=year", "period must be one of"),
        ("/audit", "category=everything", "category must be one of"),
        ("/audit", "denied=yes", "denied must be true or false."),
        ("/audit", "actor=nobody", "There is no such person or agent."),
        ("/audit", "action=1001", "action must be an id"),
        ("/audit", "before=-1", "before must be the number of an event."),
        ("/audit", "since=2026-01-01", "There is no parameter `since` here."),
        ("/audit/export", "format=csv&category=everything", "category must be one of"),
        ("/audit/export", "format=csv&denied=yes", "denied must be true or false."),
        ("/audit/export", "format=csv&since=2026-01-01", "There is no parameter `since` here."),
        ("/audit/export", "format=exe", "format must be one of"),
    ] {
        let page = session.get(&format!("{list}?{query}")).await;
        assert_eq!(page.status, StatusCode::BAD_REQUEST, "{list}?{query}");
        assert!(page.html.contains(named), "{list}?{query}: {}", page.html);
        let unfiltered = list.trim_end_matches("/export");
        assert!(page.html.contains(&format!("href=\"{unfiltered}\">Without filters")), "{}", page.html);
    }
    for empty in ["/?kind=", "/actions?status=&kind=&agent=&before=", "/audit?actor=&denied=&before="] {
        assert_eq!(session.get(empty).await.status, StatusCode::OK, "{empty}");
    }
}

backends!(a_long_queue_is_shown_to_its_end_and_counted);
async fn a_long_queue_is_shown_to_its_end_and_counted(app: &TestApp) {
    app.order("#1001", 50_000).await;
    app.product("SKU-1", 3).await;
    let mut asked = Vec::new();
    for amount in 1..=205 {
        asked.push(app.ask("request_refund", shop::refund("1001", amount)).await);
    }
    let last = app.ask("request_stock_adjustment", shop::adjustment("SKU-1", 2)).await;
    asked.push(last.clone());
    let session = app.session(app.person(Role::Approver).await).await;

    assert_eq!(queue(&session, "/").await, asked, "the most urgent first, each once");
    assert_eq!(queue(&session, "/?kind=refund").await, asked[..205]);
    assert_eq!(queue(&session, "/?kind=stock_adjustment").await, [last.as_str()]);
    let front = session.get("/").await;
    for counted in [">All 206<", ">Refund 205<", ">Stock change 1<", "(206) Waiting"] {
        assert!(front.html.contains(counted), "{counted}");
    }

    // A decision on the last page leads back to that page.
    let page = format!("/actions/{}?after={}", asked[203], asked[199]);
    let shown = session.get(&page).await;
    let mut fields = super::decision(&shown, "");
    fields.push(("after", super::field(&shown, "hidden", "after").unwrap()));
    let decided = super::decide(&session, &format!("/actions/{}/approve", asked[203]), &fields).await;
    assert_eq!(decided.location.as_deref(), Some(page.as_str()));
    let rest: Vec<_> = [&asked[200..203], &asked[204..]].concat();
    assert_eq!(queue(&session, &page).await, rest);
}

/// The actions of the queue that a page shows, and of all that follow.
async fn queue(session: &Session, path: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = next {
        let page = session.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let links = page.html.split("<a class=\"row\" href=\"/actions/").skip(1);
        found.extend(links.map(|rest| rest.split(['"', '?']).next().unwrap().to_owned()));
        next = next_page(&page.html);
    }
    found
}

/// The ends of the links to `prefix` in the table, on this page and all that follow.
async fn rows(session: &Session, path: &str, prefix: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), Some(path.to_owned()));
    while let Some(path) = next {
        let page = session.get(&path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let table = page.html.split("<tbody>").nth(1).unwrap_or_default();
        let link = format!("href=\"{prefix}");
        let links = table.split(&link).skip(1);
        found.extend(links.map(|rest| rest.split('"').next().unwrap().to_owned()));
        next = next_page(&page.html);
    }
    found
}

fn next_page(html: &str) -> Option<String> {
    let (before, _) = html.split_once("\">Next page</a>")?;
    let (_, address) = before.rsplit_once("href=\"")?;
    Some(address.replace("&#38;", "&").replace("&amp;", "&"))
}

in_browser!(a_row_of_the_queue_says_what_it_is_about_on_every_screen);
async fn a_row_of_the_queue_says_what_it_is_about_on_every_screen(app: &TestApp, browser: &Browser) {
    app.order("#1001", 50_000).await;
    app.ask("request_refund", shop::refund("1001", 100)).await;
    browser.sign_in(app.person(Role::Approver).await).await;
    for screen in [Screen::DESKTOP, Screen::PHONE] {
        browser.look_on(screen).await;
        browser.goto("/").await;
        let whole = "const what = document.querySelector('.row .what');
                     return what.clientWidth > 0 && what.scrollWidth <= what.clientWidth";
        assert_eq!(browser.execute(whole).await, true, "{screen:?}: {}", browser.text_of(".row").await);
    }
}
