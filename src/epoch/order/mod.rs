//! Orders that others define, and the pace of a curriculum. Pure: no store, no I/O.
//!
//! [`torch`] reproduces `torch.randperm` and the length-grouped sampler of transformers, index for
//! index; [`pacing`] says when the strata of a curriculum open.

pub mod pacing;
pub mod torch;
