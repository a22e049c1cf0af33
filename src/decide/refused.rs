//! Texts that a tokenizer refuses: their documents are stored, without ids of it.

use crate::model::DocId;
use serde::Serialize;

/// Documents whose texts a tokenizer refused: they have no tokens of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// How many documents the tokenizer refused.
    pub documents: u64,
    /// The first of them.
    pub first: Option<u64>,
    /// Why, in the words of the tokenizer.
    pub why: String,
}

impl Refused {
    /// Counts a document.
    pub fn add(&mut self, document: DocId, why: &str) {
        self.documents += 1;
        if self.first.is_none() {
            (self.first, self.why) = (Some(document.0), why.to_owned());
        }
    }

    /// Counts those of a later commit too.
    pub fn and(&mut self, later: Self) {
        self.documents += later.documents;
        if self.first.is_none() {
            (self.first, self.why) = (later.first, later.why);
        }
    }
}
