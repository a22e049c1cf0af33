//! Reads an epoch in the trainer's process: a small reader, threads that read ahead, and arrays without copies.
//!
//! `corpus` opens the corpus and the plan, `purges` notices purges of it. `batch` turns batches into arrays of Python,
//! with the documents of their rows, and `ahead` has the threads. `reader` is the class that Python sees. The position
//! and the state of a loader are in Python (`corpusdb/_loader.py`). `collator` makes batches from rows of built files,
//! without a corpus.
//!
//! An iteration ends with its last batch, not when one more is asked for: trainers that count `len` batches never ask.
//! The next iteration is the next epoch, since a trainer that begins a loop again means that; only evaluation begins
//! again. A dataset cannot see that a trainer would split or collate its batches again, so running calls of trainers
//! are examined where an iteration begins, in every process: an error there is better than half of an epoch.
//!
//! Workers share a dataset's position without a lock: each marks its own end of an iteration, and all compute the same
//! next one from the marks. If the first worker moved the epoch on, that would be a race, since workers begin at
//! different times. To find purges, the length of the journal is read, at most every 10 ms, and the corpus is opened
//! again only if there were commits.

mod ahead;
mod batch;
mod collator;
mod corpus;
mod purges;
mod reader;

pub(crate) use ahead::PyBatches;
pub(crate) use batch::PyBatchOrigin;
pub(crate) use collator::{PyCollator, manifest_text};
pub(crate) use reader::PlanReader;
