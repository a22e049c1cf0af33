//! GPT-2's two files, `vocab.json` and `merges.txt`, as one `tokenizer.json`.

use crate::tokenizer::TokenizerError;
use crate::tokenizer::file::{BpeSettings, FileParts, added_token, bpe, byte_level};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

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
