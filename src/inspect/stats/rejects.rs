//! Counts rejected records by source and reason; reasons that differ in places and lengths alone are one.

use crate::inspect::InspectError;
use model::Context;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use store::{RejectRecord, View};

/// ReasonGroups of a source that are listed, at most: reasons may quote the input, so there may be very many.
const MOST: usize = 64;
/// The name of the sum of all other reasons.
const OTHERS: &str = "(others)";
/// Words before the number of a place.
const PLACES: [&str; 7] = ["byte", "record", "line", "column", "row", "message", "item"];
/// Bytes that are held of the first record of a reason.
const BEGINNING: usize = 1024;

/// Records of a source that were rejected for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RejectStats {
    /// The source into which they were ingested.
    pub source: String,
    /// The reason, with `N` for each number of a place or a length; `(others)` behind 64 reasons of a source.
    pub reason: String,
    /// Records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Records that were rejected for one reason, in whatever source, and the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectReasonGroup {
    /// The reason, with `N` for each number of a place or a length; `(others)` behind 64 reasons.
    pub reason: String,
    /// Records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The first of them by source, file and number, with the beginning of its raw bytes.
    pub first: RejectRecord,
}

/// Rejected records by reason.
#[derive(Default)]
struct ReasonGroups(BTreeMap<String, RejectReasonGroup>);

impl ReasonGroups {
    fn add(&mut self, mut reject: RejectRecord) {
        let mut reason = alike(&reject.reason);
        if self.0.len() >= MOST && !self.0.contains_key(&reason) {
            reason = OTHERS.to_owned();
        }
        reject.raw.truncate(BEGINNING);
        let bytes = reject.bytes;
        let group = match self.0.entry(reason) {
            Entry::Occupied(group) => {
                let group = group.into_mut();
                if place(&reject) < place(&group.first) {
                    group.first = reject;
                }
                group
            }
            Entry::Vacant(new) => {
                let reason = new.key().clone();
                new.insert(RejectReasonGroup { reason, records: 0, bytes: 0, first: reject })
            }
        };
        group.records += 1;
        group.bytes += bytes;
    }

    /// The most frequent reason first, the others last.
    fn by_count(self) -> Vec<RejectReasonGroup> {
        let mut all: Vec<_> = self.0.into_values().collect();
        all.sort_by_key(|it| (it.reason == OTHERS, Reverse(it.records)));
        all
    }
}

fn place(reject: &RejectRecord) -> (&str, &str, u64) {
    (&reject.source, &reject.path, reject.number)
}

/// All rejected records by reason, the most frequent first. Holds one record a reason.
///
/// # Errors
/// [`InspectError`] when a row cannot be read, or after the stop.
pub(crate) fn reject_reasons(
    view: &View,
    context: &Context<'_>,
) -> Result<Vec<RejectReasonGroup>, InspectError> {
    let mut reasons = ReasonGroups::default();
    for reject in view.all_rejects()? {
        context.check_interrupt()?;
        reasons.add(reject?);
    }
    Ok(reasons.by_count())
}

/// The rejected records of all sources or one, by source; the most frequent reason of each first.
pub(super) fn rejected(view: &View, only: Option<&str>) -> Result<Vec<RejectStats>, InspectError> {
    let mut sources: BTreeMap<String, ReasonGroups> = BTreeMap::new();
    for reject in view.all_rejects()? {
        let reject = reject?;
        if only.is_none_or(|only| only == reject.source) {
            sources.entry(reject.source.clone()).or_default().add(reject);
        }
    }
    let of_source = |(source, reasons): (String, ReasonGroups)| {
        let stats = move |it: RejectReasonGroup| {
            let RejectReasonGroup { reason, records, bytes, .. } = it;
            RejectStats { source: source.clone(), reason, records, bytes }
        };
        reasons.by_count().into_iter().map(stats)
    };
    Ok(sources.into_iter().flat_map(of_source).collect())
}

/// A reason with `N` for each number that says where or how long, except within backticks, where names are: other
/// numbers are of the reason itself, such as that of UTF-8.
fn alike(reason: &str) -> String {
    let (mut alike, mut before, mut is_name) = (String::with_capacity(reason.len()), "", false);
    let mut words = reason.split(' ').peekable();
    while let Some(word) = words.next() {
        let behind = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_place = PLACES.contains(&before.trim_start_matches('('));
        let is_length = words.peek().is_some_and(|next| next.starts_with("bytes"));
        let is_number = behind.len() < word.len() && !behind.starts_with(char::is_alphanumeric);
        match is_number && !is_name && (is_place || is_length) {
            true => alike.extend(["N", behind]),
            false => alike.push_str(word),
        }
        alike.push_str(if words.peek().is_some() { " " } else { "" });
        is_name ^= word.matches('`').count() % 2 == 1;
        before = word;
    }
    alike
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_lengths_in_a_reason_do_not_count() {
        for (reason, expected) in [
            ("12 bytes, over the limit of 1000", "N bytes, over the limit of 1000"),
            ("field `f12` is absent at line 3", "field `f12` is absent at line N"),
            ("field `a line 3` is absent", "field `a line 3` is absent"),
            // It was one of "UTF-N".
            ("invalid UTF-8 at byte 19 of the record", "invalid UTF-8 at byte N of the record"),
            ("it ends (line 2, column 40) in 3 parts", "it ends (line N, column N) in 3 parts"),
            ("message 0 (user): row 5th", "message N (user): row 5th"),
            ("no text", "no text"),
        ] {
            assert_eq!(alike(reason), expected);
        }
    }
}
