//! The way out of the corpus: from a snapshot to packed, mixed, verified rows.
//!
//! A [`Recipe`] says what is wanted. [`plan`] computes what follows from it against a snapshot: a
//! [`Plan`], small whatever the corpus holds, and the set of documents of each source. Everything
//! after is a pure function of the two: [`explain`] tells what an epoch will be, [`build`] writes it,
//! [`verify`] reads it back and proves it against the store.
//!
//! Stages: select ([`plan`], `documents`) -> mix (`mix`, `stream`) -> order (`permutation`, `rows`)
//! -> pack (`pack`) -> write (`write`). Rows are packed and put in order within their source, then
//! interleaved by tokens. Token ids are read only while writing and verifying; planning knows lengths.

mod build;
mod classes;
mod documents;
mod error;
mod explain;
mod ids;
mod manifest;
mod mix;
mod open;
mod pack;
mod permutation;
mod plan;
mod planning;
mod read;
mod recipe;
mod rows;
mod special;
mod stream;
mod verify;
mod views;
mod width;
mod write;

pub use build::build;
pub use error::EpochError;
pub use explain::{Explanation, SourceExplanation, explain};
pub use manifest::{Manifest, ManifestFile, ManifestSource, ManifestTotals};
pub use pack::Losses;
pub use plan::{PinnedSnapshot, PinnedTokenizer, Plan, PlannedSource};
pub use planning::{Planned, plan};
pub use recipe::{
    Batch, Format, Long, Method, Mix, Order, OrderKind, Output, Pack, PackKind, PackOptions,
    PadSide, PadView, Recipe, Select, SourcePack, SourceRecipe, Specials, Target, TokenizerChoice,
    Unit,
};
pub use special::SpecialIds;
pub use verify::{Check, Verification, verify};
