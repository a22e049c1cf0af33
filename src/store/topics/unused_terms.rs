//! Values of fields that no document has any more: found, and forgotten.

use crate::model::{FieldId, TermId};
use crate::store::batch::Batch;
use crate::store::columns::{Postings, Terms};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::keys::{Block, Key, PostingKey, TermKey};
use crate::store::rows::terms::TermRow;
use crate::store::view::View;

/// A value of a field that no document has.
pub struct UnusedTerm {
    term: TermId,
    field: FieldId,
    value: Vec<u8>,
}

impl View {
    /// The first `most` values from a term on that no document has any more, and the term to go on from, where there
    /// are more. One scan of the bitmaps beside one of the names.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub(crate) fn unused_terms(
        &self,
        from: TermId,
        most: usize,
    ) -> Result<(Vec<UnusedTerm>, Option<TermId>), StoreError> {
        let start = TermKey::Id(from).to_bytes();
        let mut names = self.pinned().scan::<Terms>(&start, None)?;
        let start = PostingKey { term: from, block: Block(0) }.to_bytes();
        let mut rows = self.pinned().scan::<Postings>(&start, None)?;
        let mut used = rows.next("bitmap")?;
        let mut unused = Vec::new();
        while let Some((key, (field, value))) = names.next_with("term", TermRow::value)? {
            let TermKey::Id(term) = key else { continue };
            let mut is_used = false;
            while let Some((PostingKey { term: of, .. }, slots)) = &used {
                if *of > term {
                    break;
                }
                is_used |= *of == term && !slots.is_empty();
                used = rows.next("bitmap")?;
            }
            let is_keyword = field == fields::LANGUAGE || field.0 >= fields::FIRST_DECLARED;
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

impl Batch<'_> {
    /// Forgets values that no document has. Their numbers are not given again.
    ///
    /// # Errors
    /// [`StoreError`] when a family is absent.
    pub fn drop_terms(&mut self, unused: &[UnusedTerm]) -> Result<(), StoreError> {
        for UnusedTerm { term, field, value } in unused {
            self.delete::<Terms>(&TermKey::Id(*term))?;
            self.delete::<Terms>(&TermKey::Value(*field, value.clone()))?;
            let rows = |term| PostingKey { term, block: Block(0) }.to_bytes();
            let next = TermId(term.0.saturating_add(1));
            self.delete_range::<Postings>(rows(*term), rows(next))?;
        }
        self.forget_interned();
        Ok(())
    }
}
