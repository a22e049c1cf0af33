//! Columns of a Parquet file by name, as plain vectors a row.

use super::{EpochError, ReadError, malformed};
use ::arrow::array::{Array, ArrowPrimitiveType, AsArray, RecordBatch};
use ::parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

const BATCH_ROWS: usize = 512;

/// A Parquet file read batch by batch.
pub(super) struct Table {
    path: PathBuf,
    batches: ParquetRecordBatchReader,
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let file = File::open(path).map_err(EpochError::io("opening", path))?;
        // Parquet's own types are the contract; decoding Arrow's copy of the schema panics on damage.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let opened = guard(|| {
            ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
                .and_then(|builder| builder.with_batch_size(BATCH_ROWS).build())
        });
        match opened {
            Some(Ok(batches)) => Ok(Self { path: path.to_path_buf(), batches }),
            Some(Err(error)) => malformed(path, error),
            None => malformed(path, GAVE_UP),
        }
    }

    /// The next batch; none at the end.
    pub fn next(&mut self) -> Result<Option<Batch<'_>>, ReadError> {
        match guard(|| self.batches.next().transpose()) {
            Some(Ok(batch)) => Ok(batch.map(|batch| Batch { path: &self.path, batch })),
            Some(Err(error)) => malformed(&self.path, error),
            None => malformed(&self.path, GAVE_UP),
        }
    }
}

const GAVE_UP: &str = "the Parquet decoder gave up";

/// The decoder checks less than all that a damaged file can claim; its panic is such a file.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(run)).ok()
}

/// Some rows of a table.
pub(super) struct Batch<'a> {
    path: &'a Path,
    batch: RecordBatch,
}

impl<'a> Batch<'a> {
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
    ) -> Result<Vec<Vec<T::Native>>, ReadError> {
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
    pub fn numbers<T: ArrowPrimitiveType>(&self, name: &str) -> Result<Vec<T::Native>, ReadError> {
        match self.column(name)?.as_primitive_opt::<T>().filter(|values| values.null_count() == 0) {
            Some(values) => Ok(values.values().to_vec()),
            None => {
                malformed(self.path, format!("column {name} is not {} without nulls", T::DATA_TYPE))
            }
        }
    }

    /// A text column.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, ReadError> {
        match self.column(name)?.as_string_opt::<i32>().filter(|values| values.null_count() == 0) {
            Some(values) => Ok(values.iter().flatten().map(str::to_owned).collect()),
            None => malformed(self.path, format!("column {name} is not text without nulls")),
        }
    }

    /// There are these columns and no others.
    pub fn expect_columns(&self, names: &[&str]) -> Result<(), ReadError> {
        let schema = self.batch.schema_ref();
        let other = schema.fields().iter().find(|field| !names.contains(&field.name().as_str()));
        match other {
            Some(other) => malformed(self.path, format!("has a column {} too many", other.name())),
            None => Ok(()),
        }
    }

    fn column(&self, name: &str) -> Result<&::arrow::array::ArrayRef, ReadError> {
        match self.batch.column_by_name(name) {
            Some(column) => Ok(column),
            None => malformed(self.path, format!("column {name} is missing")),
        }
    }
}
