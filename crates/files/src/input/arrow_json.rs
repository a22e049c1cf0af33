//! Writes values of Arrow as JSON where `arrow-json` writes something else than is meant.
//!
//! These are bytes that are a text, texts that are JSON, numbers and moments that JSON does not know, and nulls among
//! the values of a dictionary.

use super::arrow_types::has_extension;
use arrow::array::{Array, ArrayRef, AsArray, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow::json::{LineDelimitedWriter, WriterBuilder};
use arrow::record_batch::RecordBatch;
use model::{
    canonical, decimal_encoder, hexadecimal, json_string, map_encoder, moment_encoder,
    without_not_finite,
};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The bits of the half that is a negative zero.
const NEGATIVE_ZERO: u16 = 0x8000;

/// Whether the texts of a column are JSON, each of them a value.
pub(super) fn is_json(field: &Field) -> bool {
    has_extension(field, "arrow.json")
}

/// The field of the elements of a list, or of the values of a dictionary, that are of that type: encoders get the
/// field of the whole.
fn element_field<'a>(mut field: &'a Field, of: &DataType) -> &'a Field {
    while field.data_type() != of {
        field = match field.data_type() {
            DataType::List(inner)
            | DataType::LargeList(inner)
            | DataType::ListView(inner)
            | DataType::LargeListView(inner)
            | DataType::FixedSizeList(inner, _)
            | DataType::RunEndEncoded(_, inner) => inner,
            // A dictionary has a mark of its own.
            _ => return field,
        };
    }
    field
}

/// Whether values of a column have a form in JSON: an object has one member of a name.
pub(super) fn has_json_form(field: &Field) -> bool {
    if has_doubled_members(field.data_type()) {
        return false;
    }
    let options = EncoderOptions::default().with_encoder_factory(Arc::new(RecordEncoders));
    let (field, array) = (Arc::new(field.clone()), new_empty_array(field.data_type()));
    make_encoder(&field, &array, &options).is_ok()
}

fn has_doubled_members(kind: &DataType) -> bool {
    match kind {
        DataType::Struct(members) => {
            let mut names = BTreeSet::new();
            let mut members = members.iter();
            members.any(|one| !names.insert(one.name()) || has_doubled_members(one.data_type()))
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_doubled_members(item.data_type()),
        _ => false,
    }
}

/// The rows of a batch, an object each, without members of null.
///
/// # Errors
/// In words, for a column that has no form in JSON.
pub fn rows_as_json(batch: &RecordBatch) -> Result<Vec<String>, String> {
    let words = |error: ArrowError| error.to_string();
    let builder = WriterBuilder::new().with_encoder_factory(Arc::new(RecordEncoders));
    let mut writer: LineDelimitedWriter<_> = builder.build(Vec::new());
    writer.write(batch).map_err(words)?;
    writer.finish().map_err(words)?;
    let lines = String::from_utf8(writer.into_inner()).map_err(|error| error.to_string())?;
    Ok(lines.lines().map(str::to_owned).collect())
}

/// The encoders of what is meant otherwise.
#[derive(Debug)]
struct RecordEncoders;

impl EncoderFactory for RecordEncoders {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            kind if kind.is_binary() && !matches!(kind, DataType::FixedSizeBinary(_)) => {
                Box::new(BytesEncoder { array, is_json: is_json(element_field(field, kind)) })
            }
            kind if kind.is_string() && is_json(element_field(field, kind)) => {
                Box::new(JsonTextEncoder(array))
            }
            DataType::Float16 | DataType::Float32 | DataType::Float64 => match not_finite(array) {
                Some(doubles) => Box::new(NotFiniteEncoder(doubles)),
                None => return Ok(None),
            },
            DataType::Dictionary(..) => match DictionaryEncoder::new(field, array, options)? {
                Some(encoder) => Box::new(encoder),
                None => return Ok(None),
            },
            DataType::Map(..) => return map_encoder(array, options),
            kind if kind.is_decimal() => return Ok(decimal_encoder(array)),
            kind if kind.is_temporal() => {
                return moment_encoder(array, |is_negative, out| {
                    let word = if is_negative { "-Infinity" } else { "Infinity" };
                    out.extend_from_slice(word.as_bytes());
                });
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.logical_nulls())))
    }
}

/// Bytes: a text where they are one, else hexadecimal digits.
struct BytesEncoder<'a> {
    array: &'a dyn Array,
    /// Whether the texts are JSON, each of them a value.
    is_json: bool,
}

impl Encoder for BytesEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let bytes = match self.array.data_type() {
            DataType::Binary => self.array.as_binary::<i32>().value(at),
            DataType::LargeBinary => self.array.as_binary::<i64>().value(at),
            _ => self.array.as_binary_view().value(at),
        };
        let json = match std::str::from_utf8(bytes) {
            Ok(text) if self.is_json => json_of_text(text),
            Ok(text) => json_string(text),
            Err(_) => json_string(&hexadecimal(bytes)),
        };
        out.extend(json.bytes());
    }
}

/// Texts that are JSON: the value of each, or the text if it is not JSON.
struct JsonTextEncoder<'a>(&'a dyn Array);

impl Encoder for JsonTextEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let text = match self.0.data_type() {
            DataType::Utf8 => self.0.as_string::<i32>().value(at),
            DataType::LargeUtf8 => self.0.as_string::<i64>().value(at),
            _ => self.0.as_string_view().value(at),
        };
        out.extend(json_of_text(text).bytes());
    }
}

/// The value of a JSON text, on one line; the text itself if it is not JSON.
fn json_of_text(text: &str) -> String {
    let proved = |json: &str| {
        let proved: &RawValue = serde_json::from_str(json).ok()?;
        canonical(proved.get()).ok().map(|canonical| canonical.json)
    };
    let value = proved(text).or_else(|| proved(&without_not_finite(text)?.0));
    value.unwrap_or_else(|| json_string(text))
}

/// Numbers that may be NaN or infinite: these are spelled as Python's writer does, and counted later.
struct NotFiniteEncoder(ArrayRef);

/// The numbers as texts, where some of them are not finite, or a half is less than zero by its sign alone.
fn not_finite(array: &dyn Array) -> Option<ArrayRef> {
    let has = match array.data_type() {
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().values().iter().any(|value| !value.is_finite())
        }
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().values().iter().any(|value| !value.is_finite())
        }
        _ => {
            let mut halves = array.as_primitive::<Float16Type>().values().iter();
            halves.any(|value| !value.is_finite() || value.to_bits() == NEGATIVE_ZERO)
        }
    };
    // Through text: a single of 0.1 is spelled 0.1.
    has.then(|| cast(array, &DataType::Utf8).ok()).flatten()
}

impl Encoder for NotFiniteEncoder {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let spelled = self.0.as_string::<i32>().value(at);
        let word = match spelled {
            "NaN" => "NaN",
            "inf" => "Infinity",
            "-inf" => "-Infinity",
            "-0" => "-0.0",
            number => number,
        };
        out.extend(word.bytes());
    }
}

/// A dictionary with nulls among its values: who encodes a value does not look whether it is one.
struct DictionaryEncoder<'a> {
    keys: Vec<usize>,
    values: NullableEncoder<'a>,
}

impl<'a> DictionaryEncoder<'a> {
    /// None for a dictionary without such values.
    fn new(
        field: &'a FieldRef,
        array: &'a dyn Array,
        options: &'a EncoderOptions,
    ) -> Result<Option<Self>, ArrowError> {
        let Some(dictionary) = array.as_any_dictionary_opt() else { return Ok(None) };
        let values = dictionary.values();
        if values.logical_null_count() == 0 {
            return Ok(None);
        }
        let values = make_encoder(field, values.as_ref(), options)?;
        Ok(Some(Self { keys: dictionary.normalized_keys(), values }))
    }
}

impl Encoder for DictionaryEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        if let Some(key) = self.keys.get(at) {
            self.values.encode(*key, out);
        }
    }
}
