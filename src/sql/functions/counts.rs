//! Refuses counts for which `lpad`, `rpad`, `array_repeat` and `array_resize` would abort the process.
//!
//! The engine takes memory for all that is asked of a batch before it makes any of it, and where there is not as much the
//! process is aborted: nothing can catch that.

use super::engine_function::all_but_the_call;
use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::exec_err;
use datafusion::error::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::sync::Arc;

/// Functions whose second argument is a count.
const FUNCTIONS: [&str; 4] = ["lpad", "rpad", "array_repeat", "array_resize"];

/// The sum of the counts of a batch, at most: the engine takes up to eight bytes for each.
const MOST: i64 = 1 << 28;

/// Puts these functions in the place of the engine's.
pub(in crate::sql) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for name in FUNCTIONS {
        let inner = registry.udf(name)?;
        registry.register_udf(Arc::new(ScalarUDF::from(CountLimit { inner })))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CountLimit {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for CountLimit {
    all_but_the_call!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let varies = args.args.iter().any(|arg| matches!(arg, ColumnarValue::Array(_)));
        if let Some(counts) = args.args.get(1) {
            let rows = if varies { args.number_rows } else { 1 };
            let counts = cast(&counts.to_array(rows)?, &DataType::Int64)?;
            let counts = counts.as_primitive::<Int64Type>().iter().flatten();
            let sum = counts.fold(0_i64, |sum, count| sum.saturating_add(count.max(0)));
            if sum > MOST {
                return exec_err!(
                    "`{}` is asked for {sum} at a time, and {MOST} is the most: select fewer or shorter ones",
                    self.name()
                );
            }
        }
        self.inner.invoke_with_args(args)
    }
}
