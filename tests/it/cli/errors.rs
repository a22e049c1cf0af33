//! The kinds of errors: each is a class of the Python package, and decides the exit status of the command.

use crate::support::{TestDir, assert_none, corpusdb, init, repository};
use corpusdb::near_names::UnknownName;
use corpusdb::query::QueryError;
use corpusdb::store::StoreError;
use corpusdb::{Corpus, Error, ErrorKind};
use std::error::Error as _;

/// Python found the class of an error in ten lists of two hundred variants.
#[test]
fn every_kind_is_a_class_in_python_and_the_exit_status_follows() {
    let classes = std::fs::read_to_string(repository("python/corpusdb/errors.py")).unwrap();
    let faults: Vec<String> = ErrorKind::ALL
        .iter()
        .filter(|kind| !matches!(kind, ErrorKind::Interrupted | ErrorKind::Failed))
        .filter(|kind| !classes.contains(&format!("\nclass {}(", kind.name())))
        .map(|kind| format!("{kind:?} is no class of errors.py"))
        .collect();
    assert_none(&faults);
    for kind in ErrorKind::ALL {
        let expected = if kind == ErrorKind::Interrupted { 130 } else { 2 };
        assert_eq!(kind.exit_status(), expected, "{kind:?}");
        assert_eq!(format!("{kind:?}"), kind.name());
    }
}

#[test]
fn errors_have_place_cause_and_way_out() {
    let scratch = TestDir::new();
    let error = Corpus::open(scratch.path("corpus")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().ends_with("corpus is not a corpus"), "{error}");
    assert!(error.hint().unwrap().to_string().contains("corpusdb init"));
    assert!(matches!(error.origin(), Some(StoreError::NotACorpus { .. })));
    assert!(error.origin::<QueryError>().is_none());
    // The same error, met deeper: that of the store, not of the room that met it.
    let unknown =
        UnknownName { what: "snapshot", name: "june".to_owned(), known: vec!["may".to_owned()] };
    let met = Error::from(QueryError::from(StoreError::Unknown(unknown)));
    assert_eq!(met.kind(), ErrorKind::NotFound);
    assert!(met.origin::<StoreError>().is_some(), "{met}");
    // What the system said is behind it.
    init(&scratch.arg("corpus"), &[]);
    scratch.write("nowhere", "a file");
    let target = scratch.arg("nowhere/of/it.jsonl");
    let ran =
        corpusdb(&["export", &scratch.arg("corpus"), "--to", &target]).fails(&["Not a directory"]);
    assert!(ran.stderr.contains("nowhere"), "{}", ran.stderr);
    let corpus = Corpus::open(scratch.path("corpus")).unwrap();
    let error = corpus.count("nothing_like_it > 1").unwrap_err();
    assert_eq!((error.kind(), error.is_interrupt()), (ErrorKind::BadQuery, false));
    assert!(error.source().is_none());
}
