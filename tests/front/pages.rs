//! The dashboard's pages, as a browser without JavaScript meets them.

mod away;
mod decisions;
mod house_rules;
mod lists;
mod sign_in;
mod text;
mod with_htmx;

use reqwest::RequestBuilder;
use reqwest::header::COOKIE;

use crate::support::TestApp;
use crate::support::session::{Page, Session};

/// A request in a session, ready for headers of a test's own.
fn request(app: &TestApp, session: &Session, path: &str) -> RequestBuilder {
    app.agent.http.get(format!("{}{path}", app.url)).header(COOKIE, &session.cookie)
}

/// The value of a page's hidden field.
fn field(page: &Page, name: &str) -> String {
    let (_, after) = page.html.split_once(&format!(r#"name="{name}" value=""#)).expect(name);
    after.split_once('"').unwrap().0.replace("&#34;", "\"").replace("&quot;", "\"")
}

/// What a page's decision form holds, with a note.
fn decision(page: &Page, note: &str) -> Vec<(&'static str, String)> {
    vec![
        ("digest", field(page, "digest")),
        ("subject_versions", field(page, "subject_versions")),
        ("note", note.to_owned()),
    ]
}

/// Sends a decision's form.
async fn decide(session: &Session, path: &str, fields: &[(&'static str, String)]) -> Page {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    session.submit(path, &fields).await
}
