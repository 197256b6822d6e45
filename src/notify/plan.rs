//! Notices become messages in the outbox.

use super::{
    Notifier,
    audience::{Audience, Listener},
    timing::{half_time, paced},
};
use crate::{
    db::{Conn, QueryResult, Timestamp},
    error::Result,
    store::{
        actions::{self, Status},
        new_id,
        notices::{self, Notice, Topic},
        outbox::{self, Envelope, Item},
    },
};

/// How many notices one transaction takes.
const BATCH: i64 = 50;

impl Notifier {
    /// Makes messages of the notices that are due, and answers how many notices there were. Notices and messages change
    /// places in one transaction, so that none is lost and none is told twice.
    pub(super) async fn plan(&self) -> Result<usize> {
        let notifier = self.clone();
        let planned = self.gate.db.write(move |conn| {
            let now = notifier.gate.clock.now(conn)?;
            let due = notices::take_due(conn, now, BATCH)?;
            notifier.address(conn, &due, now)?;
            Ok(due.len())
        });
        planned.await
    }

    fn address(&self, conn: &mut Conn, due: &[Notice], now: Timestamp) -> QueryResult<()> {
        let (audience, mut told) = (Audience::load(conn, now)?, Vec::new());
        for notice in due {
            told.extend(audience.of(conn, notice)?.into_iter().map(|listener| (listener, notice)));
            if let (Topic::Requested, Some(id)) = (notice.topic, &notice.action_id) {
                remind(conn, id, now)?;
            }
        }
        // Everybody locks messages in one order.
        told.sort_by(|(one, _), (other, _)| {
            (&one.person_id, one.bundle.as_str()).cmp(&(&other.person_id, other.bundle.as_str()))
        });
        for (listener, notice) in &told {
            for channel in self.channels.iter() {
                put(conn, channel.name(), listener, notice, now)?;
            }
        }
        Ok(())
    }
}

/// Puts a notice into the message that collects for a listener.
fn put(
    conn: &mut Conn,
    channel: &str,
    listener: &Listener,
    notice: &Notice,
    now: Timestamp,
) -> QueryResult<()> {
    let envelope = Envelope {
        channel: channel.to_owned(),
        person_id: listener.person_id.clone(),
        bundle: listener.bundle.as_str().to_owned(),
    };
    let last = outbox::last_begun(conn, &envelope)?;
    let due = paced(listener.due_at, last, listener.quiet.as_ref(), listener.latest, now);
    // The id is known to nobody before this commits.
    let message = outbox::collect(conn, &new_id(), &envelope, due, now)?;
    let item = Item {
        message_id: message.id,
        notice_id: notice.id.clone(),
        topic: notice.topic,
        at: notice.at,
        action_id: notice.action_id.clone(),
        detail: notice.detail.clone(),
    };
    outbox::add(conn, &item)
}

/// Has an action that still waits told of once more at half its time.
fn remind(conn: &mut Conn, action_id: &str, now: Timestamp) -> QueryResult<()> {
    let action = actions::find(conn, action_id)?.filter(|action| action.status_at(now) == Status::Pending);
    let Some(action) = action else { return Ok(()) };
    let reminder = Notice {
        due_at: half_time(&action).max(now),
        ..Notice::of_action(&new_id(), Topic::Reminder, action_id, now)
    };
    notices::insert(conn, &reminder)
}
