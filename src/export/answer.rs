//! Writes the answer to a statement as one file of any columns, in the formats that documents go out in.

use super::layout::{compression, table_of};
use super::manifest::{ANSWERS, ExportedFile, losses};
use super::options::ExportJob;
use super::run::on_threads;
use crate::sql::{SqlRows, refuse_same_names};
use arrow::array::{Array, RecordBatch, UInt64Array};
use files::output::{
    Destination, FileSpec, FormatName, GroupSize, HashedFile, ManifestFile, OutputCompression,
    OutputRequest, PositionedRows, ShardOutcome, ShardWriter, Staging, TableFormat, WriteError,
};
use model::{Context, Error};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Where a row group ends, whatever batches the engine makes.
const GROUP: GroupSize = GroupSize { rows: 1 << 16, bytes: 8 << 20 };
/// Bytes of memory by which a store's parts of a file are reckoned: they allow for files of 160 GB.
const PART_MEMORY: u64 = 1 << 30;

/// In which form the answer to a statement is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerOptions {
    /// Parquet, Arrow, CSV or JSON lines; told by the name of the file when absent.
    pub format: Option<FormatName>,
    /// How the file is compressed; told by its name, or else Zstandard for Parquet and none for others.
    pub compression: Option<OutputCompression>,
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
/// [`Error`]: a file that is taken, a name that tells no form, two columns of one name, what fails while the
/// statement runs, or the disk or the store.
pub fn write_answer(
    rows: SqlRows,
    options: AnswerOptions,
    job: &ExportJob<'_>,
    context: &Context<'_>,
) -> Result<ExportedFile, Error> {
    write_answer_noting(rows, options, job, None, context)
}

/// Writes an answer like [`write_answer`], and notes the numbers in the column `id`.
pub(crate) fn write_answer_noting(
    rows: SqlRows,
    options: AnswerOptions,
    job: &ExportJob<'_>,
    ids: Option<&mut RoaringTreemap>,
    context: &Context<'_>,
) -> Result<ExportedFile, Error> {
    let name = job.to.file_name().unwrap_or_default().to_string_lossy();
    let (format, compression) = form(options, &name)?;
    let table = table_of(format)?;
    let ExportJob { to, stores, force } = *job;
    let request = OutputRequest { to, stores, is_directory: false, force, maker: &ANSWERS };
    let destination = Destination::of(&request, &context.with_memory(PART_MEMORY))?;
    refuse_same_names(rows.schema().fields())?;
    let spec = FileSpec::new(rows.schema(), compression);
    table.check(&spec)?;
    // Whatever an earlier run left under this name is of no use to another one.
    let mark = blake3::hash(b"the answer to a statement").to_hex();
    let (staging, _): (Box<dyn Staging<()>>, _) = destination.begin_or_resume(&mark)?;
    let begun = staging.create(&name).map_err(Error::from);
    let written = begun.and_then(|file| {
        on_threads(context.threads, || write((rows, ids), table, &spec, file, context))
    });
    match written {
        Ok((ManifestFile { name, bytes, rows, blake3 }, lost)) => {
            staging.publish(&[], None, context)?;
            context.progress.end();
            let (partition, losses) = (BTreeMap::new(), losses(&spec.schema, &lost));
            Ok(ExportedFile { name, bytes, rows, blake3, partition, losses })
        }
        Err(error) => {
            staging.abandon(false);
            Err(error)
        }
    }
}

/// A format that has columns, and a compression that it has.
fn form(options: AnswerOptions, name: &str) -> Result<(FormatName, OutputCompression), Error> {
    let (named, compressed) = FormatName::of_file(name);
    match options.format.or(named) {
        None => Err(Error::bad_input(format!(
            "{name} has no known ending: name it {} (lines of text may be followed by .gz or .zst), or give `format=`",
            FormatName::list_endings()
        ))),
        Some(format) if !format.has_columns() => Err(Error::bad_input(format!(
            "format {} is for documents, not for the rows of a statement: use {}",
            format.name(),
            FormatName::list_with_columns()
        ))),
        Some(format) => Ok((format, compression(options.compression.or(compressed), format)?)),
    }
}

/// The file of all rows, and how many values of each column its format cannot hold.
fn write(
    (mut rows, mut ids): (SqlRows, Option<&mut RoaringTreemap>),
    table: &'static dyn TableFormat,
    spec: &FileSpec,
    file: HashedFile,
    context: &Context<'_>,
) -> Result<(ManifestFile, Vec<u64>), Error> {
    context.progress.begin("rows", None);
    let (mut file, mut finished, mut done) = (Some(file), None, 0);
    let only = || WriteError::Bug("a second file".to_owned());
    let open = |_| Ok(table.create(spec, file.take().ok_or_else(only)?.into())?);
    let finish = |shard: ShardOutcome| {
        finished = shard.files.into_iter().next().map(|file| (file, shard.lost));
        Ok(())
    };
    let encode = |rows: &[_]| table.encode(spec, rows);
    let mut files: ShardWriter<'_, Error> =
        ShardWriter::new(0, u64::MAX, GROUP, encode, open, finish);
    let read = || {
        let read = |rows: RecordBatch| {
            let numbers = ids.as_mut().zip(rows.column_by_name("id"));
            if let Some((ids, numbers)) = numbers
                && let Some(numbers) = numbers.as_any().downcast_ref::<UInt64Array>()
            {
                ids.extend(numbers.iter().flatten());
            }
            PositionedRows { rows, behind: Vec::new() }
        };
        Ok(rows.next().transpose()?.map(read).into_iter().collect())
    };
    files.write_while_reading(read, |rows| {
        context.progress.advance(done);
        done += rows;
        Ok(context.check_interrupt()?)
    })?;
    files.finish(true)?;
    finished.ok_or_else(|| WriteError::Bug("a stream in place of a file".to_owned()).into())
}
