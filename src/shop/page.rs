//! Pages of a list, and the opaque cursors that lead from one to the next.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

pub(super) use crate::paging::{DEFAULT_LIMIT, MAX_LIMIT, unknown_cursor};
use crate::{error::Denial, paging};

/// Splits what was read, one more than `limit`, into the page and the cursor of the next one. `id` is the public id by
/// which the list is continued.
pub(super) fn split<T>(found: Vec<T>, limit: i64, id: impl Fn(&T) -> &str) -> (Vec<T>, Option<String>) {
    paging::split(found, limit, |last| URL_SAFE_NO_PAD.encode(id(last)))
}

/// The public id that a cursor holds.
pub(super) fn continued(cursor: &str) -> Result<String, Denial> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| unknown_cursor())?;
    String::from_utf8(bytes).ok().filter(|id| !id.contains('\0')).ok_or_else(unknown_cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_on_and_the_last_page_has_none() {
        let (page, next) = split(vec!["#1", "#2", "#3"], 2, |name| name);
        assert_eq!(page, ["#1", "#2"]);
        assert_eq!(continued(&next.unwrap()).unwrap(), "#2");
        assert_eq!(split(vec!["#1", "#2"], 2, |name| name), (vec!["#1", "#2"], None));
        for junk in ["#", "é", "AA=", "gA", "AA"] {
            assert_eq!(continued(junk), Err(unknown_cursor()), "{junk}");
        }
    }
}
