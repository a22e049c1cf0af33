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
    /// The reason, with `N` for each number in it but those of names, as in `UTF-8`; `(others)` behind 64 reasons of a source.
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

/// A reason with `N` for each of its numbers, except in names: within backticks, and where letters stand with digits,
/// also over a hyphen (`UTF-8`, `0x1f`).
fn alike(reason: &str) -> String {
    let (mut alike, mut rest, mut is_name) = (String::with_capacity(reason.len()), reason, false);
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end.max(first.len_utf8()));
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let before = reason.strip_suffix(rest).and_then(|before| before.strip_suffix('-'));
        let is_glued = before.is_some_and(|before| before.ends_with(char::is_alphabetic));
        alike.push_str(if is_number && !is_name && !is_glued { "N" } else { word });
        is_name ^= first == '`';
        rest = behind;
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
            // It was called UTF-N.
            ("invalid UTF-8 at byte 17 of 40: 0x1f", "invalid UTF-8 at byte N of N: 0x1f"),
            ("12-34 `a`b7`9`7 is -5, 1,000", "N-N `a`b7`9`N is -N, N,N"),
        ] {
            assert_eq!(alike(reason), expected);
        }
    }
}
