//! Statements that ask for much: memory is bounded, depth and size are refused, tables say what they are.

use crate::support::{TestDir, command, corpusdb, corpusdb_test, corpusdb_within, ingest, init};
use arrow::array::AsArray;
use corpusdb::sql::{SqlError, SqlQuery};
use corpusdb::{Corpus, ErrorKind, Interrupt};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// What a query over little data may hold at `--memory 64MB`: the program with its threads, and its share.
const HELD: u64 = 320 << 20;

/// A corpus of one text of 4 MB and 999 short ones.
fn skewed(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let mut lines = format!("{}\n", json!({ "text": "word ".repeat(800_000) }));
    for n in 0..999 {
        writeln!(lines, "{}", json!({ "text": format!("a short text of number {n}\nin lines") }))
            .unwrap();
    }
    scratch.ingest(&corpus, "a.jsonl", lines, &["--source", "web"]);
    corpus
}

fn sql<'a>(corpus: &'a str, statement: &'a str) -> [&'a str; 5] {
    ["sql", corpus, statement, "--memory", "64MB"]
}

// A page of 1,000 rows was padded to its widest text: 4 GB here.
corpusdb_test!(a_page_of_a_table_is_bounded_in_bytes_and_readable, |scratch| {
    let corpus = skewed(&scratch);
    let (ran, _) = corpusdb_within(&sql(&corpus, "SELECT id, text FROM documents"), HELD);
    let ran = ran.good();
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 160), "{}", &ran.stdout[..999]);
    assert_eq!(ran.stdout.lines().count(), 1004);
    assert!(ran.stderr.contains("--format line"), "{}", ran.stderr);
    let two = corpusdb(&sql(&corpus, "SELECT * FROM documents LIMIT 2")).good().stdout;
    assert!(two.len() < 2000 && two.lines().all(|line| line.chars().count() <= 160), "{two}");
    let line =
        [&sql(&corpus, "SELECT id, text FROM documents WHERE id < 2")[..], &["--format", "line"]];
    let (whole, _) = corpusdb_within(&line.concat(), HELD);
    assert!(whole.good().stdout.len() > 4_000_000);
});

// All of them were held, with their raw bytes, to count them.
corpusdb_test!(rejects_are_read_a_few_at_a_time, |scratch, corpus| {
    let mut lines = String::new();
    for n in 0..250 {
        writeln!(lines, "not JSON {n} {}", "raw bytes ".repeat(100_000)).unwrap();
    }
    lines.push_str("{\"text\": \"one that can be read\"}\n");
    scratch.ingest(&corpus, "a.jsonl", lines, &["--source", "web", "--on-error", "reject"]);
    for (statement, answer) in [
        ("SELECT count(*) AS n FROM rejects", json!({ "n": 250 })),
        ("SELECT count(raw) AS n, max(number) AS m FROM rejects", json!({ "n": 250, "m": 249 })),
        ("SELECT number AS n FROM rejects ORDER BY number LIMIT 1", json!({ "n": 0 })),
    ] {
        let arguments = [&sql(&corpus, statement)[..], &["--json"]].concat();
        let (ran, _) = corpusdb_within(&arguments, HELD);
        assert_eq!(ran.good().json(), answer, "{statement}");
    }
    let (ran, _) = corpusdb_within(
        &["rejects", &corpus, "--json", "--limit", "150", "--memory", "64MB"],
        HELD,
    );
    let numbers: Vec<u64> =
        ran.good().json_lines().iter().map(|r| r["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..150).collect::<Vec<u64>>());
});

// These overflowed the stack, or took minutes and gigabytes to plan.
corpusdb_test!(statements_without_end_are_refused_before_anything_recurses, |_scratch, corpus| {
    let sum = format!("SELECT {}1", "1+".repeat(20_000));
    let ands = format!("SELECT id FROM documents WHERE {}kept", "1<2 AND ".repeat(15_000));
    let unions = format!("SELECT 1 {}", "UNION ALL SELECT 1 ".repeat(5000));
    let brackets = format!("SELECT {}1{}", "(".repeat(20_000), ")".repeat(20_000));
    let mut doubled = "WITH t0 AS (SELECT id FROM documents)".to_owned();
    let mut grown = "WITH t0 AS (SELECT id AS x FROM documents)".to_owned();
    for n in 1..40 {
        write!(doubled, ", t{n} AS (SELECT a.id FROM t{0} a, t{0} b)", n - 1).unwrap();
        write!(grown, ", t{n} AS (SELECT x + x AS x FROM t{})", n - 1).unwrap();
    }
    doubled.push_str(" SELECT count(*) FROM t39");
    let of_no_table = doubled.replacen("SELECT id FROM documents", "SELECT 1 AS id", 1);
    grown.push_str(" SELECT x FROM t39 WHERE x > 1");
    for (statement, word) in [
        (sum.as_str(), "operators"),
        (&ands, "operators"),
        (&unions, "operators"),
        (&brackets, "operators"),
        (&doubled, "tables"),
        (&of_no_table, "tables or subqueries"),
        (&grown, "times as large"),
    ] {
        let (ran, _) = corpusdb_within(&sql(&corpus, statement), HELD);
        ran.fails(&["cannot run", word]);
    }
    let condition = format!("{}kept", "1<2 AND ".repeat(15_000));
    corpusdb(&["count", &corpus, "--where", &condition]).fails(&["operators", "IN (..)"]);
    // What is long and not deep is answered.
    let many: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let list = format!("SELECT id FROM documents WHERE id IN ({})", many.join(","));
    corpusdb(&sql(&corpus, &list)).good();
    let chain = format!("SELECT id FROM documents WHERE {}kept", "id > 3 AND ".repeat(300));
    corpusdb(&sql(&corpus, &chain)).good();
});

corpusdb_test!(a_regular_expression_that_is_too_large_is_said_to_be_so, |scratch| {
    let corpus = skewed(&scratch);
    let statement = "SELECT count(*) FROM documents WHERE regexp_like(text, '(a{1,1000}){1,1000}')";
    let ran = corpusdb(&sql(&corpus, statement)).fails(&["regular expression", "smaller counts"]);
    assert!(!ran.stderr.contains("bug"), "{}", ran.stderr);
});

// Each grew to gigabytes, whatever --memory said.
corpusdb_test!(texts_that_a_statement_makes_are_bounded, |scratch| {
    let corpus = skewed(&scratch);
    let mut chain = "WITH t0 AS (SELECT text AS t FROM documents)".to_owned();
    for n in 1..12 {
        write!(chain, ", t{n} AS (SELECT t || t AS t FROM t{})", n - 1).unwrap();
    }
    chain.push_str(" SELECT max(length(t)) FROM t11");
    for (statement, word) in [
        (chain.as_str(), "--memory"),
        ("SELECT sum(length(lpad(text, 900000000))) FROM documents", "`lpad` is asked for"),
        ("SELECT sum(length(rpad(text, 900000000, 'é'))) FROM documents", "`rpad` is asked for"),
        ("SELECT length(repeat('x', 3000000000))", "string size overflow"),
        ("SELECT sum(length(repeat(text, 1000))) FROM documents", "string size overflow"),
        ("SELECT sum(length(replace(text, 'o', repeat('x', 9000)))) FROM documents", "--memory"),
        (
            "SELECT sum(length(regexp_replace(text, 'o', repeat('x', 9000), 'g'))) FROM documents",
            "--memory",
        ),
        (
            "SELECT sum(length(concat(text, repeat(text, 20), repeat(text, 20)))) FROM documents",
            "--memory",
        ),
        (
            "SELECT length(overlay(text placing repeat(text, 100) from 1)) FROM documents",
            "--memory",
        ),
        (
            "SELECT array_agg(repeat(text, 3)) FROM documents, (SELECT * FROM range(20)) AS v(n)",
            "--memory",
        ),
        (
            "SELECT n, array_agg(repeat(text, 3)) FROM documents, (SELECT * FROM range(20)) AS v(n) GROUP BY n",
            "--memory",
        ),
        (
            "SELECT string_agg(repeat(text, 3), '-') FROM documents, (SELECT * FROM range(20)) AS v(n)",
            "--memory",
        ),
        (
            "SELECT id, last_value(repeat(text, 3)) OVER () FROM documents, (SELECT * FROM range(20)) AS v(n)",
            "--memory",
        ),
    ] {
        let (ran, _) = corpusdb_within(&sql(&corpus, statement), HELD);
        ran.fails(&[word]);
    }
    // A constant was copied for every row of a batch, and the query panicked.
    let constant = "SELECT max(length(x)) AS n FROM (SELECT CASE WHEN id < 0 THEN text ELSE repeat('x', 5000000) END AS x FROM documents)";
    let (ran, _) = corpusdb_within(&[&sql(&corpus, constant)[..], &["--json"]].concat(), HELD);
    assert_eq!(ran.good().json(), json!({ "n": 5_000_000 }));
    for statement in [
        "SELECT sum(length(replace(text, 'o', '00'))) FROM documents",
        "SELECT sum(length(lpad(text, 40))) FROM documents",
        "SELECT count(text), array_agg(id) FROM documents",
        "SELECT sum(length(text || ' ' || id)) FROM documents",
        "SELECT sum(length(concat(text, repeat(text, 2), repeat(text, 2)))) FROM documents",
    ] {
        corpusdb_within(&sql(&corpus, statement), HELD).0.good();
    }
});

// A call of a function is not stopped within: the process is, and leaves nothing.
corpusdb_test!(a_call_beyond_memory_ends_the_process, |scratch| {
    let corpus = skewed(&scratch);
    let spill = scratch.arg("spill");
    std::fs::create_dir(&spill).unwrap();
    // A sort that spills, and above it a call that makes gigabytes of one batch.
    let statement = "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY t) AS n FROM (SELECT text || v AS t \
                     FROM documents, (SELECT * FROM range(2000)) AS r(v) WHERE bytes < 100)) \
                     WHERE length(repeat('x', 20000000 + CAST(n % 2 AS INT))) > 0";
    for json in [false, true] {
        let more: &[&str] = if json { &["--json"] } else { &[] };
        let mut command = command(&[&sql(&corpus, statement)[..], more].concat());
        let ran = command.env("TMPDIR", &spill).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert!(ran.status.code() == Some(2) && told.contains("--memory leaves"), "{told}");
        assert_eq!(serde_json::from_str::<Value>(&told).is_ok(), json, "{told}");
        assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 0);
    }
    // Other verbs evaluate SQL too.
    let condition = "length(repeat(text, 300)) > 3";
    for verb in
        [&["count", &corpus, "--where", condition][..], &["sample", &corpus, "--where", condition]]
    {
        let (ran, _) = corpusdb_within(&[verb, &["--memory", "64MB"]].concat(), HELD);
        ran.fails(&["--memory"]);
    }
});

// The caller waited for the call of a function that the statement was in.
corpusdb_test!(a_stopped_statement_is_left_within_a_call, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let text = json!({ "text": "word ".repeat(12_000) });
    scratch.ingest(&corpus, "a.jsonl", format!("{text}\n"), &["--source", "web"]);
    let corpus = Corpus::options().memory(64 << 20).open(&corpus).unwrap();
    // Seconds: the product of the lengths.
    let statement = "SELECT levenshtein(text, reverse(text)) FROM documents";
    let interrupt = Interrupt::default();
    let rows = corpus.sql(SqlQuery::new(statement).interrupt(&interrupt)).unwrap();
    let raised = {
        let interrupt = interrupt.clone();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            interrupt.raise();
            Instant::now()
        })
    };
    let answer: Result<Vec<_>, _> = rows.collect();
    let late = Instant::now().duration_since(raised.join().unwrap());
    assert!(
        answer.as_ref().is_err_and(|error| matches!(error, SqlError::Interrupted(_))),
        "{answer:?}"
    );
    assert!(late < Duration::from_millis(500), "{late:?}");
    let rows = corpus.sql(statement).unwrap();
    let begun = Instant::now();
    drop(rows);
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    // A statement that is planned ends as soon: this one is computed while it is.
    let constant = "SELECT levenshtein(repeat('ab', 30000), repeat('ba', 30000))";
    let begun = Instant::now();
    let interrupt = Interrupt::default();
    interrupt.raise();
    let answer = corpus.sql(SqlQuery::new(constant).interrupt(&interrupt));
    assert_eq!(answer.unwrap_err().kind(), ErrorKind::Interrupted);
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
});

// The share of a sort was 1 GiB whatever --memory said, or the sort failed.
corpusdb_test!(a_sort_of_more_text_than_memory_spills, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let mut lines = String::new();
    for n in 0..3000_u32 {
        let text = format!("{:08x} {}", n.wrapping_mul(2_654_435_761), "of a text ".repeat(3000));
        writeln!(lines, "{}", json!({ "text": text })).unwrap();
    }
    scratch.ingest(&corpus, "a.jsonl", lines, &["--source", "web"]);
    let sorted = "SELECT substr(text, 1, 8) AS first FROM documents ORDER BY text";
    let (ran, _) = corpusdb_within(&[&sql(&corpus, sorted)[..], &["--json"]].concat(), HELD);
    let rows = ran.good().json_lines();
    assert_eq!(rows.len(), 3000);
    assert!(rows.is_sorted_by_key(|row: &Value| row["first"].as_str().unwrap().to_owned()));
    let grouped = "SELECT count(*) AS n FROM (SELECT text FROM documents GROUP BY text)";
    let (ran, _) = corpusdb_within(&[&sql(&corpus, grouped)[..], &["--json"]].concat(), HELD);
    assert_eq!(ran.good().json(), json!({ "n": 3000 }));
});

// Scans gave batches of more rows than the engine takes at a time: it counted all of a batch for each part of it,
// and a sort of texts failed at a few hundred thousand documents whatever --memory said.
corpusdb_test!(a_sort_of_many_short_texts_spills, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let mut lines = String::new();
    for n in 0..60_000_u32 {
        let text = format!("{:08x} {}", n.wrapping_mul(2_654_435_761), "short ".repeat(40));
        writeln!(lines, "{}", json!({ "text": text })).unwrap();
    }
    scratch.ingest(&corpus, "a.jsonl", lines, &["--source", "web"]);
    let sorted = "SELECT substr(text, 1, 8) AS first FROM documents ORDER BY text";
    let rows = corpusdb(&["sql", &corpus, sorted, "--memory", "256MB", "--json"]);
    let rows = rows.good().json_lines();
    assert_eq!(rows.len(), 60_000);
    assert!(rows.is_sorted_by_key(|row: &Value| row["first"].as_str().unwrap().to_owned()));
});

// What had been gathered could not be merged: merging takes more when lengths differ, and there was no more.
corpusdb_test!(a_sort_of_texts_of_uneven_lengths_spills, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let mut lines = String::new();
    for n in 0..900_u32 {
        let length = (n * 37 % 100).pow(3) / 80;
        let words = "of a text ".repeat(length as usize);
        let text = format!("{:08x} {words}", n.wrapping_mul(2_654_435_761));
        writeln!(lines, "{}", json!({ "text": text })).unwrap();
    }
    scratch.ingest(&corpus, "a.jsonl", lines, &["--source", "web"]);
    let first = "SELECT substr(text, 1, 8) AS first, length(text) AS length FROM documents";
    let sorted = |order: &str| {
        let statement = format!("{first} ORDER BY {order}");
        let (ran, _) =
            corpusdb_within(&[&sql(&corpus, &statement)[..], &["--json"]].concat(), HELD);
        ran.good().json_lines()
    };
    let rows = sorted("text");
    assert_eq!(rows.len(), 900);
    assert!(rows.is_sorted_by_key(|row: &Value| row["first"].as_str().unwrap().to_owned()));
    // The longest come together.
    let rows = sorted("length(text), text");
    assert_eq!(rows.len(), 900);
    assert!(rows.is_sorted_by_key(|row: &Value| row["length"].as_u64().unwrap()));
});

// They were plain text in a stream that is read by programs.
corpusdb_test!(errors_and_notes_are_objects_under_json, |scratch| {
    let corpus = skewed(&scratch);
    for (arguments, message) in [
        (&["info", "/nowhere/at/all", "--json"][..], "not a corpus"),
        (&["--json", "count", &corpus, "--where", "nope"], "nope"),
        (&["show", &corpus, "9999", "--json"], "no document 9999"),
        (&["frobnicate", "--json"], "frobnicate"),
        (&["sql", &corpus, "--json"], "there is no statement"),
    ] {
        let ran = corpusdb(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran}");
        let error: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|_| panic!("{ran}"));
        assert_eq!((&error["type"], &error["exit_code"]), (&json!("error"), &json!(2)));
        assert!(error["message"].as_str().unwrap().contains(message), "{ran}");
        assert!(error["causes"].is_array());
    }
    let ran = corpusdb(&["show", &corpus, "no-such-key", "--json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran}");
    let note: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(note, json!({ "type": "note", "message": "no document has the key no-such-key" }));
});

// `SELECT id, cluster FROM documents` was a parse error: after a comma the word was taken for the beginning of
// a clause, and only first in the list for a column; so was `offset` of `rejects`.
corpusdb_test!(every_column_can_be_selected_in_any_place_of_a_list, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "lang:keyword"]);
    let line =
        |n: u32| json!({ "text": format!("a text of number {n}"), "meta": { "lang": "en" } });
    let file =
        scratch.write("a.jsonl", (0..3).map(|n| format!("{}\n", line(n))).collect::<String>());
    ingest(&corpus, &[&file], &["--source", "web"]);
    let corpus = Corpus::options().memory(64 << 20).open(&corpus).unwrap();
    let asked = |sql: &str| {
        let rows = corpus.sql(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let schema = rows.schema();
        for batch in rows {
            let batch = batch.unwrap_or_else(|error| panic!("{sql}: {error}"));
            assert_eq!(batch.schema().fields(), schema.fields(), "{sql}");
        }
        schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let mut tables = 0;
    for table in tables_of(&corpus) {
        let columns = asked(&format!("SELECT * FROM {table} LIMIT 0"));
        assert!(!columns.is_empty());
        tables += 1;
        let (list, from) = (columns.join(", "), format!("FROM {table} LIMIT 1"));
        let first = &columns[0];
        // In the middle, last, before a comma that ends the list, and first.
        assert_eq!(asked(&format!("SELECT {list} {from}")), columns);
        assert_eq!(asked(&format!("SELECT {list}, {from}")), columns);
        for name in &columns {
            assert_eq!(asked(&format!("SELECT 1 AS x, {name} {from}")), ["x", name]);
            assert_eq!(asked(&format!("SELECT {name}, 1 AS x {from}")), [name, "x"]);
        }
        let named: Vec<String> = columns.iter().map(|name| format!("t.{name} AS {name}")).collect();
        let of = format!("SELECT {} FROM {table} AS t LIMIT 1", named.join(", "));
        assert_eq!(asked(&of), columns);
        let counted: Vec<String> = columns.iter().map(|name| format!("count({name})")).collect();
        asked(&format!("SELECT {}, max({first}) FROM {table}", counted.join(", ")));
        asked(&format!("SELECT count(*), {list} FROM {table} GROUP BY {list} ORDER BY {list}"));
        asked(&format!("SELECT x FROM (SELECT 1 AS x, {list} FROM {table}) AS inner_rows LIMIT 1"));
    }
    assert!(tables > 3);
    // What may be said of documents in a condition is parsed alike.
    let held = "id IN (SELECT x FROM (SELECT id AS x, cluster FROM documents))";
    assert_eq!(corpus.count(held).unwrap(), 3);
});

fn tables_of(corpus: &Corpus) -> Vec<String> {
    let mut names = Vec::new();
    for batch in corpus.sql("SHOW TABLES").unwrap() {
        let column = batch.unwrap();
        names.extend(column.column(0).as_string::<i32>().iter().flatten().map(str::to_owned));
    }
    names
}
