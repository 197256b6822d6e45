//! Pages of a list: one row more than is shown tells whether there is a next page.

use crate::error::Denial;

/// How many rows a page of a list has, for agents and programs: unless they say otherwise, and at most.
pub const DEFAULT_LIMIT: i64 = 20;
pub const MAX_LIMIT: i64 = 50;

/// Splits what was read, one row more than `limit`, into the page and the place of its last row, where the next page goes
/// on; nothing on the last page.
pub fn split<T, P>(mut found: Vec<T>, limit: i64, place: impl FnOnce(&T) -> P) -> (Vec<T>, Option<P>) {
    let limit = usize::try_from(limit).unwrap_or_default();
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(place);
    (found, next)
}

/// The denial of a cursor that no page gave.
pub fn unknown_cursor() -> Denial {
    Denial::invalid(
        "cursor",
        "cursor must be the next_cursor of an earlier page; leave it out for the first one.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_page_that_more_rows_follow_has_a_next_one() {
        for (found, limit, expected) in [
            (vec![], 2, (vec![], None)),
            (vec![1, 2], 2, (vec![1, 2], None)),
            (vec![1, 2, 3], 2, (vec![1, 2], Some(2))),
            (vec![1], 0, (vec![], None)),
        ] {
            assert_eq!(split(found, limit, |row| *row), expected);
        }
    }
}
