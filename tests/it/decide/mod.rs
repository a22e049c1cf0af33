//! The dedup contract against brute force: a world is a corpus beside the naive model of it.
//!
//! * `model`: standing from scratch;
//! * `contract`: witnesses, independence, the kept set; in every mode, order and scope;
//! * `laws`: splits, threads and orders of batches do not matter;
//! * `changes`: supersession, removal and restoring in random sequences;
//! * `redo`: another policy and back; `moments`: what changed between snapshots;
//! * `crowds`: families of templates, larger than a bucket shows; `clusters`: the same in the transitive modes;
//! * `alarms`: a batch that loses too much is refused;
//! * `growth`: what twice as many cost; `settling`: what does not fit into memory;
//! * `examples`: told by example.

mod changes;
mod contract;
mod crowds;
mod moments;
mod same_text;
