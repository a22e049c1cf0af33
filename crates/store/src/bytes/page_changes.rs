//! What a commit changes in pages: values of documents by column, before any page is made of them.

use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use model::DocId;
use std::collections::BTreeMap;

/// A value of a page of strings or sketches, if there is one.
pub(crate) type PageValue = Option<Box<[u8]>>;

/// The bytes of a text, if there is one.
pub(crate) fn page_value(text: Option<String>) -> PageValue {
    text.map(|text| text.into_bytes().into_boxed_slice())
}

/// What a commit changes in pages, by document.
#[derive(Default)]
pub(crate) struct PageChanges {
    pub(crate) places: BTreeMap<u64, DocumentPlace>,
    pub(crate) prints: BTreeMap<u64, DocumentPrint>,
    pub(crate) sketches: BTreeMap<u64, PageValue>,
    pub(crate) texts: BTreeMap<u64, PageValue>,
    pub(crate) keys: BTreeMap<u64, PageValue>,
    pub(crate) metadata: BTreeMap<u64, PageValue>,
}

/// What pages have of a new document.
pub(crate) struct PageValues {
    pub(crate) place: DocumentPlace,
    pub(crate) print: DocumentPrint,
    /// The sketch that it stores itself.
    pub(crate) sketch: Option<Vec<u8>>,
    /// The text that it stores itself.
    pub(crate) text: Option<String>,
    pub(crate) key: Option<String>,
    /// None for `{}`.
    pub(crate) metadata: Option<String>,
}

impl PageChanges {
    /// A document that is new, with all that pages have of it.
    pub(crate) fn add(&mut self, document: DocId, values: PageValues) {
        let PageValues { place, print, sketch, text, key, metadata } = values;
        self.places.insert(document.0, place);
        self.prints.insert(document.0, print);
        self.sketches.insert(document.0, sketch.map(Vec::into_boxed_slice));
        self.texts.insert(document.0, page_value(text));
        self.keys.insert(document.0, page_value(key));
        self.metadata.insert(document.0, page_value(metadata));
    }
}
