//! Reads inputs in order and cuts their records, undecoded, into chunks; skips inputs known to be unchanged.

use super::file_state::FileNumbers;
use super::file_tally::FileTally;
use super::options::{IngestOptions, OnDamagedFile};
use files::input::{
    InputFile, InputReader, LeftFile, LeftRole, RawRecord, ReadError, ReadOptions, Records,
    ResumePoint, SkippedContent, expand,
};
use model::{Error, Interrupt};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use store::{FileRecord, View};

/// Records per chunk, for sources of very short documents: several chunks keep all stages busy.
const CHUNK_RECORDS: usize = 1 << 13;

/// Part of one input, in order.
pub(super) struct InputPart {
    pub(super) input: InputFile,
    /// The place of the input among all.
    pub(super) place: usize,
    /// Its records, undecoded; taken by whoever decodes them.
    pub(super) records: Vec<RawRecord<'static>>,
    /// The input up to the end of the part.
    pub(super) end: ResumePoint,
    /// The input is one document.
    pub(super) is_single: bool,
    /// The part reaches the end of the input.
    pub(super) is_last: bool,
    pub(super) kind: PartKind,
    /// One of its records had no end when it was read before, and what it was then.
    pub(super) torn: Option<TornRecord>,
}

/// What a record is known by.
#[derive(Clone, Copy)]
pub(super) struct RecordIdentity {
    pub(super) identity: [u8; 16],
    pub(super) content: [u8; 16],
    /// Whether its key is spelled otherwise now.
    pub(super) is_other_key: bool,
}

/// The last record of a file that has grown: it had no end when it was read before.
pub(super) struct TornRecord {
    /// Its number in the file.
    pub(super) number: u64,
    /// What it was, undecoded.
    pub(super) raw: Option<RawRecord<'static>>,
    /// What it was stored as; none: it was rejected.
    pub(super) stored: Vec<RecordIdentity>,
}

/// What the store has of the records of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// Nothing: these are the first records of their input, which replaces what was read of it before, if anything was.
    First { replaces: bool },
    /// The records before these.
    Next,
    /// All records are known: an earlier ingest consumed them, so they are looked up and not decided.
    Known,
    /// At least the first `stored` records of the input are known; it is read from its start once more.
    Reread { stored: u64 },
}

impl InputPart {
    /// The input's path, as the store knows it.
    pub(super) fn path(&self) -> &[u8] {
        self.input.path.as_os_str().as_bytes()
    }

    /// The number of records that the input surely had before.
    pub(super) const fn stored(&self) -> u64 {
        match self.kind {
            PartKind::Reread { stored } => stored,
            PartKind::First { .. } | PartKind::Next | PartKind::Known => 0,
        }
    }

    /// Whether the records are looked up and not decided.
    pub(super) fn is_known(&self) -> bool {
        self.kind == PartKind::Known
    }

    /// Whether these records were stored before and more such records follow: until the last of them the stored
    /// progress of the file stays, so that an interrupted ingest begins with the first again.
    pub(super) const fn repeats_stored(&self) -> bool {
        self.end.records < self.stored() && !self.is_last
    }

    /// Whether the file was read further than the store knows.
    pub(super) fn advances_file(&self) -> bool {
        !self.is_known() && !self.repeats_stored()
    }

    /// The file is read from its start, and this part repeats the last of its stored records, or it has something else
    /// from its first record on.
    pub(super) const fn reread_is_complete(&self) -> bool {
        match self.kind {
            PartKind::First { replaces } => replaces,
            PartKind::Reread { .. } => !self.repeats_stored(),
            PartKind::Next | PartKind::Known => false,
        }
    }
}

/// What is committed at once.
#[derive(Default)]
pub(super) struct IngestChunk {
    pub(super) parts: Vec<InputPart>,
    /// Records skipped because their file has not changed.
    pub(super) unchanged: u64,
    /// What was not a document and no reject.
    pub(super) passed: SkippedContent,
    /// Columns without a form in JSON, which were left.
    pub(super) left_columns: BTreeSet<String>,
    /// Files that end with it, or were left.
    pub(super) files: FileTally,
    /// Records that do not come in.
    pub(super) filtered: u64,
    /// Compressed bytes of input consumed so far, those of skipped files included.
    pub(super) input_bytes: u64,
    /// Bytes of its records, undecoded.
    pub(super) bytes: u64,
    /// Why reading stopped behind this chunk.
    pub(super) error: Option<Error>,
    /// All inputs were read to their end with it.
    pub(super) is_last: bool,
    pub(super) seconds: f64,
}

/// What is to be ingested, in order, and the files of folders that are not.
#[derive(Default)]
pub struct IngestInputs<'m> {
    /// What is read.
    pub list: Vec<IngestInput<'m>>,
    /// What is left, with the reason.
    pub left: Vec<LeftFile>,
}

impl<'m> From<Vec<IngestInput<'m>>> for IngestInputs<'m> {
    fn from(list: Vec<IngestInput<'m>>) -> Self {
        Self { list, left: Vec::new() }
    }
}

/// What is to be ingested: a file, or records of a program.
pub enum IngestInput<'m> {
    /// A file, or standard input.
    File(InputFile),
    /// Records in memory.
    Memory(Records<'m>),
}

impl<'m> IngestInput<'m> {
    /// Reads it from its beginning.
    pub(super) fn reader(
        self,
        read: &ReadOptions,
        interrupt: &Interrupt,
    ) -> Result<InputReader<'m>, ReadError> {
        match self {
            Self::File(input) => InputReader::open_within(&input, read, interrupt),
            Self::Memory(records) => InputReader::of_records(records, read),
        }
    }

    /// Its path, as the store knows it.
    ///
    /// # Errors
    /// [`ReadError::NoName`] for records without a name.
    pub(super) fn path(&self) -> Result<Vec<u8>, ReadError> {
        let path = match self {
            Self::File(input) => Arc::clone(&input.path),
            Self::Memory(records) => records.input()?.path,
        };
        Ok(path.as_os_str().as_bytes().to_vec())
    }

    /// The file that it reads, where it reads one: not an object of a store, nor a program's records.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(input) if input.is_stdin => Some(Path::new("/dev/stdin")),
            Self::File(input) if input.object.is_none() => Some(input.path.as_path()),
            Self::File(_) | Self::Memory(_) => None,
        }
    }

    /// Bytes of a file; 0 when not known.
    pub(super) const fn size(&self) -> u64 {
        match self {
            Self::File(input) => input.size,
            Self::Memory(_) => 0,
        }
    }
}

/// An input and what the store says of it.
pub(super) struct InputState<'m> {
    input: InputFile,
    /// Its records, where it is not a file.
    records: Option<Records<'m>>,
    /// How far it was read, in the same way as now.
    record: Option<FileRecord>,
    /// Whether the input was read before, in whatever way.
    was_read: bool,
    /// A file that is not an input of this ingest superseded some of its documents since.
    is_overtaken: bool,
}

/// Looks inputs up in the store before any is read: a reader must not hold the moment before the ingest, or nothing
/// that the ingest writes could be fully compacted meanwhile.
pub(super) fn load_input_states<'m>(
    inlets: Vec<IngestInput<'m>>,
    numbers: &mut FileNumbers,
    view: &View,
    options: &IngestOptions,
) -> Result<Vec<InputState<'m>>, Error> {
    let source = view.source_named(&options.source).map(|(id, _)| id);
    let mut known = Vec::with_capacity(inlets.len());
    for (place, inlet) in inlets.into_iter().enumerate() {
        let (input, records) = match inlet {
            IngestInput::File(input) => (input, None),
            IngestInput::Memory(records) => (records.input()?, Some(records)),
        };
        let found = match source {
            Some(source) => view.file(source, input.path.as_os_str().as_bytes())?,
            None => None,
        };
        // Pipes, standard input and in-memory input have neither size nor time, so they cannot be skipped as unchanged.
        // Nor can what a server gives without a version.
        let is_untold = input.version == 0 && (input.size == 0 || input.object.is_some());
        let is_pipe = input.is_stdin || is_untold;
        let was_read = found.is_some();
        let record = found.filter(|record| !is_pipe && record.reading == options.reading_key());
        if let Some(record) = &record
            && input.is_unchanged(record.size, record.modified)
        {
            numbers.note_unchanged(place, input.path.as_os_str().as_bytes(), record.records);
        }
        let is_overtaken = numbers.is_overtaken(input.path.as_os_str().as_bytes(), view)?;
        known.push(InputState { input, records, record, was_read, is_overtaken });
    }
    Ok(known)
}

/// Reads `inputs` and hands chunks to `send`, which answers whether to continue.
pub(super) fn read_chunks(
    inputs: Vec<InputState<'_>>,
    options: &IngestOptions,
    reads: &ReadOptions,
    interrupt: &Interrupt,
    send: &mut dyn FnMut(IngestChunk) -> bool,
) {
    let mut producer = ChunkReader {
        options,
        reads,
        interrupt,
        send,
        chunk: IngestChunk::default(),
        first_fault: None,
        is_any_read: false,
        bytes: 0,
        records: 0,
        started: Instant::now(),
        finished_bytes: 0,
        stopped: false,
        place: 0,
        torn: None,
        not_text: None,
    };
    for (place, known) in inputs.into_iter().enumerate() {
        (producer.place, producer.torn, producer.not_text) = (place, None, None);
        if producer.stopped || interrupt.is_raised() {
            break;
        }
        let (size, path) = (known.input.size, Arc::clone(&known.input.path));
        if let Err(error) = producer.input(known)
            && let Err(error) = producer.leave(&path.to_string_lossy(), size, error)
        {
            // Who waits for a store hears the request to stop; that is not an error of the input.
            producer.chunk.error = (!error.is_interrupt()).then_some(error);
            producer.stopped = true;
        }
        producer.finished_bytes += size;
    }
    if !producer.is_any_read && !producer.stopped {
        producer.chunk.error = producer.first_fault.take();
    }
    producer.chunk.input_bytes = producer.finished_bytes;
    producer.chunk.is_last = !producer.stopped && !interrupt.is_raised();
    producer.flush();
}

/// The inputs that path arguments stand for.
pub fn expand_inputs(
    paths: &[String],
    options: &ReadOptions,
    interrupt: &Interrupt,
) -> Result<IngestInputs<'static>, Error> {
    let found = expand(paths, options, interrupt)?;
    let list = found.files.into_iter().map(IngestInput::File).collect();
    Ok(IngestInputs { list, left: found.left })
}

/// The files that path arguments stand for.
pub(super) fn expand_files(
    paths: &[String],
    options: &ReadOptions,
    interrupt: &Interrupt,
) -> Result<Vec<InputFile>, Error> {
    let found = expand_inputs(paths, options, interrupt)?;
    let files = found.list.into_iter().filter_map(|input| match input {
        IngestInput::File(file) => Some(file),
        IngestInput::Memory(_) => None,
    });
    Ok(files.collect())
}

struct ChunkReader<'a> {
    options: &'a IngestOptions,
    reads: &'a ReadOptions,
    interrupt: &'a Interrupt,
    send: &'a mut dyn FnMut(IngestChunk) -> bool,
    chunk: IngestChunk,
    /// Why the first file was left.
    first_fault: Option<Error>,
    /// An input was read to its end, or has not changed.
    is_any_read: bool,
    bytes: u64,
    records: usize,
    started: Instant,
    finished_bytes: u64,
    stopped: bool,
    /// The place of the input that is read.
    place: usize,
    torn: Option<TornRecord>,
    /// Why the input is neither records nor a text.
    not_text: Option<String>,
}

/// How much of an input the store has already.
enum StoredPrefix {
    /// Nothing, or what it has is of another file.
    Nothing,
    /// The reader stands behind the known records: this many good ones.
    Resumed(u64),
    /// This many first records are known; they come again because the caller wants them.
    Again(u64),
}

impl ChunkReader<'_> {
    fn input(&mut self, known: InputState<'_>) -> Result<(), Error> {
        let InputState { input, records, record, was_read, is_overtaken } = known;
        // A file that could not be read at all is tried, and reported, every time.
        let record =
            record.filter(|record| record.records == 0 || record.rejected < record.records);
        let same_file =
            record.as_ref().is_some_and(|record| input.is_unchanged(record.size, record.modified));
        let wants_all = self.options.decisions.is_some();
        if let Some(record) = &record
            && record.whole
            && same_file
            && !self.options.reread
            && !is_overtaken
            && !wants_all
        {
            self.chunk.unchanged += record.records - record.rejected.min(record.records);
            self.chunk.files.pass_unchanged();
            self.is_any_read = true;
            return Ok(());
        }
        let anew = is_overtaken || (self.options.reread && !wants_all);
        let mut reader = match records {
            Some(records) => InputReader::of_records(records, self.reads)?,
            None => InputReader::open_within(&input, self.reads, self.interrupt)?,
        };
        let known = match &record {
            None => StoredPrefix::Nothing,
            Some(record) => self.known(&mut reader, record, same_file, anew || wants_all)?,
        };
        match known {
            StoredPrefix::Nothing => {
                let kind = PartKind::First { replaces: was_read };
                self.records(&input, &mut reader, kind, u64::MAX)
            }
            StoredPrefix::Resumed(unchanged) => {
                self.chunk.unchanged += unchanged;
                self.records(&input, &mut reader, PartKind::Next, u64::MAX)
            }
            StoredPrefix::Again(stored) => {
                reader = InputReader::open(&input, self.reads)?;
                match anew {
                    true => {
                        let kind = PartKind::Reread { stored };
                        self.records(&input, &mut reader, kind, u64::MAX)
                    }
                    false => self.records(&input, &mut reader, PartKind::Known, stored),
                }
            }
        }
    }

    /// Leaves a file that is damaged, or has no records of the kind that is read; gives the error back where it is not
    /// a file's, or ends the ingest.
    fn leave(&mut self, path: &str, bytes: u64, error: Error) -> Result<(), Error> {
        let is_left = self.options.on_damaged_file == OnDamagedFile::Skip;
        let blamed = error.origin::<ReadError>().filter(|_| is_left);
        let Some((role, why)) =
            blamed.and_then(|blamed| Some((blamed.blames_file()?, blamed.words_of(path))))
        else {
            return Err(error);
        };
        self.chunk.files.leave(LeftFile { path: path.to_owned(), role, why, bytes });
        self.first_fault.get_or_insert(error);
        Ok(())
    }

    /// Finds out how much of the input the store has. A line file proves it by the hash of its
    /// prefix; another by size and time. `again`: what is known is to be read as well.
    fn known(
        &mut self,
        reader: &mut InputReader<'_>,
        record: &FileRecord,
        same_file: bool,
        again: bool,
    ) -> Result<StoredPrefix, Error> {
        let point =
            ResumePoint { offset: record.offset, records: record.records, prefix: record.prefix };
        let good = record.records - record.rejected.min(record.records);
        if reader.resume(&point)? {
            return Ok(if again {
                StoredPrefix::Again(record.records)
            } else {
                StoredPrefix::Resumed(good)
            });
        }
        if let Some(raw) = reader.resume_torn(&point)? {
            let number = record.records - 1;
            self.torn = Some(TornRecord { number, raw: Some(raw), stored: Vec::new() });
            return Ok(match again {
                true => StoredPrefix::Again(number),
                false => StoredPrefix::Resumed(good),
            });
        }
        // Only Parquet has no hash to prove that it is the same; a hash that differs proves the opposite.
        let is_hashed = record.prefix != [0; 32];
        if !same_file || is_hashed {
            return Ok(StoredPrefix::Nothing);
        }
        if again {
            return Ok(StoredPrefix::Again(record.records));
        }
        reader.skip_rows(record.records)?;
        Ok(StoredPrefix::Resumed(good))
    }

    /// Reads the records of an input to its end; `until` as many, they are of that kind.
    fn records(
        &mut self,
        input: &InputFile,
        reader: &mut InputReader<'_>,
        mut kind: PartKind,
        until: u64,
    ) -> Result<(), Error> {
        let mut records = Vec::new();
        let mut read = 0;
        loop {
            // A known stretch and what follows are parts of their own.
            if kind == PartKind::Known && read == until {
                self.end_part(input, reader, &mut records, (kind, false));
                kind = PartKind::Next;
            }
            let raw = match reader.next_raw().map(|raw| raw.map(RawRecord::into_owned)) {
                Ok(Some(raw)) => raw,
                Ok(None) => {
                    self.end_part(input, reader, &mut records, (kind, true));
                    self.end_input(input, reader);
                    return Ok(());
                }
                Err(error) => {
                    self.end_part(input, reader, &mut records, (kind, false));
                    self.note_oddities(input, reader);
                    return Err(error.into());
                }
            };
            if let Some(why) = raw.not_text() {
                self.not_text = Some(why.to_owned());
            }
            read += 1;
            self.bytes += raw.bytes() as u64;
            self.records += 1;
            records.push(raw);
            if self.bytes < self.options.batch_bytes && self.records < CHUNK_RECORDS {
                continue;
            }
            self.end_part(input, reader, &mut records, (kind, false));
            self.chunk.input_bytes = self.finished_bytes + reader.input_bytes();
            self.stopped = !self.flush() || self.interrupt.is_raised();
            if self.stopped {
                return Ok(());
            }
            if let PartKind::First { .. } = kind {
                kind = PartKind::Next;
            }
        }
    }

    /// An input was read to its end.
    fn end_input(&mut self, input: &InputFile, reader: &mut InputReader<'_>) {
        self.is_any_read = true;
        self.note_oddities(input, reader);
        let left = |role, why| {
            let path = input.path.to_string_lossy().into_owned();
            LeftFile { path, role, why, bytes: input.size }
        };
        if let Some(why) = self.not_text.take() {
            self.chunk.files.leave_rejected(left(LeftRole::Foreign, why));
        } else if reader.is_empty() {
            self.chunk.files.leave(left(LeftRole::Empty, "it has no bytes".to_owned()));
        } else if !reader.is_memory() {
            self.chunk.files.read();
        }
        if reader.is_page() {
            self.chunk.files.note_page(&input.path.to_string_lossy());
        }
        if let Some(trailing) = reader.trailing() {
            self.chunk.files.note_trailing(&input.path.to_string_lossy(), trailing);
        }
    }

    fn note_oddities(&mut self, input: &InputFile, reader: &mut InputReader<'_>) {
        self.chunk.files.note_oddities(&input.path.to_string_lossy(), reader.take_oddities());
    }

    fn end_part(
        &mut self,
        input: &InputFile,
        reader: &mut InputReader<'_>,
        records: &mut Vec<RawRecord<'static>>,
        (kind, is_last): (PartKind, bool),
    ) {
        self.chunk.passed += reader.take_skipped();
        if records.is_empty() && !is_last {
            return;
        }
        if is_last {
            self.chunk.left_columns.extend(reader.left_columns().iter().cloned());
        }
        let end = reader.point();
        let torn = self.torn.take_if(|torn| torn.number < end.records);
        self.chunk.parts.push(InputPart {
            input: input.clone(),
            place: self.place,
            records: std::mem::take(records),
            end,
            torn,
            is_single: reader.is_single(),
            is_last,
            kind,
        });
    }

    fn flush(&mut self) -> bool {
        let mut chunk = std::mem::take(&mut self.chunk);
        chunk.seconds = self.started.elapsed().as_secs_f64();
        chunk.bytes = std::mem::take(&mut self.bytes);
        self.records = 0;
        let go_on = (self.send)(chunk);
        self.started = Instant::now();
        go_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use files::input::{HASHED_AGAIN, expand_local};

    /// The place before every record was hashed in case the record was bad: up to 256 KiB for each.
    #[test]
    fn a_prefix_is_hashed_at_the_ends_of_chunks_alone() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("a.jsonl");
        let mut hashed = Vec::new();
        for records in [5_000, 10_000] {
            let lines: String =
                (0..records).map(|n| format!("{{\"text\":\"record {n}\"}}\n")).collect();
            std::fs::write(&path, lines).expect("writes");
            let input = expand_local(&[path.display().to_string()]).expect("expands").remove(0);
            let options = IngestOptions::new("main");
            let before = HASHED_AGAIN.get();
            let mut read = 0;
            let inputs = vec![InputState {
                input,
                records: None,
                record: None,
                is_overtaken: false,
                was_read: false,
            }];
            let mut take = |chunk: IngestChunk| {
                read += chunk.parts.iter().map(|part| part.records.len()).sum::<usize>();
                true
            };
            read_chunks(inputs, &options, &options.reads(), &Interrupt::default(), &mut take);
            assert_eq!(read, records);
            hashed.push(HASHED_AGAIN.get() - before);
        }
        assert!(hashed.iter().all(|bytes| *bytes <= 3 * (256 << 10)), "{hashed:?}");
    }
}
