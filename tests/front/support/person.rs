//! A person, as a program acts for them through REST.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::elsewhere::Elsewhere;
use super::http;
use super::shop::id;

/// A person, with everything they sign in with. Clones act at once, as one person in two windows would.
#[derive(Clone)]
pub struct Person {
    pub email: String,
    pub password: String,
    pub api_token: String,
    /// Where `/api/v1` is.
    pub api: String,
    pub http: reqwest::Client,
    /// Another server that the person may act through.
    pub elsewhere: Option<Arc<Elsewhere>>,
}

/// What the server answered.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub body: Value,
}

impl Person {
    /// The person in as many windows, each with connections of its own. With another server, two and two are on each.
    pub fn windows(&self, count: usize) -> Vec<Self> {
        let window = |number: usize| {
            let mut window = Self {
                http: http::client(),
                ..self.clone()
            };
            if let Some(elsewhere) = self.elsewhere.as_ref().filter(|_| number / 2 % 2 == 1) {
                window.api = format!("{}/api/v1", elsewhere.url);
            }
            window
        };
        (0..count).map(window).collect()
    }

    /// The person at another server, in a window of its own.
    pub fn at(&self, url: &str) -> Self {
        Self {
            api: format!("{url}/api/v1"),
            http: http::client(),
            ..self.clone()
        }
    }

    /// Somebody else in this one's window.
    pub fn replaced_by(&self, person: &Self) -> Self {
        Self {
            api: self.api.clone(),
            http: self.http.clone(),
            ..person.clone()
        }
    }

    /// An approval that is still to be sent: a contender of a race.
    pub fn approving(&self, seen: &Value) -> BoxFuture<'static, Reply> {
        let (person, seen) = (self.clone(), seen.clone());
        async move { person.approve_as_seen(&seen).await }.boxed()
    }

    /// A rejection that is still to be sent.
    pub fn rejecting(&self, seen: &Value) -> BoxFuture<'static, Reply> {
        let (person, seen) = (self.clone(), seen.clone());
        async move { person.reject_as_seen(&seen, "No").await }.boxed()
    }

    /// One action as this person sees it now.
    pub async fn action(&self, id: &str) -> Value {
        self.try_action(id).await.unwrap()
    }

    /// The same from a server that may go away before it answers.
    pub async fn try_action(&self, id: &str) -> reqwest::Result<Value> {
        let seen = self.try_send(self.http.get(format!("{}/actions/{id}", self.api))).await?;
        Ok(seen.ok())
    }

    /// Looks at the action and approves what it sees.
    pub async fn approve(&self, id: &str) -> Reply {
        let seen = self.action(id).await;
        self.approve_as_seen(&seen).await
    }

    /// The action without the versions of its records: an approval of this accepts them as they come to be.
    pub async fn action_alone(&self, id: &str) -> Value {
        let mut seen = self.action(id).await;
        seen.as_object_mut().unwrap().remove("subject_versions");
        seen
    }

    /// Approves what was seen before, however long ago, and acknowledges the equal requests that were seen beside it.
    pub async fn approve_as_seen(&self, seen: &Value) -> Reply {
        self.try_to_approve(seen).await.unwrap()
    }

    /// The same at a server that may go away before it answers.
    pub async fn try_to_approve(&self, seen: &Value) -> reqwest::Result<Reply> {
        let mut decision = json!({ "digest": seen["digest"] });
        if let Some(versions) = seen.get("subject_versions") {
            decision["subject_versions"] = versions.clone();
        }
        let equal = seen["related"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|other| other["same_write"] == true);
        decision["acknowledge"] = equal.map(|other| other["action_id"].clone()).collect();
        let url = format!("{}/actions/{}/approve", self.api, id(seen));
        self.try_send(self.http.post(url).json(&decision)).await
    }

    /// Looks at the action and rejects it.
    pub async fn reject(&self, id: &str, reason: &str) -> Reply {
        let seen = self.action(id).await;
        self.reject_as_seen(&seen, reason).await
    }

    /// Rejects what was seen before.
    pub async fn reject_as_seen(&self, seen: &Value, reason: &str) -> Reply {
        self.try_to_reject(seen, reason).await.unwrap()
    }

    /// The same at a server that may go away before it answers.
    pub async fn try_to_reject(&self, seen: &Value, reason: &str) -> reqwest::Result<Reply> {
        let decision = json!({ "digest": seen["digest"], "reason": reason });
        let url = format!("{}/actions/{}/reject", self.api, id(seen));
        self.try_send(self.http.post(url).json(&decision)).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.http.get(format!("{}{path}", self.api))).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.send(self.http.post(format!("{}{path}", self.api)).json(&body)).await
    }

    async fn send(&self, request: RequestBuilder) -> Reply {
        self.try_send(request).await.unwrap()
    }

    async fn try_send(&self, request: RequestBuilder) -> reqwest::Result<Reply> {
        let response = request.bearer_auth(&self.api_token).send().await?;
        let status = response.status();
        let text = response.text().await?;
        let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status} without JSON: {text}"));
        Ok(Reply { status, body })
    }
}

impl Reply {
    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.body);
        self.body
    }

    /// The code of a problem document.
    #[track_caller]
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_else(|| panic!("no problem: {self:?}"))
    }
}
