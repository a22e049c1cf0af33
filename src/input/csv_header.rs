//! The row of names of a table, and what it makes of the rows below.

use super::csv_rows::{CsvCell, CsvDialect};
use super::error::ReadError;
use super::item::{CsvOptions, ReadOptions, byte_len};
use super::{keys, roles};
use crate::model::near_names::UnknownName;
use crate::model::{
    JsonObject, ReadRecord, RecordKey, RecordOrigin, RejectReason, SpelledMetadata, is_number,
    json_string,
};
use std::borrow::Cow;
use std::path::Path;

/// The row of names.
pub struct CsvHeader {
    pub(super) dialect: CsvDialect,
    pub(super) columns: Vec<String>,
    /// The names as JSON has them.
    names: Vec<String>,
    /// The first column has no name.
    is_first_nameless: bool,
    /// None when records stay whole.
    text: Option<(usize, String)>,
    id: Option<(usize, String)>,
}

/// A value of a row, as it is spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CsvValue<'r> {
    /// What JSON would have as a number.
    Number(&'r str),
    /// Any other.
    Text(Cow<'r, str>),
}

impl CsvHeader {
    pub(super) fn of(
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
                unknown: UnknownName::new("column", column, listed()),
            })
        };
        let text = match &options.text_field {
            _ if options.whole => None,
            Some(name) => Some(find(name)?),
            None => {
                let guess = roles::guess_text_field(listed().map(|name| (name, true)));
                let found = guess.ok_or_else(|| ReadError::NoTextField {
                    path: path.to_path_buf(),
                    record: None,
                    found: roles::field_names_for_message(listed()),
                })?;
                Some(find(found)?)
            }
        };
        let id = options.id_field.as_deref().map(find).transpose()?;
        let columns = names;
        let names = columns.iter().map(|name| json_string(name)).collect();
        let is_first_nameless = cells.first().is_some_and(|cell| cell.bytes().is_empty());
        Ok(Self { dialect, columns, names, is_first_nameless, text, id })
    }

    /// Names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Calls `take` with those values of a row for which `places` has a place, column by column as far as one is
    /// wanted. Left are those that a record of the row would not have, or as null. A value is a number only as
    /// [`CsvOptions::numbers`](super::CsvOptions::numbers) says.
    ///
    /// # Errors
    /// Why it is not a row of the table, `line` being the one it begins on; else the first error of `take`.
    pub fn each_value<'r>(
        &self,
        row: &'r [u8],
        line: u64,
        table: CsvOptions,
        places: &[Option<usize>],
        mut take: impl FnMut(usize, CsvValue<'r>) -> Result<(), String>,
    ) -> Result<(), String> {
        utf8(row).map_err(|why| why.to_string())?;
        let (mut cells, mut looked_at, mut taken) = (self.dialect.cells(row), 0, Ok(()));
        for (at, place) in places.iter().enumerate() {
            let Some(cell) = cells.next() else { break };
            looked_at += 1;
            if let Some(place) = place.filter(|_| taken.is_ok())
                && let Some(value) = self.value(at, cell, table)
            {
                taken = take(place, value);
            }
        }
        // What has another number of values may have them at the places of others.
        let count = looked_at + cells.count();
        self.check_count(count, line).map_err(|why| why.to_string())?;
        taken
    }

    fn value<'r>(&self, at: usize, cell: CsvCell<'r>, table: CsvOptions) -> Option<CsvValue<'r>> {
        let is_plain = !cell.is_quoted && table.numbers;
        let value = cell.text();
        match value {
            _ if self.is_row_number(at, &value) || is_plain && value.is_empty() => None,
            // What has no quotes stands in the row as it is.
            Cow::Borrowed(spelled) if is_plain && is_number(spelled) => {
                Some(CsvValue::Number(spelled))
            }
            text => Some(CsvValue::Text(text)),
        }
    }

    /// The cells of a row, as many as names.
    fn cells<'r>(&self, row: &'r [u8], line: u64) -> Result<Vec<CsvCell<'r>>, RejectReason> {
        utf8(row)?;
        let mut cells = Vec::with_capacity(self.names.len());
        cells.extend(self.dialect.cells(row));
        self.check_count(cells.len(), line).map(|()| cells)
    }

    fn check_count(&self, cells: usize, line: u64) -> Result<(), RejectReason> {
        match self.names.len() {
            names if names == cells => Ok(()),
            names => Err(RejectReason::Form(format!(
                "the row on line {line} has {cells} values, the row of names has {names}"
            ))),
        }
    }

    /// Whether a value is the number of the row in the table that pandas wrote, which says nothing of the record.
    fn is_row_number(&self, at: usize, value: &str) -> bool {
        at == 0 && self.is_first_nameless && is_whole(value)
    }

    /// The record of a row.
    ///
    /// # Errors
    /// Why it is rejected.
    pub(super) fn record(
        &self,
        row: &[u8],
        line: u64,
        options: &ReadOptions,
        origin: RecordOrigin,
    ) -> Result<ReadRecord, RejectReason> {
        let cells = self.cells(row, line)?;
        let place = |column: &Option<(usize, String)>| column.as_ref().map(|(at, _)| *at);
        let (at_text, at_id) = (place(&self.text), place(&self.id));
        let mut record = ReadRecord::new(RecordKey::Position, String::new(), String::new(), origin);
        let (mut fields, mut earlier) = (JsonObject::default(), None);
        for (at, (cell, name)) in cells.into_iter().zip(&self.names).enumerate() {
            let value = cell.text();
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
                let is_row_number = self.is_row_number(at, &value);
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

fn utf8(row: &[u8]) -> Result<&str, RejectReason> {
    std::str::from_utf8(row).map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))
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

/// The names of columns: one without a name has its number, one whose name was there its number behind it.
fn names(cells: &[CsvCell<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(cells.len());
    for (at, cell) in cells.iter().enumerate() {
        let given = cell.text().into_owned();
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
