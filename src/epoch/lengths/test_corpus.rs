//! A corpus of lengths alone, for unit tests: its documents have a number of tokens and no text.

use model::{DedupMode, Policy, TokenizerId};
use store::{self, CommitRecord, MemoryBudget, StoreWriter, TokenizerFiles, TokenizerRecord};

const TOKENIZER: &[u8] = br#"{"version":"1.0","added_tokens":[],"model":{"type":"WordLevel","vocab":{"<unk>":0},"unk_token":"<unk>"}}"#;

/// A corpus whose blocks of documents have the numbers of tokens that `fill` gives, and are of the source, by its place
/// in `sources`, that it answers; none for a document without tokens. The first block without a number is the end.
pub fn corpus_of_lengths(
    sources: &[&str],
    fill: &mut dyn FnMut(u64, &mut Vec<Option<i64>>) -> usize,
) -> (tempfile::TempDir, StoreWriter) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("corpus");
    store::create(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &[]).unwrap();
    let mut writer = StoreWriter::open(&path, MemoryBudget::within(64 << 20), 1).unwrap();
    let record = TokenizerRecord {
        name: "t".to_owned(),
        hash: *blake3::hash(TOKENIZER).as_bytes(),
        vocab_size: 100,
        lineage: String::new(),
        backend: String::new(),
        encoded_to: u64::MAX,
        ..TokenizerRecord::default()
    };
    let mut batch = writer.begin().unwrap();
    batch
        .add_tokenizer(&record, TokenizerFiles { file: TOKENIZER, ..TokenizerFiles::default() })
        .unwrap();
    batch.commit(&CommitRecord::default()).unwrap();
    writer.generate(TokenizerId(0), sources, scratch.path(), fill).unwrap();
    (scratch, writer)
}
