//! Text to token ids and back: loading, encoding, training. The only code that names the tokenizers crates.
//!
//! Use it to encode without a corpus ([`Tokenizer`]), to read what others published ([`convert`]), and to say what is
//! trained, extended and registered ([`TrainOptions`], [`TermOptions`], [`GrowthOptions`], [`TokenizerRegistration`]).
//! [`analyse`] measures tokenizers against each other.
//!
//! ```
//! use corpusdb::tokenizer::Tokenizer;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
//!     {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1, "page": 2}, "unk_token": "<unk>"}}"#;
//! let tokenizer = Tokenizer::load(file, &[])?;
//! let mut ids = Vec::new();
//! tokenizer.encoder().encode("a whole page", &mut ids)?;
//! assert_eq!(ids, [1, 0, 2]);
//! # Ok(())
//! # }
//! ```
//!
//! Stages of a tokenizer's life: a `tokenizer.json` is had from whatever its author published
//! ([`convert`]), by training (`train`) or by extension (`extend`). Loading proves
//! the fast encoder against the reference implementation; [`Encoder`] then appends ids.
//!
//! Two encoders stand behind one type. `oracle` is the reference (tokenizers 0.23): its ids are
//! right by definition. `fast` (tokenizers 1.0 release candidate) is some forty times faster and is
//! used only after it gave the oracle's ids on hostile strings and on the caller's sample.

pub mod analyse;
mod check;
mod cut_places;
mod cuts;
mod doubt;
mod encode;
mod error;
mod extend;
mod extend_error;
mod fast;
mod file;
mod load;
mod merges;
mod new;
mod oracle;
mod pattern;
mod prepare;
mod proto;
mod self_test;
mod shown_tokens;
mod spelling;
mod split;
mod stored;
mod train;
mod unigram;
mod vocabulary;
mod write;

pub(crate) use check::check;
pub use check::{CheckCase, CheckVerdict, EncoderLibrary, TokenizerCheck};
pub use encode::{Encoder, EncoderBackend, Tokenizer};
pub use error::TokenizerError;
pub use extend::{
    EmbeddingMap, EmbeddingRow, FormReport, GrowthOptions, TermCounts, TermForms, TermOptions,
    TermOutcome, TermReport, TokenOrigin, TokenizerExtension, VocabularyDiff,
};
pub(crate) use extend::{
    ReencodeFilter, ReencodeScratch, extend_by_growth, extend_by_terms, vocabulary_diff,
};
pub use extend_error::ExtendError;
pub use load::{ConvertedTokenizer, TokenizerInput, convert, from_vocab_and_merges};
pub use new::TokenizerRegistration;
pub use pattern::{NAMED_PATTERNS, PretokenPattern};
pub use shown_tokens::TokenPiece;
pub(crate) use shown_tokens::token_pieces;
pub use spelling::TokenOffsets;
pub(crate) use split::PretokenSplitter;
pub use train::{
    DigitSplit, ModelKind, RoundTrip, TextTotals, TrainGroupReport, TrainOptions, TrainReport,
    UnicodeForm,
};
pub(crate) use train::{
    PretokenCounter, PretokenTable, TrainedTokenizer, pretokenizer_file, tokens_by_group, train,
};
pub(crate) use write::to_sentencepiece;

/// The reference library and its version: ids are right when they are its.
pub const REFERENCE: &str = "tokenizers 0.23.2";
/// The library behind the fast encoder, and its version.
pub const FAST: &str = "tokenizers 1.0.0-rc.3";

#[cfg(test)]
mod tests;
