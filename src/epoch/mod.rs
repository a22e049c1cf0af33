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

mod arrange;
mod build;
mod classes;
mod columns;
mod consumed;
mod counts;
mod documents;
mod error;
mod explain;
mod gather;
mod ids;
mod index;
mod keyed;
mod manifest;
mod masks;
#[cfg(feature = "generated")]
pub mod measured;
mod mix;
mod open;
pub mod order;
mod ordered;
mod pack;
mod padding;
mod permutation;
mod pinned;
mod plan;
mod planned;
mod planning;
mod read;
mod reader;
mod recipe;
mod remainder;
mod rows;
mod special;
mod stream;
mod trained;
mod verify;
pub mod views;
mod width;
mod write;

pub use build::{build, refuse_taken};
pub use error::EpochError;
pub use explain::{Explanation, SourceExplanation, explain};
pub use manifest::{Manifest, ManifestFile, ManifestSource, ManifestTotals};
pub use mix::Point as PlannedPoint;
pub use pack::{Fragment, Losses, Segment};
pub use padding::Padding;
pub use pinned::{PinnedPool, PinnedSource, PinnedStratum};
pub use plan::{Ledger, PinnedSnapshot, PinnedTokenizer, Plan, PlannedSource};
pub use planned::Planned;
pub use planning::{Against, Rest, TokenEnds, extend, plan, undecided};
pub use reader::{Epoch, EpochBatch, EpochRow, EpochStream};
pub use recipe::{
    Batch, Buckets, Column, ColumnKind, Compression, Count, Curriculum, Exact, Format, Holdout,
    Layout, LengthGrouped, Long, Method, Mix, Order, OrderKind, Output, Pacing, Pack, PackKind,
    PackOptions, PadSide, PadTo, PadView, Ramp, Recipe, SchedulePoint, Select, Side, SourcePack,
    SourceRecipe, Specials, Tail, Target, TokenizerChoice, Unit, Window,
};
pub use special::SpecialIds;
pub use verify::{Check, Verification, verify};
pub use write::{BatchPrinter, StreamFormat, StreamViews};
