//! Keeps a cast of numbers that not every value survives where it was written, beside a comparison.
//!
//! The engine takes such a cast off and casts the literal back: `TRY_CAST(300 AS TINYINT) <> 5` is true where it must be
//! null, and `CAST(5.4 AS INT) = 5` compares 5.4 with 5 (apache/datafusion#24702, #23095).

use super::{kind, replace};
use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Puts a function around a cast that may not be taken off; says whether it did.
pub(super) fn keep(side: &mut Expr, schema: &DFSchema) -> bool {
    let (inner, to) = match &*side {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return false,
    };
    if matches!(**inner, Expr::Literal(..)) {
        return false;
    }
    let Some(from) = kind(inner, schema) else { return false };
    if !is_exact(&from) || !is_exact(to) || survives(&from, to) {
        return false;
    }
    replace(side, identity);
    true
}

fn is_exact(kind: &DataType) -> bool {
    kind.is_integer() || kind.is_decimal()
}

/// Whether every number of one type is the same number in the other.
fn survives(from: &DataType, to: &DataType) -> bool {
    let is_signed = |kind: &DataType| !kind.is_unsigned_integer();
    if from.is_integer() && to.is_integer() {
        let bits = |kind: &DataType| {
            kind.primitive_width().unwrap_or(0) * 8 - usize::from(is_signed(kind))
        };
        return bits(from) <= bits(to) && (is_signed(to) || !is_signed(from));
    }
    match (digits(from), digits(to)) {
        (Some((whole, fraction)), Some((more_whole, more_fraction))) => {
            to.is_decimal() && whole <= more_whole && fraction <= more_fraction
        }
        _ => false,
    }
}

/// Digits before and behind the point that a number of the type may have.
const fn digits(kind: &DataType) -> Option<(i16, i16)> {
    match kind {
        DataType::Int8 | DataType::UInt8 => Some((3, 0)),
        DataType::Int16 | DataType::UInt16 => Some((5, 0)),
        DataType::Int32 | DataType::UInt32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        DataType::UInt64 => Some((20, 0)),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => {
            Some((*precision as i16 - *scale as i16, *scale as i16))
        }
        _ => None,
    }
}

/// A call that gives what it is given, and that the engine does not look into.
pub(in crate::sql::rules) fn identity(value: Expr) -> Expr {
    ScalarUDF::from(IdentityFunction::default()).call(vec![value])
}

/// A function that gives what it is given.
#[derive(Debug, PartialEq, Eq, Hash)]
struct IdentityFunction {
    signature: Signature,
}

impl Default for IdentityFunction {
    fn default() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for IdentityFunction {
    fn name(&self) -> &str {
        "kept"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(ToString::to_string).collect())
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.iter().map(|arg| arg.schema_name().to_string()).collect())
    }

    fn return_type(&self, kinds: &[DataType]) -> Result<DataType> {
        Ok(kinds.first().cloned().unwrap_or(DataType::Null))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(value),
            None => exec_err!("`kept` takes a value"),
        }
    }
}
