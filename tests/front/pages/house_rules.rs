//! What holds for every page: the table of routes says which there are.

use countersign::app::routes;
use countersign::auth::guard::{Access, Permission, Route};
use countersign::store::people::Role;
use reqwest::StatusCode;
use reqwest::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};

use super::request;
use crate::support::{TestApp, backends, shop};

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
     connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

backends!(every_page_is_whole_plain_and_strict);
async fn every_page_is_whole_plain_and_strict(app: &TestApp) {
    app.order("#1001", 50_000).await;
    let action = app.ask("request_refund", shop::refund("1001", 100)).await;
    let session = app.session(app.person(Role::Owner).await).await;
    let mut pages: Vec<String> = routes()
        .iter()
        .filter(|route| is_page(route))
        .map(|route| route.path.to_owned())
        .collect();
    pages.push("/nowhere".to_owned());
    for path in pages {
        let path = path.replace("/actions/{id}", &format!("/actions/{action}")).replace("{id}", "1001");
        let response = request(app, &session, &path).send().await.unwrap();
        let expected = if path == "/nowhere" { StatusCode::NOT_FOUND } else { StatusCode::OK };
        assert_eq!(response.status(), expected, "{path}");
        assert_strict(response.headers(), &path);
        let html = response.text().await.unwrap();
        assert_plain(&html, &path);

        let head = app.agent.http.head(format!("{}{path}", app.url)).header("cookie", &session.cookie);
        let head = head.send().await.unwrap();
        assert_eq!(head.status(), expected, "HEAD {path}");
        assert_eq!(head.headers()[CONTENT_TYPE], "text/html; charset=utf-8", "HEAD {path}");
        assert!(head.headers().contains_key(CONTENT_LENGTH), "HEAD {path}");
        assert!(head.text().await.unwrap().is_empty(), "HEAD {path}");
    }
}

backends!(every_entry_of_the_rail_opens);
async fn every_entry_of_the_rail_opens(app: &TestApp) {
    for role in Role::ALL {
        let session = app.session(app.person(*role).await).await;
        let page = session.get("/account").await;
        let (_, rail) = page.html.split_once(r#"<nav class="rail""#).unwrap();
        let (rail, _) = rail.split_once("</nav>").unwrap();
        let hrefs: Vec<_> = rail
            .split("href=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap())
            .filter(|href| href.starts_with('/'))
            .collect();
        assert!(hrefs.len() >= 6, "{hrefs:?}");
        for href in hrefs {
            assert_eq!(session.get(href).await.status, StatusCode::OK, "{role} at {href}");
        }
    }
}

backends!(files_are_kept_as_long_as_they_stay_the_same);
async fn files_are_kept_as_long_as_they_stay_the_same(app: &TestApp) {
    let login = app
        .agent
        .http
        .get(format!("{}/login", app.url))
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let (_, rest) = login.split_once("rel=\"stylesheet\" href=\"").unwrap();
    let path = rest.split('"').next().unwrap();
    let get = |path: &str| app.agent.http.get(format!("{}{path}", app.url));

    let file = get(path).send().await.unwrap();
    assert_eq!(file.headers()[CACHE_CONTROL], "public, max-age=31536000, immutable");
    assert_eq!(file.headers()[CONTENT_TYPE], "text/css; charset=utf-8");
    let tag = file.headers()[ETAG].clone();
    let again = get(path).header(IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);

    let name = path.rsplit('/').next().unwrap();
    let older = get(&format!("/static/0000/{name}")).send().await.unwrap();
    assert_eq!(
        (older.status(), &older.headers()[CACHE_CONTROL]),
        (StatusCode::OK, &"no-cache".parse().unwrap())
    );
    assert_eq!(get("/static/0000/../Cargo.toml").send().await.unwrap().status(), StatusCode::NOT_FOUND);
}

fn is_page(route: &Route) -> bool {
    let seen =
        matches!(route.access, Access::SignedIn(Permission::See | Permission::Audit | Permission::Own));
    route.method.as_str() == "GET" && seen && route.path != "/audit/export"
}

fn assert_strict(headers: &HeaderMap, path: &str) {
    let expected = [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("content-type", "text/html; charset=utf-8"),
    ];
    for (name, value) in expected {
        assert_eq!(headers[name], value, "{name} of {path}");
    }
}

/// Nothing inline, nothing from elsewhere, and a token in each form that changes something.
fn assert_plain(html: &str, path: &str) {
    for tag in html.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(name != "style", "{path}: <{tag}>");
        assert!(name != "script" || attributes.starts_with("src=\"/static/"), "{path}: <{tag}>");
        for attribute in attributes.split(' ') {
            let attribute = attribute.split('=').next().unwrap();
            assert!(attribute != "style" && !attribute.starts_with("on"), "{path}: <{tag}>");
        }
        for link in ["href=\"", "src=\"", "action=\""] {
            let target = attributes.split_once(link).map_or("/", |(_, rest)| rest);
            assert!(target.starts_with('/') || target.starts_with('#'), "{path}: <{tag}>");
        }
    }
    for form in html.split("<form").skip(1) {
        let form = form.split("</form>").next().unwrap();
        assert!(
            !form.contains("method=\"post\"") || form.contains("name=\"form_token\""),
            "{path}: {form}"
        );
    }
    assert!(html.contains("<title>") && html.contains("lang=\"en\""), "{path}");
}
