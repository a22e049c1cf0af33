//! Keeps moments in microseconds, the unit of declared timestamps, for the years 1 to 9999.
//!
//! The engine's default are nanoseconds of 64 bits, which end in the year 2262: TIMESTAMP, now() and to_timestamp() make
//! them, and a text or a day beside a timestamp drags it along (apache/datafusion#4311). Functions of the calendar are
//! those of [`calendar`](super::calendar).

use super::{calendar, kind, replace};
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, plan_err};
use datafusion::execution::FunctionRegistry;
use datafusion::functions::math::expr_fn::round;
use datafusion::logical_expr::expr::{Cast, ScalarFunction, TryCast};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::{BinaryExpr, Expr, lit};
use datafusion::sql::sqlparser::ast::{DataType as SqlType, TimezoneInfo};
use std::sync::Arc;

const MICROSECONDS: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);

/// Puts functions of the calendar in the place of the engine's.
pub(super) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    calendar::register(registry)
}

/// Reads the type TIMESTAMP as microseconds.
#[derive(Debug)]
pub(crate) struct TimestampsAreMicroseconds;

impl TypePlanner for TimestampsAreMicroseconds {
    fn plan_type_field(&self, written: &SqlType) -> Result<Option<FieldRef>> {
        let plain = matches!(
            written,
            SqlType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
                | SqlType::Datetime(None)
        );
        Ok(plain.then(|| Arc::new(Field::new("", MICROSECONDS, true))))
    }
}

/// Makes moments of the texts and days beside a timestamp; says whether there were any.
pub(super) fn align(sides: &mut [&mut Expr], kinds: &[Option<DataType>]) -> bool {
    let moment = kinds.iter().flatten().find_map(|kind| match kind {
        DataType::Timestamp(unit, zone) if *unit != TimeUnit::Nanosecond => {
            Some(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
        }
        _ => None,
    });
    let Some(moment) = moment else { return false };
    let mut changed = false;
    for (side, kind) in sides.iter_mut().zip(kinds.iter().flatten()) {
        if kind.is_string() || matches!(kind, DataType::Date32 | DataType::Date64) {
            replace(side, |side| cast_to(side, moment.clone()));
            changed = true;
        }
    }
    changed
}

/// An addition or subtraction in which a day beside a timestamp is a moment.
pub(super) fn aligned(mut binary: BinaryExpr, schema: &DFSchema) -> BinaryExpr {
    let kinds = [kind(&binary.left, schema), kind(&binary.right, schema)];
    let texts = kinds.iter().flatten().any(DataType::is_string);
    if !texts {
        align(&mut [&mut *binary.left, &mut *binary.right], &kinds);
    }
    binary
}

/// A cast to a moment of a zone in microseconds; a cast of a whole number to one is refused, since its unit is not said.
pub(super) fn cast(part: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, to) = match &part {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return Ok(Transformed::no(part)),
    };
    let to = match to {
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            if kind(inner, schema).is_some_and(|kind| kind.is_integer()) {
                return plan_err!(
                    "a whole number is no TIMESTAMP: write to_timestamp(x) if it counts seconds, to_timestamp_millis(x) or to_timestamp_micros(x)"
                );
            }
            return Ok(Transformed::no(part));
        }
        DataType::Timestamp(TimeUnit::Nanosecond, Some(zone)) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::clone(zone)))
        }
        _ => return Ok(Transformed::no(part)),
    };
    Ok(Transformed::yes(match part {
        Expr::Cast(of) => Expr::Cast(Cast::new(of.expr, to)),
        Expr::TryCast(of) => Expr::TryCast(TryCast::new(of.expr, to)),
        other => other,
    }))
}

/// now() and to_timestamp() in microseconds; texts are read by a cast, which knows all years.
pub(super) fn called(call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let unit = match call.name() {
        "now" => return Ok(Transformed::yes(cast_to(Expr::ScalarFunction(call), MICROSECONDS))),
        "to_timestamp" | "to_timestamp_micros" => TimeUnit::Microsecond,
        "to_timestamp_millis" => TimeUnit::Millisecond,
        "to_timestamp_seconds" => TimeUnit::Second,
        _ => return Ok(Transformed::no(Expr::ScalarFunction(call))),
    };
    let is_seconds = call.name() == "to_timestamp";
    let to = DataType::Timestamp(unit, None);
    if let [only] = call.args.as_slice() {
        match kind(only, schema) {
            Some(kind) if kind.is_string() => {
                return Ok(Transformed::yes(cast_to(only.clone(), to)));
            }
            Some(kind) if kind.is_integer() && is_seconds => {
                let seconds = cast_to(only.clone(), DataType::Timestamp(TimeUnit::Second, None));
                return Ok(Transformed::yes(cast_to(seconds, to)));
            }
            Some(kind) if kind.is_floating() && is_seconds => {
                let counted = round(vec![cast_to(only.clone(), DataType::Float64) * lit(1e6)]);
                return Ok(Transformed::yes(cast_to(cast_to(counted, DataType::Int64), to)));
            }
            Some(DataType::Timestamp(..) | DataType::Date32) => {
                return Ok(Transformed::yes(cast_to(only.clone(), to)));
            }
            _ => {}
        }
    }
    let call = Expr::ScalarFunction(call);
    Ok(if is_seconds { Transformed::yes(cast_to(call, to)) } else { Transformed::no(call) })
}

fn cast_to(of: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(of), to))
}
