//! Finds the documents that an epoch trains on.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan};
use model::Interrupt;
use roaring::RoaringTreemap;

/// The documents of which the epoch that [`explain`](super::explain) tells of gives any token, each once. Walks its rows.
///
/// # Errors
/// As [`explain`](super::explain).
pub(crate) fn documents_of_epoch(
    corpora: &Corpora,
    planned: &Plan,
    interrupt: &Interrupt,
) -> Result<RoaringTreemap, EpochError> {
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, interrupt)?;
    let sampler = BatchSampler::of(&planned.plan);
    let marks = EpochIndex::first_with_rows(&opened, &sampler, interrupt)?;
    let marks = marks.without_carried(&opened, &sampler)?;
    let mut cursor = BatchCursor::at(&opened, &sampler, &marks, 0)?;
    let mut documents = RoaringTreemap::new();
    while let Some(batch) = cursor.next_batch()? {
        interrupt.check()?;
        for row in &batch.rows {
            let segments = opened.source(row)?.segments_without_repeated(row)?;
            documents.extend(segments.iter().map(|segment| segment.document.0));
        }
    }
    Ok(documents)
}
