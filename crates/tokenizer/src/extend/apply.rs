//! Writes the `tokenizer.json` of an extension (entries are appended, nothing else changes), and proves it.

use super::base;
use super::base::{ExtensionBase, FileAdditions, trial_contexts, unusual_file, vocabulary_mut};
use super::reencode::{ReencodeFilter, ReencodeScratch};
use crate::engine::hostile_texts::hostile_texts;
use crate::error::{ExtendError, TokenizerError};
use crate::file::ModelType;
use serde_json::{Value, json};

/// The bytes of the extended `tokenizer.json`. It is indented if the base is.
///
/// Added tokens that are not in the model's vocabulary are written into it with the ids they have:
/// the reference implementation numbers them again from the vocabulary's size when it loads a file,
/// whatever ids the file tells, so a longer vocabulary would move them.
pub(super) fn write_extension(
    base: &ExtensionBase,
    base_json: &[u8],
    additions: &FileAdditions,
) -> Result<Vec<u8>, TokenizerError> {
    let mut file = base.file.json().clone();
    let outside = base.outside();
    if base.kind == ModelType::Unigram {
        append_pieces(&mut file, &outside, additions)?;
    } else {
        let vocabulary = vocabulary_mut(&mut file)?;
        for (id, token) in outside {
            vocabulary.insert(token.to_owned(), Value::from(id));
        }
        for (token, id) in additions.tokens.iter().chain(&additions.matched) {
            vocabulary.insert(token.clone(), Value::from(*id));
        }
    }
    append_merges(&mut file, &additions.merges)?;
    if !additions.matched.is_empty() {
        let entries =
            additions.matched.iter().map(|(token, id)| base::added_token_entry(token, *id));
        match file.get_mut("added_tokens").and_then(Value::as_array_mut) {
            Some(list) => list.extend(entries),
            None => {
                let file =
                    file.as_object_mut().ok_or_else(|| unusual_file("file", "is not an object"))?;
                file.insert("added_tokens".to_owned(), entries.collect());
            }
        }
    }
    let is_indented = base_json.iter().take(64).any(|byte| *byte == b'\n');
    let written =
        if is_indented { serde_json::to_vec_pretty(&file) } else { serde_json::to_vec(&file) };
    written.map_err(TokenizerError::Write)
}

/// In a Unigram list the place is the id.
fn append_pieces(
    file: &mut Value,
    outside: &[(u32, &str)],
    additions: &FileAdditions,
) -> Result<(), ExtendError> {
    let list = file.pointer_mut("/model/vocab").and_then(Value::as_array_mut);
    let list = list.ok_or_else(|| unusual_file("vocabulary", "is not a list of pieces"))?;
    let score = |entry: &Value| entry.get(1).and_then(Value::as_f64);
    let least = list.iter().filter_map(score).fold(f64::INFINITY, f64::min);
    let outside = outside.iter().map(|(id, token)| (*token, *id, least));
    let new = additions.tokens.iter().zip(&additions.scores);
    let new = new.map(|((token, id), score)| (token.as_str(), *id, *score));
    let matched = additions.matched.iter().map(|(token, id)| (token.as_str(), *id, least));
    for (token, id, score) in outside.chain(new).chain(matched) {
        if list.len() != id as usize {
            let what = format!("leaves a gap before id {id}, which a Unigram list cannot have");
            return Err(unusual_file("vocabulary", what));
        }
        list.push(json!([token, score]));
    }
    Ok(())
}

/// Appends merges as the base spells its own: `["a", "b"]`, or `"a b"` where no token has a space.
fn append_merges(file: &mut Value, merges: &[(String, String)]) -> Result<(), ExtendError> {
    if merges.is_empty() {
        return Ok(());
    }
    let list = file.pointer_mut("/model/merges").and_then(Value::as_array_mut);
    let list = list.ok_or_else(|| unusual_file("merges", "are no list"))?;
    let is_spaced = list.last().is_some_and(Value::is_string);
    if is_spaced && merges.iter().any(|(left, right)| left.contains(' ') || right.contains(' ')) {
        // The one case that the old spelling cannot say: all merges go over to the other.
        list.retain(|merge| !merge.as_str().is_some_and(|line| line.starts_with("#version")));
        for merge in list.iter_mut() {
            let pair = merge.as_str().and_then(|line| line.split_once(' '));
            if let Some((left, right)) = pair {
                *merge = json!([left, right]);
            }
        }
        list.extend(merges.iter().map(|(left, right)| json!([left, right])));
    } else if is_spaced {
        list.extend(merges.iter().map(|(left, right)| Value::from(format!("{left} {right}"))));
    } else {
        list.extend(merges.iter().map(|(left, right)| json!([left, right])));
    }
    Ok(())
}

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
