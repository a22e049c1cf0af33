//! Reads inputs in order and cuts their records into chunks; skips what is known to be unchanged.

use super::converter::RecordConverter;
use super::error::IngestError;
use super::file_state::file_sources;
use super::options::{IngestOptions, OnError};
use crate::input::{
    InputFile, InputReader, ReadError, ReadItem, ReadOptions, Records, ResumePoint, SkippedContent,
    expand,
};
use crate::model::{FileId, Interrupt, SourceId};
use crate::remote::{ObjectStores, RemoteError};
use crate::store::{FileRecord, View};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

/// Records per chunk, for sources of very short documents: several chunks keep all stages busy.
const CHUNK_RECORDS: usize = 1 << 13;

/// Part of one input, in order.
pub(super) struct InputPart {
    pub(super) input: InputFile,
    pub(super) items: Vec<ReadItem>,
    /// The input up to the end of the piece.
    pub(super) end: ResumePoint,
    /// The input is one document.
    pub(super) single: bool,
    /// The piece reaches the end of the input.
    pub(super) whole: bool,
    /// The records of the piece follow ones that the store has already, of this input.
    pub(super) continues: bool,
    /// An earlier ingest consumed these records: they are looked up, not decided.
    pub(super) known: bool,
    /// The input was read before, and is now read from its start.
    pub(super) anew: bool,
    /// Of an input that is read anew, so many records are surely those it had before.
    pub(super) same: u64,
    /// Only what comes in is among its items; else it is still to be told.
    pub(super) sifted: bool,
}

impl InputPart {
    /// The input's path, as the store knows it.
    pub(super) fn path(&self) -> &[u8] {
        self.input.path.as_os_str().as_bytes()
    }

    /// Records that the store has seen before, in front of others of them: until the last of them, what
    /// is stored of the file stays, so that an interrupted ingest begins with the first again.
    pub(super) const fn repeats_stored(&self) -> bool {
        self.end.records < self.same && !self.whole
    }

    /// The file is read anew, and all it said before is said again with this piece, or it says something
    /// else from its first record on.
    pub(super) const fn reread_is_complete(&self) -> bool {
        let is_first = !self.continues && self.same == 0;
        self.anew && !self.known && (is_first || self.same > 0 && !self.repeats_stored())
    }
}

/// What is committed at once.
#[derive(Default)]
pub(super) struct IngestChunk {
    pub(super) pieces: Vec<InputPart>,
    /// Records passed over because their file has not changed.
    pub(super) unchanged: u64,
    /// What was no document and no reject.
    pub(super) passed: SkippedContent,
    /// Records that do not come in.
    pub(super) filtered: u64,
    /// Compressed bytes of input consumed so far, those of skipped files included.
    pub(super) input_bytes: u64,
    /// Bytes of its records: texts, metadata and what was rejected.
    pub(super) bytes: u64,
    /// Why reading stopped behind this chunk.
    pub(super) error: Option<IngestError>,
    pub(super) seconds: f64,
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
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub(super) fn reader(self, read: &ReadOptions) -> Result<InputReader<'m>, ReadError> {
        match self {
            Self::File(input) => InputReader::open(&input, read),
            Self::Memory(records) => InputReader::of_records(records, read),
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
    /// Its records, where it is no file.
    records: Option<Records<'m>>,
    /// How far it was read, in the same way as now.
    record: Option<FileRecord>,
    /// It was read before, in whatever way.
    was_read: bool,
    /// A file that is no input of this ingest superseded some of its documents since.
    is_overtaken: bool,
}

/// Looks inputs up in the store, before any of them is read: whoever reads must not hold the moment before
/// the ingest, or nothing that it writes could be compacted to the end meanwhile.
pub(super) fn load_input_states<'m>(
    inlets: Vec<IngestInput<'m>>,
    view: &View,
    options: &IngestOptions,
) -> Result<Vec<InputState<'m>>, IngestError> {
    let source = view.source_named(&options.source).map(|(id, _)| id);
    let mut known = Vec::with_capacity(inlets.len());
    for inlet in inlets {
        let (input, records) = match inlet {
            IngestInput::File(input) => (input, None),
            IngestInput::Memory(records) => (records.input()?, Some(records)),
        };
        let found = match source {
            Some(source) => view.file(source, input.path.as_os_str().as_bytes())?,
            None => None,
        };
        // A pipe says neither size nor time: what it gives is new every time, as standard input is, and memory.
        // So does a server that tells no version: what it gives may be anything.
        let is_untold = input.modified_ns == 0 && (input.size == 0 || input.object.is_some());
        let is_pipe = input.is_stdin || is_untold;
        let was_read = found.is_some();
        let record = found.filter(|record| !is_pipe && record.reading == options.reading_key());
        known.push(InputState { input, records, record, was_read, is_overtaken: false });
    }
    for source in file_sources(view, options) {
        let files = files_in_source(&known, source, view)?;
        // Inputs of one ingest keep the order that they came in: else the same command, given twice,
        // would turn it around and around.
        for overtaken in view.overtaken(source)? {
            let (file, by) = overtaken?;
            if !files.contains_key(&by)
                && let Some(input) = files.get(&file).and_then(|at| known.get_mut(*at))
            {
                input.is_overtaken = true;
            }
        }
    }
    Ok(known)
}

/// The numbers that inputs have as files of a source, each with its place among them.
fn files_in_source(
    known: &[InputState<'_>],
    source: SourceId,
    view: &View,
) -> Result<BTreeMap<FileId, usize>, IngestError> {
    let mut files = BTreeMap::new();
    for (at, known) in known.iter().enumerate() {
        let record = view.file(source, known.input.path.as_os_str().as_bytes())?;
        files.extend(record.map(|record| (FileId(record.file), at)));
    }
    Ok(files)
}

/// Reads `inputs` and hands chunks to `send`, which answers whether to go on.
pub(super) fn read_chunks(
    inputs: Vec<InputState<'_>>,
    options: &IngestOptions,
    former: &RecordConverter,
    interrupt: &Interrupt,
    send: &mut dyn FnMut(IngestChunk) -> bool,
) {
    let mut producer = ChunkReader {
        options,
        reads: if former.takes_decisions() { options.reads_all() } else { options.reads() },
        former,
        interrupt,
        send,
        chunk: IngestChunk::default(),
        bytes: 0,
        records: 0,
        started: Instant::now(),
        finished_bytes: 0,
        stopped: false,
        anew: false,
        same: 0,
        out: 0,
    };
    for known in inputs {
        if producer.stopped || interrupt.is_raised() {
            break;
        }
        let size = known.input.size;
        if let Err(error) = producer.input(known) {
            // Who waits for a store hears the request to stop; that is no error of the input.
            producer.chunk.error = (!is_interrupt(&error)).then_some(error);
            producer.stopped = true;
        }
        producer.finished_bytes += size;
    }
    producer.chunk.input_bytes = producer.finished_bytes;
    producer.flush();
}

/// The inputs that path arguments stand for; `stopped` is the error when a stop is asked for meanwhile.
pub fn expand_inputs(
    paths: &[String],
    stores: &ObjectStores,
    interrupt: &Interrupt,
    stopped: impl FnOnce() -> IngestError,
) -> Result<Vec<IngestInput<'static>>, IngestError> {
    let inputs = expand_files(paths, stores, interrupt, stopped)?;
    Ok(inputs.into_iter().map(IngestInput::File).collect())
}

/// The files that path arguments stand for; `stopped` as for [`inlets`].
pub(super) fn expand_files(
    paths: &[String],
    stores: &ObjectStores,
    interrupt: &Interrupt,
    stopped: impl FnOnce() -> IngestError,
) -> Result<Vec<InputFile>, IngestError> {
    expand(paths, stores, interrupt)
        .map_err(IngestError::from)
        .map_err(|error| if is_interrupt(&error) { stopped() } else { error })
}

/// Whether reading ended because a stop was asked for.
pub(super) const fn is_interrupt(error: &IngestError) -> bool {
    matches!(error, IngestError::Read(ReadError::Remote(RemoteError::Interrupted)))
}

struct ChunkReader<'a> {
    options: &'a IngestOptions,
    reads: ReadOptions,
    former: &'a RecordConverter,
    interrupt: &'a Interrupt,
    send: &'a mut dyn FnMut(IngestChunk) -> bool,
    chunk: IngestChunk,
    bytes: u64,
    records: usize,
    started: Instant,
    finished_bytes: u64,
    stopped: bool,
    /// Of the input that is read now, see [`InputPart`].
    anew: bool,
    same: u64,
    /// Its records since the last piece that do not come in.
    out: u64,
}

/// How much of an input the store has already.
enum StoredPrefix {
    /// Nothing, or what it has is of another file.
    Nothing,
    /// The reader stands behind what is known.
    Resumed(u64),
    /// The first so many records are known; they come again because the caller wants them.
    Again(u64),
}

impl ChunkReader<'_> {
    fn input(&mut self, known: InputState<'_>) -> Result<(), IngestError> {
        let InputState { input, records, record, was_read, is_overtaken } = known;
        // One of which nothing could be read is tried, and told of, every time.
        let record =
            record.filter(|record| record.records == 0 || record.rejected < record.records);
        let same_file = record.as_ref().is_some_and(|record| {
            record.size == input.size && record.modified == input.modified_ns
        });
        let wants_all = self.options.decisions.is_some();
        if let Some(record) = &record
            && record.whole
            && same_file
            && !self.options.reread
            && !is_overtaken
            && !wants_all
        {
            self.chunk.unchanged += record.records - record.rejected.min(record.records);
            return Ok(());
        }
        let anew = is_overtaken || (self.options.reread && !wants_all);
        let mut reader = match records {
            Some(records) => InputReader::of_records(records, &self.reads)?,
            None => InputReader::open(&input, &self.reads)?,
        };
        let known = match &record {
            None => StoredPrefix::Nothing,
            Some(record) => self.known(&mut reader, record, same_file, anew || wants_all)?,
        };
        (self.anew, self.same) = (false, 0);
        match known {
            StoredPrefix::Nothing => {
                self.anew = was_read;
                self.records(&input, &mut reader, 0, false)
            }
            StoredPrefix::Resumed(unchanged) => {
                self.chunk.unchanged += unchanged;
                self.records(&input, &mut reader, 0, true)
            }
            StoredPrefix::Again(records) => {
                reader = InputReader::open(&input, &self.reads)?;
                if anew {
                    (self.anew, self.same) = (true, records);
                    return self.records(&input, &mut reader, 0, false);
                }
                self.records(&input, &mut reader, records, false)
            }
        }
    }

    /// Finds out how much of the input the store has. A line file proves it by the hash of its
    /// prefix; another by size and time. `again`: what is known is to be read as well.
    fn known(
        &self,
        reader: &mut InputReader<'_>,
        record: &FileRecord,
        same_file: bool,
        again: bool,
    ) -> Result<StoredPrefix, IngestError> {
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
        // Only Parquet has no hash to prove that it is the same; a hash that differs proves the opposite.
        let is_hashed = record.prefix != [0; 32];
        if !same_file || is_hashed {
            return Ok(StoredPrefix::Nothing);
        }
        if again {
            return Ok(StoredPrefix::Again(record.records));
        }
        for _ in 0..record.records {
            if reader.next()?.is_none() {
                break;
            }
        }
        Ok(StoredPrefix::Resumed(good))
    }

    fn records(
        &mut self,
        input: &InputFile,
        reader: &mut InputReader<'_>,
        again: u64,
        mut continues: bool,
    ) -> Result<(), IngestError> {
        let mut items = Vec::new();
        let mut known_left = again;
        loop {
            // A known stretch and what follows are pieces of their own.
            if again > 0 && known_left == 0 && !continues {
                self.end_part(
                    input,
                    reader,
                    &mut items,
                    PartKind { single: false, whole: false, continues: false, known: true },
                );
                continues = true;
            }
            let kind = PartKind { single: false, whole: false, continues, known: known_left > 0 };
            let item = match reader.next() {
                Ok(Some(item)) => item,
                Ok(None) => {
                    self.end_part(input, reader, &mut items, PartKind { whole: true, ..kind });
                    return Ok(());
                }
                Err(error) => {
                    self.end_part(input, reader, &mut items, kind);
                    return Err(error.into());
                }
            };
            // Where reading stops at a bad record, all that makes one bad must be known here.
            let Some(item) = self.sifted(item) else {
                known_left = known_left.saturating_sub(1);
                self.out += 1;
                let Some(cut) = self.end_chunk_if_full(input, reader, &mut items, kind) else {
                    return Ok(());
                };
                continues |= cut && known_left == 0;
                continue;
            };
            let item = match item {
                ReadItem::Record(record) if self.options.on_error == OnError::Fail => {
                    self.former.refuses(&record).map_or(ReadItem::Record(record), ReadItem::Reject)
                }
                item => item,
            };
            if self.former.is_interrupted() {
                self.stopped = true;
                return Ok(());
            }
            known_left = known_left.saturating_sub(1);
            match &item {
                ReadItem::Record(record) => {
                    self.bytes += (record.text.len() + record.metadata.len()) as u64
                }
                ReadItem::Reject(reject)
                    if self.options.on_error == OnError::Fail && !kind.known =>
                {
                    let error = IngestError::Rejected {
                        path: reject.origin.path.as_ref().clone(),
                        number: reject.origin.number,
                        offset: reject.origin.offset,
                        reason: reject.reason.to_string(),
                    };
                    // The next run goes on at the bad record, not behind it.
                    if !items.is_empty() || self.out > 0 {
                        self.add_part(input, reader.point_before(), &mut items, kind);
                    }
                    return Err(error);
                }
                ReadItem::Reject(reject) => self.bytes += reject.raw.len() as u64,
            }
            items.push(item);
            let Some(cut) = self.end_chunk_if_full(input, reader, &mut items, kind) else {
                return Ok(());
            };
            continues |= cut && known_left == 0;
        }
    }

    /// Hands a full chunk on, `items` as its last piece; says whether it did, or nothing when reading is to stop.
    fn end_chunk_if_full(
        &mut self,
        input: &InputFile,
        reader: &mut InputReader<'_>,
        items: &mut Vec<ReadItem>,
        kind: PartKind,
    ) -> Option<bool> {
        self.records += 1;
        if self.bytes < self.options.batch_bytes && self.records < CHUNK_RECORDS {
            return Some(false);
        }
        self.end_part(input, reader, items, kind);
        self.chunk.input_bytes = self.finished_bytes + reader.input_bytes();
        self.stopped = !self.flush() || self.interrupt.is_raised();
        (!self.stopped).then_some(true)
    }

    /// The item, unless it is a record that does not come in. Where reading goes on behind bad records, that is told
    /// later, of many at once.
    fn sifted(&self, item: ReadItem) -> Option<ReadItem> {
        match self.former.sieve().filter(|_| self.options.on_error == OnError::Fail) {
            Some(sieve) => sieve.one(item),
            None => Some(item),
        }
    }

    fn end_part(
        &mut self,
        input: &InputFile,
        reader: &mut InputReader<'_>,
        items: &mut Vec<ReadItem>,
        kind: PartKind,
    ) {
        self.chunk.passed += reader.take_skipped();
        if items.is_empty() && !kind.whole && self.out == 0 {
            return;
        }
        self.add_part(
            input,
            reader.point(),
            items,
            PartKind { single: reader.is_single(), ..kind },
        );
    }

    fn add_part(
        &mut self,
        input: &InputFile,
        end: ResumePoint,
        items: &mut Vec<ReadItem>,
        kind: PartKind,
    ) {
        self.chunk.filtered += std::mem::take(&mut self.out);
        self.chunk.pieces.push(InputPart {
            input: input.clone(),
            items: std::mem::take(items),
            end,
            single: kind.single,
            whole: kind.whole,
            continues: kind.continues,
            known: kind.known,
            anew: self.anew,
            same: self.same,
            sifted: self.options.on_error == OnError::Fail,
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

#[derive(Clone, Copy)]
struct PartKind {
    single: bool,
    whole: bool,
    continues: bool,
    known: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{HASHED_AGAIN, expand_local};

    /// The place before every record was hashed in case the record was bad: up to 256 KiB for each.
    #[test]
    fn stopping_at_bad_records_hashes_nothing_until_there_is_one() {
        let directory = tempfile::tempdir().expect("temporary directory");
        let path = directory.path().join("a.jsonl");
        let mut hashed = Vec::new();
        for records in [5_000, 10_000] {
            let lines: String =
                (0..records).map(|n| format!("{{\"text\":\"record {n}\"}}\n")).collect();
            std::fs::write(&path, lines + "bad\n").expect("writes");
            let input = expand_local(&[path.display().to_string()]).expect("expands").remove(0);
            let options = IngestOptions { on_error: OnError::Fail, ..IngestOptions::new("main") };
            let former =
                RecordConverter::new(&options, &[], &Interrupt::default()).expect("is made");
            let before = HASHED_AGAIN.get();
            let (mut read, mut failed) = (0, false);
            let inputs = vec![InputState {
                input,
                records: None,
                record: None,
                is_overtaken: false,
                was_read: false,
            }];
            read_chunks(inputs, &options, &former, &Interrupt::default(), &mut |chunk| {
                read += chunk.pieces.iter().map(|piece| piece.items.len()).sum::<usize>();
                failed |= matches!(chunk.error, Some(IngestError::Rejected { .. }));
                true
            });
            assert_eq!((read, failed), (records, true));
            hashed.push(HASHED_AGAIN.get() - before);
        }
        // At the end of a chunk, and at the bad record.
        assert!(hashed.iter().all(|bytes| *bytes <= 3 * (256 << 10)), "{hashed:?}");
    }
}
