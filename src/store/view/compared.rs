//! What of a stored document is compared with others.

use crate::model::{ComparedPart, DocId, compared_text};
use crate::store::error::StoreError;
use crate::store::view::View;

impl View {
    /// What dedup compares of a document: its text, or, if the policy says so, what is said in its turns.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn compared_text(&self, document: DocId) -> Result<String, StoreError> {
        let text = self.text(document)?;
        match self.policy().compared {
            ComparedPart::Text => Ok(text),
            ComparedPart::Turns => {
                let metadata = self.metadata(document)?;
                Ok(compared_text(ComparedPart::Turns, &text, &metadata).into_owned())
            }
        }
    }
}
