//! The way out of the corpus: from a snapshot to packed, mixed, verified rows.
//!
//! Use it to feed a trainer. A [`Recipe`] says what is wanted. [`CorpusWriter::plan`] computes what follows from it
//! against a snapshot: a [`Plan`], small whatever the corpus holds, and the set of documents of each source. Everything
//! after is a pure function of the two: [`Corpus::explain`] tells what an epoch will be, [`Corpus::epoch`] gives its
//! rows and batches ([`Epoch`]), [`Corpus::build`] writes it, [`Corpus::verify`] reads it back and proves it against
//! the store. [`views`], [`pacing`], [`torch`] and [`pack_lengths`] are pure functions that serve without any
//! corpus.
//!
//! ```
//! use corpusdb::epoch::StreamOptions;
//! use corpusdb::{Context, Recipe};
//!
//! # use corpusdb::ingest::{Record, Records};
//! # use corpusdb::{Corpus, DedupMode, IngestOptions, Policy};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("corpus");
//! # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
//! # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
//! # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
//! # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
//! # writer.ingest(pages, &options, &Context::new())?;
//! # let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
//! #     {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
//! # writer.add_tokenizer("words", file, "", &Context::new())?;
//! let recipe = "version = 1\n[pack]\nkind = \"concat\"\nlength = 4\n[batch]\nrows = 2";
//! let (_, planned) = writer.plan(&Recipe::parse(recipe)?, &Context::new())?;
//! let epoch = writer.corpus().epoch(&planned, 0, &Context::new())?;
//! // All batches: `StreamOptions` says from which on, and for which reader of how many.
//! let mut tokens = 0;
//! for batch in epoch.stream(&StreamOptions::default())? {
//!     tokens += batch?.rows.iter().map(|row| row.ids().len()).sum::<usize>();
//! }
//! // Three texts of five tokens, in rows of four.
//! assert_eq!((epoch.rows(), epoch.batches(), tokens), (4, 2, 15));
//! # Ok(())
//! # }
//! ```
//!
//! [`CorpusWriter::plan`]: crate::CorpusWriter::plan
//! [`Corpus::explain`]: crate::Corpus::explain
//! [`Corpus::epoch`]: crate::Corpus::epoch
//! [`Corpus::build`]: crate::Corpus::build
//! [`Corpus::verify`]: crate::Corpus::verify
//!
//! A row's way through the rooms: [`Recipe`] (`recipe`) -> documents and their tokens (`planning`, `lengths`) -> what
//! each pass holds ([`Coverage`], [`Plan`]) -> rows (`pack`, `permutation`, `rows`) -> the run of all sources (`mix`,
//! `run`) -> ids and batches (`stream`, as `tensors`) or files (`write`). Rows are packed and put in order within their
//! source, then interleaved by what they count. Token ids are read only while rows are given, written and verified;
//! planning knows lengths. `plan_store` keeps plans in the corpus; what a run has left after some rows (`run`) is the
//! beginning of the next plan.
//!
//! A row of the run is a `RowRef` (its source, pass and place), that of a batch a `BatchedRow`, one with ids an
//! `EpochRow`. `DocumentCursor`, `PassCursor`, `SourceCursor`, `RunCursor` and `BatchCursor` give them, each from any
//! state. A `RunPosition` that was counted has the totals of its sources; one that was found by arithmetic has none, so
//! that nobody counts by it.

mod coverage;
mod error;
mod explain;
mod facade;
mod lengths;
mod write;

#[cfg(feature = "generated")]
pub mod measure;
mod mix;
pub mod pacing;
mod pack;
pub(crate) mod permutation;
mod plan;
mod plan_store;
mod planning;
pub mod recipe;
mod rows;
mod run;
mod stream;
mod tensors;
pub mod torch;
mod verify;
pub mod views;

pub use crate::corpus::{Corpora, ShardError};
pub use error::{EmptyEpoch, EpochError, ShortSource};
pub use explain::{
    DocumentPadding, Explanation, GroupingSteps, LabelGaps, LongestRow, MegaBatch, MixPoint,
    MultiplierCost, MultiplierSweep, Padding, PaddingCost, Repeats, SourceExplanation,
    SourceRepeats, SpecialRepeats, StepBatch, StepRows,
};
pub(crate) use explain::{
    documents_of_epoch, explain, grouping_steps, plan_notes, sweep_multipliers,
};
pub use facade::StreamEntry;
pub use mix::PlannedPoint;
pub(crate) use write::build;
pub use write::{
    BatchPrinter, BatchTable, BuildJob, BuiltCollator, BuiltRow, Manifest, ManifestFile,
    ManifestSource, ManifestTotals, StreamFormat, StreamViews,
};

pub use coverage::{CopyLayers, Coverage, PassRun, PinnedSource, PinnedStratum, TokenSpans};
pub use pack::{EffectiveSequence, PackLosses, Segment};
pub use plan::{
    LaterPasses, ParentPlan, PinnedShard, PinnedSnapshot, PinnedTokenizer, Plan, PlanHeader,
    PlannedSource,
};
pub(crate) use plan_store::{
    PlanStorage, carry_plan, chain_of, check_marks, drop_plan, mark_epochs, plans_by,
    plans_drawing, plans_naming, plans_of_source, store_plan, stored_plan,
};
pub use planning::{LeftOut, LeftOutReason, NearDrawn};
pub(crate) use planning::{
    PlanExtension, PlanInputs, TokenAligner, extend, plan, removed_since, undecided,
    unencoded_members,
};
pub(crate) use recipe::special_ids;
pub use recipe::{Format, Recipe, ResolvedRecipe, SpecialIds};
pub use rows::{SegmentArrays, pack_lengths};
pub(crate) use run::refuse_purged;
pub use stream::{
    BatchStream, Epoch, EpochBatch, EpochRow, EpochSteps, IdBatch, IdSteps, RowPart, RowReport,
    RowSegment, StreamOptions,
};
pub use tensors::{BatchField, BatchForm, Contract, Tensor, TensorIds, TensorMaker, TensorValues};
pub(crate) use verify::verify;
pub use verify::{PropertyCheck, Verification};
