//! Counts rejected records by source and reason; reasons that differ in numbers alone are one.

use crate::query::error::QueryError;
use serde::Serialize;
use std::collections::BTreeMap;
use store::View;

/// Reasons of a source that are listed, at most: reasons may quote the input, so there may be very many.
const MOST: usize = 64;
/// The name of the sum of all other reasons.
const OTHERS: &str = "(others)";

/// Records of a source that were rejected for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RejectStats {
    /// The source into which they were ingested.
    pub source: String,
    /// The reason, with `N` for each number in it but those of names; `(others)` behind 64 reasons of a source.
    pub reason: String,
    /// Records.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The rejected records of all sources or one, by source; the most frequent reason of each first.
pub(super) fn rejected(view: &View, only: Option<&str>) -> Result<Vec<RejectStats>, QueryError> {
    let mut sources: BTreeMap<String, BTreeMap<String, (u64, u64)>> = BTreeMap::new();
    for reject in view.all_rejects()? {
        let reject = reject?;
        if only.is_some_and(|only| only != reject.source) {
            continue;
        }
        let reasons = sources.entry(reject.source).or_default();
        let mut reason = alike(&reject.reason);
        if reasons.len() >= MOST && !reasons.contains_key(&reason) {
            reason = OTHERS.to_owned();
        }
        let (records, bytes) = reasons.entry(reason).or_default();
        *records += 1;
        *bytes += reject.bytes;
    }
    let mut found = Vec::new();
    for (source, reasons) in sources {
        let first = found.len();
        found.extend(reasons.into_iter().map(|(reason, (records, bytes))| RejectStats {
            source: source.clone(),
            reason,
            records,
            bytes,
        }));
        if let Some(of_source) = found.get_mut(first..) {
            of_source.sort_by_key(|it| (it.reason == OTHERS, std::cmp::Reverse(it.records)));
        }
    }
    Ok(found)
}

/// A reason with `N` for each of its numbers, except within backticks, where names are.
fn alike(reason: &str) -> String {
    let (mut alike, mut is_name, mut in_number) =
        (String::with_capacity(reason.len()), false, false);
    for c in reason.chars() {
        let is_digit = c.is_ascii_digit() && !is_name;
        is_name ^= c == '`';
        match (is_digit, in_number) {
            (true, false) => alike.push('N'),
            (true, true) => {}
            (false, _) => alike.push(c),
        }
        in_number = is_digit;
    }
    alike
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_reason_do_not_count_but_those_of_names() {
        for (reason, expected) in [
            ("12 bytes, over the limit of 1000", "N bytes, over the limit of N"),
            ("field `f12` is absent at line 3", "field `f12` is absent at line N"),
            ("no text", "no text"),
        ] {
            assert_eq!(alike(reason), expected);
        }
    }
}
