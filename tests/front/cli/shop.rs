//! `migrate`, `seed` and `connect`.

use countersign::db::Db;
use countersign::shop::tables::{orders, products};

use crate::support::program::Program;
use crate::support::{Database, backends};

backends!(the_schema_comes_first_then_the_shop_and_both_only_once);
async fn the_schema_comes_first_then_the_shop_and_both_only_once(migrated: &Database) {
    let empty = migrated.backend.empty_database();
    let program = Program::on(&empty);
    assert!(program.run(&["seed"]).sentence().contains("countersign migrate"));
    for _ in 0..2 {
        assert_eq!(program.run(&["migrate"]).ok(), "The schema is up to date.\n");
    }
    assert_eq!(program.run(&["seed"]).ok(), "Loaded 62 products and 200 orders.\n");
    let before = shop(&empty.open()).await;
    assert!(program.run(&["seed"]).ok().contains("Nothing was changed"));
    assert_eq!(shop(&empty.open()).await, before);
}

/// Every order and product, as text.
async fn shop(db: &Db) -> String {
    let read = db.read(|conn| {
        let all = (
            orders::list(
                conn,
                &orders::Filter {
                    limit: 1000,
                    ..Default::default()
                },
            )?,
            products::list(
                conn,
                &products::Filter {
                    limit: 1000,
                    ..Default::default()
                },
            )?,
        );
        Ok(format!("{all:?}"))
    });
    read.await.unwrap()
}

#[test]
fn a_client_is_told_how_to_connect() {
    let program = Program::bare().with("COUNTERSIGN_PUBLIC_URL", "https://gate.example.com");
    // Another program's variable, which is none of this command's business.
    let program = program.with("DATABASE_URL", "mysql://localhost/other");
    for client in ["claude-code", "claude-desktop", "cursor", "vscode"] {
        let said = program.run(&["connect", client]).ok();
        assert!(said.contains("https://gate.example.com"), "{client}: {said}");
    }
    let keyed = program.run(&[
        "connect",
        "claude-code",
        "--url",
        "https://other.example.com",
        "--agent-key",
        "cs_a_x",
    ]);
    let keyed = keyed.ok();
    assert!(
        keyed.contains("https://other.example.com/mcp") && keyed.contains("Bearer cs_a_x"),
        "{keyed}"
    );
    let unknown = program.run(&["connect", "emacs"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("claude-code"), "{}", unknown.err);
    assert_eq!(std::fs::read_dir(program.folder.path()).unwrap().count(), 0, "nothing is opened");
}
