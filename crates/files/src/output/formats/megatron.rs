//! Megatron shards, written and read back: `.bin` with the ids, `.idx` with one sequence a row, and a segment table.
//!
//! The index, little-endian: magic `MMIDIDX\0\0`, version u64 = 1, type code u8, sequences u64,
//! document boundaries u64, tokens of each sequence i32, byte offset of each sequence i64, then the
//! boundaries i64: 0 and the number of sequences up to and with each document. A packed row is one
//! document; unpacked, fragments of a document that follow each other are sequences of one.

use super::segment_table::columns_beside;
use super::token_file::{SideFileReader, SideFileWriter, TokenFile, TokenFileReader};
use crate::output::error::WriteError;
use crate::output::files::{HashedFile, ManifestFile};
use crate::output::row_format::{
    BareIdLayout, DirectoryReader, RowFormat, RowShard, RowSpec, ShardDirectory, ShardReadError,
    ShardReader, damaged, little_endian, shard_name,
};
use crate::output::rows::{BatchColumn, IdType, LossLevel, RowColumn};
use crate::output::token_batch::{TokenBatch, TokenRow};
use arrow::array::ArrayRef;
use model::IoError;
use std::fs;
use std::path::{Path, PathBuf};

const MAGIC: [u8; 9] = *b"MMIDIDX\0\0";
/// Vocabularies from here on are written as i32 by Megatron's own tools.
const U16_BELOW: u32 = 65_500;

/// Megatron shards.
pub(super) struct MegatronFormat;

/// The type's code in an index.
const fn type_code(id_type: IdType) -> u8 {
    match id_type {
        IdType::U16 => 8,
        IdType::I32 | IdType::U32 => 4,
    }
}

fn files(shard: u64) -> [String; 3] {
    ["bin", "idx", "segments.parquet"].map(|ending| shard_name(shard, ending))
}

impl RowFormat for MegatronFormat {
    fn id_type(&self, vocab: u32, _asked: Option<IdType>) -> IdType {
        IdType::narrow_up_to(vocab, U16_BELOW - 1, IdType::I32)
    }

    fn loss(&self, _columns: &[RowColumn]) -> LossLevel {
        LossLevel::Plain
    }

    fn bare_ids(&self) -> Option<BareIdLayout> {
        Some(BareIdLayout { before: "shard-", behind: ".bin", header: |_| 0 })
    }

    fn columns(&self, spec: &RowSpec) -> Vec<BatchColumn> {
        columns_beside(spec)
    }

    fn create(
        &self,
        spec: &RowSpec,
        dir: &Path,
        number: u32,
    ) -> Result<Box<dyn RowShard>, WriteError> {
        let [tokens, index, segments] = files(number.into());
        let index = MegatronIndexWriter {
            dir: dir.to_path_buf(),
            name: index,
            id_type: spec.id_type,
            documents: DocumentStarts { is_packed: spec.is_packed, last: None },
            lengths: Vec::new(),
            starts: Vec::new(),
        };
        TokenFile::create(spec, dir, &tokens, &segments, Some(Box::new(index)))
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(MegatronDirectory(ShardDirectory::list(dir, spec)?)))
    }
}

/// Which rows begin a document, row after row.
struct DocumentStarts {
    is_packed: bool,
    /// Document of the last row, and where in it the row ended; nothing when rows are packed.
    last: Option<(i64, i64)>,
}

impl DocumentStarts {
    fn begins_with(&mut self, row: TokenRow<'_>) -> bool {
        let first = row.doc_ids().first().zip(row.doc_offsets().first());
        let first = first.filter(|_| !self.is_packed).map(|(document, at)| (*document, *at));
        let continues = first.is_some() && first == self.last;
        let length = row.seq_lengths().first().copied().unwrap_or_default();
        self.last = first.map(|(document, at)| (document, at.saturating_add(length.into())));
        !continues
    }
}

/// The tokens of each sequence, and the sequences that begin a document.
struct MegatronIndexWriter {
    dir: PathBuf,
    name: String,
    id_type: IdType,
    documents: DocumentStarts,
    lengths: Vec<u32>,
    starts: Vec<u64>,
}

impl SideFileWriter for MegatronIndexWriter {
    fn add(&mut self, rows: &TokenBatch) -> Result<(), WriteError> {
        for row in rows.rows() {
            if self.documents.begins_with(row) {
                self.starts.push(self.lengths.len() as u64);
            }
            let length = u32::try_from(row.ids().len());
            let length = length.map_err(|_| WriteError::Bug("a row of 2^32 tokens".to_owned()))?;
            self.lengths.push(length);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, WriteError> {
        let mut file = HashedFile::create(&self.dir, &self.name)?;
        let rows = self.lengths.len() as u64;
        file.put(&MAGIC)?;
        file.put(&1_u64.to_le_bytes())?;
        file.put(&[type_code(self.id_type)])?;
        file.put(&rows.to_le_bytes())?;
        file.put(&(self.starts.len() as u64 + 1).to_le_bytes())?;
        for length in &self.lengths {
            // Rows are at most `pack.length + 1`, far below 2^31.
            file.put(&length.to_le_bytes())?;
        }
        let mut offset = 0_u64;
        for length in &self.lengths {
            file.put(&offset.to_le_bytes())?;
            offset += u64::from(*length) * self.id_type.bytes() as u64;
        }
        for start in self.starts.iter().chain([&rows]) {
            file.put(&start.to_le_bytes())?;
        }
        Ok(vec![tokens, file.finish(rows)?])
    }
}

struct MegatronDirectory(ShardDirectory);

impl DirectoryReader for MegatronDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        files(shard as u64).to_vec()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let spec = &self.0.spec;
        let [tokens, path, segments] = files(shard as u64).map(|name| self.0.path.join(name));
        let bytes = fs::read(&path).map_err(IoError::of("reading", &path))?;
        let index = match MegatronIndex::parse(&bytes) {
            Ok(index) => index,
            Err(why) => return damaged(&path, why),
        };
        let id_bytes = index.width;
        let documents = DocumentStarts { is_packed: spec.is_packed, last: None };
        let index = MegatronIndexReader { path, index, documents, asked: 0, next: 0 };
        let reader = TokenFileReader::open(spec, &tokens, &segments, 0)?;
        Ok(Box::new(reader.with_id_bytes(id_bytes).beside(Box::new(index))))
    }
}

/// The index, with which the segments of rows must agree.
struct MegatronIndexReader {
    path: PathBuf,
    index: MegatronIndex,
    documents: DocumentStarts,
    /// Rows whose length was asked for, and rows that were compared.
    asked: usize,
    next: usize,
}

impl SideFileReader for MegatronIndexReader {
    fn row_tokens(&mut self) -> Result<Option<usize>, ShardReadError> {
        let Some(length) = self.index.lengths.get(self.asked) else {
            return damaged(&self.path, "has fewer sequences than the segment table has rows");
        };
        self.asked += 1;
        Ok(Some(*length))
    }

    fn read(&mut self, rows: &TokenBatch) -> Result<Vec<(BatchColumn, ArrayRef)>, ShardReadError> {
        for row in rows.rows() {
            if self.index.begins.get(self.next) != Some(&self.documents.begins_with(row)) {
                let why = format!("sequence {} and the document before it", self.next);
                return damaged(&self.path, why);
            }
            self.next += 1;
        }
        Ok(Vec::new())
    }

    fn end(&mut self) -> Result<(), ShardReadError> {
        match self.next < self.index.lengths.len() {
            true => damaged(&self.path, "has more sequences than the segment table has rows"),
            false => Ok(()),
        }
    }
}

/// The `.idx` file, decoded.
struct MegatronIndex {
    /// Bytes of an id.
    width: usize,
    lengths: Vec<usize>,
    /// Whether a document begins with the sequence.
    begins: Vec<bool>,
}

impl MegatronIndex {
    /// Decodes and checks an index whose sequences lie end to end, each in a document.
    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let at = |from: usize, len: usize| {
            bytes.get(from..from + len).ok_or_else(|| format!("ends before byte {}", from + len))
        };
        let u64_at = |from: usize| at(from, 8).map(little_endian);
        if at(0, 9)? != MAGIC {
            return Err("does not begin with MMIDIDX".to_owned());
        }
        let version = u64_at(9)?;
        if version != 1 {
            return Err(format!("has version {version}"));
        }
        let width = match at(17, 1)? {
            [8] => 2,
            [4] => 4,
            other => return Err(format!("has type code {other:?}")),
        };
        let (sequences, boundaries) = (u64_at(18)?, u64_at(26)?);
        let expected = 34 + u128::from(sequences) * 12 + u128::from(boundaries) * 8;
        if expected != bytes.len() as u128 || boundaries == 0 || boundaries - 1 > sequences {
            return Err(format!(
                "has {} bytes for {sequences} sequences and {boundaries} boundaries",
                bytes.len()
            ));
        }
        // The counts fit the file just measured.
        let count = usize::try_from(sequences).map_err(|error| error.to_string())?;
        let mut lengths = Vec::with_capacity(count);
        let mut offset = 0_u64;
        for sequence in 0..count {
            let length = little_endian(at(34 + 4 * sequence, 4)?);
            if u64_at(34 + 4 * count + 8 * sequence)? != offset {
                return Err(format!(
                    "sequence {sequence} does not begin at byte {offset} of the tokens"
                ));
            }
            // Lengths are i32: one that is negative is longer than the file.
            lengths.push(usize::try_from(length).map_err(|error| error.to_string())?);
            offset = offset.saturating_add(length * width as u64);
        }
        let documents = usize::try_from(boundaries - 1).map_err(|error| error.to_string())?;
        let mut begins = vec![false; count];
        let mut last = None;
        for document in 0..documents {
            let first = u64_at(34 + 12 * count + 8 * document)?;
            let sequence = usize::try_from(first).ok().and_then(|first| begins.get_mut(first));
            match sequence {
                Some(begins) if last.is_none_or(|last| last < first) => *begins = true,
                _ => {
                    return Err(format!(
                        "document {document} does not begin with sequence {first}"
                    ));
                }
            }
            last = Some(first);
        }
        if count > 0 && begins.first() != Some(&true) {
            return Err("the first sequence begins no document".to_owned());
        }
        if u64_at(34 + 12 * count + 8 * documents)? != sequences {
            return Err("the last document does not end with the last sequence".to_owned());
        }
        Ok(Self { width, lengths, begins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn golden() -> Vec<u8> {
        let mut bytes = b"MMIDIDX\0\0".to_vec();
        bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, 8]);
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend(3_u64.to_le_bytes());
        bytes.extend([5, 0, 0, 0, 3, 0, 0, 0]);
        bytes.extend([0_u64, 10].map(u64::to_le_bytes).concat());
        bytes.extend([0_u64, 1, 2].map(u64::to_le_bytes).concat());
        bytes
    }

    #[test]
    fn the_byte_table_is_read() {
        let index = MegatronIndex::parse(&golden()).unwrap();
        assert_eq!((index.width, index.lengths), (2, vec![5, 3]));
        assert_eq!(index.begins, [true, true]);
    }

    #[test]
    fn every_byte_of_the_header_and_the_tables_counts() {
        let golden = golden();
        for at in 0..golden.len() {
            let mut bytes = golden.clone();
            bytes[at] ^= 0x40;
            let changed = MegatronIndex::parse(&bytes);
            // A length may change into another length: then what follows it has moved.
            assert!(
                changed.is_err() || changed.is_ok_and(|index| index.lengths != [5, 3]),
                "byte {at}"
            );
        }
        for end in 0..golden.len() {
            assert!(MegatronIndex::parse(&golden[..end]).is_err(), "cut at {end}");
        }
    }
}
