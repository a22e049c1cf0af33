//! Converts any published form of a tokenizer to one `tokenizer.json`, and back to files of others.
//!
//! [`detect_kind`] tells what bytes are, so that a file given as another is named in the error; then one converter for
//! each kind: the canonical form of tokenizers 1.0 (`file::version2`), GPT-2's vocab.json and merges.txt (here), a
//! SentencePiece `.model` (`from_sentencepiece`), tiktoken ranks and a split pattern (`tiktoken`). The user's files are
//! kept beside the result, as given. The way back: a SentencePiece model (`to_sentencepiece`), a directory for
//! transformers (`to_pretrained`).

mod from_sentencepiece;
mod tiktoken;
pub(crate) mod to_pretrained;
pub(crate) mod to_sentencepiece;

#[cfg(test)]
mod tests;

use super::error::TokenizerError;
use super::file::write::{BpeSettings, FileParts, added_token, bpe, byte_level};
use model::text_file::bytes_without_mark;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

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
    /// A SentencePiece `.model`: BPE, Unigram, words or single characters.
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
            require_kind(TokenizerFileKind::TokenizerJson, "tokenizer.json", text)?;
            let json = super::file::version2::to_version_1(text)?.unwrap_or_else(|| text.to_vec());
            (json, vec![("tokenizer.json", bytes)])
        }
        TokenizerInput::VocabAndMerges { vocab, merges } => {
            let (ids, pairs) = (bytes_without_mark(vocab), bytes_without_mark(merges));
            if (detect_kind(ids), detect_kind(pairs))
                == (TokenizerFileKind::Merges, TokenizerFileKind::Vocab)
            {
                let is = "its merges.txt, and the other way around: swap the two";
                return Err(TokenizerError::Misgiven { given: "vocab.json", is });
            }
            require_kind(TokenizerFileKind::Vocab, "vocab.json", ids)?;
            require_kind(TokenizerFileKind::Merges, "merges.txt", pairs)?;
            (
                from_vocab_and_merges(ids, pairs)?,
                vec![("vocab.json", vocab), ("merges.txt", merges)],
            )
        }
        TokenizerInput::SentencePiece(bytes) => {
            require_kind(TokenizerFileKind::SentencePiece, "a SentencePiece model", bytes)?;
            (from_sentencepiece::to_json(bytes)?, vec![("tokenizer.model", bytes)])
        }
        TokenizerInput::Tiktoken { ranks, pattern, specials } => {
            let lines = bytes_without_mark(ranks);
            require_kind(TokenizerFileKind::Tiktoken, "tiktoken ranks", lines)?;
            let json = tiktoken::to_json(lines, pattern, specials)?;
            (json, vec![("ranks.tiktoken", ranks), ("pattern.txt", pattern.as_bytes())])
        }
    };
    let originals =
        originals.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec())).collect();
    Ok(ConvertedTokenizer { json, originals })
}

/// Whether bytes are those of a SentencePiece model.
pub(crate) fn is_sentencepiece(bytes: &[u8]) -> bool {
    is_first_piece(bytes)
}

/// The SentencePiece model that a tokenizer was made of, when that is all it was made of.
pub fn original_model(originals: &[(String, Vec<u8>)]) -> Option<&[u8]> {
    match originals {
        [(_, bytes)] if is_sentencepiece(bytes) => Some(bytes),
        _ => None,
    }
}

/// Kinds of files that are given for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenizerFileKind {
    Empty,
    TokenizerJson,
    TokenizerConfig,
    Vocab,
    Merges,
    SentencePiece,
    Tiktoken,
    Compressed,
    Page,
    LfsPointer,
    Unknown,
}

impl TokenizerFileKind {
    const fn named(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::TokenizerJson => "a tokenizer.json",
            Self::TokenizerConfig => {
                "a file of settings, not a tokenizer; give the tokenizer.json beside it"
            }
            Self::Vocab => "a vocab.json; give it together with its merges.txt",
            Self::Merges => "a merges.txt; give it together with its vocab.json",
            Self::SentencePiece => {
                "a SentencePiece model; load it as one (on the command line its name must end in .model)"
            }
            Self::Tiktoken => {
                "a tiktoken rank file; load it as one, with its split pattern (`pattern=`)"
            }
            Self::Compressed => "compressed; unpack it first",
            Self::Page => "a web page; download the file itself",
            Self::LfsPointer => "a Git LFS pointer; fetch the file with `git lfs pull`",
            Self::Unknown => "of an unknown kind",
        }
    }
}

/// Refuses bytes that are plainly of another kind than `wanted`. Unclear bytes are left to the parser, whose error
/// names the place.
pub(crate) fn require_kind(
    wanted: TokenizerFileKind,
    given: &'static str,
    bytes: &[u8],
) -> Result<(), TokenizerError> {
    let found = detect_kind(bytes);
    // Merges without a header may look like ranks, and JSON that does not parse like nothing.
    let is_plausible = found == wanted
        || found == TokenizerFileKind::Unknown
        || (wanted == TokenizerFileKind::Merges
            && matches!(found, TokenizerFileKind::Tiktoken | TokenizerFileKind::Empty))
        || (wanted == TokenizerFileKind::Tiktoken
            && found == TokenizerFileKind::Merges
            && !bytes.starts_with(b"#version"));
    if is_plausible {
        return Ok(());
    }
    Err(TokenizerError::Misgiven { given, is: found.named() })
}

/// Looks at the head, and for JSON at the keys.
pub(crate) fn detect_kind(bytes: &[u8]) -> TokenizerFileKind {
    let start = bytes.trim_ascii_start();
    match start {
        _ if is_first_piece(bytes) => TokenizerFileKind::SentencePiece,
        [] => TokenizerFileKind::Empty,
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'P', b'K', 3, 4, ..] => {
            TokenizerFileKind::Compressed
        }
        [b'<', b'!' | b'h' | b'H', ..] => TokenizerFileKind::Page,
        [b'{', ..] => json_form(start),
        _ if start.starts_with(b"version https://git-lfs") => TokenizerFileKind::LfsPointer,
        _ if start.starts_with(b"#version") => TokenizerFileKind::Merges,
        _ => line_form(start),
    }
}

/// Field 1, a message: the first piece; in it field 1, its spelling, and perhaps its score and kind.
fn is_first_piece(bytes: &[u8]) -> bool {
    const SCORE: u8 = 5;
    const KIND: u8 = 2;
    let [0x0a, piece, 0x0a, spelling, ..] = *bytes else { return false };
    let rest = piece.checked_sub(spelling).and_then(|rest| rest.checked_sub(2));
    rest.is_some_and(|rest| [0, SCORE, KIND, SCORE + KIND].contains(&rest))
}

fn json_form(bytes: &[u8]) -> TokenizerFileKind {
    let Ok(file) = serde_json::from_slice::<HashMap<String, &RawValue>>(bytes) else {
        return TokenizerFileKind::Unknown;
    };
    // First: a vocabulary may have any word in it.
    if !file.is_empty() && file.values().all(|value| value.get().parse::<u32>().is_ok()) {
        TokenizerFileKind::Vocab
    } else if file.contains_key("model") {
        TokenizerFileKind::TokenizerJson
    } else if file.contains_key("tokenizer_class") || file.contains_key("added_tokens_decoder") {
        TokenizerFileKind::TokenizerConfig
    } else {
        TokenizerFileKind::Unknown
    }
}

/// By the first line that is not empty: two fields, the second a number or not.
fn line_form(bytes: &[u8]) -> TokenizerFileKind {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return TokenizerFileKind::Unknown };
    let fields: Vec<&str> = line.split_whitespace().collect();
    match fields.as_slice() {
        [token, rank] if rank.parse::<u32>().is_ok() && is_base64(token) => {
            TokenizerFileKind::Tiktoken
        }
        [_, _] => TokenizerFileKind::Merges,
        _ => TokenizerFileKind::Unknown,
    }
}

fn is_base64(token: &str) -> bool {
    token.len().is_multiple_of(4)
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
}

/// The one special token of GPT-2 and of the models that took over its files.
const END_OF_TEXT: &str = "<|endoftext|>";

/// Turns the bytes of `vocab.json` (token to id) and of `merges.txt` (two tokens a line, best
/// first) into those of a `tokenizer.json`: byte-level BPE with GPT-2's split pattern, and
/// `<|endoftext|>` as a special token when the vocabulary has it.
///
/// # Errors
/// [`TokenizerError::Vocab`] and [`TokenizerError::Merges`], with the line.
pub fn from_vocab_and_merges(vocab: &[u8], merges: &[u8]) -> Result<Vec<u8>, TokenizerError> {
    let ids: HashMap<String, u32> =
        serde_json::from_slice(vocab).map_err(|error| TokenizerError::Vocab(error.to_string()))?;
    let mut by_id = BTreeMap::new();
    for (token, id) in &ids {
        if by_id.insert(*id, token.as_str()).is_some() {
            return Err(TokenizerError::Vocab(format!("two tokens have the id {id}")));
        }
    }
    if by_id.is_empty() {
        return Err(TokenizerError::Vocab("no token in it".to_owned()));
    }
    let merges = parse_merges(merges, &ids)?;
    let vocab: Map<String, Value> =
        by_id.into_iter().map(|(id, token)| (token.to_owned(), Value::from(id))).collect();
    let end_of_text = ids.get(END_OF_TEXT).map(|id| added_token(*id, END_OF_TEXT, true));
    let parts = FileParts {
        added_tokens: end_of_text.into_iter().collect(),
        normalizer: Value::Null,
        pre_tokenizer: byte_level(true),
        decoder: byte_level(true),
        model: bpe(vocab, merges.into(), &BpeSettings::default()),
    };
    parts.into_json()
}

fn parse_merges(merges: &[u8], ids: &HashMap<String, u32>) -> Result<Vec<Value>, TokenizerError> {
    let text = std::str::from_utf8(merges).map_err(|error| TokenizerError::Merges {
        line: 1 + merges.iter().take(error.valid_up_to()).filter(|b| **b == b'\n').count(),
        what: "not UTF-8".to_owned(),
    })?;
    let mut pairs = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with("#version") {
            continue;
        }
        let fail = |what: String| TokenizerError::Merges { line: index + 1, what };
        let (left, right) = line
            .split_once(' ')
            .filter(|(left, right)| !left.is_empty() && !right.is_empty() && !right.contains(' '))
            .ok_or_else(|| fail("not two tokens with one space between".to_owned()))?;
        for token in [left, right, &format!("{left}{right}")] {
            if !ids.contains_key(token) {
                return Err(fail(format!("`{token}` is not in vocab.json")));
            }
        }
        pairs.push(Value::from(vec![left, right]));
    }
    Ok(pairs)
}
