//! The sketch in either form: its bytes, and the estimate.

use super::native;
use crate::model::{Policy, Signature};

/// What stands for a set of shingles: 256 slots of 8 bits, or slots of 32 bits, as the policy's
/// [`Signature`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch(Slots);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Slots {
    /// 8 bits each.
    Native(Box<[u8; Sketch::LEN]>),
    /// 32 bits each, little-endian: a multiple of four bytes.
    Full(Box<[u8]>),
}

impl Sketch {
    /// Slots, and bytes, of a native sketch.
    pub const LEN: usize = native::SLOTS;
    /// Bytes of a slot at full width.
    pub(in crate::dedup) const WIDTH: usize = 4;

    /// The native sketch of a set of shingle hashes, in any order; all zero if there are none.
    #[must_use]
    pub fn of(shingles: &[u64]) -> Self {
        Self(Slots::Native(Box::new(native::slots(shingles))))
    }

    /// A sketch of slots at full width.
    pub(super) fn full(slots: impl IntoIterator<Item = u32>) -> Self {
        Self(Slots::Full(slots.into_iter().flat_map(u32::to_le_bytes).collect()))
    }

    /// The slots as they are stored: 256 bytes, or four for each slot, little-endian.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Slots::Native(slots) => slots.as_slice(),
            Slots::Full(bytes) => bytes,
        }
    }

    /// A sketch of stored slots; none unless there are as many as the policy's sketches have.
    #[must_use]
    pub fn from_bytes(bytes: &[u8], policy: &Policy) -> Option<Self> {
        match policy.signature {
            Signature::Native => Some(Self(Slots::Native(Box::new(bytes.try_into().ok()?)))),
            Signature::Bigcode => {
                let slots = usize::try_from(policy.hashes).ok()?;
                (slots > 0 && slots.checked_mul(Self::WIDTH) == Some(bytes.len()))
                    .then(|| Self(Slots::Full(bytes.into())))
            }
        }
    }

    /// Whether slots have 32 bits.
    pub(in crate::dedup) const fn is_full(&self) -> bool {
        matches!(self.0, Slots::Full(_))
    }

    /// Estimated Jaccard similarity in 0..=1. At full width the share of agreeing slots. Native ones are
    /// corrected for slots that agree by chance: `(m-1)/255` for m agreeing slots, 0 for none; unbiased but
    /// for that floor. Sketches of different forms or numbers of slots have similarity 0.
    #[must_use]
    pub fn estimate(&self, other: &Self) -> f64 {
        match (&self.0, &other.0) {
            (Slots::Native(a), Slots::Native(b)) => {
                // Counts side by side, one for each slot of a part: compiled to vectors.
                let mut equal = [0_u8; 32];
                for (a, b) in a.as_chunks::<32>().0.iter().zip(b.as_chunks::<32>().0) {
                    for ((equal, a), b) in equal.iter_mut().zip(a).zip(b) {
                        *equal += u8::from(a == b);
                    }
                }
                let equal: u16 = equal.iter().copied().map(u16::from).sum();
                f64::from(equal.saturating_sub(1)) / 255.0
            }
            (Slots::Full(a), Slots::Full(b)) if a.len() == b.len() && !a.is_empty() => {
                let (a, b) = (a.chunks_exact(Self::WIDTH), b.chunks_exact(Self::WIDTH));
                let (slots, equal) = a.zip(b).fold((0_u32, 0_u32), |(slots, equal), (a, b)| {
                    (slots + 1, equal + u32::from(a == b))
                });
                f64::from(equal) / f64::from(slots)
            }
            _ => 0.0,
        }
    }
}
