//! The rows of the table `rejects`.
//!
//! Raw bytes may be long, so few records are read at a time.

use super::arrays::{batch, counts, ids, texts};
use crate::sql::documents::producer::{BatchSink, SystemTableRequest};
use crate::sql::engine::limits::QueryLimits;
use crate::sql::error::SqlError;
use arrow::array::ArrayRef;
use store::{RejectRecord, View};

/// Pushes all records, in batches of at most `rows`; `raw` is left empty when it is not wanted.
pub(crate) fn push(
    view: &View,
    wanted: &SystemTableRequest<'_>,
    sink: &mut BatchSink<'_>,
) -> Result<(), SqlError> {
    let raw = wanted.schema.index_of("raw").ok();
    let with_raw = wanted.columns.iter().any(|at| Some(*at) == raw);
    let most = QueryLimits::of(view).texts;
    let mut waiting: Vec<RejectRecord> = Vec::new();
    let mut bytes = 0;
    for record in view.all_rejects()? {
        let mut record = record?;
        if !with_raw {
            record.raw = Vec::new();
        }
        bytes += record.raw.len() + record.path.len() + record.reason.len();
        waiting.push(record);
        if waiting.len() == wanted.rows || bytes >= most {
            if sink(batch(wanted.schema, columns(&waiting))?).is_break() {
                return Ok(());
            }
            waiting.clear();
            bytes = 0;
        }
    }
    // Whether more is wanted does not matter: there is no more.
    let _ = sink(batch(wanted.schema, columns(&waiting))?);
    Ok(())
}

fn columns(rows: &[RejectRecord]) -> Vec<ArrayRef> {
    vec![
        texts(rows.iter().map(|record| &record.source)),
        texts(rows.iter().map(|record| &record.path)),
        ids(rows.iter().map(|record| record.number)),
        ids(rows.iter().map(|record| record.offset)),
        texts(rows.iter().map(|record| &record.reason)),
        counts(rows.iter().map(|record| record.bytes)),
        texts(rows.iter().map(|record| String::from_utf8_lossy(&record.raw))),
    ]
}
