//! Detects the format of an input: by the user's option, then by its content, then by its name.

use super::block::FormatReader;
use super::csv_reader::CsvReader;
use super::csv_rows;
use super::decompress::without_compression;
use super::error::ReadError;
use super::foreign::{
    SEPARATOR, begins_as_object, begins_as_sequence, describe_foreign, is_json_value, is_marked,
    other_encoding,
};
use super::inputs::InputFile;
use super::ipc;
use super::item::{InputFormat, ReadOptions};
use super::json_reader::JsonLinesReader;
use super::json_reader::JsonValuesReader;
use super::json_record;
use super::stream::ByteStream;
use super::text_field::{VOTE_BYTES, VOTERS};
use super::text_reader::{foreign_reader, sequence};
use super::warc_reader;
use super::warc_reader::WarcReader;
use model::text_file::bytes_without_mark;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The longest mark of byte order.
const MARK: usize = 4;
/// The bytes of a file that are examined to recognise what it is if not records.
const HEAD: usize = 4096;
/// How much of it is examined to tell whether it is a table, whose rows may be long.
const TABLE_HEAD: usize = 64 << 10;
pub(super) const PARQUET_MAGIC: &[u8; 4] = b"PAR1";
/// Ends of names of JSON lines.
const LINES: [&str; 3] = [".jsonl", ".ndjson", ".json"];

/// What an input is read as.
pub(super) enum DetectedFormat {
    /// From its beginning on.
    Sequence(Box<dyn FormatReader>),
    /// From its beginning on, batch by batch.
    Arrow,
    /// From its end on.
    Parquet,
}

/// A Parquet file has the magic at both ends. One with it only at the front is cut off, unless it
/// is a text that happens to begin so.
pub(super) fn is_parquet(file: &mut File, path: &Path) -> std::io::Result<bool> {
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

/// How the bytes of an input are read that is no Parquet file on disk.
pub(super) fn detect_format(
    stream: &mut ByteStream,
    input: &InputFile,
    options: &ReadOptions,
) -> Result<DetectedFormat, ReadError> {
    // A pipe may say no more for hours: no more is waited for than is needed.
    let is_said = !matches!(
        options.format,
        InputFormat::Auto | InputFormat::Arrow | InputFormat::Parquet | InputFormat::Warc
    );
    if is_said && let Some(encoding) = other_encoding(stream.peek(MARK)?) {
        return Ok(DetectedFormat::Sequence(encoded_otherwise(encoding, input)));
    }
    let read: Box<dyn FormatReader> = match options.format {
        InputFormat::Auto => return detect_by_content(stream, input, options),
        InputFormat::Parquet => return Ok(DetectedFormat::Parquet),
        InputFormat::Arrow => return Ok(DetectedFormat::Arrow),
        InputFormat::Jsonl | InputFormat::Json if stream.peek(1)? == [SEPARATOR] => {
            Box::new(JsonValuesReader::new(options, false).of_sequence())
        }
        InputFormat::Jsonl => Box::new(JsonLinesReader::new(options)),
        InputFormat::Json => Box::new(JsonValuesReader::new(options, false)),
        InputFormat::Csv => Box::new(CsvReader::new(options, None, false)),
        InputFormat::Tsv => Box::new(CsvReader::new(options, Some(b'\t'), false)),
        InputFormat::Warc => Box::new(WarcReader::new(options)),
        InputFormat::Text => sequence(options),
    };
    Ok(DetectedFormat::Sequence(read))
}

/// A file that is no UTF-8: one reject, with the way out.
fn encoded_otherwise(encoding: &str, input: &InputFile) -> Box<dyn FormatReader> {
    let way = format!("convert it to UTF-8 (`iconv -f {encoding} -t UTF-8`)");
    let why = format!("it is encoded as {encoding}, not as UTF-8: {way}");
    foreign_reader(why, input.size)
}

/// By content, then by name.
fn detect_by_content(
    stream: &mut ByteStream,
    input: &InputFile,
    options: &ReadOptions,
) -> Result<DetectedFormat, ReadError> {
    let is_file = input.is_file();
    let is_packed = stream.is_compressed();
    if ipc::is_arrow(stream)? {
        return Ok(DetectedFormat::Arrow);
    }
    let sequence_of = |read: Box<dyn FormatReader>| Ok(DetectedFormat::Sequence(read));
    if stream.peek(warc_reader::MARK.len())? == warc_reader::MARK {
        return sequence_of(Box::new(WarcReader::new(options)));
    }
    if let Some(line) = stream.peek_line(VOTE_BYTES)?
        && line.starts_with(b"{")
        && matches!(json_record::guess_field(line), Ok(Ok(_)))
    {
        return sequence_of(Box::new(JsonLinesReader::new(options)));
    }
    let head = stream.peek(HEAD)?;
    if let Some(encoding) = other_encoding(head) {
        return sequence_of(encoded_otherwise(encoding, input));
    }
    if head.starts_with(PARQUET_MAGIC) && !is_file {
        return Ok(DetectedFormat::Parquet);
    }
    if head.starts_with(PARQUET_MAGIC) && is_packed && head.contains(&0) {
        let why = "a Parquet file in a compressed one, not a text: decompress it";
        return sequence_of(foreign_reader(why.to_owned(), input.size));
    }
    let name = input.name();
    let name = without_compression(&name);
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    if let (true, Some(why)) = (is_marked(head), describe_foreign(head, name)) {
        return sequence_of(foreign_reader(why, input.size));
    }
    if begins_as_sequence(head) {
        return sequence_of(Box::new(JsonValuesReader::new(options, true).of_sequence()));
    }
    if json_lines_win(stream)? {
        return sequence_of(Box::new(JsonLinesReader::new(options)));
    }
    let head = stream.peek(TABLE_HEAD)?;
    // A row or a value that is not UTF-8 is rejected for itself.
    let start = String::from_utf8_lossy(head);
    if csv_rows::is_list_of_objects(&start) {
        return sequence_of(Box::new(JsonValuesReader::new(options, true)));
    }
    let is_all = head.len() < TABLE_HEAD;
    let is_table = || !head.contains(&0) && csv_rows::is_table(&start, is_all, options.table);
    if ends(&[".csv", ".tsv"]) || !ends(&LINES) && is_table() {
        let tab = (ends(&[".tsv"]) && csv_rows::has_tab(&start)).then_some(b'\t');
        return sequence_of(Box::new(CsvReader::new(options, tab, true)));
    }
    let described = describe_foreign(head.get(..HEAD).unwrap_or(head), name);
    if ends(&LINES) && described.as_ref().is_none_or(|_| !is_json_value(&start)) {
        return sequence_of(Box::new(JsonLinesReader::new(options)));
    }
    if let Some(why) = described {
        return sequence_of(foreign_reader(why, input.size));
    }
    sequence_of(sequence(options))
}

/// Whether most of the first lines are JSON objects. A first line that is longer than is examined counts while it
/// begins as one.
fn json_lines_win(stream: &mut ByteStream) -> Result<bool, ReadError> {
    // Most files hold no line that begins as an object.
    let is_object = |line: &[u8]| line.trim_ascii_start().starts_with(b"{");
    let head = stream.peek(TABLE_HEAD)?;
    if !head.split(|byte| *byte == b'\n').any(|line| is_object(bytes_without_mark(line))) {
        return Ok(false);
    }
    let mut bytes = TABLE_HEAD;
    let mut whole = 0;
    while whole < VOTERS && bytes < VOTE_BYTES {
        bytes *= 2;
        let ahead = stream.peek(bytes)?;
        whole = ahead.iter().filter(|byte| **byte == b'\n').count();
        if ahead.len() < bytes {
            break;
        }
    }
    let ahead = stream.peek(bytes)?;
    let is_all = ahead.len() < bytes;
    let is_cut = |at: usize| !is_all && at == whole;
    let (mut objects, mut others) = (0_usize, 0_usize);
    let lines = ahead.split(|byte| *byte == b'\n').map(bytes_without_mark).enumerate();
    for (at, line) in lines.filter(|(_, line)| !line.trim_ascii().is_empty()).take(VOTERS) {
        let line = line.trim_ascii();
        match is_cut(at) {
            true if at > 0 => break,
            true => objects += usize::from(begins_as_object(line)),
            false if is_object(line) && json_record::guess_field(line).is_ok() => objects += 1,
            false => others += 1,
        }
    }
    Ok(objects > others)
}
