//! Tables of separated values: a row of names, then a record a row.

use super::block::{FormatReader, RecordPlace};
use super::builder::RawRecord;
use super::csv_rows::{CsvCell, CsvDialect, CsvRowEnd, likely_delimiter, without_line_end};
use super::error::{ReadError, way_to_text};
use super::item::{ReadOptions, byte_len, line_limit, reject};
use super::stream::{BoundedBytes, ByteStream, StreamPiece};
use super::{keys, roles};
use crate::model::{
    JsonObject, Origin, ReadRecord, RecordKey, Reject, RejectReason, SpelledMetadata, is_number,
    json_string,
};
use std::path::Path;
use std::sync::Arc;

/// How far the first line is looked for.
const PEEK: usize = 4 << 20;

/// The rows of a table.
pub(super) struct CsvReader {
    options: ReadOptions,
    /// Nobody said that it is a table: without a text it is refused as what it is.
    is_guess: bool,
    header: Option<Arc<CsvHeader>>,
    /// Lines before the next row.
    lines: u64,
    is_done: bool,
}

/// The row of names.
pub struct CsvHeader {
    dialect: CsvDialect,
    /// The names as JSON has them.
    names: Vec<String>,
    /// The first column has no name.
    is_first_nameless: bool,
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
    ) -> Result<Option<RawRecord>, ReadError> {
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
    fn next(
        &mut self,
        stream: &mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord>, ReadError> {
        if self.header.is_none() && !self.is_done {
            let refused = self.open(stream, &place)?;
            if refused.is_some() {
                return Ok(refused);
            }
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
                        let (row, origin) = (bytes.to_vec(), place.at(row.at));
                        let header = Arc::clone(header);
                        return Ok(Some(RawRecord::Csv { row, line, header, origin }));
                    }
                }
                BoundedBytes::TooLong { head, bytes } => {
                    let reason = RejectReason::TooLong { bytes, limit: byte_len(limit) };
                    return Ok(Some(reject(reason, place.at(row.at), head, bytes).into()));
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
        let is_first_nameless = cells.first().is_some_and(|cell| cell.bytes.is_empty());
        Ok(Self { dialect, names, is_first_nameless, text, id })
    }

    /// The record of a row.
    ///
    /// # Errors
    /// Why it is none.
    pub(super) fn record(
        &self,
        row: &[u8],
        line: u64,
        options: &ReadOptions,
        origin: Origin,
    ) -> Result<ReadRecord, RejectReason> {
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
        let place = |column: &Option<(usize, String)>| column.as_ref().map(|(at, _)| *at);
        let (at_text, at_id) = (place(&self.text), place(&self.id));
        let mut record = ReadRecord::new(RecordKey::Position, String::new(), String::new(), origin);
        let (mut fields, mut earlier) = (JsonObject::default(), None);
        for (at, (cell, name)) in cells.into_iter().zip(&self.names).enumerate() {
            let value = String::from_utf8_lossy(&cell.bytes);
            let is_plain = !cell.is_quoted && options.table.numbers;
            if let Some((_, field)) = self.text.as_ref().filter(|_| at_text == Some(at)) {
                if value.is_empty() && is_plain {
                    return Err(RejectReason::NoText(field.clone()));
                }
                let bytes = byte_len(value.len());
                if bytes > options.max_doc_bytes {
                    return Err(RejectReason::TooLong { bytes, limit: options.max_doc_bytes });
                }
                record.text = value.into_owned();
            } else if let Some((_, field)) = self.id.as_ref().filter(|_| at_id == Some(at)) {
                let is_number = is_plain && is_number(&value);
                let number = if is_number { keys::of_number(&value) } else { None };
                // A cell is a text first: 1.10 may be the number of a paragraph.
                let given = number.or_else(|| keys::of_text(&value));
                record.key = given.ok_or_else(|| RejectReason::BadId(field.clone()))?;
            } else {
                let is_number = is_plain && is_number(&value);
                let stored = match is_number {
                    true => value.to_string(),
                    false if is_plain && value.is_empty() => "null".to_owned(),
                    false => json_string(&value),
                };
                // The number of the row in the table that pandas wrote says nothing of the record.
                let is_row_number = at == 0 && self.is_first_nameless && is_whole(&value);
                let is_long = is_number && !is_within_64_bits(&value);
                if is_row_number || is_long {
                    earlier.get_or_insert_with(|| fields.clone());
                }
                if let Some(earlier) = &mut earlier {
                    let was = if is_long { json_string(&value) } else { stored.clone() };
                    earlier.push_raw(name, &was);
                }
                if !is_row_number {
                    fields.push_raw(name, &stored);
                }
            }
        }
        record.metadata = fields.finish();
        record.spelled =
            earlier.map(|earlier| SpelledMetadata { json: earlier.finish(), is_other_value: true });
        Ok(record)
    }
}

fn is_whole(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether earlier releases took a number for one: a whole one of at most 64 bits, or a double.
fn is_within_64_bits(number: &str) -> bool {
    let is_whole = is_whole(number.strip_prefix('-').unwrap_or(number));
    match is_whole {
        true => number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok(),
        false => number.parse::<f64>().is_ok_and(f64::is_finite),
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
