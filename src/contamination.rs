//! Contamination: finds the items of evaluation suites in texts, as pure functions without a store and without I/O.
//!
//! Use it to name what [`Corpus::contamination`](crate::Corpus::contamination) and its siblings take and answer.
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
