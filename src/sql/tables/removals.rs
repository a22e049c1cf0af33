//! The rows of the table `removals`: which documents were removed, restored and purged, one commit after the other.

use super::arrays::{batch, ids, texts, texts_or_null, times};
use crate::sql::documents::producer::{BatchSink, SystemTableRequest};
use crate::sql::error::SqlError;
use arrow::array::ArrayRef;
use model::CommitSeq;
use std::iter::repeat_n;
use store::{CommitRecord, View};

/// Pushes all removals, in batches of at most `rows`, of one commit each.
pub(crate) fn push(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    for removal in view.removals()? {
        let (commit, documents) = removal?;
        let record = view.commit_record(commit)?.unwrap_or_default();
        let mut ids = documents.iter();
        loop {
            let some: Vec<u64> = ids.by_ref().take(wanted.rows).collect();
            if some.is_empty() {
                break;
            }
            if sink(batch(wanted.schema, columns(some, commit, &record))?).is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn columns(documents: Vec<u64>, commit: CommitSeq, record: &CommitRecord) -> Vec<ArrayRef> {
    let rows = documents.len();
    vec![
        ids(documents.into_iter()),
        ids(repeat_n(commit.0, rows)),
        texts(repeat_n(&record.kind, rows)),
        texts_or_null(repeat_n(record.reason.as_deref(), rows)),
        texts_or_null(repeat_n(record.condition.as_deref(), rows)),
        times(repeat_n(record.time, rows)),
    ]
}
