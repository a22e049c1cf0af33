//! The documents of a handle as files.

use super::{ExportEstimate, ExportJob, ExportManifest, ExportOptions, ExportedStream};
use crate::corpus::Corpus;
use crate::export;
use crate::model::{Context, Error};
use std::io::Write;

impl Corpus {
    /// Writes documents to a file or a directory of files, complete or not at all. After an interrupt the same call
    /// continues behind the last finished file, and ends in the same bytes.
    ///
    /// # Errors
    /// [`ExportError`](crate::export::ExportError) when the output is taken, options do not go together, or something
    /// cannot be read or written.
    pub fn export(
        &self,
        options: &ExportOptions,
        job: &ExportJob<'_>,
        context: &Context<'_>,
    ) -> Result<ExportManifest, Error> {
        let context = self.within(context);
        let answer = export::export(self.view(), options, job, self.path(), &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// Writes documents to a stream, as JSON lines, CSV, text or an Arrow stream.
    ///
    /// # Errors
    /// [`ExportError`](crate::export::ExportError) when options do not go together, the stream refuses, or something
    /// cannot be read.
    pub fn export_stream(
        &self,
        options: &ExportOptions,
        out: &mut (dyn Write + Send),
        context: &Context<'_>,
    ) -> Result<ExportedStream, Error> {
        let context = self.within(context);
        let answer = export::export_stream(self.view(), options, out, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// How many documents an export would write, and how long their texts are.
    ///
    /// # Errors
    /// [`ExportError`](crate::export::ExportError) when the condition is wrong.
    pub fn export_estimate(&self, options: &ExportOptions) -> Result<ExportEstimate, Error> {
        Ok(export::estimate(self.view(), options)?)
    }
}
