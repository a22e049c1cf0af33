//! Where documents are from, what they may be used for, and how they came.
//!
//! A declared field of times is read from its column. Licences and undeclared dates stand in the metadata alone, which
//! is read in one scan; a corpus without metadata has nothing to scan. No time is asked of a clock.

use crate::inspect::InspectError;
use crate::inspect::info::CommitInfo;
use crate::inspect::stats::StatsValue;
use model::{BLOCK_SIZE, CommitSeq, FieldKind, FieldValue, JsonMembers, value_excerpt};
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use store::{View, system_fields};

/// Members of metadata that name a licence; of several the first counts.
const LICENCES: [&str; 3] = ["license", "licence", "licenses"];
/// Members of metadata that are read as dates where they are not declared.
const DATES: [&str; 4] = ["date", "created", "published", "timestamp"];
/// Licences that are told apart; a corpus with more has texts where licences should stand.
const MOST: usize = 4096;
/// Documents whose metadata one piece of parallel work reads.
const PIECE: u64 = 1 << 12;

/// The span in which the dates of a field lie.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DateRange {
    /// The declared field, or the member of the metadata.
    pub field: String,
    /// Documents with a date there.
    pub documents: u64,
    /// The earliest of them.
    pub first: StatsValue,
    /// The latest of them.
    pub last: StatsValue,
}

/// The documents of a licence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LicenceCount {
    /// As the records spell it; several of one document with commas between them.
    pub licence: String,
    /// Documents.
    pub documents: u64,
}

/// Documents, the earliest and the latest date, in microseconds since 1970.
#[derive(Clone, Copy)]
struct DateSpan {
    documents: u64,
    first: i64,
    last: i64,
}

/// What a part of the documents says.
#[derive(Default)]
struct ProvenanceSums {
    dates: BTreeMap<String, DateSpan>,
    licences: BTreeMap<String, u64>,
}

impl ProvenanceSums {
    fn add_dates(&mut self, field: &str, span: DateSpan) {
        let known = self.dates.entry(field.to_owned()).or_insert(DateSpan { documents: 0, ..span });
        known.documents += span.documents;
        known.first = known.first.min(span.first);
        known.last = known.last.max(span.last);
    }

    fn add_licence(&mut self, licence: &str, documents: u64) {
        let is_known = self.licences.len() < MOST || self.licences.contains_key(licence);
        let name = if is_known { licence } else { "(others)" };
        *self.licences.entry(name.to_owned()).or_default() += documents;
    }

    fn add(&mut self, later: Self) {
        later.dates.into_iter().for_each(|(field, span)| self.add_dates(&field, span));
        later.licences.into_iter().for_each(|(name, documents)| self.add_licence(&name, documents));
    }
}

/// What these documents say, each corpus with its own: the spans of their dates, declared fields first, and their licences,
/// most documents first.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub(crate) fn provenance(
    of: &[(&View, RoaringTreemap)],
) -> Result<(Vec<DateRange>, Vec<LicenceCount>), InspectError> {
    let (mut declared, mut sums) = (ProvenanceSums::default(), ProvenanceSums::default());
    for (view, documents) in of {
        let times = view.fields().iter().filter(|field| field.kind == FieldKind::Timestamp);
        for field in times {
            let column = system_fields::column_of(field.id);
            for block in view.blocks() {
                for (slot, at) in view.column_block(column, block)?.iter() {
                    if documents.contains(block * BLOCK_SIZE + u64::from(slot)) {
                        declared
                            .add_dates(&field.name, DateSpan { documents: 1, first: at, last: at });
                    }
                }
            }
        }
        let is_free = |name: &&str| view.fields().iter().all(|field| field.name != *name);
        let dates: Vec<&str> = DATES.into_iter().filter(is_free).collect();
        for block in view.blocks() {
            let pieces: Vec<ProvenanceSums> = (0..BLOCK_SIZE / PIECE)
                .into_par_iter()
                .map(|piece| of_piece(view, documents, block * BLOCK_SIZE + piece * PIECE, &dates))
                .collect::<Result<_, _>>()?;
            pieces.into_iter().for_each(|piece| sums.add(piece));
        }
    }
    let range = |(field, span): (String, DateSpan)| DateRange {
        field,
        documents: span.documents,
        first: StatsValue::Timestamp(span.first),
        last: StatsValue::Timestamp(span.last),
    };
    let count = |(licence, documents)| LicenceCount { licence, documents };
    let mut licences: Vec<LicenceCount> = sums.licences.into_iter().map(count).collect();
    licences.sort_by_key(|it| Reverse(it.documents));
    let dates = declared.dates.into_iter().chain(sums.dates).map(range).collect();
    Ok((dates, licences))
}

fn of_piece(
    view: &View,
    documents: &RoaringTreemap,
    start: u64,
    dates: &[&str],
) -> Result<ProvenanceSums, InspectError> {
    let ids = start..(start + PIECE).min(view.documents()).max(start);
    let mut sums = ProvenanceSums::default();
    for row in view.metadata_in(ids, |metadata| said(metadata, dates))? {
        let (document, (licence, found)) = row?;
        if !documents.contains(document.0) {
            continue;
        }
        if let Some(licence) = licence {
            sums.add_licence(&licence, 1);
        }
        for (field, at) in found {
            sums.add_dates(field, DateSpan { documents: 1, first: at, last: at });
        }
    }
    Ok(sums)
}

/// The licence and the dates of one record.
fn said<'d>(metadata: &str, dates: &[&'d str]) -> (Option<String>, Vec<(&'d str, i64)>) {
    // Most records have neither, and need not be read member by member. A name may be spelled with escapes.
    let has_any = metadata.contains("licen")
        || metadata.contains('\\')
        || dates.iter().any(|name| metadata.contains(name));
    if !has_any {
        return (None, Vec::new());
    }
    let Ok(JsonMembers(members)) = serde_json::from_str::<JsonMembers<'_>>(metadata) else {
        return (None, Vec::new());
    };
    let of = |wanted: &str| {
        let found = members.iter().rev().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.get())
    };
    let licence = LICENCES.iter().find_map(|name| licence(of(name)?));
    let date = |name: &&'d str| match FieldValue::of_json(of(name)?, FieldKind::Timestamp) {
        Ok(Some(FieldValue::Timestamp(at))) => Some((*name, at)),
        _ => None,
    };
    (licence, dates.iter().filter_map(date).collect())
}

/// A licence as text; none for null, an empty text and an empty list.
fn licence(raw: &str) -> Option<String> {
    let text = match serde_json::from_str::<Vec<String>>(raw) {
        Ok(several) => several.join(", "),
        Err(_) => match FieldValue::of_json(raw, FieldKind::Keyword) {
            Ok(Some(FieldValue::Keyword(text))) => text,
            Ok(_) => return None,
            Err(_) => value_excerpt(raw),
        },
    };
    let text = text.trim();
    (!text.is_empty()).then(|| text.chars().take(100).collect())
}

/// The history of a corpus: ingests in stretches of commits, and other commits.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Timeline {
    /// Stretches of commits, in their order: at most as many as were asked for, all but the last of equal length.
    pub stretches: Vec<CommitStretch>,
    /// The newest commits that are not ingests, oldest first, as many as were asked for.
    pub events: Vec<CommitInfo>,
    /// How many there are before these.
    pub earlier_events: u64,
}

/// What some commits in a row did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CommitStretch {
    /// The first of them.
    pub first: u64,
    /// The last of them.
    pub last: u64,
    /// How many of them are of ingests.
    pub ingests: u64,
    /// Documents that they added.
    pub added: u64,
    /// Those of them that were kept then.
    pub kept: u64,
    /// Stored documents whose standing they changed.
    pub changed: u64,
    /// Records that they rejected.
    pub rejected: u64,
}

/// The commits in at most `stretches` stretches, with the newest `events` that are not ingests. One row a commit is
/// read.
///
/// # Errors
/// [`InspectError`] when a row cannot be read.
pub fn timeline(view: &View, stretches: u64, events: usize) -> Result<Timeline, InspectError> {
    let last = view.commit().0;
    let length = last.saturating_add(1).div_ceil(stretches.max(1)).max(1);
    let mut told = Timeline::default();
    let mut newest = VecDeque::new();
    for number in 0..=last {
        let Some(record) = view.commit_record(CommitSeq(number))? else { continue };
        let begins = told.stretches.last().is_none_or(|it| it.first / length != number / length);
        if begins {
            told.stretches.push(CommitStretch { first: number, ..CommitStretch::default() });
        }
        if let Some(stretch) = told.stretches.last_mut() {
            stretch.last = number;
            stretch.added += record.added;
            stretch.kept += record.kept;
            stretch.changed += record.changed;
            stretch.rejected += record.rejected;
            stretch.ingests += u64::from(record.kind == "ingest");
        }
        if record.kind != "ingest" {
            newest.push_back(CommitInfo::from((CommitSeq(number), record)));
            if newest.len() > events {
                newest.pop_front();
                told.earlier_events += 1;
            }
        }
    }
    told.events = newest.into();
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_and_dates_are_read_as_records_spell_them() {
        let licence_of = |metadata: &str| said(metadata, &DATES).0;
        for (metadata, expected) in [
            (r#"{"license": "MIT"}"#, Some("MIT")),
            (r#"{"licenses": ["MIT", "Apache-2.0"]}"#, Some("MIT, Apache-2.0")),
            (r#"{"licence": " ", "licenses": ["BSD"]}"#, Some("BSD")),
            (r#"{"l\u0069cense": "CC0"}"#, Some("CC0")),
            (r#"{"license": {"name": "MIT"}}"#, Some(r#"{"name": "MIT"}"#)),
            (r#"{"license": null, "licenses": []}"#, None),
            (r#"{"title": "a licence of its own"}"#, None),
        ] {
            assert_eq!(licence_of(metadata).as_deref(), expected, "{metadata}");
        }
        let (_, dates) = said(r#"{"date": "2026-01-02", "created": "soon", "x": 1}"#, &DATES);
        assert_eq!(dates, [("date", 1_767_312_000_000_000)]);
    }

    #[test]
    fn licences_beyond_the_limit_are_one_sum() {
        let mut sums = ProvenanceSums::default();
        (0..MOST + 7).for_each(|n| sums.add_licence(&format!("l{n:05}"), 1));
        sums.add_licence("l00000", 1);
        assert_eq!((sums.licences["(others)"], sums.licences["l00000"]), (7, 2));
    }
}
