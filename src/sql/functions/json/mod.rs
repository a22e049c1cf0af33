//! SQL functions over JSON in a text, such as `meta`.
//!
//! Names and answers are those of datafusion-functions-json, except that `json_get` and `->` give JSON as it is
//! written. One rule for nulls: the answer is null where the part is missing, is JSON's `null`, is of another type than
//! asked for, or where the text up to it is no JSON. `json_contains` is false where the part is missing, and true for
//! `null`.
//!
//! `path` finds the part, `answers` turns it into the answer, `operators` plans `->` and `->>`.

mod answers;
mod operators;
mod path;

use super::arguments::TextArgument;
use answers::{JsonAnswer, Part};
use arrow::datatypes::DataType;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use path::{JsonStep, find};
use std::sync::Arc;

/// The functions with what they answer, and what they mean.
const FUNCTIONS: [(&str, JsonAnswer, &str); 11] = [
    ("json_get", JsonAnswer::Json, "the part that a path names, as JSON"),
    ("json_get_json", JsonAnswer::Json, "the same"),
    (
        "json_as_text",
        JsonAnswer::Text,
        "the part as a text: a string without its quotes, all else as JSON",
    ),
    ("json_get_str", JsonAnswer::Str, "the part where it is a string"),
    ("json_get_int", JsonAnswer::Int, "the part where it is a whole number of 64 bits"),
    ("json_get_float", JsonAnswer::Float, "the part where it is a number"),
    ("json_get_bool", JsonAnswer::Bool, "the part where it is `true` or `false`"),
    ("json_contains", JsonAnswer::Contains, "whether there is such a part, also `null`"),
    ("json_length", JsonAnswer::Length, "how many elements an array has, or members an object"),
    ("json_object_keys", JsonAnswer::Keys, "the names of an object's members, as a list"),
    ("json_get_array", JsonAnswer::Array, "the elements of an array, each as JSON, as a list"),
];

pub(in crate::sql) fn functions() -> impl Iterator<Item = (&'static str, &'static str)> {
    FUNCTIONS.iter().map(|(name, _, meaning)| (*name, *meaning))
}

pub(in crate::sql) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for (name, answer, _) in FUNCTIONS {
        registry.register_udf(function(name, answer))?;
    }
    registry.register_expr_planner(Arc::new(operators::MemberOperators {
        json: function("json_get", JsonAnswer::Json),
        text: function("json_as_text", JsonAnswer::Text),
    }))
}

fn function(name: &'static str, answer: JsonAnswer) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(JsonFunction { name, answer, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct JsonFunction {
    name: &'static str,
    answer: JsonAnswer,
    signature: Signature,
}

impl ScalarUDFImpl for JsonFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.answer.kind())
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name;
        let Some((json, path)) = kinds.split_first() else {
            return plan_err!(
                "`{name}` takes JSON, followed by names of members and numbers of elements"
            );
        };
        let Some(json) = as_text(json) else {
            return plan_err!(
                "`{name}` takes JSON as a text first, as in {name}(meta, 'a'); this is {json}"
            );
        };
        let mut coerced = vec![json];
        for step in path {
            match as_text(step) {
                Some(text) => coerced.push(text),
                None if step.is_integer() => coerced.push(DataType::Int64),
                None => {
                    return plan_err!(
                        "a step of `{name}` is the name of a member or the number of an element; this is {step}"
                    );
                }
            }
        }
        Ok(coerced)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values: Vec<TextArgument<'_>> = args.args.iter().map(TextArgument::of).collect();
        let Some((json, path)) = values.split_first() else {
            return plan_err!("`{}` takes JSON first", self.name);
        };
        let varies = values.iter().any(TextArgument::varies);
        let rows = if varies { args.number_rows } else { 1 };
        // Mostly the path is the same in every row.
        let same = if path.iter().any(TextArgument::varies) { None } else { Some(steps(path, 0)) };
        let parts = (0..rows).map(|row| {
            let json = json.text(row)?;
            Some(Part {
                found: match &same {
                    Some(path) => path.as_ref().and_then(|path| find(json, path)),
                    None => steps(path, row).and_then(|path| find(json, &path)),
                },
            })
        });
        let array = self.answer.all(parts)?;
        Ok(match varies {
            true => ColumnarValue::Array(array),
            false => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        })
    }
}

/// The text type that an argument is converted to.
fn as_text(kind: &DataType) -> Option<DataType> {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(kind.clone()),
        DataType::Null => Some(DataType::Utf8),
        DataType::Dictionary(_, values) => as_text(values),
        _ => None,
    }
}

/// The path of a row; none when one of its steps is null.
fn steps<'a>(path: &[TextArgument<'a>], row: usize) -> Option<Vec<JsonStep<'a>>> {
    let step = |text: &TextArgument<'a>| match text.integer(row) {
        Some(number) => Some(JsonStep::Number(number)),
        None => text.text(row).map(JsonStep::Text),
    };
    path.iter().map(step).collect()
}
