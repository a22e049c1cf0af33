//! The properties of an epoch, each by its definition: a checker that knows stored tokens and the rows of
//! the public reader, and nothing of how rows are made.
//!
//! `place` makes corpora and holds what they store; `row` checks a row by itself, `run` the rows of a run one after the
//! other. `laws` draws recipes and checks each; `worlds` cuts epochs among ranks and resumes them; `steps` reads them
//! without a thread, and rows by their numbers; `from_files` takes ids from built files; `budgets` walks runs to their
//! ends; `mixes`, `orders`, `selection`, `holdouts`, `moves`, `trained`, `append`, `chains`, `marks`, `ends` and
//! `refusals` take up what needs a corpus of its own.

mod append;
mod batches;
mod builds;
mod ends;
mod formats;
mod holdouts;
mod laws;
mod masks;
mod orders;
mod plans;
mod sharded;
mod steps;
mod verbs;
