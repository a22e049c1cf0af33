//! Tokenizers of a corpus, for those who write: add, train, extend, encode what is stored, drop.

use crate::corpus::Handle;
use crate::error::{named, raise};
use crate::told;
use crate::words::{json, one_of, word};
use corpusdb::curate::{Grouping, TrainedOn};
use corpusdb::tokenizer::{
    Extension, Given, GrowthOptions, NewTokenizer, Pattern, TermForms, TermOptions, TermReport,
    TokenizerError, TrainOptions, convert,
};
use corpusdb::{CorpusWriter, Error, Interrupt, Progress};
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
    let told = handle.write(py, listener.as_ref(), |writer, progress, flag| {
        let new = NewTokenizer {
            name: &name,
            json: &converted.json,
            lineage: &lineage,
            originals: &converted.originals,
            ..NewTokenizer::default()
        };
        enter(writer, &new, backfill, progress, flag)
    })?;
    json(py, &told)
}

/// Registers a tokenizer, and encodes what is stored unless that is left for later.
fn enter(
    writer: &mut CorpusWriter,
    new: &NewTokenizer<'_>,
    backfill: bool,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Value, Error> {
    let record = writer.register(new)?;
    if !backfill {
        return Ok(told::record(&record, None));
    }
    let added = writer.backfill(new.name, progress, interrupt)?;
    Ok(told::record(&added.record, Some(&added)))
}

/// Trains a tokenizer on the kept documents, registers it and encodes what is stored; record and decisions as JSON text.
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
    let grouping = word::<Grouping>(py, BAD, "by", by)?;
    let on = TrainedOn { condition, grouping, sample_bytes };
    let (told, decisions) = handle.write(py, listener.as_ref(), |writer, progress, flag| {
        let trained = writer.train_tokenizer(&options, &on, progress, flag)?;
        let kind = serde_json::to_value(options.model).map_err(TokenizerError::Write)?;
        let lineage = format!(
            "{}, {} ids, trained at commit {}",
            kind.as_str().unwrap_or_default(),
            trained.decisions.report.vocab_size,
            writer.view().commit()
        );
        let decisions = serde_json::to_vec(&trained.decisions).map_err(TokenizerError::Write)?;
        let new = NewTokenizer {
            name: &name,
            json: &trained.json,
            lineage: &lineage,
            decisions: Some(&decisions),
            ..NewTokenizer::default()
        };
        Ok((enter(writer, &new, backfill, progress, flag)?, trained.decisions))
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

/// Extends a tokenizer, registers it unless nothing is new, and encodes what is stored: the record (none when nothing is
/// new) and the terms as JSON text, and the files for who starts the new embedding rows.
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
    let (told, extension) = handle.write(py, listener.as_ref(), |writer, progress, flag| {
        let extension = settings.extension(writer, &base, forms, progress, flag)?;
        if extension.map.rows.is_empty() && extension.merges == 0 {
            return Ok((None, extension));
        }
        let commit = writer.view().commit().0;
        let decisions = settings.decisions(&base, &extension, commit);
        let decisions = serde_json::to_vec(&decisions).map_err(TokenizerError::Write)?;
        let how = if settings.grow.is_some() { "grown" } else { "extended by terms" };
        let lineage = format!("{base} {how}, {} new ids", extension.map.rows.len());
        let new = NewTokenizer {
            name: &name,
            json: &extension.json,
            lineage: &lineage,
            decisions: Some(&decisions),
            base: Some(&base),
            ..NewTokenizer::default()
        };
        Ok((Some(enter(writer, &new, backfill, progress, flag)?), extension))
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
    fn extension(
        &self,
        writer: &CorpusWriter,
        base: &str,
        forms: TermForms,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Extension, Error> {
        match self.grow {
            Some(new_tokens) => {
                let (min_frequency, max_token_length) = (self.min_frequency, self.max_token_length);
                let options = GrowthOptions { new_tokens, min_frequency, max_token_length };
                let condition = self.condition.as_deref();
                writer.extend_by_growth(base, options, condition, progress, interrupt)
            }
            None => {
                let options = TermOptions { forms, added_tokens: self.added_tokens };
                writer.extend_by_terms(base, self.terms.as_deref().unwrap_or_default(), options)
            }
        }
    }

    /// As the command stores them.
    fn decisions(&self, base: &str, extension: &Extension, commit: u64) -> Value {
        let [added, matched, existed, refused] = counts(&extension.terms);
        serde_json::json!({
            "kind": "extended",
            "base": base,
            "base_hash": extension.map.base,
            "commit": commit,
            "grow": self.grow,
            "where": self.condition,
            "min_frequency": self.grow.map(|_| self.min_frequency),
            "max_token_length": self.max_token_length,
            "added_tokens": self.added_tokens,
            "terms": { "forms_added": added, "forms_added_tokens": matched, "forms_existed": existed, "forms_refused": refused },
            "new_ids": extension.map.rows.len(),
            "new_merges": extension.merges,
            "base_vocab_size": extension.map.base_vocab_size,
        })
    }
}

/// Forms of terms that became tokens of the model, became added tokens, were tokens already, and could not become one.
fn counts(terms: &[TermReport]) -> [usize; 4] {
    use corpusdb::tokenizer::Outcome;
    let outcomes = || terms.iter().flat_map(|term| &term.forms).map(|form| &form.outcome);
    [
        outcomes().filter(|outcome| matches!(outcome, Outcome::Added { .. })).count(),
        outcomes().filter(|outcome| matches!(outcome, Outcome::Matched { .. })).count(),
        outcomes().filter(|outcome| matches!(outcome, Outcome::Existed { .. })).count(),
        outcomes().filter(|outcome| matches!(outcome, Outcome::Refused { .. })).count(),
    ]
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
    let told = handle.write(py, listener.as_ref(), |writer, progress, flag| {
        let added = writer.backfill(&name, progress, flag)?;
        Ok(told::record(&added.record, Some(&added)))
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
    handle.write(py, None, |writer, _, _| writer.drop_tokenizer(&name, force))
}
