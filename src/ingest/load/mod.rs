//! Loads documents that were decided elsewhere, from a directory that `corpusdb.spark` wrote.
//!
//! The documents go the way of every ingest, but for the deciding: texts are fingerprinted, compressed and encoded
//! here, and what is stored is what an ingest of the same files would have stored. `manifest` says what the load was
//! decided with; `finisher` removes what came before its witness, and checks that all documents have the standing of
//! the load, stored ones included. Beside this folder, `imported_row` parses a row, and `load_validator` holds it
//! against the document and takes it over. The layout is in `docs/reference/loads.md`.

mod finisher;
mod manifest;

use self::finisher::LoadFinisher;
use self::finisher::StatusChangeFiles;
use self::manifest::LoadManifest;
use super::imported_row::COLUMNS;
use super::load_validator::LoadValidator;
use super::options::{IngestOptions, OnDamagedFile, OnError};
use super::pipeline::{IngestResources, ingest, pool};
use super::reader::{IngestInput, expand_files};
use super::report::IngestReport;
use files::input::{InputFile, InputFormat, ReadOptions};
use files::remote::ObjectStores;
use model::{Context, DocId, Error, KeepOrder, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;
use store::{BlockKind, StoreWriter, View};
use text::dedup::StandingsDigest;

/// Kinds of commits that make documents stand otherwise, and are not part of a load.
const DECIDING: [&str; 6] = ["remove", "restore", "undo", "purge", "redo", "settle"];

/// How to load.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Bytes of text and fields after which a batch is committed.
    pub batch_bytes: u64,
    /// Compare every removed document with its witness, and recompute all token ids. By default one document in 64 is
    /// checked.
    pub check_all: bool,
    /// Which shard of a load in shards the corpus takes, counted from 0.
    pub shard: Option<u32>,
    /// How objects of stores are reached (`s3://` and the like).
    pub stores: ObjectStores,
}

impl Default for LoadOptions {
    /// 16 MiB a batch, a sample is compared, no shard.
    fn default() -> Self {
        let IngestOptions { batch_bytes, .. } = IngestOptions::new("");
        Self { batch_bytes, check_all: false, shard: None, stores: ObjectStores::default() }
    }
}

/// The report of a load: that of an ingest, and what was checked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LoadReport {
    /// What was stored.
    #[serde(flatten)]
    pub ingest: IngestReport,
    /// Removed documents whose texts were compared with their witnesses'.
    pub compared: u64,
    /// Removed documents that came before their witnesses: their token ids were computed unnecessarily.
    pub later: u64,
    /// Texts that came with their token ids, so these were not computed; each tokenizer counts.
    pub brought: u64,
}

/// Loads a directory into a corpus that has nothing but what it was decided against. Every committed batch stays,
/// whatever happens after it; the same call continues behind it.
///
/// # Errors
/// [`Error`] for a row that cannot be true, for a load that is not for this
/// corpus, else as [`ingest`].
pub fn load(
    writer: &mut StoreWriter,
    directory: &str,
    options: &LoadOptions,
    crafts: IngestResources<'_>,
    context: &Context<'_>,
) -> Result<LoadReport, Error> {
    let directory = directory.trim_end_matches('/');
    let interrupt = context.interrupt;
    let manifest = LoadManifest::read(directory, options, writer.view(), interrupt)?;
    let paths = [format!("{directory}/{}", manifest.folder)];
    let as_ingest = as_ingest(&manifest, options);
    // A shard that no document fell into has no folder.
    let mut files = match (manifest.documents, options.shard) {
        (0, Some(_)) => Vec::new(),
        _ => expand_files(&paths, &as_ingest.read, interrupt)?,
    };
    // Spark leaves marks of its own beside what it writes.
    files.retain(|file| file.name().ends_with(".parquet"));
    refuse_others(writer.view(), &files, &manifest)?;
    let is_resumed = writer.view().documents() > manifest.before;
    let first = DocId(writer.view().documents());
    let changed = StatusChangeFiles::of(directory, &manifest, options, interrupt)?;
    let superseded = changed.superseded(&manifest, interrupt)?;
    let (before, changes) = (manifest.before, manifest.changed > 0);
    let judge = LoadValidator::new(manifest.source, manifest.ids, options.check_all);
    let mut judge = judge.against(before, changes, superseded);
    let tokenizers = crafts.tokenizers;
    let crafts = IngestResources { judge: Some(&mut judge), ..crafts };
    let inlets: Vec<_> = files.iter().cloned().map(IngestInput::File).collect();
    let mut report = ingest(writer, inlets.into(), &as_ingest, crafts, context)?;
    let documents = writer.view().documents().saturating_sub(before);
    if documents != manifest.documents {
        return Err(Error::bad_input(format!(
            "{directory}: {documents} documents were loaded, and its manifest counts {}: files are missing or were added",
            manifest.documents
        )));
    }
    let may_wait = writer.view().policy().keep != KeepOrder::First;
    if changes || may_wait && (judge.later > 0 || is_resumed) {
        let (files, options, ending) = (&files, &as_ingest, Instant::now());
        let mut end =
            LoadFinisher { files, changed: &changed, options, tokenizers, report: &mut report };
        pool(context)?.install(|| end.finish(writer, &mut judge, context))?;
        report.count_standings(writer.view(), first)?;
        report.seconds += ending.elapsed().as_secs_f64();
    }
    let LoadValidator { compared, later, brought, .. } = judge;
    Ok(LoadReport { ingest: report, compared, later, brought })
}

/// The ingest that would store the same.
fn as_ingest(manifest: &LoadManifest, options: &LoadOptions) -> IngestOptions {
    let of_ids = manifest.ids.iter().map(|ids| ids.column.clone());
    let read = ReadOptions {
        format: InputFormat::Parquet,
        text_field: Some("text".to_owned()),
        id_field: Some("key".to_owned()),
        source_field: Some("source".to_owned()),
        drop_fields: COLUMNS.map(str::to_owned).into_iter().chain(of_ids).collect(),
        stores: options.stores.clone(),
        partitions: false,
        ..ReadOptions::default()
    };
    IngestOptions {
        read,
        batch_bytes: options.batch_bytes,
        on_error: OnError::Reject,
        on_damaged_file: OnDamagedFile::Stop,
        ..IngestOptions::new(&manifest.source)
    }
}

/// How many blocked documents came in under keys of removed ones, so that nothing was done to them since.
fn came_blocked(view: &View, blocked: &RoaringTreemap) -> Result<u64, Error> {
    let mut count = 0;
    for document in blocked {
        let Some(identity) = view.block_identity(DocId(document))? else { continue };
        count += u64::from(!view.blockers(BlockKind::Identity, identity)?.is_empty());
    }
    Ok(count)
}

/// Refuses a load where the corpus has other documents than the load's and those that it was decided against.
fn refuse_others(view: &View, files: &[InputFile], manifest: &LoadManifest) -> Result<(), Error> {
    let (documents, before) = (view.documents(), manifest.before);
    let mut of_load = 0;
    if let Some((source, _)) = view.source_named(&manifest.source) {
        for file in files {
            let record = view.file(source, file.path.as_os_str().as_bytes())?;
            of_load += record.map_or(0, |record| record.records);
        }
    }
    let mut changed = 0;
    for standing in [Standing::Superseded, Standing::Blocked, Standing::Removed, Standing::Purged] {
        let mut these = view.documents_standing(standing)?;
        these.remove_range(..before);
        changed += these.len();
        if standing == Standing::Blocked {
            changed -= came_blocked(view, &these)?;
        }
    }
    if of_load + before == documents && changed == 0 {
        return refuse_others_before(view, manifest);
    }
    if before == 0 {
        return Err(Error::bad_input(format!(
            "the corpus has {documents} documents, and {} of them are from this load: its decisions hold among its own documents only; load it into a new corpus",
            of_load.saturating_sub(changed)
        )));
    }
    let others = documents.saturating_sub(of_load) + changed;
    Err(Error::bad_input(format!(
        "the load was decided against a corpus of {before} documents, and this one has {others} that are not from the load: decide against an export of this corpus as it is now"
    )))
}

/// Refuses a load where documents that it was decided against have another standing or rank now, other than by the
/// load itself.
fn refuse_others_before(view: &View, manifest: &LoadManifest) -> Result<(), Error> {
    if view.documents() > manifest.before {
        refuse_others_since(view, manifest)?;
        if manifest.changed > 0 {
            return Ok(());
        }
    }
    let Some(said) = &manifest.standings else { return Ok(()) };
    let mut found = StandingsDigest::default();
    for standing in Standing::ALL.into_iter().filter(|standing| standing.is_eligible()) {
        let these = view.documents_standing(standing)?;
        these
            .iter()
            .take_while(|id| *id < manifest.before)
            .for_each(|id| found.add(DocId(id), standing));
    }
    let found = found.to_string();
    if found == *said {
        return Ok(());
    }
    Err(Error::bad_input(format!(
        "the documents of this corpus differ from those that the load was decided against (digest {found}, not {said}): some were removed, restored or decided again since the export, the export left some out, or it is another corpus; decide against `corpusdb export --all` of this corpus as it is now"
    )))
}

/// Refuses a load where, since its first commit, another commit decided about stored documents that the load changes,
/// or gave documents another rank.
fn refuse_others_since(view: &View, manifest: &LoadManifest) -> Result<(), Error> {
    let ranking = match &view.policy().keep {
        KeepOrder::Field(name) => Some(name.as_str()),
        _ => None,
    };
    if manifest.changed == 0 && ranking.is_none() {
        return Ok(());
    }
    for (_, commit) in view.commits()?.into_iter().rev() {
        let changes = match commit.kind.as_str() {
            "field" => commit.subject.split(", ").any(|name| Some(name) == ranking),
            kind => manifest.changed > 0 && DECIDING.contains(&kind),
        };
        if changes {
            return Err(Error::bad_input(format!(
                "decisions or ranks changed since the load began (a commit of the kind `{}`): use a copy of the corpus that it was decided against, or ingest the documents",
                commit.kind
            )));
        }
        if commit.added > 0 && commit.first <= manifest.before {
            break;
        }
    }
    Ok(())
}
