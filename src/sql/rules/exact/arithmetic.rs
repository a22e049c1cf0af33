//! Arithmetic of whole numbers that is exact or an error: `+ - *`, the sign, and shifts.
//!
//! The engine's wraps: 9223372036854775807 + 1 is below zero (apache/datafusion#3520, #17539). Functions take the place
//! of its operators, so that constants are computed by them too. Numbers without a sign, such as ids, are subtracted as
//! signed ones, and divided by a literal as whole numbers: the engine made decimals of both sides.

use super::{kind, replace};
use crate::sql::syntax::dialect::NEGATIVE;
use arrow::array::{ArrayRef, Datum, PrimitiveArray};
use arrow::compute::kernels::{arity, numeric};
use arrow::datatypes::{ArrowPrimitiveType, DataType};
use arrow::error::ArrowError;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast, lit,
};
use datafusion::physical_expr_common::datum::apply;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use std::sync::Arc;

/// Whether an operator of whole numbers has results that their type may not hold, or that the engine gives as another.
pub(super) const fn may_wrap(op: Operator) -> bool {
    matches!(
        op,
        Operator::Plus
            | Operator::Minus
            | Operator::Multiply
            | Operator::Divide
            | Operator::Modulo
            | Operator::BitwiseShiftLeft
            | Operator::BitwiseShiftRight
            | Operator::BitwiseAnd
            | Operator::BitwiseOr
            | Operator::BitwiseXor
    )
}

/// Takes numbers without a sign beside some with a sign for such with one: the engine makes decimals of both. Says
/// whether there were any.
pub(super) fn signed(sides: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let kinds: Vec<Option<DataType>> = sides.iter().map(|side| kind(side, schema)).collect();
    let signs = kinds.iter().flatten().any(DataType::is_signed_integer);
    let mut changed = false;
    for (side, kind) in sides.iter_mut().zip(kinds) {
        if signs && kind == Some(DataType::UInt64) {
            replace(side, |whole| cast(whole, DataType::Int64));
            changed = true;
        }
    }
    changed
}

/// The operation as a function that checks, where it is one of whole numbers.
pub(super) fn checked(binary: BinaryExpr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let kinds = (kind(&binary.left, schema), kind(&binary.right, schema));
    let (Some(left_kind), Some(right_kind)) = kinds else {
        return Ok(Transformed::no(Expr::BinaryExpr(binary)));
    };
    let BinaryExpr { mut left, op, mut right } = binary;
    if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
        && signed(&mut [&mut *left, &mut *right], schema)
    {
        let signed = BinaryExpr { left, op, right };
        return checked(signed, schema).map(|done| Transformed::yes(done.data));
    }
    if matches!(op, Operator::Divide | Operator::Modulo) {
        let unsigned = match (&left_kind, &*right) {
            (DataType::UInt64, Expr::Literal(ScalarValue::Int64(Some(by)), _)) => {
                u64::try_from(*by).ok()
            }
            _ => None,
        };
        let mut changed = unsigned.is_some();
        match unsigned {
            Some(by) => *right = lit(by),
            None => changed = signed(&mut [&mut *left, &mut *right], schema),
        }
        let divided = Expr::BinaryExpr(BinaryExpr { left, op, right });
        return Ok(Transformed::new_transformed(divided, changed));
    }
    if matches!(op, Operator::BitwiseAnd | Operator::BitwiseOr | Operator::BitwiseXor) {
        let changed = signed(&mut [&mut *left, &mut *right], schema);
        let combined = Expr::BinaryExpr(BinaryExpr { left, op, right });
        return Ok(Transformed::new_transformed(combined, changed));
    }
    // A day and a number of days: the engine makes an interval of the number, which wraps.
    let is_day = |kind: &DataType| *kind == DataType::Date32;
    let moves = matches!(op, Operator::Plus | Operator::Minus);
    if (moves && is_day(&left_kind) && right_kind.is_integer())
        || (is_day(&right_kind) && left_kind.is_integer() && op == Operator::Plus)
    {
        let mut operands = Vec::with_capacity(2);
        for (side, kind) in [(*left, &left_kind), (*right, &right_kind)] {
            let number = if is_day(kind) { cast(side, DataType::Int32) } else { side };
            operands.push(cast(number, DataType::Int64));
        }
        let node = Node::Two(op, Arc::new(Node::Operand(0)), Arc::new(Node::Operand(1)));
        let day = cast(Checked::call(node, DataType::Int64, operands), DataType::Int32);
        return Ok(Transformed::yes(cast(day, DataType::Date32)));
    }
    let result = BinaryTypeCoercer::new(&left_kind, &op, &right_kind).get_result_type().ok();
    // The difference of two days is a number of days: no type of it is too small.
    let Some(mut result) = result.filter(|it| it.is_integer() && !left_kind.is_temporal()) else {
        return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
    };
    if op == Operator::Minus && result.is_unsigned_integer() {
        result = DataType::Int64;
        *left = cast(*left, DataType::Int64);
        *right = cast(*right, DataType::Int64);
    }
    let mut operands = Vec::with_capacity(2);
    let left = operand(*left, &result, &mut operands);
    let right = operand(*right, &result, &mut operands);
    Ok(Transformed::yes(Checked::call(Node::Two(op, left, right), result, operands)))
}

/// The negation as a function that checks, where it is one of whole numbers.
pub(super) fn negated(inner: Box<Expr>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (inner, kind) = match kind(&inner, schema) {
        Some(kind) if kind.is_signed_integer() => (*inner, kind),
        Some(kind) if kind.is_unsigned_integer() => {
            (cast(*inner, DataType::Int64), DataType::Int64)
        }
        _ => return Ok(Transformed::no(Expr::Negative(inner))),
    };
    let mut operands = Vec::new();
    let inner = operand(inner, &kind, &mut operands);
    Ok(Transformed::yes(Checked::call(Node::Negative(inner), kind, operands)))
}

/// Plans `-x`: of a number without a sign, such as an id, as of one with a sign.
#[derive(Debug)]
pub(super) struct NegationPlanner;

impl ExprPlanner for NegationPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        if !matches!(&expr.op, BinaryOperator::Custom(op) if op == NEGATIVE) {
            return Ok(PlannerResult::Original(expr));
        }
        let inner = match expr.right.get_type(schema)? {
            kind if kind.is_unsigned_integer() => cast(expr.right, DataType::Int64),
            kind if kind.is_numeric() || kind.is_temporal() || kind.is_null() => expr.right,
            kind => return plan_err!("`-` takes a number or an interval, and not {kind}"),
        };
        Ok(PlannerResult::Planned(Expr::Negative(Box::new(inner))))
    }
}

/// The type of checked arithmetic, without a look at its operands.
pub(super) fn kind_of(call: &ScalarFunction) -> Option<DataType> {
    call.func.inner().downcast_ref::<Checked>().map(|checked| checked.kind.clone())
}

/// A side of an operation: what it computes where it is arithmetic of the same type, else a new operand. So a chain of
/// a thousand operators is one function; functions around functions take the engine time by the cube of their depth.
fn operand(side: Expr, kind: &DataType, operands: &mut Vec<Expr>) -> Arc<Node> {
    if let Expr::ScalarFunction(call) = side {
        let node = call.func.inner().downcast_ref::<Checked>().filter(|inner| inner.kind == *kind);
        if let Some(node) = node.map(|inner| Arc::clone(&inner.node)) {
            let before = operands.len();
            operands.extend(call.args);
            return if before == 0 { node } else { Arc::new(Node::Behind(before, node)) };
        }
        operands.push(Expr::ScalarFunction(call));
    } else {
        operands.push(side);
    }
    Arc::new(Node::Operand(operands.len() - 1))
}

/// Arithmetic on whole numbers of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    node: Arc<Node>,
    kind: DataType,
    signature: Signature,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Node {
    /// An argument of the function.
    Operand(usize),
    /// A node whose operands stand behind so many others.
    Behind(usize, Arc<Node>),
    Negative(Arc<Node>),
    Two(Operator, Arc<Node>, Arc<Node>),
}

impl Node {
    /// As the engine spells the operation.
    fn spelled(&self, operands: &[String]) -> String {
        match self {
            Self::Operand(at) => operands.get(*at).cloned().unwrap_or_default(),
            Self::Behind(before, node) => node.spelled(operands.get(*before..).unwrap_or_default()),
            Self::Negative(node) => format!("(- {})", node.spelled(operands)),
            Self::Two(op, left, right) => {
                format!("{} {op} {}", left.spelled(operands), right.spelled(operands))
            }
        }
    }

    fn computed(&self, operands: &[ColumnarValue]) -> Result<ColumnarValue> {
        match self {
            Self::Operand(at) => match operands.get(*at) {
                Some(operand) => Ok(operand.clone()),
                None => exec_err!("an operand is missing"),
            },
            Self::Behind(before, node) => {
                node.computed(operands.get(*before..).unwrap_or_default())
            }
            Self::Negative(node) => match node.computed(operands)? {
                ColumnarValue::Array(inner) => Ok(ColumnarValue::Array(numeric::neg(&inner)?)),
                ColumnarValue::Scalar(inner) => {
                    let negative = numeric::neg(&inner.to_array()?)?;
                    ScalarValue::try_from_array(&negative, 0).map(ColumnarValue::Scalar)
                }
            },
            Self::Two(op, left, right) => {
                let (left, right) = (left.computed(operands)?, right.computed(operands)?);
                apply(&left, &right, |left, right| match op {
                    Operator::Plus => numeric::add(left, right),
                    Operator::Minus => numeric::sub(left, right),
                    Operator::Multiply => numeric::mul(left, right),
                    _ => shifted(*op, left, right),
                })
            }
        }
    }
}

impl Checked {
    fn call(node: Node, kind: DataType, operands: Vec<Expr>) -> Expr {
        let signature = Signature::user_defined(Volatility::Immutable);
        ScalarUDF::from(Self { node: Arc::new(node), kind, signature }).call(operands)
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        "whole_numbers"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        Ok(self.node.spelled(&args.iter().map(ToString::to_string).collect::<Vec<_>>()))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(self.node.spelled(&names))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, kinds: &[DataType]) -> Result<Vec<DataType>> {
        Ok(vec![self.kind.clone(); kinds.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.kind.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.node.computed(&args.args).map_err(|error| self.overflow(error))
    }
}

impl Checked {
    /// The error in our words where it is an overflow.
    fn overflow(&self, error: DataFusionError) -> DataFusionError {
        let DataFusionError::ArrowError(inner, _) = &error else { return error };
        let ArrowError::ArithmeticOverflow(what) = inner.as_ref() else { return error };
        let what = what.trim_start_matches("Overflow happened on: ");
        DataFusionError::Execution(format!(
            "{what} is beyond {}: write CAST(.. AS DECIMAL(38, 0)) or CAST(.. AS DOUBLE) around one side",
            kind_in_words(&self.kind)
        ))
    }
}

/// The range of a type of whole numbers, in words.
pub(super) fn kind_in_words(kind: &DataType) -> String {
    let bits = kind.primitive_width().unwrap_or(8) * 8;
    let sign = if kind.is_unsigned_integer() { "unsigned " } else { "" };
    format!("{sign}whole numbers of {bits} bits")
}

/// Shifts bits; to the left only as long as the number is doubled each time.
fn shifted(
    op: Operator,
    left: &dyn Datum,
    right: &dyn Datum,
) -> std::result::Result<ArrayRef, ArrowError> {
    use arrow::datatypes::{
        Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    let kind = left.get().0.data_type().clone();
    match kind {
        DataType::Int8 => shifted_as::<Int8Type>(op, left, right),
        DataType::Int16 => shifted_as::<Int16Type>(op, left, right),
        DataType::Int32 => shifted_as::<Int32Type>(op, left, right),
        DataType::Int64 => shifted_as::<Int64Type>(op, left, right),
        DataType::UInt8 => shifted_as::<UInt8Type>(op, left, right),
        DataType::UInt16 => shifted_as::<UInt16Type>(op, left, right),
        DataType::UInt32 => shifted_as::<UInt32Type>(op, left, right),
        DataType::UInt64 => shifted_as::<UInt64Type>(op, left, right),
        other => {
            Err(ArrowError::InvalidArgumentError(format!("bits of {other} cannot be shifted")))
        }
    }
}

fn shifted_as<T: ArrowPrimitiveType>(
    op: Operator,
    left: &dyn Datum,
    right: &dyn Datum,
) -> std::result::Result<ArrayRef, ArrowError>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
    let shift = |number: T::Native, by: T::Native| {
        let (number, by): (i128, i128) = (number.into(), by.into());
        let overflow =
            || ArrowError::ArithmeticOverflow(format!("Overflow happened on: {number} {op} {by}"));
        if by < 0 {
            return Err(overflow());
        }
        let places = u32::try_from(by).unwrap_or(u32::MAX);
        let done = match op {
            Operator::BitwiseShiftLeft if number == 0 => Some(0),
            Operator::BitwiseShiftLeft if places < 127 => number.checked_mul(1 << places),
            Operator::BitwiseShiftLeft => None,
            _ => Some(number >> places.min(127)),
        };
        done.and_then(|done| T::Native::try_from(done).ok()).ok_or_else(overflow)
    };
    let ((left, left_is_one), (right, right_is_one)) = (left.get(), right.get());
    let numbers = |array: &dyn arrow::array::Array, is_one: bool, rows: usize| {
        let array = arrow::array::AsArray::as_primitive::<T>(array).clone();
        if !is_one {
            return array;
        }
        let first = (!arrow::array::Array::is_null(&array, 0)).then(|| array.value(0));
        PrimitiveArray::<T>::from_iter(std::iter::repeat_n(first, rows))
    };
    let rows = if left_is_one { right.len() } else { left.len() };
    let (left, right) = (numbers(left, left_is_one, rows), numbers(right, right_is_one, rows));
    let done: PrimitiveArray<T> = arity::try_binary(&left, &right, shift)?;
    Ok(Arc::new(done))
}
