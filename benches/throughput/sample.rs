//! One request and its approval, done in this process to hear what they ask of a database.

use countersign::{
    app::App, audit::Source, auth::guard::SESSION_COOKIE, config::Config, gateway::Arguments,
    workflow::Approval,
};
use serde_json::Value;

use super::{
    orders::Order,
    recorded::{self, Statement},
};
use crate::support::{Cast, OWNER, Outcome, SECRET};

/// What the gate sends for each of them.
pub struct Sample {
    pub request: Vec<Statement>,
    pub approval: Vec<Statement>,
    pub read: Vec<Statement>,
}

/// Listens to two requests and their approvals, and takes for fresh what differs between them.
pub async fn take(database: &str, cast: &Cast) -> Outcome<Sample> {
    let app = app(database)?;
    // Connections are made with the first call.
    once(&app, cast, 3).await?;
    let (one, other) = (once(&app, cast, 1).await?, once(&app, cast, 2).await?);
    let (read, another) = (read(&app, cast, 1).await?, read(&app, cast, 2).await?);
    // In this order, so that each call finds the order that is there for it.
    let order = Order::numbered(1);
    let mut known = vec![order.id, order.name];
    Ok(Sample {
        request: recorded::generalized(one.0, &other.0, &mut known)?,
        approval: recorded::generalized(one.1, &other.1, &mut known)?,
        read: recorded::generalized(read, &another, &mut known)?,
    })
}

/// Has one write requested and approved, and answers its action's id.
pub async fn executed(database: &str, cast: &Cast, tool: &str, arguments: Value) -> Outcome<String> {
    let app = app(database)?;
    let id = request(&app, cast, tool, arguments).await?;
    approve(&app, cast, &id, &digest(&app, &id).await?).await?;
    Ok(id)
}

/// Has a refund requested, and answers its action's id.
pub async fn requested(database: &str, cast: &Cast, arguments: Value) -> Outcome<String> {
    request(&app(database)?, cast, "request_refund", arguments).await
}

/// The cookie of the owner's session.
pub async fn signed_in(database: &str, cast: &Cast) -> Outcome<String> {
    let app = app(database)?;
    let signed_in = app.auth.sign_in(OWNER, &cast.password, &Source::INTERNAL).await?;
    Ok(format!("{SESSION_COOKIE}={}", signed_in.cookie))
}

fn app(database: &str) -> Outcome<App> {
    let mut config = Config::on(database)?;
    config.secret = Some(SECRET.to_owned());
    Ok(App::build(config)?)
}

async fn once(app: &App, cast: &Cast, order: usize) -> Outcome<(Vec<Statement>, Vec<Statement>)> {
    recorded::forget();
    let id = request(app, cast, "request_refund", super::refund(order)).await?;
    let requested = recorded::heard()?;
    let digest = digest(app, &id).await?;
    recorded::forget();
    approve(app, cast, &id, &digest).await?;
    Ok((requested, recorded::heard()?))
}

async fn read(app: &App, cast: &Cast, order: usize) -> Outcome<Vec<Statement>> {
    recorded::forget();
    call(app, cast, "get_order", super::read(order)).await?;
    recorded::heard()
}

async fn request(app: &App, cast: &Cast, tool: &str, arguments: Value) -> Outcome<String> {
    let answered = call(app, cast, tool, arguments).await?;
    Ok(answered["action_id"].as_str().ok_or("no id")?.to_owned())
}

async fn call(app: &App, cast: &Cast, tool: &str, arguments: Value) -> Outcome<Value> {
    let caller = app.gateway.authenticate(&cast.key, &Source::INTERNAL).await?;
    let Value::Object(arguments) = arguments else {
        unreachable!("it is an object")
    };
    let answer = app.gateway.call(&caller, tool, Arguments::Read(arguments)).await;
    let answer = answer.map_err(|_| "there is no such tool")?;
    if answer.is_error {
        Err(format!("refused: {}", answer.body).into())
    } else {
        Ok(answer.body)
    }
}

async fn digest(app: &App, id: &str) -> Outcome<String> {
    Ok(app.gate.detail(id).await?.action.digest)
}

async fn approve(app: &App, cast: &Cast, id: &str, digest: &str) -> Outcome<()> {
    let visitor = app.auth.api_token(&cast.token, &Source::INTERNAL).await?;
    let approval = Approval {
        digest: digest.to_owned(),
        subject_versions: None,
        note: None,
        acknowledge: Vec::new(),
    };
    app.gate.approve(&visitor.decider(Source::INTERNAL), id, approval).await?;
    Ok(())
}
