//! What decides orders: keyed permutations and coins, orders that others define, and the pace of a curriculum. Pure: no
//! store, no I/O.
//!
//! [`torch`] reproduces `torch.randperm` and the length-grouped sampler of transformers, index for
//! index; [`pacing`] says when the strata of a curriculum open.

pub(super) mod coin;
pub mod pacing;
pub(super) mod permutation;
pub mod torch;
