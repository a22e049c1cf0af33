//! The corpus and the plan that a loader reads from, opened with little memory and with threads of its own.

use super::purges::PurgeWatch;
use crate::error::{named, raise};
use corpusdb::epoch::{Epoch, EpochError, Manifest, Plan, RowReport};
use corpusdb::pages::{RowsPage, corpus_title};
use corpusdb::{Context, Corpus, Error};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a loader reads from, and the memory for that.
pub(super) struct CorpusPlace {
    pub path: PathBuf,
    /// The further corpora of the plan.
    pub shards: Vec<PathBuf>,
    pub memory: u64,
    /// Directories of built epochs.
    pub files: Vec<PathBuf>,
}

/// The open corpus and plan. The reader's threads share it, and may outlive the reader for a moment.
pub(super) struct LoaderCorpus {
    pub corpus: Corpus,
    pub planned: Arc<Plan>,
    /// The thread pool of this reader. A forked process does not have the pool of its parent.
    pub pool: rayon::ThreadPool,
    /// The names of the sources; each row has the index of its own.
    pub sources: Vec<String>,
    /// The plan's hash in hexadecimal.
    pub hash: String,
    /// Directories of built epochs, by epoch: their ids are read from there.
    files: BTreeMap<u64, PathBuf>,
    purges: PurgeWatch,
    /// The epoch that was opened last.
    last: Mutex<Option<(u64, Epoch)>>,
}

impl LoaderCorpus {
    /// Opens a corpus with its plan: the one given, or the stored one with the hash. `None` if there is no such plan.
    pub fn open(
        place: CorpusPlace,
        hash: String,
        given: Option<Arc<Plan>>,
        pool: rayon::ThreadPool,
    ) -> Result<Option<Self>, Error> {
        let CorpusPlace { path, shards, memory, files } = place;
        let files = by_epoch(files, &hash)?;
        let purges =
            PurgeWatch::before_opening([std::slice::from_ref(&path), shards.as_slice()].concat());
        let opened = pool.install(|| {
            let corpus = Corpus::options().memory(memory).open_with(&path, &shards)?;
            let planned = match given {
                Some(planned) => Some(planned),
                None => find(&corpus, &hash)?,
            };
            Ok::<_, Error>(planned.map(|planned| (corpus, planned)))
        })?;
        Ok(opened.map(|(corpus, planned)| {
            let sources = planned.plan.sources.iter().map(|source| source.name.clone()).collect();
            let last = Mutex::new(None);
            Self { corpus, planned, pool, sources, hash, files, purges, last }
        }))
    }

    /// Refuses to read on once documents of the plan were purged. Between batches a look may have to wait for its turn.
    pub fn refuse_purged_if_due(&self) -> Result<(), Error> {
        self.purges.refuse_purged_if_due(&self.corpus, &self.planned)
    }

    /// Refuses to begin if documents of the plan were purged.
    pub fn refuse_purged(&self) -> Result<(), Error> {
        self.purges.refuse_purged(&self.corpus, &self.planned)
    }

    /// Opens an epoch, with the threads of the reader.
    pub fn epoch(&self, number: u64, context: &Context<'_>) -> Result<Epoch, Error> {
        self.pool.install(|| self.epoch_here(number, context))
    }

    /// Opens an epoch, or returns it if it is the one opened last.
    pub fn epoch_here(&self, number: u64, context: &Context<'_>) -> Result<Epoch, Error> {
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

    /// Rows of an epoch by their numbers, with their text.
    pub fn reports(
        &self,
        epoch: u64,
        numbers: &[u64],
        context: &Context<'_>,
    ) -> Result<Vec<RowReport>, Error> {
        self.refuse_purged()?;
        self.pool.install(|| {
            let rows = self.epoch_here(epoch, context)?.rows_at(numbers)?;
            self.corpus.row_reports(&self.planned, &rows, true)
        })
    }

    /// Rows of an epoch as a notebook shows them; `more` are there besides.
    pub fn glance(&self, epoch: u64, rows: &[RowReport], more: usize) -> Result<String, Error> {
        let name = corpus_title(self.corpus.path());
        Ok(RowsPage::new(rows, epoch, &name, &self.sources).glance(more)?)
    }
}

/// Directories by their epochs. Fails before the first batch if one was not built from the plan.
pub(super) fn by_epoch(
    directories: Vec<PathBuf>,
    plan: &str,
) -> Result<BTreeMap<u64, PathBuf>, Error> {
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
