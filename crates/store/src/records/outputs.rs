//! Outputs on record: rows of `meta` that writers took in, and files of the folder `outputs` not taken in yet.
//!
//! A file goes after the commit of its row: where it stays, it is taken in again, as the same row.

use crate::batch::CommitBatch;
use crate::bytes::key::{CommitKey, StoreKey};
use crate::bytes::output::OutputRecord;
use crate::bytes::record::{CommitRecord, REDACTED};
use crate::error::{DecodeError, StoreError};
use crate::files::outputs::{HeldOutputs, OutputFolder};
use crate::meta::{Meta, MetaKey, MetaOutput};
use crate::records::commits::Commits;
use crate::view::View;
use crate::writer::StoreWriter;
use model::CommitSeq;

/// Bytes of entries that one commit takes in, and those of one entry more.
const MOST: usize = 16 << 20;

/// What a commit took in: the files with their bytes, and the number behind all rows.
#[derive(Default)]
pub(crate) struct TakenOutputs {
    files: Vec<(u32, Vec<u8>)>,
    next: u32,
}

impl View {
    /// Calls `each` with every output on record, by number: what is stored, and files that no writer has taken in yet. A
    /// file that is damaged is an error with its number, and the others follow.
    ///
    /// # Errors
    /// [`StoreError`] when rows or the folder cannot be read; the error of `each`.
    #[doc(hidden)]
    pub fn each_output<E: From<StoreError>>(
        &self,
        each: &mut dyn FnMut(u32, Result<OutputRecord, StoreError>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(folder) = self.output_folder() else {
            for row in self.stored_outputs()? {
                let (number, record) = row?;
                each(number, Ok(record))?;
            }
            return Ok(());
        };
        // The files first: one that is taken in meanwhile is at least in a later moment.
        let mut files = folder.names()?.numbers;
        for row in self.stored_outputs()? {
            let (number, record) = row?;
            let later = files.split_off(&number);
            for number in std::mem::replace(&mut files, later) {
                each_file(&folder, number, each)?;
            }
            // A stream writes its file again as it goes on.
            let file = match files.remove(&number) {
                true => folder.read(number)?.map(|bytes| OutputRecord::decode(&bytes)),
                false => None,
            };
            match file {
                Some(Ok(newer)) if record.is_same_stream(&newer) => {
                    each(number, Ok(newer.over(&record)))?;
                }
                Some(Ok(other)) if !is_taken_in(&record, &other) => {
                    each(number, Ok(record))?;
                    each(number, Ok(other))?;
                }
                Some(Err(why)) => {
                    each(number, Ok(record))?;
                    each(number, Err(damaged(&folder, number, why)))?;
                }
                _ => each(number, Ok(record))?,
            }
        }
        files.into_iter().try_for_each(|number| each_file(&folder, number, each))
    }

    /// What of the folder is no entry, in words.
    pub(crate) fn damaged_outputs(&self) -> Result<Vec<String>, StoreError> {
        let Some(folder) = self.output_folder() else { return Ok(Vec::new()) };
        let names = folder.names()?;
        let mut found: Vec<String> = Vec::new();
        for number in names.numbers {
            each_file::<StoreError>(&folder, number, &mut |_, read| {
                found.extend(read.err().map(|error| error.to_string()));
                Ok(())
            })?;
        }
        found.extend(
            names.strangers.iter().map(|name| format!("file outputs/{name}: it is no entry")),
        );
        Ok(found)
    }

    /// Puts an output on record beside the store: a reader may not write there. Answers its number.
    ///
    /// # Errors
    /// [`StoreError`] where nobody may write to the corpus.
    #[doc(hidden)]
    pub fn leave_output(&self, record: &OutputRecord) -> Result<u32, StoreError> {
        let folder = self.writable_folder()?;
        self.add_output(&folder, &folder.hold()?, record)
    }

    fn add_output(
        &self,
        folder: &OutputFolder,
        held: &HeldOutputs<'_>,
        record: &OutputRecord,
    ) -> Result<u32, StoreError> {
        let least = match folder.next() {
            Some(next) => next,
            None => self.last_output()?.saturating_add(1),
        };
        held.add(least, &record.encode()?)
    }

    /// Puts a stream on record. One that goes on where it ended extends its entry; one that is under way, or was killed,
    /// keeps its own, since its end is its own. Answers the number, the entry, and what it was before.
    #[doc(hidden)]
    pub fn leave_stream(
        &self,
        record: OutputRecord,
    ) -> Result<(u32, OutputRecord, Option<OutputRecord>), StoreError> {
        let folder = self.writable_folder()?;
        // Held from the look on: of two readers of one rank one adds the entry.
        let held = folder.hold()?;
        let mut before = None;
        self.each_output::<StoreError>(&mut |number, found| {
            if let Ok(found) = found
                && found.is_same_stream(&record)
                && !found.batches.as_ref().is_some_and(|batches| batches.is_open)
                && (found.destination == record.destination || found.destination == REDACTED)
            {
                before = Some((number, found));
            }
            Ok(())
        })?;
        let Some((number, found)) = before else {
            return Ok((self.add_output(&folder, &held, &record)?, record, None));
        };
        let extended = extension(&found, record);
        held.replace(number, &extended.encode()?)?;
        Ok((number, extended, Some(found)))
    }

    /// Writes an entry again that has a number.
    #[doc(hidden)]
    pub fn extend_output(&self, number: u32, record: &OutputRecord) -> Result<(), StoreError> {
        self.writable_folder()?.hold()?.replace(number, &record.encode()?)
    }

    /// What writers took in, by number.
    #[doc(hidden)]
    pub fn stored_outputs(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u32, OutputRecord), StoreError>> + use<'_>, StoreError>
    {
        let rows = self.pinned().scan_prefix::<MetaOutput>(MetaKey::outputs())?;
        Ok(rows.filter_map(|number, record| Some((number, record))))
    }

    fn stored_output(&self, number: u32) -> Result<Option<OutputRecord>, StoreError> {
        self.pinned().read::<MetaOutput, _>(&number)
    }

    /// The largest number of a row.
    fn last_output(&self) -> Result<u32, StoreError> {
        let mut rows = self.pinned().scan_prefix::<MetaOutput>(MetaKey::outputs())?;
        rows.seek_back(&MetaKey::Output(u32::MAX).to_bytes());
        let last = rows.advance()?.and_then(|(key, _)| MetaKey::decode(key).ok());
        Ok(if let Some(MetaKey::Output(number)) = last { number } else { 0 })
    }

    fn output_folder(&self) -> Option<OutputFolder> {
        self.database().root().map(OutputFolder::of)
    }

    fn writable_folder(&self) -> Result<OutputFolder, StoreError> {
        let missing = "outputs are put on record of a corpus that was opened at its place";
        self.output_folder().ok_or_else(|| StoreError::Name(missing.to_owned()))
    }

    /// Whether documents were purged after a commit.
    fn is_purged_since(&self, commit: u64) -> Result<bool, StoreError> {
        let from = CommitKey { commit: CommitSeq(commit.saturating_add(1)) }.to_bytes();
        let mut rows = self.pinned().scan::<Commits>(&from, None)?;
        while let Some((_, record)) = rows.next()? {
            if record.kind == "purge" {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn each_file<E: From<StoreError>>(
    folder: &OutputFolder,
    number: u32,
    each: &mut dyn FnMut(u32, Result<OutputRecord, StoreError>) -> Result<(), E>,
) -> Result<(), E> {
    let read = match folder.read(number) {
        Ok(Some(bytes)) => OutputRecord::decode(&bytes).map_err(|why| damaged(folder, number, why)),
        Ok(None) => return Ok(()),
        Err(error) => Err(error),
    };
    each(number, read)
}

fn damaged(folder: &OutputFolder, number: u32, why: DecodeError) -> StoreError {
    StoreError::output(&folder.file(number), &why.why)
}

/// A stream that goes on, with the batches that it had before.
fn extension(before: &OutputRecord, record: OutputRecord) -> OutputRecord {
    let mut extended = record.over(before);
    if let (Some(batches), Some(before)) = (&mut extended.batches, &before.batches) {
        batches.first = batches.first.min(before.first);
        batches.end = batches.end.max(before.end);
    }
    extended
}

/// Whether a row has what a file says, but for what was redacted.
fn is_taken_in(row: &OutputRecord, file: &OutputRecord) -> bool {
    let mut file = file.clone();
    if row.destination == REDACTED {
        file.destination = REDACTED.to_owned();
    }
    if row.condition.as_deref() == Some(REDACTED) && file.condition.is_some() {
        file.condition.clone_from(&row.condition);
    }
    *row == file
}

impl CommitBatch<'_> {
    /// Makes rows of files that no writer has taken in yet, as many as one commit takes.
    pub(crate) fn take_in_outputs(&mut self) -> Result<TakenOutputs, StoreError> {
        let mut taken = TakenOutputs::default();
        if self.writer.outputs.is_empty() {
            return Ok(taken);
        }
        let folder = OutputFolder::of(self.writer.place().name());
        let (view, mut bytes) = (self.view().clone(), 0);
        taken.next = view.last_output()?.saturating_add(1);
        while let Some(number) = self.writer.outputs.pop_first() {
            // What cannot be read stays where it is, and a check names it.
            let Ok(Some(file)) = folder.read(number) else { continue };
            let Ok(record) = OutputRecord::decode(&file) else { continue };
            let row = view.stored_output(number)?;
            let (of_row, record) = match row {
                Some(row) if is_taken_in(&row, &record) => (number, None),
                Some(row) if row.is_same_stream(&record) => (number, Some(record.over(&row))),
                // Another copy of the corpus gave the number too.
                Some(_) => (taken.next, Some(record)),
                None => (number, Some(record)),
            };
            if let Some(mut record) = record {
                // Whoever purged could not see these words.
                if record.condition.is_some() && view.is_purged_since(record.commit)? {
                    record.condition = Some(REDACTED.to_owned());
                }
                self.put_output(of_row, &record)?;
                taken.next = taken.next.max(of_row.saturating_add(1));
            }
            bytes += file.len();
            taken.files.push((number, file));
            if bytes > MOST {
                break;
            }
        }
        Ok(taken)
    }

    /// Stores an output under its number.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be encoded.
    pub fn put_output(&mut self, number: u32, record: &OutputRecord) -> Result<(), StoreError> {
        self.put::<Meta>(&MetaKey::Output(number), &record.encode()?)
    }
}

impl StoreWriter {
    /// Looks for outputs that no writer has taken in: the next commits do.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn find_outputs(&mut self) -> Result<(), StoreError> {
        self.outputs = OutputFolder::of(self.place().name()).names()?.numbers;
        Ok(())
    }

    /// Whether there are outputs that the next commit takes in.
    #[must_use]
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty()
    }

    /// Takes in all outputs that lie beside the store.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses.
    pub fn take_in_outputs(&mut self) -> Result<(), StoreError> {
        self.find_outputs()?;
        while self.has_outputs() {
            self.begin()?.commit(&CommitRecord::about("outputs", ""))?;
        }
        Ok(())
    }

    /// The commit of these rows is durable.
    pub(crate) fn forget_outputs(&self, taken: &TakenOutputs) {
        if !taken.files.is_empty() {
            OutputFolder::of(self.place().name()).forget(&taken.files, taken.next);
        }
    }
}
