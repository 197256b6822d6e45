//! The dashboard's pages, as a browser without JavaScript meets them.

mod asked_again;
mod away;
mod beside;
mod decided_before;
mod decisions;
mod house_rules;
mod lists;
mod sign_in;
mod story;
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

/// The value of a page's field of that type.
fn field(page: &Page, kind: &str, name: &str) -> Option<String> {
    let (_, after) = page.html.split_once(&format!(r#"type="{kind}" name="{name}" value=""#))?;
    Some(after.split_once('"').unwrap().0.replace("&#34;", "\"").replace("&quot;", "\""))
}

/// What a page's decision form holds, with a note. Nothing is ticked.
fn decision(page: &Page, note: &str) -> Vec<(&'static str, String)> {
    let names = ["digest", "subject_versions", "acknowledge"];
    let hidden = names.into_iter().filter_map(|name| Some((name, field(page, "hidden", name)?)));
    hidden.chain([("note", note.to_owned())]).collect()
}

/// The same with the box ticked under which that field is.
fn ticked(page: &Page, name: &'static str, note: &str) -> Vec<(&'static str, String)> {
    let ticked = field(page, "checkbox", name).unwrap_or_else(|| panic!("no box for {name}"));
    decision(page, note).into_iter().chain([(name, ticked)]).collect()
}

/// Sends a decision's form.
async fn decide(session: &Session, path: &str, fields: &[(&'static str, String)]) -> Page {
    let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
    session.submit(path, &fields).await
}
