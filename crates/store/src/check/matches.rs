//! Checks that every removal has a kept witness, and that every witness lists it.
//!
//! Matches are in order of the removed documents and members in order of witnesses: sums over blocks of witnesses say
//! whether both name the same pairs, and where not.

use crate::check::{FaultList, MOST};
use crate::error::StoreError;
use crate::view::View;
use model::{DedupMode, DocId, MatchKind, Standing};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use xxhash_rust::xxh3::xxh3_64;

/// Blocks of witnesses that are compared witness by witness: a few MB.
const DETAILED: usize = 4;

/// By block of witnesses, a sum over pairs that does not depend on their order.
#[derive(Default)]
struct PairSums(BTreeMap<u64, u64>);

impl PairSums {
    fn add(&mut self, witness: DocId, removed: DocId) {
        let sum = self.0.entry(witness.block()).or_default();
        *sum = sum.wrapping_add(pair(witness, removed));
    }
}

fn pair(witness: DocId, removed: DocId) -> u64 {
    xxh3_64(&[witness.0.to_le_bytes(), removed.0.to_le_bytes()].concat())
}

pub(crate) fn check(view: &View, faults: &mut FaultList) -> Result<(), StoreError> {
    let kept = view.kept()?;
    let threshold = view.policy().threshold;
    // In transitive modes the kept document of a component need not be similar to all of it.
    let is_verified = view.policy().mode == DedupMode::Witness;
    let mut user_removed = view.documents_standing(Standing::Removed)?;
    user_removed |= view.documents_standing(Standing::Purged)?;
    let mut unexplained: BTreeMap<Standing, RoaringTreemap> = BTreeMap::new();
    for standing in [Standing::Exact, Standing::Near, Standing::Superseded] {
        unexplained.insert(standing, view.documents_standing(standing)?);
    }
    let mut named = PairSums::default();
    let mut homeless = BTreeSet::new();
    for matched in view.matched()? {
        let (document, _, matched) = matched?;
        let standing = matched.kind.standing();
        // A superseded document that the user removed stays removed and continues naming its successor.
        let is_removed = !matched.is_duplicate() && user_removed.contains(document.0);
        if !is_removed && !unexplained.get_mut(&standing).is_some_and(|set| set.remove(document.0))
        {
            let kind = matched.kind.name();
            faults.push(
                "matches",
                format!("document {document} has a match of kind {kind} but another standing"),
            );
        }
        if !matched.is_duplicate() {
            continue;
        }
        if is_verified && matched.kind == MatchKind::Near && matched.jaccard() < threshold {
            let similarity = matched.jaccard();
            faults.push("matches", format!("document {document} was removed at similarity {similarity:.4}, below {threshold}"));
        }
        let witness = matched.witness;
        if !kept.contains(witness.0) && homeless.len() < MOST && homeless.insert(witness) {
            let what = format!("witness {witness} of document {document} is not kept");
            faults.push("matches", what);
        }
        named.add(witness, document);
    }
    for (standing, set) in unexplained {
        if let Some(document) = set.min() {
            let count = set.len();
            let what = format!(
                "{count} documents are {standing} without a match, the first is {document}"
            );
            faults.push("matches", what);
        }
    }
    let mut listed = PairSums::default();
    for member in view.all_members()? {
        let (witness, removed) = member?;
        listed.add(witness, removed);
    }
    let both: BTreeSet<u64> = named.0.keys().chain(listed.0.keys()).copied().collect();
    let differing = both.into_iter().filter(|block| named.0.get(block) != listed.0.get(block));
    let differing: Vec<u64> = differing.collect();
    if !differing.is_empty() {
        detail(view, differing.get(..DETAILED).unwrap_or(&differing), faults)?;
    }
    for block in differing.iter().skip(DETAILED) {
        faults.push(
            "members",
            format!(
                "the members of witnesses in block {block} are not the documents that name them"
            ),
        );
    }
    Ok(())
}

/// Witness by witness, in the blocks given.
fn detail(view: &View, blocks: &[u64], faults: &mut FaultList) -> Result<(), StoreError> {
    let mut sums: BTreeMap<DocId, [u64; 2]> = BTreeMap::new();
    for matched in view.matched()? {
        let (document, _, matched) = matched?;
        let witness = matched.witness;
        if matched.is_duplicate() && blocks.contains(&witness.block()) {
            let [named, _] = sums.entry(witness).or_default();
            *named = named.wrapping_add(pair(witness, document));
        }
    }
    for member in view.all_members()? {
        let (witness, removed) = member?;
        if blocks.contains(&witness.block()) {
            let [_, listed] = sums.entry(witness).or_default();
            *listed = listed.wrapping_add(pair(witness, removed));
        }
    }
    for (witness, _) in sums.into_iter().filter(|(_, [named, listed])| named != listed) {
        faults.push(
            "members",
            format!("the members of witness {witness} are not the documents that name it"),
        );
    }
    Ok(())
}
