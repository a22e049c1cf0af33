//! One open input: recognises its format and gives its records in order.

use super::error::ReadError;
use super::foreign::foreign;
use super::item::{Format, Item, ReadOptions, ResumePoint, length, reject};
use super::jsonl;
use super::kept_fields::kept;
use super::memory::{Memory, Records};
use super::parquet::Parquet;
use super::paths::Input;
use super::stream::{Stream, Stretch};
use super::text;
use crate::model::{Origin, ReadRecord, RecordKey, Reject, RejectReason};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A line may be this many times longer than the longest text: escapes and other fields.
const LINE_SLACK: u64 = 4;
/// How far the first line is looked for when the format is not given.
const PEEK: usize = 4 << 20;
/// How much of a file is looked at to tell what it is if not records.
const HEAD: usize = 4096;
const PARQUET_MAGIC: &[u8; 4] = b"PAR1";

/// One open input.
pub struct Reader<'m> {
    input: Input,
    options: ReadOptions,
    records: u64,
    body: Body<'m>,
}

enum Body<'m> {
    Jsonl {
        stream: Stream,
        text_field: Option<String>,
    },
    /// With the reason why it is no text, if the user did not insist.
    Text {
        stream: Stream,
        done: bool,
        refusal: Option<String>,
    },
    Parquet(Box<Parquet>),
    Memory(Box<Memory<'m>>),
}

impl<'m> Reader<'m> {
    /// Opens `input` and recognises its format.
    ///
    /// # Errors
    /// [`ReadError::Io`], [`ReadError::Corrupt`] when not even the beginning can be read, or what is
    /// wrong with a Parquet file's footer and columns.
    pub fn open(input: &Input, options: &ReadOptions) -> Result<Self, ReadError> {
        let body = open_body(input, options)?;
        Ok(Self { input: input.clone(), options: options.clone(), records: 0, body })
    }

    /// Opens what a program hands over. It cannot be resumed: whoever has it begins where there is something new.
    ///
    /// # Errors
    /// [`ReadError::NoName`] when it has none, or what is wrong with the columns of record batches.
    pub fn of_records(records: Records<'m>, options: &ReadOptions) -> Result<Self, ReadError> {
        let input = records.input()?;
        let body = Body::Memory(Box::new(Memory::open(records, &input.path, options)?));
        Ok(Self { input, options: options.clone(), records: 0, body })
    }

    /// Goes on behind `point` if the input still begins with the bytes that were read up to it;
    /// says whether it does. If not the reader stands at the start. Only lines of a file on disk
    /// can be resumed; of anything else the answer is `false`.
    ///
    /// # Errors
    /// As [`Reader::next`], when the part before the point cannot be read again.
    pub fn resume(&mut self, point: &ResumePoint) -> Result<bool, ReadError> {
        let is_memory = matches!(self.body, Body::Memory(_));
        if is_memory || self.input.is_stdin || !self.input.path.is_file() {
            return Ok(false);
        }
        if point.offset == 0 && point.records == 0 && self.records == 0 {
            return Ok(true);
        }
        self.restart()?;
        let limit = self.line_limit();
        let Body::Jsonl { stream, text_field } = &mut self.body else {
            return Ok(false);
        };
        // Line by line, so that the text field is guessed from the same record as the first time,
        // and a last line that has grown since is noticed.
        while stream.offset() < point.offset {
            match stream.next_line(limit, 0)? {
                Some((_, Stretch::Whole(line))) if text_field.is_none() => {
                    if let Ok(guess) = jsonl::guess_field(line) {
                        *text_field = guess.ok().map(str::to_owned);
                    }
                }
                Some(_) => {}
                None => break,
            }
        }
        if stream.offset() == point.offset && stream.prefix() == point.prefix {
            self.records = point.records;
            return Ok(true);
        }
        self.restart()?;
        Ok(false)
    }

    /// The next record or reject, `None` at the end.
    ///
    /// # Errors
    /// [`ReadError::Corrupt`] on a truncated or damaged file, [`ReadError::NoTextField`] when the
    /// text field cannot be guessed, [`ReadError::Io`]. What stood before was given.
    pub fn next(&mut self) -> Result<Option<Item>, ReadError> {
        let limit = self.line_limit();
        let number = self.records;
        let path = Arc::clone(&self.input.path);
        let origin = |offset| Origin { path, number, offset };
        let item = match &mut self.body {
            Body::Jsonl { stream, text_field } => {
                next_jsonl(stream, text_field, &self.options, limit, origin)?
            }
            Body::Text { done: true, .. } => None,
            Body::Text { stream, done, refusal } => {
                *done = true;
                Some(match refusal.take() {
                    Some(why) => refused(stream, why, self.input.size, origin)?,
                    None => next_text(stream, self.options.max_doc_bytes, origin)?,
                })
            }
            Body::Parquet(parquet) => parquet.next(origin)?,
            Body::Memory(memory) => memory.next(&self.options, origin(number))?,
        };
        self.records += u64::from(item.is_some());
        Ok(item.map(|item| kept(item, &self.options)))
    }

    /// The point after the last item given.
    #[must_use]
    pub fn point(&self) -> ResumePoint {
        let records = self.records;
        match &self.body {
            Body::Jsonl { stream, .. } | Body::Text { stream, .. } => {
                ResumePoint { offset: stream.offset(), records, prefix: stream.prefix() }
            }
            Body::Parquet(_) | Body::Memory(_) => {
                ResumePoint { offset: records, records, prefix: [0; 32] }
            }
        }
    }

    /// The point before the last item given.
    #[must_use]
    pub fn point_before(&self) -> ResumePoint {
        let records = self.records.saturating_sub(1);
        match &self.body {
            Body::Jsonl { stream, .. } | Body::Text { stream, .. } => {
                let (offset, prefix) = stream.before();
                ResumePoint { offset, records, prefix }
            }
            Body::Parquet(_) | Body::Memory(_) => {
                ResumePoint { offset: records, records, prefix: [0; 32] }
            }
        }
    }

    /// Bytes of the file as stored that were consumed; an estimate for Parquet.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        match &self.body {
            Body::Jsonl { stream, .. } | Body::Text { stream, .. } => stream.input_bytes(),
            Body::Parquet(parquet) => parquet.input_bytes(),
            Body::Memory(memory) => memory.given_bytes(),
        }
    }

    /// Whether the input is one document, not a list of records.
    #[must_use]
    pub const fn is_single(&self) -> bool {
        matches!(self.body, Body::Text { .. })
    }

    fn restart(&mut self) -> Result<(), ReadError> {
        self.body = open_body(&self.input, &self.options)?;
        self.records = 0;
        Ok(())
    }

    fn line_limit(&self) -> usize {
        size(self.options.max_doc_bytes.saturating_mul(LINE_SLACK))
    }
}

fn open_body<'m>(input: &Input, options: &ReadOptions) -> Result<Body<'m>, ReadError> {
    let path = &input.path;
    if input.is_stdin {
        return open_stream(path, Box::new(std::io::stdin()), options, true);
    }
    let mut file = File::open(path.as_ref()).map_err(ReadError::io(path, "open it"))?;
    if !path.is_file() {
        return open_stream(path, Box::new(file), options, true);
    }
    let is_parquet = match options.format {
        Format::Parquet => true,
        Format::Auto => is_parquet(&mut file, path).map_err(ReadError::io(path, "read it"))?,
        Format::Jsonl | Format::Text => false,
    };
    if is_parquet {
        return Ok(Body::Parquet(Box::new(Parquet::open(path, file, options)?)));
    }
    open_stream(path, Box::new(file), options, false)
}

fn open_stream<'m>(
    path: &Arc<PathBuf>,
    raw: Box<dyn Read + Send>,
    options: &ReadOptions,
    is_pipe: bool,
) -> Result<Body<'m>, ReadError> {
    let mut stream = Stream::new(Arc::clone(path), raw)?;
    let (format, refusal) = match options.format {
        Format::Auto => recognise(&mut stream, path)?,
        given => (given, None),
    };
    match format {
        Format::Parquet if is_pipe => Err(ReadError::ParquetPipe { path: path.to_path_buf() }),
        Format::Text => Ok(Body::Text { stream, done: false, refusal }),
        _ => Ok(Body::Jsonl { stream, text_field: options.text_field.clone() }),
    }
}

/// A Parquet file has the magic at both ends. One with it only at the front is cut off, unless it
/// is a text that happens to begin so.
fn is_parquet(file: &mut File, path: &Path) -> std::io::Result<bool> {
    let mut head = Vec::new();
    file.by_ref().take(4096).read_to_end(&mut head)?;
    let mut tail = [0; 4];
    let length = file.seek(SeekFrom::End(0))?;
    if length >= 8 {
        file.seek(SeekFrom::End(-4))?;
        file.read_exact(&mut tail)?;
    }
    file.seek(SeekFrom::Start(0))?;
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("parquet"));
    let is_text = || std::str::from_utf8(&head).is_ok_and(|head| !head.contains('\0'));
    Ok(named || head.starts_with(PARQUET_MAGIC) && (tail == *PARQUET_MAGIC || !is_text()))
}

/// By content, then by name; with the reason why what is neither is no text.
fn recognise(stream: &mut Stream, path: &Path) -> Result<(Format, Option<String>), ReadError> {
    if let Some(line) = stream.peek_line(PEEK)? {
        if line.starts_with(PARQUET_MAGIC) {
            return Ok((Format::Parquet, None));
        }
        if line.starts_with(b"{") && jsonl::guess_field(line).is_ok() {
            return Ok((Format::Jsonl, None));
        }
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    if let Some(why) = foreign(stream.peek(HEAD)?, name) {
        return Ok((Format::Text, Some(why)));
    }
    let is_jsonl = [".jsonl", ".ndjson", ".json"].iter().any(|end| name.ends_with(end));
    Ok((if is_jsonl { Format::Jsonl } else { Format::Text }, None))
}

fn next_jsonl(
    stream: &mut Stream,
    text_field: &mut Option<String>,
    options: &ReadOptions,
    limit: usize,
    origin: impl FnOnce(u64) -> Origin,
) -> Result<Option<Item>, ReadError> {
    let Some((offset, piece)) = stream.next_line(limit, Reject::MAX_RAW)? else {
        return Ok(None);
    };
    let origin = origin(offset);
    let line = match piece {
        Stretch::Whole(line) => line,
        Stretch::TooLong { head, bytes } => {
            let reason = RejectReason::TooLong { bytes, limit: length(limit) };
            return Ok(Some(reject(reason, origin, head, bytes)));
        }
    };
    let guessed;
    let text: Option<&str> = match text_field {
        _ if options.whole => None,
        Some(field) => Some(field),
        None => match jsonl::guess_field(line) {
            Ok(Ok(field)) => {
                *text_field = Some(field.to_owned());
                Some(field)
            }
            Ok(Err(found)) => {
                return Err(ReadError::NoTextField { path: origin.path.to_path_buf(), found });
            }
            Err(reason) => {
                guessed = reason;
                return Ok(Some(reject(guessed, origin, line, length(line.len()))));
            }
        },
    };
    let fields = jsonl::Fields {
        text,
        id: options.id_field.as_deref(),
        max_doc_bytes: options.max_doc_bytes,
    };
    Ok(Some(match jsonl::parse(line, &fields) {
        Ok(parsed) => Item::Record(ReadRecord {
            key: parsed.key,
            text: parsed.text,
            metadata: parsed.metadata,
            origin,
        }),
        Err(reason) => reject(reason, origin, line, length(line.len())),
    }))
}

/// A file that is no text, of which only the beginning is read and kept.
fn refused(
    stream: &mut Stream,
    why: String,
    size: u64,
    origin: impl FnOnce(u64) -> Origin,
) -> Result<Item, ReadError> {
    let origin = origin(stream.offset());
    let head = stream.peek(HEAD)?;
    Ok(reject(RejectReason::NotText(why), origin, head, size.max(length(head.len()))))
}

fn next_text(
    stream: &mut Stream,
    max_doc_bytes: u64,
    origin: impl FnOnce(u64) -> Origin,
) -> Result<Item, ReadError> {
    let origin = origin(stream.offset());
    let piece = stream.rest(size(max_doc_bytes), Reject::MAX_RAW)?;
    Ok(match text::parse(&piece, max_doc_bytes) {
        Ok(text) => Item::Record(ReadRecord {
            key: RecordKey::Position,
            text,
            metadata: "{}".to_owned(),
            origin,
        }),
        Err(reason) => match piece {
            Stretch::Whole(raw) => reject(reason, origin, raw, length(raw.len())),
            Stretch::TooLong { head, bytes } => reject(reason, origin, head, bytes),
        },
    })
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
