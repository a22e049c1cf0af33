//! Contamination: finds the items of evaluation suites in texts, as pure functions without a store and without I/O.
//!
//! A suite is a list of items, each of a question, an answer and a passage, which may be several texts. `layout` finds
//! them in records, `options` the option that an answer names, `literal` lists that are texts of a table. `suite` makes
//! of them what is searched for: every run of [`SEED`] and of [`PIECE`] tokens of a text, and short questions as a
//! whole. `SeedIndex` holds these of all suites, and finds them in a text by its tokens. What it finds is stored; of
//! the runs that are shorter than [`SEED`] only pieces, which keep their distance. `SuiteIndex` makes evidence of it:
//! by item and part how much of it is there ([`Evidence::score`], [`Evidence::tokens`]), and in how long a run
//! ([`Evidence::longest_run`]). [`ContaminationRule`] says from where on a document counts as contaminated.
//!
//! Inside, `scanner` searches a text for all suites at once, `index` is one suite with the n-grams that are ignored as
//! common, `evidence` has the scores and the rule, and `review` the part of a text shown around its marks and how often
//! a rule is right, by verdicts. Ingest searches new texts by the tokens of their fingerprints, `curate` stored ones,
//! and `sql` makes evidence of what was found: what is stored depends on text and suite alone, while common n-grams,
//! and so scores, may change with every commit.

mod evidence;
mod index;
mod layout;
#[cfg(test)]
mod layout_tests;
mod literal;
mod options;
mod record_fields;
mod review;
mod scanner;
mod suite;
#[cfg(test)]
mod tests;

pub use evidence::{ContaminationRule, Evidence};
pub use index::{CommonGrams, SuiteIndex};
pub use layout::{ITEM_RULE, LayoutNotes, SuiteFields, SuiteLayout, UnsearchedField};
pub use review::{Excerpt, RulePrecision, excerpts};
pub use scanner::{SeedIndex, SeedScratch, TextTokens};
pub use suite::{SuiteNgrams, suite_ngrams};

pub use model::{ItemText, SuiteItem, SuitePart, SuiteVerdict};

/// Tokens of the n-grams that are searched for.
pub const SEED: usize = 8;
/// Tokens of the shortest runs that count beside others at the same distance: pieces.
pub const PIECE: usize = 5;
/// Tokens that runs of one part at the same distance have in all, at least, to be pieces.
pub const ALIGNED: usize = 10;
/// Tokens of a part that are enough, within n-grams and pieces.
pub const VERDICT: usize = 10;
/// Tokens of the shortest part that counts by its n-grams; a question of fewer counts as a whole, with its answer near
/// it.
pub const SHORT: usize = 13;
/// Tokens of the shortest question that is searched for.
pub const SHORTEST: usize = 5;
/// Tokens between a short question and its answer, at most.
pub const NEAR: usize = 64;
/// Tokens between two places of an item in a text that belong together, at most.
pub const GAP: u64 = 32;
/// Items of a suite that may have an n-gram, places where a piece may stand: beyond it is a form of words, and says
/// nothing of any of them.
pub const MOST_ITEMS: u32 = 64;
/// Runs, and pieces, that are kept of a text for a suite; beyond them the longest.
pub const MOST_RUNS: usize = 4096;
