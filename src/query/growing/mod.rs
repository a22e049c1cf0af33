//! Functions that make long texts of short ones, bounded: no operator accounts for what they make, and a
//! few characters of SQL can ask for terabytes. Each says what it would make before it makes it.

use arrow::array::{
    Array, ArrayRef, AsArray, GenericStringBuilder, Int64Array, LargeStringArray, OffsetSizeTrait,
    StringArray, StringViewArray, StringViewBuilder,
};
use arrow::datatypes::{DataType, FieldRef, Int64Type};
use datafusion::common::{DFSchema, ScalarValue, exec_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Bytes that a value which is no text takes as one, at most.
const NUMBER: u64 = 32;

/// Puts bounded functions in the place of those that are not: together at most `limit` bytes of a batch.
pub(super) fn bound(registry: &mut dyn FunctionRegistry, limit: usize) -> Result<()> {
    let functions: [(&str, Size); 8] = [
        ("concat", joined),
        ("concat_ws", joined_with),
        ("repeat", repeated),
        ("lpad", padded),
        ("rpad", padded),
        ("replace", replaced),
        ("overlay", joined),
        ("regexp_replace", replaced_by_pattern),
    ];
    for (name, size) in functions {
        let inner = registry.udf(name)?;
        registry.register_udf(Arc::new(ScalarUDF::from(Bounded { inner, limit, size })))?;
    }
    let joined = Arc::new(ScalarUDF::from(Join::new(limit)));
    registry.register_expr_planner(Arc::new(Operators { joined }))
}

/// Bytes that a function would make of a row.
type Size = fn(&[Texts<'_>], usize) -> u64;

/// A function of the engine that is asked only for what fits.
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
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        self.inner.return_type(kinds)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.inner().coerce_types(kinds)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    // Not `simplify`: the engine's would put its own function in this one's place.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let texts: Vec<Texts<'_>> = args.args.iter().map(Texts::of).collect();
        check(self.name(), &texts, args.number_rows, self.size, self.limit)?;
        drop(texts);
        self.inner.invoke_with_args(args)
    }
}

fn check(name: &str, texts: &[Texts<'_>], rows: usize, size: Size, limit: usize) -> Result<()> {
    let rows = if texts.iter().any(Texts::varies) { rows } else { 1 };
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let mut sum = 0_u64;
    for row in 0..rows {
        sum = sum.saturating_add(size(texts, row));
        if sum > limit {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "`{name}` would make more than {limit} bytes of text at a time, which is what --memory leaves for it: select fewer or shorter texts, or give more memory"
            )));
        }
    }
    Ok(())
}

/// An argument, row by row.
#[derive(Clone, Copy)]
enum Texts<'a> {
    One(&'a ScalarValue),
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
    Numbers(&'a Int64Array),
    Other,
}

impl<'a> Texts<'a> {
    fn of(value: &'a ColumnarValue) -> Self {
        let array: &ArrayRef = match value {
            ColumnarValue::Scalar(scalar) => return Self::One(scalar),
            ColumnarValue::Array(array) => array,
        };
        match array.data_type() {
            DataType::Utf8 => array.as_string_opt().map_or(Self::Other, Self::Small),
            DataType::LargeUtf8 => array.as_string_opt().map_or(Self::Other, Self::Large),
            DataType::Utf8View => array.as_string_view_opt().map_or(Self::Other, Self::View),
            DataType::Int64 => {
                array.as_primitive_opt::<Int64Type>().map_or(Self::Other, Self::Numbers)
            }
            _ => Self::Other,
        }
    }

    const fn varies(&self) -> bool {
        !matches!(self, Self::One(_))
    }

    fn text(self, row: usize) -> Option<&'a str> {
        match self {
            Self::One(scalar) => scalar.try_as_str().flatten(),
            Self::Small(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::Large(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::View(array) => (!array.is_null(row)).then(|| array.value(row)),
            Self::Numbers(_) | Self::Other => None,
        }
    }

    fn bytes(self, row: usize) -> u64 {
        match self {
            Self::Numbers(_) | Self::Other => NUMBER,
            Self::One(scalar) if scalar.try_as_str().is_none() => NUMBER,
            texts => texts.text(row).map_or(0, |text| length(text.len())),
        }
    }

    /// A count; 0 below it or where there is none.
    fn number(self, row: usize) -> u64 {
        let number = match self {
            Self::One(ScalarValue::Int64(Some(number))) => *number,
            Self::Numbers(array) if !array.is_null(row) => array.value(row),
            _ => 0,
        };
        u64::try_from(number).unwrap_or(0)
    }
}

fn length(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

fn joined(args: &[Texts<'_>], row: usize) -> u64 {
    args.iter().map(|arg| arg.bytes(row)).fold(0, u64::saturating_add)
}

fn joined_with(args: &[Texts<'_>], row: usize) -> u64 {
    let between = args.first().map_or(0, |separator| separator.bytes(row));
    joined(args, row).saturating_add(between.saturating_mul(length(args.len())))
}

fn repeated(args: &[Texts<'_>], row: usize) -> u64 {
    let [text, times, ..] = args else { return 0 };
    text.bytes(row).saturating_mul(times.number(row))
}

fn padded(args: &[Texts<'_>], row: usize) -> u64 {
    let [text, wide, fill @ ..] = args else { return 0 };
    let fill = fill.first().and_then(|fill| fill.text(row)).unwrap_or(" ");
    let widest = fill.chars().map(char::len_utf8).max().unwrap_or(0);
    text.bytes(row).saturating_add(wide.number(row).saturating_mul(length(widest)))
}

fn replaced(args: &[Texts<'_>], row: usize) -> u64 {
    let [text, from, to, ..] = args else { return 0 };
    let (Some(text), Some(from), Some(to)) = (text.text(row), from.text(row), to.text(row)) else {
        return 0;
    };
    if to.len() <= from.len() {
        return length(text.len());
    }
    let each = length(to.len() - from.len());
    length(text.len()).saturating_add(length(text.matches(from).count()).saturating_mul(each))
}

fn replaced_by_pattern(args: &[Texts<'_>], row: usize) -> u64 {
    let [text, _, by, flags @ ..] = args else { return 0 };
    let (text, by) = (text.bytes(row), by.text(row).unwrap_or_default());
    // Matches do not overlap, so what a group catches is at most the text, over all matches.
    let groups = length(by.matches(['\\', '$']).count());
    let everywhere = flags.first().and_then(|f| f.text(row)).is_some_and(|f| f.contains('g'));
    let times = if everywhere { text.saturating_add(1) } else { 1 };
    text.saturating_mul(groups.saturating_add(1))
        .saturating_add(length(by.len()).saturating_mul(times))
}

/// `a || b` as a function that is bounded, and a plain word about subscripts.
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

    fn plan_field_access(
        &self,
        _: RawFieldAccessExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        plan_err!(
            "`[..]` takes nothing out of a list here; `min(x)`, `max(x)` or `first_value(x ORDER BY y)` give one value of a group"
        )
    }
}

/// The function behind `a || b`: null where either is.
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
        let texts: Vec<Texts<'_>> = args.args.iter().map(Texts::of).collect();
        check(self.name(), &texts, args.number_rows, joined, self.limit)?;
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

/// Calls `append` with each pair of texts as one, or with nothing where there is none.
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
