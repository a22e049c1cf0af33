//! Computes a SQL expression for a range of documents, as values of a field.

use super::expression::SqlExpression;
use crate::sql::error::SqlError;
use crate::sql::syntax::parameters::SqlParameters;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type, TimestampMicrosecondType, UInt64Type};
use arrow::record_batch::RecordBatch;
use model::{Context, FieldKind, FieldValue, Interrupt, shown_timestamp};
use std::ops::Range;
use store::View;

/// The value of an expression for a document.
#[derive(Clone, Debug, PartialEq)]
pub enum ComputedValue {
    /// Text.
    Keyword(String),
    /// A whole number.
    Int(i64),
    /// A number; neither infinite nor none.
    Float(f64),
    /// A truth.
    Bool(bool),
    /// Microseconds since 1970.
    Timestamp(i64),
    /// A value of another type than asked for.
    IllTyped,
    /// Null.
    Null,
}

/// The type of field for the values of an expression, if there is one. It blocks.
///
/// # Errors
/// As [`super::select`].
pub fn expression_kind(view: &View, expression: &str) -> Result<Option<FieldKind>, SqlError> {
    let expression = SqlExpression::parse(view, expression, &SqlParameters::default())?;
    let template = "SELECT ? FROM documents".to_owned();
    let (_, plan) = expression.planned(template, &Interrupt::default())?;
    let field = plan.schema().fields().first();
    Ok(match field.map_or(DataType::Null, |field| field.data_type().clone()) {
        kind if kind.is_string() => Some(FieldKind::Keyword),
        kind if kind.is_integer() => Some(FieldKind::Int),
        kind if kind.is_numeric() => Some(FieldKind::Float),
        DataType::Boolean => Some(FieldKind::Bool),
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Some(FieldKind::Timestamp),
        _ => None,
    })
}

/// Computes an expression over `documents`, range by range.
pub struct ComputedColumn<'v> {
    view: &'v View,
    expression: String,
    kind: FieldKind,
    /// The type that the engine computes. It computes no timestamps: those that an expression writes as text or as a
    /// number are read by the rule for records.
    asked: FieldKind,
}

/// Computes an expression over `documents`, with values of the given kind. It blocks.
///
/// # Errors
/// As [`super::select`].
pub fn computed_column<'v>(
    view: &'v View,
    expression: &str,
    kind: FieldKind,
) -> Result<ComputedColumn<'v>, SqlError> {
    let own = expression_kind(view, expression)?;
    let asked = match (kind, own) {
        (
            FieldKind::Timestamp,
            Some(own @ (FieldKind::Keyword | FieldKind::Int | FieldKind::Float)),
        ) => own,
        _ => kind,
    };
    Ok(ComputedColumn { view, expression: expression.to_owned(), kind, asked })
}

impl ComputedColumn<'_> {
    /// Calls `each` with the id of every document of a range and the value that the expression is for it, in no
    /// particular order. It blocks.
    ///
    /// # Errors
    /// As [`super::select`].
    pub fn values(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(u64, ComputedValue),
        context: &Context<'_>,
    ) -> Result<(), SqlError> {
        let kind = match self.asked {
            FieldKind::Keyword => "VARCHAR",
            FieldKind::Int => "BIGINT",
            FieldKind::Float => "DOUBLE",
            FieldKind::Bool => "BOOLEAN",
            FieldKind::Timestamp => "TIMESTAMP(6)",
        };
        let query = format!(
            "SELECT id, TRY_CAST(? AS {kind}), ? IS NULL FROM documents WHERE id >= {} AND id < {}",
            range.start, range.end
        );
        let none = SqlParameters::default();
        let expression = SqlExpression::parse(self.view, &self.expression, &none)?;
        let mut rows = expression.rows(query, context.interrupt)?;
        rows.try_for_each(|batch| batch.map(|batch| self.batch(&batch, &mut each)))
    }

    fn batch(&self, batch: &RecordBatch, each: &mut impl FnMut(u64, ComputedValue)) {
        let [ids, values, nulls] = batch.columns() else { return };
        let (Some(ids), Some(nulls)) =
            (ids.as_primitive_opt::<UInt64Type>(), nulls.as_boolean_opt())
        else {
            return;
        };
        for (row, id) in ids.values().iter().enumerate() {
            let value = if nulls.value(row) {
                ComputedValue::Null
            } else if values.is_null(row) {
                ComputedValue::IllTyped
            } else {
                self.value(values.as_ref(), row)
            };
            each(*id, value);
        }
    }

    fn value(&self, values: &dyn Array, row: usize) -> ComputedValue {
        let found = match self.asked {
            FieldKind::Keyword => {
                let views = values.as_string_view_opt().map(|values| values.value(row));
                let text = views.or_else(|| values.as_string_opt::<i32>().map(|v| v.value(row)));
                text.map(|text| ComputedValue::Keyword(text.to_owned()))
            }
            FieldKind::Int => {
                values.as_primitive_opt::<Int64Type>().map(|v| ComputedValue::Int(v.value(row)))
            }
            FieldKind::Float => {
                let number = values.as_primitive_opt::<Float64Type>().map(|v| v.value(row));
                number.filter(|number| number.is_finite()).map(ComputedValue::Float)
            }
            FieldKind::Bool => values.as_boolean_opt().map(|v| ComputedValue::Bool(v.value(row))),
            FieldKind::Timestamp => {
                let found = values.as_primitive_opt::<TimestampMicrosecondType>();
                found.map(|v| ComputedValue::Timestamp(v.value(row)))
            }
        };
        let found = found.unwrap_or(ComputedValue::IllTyped);
        if self.kind != FieldKind::Timestamp {
            return found;
        }
        // By the rule for timestamps of records, so that all readers know its year.
        match FieldValue::of_json(&found.to_json(), FieldKind::Timestamp) {
            Ok(Some(FieldValue::Timestamp(moment))) => ComputedValue::Timestamp(moment),
            _ => ComputedValue::IllTyped,
        }
    }
}

impl ComputedValue {
    /// As it is spelled in JSON, null for what is of another type.
    #[must_use]
    pub fn to_json(&self) -> String {
        use serde_json::Value;
        let value = match self {
            Self::Keyword(text) => Value::from(text.as_str()),
            Self::Int(number) => Value::from(*number),
            Self::Float(number) => Value::from(*number),
            Self::Bool(truth) => Value::from(*truth),
            Self::Timestamp(moment) => Value::from(shown_timestamp(*moment)),
            Self::IllTyped | Self::Null => Value::Null,
        };
        value.to_string()
    }
}
