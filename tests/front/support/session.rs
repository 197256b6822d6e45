//! A person signed in over plain HTTP: what a browser without JavaScript would send, and what no browser would.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::header::{CONTENT_TYPE, COOKIE, LOCATION, SET_COOKIE};
use reqwest::{RequestBuilder, Response, StatusCode};

use serde_json::Value;

use super::elsewhere::Elsewhere;
use super::shop::id;
use super::{Person, TestApp, http};

/// A signed-in session. Clones are windows of the same one.
#[derive(Clone)]
pub struct Session {
    pub site: String,
    /// As the `Cookie` header has it.
    pub cookie: String,
    /// What each form carries.
    pub form_token: String,
    http: reqwest::Client,
    elsewhere: Option<Arc<Elsewhere>>,
}

/// A page, or a redirect to one.
#[derive(Debug)]
pub struct Page {
    pub status: StatusCode,
    pub location: Option<String>,
    pub html: String,
}

impl TestApp {
    /// Signs a person in through the form.
    pub async fn session(&self, person: &Person) -> Session {
        let entered = self.sign_in(person).await;
        assert_eq!(entered.status(), StatusCode::SEE_OTHER, "{} can't sign in", person.email);

        let mut session = Session {
            site: self.url.clone(),
            cookie: cookie_of(&entered),
            form_token: String::new(),
            http: person.http.clone(),
            elsewhere: self.elsewhere.clone(),
        };
        session.form_token = form_token_in(&session.get("/").await.html);
        session
    }

    /// Sends the form with what the person signs in with.
    pub async fn sign_in(&self, person: &Person) -> Response {
        sign_in(&self.url, &person.http, &person.email, &person.password).await
    }
}

/// Sends the form of the server there.
pub async fn sign_in(url: &str, http: &reqwest::Client, email: &str, password: &str) -> Response {
    let form = http.get(format!("{url}/login")).send().await.unwrap();
    let visit = cookie_of(&form);
    let token = form_token_in(&form.text().await.unwrap());
    let fields = [("form_token", token.as_str()), ("email", email), ("password", password)];
    post_form(http, &format!("{url}/login"), &fields)
        .header(COOKIE, visit)
        .send()
        .await
        .unwrap()
}

impl Session {
    /// The session in as many windows, each with connections of its own. With another server, two and two are on each.
    pub fn windows(&self, count: usize) -> Vec<Self> {
        let window = |number: usize| {
            let mut window = Self {
                http: http::client(),
                ..self.clone()
            };
            if let Some(elsewhere) = self.elsewhere.as_ref().filter(|_| number / 2 % 2 == 1) {
                window.site.clone_from(&elsewhere.url);
            }
            window
        };
        (0..count).map(window).collect()
    }

    /// The form of an approval of what was seen, still to be sent: a contender of a race.
    pub fn approving(&self, seen: &Value) -> BoxFuture<'static, Page> {
        let versions = seen["subject_versions"].to_string();
        self.deciding("approve", seen, &[("subject_versions", versions)])
    }

    /// The form of a rejection, still to be sent.
    pub fn rejecting(&self, seen: &Value) -> BoxFuture<'static, Page> {
        self.deciding("reject", seen, &[("reason", "No".to_owned())])
    }

    fn deciding(
        &self,
        verb: &str,
        seen: &Value,
        more: &[(&'static str, String)],
    ) -> BoxFuture<'static, Page> {
        let (session, path) = (self.clone(), format!("/actions/{}/{verb}", id(seen)));
        let digest = seen["digest"].as_str().unwrap().to_owned();
        let fields = [&[("digest", digest)], more].concat();
        async move {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            session.submit(&path, &fields).await
        }
        .boxed()
    }

    pub async fn get(&self, path: &str) -> Page {
        self.send(self.http.get(format!("{}{path}", self.site))).await
    }

    /// Sends a form, with its token.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let mut all = vec![("form_token", self.form_token.as_str())];
        all.extend_from_slice(fields);
        self.send(post_form(&self.http, &format!("{}{path}", self.site), &all)).await
    }

    async fn send(&self, request: RequestBuilder) -> Page {
        let response = request.header(COOKIE, &self.cookie).send().await.unwrap();
        let location = response.headers().get(LOCATION).map(|to| to.to_str().unwrap().to_owned());
        Page {
            status: response.status(),
            location,
            html: response.text().await.unwrap(),
        }
    }
}

fn post_form(http: &reqwest::Client, url: &str, fields: &[(&str, &str)]) -> RequestBuilder {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    http.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
}

/// The one cookie that a response sets, without its attributes.
fn cookie_of(response: &Response) -> String {
    let header = response.headers().get(SET_COOKIE).expect("a cookie").to_str().unwrap();
    header.split(';').next().unwrap().to_owned()
}

fn form_token_in(html: &str) -> String {
    let (_, after) = html.split_once(r#"name="form_token" value=""#).expect("a form with a token");
    after.split_once('"').unwrap().0.to_owned()
}
