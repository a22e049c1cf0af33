//! Documents that were decided elsewhere come in with their decisions: of a directory that `corpusdb.spark` wrote.
//!
//! They go the way of every ingest, but for the deciding: texts are fingerprinted, compressed and encoded here, and what is
//! stored is what an ingest of the same files would have stored. `manifest` says what the load was decided with, `later` removes at
//! the end what came before its witness. What a row says is read by `decided`, held against the document and taken over by
//! `judge`, both beside this folder. The layout is in `docs/reference/loads.md`.

mod later;
mod manifest;

use super::decided::COLUMNS;
use super::error::IngestError;
use super::judge::Judge;
use super::options::{IngestOptions, OnError};
use super::produce::{Inlet, inlets};
use super::read::{Format, ReadOptions};
use super::report::IngestReport;
use super::run::{Crafts, ingest};
use crate::model::{Context, DocId, KeepOrder, Standing};
use crate::remote::Stores;
use crate::store::{View, Writer};
use later::remove_later;
use manifest::Manifest;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;

/// How to load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Threads for fingerprints and encoding.
    pub threads: usize,
    /// Bytes of text and fields after which a batch is committed.
    pub batch_bytes: u64,
    /// Compare every removed document with its witness, not one of 64.
    pub check_all: bool,
    /// How objects of stores are reached (`s3://` and the like).
    pub stores: Stores,
}

impl Default for LoadOptions {
    /// One thread a core, 16 MiB a batch, a sample is compared.
    fn default() -> Self {
        let IngestOptions { threads, batch_bytes, .. } = IngestOptions::new("");
        Self { threads, batch_bytes, check_all: false, stores: Stores::default() }
    }
}

/// What a load did: what an ingest tells, and what was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LoadReport {
    /// What was stored.
    #[serde(flatten)]
    pub ingest: IngestReport,
    /// Removed documents whose texts were compared with their witnesses'.
    pub compared: u64,
    /// Removed documents that came before their witnesses: their token ids were made in vain.
    pub later: u64,
}

/// Loads a directory into a corpus that has nothing else. Every committed batch stays, whatever happens after it; the same
/// again goes on behind it.
///
/// # Errors
/// [`IngestError::LoadRow`] for a row that cannot be true, [`IngestError::Load`] for a load that is not for this corpus,
/// else as [`ingest`].
pub fn load(
    writer: &mut Writer,
    directory: &str,
    options: &LoadOptions,
    crafts: Crafts<'_>,
    context: &Context<'_>,
) -> Result<LoadReport, IngestError> {
    let directory = directory.trim_end_matches('/');
    let (stores, interrupt) = (&options.stores, context.interrupt);
    let manifest = Manifest::read(directory, stores, writer.view(), interrupt)?;
    let paths = [format!("{directory}/documents")];
    let stopped = || IngestError::Interrupted { report: Box::default() };
    // Spark leaves marks of its own beside what it writes.
    let files = || -> Result<Vec<Inlet<'static>>, IngestError> {
        let mut files = inlets(&paths, stores, interrupt, stopped)?;
        files.retain(|file| matches!(file, Inlet::File(file) if file.name().ends_with(".parquet")));
        Ok(files)
    };
    let inputs = files()?;
    let as_ingest = as_ingest(&manifest.source, options);
    refuse_others(writer.view(), &inputs, &as_ingest.source)?;
    let is_resumed = writer.view().documents() > 0;
    let first = DocId(writer.view().documents());
    let mut judge = Judge::new(manifest.source, options.check_all);
    let crafts = Crafts { judge: Some(&mut judge), ..crafts };
    let mut report = ingest(writer, inputs, &as_ingest, crafts, context)?;
    let documents = writer.view().documents();
    if documents != manifest.documents {
        return Err(IngestError::Load(format!(
            "{directory}: {documents} documents were loaded, and its manifest counts {}: files are missing or were added",
            manifest.documents
        )));
    }
    let may_wait = writer.view().policy().keep != KeepOrder::First;
    if may_wait && (judge.later > 0 || is_resumed) {
        let files = files()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(context.threads).build().map_err(
            |error| IngestError::Threads { threads: context.threads, why: error.to_string() },
        )?;
        report.commits +=
            pool.install(|| remove_later(writer, files, &as_ingest, &mut judge, context))?;
        report.count_standings(writer.view(), first)?;
    }
    Ok(LoadReport { ingest: report, compared: judge.compared, later: judge.later })
}

/// The ingest that would store the same.
fn as_ingest(source: &str, options: &LoadOptions) -> IngestOptions {
    let read = ReadOptions {
        format: Format::Parquet,
        text_field: Some("text".to_owned()),
        id_field: Some("key".to_owned()),
        source_field: Some("source".to_owned()),
        drop_fields: COLUMNS.map(str::to_owned).to_vec(),
        stores: options.stores.clone(),
        ..ReadOptions::default()
    };
    IngestOptions {
        read,
        threads: options.threads,
        batch_bytes: options.batch_bytes,
        on_error: OnError::Reject,
        ..IngestOptions::new(source)
    }
}

/// What was decided holds among the documents of the load alone.
fn refuse_others(view: &View, inputs: &[Inlet<'_>], source: &str) -> Result<(), IngestError> {
    let mut of_load = 0;
    if let Some((source, _)) = view.source_named(source) {
        for inlet in inputs {
            let Inlet::File(input) = inlet else { continue };
            let record = view.file(source, input.path.as_os_str().as_bytes())?;
            of_load += record.map_or(0, |record| record.records);
        }
    }
    let mut changed = 0;
    for standing in [Standing::Superseded, Standing::Blocked, Standing::Removed, Standing::Purged] {
        changed += view.documents_standing(standing)?.len();
    }
    if of_load == view.documents() && changed == 0 {
        return Ok(());
    }
    Err(IngestError::Load(format!(
        "the corpus holds {} documents, and {} of them are of this load as it was written: what was decided holds among the documents of the load alone; load it into a new corpus",
        view.documents(),
        of_load.saturating_sub(changed)
    )))
}
