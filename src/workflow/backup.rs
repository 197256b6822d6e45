//! Backups: a copy of the database is born paused, because it forgets what is executed after it.

use super::{Gate, PauseTarget};
use crate::{
    audit::{self, Actor, Entry, Source, What},
    db::{Backup, Conn, Timestamp},
    error::Result,
    store::{
        new_id,
        pauses::{self, Pause},
    },
};

impl Gate {
    /// Copies the whole database while others use it, and answers the moment from which on the copy may lack something. In
    /// the copy everything is paused, until an owner of whatever is restored from it resumes it.
    ///
    /// # Errors
    /// `Setup` when the copy can't be written; then there is none.
    pub async fn back_up(&self, backup: Backup) -> Result<Timestamp> {
        let (clock, event) = (self.clock.clone(), new_id());
        let moment = self.db.read(move |conn| clock.now(conn)).await?;
        let (clock, made_by, pausing) = (self.clock.clone(), event.clone(), new_id());
        let pause = move |conn: &mut Conn| {
            let (everything, now) = (PauseTarget::Everything.key(), clock.now(conn)?);
            pauses::insert_restored(conn, &everything, moment)?;
            let entry = entry(What::Pause).with("target", everything).with("backup", made_by.as_str());
            audit::record(conn, &pausing, now, &entry)
        };
        self.db.copy(&backup, pause).await?;
        // Before the copy has its name: there is none that the log doesn't know of.
        let clock = self.clock.clone();
        let told = self.db.write(move |conn| {
            let now = clock.now(conn)?;
            audit::record(conn, &event, now, &entry(What::Backup))
        });
        told.await?;
        backup.publish()?;
        Ok(moment)
    }

    /// Why everything is paused, if that is because this database was restored from a backup.
    pub async fn restored(&self) -> Result<Option<String>> {
        let pauses = self.db.read(pauses::all).await?;
        Ok(pauses.iter().find_map(restored))
    }
}

/// What a pause that comes from a backup says of it.
pub fn restored(pause: &Pause) -> Option<String> {
    let from = pause.restored_from?;
    Some(format!(
        "restored from a backup of {} UTC: what was executed since then is not in it, and could be executed once more",
        from.format("%-d %b %Y %H:%M")
    ))
}

fn entry(what: What) -> Entry {
    Entry::new(what, Actor::System, &Source::CLI, "done")
}
