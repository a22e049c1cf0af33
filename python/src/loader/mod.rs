//! Reads an epoch in the trainer's process: a small reader, threads that read ahead, and arrays without copies.
//!
//! `corpus` is what is read, `purges` sees that some of it was purged. `batch` turns batches into arrays of Python, with
//! the documents of their rows, and `ahead` has the threads. `reader` is the face of it all. The position and the state
//! of a loader are in Python (`corpusdb/_loader.py`). `collator` makes batches of rows of built files, without a corpus.

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
