//! Unifies the Arrow types of one column across several files, and converts arrays to the unified type.

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, StringViewArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;
use datafusion::common::nested_struct::cast_column;
use files::input::rows_as_json;
use model::{hexadecimal, without_not_finite};
use std::sync::Arc;

/// 2^53: a double holds every whole number up to it.
const EXACT: u64 = 9_007_199_254_740_992;
/// Digits of a 128-bit decimal, and of a 64-bit integer.
const MOST_DIGITS: u8 = 38;
const WHOLE_DIGITS: u8 = 20;
/// Name of a column that becomes JSON.
const VALUE: &str = "v";

/// Columns by name, in the order in which they appear.
#[derive(Default)]
pub(super) struct TypeColumns {
    pub(super) columns: Vec<(String, DataType)>,
}

impl TypeColumns {
    /// Adds a column of a file; where the name is known, widens its type.
    pub(super) fn add(&mut self, name: &str, kind: DataType) {
        match self.columns.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = widened(known, &kind),
            None => self.columns.push((name.to_owned(), kind)),
        }
    }
}

/// The type of a table's column for a column of a file: bytes become texts, and all text types one.
pub(super) fn table_type(kind: &DataType) -> DataType {
    match kind {
        DataType::Dictionary(_, values) => table_type(values),
        DataType::RunEndEncoded(_, values) => table_type(values.data_type()),
        DataType::Null => DataType::Utf8View,
        kind if kind.is_string() || kind.is_binary() => DataType::Utf8View,
        kind => kind.clone(),
    }
}

/// The narrowest type for the values of both; text where no other is.
fn widened(one: &DataType, other: &DataType) -> DataType {
    held(one, other).unwrap_or(DataType::Utf8View)
}

/// The type for the values of both; none where only text would do.
fn held(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Decimal128, LargeList, List, Struct, Timestamp, UInt64};
    let field = |one: &Field, other: &Field| {
        let kind = held(&table_type(one.data_type()), &table_type(other.data_type()))?;
        Some(Arc::new(Field::new(one.name(), kind, true)))
    };
    match (one, other) {
        _ if one == other => Some(one.clone()),
        _ if one.is_integer() && other.is_integer() => Some(match (one, other) {
            _ if one.is_unsigned_integer() && other.is_unsigned_integer() => UInt64,
            (UInt64, _) | (_, UInt64) => Decimal128(WHOLE_DIGITS, 0),
            _ => DataType::Int64,
        }),
        _ if one.is_numeric()
            && other.is_numeric()
            && (one.is_floating() || other.is_floating()) =>
        {
            Some(DataType::Float64)
        }
        _ if one.is_numeric() && other.is_numeric() => decimal(one, other),
        (Timestamp(unit, zone), Timestamp(other, other_zone)) => {
            let unit = if fineness(unit) >= fineness(other) { unit } else { other };
            let zone = match (zone, other_zone) {
                (Some(zone), Some(other)) if zone == other => Some(Arc::clone(zone)),
                (Some(_), Some(_)) => Some("UTC".into()),
                (None, None) => None,
                _ => return None,
            };
            Some(Timestamp(*unit, zone))
        }
        (List(one) | LargeList(one), List(other) | LargeList(other)) => {
            Some(List(field(one, other)?))
        }
        (Struct(one), Struct(other)) => {
            let find = |name: &str| other.iter().find(|field| field.name() == name);
            let is_new =
                |field: &&Arc<Field>| !one.iter().any(|known| known.name() == field.name());
            let nullable = |of: &Arc<Field>| Arc::new(of.as_ref().clone().with_nullable(true));
            // Objects without a common member are different things.
            one.iter().find(|field| find(field.name()).is_some())?;
            let known = one.iter().map(|of| match find(of.name()) {
                Some(other) => field(of, other),
                None => Some(nullable(of)),
            });
            let new = other.iter().filter(is_new).map(|of| Some(nullable(of)));
            Some(Struct(known.chain(new).collect::<Option<Vec<_>>>()?.into()))
        }
        _ => None,
    }
}

const fn fineness(unit: &TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

/// A decimal type with enough digits for both before and behind the point, if there is one.
fn decimal(one: &DataType, other: &DataType) -> Option<DataType> {
    let digits = |kind: &DataType| match kind {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            Some((digits.checked_sub(scale)?, scale))
        }
        kind => kind.is_integer().then_some((WHOLE_DIGITS, 0)),
    };
    let ((one, scale), (other, other_scale)) = (digits(one)?, digits(other)?);
    let scale = scale.max(other_scale);
    let digits = one.max(other).saturating_add(scale);
    let scale = i8::try_from(scale).ok()?;
    (digits <= MOST_DIGITS).then_some(DataType::Decimal128(digits, scale))
}

/// Converts a column of a file to the type of its table.
pub(super) fn converted(
    field: &Field,
    array: &ArrayRef,
    to: &DataType,
) -> Result<ArrayRef, String> {
    let words = |error: arrow::error::ArrowError| error.to_string();
    let from = array.data_type();
    let options = CastOptions { safe: false, ..CastOptions::default() };
    match (from, to) {
        _ if from == to => Ok(Arc::clone(array)),
        (DataType::Dictionary(_, values), _) => {
            converted(field, &cast(array, values).map_err(words)?, to)
        }
        (_, DataType::Utf8View) if from.is_nested() => json_texts(field, array),
        (_, DataType::Utf8View) if from.is_binary() => bytes_as_texts(array),
        (_, DataType::Float64) if from.is_integer() => doubles(array),
        _ if to.is_nested() => {
            cast_column(array, to, &options).map_err(|error| error.strip_backtrace())
        }
        _ => cast_with_options(array, to, &options).map_err(words),
    }
}

/// Each value as JSON, in the form in which an ingest stores it.
fn json_texts(field: &Field, array: &ArrayRef) -> Result<ArrayRef, String> {
    let field = field.clone().with_name(VALUE).with_nullable(true);
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new(schema, vec![Arc::clone(array)]);
    let rows = rows_as_json(&batch.map_err(|error| error.to_string())?)?;
    // Null members are left out.
    let value = |row: &String| {
        let finite = without_not_finite(row);
        let row = finite.as_ref().map_or(row, |(row, _)| row);
        let value = row.strip_prefix("{\"v\":").and_then(|row| row.strip_suffix('}'));
        value.map(str::to_owned)
    };
    Ok(Arc::new(StringViewArray::from_iter(rows.iter().map(value))))
}

/// Bytes as text where they are UTF-8, else as hexadecimal digits; bytes of fixed size always as digits.
fn bytes_as_texts(array: &ArrayRef) -> Result<ArrayRef, String> {
    let is_fixed = matches!(array.data_type(), DataType::FixedSizeBinary(_));
    let bytes = cast(array, &DataType::BinaryView).map_err(|error| error.to_string())?;
    let texts = bytes.as_binary_view().iter().map(|bytes| {
        let bytes = bytes?;
        match std::str::from_utf8(bytes) {
            Ok(text) if !is_fixed => Some(text.to_owned()),
            _ => Some(hexadecimal(bytes)),
        }
    });
    Ok(Arc::new(StringViewArray::from_iter(texts)))
}

/// Integers as doubles; fails for one that a double does not hold.
fn doubles(array: &ArrayRef) -> Result<ArrayRef, String> {
    let wide = cast_with_options(
        array,
        &DataType::Int64,
        &CastOptions { safe: false, ..CastOptions::default() },
    );
    let wide = wide.map_err(|error| error.to_string())?;
    let numbers = wide.as_primitive::<Int64Type>();
    let lost = numbers.iter().flatten().find(|number| number.unsigned_abs() > EXACT);
    match lost {
        Some(lost) => Err(format!(
            "found {lost}, expected a number that a double holds, since other files have fractions"
        )),
        None => Ok(Arc::new(Float64Array::from_iter(
            numbers.iter().map(|number| number.map(|number| number as f64)),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{BinaryArray, Int64Array, ListArray, StringArray, UInt64Array};

    #[test]
    fn a_type_holds_the_values_of_both_or_is_a_text() {
        use DataType::*;
        let list = |kind: DataType| List(Arc::new(Field::new("item", kind, true)));
        for (one, other, expected) in [
            (Int8, Int64, Int64),
            (UInt8, UInt32, UInt64),
            (UInt64, Int64, Decimal128(20, 0)),
            (Int64, Float32, Float64),
            (Decimal128(5, 2), Float64, Float64),
            (Decimal128(5, 2), Decimal128(9, 4), Decimal128(9, 4)),
            (Decimal128(5, 2), Int32, Decimal128(22, 2)),
            (Int64, Utf8View, Utf8View),
            (Boolean, Int64, Utf8View),
            (Timestamp(TimeUnit::Second, None), Timestamp(TimeUnit::Microsecond, None), {
                Timestamp(TimeUnit::Microsecond, None)
            }),
            (Timestamp(TimeUnit::Second, None), Date32, Utf8View),
            (list(Int64), list(Float64), list(Float64)),
            (list(Int64), Int64, Utf8View),
            (list(Int64), list(list(Int64)), Utf8View),
        ] {
            assert_eq!(widened(&one, &other), expected, "{one} and {other}");
            assert_eq!(widened(&other, &one), expected, "{other} and {one}");
        }
    }

    #[test]
    fn values_keep_what_they_say() {
        let text = |array: ArrayRef, to: &DataType| {
            let field = Field::new("x", array.data_type().clone(), true);
            let made = converted(&field, &array, to)?;
            let made = cast(&made, &DataType::Utf8).map_err(|error| error.to_string())?;
            let texts = made.as_string::<i32>().iter();
            Ok::<_, String>(texts.map(|text| text.unwrap_or("null").to_owned()).collect::<Vec<_>>())
        };
        let whole = Arc::new(Int64Array::from(vec![Some(7), None]));
        assert_eq!(text(whole.clone(), &DataType::Float64).unwrap(), ["7.0", "null"]);
        assert_eq!(text(whole, &DataType::Utf8View).unwrap(), ["7", "null"]);
        let long: ArrayRef = Arc::new(UInt64Array::from(vec![9_007_199_254_740_993]));
        assert!(text(long, &DataType::Float64).unwrap_err().contains("9007199254740993"));
        let bytes = Arc::new(BinaryArray::from(vec![&b"caf\xc3\xa9"[..], b"\xff\x00"]));
        assert_eq!(text(bytes, &DataType::Utf8View).unwrap(), ["café", "ff00"]);
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
        ]);
        assert_eq!(text(Arc::new(lists), &DataType::Utf8View).unwrap(), ["[1,null]", "null", "[]"]);
        let words: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        assert!(text(words, &DataType::Int64).unwrap_err().contains("x"));
    }
}
