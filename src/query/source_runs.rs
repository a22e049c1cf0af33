//! The source of any document, from memory: ids come in runs, since an ingest is of one source.

use crate::model::{DocId, SourceId};
use crate::query::error::QueryError;
use crate::store::{View, fields};

/// First document of every run of one source. As small as the corpus has ingests.
pub(in crate::query) struct SourceRuns(Vec<(DocId, SourceId)>);

impl SourceRuns {
    pub(in crate::query) fn read(view: &View) -> Result<Self, QueryError> {
        let mut runs = Self(Vec::new());
        for block in view.blocks() {
            match view.column_range(fields::SOURCE_OF, block)? {
                Some((low, high)) if low == high => runs.extend(DocId::at(block, 0), low),
                _ => {
                    let column = view.column_block(fields::SOURCE_OF, block)?;
                    for (slot, source) in column.iter() {
                        runs.extend(DocId::at(block, slot), source);
                    }
                }
            }
        }
        Ok(runs)
    }

    pub(in crate::query) fn of(&self, document: DocId) -> SourceId {
        let after = self.0.partition_point(|(first, _)| *first <= document);
        let run = after.checked_sub(1).and_then(|at| self.0.get(at));
        run.map_or(SourceId(u32::MAX), |(_, source)| *source)
    }

    fn extend(&mut self, document: DocId, source: i64) {
        let source = SourceId(u32::try_from(source).unwrap_or(u32::MAX));
        if self.0.last().is_none_or(|(_, last)| *last != source) {
            self.0.push((document, source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_of_the_run_it_is_in() {
        let mut runs = SourceRuns(Vec::new());
        for (document, source) in [(0, 3), (1, 3), (2, 0), (3, 3)] {
            runs.extend(DocId(document), source);
        }
        assert_eq!(runs.0.len(), 3);
        let of: Vec<u32> = (0..5).map(|document| runs.of(DocId(document)).0).collect();
        assert_eq!(of, [3, 3, 0, 3, 3]);
    }
}
