//! The other actions on an action's records: which of them an approver is shown, when they are many.

use std::collections::BTreeMap;

use super::MOST_EQUAL;
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::actions::{self, Action, Beside, Status},
};

/// How many of the latest of each agent, kind and status are shown. One agent's flood hides nothing of anybody else, and
/// nothing of another kind.
const LATEST: i64 = 3;

/// Other actions on the same records that are open, or were executed just before.
pub(super) struct Close {
    /// Equal writes first, then those that are open, and among these what other agents and kinds ask for.
    pub(super) shown: Vec<Action>,
    /// How many there are that are open, shown or not.
    pub(super) open: usize,
    /// How many are not shown.
    pub(super) left_out: usize,
}

/// Those beside `action` that are open at `now`, or were executed after `since`.
pub(super) fn close(
    conn: &mut Conn,
    action: &Action,
    now: Timestamp,
    since: Timestamp,
) -> QueryResult<Close> {
    // More can't be acknowledged, so the approval has to wait for fewer.
    let mut shown = actions::equal_and_close(conn, action, now, since, MOST_EQUAL)?;
    let others = actions::close_on_same_records(conn, action, now, since, LATEST)?;
    let mut counts = if shown.len() < MOST_EQUAL {
        shown.iter().map(|one| (one.status, 1)).collect()
    } else {
        actions::equal_and_close_by_status(conn, action, now, since)?
    };
    counts.extend(others.iter().filter(|one| one.place == 1).map(|one| (one.status, one.alike)));
    let (mut open, mut all) = (0, 0);
    for (status, count) in counts {
        let count = usize::try_from(count).unwrap_or(0);
        all += count;
        open += if status == Status::Executed { 0 } else { count };
    }
    let chosen = in_order(others, action);
    let found = actions::of_ids(conn, &chosen)?;
    let mut found: BTreeMap<String, Action> = found.into_iter().map(|one| (one.id.clone(), one)).collect();
    shown.extend(chosen.iter().filter_map(|id| found.remove(id)));
    Ok(Close {
        open,
        left_out: all.saturating_sub(shown.len()),
        shown,
    })
}

/// In the order in which they are shown.
fn in_order(mut others: Vec<Beside>, action: &Action) -> Vec<String> {
    let alike = |one: &Beside| one.agent_id == action.agent_id && one.kind == action.kind;
    others.sort_by_key(|one| (one.status == Status::Executed, alike(one)));
    others.into_iter().map(|one| one.id).collect()
}
