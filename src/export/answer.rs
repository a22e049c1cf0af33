//! The answer to a statement as one file: any columns, in the forms that documents go out in.

use super::error::ExportError;
use super::layout::{compression, ending};
use super::manifest::ExportedFile;
use super::options::{ExportCompression, ExportFormat, ExportJob};
use super::place::Destination;
use super::write::{ArrowShard, ParquetShard, Part, PartRows, Shard};
use crate::model::Context;
use crate::output::{Frame, HashedFile, ManifestFile, Sink, WriteError};
use crate::query::{Format, Printer, Rows, refuse_same_names};
use arrow::array::RecordBatch;
use std::collections::BTreeMap;
use std::io;

/// Rows at which a row group ends.
const GROUP_ROWS: usize = 1 << 16;
/// Bytes of rows in memory at which one ends, a batch more at most.
const GROUP_BYTES: usize = 8 << 20;
/// Bytes of memory by which a store's parts of a file are reckoned: they allow for files of 160 GB.
const PART_MEMORY: u64 = 1 << 30;

/// In which form the answer to a statement is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerOptions {
    /// Parquet, Arrow, CSV or JSON lines; told by the name of the file when absent.
    pub format: Option<ExportFormat>,
    /// How the file is compressed; told by its name, or else Zstandard for Parquet and none for others.
    pub compression: Option<ExportCompression>,
}

/// Writes the answer to a statement, as [`Corpus::sql`](crate::Corpus::sql) gives it, to one file, on disk or in a
/// store: complete or not at all, a row group of it in memory. The bytes are a function of the rows.
///
/// ```
/// use corpusdb::export::{AnswerOptions, ExportJob, write_answer};
///
/// # use corpusdb::{Context, Corpus, DedupMode, Policy};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("corpus");
/// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
/// # let corpus = Corpus::open(&path)?;
/// let to = directory.path().join("sources.csv");
/// let rows = corpus.sql("SELECT name, kept FROM sources")?;
/// let written = write_answer(rows, AnswerOptions::default(), &ExportJob::new(&to), &Context::new())?;
/// assert_eq!((written.rows, std::fs::read_to_string(&to)?.as_str()), (0, "name,kept\n"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ExportError`]: a file that is taken, a name that tells no form, two columns of one name, what fails while the
/// statement runs, or the disk or the store.
pub fn write_answer(
    rows: Rows,
    options: AnswerOptions,
    job: &ExportJob<'_>,
    context: &Context<'_>,
) -> Result<ExportedFile, ExportError> {
    let name = job.to.file_name().unwrap_or_default().to_string_lossy();
    let form = Form::of(options, &name)?;
    let destination = Destination::of(job, false, &context.with_memory(PART_MEMORY))?;
    refuse_same_names(rows.schema().fields())?;
    // Whatever an earlier run left under this name is of no use to another one.
    let mark = blake3::hash(b"the answer to a statement").to_hex();
    let place = destination.enter(&mark)?;
    let begun = place.resume().and_then(|_| place.begin(&name));
    match begun.and_then(|file| form.write(rows, file, context)) {
        Ok(ManifestFile { name, bytes, rows, blake3 }) => {
            place.publish_alone()?;
            context.progress.end();
            Ok(ExportedFile { name, bytes, rows, blake3, partition: BTreeMap::new() })
        }
        Err(error) => {
            place.leave(&error);
            Err(error)
        }
    }
}

/// A format that has columns, with a compression that it has.
struct Form {
    format: ExportFormat,
    compression: ExportCompression,
}

impl Form {
    fn of(options: AnswerOptions, name: &str) -> Result<Self, ExportError> {
        let (told, framed) = ending(name);
        match options.format.or(told) {
            None => Err(ExportError::Options(format!(
                "{name} has no known ending: name it .parquet, .arrow, .csv or .jsonl (the last two may be followed by .gz or .zst), or give `format=`"
            ))),
            Some(ExportFormat::Text) => Err(ExportError::Options(
                "format text is for documents, not for the rows of a statement: use parquet, arrow, csv or jsonl".to_owned(),
            )),
            Some(format) => {
                let compression = compression(options.compression.or(framed), format)?;
                Ok(Self { format, compression })
            }
        }
    }

    fn write(
        &self,
        rows: Rows,
        file: HashedFile,
        context: &Context<'_>,
    ) -> Result<ManifestFile, ExportError> {
        context.progress.begin("rows", None);
        let lines = match self.format {
            ExportFormat::Csv => Format::Csv,
            ExportFormat::Jsonl => Format::Json,
            _ => return self.table(rows, file, context),
        };
        let frame = match self.compression {
            ExportCompression::Zstd => Frame::Zstd,
            ExportCompression::Gzip => Frame::Gzip,
            _ => Frame::Plain,
        };
        let mut out = Lines { sink: Sink::of(file, frame, None)?, failed: None };
        let printed = print(rows, lines, &mut out, context);
        match out.failed {
            Some(failed) => Err(failed.into()),
            None => Ok(out.sink.finish(printed?)?),
        }
    }

    fn table(
        &self,
        rows: Rows,
        file: HashedFile,
        context: &Context<'_>,
    ) -> Result<ManifestFile, ExportError> {
        let schema = rows.schema();
        let mut file: Box<dyn Shard> = match self.format {
            ExportFormat::Arrow => Box::new(ArrowShard::create(file, schema)?),
            _ => Box::new(ParquetShard::create(file, schema, self.compression)?),
        };
        let (mut group, mut held, mut bytes, mut done) = (Vec::new(), 0, 0, 0);
        for batch in rows {
            context.check_interrupt()?;
            let batch = batch?;
            held += batch.num_rows();
            bytes += batch.get_array_memory_size();
            done += batch.num_rows() as u64;
            group.push(part(batch));
            if held >= GROUP_ROWS || bytes >= GROUP_BYTES {
                file.append(std::mem::take(&mut group))?;
                (held, bytes) = (0, 0);
                context.progress.advance(done);
            }
        }
        file.append(group)?;
        file.finish()?.ok_or_else(|| ExportError::Bug("a stream in place of a file".to_owned()))
    }
}

/// Prints all rows; how many there were.
fn print(
    rows: Rows,
    format: Format,
    out: &mut Lines,
    context: &Context<'_>,
) -> Result<u64, ExportError> {
    let (schema, mut printer, mut done) = (rows.schema(), Printer::new(format, out), 0);
    // One without rows has the names of its columns.
    printer.empty(&schema)?;
    for batch in rows {
        context.check_interrupt()?;
        let batch = batch?;
        printer.batch(&batch)?;
        done += batch.num_rows() as u64;
        context.progress.advance(done);
    }
    printer.finish()?;
    Ok(done)
}

fn part(batch: RecordBatch) -> Part {
    let count = batch.num_rows() as u64;
    Part { rows: PartRows::Table(batch), count, weight: 0, next: 0 }
}

/// Takes lines, and keeps what the disk said.
struct Lines {
    sink: Sink,
    failed: Option<WriteError>,
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.sink.put(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                self.failed = Some(error);
                Err(io::Error::other("the file cannot be written"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
