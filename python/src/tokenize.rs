//! Tokenizers of a corpus, for those who write: add, train, extend, encode what is stored, drop.

use crate::corpus::Handle;
use crate::error::{named, raise};
use crate::words::{json, one_of, word};
use corpusdb::Error;
use corpusdb::curate::{ExtensionSource, TextGrouping, TokenizerReport, TrainingTexts};
use corpusdb::tokenizer::{
    Given, GrowthOptions, NewTokenizer, Pattern, TermForms, TermOptions, TokenizerError,
    TrainOptions, convert,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::Value;

const BAD: &str = "BadTokenizer";

/// Registers a tokenizer given as the bytes of its files, and encodes what is stored; its record as JSON text.
///
/// `kind` is `json`, `sentencepiece`, `vocab` (with `merges`) or `tiktoken` (with `pattern` and `specials`).
#[pyfunction]
#[pyo3(signature = (handle, name, kind, bytes, lineage, *, merges=None, pattern=None, specials=Vec::new(), backfill=true, listener=None))]
pub(crate) fn add_tokenizer(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    kind: &str,
    bytes: Vec<u8>,
    lineage: String,
    merges: Option<Vec<u8>>,
    pattern: Option<String>,
    specials: Vec<(String, u32)>,
    backfill: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = match (kind, &merges, &pattern) {
        ("json", None, None) => Given::TokenizerJson(&bytes),
        ("sentencepiece", None, None) => Given::SentencePiece(&bytes),
        ("vocab", Some(merges), None) => Given::VocabAndMerges { vocab: &bytes, merges },
        ("tiktoken", None, Some(pattern)) => {
            Given::Tiktoken { ranks: &bytes, pattern, specials: &specials }
        }
        _ => return Err(named(py, BAD, &format!("a tokenizer of kind `{kind}` is not given so"))),
    };
    let converted = convert(given).map_err(|error| raise(py, Error::from(error)))?;
    let told = handle.write(py, listener.as_ref(), |writer, context| {
        let new = NewTokenizer {
            name: &name,
            json: &converted.json,
            lineage: &lineage,
            originals: &converted.originals,
            ..NewTokenizer::default()
        };
        record(&writer.register_and_encode(&new, backfill, context)?)
    })?;
    json(py, &told)
}

/// Trains a tokenizer on the kept documents, registers it and encodes what is stored; record and decisions as JSON
/// text.
#[pyfunction]
#[pyo3(signature = (handle, name, options, *, pattern=None, condition=None, by, sample_bytes=None, backfill=true, listener=None))]
pub(crate) fn train_tokenizer(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    options: &str,
    pattern: Option<String>,
    condition: Option<String>,
    by: &str,
    sample_bytes: Option<u64>,
    backfill: bool,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<(String, String)> {
    let mut options: TrainOptions =
        serde_json::from_str(options).map_err(|error| named(py, BAD, &error.to_string()))?;
    let parsed = pattern.as_deref().map(Pattern::parse).transpose();
    options.pattern = parsed.map_err(|error| raise(py, Error::from(error)))?;
    let grouping = word::<TextGrouping>(py, BAD, "by", by)?;
    let on = TrainingTexts { condition, grouping, sample_bytes };
    let (told, decisions) = handle.write(py, listener.as_ref(), |writer, context| {
        let trained = writer.train_and_register(&name, &options, &on, backfill, context)?;
        Ok((record(&trained.tokenizer)?, trained.decisions))
    })?;
    Ok((json(py, &told)?, json(py, &decisions)?))
}

/// What a tokenizer is extended by.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ExtendSettings {
    terms: Option<Vec<String>>,
    forms: String,
    added_tokens: bool,
    grow: Option<u32>,
    condition: Option<String>,
    min_frequency: u64,
    max_token_length: Option<usize>,
}

/// The files that a new embedding is made by: names and contents.
type Files<'py> = Vec<(&'static str, Bound<'py, PyBytes>)>;

/// Extends a tokenizer, registers it unless nothing is new, and encodes what is stored: the record (none when nothing
/// is new) and the terms as JSON text, and the files for who starts the new embedding rows.
#[pyfunction]
#[pyo3(signature = (handle, base, name, settings, *, backfill=true, listener=None))]
pub(crate) fn extend_tokenizer<'py>(
    py: Python<'py>,
    handle: &Handle,
    base: String,
    name: String,
    settings: ExtendSettings,
    backfill: bool,
    listener: Option<Bound<'py, PyAny>>,
) -> PyResult<(Option<String>, String, Files<'py>)> {
    let forms = [
        ("both", TermForms::Both),
        ("after-space", TermForms::AfterSpace),
        ("bare", TermForms::Bare),
    ];
    let forms = one_of(py, BAD, "forms", &settings.forms, &forms)?;
    let (told, extension) = handle.write(py, listener.as_ref(), |writer, context| {
        let by = settings.by(forms);
        let extended = writer.extend_and_register(&base, &name, by, backfill, context)?;
        let told = extended.tokenizer.as_ref().map(record).transpose()?;
        Ok((told, extended.extension))
    })?;
    let raised = |error| raise(py, Error::from(TokenizerError::from(error)));
    let lines = extension.map.json_lines().map_err(raised)?;
    let tensors = extension.map.safetensors().map_err(raised)?;
    let files = vec![
        ("tokenizer.json", PyBytes::new(py, &extension.json)),
        ("embedding_map.jsonl", PyBytes::new(py, lines.as_bytes())),
        ("embedding_map.safetensors", PyBytes::new(py, &tensors)),
    ];
    let told = told.map(|told| json(py, &told)).transpose()?;
    Ok((told, json(py, &extension.terms)?, files))
}

impl ExtendSettings {
    fn by(&self, forms: TermForms) -> ExtensionSource<'_> {
        let Some(new_tokens) = self.grow else {
            let terms = self.terms.as_deref().unwrap_or_default();
            let options = TermOptions { forms, added_tokens: self.added_tokens };
            return ExtensionSource::Terms(terms, options);
        };
        let (min_frequency, max_token_length) = (self.min_frequency, self.max_token_length);
        let options = GrowthOptions { new_tokens, min_frequency, max_token_length };
        ExtensionSource::Growth(options, self.condition.as_deref())
    }
}

/// Encodes what a registered tokenizer has not encoded; its record as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, name, listener=None))]
pub(crate) fn backfill_tokenizer(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let told = handle.write(py, listener.as_ref(), |writer, context| {
        record(&writer.backfill(&name, context)?)
    })?;
    json(py, &told)
}

/// Forgets a tokenizer with all its ids; the numbers of plans that cannot be opened any more.
#[pyfunction]
pub(crate) fn drop_tokenizer(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    force: bool,
) -> PyResult<Vec<u32>> {
    handle.write(py, None, |writer, _| writer.drop_tokenizer(&name, force))
}

/// A tokenizer, and what was just encoded: an object in which nothing is absent.
fn record(report: &TokenizerReport) -> Result<Value, Error> {
    let mut told = serde_json::to_value(report).map_err(TokenizerError::Write)?;
    if let Value::Object(members) = &mut told {
        members.entry("refused").or_insert(Value::Null);
        let markers = report.encoded_tokens.map(|_| &report.ordinary_markers);
        members.insert("ordinary_markers".to_owned(), serde_json::json!(markers));
    }
    Ok(told)
}
