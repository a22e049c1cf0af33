//! The tokenizer that is extended: its file, the reference implementation as a judge, and entries of added tokens.

use crate::tokenizer::engine::reference::guard;
use crate::tokenizer::error::{ExtendError, TokenizerError};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use tokenizers::{AddedToken, Model, OffsetReferential, OffsetType, PreTokenizer};

/// The kinds of model that can be extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelKind {
    Bpe,
    WordPiece,
    Unigram,
}

impl ModelKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Bpe => "BPE",
            Self::WordPiece => "WordPiece",
            Self::Unigram => "Unigram",
        }
    }
}

/// A parsed `tokenizer.json` and its encoder. Special tokens in text are text.
pub(super) struct ExtensionBase {
    pub(super) file: Value,
    pub(super) kind: ModelKind,
    /// Added tokens with the ids that the reference implementation gives them.
    pub(super) added: BTreeMap<String, u32>,
    /// All tokens of the model.
    pub(super) vocabulary: HashMap<String, u32>,
    /// After the largest id of all.
    pub(super) next_id: u32,
    judge: tokenizers::Tokenizer,
}

impl ExtensionBase {
    pub(super) fn load(json: &[u8]) -> Result<Self, TokenizerError> {
        let mut judge = guard("loading", || tokenizers::Tokenizer::from_bytes(json))?
            .map_err(TokenizerError::Load)?;
        judge.with_truncation(None).map_err(TokenizerError::Load)?;
        judge.with_padding(None);
        judge.set_encode_special_tokens(true);
        let file: Value =
            serde_json::from_slice(json).map_err(|error| TokenizerError::Load(error.into()))?;
        let model = file.get("model").unwrap_or(&Value::Null);
        let dropout = model.get("dropout").cloned().unwrap_or_default();
        if let Ok(dropout) = serde_json::from_value::<f32>(dropout) {
            return Err(TokenizerError::Dropout(dropout));
        }
        let kind = kind(model)?;
        let added = judge.get_added_tokens_decoder();
        let added = added.into_iter().map(|(id, token)| (token.content, id)).collect();
        let largest = judge.get_vocab(true).into_values().max();
        let largest = largest.ok_or(TokenizerError::EmptyVocabulary)?;
        let next_id = largest.checked_add(1).ok_or(ExtendError::Full)?;
        let vocabulary = judge.get_vocab(false);
        Ok(Self { file, kind, added, vocabulary, next_id, judge })
    }

    pub(super) fn model(&self) -> &Value {
        self.file.get("model").unwrap_or(&Value::Null)
    }

    /// An id that the model's settings name by its token.
    pub(super) fn named_id(&self, setting: &str) -> Option<u32> {
        let token = self.model().get(setting)?.as_str()?;
        self.vocabulary.get(token).copied()
    }

    /// The ids of plain text.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let encoding = guard("encoding", || self.judge.encode_fast(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The ids that the model gives for one word, spelled as the model sees it.
    pub(super) fn encode_word(&self, word: &str) -> Result<Vec<u32>, TokenizerError> {
        let tokens = guard("encoding", || self.judge.get_model().tokenize(word))?
            .map_err(|source| TokenizerError::Encode { bytes: word.len(), source })?;
        Ok(tokens.into_iter().map(|token| token.id).collect())
    }

    /// The words that the model sees of a text: after normalizer and pre-tokenizer. None where an
    /// added token stands in the text, for that goes past the model.
    pub(super) fn words(&self, text: &str) -> Result<Option<Vec<String>>, TokenizerError> {
        let split = guard("splitting", || {
            let vocabulary = self.judge.get_added_vocabulary();
            let mut split = vocabulary.extract_and_normalize(self.judge.get_normalizer(), text);
            if let Some(pre_tokenizer) = self.judge.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut split)?;
            }
            Ok(split)
        })?
        .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        let mut words = Vec::new();
        for (word, _, tokens) in split.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            if tokens.is_some() {
                return Ok(None);
            }
            if !word.is_empty() {
                words.push(word.to_owned());
            }
        }
        Ok(Some(words))
    }

    /// The text of one id, as a decoder shows it.
    pub(super) fn decode(&self, id: u32) -> Result<String, TokenizerError> {
        guard("decoding", || self.judge.decode(&[id], false))?
            .map_err(|source| TokenizerError::Decode { ids: 1, source })
    }

    /// The text of ids, as a decoder shows it.
    pub(super) fn decode_all(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guard("decoding", || self.judge.decode(ids, false))?
            .map_err(|source| TokenizerError::Decode { ids: ids.len(), source })
    }

    /// The same with these texts as added tokens, to try them out.
    pub(super) fn with_added(&self, texts: &[String]) -> Result<Self, TokenizerError> {
        let mut judge = self.judge.clone();
        let token = |text: &String| AddedToken::from(text.as_str(), false).normalized(false);
        guard("loading", || judge.add_tokens(texts.iter().map(token)))?
            .map_err(TokenizerError::Load)?;
        let added = judge.get_added_tokens_decoder();
        let added = added.into_iter().map(|(id, token)| (token.content, id)).collect();
        let (file, vocabulary) = (Value::Null, HashMap::new());
        Ok(Self { file, kind: self.kind, added, vocabulary, next_id: self.next_id, judge })
    }

    /// All tokens, added ones included.
    pub(super) fn all_tokens(&self) -> HashMap<String, u32> {
        self.judge.get_vocab(true)
    }

    /// Added tokens that are not in the model's vocabulary, ascending by id.
    pub(super) fn outside(&self) -> Vec<(u32, &str)> {
        let mut outside: Vec<(u32, &str)> = self
            .added
            .iter()
            .filter(|(token, _)| !self.vocabulary.contains_key(*token))
            .map(|(token, id)| (*id, token.as_str()))
            .collect();
        outside.sort_unstable();
        outside
    }
}

/// Files from before models had a type are recognised by their members.
fn kind(model: &Value) -> Result<ModelKind, ExtendError> {
    let named = model.get("type").and_then(Value::as_str);
    let guessed = || {
        if model.get("merges").is_some() {
            "BPE"
        } else if model.get("vocab").is_some_and(Value::is_array) {
            "Unigram"
        } else if model.get("max_input_chars_per_word").is_some() {
            "WordPiece"
        } else {
            "WordLevel"
        }
    };
    match named.unwrap_or_else(guessed) {
        "BPE" => Ok(ModelKind::Bpe),
        "WordPiece" => Ok(ModelKind::WordPiece),
        "Unigram" => Ok(ModelKind::Unigram),
        other => Err(unusual_file("model", format!("is of type {other}"))),
    }
}

/// The pieces of a Unigram vocabulary with their scores, by id.
pub(super) fn pieces(model: &Value) -> Result<Vec<(&str, f64)>, ExtendError> {
    let entries = model.get("vocab").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| unusual_file("vocabulary", "is not a list of pieces"))?;
    let parsed = entries.iter().map(|entry| {
        let piece = entry.get(0)?.as_str()?;
        Some((piece, entry.get(1)?.as_f64()?))
    });
    let parsed: Option<Vec<(&str, f64)>> = parsed.collect();
    parsed.ok_or_else(|| unusual_file("vocabulary", "has a piece without a score"))
}

/// The merges of a BPE model, best first.
pub(super) fn merges(model: &Value) -> Result<Vec<(&str, &str)>, ExtendError> {
    let list = model.get("merges").and_then(Value::as_array);
    let list = list.ok_or_else(|| unusual_file("merges", "are no list"))?;
    let mut merges = Vec::with_capacity(list.len());
    for merge in list {
        let pair = match merge {
            Value::String(line) if line.starts_with("#version") => continue,
            Value::String(line) => line.split_once(' '),
            other => other.get(0).and_then(Value::as_str).zip(other.get(1).and_then(Value::as_str)),
        };
        let fail = || unusual_file("merges", format!("hold {merge}, which is not a pair"));
        merges.push(pair.ok_or_else(fail)?);
    }
    Ok(merges)
}

/// The vocabulary of a BPE or WordPiece model, to be added to.
pub(super) fn vocabulary_mut(file: &mut Value) -> Result<&mut Map<String, Value>, ExtendError> {
    let vocabulary = file.pointer_mut("/model/vocab").and_then(Value::as_object_mut);
    vocabulary.ok_or_else(|| unusual_file("vocabulary", "is not an object"))
}

pub(super) fn unusual_file(part: &'static str, what: impl Into<String>) -> ExtendError {
    ExtendError::Unusual { part, what: what.into() }
}

/// A text alone, inside a word, between lines, behind a space; and whether the token of just this text is found there:
/// behind a space it may be the form with the space.
pub(super) fn trial_contexts(text: &str) -> [(String, bool); 4] {
    [
        (text.to_owned(), true),
        (format!("x{text}y"), true),
        (format!("a\n{text}\nb"), true),
        (format!("a {text} b"), false),
    ]
}

/// The entry of an added token in a `tokenizer.json`: it is found as it stands, also inside words, and decoded as text.
pub(super) fn added_token_entry(token: &str, id: u32) -> Value {
    json!({
        "id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": false
    })
}
