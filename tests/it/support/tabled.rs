//! A corpus that has something for every table of SQL.

use crate::support::sql;
use crate::support::{MEMORY, Page, TestDir, corpusdb, crawl, fixture, ingest, init, lines};
use corpusdb::Corpus;
use serde_json::Value;
use std::path::Path;

/// A corpus of two sources with duplicates, changed keys, rejects, a tokenizer, a snapshot and a plan.
pub struct TabledCorpus {
    pub _scratch: TestDir,
    pub corpus: String,
    pub pages: Vec<Page>,
}

impl TabledCorpus {
    pub fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        let pages = crawl(31, 420, true);
        fixture("two sources with a snapshot and a plan", Path::new(&corpus), |path| {
            Self::fill(&path.display().to_string(), &pages);
        });
        Self { _scratch: scratch, corpus, pages }
    }

    fn fill(corpus: &str, pages: &[Page]) {
        let scratch = TestDir::new();
        let fields = ["url:keyword", "quality:float", "year:int"];
        let fields: Vec<&str> = fields.into_iter().flat_map(|field| ["--field", field]).collect();
        init(corpus, &fields);
        let (web, feed) = pages.split_at(300);
        let bad = "not json\n{\"id\":\"x\",\"text\":5}\n";
        let web = scratch.write("web.jsonl", format!("{}{bad}", lines(web)));
        ingest(corpus, &[&web], &["--source", "web", "--id-field", "id"]);
        corpusdb(&["tokenizer", "train", corpus, "own", "--vocab-size", "400"]).good();
        corpusdb(&["snapshot", "create", corpus, "first"]).good();
        let feed = scratch.write("feed.jsonl", lines(feed));
        ingest(corpus, &[&feed], &["--source", "a feed", "--id-field", "id"]);
        let recipe = scratch.write("recipe.toml", "version = 1\n");
        corpusdb(&["epoch", "plan", corpus, &recipe]).good();
    }

    #[track_caller]
    pub fn sql(&self, statement: &str) -> Vec<Value> {
        sql(&self.corpus, statement)
    }

    pub fn all(&self) -> Vec<Value> {
        self.sql("SELECT * FROM documents ORDER BY id")
    }

    pub fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }
}
