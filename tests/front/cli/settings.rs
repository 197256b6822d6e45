//! A setting that can't be taken stops the start with one sentence that names it.

use crate::support::program::Program;

/// Each setting with values that are negative, empty, overflowing, of an unknown unit, or nothing at all.
const BAD: &[(&str, &str, &[&str])] = &[
    (
        "DATABASE_URL",
        "--database-url",
        &["", "sqlite://", "mysql://localhost/x", "sqlite://:memory:", "sqlite://a.db?mode=memory"],
    ),
    ("COUNTERSIGN_LISTEN", "--listen", &["", "8080", "localhost", "127.0.0.1:99999"]),
    ("COUNTERSIGN_PUBLIC_URL", "--public-url", &["", "gate", "ftp://gate", "https://gate/path"]),
    ("COUNTERSIGN_TRUSTED_PROXIES", "--trusted-proxies", &["", "proxy", "10.0.0.0/33"]),
    (
        "COUNTERSIGN_ACTION_TTL",
        "--action-ttl",
        &["", "0", "-1s", "30", "1w", "99999999999999999999s", "11000d"],
    ),
    (
        "COUNTERSIGN_RETRY_WINDOW",
        "--retry-window",
        &["", "-1h", "refund=", "refund=1x", "1h,2h"],
    ),
    (
        "COUNTERSIGN_READ_RATE",
        "--read-rate",
        &["", "120", "-1/s:1", "1/day:1", "99999999999/s:1"],
    ),
    ("COUNTERSIGN_WRITE_RATE", "--write-rate", &["", "0/s:1", "1/s:0"]),
    (
        "COUNTERSIGN_MAX_STOCK_DELTA",
        "--max-stock-delta",
        &["", "0", "-5", "1.5", "99999999999999999999"],
    ),
    ("COUNTERSIGN_METRICS_TOKEN", "--metrics-token", &["", " "]),
    ("COUNTERSIGN_LOG", "--log", &["", "loud"]),
];

/// On a port that nobody else has.
const SERVE: &[&str] = &["serve", "--listen", "127.0.0.1:0"];

#[test]
fn a_bad_value_is_one_sentence_that_names_the_setting() {
    for (variable, flag, values) in BAD {
        for value in *values {
            let from_environment = Program::bare().with(variable, value).run(&["serve"]).sentence();
            let start = format!("{variable} ({flag}) ");
            assert!(from_environment.starts_with(&start), "{variable}={value:?}: {from_environment}");
            assert!(
                from_environment.ends_with('.') && !from_environment.contains("error:"),
                "{from_environment}"
            );
            let from_flag = Program::bare().run(&["migrate", &format!("{flag}={value}")]).sentence();
            assert_eq!(from_flag, from_environment, "{flag}={value:?}");
        }
    }
}

#[test]
fn a_secret_that_protects_nothing_is_refused() {
    for secret in ["", "short", "change-me-change-me-change-me-change-me", "00000000000000000000000000000000"]
    {
        let sentence = Program::bare().with("COUNTERSIGN_SECRET", secret).run(SERVE).sentence();
        assert!(sentence.starts_with("COUNTERSIGN_SECRET "), "{sentence}");
        assert!(secret.is_empty() || !sentence.contains(secret), "{sentence} repeats it");
    }
    let without = Program::bare().with("DATABASE_URL", "postgres://nobody@localhost:1/nothing").run(SERVE);
    assert!(without.sentence().starts_with("COUNTERSIGN_SECRET is missing."));
}

#[test]
fn a_retry_window_names_a_kind_that_exists() {
    let program = Program::bare().with("COUNTERSIGN_RETRY_WINDOW", "refunds=1h");
    let sentence = program.run(SERVE).sentence();
    assert!(sentence.starts_with("COUNTERSIGN_RETRY_WINDOW names refunds"), "{sentence}");
    assert!(
        !program.folder.path().join("countersign.db").exists(),
        "it stops before it makes anything"
    );
}

#[test]
fn a_wrong_command_line_gets_help() {
    let said = Program::bare().run(&["serv"]);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("similar subcommand") && said.err.contains("--help"), "{}", said.err);
    let help = Program::bare().run(&["serve", "--help"]).ok();
    for (variable, flag, _) in BAD {
        assert!(help.contains(flag) && help.contains(variable), "{variable}");
    }
    let version = Program::bare().run(&["--version"]).ok();
    assert_eq!(version.trim_end(), concat!("countersign ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn an_address_that_nobody_can_open_needs_a_public_one() {
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let program = Program::bare().with("COUNTERSIGN_LISTEN", listen);
        let sentence = program.run(&["serve"]).sentence();
        assert!(sentence.starts_with("COUNTERSIGN_PUBLIC_URL (--public-url) is missing"), "{sentence}");
        assert!(sentence.contains(listen), "{sentence}");
        assert!(
            !program.folder.path().join("countersign.db").exists(),
            "it stops before it makes anything"
        );
        let said = program.run(&["check"]);
        assert_eq!(said.code, Some(1));
        assert!(said.out.contains("PROBLEM: COUNTERSIGN_PUBLIC_URL (--public-url) is missing"), "{said:?}");
        let said = program.with("COUNTERSIGN_PUBLIC_URL", "https://gate.example.com").run(&["check"]);
        assert!(!said.out.contains("PROBLEM"), "{said:?}");
    }
}

#[test]
fn a_server_is_named_by_its_address_alone() {
    let connect = |url: &str| Program::bare().run(&["connect", "cursor", "--url", url]);
    for bad in [
        "https://me:secret@gate.example.com",
        "https://me@gate.example.com",
        "https://gate.example.com/there",
        "https://gate.example.com/?a=b",
        "https://gate.example.com/#a",
    ] {
        let said = connect(bad);
        let sentence = "COUNTERSIGN_URL (--url) must be http:// or https:// and a host, without a path";
        assert!(said.err.starts_with(sentence), "{bad}: {said:?}");
        assert!(!said.err.contains("secret"));
    }
    for good in ["https://gate.example.com", "https://gate.example.com/", "https://gate.example.com/mcp"] {
        let said = connect(good).ok();
        assert!(said.contains("\"https://gate.example.com/mcp\""), "{said}");
    }
}
