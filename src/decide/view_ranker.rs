//! Ranks the documents of a view by its keep order, the places of its sources in it, and the numbers of its field.
//!
//! Members of a cluster are put in that order, one of each text.

use model::{DocId, FieldId, KeepOrder, SourceId};
use std::collections::HashMap;
use store::{DocumentRecord, NumberBlock, SourceRecord, StoreError, View, system_fields};
use text::dedup::{Rank, Ranker};

/// The keep order of a view, with the places of its sources.
pub struct ViewRanker {
    ranker: Ranker,
    /// Places of the sources in the keep order, by source id.
    source_places: Vec<u64>,
}

impl ViewRanker {
    /// The ranker by the view's policy.
    #[must_use]
    pub fn new(view: &View) -> Self {
        let ranker = Ranker::new(&view.policy().keep);
        let place = |source: &SourceRecord| ranker.place_of_source(&source.name);
        let source_places = view.sources().map(|(_, record)| place(record)).collect();
        Self { ranker, source_places }
    }

    /// Whether ids are ranks, so that a newcomer never outranks what is stored.
    pub const fn is_first(&self) -> bool {
        self.ranker.is_first()
    }

    /// Names a source that the view does not know yet.
    pub fn name_source(&mut self, source: SourceId, name: &str) {
        let at = source.0 as usize;
        if self.source_places.len() <= at {
            self.source_places.resize(at + 1, self.ranker.place_of_others());
        }
        if let Some(place) = self.source_places.get_mut(at) {
            *place = self.ranker.place_of_source(name);
        }
    }

    /// The rank of a document with this number in the field of the keep order, where that looks at one.
    pub fn rank(&self, document: DocId, header: &DocumentRecord, number: Option<i64>) -> Rank {
        let place = self.place_of(header.place.source);
        self.ranker.rank(document, &header.print.raw, header.chars, place, number)
    }

    /// The rank of a stored document of `view` with this raw hash, and this number as [`ViewRanker::rank`] has it. What
    /// else the keep order looks at is read.
    ///
    /// # Errors
    /// [`StoreError`] when that cannot be read.
    pub fn rank_stored(
        &self,
        view: &View,
        document: DocId,
        raw: &[u8; 16],
        number: Option<i64>,
    ) -> Result<Rank, StoreError> {
        let (mut chars, mut place) = (0, 0);
        match view.policy().keep {
            KeepOrder::First | KeepOrder::Field(_) => {}
            KeepOrder::Longest => chars = view.text_chars(document)?,
            KeepOrder::SourcePriority(_) => place = self.place_of(view.source_of(document)?),
        }
        Ok(self.ranker.rank(document, raw, chars, place, number))
    }

    fn place_of(&self, source: SourceId) -> u64 {
        let place = self.source_places.get(source.0 as usize).copied();
        place.unwrap_or_else(|| self.ranker.place_of_others())
    }
}

/// Numbers that rank documents, by the blocks of their column. Bounded; when it is full, all are forgotten.
#[derive(Default)]
pub struct RankNumbers(HashMap<u64, NumberBlock>);

impl RankNumbers {
    /// Blocks held: half a megabyte each.
    const MOST: usize = 32;

    /// The number of a document in a field, if a keep order looks at one.
    ///
    /// # Errors
    /// [`StoreError`] when the column cannot be read.
    pub fn read(
        &mut self,
        view: &View,
        field: Option<FieldId>,
        document: DocId,
    ) -> Result<Option<i64>, StoreError> {
        let Some(field) = field else { return Ok(None) };
        if let Some(known) = self.known(document) {
            return Ok(known);
        }
        let block = view.column_block(system_fields::column_of(field), document.block())?;
        let number = block.get(document.slot());
        self.remember(document.block(), block);
        Ok(number)
    }

    /// The number of a document whose block was read.
    #[must_use]
    pub fn known(&self, document: DocId) -> Option<Option<i64>> {
        self.0.get(&document.block()).map(|block| block.get(document.slot()))
    }

    /// A block was read.
    pub(super) fn remember(&mut self, block: u64, numbers: NumberBlock) {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        self.0.insert(block, numbers);
    }
}

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
            let raw = self.view.print(document)?.raw;
            let number = self.numbers.read(self.view, self.view.order_field(), document)?;
            ranked.push((raw, self.ranker.rank_stored(self.view, document, &raw, number)?));
        }
        ranked.sort_unstable();
        ranked.dedup_by_key(|(text, _)| *text);
        ranked.sort_unstable_by_key(|(_, rank)| *rank);
        documents.extend(ranked.into_iter().map(|(_, rank)| rank.document));
        Ok(())
    }
}
