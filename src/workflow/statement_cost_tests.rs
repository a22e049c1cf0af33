//! Tests the cost of statements over an open corpus: what does not depend on the statement is made once.

use crate::corpus::{Corpus, CorpusWriter};
use crate::ingest::{IngestOptions, JoinBy, JoinOptions, Record, Records};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use model::{Context, DedupMode, FieldKind, Policy};

const MEMORY: u64 = 32 << 20;

/// A corpus of one block in commits of ten documents, with the number of each as its grade.
fn corpus(directory: &tempfile::TempDir, documents: i64) -> CorpusWriter {
    let path = directory.path().join("corpus");
    let fields = [("grade".to_owned(), FieldKind::Int)];
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &fields).unwrap();
    let mut writer = Corpus::options().memory(MEMORY).threads(1).open_writer(&path).unwrap();
    for first in (0..documents).step_by(10) {
        pour(&mut writer, first..first + 10);
    }
    writer
}

fn pour(writer: &mut CorpusWriter, numbers: std::ops::Range<i64>) {
    let record = |n: i64| {
        let record = Record::new(format!("page {n}")).with_key(format!("k{n}"));
        record.with_field("grade", n)
    };
    let (records, options) =
        (Records::new("pages", numbers.map(record)), IngestOptions::new("web"));
    writer.ingest(records, &options, &Context::new()).unwrap();
}

/// The integer that a statement gives, and the number of column blocks that were assembled for it.
#[track_caller]
fn asked(corpus: &Corpus, statement: &str) -> (i64, u64) {
    let before = corpus.view().columns_merged();
    let batches: Vec<_> = corpus.sql(statement).unwrap().map(|batch| batch.unwrap()).collect();
    let [batch] = batches.as_slice() else { panic!("{statement}: {} batches", batches.len()) };
    let value = batch.column(0).as_primitive::<Int64Type>().value(0);
    (value, corpus.view().columns_merged() - before)
}

/// A block in patches was assembled for every statement that read one value of it.
#[test]
fn a_block_in_patches_is_put_together_once_for_a_moment() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = corpus(&directory, 60);
    let then = writer.corpus();
    let of = |key: i64| format!("SELECT grade FROM documents WHERE key = 'k{key}'");
    assert_eq!(asked(&then, &of(7)), (7, 1));
    for key in 0..60 {
        assert_eq!(asked(&then, &of(key)), (key, 0));
    }
    assert_eq!(asked(&then, "SELECT count(*) FROM documents WHERE grade >= 50"), (10, 0));
    assert_eq!(asked(&then, "SELECT sum(grade) FROM documents WHERE grade < 4"), (6, 0));

    let file = directory.path().join("grades.jsonl");
    std::fs::write(&file, "{\"id\":7,\"grade\":-1}\n").unwrap();
    let options = JoinOptions::of("grade", JoinBy::Id("id".to_owned()));
    let file = [file.display().to_string()];
    writer.set_field(&file, &options, &Context::new()).unwrap();
    let now = writer.corpus();
    assert_eq!(asked(&now, &of(7)), (-1, 1));
    assert_eq!(asked(&then, &of(7)), (7, 0));
    assert_eq!(asked(&now, &of(7)), (-1, 0));
    pour(&mut writer, 60..70);
    assert_eq!(asked(&writer.corpus(), &of(69)), (69, 1));
    drop((now, then));

    // A whole block is read where it lies.
    writer.compact(&Context::new()).unwrap();
    let compact = writer.corpus();
    assert_eq!(asked(&compact, &of(7)), (-1, 0));
    drop((compact, writer));
    let read = Corpus::options().memory(MEMORY).open(directory.path().join("corpus")).unwrap();
    assert_eq!(asked(&read, &of(69)), (69, 0));
}
