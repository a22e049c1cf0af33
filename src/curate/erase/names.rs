//! Finds names given by users (sources, snapshots, ..) that hold a key or value which only erased documents have.
//!
//! A purge does not edit names: it lists them, each with the verb that renames or drops it.

use super::values;
use model::{DocId, Error, FileId, SourceId, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use store::View;

/// Files whose names are looked at.
const FILES: usize = 100;
/// The most values in one name that are looked for in other documents.
const HELD: usize = 64;

/// A name that holds what was asked to be erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErasedName {
    /// What has the name: `source`, `snapshot`, `suite`, `tokenizer`, `field` or `file`.
    pub of: &'static str,
    /// The name.
    pub name: String,
    /// The verb that gives another one, or gives up what has it; none for files, whose paths stay on record.
    pub verb: Option<&'static str>,
}

impl fmt::Display for ErasedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, name, verb } = self;
        write!(f, "the name of {of} `{name}` holds a key or a value of these documents")?;
        match verb {
            Some(verb) => write!(f, ": `corpusdb {verb}`"),
            None => f.write_str(", and stays on record"),
        }
    }
}

/// A name, in small letters too, and what it holds.
struct NameSearch {
    name: ErasedName,
    lower: String,
    /// Keys and values that only these documents may have.
    held: BTreeSet<String>,
}

impl NameSearch {
    fn new(of: &'static str, name: &str, verb: Option<&'static str>) -> Self {
        let lower = name.to_lowercase();
        let name = ErasedName { of, name: name.to_owned(), verb };
        Self { name, lower, held: BTreeSet::new() }
    }

    /// The part that the name and a value share: one contains the other, or they are equal. Short parts match too much
    /// and do not count.
    fn common<'v>(&'v self, value: &'v str) -> Option<&'v str> {
        let name = self.lower.as_str();
        if value == name || value.len() >= values::PART && name.contains(value) {
            return Some(value);
        }
        (name.len() >= values::PART && value.contains(name)).then_some(name)
    }

    fn look(&mut self, value: &str) {
        if self.held.len() < HELD
            && let Some(common) = self.common(value).map(str::to_owned)
        {
            self.held.insert(common);
        }
    }
}

/// The names that hold a key or a value of these documents which no other document has.
pub(crate) fn naming(view: &View, documents: &RoaringTreemap) -> Result<Vec<ErasedName>, Error> {
    let purged = view.documents_standing(Standing::Purged)?;
    let mut names = names_of(view)?;
    let mut files: BTreeMap<(SourceId, FileId), NameSearch> = BTreeMap::new();
    for document in (documents - &purged).iter().map(DocId) {
        let (place, key) = (view.place(document)?, view.key(document)?);
        let file = (place.source, place.file);
        if files.len() < FILES && !files.contains_key(&file) {
            let path = view.file_path(file.0, file.1)?.unwrap_or_default();
            files.insert(file, NameSearch::new("file", &path, None));
        }
        let mut own = files.get_mut(&file);
        each(key.as_deref(), &view.metadata(document)?, &mut |value| {
            names.iter_mut().chain(own.as_deref_mut()).for_each(|name| name.look(value));
        });
    }
    names.extend(files.into_values());
    names.retain(|name| !name.held.is_empty());
    if names.is_empty() {
        return Ok(Vec::new());
    }
    for row in view.keys(0..view.documents())? {
        let (document, key) = row?;
        if documents.contains(document.0) || purged.contains(document.0) {
            continue;
        }
        each(key.as_deref(), &view.metadata(document)?, &mut |value| {
            for name in &mut names {
                name.held.retain(|held| !value.contains(held.as_str()));
            }
        });
    }
    names.retain(|name| !name.held.is_empty());
    Ok(names.into_iter().map(|name| name.name).collect())
}

/// Calls `found` with the key and every value of a document, in small letters.
fn each(key: Option<&str>, metadata: &str, found: &mut dyn FnMut(&str)) {
    let mut lower = |value: &str| found(&value.to_lowercase());
    key.into_iter().for_each(&mut lower);
    values::each(metadata, &mut lower);
}

/// The names that a corpus has of its own; files have those that came from outside.
fn names_of(view: &View) -> Result<Vec<NameSearch>, Error> {
    let mut names = Vec::new();
    for (_, source) in view.sources() {
        names.push(NameSearch::new("source", &source.name, Some("source rename")));
    }
    for snapshot in view.snapshots()? {
        names.push(NameSearch::new("snapshot", &snapshot.name, Some("snapshot rename")));
    }
    for (_, suite) in view.suites()? {
        names.push(NameSearch::new("suite", &suite.name, Some("contamination drop")));
    }
    for (_, tokenizer) in view.tokenizers() {
        names.push(NameSearch::new("tokenizer", &tokenizer.name, Some("tokenizer drop")));
    }
    for field in view.fields() {
        names.push(NameSearch::new("field", &field.name, Some("field drop")));
    }
    Ok(names)
}
