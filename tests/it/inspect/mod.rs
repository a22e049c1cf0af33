//! Looking at a corpus: duplicates, statistics, snapshots, the data card.

mod duplicates;
mod matrix;
mod policies;
mod report;
mod snapshots;
