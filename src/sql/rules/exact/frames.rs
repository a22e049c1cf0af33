//! Lets `bool_and` and `bool_or` take frames that lose rows: they are the least and the greatest of truths.
//!
//! The engine's own cannot take a value back, and refuse such a frame.

use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::WindowFunctionDefinition;
use datafusion::logical_expr::expr::WindowFunction;

/// The call by a function that takes values back.
pub(super) fn with_retraction(mut call: Box<WindowFunction>) -> Box<WindowFunction> {
    let other = match (&call.fun, call.fun.name()) {
        (WindowFunctionDefinition::AggregateUDF(_), "bool_and") => min_udaf(),
        (WindowFunctionDefinition::AggregateUDF(_), "bool_or") => max_udaf(),
        _ => return call,
    };
    call.fun = WindowFunctionDefinition::AggregateUDF(other);
    call
}
