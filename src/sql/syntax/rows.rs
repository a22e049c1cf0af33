//! `(a, b) = (c, d)` and `(a, b) IN ((1, 'x'), ..)`: comparisons of several values with as many, value by value.
//!
//! The engine makes structures of both sides, of names and constants alone, and has other nulls for them than SQL.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use datafusion::sql::sqlparser::keywords::Keyword::{IN, NOT, SELECT, WITH};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// What follows several values in brackets, where it is a comparison; its right side binds by `precedence`.
pub(super) fn compared(
    parser: &mut Parser<'_>,
    precedence: u8,
    left: &[Expr],
) -> Option<Result<Expr, ParserError>> {
    let negated = if parser.parse_keywords(&[NOT, IN]) || parser.consume_token(&Token::Neq) {
        true
    } else if parser.parse_keyword(IN) || parser.consume_token(&Token::Eq) {
        false
    } else {
        return None;
    };
    let listed = matches!(parser.get_current_token().token, Token::Word(_));
    let found = match listed {
        true => members(parser),
        false => parser.parse_subexpr(precedence).map(|row| vec![row]),
    };
    Some(found.and_then(|rows| one_of(left, rows)).map(|equal| match negated {
        true => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(equal) },
        false => equal,
    }))
}

/// The list behind IN.
fn members(parser: &mut Parser<'_>) -> Result<Vec<Expr>, ParserError> {
    parser.expect_token(&Token::LParen)?;
    if parser.peek_keyword(SELECT) || parser.peek_keyword(WITH) {
        return Err(ParserError::ParserError(
            "several values IN a subquery: write EXISTS (SELECT 1 FROM .. WHERE x = a AND y = b)"
                .to_owned(),
        ));
    }
    let rows = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(rows)
}

/// That the values are those of one of the rows.
fn one_of(left: &[Expr], rows: Vec<Expr>) -> Result<Expr, ParserError> {
    let rows = rows.into_iter().map(|row| equal(left, row)).collect::<Result<Vec<_>, _>>()?;
    joined(rows, BinaryOperator::Or)
}

fn equal(left: &[Expr], right: Expr) -> Result<Expr, ParserError> {
    let right = match right {
        Expr::Tuple(right) if right.len() == left.len() => right,
        other => {
            return Err(ParserError::ParserError(format!(
                "{} values are compared with `{other}`: write as many in brackets",
                left.len()
            )));
        }
    };
    let pairs = left.iter().cloned().zip(right);
    joined(pairs.map(|(left, right)| both(left, BinaryOperator::Eq, right)), BinaryOperator::And)
}

fn joined(parts: impl IntoIterator<Item = Expr>, op: BinaryOperator) -> Result<Expr, ParserError> {
    let all = parts.into_iter().reduce(|all, part| both(all, op.clone(), part));
    let all = all.ok_or_else(|| ParserError::ParserError("no value stands in brackets".to_owned()));
    all.map(|all| Expr::Nested(Box::new(all)))
}

fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}
