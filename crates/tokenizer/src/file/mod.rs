//! A `tokenizer.json`, parsed once for all that look into it: kind of model, tokens, merges, pieces, steps.

pub(crate) mod pattern;
pub(crate) mod unigram;
pub(crate) mod version2;
pub(crate) mod write;

use super::error::TokenizerError;
use model::named;
use serde::Deserialize;
use serde_json::Value;

/// What a space is spelled as by SentencePiece, and by models trained as it trains them.
pub(crate) const SPACE_MARKER: &str = "▁";

/// Ids from here on are refused: peers keep ids in 32 bits with a sign.
const ID_LIMIT: u64 = 1 << 31;

/// The algorithm of a model, as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ModelType {
    Bpe,
    WordPiece,
    WordLevel,
    Unigram,
}

named!(ModelType {
    Bpe = "BPE", WordPiece = "WordPiece", WordLevel = "WordLevel", Unigram = "Unigram",
});

/// An entry of `added_tokens`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AddedTokenEntry<'a> {
    pub(crate) content: &'a str,
    /// What the file says; encoders number by the rule of [`Vocabulary`](super::vocabulary::Vocabulary).
    pub(crate) id: Option<u64>,
    pub(crate) is_special: bool,
    pub(crate) json: &'a Value,
}

/// A parsed `tokenizer.json`. What is not as usual is missing here; whether the file can be used at all, the reference
/// encoder says.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenizerFile {
    json: Value,
}

/// What [`TokenizerFile::read_tokens`] takes of a file.
#[derive(Deserialize)]
struct FileTokens {
    #[serde(default)]
    added_tokens: Value,
    #[serde(default)]
    model: ModelTokens,
}

#[derive(Default, Deserialize)]
struct ModelTokens {
    #[serde(default)]
    vocab: Value,
}

impl TokenizerFile {
    /// # Errors
    /// [`TokenizerError::Load`] when it is not JSON, [`TokenizerError::IdTooLarge`] for ids of 2^31 and more.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let json =
            serde_json::from_slice(bytes).map_err(|error| TokenizerError::Load(error.into()))?;
        Self::of_json(json)
    }

    /// With the tokens alone: merges and steps, most of a file, are passed over. For who opens a corpus and may never
    /// encode a text.
    pub(crate) fn read_tokens(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let FileTokens { added_tokens, model: ModelTokens { vocab } } =
            serde_json::from_slice(bytes).map_err(|error| TokenizerError::Load(error.into()))?;
        // Moved: the macro `json!` would copy the vocabulary.
        let model = Value::from_iter([("vocab", vocab)]);
        Self::of_json(Value::from_iter([("added_tokens", added_tokens), ("model", model)]))
    }

    fn of_json(json: Value) -> Result<Self, TokenizerError> {
        let file = Self { json };
        let own = file.vocabulary_entries().into_iter();
        let added = file.added_tokens().filter_map(|token| Some((token.content, token.id?)));
        if let Some((token, id)) = own.chain(added).find(|(_, id)| *id >= ID_LIMIT) {
            return Err(TokenizerError::IdTooLarge { token: token.to_owned(), id });
        }
        Ok(file)
    }

    /// All of it, every member as it stands in the file.
    pub(crate) const fn json(&self) -> &Value {
        &self.json
    }

    pub(crate) fn into_json(self) -> Value {
        self.json
    }

    pub(crate) fn model(&self) -> &Value {
        self.json.get("model").unwrap_or(&Value::Null)
    }

    /// A member of the model that is a text.
    pub(crate) fn model_text(&self, setting: &str) -> Option<&str> {
        self.model().get(setting)?.as_str()
    }

    /// Whether a member of the model is set: neither null, false nor empty.
    pub(crate) fn is_model_set(&self, setting: &str) -> bool {
        self.model().get(setting).is_some_and(|value| {
            !value.is_null() && value != &Value::Bool(false) && value.as_str() != Some("")
        })
    }

    /// The kind of the model, or the name of an unknown one. Files from before models had a type are recognised by
    /// their members.
    pub(crate) fn model_type(&self) -> Result<ModelType, &str> {
        if let Some(name) = self.model_text("type") {
            return ModelType::from_name(name).ok_or(name);
        }
        let has = |member: &str| self.model().get(member).is_some_and(|value| !value.is_null());
        Ok(if has("merges") {
            ModelType::Bpe
        } else if has("unk_id") || self.model().get("vocab").is_some_and(Value::is_array) {
            ModelType::Unigram
        } else if has("max_input_chars_per_word") {
            ModelType::WordPiece
        } else {
            ModelType::WordLevel
        })
    }

    /// The model's own tokens with their ids, in the order of the file; those of a Unigram are numbered by place.
    pub(crate) fn vocabulary_entries(&self) -> Vec<(&str, u64)> {
        match self.model().get("vocab") {
            Some(Value::Object(ids)) => {
                ids.iter().filter_map(|(token, id)| Some((token.as_str(), id.as_u64()?))).collect()
            }
            Some(Value::Array(pieces)) => {
                let tokens = pieces.iter().map(|piece| piece.get(0).and_then(Value::as_str));
                tokens.zip(0..).filter_map(|(token, id)| Some((token?, id))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The token for what no other token spells.
    pub(crate) fn unknown_token(&self) -> Option<&str> {
        let by_id = || {
            let unknown = self.model().get("unk_id")?.as_u64()?;
            let mut entries = self.vocabulary_entries().into_iter();
            entries.find(|(_, id)| *id == unknown).map(|(token, _)| token)
        };
        self.model_text("unk_token").filter(|token| !token.is_empty()).or_else(by_id)
    }

    /// Tokens added to the model's own, in the order of the file.
    pub(crate) fn added_tokens(&self) -> impl Iterator<Item = AddedTokenEntry<'_>> {
        let list = self.json.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
        list.filter_map(|json| {
            Some(AddedTokenEntry {
                content: json.get("content")?.as_str()?,
                id: json.get("id").and_then(Value::as_u64),
                is_special: json.get("special") == Some(&Value::Bool(true)),
                json,
            })
        })
    }

    /// The pieces of a Unigram with their scores, by id.
    pub(crate) fn pieces(&self) -> Result<Vec<(&str, f64)>, &'static str> {
        let entries = self.model().get("vocab").and_then(Value::as_array);
        let entries = entries.ok_or("is not a list of pieces")?;
        let pieces = entries.iter().map(|entry| {
            entry.get(0).and_then(Value::as_str).zip(entry.get(1).and_then(Value::as_f64))
        });
        pieces.collect::<Option<_>>().ok_or("has a piece without a score")
    }

    /// The merges of a BPE, best first: written as `"a b"` or as `["a", "b"]`.
    pub(crate) fn merges(&self) -> Result<Vec<(&str, &str)>, String> {
        let list = self.model().get("merges").and_then(Value::as_array).ok_or("are no list")?;
        let mut merges = Vec::with_capacity(list.len());
        for merge in list {
            let pair = match merge {
                Value::String(line) if line.starts_with("#version") => continue,
                Value::String(line) => line.split_once(' '),
                other => {
                    other.get(0).and_then(Value::as_str).zip(other.get(1).and_then(Value::as_str))
                }
            };
            merges.push(pair.ok_or_else(|| format!("hold {merge}, which is not a pair"))?);
        }
        Ok(merges)
    }

    /// The steps of the normalizer, sequences taken apart.
    pub(crate) fn normalizers(&self) -> Vec<&Value> {
        flatten(self.json.get("normalizer"), "normalizers")
    }

    /// The steps of the pre-tokenizer, sequences taken apart.
    pub(crate) fn pre_tokenizers(&self) -> Vec<&Value> {
        flatten(self.json.get("pre_tokenizer"), "pretokenizers")
    }
}

#[cfg(test)]
impl From<Value> for TokenizerFile {
    fn from(json: Value) -> Self {
        Self { json }
    }
}

/// The type of a step of normalizer, pre-tokenizer or decoder; empty where it has none.
pub(crate) fn step_type(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The steps of a component of a file: it is one, or a sequence with `children`, which may hold sequences.
pub(crate) fn flatten<'a>(component: Option<&'a Value>, children: &str) -> Vec<&'a Value> {
    let mut steps = Vec::new();
    let mut left: Vec<&Value> = component.filter(|step| !step.is_null()).into_iter().collect();
    while let Some(step) = left.pop() {
        match step.get(children).and_then(Value::as_array) {
            Some(members) => left.extend(members.iter().rev().filter(|step| !step.is_null())),
            None => steps.push(step),
        }
    }
    steps
}
