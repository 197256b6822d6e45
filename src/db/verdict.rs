//! Whether a transaction whose COMMIT was never answered was committed.

use diesel::{OptionalExtension, QueryableByName, RunQueryDsl, sql_query, sql_types::Text};

use super::{Conn, QueryResult};

#[derive(QueryableByName)]
struct Found {
    #[diesel(sql_type = Text)]
    #[expect(dead_code, reason = "that there is a row is the answer")]
    id: String,
}

/// Every such transaction writes an event whose id was made before its first try. One that is still on its way is not seen
/// here; it makes the second try fail on that id.
pub(super) fn was_committed(conn: &mut Conn, event_id: &str) -> QueryResult<bool> {
    let found = sql_query("SELECT id FROM audit_events WHERE id = $1").bind::<Text, _>(event_id);
    Ok(found.get_result::<Found>(conn).optional()?.is_some())
}
