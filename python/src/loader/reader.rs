//! The reader of a loader: little memory, its own threads, no lock. Any number of readers may be open.

use super::ahead::{PyBatches, Work};
use super::origin::OriginFinder;
use super::purges::PurgeWatch;
use super::ready::{Form, IdMaker, Maker};
use crate::blocking::run_detached;
use crate::error::{named, raise};
use crate::plan::PyPlan;
use crate::process::ProcessOwned;
use corpusdb::epoch::{Epoch, EpochBatch, EpochError, Manifest, Plan, StreamOptions};
use corpusdb::{Context, Corpus, DocId, Error};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The data that batches need. Shared with the reader's threads, which may outlive it for a moment.
pub(super) struct LoaderCorpus {
    corpus: Corpus,
    planned: Arc<Plan>,
    /// The thread pool of this reader. A forked process does not have the pool of its parent.
    pub pool: rayon::ThreadPool,
    /// The names of the sources. Rows have the index of theirs.
    pub sources: Vec<String>,
    /// The plan's hash in hexadecimal.
    hash: String,
    /// Directories of built epochs, by epoch: their ids are read from there.
    files: BTreeMap<u64, PathBuf>,
    purges: PurgeWatch,
    /// The epoch that was opened last.
    last: Mutex<Option<(u64, Epoch)>>,
}

/// Reads the rows and batches of a plan, even while a writer is open.
#[pyclass(frozen, module = "corpusdb._native", name = "Reader")]
pub(crate) struct PlanReader {
    opened: ProcessOwned<Mutex<Option<Arc<LoaderCorpus>>>>,
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
            let files = by_epoch(files, &hash)?;
            let corpora = std::iter::once(&path).chain(&shards).cloned().collect();
            let purges = PurgeWatch::before_opening(corpora);
            let opened = pool.install(|| {
                let corpus = Corpus::options().memory(memory).open_with(&path, &shards)?;
                let planned = match given {
                    Some(planned) => Some(planned),
                    None => find(&corpus, &hash)?,
                };
                Ok::<_, Error>(planned.map(|planned| (corpus, planned)))
            })?;
            Ok(opened.map(|(corpus, planned)| {
                let sources = planned.plan.sources.iter().map(|source| source.name.clone());
                let sources = sources.collect();
                let last = Mutex::new(None);
                LoaderCorpus { corpus, planned, pool, sources, hash, files, purges, last }
            }))
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
    #[pyo3(signature = (epoch, *, rank, world, uneven, rows, views, flat, kind, contract, files))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the loader")]
    fn check(
        &self,
        py: Python<'_>,
        epoch: u64,
        rank: u64,
        world: u64,
        uneven: bool,
        rows: u64,
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
        contract: Option<&str>,
        files: Vec<PathBuf>,
    ) -> PyResult<()> {
        let form = Form::of(views, flat, kind, contract)?;
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            opened.refuse_purged()?;
            let files = by_epoch(files, &opened.hash)?;
            opened.pool.install(|| {
                let open = opened.epoch_here(epoch, context)?;
                Maker::of(&open, &form)?;
                let options =
                    StreamOptions { rank, world, uneven, rows, ..StreamOptions::default() };
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
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            let epoch = opened.epoch(epoch, context)?;
            Ok((epoch.rows(), epoch.batches()))
        })
    }

    /// The number of steps of each rank of `world`, from batch `from` on, and of rows that no rank has, since they are
    /// too few for one each. `rows`: rows of a step of a rank, where the recipe has no batches.
    #[pyo3(signature = (epoch, from_batch, *, world, uneven, rows))]
    fn steps(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        world: u64,
        uneven: bool,
        rows: u64,
    ) -> PyResult<(u64, u64)> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            let full_steps = !uneven;
            let options = StreamOptions {
                from_batch,
                world,
                uneven,
                rows,
                full_steps,
                ..StreamOptions::default()
            };
            let epoch = opened.epoch(epoch, context)?;
            Ok((epoch.steps_left(&options), epoch.rows_left_out(&options)))
        })
    }

    /// How many batches a step of `world` ranks has. `rows` is as for `steps`.
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

    /// Starts to read the steps of a rank ahead, from batch `from` on: skips `skip` steps, then reads every
    /// `stride`-th.
    #[pyo3(signature = (
        epoch, from_batch, *, rank, world, uneven, rows, views, flat, kind, contract, prefetch, skip=0, stride=1
    ))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the loader")]
    fn start(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        rank: u64,
        world: u64,
        uneven: bool,
        rows: u64,
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
        contract: Option<&str>,
        prefetch: usize,
        skip: u64,
        stride: u64,
    ) -> PyResult<PyBatches> {
        let form = Form::of(views, flat, kind, contract)?;
        let opened = self.opened(py)?;
        let theirs = Arc::clone(&opened);
        let work = run_detached(py, None, move |context| {
            opened.refuse_purged()?;
            opened.pool.install(|| {
                let epoch = opened.epoch_here(epoch, context)?;
                let full_steps = !uneven;
                let options =
                    StreamOptions { from_batch, rank, world, prefetch, uneven, rows, full_steps };
                work(&opened, &epoch, &form, &options, (skip, stride))
            })
        })?;
        PyBatches::start(theirs, work, prefetch)
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
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<LoaderCorpus>> {
        let opened = lock(self.opened.get(py)?).clone();
        opened.ok_or_else(|| named(py, "Closed", "this reader of an epoch is closed"))
    }
}

impl LoaderCorpus {
    /// Refuses to read on once documents of the plan were purged.
    pub fn refuse_purged(&self) -> Result<(), Error> {
        self.purges.refuse_purged(&self.planned)
    }

    fn epoch(&self, number: u64, context: &Context<'_>) -> Result<Epoch, Error> {
        self.pool.install(|| self.epoch_here(number, context))
    }

    /// Opens an epoch, or returns it if it is the one opened last.
    fn epoch_here(&self, number: u64, context: &Context<'_>) -> Result<Epoch, Error> {
        let held = lock(&self.last).clone();
        if let Some((_, epoch)) = held.filter(|(last, _)| *last == number) {
            return Ok(epoch);
        }
        let mut epoch = self.corpus.epoch(&self.planned, number, context)?;
        if let Some(directory) = self.files.get(&number) {
            epoch = epoch.from_files(directory)?;
        }
        *lock(&self.last) = Some((number, epoch.clone()));
        Ok(epoch)
    }
}

/// The work for batches of a form: the steps of one rank, and of these the steps of one worker.
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

/// Directories by their epochs. Fails before the first batch if one was not built from the plan.
fn by_epoch(directories: Vec<PathBuf>, plan: &str) -> Result<BTreeMap<u64, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    for directory in directories {
        let Manifest { epoch, plan: built, .. } = Manifest::read(&directory)?;
        if built != plan {
            let why = format!(
                "was built from plan {built:.16}, but this loader reads plan {plan:.16}: build this plan, or leave \
                 the directory out"
            );
            return Err(EpochError::Files { path: directory, why }.into());
        }
        if let Some(other) = found.insert(epoch, directory.clone()) {
            let why =
                format!("has epoch {epoch}, as {} does: name only one of them", other.display());
            return Err(EpochError::Files { path: directory, why }.into());
        }
    }
    Ok(found)
}

fn find(corpus: &Corpus, hash: &str) -> Result<Option<Arc<Plan>>, Error> {
    let of_hash = |record: &corpusdb::store::EpochRecord| {
        let bytes = record.hash.iter().zip(hash.as_bytes().chunks(2));
        hash.len() == 64
            && bytes.into_iter().all(|(byte, two)| {
                let text = std::str::from_utf8(two).ok();
                text.and_then(|text| u8::from_str_radix(text, 16).ok()) == Some(*byte)
            })
    };
    match corpus.epochs()?.into_iter().find(of_hash) {
        Some(record) => corpus.stored_plan(record.number).map(Arc::new).map(Some),
        None => Ok(None),
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exception for an error of the reading thread.
pub(super) fn raised(py: Python<'_>, error: Error) -> PyErr {
    match error.is_interrupt() {
        true => named(py, "Closed", "this loader was stopped"),
        false => raise(py, error),
    }
}
