//! Ends a running plan once a stop is requested.
//!
//! The batches of every operator are examined, since one may make very many of a few that it takes, and give none.

use super::pass_through::{BatchHook, BatchPoll, PassThroughExec};
use crate::sql::error::SqlError;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use model::Interrupt;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The plan, whose operators fail with [`SqlError::Interrupted`] once a stop is requested.
pub(crate) fn stopped_by(
    plan: Arc<dyn ExecutionPlan>,
    interrupt: &Interrupt,
) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let plan = match inputs.is_empty() {
        true => plan,
        false => {
            let inner = |input| stopped_by(input, interrupt);
            let inputs = inputs.into_iter().map(inner).collect::<Result<Vec<_>>>()?;
            let properties = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            plan.replace_children(inputs, properties)?
        }
    };
    Ok(Arc::new(PassThroughExec::new(plan, StopCheck { interrupt: interrupt.clone() })))
}

/// Fails an operator's stream once a stop is requested.
#[derive(Clone)]
struct StopCheck {
    interrupt: Interrupt,
}

impl BatchHook for StopCheck {
    const NAME: &'static str = "Stoppable";

    fn detail(&self) -> String {
        "stoppable".to_owned()
    }

    fn over(
        &self,
        mut input: SendableRecordBatchStream,
        _: &TaskContext,
    ) -> impl FnMut(&mut Context<'_>) -> BatchPoll + Send + 'static {
        let interrupt = self.interrupt.clone();
        move |context| {
            if let Err(stop) = interrupt.check() {
                return Poll::Ready(Some(Err(DataFusionError::from(SqlError::from(stop)))));
            }
            input.as_mut().poll_next(context)
        }
    }
}
