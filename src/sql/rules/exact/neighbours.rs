//! `lead` and `lag` that look over the whole partition where nulls are ignored.
//!
//! The engine's own, row by row, loses count of the gaps before the value that `lead(x, 2) IGNORE NULLS` asks for
//! (apache/datafusion#25471), and a LIMIT ends its input too early where nulls lie in between or the offset is below
//! zero.

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::function::{
    ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs,
};
use datafusion::logical_expr::{
    Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, WindowUDF,
    WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Literal;
use std::sync::Arc;

/// Puts these functions in the place of the engine's.
pub(super) fn register(registry: &mut dyn FunctionRegistry) -> Result<()> {
    for name in ["lead", "lag"] {
        let inner = registry.udwf(name)?;
        registry.register_udwf(Arc::new(WindowUDF::from(Neighbour { inner })))?;
    }
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Neighbour {
    inner: Arc<WindowUDF>,
}

impl WindowUDFImpl for Neighbour {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        if args.input_exprs().get(1).is_some_and(|offset| offset_of(offset) == Offset::Null) {
            return exec_err!(
                "the offset of `{}` is null: write a whole number, or leave it out for 1",
                self.name()
            );
        }
        let whole = args.ignore_nulls();
        let inner = self.inner.partition_evaluator_factory(args)?;
        Ok(if whole { Box::new(Whole(inner)) } else { inner })
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(kinds)
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        ReversedUDWF::Reversed(Arc::new(WindowUDF::from(self.clone())))
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        let looks_back = match args.get(1).map(offset_of) {
            None => self.name() == "lag",
            Some(Offset::Rows(0..)) => self.name() == "lag",
            Some(Offset::Rows(_)) => self.name() == "lead",
            Some(_) => false,
        };
        if looks_back { LimitEffect::None } else { LimitEffect::Unknown }
    }
}

#[derive(PartialEq, Eq)]
enum Offset {
    Null,
    Rows(i64),
    /// The engine refuses it.
    Other,
}

fn offset_of(expression: &Arc<dyn PhysicalExpr>) -> Offset {
    let Some(literal) = expression.downcast_ref::<Literal>() else { return Offset::Other };
    match literal.value() {
        value if value.is_null() => Offset::Null,
        value => match value.cast_to(&DataType::Int64) {
            Ok(ScalarValue::Int64(Some(rows))) => Offset::Rows(rows),
            _ => Offset::Other,
        },
    }
}

/// An evaluator that is given the partition as a whole.
#[derive(Debug)]
struct Whole(Box<dyn PartitionEvaluator>);

impl PartitionEvaluator for Whole {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.0.evaluate_all(values, rows)
    }

    fn supports_bounded_execution(&self) -> bool {
        false
    }
}
