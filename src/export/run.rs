//! Drives an export: partition by partition, a window of pieces read while the one before is written.

use super::error::ExportError;
use super::layout::{Layout, META, SPREAD};
use super::manifest::{ExportManifest, ExportedFile};
use super::options::{ExportCompression, ExportFormat, ExportJob, ExportOptions};
use super::partition::{Partition, partitions};
use super::pieces::{Pieces, Window};
use super::place::{Destination, Place};
use super::selection::{selected, text_bytes};
use super::staging::FinishedFile;
use super::write::{ArrowShard, Encoder, LineShard, ParquetShard, Shard, Shards, group_bytes};
use crate::model::{Context, refuse_without_room};
use crate::output::HashedFile;
use crate::query::DocumentTable;
use crate::store::View;
use arrow::datatypes::SchemaRef;
use roaring::RoaringTreemap;
use std::io::Write;
use std::path::Path;

/// What is written, and how.
struct Task<'a> {
    view: &'a View,
    layout: Layout,
    table: DocumentTable,
    encoder: Encoder,
    selected: RoaringTreemap,
    context: Context<'a>,
}

impl<'a> Task<'a> {
    fn new(
        view: &'a View,
        options: &ExportOptions,
        to: Option<&Path>,
        context: Context<'a>,
    ) -> Result<Self, ExportError> {
        let layout = Layout::of(view, options, to)?;
        let stored = |name: &String| if name == SPREAD { META.to_owned() } else { name.clone() };
        let table = match &layout.columns {
            Some(columns) if !options.duplicates => {
                let columns: Vec<String> = columns.iter().map(stored).collect();
                DocumentTable::of_documents(view, &columns)?
            }
            columns => DocumentTable::of_pairs(columns.as_deref())?,
        };
        let encoder = Encoder::new(&layout);
        let selected = selected(view, options)?;
        Ok(Self { view, layout, table, encoder, selected, context })
    }

    fn shard_bytes(&self) -> u64 {
        self.layout.shard_bytes.unwrap_or(u64::MAX)
    }

    fn window(&self) -> Window {
        Window::of(rayon::current_num_threads(), self.context.memory)
    }

    /// Writes documents into `shards`; `done` documents came before.
    fn write(
        &self,
        documents: RoaringTreemap,
        shards: &mut Shards<'_>,
        mut done: u64,
    ) -> Result<(), ExportError> {
        let Context { progress, interrupt, .. } = self.context;
        let window = self.window();
        let mut pieces = Pieces::new(self.view, documents, group_bytes(self.shard_bytes()));
        let mut parts = pieces.read(&self.table, &self.encoder, window)?;
        while !parts.is_empty() {
            interrupt.check()?;
            done += parts.iter().map(|part| part.count).sum::<u64>();
            // The next window is read while this one is written.
            let (written, following) = rayon::join(
                || shards.write(parts),
                || pieces.read(&self.table, &self.encoder, window),
            );
            written?;
            progress.advance(done);
            parts = following?;
        }
        Ok(())
    }

    /// Begins a file of the export.
    fn open(&self, file: HashedFile) -> Result<Box<dyn Shard>, ExportError> {
        let schema = self.schema();
        Ok(match self.layout.format {
            ExportFormat::Parquet => {
                Box::new(ParquetShard::create(file, schema, self.layout.compression)?)
            }
            ExportFormat::Arrow => Box::new(ArrowShard::create(file, schema)?),
            _ => {
                let header = self.encoder.header(&schema);
                Box::new(LineShard::create(file, self.layout.frame(), &header)?)
            }
        })
    }

    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }
}

/// Writes documents to the file or directory that the job names. On disk what is made lies in `NAME.tmp-HASH` beside it
/// and appears by a rename. Rows in flight take about a quarter of the memory at most; the bytes written depend neither
/// on it nor on threads.
///
/// # Errors
/// [`ExportError`]. The output is then as it was; what is finished stays for the next run of the same export.
pub fn export(
    view: &View,
    options: &ExportOptions,
    job: &ExportJob<'_>,
    corpus: &Path,
    context: &Context<'_>,
) -> Result<ExportManifest, ExportError> {
    let task = Task::new(view, options, Some(job.to), *context)?;
    let is_directory = task.layout.shard_bytes.is_some();
    let destination = Destination::of(job, is_directory, context)?;
    on_threads(context.threads, || {
        let partitions = partitions(view, &task.selected, &options.partition_by)?;
        let hash = identity(&task, options, corpus);
        let staging = destination.enter(&hash)?;
        let written = write_files(&task, options, &partitions, &staging, job.to);
        match written {
            Ok(manifest) => staging.publish(&manifest).map(|()| manifest),
            Err(error) => {
                staging.leave(&error);
                Err(error)
            }
        }
    })
}

/// Writes documents to a stream, as JSON lines, CSV, text, or an Arrow stream.
///
/// # Errors
/// [`ExportError`]: [`ExportError::Output`] when the stream refuses.
pub fn export_stream(
    view: &View,
    options: &ExportOptions,
    out: &mut (dyn Write + Send),
    context: &Context<'_>,
) -> Result<u64, ExportError> {
    let task = Task::new(view, options, None, *context)?;
    context.progress.begin("documents", Some(task.selected.len()));
    on_threads(context.threads, || {
        let schema = task.schema();
        let shard: Box<dyn Shard + '_> = match task.layout.format {
            ExportFormat::Arrow => Box::new(ArrowShard::stream(out, schema)?),
            _ => Box::new(LineShard::stream(out, &task.encoder.header(&schema))?),
        };
        let mut shard = Some(shard);
        let only = || ExportError::Bug("a second stream".to_owned());
        let open = move |_| shard.take().ok_or_else(only);
        let mut shards = Shards::new(0, u64::MAX, open, |_| Ok(()));
        task.write(task.selected.clone(), &mut shards, 0)?;
        shards.finish(true)?;
        Ok(task.selected.len())
    })
}

fn on_threads<T: Send>(
    threads: usize,
    work: impl FnOnce() -> Result<T, ExportError> + Send,
) -> Result<T, ExportError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| ExportError::Threads { threads, why: error.to_string() })?;
    pool.install(work)
}

/// Refuses what has no room for its texts alone, where those are written as they are.
fn refuse_too_large(
    task: &Task<'_>,
    finished: &[FinishedFile],
    staging: &Place,
    to: &Path,
) -> Result<(), ExportError> {
    let columns = task.layout.columns.as_deref();
    let has_text = columns.is_some_and(|columns| columns.iter().any(|column| column == "text"));
    let layout = &task.layout;
    let plain = layout.format.is_lines() && layout.compression == ExportCompression::None;
    if has_text && plain && matches!(staging, Place::Local(_)) {
        let written = finished.iter().map(|file| file.file.bytes).sum();
        let bytes = text_bytes(task.view, &task.selected)?.saturating_sub(written);
        refuse_without_room("exporting to", to, bytes)?;
    }
    Ok(())
}

fn write_files(
    task: &Task<'_>,
    options: &ExportOptions,
    partitions: &[Partition],
    staging: &Place,
    to: &Path,
) -> Result<ExportManifest, ExportError> {
    let progress = task.context.progress;
    let mut finished = staging.resume()?;
    progress.begin("documents", Some(task.selected.len()));
    let last = finished.last().cloned();
    refuse_too_large(task, &finished, staging, to)?;
    let mut done: u64 = finished.iter().map(|file| file.file.rows).sum();
    progress.advance(done);
    for (at, partition) in partitions.iter().enumerate() {
        let before = last.as_ref().filter(|last| last.partition >= at);
        if before.is_some_and(|last| last.partition > at) {
            continue;
        }
        let mut documents = partition.documents(task.view, &task.selected)?;
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
        let taken = |file| {
            let file = FinishedFile::of(file, at, number);
            staging.record(&file)?;
            number += 1;
            finished.push(file);
            Ok(task.context.check_interrupt()?)
        };
        let open = |number| task.open(staging.begin(&name(number))?);
        let mut shards = Shards::new(first, task.shard_bytes(), open, taken);
        task.write(documents, &mut shards, done)?;
        shards.finish(at_least_one)?;
        done += count;
    }
    let files = finished.into_iter().map(|finished| {
        let partition = partitions.get(finished.partition).map(Partition::values);
        let crate::output::ManifestFile { name, bytes, rows, blake3 } = finished.file;
        ExportedFile { name, bytes, rows, blake3, partition: partition.unwrap_or_default() }
    });
    let commit = task.view.commit().0;
    Ok(ExportManifest::new(options, &task.layout, commit, &task.schema(), files.collect()))
}

/// Tells exports apart, so that one continues only with files of its own: by what is asked for, and by the corpus.
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
        task.schema(),
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
