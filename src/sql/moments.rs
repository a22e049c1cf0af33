//! `date_trunc` for timestamps of all years.
//!
//! The engine's counts in nanoseconds, so one value beyond 2262 failed the statement.

use super::engine_function::all_but_the_call;
use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use model::TimeUnit as CalendarUnit;
use std::sync::Arc;

/// Puts this function in the place of the engine's.
pub(super) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    let inner = registry.udf("date_trunc")?;
    registry.register_udf(Arc::new(ScalarUDF::from(DateTrunc { inner })))?;
    Ok(())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for DateTrunc {
    all_but_the_call!();

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(input)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [ColumnarValue::Scalar(unit), moments] = args.args.as_slice()
            && let Some(unit) = calendar_unit(unit)
            && let DataType::Timestamp(scale, zone) = moments.data_type()
            && zone.as_deref().is_none_or(is_utc)
        {
            let array = moments.to_array(1)?;
            let begun = match scale {
                TimeUnit::Second => begun::<TimestampSecondType>(&array, unit, 1),
                TimeUnit::Millisecond => begun::<TimestampMillisecondType>(&array, unit, 1_000),
                TimeUnit::Microsecond => begun::<TimestampMicrosecondType>(&array, unit, 1_000_000),
                TimeUnit::Nanosecond => {
                    begun::<TimestampNanosecondType>(&array, unit, 1_000_000_000)
                }
            };
            return match moments {
                ColumnarValue::Array(_) => Ok(ColumnarValue::Array(begun)),
                ColumnarValue::Scalar(_) => {
                    ScalarValue::try_from_array(&begun, 0).map(ColumnarValue::Scalar)
                }
            };
        }
        self.inner.invoke_with_args(args)
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Z" | "+00:00" | "+00" | "+0000")
}

/// The unit, where it is one that we truncate; the engine's arithmetic of shorter units is exact.
fn calendar_unit(unit: &ScalarValue) -> Option<CalendarUnit> {
    CalendarUnit::from_name(&unit.try_as_str()??.to_lowercase())
}

/// The start of the unit that each timestamp lies in; `scale` is counts a second. Null where 64 bits of the scale, or
/// of microseconds, do not hold the start.
fn begun<T: ArrowTimestampType>(array: &ArrayRef, unit: CalendarUnit, scale: i64) -> ArrayRef {
    const SECOND: i64 = 1_000_000;
    let begin = |moment: i64| {
        let seconds = unit.begin(moment.div_euclid(scale).checked_mul(SECOND)?) / SECOND;
        seconds.checked_mul(scale)
    };
    let moments = array.as_primitive::<T>();
    let begun: PrimitiveArray<T> = moments.unary_opt(begin);
    Arc::new(begun.with_data_type(array.data_type().clone()))
}
