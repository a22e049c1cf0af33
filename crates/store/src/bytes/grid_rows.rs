//! What grid pages have of documents: places, prints, sketches, and token ids.

use crate::bytes::grid_page::{GridColumn, GridPage, encode};
use crate::bytes::number_block::NumberBlockRef;
use crate::bytes::page::failed;
use crate::error::{DecodeError, StoreError};
use model::{DocId, FileId, SourceId, text_hash};
use std::ops::{Range, RangeInclusive};

/// Where a document was read, and whose text it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentPlace {
    /// The source of the document.
    pub source: SourceId,
    /// The file it was read from.
    pub file: FileId,
    /// Records before it in that file.
    pub number: u64,
    /// blake3-128 of text and metadata together.
    pub content: [u8; 16],
    /// The earlier document that stores the same text and sketch, when this one does not.
    pub text_of: Option<DocId>,
}

impl DocumentPlace {
    /// The document whose rows hold this one's text and sketch.
    #[must_use]
    pub fn text_owner(&self, own: DocId) -> DocId {
        self.text_of.unwrap_or(own)
    }
}

/// The hashes and sizes of a text, by which dedup compares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentPrint {
    /// blake3-128 of the text.
    pub raw: [u8; 16],
    /// blake3-128 of the normalised text; zeros where it is not stored.
    pub normalised: [u8; 16],
    /// Tokens after normalisation.
    pub words: u32,
    /// Distinct shingles.
    pub shingles: u32,
}

impl DocumentPrint {
    /// Whether it is of a text of no bytes, as that of a purged document is.
    #[must_use]
    pub fn is_of_empty_text(&self) -> bool {
        self.raw == text_hash("")
    }
}

/// A document's part of a grid page.
pub trait GridRow: Sized {
    /// Documents of a whole page.
    const DOCUMENTS: usize;

    /// The page of `rows`, the first of the document at the beginning of the grid.
    ///
    /// # Errors
    /// [`StoreError::Encode`] for no row, and more than a page has.
    fn page(rows: &[Self]) -> Result<Vec<u8>, StoreError>;

    /// The row of the document `slot` of a page, read in place.
    ///
    /// # Errors
    /// [`DecodeError`] where the page has no such row, or its numbers do not agree.
    fn at(page: &GridPage<'_>, slot: u16) -> Result<Self, DecodeError>;

    /// All rows of a page, whose check is verified.
    ///
    /// # Errors
    /// [`DecodeError`] for a damaged page.
    fn all(page: &[u8]) -> Result<Vec<Self>, DecodeError> {
        let page = GridPage::read_whole(page)?;
        slots(&page).map(|slot| Self::at(&page, slot)).collect()
    }
}

/// The documents of a page, which are 65,536 at most.
fn slots(page: &GridPage<'_>) -> RangeInclusive<u16> {
    0..=(page.documents() - 1) as u16
}

fn refuse_more(rows: usize, than: usize) -> Result<(), StoreError> {
    match rows > than {
        true => Err(failed(format!("{rows} documents in a page of {than}"))),
        false => Ok(()),
    }
}

impl GridRow for DocumentPlace {
    const DOCUMENTS: usize = 256;

    fn page(rows: &[Self]) -> Result<Vec<u8>, StoreError> {
        refuse_more(rows.len(), Self::DOCUMENTS)?;
        let numbers =
            |of: fn(&Self) -> i64| GridColumn::numbers(rows.iter().map(|row| Some(of(row))));
        let owners = rows.iter().map(|row| Some(row.text_of?.0.cast_signed()));
        let columns = vec![
            numbers(|row| row.source.0.into()),
            numbers(|row| row.file.0.into()),
            numbers(|row| row.number.cast_signed()),
            GridColumn::numbers(owners),
            GridColumn::Fixed(16, rows.iter().flat_map(|row| row.content).collect()),
        ];
        encode(rows.len(), columns)
    }

    fn at(page: &GridPage<'_>, slot: u16) -> Result<Self, DecodeError> {
        Ok(Self {
            source: SourceId(page.number(0, slot)?),
            file: FileId(page.number(1, slot)?),
            number: page.number::<i64>(2, slot)?.cast_unsigned(),
            text_of: page.numbers(3)?.get(slot).map(|owner| DocId(owner.cast_unsigned())),
            content: page.array(4, slot)?,
        })
    }
}

impl GridRow for DocumentPrint {
    const DOCUMENTS: usize = 512;

    /// The column of normalised texts is left out where no row has one.
    fn page(rows: &[Self]) -> Result<Vec<u8>, StoreError> {
        refuse_more(rows.len(), Self::DOCUMENTS)?;
        let mut columns = vec![
            GridColumn::numbers(rows.iter().map(|row| Some(row.words.into()))),
            GridColumn::numbers(rows.iter().map(|row| Some(row.shingles.into()))),
            GridColumn::Fixed(16, rows.iter().flat_map(|row| row.raw).collect()),
        ];
        if rows.iter().any(|row| row.normalised != [0; 16]) {
            columns
                .push(GridColumn::Fixed(16, rows.iter().flat_map(|row| row.normalised).collect()));
        }
        encode(rows.len(), columns)
    }

    fn at(page: &GridPage<'_>, slot: u16) -> Result<Self, DecodeError> {
        Ok(Self {
            words: page.number(0, slot)?,
            shingles: page.number(1, slot)?,
            raw: page.array(2, slot)?,
            normalised: if page.columns() > 3 { page.array(3, slot)? } else { [0; 16] },
        })
    }
}

/// Bytes of the sketches of a page.
const SKETCHES: usize = 16 << 10;

/// Documents of a page of sketches of `width` bytes.
#[must_use]
pub const fn sketches_of_page(width: u16) -> usize {
    match SKETCHES.checked_div(width as usize) {
        None | Some(0) => 1,
        Some(documents) => documents,
    }
}

/// The page of sketches of `width` bytes; none where a document has no sketch of its own. Those that there are stand end
/// to end, and a column of numbers says which is whose.
///
/// # Errors
/// [`StoreError::Encode`] for no document, more than a page has, and a sketch of another width.
pub fn sketch_page(width: u16, sketches: &[Option<&[u8]>]) -> Result<Vec<u8>, StoreError> {
    refuse_more(sketches.len(), sketches_of_page(width))?;
    if let Some(other) = sketches.iter().flatten().find(|it| it.len() != usize::from(width)) {
        return Err(failed(format!("a sketch of {} bytes, not {width}", other.len())));
    }
    let mut places = 0..;
    let places = sketches.iter().map(|sketch| sketch.and_then(|_| places.next()));
    let places = GridColumn::numbers(places.collect::<Vec<_>>());
    let bytes = sketches.iter().flatten().copied().collect::<Vec<_>>().concat();
    encode(sketches.len(), vec![places, GridColumn::Fixed(width, bytes)])
}

/// The sketch of a document, read in place; none where it has none of its own.
///
/// # Errors
/// [`DecodeError`] where the page has no such document, or its numbers do not agree.
pub fn sketch_at<'a>(
    page: &GridPage<'a>,
    width: u16,
    slot: u16,
) -> Result<Option<&'a [u8]>, DecodeError> {
    let (places, width) = (page.numbers(0)?, usize::from(width));
    let sketches = page.values(1, width)?;
    if usize::from(slot) >= page.documents() {
        return Err(DecodeError::at(0, format!("document {slot} of {}", page.documents())));
    }
    let Some(place) = places.get(slot) else { return Ok(None) };
    let from = usize::try_from(place).ok().and_then(|place| place.checked_mul(width));
    let sketch = from.and_then(|from| sketches.get(from..from.checked_add(width)?));
    let missing = || DecodeError::at(0, format!("no sketch {place} of document {slot}"));
    sketch.map(Some).ok_or_else(missing)
}

/// Documents of a page of token ids.
pub const IDS_DOCUMENTS: usize = 16;
/// Bytes of ids of a piece, where those of the documents are longer.
const PIECE: usize = 64 << 10;

/// The pieces of the page of token ids, which are of two bytes or of four; none where a document has none here. The first
/// has the lengths, too.
///
/// # Errors
/// [`StoreError::Encode`] for no document, more than a page has, and bytes that are not of whole ids.
pub fn id_pieces(wide: bool, ids: &[Option<&[u8]>]) -> Result<Vec<Vec<u8>>, StoreError> {
    refuse_more(ids.len(), IDS_DOCUMENTS)?;
    let width = width_of_ids(wide);
    if let Some(ids) = ids.iter().flatten().find(|ids| !ids.len().is_multiple_of(width.into())) {
        return Err(failed(format!("{} bytes of ids of {width}", ids.len())));
    }
    let lengths = ids.iter().map(|ids| ids.map(|ids| (ids.len() / usize::from(width)) as i64));
    let bytes = ids.iter().flatten().copied().collect::<Vec<_>>().concat();
    let mut pieces = bytes.chunks(PIECE);
    let first = pieces.next().unwrap_or_default().to_vec();
    let first = vec![GridColumn::numbers(lengths), GridColumn::Fixed(width, first)];
    let rest = pieces.map(|piece| vec![GridColumn::Fixed(width, piece.to_vec())]);
    std::iter::once(first).chain(rest).map(|columns| encode(ids.len(), columns)).collect()
}

const fn width_of_ids(wide: bool) -> u16 {
    if wide { 4 } else { 2 }
}

/// The first piece of a page of token ids.
#[derive(Clone, Copy, Debug)]
pub struct IdPage<'a> {
    lengths: NumberBlockRef<'a>,
    width: usize,
}

impl<'a> IdPage<'a> {
    /// Reads the lengths of the ids of each document.
    ///
    /// # Errors
    /// [`DecodeError`] where the page has none, or they are more than memory can have.
    pub fn read(page: &GridPage<'a>, wide: bool) -> Result<Self, DecodeError> {
        let (lengths, width) = (page.numbers(0)?, usize::from(width_of_ids(wide)));
        let mut sum = Some(0_usize);
        lengths.for_each(|length| {
            let length = usize::try_from(length.unwrap_or(0)).ok();
            sum = sum.zip(length).and_then(|(sum, length)| sum.checked_add(length));
        });
        let here = page.values(1, width)?.len();
        match sum.and_then(|sum| sum.checked_mul(width)) {
            Some(bytes) if here == bytes.min(PIECE) => Ok(Self { lengths, width }),
            _ => Err(DecodeError::at(0, format!("{here} bytes of ids, and other lengths"))),
        }
    }

    /// Where the ids of a document stand in those of all, in bytes; none where it has none here.
    #[must_use]
    pub fn range(&self, slot: u16) -> Option<Range<usize>> {
        let length = |slot| self.lengths.get(slot).map(|length| length as usize * self.width);
        let start = (0..slot).filter_map(length).sum::<usize>();
        Some(start..start + length(slot)?)
    }

    /// The pieces that bytes of the ids stand in.
    #[must_use]
    pub const fn pieces(range: &Range<usize>) -> Range<usize> {
        range.start / PIECE..range.end.div_ceil(PIECE)
    }
}

/// The bytes of `range` that the piece `number` has.
///
/// # Errors
/// [`DecodeError`] where they are not in it.
pub fn ids_of_piece<'a>(
    page: &GridPage<'a>,
    wide: bool,
    number: usize,
    range: &Range<usize>,
) -> Result<&'a [u8], DecodeError> {
    let bytes = page.values(usize::from(number == 0), width_of_ids(wide).into())?;
    let first = number.saturating_mul(PIECE);
    let from = range.start.saturating_sub(first);
    let end = range.end.saturating_sub(first).min(PIECE);
    bytes.get(from..end).ok_or_else(|| {
        let why = format!("bytes {from} to {end} of {} in piece {number}", bytes.len());
        DecodeError::at(0, why)
    })
}

#[cfg(test)]
#[path = "grid_tests.rs"]
mod tests;
