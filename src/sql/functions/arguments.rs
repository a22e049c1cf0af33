//! Reads the arguments of a function row by row: texts and whole numbers, in whichever Arrow layout.

use arrow::array::{
    Array, ArrayRef, AsArray, Int64Array, LargeStringArray, StringArray, StringViewArray,
};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// An argument, row by row.
#[derive(Clone, Copy)]
pub(crate) enum TextArgument<'a> {
    One(&'a ScalarValue),
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Numbers(&'a Int64Array),
    Other,
}

impl<'a> TextArgument<'a> {
    pub(crate) fn of(value: &'a ColumnarValue) -> Self {
        let array: &ArrayRef = match value {
            ColumnarValue::Scalar(scalar) => return Self::One(scalar),
            ColumnarValue::Array(array) => array,
        };
        match array.data_type() {
            DataType::Utf8 => array.as_string_opt().map_or(Self::Other, Self::Small),
            DataType::LargeUtf8 => array.as_string_opt().map_or(Self::Other, Self::Large),
            DataType::Utf8View => array.as_string_view_opt().map_or(Self::Other, Self::View),
            DataType::Int64 => {
                array.as_primitive_opt::<Int64Type>().map_or(Self::Other, Self::Numbers)
            }
            _ => Self::Other,
        }
    }

    pub(crate) const fn varies(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    pub(crate) fn text(self, row: usize) -> Option<&'a str> {
        match self {
            Self::One(scalar) => scalar.try_as_str().flatten(),
            Self::Small(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::Large(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::View(array) => (!array.is_null(row)).then(|| array.value(row)),
            _ => None,
        }
    }

    /// The value as a whole number, where it is one.
    pub(crate) fn integer(self, row: usize) -> Option<i64> {
        match self {
            Self::One(ScalarValue::Int64(number)) => *number,
            Self::Numbers(array) if !array.is_null(row) => Some(array.value(row)),
            _ => None,
        }
    }
}
