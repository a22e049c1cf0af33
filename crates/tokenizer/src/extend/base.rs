//! The tokenizer that is extended: its file, the reference implementation as a judge, and entries of added tokens.

use crate::engine::reference::LibraryReference;
use crate::error::{ExtendError, TokenizerError};
use crate::file::{ModelType, TokenizerFile};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

/// A parsed `tokenizer.json` and its encoder. Special tokens in text are text.
pub(super) struct ExtensionBase {
    pub(super) file: TokenizerFile,
    /// BPE, WordPiece or Unigram.
    pub(super) kind: ModelType,
    /// Added tokens with the ids that the reference implementation gives them.
    pub(super) added: BTreeMap<String, u32>,
    /// All tokens of the model.
    pub(super) vocabulary: HashMap<String, u32>,
    /// After the largest id of all.
    pub(super) next_id: u32,
    reference: LibraryReference,
}

impl ExtensionBase {
    pub(super) fn load(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let file = TokenizerFile::read(bytes)?;
        let reference = LibraryReference::of_file(&file, bytes)?;
        let kind = match file.model_type() {
            Ok(ModelType::WordLevel) => return Err(no_word_level().into()),
            kind => kind.map_err(|name| unusual_file("model", format!("is of type {name}")))?,
        };
        let added: BTreeMap<String, u32> =
            reference.added().map(|(id, token, _)| (token, id)).collect();
        let vocabulary: HashMap<String, u32> = reference.model_tokens().collect();
        let largest = vocabulary.values().chain(added.values()).max();
        let largest = largest.ok_or(TokenizerError::EmptyVocabulary)?;
        let next_id = largest.checked_add(1).ok_or(ExtendError::Full)?;
        Ok(Self { file, kind, added, vocabulary, next_id, reference })
    }

    pub(super) fn model(&self) -> &Value {
        self.file.model()
    }

    /// The pieces of a Unigram with their scores, by id.
    pub(super) fn pieces(&self) -> Result<Vec<(&str, f64)>, ExtendError> {
        self.file.pieces().map_err(|what| unusual_file("vocabulary", what))
    }

    /// The merges of a BPE model, best first.
    pub(super) fn merges(&self) -> Result<Vec<(&str, &str)>, ExtendError> {
        self.file.merges().map_err(|what| unusual_file("merges", what))
    }

    /// An id that the model's settings name by its token.
    pub(super) fn named_id(&self, setting: &str) -> Option<u32> {
        self.vocabulary.get(self.file.model_text(setting)?).copied()
    }

    /// The ids of plain text.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let mut ids = Vec::new();
        self.reference.encode(text, &mut ids).map(|()| ids)
    }

    /// The ids that the model gives for one word, spelled as the model sees it.
    pub(super) fn encode_word(&self, word: &str) -> Result<Vec<u32>, TokenizerError> {
        self.reference.encode_pretoken(word)
    }

    /// The words that the model sees of a text: after normalizer and pre-tokenizer. None where an
    /// added token stands in the text, for that goes past the model.
    pub(super) fn words(&self, text: &str) -> Result<Option<Vec<String>>, TokenizerError> {
        let mut words = Some(Vec::new());
        self.reference.pretokens(text, false, |word, added| match (added, &mut words) {
            (None, Some(words)) => words.push(word.to_owned()),
            _ => words = None,
        })?;
        Ok(words)
    }

    /// The text of ids, as a decoder shows it.
    pub(super) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.reference.decode(ids)
    }

    /// The base with these texts as added tokens, to try them out.
    pub(super) fn with_added(&self, texts: &[String]) -> Result<Self, TokenizerError> {
        let reference = self.reference.with_added(texts)?;
        let added = reference.added().map(|(id, token, _)| (token, id)).collect();
        Ok(Self {
            file: TokenizerFile::default(),
            kind: self.kind,
            added,
            vocabulary: HashMap::new(),
            next_id: self.next_id,
            reference,
        })
    }

    /// All tokens, added ones included.
    pub(super) fn all_tokens(&self) -> HashMap<String, u32> {
        let added = self.added.iter().map(|(token, id)| (token.clone(), *id));
        self.vocabulary.iter().map(|(token, id)| (token.clone(), *id)).chain(added).collect()
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

/// What is appended.
#[derive(Default)]
pub(super) struct FileAdditions {
    /// New tokens, ascending by id.
    pub(super) tokens: Vec<(String, u32)>,
    /// New merges of a BPE model.
    pub(super) merges: Vec<(String, String)>,
    /// Scores of the tokens of a Unigram model, one for each.
    pub(super) scores: Vec<f64>,
    /// New added tokens, ascending by id, behind all others. They stand in the vocabulary too, for their ids' sake.
    pub(super) matched: Vec<(String, u32)>,
}

/// The vocabulary of a BPE or WordPiece model, to be added to.
pub(super) fn vocabulary_mut(file: &mut Value) -> Result<&mut Map<String, Value>, ExtendError> {
    let vocabulary = file.pointer_mut("/model/vocab").and_then(Value::as_object_mut);
    vocabulary.ok_or_else(|| unusual_file("vocabulary", "is not an object"))
}

/// The one kind of model that has no rule by which it could go on.
pub(super) fn no_word_level() -> ExtendError {
    unusual_file("model", "is of type WordLevel")
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
