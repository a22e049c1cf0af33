//! Values of Python as JSON has them: what the fields of a record are stored as.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};
use serde_json::{Map, Number, Value};

/// How deep values may be nested: half of what readers of JSON take.
const DEPTH: u32 = 64;

/// Modules whose objects are stored as the text that `str` gives: numbers and names that JSON has no form for.
const AS_TEXT: [&str; 4] = ["decimal", "uuid", "pathlib", "fractions"];

/// The fields of a mapping; the inner error says why it cannot be stored.
///
/// # Errors
/// `TypeError` for what is no mapping.
pub(crate) fn fields(
    item: &Bound<'_, PyAny>,
    number: u64,
) -> PyResult<Result<Map<String, Value>, String>> {
    if let Ok(dict) = item.cast::<PyDict>() {
        return Ok(of_dict(dict, 0));
    }
    if item.hasattr("items")? && !item.is_instance_of::<PyString>() {
        return Ok(of_items(item, 0));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "record {number} (counted from 0) is of type {}, not a mapping of fields: give {{\"text\": ..., \"id\": ...}}",
        type_name(item)
    )))
}

fn of_dict(dict: &Bound<'_, PyDict>, depth: u32) -> Result<Map<String, Value>, String> {
    let mut map = Map::with_capacity(dict.len());
    for (name, value) in dict {
        put(&mut map, &name, &value, depth)?;
    }
    Ok(map)
}

fn of_items(mapping: &Bound<'_, PyAny>, depth: u32) -> Result<Map<String, Value>, String> {
    let words = |error: PyErr| error.to_string();
    let mut map = Map::new();
    for pair in mapping.call_method0("items").and_then(|items| items.try_iter()).map_err(words)? {
        let pair = pair.map_err(words)?;
        let (name, value) =
            pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(words)?;
        put(&mut map, &name, &value, depth)?;
    }
    Ok(map)
}

fn put(
    map: &mut Map<String, Value>,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    depth: u32,
) -> Result<(), String> {
    let Ok(name) = name.cast::<PyString>() else {
        return Err(format!("the name of a field is of type {}, not a string", type_name(name)));
    };
    let name = text(name)?;
    let value = of(value, depth + 1).map_err(|why| format!("field `{name}`: {why}"))?;
    map.insert(name, value);
    Ok(())
}

fn of(value: &Bound<'_, PyAny>, depth: u32) -> Result<Value, String> {
    if depth > DEPTH {
        return Err(format!("nested deeper than {DEPTH}"));
    }
    if let Ok(string) = value.cast::<PyString>() {
        return text(string).map(Value::String);
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let signed = value.extract::<i64>().map(Value::from);
        return signed
            .or_else(|_| value.extract::<u64>().map(Value::from))
            .map_err(|_| "an integer of more than 64 bits".to_owned());
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        // What is no number has no form in JSON: it is stored as no value.
        return Ok(Number::from_f64(float.value()).map_or(Value::Null, Value::Number));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return of_dict(dict, depth).map(Value::Object);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return list.iter().map(|value| of(&value, depth + 1)).collect();
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return tuple.iter().map(|value| of(&value, depth + 1)).collect();
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return match std::str::from_utf8(bytes.as_bytes()) {
            Ok(text) => Ok(Value::from(text)),
            Err(error) => Err(format!("bytes that are no UTF-8: {error}")),
        };
    }
    of_object(value, depth)
}

/// Of arrays and their elements, days and times, mappings, sets, and numbers that JSON does not have.
fn of_object(value: &Bound<'_, PyAny>, depth: u32) -> Result<Value, String> {
    let words = |error: PyErr| error.to_string();
    if value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() {
        let items = value.try_iter().map_err(words)?;
        let items: Result<Vec<Value>, String> =
            items.map(|item| of(&item.map_err(words)?, depth + 1)).collect();
        let mut items = items?;
        // Python gives them by a hash that is another one in each process: the record would be another one too.
        items.sort_by_cached_key(Value::to_string);
        return Ok(Value::Array(items));
    }
    for method in ["tolist", "as_py"] {
        if let Ok(method) = value.getattr(method) {
            let plain = method.call0().map_err(words)?;
            return of(&plain, depth + 1);
        }
    }
    if let Ok(method) = value.getattr("isoformat") {
        let told = method.call0().map_err(words)?;
        return of(&told, depth + 1);
    }
    if value.hasattr("items").map_err(words)? {
        return of_items(value, depth).map(Value::Object);
    }
    let module = value.get_type().module().map(|module| module.to_string()).unwrap_or_default();
    let module = module.split('.').next().unwrap_or_default();
    if AS_TEXT.contains(&module) {
        return text(&value.str().map_err(words)?).map(Value::String);
    }
    if value.hasattr("__len__").map_err(words)?
        && let Ok(items) = value.try_iter()
    {
        return items.map(|item| of(&item.map_err(words)?, depth + 1)).collect();
    }
    Err(format!("a value of type {} has no form in JSON", type_name(value)))
}

fn text(string: &Bound<'_, PyString>) -> Result<String, String> {
    let text = string.to_cow().map_err(|_| {
        "a string with halves of surrogate pairs, which is no Unicode text".to_owned()
    })?;
    Ok(text.into_owned())
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
