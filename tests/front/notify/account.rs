//! The form on the account page: what it keeps, and what it refuses.

use countersign::store::people::Role;
use futures_util::FutureExt;
use reqwest::StatusCode;
use serde_json::json;

use crate::support::{TestApp, backends};

backends!(what_is_kept_is_shown_again);
async fn what_is_kept_is_shown_again(app: &TestApp) {
    let session = app.session(app.person(Role::Owner).await).await;
    let fields = [
        ("time_zone", "Asia/Kolkata"),
        ("quiet_from", "22:00"),
        ("quiet_until", "07:30"),
        ("list.requests", "on"),
        ("timing.refund", "hourly"),
        ("from.refund.0", "5000"),
        ("unit.refund.0", "inr"),
        ("timing.refund.0", "at_once"),
        ("from.refund.1", "1200"),
        ("unit.refund.1", "JPY"),
        ("timing.refund.1", "quarter_hourly"),
        ("timing.stock_adjustment", "never"),
        ("from.stock_adjustment.0", "100"),
        ("timing.stock_adjustment.0", "hourly"),
    ];
    let kept = session.submit("/account/mail", &fields).await;
    assert_eq!(kept.status, StatusCode::SEE_OTHER, "{}", kept.html);
    let page = session.get("/account?kept=1").await.html;
    for shown in [
        "<option selected>Asia/Kolkata</option>",
        r#"name="quiet_from" value="22:00""#,
        r#"name="quiet_until" value="07:30""#,
        r#"name="list.requests" checked"#,
        r#"name="from.refund.0" value="5000.00""#,
        r#"name="unit.refund.0" value="INR""#,
        r#"name="from.refund.1" value="1200""#,
        r#"name="unit.refund.1" value="JPY""#,
        r#"name="from.refund.2" value="""#,
        r#"name="from.stock_adjustment.0" value="100""#,
        "Saved.",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(!page.contains(r#"name="list.outcomes" checked"#));
    assert_eq!(app.rival().count("notification_rules", "1 = 1"), 5);
    assert_eq!(app.rival().count("audit_events", "outcome = 'wishes_changed'"), 1);
}

backends!(what_can_not_be_meant_is_refused_and_shown_as_it_was_typed);
async fn what_can_not_be_meant_is_refused_and_shown_as_it_was_typed(app: &TestApp) {
    let session = app.session(app.person(Role::Viewer).await).await;
    let amount = |from: &'static str, unit: &'static str| {
        vec![
            ("time_zone", "UTC"),
            ("from.refund.0", from),
            ("unit.refund.0", unit),
            ("timing.refund.0", "at_once"),
        ]
    };
    let wrong: Vec<Vec<(&str, &str)>> = vec![
        vec![],
        vec![("time_zone", "Mars/Olympus")],
        vec![("time_zone", "UTC"), ("quiet_from", "22:00")],
        vec![("time_zone", "UTC"), ("quiet_from", "22:00"), ("quiet_until", "22:00")],
        vec![("time_zone", "UTC"), ("quiet_from", "25:00"), ("quiet_until", "07:00")],
        vec![("time_zone", "UTC"), ("quiet_from", "soon"), ("quiet_until", "later")],
        vec![("time_zone", "UTC"), ("quiet_from", "+2:+3"), ("quiet_until", "07:00")],
        vec![("time_zone", "UTC"), ("quiet_from", "22:00:59x"), ("quiet_until", "07:00")],
        amount("1,000", "INR"),
        amount("-1", "INR"),
        amount("1.234", "INR"),
        amount("99999999999999999999", "INR"),
        amount("1000", "ZZZ"),
        amount("1000", ""),
        amount("<b>x</b>", "INR"),
        vec![("time_zone", "UTC"), ("from.stock_adjustment.0", "1.5")],
        vec![("time_zone", "UTC"), ("timing.refund", "soon")],
        vec![
            ("time_zone", "UTC"),
            ("from.refund.0", "1"),
            ("unit.refund.0", "INR"),
            ("timing.refund.0", "<b>x</b>"),
        ],
        vec![
            ("time_zone", "UTC"),
            ("from.stock_adjustment.1", "5"),
            ("timing.stock_adjustment.1", "hourly"),
        ],
        vec![("time_zone", "UTC"), ("timing.gift", "hourly")],
        vec![("time_zone", "UTC"), ("list.deliveries", "on")],
        vec![
            ("time_zone", "UTC"),
            ("from.refund.0", "1"),
            ("unit.refund.0", "INR"),
            ("from.refund.1", "1.00"),
            ("unit.refund.1", "INR"),
        ],
    ];
    for fields in wrong {
        let refused = session.submit("/account/mail", &fields).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{fields:?}");
        assert!(refused.html.contains(r#"role="alert""#), "{fields:?}");
        assert!(!refused.html.contains("<b>x</b>"), "{}", refused.html);
        for (name, value) in
            fields.iter().filter(|(name, _)| name.starts_with("from") && !name.contains("adjust"))
        {
            assert!(refused.html.contains(name), "{name} {value}");
        }
    }
    assert_eq!(app.rival().count("notification_settings", "1 = 1"), 0);
}

backends!(who_is_signed_out_meanwhile_changes_nothing_and_is_in_the_log);
async fn who_is_signed_out_meanwhile_changes_nothing_and_is_in_the_log(app: &TestApp) {
    let session = app.session(app.person(Role::Viewer).await).await;
    let wishing = async move { session.submit("/account/mail", &[("time_zone", "UTC")]).await };
    let refused = app.behind("UPDATE sessions SET ended_at = created_at", wishing.boxed()).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{}", refused.html);
    assert_eq!(app.rival().count("notification_settings", "1 = 1"), 0);
    let event = app.last_event().await;
    let said = json!([event["event"], event["outcome"], event["denied"], event["door"]]);
    assert_eq!(said, json!(["account", "unauthenticated", true, "browser"]));
    let owner = app.session(app.person(Role::Owner).await).await;
    assert!(owner.get("/audit").await.html.contains("wanted to change an account"));
}
