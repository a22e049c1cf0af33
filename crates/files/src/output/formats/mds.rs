//! MDS version 2, which MosaicML Streaming and LLM Foundry read, written and read back.
//!
//! Files are `shard.NNNNN.mds` or `shard.NNNNN.mds.zstd`, and `index.json`.
//!
//! A compressed shard is one zstd frame; limits and what shards say of themselves are of the bytes inside it.
//! A sample is the u32 size of each column, then the columns, in the order of their names. An array
//! `ndarray:DTYPE` is one byte, 4 x dimensions + log2 of the bytes of a length; the length; the values.
//! MDS has no empty arrays: a row of pads has one segment, of 0 tokens of document -1.

use super::sample_table::{SampleFile, read_table, table_bytes};
use super::spelling::python_json;
use super::token_file::encode_ids;
use crate::output::compression::OutputCompression;
use crate::output::error::WriteError;
use crate::output::files::{ManifestFile, write_whole};
use crate::output::row_format::{
    DirectoryReader, EncodedRows, FormatLimit, RowFormat, RowShard, RowSize, RowSpec,
    ShardDirectory, ShardReadError, ShardReader, damaged, little_endian, or_damaged,
};
use crate::output::rows::{BatchColumn, IdType, RowColumn};
use crate::output::token_batch::{
    RowListBuilder, TokenBatch, TokenBatchBuilder, TokenColumnBuilder, TokenRow, ViewValues,
};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use model::IoError;
use model::invariant::part;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Read};
use std::iter::Peekable;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// What the names of compressed shards end in.
const COMPRESSED: &str = ".zstd";
const INDEX: &str = "index.json";
/// Bytes that the head of a zstd frame has at most.
const FRAME_HEAD: u64 = 18;
/// Bytes that the source and the sizes of a row may take besides its ids and segments.
const BESIDE_IDS: u64 = 1 << 16;
/// Bytes of what a shard says of itself, at most.
const DESCRIPTION: u64 = 1 << 16;

/// MDS shards.
pub(super) struct MdsFormat;

/// Its name in a shard.
const fn name(column: BatchColumn) -> &'static str {
    if matches!(column, BatchColumn::Ids) { "tokens" } else { column.name() }
}

fn encoding(spec: &RowSpec, column: BatchColumn) -> &'static str {
    match column {
        BatchColumn::Source => "str",
        BatchColumn::Ids if spec.id_type == IdType::U16 => "ndarray:uint16",
        BatchColumn::Ids => "ndarray:int32",
        other => match other.value_type() {
            DataType::Int8 => "ndarray:int8",
            DataType::Int64 => "ndarray:int64",
            DataType::Float32 => "ndarray:float32",
            _ => "ndarray:int32",
        },
    }
}

fn is_compressed(spec: &RowSpec) -> bool {
    spec.compression == OutputCompression::Zstd
}

fn shard_name(spec: &RowSpec, shard: u64) -> String {
    format!("shard.{shard:05}.mds{}", if is_compressed(spec) { COMPRESSED } else { "" })
}

/// What every shard says of itself.
fn self_description(spec: &RowSpec) -> Value {
    let columns = MdsFormat.columns(spec);
    let names: Vec<&str> = columns.iter().map(|column| name(*column)).collect();
    let encodings: Vec<&str> = columns.iter().map(|column| encoding(spec, *column)).collect();
    json!({
        "column_encodings": encodings,
        "column_names": names,
        "column_sizes": vec![Value::Null; names.len()],
        "compression": is_compressed(spec).then_some("zstd"),
        "format": "mds",
        "hashes": [],
        "size_limit": spec.shard_bytes,
        "version": 2,
    })
}

/// What the index says of a shard, with its bytes as they are and compressed.
fn entry(spec: &RowSpec, stored: &str, stored_bytes: u64, inside: u64, samples: u64) -> Value {
    let part = |name: &str, bytes: u64| json!({ "basename": name, "bytes": bytes, "hashes": {} });
    let whole = part(stored, stored_bytes);
    let (raw, zip) = match stored.strip_suffix(COMPRESSED) {
        None => (whole, Value::Null),
        Some(name) => (part(name, inside), whole),
    };
    let mut entry = self_description(spec);
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("raw_data".to_owned(), raw);
        entry.insert("samples".to_owned(), samples.into());
        entry.insert("zip_data".to_owned(), zip);
        entry.sort_keys();
    }
    entry
}

/// Most bytes of a shard: those asked for, or of one row.
fn most_bytes(spec: &RowSpec) -> u64 {
    // A segment takes 20 bytes or less of a sample, and a token of it at most four in each column.
    let token = 4 * (spec.columns.len() as u64 + 2) + 20;
    spec.shard_bytes.max(u64::from(spec.capacity) * token + BESIDE_IDS)
}

impl RowFormat for MdsFormat {
    fn default_columns(&self, has_loss_masks: bool) -> Option<&'static [RowColumn]> {
        // Without masks the columns are those of before there were masks.
        Some(if has_loss_masks { &[RowColumn::LossMask] } else { &[] })
    }

    fn compressions(&self) -> &'static [OutputCompression] {
        &[OutputCompression::None, OutputCompression::Zstd]
    }

    fn has_id_choice(&self) -> bool {
        true
    }

    fn id_type(&self, _vocab: u32, asked: Option<IdType>) -> IdType {
        asked.unwrap_or(IdType::I32)
    }

    fn has_ids_as_they_are(&self, compression: OutputCompression) -> bool {
        compression == OutputCompression::None
    }

    fn check(&self, spec: &RowSpec) -> Result<(), FormatLimit> {
        if spec.id_type == IdType::U16 && spec.vocab > super::U16_VOCABULARY {
            return Err(FormatLimit {
                why: format!(
                    "output.ids = \"u16\" is asked for, and the vocabulary has {}",
                    spec.vocab
                ),
                instead: "leave output.ids out, for i32, or use another tokenizer",
            });
        }
        let bytes = most_bytes(spec);
        if bytes > u32::MAX.into() {
            return Err(FormatLimit {
                why: format!("its offsets are u32, and a shard may have {bytes} bytes"),
                instead: "lower output.shard_bytes to 4294967295 or less",
            });
        }
        Ok(())
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        let always = [
            BatchColumn::DocIds,
            BatchColumn::DocOffsets,
            BatchColumn::SeqLengths,
            BatchColumn::Source,
            BatchColumn::Ids,
        ];
        let more = spec.columns.iter().map(|column| BatchColumn::View(*column));
        let mut columns: Vec<BatchColumn> = always.into_iter().chain(more).collect();
        columns.sort_unstable_by_key(|column| name(*column));
        columns
    }

    fn shard_overhead(&self, spec: &RowSpec) -> u64 {
        table_bytes(0) + python_json(&self_description(spec)).len() as u64
    }

    fn row_bytes(&self, spec: &RowSpec, row: RowSize) -> Option<u64> {
        let array = |values: usize, width: usize| 1 + length_bytes(values) + values * width;
        let segments = row.segments.max(1);
        let more = spec.columns.iter().map(|column| {
            let values = match column {
                RowColumn::SeqStartId => segments,
                // Every pad may be a segment to it.
                RowColumn::CuSeqlens => row.tokens + 1,
                RowColumn::MaxSeqlen => 1,
                _ => row.tokens,
            };
            // A placeholder stands where there is none.
            array(values.max(1), if column.value_type() == DataType::Int8 { 1 } else { 4 })
        });
        let bytes = 4 * (5 + spec.columns.len())
            + 2 * array(segments, 8)
            + array(segments, 4)
            + row.source
            + array(row.tokens, spec.id_type.bytes())
            + more.sum::<usize>();
        // The sample's offset in the table counts too.
        Some(bytes as u64 + 4)
    }

    fn encode(&self, spec: &RowSpec, rows: TokenBatch) -> Result<EncodedRows, WriteError> {
        let columns = self.columns(spec);
        let ids = encode_ids(spec.id_type, &rows.ids());
        let mut bytes = Vec::with_capacity(ids.len() + rows.len() * 128);
        let (mut sizes, mut at) = (Vec::with_capacity(rows.len()), 0);
        for row in rows.rows() {
            let (start, end) = (bytes.len(), at + row.ids().len() * spec.id_type.bytes());
            let ids = part(&ids, at..end);
            put_sample(&columns, row, ids, &mut bytes)?;
            sizes.push(bytes.len() - start);
            at = end;
        }
        Ok(EncodedRows { rows, bytes: Buffer::from(bytes), sizes })
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let description = python_json(&self_description(spec)).into_bytes();
        Ok(SampleFile::create(spec, dir, shard_name(spec, number.into()), description, None))
    }

    fn conclude(
        &self,
        spec: &RowSpec,
        dir: &Path,
        shards: Vec<Vec<ManifestFile>>,
    ) -> Result<Vec<ManifestFile>, WriteError> {
        let mut files = shards.concat();
        let mut entries = Vec::new();
        for file in &files {
            let inside =
                if is_compressed(spec) { uncompressed_bytes(dir, file)? } else { file.bytes };
            entries.push(entry(spec, &file.name, file.bytes, inside, file.rows));
        }
        let index = python_json(&json!({ "shards": entries, "version": 2 }));
        files.push(write_whole(dir, INDEX, index.as_bytes(), 0)?);
        Ok(files)
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(MdsDirectory::open(ShardDirectory::list(dir, spec)?)?))
    }
}

/// Bytes inside a compressed shard, which may be one that an earlier build finished: its frame says it.
fn uncompressed_bytes(dir: &Path, file: &ManifestFile) -> Result<u64, WriteError> {
    let path = dir.join(&file.name);
    let mut head = Vec::new();
    File::open(&path)
        .and_then(|file| file.take(FRAME_HEAD).read_to_end(&mut head))
        .map_err(IoError::of("reading", &path))?;
    let bytes = zstd::zstd_safe::get_frame_content_size(&head).ok().flatten();
    bytes.ok_or_else(|| WriteError::Bug(format!("{} does not say its size", file.name)))
}

/// Appends the sample of a row, whose ids are encoded.
fn put_sample(
    columns: &[BatchColumn],
    row: TokenRow<'_>,
    ids: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let sizes = out.len();
    out.resize(sizes + 4 * columns.len(), 0);
    for (at, column) in columns.iter().enumerate() {
        let start = out.len();
        match column {
            BatchColumn::DocIds => put_array(*column, row.doc_ids(), i64::to_le_bytes, out),
            BatchColumn::DocOffsets => put_array(*column, row.doc_offsets(), i64::to_le_bytes, out),
            BatchColumn::SeqLengths => put_array(*column, row.seq_lengths(), i32::to_le_bytes, out),
            BatchColumn::Source => out.extend_from_slice(row.source().as_bytes()),
            BatchColumn::Ids => {
                begin_array(row.ids().len(), out);
                out.extend_from_slice(ids);
            }
            BatchColumn::View(view) => match row.view(*view) {
                Some(ViewValues::I8(values)) => put_array(*column, values, i8::to_le_bytes, out),
                Some(ViewValues::I32(values)) => put_array(*column, values, i32::to_le_bytes, out),
                Some(ViewValues::F32(values)) => put_array(*column, values, f32::to_le_bytes, out),
                None => return Err(WriteError::Bug(format!("a row without {}", view.name()))),
            },
            other => return Err(WriteError::Bug(format!("an MDS column {}", other.name()))),
        }
        let size = u32::try_from(out.len() - start);
        let size = size.map_err(|_| WriteError::Bug("an MDS column of 4 GiB".to_owned()))?;
        if let Some(place) = out.get_mut(sizes + 4 * at..sizes + 4 * at + 4) {
            place.copy_from_slice(&size.to_le_bytes());
        }
    }
    Ok(())
}

/// What stands for no values of a column, since no array may be empty.
fn placeholder(column: BatchColumn) -> Vec<u8> {
    let mut bytes = Vec::new();
    begin_array(1, &mut bytes);
    match column {
        BatchColumn::DocIds => bytes.extend((-1_i64).to_le_bytes()),
        BatchColumn::DocOffsets => bytes.extend([0; 8]),
        BatchColumn::View(view) if view.value_type() == DataType::Int8 => bytes.push(0),
        _ => bytes.extend([0; 4]),
    }
    bytes
}

/// Whether a placeholder stands for the values of a column in a row of so many tokens and segments.
const fn is_empty(column: BatchColumn, tokens: usize, has_segments: bool) -> bool {
    match column {
        BatchColumn::DocIds | BatchColumn::DocOffsets | BatchColumn::SeqLengths => !has_segments,
        BatchColumn::View(RowColumn::SeqStartId) => !has_segments,
        BatchColumn::View(view) => view.is_aligned() && tokens == 0,
        _ => false,
    }
}

fn put_array<T: Copy, const N: usize>(
    column: BatchColumn,
    values: &[T],
    bytes: impl Fn(T) -> [u8; N],
    out: &mut Vec<u8>,
) {
    if values.is_empty() {
        return out.extend(placeholder(column));
    }
    begin_array(values.len(), out);
    let start = out.len();
    out.resize(start + values.len() * N, 0);
    let places = out.get_mut(start..).unwrap_or_default().chunks_exact_mut(N);
    for (place, value) in places.zip(values) {
        place.copy_from_slice(&bytes(*value));
    }
}

/// Bytes that the length of an array takes.
const fn length_bytes(values: usize) -> usize {
    match values {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

fn begin_array(values: usize, out: &mut Vec<u8>) {
    let bytes = length_bytes(values);
    let log: u8 = match bytes {
        1 => 0,
        2 => 1,
        4 => 2,
        _ => 3,
    };
    out.push(1 << 2 | log);
    out.extend(values.to_le_bytes().into_iter().take(bytes));
}

/// A directory whose index was read.
struct MdsDirectory {
    dir: ShardDirectory,
    entries: Vec<Value>,
}

impl MdsDirectory {
    fn open(dir: ShardDirectory) -> Result<Self, ShardReadError> {
        let path = dir.path.join(INDEX);
        let mut index = dir.json(INDEX)?;
        if index.pointer("/version") != Some(&json!(2)) {
            return damaged(&path, "is not of version 2");
        }
        let entries = match index.pointer_mut("/shards").map(Value::take) {
            Some(Value::Array(entries)) => entries,
            _ => return damaged(&path, "has no list of shards"),
        };
        let there = dir.beginning("shard.").count();
        if entries.len() != there {
            return damaged(&path, format!("has {} shards, the directory {there}", entries.len()));
        }
        Ok(Self { dir, entries })
    }
}

impl DirectoryReader for MdsDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        vec![shard_name(&self.dir.spec, shard as u64)]
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let (spec, index) = (&self.dir.spec, self.dir.path.join(INDEX));
        let stored = shard_name(spec, shard as u64);
        let path = self.dir.path.join(&stored);
        let failed = || IoError::of("reading", &path);
        let file = File::open(&path).map_err(failed())?;
        let stored_bytes = file.metadata().map_err(failed())?.len();
        let (size, bytes): (u64, Box<dyn Read>) = if is_compressed(spec) {
            let said = self.entries.get(shard).and_then(|entry| entry.pointer("/raw_data/bytes"));
            let said = said.and_then(Value::as_u64).unwrap_or_default();
            if said > most_bytes(spec) {
                return damaged(&index, format!("says that {stored} holds {said} bytes"));
            }
            // What is inside is counted as it is read.
            let frame = zstd::Decoder::new(file).map_err(failed())?.single_frame();
            (said, Box::new(frame))
        } else {
            (stored_bytes, Box::new(file))
        };
        let mut samples = BufReader::with_capacity(1 << 20, bytes);
        let offsets = read_table(&mut samples, size, &path)?;
        let count = (offsets.len() as u64).saturating_sub(1);
        let start = offsets.first().copied().unwrap_or_default() - table_bytes(count);
        let mut about = Vec::new();
        (&mut samples).take(start.min(DESCRIPTION)).read_to_end(&mut about).map_err(failed())?;
        let expected = self_description(spec);
        if about.len() as u64 != start
            || serde_json::from_slice::<Value>(&about).ok().as_ref() != Some(&expected)
        {
            return damaged(&path, format!("does not describe itself as {expected}"));
        }
        if self.entries.get(shard) != Some(&entry(spec, &stored, stored_bytes, size, count)) {
            return damaged(&index, format!("does not describe shard {shard} as it is"));
        }
        Ok(Box::new(MdsReader {
            path,
            samples,
            columns: MdsFormat.columns(spec),
            id_bytes: spec.id_type.bytes(),
            offsets: offsets.into_iter().peekable(),
        }))
    }
}

/// The rows of a shard.
struct MdsReader {
    path: PathBuf,
    samples: BufReader<Box<dyn Read>>,
    columns: Vec<BatchColumn>,
    /// Bytes of a token id.
    id_bytes: usize,
    /// Offsets of the samples not read yet, and of the end.
    offsets: Peekable<IntoIter<u64>>,
}

impl ShardReader for MdsReader {
    fn next_batch(&mut self) -> Result<Option<TokenBatch>, ShardReadError> {
        let mut rows = TokenBatchBuilder::new(&self.columns);
        let mut sample = Vec::new();
        while !rows.is_full() {
            let (Some(start), Some(end)) = (self.offsets.next(), self.offsets.peek()) else {
                break;
            };
            sample.clear();
            (&mut self.samples)
                .take(end - start)
                .read_to_end(&mut sample)
                .map_err(IoError::of("reading", &self.path))?;
            if take_sample(&sample, self.id_bytes, &mut rows).is_none() {
                return damaged(&self.path, format!("has no sample at byte {start}"));
            }
        }
        if !rows.is_empty() {
            return or_damaged(&self.path, rows.finish()).map(Some);
        }
        match self.samples.read(&mut [0]).map_err(IoError::of("reading", &self.path))? {
            0 => Ok(None),
            _ => damaged(&self.path, "goes on after its last sample"),
        }
    }
}

/// Appends the row of a sample: the sizes of the columns, then the columns, by name.
fn take_sample(bytes: &[u8], id_bytes: usize, rows: &mut TokenBatchBuilder) -> Option<()> {
    let columns = rows.columns.len();
    let (sizes, mut rest) = bytes.split_at_checked(4 * columns)?;
    let mut fields = Vec::with_capacity(columns);
    for size in sizes.chunks_exact(4).map(little_endian) {
        let (field, after) = rest.split_at_checked(usize::try_from(size).ok()?)?;
        fields.push(field);
        rest = after;
    }
    let field_of = |wanted: BatchColumn| {
        let found = rows.columns.iter().zip(&fields).find(|((column, _), _)| *column == wanted);
        found.map(|(_, field)| *field)
    };
    let tokens = array(field_of(BatchColumn::Ids)?, id_bytes)?.len();
    let of_segments = [BatchColumn::DocIds, BatchColumn::DocOffsets, BatchColumn::SeqLengths];
    let is_placeholder = |column: BatchColumn| field_of(column) == Some(&*placeholder(column));
    let has_segments = !of_segments.into_iter().all(is_placeholder);
    for ((column, builder), field) in rows.columns.iter_mut().zip(fields) {
        if is_empty(*column, tokens, has_segments) && field != placeholder(*column) {
            return None;
        }
        let field = if is_empty(*column, tokens, has_segments) { &[] } else { field };
        match builder {
            TokenColumnBuilder::Text(values) => {
                values.push(std::str::from_utf8(field).ok()?.to_owned())
            }
            TokenColumnBuilder::I8s(list) => take_array(field, list, i8::from_le_bytes)?,
            // Signed in the file, where no id is negative.
            TokenColumnBuilder::U32s(list) if id_bytes == 2 => {
                take_array(field, list, |id| u16::from_le_bytes(id).into())?;
            }
            TokenColumnBuilder::U32s(list) => {
                let before = list.values.len();
                take_array(field, list, u32::from_le_bytes)?;
                part(&list.values, before..)
                    .iter()
                    .all(|id| *id <= IdType::I32.max())
                    .then_some(())?;
            }
            TokenColumnBuilder::I32s(list) => take_array(field, list, i32::from_le_bytes)?,
            TokenColumnBuilder::I64s(list) => take_array(field, list, i64::from_le_bytes)?,
            TokenColumnBuilder::F32s(list) => take_array(field, list, f32::from_le_bytes)?,
            TokenColumnBuilder::I32(values) => {
                let mut one = array(field, 4)?;
                values.push(i32::from_le_bytes(one.next()?.try_into().ok()?));
                one.next().is_none().then_some(())?;
            }
            TokenColumnBuilder::U64(_) | TokenColumnBuilder::U8s(_) => return None,
        }
    }
    rows.end_row(tokens);
    rest.is_empty().then_some(())
}

/// Appends an array, or nothing of no bytes, as the list of a row.
fn take_array<T, const N: usize>(
    field: &[u8],
    list: &mut RowListBuilder<T>,
    value: impl Fn([u8; N]) -> T,
) -> Option<()> {
    if !field.is_empty() {
        for bytes in array(field, N)? {
            list.values.push(value(bytes.try_into().ok()?));
        }
    }
    list.end();
    Some(())
}

/// The values of an array of one dimension.
fn array(bytes: &[u8], width: usize) -> Option<std::slice::ChunksExact<'_, u8>> {
    let (kind, rest) = bytes.split_first()?;
    let log = *kind ^ 1 << 2;
    let (length, values) = rest.split_at_checked(1 << log.min(3))?;
    let found = (values.len() / width) as u64;
    let narrowest = match found {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    };
    let sound =
        log == narrowest && little_endian(length) == found && values.len().is_multiple_of(width);
    sound.then(|| values.chunks_exact(width))
}
