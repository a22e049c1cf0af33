//! What is asked for is what comes: conditions, columns, snapshots, pairs.

use crate::support::exports::{corpus, export, rows};
use crate::support::{Page, Random, TestDir, corpusdb, crawl, json_lines, seeds, sql};
use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit::Microsecond;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

/// A condition made of parts by chance.
fn condition(random: &mut Random, depth: usize) -> String {
    if depth > 0 && random.chance(60) {
        let (a, b) = (condition(random, depth - 1), condition(random, depth - 1));
        return match random.below(3) {
            0 => format!("({a}) AND ({b})"),
            1 => format!("({a}) OR ({b})"),
            _ => format!("NOT ({a})"),
        };
    }
    let n = random.below(40);
    match random.below(12) {
        0 => format!("year > {}", 1990 + n),
        1 => format!("quality < {}", n as f64 / 40.0),
        2 => "quality IS NULL".to_owned(),
        3 => ["language = 'en'", "language IN ('de', 'ru')", "language IS NULL"][n % 3].to_owned(),
        4 => format!("url LIKE '%/{n}'"),
        5 => format!("bytes > {}", n * 20),
        6 => format!("id % {} = 0", 2 + n % 5),
        7 => "text LIKE '%ing%'".to_owned(),
        8 => format!("id IN (SELECT witness FROM duplicates WHERE jaccard > 0.{})", 80 + n % 20),
        9 => format!("length(text) < {}", n * 12),
        10 => format!("key > 'page-{n}'"),
        _ => "source = 'web' /* a comment */".to_owned(),
    }
}

#[test]
fn any_condition_exports_the_rows_of_sql() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(21, 600, true));
    let mut random = Random::new(77);
    let mut some = 0;
    for round in 0..seeds(40) as usize {
        let condition = condition(&mut random, 3);
        let (all, standing) = if round % 3 == 0 { (true, "true") } else { (false, "kept") };
        let name = ["a.jsonl", "a.parquet", "a.arrow"][round % 3];
        let columns = "id,key,text,url,quality,year,kept,standing,dup_of,bytes,commit,language";
        let statement = format!(
            "SELECT {columns} FROM documents WHERE {standing} AND (\n{condition}\n) ORDER BY id"
        );
        let expected = sql(&corpus, &statement);
        let mut more = vec!["--where", &condition, "--columns", columns, "--force"];
        more.extend(all.then_some("--all"));
        let report = export(&corpus, &scratch.arg(name), &more);
        assert_eq!(report["rows"], expected.len(), "{condition}");
        assert_eq!(rows(&scratch.path(name)), expected, "{name}: {condition}");
        let tried = corpusdb(
            &[&["export", &corpus, "--to", "-", "--dry-run", "--json"], &more[..]].concat(),
        );
        let tried = tried.good().json();
        assert_eq!(tried["documents"], expected.len());
        let bytes: u64 = expected.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
        assert_eq!(tried["text_bytes"], bytes);
        some += usize::from(!expected.is_empty() && expected.len() < 600);
    }
    assert!(some > 20, "{some} conditions say something");
}

#[test]
fn a_stream_equals_a_file() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(22, 200, true));
    for format in ["jsonl", "csv", "text"] {
        let name = format!("a.{}", if format == "text" { "txt" } else { format });
        export(&corpus, &scratch.arg(&name), &["--where", "bytes > 100"]);
        let more = ["--to", "-", "--format", format, "--where", "bytes > 100"];
        let told = corpusdb(&[&["export", &corpus], &more[..]].concat()).good();
        assert!(told.stdout.as_bytes() == std::fs::read(scratch.path(&name)).unwrap(), "{format}");
    }
    export(&corpus, &scratch.arg("a.arrow"), &[]);
    let stream = crate::support::command(&["export", &corpus, "--to", "-", "--format", "arrow"]);
    let bytes = { stream }.output().unwrap().stdout;
    let reader = arrow_ipc::reader::StreamReader::try_new(bytes.as_slice(), None).unwrap();
    let found: Vec<Value> =
        reader.flat_map(|batch| crate::support::exports::of_batch(&batch.unwrap())).collect();
    assert_eq!(found, rows(&scratch.path("a.arrow")));
    let refused = |more: &[&str], words: &[&str]| {
        corpusdb(&[&["export", &corpus, "--to", "-"], more].concat()).fails(words);
    };
    refused(&[], &["give --format"]);
    refused(&["--format", "parquet"], &["not written to a stream"]);
    refused(&["--format", "csv", "--compression", "zstd"], &["pipe it"]);
}

#[test]
fn a_snapshot_is_exported_as_it_was() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(23, 200, true));
    export(&corpus, &scratch.arg("before.jsonl"), &[]);
    corpusdb(&["snapshot", "create", &corpus, "v1"]).good();
    corpusdb(&["remove", &corpus, "--where", "kept AND id % 3 = 0"]).good();
    let more =
        scratch.write("more.jsonl", Page::keyed("new", "words that nobody had before").line());
    corpusdb(&["ingest", &corpus, &more, "--source", "web", "--id-field", "id"]).good();
    let report = export(&corpus, &scratch.arg("v1.jsonl"), &["--snapshot", "v1"]);
    assert_eq!(report["snapshot"], "v1");
    let read = |name: &str| std::fs::read(scratch.path(name)).unwrap();
    assert!(read("v1.jsonl") == read("before.jsonl"));
    let now = export(&corpus, &scratch.arg("now.jsonl"), &[]);
    assert!(now["rows"].as_u64() < report["rows"].as_u64());
    let refused = |more: &[&str], words: &[&str]| {
        let asked = ["export", &corpus, "--to", &scratch.arg("x.jsonl")];
        corpusdb(&[&asked, more].concat()).fails(words);
    };
    refused(&["--snapshot", "v2"], &["no snapshot `v2`", "v1"]);
    refused(&["--snapshot", "v1", "--all"], &["leave out --all"]);
    refused(&["--snapshot", "v1", "--where", "jaccard > 0.9"], &["`jaccard`", "today's values"]);
    refused(&["--snapshot", "v1", "--columns", "key,standing"], &["`standing` has today's values"]);
}

#[test]
fn volatile_functions_are_refused() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(24, 20, true));
    let refused = |more: &[&str], words: &[&str]| {
        let asked = ["export", &corpus, "--to", &scratch.arg("x.jsonl")];
        corpusdb(&[&asked, more].concat()).fails(words);
    };
    refused(&["--where", "random() < 0.5"], &["random()", "another value each time"]);
    refused(&["--where", "year < 2000 AND now() > '2020-01-01'"], &["now()"]);
    refused(&["--where", "quality >"], &["cannot use the expression"]);
    refused(&["--where", "qualitee > 1"], &["`qualitee` is not a column"]);
    refused(&["--columns", "key,txt"], &["no column `txt`; did you mean `text`?"]);
    refused(&["--columns", "key,key"], &["named twice"]);
    refused(&["--compression", "snappy"], &["format jsonl cannot have compression snappy"]);
    refused(&["--content-defined-chunks"], &["--content-defined-chunks", "parquet"]);
    refused(&["--separator", "x"], &["--format text"]);
    refused(&["--format", "csv", "--columns", "meta.*"], &["`meta`"]);
    refused(&["--format", "text", "--columns", "key"], &["one column, `text`"]);
    let unnamed = corpusdb(&["export", &corpus, "--to", &scratch.arg("nothing")]);
    unnamed.fails(&["has no known ending", "--format"]);
}

#[test]
fn removed_duplicates_come_with_their_witnesses() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(25, 400, true));
    let listed = corpusdb(&["duplicates", &corpus, "--list", "--json"]).good();
    let mut expected: Vec<Value> = listed
        .json_lines()
        .into_iter()
        .map(|mut pair| {
            pair.as_object_mut().unwrap().shift_remove("type");
            pair
        })
        .collect();
    assert!(expected.len() > 30);
    let commits = sql(&corpus, "SELECT id, commit FROM documents ORDER BY id");
    for pair in &mut expected {
        let id = pair["id"].as_u64().unwrap() as usize;
        pair["cluster"] = pair["witness"].clone();
        pair["commit"] = commits[id]["commit"].clone();
    }
    for name in ["a.parquet", "a.jsonl", "a.arrow"] {
        let report = export(&corpus, &scratch.arg(name), &["--duplicates"]);
        assert_eq!(
            (&report["rows_are"], &report["rows"]),
            (&json!("duplicates"), &json!(expected.len()))
        );
        assert_eq!(rows(&scratch.path(name)), expected, "{name}");
    }
    let some = [
        "--duplicates",
        "--where",
        "year > 2000",
        "--columns",
        "key,witness_key",
        "--to",
        "-",
        "--format",
        "jsonl",
    ];
    let told = corpusdb(&[&["export", &corpus], &some[..]].concat()).good().stdout;
    let statement = "SELECT d.key, w.key AS witness_key FROM duplicates p JOIN documents d ON d.id = p.id JOIN documents w ON w.id = p.witness WHERE d.year > 2000 AND p.kind <> 'superseded' ORDER BY p.id";
    assert_eq!(json_lines(&told), sql(&corpus, statement));
    corpusdb(&["export", &corpus, "--to", &scratch.arg("x.parquet"), "--duplicates", "--all"])
        .fails(&["leave out"]);
}

/// Fields that are declared when the documents are there already are columns of their kind.
#[test]
fn truths_and_moments_come_in_every_format() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(26, 40, true));
    let good = "CASE WHEN year IS NULL THEN NULL ELSE year % 2 = 0 END";
    corpusdb(&["field", "compute", &corpus, "good", good]).good();
    let day = "to_timestamp_micros(CAST(id AS BIGINT) * 86400000000 + 250000)";
    corpusdb(&["field", "compute", &corpus, "day", day, "--type", "timestamp"]).good();
    let first = "SELECT good, year, meta FROM documents WHERE kept ORDER BY id";
    let documents = sql(&corpus, first);
    let told = |name: &str| {
        let to = scratch.arg(name);
        export(&corpus, &to, &["--columns", "id,good,day"]);
        std::fs::read_to_string(to).unwrap()
    };
    let day = |id: &Value| {
        let id = id.as_u64().unwrap();
        format!("1970-{:02}-{:02}T00:00:00.250000Z", 1 + id / 31, 1 + id % 31)
    };
    let lines = json_lines(&told("a.jsonl"));
    assert_eq!(lines.len(), documents.len());
    let mut table = vec!["id,good,day".to_owned()];
    for (line, document) in lines.iter().zip(&documents) {
        let even = document["year"].as_i64().map(|year| year % 2 == 0);
        assert_eq!(line["good"], json!(even), "{line}");
        assert_eq!(line["good"], document["good"]);
        assert_eq!(line["day"], day(&line["id"]), "{line}");
        let even = even.map_or(String::new(), |even| even.to_string());
        table.push(format!("{},{even},{}", line["id"], day(&line["id"])));
    }
    assert_eq!(told("a.csv").lines().collect::<Vec<_>>(), table);
    let kinds = [("good", DataType::Boolean), ("day", DataType::Timestamp(Microsecond, None))];
    export(&corpus, &scratch.arg("a.parquet"), &[]);
    let file = std::fs::File::open(scratch.path("a.parquet")).unwrap();
    let schema = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone();
    for (name, kind) in kinds {
        assert_eq!(schema.field_with_name(name).unwrap().data_type(), &kind);
    }
    let manifest = std::fs::read_to_string(scratch.path(".a.parquet.manifest.json")).unwrap();
    assert!(manifest.contains("\"timestamp\"") && manifest.contains("\"bool\""), "{manifest}");
}
