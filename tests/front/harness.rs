//! The harness itself: databases come and go, the browser works, a race loses nobody's error.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use diesel::{Connection, PgConnection};

use crate::support::browser::{self, Screen};
use crate::support::races::race;
use crate::support::{Backend, Browser, runtime};

#[test]
fn every_database_is_its_own_and_goes_away() {
    if !Backend::Postgres.is_selected() {
        return;
    }
    let (one, other) = (Backend::Postgres.fresh_database(), Backend::Postgres.fresh_database());
    for database in [&one, &other] {
        runtime().block_on(database.open().check_schema()).unwrap();
    }
    let url = one.url.clone();
    drop(one);
    assert!(PgConnection::establish(&url).is_err());
    assert!(PgConnection::establish(&other.url).is_ok());
}

#[test]
fn a_browser_reads_clicks_and_takes_pictures() {
    if !browser::is_selected() {
        return;
    }
    runtime().block_on(async {
        let browser = Browser::open(&serve_one_page()).await;
        browser.goto("/it?a=b").await;
        assert_eq!(browser.path().await, "/it?a=b");
        browser.fill("name", "it's").await;
        browser.choose("size", "Large").await;
        browser.click("Say \"it's\"").await;
        browser.see("it's l").await;
        assert_eq!(browser.text_of("#said").await, "it's l");
        browser.click_on("summary").await;
        assert!(browser.text().await.contains("Nothing else"));
        assert_eq!(browser.count("option").await, 2);

        let folder = tempfile::tempdir().unwrap();
        for (name, screen) in [("desktop", Screen::DESKTOP), ("phone", Screen::PHONE.dark())] {
            browser.look_on(screen).await;
            let seen = browser
                .execute("return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]")
                .await;
            assert_eq!(seen, serde_json::json!([screen.width, screen.dark]));
            let file = folder.path().join(name);
            browser.screenshot(&file).await;
            assert!(std::fs::read(file).unwrap().starts_with(b"\x89PNG"));
        }

        browser.without_javascript().await;
        browser.goto("/").await;
        browser.see("no script").await;
        browser.close().await;
    });
}

#[test]
fn a_race_keeps_the_order_of_its_contenders() {
    let outcomes = runtime().block_on(race((0..16).map(|number| async move { number })));
    assert_eq!(outcomes, (0..16).collect::<Vec<_>>());
}

#[test]
#[should_panic(expected = "the third")]
fn a_contenders_panic_is_the_tests() {
    runtime().block_on(race((0..4).map(|number| async move { assert_ne!(number, 2, "the third") })));
}

/// A site of one static page, whatever is asked for.
fn serve_one_page() -> String {
    const PAGE: &str = r#"<!doctype html><title>Page</title><meta name=viewport content="width=device-width"><noscript>no script</noscript>
        <form onsubmit="said.textContent = name.value + ' ' + size.value; return false">
        <input name=name value=old><select name=size><option value=s>Small<option value=l>Large</select>
        <button>Say "it's"</button></form><p id=said></p>
        <details><summary>More</summary>Nothing else</details>"#;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let site = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n", PAGE.len());
            let _ = write!(stream, "{head}connection: close\r\n\r\n{PAGE}");
        }
    });
    site
}
