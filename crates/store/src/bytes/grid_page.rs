//! Grid pages: columns of a fixed number of documents, of which one value is read in place.
//!
//! ```text
//! form u8 = 1 | columns u8 | documents u16, less 1 | check u32
//! | of each column: width u16, 0 for a block of numbers | bytes u32
//! | the columns end to end
//! ```
//!
//! A page is of the documents from a multiple of its size on, and a function of these alone: a short last page is written
//! again when documents join it. The check, the low half of xxh3 of all other bytes, is verified where a page is read as a
//! whole, and not where one value is: that reads some hundred bytes of 16 KiB.

use crate::bytes::number_block::{NumberBlock, NumberBlockRef};
use crate::bytes::page::{documents_less_one, failed, put_check, verify};
use crate::error::{DecodeError, StoreError};

const FORM: u8 = 1;
/// Where the check stands.
const CHECK: usize = 4;
/// Bytes before the widths and sizes of the columns.
const HEAD: usize = 8;

/// A column of a grid page, to be stored.
pub(crate) enum GridColumn {
    /// A number of each document, or null.
    Numbers(NumberBlock),
    /// Values of a width of 1 and more, end to end: one of each document, if the page does not say otherwise.
    Fixed(u16, Vec<u8>),
}

impl GridColumn {
    /// The numbers of documents.
    pub(crate) fn numbers(values: impl IntoIterator<Item = Option<i64>>) -> Self {
        Self::Numbers(NumberBlock::of(values))
    }
}

/// The page of so many documents.
pub(crate) fn encode(documents: usize, columns: Vec<GridColumn>) -> Result<Vec<u8>, StoreError> {
    let documents = documents_less_one(documents)?;
    let count = u8::try_from(columns.len()).map_err(failed)?;
    let mut page = vec![FORM, count];
    page.extend(documents.to_le_bytes());
    page.extend([0; HEAD - CHECK]);
    let mut bodies = Vec::new();
    for column in columns {
        let (width, mut body) = match column {
            GridColumn::Numbers(block) => (0, block.encode()),
            GridColumn::Fixed(width, bytes) => (width, bytes),
        };
        page.extend(width.to_le_bytes());
        page.extend(u32::try_from(body.len()).map_err(failed)?.to_le_bytes());
        bodies.append(&mut body);
    }
    page.append(&mut bodies);
    put_check(&mut page, CHECK);
    Ok(page)
}

/// A grid page as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct GridPage<'a> {
    documents: usize,
    /// Width and size of each column.
    directory: &'a [[u8; 6]],
    /// The columns end to end.
    body: &'a [u8],
}

impl<'a> GridPage<'a> {
    /// Reads the head of a page, and takes no memory for it. The check is not verified.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that are no page, and where its sizes do not agree.
    pub fn read(page: &'a [u8]) -> Result<Self, DecodeError> {
        let Some(([form, count, low, high, ..], rest)) = page.split_first_chunk::<HEAD>() else {
            return Err(DecodeError::at(page.len(), "a page without a head"));
        };
        if *form != FORM {
            return Err(DecodeError::at(0, format!("form {form} of a page, not {FORM}")));
        }
        let documents = usize::from(u16::from_le_bytes([*low, *high])) + 1;
        let Some((directory, columns)) = rest.split_at_checked(usize::from(*count) * 6) else {
            return Err(DecodeError::at(1, format!("{count} columns of a page of {}", page.len())));
        };
        let directory = directory.as_chunks().0;
        let sum: u64 = directory.iter().map(|column| u64::from(size(*column))).sum();
        if sum != columns.len() as u64 {
            let why = format!("{sum} bytes of columns said, {} there", columns.len());
            return Err(DecodeError::at(HEAD, why));
        }
        Ok(Self { documents, directory, body: columns })
    }

    /// Reads a page that is to be read as a whole: verifies its check.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that are no page, and for a damaged one.
    pub fn read_whole(page: &'a [u8]) -> Result<Self, DecodeError> {
        let head = Self::read(page)?;
        verify(page, CHECK)?;
        Ok(head)
    }

    /// Documents of the page.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.documents
    }

    /// Columns of the page.
    pub(crate) const fn columns(&self) -> usize {
        self.directory.len()
    }

    fn damaged(&self, column: usize, why: impl Into<String>) -> DecodeError {
        let before = self.directory.iter().take(column).map(|column| size(*column) as usize);
        DecodeError::at(HEAD + self.directory.len() * 6 + before.sum::<usize>(), why)
    }

    /// The width of a column, and its bytes.
    fn column(&self, column: usize) -> Result<(usize, &'a [u8]), DecodeError> {
        let mut from = 0;
        for (at, entry) in self.directory.iter().enumerate() {
            let end = from + size(*entry) as usize;
            if at == column {
                let width = usize::from(u16::from_le_bytes([entry[0], entry[1]]));
                // Their sum is the length of the columns.
                return Ok((width, self.body.get(from..end).unwrap_or_default()));
            }
            from = end;
        }
        let why = format!("column {column} of {}", self.directory.len());
        Err(DecodeError::at(1, why))
    }

    /// A column of numbers.
    pub(crate) fn numbers(&self, column: usize) -> Result<NumberBlockRef<'a>, DecodeError> {
        let (width, bytes) = self.column(column)?;
        if width != 0 {
            return Err(self.damaged(column, format!("numbers of {width} bytes")));
        }
        let block = NumberBlockRef::read(bytes)
            .map_err(|error| self.damaged(column, format!("{} at {}", error.why, error.offset)))?;
        if block.len() > self.documents {
            let why = format!("{} numbers of {} documents", block.len(), self.documents);
            return Err(self.damaged(column, why));
        }
        Ok(block)
    }

    /// The number of a document that has one always.
    pub(crate) fn number<N: TryFrom<i64>>(
        &self,
        column: usize,
        slot: u16,
    ) -> Result<N, DecodeError> {
        let number = self.numbers(column)?.get(slot).and_then(|number| N::try_from(number).ok());
        number
            .ok_or_else(|| self.damaged(column, format!("no number of document {slot} that fits")))
    }

    /// The bytes of a column of values of a width, however many they are.
    pub(crate) fn values(&self, column: usize, width: usize) -> Result<&'a [u8], DecodeError> {
        let (of, bytes) = self.column(column)?;
        if of != width || width == 0 || !bytes.len().is_multiple_of(width) {
            let why = format!("{} bytes of values of {of}, not {width}", bytes.len());
            return Err(self.damaged(column, why));
        }
        Ok(bytes)
    }

    /// A document's value of a column that has one of each.
    pub(crate) fn value(
        &self,
        column: usize,
        width: usize,
        slot: u16,
    ) -> Result<&'a [u8], DecodeError> {
        let bytes = self.values(column, width)?;
        let from = usize::from(slot) * width;
        match bytes.get(from..from + width) {
            Some(value) if bytes.len() == self.documents * width => Ok(value),
            _ => {
                let why = format!("no value {slot} of {} in {} bytes", self.documents, bytes.len());
                Err(self.damaged(column, why))
            }
        }
    }

    /// A document's value of a width that the program knows.
    pub(crate) fn array<const W: usize>(
        &self,
        column: usize,
        slot: u16,
    ) -> Result<[u8; W], DecodeError> {
        let value = self.value(column, W, slot)?;
        value.try_into().map_err(|_| self.damaged(column, "a short value"))
    }
}

/// Bytes of a column, from its entry in the head.
const fn size([_, _, a, b, c, d]: [u8; 6]) -> u32 {
    u32::from_le_bytes([a, b, c, d])
}
