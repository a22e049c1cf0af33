//! Shows pairs of an item of a suite and a document, and stores verdicts on them.

use crate::blocking::run_detached;
use crate::call::raise_any;
use crate::corpus::Handle;
use crate::error::named;
use crate::words::json;
use corpusdb::DocId;
use corpusdb::cli::rows::options_of;
use corpusdb::contamination::SuiteVerdict;
use corpusdb::curate::Judgement;
use corpusdb::inspect::ReviewOptions;
use pyo3::prelude::*;

/// Pairs of an item and a document, side by side, as a line of JSON each. `keywords` are the verb's options.
#[pyfunction]
pub(crate) fn review(
    py: Python<'_>,
    handle: &Handle,
    name: Option<String>,
    keywords: &str,
) -> PyResult<String> {
    let mut options =
        options_of::<ReviewOptions>(keywords).map_err(|error| raise_any(py, error))?;
    options.suite = name;
    let corpus = handle.corpus(py)?;
    let found = run_detached(py, None, move |_| corpus.review(&options))?;
    found.iter().map(|pair| Ok(json(py, pair)? + "\n")).collect()
}

/// Stores verdicts: suite, item, document and verdict. Returns the report as JSON text.
#[pyfunction]
pub(crate) fn judge(
    py: Python<'_>,
    handle: &Handle,
    judgements: Vec<(String, String, u64, Option<String>)>,
) -> PyResult<String> {
    let judged = |(suite, item, document, verdict): (String, String, u64, Option<String>)| {
        let known = |name: &String| {
            let verdict = SuiteVerdict::from_name(name);
            let why =
                || format!("a verdict must be \"accepted\", \"rejected\" or None, got {name:?}");
            verdict.ok_or_else(|| named(py, "BadInput", &why()))
        };
        let verdict = verdict.as_ref().map(known).transpose()?;
        Ok(Judgement { suite, item, document: DocId(document), verdict })
    };
    let judgements: Vec<Judgement> = judgements.into_iter().map(judged).collect::<PyResult<_>>()?;
    let report = handle.write(py, None, |writer, _| writer.judge(&judgements))?;
    json(py, &report)
}
