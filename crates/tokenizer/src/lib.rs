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
//!
//! `ngram` takes ids, whatever gave them: how likely those of a document are after one another.

pub mod analyse;
mod check;
mod convert;
mod encode;
mod engine;
mod error;
mod extend;
mod file;
mod models;
mod ngram;
mod sampled;
mod segmentation;
mod sentencepiece;
mod train;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use check::{
    CheckCase, CheckSubject, CheckVerdict, EncoderLibrary, TokenizerCheck, check,
    library_difference,
};
pub use convert::to_pretrained::{PretrainedSettings, to_pretrained};
pub use convert::to_sentencepiece::{WrittenModel, to_sentencepiece};
pub use convert::{
    ConvertedTokenizer, TokenizerInput, convert, from_vocab_and_merges, original_model,
};
pub use encode::{
    Encoder, EncoderBackend, EngineTexts, TokenPiece, Tokenizer, TokenizerRegistration,
    is_sentencepiece_reference, stored_vocabulary,
};
pub use engine::splitter::PretokenSplitter;
pub use error::{ExtendError, TokenizerError};
pub use extend::{
    EmbeddingMap, EmbeddingRow, FormReport, GrowthOptions, ReencodeFilter, ReencodeScratch,
    TermCounts, TermForms, TermOptions, TermOutcome, TermReport, TokenOrigin, TokenizerExtension,
    VocabularyDiff, extend_by_growth, extend_by_terms, vocabulary_diff,
};
pub use file::pattern::{NAMED_PATTERNS, PretokenPattern};
pub use ngram::{KneserNey, NgramCounts};
pub use segmentation::{BestSegmentations, MOST_SEGMENTATIONS, ScoredSegmentation, Segmentation};
pub use train::{
    DigitSplit, MergeScore, ModelKind, PretokenCounter, PretokenTable, RoundTrip, TextTotals,
    TrainGroupReport, TrainOptions, TrainReport, TrainingOutput, UnicodeForm, pretokenizer_file,
    tokens_by_group, train,
};
pub use vocabulary::{TokenOffsets, Vocabulary};

/// The reference library of a `tokenizer.json` and its version: ids are right when they are its.
pub const REFERENCE: &str = "tokenizers 0.23.2";
/// The release of SentencePiece whose ids a `.model` has here.
pub const SENTENCEPIECE: &str = "sentencepiece 0.2.3";
/// The library behind the fast encoder, and its version.
pub const FAST: &str = "tokenizers 1.0.0-rc.3";

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
