//! What every kind of letter looks like, and what must not be in any.

mod hostile;

use chrono::TimeDelta;

use super::{
    super::super::{Bundle, LeftOut, Letter, Told},
    Rendered,
    testing::{decided, doubtful, letter, now, refund},
};
use crate::{store::actions::Status, store::people::Role, workflow::Detail};

fn waits(detail: Box<Detail>) -> Told {
    Told::Waits { detail, again: false }
}

/// As a snapshot: the subject, the plain text, the HTML.
fn shown(letter: &Letter) -> String {
    let Rendered { subject, text, html } = super::letter(letter);
    format!("Subject: {subject}\n\n{text}\n{html}")
}

/// The subject and the plain text.
fn plain(letter: &Letter) -> String {
    let Rendered { subject, text, .. } = super::letter(letter);
    format!("Subject: {subject}\n\n{text}")
}

#[test]
fn a_request_that_waits() {
    insta::assert_snapshot!(shown(&letter(Bundle::AtOnce, vec![waits(refund())])));
}

#[test]
fn a_reminder_of_a_doubtful_request() {
    let told = Told::Waits {
        detail: doubtful(),
        again: true,
    };
    let letter = Letter {
        answers: Some("first".to_owned()),
        ..letter(Bundle::Reminders, vec![told])
    };
    insta::assert_snapshot!(shown(&letter));
}

#[test]
fn several_requests_of_one_agent_and_more_that_are_left_out() {
    let mut second = refund();
    second.action.requested_at = now() - TimeDelta::minutes(3);
    second.action.reason = "The same customer once more.".to_owned();
    let one = LeftOut {
        agent_id: Some("a".to_owned()),
        at: now() - TimeDelta::minutes(2),
    };
    let letter = Letter {
        left_out: vec![one; 35],
        ..letter(Bundle::AtOnce, vec![waits(second), waits(refund())])
    };
    insta::assert_snapshot!(shown(&letter));
}

#[test]
fn several_requests_of_several_agents() {
    let mut second = refund();
    second.action.agent_id = "b".to_owned();
    let told = vec![waits(refund()), waits(second)];
    assert_eq!(super::letter(&letter(Bundle::Digest, told)).subject, "2 requests wait for a decision");
}

#[test]
fn a_flood_on_one_record_does_not_name_all_of_it_each_time() {
    let crowded = || {
        let mut detail = doubtful();
        detail.related = vec![detail.related[0].clone(); 20];
        detail
    };
    let named = |told| super::letter(&letter(Bundle::AtOnce, told)).text.matches("waiting too").count();
    assert_eq!(named(vec![waits(crowded())]), 20);
    assert_eq!(named(vec![waits(crowded()), waits(crowded())]), 6);
    let text = super::letter(&letter(Bundle::AtOnce, vec![waits(crowded()), waits(refund())])).text;
    assert!(text.contains("- And 17 more.\n"), "{text}");
}

/// Readers of mail cut off what is longer than about 100 kB.
#[test]
fn thirty_seven_requests_are_a_bearable_letter() {
    let told = (0..37).map(|_| waits(refund())).collect();
    let html = super::letter(&letter(Bundle::AtOnce, told)).html;
    assert!(html.len() < 90_000, "{}", html.len());
}

#[test]
fn requests_that_nobody_decided() {
    let one = || Told::Expired(decided_by_nobody());
    insta::assert_snapshot!("expired", plain(&letter(Bundle::Expired, vec![one()])));
    insta::assert_snapshot!("several_expired", plain(&letter(Bundle::Expired, vec![one(), one()])));
}

fn decided_by_nobody() -> Box<Detail> {
    let mut detail = decided(Status::Expired, None);
    detail.view.decision = None;
    detail.action.expires_at = now() - TimeDelta::seconds(5);
    detail
}

#[test]
fn decisions() {
    let told = |status, note| {
        let mut letter = letter(Bundle::Outcomes, vec![Told::Decided(decided(status, note))]);
        letter.to.email = "ravi@example.com".to_owned();
        letter
    };
    insta::assert_snapshot!("executed", shown(&told(Status::Executed, Some("Once, as an exception."))));
    insta::assert_snapshot!("failed", plain(&told(Status::Failed, None)));
    insta::assert_snapshot!("rejected", plain(&told(Status::Rejected, Some("No.\nAsk the shop first."))));
    let both = vec![
        Told::Decided(decided(Status::Executed, None)),
        Told::Decided(decided(Status::Rejected, Some("No."))),
    ];
    insta::assert_snapshot!("several_decided", shown(&letter(Bundle::Outcomes, both)));
    let expired = || Told::Expired(decided_by_nobody());
    let subject = |told| super::letter(&letter(Bundle::Outcomes, told)).subject;
    assert_eq!(
        subject(vec![expired(), Told::Decided(decided(Status::Executed, None))]),
        "2 requests from support-agent were decided, or expired"
    );
    assert_eq!(
        subject(vec![expired(), expired()]),
        "2 requests from support-agent expired without a decision"
    );
}

#[test]
fn a_subject_says_nothing_of_what_is_only_counted() {
    let more = LeftOut {
        agent_id: Some("a".to_owned()),
        at: now(),
    };
    for told in [Told::Expired(decided_by_nobody()), Told::Decided(decided(Status::Executed, None))] {
        let letter = Letter {
            left_out: vec![more.clone(); 10],
            ..letter(Bundle::Outcomes, vec![told])
        };
        let subject = super::letter(&letter).subject;
        assert_eq!(subject, "11 requests from support-agent were decided, or expired");
    }
}

#[test]
fn what_is_no_longer_kept_is_said_to_be_dropped() {
    let mut detail = decided(Status::Executed, None);
    detail.view.dropped = Some("Dropped on 1 Dec 2026.".to_owned());
    detail.action.reason = String::new();
    detail.changes = Vec::new();
    let text = super::letter(&letter(Bundle::Outcomes, vec![Told::Decided(detail)])).text;
    assert!(
        text.contains("What changed, and why, is no longer kept. Dropped on 1 Dec 2026."),
        "{text}"
    );
    assert!(!text.contains("in the agent's words"), "{text}");
}

#[test]
fn mails_that_could_not_be_delivered() {
    let one = |to: &str| Told::Undelivered {
        at: now(),
        to: to.to_owned(),
        words: "permanent error (550): no such mailbox".to_owned(),
    };
    let mut letter = letter(Bundle::Undelivered, vec![one("bob@example.com")]);
    letter.to.role = Role::Owner;
    insta::assert_snapshot!("undelivered", shown(&letter));
    letter.told.push(one("eve@example.com"));
    insta::assert_snapshot!("several_undelivered", plain(&letter));
}

#[test]
fn the_account_itself() {
    let at = now();
    let address = "203.0.113.7".to_owned();
    insta::assert_snapshot!(
        "signed_in",
        shown(&letter(Bundle::SignIns, vec![Told::SignedIn { at, address }]))
    );
    insta::assert_snapshot!(
        "password_changed",
        plain(&letter(Bundle::Passwords, vec![Told::PasswordChanged { at }]))
    );
}

#[test]
fn the_test_mail() {
    let Rendered { subject, text, html } = super::test();
    insta::assert_snapshot!(format!("Subject: {subject}\n\n{text}\n{html}"));
}

/// Whatever a letter tells, its links are to the dashboard, by reading alone, and it loads nothing.
#[test]
fn links_lead_to_pages_that_change_nothing() {
    let all = [
        letter(Bundle::AtOnce, vec![waits(doubtful())]),
        letter(Bundle::Digest, vec![waits(refund()), waits(doubtful())]),
        letter(Bundle::Outcomes, vec![Told::Decided(decided(Status::Rejected, Some("No.")))]),
        letter(Bundle::SignIns, vec![Told::PasswordChanged { at: now() }]),
    ];
    let page = "https://gate.example.com/actions/0198c0de-0000-7000-8000-000000000001";
    for letter in all {
        let html = super::letter(&letter).html;
        for link in html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let known = [page, "https://gate.example.com/", "https://gate.example.com/account#mail"]
                .contains(&link)
                || letter.leave.as_ref().is_some_and(|leave| leave.replace('&', "&#38;") == link);
            assert!(known, "{link}");
        }
        for loaded in ["src=", "url(", "<img", "<script", "<form", "<link", "@import", "<iframe"] {
            assert!(!html.contains(loaded), "{loaded}");
        }
    }
}
