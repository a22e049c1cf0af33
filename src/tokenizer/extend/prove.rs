//! Encodes with the base and with its extension before the extension is handed out.

use super::added::trial_contexts;
use super::affected::{ReencodeFilter, ReencodeScratch};
use super::base::ExtensionBase;
use crate::tokenizer::error::TokenizerError;
use crate::tokenizer::extend_error::ExtendError;
use crate::tokenizer::self_test::hostile_texts;

/// Holds the extension to its promises: no old id moves, the model makes each of `words` the one given id, `matched`
/// are found in any text, and built-in hostile texts without new tokens keep their ids. Answers the extension, loaded.
pub(super) fn prove_extension(
    base: &ExtensionBase,
    base_json: &[u8],
    json: &[u8],
    words: &[(String, u32)],
    matched: &[(String, u32)],
) -> Result<ExtensionBase, TokenizerError> {
    let extended = ExtensionBase::load(json)?;
    keeps_ids(base, &extended)?;
    for (word, id) in words {
        let made = extended.encode_word(word)?;
        if made != [*id] {
            return Err(ExtendError::Unreached { token: word.clone(), made: made.len() }.into());
        }
    }
    for (text, id) in matched {
        for (around, is_found) in trial_contexts(text) {
            if is_found && !extended.encode(&around)?.contains(id) {
                let (token, made) = (text.clone(), extended.encode(text)?.len());
                return Err(ExtendError::Unreached { token, made }.into());
            }
        }
    }
    let affected = ReencodeFilter::between(base_json, json)?;
    let mut scratch = ReencodeScratch::default();
    let outside = base.outside();
    let added = outside.iter().flat_map(|&(_, token)| {
        [token.to_owned(), format!("a {token}s, x{token} b"), format!(" {token}\n{token}{token}")]
    });
    for text in hostile_texts().into_iter().chain(added) {
        let old = base.encode(&text)?;
        let is_affected =
            affected.is_affected(&old, &mut scratch) || affected.is_text_affected(&text);
        if !is_affected && old != extended.encode(&text)? {
            let head: String = text.chars().take(40).collect();
            let text = format!("`{}`", head.escape_debug());
            return Err(ExtendError::Disturbs { text }.into());
        }
    }
    Ok(extended)
}

fn keeps_ids(base: &ExtensionBase, extended: &ExtensionBase) -> Result<(), ExtendError> {
    let tokens = extended.all_tokens();
    let mut old: Vec<(String, u32)> = base.all_tokens().into_iter().collect();
    old.sort_unstable();
    for (token, from) in old {
        let to = tokens.get(&token).copied();
        if to != Some(from) {
            let to = to.map_or_else(|| "none".to_owned(), |to| to.to_string());
            return Err(ExtendError::Moves { token, from, to });
        }
    }
    Ok(())
}
