//! Values of rows as columns of the engine.

use super::kinds::{Cell, ValueKind, double, elements, members};
use crate::model::canonical;
use arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, StringViewArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::DataType;
use std::borrow::Cow;
use std::sync::Arc;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// A value that its column does not hold.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The row of the batch.
    pub(super) row: usize,
    /// The value and what was expected, in words.
    pub(super) words: String,
}

impl Misfit {
    fn new(row: usize, found: &Cell<'_>, expected: &ValueKind) -> Self {
        let found = match found {
            Cell::Json(json) => Cow::Borrowed(json.as_ref()),
            Cell::Number(spelled) => Cow::Borrowed(*spelled),
            Cell::Text(text) => Cow::Owned(format!("\"{text}\"")),
        };
        let shown: String = found.chars().take(SHOWN).collect();
        let more = if shown.len() < found.len() { ".." } else { "" };
        Self { row, words: format!("found {shown}{more}, expected {}", expected.words()) }
    }
}

/// The column of these values, one a row.
///
/// # Errors
/// The first value that is not of the kind.
pub(super) fn array(kind: &ValueKind, cells: &[Option<Cell<'_>>]) -> Result<ArrayRef, Misfit> {
    let truth = |json: &str| match json {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    Ok(match kind {
        ValueKind::Null | ValueKind::Text => {
            let texts = cells.iter().map(|cell| cell.as_ref().and_then(text));
            Arc::new(StringViewArray::from_iter(texts))
        }
        ValueKind::Bool => Arc::new(BooleanArray::from(values(kind, cells, truth)?)),
        ValueKind::Int | ValueKind::Long => {
            Arc::new(Int64Array::from(values(kind, cells, |json| json.parse().ok())?))
        }
        ValueKind::Float => Arc::new(Float64Array::from(values(kind, cells, double)?)),
        ValueKind::List(of) => lists(kind, of, cells)?,
        ValueKind::Object(of) => objects(kind, of, cells)?,
    })
}

/// The text that a value is, or that spells it.
fn text<'c>(cell: &'c Cell<'_>) -> Option<Cow<'c, str>> {
    let json: &'c str = match cell {
        Cell::Text(text) => return Some(Cow::Borrowed(text)),
        Cell::Number(spelled) => return Some(Cow::Borrowed(spelled)),
        Cell::Json(json) => json,
    };
    match json.as_bytes().first() {
        None | Some(b'n') => None,
        Some(b'"') => match serde_json::from_str::<&str>(json) {
            Ok(plain) => Some(Cow::Borrowed(plain)),
            Err(_) => serde_json::from_str(json).ok().map(Cow::Owned),
        },
        // As an ingest stores a number.
        Some(b'-' | b'0'..=b'9') => {
            let spelled = canonical(json).map(|canonical| Cow::Owned(canonical.json));
            Some(spelled.unwrap_or(Cow::Borrowed(json)))
        }
        Some(_) => Some(Cow::Borrowed(json)),
    }
}

/// What spells a value that is no text; none for null.
fn spelled<'c>(
    row: usize,
    cell: &'c Option<Cell<'_>>,
    kind: &ValueKind,
) -> Result<Option<&'c str>, Misfit> {
    match cell {
        None => Ok(None),
        Some(Cell::Json(json)) => Ok(Some(json.as_ref()).filter(|json| *json != "null")),
        Some(Cell::Number(spelled)) => Ok(Some(spelled)),
        Some(text @ Cell::Text(_)) => Err(Misfit::new(row, text, kind)),
    }
}

/// The values that `read` makes of what spells them.
fn values<T>(
    kind: &ValueKind,
    cells: &[Option<Cell<'_>>],
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>, Misfit> {
    let value = |(row, cell): (usize, &Option<Cell<'_>>)| {
        let Some(json) = spelled(row, cell, kind)? else { return Ok(None) };
        match read(json) {
            Some(value) => Ok(Some(value)),
            None => Err(Misfit::new(row, &Cell::Json(json.into()), kind)),
        }
    };
    cells.iter().enumerate().map(value).collect()
}

/// What spells a list or an object, which begins so; none for null.
fn nested<'c>(
    row: usize,
    cell: &'c Option<Cell<'_>>,
    begins: char,
    kind: &ValueKind,
) -> Result<Option<&'c str>, Misfit> {
    match spelled(row, cell, kind)? {
        Some(json) if !json.starts_with(begins) => {
            Err(Misfit::new(row, &Cell::Json(json.into()), kind))
        }
        json => Ok(json),
    }
}

fn lists(kind: &ValueKind, of: &ValueKind, cells: &[Option<Cell<'_>>]) -> Result<ArrayRef, Misfit> {
    let (mut inner, mut rows, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    let mut are_there = Vec::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        let list = nested(row, cell, '[', kind)?;
        are_there.push(list.is_some());
        let found = list.map(elements).unwrap_or_default();
        lengths.push(found.len());
        rows.extend(std::iter::repeat_n(row, found.len()));
        inner.extend(found.into_iter().map(|json| Some(Cell::Json(json.into()))));
    }
    let inner = array(of, &inner).map_err(|misfit| within(misfit, &rows))?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    let DataType::List(field) = kind.data_type() else { return Ok(inner) };
    let nulls = Some(NullBuffer::from(are_there));
    let lists = ListArray::try_new(field, offsets, inner, nulls);
    Ok(Arc::new(lists.map_err(|error| Misfit { row: 0, words: error.to_string() })?))
}

fn objects(
    kind: &ValueKind,
    of: &[(String, ValueKind)],
    cells: &[Option<Cell<'_>>],
) -> Result<ArrayRef, Misfit> {
    let mut columns: Vec<Vec<Option<Cell<'_>>>> = vec![vec![None; cells.len()]; of.len()];
    let mut are_there = Vec::with_capacity(cells.len());
    for (row, cell) in cells.iter().enumerate() {
        let object = nested(row, cell, '{', kind)?;
        are_there.push(object.is_some());
        for (name, json) in object.map(members).unwrap_or_default() {
            let at = of.iter().position(|(known, _)| *known == name);
            let place = at.and_then(|at| columns.get_mut(at)?.get_mut(row));
            match place {
                Some(place) => *place = Some(Cell::Json(json.into())),
                None if json == "null" => {}
                None => {
                    let member = format!("member `{name}`, {json}");
                    return Err(Misfit::new(row, &Cell::Json(member.into()), kind));
                }
            }
        }
    }
    let arrays = of.iter().zip(&columns).map(|((_, kind), cells)| array(kind, cells));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let DataType::Struct(fields) = kind.data_type() else { return array(&ValueKind::Text, cells) };
    let nulls = Some(NullBuffer::from(are_there));
    let objects = StructArray::try_new(fields, arrays, nulls);
    Ok(Arc::new(objects.map_err(|error| Misfit { row: 0, words: error.to_string() })?))
}

/// A misfit among the elements of lists, by the row of its list.
fn within(misfit: Misfit, rows: &[usize]) -> Misfit {
    Misfit { row: rows.get(misfit.row).copied().unwrap_or_default(), ..misfit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Int64Type;

    fn column(rows: &[&'static str], more: &[&'static str]) -> Result<ArrayRef, Misfit> {
        let kinds = rows.iter().map(|json| ValueKind::of(&Cell::Json((*json).into())));
        let kind = kinds.fold(ValueKind::Null, ValueKind::with);
        let cells: Vec<_> =
            rows.iter().chain(more).map(|json| Some(Cell::Json((*json).into()))).collect();
        array(&kind, &cells)
    }

    #[test]
    fn nested_values_keep_their_nulls_and_a_misfit_tells_its_row() {
        let lists = column(&["[1,null]", "null", "[]", "[2]"], &[]).unwrap();
        let lists = lists.as_list::<i32>();
        assert_eq!((lists.len(), lists.null_count()), (4, 1));
        assert_eq!(lists.value(0).as_primitive::<Int64Type>().null_count(), 1);
        let objects = column(&["{\"a\":{\"b\":\"x\"}}", "{\"c\":[1]}"], &["{}"]).unwrap();
        assert_eq!(objects.as_struct().columns().len(), 2);
        for (rows, later, words) in [
            (&["1"][..], "1.5", "found 1.5, expected a whole number"),
            (&["1.5"], "9007199254740993", "expected a number that a double holds"),
            (&["true"], "\"x\"", "found \"x\", expected true or false"),
            (&["[1]", "[1,2]"], "[3,\"x\"]", "found \"x\", expected a whole number"),
            (&["{\"a\":1}"], "{\"b\":2}", "found member `b`, 2, expected an object with `a`"),
        ] {
            let misfit = column(rows, &[later]).unwrap_err();
            assert_eq!(misfit.row, rows.len());
            assert!(misfit.words.contains(words), "{}", misfit.words);
        }
    }
}
