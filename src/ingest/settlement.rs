//! Settles stored rejects that a file does not give any more when it is read again.
//!
//! A reject stands under a hash, so those of a file are found by reading all rejects. That is done when a file that may
//! have some is read, once for all files of the ingest; where rejects are very many, once a window of them.

use super::options::IngestOptions;
use super::reader::{IngestInput, InputPart};
use files::input::InputFile;
use model::{Error, reject_identity_at};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use store::{RejectRecord, View};

/// Rejects that are held at once: some 20 MB.
const WINDOW: usize = 1 << 19;

/// A stored reject: the place of its file among the inputs, its number in it, and the hash that it stands under.
type Entry = (usize, u64, [u8; 16]);

/// The stored rejects of the files of an ingest, in the order in which their places are read.
pub(super) struct RejectSettlement {
    source: String,
    /// Files that may have some, by the bytes of their paths.
    places: BTreeMap<Vec<u8>, usize>,
    /// The paths of the files, by the spelling that rejects have: several look alike where bytes are no UTF-8.
    shown: BTreeMap<String, Vec<Vec<u8>>>,
    window: BTreeSet<Entry>,
    /// Where the store has those that come behind the window; none when it has no more.
    behind: Option<Bound<Entry>>,
    size: usize,
}

impl RejectSettlement {
    /// The files among `inlets` that may have stored rejects: those that had some when they were read last, or were not
    /// read to their end. What comes by a pipe or from memory is another thing every time, under one name.
    pub(super) fn of(
        inlets: &[IngestInput<'_>],
        view: &View,
        options: &IngestOptions,
    ) -> Result<Self, Error> {
        let mut settlement = Self {
            source: options.source.clone(),
            places: BTreeMap::new(),
            shown: BTreeMap::new(),
            window: BTreeSet::new(),
            behind: Some(Bound::Unbounded),
            size: WINDOW,
        };
        let source = view.source_named(&options.source).map(|(id, _)| id);
        let Some(source) = source.filter(|_| view.state().rejects > 0) else {
            return Ok(settlement);
        };
        for (place, inlet) in inlets.iter().enumerate() {
            let IngestInput::File(input) = inlet else { continue };
            let path = input.path.as_os_str().as_bytes();
            let record = if is_place(input) { view.file(source, path)? } else { None };
            if record.is_some_and(|record| record.rejected > 0 || !record.whole) {
                settlement.places.insert(path.to_vec(), place);
                let shown = input.path.to_string_lossy().into_owned();
                settlement.shown.entry(shown).or_default().push(path.to_vec());
            }
        }
        Ok(settlement)
    }

    /// The stored rejects that a part of a file, which begins behind `start` records, does not give any more: those
    /// with a number of the part that is not in `given` and, at the end of the file, with any number behind it. Parts
    /// come in the order of the inputs.
    pub(super) fn settled(
        &mut self,
        view: &View,
        part: &InputPart,
        start: u64,
        given: &BTreeSet<[u8; 16]>,
    ) -> Result<Vec<[u8; 16]>, Error> {
        let Some(place) = self.places.get(part.path()).copied() else { return Ok(Vec::new()) };
        let end = if part.is_last { (place + 1, 0) } else { (place, part.end.records) };
        let mut settled = Vec::new();
        loop {
            while let Some(entry) = self.window.first().copied() {
                let (at, number, hash) = entry;
                if (at, number) >= end {
                    return Ok(settled);
                }
                self.window.pop_first();
                if at == place && number >= start && !given.contains(&hash) {
                    settled.push(hash);
                }
            }
            let Some(behind) = self.behind.take() else { return Ok(settled) };
            self.load(view, behind, (place, start, [0; 16]))?;
        }
    }

    /// Fills the window with the first rejects `behind` what it had, and not before `first`.
    fn load(&mut self, view: &View, behind: Bound<Entry>, first: Entry) -> Result<(), Error> {
        for stored in view.keyed_rejects()? {
            let (hash, record) = stored?;
            let Some(place) = self.place(hash, &record) else { continue };
            let entry = (place, record.number, hash);
            let is_behind = match behind {
                Bound::Excluded(last) => entry > last,
                Bound::Included(_) | Bound::Unbounded => true,
            };
            if is_behind && entry >= first {
                self.window.insert(entry);
            }
            if self.window.len() > self.size {
                self.window.pop_last();
                self.behind = self.window.last().copied().map(Bound::Excluded);
            }
        }
        Ok(())
    }

    /// The place of a stored reject's file, if it is one of the files.
    fn place(&self, hash: [u8; 16], record: &RejectRecord) -> Option<usize> {
        if record.source != self.source {
            return None;
        }
        let paths = self.shown.get(&record.path)?;
        let is_own = |path: &&Vec<u8>| {
            !record.path.contains(char::REPLACEMENT_CHARACTER)
                || reject_identity_at(&record.source, path, record.number, &record.raw) == hash
        };
        self.places.get(paths.iter().find(is_own)?).copied()
    }
}

/// Whether what stood there before is gone when something else stands there.
fn is_place(input: &InputFile) -> bool {
    let is_told = input.version != 0 || input.size != 0 || input.object.is_some();
    !input.is_stdin && is_told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ingest::reader::PartKind;
    use files::input::{ResumePoint, expand_local};
    use model::{DedupMode, Policy};
    use std::path::Path;
    use store::{CommitRecord, FileRecord, MemoryBudget, StoreWriter, counted, create};

    const FILES: usize = 4;
    const REJECTS: u64 = 10;

    /// A store where each file but the first has rejects of every second number, and those files.
    fn store(directory: &Path, rejects: u64) -> (StoreWriter, Vec<InputFile>) {
        let policy = Policy::new(DedupMode::None, 0.8).unwrap();
        let path = directory.join("corpus");
        create(&path, &policy, &[]).unwrap();
        let mut writer = StoreWriter::open(&path, MemoryBudget::within(32 << 20), 1).unwrap();
        let mut files = Vec::new();
        let mut batch = writer.begin().unwrap();
        let source = batch.source("web").unwrap();
        for at in 0..FILES {
            let path = directory.join(format!("{at}.jsonl"));
            std::fs::write(&path, "what is in it is not read").unwrap();
            let file = expand_local(&[path.display().to_string()]).unwrap().remove(0);
            let bytes = file.path.as_os_str().as_bytes();
            for number in (0..rejects).map(|number| number * 2).filter(|_| at > 0) {
                let record = RejectRecord {
                    source: "web".to_owned(),
                    path: file.path.display().to_string(),
                    number,
                    offset: 0,
                    reason: String::new(),
                    bytes: 0,
                    raw: Vec::new(),
                };
                batch.reject(reject_identity_at("web", bytes, number, b""), &record).unwrap();
            }
            let record = FileRecord {
                file: batch.file(source, bytes).unwrap().0,
                size: 1,
                modified: 0,
                single: false,
                whole: true,
                offset: 0,
                records: rejects * 2,
                rejected: if at > 0 { rejects } else { 0 },
                prefix: [0; 32],
                reading: String::new(),
            };
            batch.put_file(source, bytes, &record).unwrap();
            files.push(file);
        }
        batch.commit(&CommitRecord::default()).unwrap();
        (writer, files)
    }

    fn part(input: &InputFile, records: u64, whole: bool) -> InputPart {
        InputPart {
            input: input.clone(),
            place: 0,
            records: Vec::new(),
            end: ResumePoint { offset: 0, records, prefix: [0; 32] },
            is_single: false,
            is_last: whole,
            kind: PartKind::First { replaces: true },
            torn: None,
        }
    }

    #[test]
    fn a_window_of_any_size_finds_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let (writer, files) = store(directory.path(), REJECTS);
        let view = writer.view();
        let inlets: Vec<_> = files.iter().cloned().map(IngestInput::File).collect();
        let options = IngestOptions::new("web");
        for size in [1, 3, 7, 1000] {
            let mut settlement =
                RejectSettlement { size, ..RejectSettlement::of(&inlets, view, &options).unwrap() };
            let mut found = Vec::new();
            // File 2 is not read, file 3 not to its end.
            for (at, parts) in
                [(0, vec![(9, true)]), (1, vec![(7, false), (9, true)]), (3, vec![(12, false)])]
            {
                let (mut start, path) = (0, files[at].path.as_os_str().as_bytes());
                // The file gives one of the rejects again.
                let given = BTreeSet::from([reject_identity_at("web", path, 4, b"")]);
                for (end, whole) in parts {
                    let part = part(&files[at], end, whole);
                    found.extend(settlement.settled(view, &part, start, &given).unwrap());
                    start = end;
                }
            }
            let numbers = (0..REJECTS).map(|number| number * 2).filter(|number| *number != 4);
            let expected = numbers.flat_map(|number| [(1, number), (3, number)]);
            let mut expected: Vec<_> = expected
                .filter(|(at, number)| *at == 1 || *number < 12)
                .map(|(at, number)| {
                    reject_identity_at("web", files[at].path.as_os_str().as_bytes(), number, b"")
                })
                .collect();
            expected.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, expected, "{size}");
        }
    }

    #[test]
    fn rejects_are_read_for_files_that_may_have_some_and_once() {
        let cost = |rejects: u64, of: usize| {
            let directory = tempfile::tempdir().unwrap();
            let (writer, files) = store(directory.path(), rejects);
            let options = IngestOptions::new("web");
            let inlets: Vec<_> = files.iter().take(of).cloned().map(IngestInput::File).collect();
            let ((), read) = counted::during(|| {
                let mut settlement =
                    RejectSettlement::of(&inlets, writer.view(), &options).unwrap();
                for file in files.iter().take(of) {
                    let part = part(file, 1, true);
                    settlement.settled(writer.view(), &part, 0, &BTreeSet::new()).unwrap();
                }
            });
            read.get("rejects").copied().unwrap_or(0)
        };
        assert_eq!([cost(10, 1), cost(20, 1)], [0, 0]);
        assert_eq!([cost(10, 4), cost(20, 4)], [30, 60]);
    }
}
