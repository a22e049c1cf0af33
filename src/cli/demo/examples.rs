//! Picks the duplicates worth showing out of all of them.

use corpusdb::duplicates::DuplicatePair;
use std::collections::{BTreeMap, BTreeSet};

/// A duplicate and why it is shown.
pub(super) struct Example<'a> {
    /// What it stands for.
    pub(super) heading: String,
    /// The duplicate.
    pub(super) pair: &'a DuplicatePair,
}

/// Pairs of one kind that are shown.
const SHOWN: usize = 3;

/// A few duplicates of every kind there is: the text with most copies, versions of one crate, other
/// near duplicates, and one that crosses sources. `short` gives a key without what all keys share.
pub(super) fn pick<'a>(
    pairs: &'a [DuplicatePair],
    short: &dyn Fn(&str) -> String,
) -> Vec<Example<'a>> {
    let mut examples: Vec<Example<'a>> = Vec::new();
    let mut copies: BTreeMap<u64, Vec<&DuplicatePair>> = BTreeMap::new();
    for pair in pairs.iter().filter(|pair| pair.kind == "exact") {
        copies.entry(pair.witness).or_default().push(pair);
    }
    let most = copies
        .values()
        .max_by_key(|copies| (copies.len(), std::cmp::Reverse(copies.first().map(|pair| pair.id))));
    if let Some((copies, pair)) = most.and_then(|copies| Some((copies, copies.last()?))) {
        let heading =
            format!("equal bytes, removed {} times in favour of one document", copies.len());
        examples.push(Example { heading, pair });
    }
    let near: Vec<&DuplicatePair> = pairs.iter().filter(|pair| pair.kind == "near").collect();
    let of_versions = |pair: &&&DuplicatePair| {
        let (own, witness) = (short(&pair.key), short(&pair.witness_key));
        matches!((package(&own), package(&witness)), (Some(own), Some(witness)) if own.0 == witness.0 && own.1 != witness.1)
    };
    let versions = near.iter().filter(of_versions).copied();
    add(&mut examples, "two versions of one crate", versions, |pair| {
        package(&short(&pair.key)).map(|found| found.0.to_owned())
    });
    let across = near.iter().filter(|pair| pair.source != pair.witness_source).copied();
    add(&mut examples, "across sources", across, |_| Some(String::new()));
    let others = near
        .iter()
        .filter(|pair| !of_versions(pair) && pair.source == pair.witness_source)
        .copied();
    add(&mut examples, "near duplicates from different places", others, |pair| {
        Some(pair.source.clone())
    });
    examples
}

/// Adds the least similar pair of each group, for the groups with most pairs.
fn add<'a>(
    examples: &mut Vec<Example<'a>>,
    heading: &str,
    pairs: impl Iterator<Item = &'a DuplicatePair>,
    group: impl Fn(&DuplicatePair) -> Option<String>,
) {
    let mut groups: BTreeMap<String, Vec<&DuplicatePair>> = BTreeMap::new();
    for pair in pairs {
        groups.entry(group(pair).unwrap_or_default()).or_default().push(pair);
    }
    let mut groups: Vec<Vec<&DuplicatePair>> = groups.into_values().collect();
    groups.sort_by_key(|pairs| std::cmp::Reverse(pairs.len()));
    let mut witnesses: BTreeSet<u64> = BTreeSet::new();
    for pairs in groups.into_iter().take(SHOWN) {
        let fresh = pairs.into_iter().filter(|pair| !witnesses.contains(&pair.witness));
        if let Some(pair) =
            fresh.min_by(|a, b| a.jaccard.total_cmp(&b.jaccard).then(a.id.cmp(&b.id)))
        {
            witnesses.insert(pair.witness);
            examples.push(Example { heading: heading.to_owned(), pair });
        }
    }
}

/// Name and version of the crate that a gathered file belongs to.
fn package(key: &str) -> Option<(&str, &str)> {
    let is_version = |rest: &str| {
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        digits.len() < rest.len() && digits.starts_with('.')
    };
    key.split(['/', std::path::MAIN_SEPARATOR]).find_map(|part| {
        let mut cuts = part
            .match_indices('-')
            .filter_map(|(at, _)| Some((part.get(..at)?, part.get(at + 1..)?)));
        cuts.find(|(_, rest)| is_version(rest))
    })
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn crates_are_told_from_their_versions() {
        assert_eq!(
            package("crawl-1/code/hashbrown-0.15.5/src/map.rs"),
            Some(("hashbrown", "0.15.5"))
        );
        assert_eq!(
            package("crawl-2/code/tokio-1.2.3+a-b/src/x-1.rs"),
            Some(("tokio", "1.2.3+a-b"))
        );
        assert_eq!(package("crawl-1/code/base-64-0.1.0/a.rs"), Some(("base-64", "0.1.0")));
        assert_eq!(package("notes/a.txt"), None);
    }
}
