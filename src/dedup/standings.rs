//! Which documents a decision was made beside: their standings as one number, in whatever order they come.

use super::mix::{GOLDEN, mix64};
use crate::model::{DocId, Standing};
use std::fmt;

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
