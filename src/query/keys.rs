//! The key shown for a document, and the documents that a shown key stands for.

use super::error::QueryError;
use crate::model::{DocId, FileId, SourceId};
use crate::store::{Header, View};
use std::collections::HashMap;

/// Files remembered while keys are shown; a corpus of one file a document would otherwise hold all.
const REMEMBERED: usize = 4096;

/// Shows keys, and remembers the files it has seen.
#[derive(Default)]
pub(super) struct Keys {
    /// What is shown before the number, and whether there is one.
    files: HashMap<(SourceId, FileId), (String, bool)>,
}

impl Keys {
    /// As [`View::display_key`].
    pub(super) fn shown(&mut self, view: &View, header: &Header) -> Result<String, QueryError> {
        if let Some(key) = &header.key {
            return Ok(key.clone());
        }
        let file = (header.source, header.file);
        if let Some((path, numbered)) = self.files.get(&file) {
            return Ok(if *numbered { format!("{path}:{}", header.number) } else { path.clone() });
        }
        let shown = view.display_key(header)?;
        if self.files.len() >= REMEMBERED {
            self.files.clear();
        }
        // The one document of a file is shown alike whether or not its path ends in `:0`.
        let path = shown.strip_suffix(&format!(":{}", header.number)).map(str::to_owned);
        let numbered = path.is_some();
        self.files.insert(file, (path.unwrap_or_else(|| shown.clone()), numbered));
        Ok(shown)
    }
}

/// Documents of that key in any source, oldest first: the key the user gave, or else the `PATH` or
/// `PATH:NUMBER` shown for a document without one. Reads all headers.
///
/// # Errors
/// [`QueryError::Store`] when a row cannot be read.
pub fn find_key(view: &View, key: &str) -> Result<Vec<DocId>, QueryError> {
    let mut positions: Vec<(SourceId, FileId, u64)> = Vec::new();
    let numbered =
        key.rsplit_once(':').and_then(|(path, number)| Some((path, number.parse().ok()?, false)));
    for (source, _) in view.sources() {
        for (path, number, single) in [Some((key, 0, true)), numbered].into_iter().flatten() {
            if let Some(file) =
                view.file(source, path.as_bytes())?.filter(|file| file.single == single)
            {
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
