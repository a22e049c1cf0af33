//! Casts columns of Arrow to another type, at any depth: bytes that are texts, and UUIDs to their 36 characters.

use super::csv_header::distinct_names;
use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, GenericStringArray,
    LargeStringArray, MapArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray,
    make_array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use arrow::error::ArrowError;
use model::hexadecimal;
use std::sync::Arc;

/// Under which name of its metadata a field has that of its extension type.
const EXTENSION: &str = "ARROW:extension:name";
/// Bytes of a UUID.
const UUID_BYTES: i32 = 16;

/// Whether a field is of an extension type.
pub(super) fn has_extension(field: &Field, name: &str) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|known| known == name)
}

/// The field as one of an extension type.
pub(super) fn with_extension(field: &Field, name: &str) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION.to_owned(), name.to_owned());
    field.clone().with_metadata(metadata)
}

/// The field with another one in the place of each that holds values itself, in their order. A dictionary is one.
pub(super) fn with_leaves(field: &Field, leaf: &mut dyn FnMut(&Field) -> Field) -> Field {
    let mut inner = |field: &FieldRef| Arc::new(with_leaves(field, leaf));
    let kind = match field.data_type() {
        DataType::List(item) => DataType::List(inner(item)),
        DataType::LargeList(item) => DataType::LargeList(inner(item)),
        DataType::ListView(item) => DataType::ListView(inner(item)),
        DataType::LargeListView(item) => DataType::LargeListView(inner(item)),
        DataType::FixedSizeList(item, size) => DataType::FixedSizeList(inner(item), *size),
        DataType::Map(entry, is_sorted) => DataType::Map(inner(entry), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        _ => return leaf(field),
    };
    field.clone().with_data_type(kind)
}

/// The fields with those of [`with_leaves`].
pub(super) fn fields_with_leaves(fields: &Fields, leaf: &mut dyn FnMut(&Field) -> Field) -> Fields {
    fields.iter().map(|field| Arc::new(with_leaves(field, leaf))).collect()
}

/// The field with another type of its values, those of a dictionary or of runs, where there is one.
pub(super) fn with_values(field: &Field, of: &dyn Fn(&DataType) -> Option<DataType>) -> Field {
    fn values(kind: &DataType, of: &dyn Fn(&DataType) -> Option<DataType>) -> Option<DataType> {
        Some(match kind {
            DataType::Dictionary(key, value) => {
                DataType::Dictionary(key.clone(), Box::new(values(value, of)?))
            }
            DataType::RunEndEncoded(ends, value) => {
                let kind = values(value.data_type(), of)?;
                let value = value.as_ref().clone().with_data_type(kind);
                DataType::RunEndEncoded(Arc::clone(ends), Arc::new(value))
            }
            other => of(other)?,
        })
    }
    match values(field.data_type(), of) {
        Some(kind) => field.clone().with_data_type(kind),
        None => field.clone(),
    }
}

/// The fields with texts in the place of UUIDs.
fn uuids_as_texts(fields: &Fields) -> Fields {
    fields_with_leaves(fields, &mut |field| match has_extension(field, "arrow.uuid") {
        true => with_values(field, &|kind| {
            (*kind == DataType::FixedSizeBinary(UUID_BYTES)).then_some(DataType::LargeUtf8)
        }),
        false => field.clone(),
    })
}

/// The columns as they are given: a UUID is a text, a name that was there has its number behind it.
pub(super) fn given_columns(columns: &Fields) -> Fields {
    let names = distinct_names(columns.iter().map(|column| column.name().clone()));
    let columns = uuids_as_texts(columns);
    let column = |(column, name): (&FieldRef, String)| match *column.name() == name {
        true => Arc::clone(column),
        false => Arc::new(column.as_ref().clone().with_name(name)),
    };
    columns.iter().zip(names).map(column).collect()
}

/// The fields with bytes in the place of texts.
pub(super) fn texts_as_bytes(fields: &Fields) -> Fields {
    fields_with_leaves(fields, &mut |field| {
        with_values(field, &|kind| match kind {
            DataType::Utf8 => Some(DataType::Binary),
            DataType::LargeUtf8 => Some(DataType::LargeBinary),
            DataType::Utf8View => Some(DataType::BinaryView),
            _ => None,
        })
    })
}

/// The batch with its columns in the types of `fields`. A column keeps its own type where one of its values is not of the
/// other: bytes that are no text.
pub(crate) fn as_fields(batch: &RecordBatch, fields: &Fields) -> Result<RecordBatch, ArrowError> {
    let column = |(field, column): (&FieldRef, &ArrayRef)| match as_type(column, field.data_type())
    {
        Ok(made) => (Arc::clone(field), made),
        Err(_) => {
            let field = field.as_ref().clone().with_data_type(column.data_type().clone());
            (Arc::new(field), Arc::clone(column))
        }
    };
    let columns = fields.iter().zip(batch.columns()).map(column);
    let (fields, columns): (Vec<FieldRef>, Vec<ArrayRef>) = columns.unzip();
    let schema = Schema::new_with_metadata(fields, batch.schema_ref().metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
}

/// The batch with its [columns as they are given](given_columns).
pub(super) fn as_given(batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    let fields = given_columns(batch.schema_ref().fields());
    if fields == *batch.schema_ref().fields() { Ok(batch) } else { as_fields(&batch, &fields) }
}

/// The array in another type: bytes as texts, 16 bytes as a UUID, and what holds such values.
pub fn as_type(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeBinary, FixedSizeList, LargeBinary, LargeList,
        LargeUtf8, List, Map, Struct, Utf8, Utf8View,
    };
    Ok(match (array.data_type(), to) {
        (from, to) if from == to => Arc::clone(array),
        (Binary, Utf8) => as_texts::<i32>(array)?,
        (LargeBinary, LargeUtf8) => as_texts::<i64>(array)?,
        (BinaryView, Utf8View) => Arc::new(array.as_binary_view().clone().to_string_view()?),
        (FixedSizeBinary(UUID_BYTES), LargeUtf8) => {
            let uuids = array.as_fixed_size_binary().iter();
            Arc::new(LargeStringArray::from_iter(uuids.map(|bytes| bytes.map(uuid))))
        }
        (Dictionary(..), Dictionary(_, values)) => {
            let dictionary = array.as_any_dictionary();
            dictionary.with_values(as_type(dictionary.values(), values)?)
        }
        (List(_), List(item)) => as_list::<i32>(array, item)?,
        (LargeList(_), LargeList(item)) => as_list::<i64>(array, item)?,
        (FixedSizeList(..), FixedSizeList(item, _)) => {
            let (_, size, values, nulls) = array.as_fixed_size_list().clone().into_parts();
            let values = as_type(&values, item.data_type())?;
            Arc::new(FixedSizeListArray::try_new(Arc::clone(item), size, values, nulls)?)
        }
        (Struct(_), Struct(fields)) => Arc::new(as_struct(array.as_struct(), fields)?),
        (Map(..), Map(entry, is_sorted)) => {
            let (_, offsets, entries, nulls, _) = array.as_map().clone().into_parts();
            let Struct(parts) = entry.data_type() else { return Err(no_way(array, to)) };
            let entries = as_struct(&entries, parts)?;
            Arc::new(MapArray::try_new(Arc::clone(entry), offsets, entries, nulls, *is_sorted)?)
        }
        _ => rebuilt(array, to)?,
    })
}

fn as_texts<O: OffsetSizeTrait>(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let (offsets, bytes, nulls) = array.as_binary::<O>().clone().into_parts();
    // The bytes around a slice are not its own.
    let begin = offsets.first().copied().unwrap_or_default();
    let own = offsets.iter().map(|offset| *offset - begin).collect::<ScalarBuffer<O>>();
    let length = own.last().map_or(0, |length| length.as_usize());
    let (offsets, bytes) =
        (OffsetBuffer::new(own), bytes.slice_with_length(begin.as_usize(), length));
    Ok(Arc::new(GenericStringArray::<O>::try_new(offsets, bytes, nulls)?))
}

fn as_list<O: OffsetSizeTrait>(array: &ArrayRef, item: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let (_, offsets, values, nulls) = array.as_list::<O>().clone().into_parts();
    let values = as_type(&values, item.data_type())?;
    Ok(Arc::new(GenericListArray::try_new(Arc::clone(item), offsets, values, nulls)?))
}

fn as_struct(array: &StructArray, fields: &Fields) -> Result<StructArray, ArrowError> {
    let columns = array.columns().iter().zip(fields);
    let columns = columns.map(|(column, field)| as_type(column, field.data_type()));
    let (columns, nulls) = (columns.collect::<Result<Vec<_>, _>>()?, array.nulls().cloned());
    StructArray::try_new_with_length(fields.clone(), columns, nulls, array.len())
}

/// Rebuilds rare arrays: views of lists, runs.
fn rebuilt(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let kinds: Vec<&DataType> = match to {
        DataType::ListView(item) | DataType::LargeListView(item) => vec![item.data_type()],
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => return Err(no_way(array, to)),
    };
    let data = array.to_data();
    let children = data.child_data().iter().zip(kinds);
    let children =
        children.map(|(child, kind)| Ok(as_type(&make_array(child.clone()), kind)?.to_data()));
    let children = children.collect::<Result<Vec<_>, ArrowError>>()?;
    let data = data.into_builder().data_type(to.clone()).child_data(children);
    Ok(make_array(data.build()?))
}

fn no_way(array: &ArrayRef, to: &DataType) -> ArrowError {
    ArrowError::CastError(format!("{} is not {to}", array.data_type()))
}

/// The 36 characters of a UUID.
fn uuid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&hexadecimal(std::slice::from_ref(byte)));
    }
    text
}
