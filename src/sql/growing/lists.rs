//! Computes how many bytes each function that makes lists, or texts of lists, would make of a batch.

use super::sizes::length;
use crate::sql::functions::arguments::TextArgument;
use arrow::array::{Array, AsArray, OffsetSizeTrait};
use arrow::datatypes::DataType;
use datafusion::logical_expr::ColumnarValue;

/// Bytes that an element takes beside its value: a view, an offset.
const ELEMENT: u64 = 16;
/// Bytes of a number as a text, at most.
const NUMBER: u64 = 32;

/// Bytes that a function would make of this many rows.
pub(super) type Whole = fn(&[ColumnarValue], usize) -> u64;

/// All arguments in every row: for functions that concatenate lists or put elements into them.
pub(super) fn gathered(args: &[ColumnarValue], rows: usize) -> u64 {
    args.iter().map(|arg| whole(arg, rows)).fold(0, u64::saturating_add)
}

/// Lists side by side, the shorter ones padded.
pub(super) fn zipped(args: &[ColumnarValue], rows: usize) -> u64 {
    let most = args.iter().map(|arg| elements(arg, rows)).max().unwrap_or(0);
    let filled = most.saturating_mul(ELEMENT).saturating_mul(length(args.len()));
    gathered(args, rows).saturating_add(filled)
}

/// An element repeated.
pub(super) fn repeated(args: &[ColumnarValue], rows: usize) -> u64 {
    let [element, times, ..] = args else { return 0 };
    let (texts, times) = (TextArgument::of(element), TextArgument::of(times));
    let nested = element.data_type().is_nested().then(|| held_value(element));
    let bytes = |row| nested.unwrap_or_else(|| texts.bytes(row)).saturating_add(ELEMENT);
    let each = (0..rows).map(|row| bytes(row).saturating_mul(times.number(row)));
    each.fold(0, u64::saturating_add)
}

/// A list resized to a number of elements.
pub(super) fn resized(args: &[ColumnarValue], rows: usize) -> u64 {
    let [list, wanted, rest @ ..] = args else { return 0 };
    let (wanted, filler) = (TextArgument::of(wanted), rest.first().map(TextArgument::of));
    let each = (0..rows).map(|row| {
        let bytes = filler.map_or(0, |filler| filler.bytes(row)).saturating_add(ELEMENT);
        bytes.saturating_mul(wanted.number(row))
    });
    each.fold(whole(list, rows), u64::saturating_add)
}

/// The numbers of a series. Series of timestamps are left to the tables `range` and `generate_series`, which make one
/// batch at a time.
pub(super) fn counted(args: &[ColumnarValue], rows: usize) -> u64 {
    if args.iter().any(|arg| !arg.data_type().is_integer() && !arg.data_type().is_null()) {
        return u64::MAX;
    }
    let texts: Vec<TextArgument<'_>> = args.iter().map(TextArgument::of).collect();
    let number = |at: usize, row: usize| texts.get(at).and_then(|text| text.integer(row));
    let each = (0..rows).map(|row| {
        let (first, last) = match texts.len() {
            0 | 1 => (0, number(0, row).unwrap_or(0)),
            _ => (number(0, row).unwrap_or(0), number(1, row).unwrap_or(0)),
        };
        let step = number(2, row).unwrap_or(1).unsigned_abs().max(1);
        (first.abs_diff(last) / step).saturating_add(1).saturating_mul(8)
    });
    each.fold(0, u64::saturating_add)
}

/// A list as one text: the list, the separator, and the text for nulls.
pub(super) fn written(args: &[ColumnarValue], rows: usize) -> u64 {
    let [list, rest @ ..] = args else { return 0 };
    let beside: u64 = rest.iter().map(held_value).fold(NUMBER, u64::saturating_add);
    whole(list, rows).saturating_add(elements(list, rows).saturating_mul(beside))
}

/// A text split at each occurrence of another one.
pub(super) fn cut(args: &[ColumnarValue], rows: usize) -> u64 {
    let [text, separator, ..] = args else { return 0 };
    let (texts, separators) = (TextArgument::of(text), TextArgument::of(separator));
    let each = (0..rows).map(|row| {
        let Some(text) = texts.text(row) else { return 0 };
        let parts = match separators.text(row) {
            Some("") => 1,
            Some(separator) => text.matches(separator).count().saturating_add(1),
            None => text.len(),
        };
        length(text.len()).saturating_add(length(parts).saturating_mul(ELEMENT))
    });
    each.fold(0, u64::saturating_add)
}

/// A list with some elements replaced.
pub(super) fn replaced(args: &[ColumnarValue], rows: usize) -> u64 {
    let [list, _, by, ..] = args else { return 0 };
    let put_in = held_value(by).saturating_add(ELEMENT);
    whole(list, rows).saturating_add(elements(list, rows).saturating_mul(put_in))
}

fn whole(arg: &ColumnarValue, rows: usize) -> u64 {
    match arg {
        ColumnarValue::Array(array) => held(array.as_ref()),
        ColumnarValue::Scalar(scalar) => length(scalar.size()).saturating_mul(length(rows)),
    }
}

/// Bytes of an argument's largest value, at most; for an array, the bytes of all of its values.
fn held_value(arg: &ColumnarValue) -> u64 {
    match arg {
        ColumnarValue::Array(array) => held(array.as_ref()),
        ColumnarValue::Scalar(scalar) => length(scalar.size()),
    }
}

fn elements(arg: &ColumnarValue, rows: usize) -> u64 {
    match arg {
        ColumnarValue::Array(array) => inner(array.as_ref()),
        ColumnarValue::Scalar(scalar) => {
            let one = scalar.to_array().map_or(0, |array| inner(array.as_ref()));
            one.saturating_mul(length(rows))
        }
    }
}

fn inner(array: &dyn Array) -> u64 {
    match array.data_type() {
        DataType::List(_) => array.as_list_opt::<i32>().map_or(0, |it| span(it.offsets()).1),
        DataType::LargeList(_) => array.as_list_opt::<i64>().map_or(0, |it| span(it.offsets()).1),
        DataType::FixedSizeList(_, size) => {
            length(array.len()).saturating_mul(u64::try_from(*size).unwrap_or(0))
        }
        _ => 0,
    }
}

/// Where elements begin, and how many they are.
fn span<O: OffsetSizeTrait>(offsets: &[O]) -> (usize, u64) {
    let first = offsets.first().map_or(0, |at| at.as_usize());
    let end = offsets.last().map_or(0, |at| at.as_usize());
    (first, length(end.saturating_sub(first)))
}

/// Bytes of an array's values; of views, of the bytes that they refer to.
pub(crate) fn held(array: &dyn Array) -> u64 {
    let rows = length(array.len()).saturating_mul(ELEMENT);
    match array.data_type() {
        DataType::Utf8View => array
            .as_string_view_opt()
            .map_or(rows, |texts| texts.lengths().map(u64::from).fold(rows, u64::saturating_add)),
        DataType::BinaryView => array
            .as_binary_view_opt()
            .map_or(rows, |bytes| bytes.lengths().map(u64::from).fold(rows, u64::saturating_add)),
        DataType::List(_) => array.as_list_opt::<i32>().map_or(rows, |lists| {
            let (first, count) = span(lists.offsets());
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            rows.saturating_add(held(lists.values().slice(first, count).as_ref()))
        }),
        DataType::LargeList(_) => array.as_list_opt::<i64>().map_or(rows, |lists| {
            let (first, count) = span(lists.offsets());
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            rows.saturating_add(held(lists.values().slice(first, count).as_ref()))
        }),
        DataType::Struct(_) => array.as_struct_opt().map_or(rows, |of| {
            of.columns().iter().map(|column| held(column.as_ref())).fold(rows, u64::saturating_add)
        }),
        _ => array.to_data().get_slice_memory_size().map_or(rows, length),
    }
}
