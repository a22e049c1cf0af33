//! Operators that make values of values, checked: `~`, `+`, `*`, `in`, slices, lists and objects.

use super::allowance::{charge_made, check_room, refusal};
use super::sizes::{ITEM, count, is_list, is_nested, text_len};
use minijinja::value::{ObjectRepr, Value, ValueKind};
use minijinja::{Environment, Error, context};
use std::sync::LazyLock;

/// Names of filters that no template can spell.
pub(super) const CONCAT: &str = "checked:~";
pub(super) const ADD: &str = "checked:+";
pub(super) const MULTIPLY: &str = "checked:*";
pub(super) const IN: &str = "checked:in";
pub(super) const NESTED: &str = "checked:nested";
pub(super) const KEPT: &str = "checked:kept";
pub(super) const SLICED: &str = "checked:sliced";
pub(super) const SLICE: &str = "checked:slice";

pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_filter(CONCAT, concat);
    environment.add_filter(ADD, sum);
    environment.add_filter(MULTIPLY, product);
    environment.add_filter(IN, contained);
    environment.add_test("in", contained);
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
pub(super) fn is_namespace(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.type_name().ends_with("::Namespace"))
}

/// Why a namespace cannot be put there.
pub(super) fn held() -> Error {
    refusal(
        "the template puts a namespace into another value, where it could hold itself".to_owned(),
    )
}

/// The engine's own operators, for operands that are not told apart here.
struct EngineOperators(LazyLock<Environment<'static>>);

static PLAIN: EngineOperators = EngineOperators(LazyLock::new(Environment::new));

impl EngineOperators {
    fn eval(&self, expression: &'static str, a: &Value, b: &Value) -> Result<Value, Error> {
        let compiled = self.0.compile_expression(expression)?;
        let value = compiled.eval(context! { a => a, b => b });
        // Without its place, which is none of the template's.
        value.map_err(|error| {
            let why = error.detail().unwrap_or_default().to_owned();
            Error::new(error.kind(), why)
        })
    }
}

fn concat(a: &Value, b: &Value) -> Result<Value, Error> {
    charge_made(text_len(a)?.saturating_add(text_len(b)?))?;
    Ok(Value::from(match (a.as_str(), b.as_str()) {
        (Some(a), Some(b)) => [a, b].concat(),
        _ => format!("{a}{b}"),
    }))
}

fn sum(a: &Value, b: &Value) -> Result<Value, Error> {
    if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
        charge_made(a.len() + b.len())?;
        return Ok(Value::from([a, b].concat()));
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
pub(super) fn flat(value: &Value) -> Result<Value, Error> {
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
