//! What is said of a value that a setting can't take.

use std::{env, error::Error};

use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// One sentence that names the setting; nothing when the command line itself is wrong, which clap explains better. The
/// value is not repeated: it may be a secret.
pub fn sentence(error: &clap::Error, command: &Command) -> Option<String> {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return no_text(command);
    }
    let (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(ContextValue::String(argument))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return None;
    };
    // As clap shows it: "--action-ttl <DURATION>".
    let flag = argument.split(' ').next()?.strip_prefix("--")?;
    let wanted = error.source().map_or_else(|| "must not be empty".to_owned(), ToString::to_string);
    Some(format!("{} (--{flag}) {wanted}.", variable(flag, command)?))
}

/// clap does not say which value is no text, so the environment is looked through.
fn no_text(command: &Command) -> Option<String> {
    let own = command.get_arguments().find_map(|setting| {
        let (variable, flag) = (setting.get_env()?, setting.get_long()?);
        let value = env::var_os(variable)?;
        let sentence = format!("{} (--{flag}) must be UTF-8 text.", variable.to_string_lossy());
        value.to_str().is_none().then_some(sentence)
    });
    own.or_else(|| command.get_subcommands().find_map(no_text))
}

/// The environment variable of a setting's flag, which is the same for every command.
fn variable(flag: &str, command: &Command) -> Option<String> {
    let own = command.get_arguments().find(|known| known.get_long() == Some(flag));
    let own = own.and_then(|known| known.get_env()).map(|name| name.to_string_lossy().into_owned());
    own.or_else(|| command.get_subcommands().find_map(|below| variable(flag, below)))
}
