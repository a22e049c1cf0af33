//! Suites of evaluation items: added, dropped, and what of them is in a corpus or in files.

use crate::blocking::{run_briefly, run_detached};
use crate::corpus::Handle;
use crate::error::named;
use crate::words::json;
use corpusdb::DocId;
use corpusdb::contamination::{Rule, SuiteFields, SuiteVerdict};
use corpusdb::curate::Judgement;
use corpusdb::ingest::ReadOptions;
use corpusdb::query::{CheckedText, ReviewOptions};
use pyo3::prelude::*;

/// From where on a document counts as contaminated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Thresholds {
    score: Option<f64>,
    tokens: Option<u32>,
}

impl Thresholds {
    fn rule(&self, py: Python<'_>) -> PyResult<Rule> {
        let default = Rule::default();
        let score = self.score.unwrap_or(default.score);
        if !(0.0..=1.0).contains(&score) {
            return Err(named(
                py,
                "BadInput",
                &format!("score is a share from 0 to 1, not {score}"),
            ));
        }
        Ok(Rule { score, tokens: self.tokens.unwrap_or(default.tokens), ..default })
    }
}

/// The suites, as JSON text.
#[pyfunction]
pub(crate) fn suites(py: Python<'_>, handle: &Handle) -> PyResult<String> {
    let corpus = handle.corpus(py)?;
    let found = run_briefly(py, move || corpus.suites())?;
    json(py, &found)
}

/// Stores a suite and searches stored texts for it; the report as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, name, files, fields, listener=None))]
pub(crate) fn add_suite(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    files: Vec<String>,
    fields: (Option<String>, Option<String>, Option<String>),
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (question, answer, passage) = fields;
    let fields = SuiteFields { question, answer, passage };
    let report = handle.write(py, listener.as_ref(), |writer, context| {
        writer.add_suite(&name, &files, &ReadOptions::default(), &fields, context)
    })?;
    json(py, &report)
}

/// Forgets a suite, and what stored texts have of it.
#[pyfunction]
pub(crate) fn drop_suite(py: Python<'_>, handle: &Handle, name: String) -> PyResult<()> {
    handle.write(py, None, |writer, _| writer.drop_suite(&name))
}

/// Pairs of an item and a document, side by side, as JSON text: also those that have a verdict, or drawn by chance.
#[pyfunction]
pub(crate) fn review(
    py: Python<'_>,
    handle: &Handle,
    name: Option<String>,
    thresholds: Thresholds,
    limit: usize,
    shown: (bool, Option<u64>),
) -> PyResult<String> {
    let (corpus, rule) = (handle.corpus(py)?, thresholds.rule(py)?);
    let mut options = ReviewOptions::default();
    (options.suite, options.rule, options.limit) = (name, rule, limit);
    (options.judged, options.sample) = shown;
    let found = run_detached(py, None, move |_| corpus.review(&options))?;
    json(py, &found)
}

/// Stores what somebody decided: suite, item, document and verdict; the report as JSON text.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    handle: &Handle,
    judgements: Vec<(String, String, u64, Option<String>)>,
) -> PyResult<String> {
    let judged = |(suite, item, document, verdict): (String, String, u64, Option<String>)| {
        let known = |name: &String| {
            let verdict = SuiteVerdict::from_name(name);
            let why = || format!("a verdict is \"accepted\", \"rejected\" or None, not {name:?}");
            verdict.ok_or_else(|| named(py, "BadInput", &why()))
        };
        let verdict = verdict.as_ref().map(known).transpose()?;
        Ok(Judgement { suite, item, document: DocId(document), verdict })
    };
    let judgements: Vec<Judgement> = judgements.into_iter().map(judged).collect::<PyResult<_>>()?;
    let report = handle.write(py, None, |writer, _| writer.judge(&judgements))?;
    json(py, &report)
}

/// How much of each suite is in the corpus, as JSON text.
#[pyfunction]
pub(crate) fn contamination(
    py: Python<'_>,
    handle: &Handle,
    name: Option<String>,
    thresholds: Thresholds,
    limit: usize,
) -> PyResult<String> {
    let (corpus, rule) = (handle.corpus(py)?, thresholds.rule(py)?);
    let found =
        run_detached(py, None, move |_| corpus.contamination(name.as_deref(), &rule, limit))?;
    json(py, &found)
}

/// The evidence of a suite, worst first, as JSON text.
#[pyfunction]
pub(crate) fn suite_evidence(
    py: Python<'_>,
    handle: &Handle,
    name: String,
    thresholds: Thresholds,
    limit: usize,
) -> PyResult<String> {
    let (corpus, rule) = (handle.corpus(py)?, thresholds.rule(py)?);
    let found = run_detached(py, None, move |_| corpus.suite_evidence(&name, &rule, limit))?;
    json(py, &found)
}

/// What a document has of all suites, as JSON text.
#[pyfunction]
pub(crate) fn document_evidence(
    py: Python<'_>,
    handle: &Handle,
    document: u64,
    thresholds: Thresholds,
) -> PyResult<String> {
    let (corpus, rule) = (handle.corpus(py)?, thresholds.rule(py)?);
    let found = run_detached(py, None, move |_| corpus.document_evidence(DocId(document), &rule))?;
    json(py, &found)
}

/// What the texts of some files have of the suites: those with evidence, as JSON text.
#[pyfunction]
#[pyo3(signature = (handle, files, fields, thresholds, listener=None))]
pub(crate) fn check_contamination(
    py: Python<'_>,
    handle: &Handle,
    files: Vec<String>,
    fields: (Option<String>, Option<String>),
    thresholds: Thresholds,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (corpus, rule) = (handle.corpus(py)?, thresholds.rule(py)?);
    let (text_field, id_field) = fields;
    let read = ReadOptions { text_field, id_field, ..ReadOptions::default() };
    let found = run_detached(py, listener.as_ref(), move |context| {
        let mut found: Vec<CheckedText> = Vec::new();
        let mut each = |checked: &CheckedText| {
            if !checked.evidence.is_empty() {
                found.push(checked.clone());
            }
        };
        corpus.check_contamination(&files, &read, &rule, &mut each, context)?;
        Ok(found)
    })?;
    json(py, &found)
}
