//! The families of string pages: texts, keys and metadata, read one by one, in ranges, and page by page.
//!
//! The page of a document is the last that begins at or before it. Where that ends before the document, a page is lost.

use crate::bytes::key::{DocumentKey, StoreKey};
use crate::bytes::page::{PageDecoder, StringColumn, StringPage, StringPageBody};
use crate::database::RowCursor;
use crate::database::family::{RowKind, StoreFamily, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::{ComparedPart, DocId, compared_text};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;

store_family! {
    /// Texts, but where `text_of` names an owner.
    TextPages = "text_pages", Pages,
    DocumentKey, "first document u64"
    => "page of texts": StringPage<'v>, |_, bytes| StringPage::read_whole(StringColumn::Text, bytes),
    "string page: texts; null for a document that borrows one"
}

store_family! {
    /// The keys that users gave.
    KeyPages = "key_pages", Pages,
    DocumentKey, "first document u64"
    => "page of keys": StringPage<'v>, |_, bytes| StringPage::read_whole(StringColumn::Key, bytes),
    "string page: keys; null for a document without one"
}

store_family! {
    /// The user's other fields.
    MetadataPages = "metadata_pages", Pages,
    DocumentKey, "first document u64"
    => "page of metadata": StringPage<'v>, |_, bytes| StringPage::read_whole(StringColumn::Metadata, bytes),
    "string page: one JSON object each, as the user spelled it; null for `{}`"
}

/// A family of string pages.
pub(crate) trait StringFamily:
    StoreFamily + for<'v> RowKind<Key = DocumentKey, Value<'v> = StringPage<'v>>
{
    /// What its values are.
    const COLUMN: StringColumn;
}

impl StringFamily for TextPages {
    const COLUMN: StringColumn = StringColumn::Text;
}

impl StringFamily for KeyPages {
    const COLUMN: StringColumn = StringColumn::Key;
}

impl StringFamily for MetadataPages {
    const COLUMN: StringColumn = StringColumn::Metadata;
}

/// A page of strings, decoded.
#[derive(Clone, Debug)]
pub(crate) struct DecodedPage {
    /// Its first document.
    pub(crate) first: DocId,
    body: Arc<StringPageBody>,
}

impl DecodedPage {
    fn of<F: StringFamily>(key: &[u8], page: &[u8]) -> Result<Self, StoreError> {
        thread_local! {
            static DECODER: RefCell<Option<PageDecoder>> = const { RefCell::new(None) };
        }
        let corrupt = |why| corrupt_row::<F>(F::WHAT, key, why);
        let first = DocumentKey::decode(key).map_err(corrupt)?.document;
        let page = StringPage::read(F::COLUMN, page).map_err(corrupt)?;
        DECODER.with_borrow_mut(|decoder| {
            let decoder = match decoder {
                Some(decoder) => decoder,
                none => none.insert(PageDecoder::new()?),
            };
            let body = page.body(decoder).map_err(corrupt)?;
            Ok(Self { first, body: Arc::new(body) })
        })
    }

    /// The first document behind it.
    pub(crate) fn end(&self) -> u64 {
        self.first.0 + self.body.ends().len() as u64
    }

    /// The value of a document of the page.
    fn get(&self, document: DocId) -> Option<&[u8]> {
        self.body.get(u16::try_from(document.0.checked_sub(self.first.0)?).ok()?)
    }

    /// The value of a document of the page, as a text.
    pub(crate) fn string<F: StringFamily>(
        &self,
        document: DocId,
    ) -> Result<Option<&str>, StoreError> {
        let Some(bytes) = self.get(document) else { return Ok(None) };
        std::str::from_utf8(bytes).map(Some).map_err(|error| {
            let why = format!("document {document} is not UTF-8: {error}");
            let key = DocumentKey { document: self.first }.to_bytes();
            corrupt_row::<F>(F::WHAT, &key, DecodeError::at(error.valid_up_to(), why))
        })
    }

    /// The documents of the page, with the value of each.
    pub(crate) fn values(&self) -> impl Iterator<Item = (DocId, Option<&[u8]>)> {
        (self.first.0..self.end()).map(|id| (DocId(id), self.get(DocId(id))))
    }
}

/// The pages of a range of documents, ascending.
pub(crate) struct PageCursor<'v, F: StringFamily> {
    rows: RowCursor<'v, F>,
    left: Range<u64>,
}

impl<F: StringFamily> PageCursor<'_, F> {
    /// The next page; none where the range has ended.
    ///
    /// # Errors
    /// [`StoreError`] where it is absent or cannot be read.
    pub(crate) fn next(&mut self) -> Result<Option<DecodedPage>, StoreError> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let missing = || missing::<F>(DocId(self.left.start));
        let (key, page) = self.rows.advance()?.ok_or_else(missing)?;
        let page = DecodedPage::of::<F>(key, page)?;
        if page.first.0 > self.left.start || page.end() <= self.left.start {
            return Err(missing());
        }
        self.left.start = page.end();
        Ok(Some(page))
    }
}

fn missing<F: StoreFamily>(document: DocId) -> StoreError {
    StoreError::Missing { what: F::WHAT, family: F::NAME, key: document.to_string() }
}

impl View {
    /// The pages that have the documents of a range.
    pub(crate) fn pages<F: StringFamily>(
        &self,
        range: Range<u64>,
    ) -> Result<PageCursor<'_, F>, StoreError> {
        let mut rows = self.pinned().scan::<F>(&[], None)?;
        rows.seek_back(&DocumentKey { document: DocId(range.start) }.to_bytes());
        Ok(PageCursor { rows, left: range })
    }

    /// The page that has a document.
    pub(crate) fn page_of<F: StringFamily>(
        &self,
        document: DocId,
    ) -> Result<DecodedPage, StoreError> {
        let pages = &self.moment.pages;
        if let Some((first, body)) = pages.page(F::COLUMN, document) {
            crate::counted::read(F::NAME, 1);
            return Ok(DecodedPage { first, body });
        }
        let page = self.pages::<F>(document.0..document.0.saturating_add(1))?.next()?;
        let page = page.ok_or_else(|| missing::<F>(document))?;
        pages.keep_page(F::COLUMN, page.first, &page.body);
        Ok(page)
    }

    fn string<F: StringFamily>(&self, document: DocId) -> Result<Option<String>, StoreError> {
        Ok(self.page_of::<F>(document)?.string::<F>(document)?.map(str::to_owned))
    }

    /// A document's text.
    ///
    /// # Errors
    /// [`StoreError`] when a page is absent or cannot be read.
    pub fn text(&self, document: DocId) -> Result<String, StoreError> {
        self.text_of_owner(self.place(document)?.text_owner(document))
    }

    /// The text that a document stores itself (`DocumentPlace::text_owner`).
    ///
    /// # Errors
    /// [`StoreError`] when the page is absent or cannot be read, or has no text of it.
    pub fn text_of_owner(&self, owner: DocId) -> Result<String, StoreError> {
        self.string::<TextPages>(owner)?.ok_or(StoreError::Missing {
            what: "text",
            family: TextPages::NAME,
            key: owner.to_string(),
        })
    }

    /// The key that the user gave a document, if any.
    ///
    /// # Errors
    /// [`StoreError`] when the page is absent or cannot be read.
    pub fn key(&self, document: DocId) -> Result<Option<String>, StoreError> {
        self.string::<KeyPages>(document)
    }

    /// A document's other fields as a JSON object.
    ///
    /// # Errors
    /// As [`View::key`].
    pub fn metadata(&self, document: DocId) -> Result<String, StoreError> {
        Ok(self.string::<MetadataPages>(document)?.unwrap_or_else(|| "{}".to_owned()))
    }

    /// The documents of a range with the keys that the user gave them, ascending; the last that comes may be an error.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn keys(
        &self,
        range: Range<u64>,
    ) -> Result<impl Iterator<Item = Result<(DocId, Option<String>), StoreError>>, StoreError> {
        self.strings_in::<KeyPages, _>(range, |key| Some(key.map(str::to_owned)))
    }

    /// The keys of these documents, which ascend.
    ///
    /// # Errors
    /// As [`View::key`].
    #[doc(hidden)]
    pub fn keys_of(&self, documents: &[DocId]) -> Result<Vec<Option<String>>, StoreError> {
        let (mut keys, mut page) = (Vec::with_capacity(documents.len()), None::<DecodedPage>);
        for document in documents {
            let page = match page.take_if(|page| page.end() > document.0) {
                Some(known) => page.insert(known),
                None => page.insert(self.page_of::<KeyPages>(*document)?),
            };
            keys.push(page.string::<KeyPages>(*document)?.map(str::to_owned));
        }
        Ok(keys)
    }

    /// What `read` makes of the other fields of each document of a range that has any, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; what comes last may be the error of a page.
    pub fn metadata_in<T>(
        &self,
        range: Range<u64>,
        read: impl Fn(&str) -> T,
    ) -> Result<impl Iterator<Item = Result<(DocId, T), StoreError>>, StoreError> {
        self.strings_in::<MetadataPages, _>(range, move |metadata| metadata.map(&read))
    }

    fn strings_in<F: StringFamily, T>(
        &self,
        range: Range<u64>,
        read: impl Fn(Option<&str>) -> Option<T>,
    ) -> Result<impl Iterator<Item = Result<(DocId, T), StoreError>>, StoreError> {
        let (mut pages, mut ready) = (self.pages::<F>(range.clone())?, Vec::new().into_iter());
        let mut fill = move || -> Result<Option<Vec<(DocId, T)>>, StoreError> {
            let Some(page) = pages.next()? else { return Ok(None) };
            let mut values = Vec::new();
            for document in (page.first.0.max(range.start)..page.end().min(range.end)).map(DocId) {
                values.extend(read(page.string::<F>(document)?).map(|value| (document, value)));
            }
            Ok(Some(values))
        };
        let mut is_over = false;
        Ok(std::iter::from_fn(move || {
            loop {
                if let Some(value) = ready.next() {
                    return Some(Ok(value));
                }
                if is_over {
                    return None;
                }
                match fill() {
                    Ok(Some(values)) => ready = values.into_iter(),
                    Ok(None) => is_over = true,
                    Err(error) => {
                        is_over = true;
                        return Some(Err(error));
                    }
                }
            }
        }))
    }

    /// The text by which dedup compares a document: its own or, by the policy, the content of its turns or its prompt.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn compared_text(&self, document: DocId) -> Result<String, StoreError> {
        let text = self.text(document)?;
        let compared = self.policy().compared;
        let (metadata, form) = match compared {
            ComparedPart::Text => return Ok(text),
            ComparedPart::Turns => (self.metadata(document)?, None),
            ComparedPart::Prompt => (String::new(), self.text_form(document)?),
        };
        Ok(compared_text(compared, &text, &metadata, form.as_ref()).into_owned())
    }
}
