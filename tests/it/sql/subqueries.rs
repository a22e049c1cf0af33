//! Random subqueries and sets over a small table with nulls and repeated rows, against rows that are counted one by one.

use crate::support::{Random, TestDir, corpusdb_test, declaring, ingest, init, json_lines, seeds};
use corpusdb::Corpus;
use corpusdb::sql::{PrintFormat, RowPrinter};
use logic::{Truth, and, compare, not, or};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Logic of three truths; the third is none.
mod logic {
    pub type Truth = Option<bool>;

    pub fn and(left: Truth, right: Truth) -> Truth {
        match (left, right) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    pub fn not(truth: Truth) -> Truth {
        truth.map(|truth| !truth)
    }

    pub fn or(left: Truth, right: Truth) -> Truth {
        not(and(not(left), not(right)))
    }

    pub fn compare<T: PartialOrd>(left: Option<&T>, op: &str, right: Option<&T>) -> Truth {
        let (left, right) = (left?, right?);
        Some(match op {
            "=" => left == right,
            "<>" => left != right,
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            _ => unreachable!(),
        })
    }
}

/// A document, as far as statements look at it.
#[derive(Clone)]
struct DocumentValues {
    id: i64,
    grp: Option<&'static str>,
    q: Option<i64>,
    b: Option<bool>,
}

const ROWS: [(Option<&str>, Option<i64>, Option<bool>); 12] = [
    (Some("a"), Some(1), Some(true)),
    (Some("a"), None, Some(false)),
    (Some("b"), Some(2), None),
    (Some("b"), Some(2), Some(true)),
    (Some("b"), None, Some(false)),
    (None, Some(3), None),
    (Some("c"), None, Some(true)),
    (Some("d"), Some(i64::MAX), Some(false)),
    (Some("d"), Some(5), None),
    (Some("d"), Some(6), Some(true)),
    (None, None, Some(false)),
    (Some("e"), Some(0), Some(true)),
];

struct Table {
    _scratch: TestDir,
    corpus: Corpus,
    rows: Vec<DocumentValues>,
}

impl Table {
    fn new() -> Self {
        let scratch = TestDir::new();
        let path = scratch.arg("corpus");
        init(&path, &declaring(&["grp:keyword", "q:int", "b:bool"]));
        let mut lines = String::new();
        let mut rows = Vec::new();
        for (id, (grp, q, b)) in (0_i64..).zip(ROWS) {
            let mut record = json!({
                "id": format!("k{id:02}"),
                "text": format!("Page {id} tells of harbour {} and of its quay {}.", id * 7 + 3, id * 11),
            });
            let fields = record.as_object_mut().unwrap();
            fields.extend(grp.map(|grp| ("grp".to_owned(), grp.into())));
            fields.extend(q.map(|q| ("q".to_owned(), q.into())));
            fields.extend(b.map(|b| ("b".to_owned(), b.into())));
            lines += &format!("{record}\n");
            rows.push(DocumentValues { id, grp, q, b });
        }
        let file = scratch.write("rows.jsonl", lines);
        ingest(&path, &[&file], &["--source", "web", "--id-field", "id"]);
        let corpus = Corpus::open(&path).unwrap();
        Self { _scratch: scratch, corpus, rows }
    }

    /// The first column of the answer, as JSON; or why there is none.
    fn column(&self, statement: &str) -> Result<Vec<Value>, String> {
        let mut printed = Vec::new();
        let mut printer = RowPrinter::new(PrintFormat::Json, &mut printed);
        let rows = self.corpus.sql(statement).map_err(|error| error.to_string())?;
        printer.rows(rows).map_err(|error| error.to_string())?;
        printer.finish().unwrap();
        let lines = json_lines(&String::from_utf8(printed).unwrap());
        Ok(lines.into_iter().map(|line| line["v"].clone()).collect())
    }
}

type Holds = Box<dyn Fn(&DocumentValues, &DocumentValues) -> Truth>;
/// The column of a subquery, for a row outside.
type Values = Box<dyn Fn(&[DocumentValues], &DocumentValues) -> Vec<Option<i64>>>;
type Test = Box<dyn Fn(&[DocumentValues], &DocumentValues) -> Truth>;

/// Makes subqueries over `documents e`, in statements over `documents d`.
struct SubqueryMaker {
    random: Random,
}

impl SubqueryMaker {
    fn condition(&mut self) -> (&'static str, Holds) {
        let same_group =
            |e: &DocumentValues, d: &DocumentValues| compare(e.grp.as_ref(), "=", d.grp.as_ref());
        match self.random.below(9) {
            0 => ("TRUE", Box::new(|_, _| Some(true))),
            1 => ("e.q < 3", Box::new(|e, _| compare(e.q.as_ref(), "<", Some(&3)))),
            2 => ("e.q > 100", Box::new(|e, _| compare(e.q.as_ref(), ">", Some(&100)))),
            3 => ("e.q IS NOT NULL", Box::new(|e, _| Some(e.q.is_some()))),
            4 => ("e.id > 50", Box::new(|_, _| Some(false))),
            5 => ("e.q < d.q", Box::new(|e, d| compare(e.q.as_ref(), "<", d.q.as_ref()))),
            6 => (
                "e.grp = d.grp AND e.q > 4",
                Box::new(move |e, d| and(same_group(e, d), compare(e.q.as_ref(), ">", Some(&4)))),
            ),
            _ => ("e.grp = d.grp", Box::new(same_group)),
        }
    }

    /// A subquery of one column.
    fn subquery(&mut self) -> (String, Values) {
        let (condition, holds) = self.condition();
        let kept = move |rows: &[DocumentValues], d: &DocumentValues| -> Vec<DocumentValues> {
            rows.iter().filter(|e| holds(e, d) == Some(true)).cloned().collect()
        };
        let counted: fn(&[DocumentValues]) -> Option<i64> = |rows| Some(rows.len() as i64);
        let aggregates: [(&str, fn(&[DocumentValues]) -> Option<i64>); 4] = [
            ("count(*)", counted),
            ("count(e.q)", |rows| Some(rows.iter().filter(|e| e.q.is_some()).count() as i64)),
            ("max(e.q)", |rows| rows.iter().filter_map(|e| e.q).max()),
            ("coalesce(min(e.q), 7)", |rows| rows.iter().filter_map(|e| e.q).min().or(Some(7))),
        ];
        let (aggregate, of) = *self.random.pick(&aggregates);
        let values: [(&str, fn(&DocumentValues) -> Option<i64>); 5] = [
            ("e.q", |e| e.q),
            ("e.q", |e| e.q),
            ("e.id", |e| Some(e.id)),
            ("2", |_| Some(2)),
            ("CAST(NULL AS BIGINT)", |_| None),
        ];
        let (value, value_of) = *self.random.pick(&values);
        let skip = self.random.below(3);
        match self.random.below(12) {
            0 | 1 => (
                format!("SELECT {aggregate} FROM documents e WHERE {condition}"),
                Box::new(move |rows, d| vec![of(&kept(rows, d))]),
            ),
            2 => {
                let (having, most) = *self.random.pick(&[("> 1", 1), ("< 2", 0)]);
                let keeps = move |n: usize| if most == 1 { n > 1 } else { n < 2 };
                (
                    format!(
                        "SELECT {aggregate} FROM documents e WHERE {condition} HAVING count(*) {having}"
                    ),
                    Box::new(move |rows, d| {
                        let kept = kept(rows, d);
                        if keeps(kept.len()) { vec![of(&kept)] } else { vec![] }
                    }),
                )
            }
            3 => (
                format!("SELECT {aggregate} FROM documents e WHERE {condition} OFFSET {skip}"),
                Box::new(move |rows, d| if skip == 0 { vec![of(&kept(rows, d))] } else { vec![] }),
            ),
            4 => (
                format!("SELECT {aggregate} FROM documents e WHERE {condition} GROUP BY e.grp"),
                Box::new(move |rows, d| {
                    let mut groups: BTreeMap<Option<&str>, Vec<DocumentValues>> = BTreeMap::new();
                    for row in kept(rows, d) {
                        groups.entry(row.grp).or_default().push(row);
                    }
                    groups.values().map(|group| of(group)).collect()
                }),
            ),
            5 => (
                format!(
                    "SELECT {value} FROM documents e WHERE {condition} ORDER BY e.id OFFSET {skip}"
                ),
                Box::new(move |rows, d| kept(rows, d).iter().skip(skip).map(value_of).collect()),
            ),
            6 => (
                format!(
                    "SELECT {value} FROM documents e WHERE {condition} ORDER BY e.id LIMIT {skip}"
                ),
                Box::new(move |rows, d| kept(rows, d).iter().take(skip).map(value_of).collect()),
            ),
            7 => (
                format!("SELECT DISTINCT {value} FROM documents e WHERE {condition}"),
                Box::new(move |rows, d| kept(rows, d).iter().map(value_of).collect()),
            ),
            _ => (
                format!("SELECT {value} FROM documents e WHERE {condition}"),
                Box::new(move |rows, d| kept(rows, d).iter().map(value_of).collect()),
            ),
        }
    }

    fn predicate(&mut self) -> (String, Test) {
        let (subquery, values) = self.subquery();
        let lefts: [(&str, fn(&DocumentValues) -> Option<i64>); 7] = [
            ("d.q", |d| d.q),
            ("d.q", |d| d.q),
            ("d.id", |d| Some(d.id)),
            ("d.q % 4 + 1", |d| d.q.map(|q| q % 4 + 1)),
            ("0", |_| Some(0)),
            ("2", |_| Some(2)),
            ("CAST(NULL AS BIGINT)", |_| None),
        ];
        let (left, left_of) = *self.random.pick(&lefts);
        let any = move |op: &'static str, rows: &[DocumentValues], d: &DocumentValues| {
            let values = values(rows, d);
            let each = values.iter().map(|value| compare(left_of(d).as_ref(), op, value.as_ref()));
            (each.clone().fold(Some(false), or), each.fold(Some(true), and), values.len())
        };
        match self.random.below(6) {
            0 => (format!("{left} IN ({subquery})"), Box::new(move |rows, d| any("=", rows, d).0)),
            1 => (
                format!("{left} NOT IN ({subquery})"),
                Box::new(move |rows, d| not(any("=", rows, d).0)),
            ),
            2 => (
                format!("EXISTS ({subquery})"),
                Box::new(move |rows, d| Some(any("=", rows, d).2 > 0)),
            ),
            3 => (
                format!("NOT EXISTS ({subquery})"),
                Box::new(move |rows, d| Some(any("=", rows, d).2 == 0)),
            ),
            quantifier => {
                let op = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                let all = quantifier == 4;
                let word = if all { "ALL" } else { "ANY" };
                let of = move |rows: &[DocumentValues], d: &DocumentValues| {
                    let (some, every, _) = any(op, rows, d);
                    if all { every } else { some }
                };
                (format!("{left} {op} {word} ({subquery})"), Box::new(of))
            }
        }
    }

    /// A condition that a predicate is a part of.
    fn around(&mut self) -> (String, Test) {
        let (inner, test) = self.predicate();
        match self.random.below(9) {
            0 => (format!("NOT ({inner})"), Box::new(move |rows, d| not(test(rows, d)))),
            1 => (format!("{inner} OR d.b"), Box::new(move |rows, d| or(test(rows, d), d.b))),
            2 => (
                format!("NOT (d.b AND {inner})"),
                Box::new(move |rows, d| not(and(d.b, test(rows, d)))),
            ),
            3 => (
                format!("({inner}) IS NULL"),
                Box::new(move |rows, d| Some(test(rows, d).is_none())),
            ),
            4 => (
                format!("CASE WHEN {inner} THEN d.b ELSE NOT d.b END"),
                Box::new(move |rows, d| if test(rows, d) == Some(true) { d.b } else { not(d.b) }),
            ),
            5 => {
                let (other, second) = self.predicate();
                (
                    format!("({inner}) AND NOT ({other})"),
                    Box::new(move |rows, d| and(test(rows, d), not(second(rows, d)))),
                )
            }
            _ => (inner, test),
        }
    }
}

corpusdb_test!(subqueries_answer_as_rows_counted_one_by_one, Table::new(), |table| {
    let mut maker = SubqueryMaker { random: Random::new(2024) };
    let (mut answered, mut refused) = (0, 0);
    for number in 0..seeds(700) {
        let (condition, test) = maker.around();
        let truths: Vec<Truth> = table.rows.iter().map(|d| test(&table.rows, d)).collect();
        // A third stands among what is selected, where null is an answer of its own.
        let (statement, expected): (String, Vec<Value>) = if number % 3 == 0 {
            let all = truths.iter().map(|truth| truth.map_or(Value::Null, Into::into));
            (format!("SELECT {condition} AS v FROM documents d ORDER BY d.id"), all.collect())
        } else {
            let kept = table.rows.iter().zip(&truths).filter(|(_, truth)| **truth == Some(true));
            (
                format!("SELECT d.id AS v FROM documents d WHERE {condition} ORDER BY d.id"),
                kept.map(|(row, _)| row.id.into()).collect(),
            )
        };
        match table.column(&statement) {
            Ok(found) => {
                assert_eq!(found, expected, "{statement}");
                answered += 1;
            }
            Err(why) => {
                // The last one is the engine's: it joins one sub-query twice under one name.
                let named = [
                    "from outside",
                    "a subquery is not allowed here",
                    "Projections require unique expression names",
                ];
                assert!(named.iter().any(|name| why.contains(name)), "{statement}: {why}");
                refused += 1;
            }
        }
    }
    assert!(answered > refused * 5, "{answered} answered, {refused} refused");
});

corpusdb_test!(any_and_all_read_the_outer_column_in_conditions, Table::new(), |table| {
    // A table that had no name of its own within was compared with itself, row by row: every document was selected.
    for (condition, expected) in [
        ("q = ANY (SELECT q FROM documents WHERE q < 3)", 4),
        ("q <> ALL (SELECT q FROM documents WHERE q < 3)", 4),
        ("q > ALL (SELECT q FROM documents WHERE q < 3)", 4),
        ("q >= ANY (SELECT q FROM documents WHERE q < 3)", 8),
        ("q > ALL (SELECT q FROM documents WHERE q < 3 OR q IS NULL)", 0),
        ("q > ALL (SELECT q FROM documents WHERE id > 50)", 12),
        ("id NOT IN (SELECT q FROM documents)", 0),
        ("id NOT IN (SELECT q FROM documents WHERE q IS NOT NULL)", 6),
        ("EXISTS (SELECT 1 FROM documents e WHERE e.grp = documents.grp OFFSET 1)", 8),
        ("EXISTS (SELECT count(*) FROM documents e WHERE e.grp = documents.grp)", 12),
        ("0 IN (SELECT count(*) FROM documents e WHERE e.grp = documents.grp)", 2),
    ] {
        assert_eq!(table.corpus.count(condition).expect(condition), expected, "{condition}");
        let selected = table.corpus.select(condition).expect(condition);
        assert_eq!(selected.iter().count() as u64, expected, "{condition}");
    }
});

corpusdb_test!(subqueries_that_no_join_answers_are_answered, Table::new(), |table| {
    // All were refused: the engine joins by equalities alone, over no window, LIMIT, UNION or second aggregate.
    for (condition, same) in [
        (
            "2 IN (SELECT row_number() OVER (ORDER BY e.id) FROM documents e WHERE e.grp = documents.grp)",
            "1 < (SELECT count(*) FROM documents e WHERE e.grp = documents.grp)",
        ),
        (
            "id IN (SELECT e.id FROM documents e WHERE e.grp = documents.grp ORDER BY e.id DESC LIMIT 1)",
            "NOT EXISTS (SELECT 1 FROM documents e WHERE e.grp = documents.grp AND e.id > documents.id) AND grp IS NOT NULL",
        ),
        ("3 < (SELECT count(*) FROM documents e WHERE e.id < documents.id)", "id > 3"),
        ("0 = (SELECT count(*) FROM documents e WHERE documents.b)", "b IS NOT TRUE"),
        (
            "id IN (SELECT e.id FROM documents e LEFT JOIN (SELECT * FROM documents f WHERE f.grp = documents.grp) g ON e.id = g.id WHERE g.id IS NULL)",
            "grp IS NULL",
        ),
        (
            "EXISTS (SELECT 1 FROM (SELECT count(*) AS n FROM documents e WHERE e.grp = documents.grp) z WHERE z.n > 1)",
            "1 < (SELECT count(*) FROM documents e WHERE e.grp = documents.grp)",
        ),
        (
            "EXISTS (SELECT e.id FROM documents e WHERE e.id = documents.id + 9 UNION ALL SELECT e.id FROM documents e WHERE e.id = documents.id - 9)",
            "id < 3 OR id > 8",
        ),
        (
            "EXISTS (SELECT 1 FROM documents e WHERE e.id = 0 AND EXISTS (SELECT 1 FROM documents f WHERE f.id = documents.id AND f.q > e.id))",
            "q > 0",
        ),
    ] {
        let ids = |condition: &str| {
            let selected = table.corpus.select(condition).expect(condition);
            selected.iter().collect::<Vec<_>>()
        };
        assert_eq!(ids(condition), ids(same), "{condition}");
        assert_eq!(table.corpus.count(condition).expect(condition), ids(same).len() as u64);
    }
});

corpusdb_test!(joined_wrongly_is_refused_with_the_way_out, Table::new(), |table| {
    for (condition, why) in [
        (
            "EXISTS (SELECT 1 FROM documents e FULL JOIN (SELECT * FROM documents f WHERE f.grp = documents.grp) g ON e.id = g.id)",
            "from outside",
        ),
        (
            "1 IN (SELECT median(e.q) FROM documents e WHERE e.id < documents.id)",
            "aggregates rows that a column from outside chooses",
        ),
    ] {
        let error = table.corpus.count(condition).expect_err(condition).to_string();
        assert!(error.contains(why), "{condition}: {error}");
    }
});

corpusdb_test!(sets_with_all_keep_as_many_copies_as_sql_says, Table::new(), |table| {
    // All copies of a row were kept or dropped at once.
    let mut random = Random::new(7);
    let sides: [(&str, fn(&DocumentValues) -> bool); 5] = [
        ("TRUE", |_| true),
        ("q < 3", |row| row.q.is_some_and(|q| q < 3)),
        ("id > 5", |row| row.id > 5),
        ("b", |row| row.b == Some(true)),
        ("id > 50", |_| false),
    ];
    let mut side = || {
        let parts: Vec<_> = (0..random.between(1, 3)).map(|_| *random.pick(&sides)).collect();
        let sql: Vec<String> = parts
            .iter()
            .map(|(condition, _)| format!("SELECT grp AS v, b FROM documents WHERE {condition}"))
            .collect();
        let mut copies: BTreeMap<(Option<&str>, Option<bool>), i64> = BTreeMap::new();
        for (_, keeps) in &parts {
            for row in table.rows.iter().filter(|row| keeps(row)) {
                *copies.entry((row.grp, row.b)).or_default() += 1;
            }
        }
        (format!("({})", sql.join(" UNION ALL ")), copies)
    };
    for number in 0..seeds(40) {
        let ((left, ours), (right, theirs)) = (side(), side());
        let (word, all) = (["INTERSECT", "EXCEPT"][number as usize % 2], number % 4 < 2);
        let statement = format!("{left} {word} {} {right}", if all { "ALL" } else { "" });
        let mut expected = Vec::new();
        for ((grp, b), copies) in &ours {
            let other = theirs.get(&(*grp, *b)).copied().unwrap_or(0);
            let kept = match (word, all) {
                ("INTERSECT", true) => (*copies).min(other),
                ("INTERSECT", false) => i64::from(other > 0),
                (_, true) => (copies - other).max(0),
                (_, false) => i64::from(other == 0),
            };
            expected.extend((0..kept).map(|_| grp.map_or(String::new(), ToOwned::to_owned)));
        }
        let found = table.column(&statement).expect(&statement);
        let mut found: Vec<String> =
            found.iter().map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
        found.sort();
        assert_eq!(found, expected, "{statement}");
    }
});

// The engine took the key of a grouped side for the key of groups above the join.
corpusdb_test!(keys_of_groups_end_at_joins, Table::new(), |table| {
    let groups = "SELECT e.grp, d.q, count(*) AS n FROM documents e \
                  CROSS JOIN (SELECT DISTINCT q FROM documents) d GROUP BY e.grp, d.q";
    for (statement, rows) in [
        (format!("SELECT DISTINCT q FROM ({groups}) x"), 8),
        (format!("SELECT grp, q, count(*) AS n FROM ({groups}) x GROUP BY grp, q"), 48),
    ] {
        let found = table.column(&format!("SELECT count(*) AS v FROM ({statement}) y"));
        assert_eq!(found.expect(&statement), [json!(rows)], "{statement}");
    }
});

corpusdb_test!(lateral_sides_are_of_each_row_before_them, Table::new(), |table| {
    // Those with LIMIT were refused, and those beneath EXISTS.
    for (statement, same) in [
        (
            "SELECT d.id || '/' || l.id AS v FROM documents d, LATERAL (SELECT e.id FROM documents e WHERE e.grp = d.grp ORDER BY e.id DESC LIMIT 1) l",
            "SELECT id || '/' || (SELECT max(e.id) FROM documents e WHERE e.grp = d.grp) AS v FROM documents d WHERE grp IS NOT NULL",
        ),
        (
            "SELECT d.id || '/' || l.n AS v FROM documents d LEFT JOIN LATERAL (SELECT count(*) AS n FROM documents e WHERE e.q < d.q) l ON TRUE",
            "SELECT id || '/' || (SELECT count(*) FROM documents e WHERE e.q < d.q) AS v FROM documents d",
        ),
        (
            "SELECT id AS v FROM documents d WHERE EXISTS (SELECT 1 FROM documents e CROSS JOIN LATERAL (SELECT f.id FROM documents f WHERE f.q = e.q) g WHERE e.id = d.id)",
            "SELECT id AS v FROM documents WHERE q IS NOT NULL",
        ),
        (
            "SELECT d.id AS v FROM documents d LEFT JOIN LATERAL (SELECT e.id FROM documents e WHERE e.id > d.id OFFSET 3) l ON FALSE",
            "SELECT id AS v FROM documents",
        ),
    ] {
        let rows = |statement: &str| {
            let found = table.column(statement).expect(statement);
            let mut rows: Vec<String> = found.iter().map(ToString::to_string).collect();
            rows.sort();
            rows
        };
        assert_eq!(rows(statement), rows(same), "{statement}");
    }
});

// Conditions without a column went beneath the aggregate, whose row stayed.
corpusdb_test!(an_aggregate_keeps_its_row_to_itself, Table::new(), |table| {
    for (statement, rows) in [
        (
            "SELECT id FROM documents WHERE TRUE IN (SELECT FALSE FROM (SELECT min(q) FROM documents) s GROUP BY 1)",
            0,
        ),
        (
            "SELECT FALSE FROM (SELECT b, GROUPING(b) AS g FROM documents GROUP BY ROLLUP (b)) s WHERE NOT EXISTS (SELECT 1 FROM documents)",
            0,
        ),
        (
            "SELECT id FROM documents WHERE TRUE NOT IN (SELECT FALSE FROM (SELECT min(q) AS q FROM documents UNION SELECT q FROM documents) s)",
            12,
        ),
    ] {
        let found = table.column(&format!("SELECT count(*) AS v FROM ({statement}) y"));
        assert_eq!(found.expect(statement), [json!(rows)], "{statement}");
    }
});
