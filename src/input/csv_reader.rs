//! Tables of separated values: a row of names, then a record a row.

use super::block::{FormatReader, RecordPlace};
use super::csv_rows::{CsvCell, CsvDialect, CsvRowEnd, likely_delimiter, without_line_end};
use super::error::ReadError;
use super::item::{ReadItem, ReadOptions, byte_len, line_limit, reject};
use super::metadata::{RecordBuilder, is_number, json_string};
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use super::{keys, roles};
use crate::model::{Origin, ReadRecord, RecordKey, Reject, RejectReason};
use std::path::Path;

/// How far the first line is looked for.
const PEEK: usize = 4 << 20;

/// The rows of a table.
pub(super) struct CsvReader {
    options: ReadOptions,
    /// Nobody said that it is a table: without a text it is refused as what it is.
    is_guess: bool,
    header: Option<CsvHeader>,
    /// Lines before the next row.
    lines: u64,
    is_done: bool,
}

struct CsvHeader {
    dialect: CsvDialect,
    /// The names as JSON has them.
    names: Vec<String>,
    /// None when records stay whole.
    text: Option<(usize, String)>,
    id: Option<(usize, String)>,
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
        Self { options, is_guess, header: None, lines: 0, is_done: false }
    }

    /// Reads the row of names; gives the reject that a file becomes which has no text.
    fn open(
        &mut self,
        stream: &mut ByteStream,
        place: &RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        let delimiter = match self.options.table.delimiter {
            Some(delimiter) => delimiter,
            None => likely_delimiter(stream.peek_line(PEEK)?.unwrap_or_default()),
        };
        let dialect = CsvDialect { delimiter, quotes: self.options.table.quotes };
        let limit = line_limit(&self.options);
        let row = next_row(stream, dialect, limit, &mut self.lines)?;
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
        let Ok(cells) = std::str::from_utf8(row).map(|row| dialect.cells(row.as_bytes())) else {
            return Err(damaged(place.path(), at, "the row of names is not UTF-8".to_owned()));
        };
        match CsvHeader::of(&cells, dialect, place.path(), &self.options) {
            Ok(header) => {
                self.header = Some(header);
                Ok(None)
            }
            Err(ReadError::NoTextField { found, .. }) if self.is_guess => {
                self.is_done = true;
                let why = format!(
                    "a table of separated values without a text among {found}: name its column with --text-field, or take the file as one document with --format text"
                );
                let origin = place.clone().at(at);
                Ok(Some(reject(RejectReason::NotText(why), origin, row, byte_len(row.len()))))
            }
            Err(error) => Err(error),
        }
    }
}

impl FormatReader for CsvReader {
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<ReadItem>, ReadError> {
        stream.mark_record();
        if self.header.is_none() && !self.is_done {
            let refused = self.open(stream, &place)?;
            if refused.is_some() {
                return Ok(refused);
            }
            // A row that cannot be read is reached again behind the names, not before them.
            stream.mark_record();
        }
        let Some(header) = self.header.as_ref().filter(|_| !self.is_done) else { return Ok(None) };
        loop {
            let line = self.lines + 1;
            let limit = line_limit(&self.options);
            let row = match next_row(stream, header.dialect, limit, &mut self.lines)? {
                None => return Ok(None),
                Some(CsvRow::Piece(row)) => row,
                Some(CsvRow::OpenQuote(line)) => {
                    self.is_done = true;
                    return Err(open_quote(place.path(), line));
                }
            };
            match row.bytes {
                BoundedBytes::Whole(bytes) => {
                    let bytes = without_line_end(bytes);
                    if !bytes.is_empty() {
                        let origin = place.at(row.at);
                        return Ok(Some(header.item(bytes, line, &self.options, origin)));
                    }
                }
                BoundedBytes::TooLong { head, bytes } => {
                    let reason = RejectReason::TooLong { bytes, limit: byte_len(limit) };
                    return Ok(Some(reject(reason, place.at(row.at), head, bytes)));
                }
            }
        }
    }
}

impl CsvHeader {
    fn of(
        cells: &[CsvCell<'_>],
        dialect: CsvDialect,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        let names = names(cells);
        let listed = || names.iter().map(String::as_str);
        let find = |column: &str| {
            let found = names.iter().position(|name| name == column);
            found.map(|at| (at, column.to_owned())).ok_or_else(|| ReadError::NoColumn {
                path: path.to_path_buf(),
                column: column.to_owned(),
                found: roles::field_names_for_message(listed()),
            })
        };
        let text = match &options.text_field {
            _ if options.whole => None,
            Some(name) => Some(find(name)?),
            None => {
                let found =
                    roles::vote_text_field(listed()).ok_or_else(|| ReadError::NoTextField {
                        path: path.to_path_buf(),
                        found: roles::field_names_for_message(listed()),
                    })?;
                Some(find(found)?)
            }
        };
        let id = options.id_field.as_deref().map(find).transpose()?;
        let names = names.iter().map(|name| json_string(name)).collect();
        Ok(Self { dialect, names, text, id })
    }

    fn item(&self, row: &[u8], line: u64, options: &ReadOptions, origin: Origin) -> ReadItem {
        match self.record(row, line, options) {
            Ok((key, text, metadata)) => {
                ReadItem::Record(ReadRecord { key, source: None, text, metadata, origin })
            }
            Err(reason) => reject(reason, origin, row, byte_len(row.len())),
        }
    }

    fn record(
        &self,
        row: &[u8],
        line: u64,
        options: &ReadOptions,
    ) -> Result<(RecordKey, String, String), RejectReason> {
        let not_utf8 =
            |error: std::str::Utf8Error| RejectReason::NotUtf8(byte_len(error.valid_up_to()));
        std::str::from_utf8(row).map_err(not_utf8)?;
        let cells = self.dialect.cells(row);
        if cells.len() != self.names.len() {
            return Err(RejectReason::Form(format!(
                "the row on line {line} has {} values, the row of names has {}",
                cells.len(),
                self.names.len()
            )));
        }
        let mut key = RecordKey::Position;
        let mut text = String::new();
        let mut metadata = RecordBuilder::new();
        for (at, (cell, name)) in cells.into_iter().zip(&self.names).enumerate() {
            let value = String::from_utf8_lossy(&cell.bytes);
            let is = |column: &Option<(usize, String)>| {
                column.as_ref().is_some_and(|(place, _)| *place == at)
            };
            if let Some((_, field)) = self.text.as_ref().filter(|_| is(&self.text)) {
                if value.is_empty() && !cell.is_quoted && options.table.numbers {
                    return Err(RejectReason::NoText(field.clone()));
                }
                let bytes = byte_len(value.len());
                if bytes > options.max_doc_bytes {
                    return Err(RejectReason::TooLong { bytes, limit: options.max_doc_bytes });
                }
                text = value.into_owned();
            } else if let Some((_, field)) = self.id.as_ref().filter(|_| is(&self.id)) {
                let is_number = !cell.is_quoted && options.table.numbers && is_number(&value);
                let number = if is_number { keys::of_number(&value) } else { None };
                // A cell is a text first: 1.10 may be the number of a paragraph.
                let given = number.or_else(|| keys::of_text(&value));
                key = given.ok_or_else(|| RejectReason::BadId(field.clone()))?;
            } else if cell.is_quoted || !options.table.numbers {
                metadata.push_raw(name, &json_string(&value));
            } else if value.is_empty() {
                metadata.push_raw(name, "null");
            } else if is_number(&value) {
                metadata.push_raw(name, &value);
            } else {
                metadata.push_raw(name, &json_string(&value));
            }
        }
        Ok((key, text, metadata.finish()))
    }
}

/// The next row, the lines of which are counted.
fn next_row<'s>(
    stream: &'s mut ByteStream,
    dialect: CsvDialect,
    limit: usize,
    lines: &mut u64,
) -> Result<Option<CsvRow<'s>>, ReadError> {
    let mut end = CsvRowEnd::new(dialect);
    let before = *lines;
    let piece = stream.next_piece(limit, Reject::MAX_RAW, |bytes| end.find(bytes))?;
    *lines += end.lines;
    Ok(piece.map(|piece| match piece.is_closed || !end.is_open() {
        true => CsvRow::Piece(piece),
        false => CsvRow::OpenQuote(before + end.quote_line + 1),
    }))
}

/// The names of columns: one without a name has its number, one whose name was there its number behind it.
fn names(cells: &[CsvCell<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        let given = String::from_utf8_lossy(&cell.bytes).into_owned();
        let mut name = if given.is_empty() { format!("column_{}", at + 1) } else { given.clone() };
        let mut number = at + 1;
        while names.contains(&name) {
            name = format!("{given}_{number}");
            number += 1;
        }
        names.push(name);
    }
    names
}

fn damaged(path: &Path, offset: u64, what: String) -> ReadError {
    ReadError::Damaged { path: path.to_path_buf(), offset, what }
}

fn open_quote(path: &Path, line: u64) -> ReadError {
    ReadError::OpenQuote { path: path.to_path_buf(), line }
}
