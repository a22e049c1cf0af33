//! What is exported says everything: judged by readers that share no code with the crate, and by another corpus.

use crate::support::exports::{FIELDS, corpus, export, files, rows};
use crate::support::{
    Page, Random, TestDir, corpusdb, crawl, digest, ingest, init, json_lines, prose, sound,
};
use serde_json::{Value, json};
use std::path::Path;

/// Texts that writers and readers stumble over.
fn hostile() -> Vec<String> {
    let long = "ten million bytes of text ".repeat(400_000);
    let texts = [
        "plain words of a page",
        "a \"quoted\" word, and a comma",
        "\"",
        "\"\"",
        "lines\nand\r\nmore lines\n",
        " spaces at both ends ",
        "\tand tabs\t",
        "NUL \0 inside",
        "controls \u{1}\u{1b}[31m\u{7f}\u{85}",
        "separators \u{2028} of \u{2029} lines",
        "emoji 👩‍👩‍👧‍👦 and 🏴󠁧󠁢󠁥󠁮󠁧󠁿 beyond the plane",
        "\u{feff}a mark of byte order",
        "right \u{202e}to left",
        "backslash \\ and \\n and \\u0041",
        "=1+1 as a formula",
        "{\"text\":\"an object\"}",
        "null",
        "…",
    ];
    texts.into_iter().map(str::to_owned).chain([long]).collect()
}

fn hostile_pages() -> Vec<Page> {
    let page = |(at, text): (usize, String)| {
        let mut page = Page::keyed(format!("key \"{at}\",\n{at}"), text);
        page.fields = match at % 4 {
            0 => json!({}),
            1 => json!({ "url": "", "quality": null, "language": "en" }),
            2 => json!({ "url": format!("a,\"{at}\n"), "quality": 0.1 + at as f64, "year": -5 }),
            _ => json!({ "nested": { "x": [1, "é\n", null] }, "quality": -1e300, "a\"b": "c" }),
        };
        page
    };
    hostile().into_iter().enumerate().map(page).collect()
}

#[test]
fn hostile_texts_come_through_every_format() {
    let scratch = TestDir::new();
    let pages = hostile_pages();
    let corpus = corpus(&scratch, "c", &pages);
    // Of the texts without a word only the first is not empty to dedup, so that all standings are asked for.
    let expected: Vec<(String, &str, Value)> = pages
        .iter()
        .map(|page| (page.id.clone().unwrap(), page.text.as_str(), page.fields.clone()))
        .collect();
    let pages_by_content = ["--all", "--content-defined-chunks"];
    for (name, more) in [
        ("a.jsonl", &["--all"][..]),
        ("a.jsonl.zst", &["--all"]),
        ("a.jsonl.gz", &["--all"]),
        ("a.parquet", &["--all"]),
        ("chunks.parquet", &pages_by_content),
        ("a.arrow", &["--all"]),
    ] {
        let report = export(&corpus, &scratch.arg(name), more);
        assert_eq!(report["rows"], pages.len());
        let found = rows(&scratch.path(name));
        assert_eq!(found.len(), pages.len(), "{name}");
        for (row, (key, text, fields)) in found.iter().zip(&expected) {
            assert_eq!((&row["key"], &row["source"]), (&json!(key), &json!("web")), "{name}");
            assert!(row["text"] == json!(text), "{name}: the text of {key}");
            if name.starts_with("a.jsonl") {
                let mut object = row.as_object().unwrap().clone();
                for column in ["key", "source", "text"] {
                    object.shift_remove(column);
                }
                assert_eq!(Value::Object(object), *fields, "{name}");
            } else {
                let meta: Value = serde_json::from_str(row["meta"].as_str().unwrap()).unwrap();
                assert_eq!(meta, *fields, "{name}");
                for column in ["url", "quality", "year"] {
                    let own = fields.get(column).unwrap_or(&Value::Null);
                    assert_eq!(row[column], *own, "{name}: {column} of {key}");
                }
            }
        }
    }
}

#[test]
fn csv_is_read_back_with_nulls_and_empty_texts_apart() {
    use arrow::array::{Array, AsArray};
    use arrow::csv::ReaderBuilder;
    use arrow::datatypes::{DataType, Field, Schema};
    use std::sync::Arc;
    let scratch = TestDir::new();
    let pages = hostile_pages();
    let corpus = corpus(&scratch, "c", &pages);
    let columns = ["key", "source", "text", "url", "quality", "year", "meta"];
    export(&corpus, &scratch.arg("a.csv"), &["--all"]);
    let fields: Vec<Field> =
        columns.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect();
    let file = std::fs::File::open(scratch.path("a.csv")).unwrap();
    let reader = ReaderBuilder::new(Arc::new(Schema::new(fields))).with_header(true).build(file);
    let mut at = 0;
    for batch in reader.unwrap() {
        let batch = batch.unwrap();
        for row in 0..batch.num_rows() {
            let page = &pages[at];
            let cell = |column: usize| {
                let column = batch.column(column).as_string::<i32>();
                column.is_valid(row).then(|| column.value(row))
            };
            assert_eq!(cell(0), page.id.as_deref());
            assert!(cell(2) == Some(page.text.as_str()), "the text of {:?}", page.id);
            let meta: Value = serde_json::from_str(cell(6).unwrap()).unwrap();
            assert_eq!(meta, page.fields.clone());
            let number = |name: &str| page.fields.get(name).and_then(Value::as_f64);
            assert_eq!(cell(4).map(|text| text.parse::<f64>().unwrap()), number("quality"));
            at += 1;
        }
    }
    assert_eq!(at, pages.len());
    // The reader does not tell them apart; the bytes do.
    let csv = |columns: &str| {
        let asked = ["export", &corpus, "--to", "-", "--format", "csv", "--all", "--columns"];
        corpusdb(&[&asked[..], &[columns]].concat()).good().stdout
    };
    let narrow = csv("url,year");
    assert!(narrow.starts_with("url,year\n,\n\"\",\n\"a,\"\"2\n\",-5\n,\n,\n\"\",\n"), "{narrow}");
    assert!(csv("year").starts_with("year\n\"\"\n\"\"\n-5\n\"\"\n"));
}

#[test]
fn text_is_texts_and_separators() {
    let scratch = TestDir::new();
    let pages = [Page::keyed("1", "one two\nthree"), Page::keyed("2", "four é")];
    let corpus = corpus(&scratch, "c", &pages);
    export(&corpus, &scratch.arg("a.txt"), &[]);
    assert_eq!(std::fs::read_to_string(scratch.path("a.txt")).unwrap(), "one two\nthree\nfour é\n");
    let marked = ["--to", "-", "--format", "text", "--separator", "<|end|>\n"];
    let told = corpusdb(&[&["export", &corpus], &marked[..]].concat()).good().stdout;
    assert_eq!(told, "one two\nthree<|end|>\nfour é<|end|>\n");
}

/// Lines with fields spelled as no writer of ours would.
fn odd_lines(pages: &[Page]) -> String {
    let spelled = |(at, page): (usize, &Page)| {
        let mut line = page.line().trim_end().trim_end_matches('}').to_owned();
        match at % 5 {
            0 => line += r#","n":1.50,"m":1e3,"big":123456789012345678901234567890"#,
            1 => line += r#", "spaced" : { "x" : [1, 2] }"#,
            2 => line += r#","esc\u0061ped":"\u00e9\ud83d\ude00\/""#,
            3 => line += r#","twice":1,"twice":2,"quality2":null"#,
            _ => {}
        }
        line + "}\n"
    };
    pages.iter().enumerate().map(spelled).collect()
}

/// How a file that an export wrote is read again, by its format.
const READ_AGAIN: [(&str, &[&str], &[&str]); 5] = [
    ("jsonl", &[], &["--drop-fields", "source"]),
    ("jsonl", &["--columns", "key,text,meta.*"], &[]),
    ("jsonl", &["--columns", "key,source,text,meta"], &["--meta-field", "meta"]),
    ("parquet", &[], &["--meta-field", "meta"]),
    ("csv", &[], &["--meta-field", "meta", "--format", "csv"]),
];

/// Where all documents are kept, a corpus of what was exported is the same corpus.
#[test]
fn a_corpus_of_its_own_export_has_the_same_digest() {
    let mut random = Random::new(5);
    let page = |number: usize| {
        let words = random.between(20, 90);
        let mut page = Page::keyed(format!("page-{number}"), prose(&mut random, number, words));
        page.fields = json!({ "url": format!("https://e.org/{}", number % 7), "quality": number as f64 / 8.0 });
        page
    };
    let pages: Vec<Page> = (0..60).map(page).collect();
    let scratch = TestDir::new();
    // The digest has the place of each record: both corpora read a file of the same path.
    let data = scratch.write("data", odd_lines(&pages));
    let first = scratch.arg("first");
    init(&first, &FIELDS);
    let report = ingest(&first, &[&data], &["--source", "web", "--id-field", "id"]);
    assert_eq!(report["kept"], 60, "{report}");
    // What comes from outside is exported with what was there.
    let scores = scratch.write("scores.jsonl", "{\"key\":\"page-3\",\"quality\":0.75}\n");
    corpusdb(&["field", "set", &first, "quality", "--from", &scores, "--key", "key"]).good();
    sound(&first);
    let expected = digest(&first);
    for (number, (format, asked, read)) in READ_AGAIN.into_iter().enumerate() {
        let asked = [&["--format", format, "--force"], asked].concat();
        std::fs::remove_file(&data).ok();
        let single = scratch.arg(&format!("data.{format}"));
        export(&first, &single, &asked);
        std::fs::rename(&single, &data).unwrap();
        let again = scratch.arg(&format!("again-{number}"));
        init(&again, &FIELDS);
        let report =
            ingest(&again, &[&data], &[&["--source", "web", "--id-field", "key"], read].concat());
        assert_eq!((&report["kept"], &report["rejected"]), (&json!(60), &json!(0)), "{report}");
        sound(&again);
        assert_eq!(digest(&again), expected, "{format} {asked:?} {read:?}");
    }
}

/// Kept documents of a corpus with every kind of standing make a corpus that exports the same bytes.
#[test]
fn an_exported_corpus_ingests_to_the_same_export() {
    let scratch = TestDir::new();
    let pages = crawl(31, 400, true);
    let first = scratch.arg("first");
    init(&first, &FIELDS);
    let file = scratch.write("crawl.jsonl", odd_lines(&pages));
    let report = ingest(&first, &[&file], &["--source", "web", "--id-field", "id"]);
    assert!(report["near_duplicates"].as_u64().unwrap() > 20, "{report}");
    let kept = corpusdb(&["count", &first, "--where", "kept"]).good().stdout;
    for (number, (format, asked, read)) in READ_AGAIN.into_iter().enumerate() {
        let (out, over) = (scratch.arg(&format!("out-{number}.{format}")), scratch.arg("over"));
        export(&first, &out, asked);
        let second = scratch.arg(&format!("second-{number}"));
        init(&second, &FIELDS);
        let keyed = [&["--source", "web", "--id-field", "key"], read].concat();
        ingest(&second, &[&out], &keyed);
        assert_eq!(corpusdb(&["count", &second]).good().stdout, kept, "{format}");
        assert_eq!(corpusdb(&["count", &second, "--where", "kept"]).good().stdout, kept);
        let again = scratch.arg(&format!("again-{number}.{format}"));
        export(&second, &again, asked);
        assert!(
            std::fs::read(&again).unwrap() == std::fs::read(&out).unwrap(),
            "{format} {asked:?}"
        );
        let digest_of_second = digest(&second);
        // A third one, of the same path, is the same corpus.
        std::fs::rename(&again, &out).unwrap();
        init(&over, &FIELDS);
        ingest(&over, &[&out], &keyed);
        assert_eq!(digest(&over), digest_of_second, "{format}");
        std::fs::remove_dir_all(&over).unwrap();
    }
}

/// Lines of text have no fields, and the numbers of lines for keys; the texts are the same, in the same order.
#[test]
fn texts_of_one_line_are_ingested_from_their_export() {
    let scratch = TestDir::new();
    let pages: Vec<Page> = crawl(32, 200, true)
        .into_iter()
        .map(|page| Page { text: page.text.replace('\n', " "), ..page })
        .collect();
    let (first, second) = (corpus(&scratch, "first", &pages), scratch.arg("second"));
    let out = scratch.arg("out.txt");
    let report = export(&first, &out, &[]);
    assert!(report["files"][0].get("losses").is_none(), "{report}");
    init(&second, &FIELDS);
    let told = ingest(&second, &[&out], &["--source", "web", "--text-by", "line"]);
    assert_eq!((&told["kept"], &told["rejected"]), (&report["rows"], &json!(0)), "{told}");
    let texts = |corpus: &str, format: &str| {
        let asked = ["export", corpus, "--to", "-", "--format", format, "--columns", "text"];
        corpusdb(&asked).good().stdout
    };
    for format in ["jsonl", "text"] {
        assert!(texts(&second, format) == texts(&first, format), "{format}");
    }
    let fields = "SELECT count(url) AS urls FROM documents";
    let ran = corpusdb(&["sql", &second, fields, "--format", "csv"]).good();
    assert_eq!(ran.stdout, "urls\n0\n");
}

#[test]
fn a_directory_of_shards_is_read_as_it_is_written() {
    let scratch = TestDir::new();
    let pages = crawl(8, 300, true);
    let first = corpus(&scratch, "first", &pages);
    for format in ["jsonl", "parquet"] {
        let out = scratch.arg(&format!("out-{format}"));
        let report = export(
            &first,
            &out,
            &["--format", format, "--shard-bytes", "20kB", "--columns", "key,text,meta"],
        );
        assert!(report["files"].as_array().unwrap().len() > 1, "{report}");
        let second = scratch.arg(&format!("second-{format}"));
        init(&second, &FIELDS);
        let read = ["--source", "web", "--id-field", "key", "--meta-field", "meta"];
        let told = ingest(&second, &[&out], &read);
        assert_eq!((&told["read"], &told["rejected"]), (&report["rows"], &json!(0)), "{told}");
        assert_eq!(told["kept"], report["rows"]);
    }
}

/// Equal in every byte, whatever the threads and the memory.
#[test]
fn threads_and_memory_change_no_byte() {
    let scratch = TestDir::new();
    let pages = crawl(12, 1500, true);
    let corpus = corpus(&scratch, "c", &pages);
    for (format, more) in [
        ("jsonl", &["--compression", "zstd"][..]),
        ("jsonl", &["--compression", "gzip"]),
        ("csv", &[]),
        ("text", &[]),
        ("parquet", &[]),
        ("parquet", &["--compression", "lz4", "--partition-by", "language"]),
        ("arrow", &["--partition-by", "source,language"]),
    ] {
        let run = |name: &str, threads: &str, memory: &str| {
            let out = scratch.arg(name);
            let asked = ["--format", format, "--shard-bytes", "40kB", "--all"];
            let machine = ["--threads", threads, "--memory", memory];
            export(&corpus, &out, &[&asked, &machine[..], more].concat());
            let found = files(Path::new(&out));
            std::fs::remove_dir_all(&out).unwrap();
            found
        };
        let expected = run("one", "1", "64MB");
        assert!(expected.len() > 3, "{format}: {} files", expected.len());
        assert!(run("two", "4", "64MB") == expected, "{format} {more:?}: threads");
        assert!(run("three", "3", "1GB") == expected, "{format} {more:?}: memory");
    }
}

#[test]
fn a_field_named_like_a_column_is_refused() {
    let scratch = TestDir::new();
    let mut page = Page::keyed("1", "words of a page");
    page.fields = json!({ "source": "elsewhere", "text2": "key" });
    let corpus = corpus(&scratch, "c", &[page]);
    let refused = corpusdb(&["export", &corpus, "--to", &scratch.arg("a.jsonl")]);
    refused.fails(&["document 0", "`source`", "--columns key,source,text,meta"]);
    assert!(!scratch.path("a.jsonl").exists());
    export(&corpus, &scratch.arg("a.jsonl"), &["--columns", "key,source,text,meta"]);
    let found = rows(&scratch.path("a.jsonl"));
    assert_eq!(
        found,
        json_lines(
            r#"{"key":"1","source":"web","text":"words of a page","meta":{"source":"elsewhere","text2":"key"}}"#
        )
    );
    export(&corpus, &scratch.arg("b.jsonl"), &["--columns", "text,meta.*"]);
    assert_eq!(rows(&scratch.path("b.jsonl"))[0]["source"], "elsewhere");
}

/// The bytes of an answer followed the batches of the engine, and these follow the memory.
#[test]
fn memory_and_threads_change_no_byte_of_an_answer() {
    let scratch = TestDir::new();
    let mut random = Random::new(3);
    let pages: Vec<Page> =
        (0..200).map(|at| Page::keyed(at.to_string(), prose(&mut random, at, 3000))).collect();
    let corpus = corpus(&scratch, "c", &pages);
    for name in ["a.parquet", "a.arrow", "a.jsonl", "a.csv.gz"] {
        let run = |memory: &str, threads: &str| {
            let out = scratch.arg(name);
            let all = "SELECT id, text, [id, id + 1] AS list FROM documents";
            let asked = ["sql", &corpus, all, "-o", &out, "--force"];
            let machine = ["--memory", memory, "--threads", threads, "--json"];
            let report = corpusdb(&[&asked[..], &machine].concat()).good().json();
            assert_eq!(report["rows"], 200);
            report["blake3"].clone()
        };
        let expected = run("64MB", "1");
        assert_eq!(run("2GB", "1"), expected, "{name}: memory");
        assert_eq!(run("64MB", "4"), expected, "{name}: threads");
    }
}

/// An answer had exponents from 10^9 on, moments without a zone, and empty texts like nulls.
#[test]
fn answers_spell_values_as_exports_do() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("c");
    init(
        &corpus,
        &["--field", "score:float", "--field", "seen:timestamp", "--field", "url:keyword"],
    );
    let page = |key: &str, fields: Value| {
        let mut page = Page::keyed(key, format!("words of the page {key}"));
        page.fields = fields;
        page
    };
    let pages = [
        page("a", json!({ "score": 1_234_567_890.5, "seen": "2026-01-02T03:04:05Z", "url": "" })),
        page("b", json!({ "score": 0.000_001, "seen": "2026-01-02T03:04:05.25+01:00" })),
        page("c", json!({ "url": "x,y\u{2028}" })),
    ];
    let file = scratch.write("a.jsonl", crate::support::lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    let columns = "key,score,seen,url";
    let statement = format!("SELECT {columns} FROM documents ORDER BY id");
    for (format, expected) in [
        (
            "csv",
            "key,score,seen,url\na,1234567890.5,2026-01-02T03:04:05Z,\"\"\n\
             b,1e-6,2026-01-02T02:04:05.250000Z,\nc,,,\"x,y\u{2028}\"\n",
        ),
        (
            "jsonl",
            "{\"key\":\"a\",\"score\":1234567890.5,\"seen\":\"2026-01-02T03:04:05Z\",\"url\":\"\"}\n\
             {\"key\":\"b\",\"score\":1e-6,\"seen\":\"2026-01-02T02:04:05.250000Z\",\"url\":null}\n\
             {\"key\":\"c\",\"score\":null,\"seen\":null,\"url\":\"x,y\\u2028\"}\n",
        ),
    ] {
        let exported = ["export", &corpus, "--to", "-", "--format", format, "--columns", columns];
        assert_eq!(corpusdb(&exported).good().stdout, expected);
        let printed = corpusdb(&["sql", &corpus, &statement, "--format", format]).good().stdout;
        assert_eq!(printed, expected);
        let out = scratch.arg(&format!("out.{format}"));
        corpusdb(&["sql", &corpus, &statement, "-o", &out]).good();
        assert_eq!(std::fs::read_to_string(out).unwrap(), expected);
    }
    let nested = "SELECT [1.5, NULL] AS list, {a: 1, b: ['x']} AS o, X'0aff' AS bytes, \
                  CAST('2026-01-02 03:04:05.123456789' AS TIMESTAMP(9)) AS t, DATE '2026-01-02' AS d, 1e15 AS f";
    let printed = |format| corpusdb(&["sql", &corpus, nested, "--format", format]).good().stdout;
    assert_eq!(
        printed("csv"),
        "list,o,bytes,t,d,f\n\"[1.5,null]\",\"{\"\"a\"\":1,\"\"b\"\":[\"\"x\"\"]}\",0aff,\
         2026-01-02T03:04:05.123456789Z,2026-01-02,1000000000000000.0\n"
    );
    assert_eq!(
        printed("json"),
        "{\"list\":[1.5,null],\"o\":{\"a\":1,\"b\":[\"x\"]},\"bytes\":\"0aff\",\
         \"t\":\"2026-01-02T03:04:05.123456789Z\",\"d\":\"2026-01-02\",\"f\":1000000000000000.0}\n"
    );
}

/// Numbers that are not finite became null, and texts ended at separators within them, without a word.
#[test]
fn values_that_a_format_cannot_hold_are_reported() {
    let scratch = TestDir::new();
    let pages =
        [Page::keyed("1", "one\ntwo"), Page::keyed("2", "three"), Page::keyed("3", "a\nb\n")];
    let corpus = corpus(&scratch, "c", &pages);
    let text = scratch.arg("a.txt");
    let said = "2 values of `text`: the separator is inside";
    let asked = ["export", &corpus, "--to", &text];
    let ran = corpusdb(&asked).good();
    assert!(ran.stderr.contains(said), "{ran}");
    let ran = corpusdb(&["export", &corpus, "--to", "-", "--format", "text"]).good();
    assert!(ran.stderr.contains(said), "{ran}");
    let ran = corpusdb(&[&asked[..], &["--force", "--json"]].concat()).good();
    assert_eq!(ran.json()["files"][0]["losses"], json!({ "text": 2 }));
    let marked = ["--force", "--separator", "<|end|>"];
    let ran = corpusdb(&[&asked[..], &marked].concat()).good();
    assert!(!ran.stderr.contains("values of"), "{ran}");
    // As is said of the rows of statements.
    let numbers = "SELECT CAST('inf' AS DOUBLE) AS x, CAST('NaN' AS DOUBLE) AS y, 1.0 AS z";
    for name in ["a.csv", "a.jsonl"] {
        let ran = corpusdb(&["sql", &corpus, numbers, "-o", &scratch.arg(name)]).good();
        for column in ["x", "y"] {
            let said = format!("1 value of `{column}`: not finite, written as null");
            assert!(ran.stderr.contains(&said), "{ran}");
        }
    }
    let out = scratch.arg("b.csv");
    let json = corpusdb(&["sql", &corpus, numbers, "-o", &out, "--json"]).good().json();
    assert_eq!(json["losses"], json!({ "x": 1, "y": 1 }));
    let ran = corpusdb(&["sql", &corpus, numbers, "-o", &scratch.arg("a.parquet")]).good();
    assert!(!ran.stderr.contains("not finite"), "{ran}");
}

#[test]
fn arrow_files_are_compressed_and_come_back() {
    let scratch = TestDir::new();
    let pages = crawl(9, 200, true);
    let corpus = corpus(&scratch, "c", &pages);
    let sizes = ["none", "zstd", "lz4"].map(|compression| {
        let out = scratch.arg(&format!("{compression}.arrow"));
        let report = export(&corpus, &out, &["--compression", compression]);
        assert_eq!(report["compression"], compression);
        assert_eq!(rows(Path::new(&out)), rows(&scratch.path("none.arrow")), "{compression}");
        let again = scratch.arg(&format!("again-{compression}"));
        init(&again, &FIELDS);
        let read = ["--source", "web", "--id-field", "key", "--meta-field", "meta"];
        assert_eq!(ingest(&again, &[&out], &read)["kept"], report["rows"]);
        report["bytes"].as_u64().unwrap()
    });
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[0], "{sizes:?}");
}
