//! Notices become messages in the outbox.

use super::{
    Notifier,
    audience::audience,
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
            for notice in &due {
                notifier.address(conn, notice, now)?;
            }
            Ok(due.len())
        });
        planned.await
    }

    fn address(&self, conn: &mut Conn, notice: &Notice, now: Timestamp) -> QueryResult<()> {
        for listener in audience(conn, notice, now)? {
            for channel in self.channels.iter() {
                let envelope = Envelope {
                    channel: channel.name().to_owned(),
                    person_id: listener.person_id.clone(),
                    bundle: listener.bundle.as_str().to_owned(),
                };
                let last = outbox::last_begun(conn, &envelope)?;
                let due = paced(listener.due_at, last, listener.latest, now);
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
                outbox::add(conn, &item)?;
            }
        }
        match (notice.topic, &notice.action_id) {
            (Topic::Requested, Some(id)) => remind(conn, id, now),
            _ => Ok(()),
        }
    }
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
