//! Keywords as the records spell them, which the term dictionary holds up to a length.

use crate::model::{DocId, FieldDeclaration, FieldId, FieldKind, TermId};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::indexed::indexed;
use crate::store::view::View;

impl View {
    /// The keyword of `document` in `field`, whose term is `term`; none when there is no such term. A long
    /// one, of which the dictionary has head and hash, is read from the document's other fields.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn keyword(
        &self,
        document: DocId,
        field: FieldId,
        term: TermId,
    ) -> Result<Option<String>, StoreError> {
        let Some((_, value)) = self.term_value(term)? else { return Ok(None) };
        if fields::is_shortened(&value)
            && let Some(whole) = self.spelled(document, field)?
        {
            return Ok(Some(whole));
        }
        Ok(Some(String::from_utf8_lossy(&value).into_owned()))
    }

    fn spelled(&self, document: DocId, field: FieldId) -> Result<Option<String>, StoreError> {
        let language = FieldDeclaration {
            id: fields::LANGUAGE,
            name: "language".to_owned(),
            kind: FieldKind::Keyword,
            path: None,
        };
        let declared = self.fields().iter().find(|known| known.id == field);
        let declared = declared.cloned().unwrap_or(language);
        let found = indexed(&self.metadata(document)?, std::slice::from_ref(&declared)).keywords;
        Ok(found.into_iter().find_map(|(id, keyword)| (id == field).then_some(keyword)))
    }
}
