//! A set of shingles to a sketch that estimates its Jaccard similarity to another.
//!
//! 1. `slots`: the sketch in either form, its bytes and the estimate ([`Sketch`]);
//! 2. `native`: 256 slots of 8 bits from shingle hashes, by rounds of buckets;
//! 3. `bigcode`: slots of 32 bits from the shingles themselves, as the BigCode project publishes it, over
//!    `sha1` and the permutations that `random` draws.

mod bigcode;
mod native;
mod random;
mod sha1;
mod slots;
#[cfg(test)]
mod tests;

pub(super) use bigcode::Permutations;
pub use slots::Sketch;
