//! Counts the values that records of an ingest have for declared fields, and those that the fields' types cannot hold.

use super::report::{Alarm, FieldMisfits};
use model::invariant::at;
use model::{DocId, FieldDeclaration, FieldId, RecordOrigin};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use store::{IndexedValues, StoreError, View};

/// New documents before it is worth a word that none has a field.
const WORTH_A_WORD: u64 = 100;
/// The least values of a field for an alarm that half of them are of another type.
const VALUES: u64 = 100;
/// New documents whose other fields are examined for one of a similar name.
const LOOKED_AT: u64 = 100;
/// Letters by which a misspelt name differs at most.
const MOST_EDITS: usize = 2;

/// Counts values of declared fields, record by record in their order.
pub(super) struct FieldTally {
    counts: Vec<FieldCount>,
    documents: u64,
}

struct FieldCount {
    field: FieldDeclaration,
    values: u64,
    misfits: Option<FieldMisfits>,
}

impl FieldTally {
    /// The tally of `fields`, with nothing counted.
    pub(super) fn of(fields: &[FieldDeclaration]) -> Self {
        let count = |field: &FieldDeclaration| FieldCount {
            field: field.clone(),
            values: 0,
            misfits: None,
        };
        Self { counts: fields.iter().map(count).collect(), documents: 0 }
    }

    /// Counts what a new document has.
    pub(super) fn count(&mut self, indexed: &IndexedValues, origin: &RecordOrigin) {
        self.documents += 1;
        for count in &mut self.counts {
            let is_of = |id: FieldId| id == count.field.id;
            if let Some((_, value)) = indexed.misfits.iter().find(|(id, _)| is_of(*id)) {
                count.misfit(value, origin);
            } else if indexed.keywords.iter().any(|(id, _)| is_of(*id))
                || indexed.numbers.iter().any(|(id, _)| is_of(*id))
            {
                count.values += 1;
            }
        }
    }

    /// Counts a value of one field; a `misfit` is one of another type, as JSON spells its beginning.
    pub(super) fn count_value(
        &mut self,
        field: FieldId,
        misfit: Option<&str>,
        origin: &RecordOrigin,
    ) {
        let mut counts = self.counts.iter_mut();
        let Some(count) = counts.find(|count| count.field.id == field) else { return };
        match misfit {
            Some(value) => count.misfit(value, origin),
            None => count.values += 1,
        }
    }

    /// The misfits by the name of their field; none of fields that have none.
    pub(super) fn misfits(&self) -> BTreeMap<String, FieldMisfits> {
        let of_field = |count: &FieldCount| {
            let misfits = FieldMisfits { values: count.values, ..count.misfits.clone()? };
            Some((count.field.name.clone(), misfits))
        };
        self.counts.iter().filter_map(of_field).collect()
    }

    /// Fields that no new document has a value of, unless earlier ones have and no similar name is there; and fields
    /// most of whose values are of another type. `first` is the first new document.
    pub(super) fn alarms(&self, view: &View, first: DocId) -> Result<Vec<Alarm>, StoreError> {
        let mut alarms = Vec::new();
        for FieldCount { field, values, misfits } in &self.counts {
            if *values == 0 && self.documents >= WORTH_A_WORD {
                let similar = self.similar(view, first, field)?;
                if similar.is_some() || !is_known(view, field)? {
                    alarms.push(Alarm::FieldAbsent {
                        field: field.name.clone(),
                        member: field.member().to_owned(),
                        documents: self.documents,
                        similar,
                    });
                }
            }
            if let Some(misfits) = misfits
                && *values >= VALUES
                && misfits.misfits >= values.div_ceil(2)
            {
                let misfits = FieldMisfits { values: *values, ..misfits.clone() };
                alarms.push(Alarm::FieldMisfits { field: field.name.clone(), misfits });
            }
        }
        Ok(alarms)
    }

    /// The name in the first new documents that is most like that of a field.
    fn similar(
        &self,
        view: &View,
        first: DocId,
        field: &FieldDeclaration,
    ) -> Result<Option<String>, StoreError> {
        let mut names = BTreeSet::new();
        let end = view.documents().min(first.0.saturating_add(LOOKED_AT));
        for document in first.0..end {
            names.extend(names_beside(&view.metadata(DocId(document))?, field.member()));
        }
        let is_declared =
            |name: &String| self.counts.iter().any(|count| count.field.member() == *name);
        let likely = names.into_iter().filter(|name| !is_declared(name));
        let likely = likely.filter_map(|name| Some((edits(&name, field.member())?, name)));
        Ok(likely.min().map(|(_, name)| name))
    }
}

impl FieldCount {
    fn misfit(&mut self, value: &str, origin: &RecordOrigin) {
        self.values += 1;
        let first = || FieldMisfits::of(self.field.kind, value, origin);
        self.misfits.get_or_insert_with(first).misfits += 1;
    }
}

/// Whether documents get the values of a field otherwise than by their records: some have one, or it was computed.
fn is_known(view: &View, field: &FieldDeclaration) -> Result<bool, StoreError> {
    if view.added_field(field.id).is_some_and(|record| record.expression.is_some()) {
        return Ok(true);
    }
    let column = store::system_fields::column_of(field.id);
    for block in view.blocks() {
        if view.column_block(column, block)?.iter().next().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The names of an object among which that of a path would stand, each as a path.
fn names_beside(metadata: &str, path: &str) -> Vec<String> {
    let members = |object: &str| -> BTreeMap<String, Box<RawValue>> {
        serde_json::from_str(object).unwrap_or_default()
    };
    let mut found = members(metadata);
    let (mut prefix, mut rest) = (String::new(), path);
    while let Some((first, behind)) = rest.split_once('.')
        && let Some(raw) = found.get(first)
        && raw.get().starts_with('{')
    {
        found = members(raw.get());
        prefix = format!("{prefix}{first}.");
        rest = behind;
    }
    found.into_keys().map(|name| format!("{prefix}{name}")).collect()
}

/// How many letters two names differ by, where one may be a misspelling of the other: 0 where they differ in case and
/// marks alone.
fn edits(name: &str, wanted: &str) -> Option<usize> {
    let plain = |name: &str| -> Vec<char> {
        let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
        letters.flat_map(char::to_lowercase).collect()
    };
    let (name, wanted) = (plain(name), plain(wanted));
    let edits = distance(&name, &wanted);
    // Two letters are too much of a short name.
    (edits <= MOST_EDITS && edits * 2 < wanted.len().max(1)).then_some(edits)
}

/// Letters put in, left out, taken for others or swapped with the next: the distance of Damerau, in its restricted form.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = at(&row, j) + usize::from(x != y);
            let mut least = replaced.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let is_swap = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if is_swap {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_near_and_others_are_not() {
        for (name, edits_of_it) in
            [("Quality", 0), ("qua-lity", 0), ("qualty", 1), ("qaulity", 1), ("quallitty", 2)]
        {
            assert_eq!(edits(name, "quality"), Some(edits_of_it), "{name}");
        }
        for (name, wanted) in [("date", "page"), ("id", "url"), ("text", "quality"), ("", "a")] {
            assert_eq!(edits(name, wanted), None, "{name}, {wanted}");
        }
    }

    #[test]
    fn names_are_looked_for_where_the_path_leads() {
        let metadata = r#"{"a":1,"scores":{"edu":1,"tox":2}}"#;
        assert_eq!(names_beside(metadata, "b"), ["a", "scores"]);
        assert_eq!(names_beside(metadata, "scores.ed"), ["scores.edu", "scores.tox"]);
        assert_eq!(names_beside(metadata, "score.edu"), ["a", "scores"]);
        assert_eq!(names_beside("[]", "a"), [""; 0]);
    }
}
