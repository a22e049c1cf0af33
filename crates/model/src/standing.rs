//! The standing of a document (kept, or why not), the match that explains a removal, and the digest of standings.

use super::hash::{GOLDEN, mix64};
use super::id::DocId;
use crate::named;
use std::fmt;

/// A document's standing under the current policy. Exactly one holds for every stored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Standing {
    /// In the corpus.
    Kept = 0,
    /// Removed: its raw bytes equal those of a kept document.
    Exact = 1,
    /// Removed: its exact Jaccard similarity to a kept document reaches the threshold.
    Near = 2,
    /// Its key was given again with other content.
    Superseded = 3,
    /// It has no tokens under the policy's normaliser.
    Empty = 4,
    /// It equals a document the user removed.
    Blocked = 5,
    /// The user removed it.
    Removed = 6,
    /// The user had it erased: its number is left, and nothing else of it.
    Purged = 7,
}

named!(Standing {
    Kept = "kept", Exact = "exact", Near = "near", Superseded = "superseded", Empty = "empty",
    Blocked = "blocked", Removed = "removed", Purged = "purged",
});

impl Standing {
    /// Why a document is removed that has a kept one like it, given whether their texts are the same bytes.
    #[must_use]
    pub const fn of_duplicate(has_equal_bytes: bool) -> (Self, MatchKind) {
        if has_equal_bytes {
            (Self::Exact, MatchKind::Exact)
        } else {
            (Self::Near, MatchKind::Near)
        }
    }

    /// The standing stored as `code`, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether deduplication decides about the document: neither superseded, nor removed or
    /// purged by the user, nor blocked, nor empty.
    #[must_use]
    pub const fn is_eligible(self) -> bool {
        matches!(self, Self::Kept | Self::Exact | Self::Near)
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a removed document relates to the document named by its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MatchKind {
    /// Equal raw bytes.
    Exact = 1,
    /// Exact Jaccard similarity of at least the threshold.
    Near = 2,
    /// The other document is its successor under the same key.
    Superseded = 3,
}

impl MatchKind {
    /// The word used in queries, reports and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.standing().name()
    }

    /// The standing of a document that is matched so.
    #[doc(hidden)]
    #[must_use]
    pub const fn standing(self) -> Standing {
        match self {
            Self::Exact => Standing::Exact,
            Self::Near => Standing::Near,
            Self::Superseded => Standing::Superseded,
        }
    }

    /// The kind stored as `code`, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Exact),
            2 => Some(Self::Near),
            3 => Some(Self::Superseded),
            _ => None,
        }
    }
}

/// Why a document is not kept: the other document and the exact overlap of their shingle sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// How the two relate.
    pub kind: MatchKind,
    /// The witness, or the successor of a superseded document.
    pub witness: DocId,
    /// Distinct shingles the two share; 0 when superseded.
    pub shared: u32,
    /// Distinct shingles of the removed document.
    pub removed_shingles: u32,
    /// Distinct shingles of the witness.
    pub witness_shingles: u32,
}

/// Jaccard similarity of two sets of `left` and `right` members that share `shared`, in 0..=1.
#[must_use]
pub fn jaccard(shared: u32, left: u32, right: u32) -> f64 {
    let shared = f64::from(shared);
    let union = f64::from(left) + f64::from(right) - shared;
    if union > 0.0 { shared / union } else { 0.0 }
}

impl Match {
    /// Whether the other document is its witness, not its successor.
    #[must_use]
    #[doc(hidden)]
    pub const fn is_duplicate(&self) -> bool {
        !matches!(self.kind, MatchKind::Superseded)
    }

    /// Exact Jaccard similarity of the two shingle sets, in 0..=1.
    #[must_use]
    pub fn jaccard(&self) -> f64 {
        if self.kind == MatchKind::Exact {
            return 1.0;
        }
        jaccard(self.shared, self.removed_shingles, self.witness_shingles)
    }

    /// Share of the removed document's shingles that the witness has.
    #[must_use]
    pub fn containment_removed(&self) -> f64 {
        if self.kind == MatchKind::Exact { 1.0 } else { share(self.shared, self.removed_shingles) }
    }

    /// Share of the witness's shingles that the removed document has.
    #[must_use]
    pub fn containment_witness(&self) -> f64 {
        if self.kind == MatchKind::Exact { 1.0 } else { share(self.shared, self.witness_shingles) }
    }
}

fn share(part: u32, whole: u32) -> f64 {
    if whole == 0 { 0.0 } else { f64::from(part) / f64::from(whole) }
}

/// A digest of the documents that take part in decisions, each with its standing: the sum of a hash of each, so that
/// parts of a collection can be digested apart and added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandingsDigest(u64);

impl StandingsDigest {
    /// Adds a document; one that takes no part in decisions ([`Standing::is_eligible`]) changes nothing.
    pub const fn add(&mut self, document: DocId, standing: Standing) {
        if standing.is_eligible() {
            // 0 is mixed to 0: nothing may be hashed to what adds nothing.
            let document = mix64(document.0.wrapping_add(GOLDEN));
            self.0 = self.0.wrapping_add(mix64(document ^ standing as u64));
        }
    }

    /// The number: those of parts add up to that of the whole, modulo 2^64.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }
}

/// 16 hexadecimal digits.
impl fmt::Display for StandingsDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(of: &[(u64, Standing)]) -> u64 {
        let mut digest = StandingsDigest::default();
        of.iter().for_each(|(document, standing)| digest.add(DocId(*document), *standing));
        digest.number()
    }

    #[test]
    fn order_and_parts_do_not_matter_and_standings_do() {
        let all = [(0, Standing::Kept), (1, Standing::Near), (7, Standing::Exact)];
        let whole = digest(&all);
        assert_eq!(whole, 0x5560_03b6_7bbf_3149, "exports made before must go on to fit");
        assert_eq!(whole, digest(&[all[2], all[0], (4, Standing::Removed), all[1]]));
        assert_eq!(whole, digest(&all[..1]).wrapping_add(digest(&all[1..])));
        for other in [
            &all[..2],
            &all[1..],
            &[(0, Standing::Kept), (1, Standing::Kept), (7, Standing::Exact)],
            &[(0, Standing::Near), (1, Standing::Kept), (7, Standing::Exact)],
            &[(0, Standing::Kept), (2, Standing::Near), (7, Standing::Exact)],
        ] {
            assert_ne!(digest(other), whole);
        }
    }
}
