//! Drives an export: partition by partition, a window of ranges read while the one before is written.

use super::collisions::TakenNames;
use super::layout::{ExportLayout, META, SPREAD};
use super::manifest::{EXPORTS, ExportManifest, ExportedFile, ExportedStream, losses};
use super::options::{ExportJob, ExportOptions};
use super::partition::{Partition, partitions};
use super::ranges::{DocumentRanges, ReadWindow};
use super::selection::{selected, text_bytes};
use crate::sql::ExportColumns;
use files::output::{
    Destination, FileOutput, FileSpec, GroupSize, ManifestFile, OutputCompression, OutputRequest,
    ShardFile, ShardOutcome, ShardRecord, ShardWriter, Staging, TableFormat, WriteError,
};
use files::remote::RemoteError;
use model::{Context, Error, ErrorKind, IoError, refuse_without_room};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;
use store::{StoreError, View};

/// Rows at which a group ends.
const GROUP_ROWS: u64 = 8192;
/// Bytes of values at which a group ends, by the bytes at which a file ends.
const GROUP_BYTES: std::ops::RangeInclusive<u64> = 4 << 10..=8 << 20;

/// Where an export goes on behind a finished file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DocumentPosition {
    /// The number of its partition.
    partition: usize,
    /// Its number in the partition.
    number: u32,
    /// The id behind its last document.
    next: u64,
    /// How many values of each of its columns the format cannot hold.
    lost: Vec<u64>,
}

type FinishedFile = ShardRecord<DocumentPosition>;

/// What is written, and how.
struct Task<'a> {
    view: &'a View,
    layout: ExportLayout,
    table: ExportColumns,
    format: &'static dyn TableFormat,
    spec: FileSpec,
    taken: Option<TakenNames>,
    selected: RoaringTreemap,
    context: Context<'a>,
}

impl<'a> Task<'a> {
    fn new(
        view: &'a View,
        options: &ExportOptions,
        to: Option<&Path>,
        context: Context<'a>,
    ) -> Result<Self, Error> {
        let layout = ExportLayout::of(view, options, to)?;
        let stored = |name: &String| if name == SPREAD { META.to_owned() } else { name.clone() };
        let columns = layout.columns.as_deref();
        let stored: Option<Vec<String>> = columns.map(|names| names.iter().map(stored).collect());
        let table = match &stored {
            Some(columns) if !options.duplicates => ExportColumns::of_documents(view, columns)?,
            columns => ExportColumns::of_pairs(columns.as_deref())?,
        };
        let (format, spec) = (layout.table()?, layout.spec(table.schema()));
        format.check(&spec)?;
        let taken = TakenNames::of(&spec, stored.unwrap_or_default().join(","));
        let selected = selected(view, options, &context)?;
        Ok(Self { view, layout, table, format, spec, taken, selected, context })
    }

    fn shard_bytes(&self) -> u64 {
        self.layout.shard_bytes.unwrap_or(u64::MAX)
    }

    fn group(&self) -> GroupSize {
        let bytes = (self.shard_bytes() / 8).clamp(*GROUP_BYTES.start(), *GROUP_BYTES.end());
        GroupSize { rows: GROUP_ROWS, bytes }
    }

    /// The writer of files from `number` on.
    fn writer<'w>(
        &'w self,
        number: u32,
        open: impl FnMut(u32) -> Result<Box<dyn ShardFile + 'w>, Error> + Send + 'w,
        finished: impl FnMut(ShardOutcome) -> Result<(), Error> + Send + 'w,
    ) -> ShardWriter<'w, Error> {
        let encode = |rows: &[_]| self.format.encode(&self.spec, rows);
        ShardWriter::new(number, self.shard_bytes(), self.group(), encode, open, finished)
    }

    /// Writes documents into files; `done` documents came before.
    fn write(
        &self,
        documents: RoaringTreemap,
        files: &mut ShardWriter<'_, Error>,
        mut done: u64,
    ) -> Result<(), Error> {
        let Context { progress, interrupt, .. } = self.context;
        let window = ReadWindow::of(rayon::current_num_threads(), self.context.memory);
        let mut ranges = DocumentRanges::new(self.view, documents, self.group().bytes);
        let read = || ranges.read(&self.table, self.taken.as_ref(), window);
        files.write_while_reading(read, |rows| {
            progress.advance(done);
            done += rows;
            Ok(interrupt.check()?)
        })?;
        progress.advance(done);
        Ok(())
    }
}

/// Writes documents to the file or directory that the job names; `noted` are which. On disk what is made lies in
/// `NAME.tmp-HASH` beside it and appears by a rename. Rows in flight take about a quarter of the memory at most; the bytes written depend neither
/// on it nor on threads.
///
/// # Errors
/// [`Error`]. The output is then as it was; what is finished stays for the next run of the same export.
pub fn export(
    view: &View,
    options: &ExportOptions,
    job: &ExportJob<'_>,
    corpus: &Path,
    noted: Option<&mut RoaringTreemap>,
    context: &Context<'_>,
) -> Result<ExportManifest, Error> {
    let task = Task::new(view, options, Some(job.to), *context)?;
    let is_directory = task.layout.shard_bytes.is_some();
    let ExportJob { to, stores, force } = *job;
    let request = OutputRequest { to, stores, is_directory, force, maker: &EXPORTS };
    let destination = Destination::of(&request, context)?;
    on_threads(context.threads, || {
        let partitions = partitions(view, &task.selected, &options.partition_by, context)?;
        let hash = identity(&task, options, corpus);
        let is_local = destination.is_local();
        let (staging, finished) = destination.begin_or_resume(&hash)?;
        let room = if is_local { refuse_too_large(&task, &finished, to) } else { Ok(()) };
        let written =
            room.and_then(|()| write_files(&task, options, &partitions, finished, &*staging, to));
        match written {
            Ok(manifest) => {
                staging.publish(&[], Some(&manifest.to_json()), context)?;
                note(noted, &task, options)?;
                Ok(manifest)
            }
            Err(error) => {
                staging.abandon(can_pass(&error));
                Err(error)
            }
        }
    })
}

/// Whether the same export may go on where this one stopped.
fn can_pass(error: &Error) -> bool {
    error.is_interrupt()
        || error.origin::<IoError>().is_some()
        || matches!(error.origin(), Some(WriteError::Library { .. }))
        || error.origin::<RemoteError>().is_some()
        || error.origin::<StoreError>().is_some()
}

/// Notes the documents of an export where the caller asks for them: of pairs, both.
fn note(
    noted: Option<&mut RoaringTreemap>,
    task: &Task<'_>,
    options: &ExportOptions,
) -> Result<(), Error> {
    let Some(noted) = noted else { return Ok(()) };
    noted.clone_from(&task.selected);
    if options.duplicates {
        for matched in task.view.matched()? {
            let (removed, _, found) = matched?;
            if task.selected.contains(removed.0) {
                noted.insert(found.witness.0);
            }
        }
    }
    Ok(())
}

/// Writes documents to a stream, as JSON lines, CSV, text, or an Arrow stream.
///
/// # Errors
/// [`Error`]: among them that of the stream.
pub fn export_stream(
    view: &View,
    options: &ExportOptions,
    out: &mut (dyn Write + Send),
    noted: Option<&mut RoaringTreemap>,
    context: &Context<'_>,
) -> Result<ExportedStream, Error> {
    let task = Task::new(view, options, None, *context)?;
    context.progress.begin("documents", Some(task.selected.len()));
    on_threads(context.threads, || {
        let mut stream = Some(task.format.create(&task.spec, FileOutput::stream(out))?);
        let only = || Error::from(WriteError::Bug("a second stream".to_owned()));
        let open = move |_| stream.take().ok_or_else(only);
        let mut lost = Vec::new();
        let mut files = task.writer(0, open, |shard| {
            lost = shard.lost;
            Ok(())
        });
        task.write(task.selected.clone(), &mut files, 0)?;
        files.finish(true)?;
        let losses = losses(&task.spec.schema, &lost);
        let loss =
            |(column, values): (&String, &u64)| task.layout.format.loss_note(column, *values);
        let loss_notes = losses.iter().map(loss).collect();
        note(noted, &task, options)?;
        Ok(ExportedStream { rows: task.selected.len(), loss_notes })
    })
}

/// Runs work on a pool of `threads` threads.
pub(super) fn on_threads<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| format!("starting {threads} worker threads: {error}"))
        .map_err(|message| Error::of(ErrorKind::Failed, message))?;
    pool.install(work)
}

/// Refuses what has no room for its texts alone, where those are written as they are.
fn refuse_too_large(task: &Task<'_>, finished: &[FinishedFile], to: &Path) -> Result<(), Error> {
    let columns = task.layout.columns.as_deref();
    let has_text = columns.is_some_and(|columns| columns.iter().any(|column| column == "text"));
    let layout = &task.layout;
    let is_plain =
        layout.format.format().is_compressed_whole && layout.compression == OutputCompression::None;
    if has_text && is_plain {
        let files = finished.iter().flat_map(|shard| &shard.files);
        let written = files.map(|file| file.bytes).sum();
        let bytes = text_bytes(task.view, &task.selected)?.saturating_sub(written);
        refuse_without_room("exporting to", to, bytes)?;
    }
    Ok(())
}

fn write_files(
    task: &Task<'_>,
    options: &ExportOptions,
    partitions: &[Partition],
    mut finished: Vec<FinishedFile>,
    staging: &dyn Staging<DocumentPosition>,
    to: &Path,
) -> Result<ExportManifest, Error> {
    let progress = task.context.progress;
    progress.begin("documents", Some(task.selected.len()));
    let last = finished.last().map(|shard| shard.position.clone());
    let mut done: u64 = finished.iter().flat_map(|shard| &shard.files).map(|file| file.rows).sum();
    progress.advance(done);
    for (at, partition) in partitions.iter().enumerate() {
        let before = last.as_ref().filter(|last| last.partition >= at);
        if before.is_some_and(|last| last.partition > at) {
            continue;
        }
        let mut documents = partition.documents(&task.selected);
        documents.remove_range(..before.map_or(0, |last| last.next));
        let first = before.map_or(0, |last| last.number + 1);
        // The only file of an export is there also when it has no row, and so is one that is finished.
        let at_least_one = task.layout.shard_bytes.is_none() && before.is_none();
        let (directory, count) = (partition.directory(), documents.len());
        staging.prepare(&directory)?;
        let name = |number| match task.layout.shard_bytes {
            Some(_) => format!("{directory}{}", task.layout.file_name(number)),
            None => to.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        let mut number = first;
        let finish = |shard| {
            let ShardOutcome { files, next, lost } = shard;
            let position = DocumentPosition { partition: at, number, next, lost };
            let shard = ShardRecord { files, position };
            staging.record(&shard)?;
            number += 1;
            finished.push(shard);
            Ok(task.context.check_interrupt()?)
        };
        let open =
            |number| Ok(task.format.create(&task.spec, staging.create(&name(number))?.into())?);
        let mut files = task.writer(first, open, finish);
        task.write(documents, &mut files, done)?;
        files.finish(at_least_one)?;
        done += count;
    }
    let files = finished.into_iter().flat_map(|ShardRecord { files, position }| {
        let partition = partitions.get(position.partition).map(Partition::values);
        let partition = partition.unwrap_or_default();
        let losses = losses(&task.spec.schema, &position.lost);
        files.into_iter().map(move |file| {
            let ManifestFile { name, bytes, rows, blake3 } = file;
            let (partition, losses) = (partition.clone(), losses.clone());
            ExportedFile { name, bytes, rows, blake3, partition, losses }
        })
    });
    let commit = task.view.commit().0;
    Ok(ExportManifest::new(options, &task.layout, commit, &task.spec.schema, files.collect()))
}

/// The identity of an export by its options and its corpus, so that it continues only with files of its own.
fn identity(task: &Task<'_>, options: &ExportOptions, corpus: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    let view = task.view;
    let asked = format!(
        "{}\0{options:?}\0{:?}\0{}\0{:?}\0{}\0{:?}",
        env!("CARGO_PKG_VERSION"),
        task.layout,
        corpus.display(),
        view.commit(),
        view.generation(),
        task.spec.schema,
    );
    hasher.update(asked.as_bytes());
    for (_, source) in view.sources() {
        hasher.update(
            format!("\0{}\0{}\0{}", source.name, source.bytes, source.documents).as_bytes(),
        );
    }
    // A hasher takes all that it is given.
    let _ = task.selected.serialize_into(&mut hasher);
    hasher.finalize().to_hex().to_string()
}
