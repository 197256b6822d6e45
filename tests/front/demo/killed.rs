//! A first start that is cut short.

use std::collections::BTreeSet;
use std::fs::File;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::Demo;
use crate::support::program::Program;
use crate::support::random::{Random, seed};
use crate::support::runtime;
use crate::support::settings::{figure, rounds};

const KILLS: usize = 20;
const START: [&str; 5] = ["demo", "--listen", "127.0.0.1:0", "--data-dir", "shop"];

#[test]
fn the_next_one_has_everything_to_show() {
    runtime().block_on(async {
        let begun = Instant::now();
        let whole = Demo::start(&Program::bare());
        let took = u64::try_from(begun.elapsed().as_micros()).unwrap();
        let expected = shown(&whole).await;
        drop(whole);

        let first = seed();
        let (mut random, mut anew) = (Random::from_seed(first), 0);
        for _ in 0..rounds(KILLS) {
            let program = Program::bare();
            let moment = Duration::from_micros(random.below(took));
            let mut killed =
                program.command(&START).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            tokio::time::sleep(moment).await;
            killed.kill().unwrap();
            killed.wait().unwrap();
            anew += usize::from(program.folder.path().join("shop/demo.unfinished").exists());

            let demo = Demo::start(&program);
            assert_eq!(shown(&demo).await, expected, "killed after {moment:?}, from seed {first}");
            assert!(!program.folder.path().join("shop/demo.unfinished").exists());
        }
        let rounds = rounds(KILLS);
        figure(&format!(
            "kill -9 in the demo's first start: {rounds} rounds from seed {first}; made anew {anew} times"
        ));
    });
}

/// Every sign-in and key is used, and each action told by what it is, how often it was asked, and what became of it.
pub async fn shown(demo: &Demo) -> BTreeSet<String> {
    for role in ["owner", "approver", "auditor", "viewer"] {
        demo.rest(role, "/actions").await;
    }
    assert_eq!(demo.agent("read-only-agent").tools().await.len(), 7);
    assert_eq!(demo.agent("support-agent").tools().await.len(), 10);
    let actions = demo.actions().await;
    let told: BTreeSet<_> = actions
        .iter()
        .map(|action| format!("{} {} {}", action["summary"], action["attempt"], action["status"]))
        .collect();
    assert_eq!(told.len(), actions.len());
    told
}

#[test]
fn a_database_that_was_there_before_is_never_made_anew() {
    runtime().block_on(async {
        let program = Program::bare();
        let folder = program.folder.path().join("shop");
        std::fs::create_dir(&folder).unwrap();
        let own = format!("sqlite://{}/countersign.db", folder.display());
        let own = Program::bare().with("DATABASE_URL", &own);
        own.run(&["migrate"]).ok();
        own.run(&["agent", "add", "--name", "ana", "--scope", "orders:read"]).ok();
        let mut killed = program.command(&START).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        tokio::time::sleep(Duration::from_millis(500)).await;
        killed.kill().unwrap();
        killed.wait().unwrap();
        drop(Demo::start(&program));
        assert!(own.run(&["agent", "list"]).ok().contains("ana"));
    });
}

#[test]
fn two_first_starts_in_one_folder_do_not_meet() {
    let program = Program::bare();
    let folder = program.folder.path().join("shop");
    std::fs::create_dir(&folder).unwrap();
    let held = File::create(folder.join("demo.unfinished")).unwrap();
    held.lock().unwrap();
    let sentence = program.run(&START).sentence();
    assert!(sentence.contains("shop") && sentence.contains("being set up"), "{sentence}");
    drop(held);
    drop(Demo::start(&program));
}
