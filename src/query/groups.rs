//! What documents are counted by: their source, or the value of a declared field.

use super::source_runs::SourceRuns;
use crate::model::{ColumnId, DocId, FieldKind, SourceId, TermId, shown_timestamp};
use crate::query::error::QueryError;
use crate::store::fields;
use crate::store::{ColumnBlock, View};
use std::collections::{BTreeMap, VecDeque};

/// Groups, beyond which nobody reads them, or the pairs of them.
const MOST: usize = 1000;
/// Blocks of values remembered: witnesses lie anywhere before what they remove.
const BLOCKS: usize = 32;

/// A group: the number of a source, of a term, or a value itself; none for documents without one.
pub(in crate::query) type Group = Option<i64>;

/// Documents and bytes of text of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::query) struct Total {
    pub documents: u64,
    pub bytes: u64,
}

/// Tells the group of any document.
pub(in crate::query) struct Groups<'a> {
    view: &'a View,
    /// None: read block by block, as the values of a field are.
    sources: Option<&'a SourceRuns>,
    /// None: the source.
    field: Option<(ColumnId, FieldKind)>,
    blocks: VecDeque<(u64, ColumnBlock)>,
}

impl<'a> Groups<'a> {
    /// Groups by `source`, by `language` or by a declared field, but floats. Whoever asks about documents in no order has
    /// the runs of `sources` at hand; without them only the blocks of documents that are asked about are read.
    pub(in crate::query) fn by(
        view: &'a View,
        sources: Option<&'a SourceRuns>,
        name: &str,
    ) -> Result<Self, QueryError> {
        let mut known =
            vec![("source", None), ("language", Some((fields::LANGUAGE, FieldKind::Keyword)))];
        for field in view.fields().iter().filter(|field| field.kind != FieldKind::Float) {
            // A declared `language` takes the place of the built-in one.
            known.retain(|(known, _)| *known != field.name);
            known.push((&field.name, Some((field.id, field.kind))));
        }
        let Some((_, field)) = known.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
            return Err(QueryError::NoGroups { name: name.to_owned(), known: names.join(", ") });
        };
        let field = field.map(|(id, kind)| (fields::column_of(id), kind));
        Ok(Self { view, sources, field, blocks: VecDeque::new() })
    }

    /// Whether the groups are keywords.
    pub(in crate::query) const fn are_keywords(&self) -> bool {
        matches!(self.field, Some((_, FieldKind::Keyword)))
    }

    pub(in crate::query) fn of(&mut self, document: DocId) -> Result<Group, QueryError> {
        let column = match (self.field, self.sources) {
            (Some((column, _)), _) => column,
            (None, Some(sources)) => return Ok(Some(sources.of(document).0.into())),
            (None, None) => fields::SOURCE_OF,
        };
        let block = document.block();
        if let Some((_, values)) = self.blocks.iter().find(|(known, _)| *known == block) {
            return Ok(values.get(document.slot()));
        }
        let values = self.view.column_block(column, block)?;
        let group = values.get(document.slot());
        if self.blocks.len() >= BLOCKS {
            self.blocks.pop_front();
        }
        self.blocks.push_back((block, values));
        Ok(group)
    }

    /// The groups of all documents, or of those of one source.
    pub(in crate::query) fn totals(
        &self,
        sources: &SourceRuns,
        only: Option<SourceId>,
    ) -> Result<BTreeMap<Group, Total>, QueryError> {
        let mut totals: BTreeMap<Group, Total> = BTreeMap::new();
        let Some((column, _)) = self.field else {
            for (id, record) in self.view.sources().filter(|(id, _)| only.is_none_or(|o| o == *id))
            {
                let total = Total { documents: record.documents, bytes: record.bytes };
                totals.insert(Some(id.0.into()), total);
            }
            return Ok(totals);
        };
        for block in self.view.blocks() {
            let values = self.view.column_block(column, block)?;
            let lengths = self.view.column_block(fields::BYTES, block)?;
            for (slot, bytes) in lengths.iter() {
                if only.is_some_and(|only| sources.of(DocId::at(block, slot)) != only) {
                    continue;
                }
                let total = totals.entry(values.get(slot)).or_default();
                total.documents += 1;
                total.bytes += u64::try_from(bytes).unwrap_or(0);
            }
            Self::check(totals.len())?;
        }
        Ok(totals)
    }

    /// Whether somebody may want to read of so many groups.
    pub(in crate::query) const fn check(groups: usize) -> Result<(), QueryError> {
        if groups > MOST { Err(QueryError::TooManyGroups { most: MOST }) } else { Ok(()) }
    }

    /// What a group is called.
    pub(in crate::query) fn name(&self, group: Group) -> Result<String, QueryError> {
        let Some(value) = group else { return Ok("(none)".to_owned()) };
        let number = u32::try_from(value).unwrap_or(u32::MAX);
        Ok(match self.field {
            None => self.view.source_name(SourceId(number)).to_owned(),
            Some((_, FieldKind::Keyword)) => match self.view.term_value(TermId(number))? {
                Some((_, value)) => String::from_utf8_lossy(&value).into_owned(),
                None => "?".to_owned(),
            },
            Some((_, FieldKind::Bool)) => (value != 0).to_string(),
            Some((_, FieldKind::Timestamp)) => shown_timestamp(value),
            Some(_) => value.to_string(),
        })
    }
}
