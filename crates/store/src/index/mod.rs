//! The band index: which documents share a bucket of the sketch.
//!
//! Probing and writing it is most of the cost of an ingest of short documents, so its entries take a way of their own.
//!
//! Writing: [`changes`] collects who leaves and who joins in one commit; few entries go into the families
//! as rows, many as one sorted run in `band_runs`, in the commit's own write. [`merge`] merges committed runs into
//! the families as tables, afterwards; [`writer`] says when. Its counters are one more row.
//!
//! Reading: [`lookup`] asks the [`filter`] in memory (a writer's views only; [`filter_cache`] decides
//! whether it is worth having, and keeps it between processes), then the runs not folded
//! yet, newest first, then the families, by point look-ups or by one merging scan.
//!
//! Invariants: while a run is not folded, no commit writes rows into `bands` or `bands_more`, so
//! every run is newer than every row there. A bucket without a member has no row, its first member is
//! not listed among the further ones, and it is marked exactly when it has some.

mod bucket;
mod changes;
mod filter;
mod filter_cache;
mod lookup;
mod merge;
mod run;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use bucket::{Bands, BandsMore};
pub(crate) use changes::BandBatch;
pub use changes::BucketJoin;
pub use filter::band_filter_bytes;
pub use lookup::BandBucket;
pub(crate) use lookup::IndexReader;
pub(crate) use run::BandRuns;
pub(crate) use writer::IndexWriter;
