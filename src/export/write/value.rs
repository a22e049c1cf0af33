//! One value of a column, as lines of text have it.

use crate::export::error::ExportError;
use crate::model::shown_timestamp;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimeUnit, TimestampMicrosecondType, UInt64Type,
};
use std::borrow::Cow;

/// A value of a column, as lines have it.
pub(super) enum Value<'a> {
    Null,
    Text(Cow<'a, str>),
    /// Digits, or a truth.
    Plain(String),
}

/// The value of `column` in a row.
pub(super) fn value(column: &dyn Array, row: usize) -> Result<Value<'_>, ExportError> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Utf8 => Value::Text(column.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => Value::Text(column.as_string::<i64>().value(row).into()),
        DataType::UInt64 => {
            Value::Plain(column.as_primitive::<UInt64Type>().value(row).to_string())
        }
        DataType::Int64 => Value::Plain(column.as_primitive::<Int64Type>().value(row).to_string()),
        DataType::Boolean => Value::Plain(column.as_boolean().value(row).to_string()),
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            let moment = column.as_primitive::<TimestampMicrosecondType>().value(row);
            Value::Text(shown_timestamp(moment).into())
        }
        DataType::Float64 => {
            // As JSON spells it: the shortest digits that give the same number; infinity has none.
            let number = column.as_primitive::<Float64Type>().value(row);
            serde_json::Number::from_f64(number)
                .map_or(Value::Null, |number| Value::Plain(number.to_string()))
        }
        other => return Err(ExportError::Bug(format!("a column of {other}"))),
    })
}
