//! LIKE with any escape: patterns are spelled with the backslash, the only escape that the engine knows.
//!
//! Without ESCAPE the backslash is the escape, as in PostgreSQL and MySQL. A pattern may not end in its escape, which
//! the engine takes for the character itself.

use super::kind;
use crate::sql::functions::arguments::TextArgument;
use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr::Like;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The escape of a pattern without ESCAPE, and that of patterns that the engine reads.
const BACKSLASH: char = '\\';

/// The same test by a pattern whose escape is the backslash.
pub(super) fn with_backslash(mut like: Like, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let escape = like.escape_char.take().unwrap_or(BACKSLASH);
    match &mut *like.pattern {
        Expr::Literal(value, _) => {
            if let Some(Some(pattern)) = value.try_as_str() {
                let spelled = respelled(pattern, escape)?;
                if spelled != pattern {
                    *value = ScalarValue::from(spelled).cast_to(&value.data_type())?;
                }
            }
        }
        pattern if kind(pattern, schema).is_some_and(|kind| kind.is_string()) => {
            let function = ScalarUDF::from(Pattern::new(escape));
            super::replace(pattern, |pattern| function.call(vec![pattern]));
        }
        _ => {}
    }
    Ok(Transformed::yes(Expr::Like(like)))
}

/// The engine takes the pattern of SIMILAR TO for a regular expression that may match anywhere.
pub(super) fn no_similar_to() -> Result<Transformed<Expr>> {
    plan_err!(
        "SIMILAR TO is not read as SQL says: write x ~ '^(..)$' for a regular expression, or x LIKE '..' for a pattern of % and _"
    )
}

/// A pattern with another escape as one with the backslash.
fn respelled(pattern: &str, escape: char) -> Result<String> {
    let mut spelled = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == escape {
            let Some(meant) = characters.next() else {
                return Err(DataFusionError::Execution(format!(
                    "the pattern '{pattern}' of LIKE ends in its escape: write '{pattern}{escape}' for the character {escape}, or ESCAPE with another one"
                )));
            };
            if matches!(meant, '%' | '_' | BACKSLASH) {
                spelled.push(BACKSLASH);
            }
            spelled.push(meant);
        } else {
            if character == BACKSLASH {
                spelled.push(BACKSLASH);
            }
            spelled.push(character);
        }
    }
    Ok(spelled)
}

/// Spells patterns that are known only when the statement runs.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Pattern {
    escape: char,
    signature: Signature,
}

impl Pattern {
    fn new(escape: char) -> Self {
        Self { escape, signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Pattern {
    fn name(&self) -> &str {
        "like_pattern"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [pattern] = args.args.as_slice() else {
            return exec_err!("`like_pattern` takes a pattern");
        };
        let patterns = TextArgument::of(pattern);
        let rows = if patterns.varies() { args.number_rows } else { 1 };
        let spelled = |row| patterns.text(row).map(|text| respelled(text, self.escape)).transpose();
        let array: StringArray = (0..rows).map(spelled).collect::<Result<_>>()?;
        let array: ArrayRef = Arc::new(array);
        Ok(match patterns.varies() {
            true => ColumnarValue::Array(array),
            false => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        })
    }
}
