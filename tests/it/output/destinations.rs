//! Where an export is written, what is said of it, and what it does not replace.

use crate::support::exports::{corpus, export, files, manifest_path, names, rows};
use crate::support::{
    MEMORY, Page, TestDir, corpusdb, corpusdb_within, crawl, ingest, init, lines,
};
use serde_json::{Value, json};

#[test]
fn the_manifest_proves_every_file() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(41, 500, true));
    let out = scratch.path("out");
    let asked = ["--format", "parquet", "--shard-bytes", "30kB", "--where", "bytes > 50"];
    let report = export(&corpus, out.to_str().unwrap(), &asked);
    let manifest: Value =
        serde_json::from_slice(&std::fs::read(manifest_path(&out)).unwrap()).unwrap();
    for (name, value) in manifest.as_object().unwrap() {
        assert_eq!(&report[name], value, "{name}");
    }
    assert_eq!((&report["type"], &report["dry_run"]), (&json!("export"), &json!(false)));
    assert_eq!(
        (&manifest["where"], &manifest["format"], &manifest["compression"], &manifest["commit"]),
        (&json!("bytes > 50"), &json!("parquet"), &json!("zstd"), &json!(2))
    );
    let columns: Vec<&str> = manifest["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["key", "source", "text", "url", "quality", "year", "meta"]);
    let listed = manifest["files"].as_array().unwrap();
    assert!(listed.len() > 2);
    let mut total = 0;
    for (number, file) in listed.iter().enumerate() {
        assert_eq!(file["name"], format!("part-{number:05}.parquet"));
        let bytes = std::fs::read(out.join(file["name"].as_str().unwrap())).unwrap();
        assert_eq!(file["bytes"], bytes.len());
        assert_eq!(file["blake3"], blake3::hash(&bytes).to_hex().as_str());
        let found = rows(&out.join(file["name"].as_str().unwrap())).len();
        assert_eq!(file["rows"], found);
        total += found;
    }
    assert_eq!(manifest["rows"], total);
    assert_eq!(files(&out).len(), listed.len() + 1);
}

#[test]
fn overwrite_replaces_only_files_of_an_export() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch, "c", &crawl(42, 60, true));
    let file = scratch.write("a.jsonl", "mine");
    let refused = |to: &str, more: &[&str], words: &[&str]| {
        corpusdb(&[&["export", &corpus, "--to", to], more].concat()).fails(words);
    };
    refused(&file, &[], &["a.jsonl exists", "--force"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    let first = export(&corpus, &file, &["--force"]);
    let beside = scratch.path(".a.jsonl.manifest.json");
    let manifest: Value = serde_json::from_slice(&std::fs::read(&beside).unwrap()).unwrap();
    assert_eq!(manifest["files"], first["files"]);
    // A directory of something else is never replaced.
    scratch.write("mine/thesis.txt", "years of work");
    let (mine, shards) = (scratch.arg("mine"), ["--format", "jsonl", "--shard-bytes", "4kB"]);
    refused(&mine, &shards, &["mine exists"]);
    refused(&mine, &[&shards[..], &["--force"]].concat(), &["it has no manifest"]);
    refused(&file, &[&shards[..], &["--force"]].concat(), &["a file cannot replace a directory"]);
    // One that an export wrote is, with all that is in it.
    let out = scratch.path("out");
    export(&corpus, out.to_str().unwrap(), &shards);
    let many = files(&out).len();
    refused(out.to_str().unwrap(), &shards, &["out exists"]);
    export(&corpus, out.to_str().unwrap(), &["--format", "parquet", "--force"]);
    assert_eq!(names(&out), ["part-00000.parquet"]);
    assert!(many > 2);
    // An empty one is as good as none.
    std::fs::create_dir(scratch.path("empty")).unwrap();
    export(&corpus, &scratch.arg("empty"), &["--format", "csv"]);
    assert_eq!(names(&scratch.path("empty")), ["part-00000.csv"]);
    let left = names(&scratch.path(""));
    assert!(left.iter().all(|name| !name.contains(".tmp-")), "{left:?}");
}

#[test]
fn an_export_of_nothing_is_an_empty_file_or_directory() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("c");
    init(&corpus, &[]);
    for name in ["a.jsonl", "a.parquet", "a.arrow", "a.csv", "a.txt", "a.jsonl.zst"] {
        let report = export(&corpus, &scratch.arg(name), &[]);
        assert_eq!((&report["rows"], report["files"].as_array().unwrap().len()), (&json!(0), 1));
        if !name.ends_with(".csv") {
            assert!(rows(&scratch.path(name)).is_empty(), "{name}");
        }
    }
    assert_eq!(std::fs::read_to_string(scratch.path("a.csv")).unwrap(), "key,source,text,meta\n");
    export(&corpus, &scratch.arg("out"), &["--format", "jsonl", "--partition-by", "source"]);
    assert!(
        names(&scratch.path("out")).is_empty() && manifest_path(&scratch.path("out")).is_file()
    );
}

#[test]
fn memory_is_bounded_for_texts_of_any_size() {
    let scratch = TestDir::new();
    let page = |number: usize| {
        let text = format!("page {number} of many words. ").repeat(90_000);
        Page::keyed(format!("long-{number}"), text)
    };
    let pages: Vec<Page> = (0..60).map(page).collect();
    let bytes: usize = pages.iter().map(|page| page.text.len()).sum();
    assert!(bytes > 100 << 20, "{bytes}");
    // Nothing is looked for: what is measured is the way out.
    let corpus = scratch.arg("c");
    init(&corpus, &["--mode", "none"]);
    let file = scratch.write("c.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    std::fs::remove_file(&file).unwrap();
    for name in ["a.parquet", "a.jsonl.zst", "a.arrow"] {
        let to = scratch.arg(name);
        let asked = ["export", &corpus, "--to", &to, "--memory", "64MB", "--all"];
        let (ran, peak) = corpusdb_within(&asked, 4 * MEMORY);
        ran.good();
        println!("{name}: {} MB of {} MB of text", peak >> 20, bytes >> 20);
    }
}
