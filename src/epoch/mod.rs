//! The way out of the corpus: from a snapshot to packed, mixed, verified rows.
//!
//! Use it to feed a trainer. A [`Recipe`] says what is wanted. [`CorpusWriter::plan`] computes what follows from it
//! against a snapshot: a [`Plan`], small whatever the corpus holds, and the set of documents of each source. Everything
//! after is a pure function of the two: [`Corpus::explain`] tells what an epoch will be, [`Corpus::epoch`] gives its rows
//! and batches ([`Epoch`]), [`Corpus::build`] writes it, [`Corpus::verify`] reads it back and proves it against the
//! store. [`views`], [`pacing`] and [`torch`] are pure functions that serve without any corpus.
//!
//! [`CorpusWriter::plan`]: crate::CorpusWriter::plan
//! [`Corpus::explain`]: crate::Corpus::explain
//! [`Corpus::epoch`]: crate::Corpus::epoch
//! [`Corpus::build`]: crate::Corpus::build
//! [`Corpus::verify`]: crate::Corpus::verify
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
mod marking;
#[cfg(feature = "generated")]
pub mod measured;
mod mix;
pub(crate) mod order;
mod pack;
mod plan;
mod planning;
pub mod recipe;
mod rows;
mod run;
mod stream;
mod verify;
pub mod views;

pub use error::EpochError;
pub(crate) use explain::explain;
pub use explain::{Explanation, Padding, SourceExplanation};
pub(crate) use export::build;
pub use export::{
    BatchPrinter, BuildJob, Manifest, ManifestFile, ManifestSource, ManifestTotals, StreamFormat,
    StreamViews,
};
pub(crate) use marking::{check_marks, unmarked};
pub use mix::Point as PlannedPoint;
pub use order::{pacing, torch};
pub use pack::{Fragment, Losses, Segment};
pub use plan::{
    Ledger, PinnedPool, PinnedSnapshot, PinnedSource, PinnedStratum, PinnedTokenizer, Plan,
    Planned, PlannedSource,
};
pub(crate) use planning::{Against, Rest, TokenEnds, extend, plan, undecided};
pub use recipe::{Format, Recipe, SpecialIds};
pub use stream::{Epoch, EpochBatch, EpochRow, EpochStream};
pub(crate) use verify::verify;
pub use verify::{Check, Verification};
