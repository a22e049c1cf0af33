//! Reads an epoch in the trainer's process: a small reader, threads that read ahead, and arrays without copies.
//!
//! `corpus` is what is read, `purges` sees that some of it was purged. `batch` turns batches into arrays of Python, with
//! the documents of their rows, and `ahead` has the threads. `reader` is the face of it all. The position and the state
//! of a loader are in Python (`corpusdb/_loader.py`). `collator` makes batches of rows of built files, without a corpus.
//!
//! An iteration ends with its last batch, not when one more is asked for: trainers that count `len` batches never ask.
//! Epochs follow on by themselves, since trainers that begin a loop again mean the next epoch; only evaluation begins
//! again. What a trainer would split or collate again cannot be seen in a dataset, so the calls under way are looked at
//! where an iteration begins, in every process: an error there is better than half of an epoch.
//!
//! Workers share a dataset's position without a lock: each marks its own end of an iteration, and all read the same
//! next one from the marks. Whoever moved an epoch on first would be a race, since workers begin at other times. Purges
//! are looked for by the length of the journal, at most every 10 ms, and the corpus is opened again only if there were
//! commits.

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
