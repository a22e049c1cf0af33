//! Random columns, groups and predicates: the indexes, the engine and a plain recount agree.

use crate::support::scenarios::TabledCorpus;
use crate::support::{Random, corpusdb, corpusdb_test, json_lines, seeds};
use corpusdb::sql::{PrintFormat, RowPrinter};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// SQL's third truth is none.
type Truth = Option<bool>;
type Test = Box<dyn Fn(&Value) -> Truth>;

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A literal in SQL.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn order(left: &Value, right: &Value) -> Option<std::cmp::Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => {
            left.as_f64().unwrap().partial_cmp(&right.as_f64().unwrap())
        }
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        _ => None,
    }
}

fn compare(left: &Value, operator: &str, right: &Value) -> Truth {
    let order = order(left, right)?;
    Some(match operator {
        "=" => order.is_eq(),
        "<>" => order.is_ne(),
        "<" => order.is_lt(),
        "<=" => order.is_le(),
        ">" => order.is_gt(),
        ">=" => order.is_ge(),
        _ => unreachable!(),
    })
}

fn and(left: Truth, right: Truth) -> Truth {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

fn not(truth: Truth) -> Truth {
    truth.map(|truth| !truth)
}

fn like(text: &[char], pattern: &[char]) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['%', rest @ ..] => (0..=text.len()).any(|at| like(&text[at..], rest)),
        ['_', rest @ ..] => !text.is_empty() && like(&text[1..], rest),
        [c, rest @ ..] => text.first() == Some(c) && like(&text[1..], rest),
    }
}

/// Makes predicates over the columns of `documents`, with what each means for a row.
struct Maker {
    random: Random,
    rows: Vec<Value>,
    /// Whether every test is for a few values of one column that may be null.
    narrow: bool,
}

const NUMBERS: [&str; 10] = [
    "id",
    "commit",
    "bytes",
    "chars",
    "tokens",
    "quality",
    "year",
    "dup_of",
    "cluster_size",
    "jaccard",
];
const WORDS: [&str; 5] = ["source", "language", "url", "standing", "key"];

impl Maker {
    fn column(&mut self) -> &'static str {
        let columns: &[&'static str] = if self.random.chance(55) { &NUMBERS } else { &WORDS };
        columns[self.random.below(columns.len())]
    }

    /// A value of the column: of some row, near to one, or absurd.
    fn value(&mut self, column: &str) -> Value {
        let random = &mut self.random;
        let found = self.rows[random.below(self.rows.len())][column].clone();
        match (random.below(10), &found) {
            (0, Value::String(_)) => json!("o'nothing"),
            (0..2, Value::Number(number)) if number.is_u64() => {
                [json!(number.as_f64().unwrap() + 0.5), json!(-3), json!(99_999_999_999_u64)]
                    [random.below(3)]
                .clone()
            }
            (_, Value::Null) if WORDS.contains(&column) => json!("en"),
            (_, Value::Null) => json!(random.below(2010)),
            _ => found,
        }
    }

    fn predicate(&mut self, depth: usize) -> (String, Test) {
        if depth > 0 && self.random.chance(70) {
            let (left, a) = self.predicate(depth - 1);
            return match self.random.below(6) {
                0 => (format!("NOT ({left})"), Box::new(move |row| not(a(row)))),
                1 => {
                    let negated = self.random.chance(50);
                    let wanted = self.random.chance(50);
                    let word = if negated { "NOT " } else { "" };
                    let what = if wanted { "TRUE" } else { "FALSE" };
                    let test = move |row: &Value| Some((a(row) == Some(wanted)) != negated);
                    (format!("({left}) IS {word}{what}"), Box::new(test))
                }
                2..4 => {
                    let (right, b) = self.predicate(depth - 1);
                    (format!("({left}) AND ({right})"), Box::new(move |row| and(a(row), b(row))))
                }
                _ => {
                    let (right, b) = self.predicate(depth - 1);
                    let test = move |row: &Value| not(and(not(a(row)), not(b(row))));
                    (format!("({left}) OR ({right})"), Box::new(test))
                }
            };
        }
        self.leaf()
    }

    /// `year IN (..)` or `year = ..` of few values, some of them null and some another column.
    fn narrow_leaf(&mut self) -> (String, Test) {
        let negated = self.random.chance(50);
        let listed = self.random.chance(70);
        let values: Vec<&'static str> = (0..if listed { self.random.between(1, 4) } else { 1 })
            .map(|_| *self.random.pick(&["1990", "1991", "1992", "1990", "1991", "NULL", "tokens"]))
            .collect();
        let sql = match (listed, negated) {
            (true, false) => format!("year IN ({})", values.join(", ")),
            (true, true) => format!("year NOT IN ({})", values.join(", ")),
            (false, false) => format!("year = {}", values[0]),
            (false, true) => format!("year <> {}", values[0]),
        };
        let test = move |row: &Value| {
            let each = values.iter().map(|value| match *value {
                "tokens" => compare(&row["year"], "=", &row["tokens"]),
                value => compare(
                    &row["year"],
                    "=",
                    &serde_json::from_str(&value.to_lowercase()).unwrap(),
                ),
            });
            let is_in = not(each.map(not).fold(Some(true), and));
            if negated { not(is_in) } else { is_in }
        };
        (sql, Box::new(test))
    }

    fn leaf(&mut self) -> (String, Test) {
        if self.narrow {
            return self.narrow_leaf();
        }
        let column = self.column();
        let negated = self.random.chance(40);
        let word = if negated { "NOT " } else { "" };
        let polarity = move |truth: Truth| if negated { not(truth) } else { truth };
        match self.random.below(12) {
            0 => (format!("{word}kept"), Box::new(move |row| polarity(row["kept"].as_bool()))),
            1 => {
                let test = move |row: &Value| Some(row[column].is_null() != negated);
                (format!("{column} IS {word}NULL"), Box::new(test))
            }
            2..4 => {
                let mut values: Vec<Value> =
                    (0..self.random.between(1, 6)).map(|_| self.value(column)).collect();
                if self.random.chance(15) {
                    values.push(Value::Null);
                }
                let listed: Vec<String> = values.iter().map(literal).collect();
                let test = move |row: &Value| {
                    let each = values.iter().map(|value| compare(&row[column], "=", value));
                    polarity(not(each.map(not).fold(Some(true), and)))
                };
                (format!("{column} {word}IN ({})", listed.join(", ")), Box::new(test))
            }
            4..6 => {
                let (low, high) = (self.value(column), self.value(column));
                let sql =
                    format!("{column} {word}BETWEEN {} AND {}", literal(&low), literal(&high));
                let test = move |row: &Value| {
                    let value = &row[column];
                    polarity(and(compare(value, ">=", &low), compare(value, "<=", &high)))
                };
                (sql, Box::new(test))
            }
            6 => {
                let column = *self.random.pick(&["text", "url", "source", "meta"]);
                let pattern =
                    *self.random.pick(&["%ba%", "w_b", "%.", "https://%/1_", "%2%0%", "", "%"]);
                let sql = format!("{column} {word}LIKE {}", quoted(pattern));
                let pattern: Vec<char> = pattern.chars().collect();
                let test = move |row: &Value| {
                    let text: Vec<char> = row[column].as_str()?.chars().collect();
                    polarity(Some(like(&text, &pattern)))
                };
                (sql, Box::new(test))
            }
            _ => {
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                let value = if self.random.chance(4) { Value::Null } else { self.value(column) };
                let test = {
                    let value = value.clone();
                    move |row: &Value| compare(&row[column], operator, &value)
                };
                let swapped = self.random.chance(20).then_some(match operator {
                    "<" => ">",
                    "<=" => ">=",
                    ">" => "<",
                    ">=" => "<=",
                    other => other,
                });
                let sql = match swapped {
                    Some(operator) => format!("{} {operator} {column}", literal(&value)),
                    None => format!("{column} {operator} {}", literal(&value)),
                };
                (sql, Box::new(test))
            }
        }
    }
}

/// A column of an answer: SQL, and what it is for a row.
type Column = (String, Box<dyn Fn(&Value) -> Value>);

/// A random one.
fn selected(maker: &mut Maker) -> Column {
    let number = |row: &Value, column: &str| row[column].as_f64();
    let number_or_null = |number: Option<f64>| number.map_or(Value::Null, |number| json!(number));
    let column = NUMBERS[maker.random.below(NUMBERS.len())];
    let word = WORDS[maker.random.below(WORDS.len())];
    match maker.random.below(7) {
        0 => (word.to_owned(), Box::new(move |row| row[word].clone())),
        1 => (column.to_owned(), Box::new(move |row| row[column].clone())),
        2 => (
            format!("CAST({column} AS DOUBLE) * 2 + 1"),
            Box::new(move |row| number_or_null(number(row, column).map(|n| n * 2.0 + 1.0))),
        ),
        3 => (
            format!("coalesce({word}, 'none')"),
            Box::new(
                move |row| if row[word].is_null() { json!("none") } else { row[word].clone() },
            ),
        ),
        4 => (
            format!("meta ->> '{word}'"),
            Box::new(move |row| {
                let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
                match &meta[word] {
                    Value::Null => Value::Null,
                    Value::String(text) => json!(text),
                    other => json!(other.to_string()),
                }
            }),
        ),
        5 => (
            "json_get_int(meta, 'year')".to_owned(),
            Box::new(move |row| {
                let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
                meta["year"].as_i64().map_or(Value::Null, |year| json!(year))
            }),
        ),
        _ => {
            let (condition, test) = maker.predicate(1);
            (
                format!("CASE WHEN {condition} THEN 'yes' ELSE 'no' END"),
                Box::new(move |row| json!(if test(row) == Some(true) { "yes" } else { "no" })),
            )
        }
    }
}

corpusdb_test!(random_columns_and_groups_equal_a_recount, TabledCorpus::new(), |place| {
    let all = place.all();
    let corpus = place.open();
    let mut maker = Maker { random: Random::new(123), rows: all.clone(), narrow: false };
    let asked = |statement: &str| -> Vec<Value> {
        let mut printed = Vec::new();
        let mut printer = RowPrinter::new(PrintFormat::Json, &mut printed);
        printer.rows(corpus.sql(statement).expect(statement)).expect(statement);
        printer.finish().unwrap();
        json_lines(&String::from_utf8(printed).unwrap())
    };
    let same = |a: &Value, b: &Value| a == b || a.as_f64().is_some_and(|a| Some(a) == b.as_f64());
    for number in 0..seeds(150) as usize {
        let (condition, test) = maker.predicate(number % 3);
        let columns: Vec<_> =
            (0..maker.random.between(1, 4)).map(|_| selected(&mut maker)).collect();
        let list: Vec<String> =
            columns.iter().enumerate().map(|(at, (sql, _))| format!("{sql} AS c{at}")).collect();
        let list = list.join(", ");
        let kept: Vec<&Value> = all.iter().filter(|row| test(row) == Some(true)).collect();
        let statement = format!("SELECT {list} FROM documents WHERE {condition} ORDER BY id");
        let found = asked(&statement);
        assert_eq!(found.len(), kept.len(), "{statement}");
        for (row, from) in found.iter().zip(&kept) {
            for (at, (_, of)) in columns.iter().enumerate() {
                let expected = of(from);
                let got = &row[&format!("c{at}")];
                assert!(same(got, &expected), "{statement}: {got} for {expected} of {from}");
            }
        }
        let (key, of) = &columns[0];
        let statement = format!(
            "SELECT {key} AS k, count(*) AS n, sum(bytes) AS b FROM documents WHERE {condition} GROUP BY k"
        );
        let mut groups: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        let spelt = |value: &Value| value.as_f64().map_or(value.to_string(), |n| n.to_string());
        for row in &kept {
            let group = groups.entry(spelt(&of(row))).or_default();
            *group = (group.0 + 1, group.1 + row["bytes"].as_u64().unwrap());
        }
        let found: BTreeMap<String, (u64, u64)> = asked(&statement)
            .iter()
            .map(|row| (spelt(&row["k"]), (row["n"].as_u64().unwrap(), row["b"].as_u64().unwrap())))
            .collect();
        assert_eq!(found, groups, "{statement}");
    }
});

corpusdb_test!(lists_of_one_nullable_column_keep_their_nulls, TabledCorpus::new(), |place| {
    let rows = place.all();
    let corpus = place.open();
    let mut maker = Maker { random: Random::new(5), rows: rows.clone(), narrow: true };
    for number in 0..seeds(400) as usize {
        let (expression, test) = maker.predicate(1 + number % 4);
        let expected: Vec<Truth> = rows.iter().map(test).collect();
        let trues = expected.iter().filter(|truth| **truth == Some(true)).count() as u64;
        assert_eq!(corpus.count(&expression).expect(&expression), trues, "{expression}");
        let statement = format!("SELECT ({expression}) AS truth FROM documents ORDER BY id");
        let mut found: Vec<Truth> = Vec::new();
        for batch in corpus.sql(&statement).expect(&expression) {
            let batch = batch.expect(&expression);
            match batch.column(0).as_any().downcast_ref::<arrow::array::BooleanArray>() {
                Some(truths) => found.extend(truths.iter()),
                // An expression that is null whatever the row is of no type.
                None => found.extend(std::iter::repeat_n(None, batch.num_rows())),
            }
        }
        assert_eq!(found, expected, "{expression}");
    }
});

corpusdb_test!(count_select_and_recount_agree_on_predicates, TabledCorpus::new(), |place| {
    let rows = place.all();
    let corpus = place.open();
    let mut maker = Maker { random: Random::new(77), rows: rows.clone(), narrow: false };
    let mut sizes = BTreeSet::new();
    for number in 0..seeds(400) as usize {
        let (expression, test) = maker.predicate(number % 4);
        let expected: Vec<u64> = rows
            .iter()
            .filter(|row| test(row) == Some(true))
            .map(|row| row["id"].as_u64().unwrap())
            .collect();
        let selected = corpus.select(&expression).expect(&expression);
        let selected: Vec<u64> = selected.iter().collect();
        assert_eq!(selected, expected, "select of {expression}");
        let count = corpus.count(&expression).expect(&expression);
        assert_eq!(count, expected.len() as u64, "count of {expression}");
        let mut counted = None;
        let statement = format!("SELECT count(*) FROM documents WHERE {expression}");
        for batch in corpus.sql(&statement).expect(&expression) {
            let batch = batch.expect(&expression);
            let column = batch.column(0).as_any().downcast_ref::<arrow::array::Int64Array>();
            counted = Some(column.unwrap().value(0));
        }
        assert_eq!(counted, Some(expected.len() as i64), "sql of {expression}");
        sizes.insert(expected.len());
    }
    assert!(sizes.len() > 100, "the predicates tell documents apart: {} results", sizes.len());
});

corpusdb_test!(count_equals_sql_through_the_command, TabledCorpus::new(), |place| {
    for condition in [
        "kept",
        "NOT kept AND language IS NULL",
        "source = 'a feed' AND tokens BETWEEN 10 AND 100",
        "year NOT IN (1990, 1991, NULL)",
        "quality >= 0.25 OR url LIKE '%/7'",
        "text LIKE '%ba%' AND standing <> 'empty'",
    ] {
        let count =
            corpusdb(&["count", &place.corpus, "--where", condition, "--json"]).good().json();
        assert_eq!((&count["type"], &count["where"]), (&json!("count"), &json!(condition)));
        let rows = place.sql(&format!("SELECT count(*) AS n FROM documents WHERE {condition}"));
        assert_eq!(rows[0]["n"], count["documents"], "{condition}");
        let plain = corpusdb(&["count", &place.corpus, "--where", condition]).good().stdout;
        assert_eq!(plain, format!("{}\n", count["documents"]));
    }
    let all = corpusdb(&["count", &place.corpus]).good().stdout;
    assert_eq!(all.trim(), place.all().len().to_string());
});
