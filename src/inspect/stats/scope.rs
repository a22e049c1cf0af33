//! The scope of a report: which documents of each block are examined, and which of these are kept.

use crate::inspect::InspectError;
use crate::inspect::snapshots::SnapshotState;
use crate::sql::DocumentFilter;
use model::{BLOCK_SIZE, DocId, TermId};
use roaring::RoaringTreemap;
use std::ops::Range;
use store::{View, system_fields};

/// The part that a document of a block has in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScopeMember {
    /// Not examined.
    Outside,
    /// Examined, and not kept.
    Lost,
    Kept,
}

/// The documents of a moment for which a condition is true and that are of a source.
pub(super) struct StatsScope<'a> {
    pub(super) view: &'a View,
    /// All ids are below this.
    documents: u64,
    kept: &'a RoaringTreemap,
    selected: Option<RoaringTreemap>,
    source: Option<TermId>,
}

impl<'a> StatsScope<'a> {
    pub(super) fn new(
        view: &'a View,
        filter: &DocumentFilter,
        moment: &'a SnapshotState,
    ) -> Result<Self, InspectError> {
        let source = match &filter.source {
            None => None,
            Some(name) => {
                let id = view.expect_source(name)?.0;
                // A source without documents has no term; an unused id matches none.
                let term = view.term(system_fields::SOURCE, &system_fields::source_value(id))?;
                Some(term.unwrap_or(TermId(u32::MAX)))
            }
        };
        let by_condition = DocumentFilter { source: None, snapshot: None, ..filter.clone() };
        let selected = match by_condition.condition {
            Some(_) => Some(by_condition.select(view)?),
            None => None,
        };
        Ok(Self { view, documents: moment.info.documents, kept: &moment.kept, selected, source })
    }

    /// These documents alone.
    pub(super) const fn of(
        view: &'a View,
        documents: RoaringTreemap,
        moment: &'a SnapshotState,
    ) -> Self {
        Self {
            view,
            documents: moment.info.documents,
            kept: &moment.kept,
            selected: Some(documents),
            source: None,
        }
    }

    /// Blocks that hold documents of the moment.
    pub(super) const fn blocks(&self) -> Range<u64> {
        0..self.documents.div_ceil(BLOCK_SIZE)
    }

    /// The part of each document of a block, by slot.
    pub(super) fn members(&self, block: u64) -> Result<Vec<ScopeMember>, InspectError> {
        let ids = block * BLOCK_SIZE..self.documents.min((block + 1) * BLOCK_SIZE);
        let len = usize::try_from(ids.end.saturating_sub(ids.start)).unwrap_or(0);
        let all = self.selected.is_none() && self.source.is_none();
        let mut members = vec![if all { ScopeMember::Lost } else { ScopeMember::Outside }; len];
        let mut mark = |slot: usize, member| {
            if let Some(place) = members.get_mut(slot) {
                *place = member;
            }
        };
        let of_source = match self.source {
            Some(term) => Some(self.view.posting_block(term, block)?),
            None => None,
        };
        match (&self.selected, &of_source) {
            (None, None) => {}
            (None, Some(of_source)) => {
                of_source.iter().for_each(|slot| mark(slot as usize, ScopeMember::Lost));
            }
            (Some(selected), of_source) => {
                let is_of = |slot: u16| {
                    of_source.as_ref().is_none_or(|slots| slots.contains(u32::from(slot)))
                };
                for document in within(selected, &ids).filter(|document| is_of(document.slot())) {
                    mark(usize::from(document.slot()), ScopeMember::Lost);
                }
            }
        }
        for document in within(self.kept, &ids) {
            if let Some(place) = members.get_mut(usize::from(document.slot()))
                && *place == ScopeMember::Lost
            {
                *place = ScopeMember::Kept;
            }
        }
        Ok(members)
    }
}

fn within<'b>(set: &'b RoaringTreemap, ids: &Range<u64>) -> impl Iterator<Item = DocId> + use<'b> {
    let (mut found, end) = (set.iter(), ids.end);
    found.advance_to(ids.start);
    found.take_while(move |id| *id < end).map(DocId)
}
