//! The engine's parser, set up so that names of columns are names wherever they stand.

use super::dialect::DIALECT;
use super::{dialect, parameters, presets};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParser, DFParserBuilder, Statement};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The table functions: name, arguments, meaning.
pub(in crate::sql) const TABLE_FUNCTIONS: [(&str, &str, &str); 6] = [
    (
        "documents_at",
        "documents_at('SNAPSHOT')",
        "the documents that a snapshot keeps, with today's columns of `documents`",
    ),
    (
        "generate_series",
        "generate_series(FIRST, LAST [, STEP])",
        "a row for every number or moment, the last one included",
    ),
    ("range", "range(FIRST, END [, STEP])", "the same without the end"),
    (
        "read_csv",
        "read_csv('PATH')",
        "the rows of files of separated values, whose first line names the columns",
    ),
    ("read_json", "read_json('PATH')", "the objects of JSON files: one a line, or in a list"),
    ("read_parquet", "read_parquet('PATH')", "the rows of Parquet files"),
];

/// The table function that a word names, in any case.
pub(in crate::sql) fn table_function(word: &str) -> Option<&'static str> {
    TABLE_FUNCTIONS.iter().map(|(name, ..)| *name).find(|name| name.eq_ignore_ascii_case(word))
}

/// Nested parentheses, at most.
const NESTING: usize = 200;

/// A parser at the beginning of `sql`.
pub(crate) fn parser(sql: &str) -> Result<DFParser<'static>, DataFusionError> {
    let mut tokens = spelled_out(sql)?;
    free_names(&mut tokens);
    parameters::number(&mut tokens)?;
    DFParserBuilder::new(tokens).with_dialect(&DIALECT).with_recursion_limit(NESTING).build()
}

/// The tokens of `sql`, with every `preset(..)` replaced by its thresholds.
fn spelled_out(sql: &str) -> Result<Vec<TokenWithSpan>, ParserError> {
    match dialect::tokens(sql) {
        (tokens, None) => presets::spelled_out(tokens),
        (_, Some(error)) => Err(error.into()),
    }
}

/// Whether an expression names a column, in or out of double quotes. For an expression that the tokenizer cannot read:
/// whether its text contains the name.
#[must_use]
pub fn names_column(expression: &str, column: &str) -> bool {
    let Ok(tokens) = spelled_out(expression) else {
        return expression.contains(column);
    };
    tokens.iter().any(|token| match &token.token {
        Token::Word(word) if word.quote_style.is_some() => word.value == column,
        Token::Word(word) => word.value.to_lowercase() == column,
        _ => false,
    })
}

/// The words of an expression that may be names of columns, as SQL reads them.
pub(crate) fn names(expression: &str) -> Vec<String> {
    let tokens = spelled_out(expression).unwrap_or_default();
    let words = tokens.into_iter().filter_map(|token| match token.token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value),
        Token::Word(word) => Some(word.value.to_lowercase()),
        _ => None,
    });
    words.collect()
}

/// Parses the only statement of `sql`.
///
/// # Errors
/// [`DataFusionError::SQL`] with the place; [`DataFusionError::Plan`] where there are several, or none.
pub(crate) fn statement(sql: &str) -> Result<Statement, DataFusionError> {
    let mut statements = parser(sql)?.parse_statements()?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => Ok(statement),
        _ => Err(DataFusionError::Plan("it is not one statement".to_owned())),
    }
}

/// Turns keywords that begin a clause into names where they follow a comma, since no clause begins there. A list of
/// columns may end in a comma, so the parser took it to end before such a word, and `SELECT id, cluster` failed. FROM
/// and what may follow it stay keywords, since `SELECT id, FROM documents` is valid. Table functions are looked up case
/// by case, so their names are spelled as they are registered.
fn free_names(tokens: &mut [TokenWithSpan]) {
    let mut after_comma = false;
    for token in tokens {
        match &mut token.token {
            Token::Whitespace(_) => {}
            Token::Word(word) => {
                if let Some(name) = table_function(&word.value)
                    && word.quote_style.is_none()
                {
                    name.clone_into(&mut word.value);
                }
                if after_comma && begins_a_clause(word.keyword) {
                    word.keyword = Keyword::NoKeyword;
                }
                after_comma = false;
            }
            other => after_comma = *other == Token::Comma,
        }
    }
}

const fn begins_a_clause(word: Keyword) -> bool {
    matches!(
        word,
        Keyword::CLUSTER
            | Keyword::DISTRIBUTE
            | Keyword::END
            | Keyword::EXCLUDE
            | Keyword::FETCH
            | Keyword::MINUS
            | Keyword::OFFSET
            | Keyword::RETURNING
            | Keyword::SORT
            | Keyword::TOP
            | Keyword::VIEW
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_words_and_not_within_texts() {
        for (expression, named) in [
            ("quality > 0.5 AND kept", true),
            ("QUALITY IS NULL", true),
            ("\"quality\" = 1", true),
            ("\"Quality\" = 1", false),
            ("source = 'quality'", false),
            ("my_quality > 1 -- quality", false),
            ("source = 'quality", true),
        ] {
            assert_eq!(names_column(expression, "quality"), named, "{expression}");
        }
    }

    #[test]
    fn a_word_that_begins_a_clause_is_a_name_after_a_comma() {
        let read = |sql: &str| statement(sql).map(|statement| statement.to_string());
        for sql in [
            "SELECT id, cluster FROM documents",
            "SELECT id AS cluster, sort, offset, view, end FROM t AS cluster",
            "SELECT path, offset FROM t ORDER BY path, offset LIMIT 3 OFFSET 2",
            "SELECT a, CASE WHEN a THEN b ELSE c END, offset + 1 FROM t OFFSET 1",
            "SELECT cluster, count(*) FROM t GROUP BY source, cluster ORDER BY cluster",
            "SELECT a, b FROM t CLUSTER BY a",
            "SELECT a, b FROM t SORT BY a",
            "SELECT \"cluster\", \"by\" FROM t",
        ] {
            assert_eq!(read(sql).unwrap(), sql);
        }
        let commented = "SELECT a FROM t CLUSTER -- a word\n BY a";
        assert_eq!(read(commented).unwrap(), "SELECT a FROM t CLUSTER BY a");
        assert_eq!(read("SELECT a, FROM t").unwrap(), "SELECT a FROM t");
        assert!(read("SELECT 1; SELECT 2").is_err() && read("").is_err());
        let error = read("SELECT a,\n b b b FROM t").unwrap_err().to_string();
        assert!(error.contains("Line: 2, Column: 6"), "{error}");
    }
}
