//! SQL as people know it: metadata as JSON, lists, hashes, dates, files beside the corpus, snapshots, and the page of
//! all that with its recipes.

use crate::support::{
    HELD, MEMORY, TestDir, corpusdb, corpusdb_test, corpusdb_within, crawl, declaring, ingest,
    init, lines, repository,
};
use corpusdb::Corpus;
use corpusdb::sql::{DocumentFilter, PrintFormat, RowPrinter, SqlParameters, SqlQuery, SqlValue};
use serde_json::{Value, json};
use std::fmt::Write;

/// A crawl with nested metadata in two snapshots, with duplicates, scores in files, and a tokenizer.
struct Library {
    scratch: TestDir,
    corpus: String,
}

impl Library {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &declaring(&["quality:float", "score:float", "crawled:timestamp"]));
        let mut pages = crawl(61, 260, true);
        for (n, page) in pages.iter_mut().enumerate() {
            let more = json!({
                "license": (if n % 2 == 0 { "mit" } else { "cc0" }),
                "score": n as f64 / 8.0,
                "crawled": format!("2024-{:02}-11T{:02}:30:00Z", n % 12 + 1, n % 24),
                "page": { "lang": "en", "status": 200 + n % 2, "a.b": n },
                "tags": ["all", format!("t{}", n % 3)],
            });
            page.fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        let pour = |name: &str, from: usize, to: usize, source: &str| {
            let file = scratch.write(name, lines(&pages[from..to]));
            ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
        };
        pour("web.jsonl", 0, 160, "web");
        corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
        corpusdb(&["snapshot", "create", &corpus, "june"]).good();
        pour("later.jsonl", 160, 260, "web");
        pour("feed.jsonl", 100, 140, "feed");
        corpusdb(&["remove", &corpus, "--where", "kept AND id < 4"]).good();
        corpusdb(&["snapshot", "create", &corpus, "july"]).good();
        let scores = scratch.arg("scores.parquet");
        let columns = ["--where", "kept", "--columns", "key,source,score"];
        corpusdb(&[&["export", &corpus, "--to", &scores][..], &columns].concat()).good();
        scratch.write("wanted.csv", "key,why\npage-1,\"in\nlines\"\nnobody,absent\n");
        Self { scratch, corpus }
    }

    fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }
}

fn try_rows(corpus: &Corpus, sql: &str, query: &SqlQuery) -> Result<Vec<Value>, String> {
    let rows = corpus.sql(query.clone().text(sql)).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let mut printer = RowPrinter::new(PrintFormat::Json, &mut out);
    printer.rows(rows).map_err(|error| error.to_string())?;
    printer.finish().map_err(|error| error.to_string())?;
    let text = String::from_utf8(out).unwrap();
    Ok(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[track_caller]
fn rows(corpus: &Corpus, sql: &str) -> Vec<Value> {
    try_rows(corpus, sql, &SqlQuery::default()).unwrap_or_else(|why| panic!("{sql}: {why}"))
}

/// The value of a statement of one row and one column.
#[track_caller]
fn value(corpus: &Corpus, expression: &str) -> Value {
    let rows = rows(corpus, &format!("SELECT {expression} AS v"));
    rows[0]["v"].clone()
}

fn empty() -> (TestDir, Corpus) {
    let scratch = TestDir::new();
    init(&scratch.arg("corpus"), &[]);
    let corpus = Corpus::options().memory(MEMORY).open(scratch.arg("corpus")).unwrap();
    (scratch, corpus)
}

corpusdb_test!(every_recipe_of_the_page_answers_rows, Library::new(), |library| {
    let corpus = library.open();
    let text = std::fs::read_to_string(repository("docs/reference/sql.md")).unwrap();
    let recipes: Vec<&str> =
        text.split("```sql\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(recipes.len() >= 20, "{}", recipes.len());
    let here = library.scratch.arg("");
    for recipe in recipes {
        let statement = recipe.replace("'scores.parquet'", &format!("'{here}/scores.parquet'"));
        let statement = statement.replace("'wanted.csv'", &format!("'{here}/wanted.csv'"));
        let found = try_rows(&corpus, &statement, &SqlQuery::default().files(true));
        let found = found.unwrap_or_else(|why| panic!("{recipe}\n{why}"));
        assert!(!found.is_empty(), "no rows: {recipe}");
    }
});

#[test]
fn members_of_json_are_found_by_one_rule() {
    let (_scratch, corpus) = empty();
    let json = r#"'{"a": {"b": [1, 2.5, "x"], "c": null}, "a.b": true, "s": "it\u0027s", "n": 2.0, "big": 9223372036854775808, "e": {}}'"#;
    for (expression, expected) in [
        ("J ->> 's'", json!("it's")),
        ("J -> 's'", json!(r#""it\u0027s""#)),
        ("J ->> 'a.b'", json!("true")),
        ("J -> 'a' ->> 'b'", json!(r#"[1, 2.5, "x"]"#)),
        ("J ->> 'a.b.1'", json!("2.5")),
        ("J -> 'a' -> 'b' ->> -1", json!("x")),
        ("json_as_text(J, 'a', 'b', 2)", json!("x")),
        ("json_get_str(J, 's')", json!("it's")),
        ("json_get_str(J, 'n')", json!(null)),
        ("json_get_int(J, 'n')", json!(2)),
        ("json_get_int(J, 'big')", json!(null)),
        ("json_get_int(J, 'a', 'b', 1)", json!(null)),
        ("json_get_float(J, 'a', 'b', 0)", json!(1.0)),
        ("json_get_bool(J, 'a.b')", json!(true)),
        ("json_get_bool(J, 's')", json!(null)),
        ("json_contains(J, 'a', 'c')", json!(true)),
        ("json_contains(J, 'a', 'd')", json!(false)),
        ("json_contains(NULL, 'a')", json!(null)),
        ("J ->> 'a.c'", json!(null)),
        ("J -> 'a' -> 'c'", json!(null)),
        ("json_length(J)", json!(6)),
        ("json_length(J, 'a', 'b')", json!(3)),
        ("json_length(J, 'e')", json!(0)),
        ("json_length(J, 's')", json!(null)),
        ("json_object_keys(json_get(J, 'a'))", json!(["b", "c"])),
        ("json_get_array(J, 'a', 'b')", json!(["1", "2.5", "\"x\""])),
        ("J ->> NULL", json!(null)),
        ("'no JSON' ->> 'a'", json!(null)),
        ("J ->> 'n'::DOUBLE + 1 = 3", json!(true)),
    ] {
        let of = expression.replace('J', json).replace(&format!("{json}SON"), "JSON");
        assert_eq!(value(&corpus, &of), expected, "{expression}");
    }
    for (wrong, words) in [
        ("json_get(1, 'a')", "takes JSON as a text first"),
        ("json_get('{}', 1.5)", "a step of `json_get` is"),
        ("json_get()", "json_get"),
    ] {
        let why = try_rows(&corpus, &format!("SELECT {wrong}"), &SqlQuery::default()).unwrap_err();
        assert!(why.contains(words), "{wrong}: {why}");
    }
}

corpusdb_test!(metadata_answers_as_the_records_have_it, Library::new(), |library| {
    let corpus = library.open();
    let found = rows(
        &corpus,
        "SELECT meta, meta ->> 'license' AS license, json_get_int(meta, 'page', 'status') AS status,
            meta ->> 'tags.1' AS tag, json_get_int(meta, 'page', 'a.b') AS n, meta ->> 'quality' AS q
         FROM documents",
    );
    assert!(found.len() > 200);
    for row in &found {
        let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
        assert_eq!(row["license"], meta["license"]);
        assert_eq!(row["status"], meta["page"]["status"]);
        assert_eq!(row["tag"], meta["tags"][1]);
        assert_eq!(row["n"], meta["page"]["a.b"]);
        let quality =
            meta["quality"].as_f64().map_or(json!(null), |number| json!(number.to_string()));
        let told =
            row["q"].as_str().map_or(json!(null), |q| json!(q.parse::<f64>().unwrap().to_string()));
        assert_eq!(told, quality);
    }
    // In conditions as in statements, and only where it is named.
    let mit = corpus.count("meta ->> 'license' = 'mit' AND kept").unwrap();
    let told = found.iter().filter(|row| row["license"] == "mit").count() as u64;
    assert!(mit > 0 && mit < told);
    let plan = rows(&corpus, "EXPLAIN SELECT count(*) FROM documents WHERE source = 'web'");
    let plan: String = plan.iter().map(Value::to_string).collect();
    assert!(plan.contains("columns=[]") && plan.contains("index="), "{plan}");
    let plan =
        rows(&corpus, "EXPLAIN SELECT meta ->> 'license' FROM documents WHERE source = 'web'");
    let plan: String = plan.iter().map(Value::to_string).collect();
    assert!(plan.contains("columns=[meta]"), "{plan}");
});

corpusdb_test!(lists_hashes_dates_and_percentiles_answer, Library::new(), |library| {
    let corpus = library.open();
    for (expression, expected) in [
        ("md5('abc')", json!("900150983cd24fb0d6963f7d28e17f72")),
        (
            "encode(sha256('abc'), 'hex')",
            json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ),
        (
            "encode(digest('abc', 'blake3'), 'hex')",
            json!("6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85"),
        ),
        ("CAST(decode('YWJj', 'base64') AS VARCHAR)", json!("abc")),
        ("string_to_array('a b', ' ')", json!(["a", "b"])),
        ("array_to_string([1, 2], '-')", json!("1-2")),
        ("[10, 20][2]", json!(20)),
        ("range(1, 4)", json!([1, 2, 3])),
        ("array_length(array_concat([1], [2, 3]))", json!(3)),
        ("extract(year FROM TIMESTAMP '2024-05-06T07:08:09')", json!(2024)),
        ("date_trunc('month', TIMESTAMP '2024-05-06T07:08:09')", json!("2024-05-01T00:00:00Z")),
    ] {
        assert_eq!(value(&corpus, expression), expected, "{expression}");
    }
    assert_eq!(rows(&corpus, "SELECT * FROM GENERATE_SERIES(1, 3)").len(), 3);
    let words = rows(
        &corpus,
        "SELECT sum(n) AS n FROM (SELECT id, array_length(string_to_array(text, ' ')) AS n FROM documents)",
    );
    let unnested = rows(
        &corpus,
        "SELECT count(*) AS n FROM (SELECT unnest(string_to_array(text, ' ')) FROM documents WHERE bytes > 0)",
    );
    let empty = rows(&corpus, "SELECT count(*) AS n FROM documents WHERE bytes = 0");
    assert_eq!(words[0]["n"].as_u64(), unnested[0]["n"].as_u64(), "{words:?} {empty:?}");
    let median = rows(
        &corpus,
        "SELECT approx_percentile(bytes, 0.5) AS a, approx_percentile_cont(bytes, 0.5) AS b FROM documents",
    );
    assert_eq!(median[0]["a"], median[0]["b"]);
    let months = rows(
        &corpus,
        "SELECT date_part('month', crawled) AS m, count(*) AS n FROM documents GROUP BY m ORDER BY m",
    );
    assert_eq!(months.len(), 12);
});

corpusdb_test!(lists_that_a_statement_makes_are_bounded, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let mut text = format!("{}\n", json!({ "text": "word ".repeat(400_000) }));
    for n in 0..999 {
        writeln!(text, "{}", json!({ "text": format!("a short text of number {n}\nin lines") }))
            .unwrap();
    }
    scratch.ingest(&corpus, "a.jsonl", text, &["--source", "web"]);
    for (statement, word) in [
        ("SELECT range(1, 9000000000)", "too large to materialize"),
        ("SELECT array_length(array_repeat(text, 1000000)) FROM documents", "--memory"),
        ("SELECT array_length(array_resize([1], 900000000))", "`array_resize` is asked"),
        (
            "SELECT length(array_to_string(string_to_array(text, ' '), repeat('x', 9000))) FROM documents",
            "--memory",
        ),
        (
            "SELECT count(upper(t)) FROM (SELECT upper(text) || 'x' AS t, unnest(string_to_array(text, ' ')) AS w FROM documents)",
            "",
        ),
    ] {
        let (ran, _) = corpusdb_within(&["sql", &corpus, statement, "--memory", "64MB"], HELD);
        if word.is_empty() {
            assert!(ran.code == Some(0) || ran.stderr.contains("--memory"), "{ran}");
        } else {
            ran.fails(&[word]);
        }
    }
    let good = "SELECT count(*) AS n FROM (SELECT id, unnest(string_to_array(text, ' ')) AS w FROM documents) WHERE w = 'word'";
    let (ran, _) = corpusdb_within(&["sql", &corpus, good, "--memory", "64MB", "--json"], HELD);
    assert_eq!(ran.good().json(), json!({ "n": 400_000 }));
});

corpusdb_test!(files_are_read_where_they_are_allowed, Library::new(), |library| {
    let corpus = library.open();
    let scratch = &library.scratch;
    let allowed = SqlQuery::default().files(true);
    let joined = format!(
        "SELECT count(*) AS n, sum(abs(d.score - s.score)) AS off FROM documents d JOIN read_parquet('{}') s ON d.key = s.key AND d.source = s.source WHERE d.kept",
        scratch.arg("scores.parquet")
    );
    let found = try_rows(&corpus, &joined, &allowed).unwrap();
    assert_eq!(found[0]["n"].as_u64(), corpus.count("kept").ok());
    assert_eq!(found[0]["off"], json!(0.0));
    let why = try_rows(&corpus, &joined, &SqlQuery::default()).unwrap_err();
    assert!(why.contains("not allowed here") && why.contains("files=True"), "{why}");
    let condition = format!("key IN (SELECT key FROM read_csv('{}'))", scratch.arg("wanted.csv"));
    assert!(corpus.count(&condition).unwrap_err().to_string().contains("not allowed here"));
    let wanted = format!("SELECT * FROM read_csv('{}')", scratch.arg("wanted.csv"));
    let found = try_rows(&corpus, &wanted, &allowed).unwrap();
    assert_eq!(found[0], json!({ "key": "page-1", "why": "in\nlines" }));
    scratch.write("parts/b.jsonl", "{\"k\": 2, \"in\": {\"x\": [1]}}\n{\"k\": 3}\n");
    scratch.write("parts/a.jsonl", "{\"k\": 1}\n");
    scratch.write("parts/read.me", "nothing of that kind");
    for path in ["parts", "parts/*.jsonl"] {
        let sum = format!("SELECT sum(k) AS k FROM read_json('{}')", scratch.arg(path));
        assert_eq!(try_rows(&corpus, &sum, &allowed).unwrap()[0]["k"], json!(6), "{path}");
    }
    scratch.write("text.parquet", "this is no Parquet at all");
    scratch.write("ragged.csv", format!("a,b\n{}1,2,3\n", "1,2\n".repeat(3000)));
    scratch.write("broken.jsonl", format!("{}{{\"a\": \n", "{\"a\": 1}\n".repeat(3000)));
    std::fs::create_dir(scratch.path("nothing")).unwrap();
    for (function, path, words) in [
        ("read_parquet", "absent.parquet", "No such file"),
        ("read_parquet", "*.absent", "no file has such a name"),
        ("read_parquet", "nothing", "no file in it ends in .parquet"),
        ("read_parquet", "text.parquet", "text.parquet"),
        ("read_csv", "ragged.csv", "ragged.csv"),
        ("read_json", "broken.jsonl", "broken.jsonl"),
    ] {
        let sql = format!("SELECT * FROM {function}('{}')", scratch.arg(path));
        let why = try_rows(&corpus, &sql, &allowed).unwrap_err();
        assert!(why.contains("cannot read `") && why.contains(words), "{path}: {why}");
    }
    for (sql, words) in [
        ("SELECT * FROM read_parquet('s3://bucket/x.parquet')", "only local files"),
        ("SELECT * FROM read_parquet(1)", "takes one path"),
        ("SELECT * FROM read_xml('a')", "no table function `read_xml`; there are `documents_at`, "),
        ("SELECT * FROM 'wanted.csv'", "wanted.csv"),
        ("COPY documents TO '/tmp/never.csv'", "refused"),
        ("INSERT INTO documents SELECT * FROM documents", "refused"),
    ] {
        let why = try_rows(&corpus, sql, &allowed).unwrap_err();
        assert!(why.contains(words), "{sql}: {why}");
    }
    // The command reads files, since whoever runs it may.
    assert_eq!(corpusdb(&["sql", &library.corpus, &wanted, "--json"]).good().json_lines().len(), 2);
});

corpusdb_test!(a_filter_joins_condition_source_and_snapshot, Library::new(), |library| {
    let corpus = library.open();
    let ids = |filter: DocumentFilter| -> Vec<u64> {
        let found: Vec<u64> = corpus.select(&filter).unwrap().iter().collect();
        assert_eq!(corpus.count(&filter).unwrap(), found.len() as u64, "{filter:?}");
        let shown = corpus.documents(&filter).unwrap().map(|shown| shown.unwrap().id);
        assert_eq!(shown.collect::<Vec<_>>(), found, "{filter:?}");
        let drawn = corpus.sample(&filter, u64::MAX, 1).unwrap().into_iter();
        let mut drawn: Vec<u64> = drawn.map(|document| document.0).collect();
        drawn.sort_unstable();
        assert_eq!(drawn, found, "{filter:?}");
        found
    };
    let all = ids(DocumentFilter::default());
    assert_eq!(all.len() as u64, corpus.view().documents());
    assert_eq!(ids(None.into()), all);
    let feed = ids(DocumentFilter::default().of_source("feed"));
    assert_eq!(feed, ids("source = 'feed'".into()));
    assert!(!feed.is_empty() && feed.len() < all.len());
    let given = ids(DocumentFilter::from("kept").of_source("web"));
    assert_eq!(given, ids("kept AND source = 'web'".into()));
    // What June kept of the web and is not kept today: the documents that were removed since.
    let lost = DocumentFilter::from("NOT kept").of_source("web").in_snapshot("june");
    let june = ids(DocumentFilter::default().in_snapshot("june"));
    let not_kept = ids("NOT kept AND source = 'web'".into());
    let both: Vec<u64> = not_kept.into_iter().filter(|id| june.contains(id)).collect();
    assert!(both.len() > 1);
    assert_eq!(ids(lost.clone()), both);
    assert!(ids(lost.clone().of_source("feed")).is_empty(), "June had no feed");
    let why = |filter: DocumentFilter| {
        let error = corpus.select(filter).unwrap_err();
        format!("{error}; {}", error.hint().unwrap())
    };
    assert_eq!(why(lost.clone().of_source("books")), "no source `books`; there are `web`, `feed`");
    assert_eq!(why(lost.in_snapshot("may")), "no snapshot `may`; there are `july`, `june`");
    let stats = corpus.stats(DocumentFilter::from("bytes > 300").of_source("feed")).unwrap();
    assert_eq!(stats.all.documents, corpus.count("bytes > 300 AND source = 'feed'").unwrap());
});

corpusdb_test!(a_snapshot_is_asked_as_count_has_it, Library::new(), |library| {
    let corpus = library.open();
    let june = SqlQuery::default().snapshot("june");
    let ids = |sql: &str, query: &SqlQuery| -> Vec<u64> {
        let rows = try_rows(&corpus, sql, query).unwrap();
        rows.iter().map(|row| row["id"].as_u64().unwrap()).collect()
    };
    for condition in
        ["true", "kept", "NOT kept", "source = 'web' AND bytes > 300", "text LIKE '%ba%'"]
    {
        let expected = corpus.select(DocumentFilter::from(condition).in_snapshot("june")).unwrap();
        let expected: Vec<u64> = expected.iter().collect();
        let sql = format!("SELECT id FROM documents WHERE {condition} ORDER BY id");
        assert_eq!(ids(&sql, &june), expected, "{condition}");
        let at = sql.replace("documents", "documents_at('june')");
        assert_eq!(ids(&at, &SqlQuery::default()), expected, "{condition}");
        let count = format!("SELECT count(*) AS id FROM Documents_At('june') WHERE {condition}");
        assert_eq!(ids(&count, &SqlQuery::default()), [expected.len() as u64]);
    }
    assert!(
        !corpus.select(DocumentFilter::from("NOT kept").in_snapshot("june")).unwrap().is_empty()
    );
    assert_eq!(ids("SELECT id FROM documents LIMIT 3", &june).len(), 3);
    for (sql, query) in [
        ("SELECT 1 AS id", &SqlQuery::default().snapshot("may")),
        ("SELECT id FROM documents_at('may')", &SqlQuery::default()),
    ] {
        assert_eq!(try_rows(&corpus, sql, query).unwrap_err(), "no snapshot `may`");
    }
    let command = |rest: &[&str]| corpusdb(&[&["sql", &library.corpus], rest].concat());
    let counted = command(&["SELECT count(*) AS n FROM documents", "--snapshot", "june", "--json"]);
    let expected = corpus.count(DocumentFilter::default().in_snapshot("june")).unwrap();
    assert_eq!(counted.good().json()["n"].as_u64(), Some(expected));
    command(&["SELECT 1", "--snapshot", "may"])
        .fails(&["no snapshot `may`; there are `july`, `june`"]);
});

corpusdb_test!(listed_tables_and_columns_can_be_queried, Library::new(), |library| {
    let corpus = library.open();
    let names = corpus.sql_names().unwrap();
    assert!(names.tables.iter().any(|table| table.name == "documents"));
    for table in &names.tables {
        let list = table.columns.join(", ");
        rows(&corpus, &format!("SELECT {list} FROM {} LIMIT 0", table.name));
    }
    for function in
        ["json_get", "upper", "sum", "approx_percentile", "read_parquet", "documents_at"]
    {
        assert!(names.functions.iter().any(|name| name == function), "{function}");
    }
    let shown = rows(&corpus, "SHOW FUNCTIONS");
    assert!(shown.len() > 250 && shown.iter().any(|row| row["function"] == "json_get_int"));
});

corpusdb_test!(info_states_the_rule_of_tokens, Library::new(), |library| {
    let told = corpusdb(&["info", &library.corpus, "--settings"]).good().stdout;
    assert!(told.contains("`tokens` is NULL for documents that the tokenizer has not encoded"));
    let corpus = library.open();
    // Kept means encoded; what was encoded once stays so.
    assert_eq!(corpus.count("kept AND tokens IS NULL").unwrap(), 0);
    assert!(corpus.count("standing = 'removed' AND tokens IS NOT NULL").unwrap() > 0);
    assert!(corpus.count("standing = 'near' AND tokens IS NULL").unwrap() > 0);
});

corpusdb_test!(parameters_are_bound_as_values, Library::new(), |library| {
    let corpus = Corpus::options().memory(MEMORY).open(&library.corpus).unwrap();
    let in_order =
        |values: Vec<SqlValue>| SqlQuery::default().parameters(SqlParameters::in_order(values));
    let by_name = |values: Vec<(&str, SqlValue)>| {
        SqlQuery::default().parameters(SqlParameters::by_name(values))
    };
    let hostile = "web' OR 'a' = 'a";
    for (condition, options, same) in [
        ("source = ?", in_order(vec!["web".into()]), "source = 'web'"),
        (
            "source = $2 AND id < $1",
            in_order(vec![9_i64.into(), "web".into()]),
            "source = 'web' AND id < 9",
        ),
        ("source = $s", by_name(vec![("s", hostile.into())]), "source = 'web'' OR ''a'' = ''a'"),
        ("score > $least", by_name(vec![("least", 3.5.into())]), "score > 3.5"),
        (
            "crawled < ?",
            in_order(vec![SqlValue::Timestamp(1_710_000_000_000_000)]),
            "crawled < to_timestamp(1710000000)",
        ),
        ("crawled < ?", in_order(vec![SqlValue::Date(19_793)]), "crawled < DATE '2024-03-11'"),
        ("id IN ($ids, 5)", by_name(vec![("ids", vec![1_i64, 2].into())]), "id IN (1, 2, 5)"),
        ("id NOT IN ($ids)", by_name(vec![("ids", vec![1_i64, 2].into())]), "id NOT IN (1, 2)"),
        (
            "score IN ($ids)",
            by_name(vec![("ids", SqlValue::List(vec![1_i64.into(), 0.5.into()]))]),
            "score IN (1.0, 0.5)",
        ),
        (
            "id IN (SELECT id FROM documents WHERE quality > ?)",
            in_order(vec![0.5.into()]),
            "id IN (SELECT id FROM documents WHERE quality > 0.5)",
        ),
        ("meta ->> 'license' = ?", in_order(vec!["mit".into()]), "meta ->> 'license' = 'mit'"),
        ("source = $s", by_name(vec![("s", SqlValue::Null)]), "source = NULL"),
    ] {
        let count =
            |condition: &str| format!("SELECT count(*) AS n FROM documents WHERE {condition}");
        let bound = try_rows(&corpus, &count(condition), &options).unwrap();
        assert_eq!(bound, rows(&corpus, &count(same)), "{condition}");
    }
    // What the indexes answer they answer with a parameter too.
    let explained = try_rows(
        &corpus,
        "EXPLAIN SELECT id FROM documents WHERE source = ?",
        &in_order(vec!["web".into()]),
    );
    let written = rows(&corpus, "EXPLAIN SELECT id FROM documents WHERE source = 'web'");
    let physical = |rows: &[Value]| rows.last().unwrap()["plan"].clone();
    assert_eq!(physical(&explained.unwrap()), physical(&written));
    for (statement, options, why) in [
        ("SELECT $a, $b", by_name(vec![("a", 1_i64.into())]), "no value was given for `$b`"),
        (
            "SELECT $a",
            by_name(vec![("a", 1_i64.into()), ("c", 1_i64.into())]),
            "a value was given for `$c`, and it has `$a`",
        ),
        ("SELECT ?", SqlQuery::default(), "no value was given for `$1`"),
        ("SELECT ?, $1", in_order(vec![1_i64.into()]), "cannot be combined"),
        ("SELECT $ + 1", SqlQuery::default(), "`$` needs a name"),
        (
            "SELECT id FROM documents WHERE key = ?",
            in_order(vec![1_i64.into()]),
            "`key` is text, and 1 is a number",
        ),
        ("SELECT ?", in_order(vec![SqlValue::List(vec![1_i64.into(), "a".into()])]), "[1] is Utf8"),
    ] {
        let refused = try_rows(&corpus, statement, &options).unwrap_err();
        assert!(refused.contains(why), "{statement}: {refused}");
    }
});

corpusdb_test!(conditions_take_parameters_too, Library::new(), |library| {
    let corpus = Corpus::options().memory(MEMORY).open(&library.corpus).unwrap();
    let values = |values: Vec<(&'static str, SqlValue)>| SqlParameters::by_name(values);
    let filter = DocumentFilter::from("source = $s AND id < $n");
    let bound =
        filter.clone().with_parameters(values(vec![("s", "web".into()), ("n", 9_i64.into())]));
    assert_eq!(corpus.count(&bound).unwrap(), 9);
    assert_eq!(corpus.select(&bound).unwrap(), corpus.select("source = 'web' AND id < 9").unwrap());
    assert_eq!(corpus.sample(&bound, 99, 1).unwrap().len(), 9);
    assert_eq!(corpus.stats(&bound).unwrap().all.documents, 9);
    let none = corpus.count(bound.in_snapshot("june")).unwrap();
    assert_eq!(none, corpus.count(DocumentFilter::from("id < 9").in_snapshot("june")).unwrap());
    let refused = corpus.count(&filter).unwrap_err().to_string();
    assert!(refused.contains("no value was given for `$n`, `$s`"), "{refused}");
});

// The engine counts in nanoseconds: one moment beyond 2262 ended the statement for all.
corpusdb_test!(a_far_moment_breaks_no_month_of_others, |t| {
    let moments = ["2024-05-06T07:08:09Z", "9999-12-31T23:59:59Z", "0001-02-03", "1500-01-01"];
    let line = |(at, moment): (usize, &&str)| {
        format!("{{\"id\":\"{at}\",\"text\":\"page {at}\",\"at\":\"{moment}\"}}\n")
    };
    t.write("a.jsonl", moments.iter().enumerate().map(line).collect::<String>());
    t.run("init c --mode none --field at:timestamp");
    t.run("ingest c a.jsonl --source s --id-field id --json").counts("added 4");
    for (unit, expected) in [
        (
            "month",
            [
                "2024-05-01T00:00:00Z",
                "9999-12-01T00:00:00Z",
                "0001-02-01T00:00:00Z",
                "1500-01-01T00:00:00Z",
            ],
        ),
        (
            "week",
            [
                "2024-05-06T00:00:00Z",
                "9999-12-27T00:00:00Z",
                "0001-01-29T00:00:00Z",
                "1500-01-01T00:00:00Z",
            ],
        ),
        (
            "quarter",
            [
                "2024-04-01T00:00:00Z",
                "9999-10-01T00:00:00Z",
                "0001-01-01T00:00:00Z",
                "1500-01-01T00:00:00Z",
            ],
        ),
    ] {
        let statement = format!("SELECT date_trunc('{unit}', at) AS m FROM documents ORDER BY id");
        assert_eq!(t.column("c", &statement), expected, "{unit}");
    }
    let months = t.column("c", "SELECT count(*) FROM documents GROUP BY date_trunc('month', at)");
    assert_eq!(months, ["1"; 4]);
    let far = t.column("c", "SELECT date_trunc('year', max(at)) FROM documents");
    assert_eq!(far, ["9999-01-01T00:00:00Z"]);
});
