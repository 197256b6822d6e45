//! SQLite's file, looked at before SQLite opens it: opening makes one where there is none.

use std::{
    fs::{self, File, OpenOptions},
    io::{Error as IoError, ErrorKind, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::{Access, access};

use super::DatabaseUrl;
use crate::error::{Error, Result};

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
    let (read, header) = header(path);
    let length = match read {
        Ok(length) => length,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(wrong(path, &format!("which can't be read: {error}"))),
    };
    access(path, Access::WRITE_OK)
        .map_err(|error| wrong(path, &format!("which can't be written: {}", IoError::from(error))))?;
    match length {
        0 => Ok(Found::Nothing),
        _ if is_database(&header) && never_served(&header) => refuse_log(path).map(|()| Found::Database),
        _ if is_database(&header) => Ok(Found::Database),
        _ => Err(wrong(path, "and that file is not a SQLite database")),
    }
}

/// Whether a file could be made there. Writes nothing.
///
/// # Errors
/// `Setup` when it couldn't.
pub(super) fn could_be_made(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    access(folder, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| wrong(path, &format!("which can't be made: {}", IoError::from(error))))
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

/// What every SQLite database begins with, of whatever version, page size and journal mode.
fn is_database(header: &[u8; 24]) -> bool {
    header.starts_with(b"SQLite format 3\0") && header.ends_with(&[64, 32, 32])
}

/// Whether it is yet to be written to with a write-ahead log, as whatever serves it does: a backup's copy, for one.
fn never_served(header: &[u8; 24]) -> bool {
    header[18] == 1
}

/// Refuses a log that can't be the database's own. SQLite would take it for that, and write what it holds over the database.
fn refuse_log(path: &Path) -> Result<()> {
    // Where SQLite looks for it, by whatever way one comes to the database.
    let mut log = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    log.push("-wal");
    let log = Path::new(&log);
    // Somebody may have begun to serve it since the header was read.
    if log.metadata().is_ok_and(|log| log.len() > 0) && never_served(&header(path).1) {
        let why = format!(
            "a copy that nothing has served yet, and {}, which is another database's, would destroy it. Move that file away, \
             and the one that ends in -shm",
            log.display()
        );
        return Err(wrong(path, &why));
    }
    Ok(())
}

/// What a file begins with, and how much of that it has.
fn header(path: &Path) -> (Result<usize, IoError>, [u8; 24]) {
    let mut header = [0; 24];
    let length = File::open(path).and_then(|mut file| read(&mut file, &mut header));
    (length, header)
}

/// As much as there is.
fn read(file: &mut File, into: &mut [u8]) -> Result<usize, IoError> {
    let mut length = 0;
    loop {
        match file.read(&mut into[length..])? {
            0 => return Ok(length),
            more => length += more,
        }
    }
}

fn wrong(path: &Path, why: &str) -> Error {
    Error::Setup(format!("DATABASE_URL is {}, {why}.", DatabaseUrl::Sqlite(path.to_owned())))
}
