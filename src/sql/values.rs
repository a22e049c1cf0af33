//! Computes a SQL expression for every stored document, as a number or a text.

use super::select::{for_each_batch, plan};
use super::session;
use crate::sql::engine::runtime;
use crate::sql::error::SqlError;
use crate::sql::syntax::parameters::SqlParameters;
use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use store::View;

/// Calls `each` with the id of every stored document and the number that `expression` is for it; none
/// where it is null or not a number. Documents come in no particular order. It blocks.
///
/// # Errors
/// As [`super::select`].
pub fn number_values(
    view: &View,
    expression: &str,
    mut each: impl FnMut(u64, Option<f64>),
) -> Result<(), SqlError> {
    values(view, expression, "DOUBLE", |batch| {
        let [ids, values] = batch.columns() else { return };
        let (Some(ids), Some(values)) =
            (ids.as_primitive_opt::<UInt64Type>(), values.as_primitive_opt::<Float64Type>())
        else {
            return;
        };
        for (id, value) in ids.values().iter().zip(values.iter()) {
            each(*id, value.filter(|value| !value.is_nan()));
        }
    })
}

/// Calls `each` with the id of every stored document and the text that `expression` is for it; none
/// where it is null. Documents come in no particular order. It blocks.
///
/// # Errors
/// As [`super::select`].
pub fn text_values(
    view: &View,
    expression: &str,
    mut each: impl FnMut(u64, Option<&str>),
) -> Result<(), SqlError> {
    values(view, expression, "VARCHAR", |batch| {
        let [ids, values] = batch.columns() else { return };
        let Some(ids) = ids.as_primitive_opt::<UInt64Type>() else { return };
        if let Some(values) = values.as_string_view_opt() {
            ids.values().iter().zip(values.iter()).for_each(|(id, value)| each(*id, value));
        } else if let Some(values) = values.as_string_opt::<i32>() {
            ids.values().iter().zip(values.iter()).for_each(|(id, value)| each(*id, value));
        }
    })
}

fn values(
    view: &View,
    expression: &str,
    kind: &str,
    each: impl FnMut(&RecordBatch),
) -> Result<(), SqlError> {
    let state = session::session(view)?;
    // Line breaks: the expression may end in a comment.
    let what = format!("id, TRY_CAST((\n{expression}\n) AS {kind})");
    let plan = runtime::block_on(plan(
        view,
        &state,
        &what,
        (expression, "true"),
        &SqlParameters::default(),
    ))?;
    for_each_batch(state, &plan, each)
}
