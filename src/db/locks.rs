//! What SQL the two backends spell differently.

use super::Conn;

/// The suffix of a `SELECT` that keeps a row from changing until the transaction ends. SQLite's one writer needs none.
pub fn share_lock(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(_) => "",
        Conn::Postgres(_) => " FOR SHARE",
    }
}

/// The condition that holds for events below the oldest running transaction: nothing can still appear among them.
pub fn settled_events(conn: &Conn) -> &'static str {
    match conn {
        Conn::Sqlite(_) => "1 = 1",
        // An event from beyond the newest transaction came with a restored dump, from another cluster's count.
        Conn::Postgres(_) => {
            "(tx < pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
             OR tx >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint)"
        }
    }
}
