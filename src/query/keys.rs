//! The key shown for a document, and the documents that a shown key stands for.

use crate::model::{DocId, FileId, SourceId, Standing, key_identity};
use crate::query::error::QueryError;
use crate::store::{Header, View, fields};
use roaring::RoaringTreemap;
use std::collections::{BTreeSet, HashMap};

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
/// `PATH:NUMBER` shown for a document without one. A given key is looked up; only where it is known are the headers
/// read of documents that gave way to others. For a path, those of the sources that have the file.
///
/// # Errors
/// [`QueryError::Store`] when a row cannot be read.
pub fn find_key(view: &View, key: &str) -> Result<Vec<DocId>, QueryError> {
    let numbered =
        key.rsplit_once(':').and_then(|(path, number)| Some((path, number.parse().ok()?, false)));
    let identities: Vec<[u8; 16]> =
        view.sources().map(|(_, source)| key_identity(&source.name, key)).collect();
    let newest = view.identities(&identities)?;
    let mut gave_way: Option<RoaringTreemap> = None;
    let mut found = BTreeSet::new();
    for ((source, _), newest) in view.sources().zip(newest) {
        let of_source = || view.documents_with(fields::SOURCE, &fields::source_value(source));
        if let Some(newest) = newest {
            if gave_way.is_none() {
                gave_way = Some(others(view)?);
            }
            // The newest document of a key is looked up; any other of it gave way, or was kept from coming in.
            let mut candidates = match &gave_way {
                Some(known) if known.min().is_some_and(|first| first < newest.0) => {
                    of_source()? & known
                }
                _ => RoaringTreemap::new(),
            };
            candidates.remove_range(newest.0..);
            candidates.insert(newest.0);
            collect(view, &candidates, &mut found, |header| header.key.as_deref() == Some(key))?;
        }
        let mut positions: Vec<(FileId, u64)> = Vec::new();
        for (path, number, single) in [Some((key, 0, true)), numbered].into_iter().flatten() {
            if let Some(file) =
                view.file(source, path.as_bytes())?.filter(|file| file.single == single)
            {
                positions.push((FileId(file.file), number));
            }
        }
        if !positions.is_empty() {
            collect(view, &of_source()?, &mut found, |header| {
                header.key.is_none() && positions.contains(&(header.file, header.number))
            })?;
        }
    }
    Ok(found.into_iter().collect())
}

/// Documents that may have a key without being its newest.
fn others(view: &View) -> Result<RoaringTreemap, QueryError> {
    let mut found = view.documents_standing(Standing::Superseded)?;
    found |= view.documents_standing(Standing::Removed)?;
    found |= view.documents_standing(Standing::Blocked)?;
    Ok(found)
}

fn collect(
    view: &View,
    candidates: &RoaringTreemap,
    found: &mut BTreeSet<DocId>,
    has_key: impl Fn(&Header) -> bool,
) -> Result<(), QueryError> {
    for document in candidates.iter().map(DocId) {
        if has_key(&view.expect_header(document)?) {
            found.insert(document);
        }
    }
    Ok(())
}
