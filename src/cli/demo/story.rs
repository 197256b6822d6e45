//! What happened in the demo shop so far: asked, decided and expired through the real gate, as it is told here.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    accounts::{READER, SUPPORT},
    sheet::{ENDED, Sheet},
};
use crate::{
    app::App,
    audit::Source,
    config::{Config, Rate},
    error::{Error, Result},
    gateway::{Answer, Arguments, Caller},
    store::actions::Action,
    workflow::{Approval, Decider, Rejection, Wanted},
};

/// How long the request lives that shows what expired looks like.
const SHORT: &str = "1s";
/// How often to look whether it has expired, and for how long.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const LOOKS: u32 = 50;

/// Makes the requests, the first time; later, when none waits any more, asks again for some. The answer says which.
pub(super) async fn tell(app: &App, sheet: &Sheet) -> Result<String> {
    let any = Wanted {
        limit: 1,
        ..Wanted::default()
    };
    let first_time = app.gate.listed(any).await?.rows.is_empty();
    let mut asked_again = false;
    if first_time {
        Story::begin(&gate_of(app, |_| {})?, sheet).await?.tell(app).await?;
    } else if app.gate.waiting(None, None).await?.total() == 0 {
        asked_again = ask_again(&gate_of(app, |_| {})?, sheet).await?;
    }
    let waiting = app.gate.waiting(None, None).await?.total();
    Ok(match (waiting, asked_again) {
        (0, _) => "No request waits for a decision: let an agent ask for something.".to_owned(),
        (waiting, true) => {
            format!("Nothing waited any more, so the agent asked again: {waiting} requests wait.")
        }
        (waiting, false) => format!("{waiting} requests wait for a decision."),
    })
}

/// The same gate without limits on how often agents may ask, so that no setting can keep the demo from starting.
fn gate_of(app: &App, change: impl FnOnce(&mut Config)) -> Result<App> {
    let mut config = app.config.clone();
    (config.read_rate, config.write_rate, config.retry_window) = (Rate::Off, Rate::Off, None);
    config.max_stock_delta = config.max_stock_delta.max(100);
    change(&mut config);
    App::on(app.db.clone(), config)
}

/// Asks for what the first start left waiting. Some of it may have been decided since; whatever opens again is enough.
async fn ask_again(app: &App, sheet: &Sheet) -> Result<bool> {
    if sheet.agents.iter().any(|agent| agent.name == SUPPORT && agent.key == ENDED) {
        return Ok(false);
    }
    let Ok(support) = agent(app, sheet, SUPPORT).await else { return Ok(false) };
    for (tool, arguments) in waiting() {
        // A denial is an answer like any other, and on record.
        answer(app, &support, tool, arguments).await?;
    }
    Ok(app.gate.waiting(None, None).await?.total() > 0)
}

/// The requests that are left for whoever tries it out.
fn waiting() -> [(&'static str, Value); 7] {
    let refund = |order: &str, minor: i64, currency: &str, reason: &str| {
        let arguments =
            json!({ "order_id": order, "amount_minor": minor, "currency": currency, "reason": reason });
        ("request_refund", arguments)
    };
    let stock = |sku: &str, delta: i64, reason: &str| {
        ("request_stock_adjustment", json!({ "sku": sku, "delta": delta, "reason": reason }))
    };
    [
        // Text from agents may hold anything; this holds a character that turns the direction of writing.
        refund(
            "#1044",
            899_900,
            "INR",
            "Headphones arrived broken, customer sent photos. Please approve quickly\u{202e} as agreed.",
        ),
        (
            "request_order_cancellation",
            json!({ "order_id": "#1051", "reason": "Customer ordered twice by mistake; #1050 is the one to keep." }),
        ),
        // On the same order, so that each is shown beside the other.
        refund(
            "#1051",
            129_900,
            "INR",
            "Customer ordered twice by mistake and wants the second payment back.",
        ),
        stock("CB-ETH-500", 48, "Delivery note 7731 counted."),
        // The stock of the mugs changes before anybody decides this.
        stock("KT-MUG-001", -3, "Three mugs broke at the packing table."),
        refund("#1038", 134_000, "INR", "One bag of coffee was missing from the parcel."),
        refund("#1170", 4_380, "JPY", "The candle's jar is cracked; the customer keeps the rest."),
    ]
}

/// Those who act.
struct Story<'a> {
    app: &'a App,
    support: Caller,
    reader: Caller,
    approver: Decider,
}

impl<'a> Story<'a> {
    async fn begin(app: &'a App, sheet: &Sheet) -> Result<Self> {
        let approver = sheet.people.iter().find(|person| person.role == "approver");
        let token = approver.map(|person| person.api_token.as_str()).unwrap_or_default();
        Ok(Self {
            app,
            support: agent(app, sheet, SUPPORT).await?,
            reader: agent(app, sheet, READER).await?,
            approver: app.auth.api_token(token, &Source::INTERNAL).await?.decider(Source::INTERNAL),
        })
    }

    async fn tell(&self, served: &App) -> Result<()> {
        self.look_around().await?;
        self.let_one_expire(served).await?;
        let [first, others @ ..] = waiting();
        self.ask(first.0, first.1.clone()).await?;
        // The answer got lost, so the agent asks again; it stays one request.
        self.ask(first.0, first.1).await?;
        for (tool, arguments) in others {
            self.ask(tool, arguments).await?;
        }
        self.decide_some().await
    }

    /// Reads, and a request that the scopes do not allow.
    async fn look_around(&self) -> Result<()> {
        let calls = [
            (
                "search_orders",
                json!({ "financial_status": "paid", "fulfillment_status": "unfulfilled" }),
            ),
            ("get_order", json!({ "order_id": "1044" })),
            ("check_stock", json!({ "sku": "KT-MUG-001" })),
            (
                "request_refund",
                json!({ "order_id": "1044", "amount_minor": 100, "currency": "INR", "reason": "Goodwill." }),
            ),
        ];
        for (tool, arguments) in calls {
            answer(self.app, &self.reader, tool, arguments).await?;
        }
        Ok(())
    }

    async fn let_one_expire(&self, served: &App) -> Result<()> {
        let short = SHORT.parse().map_err(Error::Setup)?;
        let hurried = gate_of(served, |config| config.action_ttl = short)?;
        let arguments = json!({
            "order_id": "#1121", "amount_minor": 45_000, "currency": "INR", "reason": "The notebook arrived wet.",
        });
        call(&hurried, &self.support, "request_refund", arguments).await?;
        for _ in 0..LOOKS {
            tokio::time::sleep(LOOK_AGAIN).await;
            if served.gate.sweep().await? > 0 {
                break;
            }
        }
        Ok(())
    }

    async fn decide_some(&self) -> Result<()> {
        let refund = |minor: i64, reason: &str| json!({ "order_id": "#1150", "amount_minor": minor, "currency": "INR", "reason": reason });
        let first = self.ask("request_refund", refund(400_000, "Two candles never arrived.")).await?;
        let second = self.ask("request_refund", refund(300_000, "A candle burns on one side only.")).await?;
        self.approve(&first, Some("The carrier confirmed the loss.")).await?;
        // By now there is not that much left to refund.
        self.approve(&second, None).await?;

        let mugs = json!({ "sku": "KT-MUG-001", "delta": 24, "reason": "Delivery note 7729 counted." });
        let mugs = self.ask("request_stock_adjustment", mugs).await?;
        self.approve(&mugs, None).await?;
        let cancellation =
            json!({ "order_id": "#1115", "reason": "Customer changed their mind before it was packed." });
        let cancellation = self.ask("request_order_cancellation", cancellation).await?;
        self.approve(&cancellation, Some("Confirmed by phone.")).await?;

        let candles = json!({ "sku": "CN-LAV-3WK", "delta": -20, "reason": "The shelf looks empty." });
        let candles = self.ask("request_stock_adjustment", candles).await?;
        self.reject(&candles, "Count them first: the shelf list says 68.").await?;
        let laptop_stand =
            json!({ "order_id": "#1161", "reason": "Customer asked to cancel.", "restock": false });
        let laptop_stand = self.ask("request_order_cancellation", laptop_stand).await?;
        call(self.app, &self.support, "withdraw_action", json!({ "action_id": laptop_stand }))
            .await
            .map(|_| ())
    }

    /// Asks, and answers the action's id.
    async fn ask(&self, tool: &str, arguments: Value) -> Result<String> {
        let answer = call(self.app, &self.support, tool, arguments).await?;
        Ok(answer["action_id"].as_str().unwrap_or_default().to_owned())
    }

    async fn approve(&self, id: &str, note: Option<&str>) -> Result<Action> {
        let seen = self.app.gate.detail(id).await?;
        let approval = Approval {
            digest: seen.action.digest,
            subject_versions: Some(seen.versions),
            note: note.map(ToOwned::to_owned),
            acknowledge: Vec::new(),
        };
        self.app.gate.approve(&self.approver, id, approval).await
    }

    async fn reject(&self, id: &str, reason: &str) -> Result<Action> {
        let rejection = Rejection {
            digest: self.app.gate.detail(id).await?.action.digest,
            reason: reason.to_owned(),
        };
        self.app.gate.reject(&self.approver, id, rejection).await
    }
}

async fn agent(app: &App, sheet: &Sheet, name: &str) -> Result<Caller> {
    let key = sheet.agents.iter().find(|agent| agent.name == name).map(|agent| agent.key.as_str());
    app.gateway.authenticate(key.unwrap_or_default(), &Source::INTERNAL).await
}

/// Calls a tool that must answer.
async fn call(app: &App, caller: &Caller, tool: &str, arguments: Value) -> Result<Value> {
    let answer = answer(app, caller, tool, arguments).await?;
    if answer.is_error {
        return Err(Error::Internal(format!("{tool} answered {}", answer.body).into()));
    }
    Ok(answer.body)
}

/// Calls a tool that may say no.
async fn answer(app: &App, caller: &Caller, tool: &str, arguments: Value) -> Result<Answer> {
    let arguments = match arguments {
        Value::Object(arguments) => Arguments::Read(arguments),
        other => Arguments::Faulty(format!("{other} is no object.")),
    };
    let answered = app.gateway.call(caller, tool, arguments).await;
    answered.map_err(|_| Error::Internal(format!("there is no tool {tool}").into()))
}
