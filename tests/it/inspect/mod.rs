//! Looking at a corpus: duplicates, statistics, snapshots, the data card.

mod duplicates;
mod iterators;
mod matrix;
mod report;
mod snapshots;
mod stats;
