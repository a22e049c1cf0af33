//! One document, its differences from another, samples and what a corpus holds, on a real store.

use super::*;
use crate::inspect::InspectError;
use crate::sql::tests::small;
use crate::sql::{DocumentFilter, SqlError};
use model::DocId;

#[test]
fn one_document_and_its_duplicates() {
    let (_directory, view) = small();
    let shown = serde_json::to_value(show(&view, DocId(1)).unwrap()).unwrap();
    assert_eq!(shown["match"]["witness_key"], "/in/lines:0@0");
    assert_eq!(shown["match"]["kind"], "near");
    assert_eq!(shown["cluster"]["members"][0], 1);
    assert_eq!(shown["text"], "one two four");
    let shown = serde_json::to_value(show(&view, DocId(4)).unwrap()).unwrap();
    assert_eq!(shown["match"]["kind"], "superseded");
    assert!(shown["match"]["jaccard"].is_null() && shown["cluster"].is_null());
    assert!(matches!(show(&view, DocId(6)), Err(InspectError::Sql(SqlError::NoDocument { .. }))));
    let parts = diff(&view, DocId(1), DocId(0)).unwrap();
    assert_eq!(
        parts[1..],
        [DiffPart::Removed("four".to_owned()), DiffPart::Added("three".to_owned())]
    );

    let summary = serde_json::to_value(info(&view).unwrap()).unwrap();
    assert_eq!(summary["kept"], 3);
    assert_eq!(summary["sources"][1]["tokens"]["words"], 6);
    assert_eq!(summary["commits"].as_array().unwrap().len(), 3);
    assert_eq!(sample_of(&DocumentFilter::from("kept").select(&view).unwrap(), 9, 1).len(), 3);
}
