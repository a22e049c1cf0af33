//! The families of grid pages: where documents were read, their prints and sketches, each read in place.
//!
//! The page of a document has a known key, the first document of it: one look-up, and no search.

use crate::bytes::grid_page::GridPage;
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint, GridRow, sketch_at, sketches_of_page};
use crate::bytes::key::{DocumentKey, StoreKey};
use crate::database::family::{RowKind, StoreFamily, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::{DocId, Policy};
use rocksdb::DBPinnableSlice;
use std::ops::Range;

store_family! {
    /// Where documents were read, and whose texts they have.
    PlacePages = "place_pages", Pages,
    DocumentKey, "first document u64, a multiple of 256"
    => "page of places": GridPage<'v>, |_, bytes| GridPage::read_whole(bytes),
    "grid page of 256 documents: source, file, number, owner of the text, content"
}

store_family! {
    /// Hashes and sizes of texts, by which dedup compares them.
    PrintPages = "print_pages", Pages,
    DocumentKey, "first document u64, a multiple of 512"
    => "page of prints": GridPage<'v>, |_, bytes| GridPage::read_whole(bytes),
    "grid page of 512 documents: words, shingles, raw, normalised"
}

store_family! {
    /// Sketches of documents that store their own text.
    SketchPages = "sketch_pages", Pages,
    DocumentKey, "first document u64, a multiple of 16,384 / bytes of a sketch"
    => "page of sketches": GridPage<'v>, |_, bytes| GridPage::read_whole(bytes),
    "grid page: which sketch is of which document, slots of 8 bits; with the signature `bigcode` u32 LE"
}

/// A family whose pages have one kind of row.
pub(crate) trait GridFamily:
    StoreFamily + for<'v> RowKind<Key = DocumentKey, Value<'v> = GridPage<'v>>
{
    /// What a page has of a document.
    type Row: GridRow;
}

impl GridFamily for PlacePages {
    type Row = DocumentPlace;
}

impl GridFamily for PrintPages {
    type Row = DocumentPrint;
}

/// Bytes of a sketch.
pub(crate) fn sketch_width(policy: &Policy) -> Result<u16, StoreError> {
    let width = policy.sketch_bytes();
    u16::try_from(width).map_err(|_| StoreError::Encode {
        what: "sketch",
        why: format!("{width} bytes, over 65,535"),
    })
}

/// The first document of the page of `size` documents that a document is in, and its place there.
pub(crate) const fn place_in_grid(document: DocId, size: usize) -> (DocId, u16) {
    let slot = document.0 % size as u64;
    (DocId(document.0 - slot), slot as u16)
}

fn missing<F: StoreFamily>(document: DocId) -> StoreError {
    StoreError::Missing { what: F::WHAT, family: F::NAME, key: document.to_string() }
}

/// Reads what a page that begins with a document has of the one in a slot.
fn read_slot<F: StoreFamily, T>(
    bytes: &[u8],
    (first, slot): (DocId, u16),
    read: impl FnOnce(&GridPage<'_>, u16) -> Result<T, DecodeError>,
) -> Result<T, StoreError> {
    let key = DocumentKey { document: first }.to_bytes();
    let corrupt = |why| corrupt_row::<F>(F::WHAT, &key, why);
    let page = GridPage::read(bytes).map_err(corrupt)?;
    if usize::from(slot) >= page.documents() {
        return Err(missing::<F>(DocId(first.0 + u64::from(slot))));
    }
    read(&page, slot).map_err(corrupt)
}

impl View {
    /// The page that begins with a document, as it is stored.
    pub(crate) fn grid_page<F: StoreFamily + RowKind<Key = DocumentKey>>(
        &self,
        first: DocId,
    ) -> Result<Option<DBPinnableSlice<'_>>, StoreError> {
        self.pinned().get::<F>(&DocumentKey { document: first })
    }

    /// Reads a document's part of a page of `size` documents.
    fn in_grid<F: StoreFamily + RowKind<Key = DocumentKey>, T>(
        &self,
        document: DocId,
        size: usize,
        read: impl FnOnce(&GridPage<'_>, u16) -> Result<T, DecodeError>,
    ) -> Result<T, StoreError> {
        let (first, slot) = place_in_grid(document, size);
        let bytes = self.grid_page::<F>(first)?.ok_or_else(|| missing::<F>(document))?;
        read_slot::<F, _>(&bytes, (first, slot), read)
    }

    fn grid_row<F: GridFamily>(&self, document: DocId) -> Result<F::Row, StoreError> {
        self.in_grid::<F, _>(document, F::Row::DOCUMENTS, F::Row::at)
    }

    /// The rows of the page that begins with a document; none: there is no such page.
    pub(crate) fn grid_rows<F: GridFamily>(
        &self,
        first: DocId,
    ) -> Result<Option<Vec<F::Row>>, StoreError> {
        let Some(bytes) = self.grid_page::<F>(first)? else { return Ok(None) };
        let rows = F::Row::all(&bytes);
        let key = DocumentKey { document: first }.to_bytes();
        rows.map(Some).map_err(|why| corrupt_row::<F>(F::WHAT, &key, why))
    }

    /// The rows of a range of documents, ascending; the last that comes may be an error.
    fn grid_range<F: GridFamily>(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, F::Row), StoreError>>, StoreError> {
        self.pinned().family::<F>()?;
        let (mut next, mut rows) = (range.start, Vec::new().into_iter());
        Ok(std::iter::from_fn(move || {
            let document = DocId(next);
            if next >= range.end {
                return None;
            }
            if rows.len() == 0 {
                let (first, slot) = place_in_grid(document, F::Row::DOCUMENTS);
                match self.grid_rows::<F>(first) {
                    Ok(found) => rows = found.unwrap_or_default().into_iter(),
                    Err(error) => {
                        next = range.end;
                        return Some(Err(error));
                    }
                }
                if slot > 0 {
                    rows.nth(usize::from(slot) - 1);
                }
            }
            next += 1;
            let row = rows.next().ok_or_else(|| missing::<F>(document));
            if row.is_err() {
                next = range.end;
            }
            Some(row.map(|row| (document, row)))
        }))
    }

    /// Where a document was read, and whose text it has.
    ///
    /// # Errors
    /// [`StoreError`] when the page is absent or cannot be read.
    pub fn place(&self, document: DocId) -> Result<DocumentPlace, StoreError> {
        self.grid_row::<PlacePages>(document)
    }

    /// The hashes and sizes of a document.
    ///
    /// # Errors
    /// As [`View::place`].
    pub fn print(&self, document: DocId) -> Result<DocumentPrint, StoreError> {
        self.grid_row::<PrintPages>(document)
    }

    /// The documents of `range` with their places, ascending. Where a page is absent or cannot be read, that is the last
    /// that comes.
    pub fn places(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, DocumentPlace), StoreError>>, StoreError> {
        self.grid_range::<PlacePages>(range)
    }

    /// The places of these documents, which ascend.
    ///
    /// # Errors
    /// As [`View::place`].
    #[doc(hidden)]
    pub fn places_of(&self, documents: &[DocId]) -> Result<Vec<DocumentPlace>, StoreError> {
        let page_of = |document: &DocId| place_in_grid(*document, DocumentPlace::DOCUMENTS).0;
        let mut places = Vec::with_capacity(documents.len());
        for of_page in documents.chunk_by(|one, next| page_of(one) == page_of(next)) {
            let Some(first) = of_page.first().map(page_of) else { continue };
            let bytes = self.grid_page::<PlacePages>(first)?;
            for document in of_page {
                let bytes = bytes.as_ref().ok_or_else(|| missing::<PlacePages>(*document))?;
                let (_, slot) = place_in_grid(*document, DocumentPlace::DOCUMENTS);
                places.push(read_slot::<PlacePages, _>(bytes, (first, slot), DocumentPlace::at)?);
            }
        }
        Ok(places)
    }

    /// The documents of `range` with their prints, as [`View::places`] gives places.
    pub fn prints(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, DocumentPrint), StoreError>>, StoreError> {
        self.grid_range::<PrintPages>(range)
    }

    /// The sketch that a document stores itself; none when it has too few tokens, or borrows one.
    ///
    /// # Errors
    /// [`StoreError`] when the page is absent or cannot be read.
    pub fn sketch_of_owner(&self, owner: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        let width = sketch_width(self.policy())?;
        self.in_grid::<SketchPages, _>(owner, sketches_of_page(width), |page, slot| {
            Ok(sketch_at(page, width, slot)?.map(<[u8]>::to_vec))
        })
    }

    /// The sketch of a document: its own or, where it borrows one with its text, its owner's. One whose compared text is
    /// too short for a sketch has none, though its owner's may be longer.
    ///
    /// # Errors
    /// [`StoreError`] when a page cannot be read.
    pub fn sketch_of(&self, document: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        // Most documents own their sketch: ask for it before asking who does.
        if let Some(own) = self.sketch_of_owner(document)? {
            return Ok(Some(own));
        }
        let Some(owner) = self.place(document)?.text_of else { return Ok(None) };
        match self.print(document)?.words >= self.policy().shingle {
            true => self.sketch_of_owner(owner),
            false => Ok(None),
        }
    }
}
