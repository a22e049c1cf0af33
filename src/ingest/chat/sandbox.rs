//! Templates run within bounds: a template comes from a stranger's file, and a text doubled forty times is a terabyte.
//!
//! Steps are counted by the engine, which has no hook for what an operator or a filter makes. So a template is compiled
//! from a rewritten syntax tree (`rewrite`), in which everything that makes a value out of others goes through one of the
//! checked functions here, which takes the bytes off an allowance first (`budget`): operators (`~`, `+`, `*`, `in`,
//! slices, lists and objects), every filter of the engine, Python's methods of strings, lists and objects, and what a
//! template may call. `range` gives no more than 100,000 numbers, one after the other; `debug`, which writes all that a
//! template knows, is not among what transformers gives templates.

use super::budget::{
    ITEM, bytes_left, charge_made, check_room, count, formatted, is_list, is_nested, joined,
    python_text, refusal, replaced, shown_in_lines, text_len,
};
use super::functions::indent;
use super::values::{
    format_values, is_integer, is_written_anew, printf_values, rounded, truncated,
};
use minijinja::value::{Kwargs, ObjectRepr, Rest, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, State, context, functions};
use minijinja_contrib::pycompat::unknown_method_callback;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Names of filters that no template can spell.
pub(super) const CONCAT: &str = "checked:~";
pub(super) const ADD: &str = "checked:+";
pub(super) const MULTIPLY: &str = "checked:*";
pub(super) const IN: &str = "checked:in";
pub(super) const LOOPED: &str = "checked:loop";
pub(super) const NESTED: &str = "checked:nested";
pub(super) const KEPT: &str = "checked:kept";
pub(super) const SLICED: &str = "checked:sliced";
pub(super) const SLICE: &str = "checked:slice";

fn add_operators(environment: &mut Environment<'static>) {
    environment.add_filter(CONCAT, concat);
    environment.add_filter(ADD, sum);
    environment.add_filter(MULTIPLY, product);
    environment.add_filter(IN, contained);
    environment.add_test("in", contained);
    environment.add_test("integer", |value: Value| is_integer(&value));
    environment.add_test("number", |value: Value| value.is_number() || is_integer(&value));
    // None is no list to Python, and an empty one to the engine.
    environment.add_test("iterable", |value: Value| {
        value.as_str().is_some() || !value.is_none() && value.try_iter().is_ok()
    });
    environment.add_filter(LOOPED, |value: Value| {
        let why = "the template goes through none, where a list was expected";
        if value.is_none() { Err(refusal(why.to_owned())) } else { Ok(value) }
    });
    environment.add_filter(NESTED, nested);
    environment.add_filter(
        KEPT,
        |value: Value| {
            if is_namespace(&value) { Err(held()) } else { Ok(value) }
        },
    );
    environment.add_filter(SLICED, |of: Value| {
        if of.kind() == ValueKind::Iterable { flat(&of) } else { Ok(of) }
    });
    environment.add_filter(SLICE, |part: Value| {
        // A slice of a list only refers to it.
        part.as_str().map_or(Ok(()), |text| charge_made(text.len()))?;
        Ok(part)
    });
}

/// Values within values: more than a record can have, and few enough to be compared and dropped, which
/// goes down the stack.
const DEEPEST: usize = 200;

/// A value that was put together, unless it is too deep.
pub(super) fn nested(value: Value) -> Result<Value, Error> {
    let mut seen = 0;
    look(&value, 1, &mut seen)?;
    charge_made(seen)?;
    Ok(value)
}

fn look(value: &Value, depth: usize, seen: &mut usize) -> Result<(), Error> {
    if depth > DEEPEST {
        return Err(refusal(format!("the template nests values more than {DEEPEST} deep")));
    }
    let mut within = |value: &Value| {
        if is_namespace(value) {
            return Err(held());
        }
        if !is_nested(value) {
            return Ok(());
        }
        *seen += 1;
        // One list in two places counts twice: it would be gone through twice.
        check_room(*seen)?;
        look(value, depth + 1, seen)
    };
    let Some(object) = value.as_object() else { return Ok(()) };
    if object.repr() == ObjectRepr::Map {
        for (key, value) in object.try_iter_pairs().into_iter().flatten() {
            within(&key)?;
            within(&value)?;
        }
        return Ok(());
    }
    object.try_iter().into_iter().flatten().try_for_each(|value| within(&value))
}

/// Only these can be changed once they are made, so only these could come to hold themselves.
fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Why a namespace cannot be put there.
pub(super) fn held() -> Error {
    refusal(
        "the template puts a namespace into another value, where it could hold itself".to_owned(),
    )
}

/// The engine's own operators, for all other operands.
struct EngineOperators(LazyLock<Environment<'static>>);

static PLAIN: EngineOperators = EngineOperators(LazyLock::new(Environment::new));

impl EngineOperators {
    fn eval(&self, expression: &'static str, a: &Value, b: &Value) -> Result<Value, Error> {
        let compiled = self.0.compile_expression(expression)?;
        let value = compiled.eval(context! { a => a, b => b });
        // Without its place, which is not in the template.
        value.map_err(|error| {
            let why = error.detail().unwrap_or_default().to_owned();
            Error::new(error.kind(), why)
        })
    }
}

fn concat(a: &Value, b: &Value) -> Result<Value, Error> {
    let (a, b) = (python_text(a)?, python_text(b)?);
    charge_made(a.len() + b.len())?;
    Ok(Value::from([a, b].concat()))
}

/// The sum of two texts. Beside one that `safe` or `escape` made, another is written for HTML, as in Jinja.
fn joined_texts((a, left): (&Value, &str), (b, right): (&Value, &str)) -> Result<Value, Error> {
    if !a.is_safe() && !b.is_safe() {
        charge_made(left.len() + right.len())?;
        return Ok(Value::from([left, right].concat()));
    }
    // A letter is at most five bytes then.
    charge_made(5 * (left.len() + right.len()))?;
    let mut out = String::new();
    for (of, text) in [(a, left), (b, right)] {
        for letter in text.chars() {
            match letter {
                '&' if !of.is_safe() => out.push_str("&amp;"),
                '<' if !of.is_safe() => out.push_str("&lt;"),
                '>' if !of.is_safe() => out.push_str("&gt;"),
                '"' if !of.is_safe() => out.push_str("&#34;"),
                '\'' if !of.is_safe() => out.push_str("&#39;"),
                _ => out.push(letter),
            }
        }
    }
    Ok(Value::from_safe_string(out))
}

fn sum(a: &Value, b: &Value) -> Result<Value, Error> {
    if let (Some(left), Some(right)) = (a.as_str(), b.as_str()) {
        return joined_texts((a, left), (b, right));
    }
    if let Some(sum) = integers(a, b).and_then(|(a, b)| a.checked_add(b)) {
        return Ok(Value::from(sum));
    }
    if is_list(a) && is_list(b) {
        charge_made(count(a)?.saturating_add(count(b)?).saturating_mul(ITEM))?;
        return Ok(items(a.try_iter()?.chain(b.try_iter()?).collect()));
    }
    PLAIN.eval("a + b", a, b)
}

fn product(a: &Value, b: &Value) -> Result<Value, Error> {
    if let Some(product) = integers(a, b).and_then(|(a, b)| a.checked_mul(b)) {
        return Ok(Value::from(product));
    }
    for (of, times) in [(a, b), (b, a)] {
        let Some(times) = times.as_usize() else { continue };
        if let Some(text) = of.as_str() {
            charge_made(text.len().saturating_mul(times))?;
        } else if is_list(of) {
            charge_made(count(of)?.saturating_mul(ITEM).saturating_mul(times))?;
            let once: Vec<Value> = of.try_iter()?.collect();
            let all = std::iter::repeat_n(once, times).flatten();
            return Ok(items(all.collect()));
        }
    }
    PLAIN.eval("a * b", a, b)
}

fn contained(value: &Value, container: &Value) -> Result<bool, Error> {
    if let Some(text) = container.as_str() {
        if let Some(part) = value.as_str() {
            return Ok(text.contains(part));
        }
        check_room(text_len(value)?)?;
    }
    if let Some(object) = container.as_object() {
        match object.repr() {
            ObjectRepr::Map => return Ok(object.get_value(value).is_some()),
            ObjectRepr::Seq | ObjectRepr::Iterable => {
                return Ok(container.try_iter()?.any(|item| &item == value));
            }
            _ => {}
        }
    }
    Ok(PLAIN.eval("a in b", value, container)?.is_true())
}

fn integers(a: &Value, b: &Value) -> Option<(i64, i64)> {
    if a.is_integer() && b.is_integer() { a.as_i64().zip(b.as_i64()) } else { None }
}

/// What goes through a list, as the engine has it for values that are made on the way: here they are
/// made once. One upon another, each would be gone through again for every item of the next.
fn flat(value: &Value) -> Result<Value, Error> {
    charge_made(count(value)?.saturating_mul(ITEM))?;
    Ok(items(value.try_iter()?.collect()))
}

fn items(values: Vec<Value>) -> Value {
    Value::make_object_iterable(values, |values| Box::new(values.iter().cloned()))
}

/// A list, which can be asked for an item.
pub(super) fn list(value: &Value) -> Result<Value, Error> {
    charge_made(count(value)?.saturating_mul(ITEM))?;
    Ok(Value::from(value.try_iter()?.collect::<Vec<_>>()))
}

/// For a name that the engine does not know.
pub(super) fn unknown(name: &str) -> Error {
    refusal(format!("filter {name} is unknown"))
}

/// What bounds a filter.
#[derive(Clone, Copy)]
enum FilterRule {
    /// An estimate of the bytes that it would give, made in advance.
    Estimate(fn(&[Value]) -> Result<usize, Error>),
    /// A function here that calls it, and is given its name.
    Function(fn(&State<'_, '_>, &'static str, &[Value]) -> Result<Value, Error>),
}

/// The filters by what bounds them. None that is not here can be called.
const FILTERS: &[(FilterRule, &[&str])] = &[
    (
        FilterRule::Function(as_it_is),
        &[
            "abs", "attr", "bool", "count", "d", "default", "first", "float", "last", "length",
            "sum", "tojson",
        ],
    ),
    (
        FilterRule::Function(as_text),
        &[
            "capitalize",
            "e",
            "escape",
            "generation",
            "lower",
            "safe",
            "string",
            "title",
            "trim",
            "upper",
        ],
    ),
    (
        FilterRule::Function(of_items),
        &["list", "max", "min", "reject", "rejectattr", "select", "selectattr", "sort", "unique"],
    ),
    (FilterRule::Function(in_groups), &["dictsort", "groupby"]),
    (FilterRule::Function(in_pieces), &["lines", "split"]),
    (FilterRule::Function(made_once), &["items", "reverse", "zip"]),
    (FilterRule::Function(chain), &["chain"]),
    (FilterRule::Function(indent), &["indent"]),
    (FilterRule::Function(int), &["int"]),
    (FilterRule::Function(map), &["map"]),
    (FilterRule::Function(round), &["round"]),
    (FilterRule::Estimate(in_batches), &["batch"]),
    (FilterRule::Estimate(in_columns), &["slice"]),
    (FilterRule::Estimate(in_format), &["format"]),
    (FilterRule::Estimate(in_lines), &["pprint"]),
    (FilterRule::Estimate(in_one), &["join"]),
    (FilterRule::Estimate(with_others), &["replace"]),
];

/// The names of the checked forms, which no template can spell, by those of the filters.
static CHECKED: LazyLock<BTreeMap<&'static str, String>> =
    LazyLock::new(|| names().map(|name| (name, format!("filter:{name}"))).collect());

const UNKNOWN: &str = "checked:unknown";

/// The checked form of a filter; `Err` is the name of a filter that refuses, with the name as its argument.
pub(super) fn checked(name: &str) -> Result<&'static str, &'static str> {
    // The engine reads a name with spaces around its dots too.
    let name: String = name.chars().filter(|letter| !letter.is_ascii_whitespace()).collect();
    CHECKED.get(name.as_str()).map(String::as_str).ok_or(UNKNOWN)
}

/// Names of all that is listed.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FILTERS.iter().flat_map(|(_, names)| names.iter().copied())
}

fn add_filters(environment: &mut Environment<'static>) {
    for (rule, names) in FILTERS {
        for name in *names {
            let apply = move |state: &State<'_, '_>, values: Rest<Value>| {
                apply(state, name, *rule, &values)
            };
            environment.add_filter(format!("filter:{name}"), apply);
        }
    }
    environment.add_filter(UNKNOWN, |name: String, _: Rest<Value>| Err::<Value, _>(unknown(&name)));
}

fn apply(
    state: &State<'_, '_>,
    name: &'static str,
    rule: FilterRule,
    values: &[Value],
) -> Result<Value, Error> {
    let values = &written_values(name, values)?[..];
    match rule {
        FilterRule::Estimate(tell) => {
            let escaped = if state.auto_escape() == minijinja::AutoEscape::None { 1 } else { 6 };
            charge_made(tell(values)?.saturating_mul(escaped))?;
            nested(state.apply_filter(name, values)?)
        }
        FilterRule::Function(call) => call(state, name, values),
    }
}

/// Gives a number, a truth value, an item, or what it was given; or takes off what it makes by itself.
fn as_it_is(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    state.apply_filter(name, values)
}

/// Gives a text at most six times as long as its own, which a letter written for HTML can be.
fn as_text(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    let longest = values
        .iter()
        .try_fold(0, |longest, value| Ok::<_, Error>(longest.max(text_len(value)?)))?;
    check_room(longest)?;
    charge_text(state.apply_filter(name, values)?)
}

/// Gives some of the items, or one.
fn of_items(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    charge_made(weight(&first(values))?)?;
    state.apply_filter(name, values)
}

/// Gives a list of lists of the items.
fn in_groups(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    charge_made(weight(&first(values))?.saturating_mul(2))?;
    nested(state.apply_filter(name, values)?)
}

/// Gives pieces of a text, which together are as long as the text.
fn in_pieces(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    let (length, pieces) = pieces(&first(values), values.get(1))?;
    charge_made(length.saturating_add(pieces.saturating_mul(2 * ITEM)))?;
    state.apply_filter(name, values)
}

/// Goes through items that it makes on the way; they are made once.
fn made_once(state: &State<'_, '_>, name: &str, values: &[Value]) -> Result<Value, Error> {
    let made_of = state.apply_filter(name, values)?;
    if made_of.kind() == ValueKind::Iterable {
        return nested(flat(&made_of)?);
    }
    charge_text(made_of)
}

/// A value; if it is a text, that is taken off.
fn charge_text(value: Value) -> Result<Value, Error> {
    charge_made(value.as_str().map_or(0, str::len))?;
    Ok(value)
}

fn first(values: &[Value]) -> Value {
    values.first().cloned().unwrap_or_default()
}

/// What a filter is given, as Python's texts where it would write what is not text.
fn written_values<'v>(name: &str, values: &'v [Value]) -> Result<Cow<'v, [Value]>, Error> {
    let Some((first, others)) = values.split_first() else { return Ok(Cow::Borrowed(values)) };
    let text = |value: &Value| Ok::<_, Error>(Value::from(python_text(value)?));
    let first = match name {
        "capitalize" | "e" | "escape" | "indent" | "lower" | "replace" | "safe" | "string"
        | "title" | "trim" | "upper"
            if is_written_anew(first) =>
        {
            text(first)?
        }
        // To Jinja what is not there has the length of nothing.
        "length" | "count" if first.is_undefined() => Value::from(""),
        "pprint" if !is_nested(first) && is_written_anew(first) => text(first)?,
        "join" if is_list(first) => {
            charge_made(count(first)?.saturating_mul(ITEM))?;
            let item = |item: Value| if is_written_anew(&item) { text(&item) } else { Ok(item) };
            Value::from(first.try_iter()?.map(item).collect::<Result<Vec<_>, _>>()?)
        }
        "format" => {
            let others = printf_values(first.as_str().unwrap_or_default(), others);
            return Ok(Cow::Owned(std::iter::once(first.clone()).chain(others).collect()));
        }
        _ => return Ok(Cow::Borrowed(values)),
    };
    Ok(Cow::Owned(std::iter::once(first).chain(others.iter().cloned()).collect()))
}

/// The bytes of a list of these items with their texts: a filter that looks at all of them may write some again.
fn weight(of: &Value) -> Result<usize, Error> {
    let mut weight = count(of)?.saturating_mul(ITEM);
    if is_list(of) {
        let most = bytes_left();
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
    let length = text_len(text)?;
    let Some(text) = text.as_str() else { return Ok((length, length)) };
    let pieces = match by.and_then(Value::as_str) {
        Some(by) => text.matches(by).count(),
        None => text.matches(char::is_whitespace).count(),
    };
    Ok((length, pieces + 1))
}

/// A text of what is given: itself, or as it is written.
fn text(value: Option<&Value>) -> Result<Cow<'_, str>, Error> {
    value.map_or(Ok(Cow::Borrowed("")), python_text)
}

fn with_others(values: &[Value]) -> Result<usize, Error> {
    let (of, from, to) = (text(values.first())?, text(values.get(1))?, text(values.get(2))?);
    Ok(replaced(&of, &from, &to))
}

fn in_one(values: &[Value]) -> Result<usize, Error> {
    joined(&first(values), &text(values.get(1))?)
}

fn in_format(values: &[Value]) -> Result<usize, Error> {
    formatted(&text(values.first())?, values.get(1..).unwrap_or_default())
}

fn in_lines(values: &[Value]) -> Result<usize, Error> {
    values.first().map_or(Ok(0), shown_in_lines)
}

/// Lists of `count` places are made for what they will hold, and filled.
fn in_batches(values: &[Value]) -> Result<usize, Error> {
    if values.iter().skip(1).any(is_namespace) {
        return Err(held());
    }
    let of = weight(&first(values))?;
    let size = number(values, "linecount").unwrap_or(0).saturating_mul(ITEM);
    Ok(of.saturating_mul(2).saturating_add(size.saturating_mul(2)))
}

fn in_columns(values: &[Value]) -> Result<usize, Error> {
    if values.iter().skip(1).any(is_namespace) {
        return Err(held());
    }
    let of = weight(&first(values))?;
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
fn chain(state: &State<'_, '_>, _: &str, values: &[Value]) -> Result<Value, Error> {
    let all = state.apply_filter("chain", values)?;
    let entries = values
        .iter()
        .try_fold(0_usize, |sum, value| Ok::<_, Error>(sum.saturating_add(count(value)?)));
    check_room(entries?.saturating_mul(2 * ITEM))?;
    match all.kind() {
        ValueKind::Map => {
            let keys: Vec<Value> = all.try_iter()?.collect();
            charge_made(keys.len().saturating_mul(2 * ITEM))?;
            let pairs = keys.into_iter().map(|key| Ok((key.clone(), all.get_item(&key)?)));
            pairs.collect::<Result<Vec<(Value, Value)>, Error>>().map(Value::from_iter)
        }
        ValueKind::Seq => list(&all),
        _ => flat(&all),
    }
}

/// The engine rounds what it has multiplied, halves away from zero.
fn round(state: &State<'_, '_>, _: &str, values: &[Value]) -> Result<Value, Error> {
    let first = values.first().cloned().unwrap_or_default();
    let (decimals, options): (Option<i32>, Kwargs) =
        from_args(values.get(1..).unwrap_or_default())?;
    let decimals = decimals.or(options.get("precision")?).unwrap_or(0);
    options.assert_all_used()?;
    let rounded = usize::try_from(decimals).ok().and_then(|decimals| rounded(&first, decimals));
    match rounded {
        Some(rounded) => Ok(rounded),
        None => state.apply_filter("round", &[first, Value::from(decimals)]),
    }
}

/// The engine takes the largest number that it has for a larger one.
fn int(state: &State<'_, '_>, _: &str, values: &[Value]) -> Result<Value, Error> {
    let first = values.first();
    let truncated = first
        .and_then(|first| truncated(first).or_else(|| is_integer(first).then(|| first.clone())));
    truncated.map_or_else(|| state.apply_filter("int", values), Ok)
}

/// Another filter on every item: its checked form.
fn map(state: &State<'_, '_>, _: &str, values: &[Value]) -> Result<Value, Error> {
    let of = values.first().cloned().unwrap_or_default();
    charge_made(count(&of)?.saturating_mul(ITEM))?;
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

/// The engine's functions that are left, with what bounds them in the text above.
#[cfg(test)]
pub(super) const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];

fn add_functions(environment: &mut Environment<'static>) {
    environment.remove_global("debug");
    environment.add_function("dict", |value: Option<Value>, more: Kwargs| {
        functions::dict(value, more).and_then(counted)
    });
    environment.add_function("namespace", |value: Option<Value>| {
        functions::namespace(value).and_then(counted)
    });
}

/// A copy of an object has its keys and refers to its values.
fn counted(object: Value) -> Result<Value, Error> {
    charge_made(count(&object)?.saturating_mul(2 * ITEM))?;
    nested(object)
}

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
            charge_text(plain()?)
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
            let (format, values) = format_values(text, values);
            unknown_method_callback(state, &Value::from(format), method, &values)
        }
        _ => Err(Error::from(ErrorKind::UnknownMethod)),
    }
}

/// Gives an environment the checked functions that compiled templates call.
pub(super) fn add_checked_functions(environment: &mut Environment<'static>) {
    add_operators(environment);
    add_filters(environment);
    add_functions(environment);
    environment.set_unknown_method_callback(call);
}
