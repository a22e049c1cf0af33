//! A reader of its own for an epoch: little memory, threads of its own, no lock, any number beside each other.

use super::ahead::{Batches, Work};
use super::made::{Form, IdMaker, Maker};
use super::origin::Origins;
use crate::blocking::run_detached;
use crate::error::{named, raise};
use crate::plan::PyPlan;
use crate::process::ProcessOwned;
use corpusdb::epoch::{Epoch, EpochBatch, EpochError, Manifest, Planned, StreamOptions};
use corpusdb::{Context, Corpus, DocId, Error};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What batches of a reader need; shared with its threads, which may outlive it for a moment.
pub(super) struct Opened {
    corpus: Corpus,
    planned: Arc<Planned>,
    /// Threads of this reader: those of the process that another one was forked from are not there.
    pub pool: rayon::ThreadPool,
    /// Names of the sources, by which rows are numbered.
    pub sources: Vec<String>,
    /// Directories that epochs were built into, from which their ids are read.
    files: BTreeMap<u64, PathBuf>,
    /// The epoch opened last.
    last: Mutex<Option<(u64, Epoch)>>,
}

/// The rows and batches of a plan, read beside whoever writes.
#[pyclass(frozen, module = "corpusdb._native", name = "Reader")]
pub(crate) struct Reader {
    opened: ProcessOwned<Mutex<Option<Arc<Opened>>>>,
}

#[pymethods]
impl Reader {
    /// Opens the corpus at `path`, with those of `shards` beside it, and finds the plan of that hash; or takes `plan`,
    /// which need not be stored. Epochs that were built into `files` have their ids from there.
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
                Opened { corpus, planned, pool, sources, files, last: Mutex::new(None) }
            }))
        })?;
        let Some(opened) = opened else {
            let message = "this corpus has no plan of that hash: it was dropped, or the path leads to another corpus";
            return Err(named(py, "NotFound", message));
        };
        Ok(Self { opened: ProcessOwned::new(Mutex::new(Some(Arc::new(opened)))) })
    }

    /// Rows and batches of an epoch.
    fn counts(&self, py: Python<'_>, epoch: u64) -> PyResult<(u64, u64)> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            let epoch = opened.epoch(epoch, context)?;
            Ok((epoch.rows(), epoch.batches()))
        })
    }

    /// Steps that each rank of `world` has from batch `from` on.
    fn steps(&self, py: Python<'_>, epoch: u64, from_batch: u64, world: u64) -> PyResult<u64> {
        let opened = self.opened(py)?;
        run_detached(py, None, move |context| {
            Ok(opened.epoch(epoch, context)?.steps_from(from_batch, world))
        })
    }

    /// Starts to read ahead: the steps of a rank from batch `from` on, of which every `stride`-th after the first
    /// `skip`.
    #[pyo3(signature = (epoch, from_batch, *, rank, world, uneven, views, flat, kind, prefetch, skip=0, stride=1))]
    #[expect(clippy::too_many_arguments, reason = "each is an option of the loader")]
    fn start(
        &self,
        py: Python<'_>,
        epoch: u64,
        from_batch: u64,
        rank: u64,
        world: u64,
        uneven: bool,
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
        prefetch: usize,
        skip: u64,
        stride: u64,
    ) -> PyResult<Batches> {
        let form = Form::of(views, flat, kind)?;
        let opened = self.opened(py)?;
        let theirs = Arc::clone(&opened);
        let work = run_detached(py, None, move |context| {
            opened.pool.install(|| {
                let epoch = opened.epoch_here(epoch, context)?;
                let options = StreamOptions { from_batch, rank, world, prefetch, uneven };
                work(&opened, &epoch, &form, &options, (skip, stride))
            })
        })?;
        Batches::start(theirs, work, prefetch)
    }

    /// Rows by their numbers, each a batch of one row.
    fn rows<'py>(
        &self,
        py: Python<'py>,
        epoch: u64,
        numbers: Vec<u64>,
        views: Option<Vec<String>>,
        flat: bool,
        kind: &str,
    ) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let form = Form::of(views, flat, kind)?;
        let opened = self.opened(py)?;
        let made = run_detached(py, None, move |context| {
            opened.pool.install(|| {
                let epoch = opened.epoch_here(epoch, context)?;
                let maker = Maker::of(&epoch, &form)?;
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

    /// Names of the sources, by which rows are numbered.
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

    /// Gives everything back, but for what batches under way hold until they are stopped.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let taken = lock(self.opened.get(py)?).take();
        py.detach(|| drop(taken));
        Ok(())
    }
}

impl Reader {
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        let opened = lock(self.opened.get(py)?).clone();
        opened.ok_or_else(|| named(py, "Closed", "this reader of an epoch is closed"))
    }
}

impl Opened {
    fn epoch(&self, number: u64, context: &Context<'_>) -> Result<Epoch, Error> {
        self.pool.install(|| self.epoch_here(number, context))
    }

    /// An epoch, opened once as long as no other one is asked for.
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

/// What is read for batches of this form: of a rank of how many, of its steps those that a reader among several has.
fn work(
    opened: &Arc<Opened>,
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
        let origins = Origins::new(Arc::clone(opened), epoch.clone(), *options);
        return Ok(Work::Ids(steps, IdMaker::new(tensors.clone(), origins)));
    }
    Ok(Work::Rows(Box::new(epoch.steps_every(options, skip, stride)?), maker))
}

/// Directories by the epochs of a plan that were built into them: what is none of it is told before the first batch.
fn by_epoch(directories: Vec<PathBuf>, plan: &str) -> Result<BTreeMap<u64, PathBuf>, Error> {
    let mut found = BTreeMap::new();
    for directory in directories {
        let Manifest { epoch, plan: built, .. } = Manifest::read(&directory)?;
        if built != plan {
            let why = format!(
                "was built from plan {built:.16}, and this loader gives plan {plan:.16}: build this plan, or leave the directory out"
            );
            return Err(EpochError::Files { path: directory, why }.into());
        }
        if let Some(other) = found.insert(epoch, directory.clone()) {
            let why =
                format!("holds epoch {epoch}, and so does {}: name one of them", other.display());
            return Err(EpochError::Files { path: directory, why }.into());
        }
    }
    Ok(found)
}

fn find(corpus: &Corpus, hash: &str) -> Result<Option<Arc<Planned>>, Error> {
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

/// The exception of an error of the reading thread.
pub(super) fn raised(py: Python<'_>, error: Error) -> PyErr {
    match error.is_interrupt() {
        true => named(py, "Closed", "this loader was stopped"),
        false => raise(py, error),
    }
}
