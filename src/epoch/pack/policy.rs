//! How many tokens of a document are packed, and where it is cut.

use super::LengthHistogram;
use crate::epoch::recipe::{LongDocuments, PackKind};
use serde::{Deserialize, Serialize};

/// The packing rules of one source. Lengths are effective: BOS + stored tokens + EOS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackPolicy {
    /// The way of packing.
    pub kind: PackKind,
    /// Tokens a row holds.
    pub capacity: u32,
    /// What happens to documents longer than a row.
    pub long: LongDocuments,
    /// Whether documents begin with BOS.
    pub bos: bool,
    /// Whether documents end with EOS.
    pub eos: bool,
    /// Documents and fragments take up multiples of this; it divides the capacity.
    pub multiple: u32,
    /// Rows of `concat` begin with the last token of the row before.
    pub overlap: bool,
    /// What fills no row of `concat` at the end of a pass is left out.
    pub whole_rows: bool,
}

/// What the rules leave out of one pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PackLosses {
    /// Documents left out because they are longer than a row.
    pub dropped_documents: u64,
    /// Their effective tokens.
    pub dropped_tokens: u64,
    /// Documents cut to the head that fits a row.
    pub truncated_documents: u64,
    /// Effective tokens cut off, the EOS among them.
    pub truncated_tokens: u64,
    /// Tails that held nothing but an EOS, left out.
    pub lone_eos: u64,
    /// Tokens at the end of the pass that do not fill a row and are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub partial_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PackPolicy {
    /// Tokens added to every document.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        self.bos as u32 + self.eos as u32
    }

    /// Tokens packed of a document of effective `length`: a prefix of its sequence, maybe all or none.
    #[must_use]
    pub fn packed(&self, length: u32) -> u32 {
        if length <= self.capacity {
            return length;
        }
        match self.long {
            LongDocuments::Drop => 0,
            LongDocuments::Truncate => self.capacity,
            // `concat` cuts anywhere and the EOS is what separates documents there: it stays.
            LongDocuments::Split | LongDocuments::Paragraph => {
                let lone_eos =
                    self.eos && self.kind != PackKind::Concat && length % self.capacity == 1;
                length - u32::from(lone_eos)
            }
        }
    }

    /// Places that so many tokens of a document take up in a row.
    #[must_use]
    pub const fn slot(&self, tokens: u32) -> u32 {
        tokens.next_multiple_of(self.multiple)
    }

    /// Tokens at the end of a pass of so many that fill no row, where those are left out.
    #[must_use]
    pub fn partial(&self, tokens: u64) -> u64 {
        let capacity = u64::from(self.capacity.max(1));
        match (self.whole_rows, self.overlap) {
            (false, _) => 0,
            (true, false) => tokens % capacity,
            // The first row has all its tokens for itself, each other one all but the first.
            (true, true) if tokens < capacity => tokens,
            (true, true) => (tokens - 1) % (capacity - 1).max(1),
        }
    }

    /// Tokens packed in one pass.
    #[must_use]
    pub fn packed_tokens(&self, histogram: &LengthHistogram) -> u64 {
        histogram
            .iter()
            .map(|(length, documents)| u64::from(self.packed(*length)) * documents)
            .sum()
    }

    /// What one pass leaves out.
    #[must_use]
    pub fn losses(&self, histogram: &LengthHistogram) -> PackLosses {
        let mut losses = PackLosses::default();
        for (length, documents) in histogram.range(self.capacity.saturating_add(1)..) {
            let lost = u64::from(*length - self.packed(*length)) * documents;
            match self.long {
                LongDocuments::Drop => {
                    losses.dropped_documents += documents;
                    losses.dropped_tokens += lost;
                }
                LongDocuments::Truncate => {
                    losses.truncated_documents += documents;
                    losses.truncated_tokens += lost;
                }
                LongDocuments::Split | LongDocuments::Paragraph => losses.lone_eos += lost,
            }
        }
        losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(long: LongDocuments, kind: PackKind) -> PackPolicy {
        PackPolicy {
            kind,
            capacity: 8,
            long,
            bos: true,
            eos: true,
            multiple: 1,
            overlap: false,
            whole_rows: false,
        }
    }

    #[test]
    fn long_documents_follow_the_policy() {
        let split = policy(LongDocuments::Split, PackKind::BestFit);
        assert_eq!([7, 8, 9, 10, 16, 17, 18].map(|n| split.packed(n)), [7, 8, 8, 10, 16, 16, 18]);
        assert_eq!(policy(LongDocuments::Split, PackKind::Concat).packed(17), 17);
        assert_eq!(policy(LongDocuments::Truncate, PackKind::Greedy).packed(17), 8);
        assert_eq!(policy(LongDocuments::Drop, PackKind::None).packed(17), 0);
    }

    #[test]
    fn losses_add_up() {
        let histogram = LengthHistogram::from([(8, 5), (9, 3), (20, 2)]);
        let total: u64 = histogram.iter().map(|(length, n)| u64::from(*length) * n).sum();
        for long in [LongDocuments::Split, LongDocuments::Truncate, LongDocuments::Drop] {
            let policy = policy(long, PackKind::BestFit);
            let lost = policy.losses(&histogram);
            assert_eq!(
                policy.packed_tokens(&histogram)
                    + lost.dropped_tokens
                    + lost.truncated_tokens
                    + lost.lone_eos,
                total
            );
        }
        assert_eq!(policy(LongDocuments::Split, PackKind::BestFit).losses(&histogram).lone_eos, 3);
    }
}
