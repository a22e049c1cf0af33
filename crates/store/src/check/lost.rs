//! Says in words which rows of a family are lost: they cannot be read and follow from nothing else.
//!
//! Rows of documents are named by document.

use crate::bytes::key::{CommitKey, DocumentKey, StoreKey, TokensKey};
use crate::bytes::page::documents_of;
use crate::database::family::StoreFamily;
use crate::database::whole_rows::LostKeys;
use crate::database::{Database, PinnedMoment};
use crate::documents::grid::{PlacePages, PrintPages};
use crate::documents::pages::{KeyPages, MetadataPages, TextPages};
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
            PlacePages::NAME => unreadable::<PlacePages>(&pinned, gaps, documents)?,
            PrintPages::NAME => unreadable::<PrintPages>(&pinned, gaps, documents)?,
            KeyPages::NAME => unreadable::<KeyPages>(&pinned, gaps, documents)?,
            MetadataPages::NAME => unreadable::<MetadataPages>(&pinned, gaps, documents)?,
            TextPages::NAME => unreadable::<TextPages>(&pinned, gaps, documents)?,
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

/// The documents within gaps whose pages cannot be read one by one either.
fn unreadable<C: StoreFamily<Key = DocumentKey>>(
    pinned: &PinnedMoment,
    gaps: &[LostKeys],
    documents: u64,
) -> Result<RoaringTreemap, StoreError> {
    let number = |key: &Option<Vec<u8>>| {
        key.as_ref().and_then(|key| DocumentKey::decode(key).ok()).map(|key| key.document.0)
    };
    // The first document behind the page that begins with one, if that can be read.
    let end = |first: u64| {
        let key = DocumentKey { document: DocId(first) };
        match pinned.get::<C>(&key) {
            Ok(page) => Ok(page
                .filter(|page| C::decode(&key, page).is_ok())
                .and_then(|page| Some(first + documents_of(&page)?))),
            Err(StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    };
    let mut lost = RoaringTreemap::new();
    for gap in gaps {
        let (after, before) = (number(&gap.after), number(&gap.before));
        let (mut from, to) = match (after, before) {
            (Some(own), Some(same)) if own == same => {
                let behind = DocumentKey { document: DocId(own + 1) }.to_bytes();
                let mut rows = pinned.scan::<C>(&behind, None)?;
                let next = rows.advance().ok().flatten().map(|(key, _)| key.to_vec());
                (own, number(&next))
            }
            (Some(after), before) => (end(after)?.unwrap_or(after), before),
            (None, before) => (0, before),
        };
        let to = to.unwrap_or(documents).min(documents);
        while from < to
            && let Some(next) = end(from)?
        {
            from = next;
        }
        lost.insert_range(from..to.max(from));
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
