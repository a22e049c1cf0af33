//! What a template may call, besides what is named where the environment is made.
//!
//! `range` gives no more than 100,000 numbers, one after the other. `debug`, which writes all that a
//! template knows, is not among what transformers gives templates.

use super::allowance::charge_made;
use super::operators::nested;
use super::sizes::{ITEM, count};
use minijinja::value::{Kwargs, Value};
use minijinja::{Environment, Error, functions};

/// The engine's functions that are left, with what bounds them in the text above.
#[cfg(test)]
pub(super) const FUNCTIONS: [&str; 3] = ["dict", "namespace", "range"];

pub(super) fn add(environment: &mut Environment<'static>) {
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
