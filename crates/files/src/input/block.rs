//! The interface of formats that are read from a stream of bytes: it gives undecoded records one by one.

use super::csv_header::CsvHeader;
use super::csv_rows::CsvOddities;
use super::error::ReadError;
use super::item::{ReadItem, SkippedContent};
use super::stream::ByteStream;
use model::{RecordOrigin, Reject, RejectReason};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the next item stands, but for its position.
#[derive(Clone, Debug)]
pub(super) struct RecordPlace {
    pub(super) path: Arc<PathBuf>,
    /// Items before it.
    pub(super) number: u64,
}

/// An undecoded record that a reader cut out of an input. Its bytes are those of the reader, until the next record is
/// read.
pub enum RawRecord<'s> {
    /// A record that is read already, but for the form of its fields: a text, a row of a table, a record of a program.
    Read(Box<ReadItem>),
    /// A JSON object.
    Json {
        /// Its bytes.
        object: Cow<'s, [u8]>,
        /// The field of its text; none: it stays whole.
        text: Option<Arc<str>>,
        /// The object may stand on several lines.
        is_spread: bool,
        /// Where it stands.
        origin: RecordOrigin,
    },
    /// A row of separated values.
    Csv {
        /// Its bytes, without the line end.
        row: Cow<'s, [u8]>,
        /// The line that it begins on, counted from 1.
        line: u64,
        /// The row of names.
        header: Arc<CsvHeader>,
        /// Where it stands.
        origin: RecordOrigin,
    },
}

impl From<ReadItem> for RawRecord<'_> {
    fn from(item: ReadItem) -> Self {
        Self::Read(Box::new(item))
    }
}

impl RawRecord<'_> {
    /// This record with bytes of its own.
    #[must_use]
    pub fn into_owned(self) -> RawRecord<'static> {
        let owned = |bytes: Cow<'_, [u8]>| Cow::Owned(bytes.into_owned());
        match self {
            Self::Read(item) => RawRecord::Read(item),
            Self::Json { object, text, is_spread, origin } => {
                RawRecord::Json { object: owned(object), text, is_spread, origin }
            }
            Self::Csv { row, line, header, origin } => {
                RawRecord::Csv { row: owned(row), line, header, origin }
            }
        }
    }

    /// Why its whole file is neither records nor a text, where it says so.
    #[must_use]
    pub fn not_text(&self) -> Option<&str> {
        match self {
            Self::Read(item) => match item.as_ref() {
                ReadItem::Reject(Reject { reason: RejectReason::NotText(why), .. }) => Some(why),
                ReadItem::Reject(_) | ReadItem::Record(_) => None,
            },
            Self::Json { .. } | Self::Csv { .. } => None,
        }
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Read(item) => match item.as_ref() {
                ReadItem::Record(record) => record.text.len() + record.metadata.len(),
                ReadItem::Reject(reject) => reject.raw.len(),
            },
            Self::Json { object, .. } => object.len(),
            Self::Csv { row, .. } => row.len(),
        }
    }
}

/// Records of a stream. Between two of them nothing is remembered but what the stream's beginning says again: who skips
/// the same bytes stands at the same place.
pub(super) trait FormatReader: Send {
    /// What stands next, undecoded; none at the end.
    fn next<'s>(
        &mut self,
        stream: &'s mut ByteStream,
        place: RecordPlace,
    ) -> Result<Option<RawRecord<'s>>, ReadError>;

    /// Skips what stands next without making a record of it; says whether there was something.
    fn skip(&mut self, stream: &mut ByteStream, place: RecordPlace) -> Result<bool, ReadError> {
        Ok(self.next(stream, place)?.is_some())
    }

    /// Where a later reading continues that finds more behind the end; none: at the end.
    fn end(&self, _stream: &ByteStream) -> Option<(u64, [u8; 32])> {
        None
    }

    /// Names of its columns; of a table only the requested ones.
    fn columns(&self) -> &[String] {
        &[]
    }

    /// Whether the stream is one document.
    fn is_single(&self) -> bool {
        false
    }

    /// Whether the document that the stream is begins as an HTML page.
    fn is_page(&self) -> bool {
        false
    }

    /// Content that was neither a document nor a reject since the last call.
    fn take_passed(&mut self) -> SkippedContent {
        SkippedContent::default()
    }

    /// Rows and quotes of a table that may be meant otherwise, since the last call.
    fn take_oddities(&mut self) -> CsvOddities {
        CsvOddities::default()
    }
}

impl RecordPlace {
    /// With its position.
    pub(super) fn at(self, offset: u64) -> RecordOrigin {
        RecordOrigin { path: self.path, number: self.number, offset }
    }

    /// The path, for errors.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
