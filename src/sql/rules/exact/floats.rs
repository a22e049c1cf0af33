//! Gives what is computed of floats one zero and one NaN, before anything compares, sorts or groups it.
//!
//! The engine compares, sorts and groups floats by their bits: -0.0 is below 0.0, and the NaN of a processor, whose sign
//! is set, below all numbers. SQL knows neither. Documents hold none of them, and files lose them as they are read, so that
//! columns need no look.

use super::kind;
use crate::sql::functions::canonical_floats::one_zero;
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err};
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

/// Functions whose results may be -0.0 or NaN.
const FUNCTIONS: [&str; 23] = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "cos",
    "floor",
    "json_get_float",
    "ln",
    "log",
    "log10",
    "log2",
    "nanvl",
    "power",
    "round",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

/// The expression with one zero and one NaN, where it computes floats. Within arithmetic the outermost one is enough.
pub(super) fn canonical(part: Expr, schema: &DFSchema) -> Expr {
    let kind = match &part {
        Expr::BinaryExpr(binary) => {
            let kinds = (kind(&binary.left, schema), kind(&binary.right, schema));
            let (Some(left), Some(right)) = kinds else { return part };
            BinaryTypeCoercer::new(&left, &binary.op, &right).get_result_type().ok()
        }
        Expr::Negative(inner) => kind(inner, schema),
        Expr::ScalarFunction(call) if FUNCTIONS.contains(&call.name()) => kind(&part, schema),
        // Texts spell every float.
        Expr::Cast(cast) if is_text(&cast.expr, schema) => kind(&part, schema),
        Expr::TryCast(cast) if is_text(&cast.expr, schema) => kind(&part, schema),
        _ => None,
    };
    let kind = match kind {
        Some(kind @ (DataType::Float32 | DataType::Float64)) => kind,
        _ => return part,
    };
    let part = match part {
        Expr::BinaryExpr(mut binary) => {
            strip(&mut binary.left);
            // What is divided by a zero has its sign.
            if binary.op != Operator::Divide {
                strip(&mut binary.right);
            }
            Expr::BinaryExpr(binary)
        }
        Expr::Negative(mut inner) => {
            strip(&mut inner);
            Expr::Negative(inner)
        }
        other => other,
    };
    let signature = Signature::user_defined(Volatility::Immutable);
    ScalarUDF::from(Canonical { kind, signature }).call(vec![part])
}

/// The type of what is made canonical, without a look at its operand.
pub(super) fn kind_of(call: &ScalarFunction) -> Option<DataType> {
    call.func.inner().downcast_ref::<Canonical>().map(|canonical| canonical.kind.clone())
}

fn is_text(expression: &Expr, schema: &DFSchema) -> bool {
    kind(expression, schema).is_some_and(|kind| kind.is_string())
}

/// The expression, where an earlier run of the rule made its operand canonical.
pub(super) fn once(mut part: Expr) -> Expr {
    if let Expr::ScalarFunction(call) = &mut part {
        call.args.iter_mut().for_each(strip);
    }
    part
}

/// Takes out what stands within another operation.
fn strip(side: &mut Expr) {
    if let Expr::ScalarFunction(call) = side
        && kind_of(call).is_some()
        && let Some(inner) = call.args.pop()
    {
        *side = inner;
    }
}

/// One zero and one NaN.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Canonical {
    kind: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Canonical {
    fn name(&self) -> &str {
        "canonical_float"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(ToString::to_string).unwrap_or_default())
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        // A cast has the name of its operand, which may be beside it.
        Ok(match args.first() {
            Some(cast @ (Expr::Cast(_) | Expr::TryCast(_))) => cast.to_string(),
            Some(arg) => arg.schema_name().to_string(),
            None => String::new(),
        })
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, _: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![self.kind.clone()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(match args.args.as_slice() {
            [ColumnarValue::Array(floats)] => ColumnarValue::Array(one_zero(floats)),
            [ColumnarValue::Scalar(float)] => {
                let float = one_zero(&float.to_array()?);
                ColumnarValue::Scalar(ScalarValue::try_from_array(&float, 0)?)
            }
            _ => return exec_err!("one operand is wanted"),
        })
    }
}
