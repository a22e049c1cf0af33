//! Pages on both sides of the border to a holdout, and those that cross it.

use crate::support::checker::corpus::plan;
use crate::support::{MEMORY, Page, Random, TestDir, lines, prose, train};
use corpusdb::dedup::KeepOrder;
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, IngestOptions, IngestReport, Policy,
};
use std::collections::BTreeSet;
use std::path::PathBuf;

pub const SHARE: f64 = 0.3;

/// A corpus of pages under one source.
pub struct Pages {
    pub scratch: TestDir,
    pub path: PathBuf,
    pub poured: usize,
}

pub fn policy(keep: &KeepOrder, threshold: f64) -> Policy {
    Policy { keep: keep.clone(), ..Policy::new(DedupMode::Witness, threshold).unwrap() }
}

impl Pages {
    pub fn new(keep: &KeepOrder) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        Corpus::init(&path, &policy(keep, 0.7), &[]).unwrap();
        Self { scratch, path, poured: 0 }
    }

    pub fn writer(&self) -> CorpusWriter {
        Corpus::options().memory(MEMORY).threads(2).open_writer(&self.path).unwrap()
    }

    pub fn pour(&mut self, pages: &[Page]) -> IngestReport {
        self.poured += 1;
        let file = self.scratch.write(&format!("{}.jsonl", self.poured), lines(pages));
        let mut options = IngestOptions::new("web");
        options.read.id_field = Some("id".to_owned());
        let mut writer = self.writer();
        let told = writer.ingest(&[file], &options, &Context::new()).unwrap();
        if self.poured == 1 {
            let file = train(&writer, 420, &[]);
            writer.add_tokenizer("own", &file, "", &Context::new()).unwrap();
        }
        told
    }

    /// Documents on each side now: trained on, held out.
    pub fn sides(&self) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let corpus = Corpus::options().memory(MEMORY).open(&self.path).unwrap();
        let side = |take: &str| -> BTreeSet<u64> {
            let text = format!("[select]\nholdout = {{ share = {SHARE}, take = \"{take}\" }}\n");
            let planned = plan(&corpus, &text).unwrap();
            planned.pinned.iter().flat_map(|of| of.documents()).collect()
        };
        (side("train"), side("holdout"))
    }

    pub fn text(&self, corpus: &Corpus, id: u64) -> String {
        corpus.show(DocId(id)).unwrap().text
    }
}

pub fn words(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).map(|three| three.join(" ")).collect()
}

pub fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.union(b).count().max(1) as f64
}

/// Pairs of a document held out at one time and one trained on at another whose texts are
/// similar `above` that.
pub fn leaks(
    pages: &Pages,
    above: f64,
    before: &(BTreeSet<u64>, BTreeSet<u64>),
    after: &(BTreeSet<u64>, BTreeSet<u64>),
) -> usize {
    let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let texts = |ids: &BTreeSet<u64>| -> Vec<BTreeSet<String>> {
        ids.iter().map(|id| words(&pages.text(&corpus, *id))).collect()
    };
    let mut found = 0;
    for (held, trained) in [(&before.1, &after.0), (&after.1, &before.0)] {
        let trained = texts(trained);
        let held = texts(held);
        let near =
            |one: &&BTreeSet<String>| trained.iter().any(|other| similarity(one, other) > above);
        found += held.iter().filter(near).count();
    }
    found
}

pub fn first_crawl(random: &mut Random, count: usize) -> Vec<Page> {
    let page = |number| Page::keyed(format!("page-{number}"), prose(random, 0, 60));
    (0..count).map(page).collect()
}
