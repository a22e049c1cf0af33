//! Parquet files of list columns, as shards of rows and tables beside token files have them.

use crate::epoch::error::EpochError;
use crate::epoch::recipe::Compression;
use crate::output::TableFile;
use ::arrow::array::{ArrayRef, ArrowPrimitiveType, ListArray, PrimitiveArray};
use ::arrow::buffer::{OffsetBuffer, ScalarBuffer};
use ::arrow::datatypes::{DataType, Field, Schema};
use ::parquet::basic::{self, Encoding, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::schema::types::ColumnPath;
use std::path::Path;
use std::sync::Arc;

/// Name of the values of a list, as the Parquet standard has it.
const ELEMENT: &str = "element";

/// Compression of tables beside token files, which are small.
pub(super) const SMALL: Compression = Compression::Zstd;

/// Creates `dir/name` with these columns.
pub(super) fn table_file(
    dir: &Path,
    name: &str,
    fields: Vec<Field>,
    compression: Compression,
) -> Result<TableFile, EpochError> {
    let properties = properties(&fields, compression);
    Ok(TableFile::create(dir, name, Arc::new(Schema::new(fields)), properties)?)
}

/// Columns of token ids.
const IDS: [&str; 2] = ["input_ids", "labels"];

/// zstd 1 throughout. Token ids are plain, so that zstd sees repeated phrases: on text and code that
/// takes half the bytes of bit-packed deltas, and every reader has it. Positions, starts, masks and
/// offsets are steps of 0 or 1, which deltas reduce to nothing; names have a dictionary.
fn properties(fields: &[Field], compression: Compression) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("corpusdb ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(codec(compression))
        .set_statistics_enabled(EnabledStatistics::None);
    for field in fields {
        let path = match field.data_type() {
            DataType::List(_) => vec![field.name().clone(), "list".to_owned(), ELEMENT.to_owned()],
            _ => vec![field.name().clone()],
        };
        if *field.data_type() != DataType::Utf8 && !is_float(field) {
            let ids = IDS.contains(&field.name().as_str());
            let encoding = if ids { Encoding::PLAIN } else { Encoding::DELTA_BINARY_PACKED };
            let path = ColumnPath::new(path);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, encoding);
        }
    }
    properties.build()
}

/// Weights are a few numbers over and over, as names are.
fn is_float(field: &Field) -> bool {
    matches!(field.data_type(), DataType::List(values) if *values.data_type() == DataType::Float32)
}

fn codec(compression: Compression) -> basic::Compression {
    match compression {
        Compression::None => basic::Compression::UNCOMPRESSED,
        Compression::Snappy => basic::Compression::SNAPPY,
        Compression::Lz4 => basic::Compression::LZ4_RAW,
        Compression::Zstd => basic::Compression::ZSTD(ZstdLevel::try_new(1).unwrap_or_default()),
    }
}

/// The field of a list column without nulls.
pub(super) fn list_field(name: &str, values: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new(ELEMENT, values, false))), false)
}

/// A list column: `values` of all rows in order, cut by the `lengths` of the rows.
pub(super) fn list_column<T: ArrowPrimitiveType>(
    values: Vec<T::Native>,
    lengths: impl IntoIterator<Item = usize>,
) -> ArrayRef {
    let values = PrimitiveArray::<T>::new(ScalarBuffer::from(values), None);
    let field = Arc::new(Field::new(ELEMENT, T::DATA_TYPE, false));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), Arc::new(values), None))
}
