//! Writes the bytes of a `tokenizer.json`.

use super::error::TokenizerError;
use serde_json::{Map, Value, json};

/// What a `tokenizer.json` holds.
pub(super) struct TokenizerFile<'a> {
    /// Special tokens (spelling, id).
    pub(super) added: &'a [(String, u32)],
    pub(super) normalizer: Value,
    pub(super) pre_tokenizer: Value,
    pub(super) decoder: Value,
    pub(super) model: Value,
}

/// The bytes of the file; keys in the order that the reference implementation writes.
pub(super) fn write(file: &TokenizerFile) -> Result<Vec<u8>, TokenizerError> {
    let added: Vec<Value> = file
        .added
        .iter()
        .map(|(content, id)| {
            json!({
                "id": id, "content": content, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true
            })
        })
        .collect();
    let file = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": file.normalizer,
        "pre_tokenizer": file.pre_tokenizer,
        "post_processor": null,
        "decoder": file.decoder,
        "model": file.model
    });
    serde_json::to_vec_pretty(&file).map_err(TokenizerError::Write)
}

/// A BPE model; with a token for the unknown, one that falls back to bytes.
pub(super) fn bpe(vocab: Map<String, Value>, merges: Value, unknown: Option<&str>) -> Value {
    json!({
        "type": "BPE",
        "dropout": null,
        "unk_token": unknown,
        "continuing_subword_prefix": null,
        "end_of_word_suffix": null,
        "fuse_unk": unknown.is_some(),
        "byte_fallback": unknown.is_some(),
        "ignore_merges": false,
        "vocab": vocab,
        "merges": merges
    })
}

/// The byte-level step, as pre-tokenizer or decoder; `use_regex`: with GPT-2's split.
pub(super) fn byte_level(use_regex: bool) -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
        "use_regex": use_regex })
}
