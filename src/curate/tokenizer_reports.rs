//! Reports about a tokenizer of a corpus: its record, what a call encoded with it, and its origin.

use super::encode::BackfillReport;
use super::tokenizers::find;
use super::train::TrainingRecord;
use crate::corpus::Corpus;
use crate::decide::RefusedTexts;
use model::Error;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use store::TokenizerRecord;
use tokenizer::{EngineTexts, TokenizerError, TokenizerExtension};

/// A registered tokenizer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerDescription {
    /// The name of the tokenizer.
    pub name: String,
    /// One more than its largest id.
    pub vocab_size: u32,
    /// blake3 of the files that decide its ids, in hexadecimal: its `tokenizer.json`, and where SentencePiece is the
    /// reference its `.model` behind it.
    pub hash: String,
    /// Its origin, in words.
    pub lineage: String,
    /// The encoder that is used, in words.
    pub backend: String,
    /// The library whose ids it gives, with its version.
    pub reference: String,
    /// The files that it was registered with.
    pub originals: Vec<TokenizerOriginal>,
    /// Whether all kept documents have ids of it.
    pub complete: bool,
}

/// A file that a tokenizer was registered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerOriginal {
    /// Its name, without directories.
    pub name: String,
    /// blake3 of its bytes, in hexadecimal.
    pub hash: String,
}

impl TokenizerDescription {
    /// The report of a record.
    #[must_use]
    pub fn of(record: &TokenizerRecord) -> Self {
        let hex = |hash: &[u8; 32]| blake3::Hash::from_bytes(*hash).to_hex().to_string();
        let originals = record.originals.iter();
        Self {
            name: record.name.clone(),
            vocab_size: record.vocab_size,
            hash: hex(&record.hash),
            lineage: record.lineage.clone(),
            backend: record.backend.clone(),
            reference: record.reference.clone(),
            originals: originals
                .map(|file| TokenizerOriginal { name: file.name.clone(), hash: hex(&file.hash) })
                .collect(),
            complete: record.encoded_to == u64::MAX,
        }
    }
}

/// A tokenizer, and what a call encoded with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerReport {
    /// What is stored about it.
    #[serde(flatten)]
    pub tokenizer: TokenizerDescription,
    /// Tokens that were stored; none if there was nothing to encode.
    pub encoded_tokens: Option<u64>,
    /// Documents whose texts were encoded.
    pub encoded_documents: Option<u64>,
    /// Documents whose ids were taken over from the tokenizer that this one extends.
    pub copied_documents: Option<u64>,
    /// Documents among these that spell a special token, which was encoded as plain text, by token.
    pub special_tokens_in_text: Option<BTreeMap<String, u64>>,
    /// Documents whose texts it refused: they count as encoded, with no tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<RefusedTexts>,
    /// How many texts each engine encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engines: Option<EngineTexts>,
    /// Megabytes of text a second that one thread encoded of a sample of the corpus when the tokenizer was registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub megabytes_per_second: Option<f64>,
    /// Turn markers of stored chat templates that are ordinary text to it, each with its number of tokens.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ordinary_markers: Vec<(String, usize)>,
    /// Kept conversations whose messages spell a special token of it that their template does not write, by token.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub special_tokens_in_chats: BTreeMap<String, u64>,
}

impl TokenizerReport {
    /// The report of a record by which nothing was encoded.
    #[must_use]
    pub fn of(record: &TokenizerRecord) -> Self {
        Self {
            tokenizer: TokenizerDescription::of(record),
            encoded_tokens: None,
            encoded_documents: None,
            copied_documents: None,
            special_tokens_in_text: None,
            refused: None,
            engines: None,
            megabytes_per_second: None,
            ordinary_markers: Vec::new(),
            special_tokens_in_chats: BTreeMap::new(),
        }
    }

    /// The report of a record, with what was encoded.
    pub(crate) fn encoded(
        record: &TokenizerRecord,
        done: BackfillReport,
        ordinary_markers: Vec<(String, usize)>,
        special_tokens_in_chats: BTreeMap<String, u64>,
    ) -> Self {
        Self {
            tokenizer: TokenizerDescription::of(record),
            encoded_tokens: Some(done.tokens),
            encoded_documents: Some(done.documents.saturating_sub(done.copied)),
            copied_documents: Some(done.copied),
            special_tokens_in_text: Some(done.special_tokens_in_text),
            refused: Some(done.refused).filter(|refused| refused.documents > 0),
            engines: Some(done.engines),
            megabytes_per_second: None,
            ordinary_markers,
            special_tokens_in_chats,
        }
    }
}

/// A tokenizer, the one that it extends, and its origin.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TokenizerDetails {
    /// What is stored about it.
    #[serde(flatten)]
    pub tokenizer: TokenizerDescription,
    /// The tokenizer that it extends, when that is stored here.
    pub base: Option<String>,
    /// Every stored decision of its training or extension; none if it was added from files.
    #[cfg_attr(feature = "cli", schemars(with = "Option<TokenizerDecisions>"))]
    pub decisions: Value,
}

/// How a tokenizer came about; for the schema alone, since what an older release stored is shown as it is.
#[cfg(feature = "cli")]
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is all that is made of it")]
enum TokenizerDecisions {
    /// It was trained here.
    Trained(Box<TrainingRecord>),
    /// It extends another one.
    Extended(super::train::ExtensionRecord),
}

/// A tokenizer that was trained and registered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TrainedTokenizer {
    /// The tokenizer.
    #[serde(flatten)]
    pub tokenizer: TokenizerReport,
    /// Everything that decided it, and the result.
    pub decisions: TrainingRecord,
}

/// What became of an extension.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtendedTokenizer {
    /// The tokenizer; none where nothing is new, so that none was registered.
    pub tokenizer: Option<TokenizerReport>,
    /// Its file, its new ids and its terms.
    pub extension: TokenizerExtension,
}

impl Corpus {
    /// The tokenizers of the corpus, in the order in which they were registered.
    #[must_use]
    pub fn tokenizer_reports(&self) -> Vec<TokenizerReport> {
        self.view().tokenizers().map(|(_, record)| TokenizerReport::of(record)).collect()
    }

    /// Everything that is stored about a tokenizer but its files.
    ///
    /// # Errors
    /// [`TokenizerError::Unknown`]; an error of the store when it cannot be read.
    pub fn tokenizer_details(&self, name: &str) -> Result<TokenizerDetails, Error> {
        let view = self.view();
        let (id, record) = find(view, name)?;
        let decisions = match view.tokenizer_decisions(id)? {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(TokenizerError::Write)?,
            None => Value::Null,
        };
        let base = record.base.and_then(|base| {
            let mut tokenizers = view.tokenizers();
            tokenizers.find(|(id, _)| id.0 == base).map(|(_, base)| base.name.clone())
        });
        Ok(TokenizerDetails { tokenizer: TokenizerDescription::of(record), base, decisions })
    }
}
