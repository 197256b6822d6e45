//! The log as a file, in order. The same events give the same bytes, whoever exports them and when.
//!
//! It ends with the last event that was written when it began; what happens meanwhile is not in it, or on a busy server it
//! would never end. Transactions that were writing then are waited for, but not for ever; after that no event up to the end
//! can still appear. Read page by page, so that a long log needs no more memory than a short one.

use std::{sync::Arc, time::Duration};

use csv::WriterBuilder;

use super::log::Moment;
use crate::{
    db::{Db, LogEnd, text_enum},
    error::{Error, Result},
    store::events::{self, Event, Filter},
};

/// How many events one read takes.
const PAGE: i64 = 500;
/// How long to wait before looking again whether the transactions under way have ended, and how often.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
const LOOKS: u32 = 50;

const COLUMNS: [&str; 11] = [
    "seq",
    "at",
    "category",
    "event",
    "actor_kind",
    "actor_id",
    "action_id",
    "subject",
    "outcome",
    "denied",
    "body",
];

text_enum! {
    /// The form of the file.
    pub enum Format {
        /// One JSON object a line: `seq`, and `body` in the bytes that were stored.
        Jsonl = "jsonl",
        /// RFC 4180, with a line of column names. No cell can begin a formula in a spreadsheet.
        Csv = "csv",
    }
}

/// An export under way.
pub struct Export {
    db: Db,
    format: Format,
    filter: Filter,
    /// The last event that was written.
    seq: i64,
    part: Part,
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Start,
    Middle,
    End,
    /// Nothing could be written, because a transaction that was to be waited for did not end.
    CutShort,
}

impl Export {
    /// An export of what happened from `since` up to, and without, `until`.
    pub fn new(db: &Db, format: Format, since: Option<Moment>, until: Option<Moment>) -> Self {
        let filter = Filter {
            since: since.map(|Moment(at)| at),
            until: until.map(|Moment(at)| at),
            ..Filter::default()
        };
        Self::of(db, format, filter)
    }

    /// An export of the events that a page of the log would show, on all its pages.
    pub fn of(db: &Db, format: Format, filter: Filter) -> Self {
        Self {
            db: db.clone(),
            format,
            filter,
            seq: 0,
            part: Part::Start,
        }
    }

    /// The next piece of the file; nothing after the last.
    pub async fn next(&mut self) -> Result<Option<String>> {
        if self.part == Part::Start {
            match self.settled_end().await? {
                Some(end) => self.filter.before_seq = Some(end + 1),
                None => self.part = Part::CutShort,
            }
        }
        if matches!(self.part, Part::End | Part::CutShort) {
            return Ok(None);
        }
        let (seq, filter) = (self.seq, self.filter.clone());
        let page = self.db.read(move |conn| events::after(conn, seq, &filter, PAGE)).await?;
        let text = match self.format {
            Format::Jsonl => page.iter().map(line).collect(),
            Format::Csv => rows(&page, self.part == Part::Start)?,
        };
        match page.last() {
            Some(last) => (self.seq, self.part) = (last.seq, Part::Middle),
            None => self.part = Part::End,
        }
        Ok(Some(text))
    }

    /// The last event there is, once everything before it is there too; nothing while that can't be known.
    async fn settled_end(&self) -> Result<Option<i64>> {
        let end = Arc::new(self.db.read(LogEnd::now).await?);
        for _ in 0..LOOKS {
            let looked_at = Arc::clone(&end);
            if self.db.read(move |conn| looked_at.is_settled(conn)).await? {
                return Ok(Some(end.seq));
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        Ok(None)
    }

    /// Whether a transaction that would not end kept the events of the period out of the file.
    pub fn is_cut_short(&self) -> bool {
        self.part == Part::CutShort
    }
}

/// Canonical itself, because its members are in order and its body is.
fn line(event: &Event) -> String {
    format!("{{\"body\":{},\"seq\":{}}}\n", event.body, event.seq)
}

fn rows(events: &[Event], with_names: bool) -> Result<String> {
    let mut file = WriterBuilder::new().from_writer(Vec::new());
    if with_names {
        file.write_record(COLUMNS).map_err(Error::internal)?;
    }
    for event in events {
        let at = event.at.and_utc().to_rfc3339_opts(chrono::SecondsFormat::Micros, true);
        let (seq, denied) = (event.seq.to_string(), event.denied.to_string());
        let optional = |text: &'_ Option<String>| text.clone().unwrap_or_default();
        let (actor, action, subject) =
            (optional(&event.actor_id), optional(&event.action_id), optional(&event.subject));
        let row = [
            &seq,
            &at,
            &event.category,
            &event.event,
            &event.actor_kind,
            &actor,
            &action,
            &subject,
            &event.outcome,
            &denied,
            &event.body,
        ];
        file.write_record(row.map(|cell| inert(cell))).map_err(Error::internal)?;
    }
    let bytes = file.into_inner().map_err(|error| Error::internal(error.into_error()))?;
    String::from_utf8(bytes).map_err(Error::internal)
}

/// A cell that a spreadsheet takes for text.
fn inert(cell: &str) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        format!("'{cell}")
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Timestamp;

    fn event(seq: i64, subject: &str) -> Event {
        Event {
            seq,
            id: "01990000-0000-7000-8000-000000000001".to_owned(),
            at: Timestamp::default(),
            category: "tools".to_owned(),
            event: "tool_call".to_owned(),
            actor_kind: "stranger".to_owned(),
            actor_id: None,
            action_id: None,
            subject: Some(subject.to_owned()),
            outcome: "ok".to_owned(),
            denied: false,
            body: r#"{"a":"x,\"y\""}"#.to_owned(),
        }
    }

    #[test]
    fn a_line_holds_the_stored_bytes_and_is_canonical() {
        let line = line(&event(7, "order:#1001"));
        assert_eq!(line, "{\"body\":{\"a\":\"x,\\\"y\\\"\"},\"seq\":7}\n");
        let parsed: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(crate::kinds::canonical::canonical(&parsed) + "\n", line);
    }

    #[test]
    fn no_cell_begins_a_formula() {
        let dangerous = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"];
        let events: Vec<_> = dangerous.iter().map(|text| event(1, text)).collect();
        let file = rows(&events, true).unwrap();
        let mut reader = csv::Reader::from_reader(file.as_bytes());
        assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), COLUMNS);
        let subjects: Vec<_> = reader.records().map(|row| row.unwrap()[7].to_owned()).collect();
        assert_eq!(subjects, dangerous.map(|text| format!("'{text}")));
        assert_eq!(rows(&[], false).unwrap(), "");
    }
}
