//! `sql` with several statements, from files and standard input, and answers that are written to files.

use crate::support::{
    Page, TestDir, command, corpusdb, corpusdb_reading, ingest, init, interrupt, lines,
};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use arrow_ipc::reader::FileReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use serde_json::json;
use std::fs::File;

/// Twelve documents with texts that CSV and SQL would have trouble with.
fn place() -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "rank:int"]);
    let page = |n: usize| Page {
        fields: json!({ "rank": (!n.is_multiple_of(3)).then_some(n) }),
        ..Page::keyed(format!("k{n}"), format!("text; \"{n}\",\nof two lines"))
    };
    let file = scratch.write("a.jsonl", lines(&(0..12).map(page).collect::<Vec<_>>()));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    (scratch, corpus)
}

#[test]
fn statements_run_one_after_another_from_wherever_they_come() {
    let (scratch, corpus) = place();
    let script = "SELECT count(*) AS n -- all; of them\nFROM documents\n  WHERE text LIKE '%;%';\n\nSELECT $$;$$ AS sign; DESCRIBE sources;";
    let file = scratch.write("report.sql", script);
    let expected = corpusdb(&["sql", &corpus, script, "--format", "csv"]).good().stdout;
    assert!(
        expected.starts_with("n\n12\nsign\n;\ncolumn,type,nullable,meaning\nname,"),
        "{expected}"
    );
    for arguments in [&["-f", &file][..], &["--file", &file]] {
        let ran = corpusdb(&[&["sql", &corpus, "--format", "csv"], arguments].concat()).good();
        assert_eq!(ran.stdout, expected);
    }
    for arguments in [&["-f", "-"][..], &["-"], &[]] {
        let all = [&["sql", &corpus, "--format", "csv"], arguments].concat();
        assert_eq!(corpusdb_reading(&all, script.as_bytes()).good().stdout, expected);
    }
    // Tables stand apart.
    let tables = corpusdb(&["sql", &corpus, "SELECT 1 AS a; SELECT 2 AS b"]).good().stdout;
    assert_eq!(tables.split("\n\n").count(), 2, "{tables}");
    let json =
        corpusdb(&["sql", &corpus, "SELECT 1 AS a; SELECT 2 AS b;", "--format", "jsonl"]).good();
    assert_eq!(json.stdout, "{\"a\":1}\n{\"b\":2}\n");
    let markdown = corpusdb(&["sql", &corpus, "SELECT 'x|y' AS a", "--format", "markdown"]).good();
    assert_eq!(markdown.stdout, "| a |\n| --- |\n| x\\|y |\n");
}

#[test]
fn a_failed_statement_keeps_earlier_answers_and_its_place() {
    let (scratch, corpus) = place();
    let file = scratch.write(
        "report.sql",
        "SELECT 1 AS a;\n\n  /* é */ SELECT nope\nFROM documents;\nSELECT 2 AS b;",
    );
    let ran = corpusdb(&["sql", &corpus, "-f", &file, "--format", "csv"]);
    assert_eq!(ran.stdout, "a\n1\n");
    ran.fails(&["report.sql: line 3, column 11: cannot run `SELECT nope", "no column `nope`"]);
    let ran = corpusdb(&["sql", &corpus, "SELECT 1 AS a; SELEC 2"]);
    ran.fails(&["line 1, column 16: cannot run `SELEC 2`"]);
    let ran = corpusdb_reading(&["sql", &corpus], b"SELECT 1;\nDELETE FROM documents;");
    ran.fails(&["standard input: line 2, column 1: refused `DELETE FROM documents`"]);
    // Nothing runs of a script that cannot be cut.
    let open = scratch.write("open.sql", "SELECT 1 AS a;\nSELECT 'it''s;\n");
    let ran = corpusdb(&["sql", &corpus, "-f", &open]);
    assert_eq!(ran.stdout, "");
    ran.fails(&["open.sql: line 2, column 8: Unterminated string literal"]);
    let bytes = scratch.write("bytes.sql", b"SELECT 1; \xff");
    corpusdb(&["sql", &corpus, "-f", &bytes]).fails(&["bytes.sql is not UTF-8 text at byte 10"]);
    let none = scratch.write("none.sql", "-- nothing;\n");
    corpusdb(&["sql", &corpus, "-f", &none]).fails(&["none.sql: there is no statement"]);
    corpusdb(&["sql", &corpus, "-f", &scratch.arg("absent.sql")]).fails(&["opening", "absent.sql"]);
    corpusdb(&["sql", &corpus, ""]).fails(&["refused ``"]);
    // One statement is told as it always was.
    corpusdb(&["sql", &corpus, "SELEC 1;"]).fails(&["error: cannot run `SELEC 1;`"]);
}

const ALL: &str =
    "SELECT id, key, rank, text, bytes / 7.0 AS share, kept FROM documents ORDER BY id";

#[test]
fn answers_are_written_in_every_form_and_read_back() {
    let (scratch, corpus) = place();
    let write = |name: &str, more: &[&str]| {
        let path = scratch.arg(name);
        let ran = corpusdb(&[&["sql", &corpus, ALL, "-o", &path], more].concat()).good();
        assert_eq!(
            ran.stdout.split(": ").nth(1).unwrap().split(", ").next(),
            Some("12 rows"),
            "{ran}"
        );
        path
    };
    let ids = |batches: Vec<arrow::array::RecordBatch>| -> Vec<u64> {
        let column = |batch: &arrow::array::RecordBatch| {
            batch.column(0).as_primitive::<UInt64Type>().values().to_vec()
        };
        batches.iter().flat_map(column).collect()
    };
    let parquet =
        ParquetRecordBatchReader::try_new(File::open(write("out.parquet", &[])).unwrap(), 5)
            .unwrap();
    assert_eq!(ids(parquet.map(Result::unwrap).collect()), (0..12).collect::<Vec<_>>());
    let arrow = FileReader::try_new(File::open(write("out.arrow", &[])).unwrap(), None).unwrap();
    assert_eq!(arrow.schema().field(1).name(), "key");
    assert_eq!(ids(arrow.map(Result::unwrap).collect()), (0..12).collect::<Vec<_>>());
    // Lines are those that are printed.
    for (name, format) in [("out.csv", "csv"), ("out.jsonl", "json")] {
        let printed = corpusdb(&["sql", &corpus, ALL, "--format", format]).good().stdout;
        assert_eq!(std::fs::read_to_string(write(name, &[])).unwrap(), printed);
        assert_eq!(
            std::fs::read_to_string(write(&format!("other-{format}"), &["--format", format]))
                .unwrap(),
            printed
        );
    }
    let zipped = zstd::decode_all(File::open(write("out.jsonl.zst", &[])).unwrap()).unwrap();
    assert_eq!(zipped, std::fs::read(scratch.path("out.jsonl")).unwrap());
    // An answer without rows has its columns.
    let none = scratch.arg("none.csv");
    corpusdb(&["sql", &corpus, "SELECT id, key FROM documents WHERE id > 99", "-o", &none]).good();
    assert_eq!(std::fs::read_to_string(&none).unwrap(), "id,key\n");
    let none = scratch.arg("none.parquet");
    corpusdb(&["sql", &corpus, "SELECT id FROM documents WHERE id > 99", "-o", &none]).good();
    let none = ParquetRecordBatchReader::try_new(File::open(none).unwrap(), 5).unwrap();
    assert_eq!(ids(none.map(Result::unwrap).collect()), Vec::<u64>::new());
}

#[test]
fn an_output_is_whole_or_absent_and_nothing_is_covered() {
    let (scratch, corpus) = place();
    let out = scratch.arg("out.csv");
    let sql = |statement: &str, more: &[&str]| {
        corpusdb(&[&["sql", &corpus, statement, "-o", &out], more].concat())
    };
    // It fails in its middle: a division by zero behind the first rows.
    sql("SELECT id, 1 / (11 - CAST(id AS BIGINT)) AS x FROM documents", &[]).fails(&["zero"]);
    let left = || {
        let mut names: Vec<String> = std::fs::read_dir(scratch.path("."))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(left(), ["a.jsonl", "corpus"]);
    sql("SELECT 1 AS a", &[]).good();
    sql("SELECT 2 AS a", &[]).fails(&["out.csv exists", "--force"]);
    sql("SELECT nope FROM documents", &["--force"]).fails(&["nope"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "a\n1\n");
    let json = sql("SELECT 2 AS a", &["--force", "--json"]).good().json();
    assert_eq!(
        (&json["type"], &json["rows"], &json["bytes"]),
        (&json!("sql"), &json!(1), &json!(4))
    );
    assert_eq!(left(), ["a.jsonl", "corpus", "out.csv"]);

    sql("SELECT 1 AS a; SELECT 2 AS a", &["--force"]).fails(&["one statement, and there are 2"]);
    sql("SELECT a.id, b.id FROM documents a JOIN documents b ON a.id = b.id", &["--force"])
        .fails(&["two columns named `id`", "AS"]);
    for (more, words) in
        [(&["--format", "table"][..], "parquet, arrow, csv or jsonl"), (&[], "has no known ending")]
    {
        let unknown = scratch.arg("out.xyz");
        corpusdb(&[&["sql", &corpus, "SELECT 1 AS a", "-o", &unknown], more].concat())
            .fails(&[words]);
    }
    corpusdb(&["sql", &corpus, "SELECT 1", "--format", "parquet"]).fails(&["--output FILE"]);
    assert_eq!(left(), ["a.jsonl", "corpus", "out.csv"]);
}

#[test]
fn ctrl_c_leaves_no_piece_of_an_output() {
    let (scratch, corpus) = place();
    let out = scratch.arg("out.parquet");
    // Minutes of work without a row.
    let many = "SELECT count(*) AS n FROM documents a, documents b, documents c, documents d, documents e, documents f, \
                documents g, documents h WHERE a.id + b.id + c.id + d.id + e.id + f.id + g.id + h.id > 1";
    let mut child = command(&["sql", &corpus, many, "-o", &out]).spawn().unwrap();
    let staged = || {
        std::fs::read_dir(scratch.path("."))
            .unwrap()
            .flatten()
            .any(|it| it.file_name().to_string_lossy().starts_with("out.parquet.tmp"))
    };
    // Long, where others have the cores.
    for _ in 0..3_000 {
        if staged() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(staged() && child.try_wait().unwrap().is_none(), "it is under way");
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!staged() && !scratch.path("out.parquet").exists());
}

/// Every reader of JSON keeps one of two members of one name, and the other value was lost without a word.
#[test]
fn duplicate_column_names_are_refused_under_json() {
    let (_scratch, corpus) = place();
    let joined = "SELECT a.id, b.id FROM documents a JOIN documents b ON b.id = a.id + 1";
    let nested = "SELECT [named_struct('x', 1, 'y', 2)] AS list, 1 AS x";
    for form in
        [&["--format", "json"][..], &["--format", "jsonl"], &["--format", "csv"], &["--json"]]
    {
        let sql = |statement: &str| corpusdb(&[&["sql", &corpus, statement], form].concat());
        let ran = sql(joined).fails(&["two columns named `id`", "AS"]);
        assert_eq!(ran.stdout, "");
        // Also where no row is there to lose a value of.
        sql(&format!("{joined} WHERE a.id < 0")).fails(&["two columns named `id`"]);
        sql(&joined.replace("b.id FROM", "b.id AS next FROM")).good();
    }
    corpusdb(&["sql", &corpus, nested, "--json"]).good();
    // People tell them apart by their places.
    for form in ["table", "line", "markdown"] {
        corpusdb(&["sql", &corpus, joined, "--format", form]).good();
    }
}
