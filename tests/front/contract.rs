//! What holds for every kind of action, asked of the registry, so that a new kind is covered by itself. Schemas are held
//! in `mcp_http/tool_list.rs`, from the same registry.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use countersign::app::{App, registry};
use countersign::config::Config;
use countersign::db::Clock;
use countersign::kinds::{Case, Change, JsonObject, Kind, Lock};
use countersign::shop::import;
use countersign::store::people::Role;
use serde_json::{Value, json};

use crate::support::{TestApp, backends};

/// Some writes of each kind in the demo shop, those that a rule refuses among them. A new kind needs its own here.
fn samples(kind: &str) -> Vec<Value> {
    match kind {
        "order_cancellation" => vec![
            json!({ "order_id": "1044" }),
            json!({ "order_id": " #1044 ", "restock": true }),
            json!({ "order_id": "#1155", "restock": false }),
            json!({ "order_id": "#1151" }),
            json!({ "order_id": "#1198" }),
            json!({ "order_id": "#1100" }),
        ],
        "refund" => vec![
            json!({ "order_id": "1044", "amount_minor": 899_900, "currency": "INR" }),
            json!({ "order_id": "#1170", "amount_minor": 8_834, "currency": "JPY" }),
            json!({ "order_id": "#1139", "amount_minor": 11_659, "currency": "EUR" }),
            json!({ "order_id": "#1139", "amount_minor": 11_660, "currency": "EUR" }),
            json!({ "order_id": "#1044", "amount_minor": 100, "currency": "EUR" }),
            json!({ "order_id": "#1039", "amount_minor": 100, "currency": "INR" }),
        ],
        "stock_adjustment" => vec![
            json!({ "sku": " CB-ETH-500", "delta": 48 }),
            json!({ "sku": "ST-NTB-A05", "delta": -390 }),
            json!({ "sku": "WC-FHD-030", "delta": -1 }),
            json!({ "sku": "WC-FHD-030", "delta": 0 }),
            json!({ "sku": "KT-MUG-001", "delta": 1001 }),
            json!({ "sku": "KT-MUG-001", "delta": 9_007_199_254_740_991_i64 }),
        ],
        other => panic!("{other} has no samples here"),
    }
}

/// One sample, resolved and looked at.
struct Look {
    params: String,
    rule: Option<&'static str>,
    changes: Vec<Change>,
    facts: String,
    summary: String,
    headline: String,
    figure: String,
    versions: countersign::store::subjects::Versions,
}

async fn look(app: &App, kind: &Arc<dyn Kind>, sample: &Value) -> Look {
    let (kind, sample) = (kind.clone(), sample.as_object().unwrap().clone());
    kind.spec().shape.check(&sample).unwrap_or_else(|denial| panic!("{sample:?}: {denial:?}"));
    let read = app.db.read(move |conn| {
        let params = kind.resolve(conn, &sample)?.unwrap_or_else(|denial| panic!("{sample:?}: {denial:?}"));
        let case = kind.open(conn, &params, Lock::No)?.expect("the records are there");
        Ok(see(params, case.as_ref()))
    });
    read.await.unwrap()
}

fn see(params: String, case: &dyn Case) -> Look {
    let (wording, preview) = (case.wording(), case.preview());
    Look {
        params,
        rule: case.check().err().map(|refusal| refusal.rule),
        changes: preview.changes,
        facts: preview.facts,
        summary: wording.summary,
        headline: wording.headline,
        figure: wording.figure,
        versions: case.versions(),
    }
}

#[test]
fn every_name_is_used_once_and_every_kind_has_its_template() {
    let registry = registry(&Config::on("sqlite://unused.db").unwrap(), Clock::default());
    let mut names = BTreeSet::new();
    // Arguments' validators are made when they are first needed; a schema that is none panics then.
    let arguments = JsonObject::new();
    for kind in registry.kinds() {
        let spec = kind.spec();
        assert!(spec.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", spec.name);
        assert!(names.insert(format!("request_{}", spec.name)), "{} is there twice", spec.name);
        let template = format!("{}/templates/kinds/{}.html", env!("CARGO_MANIFEST_DIR"), spec.name);
        assert!(Path::new(&template).exists(), "{template}");
        assert!(spec.version >= 1 && !spec.title.is_empty(), "{}", spec.name);
        assert_eq!(spec.shape.schema()["additionalProperties"], false, "{}", spec.name);
        assert!(spec.shape.check(&arguments).is_err(), "{} needs no arguments", spec.name);
    }
    for read in registry.reads() {
        let _ = read.spec().shape.check(&arguments);
        assert!(names.insert(read.spec().name.to_owned()), "{} is there twice", read.spec().name);
    }
    for own in ["get_action_status", "list_actions", "withdraw_action"] {
        assert!(names.insert(own.to_owned()), "{own} is there twice");
    }
}

backends!(every_preview_renders_and_every_write_has_one_canonical_form);
async fn every_preview_renders_and_every_write_has_one_canonical_form(app: &TestApp) {
    import::seed(&app.inner.db).await.unwrap();
    for kind in app.inner.gate.registry.kinds() {
        let name = kind.spec().name;
        let mut page = String::new();
        for sample in samples(name) {
            let look = look(&app.inner, kind, &sample).await;
            writeln!(page, "{sample}\n  params    {}", look.params).unwrap();
            writeln!(page, "  rule      {}", look.rule.unwrap_or("none, it may happen")).unwrap();
            writeln!(page, "  wording   {} | {} | {}", look.summary, look.headline, look.figure).unwrap();
            writeln!(page, "  versions  {}", json!(look.versions)).unwrap();
            for Change { what, now, after } in &look.changes {
                writeln!(page, "  {what}: {now}{}{after}", if after.is_empty() { "" } else { " → " })
                    .unwrap();
            }
            writeln!(page, "{}\n", look.facts).unwrap();
        }
        insta::assert_snapshot!(format!("kind_{name}"), page);
    }
}

backends!(check_and_apply_agree);
async fn check_and_apply_agree(app: &TestApp) {
    import::seed(&app.inner.db).await.unwrap();
    let approver = app.person(Role::Approver).await;
    for kind in app.inner.gate.registry.kinds() {
        let name = kind.spec().name;
        let (mut done, mut refused) = (0, 0);
        for sample in samples(name) {
            let before = look(&app.inner, kind, &sample).await;
            let mut arguments = sample.clone();
            arguments["reason"] = json!("As the sample says");
            let asked = app.agent.call(&format!("request_{name}"), arguments).await;
            let replayed = asked.body["disposition"] == "replayed";
            if let Some(rule) = before.rule.filter(|_| !replayed) {
                refused += 1;
                assert_eq!(asked.body["error"]["rule"], rule, "{sample}");
                let after = look(&app.inner, kind, &sample).await;
                assert_eq!((after.changes, after.versions), (before.changes, before.versions), "{sample}");
                continue;
            }
            let asked = asked.ok();
            if replayed {
                continue;
            }
            done += 1;
            let decided = approver.approve(asked["action_id"].as_str().unwrap()).await.ok();
            assert_eq!(decided["status"], "executed", "{sample}: {decided}");
            let after = look(&app.inner, kind, &sample).await;
            assert_eq!(values_now(&after.changes), values_after(&before.changes), "{sample}");
            for (subject, version) in &before.versions {
                assert_eq!(after.versions[subject], version + 1, "{sample}: one write to {subject}");
            }
        }
        assert!(done > 0 && refused > 0, "{name} needs samples that may happen, and such that may not");
    }
}

/// What the preview promises for after the write.
fn values_after(changes: &[Change]) -> Vec<(&str, &str)> {
    let stays = |change: &Change| change.after.is_empty();
    changes
        .iter()
        .map(|change| {
            (change.what.as_str(), if stays(change) { &change.now } else { &change.after }.as_str())
        })
        .collect()
}

/// What it shows of now.
fn values_now(changes: &[Change]) -> Vec<(&str, &str)> {
    changes.iter().map(|change| (change.what.as_str(), change.now.as_str())).collect()
}
