//! The sample of texts that training and analysis read, and the groups by which their counts are kept apart.
//!
//! A sample is uniform and of a given number of bytes; it depends on the documents' ids and lengths alone. Groups are
//! by language or by source.

use model::named;
use model::{ColumnId, DocId, Error, FieldId, GOLDEN, SourceId, TermId, mix64};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use store::{View, system_fields};

/// Groups that are distinguished, most bytes first; the documents of the others are one group.
const MOST: usize = 255;
/// The group of documents without a language.
const NONE: &str = "(none)";
/// The group of documents of a group beyond the largest.
const OTHERS: &str = "(others)";

/// Documents drawn.
#[derive(Debug, Default)]
pub struct DocumentSample {
    /// The documents that were drawn.
    pub documents: RoaringTreemap,
    /// Bytes of their texts.
    pub bytes: u64,
    /// Bytes of all that they were drawn from.
    pub of_bytes: u64,
}

impl DocumentSample {
    /// Documents of at most `limit` bytes, and next to no less; one at least. Their hashes are below a
    /// threshold: a larger limit gives the same documents and more. Without a limit, all. Memory does
    /// not depend on how many there are.
    ///
    /// # Errors
    /// [`Error`] when lengths cannot be read.
    pub fn draw(view: &View, selected: &RoaringTreemap, limit: Option<u64>) -> Result<Self, Error> {
        let of_bytes = bytes_of(view, selected)?;
        let Some(limit) = limit.filter(|limit| *limit < of_bytes) else {
            return Ok(Self { documents: selected.clone(), bytes: of_bytes, of_bytes });
        };
        let threshold = threshold(view, selected, limit)?;
        let documents: RoaringTreemap =
            selected.iter().filter(|document| hash(*document) <= threshold).collect();
        let bytes = bytes_of(view, &documents)?;
        Ok(Self { documents, bytes, of_bytes })
    }
}

/// How counts are grouped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum TextGrouping {
    /// All documents are one group.
    All,
    /// One group for each `language` of the records.
    #[default]
    Language,
    /// One group for each source.
    Source,
}

named!(TextGrouping { All = "all", Language = "language", Source = "source" });

/// The groups of a selection.
pub struct TextGroups {
    /// The names of the groups, most bytes first.
    pub names: Vec<String>,
    /// The column whose values tell them apart.
    column: Option<ColumnId>,
    of: BTreeMap<Option<i64>, usize>,
}

impl TextGroups {
    /// Every document of `selected` in one group. Reads no text; memory does not depend on how many
    /// documents there are.
    ///
    /// # Errors
    /// [`Error`] when columns or terms cannot be read.
    pub fn of(view: &View, selected: &RoaringTreemap, by: TextGrouping) -> Result<Self, Error> {
        let column = match by {
            TextGrouping::All => {
                let (names, of) = (vec![by.name().to_owned()], BTreeMap::from([(None, 0)]));
                return Ok(Self { names, column: None, of });
            }
            TextGrouping::Language => system_fields::column_of(language_field(view)),
            TextGrouping::Source => system_fields::SOURCE_OF,
        };
        let mut bytes: BTreeMap<Option<i64>, u64> = BTreeMap::new();
        for_each_block(selected, |block, members| {
            let values = view.column_block(column, block)?;
            let lengths = view.column_block(system_fields::BYTES, block)?;
            for document in members {
                let length = lengths.expect(system_fields::BYTES, *document)?;
                *bytes.entry(values.get(document.slot())).or_default() += length;
            }
            Ok(())
        })?;
        let mut values: Vec<(Option<i64>, u64)> = bytes.into_iter().collect();
        // Stable, so equal ones stay in the order of their numbers; what has no value comes last.
        values.sort_by_key(|(value, bytes)| (value.is_none(), Reverse(*bytes)));
        let mut groups = Self { names: Vec::new(), column: Some(column), of: BTreeMap::new() };
        for (value, _) in values {
            let name = match value {
                None => NONE.to_owned(),
                Some(_) if groups.names.len() >= MOST => OTHERS.to_owned(),
                Some(value) => name(view, by, value)?,
            };
            if groups.names.last() != Some(&name) {
                groups.names.push(name);
            }
            groups.of.insert(value, groups.names.len() - 1);
        }
        Ok(groups)
    }

    /// The group of each of `documents`, which are of the selection and of one block.
    ///
    /// # Errors
    /// [`Error`] when the column cannot be read.
    pub fn of_block(
        &self,
        view: &View,
        block: u64,
        documents: &[DocId],
    ) -> Result<Vec<usize>, Error> {
        let Some(column) = self.column else { return Ok(vec![0; documents.len()]) };
        let values = view.column_block(column, block)?;
        let group = |document: &DocId| self.of.get(&values.get(document.slot())).copied();
        Ok(documents.iter().map(|document| group(document).unwrap_or(usize::MAX)).collect())
    }
}

/// Calls `each` with the number and the documents of every block that has any.
pub(super) fn for_each_block(
    documents: &RoaringTreemap,
    mut each: impl FnMut(u64, &[DocId]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut members: Vec<DocId> = Vec::new();
    for document in documents.iter().map(DocId) {
        if let Some(first) = members.first().filter(|first| first.block() != document.block()) {
            each(first.block(), &members)?;
            members.clear();
        }
        members.push(document);
    }
    members.first().map_or(Ok(()), |first| each(first.block(), &members))
}

/// Calls `each` with every document and the bytes of its text.
fn for_each_length(
    view: &View,
    documents: &RoaringTreemap,
    mut each: impl FnMut(DocId, u64),
) -> Result<(), Error> {
    for_each_block(documents, |block, members| {
        let lengths = view.column_block(system_fields::BYTES, block)?;
        for document in members {
            each(*document, lengths.expect(system_fields::BYTES, *document)?);
        }
        Ok(())
    })
}

fn bytes_of(view: &View, documents: &RoaringTreemap) -> Result<u64, Error> {
    let mut sum = 0;
    for_each_length(view, documents, |_, bytes| sum += bytes)?;
    Ok(sum)
}

/// Two looks at the column of lengths, the second at the one part in 65,536 on which it turns.
fn threshold(view: &View, documents: &RoaringTreemap, limit: u64) -> Result<u64, Error> {
    let (mut room, mut prefix) = (limit, 0);
    for shift in [48_u32, 32] {
        let mut sums = vec![0_u64; 1 << 16];
        for_each_length(view, documents, |document, bytes| {
            let hash = hash(document.0) >> shift;
            let slot = usize::try_from(hash & 0xffff).unwrap_or(0);
            if let Some(sum) = sums.get_mut(slot).filter(|_| hash >> 16 == prefix) {
                *sum += bytes;
            }
        })?;
        let mut full = 0;
        for sum in sums {
            if sum > room {
                break;
            }
            room -= sum;
            full += 1;
        }
        if full > 0xffff {
            return Ok(u64::MAX);
        }
        prefix = prefix << 16 | full;
    }
    // The threshold takes all below the part that did not fit, and never nothing at all.
    let threshold = (prefix << 32).saturating_sub(1);
    Ok(documents.iter().map(hash).min().map_or(threshold, |least| threshold.max(least)))
}

/// A fixed permutation without pattern.
const fn hash(document: u64) -> u64 {
    mix64(document.wrapping_add(GOLDEN))
}

fn name(view: &View, by: TextGrouping, value: i64) -> Result<String, Error> {
    let number = u32::try_from(value).unwrap_or(u32::MAX);
    if by == TextGrouping::Source {
        return Ok(view.source_name(SourceId(number))?.to_owned());
    }
    let found = view.term_value(TermId(number))?.map(|(_, value)| value);
    Ok(String::from_utf8_lossy(&found.unwrap_or_default()).into_owned())
}

/// The user may have declared `language`; then it is not the field that is always indexed.
fn language_field(view: &View) -> FieldId {
    view.field_named("language").map_or(system_fields::LANGUAGE, |field| field.id)
}
