//! A copy of a SQLite database while others use it. SQLite writes it from one snapshot, for which no writer waits.

use std::{
    ffi::OsString,
    fmt::Display,
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use diesel::{
    Connection, RunQueryDsl, SqliteConnection, connection::SimpleConnection, sql_query, sql_types::Text,
};
use uuid::Uuid;

use super::{Conn, DatabaseUrl, QueryResult, beside, conn::Mode};
use crate::error::{Error, Result};

/// A copy in the making. Until it is published it is in a folder of its own beside its place, which goes with this: nothing of
/// it stays behind, even if SQLite is still writing it then.
pub struct Backup {
    file: PathBuf,
    workshop: PathBuf,
}

impl Backup {
    /// Begins a copy that will be `file`, for its owner alone, as the database is.
    ///
    /// # Errors
    /// `Setup` for a database that is no file, a file that is there already, and a folder where none can be made.
    pub fn begin(database: &DatabaseUrl, file: &Path) -> Result<Self> {
        let Some(database) = database.file() else {
            return Err(Error::Setup(
                "DATABASE_URL is a Postgres database, and `backup` copies SQLite's file alone: the server's own tools copy \
                 all of it while it serves, so use pg_dump, or a base backup with WAL archiving, and run `countersign \
                 pause` on what you restore before anything serves it."
                    .to_owned(),
            ));
        };
        let (folder, name) = place(file)?;
        let file = folder.join(&name);
        refuse(&file, database)?;
        let workshop = folder.join(with(name, &format!(".{}.partial", Uuid::now_v7())));
        let made = DirBuilder::new().mode(0o700).create(&workshop);
        made.map_err(|error| unmade(&folder, error))?;
        let backup = Self { file, workshop };
        let draft = OpenOptions::new().create_new(true).write(true).mode(0o600).open(backup.draft());
        draft.map(|_| backup).map_err(|error| unmade(&folder, error))
    }

    /// Gives the copy its name.
    ///
    /// # Errors
    /// `Setup` when that name was taken meanwhile, or can't be written.
    pub fn publish(self) -> Result<()> {
        // A link, unlike a rename, does not replace the file of whoever was faster. Not every disk has links.
        let named = match fs::hard_link(self.draft(), &self.file) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists && !self.file.exists() => {
                fs::rename(self.draft(), &self.file)
            }
            named => named,
        };
        let folder = folder_of(&self.file);
        named.map_err(|error| unmade(folder, error))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| {
            // It could be gone after a power cut, so it is not there now either.
            let _ = fs::remove_file(&self.file);
            unmade(folder, error)
        })
    }

    pub(super) fn draft(&self) -> PathBuf {
        self.workshop.join("copy.db")
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        // SQLite may just be making a journal in there.
        let _ = (0..5).try_for_each(|_| match fs::remove_dir_all(&self.workshop) {
            Ok(()) => Err(()),
            Err(_) => Ok(()),
        });
    }
}

/// Copies all that the connection's database holds at one moment into the empty draft, lets `finish` write into the copy, and
/// has it on the disk.
pub(super) fn copy(
    conn: &mut Conn,
    draft: &Path,
    finish: &dyn Fn(&mut Conn) -> QueryResult<()>,
) -> Result<()> {
    let unmade = |error: &dyn Display| unmade(folder_of(folder_of(draft)), error);
    let path = text(draft)?;
    let copied = sql_query("VACUUM INTO $1").bind::<Text, _>(path).execute(conn);
    copied.map_err(|error| unmade(&error))?;
    let mut copy = open(path).map_err(|error| unmade(&error))?;
    copy.transact(Mode::Write, finish).map_err(|error| unmade(&error))?;
    drop(copy);
    // SQLite syncs what it writes as it is told to; that the copy outlives a power cut does not hang on that alone.
    let synced = File::open(draft).and_then(|file| file.sync_all());
    synced.map_err(|error| unmade(&error))
}

/// The copy by itself, with the checks that the database has.
fn open(path: &str) -> diesel::ConnectionResult<Conn> {
    let mut conn = SqliteConnection::establish(path)?;
    conn.batch_execute(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; \
         PRAGMA trusted_schema = OFF;",
    )
    .map_err(diesel::ConnectionError::CouldntSetupConfiguration)?;
    Ok(Conn::Sqlite(conn))
}

/// The folder, in full, and the name in it. SQLite takes what begins with `file:` for something else than a path.
fn place(file: &Path) -> Result<(PathBuf, OsString)> {
    let full = std::path::absolute(file).ok();
    let parts = full.as_deref().and_then(|full| {
        let folder = full.parent()?;
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Some((folder, full.file_name()?.to_owned()))
    });
    let (folder, name) =
        parts.ok_or_else(|| Error::Setup("No backup was made: FILE must name a file.".to_owned()))?;
    text(&folder.join(&name))?;
    Ok((folder, name))
}

/// Refuses a file that is there, and one that SQLite would make beside the database.
fn refuse(file: &Path, database: &Path) -> Result<()> {
    let identity = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    // By whatever way one comes to it.
    let full = fs::canonicalize(database).unwrap_or_else(|_| database.to_owned());
    let why = if file == full || identity(file).is_some_and(|it| Some(it) == identity(database)) {
        "is the database itself"
    } else if beside(database).iter().any(|own| own == file) {
        "is a file of the database's own"
    } else if fs::symlink_metadata(file).is_ok() {
        "is there already"
    } else {
        return Ok(());
    };
    let file = file.display();
    Err(Error::Setup(format!(
        "No backup was made: {file} {why}. Name a file that is yet to be made."
    )))
}

fn with(name: OsString, end: &str) -> OsString {
    let mut name = name;
    name.push(end);
    name
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .ok_or_else(|| Error::Setup("No backup was made: FILE must be UTF-8 text.".to_owned()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn unmade(folder: &Path, why: impl Display) -> Error {
    let folder = folder.display();
    Error::Setup(format!("No backup was made: the copy can't be written in {folder}: {why}."))
}
