//! Counts documents, bytes and tokens by source and language.

use super::scope::{ScopeMember, StatsScope};
use crate::inspect::groups::DocumentGroups;
use crate::inspect::snapshots::DocumentCounts;
use crate::sql::QueryError;
use model::{ColumnId, DocId, FieldKind, SourceId};
use serde::Serialize;
use std::collections::BTreeMap;
use store::{NumberBlock, StoreError, View, system_fields};

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
struct GroupSums([Sum; 2]);

#[derive(Clone, Default)]
pub(super) struct Sum {
    pub(super) documents: u64,
    bytes: u64,
    /// By tokenizer, in the order of tokenizers.
    tokens: Vec<u64>,
}

impl Sum {
    pub(super) fn add(&mut self, other: &Self) {
        self.documents += other.documents;
        self.bytes += other.bytes;
        self.tokens.resize(other.tokens.len().max(self.tokens.len()), 0);
        self.tokens.iter_mut().zip(&other.tokens).for_each(|(sum, tokens)| *sum += tokens);
    }

    pub(super) fn told(&self, view: &View) -> DocumentCounts {
        let tokens = self.tokens.iter().copied().chain(std::iter::repeat(0));
        let named = view.own_tokenizers().zip(tokens);
        DocumentCounts {
            documents: self.documents,
            bytes: self.bytes,
            tokens: named.map(|((_, record), tokens)| (record.name.clone(), tokens)).collect(),
        }
    }
}

impl GroupSums {
    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, other)| sum.add(other));
    }
}

/// Sums by source and the value of the language.
type Cells = BTreeMap<(SourceId, Option<i64>), GroupSums>;

/// Counts the documents of a scope.
pub(super) fn count(scope: &StatsScope<'_>) -> Result<SourceLanguageCounts, QueryError> {
    let view = scope.view;
    let language = language(view);
    let mut is_by_source_alone = language.is_none();
    let mut cells = Cells::new();
    for block in scope.blocks() {
        let read = Block::read(view, block, language.filter(|_| !is_by_source_alone))?;
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
            all: of_all.told(view),
            kept: of_kept.told(view),
        });
    }
    groups.sort_by(|a, b| (&a.source, &a.language).cmp(&(&b.source, &b.language)));
    let GroupSums([of_all, of_kept]) = &all;
    Ok(SourceLanguageCounts {
        all: of_all.told(view),
        kept: of_kept.told(view),
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

/// The columns of a block that are summed.
pub(super) struct Block {
    block: u64,
    pub(super) sources: NumberBlock,
    languages: Option<NumberBlock>,
    bytes: NumberBlock,
    tokens: Vec<NumberBlock>,
}

impl Block {
    pub(super) fn read(
        view: &View,
        block: u64,
        language: Option<ColumnId>,
    ) -> Result<Self, QueryError> {
        let column = |column| view.column_block(column, block);
        let tokens = view.own_tokenizers().map(|(id, _)| column(system_fields::tokens_of(id)));
        Ok(Self {
            block,
            sources: column(system_fields::SOURCE_OF)?,
            languages: language.map(column).transpose()?,
            bytes: column(system_fields::BYTES)?,
            tokens: tokens.collect::<Result<_, _>>()?,
        })
    }

    fn count(&self, members: &[ScopeMember], cells: &mut Cells) -> Result<(), QueryError> {
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
                self.add_to(sum, document)?;
            }
        }
        Ok(())
    }

    /// What a document comes to.
    pub(super) fn sum(&self, document: DocId) -> Result<Sum, StoreError> {
        let mut sum = Sum::default();
        self.add_to(&mut sum, document)?;
        Ok(sum)
    }

    fn add_to(&self, sum: &mut Sum, document: DocId) -> Result<(), StoreError> {
        sum.documents += 1;
        sum.bytes += self.bytes.expect(system_fields::BYTES, document)?;
        sum.tokens.resize(self.tokens.len(), 0);
        for (sum, column) in sum.tokens.iter_mut().zip(&self.tokens) {
            *sum += column.get(document.slot()).map_or(0, i64::unsigned_abs);
        }
        Ok(())
    }
}
