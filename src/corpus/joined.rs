//! Values from outside for declared fields.

use super::CorpusWriter;
use crate::error::Error;
use crate::ingest::read::{Records, expand};
use crate::ingest::{self, Inlet, JoinOptions, JoinReport};
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
        let inlets = expand(paths)?.into_iter().map(Inlet::File).collect();
        let context = Context::new(progress, interrupt, self.memory);
        Ok(ingest::join(&mut self.writer, inlets, options, &context)?)
    }

    /// As [`CorpusWriter::set_field`], with records that the program has.
    ///
    /// # Errors
    /// As [`CorpusWriter::set_field`]; the error of an iterator, as [`ReadError::Records`](crate::ingest::ReadError::Records).
    pub fn set_field_records(
        &mut self,
        records: Records<'_>,
        options: &JoinOptions,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<JoinReport, Error> {
        let inlets = vec![Inlet::Memory(records)];
        let context = Context::new(progress, interrupt, self.memory);
        Ok(ingest::join(&mut self.writer, inlets, options, &context)?)
    }
}
