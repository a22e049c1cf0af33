//! Writes a byte-level BPE as the bytes of a `tokenizer.json`.

use super::error::TokenizerError;
use serde_json::{Map, Value, json};

/// The bytes of a tokenizer.json with GPT-2's split, its byte-level decoder, and the tokens of
/// `specials` (spelling, id) as special ones. `vocab` is written in the order given: by id.
pub(super) fn byte_level_bpe(
    vocab: Map<String, Value>,
    merges: Value,
    specials: &[(String, u32)],
) -> Result<Vec<u8>, TokenizerError> {
    let added: Vec<Value> = specials
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
        "normalizer": null,
        "pre_tokenizer": byte_level(),
        "post_processor": null,
        "decoder": byte_level(),
        "model": {
            "type": "BPE",
            "dropout": null,
            "unk_token": null,
            "continuing_subword_prefix": null,
            "end_of_word_suffix": null,
            "fuse_unk": false,
            "byte_fallback": false,
            "ignore_merges": false,
            "vocab": vocab,
            "merges": merges
        }
    });
    serde_json::to_vec_pretty(&file).map_err(TokenizerError::Write)
}

fn byte_level() -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true })
}
