//! Compares intervals and differences of moments by how long they are.
//!
//! The engine compares months, then days, then nanoseconds, so that 25 hours are less than a day, and casts a difference
//! of moments to nanoseconds alone (apache/datafusion#11891). Here a day has 24 hours and a month 30 days, as in DuckDB
//! and PostgreSQL. What would sort or group intervals in the engine's order is refused.

use super::{kind, replace};
use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, DurationMicrosecondType, DurationMillisecondType,
    DurationNanosecondType, DurationSecondType, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalUnit, IntervalYearMonthType, TimeUnit,
};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::expr::{AggregateFunction, Sort, WindowFunction};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, cast,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// A length: nanoseconds, more than 64 bits of them.
const LENGTH: DataType = DataType::Decimal128(38, 0);
const DAY: i128 = 86_400_000_000_000;
const MONTH: i128 = 30 * DAY;

/// Replaces the sides of a comparison by their lengths, where the engine would compare them otherwise; a text beside an
/// interval is one. Says whether it did.
pub(super) fn measure(sides: &mut [&mut Expr], kinds: &[Option<DataType>]) -> bool {
    let mut durations = kinds.iter().flatten().filter(|kind| is_duration(kind));
    let first = durations.next();
    let alike = first.is_some() && durations.all(|other| Some(other) == first);
    let is_text = |kind: &DataType| kind.is_string();
    let has_interval = kinds.iter().flatten().any(is_interval);
    let has_text = kinds.iter().flatten().any(is_text);
    let differs = has_interval || (first.is_some() && (!alike || has_text));
    let comparable = |kind: &Option<DataType>| {
        kind.as_ref().is_some_and(|kind| {
            is_interval(kind) || is_duration(kind) || is_text(kind) || kind.is_null()
        })
    };
    if !differs || !kinds.iter().all(comparable) {
        return false;
    }
    for (side, kind) in sides.iter_mut().zip(kinds.iter().flatten()) {
        if is_text(kind) {
            let interval = DataType::Interval(IntervalUnit::MonthDayNano);
            replace(side, |text| length(cast(text, interval)));
        } else if !kind.is_null() {
            replace(side, length);
        }
    }
    true
}

/// Refuses functions that would compare intervals themselves.
pub(super) fn check_call(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    if !matches!(name, "greatest" | "least" | "nullif") || !args.iter().any(|it| is_in(it, schema))
    {
        return Ok(());
    }
    plan_err!("`{name}` does not compare intervals: write CASE WHEN a > b THEN a ELSE b END")
}

/// Refuses aggregates that would compare intervals themselves; those that only order by them order by length.
pub(super) fn check_aggregate(call: &mut AggregateFunction, schema: &DFSchema) -> Result<bool> {
    let name = call.func.name();
    let compares = matches!(name, "min" | "max") || call.params.distinct;
    if compares && call.params.args.iter().any(|arg| is_in(arg, schema)) {
        return not_compared(&format!(
            "{name}({})",
            if call.params.distinct { "DISTINCT .." } else { ".." }
        ));
    }
    Ok(order(&mut call.params.order_by, schema))
}

/// As [`check_aggregate`], for a function with OVER.
pub(super) fn order_window(call: &mut WindowFunction, schema: &DFSchema) -> Result<bool> {
    let (name, params) = (call.fun.name().to_owned(), &mut call.params);
    if matches!(&*name, "min" | "max") && params.args.iter().any(|arg| is_in(arg, schema)) {
        return not_compared(&format!("{name}(..)"));
    }
    let mut changed = order(&mut params.order_by, schema);
    for part in params.partition_by.iter_mut().filter(|part| is_in(part, schema)) {
        replace(part, length);
        changed = true;
    }
    Ok(changed)
}

fn order(by: &mut [Sort], schema: &DFSchema) -> bool {
    let mut changed = false;
    for sort in by.iter_mut().filter(|sort| is_in(&sort.expr, schema)) {
        replace(&mut sort.expr, length);
        changed = true;
    }
    changed
}

/// Refuses `interval IN (SELECT ..)` and its like.
pub(super) fn check_subquery(part: &Expr, schema: &DFSchema) -> Result<()> {
    let side = match part {
        Expr::InSubquery(query) => &query.expr,
        Expr::SetComparison(query) => &query.expr,
        _ => return Ok(()),
    };
    if is_in(side, schema) { not_compared("IN (SELECT ..)").map(|_: bool| ()) } else { Ok(()) }
}

fn not_compared<T>(what: &str) -> Result<T> {
    plan_err!(
        "{what} does not compare intervals by how long they are: write extract(epoch FROM x) in the place of the interval x"
    )
}

fn is_in(expression: &Expr, schema: &DFSchema) -> bool {
    kind(expression, schema).as_ref().is_some_and(is_interval)
}

const fn is_interval(kind: &DataType) -> bool {
    matches!(kind, DataType::Interval(_))
}

const fn is_duration(kind: &DataType) -> bool {
    matches!(kind, DataType::Duration(_))
}

/// Refuses plans that sort, group or join by intervals.
#[derive(Debug)]
pub(crate) struct IntervalsHaveLengths;

impl AnalyzerRule for IntervalsHaveLengths {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|node| match node {
            LogicalPlan::Sort(sort) if any_in(node, sort.expr.iter().map(|by| &by.expr)) => {
                not_compared("ORDER BY")
            }
            LogicalPlan::Aggregate(of) if any_in(node, of.group_expr.iter()) => {
                not_compared("GROUP BY")
            }
            LogicalPlan::Distinct(_)
                if node.schema().fields().iter().any(|of| is_interval(of.data_type())) =>
            {
                not_compared("DISTINCT")
            }
            LogicalPlan::Join(join) if any_in(node, join.on.iter().map(|(left, _)| left)) => {
                not_compared("a join")
            }
            _ => Ok(TreeNodeRecursion::Continue),
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "intervals_have_lengths"
    }
}

fn any_in<'e>(node: &LogicalPlan, mut expressions: impl Iterator<Item = &'e Expr>) -> bool {
    let schema = merge_schema(&node.inputs());
    expressions.any(|expression| is_in(expression, &schema))
}

fn length(of: Expr) -> Expr {
    ScalarUDF::from(Length::default()).call(vec![of])
}

/// How long an interval or a difference of moments is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

impl Default for Length {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "length_of_time"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(LENGTH)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(array)] => Ok(ColumnarValue::Array(lengths(array)?)),
            [ColumnarValue::Scalar(one)] => {
                let length = lengths(&one.to_array()?)?;
                ScalarValue::try_from_array(&length, 0).map(ColumnarValue::Scalar)
            }
            _ => exec_err!("`{}` takes an interval", self.name()),
        }
    }
}

fn lengths(array: &ArrayRef) -> Result<ArrayRef> {
    let lengths = match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            each::<IntervalYearMonthType>(array, |months| i128::from(months) * MONTH)
        }
        DataType::Interval(IntervalUnit::DayTime) => each::<IntervalDayTimeType>(array, |it| {
            i128::from(it.days) * DAY + i128::from(it.milliseconds) * 1_000_000
        }),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            each::<IntervalMonthDayNanoType>(array, |it| {
                let days = i128::from(it.months) * MONTH + i128::from(it.days) * DAY;
                days + i128::from(it.nanoseconds)
            })
        }
        DataType::Duration(TimeUnit::Second) => {
            each::<DurationSecondType>(array, |it| i128::from(it) * 1_000_000_000)
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            each::<DurationMillisecondType>(array, |it| i128::from(it) * 1_000_000)
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            each::<DurationMicrosecondType>(array, |it| i128::from(it) * 1_000)
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            each::<DurationNanosecondType>(array, i128::from)
        }
        other => return exec_err!("{other} is no length of time"),
    };
    Ok(Arc::new(lengths))
}

fn each<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    length: impl Fn(T::Native) -> i128,
) -> Decimal128Array {
    array.as_primitive::<T>().unary(length).with_data_type(LENGTH)
}
