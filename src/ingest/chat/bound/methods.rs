//! Python's methods of strings, lists and objects, and why they make no more than they are allowed.

use super::allowance::{charge_made, check_room};
use super::filters::pieces;
use super::sizes::{ITEM, formatted, joined, replaced, text_len};
use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat::unknown_method_callback;

/// Calls a method; one that is on no list here is unknown.
pub(super) fn call(
    state: &State<'_, '_>,
    of: &Value,
    method: &str,
    values: &[Value],
) -> Result<Value, Error> {
    let plain = || unknown_method_callback(state, of, method, values);
    let Some(text) = of.as_str() else {
        return match (of.kind(), method) {
            // What goes through an object or counts in a list refers to what is there.
            (ValueKind::Map, "get" | "items" | "keys" | "values") | (ValueKind::Seq, "count") => {
                plain()
            }
            _ => Err(Error::from(ErrorKind::UnknownMethod)),
        };
    };
    let given = |number: usize| values.get(number).and_then(Value::as_str);
    match method {
        // Places, numbers and truth values.
        "endswith" | "find" | "isalnum" | "isalpha" | "isascii" | "isdigit" | "islower"
        | "isnumeric" | "isspace" | "isupper" | "rfind" | "startswith" => plain(),
        // Python finds nothing before every letter and at the end; searching for it would not end.
        "count" if given(0) == Some("") && values.len() == 1 => {
            Ok(Value::from(text.chars().count() + 1))
        }
        "count" => plain(),
        // At most three times as long, which a capital letter can be.
        "capitalize" | "lower" | "lstrip" | "rstrip" | "strip" | "title" | "upper" => {
            check_room(text.len())?;
            let made_of = plain()?;
            charge_made(made_of.as_str().map_or(0, str::len))?;
            Ok(made_of)
        }
        "split" | "splitlines" => {
            let by = if method == "split" { values.first() } else { None };
            let (length, pieces) = pieces(of, by)?;
            charge_made(length.saturating_add(pieces.saturating_mul(2 * ITEM)))?;
            plain()
        }
        "replace" => {
            let (from, to) = (given(0).unwrap_or_default(), given(1).unwrap_or_default());
            charge_made(replaced(text, from, to))?;
            plain()
        }
        "join" => {
            charge_made(values.first().map_or(Ok(0), |items| joined(items, text))?)?;
            plain()
        }
        "format" => {
            check_room(values.iter().try_fold(0, |sum: usize, value| {
                Ok::<_, Error>(sum.saturating_add(text_len(value)?))
            })?)?;
            charge_made(formatted(text, values)?)?;
            plain()
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}
