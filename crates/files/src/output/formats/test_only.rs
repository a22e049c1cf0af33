//! A format for tests alone: outside this file only its `mod` and its entry name it, and every interface offers it.

use super::lines::{LineFile, in_parallel};
use crate::output::compression::{CompressedFile, FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::format::{
    EncodedGroup, FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat,
};
use arrow::array::RecordBatch;

pub(super) static TEST_ONLY: OutputFormat = OutputFormat {
    name: "test_only",
    about: "A line a row, with the number of its columns",
    endings: &["test_only"],
    compressions: &[OutputCompression::None, OutputCompression::Gzip],
    default_compression: OutputCompression::None,
    is_compressed_whole: true,
    streams: true,
    columns: TableColumns::Typed,
    loss: None,
    table: Some(&TestOnly),
};

struct TestOnly;

impl TableFormat for TestOnly {
    fn check(&self, _: &FileSpec) -> Result<(), WriteError> {
        Ok(())
    }

    fn encode(&self, _: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        in_parallel(rows, |rows, out| {
            let line = format!("{}\n", rows.num_columns());
            out.extend(line.repeat(rows.num_rows()).bytes());
            Ok(Vec::new())
        })
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        Ok(Box::new(LineFile::new(CompressedFile::of(out, spec.compression, None)?)))
    }
}
