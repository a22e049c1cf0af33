//! Values from outside for declared fields.

use super::CorpusWriter;
use crate::error::Error;
use crate::ingest::read::expand;
use crate::ingest::{self, JoinOptions, JoinReport};
use crate::model::{Context, Interrupt, Progress};

impl CorpusWriter {
    /// Sets a declared field of the documents that the records of some files (paths, patterns, `-`) name by id or key.
    /// Columns and postings follow, in one commit every 8,192 records; the same again changes nothing.
    ///
    /// # Errors
    /// [`Error::Ingest`]; what was committed before it stays, and the same call goes on.
    pub fn set_field(
        &mut self,
        paths: &[String],
        options: &JoinOptions,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<JoinReport, Error> {
        let inputs = expand(paths)?;
        let context = Context::new(progress, interrupt, self.memory);
        Ok(ingest::join(&mut self.writer, &inputs, options, &context)?)
    }
}
