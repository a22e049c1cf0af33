//! `sum` of whole numbers, decimals and differences of moments, and `avg` of the last two: exact, or an error; `min` and
//! `max` of floats.
//!
//! The engine's wrap at the width of their type (apache/datafusion#3520). Here a total is a number of 128 bits,
//! and what its type does not hold is an error. Sums of floats are the engine's, with one NaN.

use super::arithmetic::kind_in_words;
use super::float_aggregates::{OneNan, OneNanOfGroups, extremes};
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Int64Array, UInt64Array,
};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal32Type, Decimal64Type, Decimal128Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Field, FieldRef, Int64Type, TimeUnit, UInt64Type,
};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err};
use datafusion::error::DataFusionError;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator,
    ReversedUDAF, SetMonotonicity, Signature, StatisticsArgs,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The type of totals between the stages of an aggregation.
const TOTAL: DataType = DataType::Decimal128(38, 0);

/// Puts these functions in the place of the engine's.
pub(super) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    let all = [("sum", Of::Sum), ("avg", Of::Mean), ("min", Of::Least), ("max", Of::Greatest)];
    for (name, of) in all {
        let inner = registry.udaf(name)?;
        registry.register_udaf(Arc::new(AggregateUDF::from(ExactAggregate { inner, of })))?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Of {
    Sum,
    Mean,
    Least,
    Greatest,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ExactAggregate {
    inner: Arc<AggregateUDF>,
    of: Of,
}

impl ExactAggregate {
    /// Whether the values are added here; else the engine adds them.
    fn adds(&self, kind: &DataType) -> bool {
        match kind {
            _ if matches!(self.of, Of::Least | Of::Greatest) => false,
            // A null, or a parameter that had no value yet.
            DataType::Null => true,
            DataType::Int64 | DataType::UInt64 => self.of == Of::Sum,
            DataType::Duration(_)
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..) => true,
            _ => false,
        }
    }

    fn shape(&self, args: &AccumulatorArgs<'_>) -> Option<Shape> {
        let from = args.expr_fields.first()?.data_type().clone();
        self.adds(&from).then(|| Shape { of: self.of, from, to: args.return_type().clone() })
    }
}

impl AggregateUDFImpl for ExactAggregate {
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
        match kinds {
            [DataType::Null] if self.adds(&DataType::Null) => {
                self.inner.return_type(&[DataType::Int64])
            }
            kinds => self.inner.return_type(kinds),
        }
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(kinds)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.shape(&args) {
            None => Ok(Box::new(OneNan(self.inner.accumulator(args)?))),
            Some(shape) if args.is_distinct => {
                Ok(Box::new(DistinctTotal { shape, values: BTreeMap::new() }))
            }
            Some(shape) => Ok(Box::new(PlainTotal { shape, total: WideSum::default() })),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.shape(&args) {
            None => Ok(Box::new(OneNan(self.inner.create_sliding_accumulator(args)?))),
            Some(_) => self.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let Some(from) = args.input_fields.first().map(|field| field.data_type()) else {
            return self.inner.state_fields(args);
        };
        if !self.adds(from) {
            return self.inner.state_fields(args);
        }
        let name = |what: &str| format_state_name(args.name, what);
        if args.is_distinct {
            let list = Field::new_list(name("values"), Field::new_list_field(TOTAL, true), false);
            return Ok(vec![Arc::new(list)]);
        }
        Ok(vec![
            Arc::new(Field::new(name("total"), TOTAL, false)),
            Arc::new(Field::new(name("count"), DataType::UInt64, false)),
        ])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match self.shape(&args) {
            None => self.inner.groups_accumulator_supported(args),
            Some(_) => !args.is_distinct,
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let own = match self.of {
            Of::Least => extremes(false, args.return_type()),
            Of::Greatest => extremes(true, args.return_type()),
            Of::Sum | Of::Mean => None,
        };
        if let Some(own) = own {
            return Ok(own);
        }
        match self.shape(&args) {
            None => Ok(Box::new(OneNanOfGroups(self.inner.create_groups_accumulator(args)?))),
            Some(shape) => Ok(Box::new(GroupTotals { shape, totals: Vec::new() })),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.is_descending()
    }

    fn value_from_stats(&self, known: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.inner.value_from_stats(known)
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(kind)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// What is computed, of which type, as which type.
#[derive(Clone, Debug)]
struct Shape {
    of: Of,
    from: DataType,
    to: DataType,
}

/// The sum of some values, and how many they are.
#[derive(Clone, Copy, Debug, Default)]
struct WideSum {
    sum: i128,
    count: u64,
}

impl WideSum {
    /// Adds a value; says whether 128 bits no longer hold the sum.
    const fn add(&mut self, value: i128) -> bool {
        let (sum, beyond) = self.sum.overflowing_add(value);
        self.sum = sum;
        self.count += 1;
        beyond
    }
}

impl Shape {
    /// Calls `each` with the row and the value of every row that is not null.
    fn values(&self, array: &ArrayRef, each: impl FnMut(usize, i128)) {
        match &self.from {
            DataType::Null => {}
            DataType::UInt64 => values_of::<UInt64Type>(array, each),
            DataType::Decimal32(..) => values_of::<Decimal32Type>(array, each),
            DataType::Decimal64(..) => values_of::<Decimal64Type>(array, each),
            DataType::Decimal128(..) => values_of::<Decimal128Type>(array, each),
            DataType::Duration(TimeUnit::Second) => values_of::<DurationSecondType>(array, each),
            DataType::Duration(TimeUnit::Millisecond) => {
                values_of::<DurationMillisecondType>(array, each)
            }
            DataType::Duration(TimeUnit::Microsecond) => {
                values_of::<DurationMicrosecondType>(array, each)
            }
            DataType::Duration(TimeUnit::Nanosecond) => {
                values_of::<DurationNanosecondType>(array, each)
            }
            _ => values_of::<Int64Type>(array, each),
        }
    }

    /// The result for a total; null for one of no values.
    fn result(&self, total: WideSum) -> Result<ScalarValue> {
        if total.count == 0 {
            return ScalarValue::try_from(&self.to);
        }
        let value = match self.of {
            Of::Mean => self.mean(total),
            _ => Some(total.sum),
        };
        let held = value.filter(|value| match self.to {
            DataType::Decimal32(digits, _)
            | DataType::Decimal64(digits, _)
            | DataType::Decimal128(digits, _) => {
                value.unsigned_abs() < 10_u128.pow(u32::from(digits))
            }
            _ => true,
        });
        let narrow = |value: i128| i64::try_from(value).ok();
        let result = held.and_then(|value| {
            Some(match self.to {
                DataType::UInt64 => ScalarValue::UInt64(Some(u64::try_from(value).ok()?)),
                DataType::Decimal32(digits, scale) => {
                    ScalarValue::Decimal32(Some(i32::try_from(value).ok()?), digits, scale)
                }
                DataType::Decimal64(digits, scale) => {
                    ScalarValue::Decimal64(Some(narrow(value)?), digits, scale)
                }
                DataType::Decimal128(digits, scale) => {
                    ScalarValue::Decimal128(Some(value), digits, scale)
                }
                DataType::Duration(TimeUnit::Second) => {
                    ScalarValue::DurationSecond(Some(narrow(value)?))
                }
                DataType::Duration(TimeUnit::Millisecond) => {
                    ScalarValue::DurationMillisecond(Some(narrow(value)?))
                }
                DataType::Duration(TimeUnit::Microsecond) => {
                    ScalarValue::DurationMicrosecond(Some(narrow(value)?))
                }
                DataType::Duration(TimeUnit::Nanosecond) => {
                    ScalarValue::DurationNanosecond(Some(narrow(value)?))
                }
                _ => ScalarValue::Int64(Some(narrow(value)?)),
            })
        });
        result.ok_or_else(|| self.overflow())
    }

    /// The mean in the scale of the result.
    fn mean(&self, total: WideSum) -> Option<i128> {
        let scale = |kind: &DataType| match kind {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale) => i32::from(*scale),
            _ => 0,
        };
        let more = u32::try_from(scale(&self.to) - scale(&self.from)).ok()?;
        let scaled = total.sum.checked_mul(10_i128.checked_pow(more)?)?;
        Some(scaled / i128::from(total.count))
    }

    fn overflow(&self) -> DataFusionError {
        let (name, range, way) = match (self.of, &self.to) {
            (_, kind) if kind.is_integer() => (
                "sum",
                kind_in_words(kind),
                "sum(CAST(x AS DECIMAL(38, 0))) or sum(CAST(x AS DOUBLE))",
            ),
            (Of::Mean, DataType::Duration(_)) => {
                ("avg", "64 bits".to_owned(), "avg(extract(epoch FROM x))")
            }
            (_, DataType::Duration(_)) => {
                ("sum", "64 bits".to_owned(), "sum(extract(epoch FROM x))")
            }
            (Of::Mean, kind) => ("avg", kind.to_string(), "avg(CAST(x AS DOUBLE))"),
            (_, kind) => ("sum", kind.to_string(), "sum(CAST(x AS DOUBLE))"),
        };
        exec_datafusion_err!("the result of `{name}` is beyond {range}: write {way}")
    }

    /// Adds a total that another stage gave.
    fn merge(&self, total: &mut WideSum, sum: i128, count: u64) -> Result<()> {
        total.sum = total.sum.checked_add(sum).ok_or_else(|| self.overflow())?;
        total.count += count;
        Ok(())
    }
}

/// The totals that another stage gave.
fn given(states: &[ArrayRef]) -> impl Iterator<Item = (i128, u64)> {
    let columns = match states {
        [sums, counts] => {
            Some((sums.as_primitive::<Decimal128Type>(), counts.as_primitive::<UInt64Type>()))
        }
        _ => None,
    };
    columns.into_iter().flat_map(|(sums, counts)| {
        sums.values().iter().copied().zip(counts.values().iter().copied())
    })
}

fn values_of<T: ArrowPrimitiveType>(array: &ArrayRef, mut each: impl FnMut(usize, i128))
where
    T::Native: Into<i128>,
{
    let array = array.as_primitive::<T>();
    let mut of_rows = |from: usize, to: usize| {
        for (row, value) in (from..).zip(array.values().get(from..to).unwrap_or_default()) {
            each(row, (*value).into());
        }
    };
    match array.nulls() {
        None => of_rows(0, array.len()),
        Some(nulls) => nulls.valid_slices().for_each(|(from, to)| of_rows(from, to)),
    }
}

fn states(totals: &[WideSum]) -> Vec<ArrayRef> {
    let sums: Decimal128Array = totals.iter().map(|total| Some(total.sum)).collect();
    let counts: UInt64Array = totals.iter().map(|total| total.count).collect::<Vec<_>>().into();
    vec![Arc::new(sums.with_data_type(TOTAL)), Arc::new(counts)]
}

/// The total of all rows, or of those in a frame.
#[derive(Debug)]
struct PlainTotal {
    shape: Shape,
    total: WideSum,
}

impl Accumulator for PlainTotal {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { shape, total } = self;
        let [values] = values else { return Ok(()) };
        let (mut sum, mut beyond) = (*total, false);
        shape.values(values, |_, value| beyond |= sum.add(value));
        *total = sum;
        if beyond { Err(shape.overflow()) } else { Ok(()) }
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { shape, total } = self;
        let [values] = values else { return Ok(()) };
        let mut beyond = false;
        shape.values(values, |_, value| {
            let (sum, wraps) = total.sum.overflowing_sub(value);
            total.sum = sum;
            total.count = total.count.saturating_sub(1);
            beyond |= wraps;
        });
        if beyond { Err(shape.overflow()) } else { Ok(()) }
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.shape.result(self.total)
    }

    fn size(&self) -> usize {
        size_of::<Self>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let WideSum { sum, count } = self.total;
        Ok(vec![ScalarValue::Decimal128(Some(sum), 38, 0), ScalarValue::UInt64(Some(count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Self { shape, total } = self;
        for (sum, count) in given(states) {
            shape.merge(total, sum, count)?;
        }
        Ok(())
    }
}

/// The total of the values that differ.
#[derive(Debug)]
struct DistinctTotal {
    shape: Shape,
    /// How often each value is in the frame.
    values: BTreeMap<i128, u64>,
}

impl Accumulator for DistinctTotal {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { shape, values: known } = self;
        let [values] = values else { return Ok(()) };
        shape.values(values, |_, value| *known.entry(value).or_default() += 1);
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Self { shape, values: known } = self;
        let [values] = values else { return Ok(()) };
        shape.values(values, |_, value| {
            if let Some(times) = known.get_mut(&value) {
                *times -= 1;
                if *times == 0 {
                    known.remove(&value);
                }
            }
        });
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut total = WideSum::default();
        for value in self.values.keys() {
            if total.add(*value) {
                return Err(self.shape.overflow());
            }
        }
        self.shape.result(total)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.values.len() * 48
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values: Vec<ScalarValue> =
            self.values.keys().map(|value| ScalarValue::Decimal128(Some(*value), 38, 0)).collect();
        Ok(vec![ScalarValue::List(ScalarValue::new_list_nullable(&values, &TOTAL))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [lists] = states else { return Ok(()) };
        for list in lists.as_list::<i32>().iter().flatten() {
            for value in list.as_primitive::<Decimal128Type>().iter().flatten() {
                *self.values.entry(value).or_default() += 1;
            }
        }
        Ok(())
    }
}

/// The totals of groups.
struct GroupTotals {
    shape: Shape,
    totals: Vec<WideSum>,
}

impl GroupsAccumulator for GroupTotals {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        let Self { shape, totals } = self;
        let [values] = values else { return Ok(()) };
        totals.resize(count, WideSum::default());
        let mut beyond = false;
        let mut add = |row: usize, value| {
            if let Some(total) = groups.get(row).and_then(|group| totals.get_mut(*group)) {
                beyond |= total.add(value);
            }
        };
        match filter {
            None => shape.values(values, add),
            Some(filter) => shape.values(values, |row, value| {
                if filter.is_valid(row) && filter.value(row) {
                    add(row, value);
                }
            }),
        }
        if beyond { Err(shape.overflow()) } else { Ok(()) }
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let totals = emit.take_needed(&mut self.totals);
        if totals.is_empty() {
            return Ok(arrow::array::new_empty_array(&self.shape.to));
        }
        if self.shape.to == DataType::Int64 {
            let narrow =
                |total: &WideSum| i64::try_from(total.sum).map_err(|_| self.shape.overflow());
            let sum = |total: WideSum| (total.count > 0).then(|| narrow(&total)).transpose();
            let sums: Int64Array = totals.into_iter().map(sum).collect::<Result<_>>()?;
            return Ok(Arc::new(sums));
        }
        let results: Vec<ScalarValue> =
            totals.into_iter().map(|total| self.shape.result(total)).collect::<Result<_>>()?;
        ScalarValue::iter_to_array(results)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(states(&emit.take_needed(&mut self.totals)))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let Self { shape, totals } = self;
        totals.resize(count, WideSum::default());
        for ((sum, count), group) in given(values).zip(groups) {
            if let Some(total) = totals.get_mut(*group) {
                shape.merge(total, sum, count)?;
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut each = Self { shape: self.shape.clone(), totals: Vec::new() };
        let groups: Vec<usize> = (0..rows).collect();
        each.update_batch(values, &groups, filter, rows)?;
        Ok(states(&each.totals))
    }

    fn size(&self) -> usize {
        self.totals.capacity() * size_of::<WideSum>()
    }
}
