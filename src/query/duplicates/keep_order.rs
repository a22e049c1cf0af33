//! Puts members of a cluster in the keep order, one of each text.

use crate::decide::{RankNumbers, ViewRanker};
use crate::query::error::QueryError;
use model::DocId;
use store::View;

/// Puts documents of a view in its keep order.
pub(crate) struct MemberSorter<'a> {
    view: &'a View,
    ranker: ViewRanker,
    numbers: RankNumbers,
}

impl<'a> MemberSorter<'a> {
    pub(crate) fn new(view: &'a View) -> Self {
        Self { view, ranker: ViewRanker::new(view), numbers: RankNumbers::default() }
    }

    /// Puts documents in the keep order, and drops all but the first one of each text.
    ///
    /// # Errors
    /// [`QueryError::Store`] when a row cannot be read.
    pub(crate) fn sort(&mut self, documents: &mut Vec<DocId>) -> Result<(), QueryError> {
        if documents.len() < 2 {
            return Ok(());
        }
        let mut ranked = Vec::with_capacity(documents.len());
        for document in documents.drain(..) {
            let header = self.view.expect_header(document)?;
            let number = self.numbers.read(self.view, self.view.order_field(), document)?;
            ranked.push((header.raw, self.ranker.rank(document, &header, number)));
        }
        ranked.sort_unstable();
        ranked.dedup_by_key(|(text, _)| *text);
        ranked.sort_unstable_by_key(|(_, rank)| *rank);
        documents.extend(ranked.into_iter().map(|(_, rank)| rank.document));
        Ok(())
    }
}
