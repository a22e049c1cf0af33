//! Translates SQL expressions that the indexes answer exactly into a tree over bitmaps and columns.
//!
//! Negation is pushed to the leaves while the tree is built, so every node needs only the documents for which it is
//! true: a null makes a comparison neither true nor false, and the leaves of both polarities leave nulls out.

use super::intervals;
use super::intervals::{CompareOperator, IntervalSet};
use super::schema::{ColumnSource, DocumentColumns};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use model::{ColumnId, FieldId, Generation, Standing};
use store::{View, system_fields};

/// Keys of a list that are looked up one by one. A longer list is compared with the keys that a scan reads.
const MOST_KEYS: usize = 256;

/// What a document must satisfy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Predicate {
    /// Every document does.
    All,
    /// None does.
    Nothing,
    And(Vec<Predicate>),
    Or(Vec<Predicate>),
    /// Documents for which the inner predicate is not true (false or null).
    NotTrue(Box<Predicate>),
    Id(IntervalSet),
    /// The document's shown key is one of these; negated: it is another one.
    Key {
        keys: Vec<String>,
        negated: bool,
    },
    Number {
        column: ColumnId,
        within: IntervalSet,
    },
    /// The field has one of these values; negated: it has another one.
    Value {
        field: FieldId,
        /// The values, as in the term dictionary.
        values: Vec<Vec<u8>>,
        negated: bool,
    },
    /// The column has a value; negated: it has none.
    Present {
        column: ColumnId,
        negated: bool,
    },
}

/// Turns expressions into predicates for one view.
#[derive(Clone)]
pub(crate) struct PredicateBuilder<'a> {
    view: &'a View,
    columns: &'a DocumentColumns,
}

impl<'a> PredicateBuilder<'a> {
    pub(crate) const fn new(view: &'a View, columns: &'a DocumentColumns) -> Self {
        Self { view, columns }
    }

    /// The predicate that is true exactly where all of `filters` are; none when the indexes cannot answer one of them.
    pub(crate) fn all(&self, filters: &[Expr]) -> Option<Predicate> {
        let parts: Option<Vec<Predicate>> =
            filters.iter().map(|filter| self.truth(filter)).collect();
        parts.map(and)
    }

    /// The predicate that is true exactly where `expression` is; none when the indexes cannot answer it.
    pub(crate) fn truth(&self, expression: &Expr) -> Option<Predicate> {
        self.holds(expression, true)
    }

    /// Where `expression` is true if `wanted`, and false if not.
    fn holds(&self, expression: &Expr, wanted: bool) -> Option<Predicate> {
        match expression {
            Expr::Alias(alias) => self.holds(&alias.expr, wanted),
            Expr::Not(inner) => self.holds(inner, !wanted),
            Expr::Literal(ScalarValue::Boolean(value), _) => {
                Some(if *value == Some(wanted) { Predicate::All } else { Predicate::Nothing })
            }
            Expr::Literal(value, _) if value.is_null() => Some(Predicate::Nothing),
            Expr::Column(_) => match self.source(expression)? {
                ColumnSource::Kept => Some(self.standings(&[Standing::Kept], !wanted)),
                ColumnSource::Bool(column) => {
                    let value = i128::from(wanted);
                    let within = IntervalSet::inclusive(value, value);
                    Some(Predicate::Number { column, within })
                }
                _ => None,
            },
            Expr::BinaryExpr(binary) => self.binary(binary, wanted),
            Expr::Between(between) => {
                let wanted = wanted != between.negated;
                let bound = |operator, bound: &Expr| {
                    self.compare(&between.expr, operator, std::slice::from_ref(bound))
                };
                let low = bound(CompareOperator::GtEq, &between.low)?.polarity(wanted);
                let high = bound(CompareOperator::LtEq, &between.high)?.polarity(wanted);
                Some(if wanted { and(vec![low, high]) } else { or(vec![low, high]) })
            }
            Expr::InList(list) => {
                let equal = self.compare(&list.expr, CompareOperator::Eq, &list.list)?;
                Some(equal.polarity(wanted != list.negated))
            }
            Expr::IsNull(inner) => self.presence(inner, !wanted),
            Expr::IsNotNull(inner) => self.presence(inner, wanted),
            Expr::IsTrue(inner) => self.definite(inner, true, wanted),
            Expr::IsFalse(inner) => self.definite(inner, false, wanted),
            Expr::IsNotTrue(inner) => self.definite(inner, true, !wanted),
            Expr::IsNotFalse(inner) => self.definite(inner, false, !wanted),
            Expr::IsUnknown(inner) => self.unknown(inner, wanted),
            Expr::IsNotUnknown(inner) => self.unknown(inner, !wanted),
            _ => None,
        }
    }

    fn binary(&self, binary: &BinaryExpr, wanted: bool) -> Option<Predicate> {
        let BinaryExpr { left, op, right } = binary;
        match op {
            Operator::And | Operator::Or => {
                let parts = vec![self.holds(left, wanted)?, self.holds(right, wanted)?];
                Some(if (*op == Operator::And) == wanted { and(parts) } else { or(parts) })
            }
            Operator::IsNotDistinctFrom => self.same(left, right, wanted),
            Operator::IsDistinctFrom => self.same(left, right, !wanted),
            _ => {
                let operator = CompareOperator::of(*op)?;
                let comparison = match self.compare(left, operator, std::slice::from_ref(right)) {
                    Some(comparison) => comparison,
                    None => self.compare(right, operator.swapped(), std::slice::from_ref(left))?,
                };
                Some(comparison.polarity(wanted))
            }
        }
    }

    /// Whether two sides, one of them a literal, are the same value or both null; never null itself.
    fn same(&self, left: &Expr, right: &Expr, wanted: bool) -> Option<Predicate> {
        let (side, literal) = match (literal_of(left), literal_of(right)) {
            (None, Some(literal)) => (left, literal),
            (Some(literal), None) => (right, literal),
            _ => return None,
        };
        let same = match literal {
            literal if literal.is_null() => self.presence(side, false),
            // A condition, or a boolean column, is true, false or null.
            ScalarValue::Boolean(Some(value)) => self.holds(side, *value),
            literal => {
                let literal = Expr::Literal(literal.clone(), None);
                let equal = self.compare(side, CompareOperator::Eq, &[literal])?;
                Some(equal.polarity(true))
            }
        }?;
        Some(if wanted { same } else { not_true(same) })
    }

    /// Whether a condition is null, or its opposite; never null itself.
    fn unknown(&self, condition: &Expr, wanted: bool) -> Option<Predicate> {
        let definite = or(vec![self.holds(condition, true)?, self.holds(condition, false)?]);
        Some(if wanted { not_true(definite) } else { definite })
    }

    /// `expression IS value`, or its opposite; never null itself.
    fn definite(&self, expression: &Expr, value: bool, wanted: bool) -> Option<Predicate> {
        let inner = self.holds(expression, value)?;
        Some(if wanted { inner } else { not_true(inner) })
    }

    fn presence(&self, expression: &Expr, present: bool) -> Option<Predicate> {
        let Some((source, _)) = self.column(expression) else {
            return self.unknown(expression, !present);
        };
        // A cast of an integer is null exactly where the integer is.
        let column = match source {
            ColumnSource::Integer { column, total: false, .. }
            | ColumnSource::Float(column)
            | ColumnSource::Bool(column)
            | ColumnSource::Timestamp(column) => column,
            ColumnSource::Keyword(field) => system_fields::column_of(field),
            ColumnSource::DuplicateOf
            | ColumnSource::Jaccard
            | ColumnSource::Cluster
            | ColumnSource::ClusterSize
            | ColumnSource::ContaminatedBy => return None,
            _ => return Some(if present { Predicate::All } else { Predicate::Nothing }),
        };
        Some(Predicate::Present { column, negated: !present })
    }

    /// `left operator literal`, for one of the literals; more than one only with equality.
    fn compare(
        &self,
        left: &Expr,
        operator: CompareOperator,
        literals: &[Expr],
    ) -> Option<LiteralComparison> {
        let mut values = Vec::with_capacity(literals.len());
        let mut null = false;
        for literal in literals {
            let value = literal_of(literal)?;
            if value.is_null() {
                null = true;
            } else {
                values.push(value);
            }
        }
        let (source, cast) = self.column(left)?;
        let numbers = |of: fn(CompareOperator, &ScalarValue) -> Option<IntervalSet>| {
            let each: Option<Vec<IntervalSet>> =
                values.iter().map(|value| of(operator, value)).collect();
            each.map(IntervalSet::union_of)
        };
        let integers = match cast {
            Some(NumberCast::Rounding) => intervals::of_doubles,
            Some(NumberCast::Exact) | None => intervals::of_integers,
        };
        let leaf = match source {
            ColumnSource::Id => ComparisonLeaf::Id(numbers(integers)?),
            ColumnSource::Integer { column, .. } => {
                ComparisonLeaf::Number(column, numbers(integers)?)
            }
            ColumnSource::Float(column) => {
                ComparisonLeaf::Number(column, numbers(intervals::of_floats)?)
            }
            ColumnSource::Bool(column) => {
                ComparisonLeaf::Number(column, numbers(intervals::of_truths)?)
            }
            ColumnSource::Timestamp(column) => {
                ComparisonLeaf::Number(column, numbers(intervals::of_timestamps)?)
            }
            ColumnSource::Key => {
                let texts: Option<Vec<&str>> =
                    values.iter().map(|literal| literal.try_as_str().flatten()).collect();
                let keys: Vec<String> = texts?.into_iter().map(str::to_owned).collect();
                match operator {
                    _ if keys.len() > MOST_KEYS => return None,
                    CompareOperator::Eq => ComparisonLeaf::Key(keys, false),
                    CompareOperator::NotEq => ComparisonLeaf::Key(keys, true),
                    _ => return None,
                }
            }
            ColumnSource::Kept
            | ColumnSource::Standing
            | ColumnSource::SourceName
            | ColumnSource::Keyword(_) => {
                let negated = match operator {
                    CompareOperator::Eq => false,
                    CompareOperator::NotEq => true,
                    _ => return None,
                };
                let (field, values) = self.terms(source, &values)?;
                ComparisonLeaf::Value(field, values, negated)
            }
            _ => return None,
        };
        Some(LiteralComparison { leaf, null })
    }

    /// Literals as values of the term dictionary; those that no term can equal are left out.
    fn terms(
        &self,
        source: ColumnSource,
        literals: &[&ScalarValue],
    ) -> Option<(FieldId, Vec<Vec<u8>>)> {
        if source == ColumnSource::Kept {
            let wanted: Option<Vec<bool>> = literals
                .iter()
                .map(|literal| match literal {
                    ScalarValue::Boolean(value) => *value,
                    _ => None,
                })
                .collect();
            let wanted = wanted?;
            let standings =
                Standing::ALL.into_iter().filter(|s| wanted.contains(&(*s == Standing::Kept)));
            return Some((system_fields::STANDING, self.standing_values(standings)));
        }
        let texts: Option<Vec<&str>> =
            literals.iter().map(|literal| literal.try_as_str().flatten()).collect();
        let texts = texts?.into_iter();
        Some(match source {
            ColumnSource::Standing => (
                system_fields::STANDING,
                self.standing_values(texts.filter_map(Standing::from_name)),
            ),
            ColumnSource::SourceName => {
                let found = texts.filter_map(|name| self.view.source_named(name));
                (
                    system_fields::SOURCE,
                    found.map(|(source, _)| system_fields::source_value(source)).collect(),
                )
            }
            ColumnSource::Keyword(field) => {
                (field, texts.map(system_fields::keyword_value).collect())
            }
            _ => return None,
        })
    }

    fn standing_values(&self, standings: impl Iterator<Item = Standing>) -> Vec<Vec<u8>> {
        let generation: Generation = self.view.generation();
        standings.map(|standing| system_fields::standing_value(generation, standing)).collect()
    }

    fn standings(&self, standings: &[Standing], negated: bool) -> Predicate {
        let values = self.standing_values(standings.iter().copied());
        Predicate::Value { field: system_fields::STANDING, values, negated }
    }

    /// A column, or an integer column under the cast that comes with it.
    fn column(&self, expression: &Expr) -> Option<(ColumnSource, Option<NumberCast>)> {
        if let Some(source) = self.source(expression) {
            return Some((source, None));
        }
        // Casts of an integer column to another number come from the user, or from the engine's coercion.
        let (inner, cast) = uncast_number(expression)?;
        let source = self.source(inner)?;
        matches!(source, ColumnSource::Id | ColumnSource::Integer { .. })
            .then_some((source, Some(cast)))
    }

    fn source(&self, expression: &Expr) -> Option<ColumnSource> {
        match expression {
            Expr::Column(column) => self.columns.named(&column.name).map(|column| column.source),
            _ => None,
        }
    }
}

/// A comparison with literals, before negation is applied.
struct LiteralComparison {
    leaf: ComparisonLeaf,
    /// Whether a literal was null: then the comparison is never false, and true only through another literal.
    null: bool,
}

enum ComparisonLeaf {
    Id(IntervalSet),
    Key(Vec<String>, bool),
    Number(ColumnId, IntervalSet),
    Value(FieldId, Vec<Vec<u8>>, bool),
}

impl LiteralComparison {
    fn polarity(self, wanted: bool) -> Predicate {
        if self.null && !wanted {
            return Predicate::Nothing;
        }
        let side = |ranges: IntervalSet| if wanted { ranges } else { ranges.complement() };
        match self.leaf {
            ComparisonLeaf::Id(ranges) => Predicate::Id(side(ranges)),
            ComparisonLeaf::Number(column, ranges) => {
                Predicate::Number { column, within: side(ranges) }
            }
            // `x <> null` has no other literal that could make it true.
            ComparisonLeaf::Key(_, true) | ComparisonLeaf::Value(_, _, true) if self.null => {
                Predicate::Nothing
            }
            ComparisonLeaf::Key(keys, negated) => {
                Predicate::Key { keys, negated: negated == wanted }
            }
            ComparisonLeaf::Value(field, values, negated) => {
                Predicate::Value { field, values, negated: negated == wanted }
            }
        }
    }
}

fn and(parts: Vec<Predicate>) -> Predicate {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Predicate::All => {}
            Predicate::Nothing => return Predicate::Nothing,
            Predicate::And(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    flat = merge_numbers(flat);
    match flat.len() {
        0 => Predicate::All,
        1 => flat.pop().unwrap_or(Predicate::All),
        _ => Predicate::And(flat),
    }
}

/// Merges the ranges of each column, so that its blocks are scanned once.
fn merge_numbers(parts: Vec<Predicate>) -> Vec<Predicate> {
    let mut merged: Vec<Predicate> = Vec::with_capacity(parts.len());
    for part in parts {
        if let Predicate::Number { column, within } = &part {
            let same = merged.iter_mut().find_map(|earlier| match earlier {
                Predicate::Number { column: known, within } if known == column => Some(within),
                _ => None,
            });
            if let Some(earlier) = same {
                *earlier = earlier.intersection(within);
                continue;
            }
        }
        merged.push(part);
    }
    merged
}

fn or(parts: Vec<Predicate>) -> Predicate {
    let mut flat = Vec::with_capacity(parts.len());
    for part in parts {
        match part {
            Predicate::Nothing => {}
            Predicate::All => return Predicate::All,
            Predicate::Or(inner) => flat.extend(inner),
            other => flat.push(other),
        }
    }
    match flat.len() {
        0 => Predicate::Nothing,
        1 => flat.pop().unwrap_or(Predicate::Nothing),
        _ => Predicate::Or(flat),
    }
}

fn not_true(inner: Predicate) -> Predicate {
    match inner {
        Predicate::All => Predicate::Nothing,
        Predicate::Nothing => Predicate::All,
        other => Predicate::NotTrue(Box::new(other)),
    }
}

/// The value of a literal, also of a text under a cast between string types.
fn literal_of(expression: &Expr) -> Option<&ScalarValue> {
    match expression {
        Expr::Literal(value, _) => Some(value),
        Expr::Cast(cast) if cast.field.data_type().is_string() => match &*cast.expr {
            Expr::Literal(value, _) => value.try_as_str().map(|_| value),
            _ => None,
        },
        _ => None,
    }
}

/// The effect of a cast on an integer.
#[derive(Clone, Copy)]
enum NumberCast {
    /// The number stays.
    Exact,
    /// Beyond 2^53 it becomes the nearest double.
    Rounding,
}

/// The expression under a cast to doubles, 64-bit integers, or decimals that hold all 64-bit integers.
fn uncast_number(expression: &Expr) -> Option<(&Expr, NumberCast)> {
    let (inner, to) = match expression {
        Expr::Cast(cast) => (&*cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&*cast.expr, cast.field.data_type()),
        _ => return None,
    };
    let cast = match to {
        DataType::Float64 => NumberCast::Rounding,
        DataType::Int64 => NumberCast::Exact,
        DataType::Decimal128(precision, scale)
            if *scale >= 0 && i16::from(*precision) - i16::from(*scale) >= 19 =>
        {
            NumberCast::Exact
        }
        _ => return None,
    };
    Some((inner, cast))
}
