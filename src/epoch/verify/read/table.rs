//! Columns of a Parquet file by name, as plain vectors a row.

use super::{ROWS, ShardReadError, TOKENS, malformed};
use crate::model::IoError;
use ::arrow::array::{Array, ArrowPrimitiveType, AsArray, RecordBatch};
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// A Parquet file read batch by batch, none reaching over the end of a row group: these are of a bounded
/// number of values, where a number of rows may be any number of them.
pub(super) struct Table {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
    /// The row group that is read next.
    next: usize,
    batches: Option<ParquetRecordBatchReader>,
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, ShardReadError> {
        let file = File::open(path).map_err(IoError::of("opening", path))?;
        // Parquet's own types are the contract; decoding Arrow's copy of the schema panics on damage.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        match guard(|| ArrowReaderMetadata::load(&file, options)) {
            Some(Ok(metadata)) => {
                Ok(Self { path: path.to_path_buf(), file, metadata, next: 0, batches: None })
            }
            Some(Err(error)) => malformed(path, error),
            None => malformed(path, GAVE_UP),
        }
    }

    /// The next batch; none at the end.
    pub fn next(&mut self) -> Result<Option<TableBatch<'_>>, ShardReadError> {
        loop {
            if self.batches.is_none() && !self.enter_group()? {
                return Ok(None);
            }
            let Some(batches) = &mut self.batches else { return Ok(None) };
            match guard(|| batches.next().transpose()) {
                Some(Ok(Some(batch))) => return Ok(Some(TableBatch { path: &self.path, batch })),
                Some(Ok(None)) => self.batches = None,
                Some(Err(error)) => return malformed(&self.path, error),
                None => return malformed(&self.path, GAVE_UP),
            }
        }
    }

    /// Begins with the next row group; false where there is none.
    fn enter_group(&mut self) -> Result<bool, ShardReadError> {
        let Some(group) = self.metadata.metadata().row_groups().get(self.next) else {
            return Ok(false);
        };
        let values = group.columns().iter().map(|column| column.num_values()).max().unwrap_or(0);
        let of = |number: i64| usize::try_from(number).unwrap_or(0);
        let mean = of(values).div_ceil(of(group.num_rows()).max(1)).max(1);
        let rows = (TOKENS / mean).clamp(1, ROWS);
        let file = self.file.try_clone().map_err(IoError::of("opening", &self.path))?;
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
        let group = vec![self.next];
        self.next += 1;
        match guard(|| builder.with_row_groups(group).with_batch_size(rows).build()) {
            Some(Ok(batches)) => self.batches = Some(batches),
            Some(Err(error)) => return malformed(&self.path, error),
            None => return malformed(&self.path, GAVE_UP),
        }
        Ok(true)
    }
}

const GAVE_UP: &str = "the Parquet decoder gave up";

/// The decoder checks less than all that a damaged file can claim; its panic is such a file.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// Some rows of a table.
pub(super) struct TableBatch<'a> {
    path: &'a Path,
    batch: RecordBatch,
}

impl<'a> TableBatch<'a> {
    pub const fn new(path: &'a Path, batch: RecordBatch) -> Self {
        Self { path, batch }
    }

    pub const fn path(&self) -> &Path {
        self.path
    }

    /// A list column.
    pub fn lists<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<Vec<T::Native>>, ShardReadError> {
        let column = self.column(name)?;
        let Some(lists) = column.as_list_opt::<i32>().filter(|lists| lists.null_count() == 0)
        else {
            return malformed(self.path, format!("column {name} is not a list without nulls"));
        };
        let mut rows = Vec::with_capacity(lists.len());
        for list in lists.iter().flatten() {
            match list.as_primitive_opt::<T>().filter(|values| values.null_count() == 0) {
                Some(values) => rows.push(values.values().to_vec()),
                None => {
                    return malformed(
                        self.path,
                        format!("column {name} has other values than {}", T::DATA_TYPE),
                    );
                }
            }
        }
        Ok(rows)
    }

    /// A number column.
    pub fn numbers<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> Result<Vec<T::Native>, ShardReadError> {
        match self.column(name)?.as_primitive_opt::<T>().filter(|values| values.null_count() == 0) {
            Some(values) => Ok(values.values().to_vec()),
            None => {
                malformed(self.path, format!("column {name} is not {} without nulls", T::DATA_TYPE))
            }
        }
    }

    /// A text column.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, ShardReadError> {
        match self.column(name)?.as_string_opt::<i32>().filter(|values| values.null_count() == 0) {
            Some(values) => Ok(values.iter().flatten().map(str::to_owned).collect()),
            None => malformed(self.path, format!("column {name} is not text without nulls")),
        }
    }

    /// There are these columns and no others.
    pub fn expect_columns(&self, names: &[&str]) -> Result<(), ShardReadError> {
        let schema = self.batch.schema_ref();
        let other = schema.fields().iter().find(|field| !names.contains(&field.name().as_str()));
        match other {
            Some(other) => malformed(self.path, format!("has a column {} too many", other.name())),
            None => Ok(()),
        }
    }

    fn column(&self, name: &str) -> Result<&::arrow::array::ArrayRef, ShardReadError> {
        match self.batch.column_by_name(name) {
            Some(column) => Ok(column),
            None => malformed(self.path, format!("column {name} is missing")),
        }
    }
}
