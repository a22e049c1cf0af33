//! Bounds the size and depth of a statement before anything recurses over it.
//!
//! Parsing and planning recurse with the depth of an expression, and a table named by WITH is planned again wherever it
//! stands: a few kilobytes of SQL could overflow the stack, or fill the memory with plans. [`check_text`] counts tokens
//! in one loop, before the parser; [`check_statement`] counts tables and expressions with all names of WITH expanded,
//! before the planner.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, Visit, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Bytes of a statement.
const BYTES: usize = 8 << 20;
/// Tokens of a statement: a list of half as many values.
const TOKENS: usize = 1 << 19;
/// Operators, words and brackets: each may take the one before it as its operand.
const DEPTH: usize = 1000;
/// Tables of a statement, those of WITH counted as often as they are named; an inner query that reads no table counts
/// as one.
const TABLES: u64 = 256;
/// How many times larger an expression may become when the names of inner queries are expanded.
const GROWTH: u64 = 1 << 16;

/// Refuses a text that is too long, or may be too deep to parse; answers why, and the way out.
pub(crate) fn check_text(sql: &str) -> Result<(), String> {
    if sql.len() > BYTES {
        return Err(format!("it has {} bytes, more than {BYTES}", sql.len()));
    }
    // The parser refuses what the tokenizer cannot read, with the place.
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return Ok(()) };
    if tokens.len() > TOKENS {
        return Err(format!(
            "it has {} words and signs, more than {TOKENS}: split it into several statements",
            tokens.len()
        ));
    }
    let deepest = depth(&tokens);
    if deepest > DEPTH {
        return Err(format!(
            "it nests or chains up to {deepest} operators, more than {DEPTH}: write `x IN (..)` for many values of a column"
        ));
    }
    Ok(())
}

/// One open level of brackets.
#[derive(Clone, Copy, Default)]
struct BracketLevel {
    /// Since the last comma: what follows a comma does not nest in what stands before it.
    links: usize,
    /// Set operations: each holds all queries before it, with or without commas.
    sets: usize,
}

/// An upper bound of the depth of the tree that the tokens parse to: every level of the tree has a token of its own
/// that is neither a value nor a name nor a comma.
fn depth(tokens: &[Token]) -> usize {
    let mut outer: Vec<BracketLevel> = Vec::new();
    let (mut level, mut around, mut deepest) = (BracketLevel::default(), 0, 0);
    for token in tokens {
        match token {
            Token::Whitespace(_)
            | Token::EOF
            | Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::Char(_) => {}
            Token::Comma => level.links = 0,
            Token::LParen | Token::LBracket | Token::LBrace => {
                around += level.links + level.sets + 1;
                outer.push(std::mem::take(&mut level));
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                if let Some(before) = outer.pop() {
                    level = before;
                    around -= level.links + level.sets + 1;
                    // What follows a bracket may hold its content: `f(x)(y)`, `x[1][2]`.
                    level.links += 1;
                }
            }
            Token::Word(word) => match word.keyword {
                Keyword::NoKeyword => {}
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS => {
                    level.sets += 1;
                }
                _ => level.links += 1,
            },
            _ => level.links += 1,
        }
        deepest = deepest.max(around + level.links + level.sets);
    }
    deepest
}

/// Refuses a statement that becomes too large when names of inner queries are expanded; answers why, and the way out.
pub(crate) fn check_statement(statement: &Statement) -> Result<(), String> {
    let statement = match statement {
        Statement::Statement(statement) => statement,
        Statement::Explain(explain) => return check_statement(&explain.statement),
        _ => return Ok(()),
    };
    let mut spelt = StatementSizer::default();
    let _ = statement.visit(&mut spelt);
    let whole = spelt.largest;
    if whole.tables > TABLES {
        return Err(format!(
            "with the queries of WITH in place of their names it reads {} tables or subqueries, more than {TABLES}",
            many(whole.tables)
        ));
    }
    if whole.growth > GROWTH {
        return Err(format!(
            "nested subqueries that use a column several times may make an expression {} times as large, more than {GROWTH}",
            many(whole.growth)
        ));
    }
    Ok(())
}

fn many(count: u64) -> String {
    if count == u64::MAX { "2^64 and more".to_owned() } else { count.to_string() }
}

/// The size of a query with all names expanded.
#[derive(Clone, Copy, Debug)]
struct QuerySize {
    tables: u64,
    growth: u64,
}

#[derive(Default)]
struct OpenQuery {
    tables: u64,
    /// The growth of the queries that this one reads.
    growth: u64,
    /// How often each column is named.
    names: BTreeMap<String, u64>,
    /// How many names of WITH were known before this query's own.
    known: usize,
}

struct StatementSizer {
    open: Vec<OpenQuery>,
    /// Queries of WITH that can be named here; of equal names the last counts.
    known: Vec<(String, QuerySize)>,
    /// The name that a query of WITH will have, by the query's address.
    named: BTreeMap<usize, String>,
    largest: QuerySize,
}

impl Default for StatementSizer {
    fn default() -> Self {
        let largest = QuerySize { tables: 0, growth: 1 };
        Self { open: Vec::new(), known: Vec::new(), named: BTreeMap::new(), largest }
    }
}

fn place(query: &Query) -> usize {
    std::ptr::from_ref(query).addr()
}

impl Visitor for StatementSizer {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.named.insert(place(&table.query), table.alias.name.value.to_lowercase());
        }
        self.open.push(OpenQuery { known: self.known.len(), ..OpenQuery::default() });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let Some(done) = self.open.pop() else { return ControlFlow::Continue(()) };
        self.known.truncate(done.known);
        let most = done.names.values().copied().max().unwrap_or(1);
        let size =
            QuerySize { tables: done.tables, growth: done.growth.max(1).saturating_mul(most) };
        match (self.named.remove(&place(query)), self.open.last_mut()) {
            // A query that reads no table is still work wherever it is named.
            (Some(name), _) => {
                self.known.push((name, QuerySize { tables: size.tables.max(1), ..size }));
            }
            (None, Some(outer)) => {
                outer.tables = outer.tables.saturating_add(size.tables.max(1));
                outer.growth = outer.growth.max(size.growth);
            }
            (None, None) => {}
        }
        self.largest.tables = self.largest.tables.max(size.tables);
        // The outermost query's own expressions stay as they are written.
        self.largest.growth = self.largest.growth.max(size.growth / most.max(1));
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let name = relation.to_string().to_lowercase();
        let known = self.known.iter().rev().find(|(known, _)| *known == name.trim_matches('"'));
        let size = known.map_or(QuerySize { tables: 1, growth: 1 }, |(_, size)| *size);
        if let Some(open) = self.open.last_mut() {
            open.tables = open.tables.saturating_add(size.tables);
            open.growth = open.growth.max(size.growth);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> ControlFlow<()> {
        let name = match expression {
            Expr::Identifier(name) => Some(name),
            Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        if let (Some(name), Some(open)) = (name, self.open.last_mut()) {
            *open.names.entry(name.value.to_lowercase()).or_default() += 1;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParserBuilder;

    fn deep(sql: &str) -> usize {
        depth(&Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap())
    }

    fn spelt(sql: &str) -> Result<(), String> {
        let mut parser = DFParserBuilder::new(sql).build().unwrap();
        check_statement(&parser.parse_statements().unwrap().pop_front().unwrap())
    }

    #[test]
    fn chains_and_brackets_are_deep_and_lists_are_not() {
        assert_eq!(deep("1 + 1 + 1"), 2);
        assert_eq!(deep("f(g(h(1)))"), 3);
        assert_eq!(deep("(1, 2 + 3, 4 * 5)"), 2);
        assert!(deep(&format!("x IN ({})", "'a', ".repeat(9999))) < 5);
        assert!(deep(&"1 + ".repeat(9999)) == 9999);
        assert!(deep(&"SELECT 1, 2 UNION ".repeat(999)) >= 999);
        assert!(deep(&"(".repeat(999)) == 999);
        assert!(deep(")))") == 0);
        let list = "1, ".repeat(100_000);
        assert_eq!(check_text(&format!("SELECT id FROM documents WHERE id IN ({list} 1)")), Ok(()));
        assert!(check_text(&format!("SELECT {list}1, {list}1, {list}1")).is_err());
        assert!(
            check_text(&format!("SELECT {}1", "1+".repeat(20_000))).unwrap_err().contains("20")
        );
        // The parser says where a text that ends in a string breaks off.
        assert_eq!(check_text("SELECT 'a"), Ok(()));
    }

    #[test]
    fn names_of_with_count_as_often_as_they_stand() {
        let doubled = |levels: usize| {
            let mut sql = "WITH t0 AS (SELECT id FROM documents)".to_owned();
            for level in 1..=levels {
                let before = level - 1;
                sql += &format!(", t{level} AS (SELECT a.id FROM t{before} a, t{before} b)");
            }
            format!("{sql} SELECT count(*) FROM t{levels}")
        };
        assert_eq!(spelt(&doubled(8)), Ok(()));
        assert!(spelt(&doubled(9)).unwrap_err().contains("512 tables"));
        assert!(spelt(&doubled(100)).unwrap_err().contains("2^64"));
        let of_nothing = doubled(29).replace("SELECT id FROM documents", "SELECT 1 AS id");
        assert!(spelt(&of_nothing).unwrap_err().contains("536870912 tables"));
        let beside = |queries: usize| {
            let inner: Vec<_> =
                (0..queries).map(|n| format!("(VALUES (1), (2)) AS v{n}")).collect();
            format!("SELECT count(*) FROM {}", inner.join(", "))
        };
        assert_eq!(spelt(&beside(256)), Ok(()));
        assert!(spelt(&beside(257)).unwrap_err().contains("257 tables or subqueries"));
        let grown = |levels: usize| {
            let mut sql = "WITH t0 AS (SELECT id AS x FROM documents)".to_owned();
            for level in 1..=levels {
                sql += &format!(", t{level} AS (SELECT x + x AS x FROM t{})", level - 1);
            }
            format!("{sql} SELECT x FROM t{levels} WHERE x > 7")
        };
        assert_eq!(spelt(&grown(15)), Ok(()));
        assert!(spelt(&grown(17)).unwrap_err().contains("times as large"));
        // A name that is taken twice is that of the query it stands in.
        assert_eq!(
            spelt(
                "WITH a AS (SELECT 1 AS x) SELECT * FROM (WITH a AS (SELECT 2 AS x) SELECT x FROM a) b, a"
            ),
            Ok(())
        );
        assert_eq!(spelt("EXPLAIN SELECT id FROM documents"), Ok(()));
    }
}
