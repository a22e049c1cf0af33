//! Contamination: finds the items of evaluation suites in texts, as pure functions without a store and without I/O.
//!
//! Use it to name what [`Corpus::contamination`](crate::Corpus::contamination) and its siblings take and answer.
//!
//! A suite is a list of items, each of a question, an answer and a passage, which may be several texts. `layout` finds
//! them in records, `options` the option that an answer names, `literal` lists that are texts of a table. `suite` makes
//! of them what is searched for: every run of [`SEED`] and of [`PIECE`] tokens of a text, and short questions as a
//! whole. `SeedIndex` holds these of all suites, and finds them in a text by its tokens. What it finds is stored; of
//! the runs that are shorter than [`SEED`] only pieces, which keep their distance. `SuiteIndex` makes evidence of it:
//! by item and part how much of it is there ([`Evidence::score`], [`Evidence::tokens`]), and in how long a run
//! ([`Evidence::longest_run`]). [`ContaminationRule`] says from where on a document counts as contaminated.
//!
//! ```
//! use corpusdb::contamination::ContaminationRule;
//!
//! // A third of an item, 10 tokens at least, is enough; n-grams of 50 documents from 3 sources are ignored.
//! let rule = ContaminationRule::default();
//! assert_eq!((rule.score, rule.tokens), (0.3, 10));
//! assert_eq!((rule.common_documents, rule.common_sources), (50, 3));
//! ```

#[doc(inline)]
pub use text::contamination::{
    ALIGNED, ContaminationRule, Evidence, Excerpt, GAP, ItemText, MOST_ITEMS, MOST_RUNS, NEAR,
    PIECE, RulePrecision, SEED, SHORT, SHORTEST, SuiteFields, SuiteItem, SuitePart, SuiteVerdict,
    UnsearchedField, VERDICT,
};
