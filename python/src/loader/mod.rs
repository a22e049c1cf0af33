//! Reads an epoch in the trainer's process: a small reader, threads that read ahead, and arrays without copies.
//!
//! `reader` opens the corpus and finds the plan. `ahead` has the threads. `ready` turns batches into arrays of Python.
//! `origin` has the documents of their rows; `purges` sees that some of them were purged. The position and the state of
//! a loader are in Python (`corpusdb/_loader.py`).

mod ahead;
mod origin;
mod purges;
mod reader;
mod ready;

pub(crate) use ahead::PyBatches;
pub(crate) use origin::PyBatchOrigin;
pub(crate) use reader::PlanReader;
