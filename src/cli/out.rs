//! What commands print.

use std::{
    fmt,
    io::{ErrorKind, Write, stderr, stdout},
    process::exit,
};

/// Prints a line. Once the reader has seen enough and is gone (`countersign check | head -1`), it prints nothing, and the
/// command goes on to its end.
macro_rules! say {
    ($($what:tt)*) => { $crate::cli::out::line(format_args!($($what)*)) };
}
pub(crate) use say;

pub(super) fn line(text: fmt::Arguments<'_>) {
    let Err(error) = writeln!(stdout(), "{text}") else { return };
    if error.kind() != ErrorKind::BrokenPipe {
        complain(&format!("The output can't be written: {error}."));
        exit(1);
    }
}

/// Prints why the process ends, if anybody still listens.
pub fn complain(sentence: &str) {
    let _ = writeln!(stderr(), "{sentence}");
}
