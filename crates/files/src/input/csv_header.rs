//! The header of a table of separated values: its column names, and the records that rows make under them.

use super::csv_rows::{CsvCell, CsvDialect, is_whole};
use super::error::{ReadError, field_names_for_message};
use super::item::{CsvOptions, ReadOptions, byte_len};
use super::keys;
use super::text_field::guess_text_field;
use model::near_names::UnknownName;
use model::text_file::bytes_without_mark;
use model::{
    FieldKind, JsonObject, ReadRecord, RecordKey, RecordOrigin, RejectReason, SpelledMetadata,
    is_number, json_string,
};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

/// The row of names.
pub struct CsvHeader {
    pub(super) dialect: CsvDialect,
    pub(super) columns: Vec<String>,
    /// The names as JSON has them.
    names: Vec<String>,
    /// The names as the row has them, and whether each is quoted.
    given: Vec<(String, bool)>,
    /// The beginning of rows that may be the row of names once more, behind a quote or none. None where the row shows
    /// no names: in a table without names its first row may come again.
    begin: Option<Vec<u8>>,
    /// What the fields of the columns are declared as.
    kinds: Vec<Option<FieldKind>>,
    /// The first column numbers the rows.
    pub(super) has_row_numbers: bool,
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
                let guess = guess_text_field(listed().map(|name| (name, true)));
                let found = guess.ok_or_else(|| ReadError::NoTextField {
                    path: path.to_path_buf(),
                    record: None,
                    found: field_names_for_message(listed()),
                })?;
                Some(find(found)?)
            }
        };
        let id = options.id_field.as_deref().map(find).transpose()?;
        let columns = names;
        let names = columns.iter().map(|name| json_string(name)).collect();
        let given: Vec<(String, bool)> =
            cells.iter().map(|cell| (cell.text().into_owned(), cell.is_quoted)).collect();
        let has_names = given.len() > 1
            && given.iter().skip(1).all(|(name, _)| name.contains(char::is_alphabetic))
            && !given.iter().any(|(name, _)| is_number(name));
        let begin = given.first().filter(|_| has_names).map(|(name, _)| {
            name.split(['"', '\\']).next().unwrap_or_default().as_bytes().to_vec()
        });
        let kinds = columns.iter().map(|name| options.declared_kind(name)).collect();
        let has_row_numbers = false;
        Ok(Self { dialect, columns, names, given, begin, kinds, has_row_numbers, text, id })
    }

    /// Whether a row is the row of names once more, perhaps behind a mark of byte order, or as a writer has it that
    /// quotes all of them or none. An export quotes one value alone of a document that would look so.
    pub(super) fn is_repeated_by(&self, row: &[u8]) -> bool {
        let Some(begin) = &self.begin else { return false };
        // Told of most rows by their first byte, of others by the first few.
        let may_be = |byte: &u8| matches!(byte, b'"' | 0xef) || begin.first() == Some(byte);
        if !(begin.is_empty() || row.first().is_some_and(may_be)) {
            return false;
        }
        let row = bytes_without_mark(row);
        if !row.strip_prefix(b"\"").unwrap_or(row).starts_with(begin) {
            return false;
        }
        let (mut cells, mut count, mut as_before) = (self.dialect.cells(row), 0, 0);
        for (name, is_quoted) in &self.given {
            let Some(cell) = cells.next().filter(|cell| *cell.bytes() == *name.as_bytes()) else {
                return false;
            };
            count += 1;
            as_before += usize::from(cell.is_quoted == *is_quoted);
        }
        cells.next().is_none() && (as_before == count || as_before == 0 && count > 1)
    }

    /// Names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Calls `take` with those values of a row for which `places` has a place, column by column as far as one is
    /// wanted. Left are those that are null. A value is a number only as
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
        for place in places {
            let Some(cell) = cells.next() else { break };
            looked_at += 1;
            if let Some(place) = place.filter(|_| taken.is_ok())
                && let Some(value) = value_of(cell, table)
            {
                taken = take(place, value);
            }
        }
        // A row with another number of values may have them at the places of others.
        let count = looked_at + cells.count();
        self.check_count(count, line).map_err(|why| why.to_string())?;
        taken
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
        at == 0 && self.has_row_numbers && is_whole(value.as_bytes())
    }

    /// A value of a column as it is stored, in JSON; none: as a text. It is a number or a truth where its field is
    /// declared as one, and null where there is nothing at all.
    fn stored<'v>(&self, at: usize, value: &'v str) -> Option<&'v str> {
        let is = |word: &str| value.eq_ignore_ascii_case(word);
        match self.kinds.get(at).copied().flatten() {
            _ if value.is_empty() => Some("null"),
            Some(FieldKind::Int | FieldKind::Float) => is_number(value).then_some(value),
            Some(FieldKind::Bool) if is("true") => Some("true"),
            Some(FieldKind::Bool) if is("false") => Some("false"),
            _ => None,
        }
    }

    /// The record of a row; the error is why it is rejected.
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
        let (mut fields, mut earlier) = (JsonObject::default(), EarlierFields::default());
        for (at, (cell, name)) in cells.into_iter().zip(&self.names).enumerate() {
            let value = cell.text();
            let is_plain = !cell.is_quoted && options.table.nulls;
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
                let given = keys::of_text(&value);
                record.key = given.ok_or_else(|| RejectReason::BadId(field.clone()))?;
                record.earlier_key = if is_plain { keys::earlier_of_cell(&value) } else { None };
                if options.verbatim {
                    fields.push_text(name, &value);
                }
            } else {
                let stored = if is_plain { self.stored(at, &value) } else { None };
                let is_row_number = self.is_row_number(at, &value);
                if options.earlier {
                    let is_numbered = at == 0 && self.is_first_nameless();
                    let was = EarlierValue { value: &value, stored, is_plain, is_numbered };
                    earlier.push(&fields, name, was, is_row_number);
                }
                match stored {
                    _ if is_row_number => {}
                    Some(json) => fields.push_raw(name, json),
                    None => fields.push_text(name, &value),
                }
            }
        }
        record.metadata = fields.finish();
        let spelled = earlier.spelled.map(JsonObject::finish);
        record.spelled = spelled.map(|json| SpelledMetadata { json, is_other_value: true });
        record.earlier = earlier.numbers.map(JsonObject::finish);
        Ok(record)
    }

    fn is_first_nameless(&self) -> bool {
        self.given.first().is_some_and(|(name, _)| name.is_empty())
    }
}

/// The fields of a row as releases read them that took a value without quotes for a number wherever JSON spells one so;
/// none where that is what is read now.
#[derive(Default)]
struct EarlierFields {
    /// The fields as the last of these releases read them.
    numbers: Option<JsonObject>,
    /// The fields as the releases before it read them: numbers had 64 bits, and the number of a row was a field.
    spelled: Option<JsonObject>,
}

/// A value of a row.
struct EarlierValue<'v> {
    value: &'v str,
    /// The value as it is stored now; none: as a text.
    stored: Option<&'v str>,
    is_plain: bool,
    /// Where the value is a whole number it was that of the row.
    is_numbered: bool,
}

impl EarlierFields {
    /// The next value; `fields` are those before it, as they are read now.
    fn push(&mut self, fields: &JsonObject, name: &str, value: EarlierValue<'_>, is_left: bool) {
        let EarlierValue { value, stored, is_plain, is_numbered } = value;
        let is_number = is_plain && is_number(value);
        let null = (is_plain && value.is_empty()).then_some("null");
        let number = null.or_else(|| is_number.then_some(value));
        let spelled = number.filter(|_| !is_number || is_within_64_bits(value));
        let was_left = is_numbered && is_whole(value.as_bytes());
        let (of_last, of_first) = (&mut self.numbers, &mut self.spelled);
        let both = [(of_last, number, was_left), (of_first, spelled, false)];
        for (earlier, json, was_left) in both {
            if (json, was_left) != (stored, is_left) {
                earlier.get_or_insert_with(|| fields.clone());
            }
            match (earlier, json) {
                (None, _) => {}
                (Some(_), _) if was_left => {}
                (Some(earlier), Some(json)) => earlier.push_raw(name, json),
                (Some(earlier), None) => earlier.push_text(name, value),
            }
        }
    }
}

/// A value of a row; none for null.
fn value_of(cell: CsvCell<'_>, table: CsvOptions) -> Option<CsvValue<'_>> {
    let is_plain = !cell.is_quoted;
    match cell.text() {
        value if is_plain && table.nulls && value.is_empty() => None,
        // A value without quotes stands in the row as it is.
        Cow::Borrowed(spelled) if is_plain && table.numbers && is_number(spelled) => {
            Some(CsvValue::Number(spelled))
        }
        text => Some(CsvValue::Text(text)),
    }
}

fn utf8(row: &[u8]) -> Result<&str, RejectReason> {
    std::str::from_utf8(row).map_err(|error| RejectReason::NotUtf8(byte_len(error.valid_up_to())))
}

/// Whether the first releases took a number for one: a whole one of at most 64 bits, or a double.
fn is_within_64_bits(number: &str) -> bool {
    let is_whole = is_whole(number.strip_prefix('-').unwrap_or(number).as_bytes());
    match is_whole {
        true => number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok(),
        false => number.parse::<f64>().is_ok_and(f64::is_finite),
    }
}

/// The names of columns: one without a name has its number.
fn names(cells: &[CsvCell<'_>]) -> Vec<String> {
    let given = cells.iter().enumerate().map(|(at, cell)| match cell.text() {
        name if name.is_empty() => format!("column_{}", at + 1),
        name => name.into_owned(),
    });
    distinct_names(given)
}

/// Distinct names for the columns of a table: a name that was there has the number of its column behind it, from 1.
pub(super) fn distinct_names(given: impl Iterator<Item = String>) -> Vec<String> {
    let (mut names, mut taken) = (Vec::new(), BTreeSet::new());
    for (at, given) in given.enumerate() {
        let mut name = given.clone();
        for number in at + 1.. {
            if taken.insert(name.clone()) {
                break;
            }
            name = format!("{given}_{number}");
        }
        names.push(name);
    }
    names
}
