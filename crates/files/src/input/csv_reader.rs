//! Reads tables of separated values: a row of names, then a record a row.

use super::block::{FormatReader, RawRecord, RecordPlace};
use super::csv_header::CsvHeader;
use super::csv_rows::{
    CsvCell, CsvDialect, CsvOddities, CsvRowEnd, likely_delimiter, row_end, said_delimiter,
    without_line_end,
};
use super::error::{ReadError, way_to_text};
use super::item::{CsvOptions, ReadOptions, byte_len, line_limit, reject};
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use model::{Reject, RejectReason};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// How much is examined to tell what ends rows and stands between values.
const HEAD: usize = 64 << 10;

/// The rows of a table.
pub(super) struct CsvReader {
    options: ReadOptions,
    /// Whether the user did not name the format: without a text field the file is refused as what it is.
    is_guess: bool,
    header: Option<Arc<CsvHeader>>,
    before: RowsBefore,
    is_done: bool,
}

/// What stands before the next row.
#[derive(Default)]
struct RowsBefore {
    lines: u64,
    /// Since this was asked last.
    odd: CsvOddities,
}

/// A row that is whole, or too long.
enum CsvRow<'s> {
    Piece(StreamPiece<'s>),
    /// On line, counted from 1.
    OpenQuote(u64),
}

impl CsvReader {
    pub(super) fn new(options: &ReadOptions, delimiter: Option<u8>, is_guess: bool) -> Self {
        let mut options = options.clone();
        options.table.delimiter = options.table.delimiter.or(delimiter);
        Self { options, is_guess, header: None, before: RowsBefore::default(), is_done: false }
    }

    /// Finds the delimiter and the end of rows, and whether a first column without a name numbers the rows. Skips
    /// blank lines, comments, and the line `sep=;` before the row of names.
    fn dialect(&mut self, stream: &mut ByteStream) -> Result<(CsvDialect, bool), ReadError> {
        let CsvOptions { mut delimiter, comment, .. } = self.options.table;
        let end = row_end(stream.peek(HEAD)?);
        let limit = line_limit(&self.options);
        loop {
            let head = stream.peek(HEAD)?;
            let line = head.split(|byte| *byte == end).next().unwrap_or_default();
            let said = said_delimiter(line);
            let is_comment = comment.is_some_and(|comment| line.first() == Some(&comment));
            if head.is_empty() || said.is_none() && !is_comment && !line.trim_ascii().is_empty() {
                let delimiter = delimiter.unwrap_or_else(|| likely_delimiter(line));
                let is_all = head.len() < HEAD;
                let dialect = CsvDialect::of(delimiter, end, self.options.table, (head, is_all));
                let is_nameless = dialect.cells(line).next().is_some_and(|cell| cell.is_empty());
                let numbers = is_nameless && dialect.has_row_numbers(head, is_all, comment);
                return Ok((dialect, numbers));
            }
            delimiter = delimiter.or(said);
            next_row(stream, CsvDialect::plain(b',', end), limit, &mut self.before)?;
        }
    }

    /// Reads the row of names; gives the reject that a file becomes which has no text.
    fn open(
        &mut self,
        stream: &mut ByteStream,
        place: &RecordPlace,
    ) -> Result<Option<RawRecord<'static>>, ReadError> {
        let (dialect, has_row_numbers) = self.dialect(stream)?;
        let limit = line_limit(&self.options);
        let row = next_row(stream, dialect, limit, &mut self.before)?;
        let (at, row) = match row {
            None => {
                self.is_done = true;
                return Ok(None);
            }
            Some(CsvRow::Piece(StreamPiece { at, bytes: BoundedBytes::Whole(row), .. })) => {
                (at, row)
            }
            Some(CsvRow::Piece(StreamPiece { at, .. })) => {
                let what = format!("the row of names is longer than {limit} bytes");
                return Err(damaged(place.path(), at, what));
            }
            Some(CsvRow::OpenQuote(line)) => return Err(open_quote(place.path(), line)),
        };
        let row = without_line_end(row);
        if std::str::from_utf8(row).is_err() {
            return Err(damaged(place.path(), at, "the row of names is not UTF-8".to_owned()));
        }
        let cells: Vec<CsvCell<'_>> = dialect.cells(row).collect();
        match CsvHeader::of(&cells, dialect, place.path(), &self.options) {
            Ok(mut header) => {
                header.has_row_numbers = has_row_numbers;
                self.header = Some(Arc::new(header));
                Ok(None)
            }
            Err(ReadError::NoTextField { found, .. }) if self.is_guess => {
                self.is_done = true;
                let why = format!(
                    "a table of separated values without a text among {found}: {}, or take the file as one document with --format text",
                    way_to_text(&found)
                );
                let origin = place.clone().at(at);
                Ok(Some(
                    reject(RejectReason::NotText(why), origin, row, byte_len(row.len())).into(),
                ))
            }
            Err(error) => Err(error),
        }
    }
}

impl FormatReader for CsvReader {
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError> {
        if self.header.is_none() && !self.is_done {
            let refused = self.open(stream, &place)?;
            if refused.is_some() {
                return Ok(refused);
            }
        }
        let Some(header) = self.header.as_ref().filter(|_| !self.is_done) else { return Ok(None) };
        let (limit, comment) = (line_limit(&self.options), self.options.table.comment);
        let (line, at, length) = loop {
            let line = self.before.lines + 1;
            let row = match next_row(stream, header.dialect, limit, &mut self.before)? {
                None => return Ok(None),
                Some(CsvRow::Piece(row)) => row,
                Some(CsvRow::OpenQuote(line)) => {
                    self.is_done = true;
                    return Err(open_quote(place.path(), line));
                }
            };
            match row.bytes {
                BoundedBytes::Whole(bytes) => {
                    let whole = without_line_end(bytes);
                    if whole.is_empty() || whole.first() == comment.as_ref() {
                        continue;
                    }
                    // Where tables were put together, each has its row of names.
                    if header.is_repeated_by(whole) {
                        self.before.odd.names.meet(line);
                        continue;
                    }
                    break (line, row.at, bytes.len());
                }
                BoundedBytes::TooLong { head, bytes } => {
                    let reason = RejectReason::TooLong { bytes, limit: byte_len(limit) };
                    return Ok(Some(reject(reason, place.at(row.at), head, bytes).into()));
                }
            }
        };
        let row = Cow::Borrowed(without_line_end(stream.consumed(length)));
        let header = Arc::clone(header);
        Ok(Some(RawRecord::Csv { row, line, header, origin: place.at(at) }))
    }

    fn take_oddities(&mut self) -> CsvOddities {
        std::mem::take(&mut self.before.odd)
    }

    fn columns(&self) -> &[String] {
        self.header.as_ref().map_or(&[], |header| &header.columns)
    }
}

/// The next row, which is counted.
fn next_row<'s>(
    stream: &'s mut ByteStream,
    dialect: CsvDialect,
    limit: usize,
    rows: &mut RowsBefore,
) -> Result<Option<CsvRow<'s>>, ReadError> {
    let mut end = CsvRowEnd::new(dialect);
    let before = rows.lines;
    let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| end.find(bytes))?;
    rows.odd.add(&end, before);
    rows.lines += end.lines;
    Ok(piece.map(|piece| match piece.is_closed || !end.is_open() {
        true => CsvRow::Piece(piece),
        false => CsvRow::OpenQuote(before + end.quote_line + 1),
    }))
}

fn damaged(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Damaged { path: path.to_path_buf(), offset, what }
}

fn open_quote(path: &Path, line: u64) -> ReadError {
    ReadError::OpenQuote { path: path.to_path_buf(), line }
}
