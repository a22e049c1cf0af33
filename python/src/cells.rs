//! Converts Arrow values to Python objects: rows as tuples, for programs that do not use Arrow.

use corpusdb::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use corpusdb::arrow::compute::cast;
use corpusdb::arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use corpusdb::arrow::error::ArrowError;
use corpusdb::arrow::util::display::{ArrayFormatter, FormatOptions};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

type Cell<'py> = Bound<'py, PyAny>;

/// The rows of a batch.
pub(crate) fn tuples<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for array in batch.columns() {
        columns.push(column(py, array)?.into_iter());
    }
    (0..batch.num_rows())
        .map(|_| {
            PyTuple::new(py, columns.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>())
        })
        .collect()
}

macro_rules! each {
    ($py:ident, $array:expr) => {
        $array.iter().map(|value| value.into_bound_py_any($py)).collect()
    };
}

fn column<'py>(py: Python<'py>, array: &ArrayRef) -> PyResult<Vec<Cell<'py>>> {
    let bytes = |value: Option<&[u8]>| match value {
        Some(value) => Ok(PyBytes::new(py, value).into_any()),
        None => Ok(py.None().into_bound(py)),
    };
    match array.data_type() {
        DataType::Null => Ok((0..array.len()).map(|_| py.None().into_bound(py)).collect()),
        DataType::Boolean => each!(py, array.as_boolean()),
        DataType::Int8 => each!(py, array.as_primitive::<Int8Type>()),
        DataType::Int16 => each!(py, array.as_primitive::<Int16Type>()),
        DataType::Int32 => each!(py, array.as_primitive::<Int32Type>()),
        DataType::Int64 => each!(py, array.as_primitive::<Int64Type>()),
        DataType::UInt8 => each!(py, array.as_primitive::<UInt8Type>()),
        DataType::UInt16 => each!(py, array.as_primitive::<UInt16Type>()),
        DataType::UInt32 => each!(py, array.as_primitive::<UInt32Type>()),
        DataType::UInt64 => each!(py, array.as_primitive::<UInt64Type>()),
        DataType::Float32 => each!(py, array.as_primitive::<Float32Type>()),
        DataType::Float64 => each!(py, array.as_primitive::<Float64Type>()),
        DataType::Utf8 => each!(py, array.as_string::<i32>()),
        DataType::LargeUtf8 => each!(py, array.as_string::<i64>()),
        DataType::Utf8View => each!(py, array.as_string_view()),
        DataType::Binary => array.as_binary::<i32>().iter().map(bytes).collect(),
        DataType::LargeBinary => array.as_binary::<i64>().iter().map(bytes).collect(),
        DataType::BinaryView => array.as_binary_view().iter().map(bytes).collect(),
        DataType::List(_) => lists(py, array.as_list::<i32>().iter()),
        DataType::LargeList(_) => lists(py, array.as_list::<i64>().iter()),
        DataType::FixedSizeList(..) => lists(py, array.as_fixed_size_list().iter()),
        DataType::Struct(_) => structs(py, array.as_struct()),
        DataType::Dictionary(_, values) => column(py, &cast(array, values).map_err(told)?),
        other => texts(py, array, other),
    }
}

fn lists<'py>(
    py: Python<'py>,
    lists: impl Iterator<Item = Option<ArrayRef>>,
) -> PyResult<Vec<Cell<'py>>> {
    lists
        .map(|list| match list {
            Some(list) => Ok(PyList::new(py, column(py, &list)?)?.into_any()),
            None => Ok(py.None().into_bound(py)),
        })
        .collect()
}

fn structs<'py>(py: Python<'py>, array: &StructArray) -> PyResult<Vec<Cell<'py>>> {
    let rows: Vec<Bound<'py, PyDict>> = (0..array.len()).map(|_| PyDict::new(py)).collect();
    for (name, values) in array.column_names().into_iter().zip(array.columns()) {
        for (row, value) in rows.iter().zip(column(py, values)?) {
            row.set_item(name, value)?;
        }
    }
    let is_null = |at: usize| array.is_null(at);
    Ok(rows
        .into_iter()
        .enumerate()
        .map(|(at, row)| if is_null(at) { py.None().into_bound(py) } else { row.into_any() })
        .collect())
}

/// Dates and times from their ISO form, exact numbers as decimals, everything else as text.
fn texts<'py>(py: Python<'py>, array: &ArrayRef, kind: &DataType) -> PyResult<Vec<Cell<'py>>> {
    let made = |module: &str, class: &str, method: Option<&str>| {
        let class = py.import(module)?.getattr(class)?;
        method.map_or(Ok(class.clone()), |method| class.getattr(method))
    };
    let make = match kind {
        DataType::Date32 | DataType::Date64 => {
            Some(made("datetime", "date", Some("fromisoformat"))?)
        }
        DataType::Timestamp(..) => Some(made("datetime", "datetime", Some("fromisoformat"))?),
        DataType::Time32(_) | DataType::Time64(_) => {
            Some(made("datetime", "time", Some("fromisoformat"))?)
        }
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => Some(made("decimal", "Decimal", None)?),
        _ => None,
    };
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).map_err(told)?;
    let cell = |at: usize| {
        if array.is_null(at) {
            return Ok(py.None().into_bound(py));
        }
        // A moment that no calendar has becomes `None`.
        let shown = formatter.value(at).try_to_string().ok();
        let is_none = |text: &String| matches!(kind, DataType::Duration(_)) && text == "<invalid>";
        let Some(text) = shown.filter(|text| !is_none(text)) else {
            return Ok(py.None().into_bound(py));
        };
        let text = match kind {
            // A date has no time part.
            DataType::Date64 => text.get(..10).unwrap_or(&text).to_owned(),
            _ => text,
        };
        match &make {
            // Dates outside of Python's calendar stay text.
            Some(make) => make.call1((&text,)).or_else(|_| text.into_bound_py_any(py)),
            None => text.into_bound_py_any(py),
        }
    };
    (0..array.len()).map(cell).collect()
}

fn told(error: ArrowError) -> PyErr {
    pyo3::exceptions::PyValueError::new_err(error.to_string())
}
