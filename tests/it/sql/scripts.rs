//! Many statements: in scripts and files, and again and again over corpora that are held open.

use crate::support::{
    Page, Random, TestDir, WEB_BY_ID, assert_has, command, corpusdb, corpusdb_reading,
    corpusdb_test, file_names, init, interrupt, lines, reader, seeds, sound, writer,
};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use arrow_ipc::reader::FileReader;
use corpusdb::arrow::datatypes::Int64Type;
use corpusdb::ingest::{JoinBy, JoinOptions, Record, Records};
use corpusdb::sql::SqlQuery;
use corpusdb::{Context, Corpus, DedupMode, FieldKind, IngestOptions, Policy};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;

// ----
// `sql` with several statements, from files and standard input, and answers that are written to files.

/// Twelve documents with texts that CSV and SQL would have trouble with.
fn place() -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "rank:int"]);
    let page = |n: usize| Page {
        fields: json!({ "rank": (!n.is_multiple_of(3)).then_some(n) }),
        ..Page::keyed(format!("k{n}"), format!("text; \"{n}\",\nof two lines"))
    };
    scratch.ingest(&corpus, "a.jsonl", lines(&(0..12).map(page).collect::<Vec<_>>()), &WEB_BY_ID);
    (scratch, corpus)
}

corpusdb_test!(statements_run_in_turn_wherever_they_come_from, place(), |(scratch, corpus)| {
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
});

corpusdb_test!(a_failed_statement_keeps_earlier_answers, place(), |(scratch, corpus)| {
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
});

const ALL: &str =
    "SELECT id, key, rank, text, bytes / 7.0 AS share, kept FROM documents ORDER BY id";

corpusdb_test!(answers_are_written_in_every_form_and_read_back, place(), |(scratch, corpus)| {
    let write = |name: &str, more: &[&str]| {
        let path = scratch.arg(name);
        let ran = corpusdb(&[&["sql", &corpus, ALL, "-o", &path], more].concat()).good();
        let found = ran.stdout.split(": ").nth(1).unwrap().split(", ").next();
        assert_eq!(found, Some("12 rows"), "{ran}");
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
});

corpusdb_test!(an_output_is_whole_or_absent_and_nothing_is_covered, place(), |(
    scratch,
    corpus,
)| {
    let out = scratch.arg("out.csv");
    let sql = |statement: &str, more: &[&str]| {
        corpusdb(&[&["sql", &corpus, statement, "-o", &out], more].concat())
    };
    // It fails in its middle: a division by zero behind the first rows.
    sql("SELECT id, 1 / (11 - CAST(id AS BIGINT)) AS x FROM documents", &[]).fails(&["zero"]);
    let left = || file_names(scratch.path("."));
    assert_eq!(left(), ["a.jsonl", "corpus"]);
    sql("SELECT 1 AS a", &[]).good();
    sql("SELECT 2 AS a", &[]).fails(&["out.csv exists", "--force"]);
    sql("SELECT nope FROM documents", &["--force"]).fails(&["nope"]);
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "a\n1\n");
    let json = sql("SELECT 2 AS a", &["--force", "--json"]).good().json();
    assert_has(&json, &json!({ "type": "sql", "rows": 1, "bytes": 4 }));
    assert_eq!(left(), ["a.jsonl", "corpus", "out.csv"]);

    sql("SELECT 1 AS a; SELECT 2 AS a", &["--force"]).fails(&["one statement, and there are 2"]);
    sql("SELECT a.id, b.id FROM documents a JOIN documents b ON a.id = b.id", &["--force"])
        .fails(&["two columns named `id`", "AS"]);
    for (more, words) in
        [(&["--format", "table"][..], "jsonl, parquet, arrow or csv"), (&[], "has no known ending")]
    {
        let unknown = scratch.arg("out.xyz");
        corpusdb(&[&["sql", &corpus, "SELECT 1 AS a", "-o", &unknown], more].concat())
            .fails(&[words]);
    }
    corpusdb(&["sql", &corpus, "SELECT 1", "--format", "parquet"]).fails(&["--output FILE"]);
    assert_eq!(left(), ["a.jsonl", "corpus", "out.csv"]);
});

corpusdb_test!(ctrl_c_leaves_no_piece_of_an_output, place(), |(scratch, corpus)| {
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
});

// Every reader of JSON keeps one of two members of one name, and the other value was lost without a word.
corpusdb_test!(duplicate_column_names_are_refused_under_json, place(), |(_scratch, corpus)| {
    let joined = "SELECT a.id, b.id FROM documents a JOIN documents b ON b.id = a.id + 1";
    let nested = "SELECT [named_struct('x', 1, 'y', 2)] AS list, 1 AS x";
    for form in
        [&["--format", "json"][..], &["--format", "jsonl"], &["--format", "csv"], &["--json"]]
    {
        let sql = |statement: &str| corpusdb(&[&["sql", &corpus, statement], form].concat());
        assert_eq!(sql(joined).fails(&["two columns named `id`", "AS"]).stdout, "");
        // Also where no row is there to lose a value of.
        sql(&format!("{joined} WHERE a.id < 0")).fails(&["two columns named `id`"]);
        sql(&joined.replace("b.id FROM", "b.id AS next FROM")).good();
    }
    corpusdb(&["sql", &corpus, nested, "--json"]).good();
    // People tell them apart by their places.
    for form in ["table", "line", "markdown"] {
        corpusdb(&["sql", &corpus, joined, "--format", form]).good();
    }
});

// ----
// Statements that are run again and again over corpora that are held open: each shows the moment of its corpus.

/// A document by its key, with its grade, if it has one.
#[derive(Clone, Debug)]
struct Known {
    key: usize,
    grade: Option<i64>,
}

/// What a corpus must answer, whatever came after its moment.
#[derive(Clone, Default)]
struct WarmModel {
    documents: Vec<Known>,
    /// Documents that snapshots keep: none of them leaves one here.
    snapshots: BTreeMap<String, Vec<usize>>,
}

impl WarmModel {
    /// The newest document of each key.
    fn kept(&self) -> Vec<usize> {
        let newest: BTreeMap<usize, usize> =
            self.documents.iter().enumerate().map(|(id, known)| (known.key, id)).collect();
        let mut kept: Vec<usize> = newest.into_values().collect();
        kept.sort_unstable();
        kept
    }
}

/// The whole numbers of an answer of one column.
#[track_caller]
fn numbers(corpus: &Corpus, statement: &str, query: &SqlQuery) -> Vec<Option<i64>> {
    let batches = corpus.sql(query.clone().text(statement)).unwrap().map(|batch| batch.unwrap());
    batches
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>())
        .collect()
}

#[track_caller]
fn answers(corpus: &Corpus, model: &WarmModel, random: &mut Random) {
    let plain = SqlQuery::default();
    for _ in 0..2 {
        let key = random.below(KEYS + 2);
        let of_key = |ids: &mut dyn Iterator<Item = usize>| -> Vec<Option<i64>> {
            let of_key = ids.filter(|id| model.documents[*id].key == key);
            of_key.map(|id| model.documents[id].grade).collect()
        };
        let statement = format!("SELECT grade FROM documents WHERE key = 'k{key}'");
        let expected = of_key(&mut (0..model.documents.len()));
        assert_eq!(numbers(corpus, &statement, &plain), expected, "{statement}");
        for (name, kept) in &model.snapshots {
            let expected = of_key(&mut kept.iter().copied());
            let at = statement.replace("documents", &format!("documents_at('{name}')"));
            assert_eq!(numbers(corpus, &at, &plain), expected, "{at}");
            let options = SqlQuery::default().snapshot(name);
            assert_eq!(numbers(corpus, &statement, &options), expected, "{statement} at {name}");
        }
        let least = random.below(100) as i64;
        let statement = format!("SELECT count(*) FROM documents WHERE grade >= {least}");
        let expected = model.documents.iter().filter(|it| it.grade.is_some_and(|it| it >= least));
        assert_eq!(numbers(corpus, &statement, &plain), [Some(expected.count() as i64)]);
        let expected = model.documents.iter().filter_map(|known| known.grade).reduce(|a, b| a + b);
        assert_eq!(numbers(corpus, "SELECT sum(grade) FROM documents", &plain), [expected]);
    }
}

const KEYS: usize = 12;

#[test]
fn an_open_corpus_keeps_showing_its_moment() {
    for seed in 0..seeds(2) {
        let mut random = Random::new(seed + 900);
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        let fields = [("grade".to_owned(), FieldKind::Int)];
        Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
        let mut open = writer(&path);
        let mut model = WarmModel::default();
        let mut held: Vec<(Corpus, WarmModel)> = Vec::new();
        for step in 0..16 {
            match random.below(if model.documents.is_empty() { 1 } else { 5 }) {
                0 | 1 => {
                    let mut records = Vec::new();
                    for _ in 0..random.between(1, 6) {
                        let key = random.below(KEYS);
                        let grade = random.chance(80).then(|| random.below(100) as i64);
                        let text = format!("document {} of step {step}", model.documents.len());
                        model.documents.push(Known { key, grade });
                        let record = Record::new(text).with_key(format!("k{key}"));
                        records.push(match grade {
                            Some(grade) => record.with_field("grade", grade),
                            None => record,
                        });
                    }
                    let (records, options) =
                        (Records::new("step", records), IngestOptions::new("web"));
                    open.ingest(records, &options, &Context::new()).unwrap();
                }
                2 | 3 => {
                    let mut lines = String::new();
                    for id in 0..model.documents.len() {
                        if random.chance(30) {
                            let grade = random.below(100) as i64;
                            model.documents[id].grade = Some(grade);
                            lines.push_str(&format!("{{\"id\":{id},\"grade\":{grade}}}\n"));
                        }
                    }
                    let file = scratch.write("grades.jsonl", lines);
                    let options = JoinOptions::of("grade", JoinBy::Id("id".to_owned()));
                    open.set_field(&[file], &options, &Context::new()).unwrap();
                }
                _ => {
                    let name = format!("s{step}");
                    open.create_snapshot(&name).unwrap();
                    model.snapshots.insert(name, model.kept());
                }
            }
            let corpus = if random.chance(50) { open.corpus() } else { reader(&path) };
            held.push((corpus, model.clone()));
            if held.len() > 4 {
                held.remove(random.below(4));
            }
            for (corpus, model) in &held {
                answers(corpus, model, &mut random);
            }
        }
        drop((open, held));
        sound(&path.display().to_string());
    }
}

// Threads that ask the same corpus at once, of blocks that nobody has asked for yet.
corpusdb_test!(concurrent_queries_get_the_same_answers, |scratch| {
    let path = scratch.path("corpus");
    let fields = ["a", "b", "c"].map(|name| (name.to_owned(), FieldKind::Int));
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
    let mut open = writer(&path);
    for part in 0..5_i64 {
        let record = |n: i64| {
            let record = Record::new(format!("document {n}")).with_key(format!("k{n}"));
            record.with_field("a", n).with_field("b", n * n).with_field("c", -n)
        };
        let records = Records::new("part", (part * 40..part * 40 + 40).map(record));
        let options = IngestOptions::new("web");
        open.ingest(records, &options, &Context::new()).unwrap();
    }
    let corpus = open.corpus();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let corpus = &corpus;
            scope.spawn(move || {
                for n in (thread * 7..200).step_by(23) {
                    let statement = format!("SELECT a + b + c FROM documents WHERE key = 'k{n}'");
                    let found = numbers(corpus, &statement, &SqlQuery::default());
                    assert_eq!(found, [Some(n * n)], "{statement}");
                }
            });
        }
    });
});

// The clock, and the names that the engine makes up, are each statement's own.
corpusdb_test!(a_statement_leaves_nothing_to_the_next, |scratch| {
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let corpus = reader(&path);
    let now = || numbers(&corpus, "SELECT CAST(now() AS BIGINT)", &SqlQuery::default());
    let before = now();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(now() > before);
    let plan = "EXPLAIN SELECT id FROM documents WHERE id IN (SELECT max(id) FROM documents) OR id = (SELECT min(id) FROM documents)";
    let explain = || -> Vec<String> {
        let batches = corpus.sql(plan).unwrap().map(|batch| batch.unwrap());
        batches.map(|batch| format!("{:?}", batch.column(1))).collect()
    };
    assert_eq!(explain(), explain());
    // A file that comes to a directory between two statements is seen by the second.
    let given = scratch.path("given");
    std::fs::create_dir(&given).unwrap();
    let counted = || {
        let files = SqlQuery::default().files(true);
        numbers(&corpus, &format!("SELECT count(*) FROM read_csv('{}')", given.display()), &files)
    };
    std::fs::write(given.join("a.csv"), "n\n1\n2\n").unwrap();
    assert_eq!(counted(), [Some(2)]);
    std::fs::write(given.join("b.csv"), "n\n3\n").unwrap();
    assert_eq!(counted(), [Some(3)]);
    std::fs::write(given.join("b.csv"), "n\n3\n4\n").unwrap();
    assert_eq!(counted(), [Some(4)]);
    let functions =
        "SELECT count(*) FROM information_schema.routines WHERE routine_name = 'json_get_str'";
    assert!(numbers(&corpus, functions, &SqlQuery::default())[0].is_some_and(|count| count > 0));
    corpusdb(&["sql", &path.display().to_string(), functions]).good();
});
