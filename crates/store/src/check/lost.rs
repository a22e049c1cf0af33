//! Says in words which rows of a family are lost: they cannot be read and follow from nothing else.
//!
//! Rows of documents are named by document.

use crate::bytes::key::{CommitKey, DocumentKey, StoreKey, TokensKey};
use crate::database::family::StoreFamily;
use crate::database::whole_rows::LostKeys;
use crate::database::{Database, PinnedMoment};
use crate::documents::headers::Documents;
use crate::documents::metadata::Metadata;
use crate::documents::texts::Texts;
use crate::error::StoreError;
use crate::records::commits::Commits;
use crate::view::View;
use model::{DocId, hexadecimal};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Ranges of documents that are listed; more are counted.
const MOST: usize = 1000;

/// Rows of a family that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LostRows {
    /// The family.
    pub family: String,
    /// Which rows: documents, commits, or the keys that they are between.
    pub what: String,
    /// How many documents they belong to; 0 if they belong to none, or it is unknown.
    pub documents: u64,
}

impl LostRows {
    /// Rows of these documents.
    pub(crate) fn of_documents(family: &str, documents: &RoaringTreemap) -> Self {
        let what = format!("documents {}", ranges(documents));
        Self { family: family.to_owned(), what, documents: documents.len() }
    }
}

/// Numbers as people list them: `3, 7 to 9`.
pub fn ranges(documents: &RoaringTreemap) -> String {
    let mut found: Vec<(u64, u64)> = Vec::new();
    for document in documents {
        match found.last_mut() {
            Some((_, last)) if *last + 1 == document => *last = document,
            _ => found.push((document, document)),
        }
        if found.len() > MOST {
            break;
        }
    }
    let is_whole = found.len() <= MOST;
    found.truncate(MOST);
    let words = found.iter().map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first} to {last}") }
    });
    let words = words.collect::<Vec<_>>().join(", ");
    if is_whole { words } else { format!("{words} and others, {} in all", documents.len()) }
}

/// What of base families cannot be read. `view` is what could be opened of the corpus.
pub(crate) fn lost_rows(
    db: &Arc<Database>,
    damaged: &BTreeMap<&'static str, Vec<LostKeys>>,
    view: Option<&View>,
) -> Result<Vec<LostRows>, StoreError> {
    let pinned = PinnedMoment::at_now(db);
    let documents = view.map_or(0, View::documents);
    let mut found = Vec::new();
    for (family, gaps) in damaged {
        let of = match *family {
            Documents::NAME => unreadable::<Documents>(&pinned, gaps, documents)?,
            Metadata::NAME => unreadable::<Metadata>(&pinned, gaps, documents)?,
            Texts::NAME => unreadable::<Texts>(&pinned, gaps, documents)?,
            _ => RoaringTreemap::new(),
        };
        if of.is_empty() {
            let rows = |gap| LostRows {
                family: (*family).to_owned(),
                what: between(family, gap),
                documents: 0,
            };
            found.extend(gaps.iter().map(rows));
        } else {
            found.push(LostRows::of_documents(family, &of));
        }
    }
    Ok(found)
}

/// The documents within gaps whose rows cannot be read one by one either.
fn unreadable<C: StoreFamily<Key = DocumentKey>>(
    pinned: &PinnedMoment,
    gaps: &[LostKeys],
    documents: u64,
) -> Result<RoaringTreemap, StoreError> {
    let number = |key: &Option<Vec<u8>>| {
        key.as_ref().and_then(|key| DocumentKey::decode(key).ok()).map(|key| key.document.0)
    };
    let mut lost = RoaringTreemap::new();
    for gap in gaps {
        let from = number(&gap.after).unwrap_or(0);
        let to = number(&gap.before).unwrap_or(documents).min(documents.saturating_sub(1));
        for document in (from..=to).map(DocId) {
            let key = DocumentKey { document };
            let decoded = pinned
                .get::<C>(&key)
                .map(|row| row.is_none_or(|row| C::decode(&key, &row).is_ok()));
            match decoded {
                Ok(true) => {}
                Ok(false) | Err(StoreError::Damaged { .. }) => {
                    lost.insert(document.0);
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(lost)
}

fn between(family: &str, gap: &LostKeys) -> String {
    let name = |key: &Vec<u8>| readable(family, key);
    match (gap.after.as_ref().map(name), gap.before.as_ref().map(name)) {
        (Some(after), Some(before)) if after == before => format!("the row {after}"),
        (Some(after), Some(before)) => format!("rows between {after} and {before}"),
        (Some(after), None) => format!("rows behind {after}"),
        (None, Some(before)) => format!("rows before {before}"),
        (None, None) => "all rows".to_owned(),
    }
}

fn readable(family: &str, key: &[u8]) -> String {
    if family == Commits::NAME
        && let Ok(key) = CommitKey::decode(key)
    {
        return format!("commit {}", key.commit);
    }
    if let (10, Ok(key)) = (key.len(), TokensKey::decode(key)) {
        return format!("tokenizer {}, document {}", key.tokenizer, key.document);
    }
    match std::str::from_utf8(key) {
        Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => format!("`{text}`"),
        _ => hexadecimal(key),
    }
}
