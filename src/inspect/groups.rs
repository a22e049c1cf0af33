//! Groups of documents for counting: by source, by the values of declared fields, or by several of these at once.

use crate::inspect::InspectError;
use model::{ColumnId, DocId, FieldKind, SourceId, TermId, TimeUnit, shown_timestamp};
use std::collections::BTreeMap;
use store::system_fields;
use store::{NumberBlock, View};

/// Groups, at most: nobody reads more.
const MOST: usize = 1000;
/// Separates the values of a group by several fields, and stands for a missing one.
const BETWEEN: &str = " / ";
const NONE: &str = "(none)";

/// The number of a group among those seen so far.
pub(in crate::inspect) type GroupId = u32;

/// Documents of a group, and bytes of their texts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::inspect) struct GroupTotal {
    pub documents: u64,
    pub bytes: u64,
}

/// How the number of a value is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupKeyKind {
    Source,
    Field(FieldKind),
    /// A timestamp, truncated to a unit.
    Moment(TimeUnit),
}

/// One field that documents are grouped by.
#[derive(Clone, Debug)]
struct GroupKey {
    name: String,
    column: ColumnId,
    kind: GroupKeyKind,
}

/// For each field the number of a source or term, or a value itself; none for documents without a value.
type GroupKeyValues = Box<[Option<i64>]>;

/// Gives the group of each document. One block of each column is held: a caller that asks in the order of ids reads
/// each block once.
pub(in crate::inspect) struct DocumentGroups<'a> {
    view: &'a View,
    parts: Vec<GroupKey>,
    block: Option<(u64, Vec<NumberBlock>)>,
    known: BTreeMap<GroupKeyValues, GroupId>,
    values: Vec<GroupKeyValues>,
    /// The values of the current document, and the group of the last one, which is mostly the same.
    at_hand: Vec<Option<i64>>,
    last: GroupId,
}

impl<'a> DocumentGroups<'a> {
    /// Groups by `source`, by `language` or by declared fields that are not floats; a timestamp may have a unit behind
    /// it, as in `published:month`. Without names, by source.
    pub(in crate::inspect) fn by(view: &'a View, names: &[String]) -> Result<Self, InspectError> {
        let source = ["source".to_owned()];
        let names = if names.is_empty() { &source } else { names };
        let mut parts: Vec<GroupKey> = Vec::with_capacity(names.len());
        for name in names {
            let part = part(view, name.trim())?;
            if parts.iter().any(|other| other.name == part.name) {
                return Err(InspectError::GroupedTwice { name: part.name });
            }
            parts.push(part);
        }
        let (known, values) = (BTreeMap::new(), Vec::new());
        Ok(Self { view, parts, block: None, known, values, at_hand: Vec::new(), last: 0 })
    }

    /// The names of the fields, as the caller gave them.
    pub(in crate::inspect) fn names(&self) -> Vec<String> {
        self.parts.iter().map(|part| part.name.clone()).collect()
    }

    /// The group of a document.
    pub(in crate::inspect) fn of(&mut self, document: DocId) -> Result<GroupId, InspectError> {
        self.read(document.block())?;
        self.at_hand.clear();
        for (part, column) in self.parts.iter().zip(self.block.iter().flat_map(|(_, all)| all)) {
            self.at_hand.push(column.get(document.slot()).map(|value| part.coarse(value)));
        }
        self.number()
    }

    fn read(&mut self, block: u64) -> Result<(), InspectError> {
        if self.block.as_ref().is_none_or(|(known, _)| *known != block) {
            // The columns of the last block are released before those of this one are read.
            self.block = None;
            let columns = self.parts.iter().map(|part| self.view.column_block(part.column, block));
            self.block = Some((block, columns.collect::<Result<_, _>>()?));
        }
        Ok(())
    }

    /// The number of the group with the current values.
    fn number(&mut self) -> Result<GroupId, InspectError> {
        let last = usize::try_from(self.last).ok().and_then(|last| self.values.get(last));
        if last.is_some_and(|last| **last == *self.at_hand) {
            return Ok(self.last);
        }
        if let Some(known) = self.known.get(self.at_hand.as_slice()) {
            self.last = *known;
            return Ok(*known);
        }
        // Sources are in memory anyway, so their number is not limited.
        if self.values.len() >= MOST && !self.are_sources() {
            return Err(InspectError::TooManyGroups { most: MOST });
        }
        let values: GroupKeyValues = self.at_hand.as_slice().into();
        let group = GroupId::try_from(self.values.len())
            .map_err(|_| InspectError::TooManyGroups { most: MOST })?;
        self.known.insert(values.clone(), group);
        self.values.push(values);
        self.last = group;
        Ok(group)
    }

    fn are_sources(&self) -> bool {
        matches!(self.parts.as_slice(), [part] if part.kind == GroupKeyKind::Source)
    }

    /// The documents of each group, of all sources or of one. Each block of a column is read once.
    pub(in crate::inspect) fn totals(
        &mut self,
        only: Option<SourceId>,
    ) -> Result<BTreeMap<GroupId, GroupTotal>, InspectError> {
        let mut totals: BTreeMap<GroupId, GroupTotal> = BTreeMap::new();
        if self.are_sources() {
            let counted = |id: SourceId| only.is_none_or(|only| only == id);
            for (id, record) in self.view.sources().filter(|(id, _)| counted(*id)) {
                self.at_hand.clear();
                self.at_hand.push(Some(id.0.into()));
                let total = GroupTotal { documents: record.documents, bytes: record.bytes };
                totals.insert(self.number()?, total);
            }
            return Ok(totals);
        }
        let only = only.map(|only| i64::from(only.0));
        for block in self.view.blocks() {
            let lengths = self.view.column_block(system_fields::BYTES, block)?;
            let sources = only.map(|_| self.view.column_block(system_fields::SOURCE_OF, block));
            let sources = sources.transpose()?;
            for (slot, bytes) in lengths.iter() {
                if sources.as_ref().is_some_and(|sources| sources.get(slot) != only) {
                    continue;
                }
                let group = self.of(DocId::at(block, slot))?;
                let total = totals.entry(group).or_default();
                total.documents += 1;
                total.bytes += u64::try_from(bytes).unwrap_or(0);
            }
        }
        Ok(totals)
    }

    /// Groups in the order of their values, field by field: names alphabetically, numbers by size, missing values
    /// first.
    pub(in crate::inspect) fn in_order(
        &self,
        groups: impl IntoIterator<Item = GroupId>,
    ) -> Result<Vec<GroupId>, InspectError> {
        let mut keyed = Vec::new();
        for group in groups {
            let mut key = Vec::with_capacity(self.parts.len());
            for (part, value) in self.parts_of(group) {
                key.push(match (part.kind, value) {
                    (_, None) => None,
                    (
                        GroupKeyKind::Source | GroupKeyKind::Field(FieldKind::Keyword),
                        Some(value),
                    ) => Some((0, part.shown(self.view, value)?)),
                    (_, Some(value)) => Some((value, String::new())),
                });
            }
            keyed.push((key, group));
        }
        keyed.sort();
        Ok(keyed.into_iter().map(|(_, group)| group).collect())
    }

    /// A value of the first field as text.
    pub(in crate::inspect) fn shown(&self, value: i64) -> Result<String, InspectError> {
        let first = self.parts.first();
        first.map_or_else(|| Ok(value.to_string()), |part| part.shown(self.view, value))
    }

    /// The values of a group as texts; none for a missing value.
    pub(in crate::inspect) fn values(
        &self,
        group: GroupId,
    ) -> Result<Vec<Option<String>>, InspectError> {
        let of = |(part, value): (&GroupKey, Option<i64>)| {
            value.map(|value| part.shown(self.view, value)).transpose()
        };
        self.parts_of(group).map(of).collect()
    }

    /// The values of a group as one text.
    pub(in crate::inspect) fn label(&self, group: GroupId) -> Result<String, InspectError> {
        let values = self.values(group)?;
        let values: Vec<&str> = values.iter().map(|name| name.as_deref().unwrap_or(NONE)).collect();
        Ok(values.join(BETWEEN))
    }

    fn parts_of(&self, group: GroupId) -> impl Iterator<Item = (&GroupKey, Option<i64>)> {
        let values = usize::try_from(group).ok().and_then(|group| self.values.get(group));
        self.parts.iter().zip(values.into_iter().flat_map(|values| values.iter().copied()))
    }
}

/// The field that `name` stands for: a field, or a timestamp with a unit.
fn part(view: &View, name: &str) -> Result<GroupKey, InspectError> {
    let (field, unit) = match name.split_once(':') {
        Some((field, unit)) => (field, Some(unit)),
        None => (name, None),
    };
    let mut known: Vec<(&str, ColumnId, GroupKeyKind)> = vec![
        ("source", system_fields::SOURCE_OF, GroupKeyKind::Source),
        (
            "language",
            system_fields::column_of(system_fields::LANGUAGE),
            GroupKeyKind::Field(FieldKind::Keyword),
        ),
    ];
    for field in view.fields().iter().filter(|field| field.kind != FieldKind::Float) {
        // A declared `language` replaces the built-in one.
        known.retain(|(known, _, _)| *known != field.name);
        known.push((
            &field.name,
            system_fields::column_of(field.id),
            GroupKeyKind::Field(field.kind),
        ));
    }
    let Some((_, column, kind)) = known.iter().find(|(known, _, _)| *known == field) else {
        let known = known.iter().map(|(known, _, _)| (*known).to_owned()).collect();
        return Err(InspectError::NoGroups { name: field.to_owned(), known });
    };
    let kind = match (unit, *kind) {
        (None, kind) => kind,
        (Some(unit), GroupKeyKind::Field(FieldKind::Timestamp)) => {
            match TimeUnit::from_name(unit) {
                Some(unit) => GroupKeyKind::Moment(unit),
                None => {
                    let units = TimeUnit::ALL.map(TimeUnit::name).join(", ");
                    let why = format!("a timestamp is grouped by {units}");
                    return Err(InspectError::NoUnit { name: name.to_owned(), why });
                }
            }
        }
        (Some(_), _) => {
            let why = format!("`{field}` is not a timestamp, and only timestamps have units");
            return Err(InspectError::NoUnit { name: name.to_owned(), why });
        }
    };
    Ok(GroupKey { name: name.to_owned(), column: *column, kind })
}

impl GroupKey {
    /// The value that represents all values of a group.
    fn coarse(&self, value: i64) -> i64 {
        match self.kind {
            GroupKeyKind::Moment(unit) => unit.begin(value),
            GroupKeyKind::Source | GroupKeyKind::Field(_) => value,
        }
    }

    fn shown(&self, view: &View, value: i64) -> Result<String, InspectError> {
        let number = u32::try_from(value).unwrap_or(u32::MAX);
        Ok(match self.kind {
            GroupKeyKind::Source => view.source_name(SourceId(number))?.to_owned(),
            GroupKeyKind::Field(FieldKind::Keyword) => match view.term_value(TermId(number))? {
                Some((_, value)) => String::from_utf8_lossy(&value).into_owned(),
                None => "?".to_owned(),
            },
            GroupKeyKind::Field(FieldKind::Bool) => (value != 0).to_string(),
            GroupKeyKind::Field(FieldKind::Timestamp) => shown_timestamp(value),
            GroupKeyKind::Field(_) => value.to_string(),
            GroupKeyKind::Moment(unit) => unit.shown(value),
        })
    }
}
