//! The reader of a loader: little memory, its own threads, no lock on the corpus. Any number of readers may be open.

use super::ahead::{PyBatches, Work};
use super::batch::{Form, IdMaker, Maker, OriginFinder};
use super::corpus::{CorpusPlace, LoaderCorpus, by_epoch, lock};
use crate::blocking::run_detached;
use crate::error::named;
use crate::plan::PyPlan;
use crate::process::ProcessOwned;
use crate::words::json;
use corpusdb::cli::rows::now;
use corpusdb::epoch::{Epoch, EpochBatch, StreamOptions};
use corpusdb::pages::RowsPage;
use corpusdb::{DocId, Error};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Reads the rows and batches of a plan, even while a writer is open.
#[pyclass(frozen, module = "corpusdb._native", name = "Reader")]
pub(crate) struct PlanReader {
    opened: ProcessOwned<Mutex<Option<Arc<LoaderCorpus>>>>,
}

/// A request for the batches of a rank: a Python dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct BatchRequest {
    rank: u64,
    world: u64,
    uneven: bool,
    rows: u64,
    views: Option<Vec<String>>,
    flat: bool,
    kind: String,
    contract: Option<String>,
}

impl BatchRequest {
    fn form(&self) -> PyResult<Form> {
        Form::of(self.views.clone(), self.flat, &self.kind, self.contract.as_deref())
    }

    fn options(&self, from_batch: u64, prefetch: usize) -> StreamOptions {
        let Self { rank, world, uneven, rows, .. } = *self;
        StreamOptions { from_batch, rank, world, prefetch, uneven, rows, full_steps: !uneven }
    }
}

#[pymethods]
impl PlanReader {
    /// Opens the corpus at `path`, and the further corpora `shards`, and finds the plan with the hash; or takes `plan`,
    /// which need not be stored. Epochs built into the directories `files` take their ids from there.
    #[new]
    #[pyo3(signature = (path, hash, *, plan=None, memory, threads, shards=Vec::new(), files=Vec::new()))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the loader")]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        hash: String,
        plan: Option<&PyPlan>,
        memory: u64,
        threads: usize,
        shards: Vec<PathBuf>,
        files: Vec<PathBuf>,
    ) -> PyResult<Self> {
        let given = plan.map(|plan| Arc::clone(&plan.planned));
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|error| {
            pyo3::exceptions::PyOSError::new_err(format!("cannot start {threads} threads: {error}"))
        })?;
        let opened = run_detached(py, None, move |_| {
            let place = CorpusPlace { path, shards, memory, files };
            LoaderCorpus::open(place, hash, given, pool)
        })?;
        let Some(opened) = opened else {
            let message = "this corpus has no plan with this hash: it was dropped, or another corpus is at this path";
            return Err(named(py, "NotFound", message));
        };
        Ok(Self { opened: ProcessOwned::new(Mutex::new(Some(Arc::new(opened)))) })
    }

    /// Another reader of the same opened corpus, to be closed by itself.
    fn share(&self, py: Python<'_>) -> PyResult<Self> {
        let opened = self.opened(py)?;
        Ok(Self { opened: ProcessOwned::new(Mutex::new(Some(opened))) })
    }

    /// Refuses what batches of an epoch could not be: by the rank, the views, or the files.
    fn check(
        &self,
        py: Python<'_>,
        epoch: u64,
        request: BatchRequest,
        files: Vec<PathBuf>,
    ) -> PyResult<()> {
        let (form, options) = (request.form()?, request.options(0, 1));
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            opened.refuse_purged()?;
            let files = by_epoch(files, &opened.hash)?;
            opened.pool.install(|| {
                let open = opened.epoch_here(epoch, context)?;
                Maker::of(&open, &form)?;
                open.steps(&options)?;
                match files.get(&epoch) {
                    Some(directory) => Ok(open.from_files(directory).map(drop)?),
                    None => Ok(()),
                }
            })
        })
    }

    /// How many epochs the plan has.
    fn epochs(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.opened(py)?.planned.epochs())
    }

    /// The numbers of rows and of batches of an epoch.
    fn counts(&self, py: Python<'_>, epoch: u64) -> PyResult<(u64, u64)> {
        self.of_epoch(py, epoch, |epoch| Ok((epoch.rows(), epoch.batches())))
    }

    /// The number of steps of each rank, from batch `from_batch` on.
    fn steps(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        request: BatchRequest,
    ) -> PyResult<u64> {
        let options = request.options(from_batch, 1);
        self.of_epoch(py, epoch, move |epoch| Ok(epoch.steps_left(&options)))
    }

    /// The rows of an epoch that no rank has from batch `from_batch` on, since they are too few for one each. They may
    /// have to be looked up.
    fn rows_left_out(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        request: BatchRequest,
    ) -> PyResult<u64> {
        let options = request.options(from_batch, 1);
        self.of_epoch(py, epoch, move |epoch| Ok(epoch.rows_left_out(&options)?))
    }

    /// The real tokens that each rank has of `steps` steps, or of those that are left, from batch `from_batch` on.
    fn rank_tokens(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        steps: u64,
        request: BatchRequest,
    ) -> PyResult<Vec<u64>> {
        let options = request.options(from_batch, 1);
        self.of_epoch(py, epoch, move |epoch| Ok(epoch.rank_tokens(&options, steps)?))
    }

    /// How many ids the tokenizer has.
    fn vocabulary(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.opened(py)?.planned.plan.tokenizer.vocab_size)
    }

    /// How many batches a step of `world` ranks of `rows` rows has.
    fn batches_of_step(&self, py: Python<'_>, epoch: u64, world: u64, rows: u64) -> PyResult<u64> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            let options = StreamOptions { world, rows, uneven: true, ..StreamOptions::default() };
            opened.pool.install(|| {
                let mut first = opened.epoch_here(epoch, context)?.steps(&options)?;
                first.skip_steps(1)?;
                Ok(first.state().1)
            })
        })
    }

    /// Starts to read the steps of a rank ahead, from batch `from_batch` on: skips `skip` steps, then reads every
    /// `stride`-th. With `record` they are put on record, as far as they are taken.
    #[pyo3(signature = (epoch, from_batch, request, *, prefetch, skip=0, stride=1, record=false))]
    #[expect(clippy::too_many_arguments, reason = "where to begin, what, and whose turns")]
    fn start(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        request: BatchRequest,
        prefetch: usize,
        skip: u64,
        stride: u64,
        record: bool,
    ) -> PyResult<PyBatches> {
        let (form, options) = (request.form()?, request.options(from_batch, prefetch));
        let opened = self.opened(py)?;
        let theirs = Arc::clone(&opened);
        let (work, entry) = run_detached(py, None, move |context| {
            opened.refuse_purged()?;
            opened.pool.install(|| {
                let epoch = opened.epoch_here(epoch, context)?;
                let work = work(&opened, &epoch, &form, &options, (skip, stride))?;
                // Without write access there is no entry, and training goes on.
                let entry = record.then(|| {
                    let place = ("loader", now());
                    opened.corpus.record_stream(&opened.planned, &epoch, &options, place)
                });
                Ok((work, entry.and_then(Result::ok)))
            })
        })?;
        PyBatches::start(theirs, work, prefetch, entry.map(|entry| (entry, from_batch)))
    }

    /// Rows by their numbers, each as a batch of one row.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        epoch: u64,
        numbers: Vec<u64>,
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let form = Form::of(views, flat, kind, None)?;
        let opened = self.opened(py)?;
        let made = run_detached(py, None, move |context| {
            opened.refuse_purged()?;
            opened.pool.install(|| {
                let epoch = opened.epoch_here(epoch, context)?;
                let maker = Maker::of(&epoch, &Form::of_rows(&epoch, &form)?)?;
                let rows = epoch.rows_at(&numbers)?;
                let make = |row: corpusdb::epoch::EpochRow| {
                    let number = row.batch().unwrap_or_else(|| row.number());
                    let batch = EpochBatch { number, rows: vec![row] };
                    maker.make(&batch, number + 1, &opened.sources)
                };
                rows.into_iter().map(make).collect::<Result<Vec<_>, Error>>()
            })
        })?;
        made.into_iter().map(|made| made.into_python(py)).collect()
    }

    /// Rows by their numbers, with their text: the report of each as JSON, and all as a notebook shows them.
    fn texts(
        &self,
        py: Python<'_>,
        epoch: u64,
        numbers: Vec<u64>,
    ) -> PyResult<(Vec<String>, String)> {
        let opened = self.opened(py)?;
        let (reports, html) = run_detached(py, None, move |context| {
            let reports = opened.reports(epoch, &numbers, context)?;
            let html = opened.glance(epoch, &reports, 0)?;
            Ok((reports, html))
        })?;
        let reports: PyResult<_> = reports.iter().map(|report| json(py, report)).collect();
        Ok((reports?, html))
    }

    /// Rows by their numbers, as a notebook shows them: as bands, and the text of the first ones.
    fn glance(&self, py: Python<'_>, epoch: u64, numbers: Vec<u64>) -> PyResult<String> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            let shown = RowsPage::glanced(numbers.len(), opened.planned.plan.capacity);
            let (shown, more) = numbers.split_at(shown);
            opened.glance(epoch, &opened.reports(epoch, shown, context)?, more.len())
        })
    }

    /// The names of the sources. Rows have the index of theirs.
    fn sources(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.opened(py)?.sources.clone())
    }

    /// The keys of documents.
    fn keys(&self, py: Python<'_>, documents: Vec<u64>) -> PyResult<Vec<String>> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |_| {
            let key = |document| opened.corpus.key_of(DocId(document));
            opened.pool.install(|| documents.into_iter().map(key).collect())
        })
    }

    /// Closes the reader. `Batches` that are still running keep the epoch open until they are stopped.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let taken = lock(self.opened.get(py)?).take();
        py.detach(|| drop(taken));
        Ok(())
    }
}

impl PlanReader {
    /// What an epoch says of itself, asked without the lock of Python.
    fn of_epoch<T: Send + 'static>(
        &self,
        py: Python<'_>,
        number: u64,
        ask: impl FnOnce(Epoch) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| ask(opened.epoch(number, context)?))
    }

    fn opened(&self, py: Python<'_>) -> PyResult<Arc<LoaderCorpus>> {
        let opened = lock(self.opened.get(py)?).clone();
        opened.ok_or_else(|| named(py, "Closed", "this reader of an epoch is closed"))
    }
}

/// The work for batches of a form: the steps of one rank, or of one worker of it.
fn work(
    opened: &Arc<LoaderCorpus>,
    epoch: &Epoch,
    form: &Form,
    options: &StreamOptions,
    (skip, stride): (u64, u64),
) -> Result<Work, Error> {
    let maker = Maker::of(epoch, form)?;
    if let Maker::Tensors(tensors) = &maker
        && tensors.only_ids()
        && let Some(steps) = epoch.id_steps_every(options, skip, stride)?
    {
        let origins = OriginFinder::new(Arc::clone(opened), epoch.clone(), *options);
        return Ok(Work::Ids(steps, IdMaker::new(tensors.clone(), origins)));
    }
    Ok(Work::Rows(Box::new(epoch.steps_every(options, skip, stride)?), maker))
}
