//! Corpora made through the library, and tokenizers of them.

use super::*;
use crate::support::dir::TestDir;
use corpusdb::curate::TrainingTexts;
use corpusdb::dedup::{DedupScope, KeepOrder};
use corpusdb::ingest::ReadOptions;
use corpusdb::store::CheckDepth;
use corpusdb::tokenizer::TrainOptions;
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, FieldKind, IngestOptions, IngestReport, Policy,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Memory given to every corpus of the tests.
pub const MEMORY: u64 = 64 << 20;

/// Makes a corpus with the fields that [`crawl`] gives its pages.
pub fn make(path: &Path, mode: DedupMode, threshold: f64) {
    let fields = [
        ("url".to_owned(), FieldKind::Keyword),
        ("quality".to_owned(), FieldKind::Float),
        ("year".to_owned(), FieldKind::Int),
    ];
    Corpus::init(path, &Policy::new(mode, threshold).unwrap(), &fields).unwrap();
}

pub fn writer(path: &Path) -> CorpusWriter {
    Corpus::options().memory(MEMORY).threads(2).open_writer(path).unwrap()
}

pub fn reader(path: &Path) -> Corpus {
    Corpus::options().memory(MEMORY).open(path).unwrap()
}

/// Every mode with every kind of keep order, in one scope or the other.
pub fn policies() -> Vec<Policy> {
    let modes = [
        DedupMode::Witness,
        DedupMode::Components,
        DedupMode::Lsh,
        DedupMode::Exact,
        DedupMode::None,
    ];
    let keeps = [
        KeepOrder::First,
        KeepOrder::Longest,
        KeepOrder::SourcePriority(vec!["books".to_owned()]),
        KeepOrder::Field("year".to_owned()),
    ];
    let mut all = Vec::new();
    for mode in modes {
        for (at, keep) in keeps.iter().enumerate() {
            let scope = if at % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
            let policy = Policy::new(mode, 0.6).unwrap();
            all.push(Policy { keep: keep.clone(), scope, ..policy });
        }
    }
    all
}

/// Trains on all kept documents; answers the `tokenizer.json`.
pub fn train(writer: &CorpusWriter, vocab_size: u32, specials: &[&str]) -> Vec<u8> {
    let specials = specials.iter().map(|token| (*token).to_owned()).collect();
    let options = TrainOptions { vocab_size, specials, ..TrainOptions::default() };
    let on = TrainingTexts::default();
    writer.train_tokenizer(&options, &on, &Context::new()).unwrap().json
}

/// Ingests through the library.
pub fn pour(writer: &mut CorpusWriter, paths: &[String], options: &IngestOptions) -> IngestReport {
    writer.ingest(paths, options, &Context::new()).unwrap()
}

/// An ingest of records with keys under the source `web`.
pub fn keyed_options(batch_bytes: u64) -> IngestOptions {
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    IngestOptions { batch_bytes, read, ..IngestOptions::new("web") }
}

/// The template of ChatML.
pub const CHATML: &str = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A tokenizer.json of 500 ids, the first of which are ChatML's special tokens.
pub fn tokenizer_of_chats(seed: u64) -> Vec<u8> {
    static FILES: Mutex<BTreeMap<u64, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let train = || {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        make(&path, DedupMode::Witness, 0.8);
        let file = scratch.write("a.jsonl", lines(&crawl(seed, 120, false)));
        let mut writer = writer(&path);
        pour(&mut writer, &[file], &IngestOptions::new("web"));
        train(&writer, 500, &["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    };
    files.entry(seed).or_insert_with(train).clone()
}

/// The digest of a corpus that is found sound at every depth.
#[track_caller]
pub fn sound_digest(corpus: &Corpus) -> String {
    let faults = corpus.check(CheckDepth::Deep, &Context::new()).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    corpus.digest(&Context::new()).unwrap()
}

/// A tokenizer that belongs to the tests, trained on a made-up crawl.
pub fn trained() -> &'static [u8] {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        make(&path, DedupMode::Witness, 0.8);
        let file = scratch.write("a.jsonl", lines(&crawl(2, 120, false)));
        let mut writer = writer(&path);
        pour(&mut writer, &[file], &IngestOptions::new("web"));
        train(&writer, 400, &["<|endoftext|>"])
    });
    &FILE
}
