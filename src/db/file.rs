//! SQLite's file, looked at before SQLite opens it: opening makes one where there is none.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs::{self, File, OpenOptions},
    io::{Error as IoError, ErrorKind},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rustix::fs::{Access, access};

use super::DatabaseUrl;
use crate::error::{Error, Result};

/// So much of a file says what it is.
const HEADER: usize = 28;
/// What a rollback journal begins with.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// What there is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// No file, or one that holds nothing yet.
    Nothing,
    Database,
}

/// Writes nothing.
///
/// # Errors
/// `Setup` for what can't be a database, or can't be used by this account.
pub(super) fn look(path: &Path) -> Result<Found> {
    // Reading from a pipe would wait for whoever writes into it.
    if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
        return Err(wrong(path, "and that is no file"));
    }
    let header = match header(path) {
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return Err(wrong(path, "which is a link to a file that is not there; name that file itself"));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(wrong(path, &format!("which can't be read: {error}"))),
        Ok(header) => {
            access(path, Access::WRITE_OK)
                .map_err(|error| wrong(path, &format!("which can't be written: {}", IoError::from(error))))?;
            header
        }
    };
    if !header.is_empty() && !is_database(&header) {
        return Err(wrong(path, "and that file is not a SQLite database"));
    }
    refuse_log(path, &header)?;
    refuse_journal(path)?;
    Ok(if header.is_empty() { Found::Nothing } else { Found::Database })
}

/// Whether a file could be made there. Writes nothing.
///
/// # Errors
/// `Setup` when it couldn't.
pub(super) fn could_be_made(path: &Path) -> Result<()> {
    access(folder_of(path), Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| wrong(path, &format!("which can't be made: {}", IoError::from(error))))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes the file, unless there is one. It holds e-mail addresses and customers' orders: its owner alone may read it.
pub(super) fn make_private(path: &Path) -> Result<()> {
    let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(wrong(path, &format!("which can't be made: {error}")))
        }
        _ => Ok(()),
    }
}

/// What SQLite keeps beside a database, by whatever way one comes to that: first the log of its latest writes.
pub fn beside(database: &Path) -> [PathBuf; 3] {
    let to_be_made = || Some(fs::canonicalize(folder_of(database)).ok()?.join(database.file_name()?));
    let whole = fs::canonicalize(database).ok().or_else(to_be_made).unwrap_or_else(|| database.to_owned());
    ["-wal", "-shm", "-journal"].map(|end| {
        let mut name = whole.clone().into_os_string();
        name.push(end);
        name.into()
    })
}

/// What every SQLite database begins with, of whatever version, page size and journal mode.
fn is_database(header: &[u8]) -> bool {
    header.starts_with(b"SQLite format 3\0") && header.get(21..24) == Some(&[64, 32, 32])
}

/// Whether there is nothing yet that a write-ahead log could be of. What uses a database switches it to one first: a backup's copy
/// has none, and what is yet to be made.
fn has_no_log(header: &[u8]) -> bool {
    header.get(18).is_none_or(|version| *version == 1)
}

/// Refuses a log that can't be the database's own. SQLite would take it for that: write what it holds over a copy, and lose it where
/// there is no database.
fn refuse_log(path: &Path, seen: &[u8]) -> Result<()> {
    let [log, shared, _] = beside(path);
    if !has_no_log(seen) || !log.metadata().is_ok_and(|log| log.len() > 0) {
        return Ok(());
    }
    // Somebody may have begun to use it since the header was read.
    let now = header(path).unwrap_or_default();
    let (what, harm) = match now {
        _ if !has_no_log(&now) => return Ok(()),
        _ if now.is_empty() => ("where no database is", "lose them"),
        _ => ("a copy that nothing has used yet", "destroy the copy with them"),
    };
    let (log, shared) = (log.display(), shared.display());
    let why = format!(
        "{what}, but beside it is {log} with the latest writes of the database that was there: SQLite would {harm}. Put \
         {log} and {shared} beside that database, named after it as here; only if you don't need it any more, remove them"
    );
    Err(wrong(path, &why))
}

/// Refuses what SQLite would undo a change with, of a database of another size. Without a write-ahead log a database is only made, or
/// switched to one: neither changes its size, but for its first page.
fn refuse_journal(path: &Path) -> Result<()> {
    let [_, _, journal] = beside(path);
    let begin = || File::open(&journal).and_then(|file| first_bytes(&file)).unwrap_or_default();
    let (seen, length) = (begin(), path.metadata().map_or(0, |file| file.len()));
    let number = |at: usize| {
        let bytes = seen.get(at..at + 4)?;
        Some(u64::from(u32::from_be_bytes(bytes.try_into().ok()?)))
    };
    let (Some(pages), Some(page)) = (number(16), number(24)) else { return Ok(()) };
    let may_be_its_own = pages * page == length || (pages == 0 && length <= page);
    // Whoever made it may have gone on since.
    if !seen.starts_with(&JOURNAL) || may_be_its_own || begin() != seen {
        return Ok(());
    }
    let why = format!(
        "but beside it is {}, with which SQLite would undo a change of the database that was there, and destroy this one. Put it beside \
         that database, named after it as here; only if you don't need it any more, remove it",
        journal.display()
    );
    Err(wrong(path, &why))
}

/// What the database's file begins with. It stays open as long as it is there: to close any descriptor of a file drops the locks of all
/// connections of the process to it, of those as well that are being closed by another thread.
fn header(path: &Path) -> Result<Vec<u8>, IoError> {
    static OPENED: Mutex<BTreeMap<(u64, u64), File>> = Mutex::new(BTreeMap::new());
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    opened.retain(|_, file| file.metadata().is_ok_and(|file| file.nlink() > 0));
    let found = path.metadata()?;
    match opened.entry((found.dev(), found.ino())) {
        Entry::Occupied(file) => first_bytes(file.get()),
        Entry::Vacant(place) => first_bytes(place.insert(File::open(path)?)),
    }
}

fn first_bytes(file: &File) -> Result<Vec<u8>, IoError> {
    let mut bytes = vec![0; HEADER];
    let mut length = 0;
    while length < HEADER {
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

fn wrong(path: &Path, why: &str) -> Error {
    Error::Setup(format!("DATABASE_URL is {}, {why}.", DatabaseUrl::Sqlite(path.to_owned())))
}

#[cfg(test)]
mod tests {
    use diesel::{Connection, SqliteConnection, connection::SimpleConnection};

    use super::*;

    #[test]
    fn a_log_of_whoever_came_in_between_is_not_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let mut conn = SqliteConnection::establish(file.to_str().unwrap()).unwrap();
        conn.batch_execute("CREATE TABLE t (i)").unwrap();
        let seen = header(&file).unwrap();
        assert!(has_no_log(&seen));
        conn.batch_execute("PRAGMA journal_mode = WAL; INSERT INTO t VALUES (1)").unwrap();
        assert!(fs::metadata(&beside(&file)[0]).unwrap().len() > 0);
        for seen in [&seen[..], &[]] {
            refuse_log(&file, seen).unwrap();
        }
        assert!(is_locked(&file));
        assert_eq!(look(&file).unwrap(), Found::Database);
        assert!(is_locked(&file), "whoever looks takes no lock away from those who use it");
    }
    fn is_locked(file: &Path) -> bool {
        let number = format!(":{}", fs::metadata(file).unwrap().ino());
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.split_whitespace().any(|word| word.ends_with(&number))
    }
}
