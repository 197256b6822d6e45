//! A write that finds its record gone, though it was locked and looked at, is undone as a whole.

use countersign::store::people::Role;

use crate::support::shop::{adjustment, cancellation, refund};
use crate::support::{Backend, TestApp, backends};

backends!(a_write_without_its_row_is_undone);
async fn a_write_without_its_row_is_undone(app: &TestApp) {
    let person = app.person(Role::Approver).await;
    app.product("SKU-1", 10).await;
    let orders = [app.order("#1001", 50_000).await.name, app.order("#1002", 50_000).await.name];
    let mut seen = Vec::new();
    for (tool, arguments) in [
        ("request_refund", refund(&orders[0], 100)),
        ("request_order_cancellation", cancellation(&orders[1])),
        ("request_stock_adjustment", adjustment("SKU-1", -1)),
    ] {
        seen.push(person.action(&app.ask(tool, arguments).await).await);
    }

    lose(app, "orders", "NEW.refunded_minor <> OLD.refunded_minor OR NEW.cancelled_at IS NOT NULL");
    lose(app, "products", "NEW.stock <> OLD.stock");
    for seen in &seen {
        let reply = person.approve_as_seen(seen).await;
        assert_eq!((reply.status.as_u16(), reply.code()), (500, "internal"), "{seen}");
    }

    let mut rival = app.rival();
    for table in ["refunds", "order_cancellations", "stock_movements"] {
        assert_eq!(rival.count(table, "1 = 1"), 0, "{table}");
    }
    assert_eq!(rival.count("actions", "status = 'pending'"), 3);
    app.books().balance();
}

/// From now on updates of the table that fulfil the condition change nothing, and say nothing.
fn lose(app: &TestApp, table: &str, condition: &str) {
    app.rival().run(&match app.database.backend {
        Backend::Sqlite => format!(
            "CREATE TRIGGER lose_{table} BEFORE UPDATE ON {table} WHEN {condition} BEGIN SELECT RAISE(IGNORE); END"
        ),
        Backend::Postgres => format!(
            "CREATE FUNCTION lose_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
             CREATE TRIGGER lose_{table} BEFORE UPDATE ON {table} FOR EACH ROW
             WHEN ({condition}) EXECUTE FUNCTION lose_{table}()"
        ),
    });
}
