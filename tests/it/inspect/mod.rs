//! Looking at a corpus: duplicates, statistics, snapshots, the data card.

mod duplicates;
mod iterators;
mod matrix;
mod policies;
mod report;
mod similar;
mod snapshots;
mod stats;
