//! The first start is whole or was never there: while it is under way a file marks the folder, and whoever finds the
//! mark left behind begins anew.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{Error as IoError, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    cli::out::say,
    db::beside,
    error::{Error, Result},
};

/// Stands beside the database from before it is made until its story is told.
const MARK: &str = "demo.unfinished";

/// A first start under way. The mark is locked, so that no other start takes it for one that was left behind.
pub(super) struct First {
    mark: PathBuf,
    database: PathBuf,
    _locked: File,
}

/// Marks the folder if its database is yet to be made. One that an earlier first start did not finish is removed: nobody
/// was told of anything in it. Another database never bears the mark, which says whose it is.
pub(super) fn begin(folder: &Path, database: &Path) -> Result<Option<First>> {
    let mark = folder.join(MARK);
    let failed = |error: IoError| Error::Setup(format!("{} can't be used: {error}.", mark.display()));
    let there = database.exists();
    // Made only where there is no database yet.
    let locked = match OpenOptions::new().write(true).create(!there).truncate(false).open(&mark) {
        Err(error) if there && error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    match locked.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::Setup(format!(
                "COUNTERSIGN_DATA_DIR (--data-dir) is {}, where another demo is being set up right now.",
                folder.display()
            )));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    if database.exists() {
        // Whoever held the lock may have finished meanwhile.
        if !mark.exists() {
            return Ok(None);
        }
        if fs::read_to_string(&mark).map_err(failed)? != identity(database).map_err(failed)? {
            // Somebody put it there since.
            fs::remove_file(&mark).map_err(failed)?;
            return Ok(None);
        }
        say!("An earlier first start did not finish: everything is made anew.\n");
        remove(database).map_err(|error| {
            Error::Setup(format!("{} is unfinished and can't be removed: {error}.", database.display()))
        })?;
    }
    Ok(Some(First {
        mark,
        database: database.to_owned(),
        _locked: locked,
    }))
}

impl First {
    /// From now on the mark says which database is unfinished.
    pub(super) fn owns_the_database(&self) -> Result<()> {
        identity(&self.database)
            .and_then(|identity| fs::write(&self.mark, identity))
            .map_err(|error| Error::Setup(format!("{} can't be written: {error}.", self.mark.display())))
    }

    /// Everything is there.
    pub(super) fn end(self) -> Result<()> {
        fs::remove_file(&self.mark)
            .map_err(|error| Error::Setup(format!("{} can't be removed: {error}.", self.mark.display())))
    }
}

/// Which file it is, whatever its name.
fn identity(file: &Path) -> Result<String, IoError> {
    fs::metadata(file).map(|file| format!("{}:{}", file.dev(), file.ino()))
}

/// Where no database was made, nothing bears the mark.
impl Drop for First {
    fn drop(&mut self) {
        if !self.database.exists() {
            let _ = fs::remove_file(&self.mark);
        }
    }
}

/// The file itself goes last: as long as it is there, the mark says that it has to go.
fn remove(database: &Path) -> Result<(), IoError> {
    for kept in beside(database) {
        match fs::remove_file(kept) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(database)
}
