//! The database: the only place that knows which backend is in use, and the only place that begins and commits.
//!
//! Closures given to [`Db::read`] and [`Db::write`] do nothing but SQL: ids are made outside, and a closure may run
//! more than once.

mod at_once;
mod backup;
mod clock;
mod conn;
mod connections;
mod enums;
mod file;
mod kept;
mod locks;
mod log_end;
mod migrate;
mod neighbours;
mod opening;
mod pool;
mod postgres_url;
mod prepared;
mod pulse;
mod silence;
#[cfg(test)]
mod tests;
mod trouble;
mod verdict;
mod writer;

use std::{sync::Arc, time::Duration};

pub use backup::Backup;
pub use clock::{Clock, comparable};
pub use conn::{Conn, must_be_one, savepoint};
use connections::Age;
pub(crate) use enums::text_enum;
use file::Found;
pub use file::beside;
pub use locks::{Latch, hold_row, lock_row, skip_locked, write_lock};
pub use log_end::LogEnd;
pub use migrate::{Schema, has_table};
use opening::Opening;
pub use pool::DatabaseUrl;
use pool::Pool;
pub use prepared::{Prepare, columns, of_few_lengths};
use pulse::Pulse;
use silence::Heard;
pub use trouble::is_duplicate;
use trouble::{Trouble, is_lost_connection, trouble};
use verdict::was_committed;
use writer::Writer;

pub use diesel::QueryResult;
pub use diesel::result::Error as QueryError;

use crate::{
    error::{Error, Result},
    failpoint,
};

/// Microseconds since the epoch in UTC, as both backends store it.
pub type Timestamp = chrono::NaiveDateTime;

/// How often a transaction that lost a deadlock or a serialization conflict is tried in all.
const TRIES: u32 = 8;

/// What is done in a transaction. It is boxed, so that whatever is around it is compiled once for each type of answer.
type Work<T> = Box<dyn Fn(&mut Conn) -> QueryResult<T> + Send>;
/// The same, shared by the tries of [`Db::write_once`].
type Shared<T> = Arc<dyn Fn(&mut Conn) -> QueryResult<T> + Send + Sync>;

/// A handle to the database; cheap to clone.
#[derive(Clone)]
pub struct Db {
    readers: Arc<Pool>,
    writers: Arc<Pool>,
    /// Where one thread writes for all: on SQLite.
    writer: Option<Arc<Writer>>,
    pulse: Arc<Pulse>,
}

impl Db {
    /// Opens the pools, and makes SQLite's file where there is none. Nothing is connected until the first use, so a
    /// database that is away does not stop the process.
    ///
    /// # Errors
    /// `Setup` for a path that can't hold the database.
    pub fn open(url: &DatabaseUrl) -> Result<Self> {
        if let Some(path) = url.file() {
            file::look(path)?;
            file::make_private(path)?;
        }
        Self::with(url, Opening::Use)
    }

    /// The database as it is, for reading alone: nothing is made and nothing is changed. Nothing is answered where a
    /// SQLite file is yet to be made, and could be.
    ///
    /// # Errors
    /// As [`Db::open`].
    pub fn look(url: &DatabaseUrl) -> Result<Option<Self>> {
        if let Some(path) = url.file()
            && file::look(path)? == Found::Nothing
        {
            return file::could_be_made(path).map(|()| None);
        }
        Self::with(url, Opening::Look).map(Some)
    }

    fn with(url: &DatabaseUrl, opening: Opening) -> Result<Self> {
        let age = Age::default();
        let writers = Arc::new(pool::writers(url, opening, &age));
        let writer = match url {
            DatabaseUrl::Sqlite(_) => Some(Writer::start(Arc::clone(&writers))),
            DatabaseUrl::Postgres(_) => None,
        };
        Ok(Self {
            readers: Arc::new(pool::readers(url, opening, &age)),
            writers,
            writer: writer.transpose().map_err(|error| Error::Unavailable(Box::new(error)))?.map(Arc::new),
            pulse: Arc::default(),
        })
    }

    /// Applies the pending migrations, safely beside other processes that do the same.
    ///
    /// # Errors
    /// `Setup` when the schema is newer than this binary.
    pub async fn migrate(&self) -> Result<()> {
        self.writers.run(migrate::up).await
    }

    /// Checks that the schema is exactly the one this binary knows.
    pub async fn check_schema(&self) -> Result<()> {
        self.readers.ask(|conn, _| migrate::check(conn)).await
    }

    /// Looks at the schema.
    ///
    /// # Errors
    /// `Setup` when it is newer than this binary.
    pub async fn schema(&self) -> Result<Schema> {
        self.readers.ask(|conn, _| migrate::schema(conn)).await
    }

    /// Runs a short read on one consistent snapshot. Never waits for a writer.
    pub fn read<T, F>(&self, work: F) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        F: Fn(&mut Conn) -> QueryResult<T> + Send + 'static,
    {
        self.read_boxed(Box::new(work))
    }

    async fn read_boxed<T: Send + 'static>(&self, work: Work<T>) -> Result<T> {
        let read = move |conn: &mut Conn, _: &_| conn.transact(conn::Mode::Read, &work).map_err(Error::from);
        self.readers.ask(read).await
    }

    /// Runs a read of a few rows that are found by their keys. On SQLite it runs where it is called, unless it would have to wait
    /// for its turn or for a lock, or one stood still lately: handing it to another thread takes longer than the read itself.
    pub fn look_up<T, F>(&self, work: F) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        F: Fn(&mut Conn) -> QueryResult<T> + Send + 'static,
    {
        self.look_up_boxed(Box::new(work))
    }

    async fn look_up_boxed<T: Send + 'static>(&self, work: Work<T>) -> Result<T> {
        match self.readers.at_once(|conn| conn.transact(conn::Mode::Read, &work)) {
            Some(found) => Ok(found),
            None => self.read_boxed(work).await,
        }
    }

    /// Runs one write and answers after its commit. What the closure returns is committed, a `Denial` inside it too; only a
    /// [`QueryError`] rolls back. On SQLite it shares a transaction, and the wait for the disk, with whatever else is to be
    /// written just then; on Postgres it has its own.
    pub fn write<T, F>(&self, work: F) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        F: Fn(&mut Conn) -> QueryResult<T> + Send + 'static,
    {
        self.write_boxed(Box::new(work))
    }

    async fn write_boxed<T: Send + 'static>(&self, work: Work<T>) -> Result<T> {
        let counted = self.pulse.begin();
        let outcome = match &self.writer {
            Some(writer) => writer.write(work).await,
            None => self.writers.ask(move |conn, heard| write_alone(conn, heard, &work)).await,
        };
        counted.ended(outcome)
    }

    /// A [`Db::write`] whose closure writes the audit event `event_id` whatever it decides. If the connection is lost and
    /// the second try finds that event, the first one was committed and only its answer got lost: `recall` reads the
    /// answer from what is stored.
    ///
    /// # Errors
    /// `Unavailable` when the outcome stays unknown; the same call may be sent again.
    pub fn write_once<T, F, R>(
        &self,
        event_id: &str,
        work: F,
        recall: R,
    ) -> impl Future<Output = Result<T>> + Send
    where
        T: Send + 'static,
        F: Fn(&mut Conn) -> QueryResult<T> + Send + Sync + 'static,
        R: Fn(&mut Conn) -> QueryResult<Option<T>> + Send + Sync + 'static,
    {
        self.write_once_shared(event_id.to_owned(), Arc::new(work), Arc::new(recall))
    }

    async fn write_once_shared<T: Send + 'static>(
        &self,
        event_id: String,
        work: Shared<T>,
        recall: Shared<Option<T>>,
    ) -> Result<T> {
        let first = Arc::clone(&work);
        let lost = match self.write(move |conn| first(conn)).await {
            Err(Error::Unavailable(lost)) if is_lost_connection(lost.as_ref()) => lost,
            outcome => return outcome,
        };
        tracing::warn!(%lost, "a connection was lost; looking whether its transaction was committed");
        for _ in 0..TRIES {
            let (work, recall, event_id) = (Arc::clone(&work), Arc::clone(&recall), event_id.clone());
            let again = self.write(move |conn| {
                if was_committed(conn, &event_id)? {
                    recall(conn)
                } else {
                    work(conn).map(Some)
                }
            });
            match again.await {
                // The first try was still on its way to its commit, and has arrived by now.
                Err(error) if is_duplicate(&error) => {}
                outcome => return outcome?.ok_or(Error::Unavailable(lost)),
            }
        }
        Err(Error::Unavailable(lost))
    }

    /// Copies the whole database, as it is at one moment, into a backup, and lets `finish` write into the copy.
    ///
    /// # Errors
    /// `Setup` when the copy can't be written.
    pub async fn copy<F>(&self, backup: &Backup, finish: F) -> Result<()>
    where
        F: Fn(&mut Conn) -> QueryResult<()> + Send + 'static,
    {
        let draft = backup.draft();
        self.readers.run(move |conn| backup::copy(conn, &draft, &finish)).await
    }

    /// Whether the latest write found the database away, full or locked, and not long ago.
    pub fn writes_falter(&self) -> bool {
        self.pulse.falters()
    }

    /// How many calls of [`Db::write`] hold a connection or wait for one.
    pub fn writes_under_way(&self) -> usize {
        self.pulse.under_way()
    }
}

/// Runs it in a transaction of its own, again after a conflict with another.
fn write_alone<T>(conn: &mut Conn, heard: &Heard, work: &dyn Fn(&mut Conn) -> QueryResult<T>) -> Result<T> {
    let work = |conn: &mut Conn| {
        let value = work(conn)?;
        failpoint::reach("commit");
        if heard.is_given_up() {
            Err(QueryError::RollbackTransaction)
        } else {
            Ok(value)
        }
    };
    let mut tries = 1;
    failpoint::reach("begin");
    loop {
        match conn.transact(conn::Mode::Write, &work) {
            Err(error) if tries < TRIES && trouble(&error) == Trouble::Conflict => {
                std::thread::sleep(Duration::from_millis(u64::from(tries * tries)));
                tries += 1;
            }
            outcome => {
                failpoint::reach("committed");
                return outcome.map_err(Error::from);
            }
        }
    }
}
