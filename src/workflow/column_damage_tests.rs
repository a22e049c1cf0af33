//! A column that has no number of a document is damage: nobody who reads it answers as if there were no text.

use super::cost_tests::{CountedCorpus, alike};
use crate::corpus::CorpusWriter;
use crate::curate::TrainingTexts;
use crate::export::{ExportOptions, FormatName};
use crate::sql::DocumentFilter;
use model::{Context, DedupMode, Error, Policy};
use store::{CheckFault, CommitRecord, MemoryBudget, RepairStart};
use tokenizer::TrainOptions;

/// A corpus of kept and removed documents whose columns are empty, as behind a repair that filled none of them.
fn without_columns() -> CountedCorpus {
    let place = CountedCorpus::new(DedupMode::Witness, 20);
    let mut writer = place.writer();
    place.ingest(&mut writer, &alike(5));
    writer.create_snapshot("before").unwrap();
    writer.remove(&[10].into_iter().collect(), false, &Context::new()).unwrap();
    drop(writer);
    let faults = [CheckFault { place: "columns".to_owned(), what: "of a test".to_owned() }];
    let memory = MemoryBudget::within(32 << 20);
    let begun = store::begin_repair(&place.path(), &faults, memory, 1, &Context::new()).unwrap();
    let RepairStart::Fill(mut writer, families) = begun else { panic!("nothing was made empty") };
    assert_eq!(families, ["columns"]);
    let mut batch = writer.begin_repair().unwrap();
    batch.end_repair().unwrap();
    batch.commit(&CommitRecord::about("repair", "")).unwrap();
    place
}

type Question = (&'static str, fn(&mut CorpusWriter) -> Result<(), Error>);

const QUESTIONS: [Question; 8] = [
    ("stats", |writer| writer.corpus().stats(DocumentFilter::default()).map(drop)),
    ("matrix", |writer| writer.corpus().duplicates_matrix(&["source".to_owned()], None).map(drop)),
    ("difference of snapshots", |writer| {
        writer.corpus().snapshot_diff("before", None, None).map(drop)
    }),
    ("texts by SQL", |writer| {
        for batch in writer.corpus().sql("SELECT text FROM documents")? {
            batch?;
        }
        Ok(())
    }),
    ("training", |writer| {
        let options = TrainOptions { vocab_size: 300, ..TrainOptions::default() };
        writer.train_tokenizer(&options, &TrainingTexts::default(), &Context::new()).map(drop)
    }),
    ("redo", |writer| {
        let other = Policy { threshold: 0.6, ..writer.view().policy().clone() };
        writer.redo(&other, &Context::new()).map(drop)
    }),
    ("size of an export", |writer| {
        writer.corpus().export_estimate(&ExportOptions::default()).map(drop)
    }),
    ("export", |writer| {
        let mut out = Vec::new();
        let format = FormatName::from_name("jsonl");
        let options = ExportOptions { format, ..ExportOptions::default() };
        writer.corpus().export_stream(&options, &mut out, &Context::new()).map(drop)
    }),
];

// A document without a length counted as one of no bytes.
#[test]
fn a_document_without_a_number_in_a_column_is_an_error() {
    let place = without_columns();
    let mut writer = place.writer();
    for (what, ask) in QUESTIONS {
        let error = ask(&mut writer).map_err(|error| error.to_string());
        let is_told = |words: &String| {
            words.contains("in family columns") && words.contains("no number of document")
        };
        assert!(error.as_ref().is_err_and(is_told), "{what}: {error:?}");
    }
}
