//! SQL as a person at a terminal meets it: names that there are not, nulls, commas, what is cut, and how a scan reads.

use crate::support::{
    TERMINAL, TestDir, corpusdb, corpusdb_test, crawl, declaring, ingest, init, lines, python,
    python_has,
};
use serde_json::{Value, json};

/// A corpus of two sources with a snapshot, a field with capitals, nulls and large numbers.
fn of_pages() -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &declaring(&["visits:int", "year:int", "URL:keyword"]));
    let mut pages = crawl(9, 40, true);
    for (n, page) in pages.iter_mut().enumerate() {
        let mut more = json!({ "year": 1990 + n, "URL": format!("https://example.org/{n}") });
        if n % 2 == 0 {
            more["visits"] = json!(12_345_678 + n);
        }
        page.fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    }
    let file = scratch.write("a.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    corpusdb(&["snapshot", "create", &corpus, "december"]).good();
    (scratch, corpus)
}

corpusdb_test!(an_error_names_what_was_meant_in_its_table, of_pages(), |place| {
    let (_scratch, corpus) = &place;
    let joined = "FROM documents d JOIN sources s ON d.source = s.name";
    for (statement, told) in [
        (format!("SELECT d.txt {joined}"), "no column `txt` in `d`; did you mean `text`?"),
        (
            format!("SELECT s.txt {joined}"),
            "no column `txt` in `s`; there are `name`, `documents`, `kept`, `bytes`, `kept_bytes` (",
        ),
        (format!("SELECT s.standin {joined}"), "no column `standin` in `s`; there are"),
        (format!("SELECT standin {joined}"), "no column `standin`; did you mean `standing`?"),
        (format!("SELECT x.id {joined}"), "no table or alias `x`; there are `d`, `s`"),
        ("SELECT x.id FROM documents d".to_owned(), "no table or alias `x`; there is `d`"),
        ("SELECT url FROM documents".to_owned(), "no column `url`; did you mean `URL`?"),
        (
            "SELECT id FROM documents_at('decembre')".to_owned(),
            "no snapshot `decembre`; did you mean `december`?",
        ),
        ("SELECT id FROM documents_at('xyz')".to_owned(), "no snapshot `xyz`; there is `december`"),
        ("SELECT id FROM other.documens".to_owned(), "no table `other.documens`; "),
        (
            "SELECT frobnicate(id) FROM documents".to_owned(),
            "no function `frobnicate`; SHOW FUNCTIONS lists those",
        ),
        ("SELECT lenght(text) FROM documents".to_owned(), "did you mean `length`?"),
    ] {
        corpusdb(&["sql", corpus, &statement]).fails(&[told]);
    }
    for (condition, told) in [
        ("txt = 'a'", "`txt` is not a column; did you mean `text`?"),
        ("url = 'a'", "`url` is not a column; did you mean `URL`?"),
        ("d.text = 'a'", "no table or alias `d`; there is `documents`"),
        ("id IN (SELECT witnes FROM duplicates)", "no column `witnes`; did you mean `witness`?"),
        (
            "id IN (SELECT id FROM documents_at('decembre'))",
            "no snapshot `decembre`; did you mean `december`?",
        ),
        ("id IN (SELECT id FROM document)", "no table `document`; did you mean `documents`?"),
    ] {
        corpusdb(&["count", corpus, "--where", condition]).fails(&[told]);
        corpusdb(&["remove", corpus, "--where", condition, "--dry-run"]).fails(&[told]);
    }
});

/// What a statement prints on a terminal of 80 columns, standard error behind it.
fn shown(corpus: &str, statement: &str, more: &[&str], variables: &[(&str, &str)]) -> String {
    let mut terminal = python(TERMINAL);
    terminal.args(["sh", "-c", "\"$0\" \"$@\" 2>notes; cat notes"]);
    terminal.arg(env!("CARGO_BIN_EXE_corpusdb")).args(["sql", corpus, statement]).args(more);
    let folder = TestDir::new();
    terminal.current_dir(&folder.root).env_remove("NO_COLOR").envs(variables.iter().copied());
    String::from_utf8(terminal.output().unwrap().stdout).unwrap().replace("\r\n", "\n")
}

corpusdb_test!(a_terminal_has_commas_dim_nulls_and_marks, of_pages(), |place| {
    python_has("pty");
    let (_scratch, corpus) = &place;
    let statement =
        "SELECT id, visits, year, visits AS page_id FROM documents WHERE id < 2 ORDER BY id";
    let told = shown(corpus, statement, &[], &[]);
    let null = "\x1b[2mNULL\x1b[0m";
    assert!(told.contains("| 0  | 12,345,678 | 1990 | 12345678 |\n"), "{told}");
    assert!(told.contains(&format!("| 1  | {null}       | 1991 | {null}     |\n")), "{told}");
    let plain = shown(corpus, statement, &[], &[("NO_COLOR", "1")]);
    assert_eq!(told.replace("\x1b[2m", "").replace("\x1b[0m", ""), plain);
    // What programs read has neither, on a terminal and in a pipe.
    for format in ["csv", "json", "markdown", "line"] {
        let told = shown(corpus, statement, &["--format", format], &[]);
        assert!(
            told.contains("12345678") && !told.contains(['\x1b', ',']) || format != "markdown",
            "{told}"
        );
        assert!(!told.contains("12,345") && !told.contains('\x1b'), "{told}");
    }
    let piped = corpusdb(&["sql", corpus, statement]).good().stdout;
    assert!(piped.contains("| 0  | 12345678 | 1990 | 12345678 |\n"), "{piped}");
    assert!(piped.contains("| 1  |          | 1991 |          |\n"), "{piped}");

    // A text that is cut has its mark, and a line says how to see all; one that fits has none.
    let long = "SELECT repeat('ab', 60) AS text, 'x' AS \"a name of a column that is as long\"";
    let told = shown(corpus, long, &[], &[]);
    assert!(
        told.contains("ab… |") && told.contains("what ends in … is cut; --format line"),
        "{told}"
    );
    assert!(!shown(corpus, "SELECT 'short' AS text", &[], &[]).contains('…'));
    // Texts do not act on a terminal, nor do plans that hold one.
    for statement in [
        "SELECT chr(27) || '[31mred' AS t",
        "EXPLAIN SELECT id FROM documents WHERE text = chr(27)",
    ] {
        let told = shown(corpus, statement, &[], &[]);
        assert!(!told.contains('\x1b') && told.contains('\u{fffd}'), "{told:?}");
    }
});

corpusdb_test!(explain_says_how_documents_are_read, of_pages(), |place| {
    let (_scratch, corpus) = &place;
    let explained = |statement: &str, more: &[&str]| {
        let words = [&["sql", corpus, statement, "--json"], more].concat();
        let rows = corpusdb(&words).good().json_lines();
        let of = rows.iter().filter(|row| row["plan_type"] == "documents");
        of.map(|row| row["plan"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
    };
    let documents = corpusdb(&["count", corpus]).good().stdout.trim().parse::<u64>().unwrap();
    let last = documents - 1;
    let condition =
        "kept AND source IN ('web', 'x') AND visits > 3 AND text LIKE '%a%' AND key <> 'x'";
    assert_eq!(
        explained(&format!("EXPLAIN SELECT id, year FROM documents WHERE {condition}"), &[]),
        [format!(
            "index    kept (by bitmap) AND (source = 'web' OR source = 'x') (by bitmap) AND key <> 'x' (by key) AND visits > 3 (by column)\n\
             filter   text LIKE '%a%', tested on each row read\n\
             columns  id, text, year\n\
             ids      0 to {last}: 1 of 1 blocks"
        )]
    );
    assert_eq!(
        explained("EXPLAIN SELECT count(*) FROM documents", &["--snapshot", "december"]),
        [format!(
            "index    none: every document is taken\n\
             filter   none: the index answers exactly\n\
             columns  none: rows are counted\n\
             ids      0 to {last}: 1 of 1 blocks\n\
             within   the snapshot december"
        )]
    );
    let joined = "EXPLAIN SELECT d.key FROM duplicates p JOIN documents d ON d.id = p.id \
                  JOIN documents_at('december') w ON w.id = p.witness WHERE w.language = 'en' AND d.id > 90000";
    let told = explained(joined, &[]);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told.iter().any(|it| it.contains("(by bitmap)") && it.contains("the snapshot")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|it| it.contains("id > 90000 (by id)") && it.contains("ids      none")),
        "{told:?}"
    );
    assert_eq!(explained("EXPLAIN SELECT name FROM sources", &[]), Vec::<String>::new());
    let limited = explained("EXPLAIN SELECT id FROM documents WHERE kept LIMIT 3", &[]);
    assert!(limited[0].ends_with("\nlimit    3"), "{limited:?}");
    // The words come before the plan, whole.
    let printed = corpusdb(&["sql", corpus, "EXPLAIN SELECT id FROM documents WHERE kept"]).good();
    assert!(printed.stdout.starts_with("documents\n  index    kept (by bitmap)\n"), "{printed}");
    printed.prints(&["physical_plan"]);
});

corpusdb_test!(info_and_reports_name_suites_and_documents, |scratch, corpus| {
    let question = "How many rolls does the baker of Whitby sell on a day in May if each customer takes four of them and there are eighteen?";
    let page = json!({ "id": "page one", "text": format!("Some words stand before it. {question} And others behind.") });
    scratch.ingest(
        &corpus,
        "a.jsonl",
        format!("{page}\n"),
        &["--source", "web", "--id-field", "id"],
    );
    assert!(!corpusdb(&["info", &corpus]).good().stdout.contains("suites"));
    let items = scratch.write(
        "suite.jsonl",
        format!("{}\n", json!({ "id": "rolls", "question": question, "answer": "72" })),
    );
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    corpusdb(&["info", &corpus]).good().prints(&["\nsuites      ours (1 item)\n"]);
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    assert_eq!(info["suites"], json!([{ "name": "ours", "items": 1 }]));
    let report = corpusdb(&["contamination", "report", &corpus]).good();
    let words = |line: &str| {
        line.split("  ")
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = report.stdout.lines().map(words).collect();
    let head = rows.iter().position(|row| row.first().is_some_and(|word| word == "item")).unwrap();
    assert_eq!(rows[head][..4], ["item", "part", "document", "key"], "{report}");
    assert_eq!(rows[head + 1][..4], ["rolls", "question", "0", "page one"], "{report}");
    for verb in [&["report", &corpus][..], &["show", &corpus, "ours"], &["show", &corpus, "0"]] {
        let told: Value = corpusdb(&[&["contamination"], verb, &["--json"]].concat()).good().json();
        let one = told.get("worst").map_or(&told, |worst| &worst[0]);
        assert_eq!((&one["document"], &one["key"]), (&json!(0), &json!("page one")), "{told}");
    }
});
