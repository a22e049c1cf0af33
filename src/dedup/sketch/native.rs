//! The native sketch: a set of shingle hashes to 256 slots of 8 bits.
//!
//! Every slot holds 8 bits of one member of the set, chosen so that in the union of two sets each
//! member is equally likely to be the choice: two sketches agree in a slot with probability J, and by
//! chance in 1/256 of the others. The choice, for slot s of a set of uniform 64-bit values x:
//!
//! 1. round 0: among the x whose low 8 bits are s, the smallest x; the slot is bits 8 to 15 of it;
//! 2. rounds 1 and 2, for slots still empty: the same with `mix64(x + round·G)` in the place of x;
//! 3. for slots still empty: the smallest `A[s]·(x >> 32) + B[s]` modulo 2^32 over all x; the slot is
//!    the high 8 bits of `mix32` of that.
//!
//! Rounds cost one step per member and not one per member and slot; a set of a few hundred members
//! fills all slots in them. A slot is empty after a round or not by the set alone, so the sketch is a
//! function of the set: order and repeats do not matter.

use crate::dedup::mix::{GOLDEN, mix32, mix64};

const ROUNDS: u64 = 3;
/// No value yet. A value equal to it counts as none, which costs nothing but its own loss.
const EMPTY: u64 = u64::MAX;

/// Slots, and bytes, of a native sketch.
pub(super) const SLOTS: usize = 256;

/// Multiplier (odd) and addend of every slot in the last step.
static AFFINE: [(u32, u32); SLOTS] = affine();

#[expect(clippy::indexing_slicing, reason = "the cursor is below the length")]
const fn affine() -> [(u32, u32); SLOTS] {
    let mut table = [(0, 0); SLOTS];
    let mut slot = 0;
    while slot < SLOTS {
        let bits = mix64(GOLDEN.wrapping_mul(slot as u64 + 1));
        table[slot] = ((bits >> 32) as u32 | 1, (bits & 0xffff_ffff) as u32);
        slot += 1;
    }
    table
}

/// The slots of a set of shingle hashes, in any order; all zero if there are none.
pub(super) fn slots(shingles: &[u64]) -> [u8; SLOTS] {
    if shingles.is_empty() {
        return [0; SLOTS];
    }
    let mut chosen = [EMPTY; SLOTS];
    choose(&mut chosen, shingles.iter().copied());
    for round in 1..ROUNDS {
        if !chosen.contains(&EMPTY) {
            break;
        }
        let step = GOLDEN.wrapping_mul(round);
        let mut other = [EMPTY; SLOTS];
        choose(&mut other, shingles.iter().map(|x| mix64(x.wrapping_add(step))));
        for (slot, other) in chosen.iter_mut().zip(other) {
            *slot = if *slot == EMPTY { other } else { *slot };
        }
    }
    let mut slots = chosen.map(|value| value.to_le_bytes()[1]);
    if chosen.contains(&EMPTY) {
        let halves: Vec<u32> = shingles.iter().map(|x| (x >> 32) as u32).collect();
        let empty = chosen.iter().zip(&mut slots).zip(&AFFINE).filter(|((x, _), _)| **x == EMPTY);
        for ((_, slot), (a, b)) in empty {
            *slot = (mix32(smallest(&halves, *a, *b)) >> 24) as u8;
        }
    }
    slots
}

/// Lowers each slot to the smallest value whose low 8 bits name it.
#[expect(clippy::indexing_slicing, reason = "there is a slot for each value of a byte")]
fn choose(slots: &mut [u64; SLOTS], values: impl Iterator<Item = u64>) {
    for value in values {
        let slot = &mut slots[usize::from(value.to_le_bytes()[0])];
        *slot = value.min(*slot);
    }
}

/// In a form that compiles to vector instructions.
fn smallest(values: &[u32], a: u32, b: u32) -> u32 {
    values.iter().fold(u32::MAX, |least, x| least.min(a.wrapping_mul(*x).wrapping_add(b)))
}
