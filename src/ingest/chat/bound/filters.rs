//! Every filter of the engine, and why it makes no more than it is allowed.

use super::allowance::{left, made, room};
use super::operators::{flat, held, is_namespace, list, nested, unknown};
use super::sizes::{ITEM, count, formatted, is_list, joined, replaced, shown, shown_in_lines};
use minijinja::value::{Kwargs, Rest, Value, ValueKind, from_args};
use minijinja::{Environment, Error, State};

/// What bounds a filter.
#[derive(Clone, Copy)]
enum Rule {
    /// Gives a number, a truth value, an item, or what it was given.
    Refers,
    /// Gives a text at most three times as long as its own, which a capital letter can be.
    Text,
    /// The same, six times as long, which a letter written for HTML can be.
    Escaped,
    /// Gives a list of the items.
    Items,
    /// Gives a list of lists of the items.
    Nested,
    /// Gives pieces of a text, which together are as long as the text.
    Pieces,
    /// Goes through items that it makes on the way; they are made once.
    Passing,
    /// Takes off what it makes by itself.
    Itself,
    /// Is told beforehand what it will make.
    Told(fn(&[Value]) -> Result<usize, Error>),
    /// Is written anew.
    Anew(fn(&State<'_, '_>, &[Value]) -> Result<Value, Error>),
}

/// A filter's name, the name of its checked form, which no template can spell, and what bounds it.
struct Checked(&'static str, &'static str, Rule);

const FILTERS: &[Checked] = &[
    Checked("abs", "checked:abs", Rule::Refers),
    Checked("attr", "checked:attr", Rule::Refers),
    Checked("batch", "checked:batch", Rule::Told(in_batches)),
    Checked("bool", "checked:bool", Rule::Refers),
    Checked("capitalize", "checked:capitalize", Rule::Text),
    Checked("chain", "checked:chain", Rule::Anew(chain)),
    Checked("count", "checked:count", Rule::Refers),
    Checked("d", "checked:d", Rule::Refers),
    Checked("default", "checked:default", Rule::Refers),
    Checked("dictsort", "checked:dictsort", Rule::Nested),
    Checked("e", "checked:e", Rule::Escaped),
    Checked("escape", "checked:escape", Rule::Escaped),
    Checked("first", "checked:first", Rule::Refers),
    Checked("float", "checked:float", Rule::Refers),
    Checked("format", "checked:format", Rule::Told(in_format)),
    Checked("generation", "checked:generation", Rule::Text),
    Checked("groupby", "checked:groupby", Rule::Nested),
    Checked("indent", "checked:indent", Rule::Told(indented)),
    Checked("int", "checked:int", Rule::Refers),
    Checked("items", "checked:items", Rule::Passing),
    Checked("join", "checked:join", Rule::Told(in_one)),
    Checked("last", "checked:last", Rule::Refers),
    Checked("length", "checked:length", Rule::Refers),
    Checked("lines", "checked:lines", Rule::Pieces),
    Checked("list", "checked:list", Rule::Items),
    Checked("lower", "checked:lower", Rule::Text),
    Checked("map", "checked:map", Rule::Anew(map)),
    Checked("max", "checked:max", Rule::Items),
    Checked("min", "checked:min", Rule::Items),
    Checked("pprint", "checked:pprint", Rule::Told(in_lines)),
    Checked("reject", "checked:reject", Rule::Items),
    Checked("rejectattr", "checked:rejectattr", Rule::Items),
    Checked("replace", "checked:replace", Rule::Told(with_others)),
    Checked("reverse", "checked:reverse", Rule::Passing),
    Checked("round", "checked:round", Rule::Refers),
    Checked("safe", "checked:safe", Rule::Text),
    Checked("select", "checked:select", Rule::Items),
    Checked("selectattr", "checked:selectattr", Rule::Items),
    Checked("slice", "checked:columns", Rule::Told(in_columns)),
    Checked("sort", "checked:sort", Rule::Items),
    Checked("split", "checked:split", Rule::Pieces),
    Checked("string", "checked:string", Rule::Text),
    Checked("sum", "checked:sum", Rule::Refers),
    Checked("title", "checked:title", Rule::Text),
    Checked("tojson", "checked:tojson", Rule::Itself),
    Checked("trim", "checked:trim", Rule::Text),
    Checked("unique", "checked:unique", Rule::Items),
    Checked("upper", "checked:upper", Rule::Text),
    Checked("zip", "checked:zip", Rule::Passing),
];

const UNKNOWN: &str = "checked:unknown";

/// The checked form of a filter; `Err` is the name of a filter that refuses, with the name as its argument.
pub(super) fn checked(name: &str) -> Result<&'static str, &'static str> {
    // As the engine reads it: a name may be written with spaces around dots.
    let same = |filter: &&Checked| {
        filter.0.chars().eq(name.chars().filter(|letter| !letter.is_ascii_whitespace()))
    };
    FILTERS.iter().find(same).map(|filter| filter.1).ok_or(UNKNOWN)
}

/// Names of all that is listed.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().map(|filter| filter.0)
}

pub(super) fn add(environment: &mut Environment<'static>) {
    for Checked(name, checked, rule) in FILTERS {
        environment.add_filter(*checked, move |state: &State<'_, '_>, values: Rest<Value>| {
            apply(state, name, *rule, &values)
        });
    }
    environment.add_filter(UNKNOWN, |name: String, _: Rest<Value>| Err::<Value, _>(unknown(&name)));
}

fn apply(state: &State<'_, '_>, name: &str, rule: Rule, values: &[Value]) -> Result<Value, Error> {
    let first = values.first().cloned().unwrap_or_default();
    match rule {
        Rule::Refers | Rule::Itself => state.apply_filter(name, values),
        Rule::Text | Rule::Escaped => {
            let times = if matches!(rule, Rule::Escaped) { 6 } else { 3 };
            let most = longest(values)?.saturating_mul(times);
            // What is far from the allowance is not worth a look.
            if most >= left() {
                room(most / times)?;
            }
            let made_of = state.apply_filter(name, values)?;
            made(made_of.as_str().map_or(0, str::len))?;
            Ok(made_of)
        }
        Rule::Items => {
            made(weight(&first)?)?;
            state.apply_filter(name, values)
        }
        Rule::Nested => {
            made(weight(&first)?.saturating_mul(2))?;
            nested(state.apply_filter(name, values)?)
        }
        Rule::Pieces => {
            let (length, pieces) = pieces(&first, values.get(1))?;
            made(length.saturating_add(pieces.saturating_mul(2 * ITEM)))?;
            state.apply_filter(name, values)
        }
        Rule::Passing => {
            let made_of = state.apply_filter(name, values)?;
            if made_of.kind() == ValueKind::Iterable {
                return nested(flat(&made_of)?);
            }
            made(made_of.as_str().map_or(0, str::len))?;
            Ok(made_of)
        }
        Rule::Told(tell) => {
            let escaped = if state.auto_escape() == minijinja::AutoEscape::None { 1 } else { 6 };
            made(tell(values)?.saturating_mul(escaped))?;
            nested(state.apply_filter(name, values)?)
        }
        Rule::Anew(call) => call(state, values),
    }
}

/// The longest of what a filter is given, as text.
fn longest(values: &[Value]) -> Result<usize, Error> {
    values.iter().try_fold(0, |longest, value| Ok(longest.max(shown(value)?)))
}

/// What a list of the same items takes, with their texts: what looks at all of them writes some anew.
fn weight(of: &Value) -> Result<usize, Error> {
    let mut weight = count(of)?.saturating_mul(ITEM);
    if is_list(of) {
        let most = left();
        for item in of.try_iter()? {
            weight = weight.saturating_add(item.as_str().map_or(0, str::len));
            if weight > most {
                break;
            }
        }
    }
    Ok(weight)
}

/// The length of a text, and into how many pieces it would be cut, by a separator or at spaces.
pub(super) fn pieces(text: &Value, by: Option<&Value>) -> Result<(usize, usize), Error> {
    let length = shown(text)?;
    let Some(text) = text.as_str() else { return Ok((length, length)) };
    let pieces = match by.and_then(Value::as_str) {
        Some(by) => text.matches(by).count(),
        None => text.matches(char::is_whitespace).count(),
    };
    Ok((length, pieces + 1))
}

/// A text of what is given: itself, or as it is written.
fn text(value: Option<&Value>) -> Result<std::borrow::Cow<'_, str>, Error> {
    let Some(value) = value else { return Ok("".into()) };
    match value.as_str() {
        Some(text) => Ok(text.into()),
        None => {
            room(shown(value)?)?;
            Ok(value.to_string().into())
        }
    }
}

fn with_others(values: &[Value]) -> Result<usize, Error> {
    let (of, from, to) = (text(values.first())?, text(values.get(1))?, text(values.get(2))?);
    Ok(replaced(&of, &from, &to))
}

fn in_one(values: &[Value]) -> Result<usize, Error> {
    joined(values.first().unwrap_or(&Value::UNDEFINED), &text(values.get(1))?)
}

fn in_format(values: &[Value]) -> Result<usize, Error> {
    formatted(&text(values.first())?, values.get(1..).unwrap_or_default())
}

fn in_lines(values: &[Value]) -> Result<usize, Error> {
    values.first().map_or(Ok(0), shown_in_lines)
}

fn indented(values: &[Value]) -> Result<usize, Error> {
    let of = text(values.first())?;
    let lines = of.matches('\n').count() + 2;
    Ok(of.len().saturating_add(number(values, "width").unwrap_or(4).saturating_mul(lines)))
}

/// Lists of `count` places are made for what they will hold, and filled.
fn in_batches(values: &[Value]) -> Result<usize, Error> {
    if values.iter().skip(1).any(is_namespace) {
        return Err(held());
    }
    let of = weight(values.first().unwrap_or(&Value::UNDEFINED))?;
    let size = number(values, "linecount").unwrap_or(0).saturating_mul(ITEM);
    Ok(of.saturating_mul(2).saturating_add(size.saturating_mul(2)))
}

fn in_columns(values: &[Value]) -> Result<usize, Error> {
    if values.iter().skip(1).any(is_namespace) {
        return Err(held());
    }
    let of = weight(values.first().unwrap_or(&Value::UNDEFINED))?;
    let lists = number(values, "slices").unwrap_or(0).saturating_mul(4 * ITEM);
    Ok(of.saturating_add(lists))
}

/// The first argument as a number, or the one of that name.
fn number(values: &[Value], name: &str) -> Option<usize> {
    let first = values.get(1)?;
    let named = || first.get_attr(name).ok().and_then(|value| value.as_usize());
    first.as_usize().or_else(named)
}

/// Maps become one map, which the engine would ask one after the other; lists become one list.
fn chain(state: &State<'_, '_>, values: &[Value]) -> Result<Value, Error> {
    let all = state.apply_filter("chain", values)?;
    let entries = values
        .iter()
        .try_fold(0_usize, |sum, value| Ok::<_, Error>(sum.saturating_add(count(value)?)));
    room(entries?.saturating_mul(2 * ITEM))?;
    match all.kind() {
        ValueKind::Map => {
            let keys: Vec<Value> = all.try_iter()?.collect();
            made(keys.len().saturating_mul(2 * ITEM))?;
            let pairs = keys.into_iter().map(|key| Ok((key.clone(), all.get_item(&key)?)));
            pairs.collect::<Result<Vec<(Value, Value)>, Error>>().map(Value::from_iter)
        }
        ValueKind::Seq => list(&all),
        _ => flat(&all),
    }
}

/// Another filter on every item: its checked form.
fn map(state: &State<'_, '_>, values: &[Value]) -> Result<Value, Error> {
    let of = values.first().cloned().unwrap_or_default();
    made(count(&of)?.saturating_mul(ITEM))?;
    let (arguments, _): (&[Value], Kwargs) = from_args(values.get(1..).unwrap_or_default())?;
    let Some((name, arguments)) =
        arguments.split_first().and_then(|(name, rest)| Some((name.as_str()?, rest)))
    else {
        return state.apply_filter("map", values);
    };
    let name = checked(name).map_err(|_| unknown(name))?;
    let item = |item: Value| {
        let given: Vec<Value> = std::iter::once(item).chain(arguments.iter().cloned()).collect();
        state.apply_filter(name, &given)
    };
    let made_of = of.try_iter()?.map(item).collect::<Result<Vec<_>, _>>();
    made_of.map(Value::from)
}
