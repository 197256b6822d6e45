//! One request and its approval, done in this process to hear what they ask of a database.

use countersign::{app::App, audit::Source, config::Config, gateway::Arguments, workflow::Approval};
use serde_json::Value;

use super::{
    orders::Order,
    recorded::{self, Statement},
};
use crate::support::{Cast, Outcome, SECRET};

/// What the gate sends for each of them.
pub struct Sample {
    pub request: Vec<Statement>,
    pub approval: Vec<Statement>,
}

/// Listens to two requests and their approvals, and takes for fresh what differs between them.
pub async fn take(database: &str, cast: &Cast) -> Outcome<Sample> {
    let mut config = Config::on(database)?;
    config.secret = Some(SECRET.to_owned());
    let app = App::build(config)?;
    // Connections are made with the first call.
    once(&app, cast, 3).await?;
    let (one, other) = (once(&app, cast, 1).await?, once(&app, cast, 2).await?);
    // In this order, so that each call finds the order that is there for it.
    let order = Order::numbered(1);
    let mut known = vec![order.id, order.name];
    Ok(Sample {
        request: recorded::generalized(one.0, &other.0, &mut known)?,
        approval: recorded::generalized(one.1, &other.1, &mut known)?,
    })
}

async fn once(app: &App, cast: &Cast, order: usize) -> Outcome<(Vec<Statement>, Vec<Statement>)> {
    recorded::forget();
    let caller = app.gateway.authenticate(&cast.key, &Source::INTERNAL).await?;
    let Value::Object(arguments) = super::refund(order) else {
        unreachable!("it is an object")
    };
    let answer = app.gateway.call(&caller, "request_refund", Arguments::Read(arguments)).await;
    let answer = answer.map_err(|_| "there is no such tool")?;
    let request = recorded::heard()?;
    let id = answer.body["action_id"].as_str().ok_or_else(|| format!("refused: {}", answer.body))?;
    let detail = app.gate.detail(id).await?;
    recorded::forget();
    let visitor = app.auth.api_token(&cast.token, &Source::INTERNAL).await?;
    let approval = Approval {
        digest: detail.action.digest.clone(),
        subject_versions: None,
        note: None,
        acknowledge: Vec::new(),
    };
    app.gate.approve(&visitor.decider(Source::INTERNAL), id, approval).await?;
    Ok((request, recorded::heard()?))
}
