//! Bounds the functions that make long texts, or lists, from short arguments.
//!
//! No operator accounts for what they make, and a few characters of SQL can ask for terabytes. The size of a result is
//! computed from the arguments before the function runs.

mod lists;
mod sizes;
#[cfg(test)]
mod tests;

pub(super) use lists::held;

use crate::sql::functions::arguments::TextArgument;
use crate::sql::functions::engine_function::all_but_the_call;
use arrow::array::{ArrayRef, GenericStringBuilder, OffsetSizeTrait, StringViewBuilder};
use arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How the size of a result is computed.
#[derive(Clone, Copy, Debug)]
enum Size {
    /// A function whose result is a text: bytes of one row.
    Texts(fn(&[TextArgument<'_>], usize) -> u64),
    /// A function whose result is a list: bytes of all rows.
    Lists(lists::Whole),
}

/// Functions that can make more text or longer lists than their arguments hold. A list in the tests has all others:
/// every function of the engine is on one of the two.
const BOUNDED: [(&str, Size); 31] = [
    ("concat", Size::Texts(sizes::joined)),
    ("concat_ws", Size::Texts(sizes::joined_with)),
    ("repeat", Size::Texts(sizes::repeated)),
    ("lpad", Size::Texts(sizes::padded)),
    ("rpad", Size::Texts(sizes::padded)),
    ("replace", Size::Texts(sizes::replaced)),
    ("regexp_replace", Size::Texts(sizes::replaced_by_pattern)),
    ("regexp_match", Size::Texts(sizes::matched)),
    ("overlay", Size::Texts(sizes::overlaid)),
    ("translate", Size::Texts(sizes::translated)),
    ("upper", Size::Texts(sizes::cased)),
    ("lower", Size::Texts(sizes::cased)),
    ("initcap", Size::Texts(sizes::cased)),
    ("to_char", Size::Texts(sizes::formatted)),
    ("encode", Size::Texts(sizes::encoded)),
    ("make_array", Size::Lists(lists::gathered)),
    ("array_append", Size::Lists(lists::gathered)),
    ("array_prepend", Size::Lists(lists::gathered)),
    ("array_concat", Size::Lists(lists::gathered)),
    ("array_union", Size::Lists(lists::gathered)),
    ("map", Size::Lists(lists::gathered)),
    ("arrays_zip", Size::Lists(lists::zipped)),
    ("array_repeat", Size::Lists(lists::repeated)),
    ("array_resize", Size::Lists(lists::resized)),
    ("range", Size::Lists(lists::counted)),
    ("generate_series", Size::Lists(lists::counted)),
    ("array_to_string", Size::Lists(lists::written)),
    ("string_to_array", Size::Lists(lists::cut)),
    ("array_replace", Size::Lists(lists::replaced)),
    ("array_replace_n", Size::Lists(lists::replaced)),
    ("array_replace_all", Size::Lists(lists::replaced)),
];

/// Replaces these functions by bounded ones: each makes at most `limit` bytes of a batch.
pub(crate) fn bound(registry: &mut dyn FunctionRegistry, limit: usize) -> Result<()> {
    let mut bounded = BTreeMap::new();
    for (name, size) in BOUNDED {
        let inner = registry.udf(name)?;
        let function = Arc::new(ScalarUDF::from(Bounded { inner, limit, size }));
        registry.register_udf(Arc::clone(&function))?;
        bounded.insert(name, function);
    }
    registry.register_function_rewrite(Arc::new(Everywhere { bounded }))?;
    let joined = Arc::new(ScalarUDF::from(Join::new(limit)));
    registry.register_expr_planner(Arc::new(Operators { joined }))
}

/// Replaces functions that the parser's own syntax has named: `overlay(a placing b from 1)`.
#[derive(Debug)]
struct Everywhere {
    bounded: BTreeMap<&'static str, Arc<ScalarUDF>>,
}

impl FunctionRewrite for Everywhere {
    fn name(&self) -> &str {
        "corpusdb: bounded functions"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
        match self.bounded.get(call.func.name()) {
            Some(bounded) if !Arc::ptr_eq(bounded, &call.func) => {
                call.func = Arc::clone(bounded);
                Ok(Transformed::yes(Expr::ScalarFunction(call)))
            }
            _ => Ok(Transformed::no(Expr::ScalarFunction(call))),
        }
    }
}

/// A function of the engine that runs only if its result fits.
#[derive(Debug)]
struct Bounded {
    inner: Arc<ScalarUDF>,
    limit: usize,
    size: Size,
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner && self.limit == other.limit
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    all_but_the_call!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        check(self.name(), &args.args, args.number_rows, self.size, self.limit)?;
        self.inner.invoke_with_args(args)
    }
}

fn check(name: &str, args: &[ColumnarValue], rows: usize, size: Size, limit: usize) -> Result<()> {
    let varies = args.iter().any(|arg| matches!(arg, ColumnarValue::Array(_)));
    let rows = if varies { rows } else { 1 };
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let (sum, what) = match size {
        Size::Lists(size) => (size(args, rows), "lists"),
        // `concat` takes lists too.
        Size::Texts(_) if args.iter().any(|arg| arg.data_type().is_nested()) => {
            (lists::gathered(args, rows), "lists")
        }
        Size::Texts(size) => {
            let texts: Vec<TextArgument<'_>> = args.iter().map(TextArgument::of).collect();
            let mut sum = 0_u64;
            for row in 0..rows {
                sum = sum.saturating_add(size(&texts, row));
                if sum > limit {
                    break;
                }
            }
            (sum, "text")
        }
    };
    if sum <= limit {
        return Ok(());
    }
    Err(DataFusionError::ResourcesExhausted(format!(
        "`{name}` would make more than {limit} bytes of {what} at a time, the limit that follows from `memory=`: select fewer or shorter texts, or give more memory"
    )))
}

/// Plans `a || b` as a bounded function.
#[derive(Debug)]
struct Operators {
    joined: Arc<ScalarUDF>,
}

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if expr.op != BinaryOperator::StringConcat {
            return Ok(PlannerResult::Original(expr));
        }
        let kinds = (expr.left.get_type(schema), expr.right.get_type(schema));
        let (Ok(left), Ok(right)) = kinds else { return Ok(PlannerResult::Original(expr)) };
        let plain = |kind: &DataType| !kind.is_nested() && !kind.is_binary();
        if !(left.is_string() || right.is_string()) || !plain(&left) || !plain(&right) {
            return Ok(PlannerResult::Original(expr));
        }
        Ok(PlannerResult::Planned(self.joined.call(vec![expr.left, expr.right])))
    }
}

/// The function behind `a || b`: null where either side is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Join {
    signature: Signature,
    limit: usize,
}

impl Join {
    fn new(limit: usize) -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable), limit }
    }
}

impl ScalarUDFImpl for Join {
    fn name(&self) -> &str {
        "||"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(ToString::to_string).collect();
        Ok(names.join(" || "))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(" || "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        let kind =
            [DataType::Utf8View, DataType::LargeUtf8].into_iter().find(|k| kinds.contains(k));
        Ok(vec![kind.unwrap_or(DataType::Utf8); kinds.len()])
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        Ok(kinds.first().cloned().unwrap_or(DataType::Utf8))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let joined = Size::Texts(sizes::joined);
        check(self.name(), &args.args, args.number_rows, joined, self.limit)?;
        let texts: Vec<TextArgument<'_>> = args.args.iter().map(TextArgument::of).collect();
        let [left, right] = texts.as_slice() else {
            return exec_err!("`||` takes two texts");
        };
        let varies = left.varies() || right.varies();
        let rows = if varies { args.number_rows } else { 1 };
        let both = (0..rows).map(|row| Some((left.text(row)?, right.text(row)?)));
        let array: ArrayRef = match args.return_field.data_type() {
            DataType::Utf8View => {
                let mut built = StringViewBuilder::with_capacity(rows);
                join(both, |whole| {
                    match whole {
                        Some(whole) => built.try_append_value(whole)?,
                        None => built.append_null(),
                    }
                    Ok(())
                })?;
                Arc::new(built.finish())
            }
            DataType::LargeUtf8 => joined_array::<i64>(both)?,
            _ => joined_array::<i32>(both)?,
        };
        Ok(match varies {
            true => ColumnarValue::Array(array),
            false => ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?),
        })
    }
}

/// Calls `append` with each pair of texts, or with none where the result is null.
fn join<'a>(
    both: impl Iterator<Item = Option<(&'a str, &'a str)>>,
    mut append: impl FnMut(Option<&str>) -> Result<()>,
) -> Result<()> {
    let mut whole = String::new();
    for pair in both {
        append(pair.map(|(left, right)| {
            whole.clear();
            whole.push_str(left);
            whole.push_str(right);
            whole.as_str()
        }))?;
    }
    Ok(())
}

fn joined_array<'a, O: OffsetSizeTrait>(
    both: impl Iterator<Item = Option<(&'a str, &'a str)>>,
) -> Result<ArrayRef> {
    let mut built = GenericStringBuilder::<O>::new();
    join(both, |whole| {
        built.append_option(whole);
        Ok(())
    })?;
    Ok(Arc::new(built.finish()))
}
