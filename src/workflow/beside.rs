//! The other actions on an action's records: which of them an approver is shown, when they are many.

use std::collections::BTreeMap;

use super::MOST_EQUAL;
use crate::{
    db::{Conn, QueryResult, Timestamp},
    store::actions::{self, Action, Beside, Status},
};

/// How many of the latest of each agent, kind and status are shown. One agent's flood hides nothing of anybody else, and
/// nothing of another kind.
const LATEST: usize = 3;

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
    let mut shown = actions::equal_and_close(conn, action, now, since)?;
    let others = actions::close_on_same_records(conn, action, now, since)?;
    let all = shown.len() + others.len();
    let executed = shown.iter().filter(|one| one.status == Status::Executed).count()
        + others.iter().filter(|one| one.status == Status::Executed).count();
    // More can't be acknowledged, so the approval has to wait for fewer.
    shown.truncate(MOST_EQUAL);
    let chosen = choose(others, action);
    let mut found: BTreeMap<String, Action> =
        actions::of_ids(conn, &chosen)?.into_iter().map(|one| (one.id.clone(), one)).collect();
    shown.extend(chosen.iter().filter_map(|id| found.remove(id)));
    Ok(Close {
        open: all - executed,
        left_out: all - shown.len(),
        shown,
    })
}

/// The latest few of each, in the order in which they are shown.
fn choose(newest_first: Vec<Beside>, action: &Action) -> Vec<String> {
    let mut counts: BTreeMap<(String, String, &str), usize> = BTreeMap::new();
    let mut chosen: Vec<Beside> = newest_first
        .into_iter()
        .filter(|one| {
            let count =
                counts.entry((one.agent_id.clone(), one.kind.clone(), one.status.as_str())).or_default();
            *count += 1;
            *count <= LATEST
        })
        .collect();
    let alike = |one: &Beside| one.agent_id == action.agent_id && one.kind == action.kind;
    chosen.sort_by_key(|one| (one.status == Status::Executed, alike(one)));
    chosen.into_iter().map(|one| one.id).collect()
}
