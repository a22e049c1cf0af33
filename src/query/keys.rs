//! The key shown for a document, and the documents that a shown key stands for.

use super::error::QueryError;
use crate::model::{DocId, FileId, SourceId};
use crate::store::{Header, View};
use std::collections::HashMap;

/// Files remembered while keys are shown; a corpus of one file a document would otherwise hold all.
const REMEMBERED: usize = 4096;

/// The key shown for a document: the key the user gave; else `PATH` when its file holds one record,
/// else `PATH:NUMBER`.
///
/// # Errors
/// [`QueryError::Store`] when a row cannot be read.
pub fn display_key(view: &View, header: &Header) -> Result<String, QueryError> {
    Keys::default().shown(view, header)
}

/// Shows keys, and remembers the files it has seen.
#[derive(Default)]
pub(super) struct Keys {
    files: HashMap<(SourceId, FileId), (String, bool)>,
}

impl Keys {
    /// As [`display_key`].
    pub(super) fn shown(&mut self, view: &View, header: &Header) -> Result<String, QueryError> {
        if let Some(key) = &header.key {
            return Ok(key.clone());
        }
        let at = (header.source, header.file);
        if !self.files.contains_key(&at) {
            if self.files.len() >= REMEMBERED {
                self.files.clear();
            }
            let path = view.file_path(header.source, header.file)?.unwrap_or_else(|| "?".to_owned());
            let single = view.file(header.source, path.as_bytes())?.is_some_and(|file| file.records == 1);
            self.files.insert(at, (path, single));
        }
        Ok(match self.files.get(&at) {
            Some((path, true)) if header.number == 0 => path.clone(),
            Some((path, _)) => format!("{path}:{}", header.number),
            None => String::new(),
        })
    }
}

/// Documents of that key in any source, oldest first: the key the user gave, or else the `PATH` or
/// `PATH:NUMBER` shown for a document without one. Reads all headers.
///
/// # Errors
/// [`QueryError::Store`] when a row cannot be read.
pub fn find_key(view: &View, key: &str) -> Result<Vec<DocId>, QueryError> {
    let mut positions: Vec<(SourceId, FileId, u64)> = Vec::new();
    let numbered = key.rsplit_once(':').and_then(|(path, number)| Some((path, number.parse().ok()?)));
    for (source, _) in view.sources() {
        for (path, number) in [Some((key, 0)), numbered].into_iter().flatten() {
            if let Some(file) = view.file(source, path.as_bytes())? {
                positions.push((source, FileId(file.file), number));
            }
        }
    }
    let mut found = Vec::new();
    view.for_each_header::<QueryError>(0..view.documents(), |document, header| {
        let same = match &header.key {
            Some(given) => given == key,
            None => positions.contains(&(header.source, header.file, header.number)),
        };
        if same {
            found.push(document);
        }
        Ok(())
    })?;
    Ok(found)
}
