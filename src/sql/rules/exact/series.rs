//! `range` and `generate_series` as tables of moments: the engine's take nanoseconds alone.

use datafusion::catalog::{TableFunction, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Expr;
use std::sync::Arc;

/// Puts these functions in the place of the engine's.
pub(crate) fn register_series(state: &mut SessionState) {
    for name in ["range", "generate_series"] {
        if let Some(inner) = state.table_functions().get(name).cloned() {
            state.register_udtf(name, Arc::new(Series { inner }));
        }
    }
}

#[derive(Debug)]
struct Series {
    inner: Arc<TableFunction>,
}

impl TableFunctionImpl for Series {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let in_nanoseconds = |argument: &Expr| match argument {
            Expr::Literal(ScalarValue::TimestampMicrosecond(moment, zone), _) => {
                let nanoseconds = moment.map(|moment| moment.checked_mul(1_000));
                if nanoseconds == Some(None) {
                    return plan_err!(
                        "`{}` of moments goes from 1678 to 2261: add days of a series of numbers, as in DATE '2300-01-01' + value",
                        self.inner.name()
                    );
                }
                let moment = ScalarValue::TimestampNanosecond(nanoseconds.flatten(), zone.clone());
                Ok(Expr::Literal(moment, None))
            }
            other => Ok(other.clone()),
        };
        let arguments: Vec<Expr> =
            args.exprs().iter().map(in_nanoseconds).collect::<Result<_>>()?;
        let args = TableFunctionArgs::new(&arguments, args.session());
        self.inner.create_table_provider_with_args(args)
    }
}
