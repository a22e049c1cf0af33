//! The way out of the corpus: from a snapshot to packed, mixed, verified rows.
//!
//! A [`Recipe`] says what is wanted. [`plan`] computes what follows from it against a snapshot: a
//! [`Plan`], small whatever the corpus holds, and the set of documents of each source. Everything
//! after is a pure function of the two: [`explain`] tells what an epoch will be, [`build`] writes it,
//! [`verify`] reads it back and proves it against the store.
//!
//! A row's way through the rooms: [`Recipe`] (`recipe`) -> documents and their tokens (`plan`, `lengths`) -> rows (`pack`,
//! `order`, `rows`) -> the run of all sources (`mix`, `run`) -> ids (`fetch`) -> batches (`stream`) or files (`export`). Rows are
//! packed and put in order within their source, then interleaved by what they count. Token ids are read only while
//! rows are given, written and verified; planning knows lengths.

mod error;
mod explain;
mod export;
mod fetch;
mod lengths;
#[cfg(feature = "generated")]
pub mod measured;
mod mix;
pub mod order;
mod pack;
mod plan;
mod planning;
mod recipe;
mod rows;
mod run;
mod stream;
mod verify;
pub mod views;

pub use error::EpochError;
pub use explain::{Explanation, Padding, SourceExplanation, explain};
pub use export::{
    BatchPrinter, Manifest, ManifestFile, ManifestSource, ManifestTotals, StreamFormat,
    StreamViews, build, refuse_taken,
};
pub use mix::Point as PlannedPoint;
pub use pack::{Fragment, Losses, Segment};
pub use plan::{
    Ledger, PinnedPool, PinnedSnapshot, PinnedSource, PinnedStratum, PinnedTokenizer, Plan,
    Planned, PlannedSource,
};
pub use planning::{Against, Rest, TokenEnds, extend, plan, undecided};
pub use recipe::{
    Batch, Buckets, Column, ColumnKind, Compression, Count, Curriculum, Exact, Format, Holdout,
    Layout, LengthGrouped, Long, Method, Mix, Order, OrderKind, Output, Pacing, Pack, PackKind,
    PackOptions, PadSide, PadTo, PadView, Ramp, Recipe, SchedulePoint, Select, Side, SourcePack,
    SourceRecipe, SpecialIds, Specials, Tail, Target, TokenizerChoice, Unit, Window,
};
pub use stream::{Epoch, EpochBatch, EpochRow, EpochStream};
pub use verify::{Check, Verification, verify};
