//! Looking: indexes, the engine and a plain recount agree; tables, samples, documents and errors are right.

use crate::support::{
    MEMORY, Page, Random, TestDir, corpusdb, crawl, fixture, ingest, init, json_lines, lines,
    prose, seeds, sound,
};
use corpusdb::Corpus;
use corpusdb::query::{Format, Printer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A corpus of two sources with duplicates, changed keys, rejects, a tokenizer, a snapshot and a plan.
struct TabledCorpus {
    _scratch: TestDir,
    corpus: String,
    pages: Vec<Page>,
}

impl TabledCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        let pages = crawl(31, 420, true);
        fixture("two sources with a snapshot and a plan", Path::new(&corpus), |path| {
            Self::fill(&path.display().to_string(), &pages);
        });
        Self { _scratch: scratch, corpus, pages }
    }

    fn fill(corpus: &str, pages: &[Page]) {
        let scratch = TestDir::new();
        let fields = ["url:keyword", "quality:float", "year:int"];
        let fields: Vec<&str> = fields.into_iter().flat_map(|field| ["--field", field]).collect();
        init(corpus, &fields);
        let (web, feed) = pages.split_at(300);
        let bad = "not json\n{\"id\":\"x\",\"text\":5}\n";
        let web = scratch.write("web.jsonl", format!("{}{bad}", lines(web)));
        ingest(corpus, &[&web], &["--source", "web", "--id-field", "id"]);
        corpusdb(&["tokenizer", "train", corpus, "own", "--vocab-size", "400"]).good();
        corpusdb(&["snapshot", "create", corpus, "first"]).good();
        let feed = scratch.write("feed.jsonl", lines(feed));
        ingest(corpus, &[&feed], &["--source", "a feed", "--id-field", "id"]);
        let recipe = scratch.write("recipe.toml", "version = 1\n");
        corpusdb(&["epoch", "plan", corpus, &recipe]).good();
    }

    #[track_caller]
    fn sql(&self, statement: &str) -> Vec<Value> {
        corpusdb(&["sql", &self.corpus, statement, "--format", "json"]).good().json_lines()
    }

    fn all(&self) -> Vec<Value> {
        self.sql("SELECT * FROM documents ORDER BY id")
    }

    fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }
}

// ---- random predicates ----

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

#[test]
fn random_columns_and_groups_equal_a_recount() {
    let place = TabledCorpus::new();
    let all = place.all();
    let corpus = place.open();
    let mut maker = Maker { random: Random::new(123), rows: all.clone(), narrow: false };
    let asked = |statement: &str| -> Vec<Value> {
        let mut printed = Vec::new();
        let mut printer = Printer::new(Format::Json, &mut printed);
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
}

#[test]
fn lists_of_one_column_that_may_be_null_keep_their_nulls() {
    let place = TabledCorpus::new();
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
}

#[test]
fn count_select_and_a_recount_agree_on_random_predicates() {
    let place = TabledCorpus::new();
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
}

#[test]
fn count_through_the_command_equals_sql_through_the_command() {
    let place = TabledCorpus::new();
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
}

// ---- tables ----

#[test]
fn documents_have_the_texts_and_fields_that_came_in() {
    let place = TabledCorpus::new();
    let rows = place.all();
    // The last record of a key is its document; before the same key of another source.
    let mut last: BTreeMap<(&str, &str), &Page> = BTreeMap::new();
    for (number, page) in place.pages.iter().enumerate() {
        let source = if number < 300 { "web" } else { "a feed" };
        last.insert((source, page.id.as_deref().unwrap()), page);
    }
    let mut newest: BTreeMap<(&str, &str), &Value> = BTreeMap::new();
    for row in &rows {
        newest.insert((row["source"].as_str().unwrap(), row["key"].as_str().unwrap()), row);
    }
    assert_eq!(newest.keys().collect::<Vec<_>>(), last.keys().collect::<Vec<_>>());
    let mut wrong_years = 0;
    for (key, row) in newest {
        let page = last[&key];
        assert_eq!(row["text"], page.text, "{key:?}");
        assert_eq!(row["bytes"], page.text.len());
        assert_eq!(row["chars"], page.text.chars().count());
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(meta, page.fields, "{key:?}");
        for field in ["language", "url", "quality"] {
            assert_eq!(row[field], page.fields[field], "{field} of {key:?}");
        }
        // A value of another type than declared is none; it stays in `meta`.
        let year = &page.fields["year"];
        assert_eq!(row["year"], if year.is_string() { Value::Null } else { year.clone() });
        wrong_years += usize::from(year.is_string());
        assert_ne!(row["standing"], "superseded", "{key:?}");
    }
    assert!(wrong_years > 5);
    sound(&place.corpus);
}

#[test]
fn values_of_another_type_than_declared_are_null() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "n:int", "--field", "x:float", "--field", "k:keyword"]);
    let cases = [
        (r#"5, "x": 0.5, "k": "five""#, json!([5, 0.5, "five"])),
        (r#"-7, "x": 3, "k": 12"#, json!([-7, 3.0, "12"])),
        (r#""5", "x": "0.5", "k": true"#, json!([5, 0.5, "true"])),
        (r#"5.0, "x": "5e-1", "k": 0.5"#, json!([5, 0.5, "0.5"])),
        (r#""5.0", "x": "half", "k": false"#, json!([null, null, "false"])),
        (r#"1.5, "x": [1], "k": ["a"]"#, json!([null, null, null])),
        (r#"null, "x": null, "k": null"#, json!([null, null, null])),
        (r#"9223372036854775808, "x": 1e300, "k": """#, json!([null, 1e300, ""])),
        (r#"-9223372036854775808, "x": -0.0, "k": {}"#, json!([i64::MIN, -0.0, null])),
    ];
    let mut random = Random::new(3);
    let file: String = cases
        .iter()
        .map(|(fields, _)| {
            format!("{{\"text\":\"{}\",\"n\":{fields}}}\n", prose(&mut random, 0, 20))
        })
        .collect();
    let file = scratch.write("a.jsonl", file);
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert_eq!(report["kept"], cases.len());
    let rows = corpusdb(&["sql", &corpus, "SELECT n, x, k FROM documents ORDER BY id", "--json"]);
    for (row, (fields, expected)) in rows.good().json_lines().iter().zip(&cases) {
        assert_eq!(json!([row["n"], row["x"], row["k"]]), *expected, "{fields}");
    }
    sound(&corpus);
}

#[test]
fn the_small_tables_match_the_corpus() {
    let place = TabledCorpus::new();
    let documents = place.all();
    let of = |source: &str, kept: bool| {
        let own = documents.iter().filter(|row| row["source"] == source);
        own.filter(|row| !kept || row["kept"] == true).collect::<Vec<_>>()
    };
    let sum = |rows: &[&Value], field: &str| -> u64 {
        rows.iter().filter_map(|row| row[field].as_u64()).sum()
    };
    let sources = place.sql("SELECT * FROM sources");
    let names: Vec<&str> = sources.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["web", "a feed"]);
    for row in &sources {
        let name = row["name"].as_str().unwrap();
        let (all, kept) = (of(name, false), of(name, true));
        assert_eq!((&row["documents"], &row["kept"]), (&json!(all.len()), &json!(kept.len())));
        assert_eq!(row["bytes"], sum(&all, "bytes"));
        assert_eq!(row["kept_bytes"], sum(&kept, "bytes"));
        assert_eq!(row["tokens_own"], sum(&kept, "tokens"));
    }

    let commits = place.sql("SELECT * FROM commits ORDER BY commit");
    let numbers: Vec<u64> = commits.iter().map(|row| row["commit"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=commits.len() as u64).collect::<Vec<_>>());
    let mut kinds: Vec<&str> = commits.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    kinds.dedup();
    assert_eq!(kinds, ["init", "ingest", "tokenizer", "snapshot", "ingest", "snapshot", "epoch"]);
    let added: u64 = commits.iter().map(|row| row["added"].as_u64().unwrap()).sum();
    assert_eq!(added, documents.len() as u64);
    for commit in commits.iter().filter(|row| row["added"] != 0) {
        let own: Vec<&Value> =
            documents.iter().filter(|row| row["commit"] == commit["commit"]).collect();
        assert_eq!(commit["added"], own.len());
        assert_eq!(commit["first"], own[0]["id"]);
    }

    let rejects = place.sql("SELECT * FROM rejects ORDER BY number");
    assert_eq!(rejects.len(), 2);
    assert_eq!((&rejects[0]["number"], &rejects[0]["raw"]), (&json!(300), &json!("not json")));
    assert_eq!(rejects[1]["raw"], "{\"id\":\"x\",\"text\":5}");
    let listed = corpusdb(&["rejects", &place.corpus, "--json"]).good().json_lines();
    for (row, listed) in rejects.iter().zip(&listed) {
        for field in ["source", "path", "number", "offset", "reason", "bytes", "raw"] {
            assert_eq!(row[field], listed[field]);
        }
    }

    let tokenizers = place.sql("SELECT id, name, vocab_size FROM tokenizers");
    assert_eq!((&tokenizers[0]["id"], &tokenizers[0]["name"]), (&json!(0), &json!("own")));
    let snapshots = place.sql("SELECT * FROM snapshots ORDER BY commit");
    assert_eq!(snapshots[0]["name"], "first");
    assert_eq!(snapshots[0]["documents"], of("web", false).len());
    let epochs = place.sql("SELECT * FROM epochs");
    assert_eq!((epochs.len(), &epochs[0]["snapshot"]), (1, &snapshots[1]["name"]));
    let plan: Value = serde_json::from_str(epochs[0]["plan"].as_str().unwrap()).unwrap();
    assert_eq!(plan["snapshot"]["name"], snapshots[1]["name"]);
    let hash = blake3::hash(epochs[0]["plan"].as_str().unwrap().as_bytes()).to_hex();
    assert_eq!(epochs[0]["hash"], *hash.as_str());
}

#[test]
fn info_adds_up() {
    let place = TabledCorpus::new();
    let documents = place.all();
    let info = corpusdb(&["info", &place.corpus, "--json"]).good().json();
    let kept: Vec<&Value> = documents.iter().filter(|row| row["kept"] == true).collect();
    let bytes =
        |rows: &[&Value]| rows.iter().map(|row| row["bytes"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(info["type"], "info");
    assert_eq!((&info["documents"], &info["kept"]), (&json!(documents.len()), &json!(kept.len())));
    assert_eq!(info["bytes"], bytes(&documents.iter().collect::<Vec<_>>()));
    assert_eq!(info["kept_bytes"], bytes(&kept));
    assert_eq!(info["rejects"], 2);
    let mut standings: BTreeMap<&str, u64> = BTreeMap::new();
    for row in &documents {
        *standings.entry(row["standing"].as_str().unwrap()).or_default() += 1;
    }
    let told: BTreeMap<&str, u64> = info["standings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["standing"].as_str().unwrap(), row["documents"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, standings);
    assert!(["kept", "near", "exact", "superseded", "empty"].iter().all(|s| told.contains_key(s)));
    let tokens: u64 = kept.iter().filter_map(|row| row["tokens"].as_u64()).sum();
    assert_eq!(info["tokenizers"][0]["tokens"], tokens);
    assert_eq!(
        info["fields"],
        json!([
            { "name": "url", "kind": "keyword" },
            { "name": "quality", "kind": "float" },
            { "name": "year", "kind": "int" }
        ])
    );
    assert_eq!(
        (info["snapshots"].as_array().unwrap().len(), info["epochs"].as_array().unwrap().len()),
        (2, 1)
    );
    let text = corpusdb(&["info", &place.corpus]).good().stdout;
    for word in
        ["policy:", "web", "a feed", "tokenizer own", "field year: int", "snapshot first", "plan 1"]
    {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
}

#[test]
fn results_are_the_same_in_every_format() {
    let place = TabledCorpus::new();
    let statement = "SELECT source, count(*) AS n, sum(tokens) AS t, min(quality) AS q FROM documents \
                     WHERE kept GROUP BY source ORDER BY source";
    let rows = place.sql(statement);
    let csv = corpusdb(&["sql", &place.corpus, statement, "--format", "csv"]).good().stdout;
    let cells: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(cells[0], ["source", "n", "t", "q"]);
    let table = corpusdb(&["sql", &place.corpus, statement]).good().stdout;
    assert_eq!((rows.len(), cells.len()), (2, 3));
    for (row, cells) in rows.iter().zip(&cells[1..]) {
        assert_eq!(row["source"], cells[0]);
        for (name, cell) in ["n", "t", "q"].iter().zip(&cells[1..]) {
            assert_eq!(row[*name].to_string(), *cell);
            assert!(table.contains(cell), "no {cell} in\n{table}");
        }
    }
    assert_eq!(
        rows,
        json_lines(&corpusdb(&["sql", &place.corpus, statement, "--json"]).good().stdout)
    );
}

// ---- samples ----

#[test]
fn samples_are_a_function_of_the_seed() {
    let place = TabledCorpus::new();
    let sample = |n: &str, seed: &str, more: &[&str]| -> Vec<Value> {
        let arguments = ["sample", &place.corpus, "-n", n, "--seed", seed, "--json"];
        corpusdb(&[&arguments[..], more].concat()).good().json_lines()
    };
    let ten = sample("10", "4", &[]);
    assert_eq!(ten.len(), 10);
    assert!(ten.iter().all(|row| row["type"] == "document" && row["standing"] == "kept"));
    assert_eq!(ten, sample("10", "4", &["--threads", "1"]));
    assert_eq!(
        ten[..4],
        sample("4", "4", &[])[..],
        "a smaller sample is the beginning of a larger"
    );
    assert_ne!(ten, sample("10", "5", &[]));
    let some = sample("1000", "4", &["--where", "NOT kept AND source = 'web'"]);
    let ids: BTreeSet<u64> = some.iter().map(|row| row["id"].as_u64().unwrap()).collect();
    let expected = place.open().select("NOT kept AND source = 'web'").unwrap();
    assert_eq!(ids, expected.iter().collect(), "all of them when there are fewer, each once");
    assert_eq!(ids.len(), some.len());
    assert!(sample("5", "1", &["--where", "id < 0"]).is_empty());
}

#[test]
fn samples_are_uniform() {
    let place = TabledCorpus::new();
    let corpus = place.open();
    let kept = corpus.count("kept").unwrap();
    let (draws, each) = (800_u64, 6_u64);
    let mut seen: BTreeMap<u64, u64> = BTreeMap::new();
    for seed in 0..draws {
        for document in corpus.sample("kept", each, seed).unwrap() {
            *seen.entry(document.0).or_default() += 1;
        }
    }
    assert!(seen.len() as u64 <= kept);
    let expected = (draws * each) as f64 / kept as f64;
    let missing = (kept - seen.len() as u64) as f64 * expected;
    let square: f64 = seen.values().map(|n| (*n as f64 - expected).powi(2) / expected).sum();
    let (square, freedom) = (square + missing, (kept - 1) as f64);
    // Five standard deviations on either side; the seeds are fixed, so this holds for ever or never.
    assert!((square - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{square} for {freedom}");
}

#[test]
fn info_and_sql_agree_on_the_tokens_of_kept_documents() {
    // Nobody said that a sum over all documents has those that were kept once.
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let mut pages = crawl(35, 60, false);
    for (n, page) in pages.iter_mut().enumerate() {
        page.id = Some(format!("key {n}"));
    }
    let file = scratch.write("a.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
    for (n, page) in pages.iter_mut().enumerate() {
        page.text = format!("quite another text of {n} {}", page.text);
    }
    let file = scratch.write("b.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    let sql = |statement: &str| corpusdb(&["sql", &corpus, statement, "--json"]).good().json();
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    let told = &info["sources"][0]["tokens"]["own"];
    let row = sql("SELECT sum(tokens) FILTER (WHERE kept) AS kept, sum(tokens) AS ever, \
         count(tokens) FILTER (WHERE standing = 'superseded') AS once FROM documents");
    assert_eq!(row["kept"], *told);
    assert!(row["once"].as_u64() > Some(0) && row["ever"].as_u64() > row["kept"].as_u64(), "{row}");
    assert_eq!(sql("SELECT tokens_own FROM sources")["tokens_own"], *told);
    assert_eq!(info["tokenizers"][0]["tokens"], *told);
}

// ---- one document ----

#[test]
fn show_by_id_and_by_key_equals_the_table() {
    let place = TabledCorpus::new();
    let rows = place.all();
    let mut by_key: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in &rows {
        by_key.entry(row["key"].as_str().unwrap()).or_default().push(row["id"].as_u64().unwrap());
    }
    let (key, ids) = by_key.iter().max_by_key(|(_, ids)| ids.len()).unwrap();
    assert!(ids.len() > 1, "a key with several documents");
    let shown = corpusdb(&["show", &place.corpus, "--key", key, "--json"]).good().json_lines();
    assert_eq!(shown.iter().map(|row| row["id"].as_u64().unwrap()).collect::<Vec<_>>(), *ids);
    let shown_by_key = shown;
    let mut kinds = BTreeSet::new();
    for row in rows.iter().step_by(13) {
        let id = row["id"].to_string();
        let shown = corpusdb(&["show", &place.corpus, &id, "--json"]).good().json();
        assert_eq!(shown["type"], "document");
        for field in
            ["id", "key", "source", "commit", "bytes", "chars", "standing", "language", "text"]
        {
            assert_eq!(shown[field], row[field], "{field} of {id}");
        }
        assert_eq!(shown["tokens"]["own"], row["tokens"]);
        for field in ["url", "quality", "year"] {
            assert_eq!(shown["fields"][field], row[field]);
        }
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(shown["metadata"], meta);
        let found = &shown["match"];
        match row["standing"].as_str().unwrap() {
            "near" | "exact" => {
                assert_eq!(
                    (&found["witness"], &found["jaccard"]),
                    (&row["dup_of"], &row["jaccard"])
                );
                assert_eq!(found["kind"], row["standing"]);
            }
            "superseded" => {
                assert_eq!(found["kind"], "superseded");
                assert_eq!(found["witness_key"], row["key"]);
                assert!(found["witness"].as_u64() > row["id"].as_u64());
            }
            _ => assert!(found.is_null()),
        }
        let cluster = (&shown["cluster"]["id"], &shown["cluster"]["size"]);
        assert_eq!(cluster, (&row["cluster"], &row["cluster_size"]));
        kinds.insert(row["standing"].as_str().unwrap());
        let text = corpusdb(&["show", &place.corpus, &id]).good().stdout;
        assert!(text.contains(row["standing"].as_str().unwrap()) && text.starts_with("document "));
    }
    assert!(kinds.len() >= 4, "{kinds:?}");
    let none = corpusdb(&["show", &place.corpus, "--key", "never"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""));
    assert!(none.stderr.contains("no document has the key never"), "{none}");
    // A key was to be a number: `invalid digit found in string`.
    let plain = corpusdb(&["show", &place.corpus, key, "--json"]).good().json_lines();
    assert_eq!(plain, shown_by_key);
    corpusdb(&["show", &place.corpus, "999999"]).fails(&["no document 999999", "below"]);
}

#[test]
fn differences_of_duplicates_rebuild_both_texts() {
    let place = TabledCorpus::new();
    let rows = place.all();
    let text = |id: &Value| rows[id.as_u64().unwrap() as usize]["text"].as_str().unwrap();
    let listed =
        corpusdb(&["duplicates", &place.corpus, "--list", "--json", "--diff"]).good().json_lines();
    let table = place.sql("SELECT * FROM duplicates ORDER BY id");
    let removed: Vec<&Value> = rows.iter().filter(|row| !row["dup_of"].is_null()).collect();
    assert_eq!((listed.len(), table.len()), (removed.len(), removed.len()));
    let mut of_witness: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for ((pair, line), row) in listed.iter().zip(&table).zip(&removed) {
        assert_eq!(pair["type"], "duplicate");
        for field in
            ["id", "witness", "kind", "jaccard", "containment_removed", "containment_witness"]
        {
            assert_eq!(pair[field], line[field]);
        }
        assert_eq!((&pair["id"], &pair["witness"]), (&row["id"], &row["dup_of"]));
        assert_eq!((&pair["kind"], &pair["jaccard"]), (&row["standing"], &row["jaccard"]));
        let witness = &rows[pair["witness"].as_u64().unwrap() as usize];
        assert_eq!((&pair["key"], &pair["source"]), (&row["key"], &row["source"]));
        assert_eq!(
            (&pair["witness_key"], &pair["witness_source"]),
            (&witness["key"], &witness["source"])
        );
        assert_eq!((&witness["kept"], row["kept"].as_bool()), (&json!(true), Some(false)));
        assert!(pair["jaccard"].as_f64().unwrap() >= 0.8);
        if pair["kind"] == "exact" {
            assert_eq!(text(&pair["id"]), text(&pair["witness"]));
        }
        let of = |skip: &str| -> String {
            let parts = pair["diff"].as_array().unwrap().iter();
            parts
                .filter(|part| part["part"] != skip)
                .map(|part| part["text"].as_str().unwrap())
                .collect()
        };
        assert_eq!(of("added"), text(&pair["witness"]), "{pair}");
        assert_eq!(of("removed"), text(&pair["id"]), "{pair}");
        of_witness.entry(pair["witness"].as_u64().unwrap()).or_default().push(pair);
    }
    let (witness, pairs) = of_witness.iter().max_by_key(|(_, pairs)| pairs.len()).unwrap();
    assert!(pairs.len() > 2);
    // One document has the same pairs, with the bands they share.
    let pair_of = |pair: &Value| {
        let mut pair = pair.as_object().unwrap().clone();
        for field in ["type", "estimate", "shared_bands"] {
            pair.remove(field);
        }
        pair
    };
    let of = |id: &str| {
        let found =
            corpusdb(&["duplicates", &place.corpus, id, "--json", "--diff", "--limit", "999"]);
        found.good().json()
    };
    let members = of(&witness.to_string())["cluster"]["members"].clone();
    assert_eq!(
        members.as_array().unwrap().iter().map(pair_of).collect::<Vec<_>>(),
        pairs.iter().map(|pair| pair_of(pair)).collect::<Vec<_>>()
    );
    assert_eq!(pair_of(&of(&pairs[1]["id"].to_string())["witness"]), pair_of(pairs[1]));
    assert_eq!(
        rows[*witness as usize]["cluster_size"].as_u64().unwrap(),
        pairs.len() as u64 + 1,
        "a cluster is the witness and what it removed"
    );
    let limited = corpusdb(&["duplicates", &place.corpus, "--list", "--limit", "3"]).good().stdout;
    assert_eq!(limited.lines().count(), 3);
    let diff = corpusdb(&["duplicates", &place.corpus, "--list", "--diff"]).good().stdout;
    assert!(diff.contains("{+") && diff.contains("[-") && !diff.contains('\x1b'));
    corpusdb(&["duplicates", &place.corpus, "999999"]).fails(&["no document 999999"]);
}

// ---- errors ----

#[test]
fn errors_of_queries_list_valid_names() {
    let place = TabledCorpus::new();
    let sql = |statement: &str| corpusdb(&["sql", &place.corpus, statement]);
    sql("SELECT lenght FROM documents").fails(&["no column `lenght`", "`bytes`", "and 11 more"]);
    sql("SELECT * FROM pages").fails(&["no table `pages`", "`documents`, `duplicates`, `sources`"]);
    sql("SELEC 1").fails(&["`SELEC 1`", "SELEC"]);
    sql("SELECT count(* FROM documents").fails(&["`SELECT count(* FROM documents`"]);
    sql("SELECT 1 / 0").fails(&["ivide by zero"]);
    let refused = [
        "DROP TABLE documents",
        "CREATE TABLE t AS SELECT 1",
        "CREATE VIEW v AS SELECT 1",
        "INSERT INTO documents SELECT * FROM documents",
        "UPDATE documents SET kept = true",
        "DELETE FROM documents",
        "COPY documents TO 'stolen.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "SET datafusion.execution.batch_size = 1",
    ];
    for statement in refused {
        sql(statement).fails(&["refused", statement, "only one SELECT"]);
    }
    // Several are run one by one, each by the same rule.
    sql("SELECT 1; DROP TABLE documents").fails(&["column 11", "refused `DROP TABLE documents`"]);
    sql("SELECT * FROM '/etc/passwd'").fails(&["/etc/passwd"]);
    assert!(!Path::new("stolen.csv").exists());

    let condition = |condition: &str| corpusdb(&["count", &place.corpus, "--where", condition]);
    condition("lenght > 3").fails(&[
        "`lenght > 3`",
        "`lenght` is not a column",
        "bytes, chars, tokens",
    ]);
    condition("language = en").fails(&["`en` is not a column", "text needs single ones"]);
    condition("kept AND").fails(&["`kept AND`", "boolean expression"]);
    condition("bytes + 1").fails(&["`bytes + 1`"]);
    condition("kept; DROP TABLE documents").fails(&["`kept; DROP TABLE documents`"]);
    for verb in [&["sample", "-n", "1"][..], &["count"]] {
        let arguments = [&verb[..1], &[&*place.corpus], &verb[1..], &["--where", "nope"]].concat();
        corpusdb(&arguments).fails(&["`nope` is not a column", "cluster_size"]);
    }
}
