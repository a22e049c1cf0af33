//! What a text tells about its quality: the scores of published filters, its language, and personal data in it.
//!
//! Every score is a pure function of one text. Names, formulas and thresholds are those of Gopher (Rae et al. 2021,
//! table A1 and section A.1.1), C4 (Raffel et al. 2020), and FineWeb (Penedo et al. 2024), as datatrove 0.10 computes
//! them; a word is what stands between white space. Nothing is filtered here: scores are asked for in SQL, or stored as
//! fields, and thresholds are conditions.

#[doc(inline)]
pub use text::signals::{ScoreValue, Signal, SignalRule, SignalSet, scores};
