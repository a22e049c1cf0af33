//! Counts documents, bytes and tokens by source and language.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::InspectError;
use crate::inspect::counts::{CountsSum, DocumentCounts, SizeBlock};
use crate::inspect::groups::DocumentGroups;
use model::{ColumnId, DocId, FieldKind, SourceId};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{NumberBlock, View, system_fields};

/// Groups, at most: with more, languages are not distinguished.
const MOST: usize = 1000;

/// The documents of a source and a language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupStats {
    /// The name of the source.
    pub source: String,
    /// The language; none for documents without one, or if languages are not distinguished.
    pub language: Option<String>,
    /// Counts of all documents.
    pub all: DocumentCounts,
    /// Counts of kept documents.
    pub kept: DocumentCounts,
}

/// All groups, and their sums.
pub(crate) struct SourceLanguageCounts {
    pub(crate) all: DocumentCounts,
    pub(crate) kept: DocumentCounts,
    pub(crate) groups: Vec<GroupStats>,
    pub(crate) is_by_source_alone: bool,
}

/// Sums of a group: of all documents, and of kept ones.
#[derive(Clone, Default)]
struct GroupSums([CountsSum; 2]);

impl GroupSums {
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, other)| sum.add(other));
    }
}

/// Sums by source and the value of the language.
type Cells = BTreeMap<(SourceId, Option<i64>), GroupSums>;

/// Counts the documents of a scope.
pub(super) fn count(scope: &StatsScope<'_>) -> Result<SourceLanguageCounts, InspectError> {
    let view = scope.view;
    let language = language(view);
    let mut is_by_source_alone = language.is_none();
    let mut cells = Cells::new();
    for block in scope.blocks() {
        let read = GroupBlock::read(view, block, language.filter(|_| !is_by_source_alone))?;
        read.count(&scope.members(block)?, &mut cells)?;
        if !is_by_source_alone && cells.len() > MOST {
            // The limit holds for the whole scope, so the answer does not depend on which block crosses it.
            is_by_source_alone = true;
            let mut merged = Cells::new();
            for ((source, _), cell) in cells {
                merged.entry((source, None)).or_default().add(&cell);
            }
            cells = merged;
        }
    }
    let mut all = GroupSums::default();
    cells.values().for_each(|cell| all.add(cell));
    let names = language.map(|_| DocumentGroups::by(view, &["language".to_owned()])).transpose()?;
    let mut groups = Vec::with_capacity(cells.len());
    for ((source, group), GroupSums([of_all, of_kept])) in &cells {
        let language = match (&names, group) {
            (Some(names), Some(language)) => Some(names.shown(*language)?),
            _ => None,
        };
        let source = view.source_name(*source)?.to_owned();
        groups.push(GroupStats {
            source,
            language,
            all: of_all.counts(view),
            kept: of_kept.counts(view),
        });
    }
    groups.sort_by(|a, b| (&a.source, &a.language).cmp(&(&b.source, &b.language)));
    let GroupSums([of_all, of_kept]) = &all;
    Ok(SourceLanguageCounts {
        all: of_all.counts(view),
        kept: of_kept.counts(view),
        groups,
        is_by_source_alone,
    })
}

/// The column of languages; none where the field is a float.
fn language(view: &View) -> Option<ColumnId> {
    match view.fields().iter().find(|field| field.name == "language") {
        None => Some(system_fields::column_of(system_fields::LANGUAGE)),
        Some(field) => (field.kind != FieldKind::Float).then(|| system_fields::column_of(field.id)),
    }
}

/// The columns of a block that are summed, and those that they are summed by.
pub(super) struct GroupBlock {
    block: u64,
    pub(super) sources: NumberBlock,
    languages: Option<NumberBlock>,
    pub(super) sizes: SizeBlock,
}

impl GroupBlock {
    pub(super) fn read(
        view: &View,
        block: u64,
        language: Option<ColumnId>,
    ) -> Result<Self, InspectError> {
        let column = |column| view.column_block(column, block);
        Ok(Self {
            block,
            sources: column(system_fields::SOURCE_OF)?,
            languages: language.map(column).transpose()?,
            sizes: SizeBlock::read(view, block)?,
        })
    }

    fn count(&self, members: &[ScopeMember], cells: &mut Cells) -> Result<(), InspectError> {
        for (slot, member) in (0..=u16::MAX).zip(members) {
            if *member == ScopeMember::Outside {
                continue;
            }
            let document = DocId::at(self.block, slot);
            let source = self.sources.source_of(document)?;
            let language = self.languages.as_ref().and_then(|column| column.get(slot));
            let key = (source, language);
            let GroupSums([all, kept]) = cells.entry(key).or_default();
            for sum in
                [Some(all), (*member == ScopeMember::Kept).then_some(kept)].into_iter().flatten()
            {
                self.sizes.add_to(sum, document)?;
            }
        }
        Ok(())
    }
}
