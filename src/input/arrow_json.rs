//! Values of Arrow as JSON where `arrow-json` writes something else than is meant: bytes that are a text, texts that
//! are JSON, numbers that JSON does not know, maps whose keys are not texts.

use crate::model::{canonical, hexadecimal, json_string, without_not_finite};
use arrow::array::{Array, ArrayRef, AsArray, StringArray, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Float16Type, Float32Type, Float64Type};
use arrow::error::ArrowError;
use arrow::json::writer::{Encoder, EncoderFactory, EncoderOptions, NullableEncoder, make_encoder};
use arrow::json::{LineDelimitedWriter, WriterBuilder};
use arrow::record_batch::RecordBatch;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Under which name of its metadata a field has that of its extension type.
const EXTENSION: &str = "ARROW:extension:name";

/// Whether the texts of a column are JSON, each of them a value.
pub(super) fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == "arrow.json")
}

/// The field of a column whose texts are JSON.
pub(super) fn as_json(field: &Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(EXTENSION.to_owned(), "arrow.json".to_owned());
    field.clone().with_metadata(metadata)
}

/// The field of the elements of a list, or of the values of a dictionary, that are of that type: whoever encodes them is
/// given the field of the whole.
fn element_field<'a>(mut field: &'a Field, of: &DataType) -> &'a Field {
    while field.data_type() != of {
        field = match field.data_type() {
            DataType::List(inner)
            | DataType::LargeList(inner)
            | DataType::ListView(inner)
            | DataType::LargeListView(inner)
            | DataType::FixedSizeList(inner, _)
            | DataType::RunEndEncoded(_, inner) => inner,
            // Of a dictionary the mark is its own.
            _ => return field,
        };
    }
    field
}

/// Whether values of a column have a form in JSON.
pub(super) fn has_json_form(field: &Field) -> bool {
    let options = EncoderOptions::default().with_encoder_factory(Arc::new(RecordEncoders));
    let (field, array) = (Arc::new(field.clone()), new_empty_array(field.data_type()));
    make_encoder(&field, &array, &options).is_ok()
}

/// The rows of a batch, an object each, without members of null.
///
/// # Errors
/// In words, for a column that has no form in JSON.
pub(crate) fn rows_as_json(batch: &RecordBatch) -> Result<Vec<String>, String> {
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
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Box::new(BytesEncoder(array))
            }
            kind @ (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
                if is_json(element_field(field, kind)) =>
            {
                Box::new(JsonTextEncoder(array))
            }
            DataType::Float16 | DataType::Float32 | DataType::Float64 => match not_finite(array) {
                Some(doubles) => Box::new(NotFiniteEncoder(doubles)),
                None => return Ok(None),
            },
            DataType::Map(..) if !array.as_map().keys().data_type().is_string() => {
                Box::new(MapEncoder::new(array, options)?)
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.logical_nulls())))
    }
}

/// Bytes: a text where they are one, else hexadecimal digits.
struct BytesEncoder<'a>(&'a dyn Array);

impl Encoder for BytesEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let bytes = match self.0.data_type() {
            DataType::Binary => self.0.as_binary::<i32>().value(at),
            DataType::LargeBinary => self.0.as_binary::<i64>().value(at),
            _ => self.0.as_binary_view().value(at),
        };
        match std::str::from_utf8(bytes) {
            Ok(text) => out.extend(json_string(text).bytes()),
            Err(_) => out.extend(json_string(&hexadecimal(bytes)).bytes()),
        }
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

/// The numbers as doubles, where some of them are not finite.
fn not_finite(array: &dyn Array) -> Option<ArrayRef> {
    let has = match array.data_type() {
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().values().iter().any(|value| !value.is_finite())
        }
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().values().iter().any(|value| !value.is_finite())
        }
        _ => array.as_primitive::<Float16Type>().values().iter().any(|value| !value.is_finite()),
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
            number => number,
        };
        out.extend(word.bytes());
    }
}

/// Maps whose keys are not texts: an object, its names the keys as texts.
struct MapEncoder<'a> {
    map: &'a dyn Array,
    keys: StringArray,
    values: NullableEncoder<'a>,
}

impl<'a> MapEncoder<'a> {
    fn new(map: &'a dyn Array, options: &'a EncoderOptions) -> Result<Self, ArrowError> {
        let entries = map.as_map();
        let keys = cast(entries.keys(), &DataType::Utf8)?.as_string::<i32>().clone();
        let DataType::Map(entry, _) = map.data_type() else {
            return Err(ArrowError::JsonError("not a map".to_owned()));
        };
        let DataType::Struct(parts) = entry.data_type() else {
            return Err(ArrowError::JsonError("a map without entries".to_owned()));
        };
        let [_, value] = parts.as_ref() else {
            return Err(ArrowError::JsonError("a map of other parts than two".to_owned()));
        };
        Ok(Self { map, keys, values: make_encoder(value, entries.values(), options)? })
    }
}

impl Encoder for MapEncoder<'_> {
    fn encode(&mut self, at: usize, out: &mut Vec<u8>) {
        let offsets = self.map.as_map().value_offsets();
        let bounds = (offsets.get(at), offsets.get(at + 1));
        let (Some(from), Some(to)) = bounds else { return };
        out.push(b'{');
        let mut is_first = true;
        for entry in *from..*to {
            let entry = usize::try_from(entry).unwrap_or_default();
            if self.values.is_null(entry) {
                continue;
            }
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            out.extend(json_string(self.keys.value(entry)).bytes());
            out.push(b':');
            self.values.encode(entry, out);
        }
        out.push(b'}');
    }
}
