//! Shows the key of a document, and finds documents by a shown key.

use crate::sql::error::SqlError;
use model::{DocId, FileId, SourceId, Standing, key_identity};
use roaring::RoaringTreemap;
use std::collections::{BTreeSet, HashMap};
use store::{DocumentPlace, StoreError, View, key_at, system_fields};

/// Files remembered while keys are shown; a corpus with a file for each document would otherwise hold all.
const REMEMBERED: usize = 4096;
/// Documents whose keys or places are read at once.
const READ_AT_ONCE: usize = 1024;
/// Keys that an error names, of documents read at one place.
const NAMED: usize = 3;

/// Shows keys; remembers the files that it has seen.
#[derive(Default)]
pub(crate) struct KeyFormatter {
    /// The path that is shown before the number, and whether a number is shown.
    files: HashMap<(SourceId, FileId), (String, bool)>,
}

impl KeyFormatter {
    /// As [`View::display_key`].
    pub(crate) fn shown(&mut self, view: &View, document: DocId) -> Result<String, SqlError> {
        match view.key(document)? {
            Some(key) => Ok(key),
            None => self.at(view, document, &view.place(document)?),
        }
    }

    /// The key shown for a document without one that was read there.
    pub(crate) fn at(
        &mut self,
        view: &View,
        document: DocId,
        place: &DocumentPlace,
    ) -> Result<String, SqlError> {
        Ok(key_at(&self.place(view, place)?, document))
    }

    /// As [`View::display_place`].
    fn place(&mut self, view: &View, place: &DocumentPlace) -> Result<String, SqlError> {
        let file = (place.source, place.file);
        if let Some((path, numbered)) = self.files.get(&file) {
            return Ok(if *numbered { format!("{path}:{}", place.number) } else { path.clone() });
        }
        let shown = view.display_place(place)?;
        if self.files.len() >= REMEMBERED {
            self.files.clear();
        }
        // The one document of a file is shown alike whether or not its path ends in `:0`.
        let path = shown.strip_suffix(&format!(":{}", place.number)).map(str::to_owned);
        let numbered = path.is_some();
        self.files.insert(file, (path.unwrap_or_else(|| shown.clone()), numbered));
        Ok(shown)
    }
}

/// Documents of that key in any source, oldest first: the key the user gave, or else the `PATH:NUMBER@ID` shown for a
/// document without one. Where none has the key, the one document that was read at this place, `PATH` or `PATH:NUMBER`.
/// For a place the documents are read of the sources that have the file.
///
/// # Errors
/// [`SqlError::Ambiguous`] when several were read at this place; [`SqlError::Store`] when a row cannot be read.
pub fn find_key(view: &View, key: &str) -> Result<Vec<DocId>, SqlError> {
    let found = find_keys(view, &[key.to_owned()])?;
    if !found.is_empty() {
        return Ok(found);
    }
    let found = read_at(view, key)?;
    if found.len() > 1 {
        let shown = |id: &DocId| Ok(view.display_key(*id)?);
        let keys = found.iter().take(NAMED).map(shown).collect::<Result<Vec<_>, SqlError>>()?;
        return Err(SqlError::Ambiguous { place: key.to_owned(), documents: found.len(), keys });
    }
    Ok(found)
}

/// Documents of any of these keys, as they are shown. A given key is looked up. Only if the key is known, or may have
/// been before a purge, are the keys read of documents that gave way to others, once for all keys.
pub(crate) fn find_keys(view: &View, keys: &[String]) -> Result<Vec<DocId>, SqlError> {
    let wanted: BTreeSet<&str> = keys.iter().map(String::as_str).collect();
    let mut gave_way: Option<RoaringTreemap> = None;
    let mut found = BTreeSet::new();
    for (source, record) in view.sources() {
        let of_source =
            || view.documents_with(system_fields::SOURCE, &system_fields::source_value(source));
        let identities: Vec<[u8; 16]> =
            wanted.iter().map(|key| key_identity(&record.name, key)).collect();
        let newest: Vec<Option<DocId>> = view.identities(&identities)?;
        let mut candidates: RoaringTreemap =
            newest.iter().flatten().map(|document| document.0).collect();
        // The look-up finds the newest document of a key. Any other one gave way to it, or was not kept. A purge takes
        // the key from its newest document, while older ones still have it.
        let is_purged =
            newest.contains(&None) && !view.documents_standing(Standing::Purged)?.is_empty();
        let before = if is_purged { Some(u64::MAX) } else { candidates.max() };
        if let Some(before) = before {
            let known = match &mut gave_way {
                Some(known) => known,
                none => none.insert(others(view)?),
            };
            if known.min().is_some_and(|first| first < before) {
                let mut older = of_source()? & &*known;
                older.remove_range(before..);
                candidates |= older;
            }
        }
        let read = |documents: &[DocId]| view.keys_of(documents);
        collect(&candidates, &mut found, read, |_, key: Option<String>| {
            Ok(key.is_some_and(|key| wanted.contains(key.as_str())))
        })?;
    }
    for key in &wanted {
        if let Some((_, document)) = numbered(key, '@').filter(|(_, id)| *id < view.documents()) {
            let document = DocId(document);
            if view.key(document)?.is_none() && view.display_key(document)? == *key {
                found.insert(document);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Documents without a key that were read at a place, oldest first.
fn read_at(view: &View, place: &str) -> Result<Vec<DocId>, SqlError> {
    let mut found = BTreeSet::new();
    for (source, _) in view.sources() {
        let whole = view.files_shown_as(source, place)?.into_iter().filter(|file| file.single);
        let mut positions: BTreeSet<(FileId, Option<u64>)> =
            whole.map(|file| (FileId(file.file), None)).collect();
        if let Some((path, number)) = numbered(place, ':') {
            let parts = view.files_shown_as(source, path)?;
            let parts = parts.into_iter().filter(|file| !file.single);
            positions.extend(parts.map(|file| (FileId(file.file), Some(number))));
        }
        if !positions.is_empty() {
            let of_source =
                view.documents_with(system_fields::SOURCE, &system_fields::source_value(source))?;
            let read = |documents: &[DocId]| view.places_of(documents);
            collect(&of_source, &mut found, read, |document, place: DocumentPlace| {
                let at = |number| positions.contains(&(place.file, number));
                Ok((at(None) || at(Some(place.number))) && view.key(document)?.is_none())
            })?;
        }
    }
    Ok(found.into_iter().collect())
}

/// The parts of a key before and behind the last `sign`, if a number as it is shown is behind it.
fn numbered(key: &str, sign: char) -> Option<(&str, u64)> {
    let (path, spelled) = key.rsplit_once(sign)?;
    let number: u64 = spelled.parse().ok()?;
    (number.to_string() == spelled).then_some((path, number))
}

/// Documents that may have a key without being the newest that has it.
fn others(view: &View) -> Result<RoaringTreemap, SqlError> {
    let mut found = view.documents_standing(Standing::Superseded)?;
    found |= view.documents_standing(Standing::Removed)?;
    found |= view.documents_standing(Standing::Blocked)?;
    Ok(found)
}

/// Adds to `found` the candidates that are looked for, by a part of them that `read` gives.
fn collect<T>(
    candidates: &RoaringTreemap,
    found: &mut BTreeSet<DocId>,
    read: impl Fn(&[DocId]) -> Result<Vec<T>, StoreError>,
    is_one: impl Fn(DocId, T) -> Result<bool, StoreError>,
) -> Result<(), SqlError> {
    let mut candidates = candidates.iter().map(DocId);
    loop {
        let these: Vec<DocId> = candidates.by_ref().take(READ_AT_ONCE).collect();
        if these.is_empty() {
            return Ok(());
        }
        for (document, part) in these.iter().zip(read(&these)?) {
            if is_one(*document, part)? {
                found.insert(*document);
            }
        }
    }
}
