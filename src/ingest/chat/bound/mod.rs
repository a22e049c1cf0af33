//! Templates run within bounds: a template comes from a stranger's file, and a text doubled forty times is a terabyte.
//!
//! Steps are counted by the engine, which has no hook for what an operator or a filter makes. So a
//! template is compiled from a rewritten syntax tree, in which everything that makes a value out of
//! others goes through a checked function that takes the bytes off an allowance first.
//!
//! * `allowance` bytes that a rendering may still make and write
//! * `sizes` how long a value is as text, without making it
//! * `operators` `~`, `+`, `*`, `in` and slices
//! * `filters` every filter of the engine, and why it cannot make more than it is allowed
//! * `methods` Python's methods of strings, the same
//! * `functions` what a template may call
//! * `rewrite` the syntax tree with these in the place of the engine's own
//! * `program` a compiled template

mod allowance;
mod filters;
mod functions;
mod methods;
mod operators;
mod program;
mod rewrite;
mod sizes;
#[cfg(test)]
mod tests;

pub(super) use allowance::{RenderAllowance, charge_made, charge_written};
use minijinja::Environment;
pub(super) use program::CompiledTemplate;
pub(super) use sizes::BoundedSink;

/// Gives an environment the checked functions that compiled templates call.
pub(super) fn add_checked_functions(environment: &mut Environment<'static>) {
    operators::add(environment);
    filters::add(environment);
    functions::add(environment);
    environment.set_unknown_method_callback(methods::call);
}
