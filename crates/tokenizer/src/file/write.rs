//! Puts the parts of a `tokenizer.json` together, in the order and form its published files have.

use crate::error::TokenizerError;
use serde_json::{Map, Value, json};

/// The parts that decide ids and text; what is added around or cut from a text is left out.
pub(crate) struct FileParts {
    pub(crate) added_tokens: Vec<Value>,
    pub(crate) normalizer: Value,
    pub(crate) pre_tokenizer: Value,
    pub(crate) decoder: Value,
    pub(crate) model: Value,
}

impl FileParts {
    pub(crate) fn into_json(self) -> Result<Vec<u8>, TokenizerError> {
        let file = json!({
            "version": "1.0",
            "truncation": null,
            "padding": null,
            "added_tokens": self.added_tokens,
            "normalizer": self.normalizer,
            "pre_tokenizer": self.pre_tokenizer,
            "post_processor": null,
            "decoder": self.decoder,
            "model": self.model
        });
        serde_json::to_vec_pretty(&file).map_err(TokenizerError::Write)
    }
}

/// A token found in the text before the model sees it; a special one only where specials are special.
pub(crate) fn added_token(id: u32, content: &str, special: bool) -> Value {
    json!({
        "id": id, "content": content, "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": special
    })
}

/// Settings in which the forms of BPE differ.
#[derive(Default)]
pub(crate) struct BpeSettings<'a> {
    pub(crate) unk_token: Option<&'a str>,
    pub(crate) fuse_unk: bool,
    pub(crate) byte_fallback: bool,
    pub(crate) ignore_merges: bool,
    pub(crate) end_of_word_suffix: Option<&'a str>,
}

impl<'a> BpeSettings<'a> {
    /// The settings of a BPE on characters that falls back to bytes, with a token for what is unknown even so.
    pub(crate) fn falling_back(unknown: &'a str) -> Self {
        Self { unk_token: Some(unknown), fuse_unk: true, byte_fallback: true, ..Self::default() }
    }
}

/// The token of a byte that falls back, as SentencePiece spells it.
pub(crate) fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// The byte that such a token stands for.
pub(crate) fn byte_of_token(token: &str) -> Option<u8> {
    let digits = token.strip_prefix("<0x")?.strip_suffix('>')?;
    let byte = u8::from_str_radix(digits, 16).ok()?;
    (byte_token(byte) == token).then_some(byte)
}

/// A BPE model; `vocab` is written in the order given: by id.
pub(crate) fn bpe(vocab: Map<String, Value>, merges: Value, settings: &BpeSettings<'_>) -> Value {
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": settings.unk_token,
        "continuing_subword_prefix": null,
        "end_of_word_suffix": settings.end_of_word_suffix,
        "fuse_unk": settings.fuse_unk,
        "byte_fallback": settings.byte_fallback,
        "ignore_merges": settings.ignore_merges,
        "vocab": vocab,
        "merges": merges
    })
}

/// The byte-level step, with GPT-2's split or without one.
pub(crate) fn byte_level(use_regex: bool) -> Value {
    json!({
        "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex
    })
}

/// Replaces a plain string.
pub(crate) fn replace(from: &str, to: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "String": from }, "content": to })
}

/// Replaces what a regular expression finds.
pub(crate) fn replace_regex(from: &str, to: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": from }, "content": to })
}

/// Cuts by a pattern, whose matches are kept.
pub(crate) fn split(pattern: Value, behavior: &str) -> Value {
    json!({ "type": "Split", "pattern": pattern, "behavior": behavior, "invert": false })
}

/// Steps one behind the other; a single one stands alone, none is null.
pub(crate) fn sequence(children: &str, mut steps: Vec<Value>) -> Value {
    match steps.len() {
        0 => Value::Null,
        1 => steps.pop().unwrap_or_default(),
        _ => json!({ "type": "Sequence", children: steps }),
    }
}
