//! Opening a corpus as a program does: options with defaults, and reading what its own writer has committed.

use crate::support::Scratch;
use corpusdb::store::StoreError;
use corpusdb::tokenizer::TokenizerError;
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, Error, IngestOptions, Policy};

fn pour(writer: &mut CorpusWriter, scratch: &Scratch, name: &str) {
    let line = format!("{{\"text\":\"{name} one two three four five six\"}}\n");
    let paths = [scratch.write(&format!("{name}.jsonl"), line)];
    let options = IngestOptions::new("web");
    writer.ingest(&paths, &options, &[], &Context::new()).unwrap();
}

#[test]
fn what_a_writer_has_committed_is_read_without_a_second_opening() {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
    pour(&mut writer, &scratch, "a");
    let first = writer.corpus();
    pour(&mut writer, &scratch, "b");
    assert_eq!((first.count(None).unwrap(), writer.corpus().count(None).unwrap()), (1, 2));
    assert_eq!(first.check(corpusdb::store::CheckDepth::Deep, &Context::new()).unwrap(), []);
    drop(writer);
    assert_eq!(first.count(None).unwrap(), 1);
    let opened = Corpus::open(path.to_str().unwrap()).unwrap();
    assert_eq!(opened.count(None).unwrap(), 2);
}

#[test]
fn an_error_is_of_the_kind_of_its_call() {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    assert!(matches!(Corpus::open(&path), Err(Error::Store(StoreError::NotACorpus { .. }))));
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let writer = CorpusWriter::open(&path).unwrap();
    assert!(matches!(CorpusWriter::open(&path), Err(Error::Store(StoreError::Locked { .. }))));
    let corpus = writer.corpus();
    let unknown = corpus.encode(Some("bpe"), "a text", false);
    assert!(matches!(unknown, Err(Error::Tokenizer(TokenizerError::Unknown { .. }))));
    drop(writer);
    // What shows a moment of the writer holds the corpus as the writer did.
    assert!(matches!(CorpusWriter::open(&path), Err(Error::Store(StoreError::Locked { .. }))));
    drop(corpus);
    CorpusWriter::open(&path).unwrap();
}
