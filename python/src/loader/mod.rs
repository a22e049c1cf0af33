//! Reads an epoch in the trainer's process: a small reader, threads that read ahead, and arrays without copies.
//!
//! `reader` opens the corpus and finds the plan. `ahead` has the threads. `made` turns batches into arrays of Python.
//! `origin` has the documents of their rows; `purges` sees that some of them were purged. The position and the state of
//! a loader are in Python (`corpusdb/_loader.py`).

mod ahead;
mod made;
mod origin;
mod purges;
mod reader;

pub(crate) use ahead::Batches;
pub(crate) use origin::Origin;
pub(crate) use reader::Reader;
