//! Values in the place of `?`, `$1` and `$name`: bound to the plan as values of the engine, never put into its text.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr as SqlExpr, Value, Visit, Visitor};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// A value that a statement is given beside its text.
///
/// ```
/// use corpusdb::sql::SqlValue;
///
/// assert_eq!(SqlValue::from("it's"), SqlValue::Text("it's".to_owned()));
/// assert_eq!(SqlValue::from(None::<i64>), SqlValue::Null);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum SqlValue {
    /// No value.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number, which may be 2^63 or more.
    Unsigned(u64),
    /// Any number.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A day, in days since 1970-01-01.
    Date(i32),
    /// A moment, in microseconds since 1970-01-01 UTC.
    Timestamp(i64),
    /// Several values of one type: `x IN ($values)` takes each of them.
    List(Vec<SqlValue>),
}

macro_rules! from_value {
    ($($kind:ty => $variant:ident),*) => {
        $(impl From<$kind> for SqlValue {
            fn from(value: $kind) -> Self {
                Self::$variant(value.into())
            }
        })*
    };
}

from_value! { bool => Bool, i64 => Int, i32 => Int, u64 => Unsigned, f64 => Float, &str => Text, String => Text }

impl<T: Into<Self>> From<Option<T>> for SqlValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for SqlValue {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl SqlValue {
    fn scalar(&self) -> std::result::Result<ScalarValue, String> {
        Ok(match self {
            Self::Null => ScalarValue::Null,
            Self::Bool(value) => ScalarValue::Boolean(Some(*value)),
            Self::Int(value) => ScalarValue::Int64(Some(*value)),
            Self::Unsigned(value) => ScalarValue::UInt64(Some(*value)),
            Self::Float(value) => ScalarValue::Float64(Some(*value)),
            Self::Text(value) => ScalarValue::Utf8(Some(value.clone())),
            Self::Bytes(value) => ScalarValue::Binary(Some(value.clone())),
            Self::Date(days) => ScalarValue::Date32(Some(*days)),
            Self::Timestamp(micros) => ScalarValue::TimestampMicrosecond(Some(*micros), None),
            Self::List(values) => list(values)?,
        })
    }
}

/// A list of one type: that of its first value that is not null. Integers become floats where the list has floats.
fn list(values: &[SqlValue]) -> std::result::Result<ScalarValue, String> {
    let mut scalars =
        values.iter().map(SqlValue::scalar).collect::<std::result::Result<Vec<_>, _>>()?;
    let is_float = |scalar: &ScalarValue| matches!(scalar, ScalarValue::Float64(_));
    if scalars.iter().any(is_float) {
        for scalar in &mut scalars {
            let number = match scalar {
                ScalarValue::Int64(Some(number)) => *number as f64,
                ScalarValue::UInt64(Some(number)) => *number as f64,
                _ => continue,
            };
            *scalar = ScalarValue::Float64(Some(number));
        }
    }
    let kinds = scalars.iter().map(ScalarValue::data_type);
    let kind = kinds.into_iter().find(|kind| *kind != DataType::Null).unwrap_or(DataType::Null);
    for (at, scalar) in scalars.iter_mut().enumerate() {
        if scalar.is_null() {
            *scalar = ScalarValue::try_from(&kind).map_err(|error| error.strip_backtrace())?;
        } else if scalar.data_type() != kind {
            let other = scalar.data_type();
            return Err(format!("[{at}] is {other}, and the values before it are {kind}"));
        }
    }
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(&scalars, &kind)))
}

/// The values that the parameters of a statement or condition have: `$1` or `?` by their places, or `$name` by their
/// names.
///
/// ```
/// use corpusdb::sql::{SqlParameters, SqlValue};
///
/// let by_place = SqlParameters::in_order(["web".into(), SqlValue::Float(0.5)]);
/// let by_name = SqlParameters::by_name([("source", "web".into()), ("least", SqlValue::Float(0.5))]);
/// assert_ne!(by_place, by_name);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct SqlParameters(BTreeMap<String, SqlValue>);

impl SqlParameters {
    /// Values of `$1`, `$2` and so on, or of each `?` in its turn.
    pub fn in_order(values: impl IntoIterator<Item = SqlValue>) -> Self {
        let numbered = |(at, value): (usize, SqlValue)| ((at + 1).to_string(), value);
        Self(values.into_iter().enumerate().map(numbered).collect())
    }

    /// Values of `$name`, by name without the `$`.
    pub fn by_name<N: Into<String>>(values: impl IntoIterator<Item = (N, SqlValue)>) -> Self {
        Self(values.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Refuses a statement that has other parameters than these; answers why.
    pub(crate) fn check(&self, statement: &Statement) -> std::result::Result<(), String> {
        let asked = names(statement);
        let listed = |names: Vec<&String>| {
            names.iter().map(|name| format!("`${name}`")).collect::<Vec<_>>().join(", ")
        };
        let missing: Vec<_> = asked.iter().filter(|name| !self.0.contains_key(*name)).collect();
        if !missing.is_empty() {
            return Err(format!("no value was given for {}", listed(missing)));
        }
        let idle: Vec<_> = self.0.keys().filter(|name| !asked.contains(*name)).collect();
        if !idle.is_empty() {
            let there = match asked.len() {
                0 => "it has no parameters".to_owned(),
                _ => format!("it has {}", listed(asked.iter().collect())),
            };
            return Err(format!("a value was given for {}, and {there}", listed(idle)));
        }
        Ok(())
    }

    /// The plan with its parameters replaced by these values.
    ///
    /// # Errors
    /// A value whose type does not fit the place.
    pub(crate) fn bind(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        if self.is_empty() {
            return Ok(plan);
        }
        let mut values = Vec::with_capacity(self.0.len());
        for (name, value) in &self.0 {
            let scalar = value
                .scalar()
                .map_err(|why| DataFusionError::Plan(format!("the value of `${name}`: {why}")))?;
            values.push((name.clone(), scalar));
        }
        let plan = plan.transform_up_with_subqueries(|node| {
            let names = NamePreserver::new(&node);
            node.map_expressions(|expression| {
                let name = names.save(&expression);
                let spread = expression.transform_up(|part| self.spread(part))?;
                Ok(spread.update_data(|expression| name.restore(expression)))
            })
        })?;
        plan.data.with_param_values(ParamValues::from(values))
    }

    /// Replaces a parameter that is a list, behind IN, by the values of the list.
    fn spread(&self, part: Expr) -> Result<Transformed<Expr>> {
        let Expr::InList(InList { expr, list, negated }) = part else {
            return Ok(Transformed::no(part));
        };
        let mut all = Vec::with_capacity(list.len());
        for one in list {
            match self.value_of(&one) {
                Some(SqlValue::List(values)) => {
                    for value in values {
                        let scalar = value.scalar().map_err(DataFusionError::Plan)?;
                        all.push(Expr::Literal(scalar, None));
                    }
                }
                _ => all.push(one),
            }
        }
        Ok(Transformed::yes(Expr::InList(InList { expr, list: all, negated })))
    }

    fn value_of(&self, expression: &Expr) -> Option<&SqlValue> {
        match expression {
            Expr::Placeholder(Placeholder { id, .. }) => self.0.get(id.get(1..)?),
            _ => None,
        }
    }

    /// The text value of an argument that is a parameter.
    pub(in crate::sql) fn text_of(&self, expression: &Expr) -> Option<&str> {
        match self.value_of(expression)? {
            SqlValue::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The parameters of a statement, without `$`.
fn names(statement: &Statement) -> BTreeSet<String> {
    let statement = match statement {
        Statement::Statement(statement) => statement,
        Statement::Explain(explain) => return names(&explain.statement),
        _ => return BTreeSet::new(),
    };
    let mut found = ParameterNames::default();
    let _ = statement.visit(&mut found);
    found.0
}

#[derive(Default)]
struct ParameterNames(BTreeSet<String>);

impl Visitor for ParameterNames {
    type Break = ();

    fn pre_visit_expr(&mut self, expression: &SqlExpr) -> ControlFlow<()> {
        if let SqlExpr::Value(value) = expression
            && let Value::Placeholder(name) = &value.value
        {
            self.0.insert(name.get(1..).unwrap_or_default().to_owned());
        }
        ControlFlow::Continue(())
    }
}

/// Numbers each `?`, as the engine expects.
///
/// # Errors
/// `?` beside `$1` or `$name`, and a `$` alone.
pub(in crate::sql) fn number(tokens: &mut [TokenWithSpan]) -> std::result::Result<(), ParserError> {
    let (mut marks, mut others) = (0_usize, None);
    for token in tokens {
        match &mut token.token {
            Token::Placeholder(name) if name == "?" => {
                marks += 1;
                *name = format!("${marks}");
            }
            Token::Placeholder(name) if name == "$" => {
                let place = token.span.start;
                return Err(ParserError::ParserError(format!(
                    "`$` needs a name or a number after it, as in `$source`{place}"
                )));
            }
            Token::Placeholder(name) => others = Some(name.clone()),
            _ => {}
        }
    }
    match others {
        Some(other) if marks > 0 => Err(ParserError::ParserError(format!(
            "`?` and `{other}` cannot be combined: number or name all parameters"
        ))),
        _ => Ok(()),
    }
}
