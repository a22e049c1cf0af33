//! Training a tokenizer from a table of pre-tokens: BPE, WordPiece or Unigram, by the stock trainers; WordPiece by
//! likelihood by ours, since they have none.
//!
//! Stages: `layout` says how texts are split ([`pretokenizer_file`]), a [`PretokenCounter`] counts what they are split
//! into, by group; [`train`] weighs the groups, chooses the characters and brings the counts under the trainer's limits
//! (`weigh`), runs it (`trainers`), puts the tokens in that were asked for and writes the file (`run`). [`train_sizes`]
//! trains a Unigram to many sizes at once. [`tokens_by_group`] then counts what it makes of each group. The same table
//! and options give the same bytes, in any process, on any number of threads.

mod count;
mod layout;
mod options;
mod report;
mod run;
mod trainers;
mod unigram_sizes;
mod weigh;

#[cfg(test)]
mod likelihood_tests;
#[cfg(test)]
mod tests;

pub use crate::sampled::TextTotals;
pub use count::{PretokenCounter, PretokenTable};
pub use layout::pretokenizer_file;
pub use options::{DigitSplit, MergeScore, ModelKind, TrainOptions, UnicodeForm};
pub use report::{RoundTrip, TrainGroupReport, TrainReport, tokens_by_group};
pub use run::{TrainingOutput, train};
pub(super) use unigram_sizes::{SizeRequest, SizedModel, train_sizes};
