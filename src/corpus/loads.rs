//! Loads: documents with the decisions that were made about them elsewhere.

use super::CorpusWriter;
use crate::ingest::{self, IngestResources, LoadOptions, LoadReport};
use crate::model::{Context, Error};

impl CorpusWriter {
    /// Brings in a directory of documents with the decisions that `corpusdb.spark` made about them, without deciding
    /// again: what is stored is what an ingest of the same files would have stored. What the rows say is checked, the
    /// similarity of removed documents to their witnesses of a sample of them. The corpus must have the policy that
    /// they were decided with, and of other documents none but those that they were decided against: of these, what the
    /// load supersedes goes, and what follows is decided. After an interrupt the same again goes on.
    ///
    /// # Errors
    /// [`Error::Ingest`]; what was committed before it stays.
    pub fn bulk_load(
        &mut self,
        directory: &str,
        options: &LoadOptions,
        context: &Context<'_>,
    ) -> Result<LoadReport, Error> {
        let context = self.within(context);
        let (loaded, seeds) = self.ready(&context)?;
        let crafts = IngestResources { filter: None, tokenizers: &loaded, seeds, judge: None };
        Ok(ingest::load(&mut self.writer, directory, options, crafts, &context)?)
    }
}
