//! The numbers and sources under which the store has the files of an ingest, and the key of the way they are read.

use super::options::IngestOptions;
use model::{Error, FileId, SourceId};
use std::collections::{BTreeMap, BTreeSet};
use store::View;

/// The numbers that the inputs of an ingest have as files before it: in its own source, or, where records name theirs,
/// in all.
pub(super) struct FileNumbers {
    by_path: BTreeMap<Vec<u8>, Vec<(SourceId, FileId)>>,
    numbers: BTreeSet<(SourceId, FileId)>,
    /// Files that have not changed since they were read: their places among the inputs, and how many records were read
    /// of each.
    unchanged: BTreeMap<(SourceId, FileId), (usize, u64)>,
}

impl FileNumbers {
    /// The numbers of files with these paths.
    pub(super) fn of(
        mut paths: Vec<Vec<u8>>,
        view: &View,
        options: &IngestOptions,
    ) -> Result<Self, Error> {
        let mut numbers =
            Self { by_path: BTreeMap::new(), numbers: BTreeSet::new(), unchanged: BTreeMap::new() };
        let own = view.source_named(&options.source).map(|(id, _)| id);
        let only = if options.read.source_field.is_some() { None } else { own };
        if only.is_none() && options.read.source_field.is_none() {
            return Ok(numbers);
        }
        paths.sort_unstable();
        paths.dedup();
        let wanted: Vec<&[u8]> = paths.iter().map(Vec::as_slice).collect();
        for (at, source, file) in view.file_numbers(&wanted, only)? {
            if let Some(path) = paths.get(at) {
                numbers.by_path.entry(path.clone()).or_default().push((source, file));
                numbers.numbers.insert((source, file));
            }
        }
        Ok(numbers)
    }

    /// The sources of a file, and its number in each.
    pub(super) fn of_file(&self, path: &[u8]) -> &[(SourceId, FileId)] {
        self.by_path.get(path).map_or(&[], Vec::as_slice)
    }

    /// Notes the input at a place: a file that has not changed since `records` records were read of it.
    pub(super) fn note_unchanged(&mut self, place: usize, path: &[u8], records: u64) {
        for number in self.by_path.get(path).into_iter().flatten() {
            self.unchanged.insert(*number, (place, records));
        }
    }

    /// Whether record `number` of a file comes again behind the input at `place`: of one command it is the last file that
    /// says what a key has.
    pub(super) fn comes_behind(
        &self,
        place: usize,
        (source, file): (SourceId, FileId),
        number: u64,
    ) -> bool {
        let behind = self.unchanged.get(&(source, file));
        behind.is_some_and(|(behind, records)| *behind > place && number < *records)
    }

    /// Whether a file that is not an input superseded documents of a file since that was last read from its start.
    /// Inputs of one ingest keep the order that they came in: else the same command, given twice, would turn it around
    /// and around.
    pub(super) fn is_overtaken(&self, path: &[u8], view: &View) -> Result<bool, Error> {
        for (source, file) in self.of_file(path) {
            for by in view.overtaken(*source, *file)? {
                if !self.numbers.contains(&(*source, by?)) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// What the reading of a file is called in the sources that its records named: no ingest into those continues by it.
pub(super) fn reading_key_of_part(options: &IngestOptions) -> String {
    format!("{};part", options.reading_key())
}
