//! Training a tokenizer from a table of pre-tokens: BPE, WordPiece or Unigram, by the stock trainers.
//!
//! Stages: [`pipeline`] says how texts are split, a [`PretokenCounter`] counts what they are split into, by group;
//! [`train`] weighs the groups (`balance`), chooses the characters (`alphabet`), brings the counts under the trainer's
//! limits (`scale`), runs it (`models`), puts the tokens in that were asked for (`seeds`) and writes the file.
//! [`unigrams`] trains a Unigram to many sizes at once (`sizes`, `passes`). [`tokens_by_group`] then tells what it
//! makes of each group. The same table and options give the same bytes, in any process, on any number of threads.

mod alphabet;
mod balance;
mod check;
mod count;
mod measure;
mod models;
mod options;
mod passes;
mod pipeline;
mod report;
mod run;
mod scale;
mod seeds;
mod sizes;

pub use count::{PretokenCounter, PretokenTable, TextTotals};
pub use measure::tokens_by_group;
pub use options::{DigitSplit, ModelKind, TrainOptions, UnicodeForm};
pub use pipeline::pretokenizer_file;
pub use report::{RoundTrip, TrainGroupReport, TrainReport};
pub use run::{TrainedTokenizer, train};
pub(super) use sizes::{SizeRequest, SizedModel, train_sizes};

#[cfg(test)]
mod tests;
