//! What the library gives one by one: rows of a statement, documents, duplicates, rejects.

use crate::support::{Page, TestDir, crawl, lines, make, pour, reader, writer};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use corpusdb::ingest::{ReadOptions, Records};
use corpusdb::{Context, Corpus, DedupMode, DocId, IngestOptions, Interrupt};

fn corpus_of(scratch: &TestDir, pages: &[Page]) -> Corpus {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let file = scratch.write("a.jsonl", lines(pages) + "bad\n{\"text\":1}\n");
    pour(&mut writer(&path), &[file], &IngestOptions::new("web"));
    reader(&path)
}

#[test]
fn rows_of_a_statement_end_when_dropped() {
    let scratch = TestDir::new();
    let corpus = corpus_of(&scratch, &crawl(91, 300, false));
    let names = |sql: &str| {
        let schema = corpus.sql(sql).unwrap().schema();
        schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let mut none = corpus.sql("SELECT id, text AS words FROM documents WHERE id > 1000").unwrap();
    assert!(none.next().is_none() && none.next().is_none());
    assert_eq!(names("SELECT id, text AS words FROM documents WHERE id > 1000"), ["id", "words"]);
    assert_eq!(
        names("SHOW TABLES").len(),
        corpus.sql("SHOW TABLES").unwrap().schema().fields().len()
    );
    // Eight thousand million rows: who drops it does not wait for them.
    let many = "SELECT a.id FROM documents a, documents b, documents c, documents d";
    let first = corpus.sql(many).unwrap().next().unwrap().unwrap();
    assert!(first.num_rows() > 0);
    // A statement that is wrong fails at once; one that fails while it runs, where its rows would stand.
    assert!(corpus.sql("SELECT nothing FROM documents").is_err());
    assert!(corpus.sql("DELETE FROM documents").is_err());
    let mut fails = corpus.sql("SELECT 1 / (id - 7) AS x FROM documents").unwrap();
    let error = fails.find_map(Result::err).expect("a division by zero").to_string();
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
    assert!(fails.next().is_none());
    // Rows need no corpus that is open.
    let rows = corpus.sql("SELECT id FROM documents ORDER BY id").unwrap();
    drop(corpus);
    let ids: Vec<u64> = rows
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    assert_eq!(ids, (0..300).collect::<Vec<_>>());
}

#[test]
fn rows_of_a_statement_can_be_ingested_into_another_corpus() {
    let scratch = TestDir::new();
    let corpus = corpus_of(&scratch, &crawl(92, 120, false));
    make(&scratch.path("kept"), DedupMode::Exact, 0.8);
    let rows = corpus.sql("SELECT id, text, source AS origin FROM documents WHERE kept").unwrap();
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("kept") };
    let records = Records::batches("kept of corpus", rows.into_reader());
    let mut kept = writer(&scratch.path("kept"));
    let interrupt = Interrupt::default();
    let report =
        kept.ingest(records, &options, &Context::new().with_interrupt(&interrupt)).unwrap();
    assert_eq!(report.kept, corpus.count("kept").unwrap());
    drop(kept);
    let kept = reader(&scratch.path("kept"));
    for document in kept.documents(None).unwrap() {
        let document = document.unwrap();
        let of = corpus.show(DocId(document.key.parse().unwrap())).unwrap();
        assert_eq!((document.text, document.metadata.get()), (of.text, "{\"origin\":\"web\"}"));
    }
}

#[test]
fn documents_duplicates_and_rejects_come_one_by_one() {
    let scratch = TestDir::new();
    let corpus = corpus_of(&scratch, &crawl(93, 200, false));
    let removed = "standing = 'near' OR standing = 'exact'";
    let shown: Vec<_> = corpus.documents(removed).unwrap().map(Result::unwrap).collect();
    let pairs: Vec<_> = corpus.duplicates(None).unwrap().map(Result::unwrap).collect();
    assert!(pairs.len() > 20);
    assert_eq!(pairs.len(), shown.len());
    for (pair, shown) in pairs.iter().zip(&shown) {
        let found = shown.found.as_ref().unwrap();
        assert_eq!((pair.id, pair.witness, &*pair.key), (shown.id, found.witness, &*shown.key));
        let own: Vec<_> = corpus.duplicates(Some(DocId(pair.id))).unwrap().collect();
        assert_eq!(own.len(), 1);
        let members = corpus.duplicates(Some(DocId(pair.witness))).unwrap();
        assert!(members.map(Result::unwrap).any(|member| member == *pair));
    }
    assert!(corpus.duplicates(Some(DocId(1000))).is_err());
    assert!(corpus.documents("nothing > 1").is_err());
    let numbers = |limit| -> Vec<u64> {
        corpus.rejects(limit).unwrap().map(|reject| reject.unwrap().number).collect()
    };
    assert_eq!((numbers(10), numbers(1), numbers(0)), (vec![200, 201], vec![200], vec![]));
}
