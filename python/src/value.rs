//! Converts Python values to JSON: a record becomes the line that it would be in a file of JSON lines.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
};

/// How deep values may be nested: as in a file.
const DEPTH: u32 = 512;

/// Modules whose objects are stored as `str` spells them, because JSON has no such type.
const AS_TEXT: [&str; 4] = ["decimal", "uuid", "pathlib", "fractions"];

/// The types of pandas' missing values.
const MISSING: [&str; 2] = ["NAType", "NaTType"];

/// The fields of a mapping as a JSON object. The inner error says why they cannot be stored.
///
/// # Errors
/// `TypeError` for anything else than a mapping.
pub(crate) fn object(item: &Bound<'_, PyAny>, number: u64) -> PyResult<Result<String, String>> {
    let mut json = String::new();
    if let Ok(dict) = item.cast::<PyDict>() {
        return Ok(push_dict(&mut json, dict, 0).map(|()| json));
    }
    if item.hasattr("items")? && !item.is_instance_of::<PyString>() {
        return Ok(push_items(&mut json, item, 0).map(|()| json));
    }
    Err(pyo3::exceptions::PyTypeError::new_err(format!(
        "record {number} (counted from 0) is of type {}, not a mapping of fields: give {{\"text\": ..., \"id\": ...}}",
        type_name(item)
    )))
}

fn push_dict(json: &mut String, dict: &Bound<'_, PyDict>, depth: u32) -> Result<(), String> {
    json.push('{');
    for (name, value) in dict {
        push_member(json, &name, &value, depth)?;
    }
    json.push('}');
    Ok(())
}

fn push_items(json: &mut String, mapping: &Bound<'_, PyAny>, depth: u32) -> Result<(), String> {
    json.push('{');
    for pair in mapping.call_method0("items").and_then(|items| items.try_iter()).map_err(words)? {
        let pair = pair.map_err(words)?;
        let (name, value) =
            pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>().map_err(words)?;
        push_member(json, &name, &value, depth)?;
    }
    json.push('}');
    Ok(())
}

fn push_member(
    json: &mut String,
    name: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    depth: u32,
) -> Result<(), String> {
    let Ok(name) = name.cast::<PyString>() else {
        return Err(format!("the name of a field must be text, got {}", type_name(name)));
    };
    if !json.ends_with('{') {
        json.push(',');
    }
    push_string(json, name)?;
    json.push(':');
    push(json, value, depth + 1).map_err(|why| match depth {
        0 => format!("field `{name}`: {why}"),
        _ => why,
    })
}

fn push_list<'py>(
    json: &mut String,
    items: impl Iterator<Item = PyResult<Bound<'py, PyAny>>>,
    depth: u32,
) -> Result<(), String> {
    json.push('[');
    for (at, item) in items.enumerate() {
        if at > 0 {
            json.push(',');
        }
        push(json, &item.map_err(words)?, depth + 1)?;
    }
    json.push(']');
    Ok(())
}

fn push(json: &mut String, value: &Bound<'_, PyAny>, depth: u32) -> Result<(), String> {
    if depth > DEPTH {
        return Err(format!("nested deeper than {DEPTH}"));
    }
    if let Ok(string) = value.cast::<PyString>() {
        return push_string(json, string);
    }
    if value.is_none() {
        json.push_str("null");
        return Ok(());
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        json.push_str(if truth.is_true() { "true" } else { "false" });
        return Ok(());
    }
    if value.is_instance_of::<PyInt>() {
        return push_int(json, value);
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        push_float(json, float.value());
        return Ok(());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return push_dict(json, dict, depth);
    }
    if let Ok(list) = value.cast::<PyList>() {
        return push_list(json, list.iter().map(Ok), depth);
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return push_list(json, tuple.iter().map(Ok), depth);
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let text = std::str::from_utf8(bytes.as_bytes())
            .map_err(|error| format!("bytes must be UTF-8: {error}"))?;
        json.push_str(&quoted(text));
        return Ok(());
    }
    push_object(json, value, depth)
}

/// Arrays and their elements, dates and times, mappings, sets, and numbers that JSON does not have.
fn push_object(json: &mut String, value: &Bound<'_, PyAny>, depth: u32) -> Result<(), String> {
    if value.is_instance_of::<PySet>() || value.is_instance_of::<PyFrozenSet>() {
        return push_set(json, value, depth);
    }
    if MISSING.contains(&type_name(value).as_str()) {
        json.push_str("null");
        return Ok(());
    }
    for method in ["tolist", "as_py", "isoformat"] {
        if let Ok(method) = value.getattr(method) {
            return push(json, &method.call0().map_err(words)?, depth + 1);
        }
    }
    if value.hasattr("items").map_err(words)? {
        return push_items(json, value, depth);
    }
    let module = value.get_type().module().map(|module| module.to_string()).unwrap_or_default();
    let module = module.split('.').next().unwrap_or_default();
    if AS_TEXT.contains(&module) {
        return push_string(json, &value.str().map_err(words)?);
    }
    if value.hasattr("__len__").map_err(words)?
        && let Ok(items) = value.try_iter()
    {
        return push_list(json, items, depth);
    }
    Err(format!("a value of type {} cannot be stored as JSON", type_name(value)))
}

fn push_set(json: &mut String, set: &Bound<'_, PyAny>, depth: u32) -> Result<(), String> {
    let mut items = Vec::new();
    for item in set.try_iter().map_err(words)? {
        let mut json = String::new();
        push(&mut json, &item.map_err(words)?, depth + 1)?;
        items.push(json);
    }
    // The order of a set differs in each process, so the items are sorted: the record must be the same each time.
    items.sort_unstable();
    json.push('[');
    json.push_str(&items.join(","));
    json.push(']');
    Ok(())
}

/// An integer of any size that Python can spell (by default up to 4300 digits).
fn push_int(json: &mut String, value: &Bound<'_, PyAny>) -> Result<(), String> {
    if let Ok(small) = value.extract::<i64>() {
        json.push_str(&small.to_string());
        return Ok(());
    }
    // `str` of a subclass may give something else than the number.
    let spelled = value.call_method1("__format__", ("d",)).and_then(|spelled| spelled.extract());
    let spelled: String = spelled.map_err(words)?;
    json.push_str(&spelled);
    Ok(())
}

/// NaN and infinities are spelled as Python's `json` does. They are stored as null, and counted.
fn push_float(json: &mut String, float: f64) {
    match serde_json::Number::from_f64(float) {
        Some(number) => json.push_str(&number.to_string()),
        None if float.is_nan() => json.push_str("NaN"),
        None if float > 0.0 => json.push_str("Infinity"),
        None => json.push_str("-Infinity"),
    }
}

fn push_string(json: &mut String, string: &Bound<'_, PyString>) -> Result<(), String> {
    let text = string
        .to_cow()
        .map_err(|_| "a string with lone surrogates is not Unicode text".to_owned())?;
    json.push_str(&quoted(&text));
    Ok(())
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn words(error: PyErr) -> String {
    error.to_string()
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
