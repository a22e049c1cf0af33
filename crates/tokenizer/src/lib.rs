//! Tokenizers: text to token ids and back, and how they are loaded, converted, trained, extended and measured.
//!
//! Stages of a tokenizer's life: a `tokenizer.json` is had from whatever its author published
//! ([`convert`]), by training (`train`) or by extension (`extend`). Loading proves
//! the fast encoder against the reference implementation; [`Encoder`] then appends ids.
//!
//! Encoders stand behind one type (`engine`). The reference is right by definition: of a `tokenizer.json` the
//! `tokenizers` library (0.23), of a `.model` SentencePiece's algorithm (`sentencepiece`). The fast engine (tokenizers
//! 1.0, a release candidate) is much faster than the first and is used only after it gave the reference's ids on
//! hostile texts and on the caller's sample.

pub mod analyse;
mod check;
mod convert;
mod encode;
mod engine;
mod error;
mod extend;
mod file;
mod models;
mod sentencepiece;
mod train;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use check::{CheckCase, CheckVerdict, EncoderLibrary, TokenizerCheck};
pub use check::{CheckSubject, check, library_difference};
pub use convert::original_model;
pub use convert::to_sentencepiece::WrittenModel;
pub use convert::to_sentencepiece::to_sentencepiece;
pub use convert::{ConvertedTokenizer, TokenizerInput, convert, from_vocab_and_merges};
pub use encode::token_pieces;
pub use encode::{
    Encoder, EncoderBackend, EngineTexts, TokenPiece, Tokenizer, TokenizerRegistration,
};
pub use encode::{is_sentencepiece_reference, stored_vocabulary};
pub use engine::splitter::PretokenSplitter;
pub use error::{ExtendError, TokenizerError};
pub use extend::{
    EmbeddingMap, EmbeddingRow, FormReport, GrowthOptions, TermCounts, TermForms, TermOptions,
    TermOutcome, TermReport, TokenOrigin, TokenizerExtension, VocabularyDiff,
};
pub use extend::{
    ReencodeFilter, ReencodeScratch, extend_by_growth, extend_by_terms, vocabulary_diff,
};
pub use file::pattern::{NAMED_PATTERNS, PretokenPattern};
pub use train::{
    DigitSplit, ModelKind, RoundTrip, TextTotals, TrainGroupReport, TrainOptions, TrainReport,
    UnicodeForm,
};
pub use train::{
    PretokenCounter, PretokenTable, TrainingOutput, pretokenizer_file, tokens_by_group, train,
};
pub use vocabulary::TokenOffsets;
pub use vocabulary::Vocabulary;

/// The reference library of a `tokenizer.json` and its version: ids are right when they are its.
pub const REFERENCE: &str = "tokenizers 0.23.2";
/// The release of SentencePiece whose ids a `.model` has here.
pub const SENTENCEPIECE: &str = "sentencepiece 0.2.3";
/// The library behind the fast encoder, and its version.
pub const FAST: &str = "tokenizers 1.0.0-rc.3";

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
