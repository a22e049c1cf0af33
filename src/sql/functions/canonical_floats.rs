//! Gives floats one zero and one NaN, as SQL knows them: the engine compares, sorts and groups floats by their bits.

use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array};
use arrow::compute::kernels::arity::unary;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::record_batch::RecordBatch;
use std::sync::Arc;

/// The batch with one zero and one NaN in its columns of floats.
#[expect(clippy::expect_used, reason = "as many values of the same types")]
pub(in crate::sql) fn canonical_batch(batch: RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_floating()) {
        return batch;
    }
    let columns = batch.columns().iter().map(one_zero).collect();
    RecordBatch::try_new(schema, columns).expect("columns that are as the batch has them")
}

/// The floats with one zero and one NaN; other arrays as they are.
pub(in crate::sql) fn one_zero(floats: &ArrayRef) -> ArrayRef {
    // The sum of -0.0 and 0.0 is 0.0.
    match floats.data_type() {
        DataType::Float32 => {
            let one = |float: f32| if float.is_nan() { f32::NAN } else { float + 0.0 };
            let floats: Float32Array = unary(floats.as_primitive::<Float32Type>(), one);
            Arc::new(floats)
        }
        DataType::Float64 => {
            let one = |float: f64| if float.is_nan() { f64::NAN } else { float + 0.0 };
            let floats: Float64Array = unary(floats.as_primitive::<Float64Type>(), one);
            Arc::new(floats)
        }
        _ => Arc::clone(floats),
    }
}
