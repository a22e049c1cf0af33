//! The dialect of SQL that is parsed, and its tokens with their places in the text.
//!
//! `->` and `->>` bind before comparisons, and `IS [NOT] DISTINCT FROM` ends before AND and OR.

use super::rows;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword::{DISTINCT, FROM, IS, NOT};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{
    Location, Token, TokenWithSpan, Tokenizer, TokenizerError,
};
use model::invariant::text_part;
use model::text_file::without_byte_order_mark;
use std::any::TypeId;

/// How tightly `->` and `->>` bind: before `::` (50), behind the dot (100). The parser's own value lies below that of
/// `=`, by which `meta ->> 'a' = 'b'` would ask for the member that `'a' = 'b'` names.
const MEMBER: u8 = 60;

/// The operator that `-x` has: its left side is 0.
pub(in crate::sql) const NEGATIVE: &str = "-";

#[derive(Debug)]
pub(in crate::sql) struct CorpusDialect;

/// Answers as the generic dialect does: `as_generic! { supports_limit_comma }`.
macro_rules! as_generic {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool { GenericDialect.$name() })*
    };
}

impl Dialect for CorpusDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_delimited_identifier_start(ch)
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        GenericDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        GenericDialect.is_identifier_part(ch)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match parser.peek_token_ref().token {
            Token::Arrow | Token::LongArrow => Some(Ok(MEMBER)),
            _ => None,
        }
    }

    /// `-x` is an operator of two sides, which the engine asks a rule of ours about: it has none for ids, which have no
    /// sign.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if !parser.consume_token(&Token::Minus) {
            return None;
        }
        let negative = |inner: Expr| match &inner {
            Expr::Interval(_) => Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(inner) },
            Expr::Value(value) if matches!(value.value, Value::Number(..)) => {
                Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(inner) }
            }
            _ => {
                let zero = Value::Number("0".to_owned(), false).with_empty_span();
                let op = BinaryOperator::Custom(NEGATIVE.to_owned());
                let left = Box::new(Expr::Value(zero));
                Expr::Nested(Box::new(Expr::BinaryOp { left, op, right: Box::new(inner) }))
            }
        };
        Some(parser.parse_subexpr(self.prec_value(Precedence::MulDivModOp)).map(negative))
    }

    /// The parser's generic rule takes everything that follows, also an AND, for the right side.
    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        _: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Expr::Tuple(left) = left {
            return rows::compared(parser, self.prec_value(Precedence::Eq), left);
        }
        let make = if parser.parse_keywords(&[IS, DISTINCT, FROM]) {
            Expr::IsDistinctFrom
        } else if parser.parse_keywords(&[IS, NOT, DISTINCT, FROM]) {
            Expr::IsNotDistinctFrom
        } else {
            return None;
        };
        let right = parser.parse_subexpr(self.prec_value(Precedence::Is));
        Some(right.map(|right| make(Box::new(left.clone()), Box::new(right))))
    }

    as_generic! {
        supports_unicode_string_literal
        supports_partition_by_after_order_by
        supports_array_join_syntax
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_left_associative_joins_without_parens
        supports_connect_by
        supports_match_recognize
        supports_pipe_operator
        supports_start_transaction_modifier
        supports_window_function_null_treatment_arg
        supports_dictionary_syntax
        supports_window_clause_named_window_reference
        supports_parenthesized_set_variables
        supports_select_wildcard_except
        support_map_literal_syntax
        allow_extract_custom
        allow_extract_single_quotes
        supports_extract_comma_syntax
        supports_create_view_comment_syntax
        supports_parens_around_table_factor
        supports_values_as_table_factor
        supports_create_index_with_clause
        supports_explain_with_utility_options
        supports_limit_comma
        supports_update_order_by
        supports_from_first_select
        supports_projection_trailing_commas
        supports_asc_desc_in_column_definition
        supports_try_convert
        supports_bitwise_shift_operators
        supports_comment_on
        supports_load_extension
        supports_named_fn_args_with_assignment_operator
        supports_struct_literal
        supports_empty_projections
        supports_nested_comments
        supports_multiline_comment_hints
        supports_user_host_grantee
        supports_string_escape_constant
        supports_array_typedef_with_brackets
        supports_match_against
        supports_set_names
        supports_comma_separated_set_assignments
        supports_filter_during_aggregation
        supports_select_wildcard_exclude
        supports_data_type_signed_suffix
        supports_interval_options
        supports_quote_delimited_string
        supports_select_wildcard_replace
        supports_select_wildcard_ilike
        supports_select_wildcard_rename
        supports_optimize_table
        supports_install
        supports_detach
        supports_prewhere
        supports_with_fill
        supports_limit_by
        supports_interpolate
        supports_settings
        supports_select_format
        supports_comment_optimizer_hint
        supports_constraint_keyword_without_name
        supports_key_column_option
        supports_comma_separated_trim
        supports_cte_without_as
        supports_select_item_multi_column_alias
        supports_xml_expressions
    }
}

pub(in crate::sql) static DIALECT: CorpusDialect = CorpusDialect;

/// The tokens of `sql` up to the first invalid one, without a byte order mark, and the error about that one.
pub(in crate::sql) fn tokens(sql: &str) -> (Vec<TokenWithSpan>, Option<TokenizerError>) {
    let mut tokens = Vec::new();
    let sql = without_byte_order_mark(sql);
    let failed = Tokenizer::new(&DIALECT, sql).tokenize_with_location_into_buf(&mut tokens).err();
    (tokens, failed)
}

/// Converts places, which the tokenizer counts in lines and characters, into bytes. Places must be asked for in
/// ascending order.
pub(in crate::sql) struct SqlTokenOffsets<'a> {
    text: &'a str,
    byte: usize,
    at: Location,
}

impl<'a> SqlTokenOffsets<'a> {
    pub(in crate::sql) const fn of(text: &'a str) -> Self {
        Self { text, byte: 0, at: Location { line: 1, column: 1 } }
    }

    pub(in crate::sql) fn byte_of(&mut self, place: Location) -> usize {
        for c in text_part(self.text, self.byte..).chars() {
            if self.at >= place {
                break;
            }
            self.byte += c.len_utf8();
            self.at = match c {
                '\n' => Location { line: self.at.line + 1, column: 1 },
                _ => Location { line: self.at.line, column: self.at.column + 1 },
            };
        }
        self.byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An expression with brackets around whatever belongs together.
    fn shape(expression: &Expr) -> String {
        match expression {
            Expr::BinaryOp { left, op, right } => {
                format!("({} {op} {})", shape(left), shape(right))
            }
            Expr::UnaryOp { op, expr } => format!("({op} {})", shape(expr)),
            Expr::Like { expr, pattern, .. } => format!("({} LIKE {pattern})", shape(expr)),
            Expr::InList { expr, .. } => format!("({} IN ..)", shape(expr)),
            Expr::Cast { expr, data_type, .. } => format!("({}::{data_type})", shape(expr)),
            Expr::IsDistinctFrom(a, b) => format!("({} <> {})", shape(a), shape(b)),
            Expr::IsNotDistinctFrom(a, b) => format!("({} <=> {})", shape(a), shape(b)),
            other => other.to_string(),
        }
    }

    #[test]
    fn members_are_taken_before_they_are_compared() {
        for (sql, expected) in [
            ("meta ->> 'a' = 'b'", "((meta ->> 'a') = 'b')"),
            ("'b' = meta ->> 'a'", "('b' = (meta ->> 'a'))"),
            ("meta -> 'a' ->> 0 LIKE 'b%'", "(((meta -> 'a') ->> 0) LIKE 'b%')"),
            ("meta ->> 'n'::INT + 1 > 2", "((((meta ->> 'n')::INT) + 1) > 2)"),
            ("NOT meta ->> 'a' IN ('x') AND d.kept", "((NOT ((meta ->> 'a') IN ..)) AND d.kept)"),
            ("d.meta ->> 'a' || 'x'", "((d.meta ->> 'a') || 'x')"),
        ] {
            let mut parser = Parser::new(&CorpusDialect).try_with_sql(sql).unwrap();
            assert_eq!(shape(&parser.parse_expr().unwrap()), expected, "{sql}");
        }
    }

    #[test]
    fn distinct_from_ends_before_and_and_or() {
        for (sql, expected) in [
            ("a IS DISTINCT FROM b AND c", "((a <> b) AND c)"),
            ("a IS NOT DISTINCT FROM b OR c", "((a <=> b) OR c)"),
            ("NOT a IS DISTINCT FROM b AND c", "((NOT (a <> b)) AND c)"),
            ("a + 1 IS DISTINCT FROM b * 2 AND c", "(((a + 1) <> (b * 2)) AND c)"),
            ("a IS DISTINCT FROM b = c", "(a <> (b = c))"),
            ("a IS DISTINCT FROM meta ->> 'b' AND c", "((a <> (meta ->> 'b')) AND c)"),
            ("a IS DISTINCT FROM b IS DISTINCT FROM c", "((a <> b) <> c)"),
            ("a = b IS NOT DISTINCT FROM c", "((a = b) <=> c)"),
        ] {
            let mut parser = Parser::new(&CorpusDialect).try_with_sql(sql).unwrap();
            assert_eq!(shape(&parser.parse_expr().unwrap()), expected, "{sql}");
        }
    }
}
