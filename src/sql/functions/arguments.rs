//! Reads the arguments of a function row by row: texts, bytes and whole numbers, in whichever Arrow layout.

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, Int64Array, LargeBinaryArray,
    LargeStringArray, StringArray, StringViewArray,
};
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

/// Bytes that a value of another type takes as text, at most.
const NUMBER: u64 = 32;

/// An argument, row by row.
#[derive(Clone, Copy)]
pub(crate) enum TextArgument<'a> {
    One(&'a ScalarValue),
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Numbers(&'a Int64Array),
    Bytes(&'a BinaryArray),
    LargeBytes(&'a LargeBinaryArray),
    BytesView(&'a BinaryViewArray),
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
            DataType::Binary => array.as_binary_opt().map_or(Self::Other, Self::Bytes),
            DataType::LargeBinary => array.as_binary_opt().map_or(Self::Other, Self::LargeBytes),
            DataType::BinaryView => array.as_binary_view_opt().map_or(Self::Other, Self::BytesView),
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

    pub(crate) fn bytes(self, row: usize) -> u64 {
        match self {
            Self::Numbers(_) | Self::Other => NUMBER,
            Self::Bytes(array) => as_u64(array.value(row).len()),
            Self::LargeBytes(array) => as_u64(array.value(row).len()),
            Self::BytesView(array) => as_u64(array.value(row).len()),
            Self::One(
                ScalarValue::Binary(bytes)
                | ScalarValue::LargeBinary(bytes)
                | ScalarValue::BinaryView(bytes)
                | ScalarValue::FixedSizeBinary(_, bytes),
            ) => bytes.as_ref().map_or(0, |bytes| as_u64(bytes.len())),
            Self::One(scalar) if scalar.try_as_str().is_none() => NUMBER,
            texts => texts.text(row).map_or(0, |text| as_u64(text.len())),
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

    /// The value as a count: 0 for a negative number, and for null.
    pub(crate) fn number(self, row: usize) -> u64 {
        u64::try_from(self.integer(row).unwrap_or(0)).unwrap_or(0)
    }
}

fn as_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
