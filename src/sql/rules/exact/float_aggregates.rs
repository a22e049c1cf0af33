//! Aggregates of floats with one NaN, which is above all numbers, and with infinities.
//!
//! The engine's `min` and `max` of groups begin at the greatest and the least finite number, so that a group of
//! infinities has that for its answer, and compare NaN with nothing, so that the order of rows decides. Its sum of an
//! infinity and its opposite is a NaN with a sign, which is below all numbers where it is sorted.

use crate::sql::functions::canonical_floats::one_zero;
use arrow::array::{
    Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray,
};
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// The least, or the greatest, float of each group; none for other types.
pub(super) fn extremes(greatest: bool, kind: &DataType) -> Option<Box<dyn GroupsAccumulator>> {
    match kind {
        DataType::Float32 => Some(Box::new(Extremes::<Float32Type>::new(greatest))),
        DataType::Float64 => Some(Box::new(Extremes::<Float64Type>::new(greatest))),
        _ => None,
    }
}

/// By group: null where it has no value yet.
struct Extremes<T: ArrowPrimitiveType> {
    greatest: bool,
    values: Vec<Option<T::Native>>,
}

impl<T: ArrowPrimitiveType> Extremes<T> {
    const fn new(greatest: bool) -> Self {
        Self { greatest, values: Vec::new() }
    }

    fn emitted(&mut self, emit: EmitTo) -> ArrayRef {
        let values: PrimitiveArray<T> = emit.take_needed(&mut self.values).into_iter().collect();
        Arc::new(values)
    }
}

impl<T: ArrowPrimitiveType + Send> GroupsAccumulator for Extremes<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        let Self { greatest, values: known } = self;
        let [values] = values else { return Ok(()) };
        known.resize(count, None);
        let is_kept = |row: usize| filter.is_none_or(|it| it.is_valid(row) && it.value(row));
        for (row, (value, group)) in values.as_primitive::<T>().iter().zip(groups).enumerate() {
            let (Some(value), Some(known)) = (value, known.get_mut(*group)) else { continue };
            let is_further = known.is_none_or(|known| match *greatest {
                true => value.is_gt(known),
                false => value.is_lt(known),
            });
            if is_further && is_kept(row) {
                *known = Some(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.emitted(emit))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emitted(emit)])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.update_batch(values, groups, None, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |values| values.len());
        let mut each = Self::new(self.greatest);
        each.update_batch(values, &(0..rows).collect::<Vec<_>>(), filter, rows)?;
        Ok(vec![each.emitted(EmitTo::All)])
    }

    fn size(&self) -> usize {
        self.values.capacity() * size_of::<Option<T::Native>>()
    }
}

/// An accumulator of the engine's whose floats have one NaN.
#[derive(Debug)]
pub(super) struct OneNan(pub(super) Box<dyn Accumulator>);

impl Accumulator for OneNan {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.0.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.0.evaluate()?;
        match value.data_type().is_floating() {
            true => ScalarValue::try_from_array(&one_zero(&value.to_array()?), 0),
            false => Ok(value),
        }
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.0.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states)
    }
}

/// The same for groups.
pub(super) struct OneNanOfGroups(pub(super) Box<dyn GroupsAccumulator>);

impl GroupsAccumulator for OneNanOfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.0.update_batch(values, groups, filter, count)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(one_zero(&self.0.evaluate(emit)?))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        self.0.state(emit)
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.0.merge_batch(values, groups, count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.0.convert_to_state(values, filter)
    }

    fn size(&self) -> usize {
        self.0.size()
    }
}
