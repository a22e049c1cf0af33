//! Any published form of a tokenizer as one `tokenizer.json`.
//!
//! Stages: `sniff` tells what bytes are, so that a file given as another is named in the error; then one
//! converter for each form: `dialects` (the canonical form of tokenizers 1.0 back to the one the oracle
//! reads), `gpt2` (vocab.json and merges.txt), `sentencepiece` (a `.model`, with `from_pieces` for its two kinds
//! of model), `tiktoken` (ranks and a split pattern). The user's files are kept beside the result, as given.

mod dialects;
mod from_pieces;
mod gpt2;
mod sentencepiece;
mod sniff;
mod tiktoken;

#[cfg(test)]
mod tests;

use super::error::TokenizerError;
use crate::model::text_file::bytes_without_mark;

pub use gpt2::from_vocab_and_merges;

/// The bytes of a tokenizer's files.
#[derive(Clone, Copy, Debug)]
pub enum TokenizerInput<'a> {
    /// A `tokenizer.json`, of tokenizers 0.x or in the canonical form of 1.0.
    TokenizerJson(&'a [u8]),
    /// GPT-2's two files.
    VocabAndMerges {
        /// `vocab.json`: token to id.
        vocab: &'a [u8],
        /// `merges.txt`: two tokens a line, best first.
        merges: &'a [u8],
    },
    /// A SentencePiece `.model`: BPE, Unigram or single characters.
    SentencePiece(&'a [u8]),
    /// A tiktoken rank file, which does not hold the split pattern.
    Tiktoken {
        /// A line for each token: base64 of its bytes, its rank.
        ranks: &'a [u8],
        /// The name of a published split pattern, or a regular expression.
        pattern: &'a str,
        /// Special tokens with their ids.
        specials: &'a [(String, u32)],
    },
}

/// A tokenizer as the reference implementation reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvertedTokenizer {
    /// A `tokenizer.json`; the user's own bytes when they can be read as they are.
    pub json: Vec<u8>,
    /// What was given: file name and bytes.
    pub originals: Vec<(String, Vec<u8>)>,
}

/// Turns whatever was given into a `tokenizer.json`. It is parsed, not loaded: what no encoder can use
/// is found by [`Tokenizer::load`](super::Tokenizer::load).
///
/// # Errors
/// [`TokenizerError::Misgiven`] when the bytes are another kind of file, and the error of the kind
/// otherwise, with line or byte.
pub fn convert(given: TokenizerInput<'_>) -> Result<ConvertedTokenizer, TokenizerError> {
    let (json, originals) = match given {
        TokenizerInput::TokenizerJson(bytes) => {
            let text = bytes_without_mark(bytes);
            sniff::require_kind(sniff::TokenizerFileKind::TokenizerJson, "tokenizer.json", text)?;
            let json = dialects::to_version_1(text)?.unwrap_or_else(|| text.to_vec());
            (json, vec![("tokenizer.json", bytes)])
        }
        TokenizerInput::VocabAndMerges { vocab, merges } => {
            let (ids, pairs) = (bytes_without_mark(vocab), bytes_without_mark(merges));
            if (sniff::detect_kind(ids), sniff::detect_kind(pairs))
                == (sniff::TokenizerFileKind::Merges, sniff::TokenizerFileKind::Vocab)
            {
                let is = "its merges.txt, and the other way around: swap the two";
                return Err(TokenizerError::Misgiven { given: "vocab.json", is });
            }
            sniff::require_kind(sniff::TokenizerFileKind::Vocab, "vocab.json", ids)?;
            sniff::require_kind(sniff::TokenizerFileKind::Merges, "merges.txt", pairs)?;
            (
                from_vocab_and_merges(ids, pairs)?,
                vec![("vocab.json", vocab), ("merges.txt", merges)],
            )
        }
        TokenizerInput::SentencePiece(bytes) => {
            sniff::require_kind(
                sniff::TokenizerFileKind::SentencePiece,
                "a SentencePiece model",
                bytes,
            )?;
            (sentencepiece::to_json(bytes)?, vec![("tokenizer.model", bytes)])
        }
        TokenizerInput::Tiktoken { ranks, pattern, specials } => {
            let lines = bytes_without_mark(ranks);
            sniff::require_kind(sniff::TokenizerFileKind::Tiktoken, "tiktoken ranks", lines)?;
            let json = tiktoken::to_json(lines, pattern, specials)?;
            (json, vec![("ranks.tiktoken", ranks), ("pattern.txt", pattern.as_bytes())])
        }
    };
    let originals =
        originals.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
    Ok(ConvertedTokenizer { json, originals })
}
