//! The arrows between the rooms of `src/`, and the habits of every file in it, read from the source itself.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the entry to the ground: each may use those that come after it, on a later line.
const ROOMS: &[&[&str]] = &[
    &["cli"],
    &["app"],
    // The doors and the shop know nothing of each other, except that the shop's pages wear the dashboard's frame.
    &["mcp", "api", "shop"],
    &["web"],
    &["metrics", "config", "query"],
    &["gateway"],
    &["notify"],
    &["auth"],
    &["workflow"],
    &["audit"],
    &["kinds"],
    &["store"],
    &["db"],
    &["money"],
    &["http", "text", "strict", "paging", "private_file", "tasks"],
    &["error"],
    &["failpoint"],
];

/// Names that have one home: files whose path begins with one of these.
const HOMES: &[(&[&str], &[&str])] = &[
    (&["diesel", "diesel_migrations"], &["db", "store", "shop/tables"]),
    (&["rmcp", "rmcp_actix_web"], &["mcp"]),
    (&["lettre"], &["notify/email"]),
    (&["jiff"], &["notify/zone"]),
    (
        &["actix_web", "actix_htmx"],
        &["app", "auth/guard", "web", "api", "shop/pages", "mcp/http"],
    ),
    (&["Sqlite", "SqliteConnection", "Postgres", "Pg", "PgConnection"], &["db"]),
];

/// What mounts a route. It is done from the one table, so that the permission test sees every route there is.
const MOUNTING: &[&str] = &["web::resource(", "web::scope(", ".service(", ".route(", "HttpServer::"];
const MAY_MOUNT: &[&str] = &["app.rs", "app/routes.rs", "auth/guard.rs", "mcp/http.rs"];

/// A file is read in one go; beyond this it is two things.
const LONGEST_FILE: usize = 300;

#[test]
fn every_arrow_points_down() {
    let mut wrong = String::new();
    for file in sources() {
        let Some(own) = rank(&file.room) else {
            // `lib.rs` names the rooms, `main.rs` opens the first.
            assert!(["lib", "main"].contains(&file.room.as_str()), "{} is in no room", file.path);
            continue;
        };
        for used in file.rooms_used() {
            let allowed = used == file.room || rank(&used).is_none_or(|rank| rank > own);
            if !allowed {
                writeln!(wrong, "{} uses {used}, which comes before it", file.path).unwrap();
            }
        }
        if file.climbs_out() {
            writeln!(wrong, "{} leaves its room through `super`; write `crate::`", file.path).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_map_in_lib_shows_every_room_in_order() {
    let lib = fs::read_to_string(source().join("lib.rs")).unwrap();
    let mut modules: Vec<_> =
        lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';')).collect();
    modules.sort_by_key(|room| rank(room).unwrap_or_else(|| panic!("{room} has no place among the rooms")));
    let map = lib.lines().filter(|line| line.starts_with("//! - "));
    let shown: Vec<_> = map
        .flat_map(|line| line.split(": ").next().unwrap_or_default().split('`').skip(1).step_by(2))
        .collect();
    let ranks = |rooms: &[&str]| rooms.iter().map(|room| rank(room)).collect::<Vec<_>>();
    assert_eq!(ranks(&shown), ranks(&modules), "shown: {shown:?}");
    assert!(modules.iter().all(|room| shown.contains(room)), "shown: {shown:?}");
}

#[test]
fn every_name_stays_in_its_home() {
    let mut wrong = String::new();
    for file in sources() {
        for (names, homes) in HOMES {
            let at_home = homes.iter().any(|home| {
                file.path == *home
                    || file.path == format!("{home}.rs")
                    || file.path.starts_with(&format!("{home}/"))
            });
            for name in names.iter().filter(|name| !at_home && file.names(name)) {
                writeln!(wrong, "{} names {name}", file.path).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// One that a connection keeps would break when its table gets another column.
#[test]
fn every_statement_names_its_columns() {
    for file in sources() {
        let ends = |c: char| c.is_whitespace() || c == '\\';
        let words: Vec<_> = file.text.split(ends).filter(|word| !word.is_empty()).collect();
        let text = words.join(" ").to_uppercase();
        let all = ["SELECT *", "DISTINCT *", "RETURNING *", ".* FROM", ".*,", ".*\""]
            .iter()
            .find(|all| text.contains(**all));
        assert_eq!(all, None, "{}", file.path);
    }
}

#[test]
fn routes_are_mounted_from_the_one_table() {
    for file in sources().iter().filter(|file| !MAY_MOUNT.contains(&file.path.as_str())) {
        let mounting = MOUNTING.iter().find(|words| file.without_tests().contains(**words));
        assert_eq!(mounting, None, "{}", file.path);
    }
}

#[test]
fn every_file_says_what_it_is_and_keeps_the_habits() {
    let mut wrong = String::new();
    for file in sources() {
        let lines = file.text.lines().count();
        if lines > LONGEST_FILE {
            writeln!(wrong, "{} has {lines} lines", file.path).unwrap();
        }
        if !file.text.starts_with("//! ") {
            writeln!(wrong, "{} does not begin with a //! sentence", file.path).unwrap();
        }
        for leftover in ["TODO", "FIXME"].iter().filter(|leftover| file.text.contains(**leftover)) {
            writeln!(wrong, "{} has a {leftover}", file.path).unwrap();
        }
        let product = file.without_tests();
        for habit in [".unwrap()", "dbg!", "todo!", "unimplemented!", "println!"] {
            let allowed = habit == "println!" && (file.room == "cli" || file.room == "main");
            if product.contains(habit) && !allowed {
                writeln!(wrong, "{} has {habit} outside its tests", file.path).unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn the_reader_of_this_test_sees_code_only() {
    let code = code_of(concat!(
        "// crate::shop\n/* crate::web */ use crate::{a::{b, c}, d}; let s = \"crate::x \\\" {\"; ",
        "let r = r#\"crate::y \"# ; let c = '\"'; fn f<'a>() { crate::z::q() }"
    ));
    let file = Source {
        path: "e.rs".into(),
        room: "e".into(),
        text: String::new(),
        code,
    };
    assert_eq!(file.rooms_used(), ["a", "d", "z"]);
    let climbing = |path: &str, code: &str| {
        Source {
            path: path.into(),
            room: "e".into(),
            text: String::new(),
            code: code.into(),
        }
        .climbs_out()
    };
    assert!(climbing("e.rs", "use super::shop;"));
    assert!(climbing("e/f.rs", "use super::super::shop;"));
    assert!(!climbing("e/f.rs", "use super::g;"));
    assert!(!climbing("e.rs", "#[cfg(test)]\nmod tests {\nuse super::*; }"));
}

/// A file of `src/`.
struct Source {
    /// Below `src/`, with slashes.
    path: String,
    /// The first part of its module path.
    room: String,
    text: String,
    /// The text with comments and literals blanked.
    code: String,
}

impl Source {
    /// The rooms that its paths lead to.
    fn rooms_used(&self) -> Vec<String> {
        let mut rooms = Vec::new();
        for (at, _) in self.code.match_indices("crate::") {
            if self.code[..at].ends_with(|c: char| is_word(c)) {
                continue;
            }
            let rest = &self.code[at + "crate::".len()..];
            match rest.strip_prefix('{') {
                Some(group) => rooms.extend(heads(group)),
                None => rooms.push(word(rest)),
            }
        }
        rooms.sort();
        rooms.dedup();
        rooms.retain(|room| !room.is_empty());
        rooms
    }

    /// Whether a chain of `super` leads to the crate's root.
    fn climbs_out(&self) -> bool {
        let depth = self.path.matches('/').count() + 1;
        let is_module = |line: &&str| line.contains("mod ") && line.trim_end().ends_with('{');
        let mut rest = 0;
        self.code.match_indices("super::").any(|(at, _)| {
            if at < rest {
                return false;
            }
            let chain = self.code[at..].split("::").take_while(|part| *part == "super").count();
            rest = at + chain * "super::".len();
            let inline = self.code[..at].lines().any(|line| is_module(&line));
            chain >= depth + usize::from(inline)
        })
    }

    /// Whether the product, not its tests, names it.
    fn names(&self, name: &str) -> bool {
        let code = self.without_tests();
        code.match_indices(name).any(|(at, _)| {
            let (before, after) = (&code[..at], &code[at + name.len()..]);
            !before.ends_with(is_word) && !after.starts_with(is_word)
        })
    }

    /// The code up to its tests; nothing of a file that is one.
    fn without_tests(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        if ["tests.rs", "testing.rs"].contains(&name) || self.path.contains("/tests/") {
            return "";
        }
        self.code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default()
    }
}

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<Source> {
    let (root, mut folders, mut found) = (source(), vec![source()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap().replace('\\', "/");
                let room = path.trim_end_matches(".rs").split('/').next().unwrap().to_owned();
                let code = code_of(&text);
                found.push(Source {
                    path,
                    room,
                    text,
                    code,
                });
            }
        }
    }
    assert!(found.len() > 50, "src/ is read");
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found
}

/// The first name of each path in a `{…}` of a `use`.
fn heads(group: &str) -> Vec<String> {
    let (mut depth, mut heads, mut begins) = (1, Vec::new(), true);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => begins = true,
            c if depth == 1 && begins && is_word(c) => {
                heads.push(word(&group[at..]));
                begins = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| is_word(*c)).collect()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Rust without its comments and literals; lines stay lines.
fn code_of(text: &str) -> String {
    let (mut code, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let raw = raw_string(rest).filter(|_| !code.ends_with(is_word));
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw {
            length
        } else if c == '"' {
            1 + quoted(&rest[1..], '"')
        } else if c == '\'' && is_char(rest) {
            1 + quoted(&rest[1..], '\'')
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.extend(rest[..skipped].chars().filter(|c| *c == '\n'));
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

/// The length of a literal's rest, its closing quote included.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    text.len()
}

/// The length of a raw string, if one begins here.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let begin = text.len() - inside.len();
    Some(inside.find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

/// Whether a quote begins a character and no lifetime.
fn is_char(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match (chars.next(), chars.next()) {
        (Some('\\'), _) => true,
        (Some(_), next) => next == Some('\''),
        _ => false,
    }
}
