//! Reading an epoch in the trainer's process: a small reader of its own, a thread that reads ahead, arrays without
//! copies.
//!
//! `reader` opens the corpus and finds the plan; `ahead` is the thread; `made` is a batch made ready for Python and how
//! it becomes arrays; `origin` is what its rows are made of. Where a loader stands, what it resumes from and what it tells is Python (`corpusdb/_loader.py`).

mod ahead;
mod made;
mod origin;
mod reader;

pub(crate) use ahead::Batches;
pub(crate) use origin::Origin;
pub(crate) use reader::Reader;
