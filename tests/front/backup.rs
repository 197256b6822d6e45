//! `backup`: a copy while others use the database, and what is restored from it.

mod made;
mod refused;
mod restored;

use crate::support::program::{Program, Said};
use crate::support::{Backend, Database};

/// Has the program make a copy, as a database of its own.
fn copy_of(database: &Database) -> Database {
    let copy = Backend::Sqlite.empty_database();
    back_up(database, &copy).ok();
    copy
}

fn back_up(database: &Database, copy: &Database) -> Said {
    Program::on(database).run(&["backup", path(copy)])
}

/// The file of a database.
fn path(database: &Database) -> &str {
    database.url.strip_prefix("sqlite://").unwrap()
}
