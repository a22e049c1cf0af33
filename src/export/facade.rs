//! The calls of [`Corpus`] that export documents and answers as files or streams.

use super::{
    AnswerOptions, ExportEstimate, ExportJob, ExportManifest, ExportOptions, ExportedFile,
    ExportedStream,
};
use crate::corpus::{Corpus, shown_destination};
use crate::export;
use crate::sql::SqlRows;
use arrow::datatypes::DataType;
use model::{Context, Error};
use roaring::RoaringTreemap;
use std::io::Write;
use store::{OutputKind, OutputRecord};

impl Corpus {
    /// Writes documents to a file or a directory of files, complete or not at all. After an interrupt the same call
    /// continues behind the last finished file, and ends in the same bytes.
    ///
    /// # Errors
    /// [`Error`] when the output is taken, options do not go together, or something
    /// cannot be read or written.
    pub fn export(
        &self,
        options: &ExportOptions,
        job: &ExportJob<'_>,
        context: &Context<'_>,
    ) -> Result<ExportManifest, Error> {
        self.exported(options, job, None, context)
    }

    /// Exports like [`Corpus::export`], and puts the export on record: the documents that it had, where it went, its
    /// condition, and `time` (microseconds since 1970). The second answer is its number in the table `outputs`, or why
    /// it has none.
    ///
    /// # Errors
    /// As [`Corpus::export`].
    pub fn export_on_record(
        &self,
        options: &ExportOptions,
        job: &ExportJob<'_>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<(ExportManifest, Result<u32, Error>), Error> {
        let mut documents = RoaringTreemap::new();
        let manifest = self.exported(options, job, Some(&mut documents), context)?;
        let hash = blake3::hash(manifest.to_json().as_bytes()).to_hex().to_string();
        let recorded = self.put_on_record(&OutputRecord {
            kind: OutputKind::Export,
            destination: shown_destination(job.to),
            commit: self.view().commit().0,
            condition: options.condition.clone(),
            manifest: Some(hash),
            time,
            documents: Some(documents),
            ..OutputRecord::default()
        });
        Ok((manifest, recorded))
    }

    fn exported(
        &self,
        options: &ExportOptions,
        job: &ExportJob<'_>,
        noted: Option<&mut RoaringTreemap>,
        context: &Context<'_>,
    ) -> Result<ExportManifest, Error> {
        let context = self.within(context);
        let answer = export::export(self.view(), options, job, self.path(), noted, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// Writes documents to a stream, as JSON lines, CSV, text or an Arrow stream.
    ///
    /// # Errors
    /// [`Error`] when options do not go together, the stream refuses, or something
    /// cannot be read.
    pub fn export_stream(
        &self,
        options: &ExportOptions,
        out: &mut (dyn Write + Send),
        context: &Context<'_>,
    ) -> Result<ExportedStream, Error> {
        self.export_streamed(options, out, None, context)
    }

    /// Exports like [`Corpus::export_stream`], and puts the export on record, as [`Corpus::export_on_record`] does;
    /// `to` says where it went.
    ///
    /// # Errors
    /// As [`Corpus::export_stream`].
    pub fn export_stream_on_record(
        &self,
        options: &ExportOptions,
        out: &mut (dyn Write + Send),
        (to, time): (&str, Option<i64>),
        context: &Context<'_>,
    ) -> Result<(ExportedStream, Result<u32, Error>), Error> {
        let mut documents = RoaringTreemap::new();
        let streamed = self.export_streamed(options, out, Some(&mut documents), context)?;
        let recorded = self.put_on_record(&OutputRecord {
            kind: OutputKind::Export,
            destination: to.to_owned(),
            commit: self.view().commit().0,
            condition: options.condition.clone(),
            time,
            documents: Some(documents),
            ..OutputRecord::default()
        });
        Ok((streamed, recorded))
    }

    fn export_streamed(
        &self,
        options: &ExportOptions,
        out: &mut (dyn Write + Send),
        noted: Option<&mut RoaringTreemap>,
        context: &Context<'_>,
    ) -> Result<ExportedStream, Error> {
        let context = self.within(context);
        let answer = export::export_stream(self.view(), options, out, noted, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// Writes an answer like [`write_answer`](crate::export::write_answer), and puts the answer to `statement` on
    /// record where it has texts: with the documents of its column `id`, where it has one. The second answer is its
    /// number in the table `outputs`, or why it has none; none where it has no texts.
    ///
    /// # Errors
    /// As [`write_answer`](crate::export::write_answer).
    pub fn write_answer_on_record(
        &self,
        (statement, rows): (&str, SqlRows),
        options: AnswerOptions,
        job: &ExportJob<'_>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<(ExportedFile, Option<Result<u32, Error>>), Error> {
        let schema = rows.schema();
        let column = |name: &str| schema.field_with_name(name).ok();
        let has_text = column("text").is_some();
        let has_ids = column("id").is_some_and(|id| *id.data_type() == DataType::UInt64);
        let mut documents = RoaringTreemap::new();
        let ids = (has_text && has_ids).then_some(&mut documents);
        let written = export::write_answer_noting(rows, options, job, ids, context)?;
        let recorded = has_text.then(|| {
            self.put_on_record(&OutputRecord {
                kind: OutputKind::Export,
                destination: shown_destination(job.to),
                commit: self.view().commit().0,
                condition: Some(statement.to_owned()),
                manifest: Some(written.blake3.clone()),
                time,
                documents: has_ids.then_some(documents),
                ..OutputRecord::default()
            })
        });
        Ok((written, recorded))
    }

    /// How many documents an export would write, and how long their texts are.
    ///
    /// # Errors
    /// [`Error`] when the condition is wrong.
    pub fn export_estimate(&self, options: &ExportOptions) -> Result<ExportEstimate, Error> {
        export::estimate(self.view(), options, &Context::new())
    }
}
