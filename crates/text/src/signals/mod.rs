//! Scores of a text's quality by published filters, its language, and personal data in it.
//!
//! Every score is a pure function of one text. Names, formulas and thresholds are those of Gopher (Rae et al. 2021,
//! table A1 and section A.1.1), C4 (Raffel et al. 2020), and FineWeb (Penedo et al. 2024), as datatrove 0.10 computes
//! them; a word is what stands between white space. Nothing is filtered here: scores are asked for in SQL, or stored as
//! fields, and thresholds are conditions.
//!
//! `characters` says what a letter is; `words`, `lines`, `repetition` and `c4` count; `language` has codes, stop words
//! and detection, by `han` where a text is in Han alone; `pii` has personal data, `top_domains` how domains end;
//! `scores` names all that can be stored and computes several at once; `presets` are the published thresholds as
//! conditions.

mod c4;
mod characters;
mod han;
mod language;
mod lines;
mod pii;
#[cfg(test)]
mod pii_tests;
mod presets;
mod repetition;
mod scores;
#[cfg(test)]
mod tests;
mod top_domains;
mod words;

pub use c4::{c4_line_fraction, c4_sentence_count};
pub use language::{language, language_score, stopword_count};
pub use lines::{
    bullet_fraction, char_dup_fraction, dup_line_char_fraction, dup_line_fraction,
    dup_paragraph_char_fraction, dup_paragraph_fraction, ellipsis_fraction, long_line_count,
    short_line_fraction, terminal_punctuation_fraction,
};
pub use pii::pii;
pub use presets::SignalRule;
pub use repetition::{compression_ratio, dup_ngram_fraction, top_ngram_fraction};
pub use scores::{ScoreValue, Signal, SignalSet, pii_kinds, scores, scores_json};
pub use words::{alpha_ratio, mean_word_length, newline_ratio, symbol_ratio, word_count};
