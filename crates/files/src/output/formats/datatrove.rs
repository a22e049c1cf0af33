//! Raw shards as datatrove and nanotron read them, written and read back: ids, ends of documents, a text of totals.
//!
//! `NNNNN_unshuffled.ds`: ids, u16 for vocabularies below 65,536, else u32. `.ds.index`: u64 each, where
//! every segment of a row and every run of pads ends, in tokens of the file. `.ds.metadata`: lines of
//! text. `.ds.loss`, where documents say what is trained: a byte a token, 1 if it is.

use super::segment_table::columns_beside;
use super::token_file::{
    ByteMaskReader, SideFileReader, SideFileWriter, TokenFile, TokenFileReader, expect_end,
};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile, write_whole};
use crate::output::row_format::{
    BareIdLayout, DirectoryReader, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, little_endian,
};
use crate::output::rows::{BatchColumn, IdType, LossLevel, RowColumn, list_column};
use crate::output::token_batch::TokenBatch;
use arrow::array::ArrayRef;
use arrow::datatypes::Int32Type;
use model::IoError;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Largest vocabulary that datatrove gives u16 (`DocumentTokenizer.token_size`).
const U16_UP_TO: u32 = 65_535;

/// datatrove shards.
pub(super) struct DatatroveFormat;

fn name(shard: u64, ending: &str) -> String {
    format!("{shard:05}_unshuffled.{ending}")
}

impl RowFormat for DatatroveFormat {
    fn id_type(&self, vocab: u32, _asked: Option<IdType>) -> IdType {
        IdType::narrow_up_to(vocab, U16_UP_TO, IdType::U32)
    }

    fn loss(&self, _columns: &[RowColumn]) -> LossLevel {
        LossLevel::Masked
    }

    fn bare_ids(&self) -> Option<BareIdLayout> {
        Some(BareIdLayout { before: "", behind: "_unshuffled.ds", header: |_| 0 })
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        let mut columns = columns_beside(spec);
        columns.push(BatchColumn::RunEnds);
        columns.extend(spec.has_loss_masks.then_some(BatchColumn::TrainedTokens));
        columns
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let shard = u64::from(number);
        let loss = name(shard, "ds.loss");
        let loss = spec.has_loss_masks.then(|| HashedFile::create(dir, &loss)).transpose()?;
        let index = DatatroveIndexWriter {
            dir: dir.to_path_buf(),
            spec: spec.clone(),
            metadata: name(shard, "ds.metadata"),
            ends: HashedFile::create(dir, &name(shard, "ds.index"))?,
            loss,
            tokens: 0,
        };
        let (tokens, segments) = (name(shard, "ds"), name(shard, "segments.parquet"));
        TokenFile::create(spec, dir, &tokens, &segments, Some(Box::new(index)))
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(DatatroveDirectory(ShardDirectory::list(dir, spec)?)))
    }
}

/// Where segments end.
struct DatatroveIndexWriter {
    dir: PathBuf,
    spec: RowSpec,
    metadata: String,
    ends: HashedFile,
    loss: Option<HashedFile>,
    tokens: u64,
}

impl SideFileWriter for DatatroveIndexWriter {
    fn add(&mut self, rows: &TokenBatch) -> Result<(), WriteError> {
        let mut bytes = Vec::new();
        for row in rows.rows() {
            for end in row.run_ends().unwrap_or_default() {
                bytes.extend((self.tokens + u64::from(end.unsigned_abs())).to_le_bytes());
            }
            self.tokens += row.ids().len() as u64;
        }
        if let (Some(loss), Some(trained)) = (&mut self.loss, rows.trained_tokens()) {
            loss.put(&trained)?;
        }
        self.ends.put(&bytes)
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, WriteError> {
        let Self { dir, spec, metadata, ends, loss, tokens: count } = *self;
        let text = totals(&spec.tokenizer, spec.id_type.bytes(), count);
        let metadata = write_whole(&dir, &metadata, text.as_bytes(), tokens.rows)?;
        let ends = ends.finish(tokens.rows)?;
        let loss = loss.map(|loss| loss.finish(tokens.rows)).transpose()?;
        Ok([tokens, ends, metadata].into_iter().chain(loss).collect())
    }
}

struct DatatroveDirectory(ShardDirectory);

impl DirectoryReader for DatatroveDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        let always = ["ds", "ds.index", "ds.metadata", "segments.parquet"];
        let loss = self.0.spec.has_loss_masks.then_some("ds.loss");
        always.into_iter().chain(loss).map(|ending| name(shard as u64, ending)).collect()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let spec = &self.0.spec;
        let path = |ending: &str| self.0.path.join(name(shard as u64, ending));
        let index = path("ds.index");
        let ends = File::open(&index).map_err(IoError::of("opening", &index))?;
        let loss =
            spec.has_loss_masks.then(|| ByteMaskReader::open(path("ds.loss"))).transpose()?;
        let side = DatatroveIndexReader {
            path: index,
            ends: BufReader::new(ends),
            tokens: 0,
            metadata: path("ds.metadata"),
            spec: spec.clone(),
            loss,
        };
        let reader = TokenFileReader::open(spec, &path("ds"), &path("segments.parquet"), 0)?;
        Ok(Box::new(reader.beside(Box::new(side))))
    }
}

/// Where the index says that segments end.
struct DatatroveIndexReader {
    path: PathBuf,
    ends: BufReader<File>,
    tokens: u64,
    metadata: PathBuf,
    spec: RowSpec,
    loss: Option<ByteMaskReader>,
}

impl DatatroveIndexReader {
    /// The next end, in tokens of the file.
    fn next_end(&mut self) -> Result<Option<u64>, ShardReadError> {
        let mut end = Vec::new();
        (&mut self.ends)
            .take(8)
            .read_to_end(&mut end)
            .map_err(IoError::of("reading", &self.path))?;
        Ok((end.len() == 8).then(|| little_endian(&end)))
    }
}

impl SideFileReader for DatatroveIndexReader {
    fn read(&mut self, rows: &TokenBatch) -> Result<Vec<(BatchColumn, ArrayRef)>, ShardReadError> {
        let (mut ends, mut counts) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in rows.rows() {
            let (start, before) = (self.tokens, ends.len());
            let end = start + row.ids().len() as u64;
            let mut last = start;
            // Every row ends a run, and no run is empty.
            while last < end {
                let next = self.next_end()?.filter(|next| (last + 1..=end).contains(next));
                let within = next.and_then(|next| i32::try_from(next - start).ok());
                let (Some(next), Some(within)) = (next, within) else {
                    let why = format!("has no end between tokens {last} and {end}");
                    return damaged(&self.path, why);
                };
                ends.push(within);
                last = next;
            }
            counts.push(ends.len() - before);
            self.tokens = end;
        }
        let mut columns = vec![(BatchColumn::RunEnds, list_column::<Int32Type>(ends, counts))];
        if let Some(loss) = &mut self.loss {
            columns.push((BatchColumn::TrainedTokens, loss.read(rows)?));
        }
        Ok(columns)
    }

    fn end(&mut self) -> Result<(), ShardReadError> {
        expect_end(&mut self.ends, &self.path)?;
        self.loss.as_mut().map_or(Ok(()), ByteMaskReader::end)?;
        let path = &self.metadata;
        let file = File::open(path).map_err(IoError::of("opening", path))?;
        let expected = totals(&self.spec.tokenizer, self.spec.id_type.bytes(), self.tokens);
        let mut found = Vec::new();
        file.take(expected.len() as u64 + 1)
            .read_to_end(&mut found)
            .map_err(IoError::of("reading", path))?;
        match found == expected.as_bytes() {
            true => Ok(()),
            false => damaged(path, format!("does not say `{}`", expected.replace('\n', "`, `"))),
        }
    }
}

/// Tokenizer and bytes of an id, tokens, tokens for people.
fn totals(tokenizer: &str, bytes: usize, tokens: u64) -> String {
    format!("{tokenizer}|{bytes}\n{tokens}\n{}", human(tokens))
}

/// Tokens with three digits and a unit, as humanize's `metric` has it.
fn human(tokens: u64) -> String {
    let mut exponent = tokens.checked_ilog10().unwrap_or(0);
    let scaled = |exponent: u32| tokens as f64 / 10_f64.powi((exponent / 3 * 3).cast_signed());
    let text = |exponent: u32| {
        format!("{:.*}", 2_usize.saturating_sub((exponent % 3) as usize), scaled(exponent))
    };
    // 9.999 is 10.0.
    if text(exponent).split('.').next().map_or(0, str::len) > (exponent % 3) as usize + 1 {
        exponent += 1;
    }
    let unit = ["", "k", "M", "G", "T", "P", "E"].get((exponent / 3) as usize);
    format!("{} {}T", text(exponent), unit.copied().unwrap_or_default())
}
