//! SQLite's one writer: a thread that puts many writes into one transaction, for one wait on the disk.
//!
//! Each write is a savepoint of that transaction, and its caller is answered after the COMMIT. Whatever goes wrong with
//! one of them is undone alone and told to its own caller. Where the transaction itself is lost, each write is run again
//! alone, so that nobody gets the error of another.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use diesel::connection::TransactionManager;
use tokio::sync::oneshot;

use super::{
    Conn, QueryResult, Work,
    conn::Manager,
    neighbours::Neighbours,
    pool::{CHECKOUT, Pool, WAITING},
};
use crate::{
    error::{Error, Result},
    failpoint,
};

/// After so many writes a transaction is committed, whatever else is waiting…
const MOST: usize = 128;
/// …and after so long, because other processes want to write too.
const LONGEST: Duration = Duration::from_millis(20);

/// Where writes queue for the thread.
pub(super) struct Writer {
    /// There until this is dropped.
    queue: Option<mpsc::SyncSender<Box<dyn Job>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(pool: Arc<Pool>) -> io::Result<Self> {
        let (queue, jobs) = mpsc::sync_channel::<Box<dyn Job>>(WAITING);
        let thread = thread::Builder::new().name("writer".to_owned()).spawn(move || {
            let mut neighbours = Neighbours::default();
            while let Ok(job) = jobs.recv() {
                if job.begin() {
                    batch(&pool, &mut neighbours, job, &mut || jobs.try_iter().find(|job| job.begin()));
                    neighbours.make_way();
                }
            }
        })?;
        Ok(Self {
            queue: Some(queue),
            thread: Some(thread),
        })
    }

    /// Runs `work` in a transaction and answers after its commit.
    pub(super) async fn write<T: Send + 'static>(&self, work: Work<T>) -> Result<T> {
        let (answer, mut answered) = oneshot::channel();
        let taken = Arc::new(AtomicBool::new(false));
        let job = Write {
            work,
            value: None,
            answer,
            queued: Instant::now(),
            taken: Arc::clone(&taken),
        };
        let queue = self.queue.as_ref().ok_or_else(|| unavailable("the writer has ended"))?;
        queue.try_send(Box::new(job)).map_err(|_| unavailable("too many writes are waiting"))?;
        let answer = match tokio::time::timeout(CHECKOUT, &mut answered).await {
            Ok(answer) => answer,
            // Whoever takes it first has it. Once begun, it is waited for: what became of it must be told.
            Err(_) if take(&taken) => return Err(unavailable("the write waited too long for its turn")),
            Err(_) => answered.await,
        };
        answer.unwrap_or_else(|_| Err(unavailable("the write was never begun")))
    }
}

/// What is queued is done, and the connection closed, before the program goes on to its end.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue = None;
        // A write may hold the last handle on the database, and so end up here on the thread itself.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn unavailable(why: &'static str) -> Error {
    Error::Unavailable(why.into())
}

/// Whether it was still to be had.
fn take(taken: &AtomicBool) -> bool {
    !taken.swap(true, Ordering::SeqCst)
}

/// A write, whatever it answers.
trait Job: Send {
    /// Whether its caller still waits for it to begin, or would if it had not hung up. From then on it is run.
    fn begin(&self) -> bool;

    /// Does its work in the transaction that is open, and keeps what it came to.
    fn run(&mut self, conn: &mut Conn) -> QueryResult<()>;

    /// Tells its caller what it came to, or why nothing of it stands.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

struct Write<T> {
    work: Work<T>,
    value: Option<T>,
    answer: oneshot::Sender<Result<T>>,
    queued: Instant,
    taken: Arc<AtomicBool>,
}

impl<T: Send> Job for Write<T> {
    fn begin(&self) -> bool {
        self.queued.elapsed() < CHECKOUT && take(&self.taken)
    }

    fn run(&mut self, conn: &mut Conn) -> QueryResult<()> {
        self.value = None;
        self.value = Some((self.work)(conn)?);
        failpoint::reach("commit");
        Ok(())
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let value = self.value.ok_or_else(|| unavailable("the write was not run"));
        // Perhaps nobody waits any more; what is done is done.
        let _ = self.answer.send(outcome.and(value));
    }
}

/// Writes of one transaction, each with what it comes to if that is committed.
type Writes = Vec<(Box<dyn Job>, Result<()>)>;

/// Runs `first`, and what there is more, in one transaction, and answers each; if that is lost, each of them again in its own.
fn batch(
    pool: &Pool,
    neighbours: &mut Neighbours,
    first: Box<dyn Job>,
    more: &mut dyn FnMut() -> Option<Box<dyn Job>>,
) {
    let mut writes = vec![(first, Ok(()))];
    match together(pool, neighbours, &mut writes, more) {
        Err(error) if writes.len() > 1 => {
            tracing::warn!(%error, writes = writes.len(), "a transaction was lost; each of its writes is run again alone");
            for (write, _) in writes {
                batch(pool, neighbours, write, &mut || None);
            }
        }
        committed => {
            // Lost alone, it has nobody's error but its own.
            let mut lost = committed.err();
            for (write, outcome) in writes {
                write.answer(lost.take().map_or(outcome, Err));
            }
        }
    }
}

/// Commits them all, with those that come while they are run.
///
/// # Errors
/// If the transaction was lost: nothing stands of any of them.
fn together(
    pool: &Pool,
    neighbours: &mut Neighbours,
    writes: &mut Writes,
    more: &mut dyn FnMut() -> Option<Box<dyn Job>>,
) -> Result<()> {
    let mut conn = pool.get()?;
    failpoint::reach("begin");
    neighbours.begin(&mut conn)?;
    let start = Instant::now();
    let mut ran = 0;
    let committed = loop {
        let Some((job, outcome)) = writes.get_mut(ran) else {
            break Manager::commit_transaction(&mut *conn).map_err(Error::from);
        };
        match in_savepoint(&mut conn, job.as_mut()) {
            Ok(ended) => *outcome = ended,
            Err(lost) => break Err(lost),
        }
        ran += 1;
        if ran < MOST && start.elapsed() < LONGEST {
            writes.extend(more().map(|job| (job, Ok(()))));
        }
    };
    match &committed {
        Ok(()) => failpoint::reach("committed"),
        // Closed instead of lent again, which undoes whatever was open on it.
        Err(_) => Manager::transaction_manager_status_mut(&mut *conn).set_in_error(),
    }
    committed
}

/// Runs it so that all or nothing of it is part of the transaction. Answers what it comes to.
///
/// # Errors
/// If it took the transaction with it.
fn in_savepoint(conn: &mut Conn, job: &mut dyn Job) -> Result<Result<()>> {
    let around = depth(conn);
    Manager::begin_transaction(conn)?;
    let ran = catch_unwind(AssertUnwindSafe(|| job.run(conn)));
    let error = match ran {
        // A transaction that SQLite gave up in the middle has no savepoint to release.
        Ok(Ok(())) => return Ok(Ok(Manager::commit_transaction(conn)?)),
        Ok(Err(error)) => Error::from(error),
        Err(panic) => Error::Internal(said(panic.as_ref()).into()),
    };
    // A panic may have left savepoints of its own.
    while depth(conn) > around {
        if Manager::rollback_transaction(conn).is_err() {
            return Err(error);
        }
    }
    // The job may have met that failure itself, when it undid a savepoint of its own: then there is nothing around it either.
    if depth(conn) == around { Ok(Err(error)) } else { Err(error) }
}

/// How many transactions and savepoints are open.
fn depth(conn: &mut Conn) -> u32 {
    let status = Manager::transaction_manager_status_mut(conn);
    status.transaction_depth().ok().flatten().map_or(0, u32::from)
}

/// What a panic said.
fn said(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic".to_owned())
}
