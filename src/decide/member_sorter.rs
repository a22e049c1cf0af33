//! Puts members of a cluster in the keep order, one of each text.

use super::view_ranker::{RankNumbers, ViewRanker};
use model::DocId;
use store::{StoreError, View};

/// Puts documents of a view in its keep order.
pub struct MemberSorter<'a> {
    view: &'a View,
    ranker: ViewRanker,
    numbers: RankNumbers,
}

impl<'a> MemberSorter<'a> {
    /// The sorter of a view.
    #[must_use]
    pub fn new(view: &'a View) -> Self {
        Self { view, ranker: ViewRanker::new(view), numbers: RankNumbers::default() }
    }

    /// Puts documents in the keep order, and drops all but the first one of each text.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn sort(&mut self, documents: &mut Vec<DocId>) -> Result<(), StoreError> {
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
