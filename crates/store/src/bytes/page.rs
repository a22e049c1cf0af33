//! String pages: texts, keys or metadata of documents that follow each other, compressed together.
//!
//! ```text
//! form u8 = 1 | codec u8 | documents u16, less 1 | raw bytes u32 | stored bytes u32 | check u32
//! | lengths: a block of numbers, null where a document has no value
//! | of keys only, least and most: length u8, bit 7 where the key is cut | at most 32 bytes
//! | body: the values end to end, as the codec says: 0 plain, 1 zstd 3, 2 lz4
//! ```
//!
//! The check is the low half of xxh3 of all other bytes. A head is read without the body: it says what has a value and
//! how long that is, and its numbers are held against each other. The check is verified when the body is decoded.

use crate::bytes::cursor::ByteCursor;
use crate::bytes::number_block::{NumberBlock, NumberBlockRef};
use crate::error::{DecodeError, StoreError};
use model::invariant::part;
use xxhash_rust::xxh3::Xxh3Default;
use zstd::bulk::{Compressor, Decompressor};

const FORM: u8 = 1;
/// Where the check stands.
const CHECK: usize = 12;
/// Bytes before the lengths.
const HEAD: usize = 16;
/// Past level 3 zstd spends twice the time for some 3 % less.
const LEVEL: i32 = 3;
/// Bytes of the least and of the most key that a head has.
const BOUND: usize = 32;
const CUT: u8 = 0x80;
/// Documents of a page, which their number in the head has room for.
const MOST_DOCUMENTS: usize = 1 << 16;

/// Pages with more values are of short texts, and lz4: a search takes half as long as with zstd, at a third more bytes.
/// Fewer values are long ones, of which lz4 would make half as many bytes again.
pub(crate) const SHORT: usize = 8;

/// What the values of a string page are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StringColumn {
    /// Texts.
    Text,
    /// Keys. Their pages say the least and the most.
    Key,
    /// Metadata: a JSON object each.
    Metadata,
}

impl StringColumn {
    /// How a page of so many values is compressed. Keys are alike, and zstd halves what lz4 leaves.
    #[must_use]
    pub const fn codec(self, values: usize) -> PageCodec {
        match self {
            Self::Text | Self::Metadata if values > SHORT => PageCodec::Lz4,
            _ => PageCodec::Zstd,
        }
    }
}

/// How the body of a string page is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCodec {
    /// As it is: what does not become smaller.
    Plain = 0,
    /// A zstd frame of level 3.
    Zstd = 1,
    /// An lz4 block.
    Lz4 = 2,
}

impl PageCodec {
    fn read(byte: u8) -> Option<Self> {
        [Self::Plain, Self::Zstd, Self::Lz4].into_iter().find(|codec| *codec as u8 == byte)
    }

    /// Whether `stored` bytes can be `raw` bytes. A length that is wrong must not ask for memory: four bytes of zstd make
    /// 128 KiB at most, one of lz4 makes 255.
    fn can_be(self, stored: usize, raw: usize) -> bool {
        let times = match self {
            Self::Plain => return stored == raw,
            Self::Zstd => 1 << 15,
            Self::Lz4 => 255,
        };
        stored < raw && raw <= stored.saturating_mul(times)
    }
}

/// The low half of xxh3 of a page but for its check, the four bytes at `at`.
pub(crate) fn check_of(page: &[u8], at: usize) -> u32 {
    let mut sum = Xxh3Default::new();
    sum.update(page.get(..at).unwrap_or_default());
    sum.update(page.get(at + 4..).unwrap_or_default());
    sum.digest() as u32
}

/// Writes the check of a page into its place.
pub(crate) fn put_check(page: &mut [u8], at: usize) {
    let check = check_of(page, at).to_le_bytes();
    if let Some(place) = page.get_mut(at..at + 4) {
        place.copy_from_slice(&check);
    }
}

/// Holds a page against its check.
pub(crate) fn verify(page: &[u8], at: usize) -> Result<(), DecodeError> {
    if page.get(at..at + 4) == Some(&check_of(page, at).to_le_bytes()) {
        Ok(())
    } else {
        Err(DecodeError::at(at, "the check of the page does not match"))
    }
}

/// Number of documents of a page, less 1.
pub(crate) fn documents_less_one(documents: usize) -> Result<u16, StoreError> {
    let less_one = documents.checked_sub(1).and_then(|less| u16::try_from(less).ok());
    less_one.ok_or_else(|| failed(format!("{documents} documents, not 1 to {MOST_DOCUMENTS}")))
}

/// Documents of a page of any kind; none where it has no head.
pub(crate) fn documents_of(page: &[u8]) -> Option<u64> {
    let [_, _, low, high, ..] = page else { return None };
    Some(u64::from(u16::from_le_bytes([*low, *high])) + 1)
}

pub(crate) fn failed(why: impl ToString) -> StoreError {
    StoreError::Encode { what: "page", why: why.to_string() }
}

/// Encodes string pages; has the memory that compression takes, so that many are made with one.
pub struct PageEncoder {
    zstd: Compressor<'static>,
    raw: Vec<u8>,
}

impl PageEncoder {
    /// An encoder.
    ///
    /// # Errors
    /// [`StoreError::Encode`] when there is no memory for it.
    pub fn new() -> Result<Self, StoreError> {
        Ok(Self { zstd: Compressor::new(LEVEL).map_err(failed)?, raw: Vec::new() })
    }

    /// The page of `values`, one a document, in the codec of its column.
    ///
    /// # Errors
    /// [`StoreError::Encode`] for no document, more than 65,536, and values of 4 GiB together.
    pub fn encode(
        &mut self,
        column: StringColumn,
        values: &[Option<&[u8]>],
    ) -> Result<Vec<u8>, StoreError> {
        self.encode_as(column.codec(values.iter().flatten().count()), column, values)
    }

    /// The page in a codec that is named, or plain, if that is not longer.
    ///
    /// # Errors
    /// As [`PageEncoder::encode`].
    pub fn encode_as(
        &mut self,
        codec: PageCodec,
        column: StringColumn,
        values: &[Option<&[u8]>],
    ) -> Result<Vec<u8>, StoreError> {
        let documents = documents_less_one(values.len())?;
        let length: usize = values.iter().flatten().map(|value| value.len()).sum();
        let length =
            u32::try_from(length).map_err(|_| failed(format!("{length} bytes, over 4 GiB")))?;
        self.raw.clear();
        values.iter().flatten().for_each(|value| self.raw.extend_from_slice(value));
        let frame = match codec {
            PageCodec::Plain => None,
            PageCodec::Zstd => Some(self.zstd.compress(&self.raw).map_err(failed)?),
            PageCodec::Lz4 => Some(lz4_flex::block::compress(&self.raw)),
        };
        let (codec, body) = match &frame {
            Some(frame) if frame.len() < self.raw.len() => (codec, frame),
            _ => (PageCodec::Plain, &self.raw),
        };
        let lengths = values.iter().map(|value| value.map(|value| value.len() as i64));
        let lengths = NumberBlock::of(lengths).encode();
        let mut page = Vec::with_capacity(HEAD + lengths.len() + 2 * (1 + BOUND) + body.len());
        page.extend([FORM, codec as u8]);
        page.extend(documents.to_le_bytes());
        page.extend(length.to_le_bytes());
        // No longer than the values.
        page.extend((body.len() as u32).to_le_bytes());
        page.extend([0; HEAD - CHECK]);
        page.extend(lengths);
        if column == StringColumn::Key {
            for bound in [values.iter().flatten().min(), values.iter().flatten().max()] {
                put_bound(bound.copied().unwrap_or_default(), &mut page);
            }
        }
        page.extend_from_slice(body);
        put_check(&mut page, CHECK);
        Ok(page)
    }
}

/// The least or the most key of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBound<'a> {
    /// Its first 32 bytes.
    pub bytes: &'a [u8],
    /// Whether it has more.
    pub is_cut: bool,
}

fn put_bound(key: &[u8], page: &mut Vec<u8>) {
    let bytes = part(key, ..key.len().min(BOUND));
    page.push(bytes.len() as u8 | if bytes.len() < key.len() { CUT } else { 0 });
    page.extend_from_slice(bytes);
}

fn read_bound<'a>(cursor: &mut ByteCursor<'a>) -> Result<KeyBound<'a>, DecodeError> {
    let (at, length) = (cursor.offset(), cursor.u8()?);
    let (is_cut, length) = (length & CUT != 0, usize::from(length & !CUT));
    if length > BOUND || is_cut && length < BOUND {
        return Err(DecodeError::at(at, format!("a bound of {length} bytes")));
    }
    Ok(KeyBound { bytes: cursor.take(length)?, is_cut })
}

/// The head of a string page, and its body as it is stored.
#[derive(Clone, Copy, Debug)]
pub struct StringPage<'a> {
    page: &'a [u8],
    codec: PageCodec,
    documents: usize,
    raw: usize,
    lengths: NumberBlockRef<'a>,
    bounds: Option<(KeyBound<'a>, KeyBound<'a>)>,
    body: &'a [u8],
}

impl<'a> StringPage<'a> {
    /// Reads the head of a page, and takes no memory for it.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that are no page, and where its numbers do not agree.
    pub fn read(column: StringColumn, page: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(page);
        let form = cursor.u8()?;
        if form != FORM {
            return Err(DecodeError::at(0, format!("form {form} of a page, not {FORM}")));
        }
        let codec = cursor.u8()?;
        let codec = PageCodec::read(codec)
            .ok_or_else(|| DecodeError::at(1, format!("codec {codec} of a page")))?;
        let documents = usize::from(cursor.u16()?) + 1;
        let (raw, stored) = (cursor.u32()? as usize, cursor.u32()? as usize);
        cursor.take(HEAD - CHECK)?;
        let lengths = NumberBlockRef::read_next(&mut cursor)?;
        if lengths.len() > documents {
            let why = format!("{} lengths of {documents} documents", lengths.len());
            return Err(DecodeError::at(HEAD, why));
        }
        let (mut sum, mut values) = (Some(0_u64), false);
        lengths.for_each(|length| {
            if let Some(length) = length {
                values = true;
                sum = sum.and_then(|sum| sum.checked_add(u64::try_from(length).ok()?));
            }
        });
        if sum != Some(raw as u64) {
            return Err(DecodeError::at(4, format!("{raw} bytes, and lengths of other values")));
        }
        let bounds = match column {
            StringColumn::Key => Some((read_bound(&mut cursor)?, read_bound(&mut cursor)?)),
            StringColumn::Text | StringColumn::Metadata => None,
        };
        if bounds.is_some_and(|(least, most)| least.bytes > most.bytes) {
            return Err(DecodeError::at(cursor.offset(), "the least key is above the most"));
        }
        let at = cursor.offset();
        let body = cursor.rest();
        if body.len() != stored || !codec.can_be(stored, raw) {
            let why = format!("{stored} bytes of {codec:?} said for {raw}, {} there", body.len());
            return Err(DecodeError::at(at, why));
        }
        let bounds = bounds.filter(|_| values);
        Ok(Self { page, codec, documents, raw, lengths, bounds, body })
    }

    /// Reads a page that is to be read as a whole: verifies its check.
    ///
    /// # Errors
    /// [`DecodeError`] for bytes that are no page, and for a damaged one.
    pub fn read_whole(column: StringColumn, page: &'a [u8]) -> Result<Self, DecodeError> {
        let head = Self::read(column, page)?;
        verify(page, CHECK)?;
        Ok(head)
    }

    /// Documents of the page, with a value or without.
    #[must_use]
    pub const fn documents(&self) -> usize {
        self.documents
    }

    /// Bytes of the value of each document; null where it has none, and where the block ends before the documents do.
    #[must_use]
    pub const fn lengths(&self) -> NumberBlockRef<'a> {
        self.lengths
    }

    /// Bytes of all values.
    #[must_use]
    pub const fn raw_bytes(&self) -> usize {
        self.raw
    }

    /// How the body is stored.
    #[must_use]
    pub const fn codec(&self) -> PageCodec {
        self.codec
    }

    /// The least and the most key, by their bytes; none where no document has one, and of other columns.
    #[must_use]
    pub const fn bounds(&self) -> Option<(KeyBound<'a>, KeyBound<'a>)> {
        self.bounds
    }

    /// Verifies the check and decodes the body.
    ///
    /// # Errors
    /// [`DecodeError`] where the page is damaged.
    pub fn body(&self, decoder: &mut PageDecoder) -> Result<StringPageBody, DecodeError> {
        verify(self.page, CHECK)?;
        let damaged = |why: String| DecodeError::at(self.page.len() - self.body.len(), why);
        let bytes = match self.codec {
            PageCodec::Plain => self.body.to_vec(),
            PageCodec::Zstd => {
                let decoded = decoder.zstd.decompress(self.body, self.raw);
                decoded.map_err(|error| damaged(error.to_string()))?
            }
            PageCodec::Lz4 => {
                let mut bytes = vec![0; self.raw];
                let decoded = lz4_flex::block::decompress_into(self.body, &mut bytes);
                bytes.truncate(decoded.map_err(|error| damaged(error.to_string()))?);
                bytes
            }
        };
        if bytes.len() != self.raw {
            return Err(damaged(format!("{} bytes decoded, not {}", bytes.len(), self.raw)));
        }
        let (mut ends, mut end) = (Vec::with_capacity(self.documents), 0_u32);
        self.lengths.for_each(|length| {
            // Their sum is the raw bytes, which is a u32.
            end += length.unwrap_or(0) as u32;
            ends.push(end);
        });
        ends.resize(self.documents, end);
        Ok(StringPageBody { bytes, ends, present: self.lengths.bits_present() })
    }
}

/// Decodes bodies of string pages; has the memory that this takes, so that many are decoded with one.
pub struct PageDecoder {
    zstd: Decompressor<'static>,
}

impl PageDecoder {
    /// A decoder.
    ///
    /// # Errors
    /// [`StoreError::Encode`] when there is no memory for it.
    pub fn new() -> Result<Self, StoreError> {
        Ok(Self { zstd: Decompressor::new().map_err(failed)? })
    }
}

/// The values of a string page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StringPageBody {
    bytes: Vec<u8>,
    /// The end of each document's value.
    ends: Vec<u32>,
    /// One bit a document, lowest first: whether it has a value; those behind the last bit have none.
    present: Vec<u8>,
}

impl StringPageBody {
    /// The value of a document, counted from the first of the page; none where it has none.
    #[must_use]
    pub fn get(&self, slot: u16) -> Option<&[u8]> {
        let slot = usize::from(slot);
        if self.present.get(slot / 8)? >> (slot % 8) & 1 == 0 {
            return None;
        }
        let start = slot.checked_sub(1).map_or(Some(&0), |before| self.ends.get(before))?;
        self.bytes.get(*start as usize..*self.ends.get(slot)? as usize)
    }

    /// All values end to end, so that one search finds what is in any.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Bytes that it takes in memory.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len() + size_of_val(self.ends.as_slice()) + self.present.len()
    }

    /// The end of the value of each document in [`StringPageBody::bytes`]; where it has none, the end of the one before.
    #[must_use]
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
