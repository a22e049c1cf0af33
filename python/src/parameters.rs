//! Python values as parameters of a statement: a sequence for `?` and `$1`, a mapping for `$name`.

use corpusdb::sql::{SqlParameters, SqlValue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyMapping, PySet, PyString,
    PyTuple,
};

/// The types of pandas' missing values.
const MISSING: [&str; 2] = ["NAType", "NaTType"];
/// The ordinal of 1970-01-01 in Python's calendar.
const EPOCH_ORDINAL: i32 = 719_163;

/// The values of the parameters of a statement. `None` means no parameters.
///
/// # Errors
/// `TypeError` for a value that cannot be a parameter, with its place.
pub(crate) fn parameters(values: Option<&Bound<'_, PyAny>>) -> PyResult<SqlParameters> {
    let Some(values) = values else { return Ok(SqlParameters::default()) };
    if let Ok(named) = values.cast::<PyMapping>() {
        let mut found = Vec::new();
        for pair in named.items()?.iter() {
            let (name, value) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let Ok(name) = name.cast::<PyString>() else {
                let kind = type_name(&name);
                let why = format!("parameters: the names of parameters must be text, got {kind}");
                return Err(PyTypeError::new_err(why));
            };
            let name = name.to_cow()?.trim_start_matches('$').to_owned();
            let value = value_of(&value, &format!("parameters[{name:?}]"))?;
            found.push((name, value));
        }
        return Ok(SqlParameters::by_name(found));
    }
    let is_text = values.is_instance_of::<PyString>() || values.is_instance_of::<PyBytes>();
    if is_text || !values.hasattr("__len__")? {
        let kind = type_name(values);
        let why = format!(
            "parameters: expected a list of values for `?` and `$1`, or a mapping for `$name`, got {kind}"
        );
        return Err(PyTypeError::new_err(why));
    }
    let mut found = Vec::new();
    for (at, value) in values.try_iter()?.enumerate() {
        found.push(value_of(&value?, &format!("parameters[{at}]"))?);
    }
    Ok(SqlParameters::in_order(found))
}

fn value_of(value: &Bound<'_, PyAny>, place: &str) -> PyResult<SqlValue> {
    if value.is_none() || MISSING.contains(&type_name(value).as_str()) {
        return Ok(SqlValue::Null);
    }
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(SqlValue::Bool(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return integer(value, place);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(SqlValue::Float(number.value()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        let text = text.to_cow().map_err(|_| {
            let why = format!("{place}: a string with lone surrogates is not Unicode text");
            PyValueError::new_err(why)
        })?;
        return Ok(SqlValue::Text(text.into_owned()));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(SqlValue::Bytes(bytes.as_bytes().to_vec()));
    }
    if let Some(moment) = moment(value)? {
        return Ok(moment);
    }
    let is_list = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>();
    if is_list {
        let mut values = Vec::new();
        for (at, one) in value.try_iter()?.enumerate() {
            values.push(value_of(&one?, &format!("{place}[{at}]"))?);
        }
        return Ok(SqlValue::List(values));
    }
    // NumPy arrays and scalars, Arrow scalars.
    for method in ["tolist", "as_py"] {
        if !value.is_instance_of::<PyDict>()
            && let Ok(method) = value.getattr(method)
        {
            return value_of(&method.call0()?, place);
        }
    }
    let kind = type_name(value);
    Err(PyTypeError::new_err(format!(
        "{place}: a value of type {kind} cannot be a parameter: give a number, text, bytes, a date or time, None, or a \
         list of these"
    )))
}

fn integer(value: &Bound<'_, PyAny>, place: &str) -> PyResult<SqlValue> {
    if let Ok(number) = value.extract::<i64>() {
        return Ok(SqlValue::Int(number));
    }
    value.extract::<u64>().map(SqlValue::Unsigned).map_err(|_| {
        PyValueError::new_err(format!(
            "{place}: the number is beyond 64 bits: give it as a float or as text"
        ))
    })
}

/// A date or a time; without a time zone it is UTC.
fn moment(value: &Bound<'_, PyAny>) -> PyResult<Option<SqlValue>> {
    let module = value.py().import("datetime")?;
    let datetime = module.getattr("datetime")?;
    if value.is_instance(&datetime)? {
        let utc = module.getattr("timezone")?.getattr("utc")?;
        let (value, epoch) = match value.getattr("tzinfo")?.is_none() {
            true => (value.clone(), datetime.call1((1970, 1, 1))?),
            false => {
                let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, &utc))?;
                (value.call_method1("astimezone", (&utc,))?, epoch)
            }
        };
        let since = value.sub(epoch)?;
        let part = |name: &str| since.getattr(name)?.extract::<i64>();
        let seconds = part("days")? * 86_400 + part("seconds")?;
        return Ok(Some(SqlValue::Timestamp(seconds * 1_000_000 + part("microseconds")?)));
    }
    if value.is_instance(&module.getattr("date")?)? {
        let ordinal: i32 = value.call_method0("toordinal")?.extract()?;
        return Ok(Some(SqlValue::Date(ordinal - EPOCH_ORDINAL)));
    }
    Ok(None)
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
