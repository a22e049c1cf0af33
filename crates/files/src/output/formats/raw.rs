//! Bare token ids, end to end, written and read back: `plain`, `nanogpt` and `llm.c`.
//!
//! `plain` has u16 or u32 by vocabulary; `nanogpt` has u16; `llm.c`, which modded-nanogpt reads too, has a header of
//! 1,024 bytes before u16 ids. A segment table stands beside each file.
//!
//! The header of llm.c is 256 numbers i32, little-endian: magic 20240520, version 1, tokens in the file, and zeros.

use super::segment_table::columns_beside;
use super::token_file::{SideFileWriter, TokenFile, TokenFileReader};
use crate::output::error::WriteError;
use crate::output::files::ManifestFile;
use crate::output::row_format::{
    BareIdLayout, DirectoryReader, FormatLimit, RowFormat, RowShard, RowSpec, ShardDirectory,
    ShardReadError, ShardReader, damaged, little_endian, shard_name,
};
use crate::output::rows::{BatchColumn, IdType, LossLevel, RowColumn};
use crate::output::token_batch::TokenBatch;
use model::IoError;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Files of bare ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RawFormat {
    Plain,
    Nanogpt,
    LlmC,
}

const HEADER: usize = 1024;
const MAGIC: i32 = 20_240_520;
const VERSION: i32 = 1;

impl RawFormat {
    /// Bytes before the ids, whatever number of rows there is.
    const fn header(self) -> fn(u64) -> u64 {
        match self {
            Self::LlmC => |_| HEADER as u64,
            Self::Plain | Self::Nanogpt => |_| 0,
        }
    }
}

impl RowFormat for RawFormat {
    fn id_type(&self, vocab: u32, _asked: Option<IdType>) -> IdType {
        match self {
            Self::Plain => IdType::narrow_up_to(vocab, super::U16_VOCABULARY, IdType::U32),
            // Readers of both formats take `np.uint16`.
            Self::Nanogpt | Self::LlmC => IdType::U16,
        }
    }

    fn loss(&self, _columns: &[RowColumn]) -> LossLevel {
        LossLevel::Plain
    }

    fn bare_ids(&self) -> Option<BareIdLayout> {
        Some(BareIdLayout { before: "shard-", behind: ".bin", header: self.header() })
    }

    fn check(&self, spec: &RowSpec) -> Result<(), FormatLimit> {
        if spec.id_type == IdType::U16 && spec.vocab > super::U16_VOCABULARY {
            return Err(FormatLimit {
                why: format!("it has u16 ids, and the vocabulary has {}", spec.vocab),
                instead: "use output.layout = \"plain\", which has u32 ids for it, or another tokenizer",
            });
        }
        // A row of at most capacity tokens may be all of a shard.
        let tokens = (spec.shard_bytes / 2).max(spec.capacity.into());
        if *self == Self::LlmC && tokens > i32::MAX as u64 {
            return Err(FormatLimit {
                why: format!("its header counts tokens in i32, and a shard may have {tokens}"),
                instead: "lower output.shard_bytes to 4294967294 or less",
            });
        }
        Ok(())
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
        let [tokens, segments] = files(number.into());
        let header = LlmCHeader { path: dir.join(&tokens), tokens: 0 };
        let side = (*self == Self::LlmC).then(|| Box::new(header) as Box<dyn SideFileWriter>);
        TokenFile::create(spec, dir, &tokens, &segments, side)
    }

    fn open(&self, spec: &RowSpec, dir: &Path) -> Result<Box<dyn DirectoryReader>, ShardReadError> {
        Ok(Box::new(RawDirectory { format: *self, dir: ShardDirectory::list(dir, spec)? }))
    }
}

fn files(shard: u64) -> [String; 2] {
    ["bin", "segments.parquet"].map(|ending| shard_name(shard, ending))
}

/// Counts the tokens, which the header says and only the end knows.
struct LlmCHeader {
    path: PathBuf,
    tokens: usize,
}

impl SideFileWriter for LlmCHeader {
    fn header(&self) -> &[u8] {
        &[0; HEADER]
    }

    fn add(&mut self, rows: &TokenBatch) -> Result<(), WriteError> {
        self.tokens += rows.ids().len();
        Ok(())
    }

    fn finish(self: Box<Self>, tokens: ManifestFile) -> Result<Vec<ManifestFile>, WriteError> {
        let count = i32::try_from(self.tokens)
            .map_err(|_| WriteError::Bug("an llm.c shard of 2^31 tokens".to_owned()))?;
        let mut header = Vec::with_capacity(HEADER);
        for number in [MAGIC, VERSION, count] {
            header.extend(number.to_le_bytes());
        }
        let failed = |action| IoError::of(action, &self.path);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.path)
            .map_err(failed("opening"))?;
        file.write_all(&header).and_then(|()| file.rewind()).map_err(failed("writing"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(&file).map_err(failed("reading"))?;
        Ok(vec![ManifestFile { blake3: hasher.finalize().to_hex().to_string(), ..tokens }])
    }
}

struct RawDirectory {
    format: RawFormat,
    dir: ShardDirectory,
}

impl DirectoryReader for RawDirectory {
    fn shard_files(&self, shard: usize) -> Vec<String> {
        files(shard as u64).to_vec()
    }

    fn open_shard(&self, shard: usize) -> Result<Box<dyn ShardReader>, ShardReadError> {
        let [tokens, segments] = files(shard as u64).map(|name| self.dir.path.join(name));
        if self.format == RawFormat::LlmC {
            check_header(&tokens)?;
        }
        let skip = (self.format.header())(0);
        Ok(Box::new(TokenFileReader::open(&self.dir.spec, &tokens, &segments, skip)?))
    }
}

/// The header holds magic, version and the number of tokens that follow, and nothing else.
fn check_header(path: &Path) -> Result<(), ShardReadError> {
    let failed = || IoError::of("reading", path);
    let mut file = File::open(path).map_err(failed())?;
    let size = file.metadata().map_err(failed())?.len();
    let mut header = Vec::new();
    (&mut file).take(HEADER as u64).read_to_end(&mut header).map_err(failed())?;
    let mut numbers = header.chunks_exact(4).map(little_endian);
    let tokens = size.saturating_sub(HEADER as u64) / 2;
    let expected = [MAGIC.unsigned_abs().into(), VERSION.unsigned_abs().into(), tokens];
    if numbers.by_ref().take(3).ne(expected) {
        return damaged(path, format!("does not begin as an llm.c file of {tokens} tokens"));
    }
    if header.len() != HEADER || numbers.any(|number| number != 0) {
        return damaged(path, "has other things in its header");
    }
    Ok(())
}
