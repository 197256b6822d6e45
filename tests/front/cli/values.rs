//! Every setting there is, with values of every sort, through the loader: each value is taken with the meaning that the
//! manual gives it, or refused in a sentence that names the setting.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use countersign::app::App;
use countersign::config::Config;
use countersign::error::Error;

use crate::support::program::Program;

const VALUES: &[&str] = &[
    "",
    " ",
    "0",
    "00",
    "-0",
    "-1",
    "+1",
    "1",
    "1.5",
    "1e3",
    "0x10",
    "１",
    "NaN",
    "null",
    "true",
    "off",
    "loud",
    "9223372036854775807",
    "-9223372036854775808",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999",
    "1000000000",
    "1000000001",
    "0s",
    "1s",
    "-1s",
    "1.5s",
    "1w",
    "3650d",
    "3651d",
    "213503982334602d",
    "18446744073709551615d",
    "refund=1s",
    "refund=-1s",
    "refund=1s,refund=1s",
    "0/s:1",
    "1/s:0",
    "1/s:1",
    "-1/s:1",
    "1000000/h:1000000",
    "1000001/s:1",
    "1/fortnight:1",
    "127.0.0.1:0",
    "127.0.0.1:65536",
    "10.0.0.0/8",
    "10.0.0.0/33",
    "https://gate.example.com",
    "https://gate.example.com.",
    "https://:pass@gate.example.com",
    "sqlite:///x.db",
    "sqlite://:memory:",
    "smtp://mail.example.com",
    "smtps://gate:hidden@mail.example.com:465",
    "smtp://gate:hidden@mail.example.com?tls=none",
    "Countersign <gate@example.com>",
    "debug,json",
    "🦀",
    "\u{202e}1s",
    "a\nb",
    "--help",
    "'; DROP TABLE orders; --",
    "../../etc/passwd",
    "9f86d081884c7d659a2feaa0c55ad015",
];

/// What each setting takes of these, and what it then means.
const TAKEN: &[(&str, &[(&str, &str)])] = &[
    ("DATABASE_URL", &[("sqlite:///x.db", "sqlite:///x.db")]),
    ("COUNTERSIGN_LISTEN", &[("127.0.0.1:0", "127.0.0.1:0")]),
    (
        "COUNTERSIGN_PUBLIC_URL",
        &[
            ("https://gate.example.com", "https://gate.example.com/"),
            ("https://gate.example.com.", "https://gate.example.com/"),
        ],
    ),
    ("COUNTERSIGN_TRUSTED_PROXIES", &[("10.0.0.0/8", "[10.0.0.0/8]")]),
    (
        "COUNTERSIGN_SECRET",
        &[("9f86d081884c7d659a2feaa0c55ad015", "9f86d081884c7d659a2feaa0c55ad015")],
    ),
    ("COUNTERSIGN_ACTION_TTL", &[("1s", "1 s"), ("3650d", "315360000 s")]),
    (
        "COUNTERSIGN_RETRY_WINDOW",
        &[
            ("0", "Some(0ns) {}"),
            ("0s", "Some(0ns) {}"),
            ("1s", "Some(1s) {}"),
            ("3650d", "Some(315360000s) {}"),
            ("refund=1s", "None {\"refund\": 1s}"),
        ],
    ),
    (
        "COUNTERSIGN_READ_RATE",
        &[
            ("off", "off"),
            ("1/s:1", "1 in 1 s, 1 at once"),
            ("1000000/h:1000000", "1000000 in 3600 s, 1000000 at once"),
        ],
    ),
    (
        "COUNTERSIGN_WRITE_RATE",
        &[
            ("off", "off"),
            ("1/s:1", "1 in 1 s, 1 at once"),
            ("1000000/h:1000000", "1000000 in 3600 s, 1000000 at once"),
        ],
    ),
    ("COUNTERSIGN_MAX_STOCK_DELTA", &[("+1", "1"), ("1", "1"), ("1000000000", "1000000000")]),
    (
        "SMTP_URL",
        &[
            ("smtp://mail.example.com", "mail.example.com:587 with STARTTLS"),
            ("smtps://gate:hidden@mail.example.com:465", "mail.example.com:465 with TLS"),
        ],
    ),
    ("COUNTERSIGN_SMTP_CA", &[]),
    (
        "COUNTERSIGN_MAIL_FROM",
        &[("Countersign <gate@example.com>", "Countersign <gate@example.com>")],
    ),
    ("COUNTERSIGN_LOG", &[("debug,json", "DEBUG true")]),
];

/// The tool's token is any text that a header can carry.
const TOKEN: &str = "COUNTERSIGN_METRICS_TOKEN";
/// A flag without a value: only the environment gives it one.
const SWITCH: &str = "COUNTERSIGN_NO_MIGRATE";

fn meaning(config: &Config, variable: &str) -> String {
    match variable {
        "DATABASE_URL" => config.database_url.to_string(),
        "COUNTERSIGN_LISTEN" => config.listen.to_string(),
        "COUNTERSIGN_PUBLIC_URL" => config.public_url().to_string(),
        "COUNTERSIGN_TRUSTED_PROXIES" => format!("{:?}", config.proxies()),
        "COUNTERSIGN_SECRET" => config.secret.clone().unwrap(),
        "COUNTERSIGN_ACTION_TTL" => format!("{} s", config.action_ttl.duration().as_secs()),
        "COUNTERSIGN_RETRY_WINDOW" => {
            let windows = &config.retry_window.as_ref().unwrap().0;
            format!("{:?} {:?}", windows.every, windows.by_kind)
        }
        "COUNTERSIGN_READ_RATE" => config.read_rate.to_string(),
        "COUNTERSIGN_WRITE_RATE" => config.write_rate.to_string(),
        "COUNTERSIGN_MAX_STOCK_DELTA" => config.max_stock_delta.to_string(),
        "COUNTERSIGN_METRICS_TOKEN" => config.metrics_token.clone().unwrap(),
        "SMTP_URL" => config.smtp_url.as_ref().unwrap().to_string(),
        "COUNTERSIGN_MAIL_FROM" => config.mail_from().to_string(),
        "COUNTERSIGN_LOG" => format!("{} {}", config.log.level, config.log.json),
        other => panic!("{other} has no meaning here"),
    }
}

fn expected(variable: &str, value: &'static str) -> Option<&'static str> {
    if variable == TOKEN {
        return (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic())).then_some(value);
    }
    let (_, taken) =
        TAKEN.iter().find(|(name, _)| *name == variable).unwrap_or_else(|| panic!("{variable}?"));
    taken.iter().find(|(text, _)| *text == value).map(|(_, meaning)| *meaning)
}

#[test]
fn every_value_of_every_setting_is_taken_as_the_manual_says_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let database = format!("sqlite://{}/countersign.db", folder.path().display());
    let settings = Config::settings();
    assert_eq!(settings.len(), TAKEN.len() + 2, "{settings:?}");
    for (variable, flag) in settings.iter().filter(|(variable, _)| variable != SWITCH) {
        for value in VALUES {
            let read = Config::read(&[&format!("{flag}={value}")]);
            match (read, expected(variable, value)) {
                (Ok(config), Some(expected)) => {
                    assert_eq!(meaning(&config, variable), expected, "{variable}={value}");
                    let config = Config {
                        database_url: database.parse().unwrap(),
                        ..config
                    };
                    App::build(config).unwrap_or_else(|error| panic!("{variable}={value}: {error}"));
                }
                (Err(Error::Setup(sentence)), None) => {
                    let named = sentence.starts_with(&format!("{variable} ({flag}) "));
                    assert!(named && sentence.ends_with('.'), "{variable}={value}: {sentence}");
                    assert!(!sentence.contains('\n'), "{variable}={value}: {sentence}");
                }
                (read, expected) => panic!("{variable}={value}: {read:?} instead of {expected:?}"),
            }
        }
    }
}

/// Every way to start the program, except those that would serve for ever.
const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["migrate"],
    &["seed"],
    &["agent", "list"],
    &["person", "list"],
    &["pause"],
    &["audit", "export"],
    &["prune", "--older-than", "1d"],
    &["backup", "copy.db"],
    &["connect", "cursor", "--url", "https://gate.example.com"],
    &["mcp", "--agent-key", "cs_a_x"],
    &["mcp", "--agent-key", "cs_a_x", "--url", "http://127.0.0.1:1"],
    &["serve", "--listen", "127.0.0.1:0"],
    &["demo", "--listen", "127.0.0.1:0"],
];

#[test]
fn every_command_refuses_every_bad_setting_and_makes_nothing() {
    for (variable, flag) in Config::settings() {
        for command in COMMANDS {
            let own = match variable.as_str() {
                "DATABASE_URL" => matches!(command[0], "demo" | "connect") || command.contains(&"--url"),
                "COUNTERSIGN_LISTEN" => command.contains(&"--listen"),
                _ => false,
            };
            if own {
                continue;
            }
            let program = Program::bare().with(&variable, " \t");
            let sentence = program.run(command).sentence();
            assert!(sentence.starts_with(&format!("{variable} ({flag}) ")), "{command:?}: {sentence}");
            assert_eq!(program.folder.path().read_dir().unwrap().count(), 0, "{command:?}");
        }
    }
}

#[test]
fn a_switch_takes_yes_and_no_and_nothing_else() {
    for value in VALUES {
        let said = Program::bare().with(SWITCH, value).run(&["check", "--listen", "127.0.0.1:0"]);
        let started = said.out.contains("Schema");
        assert_eq!(started, ["0", "1", "true", "off"].contains(value), "{value:?}: {said:?}");
        if started {
            assert_eq!(said.code, Some(i32::from(["1", "true"].contains(value))), "{value:?}");
        } else {
            assert!(said.sentence().starts_with("COUNTERSIGN_NO_MIGRATE (--no-migrate) "), "{value:?}");
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_by_name() {
    for (variable, flag) in Config::settings() {
        let program = Program::bare();
        let mut command = program.command(&["agent", "list"]);
        let output = command.env(&variable, OsStr::from_bytes(b"1\xff")).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.trim_end()),
            (Some(1), &*format!("{variable} ({flag}) must be UTF-8 text."))
        );
    }
}

#[test]
fn the_address_of_a_server_is_one() {
    for command in [&["mcp", "--agent-key", "cs_a_x"][..], &["connect", "cursor"]] {
        for value in VALUES.iter().filter(|value| !value.starts_with("https://")) {
            let sentence = Program::bare().with("COUNTERSIGN_URL", value).run(command).sentence();
            assert!(sentence.starts_with("COUNTERSIGN_URL (--url) must be "), "{value:?}: {sentence}");
        }
    }
}

#[test]
fn a_folder_without_a_name_is_refused_too() {
    let sentence = Program::bare().with("COUNTERSIGN_DATA_DIR", "").run(&["demo"]).sentence();
    assert_eq!(sentence, "COUNTERSIGN_DATA_DIR (--data-dir) must not be empty.");
}
