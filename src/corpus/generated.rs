//! Generates a corpus with lengths alone, to measure planning.

use super::CorpusWriter;
use model::Error;
use std::path::Path;
use store::StoreError;

impl CorpusWriter {
    /// Fills a corpus without documents with kept documents that have only their tokens under the tokenizer `tokenizer`
    /// are known: `block` puts the counts of a block of 65,536 in the vector it is given and answers which of `sources`
    /// it is of; an empty block ends it. Tables are written to `folder`, on the disk of the corpus.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when the corpus has documents, the tokenizer does not exist or the
    /// disk refuses.
    pub fn generate(
        &mut self,
        tokenizer: &str,
        sources: &[&str],
        folder: &Path,
        block: &mut dyn FnMut(u64, &mut Vec<Option<i64>>) -> usize,
    ) -> Result<(), Error> {
        let known = self.view().tokenizer_named(tokenizer).map(|(id, _)| id);
        let id = known.ok_or_else(|| StoreError::Missing {
            what: "tokenizer",
            family: "tokenizers",
            key: tokenizer.to_owned(),
        })?;
        Ok(self.writer.generate(id, sources, folder, block)?)
    }
}
