//! What is said of a value that a setting can't take.

use std::error::Error;

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// One sentence that names the setting; nothing when the command line itself is wrong, which clap explains better. The
/// value is not repeated: it may be a secret.
pub fn sentence(error: &clap::Error, command: &Command) -> Option<String> {
    let (ErrorKind::ValueValidation, Some(ContextValue::String(argument))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    // As clap shows it: "--action-ttl <DURATION>".
    let flag = argument.split(' ').next()?.strip_prefix("--")?;
    let wanted = error.source().map_or_else(|| "can't be read".to_owned(), ToString::to_string);
    Some(format!("{} (--{flag}) {wanted}.", variable(flag, command)?))
}

/// The environment variable of a setting's flag, which is the same for every command.
fn variable(flag: &str, command: &Command) -> Option<String> {
    let own = command.get_arguments().find(|known| known.get_long() == Some(flag));
    let own = own.and_then(|known| known.get_env()).map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| variable(flag, below)))
}
