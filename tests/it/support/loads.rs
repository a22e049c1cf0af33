//! Directories of documents with their decisions, as a cluster writes them, and the ingest that stands for a load.

use crate::support::{
    Page, Random, TestDir, corpusdb, crawl, digest, kill, pour, silent, sound, until, writer,
};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::json::ReaderBuilder;
use corpusdb::dedup::MatchKind;
use corpusdb::ingest::{InputFormat, LoadOptions, LoadReport, ReadOptions};
use corpusdb::{Context, Corpus, CorpusWriter, DocId, Error, FieldKind, IngestOptions, Policy};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// What decisions are made of, in the columns of a load.
pub const COLUMNS: [&str; 11] = [
    "_order",
    "_standing",
    "_kind",
    "_witness",
    "_witness_source",
    "_witness_id",
    "_jaccard",
    "_shared",
    "_removed_shingles",
    "_witness_shingles",
    "_cluster",
];

pub const FIELDS: [(&str, FieldKind); 2] = [("year", FieldKind::Int), ("url", FieldKind::Keyword)];

/// Documents of two sources under keys that two of them may share.
pub fn documents(seed: u64, count: usize) -> Vec<Value> {
    let mut random = Random::new(seed);
    let mut pages = crawl(seed, count, false);
    pages.push(Page::new("..."));
    let rows = pages.into_iter().enumerate().map(|(at, page)| {
        let source = ["web", "books"][usize::from(random.chance(30))];
        let mut row = json!({ "text": page.text, "key": format!("page-{}", at), "source": source });
        for name in ["url", "language", "quality", "year"] {
            let value = &page.fields[name];
            if !(value.is_null() || name == "year" && value.is_string()) {
                row[name] = value.clone();
            }
        }
        row
    });
    let mut rows: Vec<Value> = rows.collect();
    // The same key in another source is another document.
    let other = if rows[3]["source"] == "web" { "books" } else { "web" };
    rows[9]["key"] = rows[3]["key"].clone();
    rows[9]["source"] = other.into();
    rows
}

pub fn make(path: &Path, policy: &Policy) -> CorpusWriter {
    Corpus::init(path, policy, &FIELDS.map(|(name, kind)| (name.to_owned(), kind))).unwrap();
    writer(path)
}

/// Ingests rows as lines.
pub fn pour_rows(writer: &mut CorpusWriter, scratch: &TestDir, name: &str, rows: &[Value]) {
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let read = ReadOptions {
        id_field: Some("key".to_owned()),
        source_field: Some("source".to_owned()),
        ..ReadOptions::default()
    };
    pour(
        writer,
        &[scratch.write(name, text)],
        &IngestOptions { read, ..IngestOptions::new("web") },
    );
}

/// Says in a row how a document stands; `first` is the first of those that are loaded, `names` all of them.
pub fn say(
    row: &mut Value,
    writer: &CorpusWriter,
    id: DocId,
    first: u64,
    names: &[(Value, Value)],
) {
    let view = writer.view();
    row["_standing"] = view.standing(id).unwrap().name().into();
    let matched = view.match_of(id).unwrap();
    if let Some(found) = matched.filter(|found| found.kind != MatchKind::Superseded) {
        let (key, source) = &names[found.witness.0 as usize];
        row["_kind"] = found.kind.name().into();
        row["_witness"] = key.clone();
        row["_witness_source"] = source.clone();
        if found.witness.0 < first {
            row["_witness_id"] = found.witness.0.into();
        }
        row["_jaccard"] = found.jaccard().into();
        row["_shared"] = found.shared.into();
        row["_removed_shingles"] = found.removed_shingles.into();
        row["_witness_shingles"] = found.witness_shingles.into();
    }
}

pub fn schema(without: Option<&str>) -> Arc<Schema> {
    let whole =
        ["_order", "_witness_id", "_shared", "_removed_shingles", "_witness_shingles", "year"];
    let names = ["text", "key", "source", "url", "language", "quality", "year"];
    let fields = names.iter().chain(&COLUMNS).filter(|name| Some(**name) != without);
    let field = |name: &&str| {
        let kind = match *name {
            "_jaccard" | "quality" => DataType::Float64,
            name if whole.contains(&name) => DataType::Int64,
            _ => DataType::Utf8,
        };
        Field::new(*name, kind, true)
    };
    Arc::new(Schema::new(fields.map(field).collect::<Vec<_>>()))
}

/// A directory as `corpusdb.spark.write_load` writes it, in files of these many rows.
pub fn write_load(directory: &Path, policy: &Policy, rows: &[Value], parts: &[usize]) {
    write_rows(directory, rows, parts, schema(None));
    manifest(directory, policy, rows.len(), |_| {});
}

pub fn write_rows(directory: &Path, rows: &[Value], parts: &[usize], schema: Arc<Schema>) {
    let mut rest = rows;
    for (at, part) in parts.iter().copied().chain([usize::MAX]).enumerate() {
        let (rows, behind) = rest.split_at(part.min(rest.len()));
        rest = behind;
        if !rows.is_empty() {
            let folder = directory.join(format!("documents/part={at:05}"));
            write_file(&folder, rows, Arc::clone(&schema));
        }
    }
}

/// One file of rows.
pub fn write_file(folder: &Path, rows: &[Value], schema: Arc<Schema>) {
    std::fs::create_dir_all(folder).unwrap();
    let mut decoder = ReaderBuilder::new(Arc::clone(&schema)).build_decoder().unwrap();
    decoder.serialize(rows).unwrap();
    let file = File::create(folder.join("rows.parquet")).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
    while let Some(batch) = decoder.flush().unwrap() {
        writer.write(&batch).unwrap();
        decoder.serialize(&[] as &[Value]).unwrap();
    }
    writer.close().unwrap();
}

pub fn manifest(directory: &Path, policy: &Policy, documents: usize, change: impl Fn(&mut Value)) {
    let mut manifest = json!({
        "format": 1,
        "signature_version": policy.signature_version,
        "policy": policy,
        "documents": documents,
        "source": "web",
    });
    change(&mut manifest);
    std::fs::create_dir_all(directory.join("manifest")).unwrap();
    std::fs::write(directory.join("manifest/_SUCCESS"), "").unwrap();
    std::fs::write(directory.join("documents/_SUCCESS"), "").unwrap();
    std::fs::write(directory.join("manifest/part-0.txt"), manifest.to_string()).unwrap();
}

pub fn load(
    writer: &mut CorpusWriter,
    directory: &Path,
    options: &LoadOptions,
) -> Result<LoadReport, Error> {
    let directory = directory.display().to_string();
    writer.bulk_load(&directory, options, &Context::new())
}

/// The ingest that a load stands for.
pub fn same_ingest(writer: &mut CorpusWriter, directory: &Path) {
    same_ingest_without(writer, directory, &COLUMNS);
}

pub fn same_ingest_without(writer: &mut CorpusWriter, directory: &Path, columns: &[&str]) {
    let read = ReadOptions {
        format: InputFormat::Parquet,
        text_field: Some("text".to_owned()),
        id_field: Some("key".to_owned()),
        source_field: Some("source".to_owned()),
        drop_fields: columns.iter().map(|name| (*name).to_owned()).collect(),
        partitions: false,
        ..ReadOptions::default()
    };
    let options = IngestOptions { read, ..IngestOptions::new("web") };
    let directory = directory.join("documents/*/*.parquet").display().to_string();
    pour(writer, &[directory], &options);
}

pub fn refused(done: Result<LoadReport, Error>) -> String {
    done.expect_err("a load that cannot be true was taken").to_string()
}

/// Commits of a corpus, as its journal counts them.
pub fn journal(corpus: &str) -> u64 {
    std::fs::metadata(Path::new(corpus).join("journal")).map_or(0, |file| file.len() / 48)
}

/// Kills the command over a corpus that `made` makes at some commits between two, and gives it again: each time it
/// comes to the digest that is expected. Answers how often it was killed before its end.
pub fn kill_anywhere(
    made: &dyn Fn(&str) -> String,
    words: &dyn Fn(&str) -> [String; 6],
    (before, commits): (u64, u64),
    expected: &str,
    rounds: usize,
) -> u64 {
    let mut random = Random::new(5);
    let mut killed = 0;
    for round in 0..rounds {
        let corpus = made(&format!("killed-{round}"));
        let moment = before + random.below((commits - before) as usize) as u64;
        let mut child = silent(&words(&corpus));
        until(&mut child, || journal(&corpus) >= moment);
        kill(&mut child);
        killed += u64::from(journal(&corpus) < commits);
        sound(&corpus);
        corpusdb(&words(&corpus)).good();
        sound(&corpus);
        assert_eq!(digest(&corpus), expected, "killed at commit {moment}");
    }
    killed
}
