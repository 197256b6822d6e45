//! Who may what: every row of the table of routes, tried by everybody on a running server.

use std::fmt::{self, Write as _};

use countersign::app::routes;
use countersign::auth::guard::{Access, FORM_TOKEN, Permission, Route, SESSION_COOKIE, VISIT_COOKIE};
use countersign::store::people::Role;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{Backend, Person, TestApp, backends};

const METRICS_TOKEN: &str = "the monitoring system's own";

/// Somebody at the door, and what they hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Caller {
    Nobody,
    /// Signed in to the dashboard.
    Person(Role),
    /// With a person's API token.
    Program(Role),
    /// With a session cookie's value where a token belongs.
    SessionAsToken(Role),
    /// With an API token where a session cookie belongs.
    TokenAsSession(Role),
    Agent,
    /// With the agent key where a session cookie belongs.
    AgentAsSession,
    Monitoring,
}

backends!(every_row_lets_in_whom_it_names_and_nobody_else);
async fn every_row_lets_in_whom_it_names_and_nobody_else(backend: &Backend) {
    let street = Street::open(*backend).await;
    let mut matrix = String::new();
    for route in routes() {
        let mut let_in = Vec::new();
        for caller in Caller::all() {
            let response = street.knock(&route, caller).await;
            let status = response.status();
            assert!(!status.is_server_error(), "{caller} at {} {}: {status}", route.method, route.path);
            let turned_away = is_turned_away(&route, &response);
            let expected = may(route.access, caller);
            assert_eq!(!turned_away, expected, "{caller} at {} {}: {status}", route.method, route.path);
            if turned_away {
                let known = matches!(
                    (route.access, caller),
                    (Access::SignedIn(_), Caller::Person(_)) | (Access::Token(_), Caller::Program(_))
                );
                assert_eq!(status == StatusCode::FORBIDDEN, known, "{caller} at {}: {status}", route.path);
                assert_says_no(&route, response).await;
            } else {
                let_in.push(caller.to_string());
            }
        }
        let who = if let_in.len() == Caller::all().len() {
            "anybody".to_owned()
        } else {
            let_in.join(", ")
        };
        writeln!(matrix, "{} {}: {who}", route.method, route.path).unwrap();
    }
    // The table as it was last looked at by a person: a new row or a changed one shows up here.
    insta::assert_snapshot!("who_may_what", matrix);
}

backends!(no_form_is_taken_without_its_token);
async fn no_form_is_taken_without_its_token(backend: &Backend) {
    let street = Street::open(*backend).await;
    let forms = |route: &Route| matches!(route.access, Access::SignedIn(_) | Access::Anybody);
    for route in routes().into_iter().filter(|route| is_post(route) && forms(route)) {
        for token in [None, Some("0".repeat(64)), Some(street.someone_elses_token().await)] {
            let request = street.at(&route).header(header::COOKIE, street.cookies(Role::Owner).await);
            let fields = token.as_ref().map(|token| (FORM_TOKEN, token.as_str()));
            let response = form(request, fields).send().await.unwrap();
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{} with {token:?}", route.path);
        }
    }
}

backends!(what_is_not_listed_is_not_there);
async fn what_is_not_listed_is_not_there(backend: &Backend) {
    let street = Street::open(*backend).await;
    let unlisted = [
        "/admin",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v1/actions/",
        "/api/v1/people",
        "/api/v1/actions/x/withdraw",
        "/api/v2/actions",
        "/API/v1/actions",
        "/apis",
        "/actions/x/approve/",
        "/static/../Cargo.toml",
        "/.env",
        "//login",
        "/login/",
        "/metrics/",
    ];
    for path in unlisted {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            for caller in
                [Caller::Nobody, Caller::Person(Role::Owner), Caller::Program(Role::Owner), Caller::Agent]
            {
                let request = street.to(method.clone(), path);
                let response = street.identify(request, caller).await.send().await.unwrap();
                assert_eq!(response.status(), StatusCode::NOT_FOUND, "{caller}: {method} {path}");
                if path.starts_with("/api/") || path == "/api" {
                    assert_eq!(problem(response).await["code"], "not_found", "{path}");
                }
            }
        }
    }
}

backends!(a_foreign_name_opens_nothing);
async fn a_foreign_name_opens_nothing(backend: &Backend) {
    let street = Street::open(*backend).await;
    for route in routes().iter().filter(|route| !matches!(route.access, Access::AgentKey)) {
        let open = ["/healthz", "/readyz", "/metrics"].contains(&route.path);
        let by = async |name: &str| {
            let request = street.at(route).header("host", name);
            street.identify(request, Caller::Nobody).await.send().await.unwrap()
        };
        let foreign = by("evil.example:8080").await;
        assert_eq!(foreign.status() == StatusCode::MISDIRECTED_REQUEST, !open, "{}", route.path);
        for own in ["localhost", "127.0.0.1:8080", "[::1]", "192.0.2.7"] {
            assert_ne!(by(own).await.status(), StatusCode::MISDIRECTED_REQUEST, "{} {own}", route.path);
        }
    }
    let said = street
        .to(Method::GET, "/api/v1/actions")
        .header("host", "evil.example")
        .send()
        .await
        .unwrap();
    assert!(problem(said).await["detail"].as_str().unwrap().contains("COUNTERSIGN_PUBLIC_URL"));
    let said = street.to(Method::GET, "/nowhere").header("host", "evil.example").send().await.unwrap();
    assert_eq!(said.status(), StatusCode::MISDIRECTED_REQUEST);
    assert!(said.text().await.unwrap().contains("COUNTERSIGN_PUBLIC_URL"));
}

backends!(a_listed_path_takes_its_own_methods_alone);
async fn a_listed_path_takes_its_own_methods_alone(backend: &Backend) {
    let street = Street::open(*backend).await;
    let table = routes();
    for route in table.iter().filter(|route| !matches!(route.access, Access::AgentKey)) {
        let own: Vec<_> = table.iter().filter(|row| row.path == route.path).map(|row| &row.method).collect();
        for method in [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS]
        {
            if own.iter().any(|own| own.as_str() == method.as_str()) {
                continue;
            }
            let request = street.to(method.clone(), &street.path(route));
            let response = street.identify(request, Caller::Person(Role::Owner)).await.send().await.unwrap();
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {}", route.path);
            let allowed = response.headers()[header::ALLOW].to_str().unwrap().to_owned();
            assert!(own.iter().all(|own| allowed.contains(own.as_str())), "{}: {allowed}", route.path);
        }
    }
}

/// Who may use a row, written down once more and apart from the guard.
fn may(access: Access, caller: Caller) -> bool {
    let role_may = |role: Role, permission| match permission {
        Permission::See => true,
        Permission::Decide => [Role::Owner, Role::Approver].contains(&role),
        Permission::Audit => [Role::Owner, Role::Auditor].contains(&role),
        Permission::Own => role == Role::Owner,
    };
    match (access, caller) {
        (Access::Anybody | Access::Address, _)
        | (Access::AgentKey, Caller::Agent)
        | (Access::Monitoring, Caller::Monitoring) => true,
        (Access::SignedIn(permission), Caller::Person(role))
        | (Access::Token(permission), Caller::Program(role)) => role_may(role, permission),
        _ => false,
    }
}

/// The guard's answer: known and not allowed, unknown, or, instead of a page, the way in.
fn is_turned_away(route: &Route, response: &Response) -> bool {
    let location = response.headers().get(header::LOCATION);
    let to_login =
        !is_post(route) && location.is_some_and(|address| address.to_str().unwrap().starts_with("/login"));
    to_login || [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&response.status())
}

/// Each door says no in its own form.
async fn assert_says_no(route: &Route, response: Response) {
    if !matches!(route.access, Access::Token(_)) {
        return;
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        assert_eq!(response.headers()[header::WWW_AUTHENTICATE], "Bearer realm=\"countersign\"");
    }
    let code = if response.status() == StatusCode::FORBIDDEN {
        "forbidden"
    } else {
        "unauthenticated"
    };
    assert_eq!(problem(response).await["code"], code, "{}", route.path);
}

fn is_post(route: &Route) -> bool {
    route.method.as_str() == "POST"
}

fn form<'f>(request: RequestBuilder, fields: impl IntoIterator<Item = (&'f str, &'f str)>) -> RequestBuilder {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
}

async fn problem(response: Response) -> Value {
    assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// A running server with an action that waits, and everybody's keys to it.
struct Street {
    app: TestApp,
    /// Without cookies of its own, and without following redirects.
    http: reqwest::Client,
    action_id: String,
    /// Whom everybody signs in as; not one of the callers, because an account has a limit.
    frequent: Person,
    sessions: tokio::sync::Mutex<std::collections::BTreeMap<&'static str, String>>,
}

impl Street {
    async fn open(backend: Backend) -> Self {
        let app = TestApp::with(backend, |config| config.metrics_token = Some(METRICS_TOKEN.into())).await;
        app.order("#1001", 50_000).await;
        let arguments =
            json!({"order_id": "1001", "amount_minor": 100, "currency": "INR", "reason": "Arrived broken"});
        let asked = app.agent.call("request_refund", arguments).await.ok();
        Self {
            frequent: app.add_person("frequent", Role::Viewer).await,
            action_id: asked["action_id"].as_str().unwrap().to_owned(),
            http: reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap(),
            sessions: tokio::sync::Mutex::default(),
            app,
        }
    }

    /// Tries a row as well as that caller can: with the form's token, the content type and the credentials that go with it.
    async fn knock(&self, route: &Route, caller: Caller) -> Response {
        let request = self.identify(self.at(route), caller).await;
        let request = match route.access {
            _ if !is_post(route) => request,
            Access::SignedIn(_) | Access::Anybody => {
                let token = match (route.access, caller) {
                    (Access::SignedIn(_), Caller::Person(role)) => self.form_token(role).await,
                    _ => self.app.inner.auth.visit_token("visit"),
                };
                form(
                    request,
                    [
                        (FORM_TOKEN, &*token),
                        ("email", &self.frequent.email),
                        ("password", &self.frequent.password),
                    ],
                )
            }
            Access::AgentKey => request
                .header(header::ACCEPT, "application/json, text/event-stream")
                .header("mcp-protocol-version", "2025-06-18")
                .json(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})),
            Access::Token(_) | Access::Monitoring | Access::Address => request.json(&json!({})),
        };
        let response = request.send().await.unwrap();
        if route.path == "/logout"
            && let Caller::Person(role) = caller
        {
            self.sessions.lock().await.remove(role.as_str());
        }
        response
    }

    async fn identify(&self, request: RequestBuilder, caller: Caller) -> RequestBuilder {
        let visit = format!("{VISIT_COOKIE}=visit");
        let session = |value: &str| format!("{SESSION_COOKIE}={value}; {visit}");
        match caller {
            Caller::Nobody => request.header(header::COOKIE, visit),
            Caller::Person(role) => request.header(header::COOKIE, self.cookies(role).await),
            Caller::Program(role) => {
                request.bearer_auth(&self.app.person(role).await.api_token).header(header::COOKIE, visit)
            }
            Caller::SessionAsToken(role) => {
                request.bearer_auth(self.session(role).await).header(header::COOKIE, visit)
            }
            Caller::TokenAsSession(role) => {
                request.header(header::COOKIE, session(&self.app.person(role).await.api_token))
            }
            Caller::Agent => request.bearer_auth(&self.app.agent.key).header(header::COOKIE, visit),
            Caller::AgentAsSession => request.header(header::COOKIE, session(&self.app.agent.key)),
            Caller::Monitoring => request.bearer_auth(METRICS_TOKEN).header(header::COOKIE, visit),
        }
    }

    fn at(&self, route: &Route) -> RequestBuilder {
        self.to(route.method.as_str().parse().unwrap(), &self.path(route))
    }

    fn to(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.app.url))
    }

    /// A path of that row which leads somewhere.
    fn path(&self, route: &Route) -> String {
        let id = if route.path.contains("actions") { self.action_id.as_str() } else { "1001" };
        route
            .path
            .replace("{id}", id)
            .replace("{version}", "0")
            .replace("{name}", "countersign.css")
    }

    async fn cookies(&self, role: Role) -> String {
        format!("{SESSION_COOKIE}={}; {VISIT_COOKIE}=visit", self.session(role).await)
    }

    async fn session(&self, role: Role) -> String {
        let person = self.app.person(role).await;
        let mut sessions = self.sessions.lock().await;
        if let Some(session) = sessions.get(role.as_str()) {
            return session.clone();
        }
        let source = countersign::audit::Source::INTERNAL;
        let opened = self.app.inner.auth.sign_in(&person.email, &person.password, &source).await.unwrap();
        sessions.insert(role.as_str(), opened.cookie.clone());
        opened.cookie
    }

    async fn form_token(&self, role: Role) -> String {
        let visitor = self.app.inner.auth.session(&self.session(role).await).await.unwrap();
        self.app.inner.auth.form_token(&visitor.means)
    }

    /// What another person's forms carry.
    async fn someone_elses_token(&self) -> String {
        self.form_token(Role::Approver).await
    }
}

impl Caller {
    fn all() -> Vec<Self> {
        let roles = Role::ALL.iter().copied();
        let mut all = vec![Self::Nobody, Self::Agent, Self::AgentAsSession, Self::Monitoring];
        all.extend(roles.clone().map(Self::Person));
        all.extend(roles.clone().map(Self::Program));
        all.extend(roles.clone().map(Self::SessionAsToken));
        all.extend(roles.map(Self::TokenAsSession));
        all
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("nobody"),
            Self::Person(role) => write!(f, "{role}"),
            Self::Program(role) => write!(f, "{role}'s token"),
            Self::SessionAsToken(role) => write!(f, "{role}'s session as a token"),
            Self::TokenAsSession(role) => write!(f, "{role}'s token as a session"),
            Self::Agent => f.write_str("agent key"),
            Self::AgentAsSession => f.write_str("agent key as a session"),
            Self::Monitoring => f.write_str("monitoring"),
        }
    }
}
