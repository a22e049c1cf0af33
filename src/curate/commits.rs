//! Stored texts that are looked at in one commit: so many, or until they are of so many bytes.

use crate::model::DocId;
use crate::store::{Header, StoreError, View};

/// Documents from number `from` on, at most `rows`, until their texts are of `bytes`; and the number behind the last of
/// them. One at least, where there is one.
pub(super) fn next_texts(
    view: &View,
    (from, rows): (u64, u64),
    bytes: u64,
) -> Result<(Vec<(DocId, Header)>, u64), StoreError> {
    let (mut work, mut taken) = (Vec::new(), 0);
    let end = from.saturating_add(rows.max(1)).min(view.documents());
    for row in view.headers(from..end)? {
        let (document, header) = row?;
        if taken >= bytes.max(1) {
            return Ok((work, document.0));
        }
        taken += header.bytes;
        work.push((document, header));
    }
    Ok((work, end))
}
