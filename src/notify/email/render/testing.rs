//! Hand-made letters for the tests.

use chrono::TimeDelta;

use super::super::super::{Addressee, Bundle, Letter, Told, timing::WallClock};
use crate::{
    db::Timestamp,
    kinds::{Change, Preview, Refusal},
    store::{
        actions::{Action, Status},
        people::Role,
        preferences::Settings,
    },
    workflow::{
        ActionView, Detail, Named,
        view::{DecisionView, RefusalView, rfc3339},
    },
};

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Half past ten on a Sunday, by UTC; four in the afternoon in India.
pub fn now() -> Timestamp {
    at("2026-11-29T10:30:00")
}

/// A clock on the wall in India.
pub fn india() -> WallClock {
    WallClock::of(Some(&Settings {
        time_zone: "Asia/Kolkata".to_owned(),
        quiet_from: None,
        quiet_until: None,
    }))
}

/// A letter to an approver.
pub fn letter(bundle: Bundle, told: Vec<Told>) -> Letter {
    Letter {
        id: "0198c0de-0000-7000-8000-00000000abcd".to_owned(),
        to: Addressee {
            id: "p".to_owned(),
            email: "asha@example.com".to_owned(),
            role: Role::Approver,
        },
        leave: bundle.list().map(|list| {
            format!("https://gate.example.com/unsubscribe?person=p&list={list}&token=0123456789abcdef")
        }),
        bundle,
        told,
        left_out: Vec::new(),
        answers: None,
        clock: india(),
        now: now(),
        dashboard: "https://gate.example.com".to_owned(),
    }
}

/// A refund that support-agent asked for a minute ago, with some hours left.
pub fn refund() -> Box<Detail> {
    Box::new(Detail {
        view: view(),
        action: action(),
        status: Status::Pending,
        agent: "support-agent".to_owned(),
        agent_owner: Some("ravi@example.com".to_owned()),
        kind_title: "Refund".to_owned(),
        left: TimeDelta::minutes(239),
        now: now(),
        versions: [("order:#1044".to_owned(), 3)].into(),
        changed: false,
        preview: Some(Preview {
            changes: changes(),
            facts: "<section><h3>Order</h3><dl class=\"facts\"><dt>Number</dt><dd><a href=\"/orders/1044\">#1044</a></dd>\
                    <dt>Customer</dt><dd><bdi>farah@example.com</bdi> · 2 orders</dd>\
                    <dt>Lines</dt><dd>1 × <bdi>Headphones &amp; case</bdi></dd></dl></section>"
                .to_owned(),
        }),
        changes: Vec::new(),
        refusal_today: None,
        related: Vec::new(),
        related_open: 0,
        related_left_out: 0,
        repeats: Vec::new(),
    })
}

/// The refund, decided.
pub fn decided(status: Status, note: Option<&str>) -> Box<Detail> {
    let mut detail = refund();
    detail.status = status;
    detail.preview = None;
    detail.view.status = status;
    detail.action.status = status;
    detail.action.decided_at = Some(now() - TimeDelta::seconds(40));
    detail.action.decided_by = Some("o".to_owned());
    detail.action.decision_note = note.map(ToOwned::to_owned);
    detail.view.decision = Some(DecisionView {
        by: "owner@example.com".to_owned(),
        at: rfc3339(now()),
        note: None,
        reason: None,
        amended: false,
    });
    if status == Status::Executed {
        detail.changes = changes();
    }
    if status == Status::Failed {
        let message = "INR 0.00 is left to refund on order #1044; ask for at most that.".to_owned();
        detail.action.refusal_message = Some(message.clone());
        detail.view.refusal = Some(RefusalView {
            rule: "over_refund".to_owned(),
            message,
        });
    }
    detail
}

/// The refund with everything that can be wrong with it.
pub fn doubtful() -> Box<Detail> {
    let other = |status: Status, fingerprint: &str, ago| Named {
        action: Action {
            id: "0198c0de-0000-7000-8000-000000000002".to_owned(),
            fingerprint: fingerprint.to_owned(),
            requested_at: now() - ago,
            decided_at: (status == Status::Executed).then(|| now() - ago),
            ..action()
        },
        agent: "night-agent".to_owned(),
        status,
        left: TimeDelta::minutes(20),
    };
    let (just_now, yesterday) = (TimeDelta::minutes(10), TimeDelta::hours(25));
    Box::new(Detail {
        changed: true,
        refusal_today: Some(Refusal::new("over_refund", "Only INR 10.00 is left to refund.")),
        related: vec![other(Status::Pending, "f", just_now), other(Status::Executed, "g", just_now)],
        related_open: 1,
        repeats: vec![other(Status::Executed, "f", yesterday)],
        ..*refund()
    })
}

fn changes() -> Vec<Change> {
    vec![
        Change::new("Refunded", "INR 0.00", "INR 8,999.00"),
        Change::new("Left to refund", "INR 17,758.28", "INR 8,759.28"),
        Change::same("Stock", "unchanged"),
    ]
}

fn action() -> Action {
    Action {
        id: "0198c0de-0000-7000-8000-000000000001".to_owned(),
        kind: "refund".to_owned(),
        kind_version: 1,
        agent_id: "a".to_owned(),
        slot_key: "d:0".to_owned(),
        attempt: 1,
        previous_action_id: None,
        requested_params: "{}".to_owned(),
        effective_params: "{}".to_owned(),
        fingerprint: "f".to_owned(),
        reason: "The headphones arrived broken.\n\nThe customer sent two pictures, and wants the money back."
            .to_owned(),
        digest: "d".to_owned(),
        summary: "Refund INR 8,999.00 on order #1044".to_owned(),
        headline: "Refund order #1044".to_owned(),
        figure: "INR 8,999.00".to_owned(),
        status: Status::Pending,
        requested_at: now() - TimeDelta::minutes(1),
        expires_at: now() + TimeDelta::minutes(239),
        decided_at: None,
        decided_by: None,
        decision_note: None,
        changes: None,
        result: None,
        refusal_rule: None,
        refusal_message: None,
        lock_no: 0,
        pruned_at: None,
        amount: Some(899_900),
        unit: Some("INR".to_owned()),
    }
}

fn view() -> ActionView {
    let action = action();
    ActionView {
        review_url: format!("https://gate.example.com/actions/{}", action.id),
        action_id: action.id,
        kind: action.kind,
        status: Status::Pending,
        disposition: None,
        attempt: 1,
        previous_action_id: None,
        summary: action.summary,
        requested_at: rfc3339(action.requested_at),
        expires_at: rfc3339(action.expires_at),
        decision: None,
        result: None,
        refusal: None,
        dropped: None,
        next: String::new(),
    }
}
