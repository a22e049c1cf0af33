//! `date_trunc` and `date_bin` for timestamps of all years.
//!
//! The engine's count in nanoseconds: beyond 2262 the first failed the statement, and the second gave null.

use crate::sql::functions::engine_function::all_but_the_call;
use arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowTimestampType, DataType, IntervalDayTime, IntervalMonthDayNano, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use datafusion::common::{ScalarValue, exec_err};
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
    let inner = registry.udf("date_bin")?;
    registry.register_udf(Arc::new(ScalarUDF::from(DateBin { inner })))?;
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

#[derive(Debug, PartialEq, Eq, Hash)]
struct DateBin {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for DateBin {
    all_but_the_call!();

    fn output_ordering(&self, input: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(input)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let origin = match args.args.get(2) {
            None => Some(0),
            Some(ColumnarValue::Scalar(ScalarValue::TimestampNanosecond(origin, _))) => *origin,
            Some(_) => None,
        };
        if let [ColumnarValue::Scalar(stride), moments, ..] = args.args.as_slice()
            && let (Some(stride), Some(origin)) = (Stride::of(stride), origin)
            && let DataType::Timestamp(unit, _) = moments.data_type()
        {
            let array = moments.to_array(1)?;
            let bins = Bins { stride, origin: i128::from(origin) };
            let binned = match unit {
                TimeUnit::Second => bins.begun::<TimestampSecondType>(&array, 1_000_000_000)?,
                TimeUnit::Millisecond => {
                    bins.begun::<TimestampMillisecondType>(&array, 1_000_000)?
                }
                TimeUnit::Microsecond => bins.begun::<TimestampMicrosecondType>(&array, 1_000)?,
                TimeUnit::Nanosecond => bins.begun::<TimestampNanosecondType>(&array, 1)?,
            };
            if let Some(binned) = binned {
                return match moments {
                    ColumnarValue::Array(_) => Ok(ColumnarValue::Array(binned)),
                    ColumnarValue::Scalar(_) => {
                        ScalarValue::try_from_array(&binned, 0).map(ColumnarValue::Scalar)
                    }
                };
            }
        }
        self.inner.invoke_with_args(args)
    }
}

/// The width of a bin.
#[derive(Clone, Copy)]
enum Stride {
    /// Nanoseconds, more than none.
    Fixed(i128),
    Months,
}

impl Stride {
    /// None for what the engine refuses.
    fn of(interval: &ScalarValue) -> Option<Self> {
        const DAY: i128 = 86_400_000_000_000;
        let (months, nanoseconds) = match interval {
            ScalarValue::IntervalMonthDayNano(Some(it)) => {
                let IntervalMonthDayNano { months, days, nanoseconds } = *it;
                (months, i128::from(days) * DAY + i128::from(nanoseconds))
            }
            ScalarValue::IntervalDayTime(Some(IntervalDayTime { days, milliseconds })) => {
                (0, i128::from(*days) * DAY + i128::from(*milliseconds) * 1_000_000)
            }
            _ => return None,
        };
        match (months, nanoseconds) {
            (0, 1..) => Some(Self::Fixed(nanoseconds)),
            (1.., 0) => Some(Self::Months),
            _ => None,
        }
    }
}

struct Bins {
    stride: Stride,
    /// Nanoseconds since 1970.
    origin: i128,
}

impl Bins {
    /// The start of the bin that each timestamp lies in; `scale` is nanoseconds a count. None: the engine does it.
    fn begun<T: ArrowTimestampType>(
        &self,
        array: &ArrayRef,
        scale: i128,
    ) -> Result<Option<ArrayRef>> {
        let moments = array.as_primitive::<T>();
        let Stride::Fixed(stride) = self.stride else {
            let far = |moment| i64::try_from(i128::from(moment) * scale).is_err();
            return match moments.iter().flatten().any(far) {
                false => Ok(None),
                true => exec_err!(
                    "date_bin counts months from 1678 to 2261 only: write date_trunc('month', x), or a stride of days"
                ),
            };
        };
        let begin = |moment: i64| {
            let since = i128::from(moment) * scale - self.origin;
            let start = self.origin + since.div_euclid(stride) * stride;
            i64::try_from(start.div_euclid(scale)).ok()
        };
        let begun: PrimitiveArray<T> = moments.unary_opt(begin);
        Ok(Some(Arc::new(begun.with_data_type(array.data_type().clone()))))
    }
}
