//! Directories by the values of columns.

use crate::support::exports::{FIELDS, export, files, manifest_path, names, rows};
use crate::support::{Page, Random, TestDir, corpusdb, ingest, init, lines, prose, sql};
use serde_json::{Value, json};

/// Names of sources that mean something in a path, or to those who read such directories.
const SOURCES: [&str; 7] = ["web", "../x", "a/b=c", "..", "%2F", "日本", "a b?*"];
/// The word that stands for no value in names of directories.
const NULL_WORD: &str = "__HIVE_DEFAULT_PARTITION__";

fn parted(scratch: &TestDir) -> String {
    let corpus = scratch.arg("c");
    init(&corpus, &FIELDS);
    let mut random = Random::new(8);
    for (at, source) in SOURCES.iter().enumerate() {
        let page = |number: usize| {
            let words = random.between(20, 60);
            let mut page = Page::keyed(format!("{at}-{number}"), prose(&mut random, number, words));
            page.fields = match number % 4 {
                0 => json!({}),
                1 => json!({ "language": "en", "url": "../../etc" }),
                2 => json!({ "language": "", "url": "a\nb/" }),
                _ => json!({ "language": "en", "url": "x".repeat(251) }),
            };
            page
        };
        let pages: Vec<Page> = (0..20).map(page).collect();
        let file = scratch.write(&format!("{at}.jsonl"), lines(&pages));
        ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
    }
    corpus
}

#[test]
fn documents_stand_in_the_directory_of_their_values() {
    let scratch = TestDir::new();
    let corpus = parted(&scratch);
    let before = names(&scratch.path(""));
    for format in ["jsonl", "parquet", "arrow"] {
        let out = scratch.path(&format!("out-{format}"));
        let parts = ["--format", format, "--partition-by", "source,url"];
        let report = export(&corpus, out.to_str().unwrap(), &parts);
        let mut found: Vec<(String, Value, Value)> = Vec::new();
        for file in report["files"].as_array().unwrap() {
            let name = file["name"].as_str().unwrap();
            let of_path: Vec<&str> = name.split('/').collect();
            assert_eq!(of_path.len(), 3, "{name}");
            assert!(of_path[0].starts_with("source=") && of_path[1].starts_with("url="), "{name}");
            assert!(of_path.iter().all(|part| part.len() < 256 && *part != ".."), "{name}");
            let rows = rows(&out.join(name));
            assert_eq!(file["rows"], rows.len());
            for row in rows {
                // Their values are in the names, not in the columns.
                assert!(row.get("source").is_none());
                let key = row["key"].as_str().unwrap().to_owned();
                found.push((
                    key,
                    file["partition"]["source"].clone(),
                    file["partition"]["url"].clone(),
                ));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let mut expected = sql(&corpus, "SELECT key, source, url FROM documents WHERE kept");
        expected.sort_by_key(|row| row["key"].as_str().unwrap().to_owned());
        assert_eq!(found.len(), expected.len());
        for ((key, source, url), row) in found.iter().zip(&expected) {
            assert_eq!((&json!(key), source), (&row["key"], &row["source"]), "{format}");
            assert_eq!(*url, row["url"]);
        }
        let on_disk: Vec<String> = files(&out).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            on_disk.len(),
            report["files"].as_array().unwrap().len() + 1,
            "and the manifest"
        );
        std::fs::remove_dir_all(&out).unwrap();
        std::fs::remove_file(manifest_path(&out)).unwrap();
    }
    // Nothing was written beside it.
    assert_eq!(names(&scratch.path("")), before);
}

#[test]
fn each_partition_is_a_source_again() {
    let scratch = TestDir::new();
    let corpus = parted(&scratch);
    let out = scratch.path("out");
    let report =
        export(&corpus, out.to_str().unwrap(), &["--format", "jsonl", "--partition-by", "source"]);
    let again = scratch.arg("again");
    init(&again, &FIELDS);
    let mut parts: Vec<(String, String)> = Vec::new();
    for file in report["files"].as_array().unwrap() {
        let source = file["partition"]["source"].as_str().unwrap().to_owned();
        parts.push((source, file["name"].as_str().unwrap().to_owned()));
    }
    assert_eq!(parts.len(), SOURCES.len());
    for (source, name) in &parts {
        let directory = out.join(name).parent().unwrap().display().to_string();
        ingest(&again, &[&directory], &["--source", source, "--id-field", "key"]);
    }
    let all = "SELECT key, source, text, meta, url FROM documents WHERE kept ORDER BY key";
    assert_eq!(sql(&again, all), sql(&corpus, all));
}

#[test]
fn a_value_that_no_directory_gives_back_is_refused() {
    // Values were cut and hashed in names, so that readers of the directories had other values.
    let scratch = TestDir::new();
    let page = |key: &str, url: &str| {
        let mut page = Page::keyed(key, format!("words of the page {key}"));
        page.fields = json!({ "url": url });
        page
    };
    let long = "é/".repeat(60);
    let pages = [page("1", "short"), page("2", &long), page("3", NULL_WORD)];
    let corpus = crate::support::exports::corpus(&scratch, "c", &pages);
    let before = names(&scratch.path(""));
    let out = scratch.arg("out");
    let parted = |only: &str| {
        let asked = ["export", &corpus, "--to", &out, "--format", "jsonl", "--partition-by", "url"];
        corpusdb(&[&asked[..], &["--where", only]].concat())
    };
    parted("key <> '3'").fails(&["by `url`", "`é/é/", "name of 304 bytes, and 255", "--where"]);
    parted("key <> '2'").fails(&["by `url`", NULL_WORD, "take it for no value"]);
    assert_eq!(names(&scratch.path("")), before, "nothing is left");
    parted("key = '1'").good();
    let named = "__HIVE_DEFAULT_PARTITION__";
    let renamed = scratch.write("named.jsonl", lines(&[Page::keyed("4", "words of another page")]));
    ingest(&corpus, &[&renamed], &["--source", named, "--id-field", "id"]);
    let asked = ["export", &corpus, "--to", &scratch.arg("by"), "--format", "jsonl"];
    corpusdb(&[&asked[..], &["--partition-by", "source"]].concat()).fails(&["by `source`", named]);
}

#[test]
fn columns_without_values_cannot_partition() {
    let scratch = TestDir::new();
    let corpus = parted(&scratch);
    let out = scratch.arg("out");
    let parted = |by: &str, more: &[&str]| {
        let asked = ["export", &corpus, "--to", &out, "--format", "jsonl", "--partition-by", by];
        corpusdb(&[&asked, more].concat())
    };
    parted("quality", &[]).fails(&[
        "cannot partition an export by `quality`",
        "there are `source`, `language`, `url`",
    ]);
    parted("nothing", &[]).fails(&["cannot partition an export by `nothing`"]);
    parted("source,source", &[]).fails(&["twice"]);
    parted("source", &["--columns", "source"]).fails(&["no column is left for the files"]);
    corpusdb(&["export", &corpus, "--to", "-", "--format", "jsonl", "--partition-by", "source"])
        .fails(&["need a directory"]);
    assert!(!scratch.path("out").exists());
}
