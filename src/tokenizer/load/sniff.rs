//! Tells what kind of tokenizer file some bytes are, so that a wrong one is called by its name.

use crate::tokenizer::TokenizerError;
use serde_json::value::RawValue;
use std::collections::HashMap;

/// Kinds of files that are given for one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenizerFileKind {
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

/// Refuses bytes that are plainly of another kind than `wanted`. What cannot be told is left to the
/// parser, whose error names the place.
pub(super) fn require_kind(
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
pub(super) fn detect_kind(bytes: &[u8]) -> TokenizerFileKind {
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
