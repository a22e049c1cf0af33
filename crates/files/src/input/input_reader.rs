//! Reads one open input: its records in order, and the point from which a later reading continues.

use super::arrow_rows::BatchRows;
use super::block::{FormatReader, RawRecord, RecordPlace};
use super::builder::RecordBuilder;
use super::columnar_reader::ColumnarReader;
use super::columnar_reader::RandomAccessFile;
use super::csv_rows::CsvOddities;
use super::detect::{DetectedFormat, PARQUET_MAGIC, detect_format, is_parquet};
use super::error::ReadError;
use super::inputs::InputFile;
use super::ipc::ArrowReader;
use super::item::{
    InputFormat, ReadItem, ReadOptions, ResumePoint, SkippedContent, read_ahead_bytes,
};
use super::pipe::PipeReader;
use super::records::{Records, RecordsReader};
use super::stream::ByteStream;
use crate::remote::{RemoteCursor, RemoteObject, RemoteReader};
use model::{Interrupt, RecordOrigin};
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// One open input.
pub struct InputReader<'m> {
    input: InputFile,
    options: ReadOptions,
    records: u64,
    builder: RecordBuilder,
    body: ReaderBody<'m>,
}

enum ReaderBody<'m> {
    Stream(Box<ByteStream>, Box<dyn FormatReader>),
    Arrow(Box<BatchRows<ArrowReader>>),
    Parquet(Box<ColumnarReader>),
    Memory(Box<RecordsReader<'m>>),
}

impl<'m> InputReader<'m> {
    /// Opens `input` and recognises its format.
    ///
    /// # Errors
    /// [`ReadError::Io`], [`ReadError::Corrupt`] when not even the beginning can be read, or what is
    /// wrong with a Parquet file's footer and columns.
    pub fn open(input: &InputFile, options: &ReadOptions) -> Result<Self, ReadError> {
        Self::open_within(input, options, &Interrupt::default())
    }

    /// Opens an input that is read once: nothing tells later whether it begins with the same bytes.
    ///
    /// # Errors
    /// As [`InputReader::open`].
    pub fn open_once(input: &InputFile, options: &ReadOptions) -> Result<Self, ReadError> {
        let mut reader = Self::open(input, options)?;
        if let ReaderBody::Stream(stream, _) = &mut reader.body {
            stream.leave_hash();
        }
        Ok(reader)
    }

    /// Opens an input that may be a pipe: a wait for its bytes ends with a request to stop.
    ///
    /// # Errors
    /// As [`InputReader::open`], and [`RemoteError::Interrupted`](crate::remote::RemoteError::Interrupted).
    pub fn open_within(
        input: &InputFile,
        options: &ReadOptions,
        interrupt: &Interrupt,
    ) -> Result<Self, ReadError> {
        let body = open_body(input, options, interrupt)?;
        let (input, builder) = (input.clone(), RecordBuilder::new(options));
        Ok(Self { input, options: options.clone(), records: 0, builder, body })
    }

    /// Opens records that a program hands over. They cannot be resumed: the program begins where there is something
    /// new.
    ///
    /// # Errors
    /// [`ReadError::NoName`] when it has none, or what is wrong with the columns of record batches.
    pub fn of_records(records: Records<'m>, options: &ReadOptions) -> Result<Self, ReadError> {
        let input = records.input()?;
        let body =
            ReaderBody::Memory(Box::new(RecordsReader::open(records, &input.path, options)?));
        let builder = RecordBuilder::new(options);
        Ok(Self { input, options: options.clone(), records: 0, builder, body })
    }

    /// Goes on behind `point` if the input still begins with the bytes that were read up to it;
    /// says whether it does. If not the reader stands at the start. Only what is read from a stream of bytes on disk
    /// can be resumed; of anything else the answer is `false`.
    ///
    /// # Errors
    /// As [`InputReader::next`], when the part before the point cannot be read again.
    pub fn resume(&mut self, point: &ResumePoint) -> Result<bool, ReadError> {
        let is_memory = matches!(self.body, ReaderBody::Memory(_));
        if is_memory || !self.input.is_file() {
            return Ok(false);
        }
        if point.offset == 0 && point.records == 0 && self.records == 0 {
            return Ok(true);
        }
        self.restart()?;
        let mut place = self.place();
        let ReaderBody::Stream(stream, sequence) = &mut self.body else {
            return Ok(false);
        };
        if sequence.is_single() {
            return Ok(false);
        }
        while stream.offset() < point.offset {
            if !sequence.skip(stream, place.clone())? {
                break;
            }
            place.number += 1;
        }
        // Content before the point was reported when it was read.
        sequence.take_passed();
        sequence.take_oddities();
        if stream.offset() == point.offset && stream.prefix() == point.prefix {
            self.records = point.records;
            return Ok(true);
        }
        self.restart()?;
        Ok(false)
    }

    /// Goes on before the last of the records that were read up to `point`, where the input begins with the bytes that
    /// were read, but that record had no end then and has gone on since. Answers what it was; none, and the reader stands
    /// at the start, where that is not so.
    ///
    /// # Errors
    /// As [`InputReader::next_raw`].
    pub fn resume_torn(
        &mut self,
        point: &ResumePoint,
    ) -> Result<Option<RawRecord<'static>>, ReadError> {
        let last = point.records.checked_sub(1);
        let is_file = self.input.object.is_none() && self.input.is_file();
        let Some(last) = last.filter(|_| is_file) else { return Ok(None) };
        let ReaderBody::Stream(..) = &self.body else { return Ok(None) };
        let path = &self.input.path;
        // The file as it was.
        let file = File::open(path.as_ref()).map_err(ReadError::io(path, "open it"))?;
        let before = open_stream(&self.input, Box::new(file), &self.options, point.offset);
        let Ok(ReaderBody::Stream(mut stream, mut sequence)) = before else { return Ok(None) };
        let place = RecordPlace { path: Arc::clone(path), number: 0 };
        let skipped = skip_records(&mut stream, sequence.as_mut(), place.clone(), last);
        let Ok(number) = skipped else { return Ok(None) };
        let torn = sequence.next(&mut stream, RecordPlace { number, ..place });
        let Ok(torn) = torn.map(|torn| torn.map(RawRecord::into_owned)) else { return Ok(None) };
        let is_same = stream.offset() == point.offset && stream.prefix() == point.prefix;
        if sequence.is_single() || !is_same {
            return Ok(None);
        }
        self.restart()?;
        let place = self.place();
        let ReaderBody::Stream(stream, sequence) = &mut self.body else { return Ok(None) };
        skip_records(stream, sequence.as_mut(), place, last)?;
        sequence.take_passed();
        sequence.take_oddities();
        self.records = last;
        Ok(torn)
    }

    /// The next record or reject, `None` at the end.
    ///
    /// # Errors
    /// As [`InputReader::next_raw`].
    #[expect(clippy::should_implement_trait, reason = "an error ends nothing, and `?` is wanted")]
    pub fn next(&mut self) -> Result<Option<ReadItem>, ReadError> {
        let raw = self.next_raw()?.map(RawRecord::into_owned);
        Ok(raw.map(|raw| self.builder.build(raw)))
    }

    /// Skips the first rows of a table of Parquet or Arrow before it is read, and makes no records of them.
    ///
    /// # Errors
    /// As [`InputReader::next_raw`].
    pub fn skip_rows(&mut self, rows: u64) -> Result<(), ReadError> {
        let place = self.place();
        let skipped = match &mut self.body {
            ReaderBody::Parquet(parquet) => parquet.skip_rows(rows),
            ReaderBody::Arrow(batches) => batches.skip_rows(&self.options, &place.at(0), rows)?,
            ReaderBody::Stream(..) | ReaderBody::Memory(_) => 0,
        };
        self.records = skipped;
        Ok(())
    }

    /// The next undecoded record, from which a [`RecordBuilder`] of the same options makes a record or a reject;
    /// `None` at the end.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] on a truncated or damaged file, [`ReadError::NoTextField`] when the
    /// text field cannot be guessed, [`ReadError::Io`]. What stood before was given.
    pub fn next_raw(&mut self) -> Result<Option<RawRecord<'_>>, ReadError> {
        let place = self.place();
        let raw = match &mut self.body {
            ReaderBody::Stream(stream, sequence) => sequence.next(stream, place)?,
            ReaderBody::Arrow(batches) => {
                let row = place.number;
                batches.next(&self.options, place.at(row))?.map(RawRecord::from)
            }
            ReaderBody::Parquet(parquet) => {
                parquet.next(|offset| place.at(offset))?.map(RawRecord::from)
            }
            ReaderBody::Memory(memory) => {
                let number = place.number;
                memory.next(&self.options, place.at(number))?
            }
        };
        self.records += u64::from(raw.is_some());
        Ok(raw)
    }

    /// The point after the last item given.
    #[must_use]
    pub fn point(&self) -> ResumePoint {
        let records = self.records;
        match &self.body {
            ReaderBody::Stream(stream, sequence) => {
                let end = sequence.end(stream);
                let (offset, prefix) = end.unwrap_or_else(|| (stream.offset(), stream.prefix()));
                ResumePoint { offset, records, prefix }
            }
            ReaderBody::Arrow(_) | ReaderBody::Parquet(_) | ReaderBody::Memory(_) => {
                ResumePoint { offset: records, records, prefix: [0; 32] }
            }
        }
    }

    /// The point before a record of an input, which is read once more up to there.
    ///
    /// # Errors
    /// As [`InputReader::next_raw`].
    pub fn point_at(
        input: &InputFile,
        options: &ReadOptions,
        record: &RecordOrigin,
    ) -> Result<ResumePoint, ReadError> {
        let RecordOrigin { number, .. } = *record;
        let by_number = ResumePoint { offset: number, records: number, prefix: [0; 32] };
        if input.object.is_some() || !input.is_file() || !input.path.is_file() {
            // Read from the start the next time, whatever stands here.
            return Ok(ResumePoint { prefix: [u8::MAX; 32], ..by_number });
        }
        let mut reader = InputReader::open(input, options)?;
        let place = reader.place();
        let ReaderBody::Stream(stream, sequence) = &mut reader.body else { return Ok(by_number) };
        reader.records = skip_records(stream, sequence.as_mut(), place, number)?;
        Ok(reader.point())
    }

    /// Columns that are left, since their values have no form in JSON.
    #[must_use]
    pub fn left_columns(&self) -> &[String] {
        match &self.body {
            ReaderBody::Parquet(parquet) => parquet.left(),
            ReaderBody::Arrow(batches) => batches.left(),
            ReaderBody::Memory(memory) => memory.left(),
            ReaderBody::Stream(..) => &[],
        }
    }

    /// Names of the columns of a table of separated values, once a record was asked for; of other inputs none.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        match &self.body {
            ReaderBody::Stream(_, sequence) => sequence.columns(),
            ReaderBody::Arrow(_) | ReaderBody::Parquet(_) | ReaderBody::Memory(_) => &[],
        }
    }

    /// Bytes of the file as stored that were consumed; an estimate for Parquet.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        match &self.body {
            ReaderBody::Stream(stream, _) => stream.input_bytes(),
            ReaderBody::Arrow(batches) => batches.supply().input_bytes(),
            ReaderBody::Parquet(parquet) => parquet.input_bytes(),
            ReaderBody::Memory(memory) => memory.given_bytes(),
        }
    }

    /// What the file is compressed with, and the bytes behind its last frame that belong to none.
    #[must_use]
    pub fn trailing(&self) -> Option<(&'static str, u64)> {
        match &self.body {
            ReaderBody::Stream(stream, _) => stream.trailing(),
            ReaderBody::Arrow(_) | ReaderBody::Parquet(_) | ReaderBody::Memory(_) => None,
        }
    }

    /// Whether the document that the input is begins as an HTML page.
    #[must_use]
    pub fn is_page(&self) -> bool {
        matches!(&self.body, ReaderBody::Stream(_, sequence) if sequence.is_page())
    }

    /// Whether its columns were looked at when it was opened.
    pub(super) const fn is_parquet(&self) -> bool {
        matches!(self.body, ReaderBody::Parquet(_))
    }

    /// Whether the input has no bytes, once its end is reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.body, ReaderBody::Stream(stream, _) if stream.offset() == 0)
    }

    /// Whether the records come from a program, not from a file.
    #[must_use]
    pub const fn is_memory(&self) -> bool {
        matches!(self.body, ReaderBody::Memory(_))
    }

    /// Whether the input is one document, not a list of records.
    #[must_use]
    pub fn is_single(&self) -> bool {
        matches!(&self.body, ReaderBody::Stream(_, sequence) if sequence.is_single())
    }

    /// Content that was neither a document nor a reject since the last call.
    pub fn take_skipped(&mut self) -> SkippedContent {
        match &mut self.body {
            ReaderBody::Stream(_, sequence) => sequence.take_passed(),
            ReaderBody::Arrow(_) | ReaderBody::Parquet(_) | ReaderBody::Memory(_) => {
                SkippedContent::default()
            }
        }
    }

    /// Rows and quotes of a table that may be meant otherwise, since the last call.
    pub fn take_oddities(&mut self) -> CsvOddities {
        match &mut self.body {
            ReaderBody::Stream(_, sequence) => sequence.take_oddities(),
            ReaderBody::Arrow(_) | ReaderBody::Parquet(_) | ReaderBody::Memory(_) => {
                CsvOddities::default()
            }
        }
    }

    fn place(&self) -> RecordPlace {
        RecordPlace { path: Arc::clone(&self.input.path), number: self.records }
    }

    fn restart(&mut self) -> Result<(), ReadError> {
        self.body = open_body(&self.input, &self.options, &Interrupt::default())?;
        self.records = 0;
        Ok(())
    }
}

/// Skips records up to that number, or to the end; answers before which one the stream stands.
fn skip_records(
    stream: &mut ByteStream,
    sequence: &mut dyn FormatReader,
    mut place: RecordPlace,
    number: u64,
) -> Result<u64, ReadError> {
    while place.number < number && sequence.skip(stream, place.clone())? {
        place.number += 1;
    }
    Ok(place.number)
}

fn open_body<'m>(
    input: &InputFile,
    options: &ReadOptions,
    interrupt: &Interrupt,
) -> Result<ReaderBody<'m>, ReadError> {
    let path = &input.path;
    let pipe = |pipe: std::io::Result<PipeReader>| {
        let pipe = pipe.map_err(ReadError::io(path, "open it"))?;
        open_stream(input, Box::new(pipe), options, u64::MAX)
    };
    if let Some(object) = &input.object {
        return open_object(input, object, options);
    }
    if input.is_stdin {
        return pipe(PipeReader::new(|| Ok(std::io::stdin()), interrupt));
    }
    if !path.is_file() && path.exists() {
        let path = Arc::clone(path);
        return pipe(PipeReader::new(move || File::open(path.as_ref()), interrupt));
    }
    let mut file = File::open(path.as_ref()).map_err(ReadError::io(path, "open it"))?;
    let is_parquet = match options.format {
        InputFormat::Parquet => true,
        InputFormat::Auto => is_parquet(&mut file, path).map_err(ReadError::io(path, "read it"))?,
        _ => false,
    };
    if is_parquet {
        return Ok(ReaderBody::Parquet(Box::new(ColumnarReader::open(
            path,
            RandomAccessFile::Local(file),
            options,
        )?)));
    }
    open_stream(input, Box::new(file), options, u64::MAX)
}

/// An object of a store: one that begins as a Parquet file is read by its places, any other to its end.
fn open_object<'m>(
    input: &InputFile,
    object: &RemoteObject,
    options: &ReadOptions,
) -> Result<ReaderBody<'m>, ReadError> {
    let mut stream = RemoteCursor::new(object, read_ahead_bytes(options));
    let is_parquet = match options.format {
        InputFormat::Parquet => true,
        InputFormat::Auto => {
            input.name().ends_with(".parquet") || stream.begins_with(PARQUET_MAGIC)?
        }
        _ => false,
    };
    if is_parquet {
        let file = RandomAccessFile::Remote(RemoteReader::new(object, read_ahead_bytes(options))?);
        return Ok(ReaderBody::Parquet(Box::new(ColumnarReader::open(
            &input.path,
            file,
            options,
        )?)));
    }
    open_stream(input, Box::new(stream), options, u64::MAX)
}

fn open_stream<'m>(
    input: &InputFile,
    raw: Box<dyn Read + Send>,
    options: &ReadOptions,
    limit: u64,
) -> Result<ReaderBody<'m>, ReadError> {
    let is_pipe = input.object.is_none() && (input.is_stdin || !input.path.is_file());
    let mut stream = ByteStream::new(Arc::clone(&input.path), raw, limit, is_pipe)?;
    match detect_format(&mut stream, input, options)? {
        DetectedFormat::Parquet => Err(ReadError::ParquetPipe { path: input.path.to_path_buf() }),
        DetectedFormat::Arrow => {
            let file = if stream.is_compressed() { None } else { any_place(input, options) };
            let mut messages = ArrowReader::new(Box::new(stream), options.max_batch_bytes)?;
            if let Some(file) = file {
                messages = messages.by_contents(file)?;
            }
            Ok(ReaderBody::Arrow(Box::new(BatchRows::new(messages))))
        }
        DetectedFormat::Sequence(sequence) => Ok(ReaderBody::Stream(Box::new(stream), sequence)),
    }
}

/// The input once more, where any place of it can be read.
fn any_place(input: &InputFile, options: &ReadOptions) -> Option<RandomAccessFile> {
    match &input.object {
        Some(object) => {
            let file = RemoteReader::new(object, read_ahead_bytes(options)).ok()?;
            Some(RandomAccessFile::Remote(file))
        }
        None if input.is_stdin || !input.path.is_file() => None,
        None => File::open(input.path.as_ref()).ok().map(RandomAccessFile::Local),
    }
}
