//! Plans: computes, explains, builds, verifies and extends them.

use crate::blocking::{run_briefly, run_detached, run_to_end};
use crate::corpus::{Handle, thread_count};
use crate::error::raise;
use corpusdb::Recipe;
use corpusdb::cli::rows::now;
use corpusdb::epoch::{BuildJob, EpochError, Plan};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A plan with its documents. It is plain data, independent of process and handle.
#[pyclass(frozen, module = "corpusdb._native", name = "Plan")]
pub(crate) struct PyPlan {
    pub(crate) planned: Arc<Plan>,
    number: Option<u32>,
}

impl PyPlan {
    fn new(planned: Plan, number: Option<u32>) -> Self {
        Self { planned: Arc::new(planned), number }
    }
}

#[pymethods]
impl PyPlan {
    /// The number under which it is stored; `None` if it is not stored.
    #[getter]
    fn number(&self) -> Option<u32> {
        self.number
    }

    /// blake3 of the plan, in hexadecimal.
    #[getter]
    fn hash(&self) -> String {
        hex(self.planned.plan.hash())
    }

    /// How many epochs it has.
    #[getter]
    fn epochs(&self) -> u64 {
        self.planned.epochs()
    }

    /// Its canonical JSON.
    #[getter]
    fn json(&self) -> String {
        self.planned.plan.to_json()
    }

    /// The recipe with every default, as TOML.
    #[getter]
    fn recipe(&self) -> String {
        self.planned.plan.recipe.to_toml_with_defaults()
    }

    /// The snapshot that it draws from, by name.
    #[getter]
    fn snapshot(&self) -> String {
        self.planned.plan.snapshot.name.clone()
    }

    /// How many documents it draws that were removed since its snapshot.
    fn removed(&self, py: Python<'_>, handle: &Handle) -> PyResult<u64> {
        let corpus = handle.corpus(py)?;
        run_briefly(py, || corpus.removed_since(&self.planned))
    }

    /// The contents of epoch 0, with the steps of grouping and the sweep of multipliers if they are asked for: as the
    /// command prints them, and as JSON.
    #[pyo3(signature = (handle, *, steps=None, sweep=false))]
    fn explain(
        &self,
        py: Python<'_>,
        handle: &Handle,
        steps: Option<u64>,
        sweep: bool,
    ) -> PyResult<(String, String)> {
        let (corpus, planned) = (handle.corpus(py)?, Arc::clone(&self.planned));
        let told = run_detached(py, None, move |context| {
            let mut told = corpus.explain(&planned, context)?;
            if let Some(mega_batches) = steps {
                told.grouping = Some(corpus.grouping_steps(&planned, mega_batches, context)?);
            }
            if sweep {
                told.sweep = Some(corpus.sweep_multipliers(&planned, context)?);
            }
            Ok(told)
        })?;
        Ok((told.to_string(), json(&told)?))
    }

    /// Writes an epoch to the directory `out`. Returns the manifest as JSON, and why it is not on record, if it should be.
    #[pyo3(signature = (handle, out, *, epoch, record=true, threads=None, listener=None))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the build")]
    fn build(
        &self,
        py: Python<'_>,
        handle: &Handle,
        out: PathBuf,
        epoch: u64,
        record: bool,
        threads: Option<i64>,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(String, Option<String>)> {
        let corpus = handle.corpus(py)?;
        let threads = thread_count(py, threads)?.unwrap_or(0);
        let (manifest, recorded) = run_to_end(py, listener, |context| {
            let (job, context) = (BuildJob { epoch, out: &out }, context.with_threads(threads));
            match record {
                true => corpus.build_on_record(&self.planned, &job, now(), &context),
                false => Ok((corpus.build(&self.planned, &job, &context)?, Ok(0))),
            }
        })?;
        Ok((json(&manifest)?, recorded.err().map(|error| error.to_string())))
    }

    /// Checks a built epoch against the plan and the corpus. Returns the checks as JSON.
    #[pyo3(signature = (handle, directory, *, listener=None))]
    fn verify(
        &self,
        py: Python<'_>,
        handle: &Handle,
        directory: PathBuf,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let (corpus, planned) = (handle.corpus(py)?, Arc::clone(&self.planned));
        let verdict = run_detached(py, listener, move |context| {
            corpus.verify(&planned, &directory, context)
        })?;
        json(&verdict)
    }
}

/// Plans a recipe (TOML). With `epochs` the plan is stored, with marks for so many epochs; without, it is not, unless it
/// is already.
#[pyfunction]
#[pyo3(signature = (handle, recipe, *, epochs=None, listener=None))]
pub(crate) fn plan_recipe(
    py: Python<'_>,
    handle: &Handle,
    recipe: &str,
    epochs: Option<u64>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPlan> {
    let recipe = parse(py, recipe)?;
    if let Some(epochs) = epochs {
        let (record, planned) = handle
            .write(py, listener, |writer, context| writer.plan_epochs(&recipe, epochs, context))?;
        return Ok(PyPlan::new(planned, Some(record.number)));
    }
    let corpus = handle.corpus(py)?;
    let planned = run_detached(py, listener, move |context| {
        let planned = corpus.plan(&recipe, context)?;
        let hash = planned.plan.hash();
        match corpus.epochs()?.into_iter().find(|record| record.hash == hash) {
            Some(record) => corpus.stored_plan(record.number),
            None => Ok(planned),
        }
    })?;
    let number = planned.number();
    Ok(PyPlan::new(planned, number))
}

/// Stores marks for the first `epochs` epochs of a stored plan. Returns how many of these had no marks.
#[pyfunction]
#[pyo3(signature = (handle, number, *, epochs, listener=None))]
pub(crate) fn mark_epochs(
    py: Python<'_>,
    handle: &Handle,
    number: u32,
    epochs: u64,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<u64> {
    handle.write(py, listener, |writer, context| writer.mark_epochs(number, epochs, context))
}

/// The plan stored under a number.
#[pyfunction]
pub(crate) fn stored_plan(py: Python<'_>, handle: &Handle, number: u32) -> PyResult<PyPlan> {
    let corpus = handle.corpus(py)?;
    let planned = run_briefly(py, || corpus.stored_plan(number))?;
    Ok(PyPlan::new(planned, Some(number)))
}

/// The stored plans: number, blake3 in hexadecimal, snapshot.
#[pyfunction]
pub(crate) fn stored_plans(
    py: Python<'_>,
    handle: &Handle,
) -> PyResult<Vec<(u32, String, String)>> {
    let corpus = handle.corpus(py)?;
    let records = run_briefly(py, || corpus.epochs())?;
    let told =
        |record: corpusdb::store::EpochRecord| (record.number, hex(record.hash), record.snapshot);
    Ok(records.into_iter().map(told).collect())
}

/// Plans the rest of a stored plan, after `consumed` rows from the beginning of `epoch` on.
#[pyfunction]
#[pyo3(signature = (handle, number, *, consumed, epoch, recipe=None, listener=None))]
pub(crate) fn extend_plan(
    py: Python<'_>,
    handle: &Handle,
    number: u32,
    consumed: u64,
    epoch: u64,
    recipe: Option<&str>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<PyPlan> {
    let recipe = recipe.map(|recipe| parse(py, recipe)).transpose()?;
    let (record, planned) = handle.write(py, listener, |writer, context| {
        let shown = writer.corpus();
        let parent = shown.stored_plan(number)?;
        let next_row = shown.epoch(&parent, epoch, context)?.run_row_after(consumed, context)?;
        drop(shown);
        writer.extend(number, next_row, recipe.as_ref(), context)
    })?;
    Ok(PyPlan::new(planned, Some(record.number)))
}

fn parse(py: Python<'_>, recipe: &str) -> PyResult<Recipe> {
    Recipe::parse(recipe).map_err(|error: EpochError| raise(py, error))
}

fn hex(hash: [u8; 32]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json(report: &impl serde::Serialize) -> PyResult<String> {
    let failed = |error: serde_json::Error| {
        pyo3::exceptions::PyRuntimeError::new_err(format!(
            "a report cannot be written as JSON: {error}"
        ))
    };
    serde_json::to_string(report).map_err(failed)
}
