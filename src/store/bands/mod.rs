//! The band index: which documents share a bucket of the sketch. Probing and writing it is most of
//! the cost of an ingest of short documents, so its entries take a way of their own.
//!
//! Writing: [`changes`] collects who leaves and who joins in one commit; few entries go into the families
//! as rows, many as one sorted run in `band_runs`, in the commit's own write. [`fold`] merges committed runs into
//! the families as tables, afterwards; [`writer`] says when. Its counters are one more row.
//!
//! Reading: [`look_up`] asks the [`filter`] in memory (a writer's views only; [`gate`] decides
//! whether it is worth having, [`sidecar`] keeps it between processes), then the runs not folded
//! yet, newest first, then the families, by point look-ups or by one merging scan.
//!
//! Invariants: while a run is not folded, no commit writes rows into `bands` or `bands_more`, so
//! every run is newer than every row there. A bucket without a member has no row, its first member is
//! not listed among the further ones, and it is marked exactly when it has some.

mod changes;
mod filter;
mod fold;
mod forget;
mod gate;
mod index;
mod look_up;
mod sidecar;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use changes::BandChanges;
pub use changes::BucketJoin;
pub(super) use index::BandIndex;
pub use look_up::Bucket;
pub(super) use writer::BandWriter;
