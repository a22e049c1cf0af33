//! Computes a SQL expression for every stored document, as a number or a text.

use super::expression::SqlExpression;
use crate::sql::error::SqlError;
use crate::sql::syntax::parameters::SqlParameters;
use arrow::array::AsArray;
use arrow::datatypes::{Float64Type, UInt64Type};
use arrow::record_batch::RecordBatch;
use model::Context;
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
    context: &Context<'_>,
) -> Result<(), SqlError> {
    let of_batch = |batch: &RecordBatch| {
        let [ids, values] = batch.columns() else { return };
        let (Some(ids), Some(values)) =
            (ids.as_primitive_opt::<UInt64Type>(), values.as_primitive_opt::<Float64Type>())
        else {
            return;
        };
        for (id, value) in ids.values().iter().zip(values.iter()) {
            each(*id, value.filter(|value| !value.is_nan()));
        }
    };
    values(view, expression, "DOUBLE", of_batch, context)
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
    context: &Context<'_>,
) -> Result<(), SqlError> {
    let of_batch = |batch: &RecordBatch| {
        let [ids, values] = batch.columns() else { return };
        let Some(ids) = ids.as_primitive_opt::<UInt64Type>() else { return };
        if let Some(values) = values.as_string_view_opt() {
            ids.values().iter().zip(values.iter()).for_each(|(id, value)| each(*id, value));
        } else if let Some(values) = values.as_string_opt::<i32>() {
            ids.values().iter().zip(values.iter()).for_each(|(id, value)| each(*id, value));
        }
    };
    values(view, expression, "VARCHAR", of_batch, context)
}

fn values(
    view: &View,
    expression: &str,
    kind: &str,
    mut each: impl FnMut(&RecordBatch),
    context: &Context<'_>,
) -> Result<(), SqlError> {
    let expression = SqlExpression::parse(view, expression, &SqlParameters::default())?;
    let query = format!("SELECT id, TRY_CAST(? AS {kind}) FROM documents");
    let mut rows = expression.rows(query, context.interrupt)?;
    rows.try_for_each(|batch| batch.map(|batch| each(&batch)))
}
