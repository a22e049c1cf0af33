//! The family `terms`: the dictionary of (field, value) pairs in both directions, and its terms without documents.
#![expect(clippy::big_endian_bytes, reason = "ids in values have the byte order of keys")]

use crate::batch::CommitBatch;
use crate::bytes::key::{BlockNumber, PostingKey, StoreKey, TermKey};
use crate::database::RowCursor;
use crate::database::family::store_family;
use crate::documents::postings::Postings;
use crate::error::{DecodeError, StoreError};
use crate::system_fields;
use crate::view::View;
use model::{FieldId, TermId};
use roaring::RoaringBitmap;

store_family! {
    /// Interned (field, value) pairs, both directions.
    Terms = "terms", Small,
    TermKey, "0, field u16, value bytes; 1, term u32"
    => {
        /// The term of a value.
        TermOfValue = "term", (field, value): (FieldId, Vec<u8>) [TermKey::Value(field, value)]
        => TermId, |_, bytes| decode_id(bytes);
        /// The value of a term.
        ValueOfTerm = "term", term: TermId [TermKey::Id(term)]
        => FieldTerm, |_, bytes| decode_value(bytes);
    }
    "term u32 BE; field u16 BE, value bytes"
}

pub(crate) fn encode_id(term: TermId) -> [u8; 4] {
    term.0.to_be_bytes()
}

pub(crate) fn decode_id(bytes: &[u8]) -> Result<TermId, DecodeError> {
    let bytes = bytes.try_into().map_err(|_| DecodeError::at(0, "term id is not 4 bytes"))?;
    Ok(TermId(u32::from_be_bytes(bytes)))
}

pub(crate) fn encode_value(field: FieldId, value: &[u8]) -> Vec<u8> {
    let mut out = field.0.to_be_bytes().to_vec();
    out.extend_from_slice(value);
    out
}

pub(crate) fn decode_value(bytes: &[u8]) -> Result<(FieldId, Vec<u8>), DecodeError> {
    match bytes.split_first_chunk::<2>() {
        Some((field, value)) => Ok((FieldId(u16::from_be_bytes(*field)), value.to_vec())),
        None => Err(DecodeError::at(0, "term value lacks its field")),
    }
}

/// Values of a field, with their terms.
type ValueTerms = Vec<(Vec<u8>, TermId)>;

impl View {
    /// The term of a value; none when no document has it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term(&self, field: FieldId, value: &[u8]) -> Result<Option<TermId>, StoreError> {
        self.pinned().read::<TermOfValue, _>(&(field, value.to_vec()))
    }

    /// The value of a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term_value(&self, term: TermId) -> Result<Option<(FieldId, Vec<u8>)>, StoreError> {
        self.pinned().read::<ValueOfTerm, _>(&term)
    }

    /// All values of a field with their terms, in byte order of the values.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn terms(&self, field: FieldId) -> Result<Vec<(Vec<u8>, TermId)>, StoreError> {
        Ok(self.terms_up_to(field, usize::MAX)?.unwrap_or_default())
    }

    /// The terms of [`View::terms`] for a field with at most `most` values; none when it has more.
    #[doc(hidden)]
    pub fn terms_up_to(
        &self,
        field: FieldId,
        most: usize,
    ) -> Result<Option<ValueTerms>, StoreError> {
        let found = self.terms_beginning(field, &[], most.saturating_add(1))?;
        Ok((found.len() <= most).then_some(found))
    }

    /// The first `most` values of a field that begin with these bytes, with their terms, in byte order of the values.
    #[doc(hidden)]
    pub fn terms_beginning(
        &self,
        field: FieldId,
        beginning: &[u8],
        most: usize,
    ) -> Result<ValueTerms, StoreError> {
        let prefix = TermKey::Value(field, beginning.to_vec()).to_bytes();
        let mut rows = self.pinned().scan_prefix::<TermOfValue>(&prefix)?;
        let mut found = Vec::new();
        while found.len() < most
            && let Some(((_, value), term)) = rows.next()?
        {
            found.push((value, term));
        }
        Ok(found)
    }

    /// The first `most` values from a term on that no document has any more, and the term to continue from, where there
    /// are more.
    #[doc(hidden)]
    pub fn unused_terms(
        &self,
        from: TermId,
        most: usize,
    ) -> Result<(Vec<UnusedTerm>, Option<TermId>), StoreError> {
        let mut terms = TermsWithPostings::new(self, from)?;
        let mut unused = Vec::new();
        while let Some((term, value)) = terms.next_term()? {
            let Some((field, value)) = value else { continue };
            let mut is_used = false;
            while let Some((_, slots)) = terms.next_bitmap()? {
                is_used |= !slots.is_empty();
            }
            let is_keyword =
                field == system_fields::LANGUAGE || field.0 >= system_fields::FIRST_DECLARED;
            if is_keyword && !is_used {
                unused.push(UnusedTerm { term, field, value });
                if unused.len() >= most {
                    return Ok((unused, Some(TermId(term.0.saturating_add(1)))));
                }
            }
        }
        Ok((unused, None))
    }
}

impl CommitBatch<'_> {
    /// Forgets which terms values have: some are gone.
    pub(crate) fn forget_interned(&mut self) {
        self.new_terms.clear();
        self.writer.terms.clear();
    }

    pub(crate) fn term(&mut self, field: FieldId, value: &[u8]) -> Result<TermId, StoreError> {
        let key = (field, value.to_vec());
        if let Some(term) = self.new_terms.get(&key).or_else(|| self.writer.terms.get(&key)) {
            return Ok(*term);
        }
        let term = match self.view.term(field, value)? {
            Some(term) => term,
            None => {
                let term = TermId(self.state.next_term);
                self.state.next_term = term.0.checked_add(1).ok_or_else(|| {
                    StoreError::Name(
                        "the corpus has 2^32 distinct indexed values; declare fewer keyword fields"
                            .to_owned(),
                    )
                })?;
                self.put::<Terms>(&TermKey::Value(field, value.to_vec()), &encode_id(term))?;
                self.put::<Terms>(&TermKey::Id(term), &encode_value(field, value))?;
                term
            }
        };
        self.new_terms.insert(key, term);
        Ok(term)
    }

    /// Forgets values that no document has. Their numbers are not given again.
    ///
    /// # Errors
    /// [`StoreError`] when a family is absent.
    pub fn drop_terms(&mut self, unused: &[UnusedTerm]) -> Result<(), StoreError> {
        for UnusedTerm { term, field, value } in unused {
            self.delete::<Terms>(&TermKey::Id(*term))?;
            self.delete::<Terms>(&TermKey::Value(*field, value.clone()))?;
            let rows = |term| PostingKey { term, block: BlockNumber(0) }.to_bytes();
            let next = TermId(term.0.saturating_add(1));
            self.delete_range::<Postings>(rows(*term), rows(next))?;
        }
        self.forget_interned();
        Ok(())
    }
}

/// Terms with their values and the bitmaps of their documents, ascending: one scan of the values beside one of the
/// bitmaps, since both families are in the order of terms.
pub(crate) struct TermsWithPostings<'v> {
    values: RowCursor<'v, ValueOfTerm>,
    value: Option<(TermId, FieldTerm)>,
    bitmaps: RowCursor<'v, Postings>,
    bitmap: Option<(PostingKey, RoaringBitmap)>,
    /// The term that came last.
    term: Option<TermId>,
}

impl<'v> TermsWithPostings<'v> {
    /// From a term on.
    pub(crate) fn new(view: &'v View, from: TermId) -> Result<Self, StoreError> {
        let start = TermKey::Id(from).to_bytes();
        let mut values = view.pinned().scan::<ValueOfTerm>(&start, None)?;
        let start = PostingKey { term: from, block: BlockNumber(0) }.to_bytes();
        let mut bitmaps = view.pinned().scan::<Postings>(&start, None)?;
        let value = values.next()?;
        let bitmap = bitmaps.next()?;
        Ok(Self { values, value, bitmaps, bitmap, term: None })
    }

    /// The next term that has a value or a bitmap, and its value.
    pub(crate) fn next_term(&mut self) -> Result<Option<(TermId, Option<FieldTerm>)>, StoreError> {
        while self.next_bitmap()?.is_some() {}
        let of_bitmap = self.bitmap.as_ref().map(|(key, _)| key.term);
        let of_value = self.value.as_ref().map(|(term, _)| *term);
        let Some(term) = of_bitmap.into_iter().chain(of_value).min() else { return Ok(None) };
        self.term = Some(term);
        let Some((_, value)) = self.value.take_if(|(of, _)| *of == term) else {
            return Ok(Some((term, None)));
        };
        self.value = self.values.next()?;
        Ok(Some((term, Some(value))))
    }

    /// The next block and bitmap of the term that came last.
    pub(crate) fn next_bitmap(&mut self) -> Result<Option<(u64, RoaringBitmap)>, StoreError> {
        let term = self.term;
        let Some((key, slots)) = self.bitmap.take_if(|(key, _)| Some(key.term) <= term) else {
            return Ok(None);
        };
        self.bitmap = self.bitmaps.next()?;
        Ok(Some((key.block.0, slots)))
    }
}

/// A field and a value of it.
type FieldTerm = (FieldId, Vec<u8>);

/// A value of a field that no document has.
pub struct UnusedTerm {
    term: TermId,
    field: FieldId,
    value: Vec<u8>,
}
