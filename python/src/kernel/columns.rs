//! Columns of a batch by name and type, and batches made of columns.

use super::{KernelResult, worded};
use corpusdb::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryBuilder, LargeBinaryArray,
    LargeStringArray, PrimitiveArray, RecordBatch,
};
use corpusdb::arrow::compute::cast;
use corpusdb::arrow::datatypes::{ArrowPrimitiveType, DataType, Field, Schema};
use corpusdb::kernel::Rank;
use std::sync::Arc;

/// The columns of one batch.
pub(super) struct KernelColumns<'b>(pub(super) &'b RecordBatch);

impl KernelColumns<'_> {
    fn find(&self, name: &str) -> KernelResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            let schema = self.0.schema();
            let there: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            format!("no column `{name}`; there are: {}", there.join(", "))
        })
    }

    fn typed(&self, name: &str, kind: &DataType) -> KernelResult<ArrayRef> {
        cast(self.find(name)?, kind).map_err(|error| format!("column `{name}`: {error}"))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.column_by_name(name).is_some()
    }

    /// Like [`KernelColumns::strings`], for an optional column.
    pub(super) fn strings_if(&self, name: Option<&str>) -> KernelResult<Option<LargeStringArray>> {
        name.map(|name| self.strings(name)).transpose()
    }

    pub(super) fn strings(&self, name: &str) -> KernelResult<LargeStringArray> {
        Ok(self.typed(name, &DataType::LargeUtf8)?.as_string::<i64>().clone())
    }

    pub(super) fn bytes(&self, name: &str) -> KernelResult<LargeBinaryArray> {
        Ok(self.typed(name, &DataType::LargeBinary)?.as_binary::<i64>().clone())
    }

    pub(super) fn booleans(&self, name: &str) -> KernelResult<BooleanArray> {
        Ok(self.typed(name, &DataType::Boolean)?.as_boolean().clone())
    }

    pub(super) fn numbers<T: ArrowPrimitiveType>(
        &self,
        name: &str,
    ) -> KernelResult<PrimitiveArray<T>> {
        Ok(self.typed(name, &T::DATA_TYPE)?.as_primitive::<T>().clone())
    }

    pub(super) fn kind(&self, name: &str) -> KernelResult<DataType> {
        Ok(self.find(name)?.data_type().clone())
    }

    /// A column of ranks without nulls.
    pub(super) fn ranks(&self, name: &str) -> KernelResult<Vec<Rank>> {
        let column = self.bytes(name)?;
        (0..column.len()).map(|row| required(rank_at(&column, row, name)?, name, row)).collect()
    }

    /// An optional column of ranks, which may have nulls.
    pub(super) fn ranks_if(&self, name: &str) -> KernelResult<Vec<Option<Rank>>> {
        if !self.has(name) {
            return Ok(vec![None; self.0.num_rows()]);
        }
        let column = self.bytes(name)?;
        (0..column.len()).map(|row| rank_at(&column, row, name)).collect()
    }

    /// A column of hashes of 16 bytes.
    pub(super) fn hashes(&self, name: &str) -> KernelResult<Vec<[u8; 16]>> {
        let column = self.bytes(name)?;
        let one = |(row, bytes): (usize, Option<&[u8]>)| {
            bytes
                .and_then(|bytes| bytes.try_into().ok())
                .ok_or_else(|| format!("column `{name}`, row {row}: expected a hash of 16 bytes"))
        };
        column.iter().enumerate().map(one).collect()
    }

    /// The batch without the columns `gone`, and with the columns `new` behind the others.
    pub(super) fn replaced(
        &self,
        gone: &[&str],
        new: Vec<(&str, ArrayRef)>,
    ) -> KernelResult<RecordBatch> {
        let schema = self.0.schema();
        let kept = schema.fields().iter().zip(self.0.columns());
        let kept = kept.filter(|(field, _)| !gone.contains(&field.name().as_str()));
        let mut columns: Vec<(&str, ArrayRef)> =
            kept.map(|(field, column)| (field.name().as_str(), Arc::clone(column))).collect();
        columns.extend(new);
        batch(columns)
    }
}

/// The value, or an error with column and row.
pub(super) fn required<T>(value: Option<T>, name: &str, row: usize) -> KernelResult<T> {
    value.ok_or_else(|| format!("column `{name}`, row {row} has no value"))
}

fn rank_at(column: &LargeBinaryArray, row: usize, name: &str) -> KernelResult<Option<Rank>> {
    if column.is_null(row) {
        return Ok(None);
    }
    let bytes = column.value(row);
    Rank::from_bytes(bytes).map(Some).ok_or_else(|| {
        let bytes = bytes.len();
        format!("column `{name}`, row {row}: a rank has {} bytes, got {bytes}", Rank::LEN)
    })
}

/// A batch of columns. All of them may have nulls.
pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> KernelResult<RecordBatch> {
    let field = |(name, column): &(&str, ArrayRef)| {
        Field::new((*name).to_owned(), column.data_type().clone(), true)
    };
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    RecordBatch::try_new(Arc::new(schema), columns).map_err(worded)
}

/// A column of values with a fixed number of bytes.
pub(super) fn fixed<B: AsRef<[u8]>>(
    width: usize,
    values: impl IntoIterator<Item = Option<B>>,
) -> KernelResult<ArrayRef> {
    let mut column = FixedSizeBinaryBuilder::new(i32::try_from(width).unwrap_or(i32::MAX));
    for value in values {
        match value {
            Some(value) => column.append_value(value).map_err(worded)?,
            None => column.append_null(),
        }
    }
    Ok(Arc::new(column.finish()))
}

/// A column of ranks.
pub(super) fn ranks(values: impl IntoIterator<Item = Option<Rank>>) -> KernelResult<ArrayRef> {
    fixed(Rank::LEN, values.into_iter().map(|rank| rank.map(Rank::to_bytes)))
}
