//! Ingest: of paths, of Arrow streams, of iterators of mappings.

use crate::corpus::Handle;
use crate::error::{named, raise};
use crate::feed::{Feeder, feed};
use crate::process::stores;
use crate::words::{one_of, tried};
use corpusdb::ingest::{
    ChatOptions, ChatShape, ChatTemplate, CsvOptions, InputFormat, OnDamagedFile, OnError,
    ReadOptions, RecordForm, Records, SpecialInContent, TemplateMarkers, TextUnit,
};
use corpusdb::{Context, CorpusWriter, Error, IngestOptions};
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use pyo3_arrow::PyRecordBatchReader;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Arc;

/// The options of the command's `ingest`, each by its name there; absent ones have the defaults there.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct IngestSettings {
    source: String,
    source_from: Option<String>,
    format: String,
    text_by: String,
    delimiter: Option<char>,
    quotes: bool,
    comment: Option<char>,
    text_field: Option<String>,
    id_field: Option<String>,
    meta_field: Option<String>,
    drop_fields: Vec<String>,
    /// Our names with those in the records.
    map: Vec<(String, String)>,
    chat: Option<String>,
    chat_template: Option<PathBuf>,
    chat_template_name: Option<String>,
    /// Names with values as JSON.
    chat_set: Vec<(String, String)>,
    chat_date: Option<String>,
    special_in_content: String,
    template_markers: String,
    pretokenized: Option<String>,
    tokenizers: Vec<String>,
    on_error: String,
    on_damaged_file: String,
    exclude: Vec<String>,
    max_doc_bytes: u64,
    max_key_bytes: u64,
    max_meta_bytes: u64,
    batch_bytes: Option<u64>,
    reread: bool,
    dry_run: bool,
    decisions: Option<PathBuf>,
    max_removed: Option<f64>,
    max_rejected: Option<f64>,
    max_cluster: u64,
    condition: Option<String>,
}

const BAD: &str = "BadInput";

impl IngestSettings {
    fn options(&self, py: Python<'_>, handle: &Handle) -> PyResult<IngestOptions> {
        let on_error = [("reject", OnError::Reject), ("fail", OnError::Fail)];
        let on_damaged = [("skip", OnDamagedFile::Skip), ("stop", OnDamagedFile::Stop)];
        for (name, share) in
            [("max_removed", self.max_removed), ("max_rejected", self.max_rejected)]
        {
            if let Some(share) = share.filter(|share| !(0.0..=1.0).contains(share)) {
                let why = format!("{name}: {share} is no share between 0 and 1");
                return Err(named(py, BAD, &why));
            }
        }
        let opened = handle.options(py)?;
        Ok(IngestOptions {
            source: self.source.clone(),
            read: self.read(py, opened.memory_bytes())?,
            form: self.form(py)?,
            on_error: one_of(py, BAD, "on_error", &self.on_error, &on_error)?,
            on_damaged_file: one_of(
                py,
                BAD,
                "on_damaged_file",
                &self.on_damaged_file,
                &on_damaged,
            )?,
            batch_bytes: self
                .batch_bytes
                .unwrap_or_else(|| IngestOptions::batch_bytes_within(opened.memory_bytes())),
            reread: self.reread,
            decisions: self.decisions.clone(),
            max_removed: self.max_removed,
            max_rejected: self.max_rejected,
            max_cluster: self.max_cluster,
            condition: self.condition.clone(),
            tokenizers: self.tokenizers.clone(),
        })
    }

    fn read(&self, py: Python<'_>, memory: u64) -> PyResult<ReadOptions> {
        let formats = [
            ("auto", InputFormat::Auto),
            ("jsonl", InputFormat::Jsonl),
            ("json", InputFormat::Json),
            ("csv", InputFormat::Csv),
            ("tsv", InputFormat::Tsv),
            ("warc", InputFormat::Warc),
            ("arrow", InputFormat::Arrow),
            ("parquet", InputFormat::Parquet),
            ("text", InputFormat::Text),
        ];
        let parts = [
            ("file", TextUnit::File),
            ("line", TextUnit::Line),
            ("paragraph", TextUnit::Paragraph),
        ];
        let delimiter = match self.delimiter.map(u8::try_from) {
            None => None,
            Some(Ok(byte)) if CsvOptions::is_delimiter(byte) => Some(byte),
            Some(_) => {
                return Err(named(py, BAD, "delimiter: give one ASCII character, such as \";\""));
            }
        };
        let comment = match self.comment.map(u8::try_from) {
            None => None,
            Some(Ok(byte)) if CsvOptions::is_delimiter(byte) => Some(byte),
            Some(_) => {
                return Err(named(py, BAD, "comment: give one ASCII character, such as \"#\""));
            }
        };
        let mut read = ReadOptions {
            format: one_of(py, BAD, "format", &self.format, &formats)?,
            text_field: self.text_field.clone(),
            id_field: self.id_field.clone(),
            source_field: self.source_from.clone(),
            meta_field: self.meta_field.clone(),
            drop_fields: self.drop_fields.clone(),
            exclude: self.exclude.clone(),
            max_doc_bytes: self.max_doc_bytes,
            max_key_bytes: self.max_key_bytes,
            max_meta_bytes: self.max_meta_bytes,
            text_by: one_of(py, BAD, "text_by", &self.text_by, &parts)?,
            table: CsvOptions { delimiter, quotes: self.quotes, comment, ..CsvOptions::default() },
            max_batch_bytes: ReadOptions::max_batch_bytes_within(memory),
            stores: stores(),
            ..ReadOptions::default()
        };
        for (ours, theirs) in &self.map {
            read.map_field(ours, theirs).map_err(|why| named(py, BAD, &format!("map: {why}")))?;
        }
        Ok(read)
    }

    fn form(&self, py: Python<'_>) -> PyResult<RecordForm> {
        let refuse = |why: &str| Err(named(py, BAD, why));
        if let Some(name) = &self.pretokenized {
            if self.chat.is_some() {
                return refuse(
                    "chat and pretokenized do not go together: a record is one or the other",
                );
            }
            return Ok(RecordForm::Pretokenized(name.clone()));
        }
        let Some(chat) = &self.chat else {
            if self.chat_template.is_some() {
                return refuse(
                    "chat_template needs chat: say which shape the conversations have, such as chat=\"auto\"",
                );
            }
            return Ok(RecordForm::Text);
        };
        let shapes = [
            ("auto", ChatShape::Auto),
            ("messages", ChatShape::Messages),
            ("sharegpt", ChatShape::ShareGpt),
            ("alpaca", ChatShape::Alpaca),
            ("prompt-completion", ChatShape::PromptCompletion),
        ];
        let shape = one_of(py, BAD, "chat", chat, &shapes)?;
        let template = self.template(py)?;
        if template.is_none() && shape.needs_template() {
            let why = format!("records of shape {} need chat_template", shape.name());
            return refuse(&why);
        }
        let special = [("reject", SpecialInContent::Reject), ("allow", SpecialInContent::Allow)];
        let markers = [("special", TemplateMarkers::Special), ("text", TemplateMarkers::Text)];
        Ok(RecordForm::Chat(ChatOptions {
            shape,
            template,
            special_in_content: one_of(
                py,
                BAD,
                "special_in_content",
                &self.special_in_content,
                &special,
            )?,
            markers: one_of(py, BAD, "template_markers", &self.template_markers, &markers)?,
        }))
    }

    fn template(&self, py: Python<'_>) -> PyResult<Option<Arc<ChatTemplate>>> {
        let Some(path) = &self.chat_template else {
            if !self.chat_set.is_empty()
                || self.chat_date.is_some()
                || self.chat_template_name.is_some()
            {
                let why = "chat_set, chat_date and chat_template_name need chat_template";
                return Err(named(py, BAD, why));
            }
            return Ok(None);
        };
        let raised = |error| raise(py, corpusdb::ingest::IngestError::Template(error));
        let name = self.chat_template_name.as_deref();
        let mut template = ChatTemplate::load(path, name).map_err(raised)?;
        for (name, value) in &self.chat_set {
            let value = serde_json::from_str(value)
                .map_err(|error| named(py, BAD, &format!("chat_set: {name}: {error}")))?;
            template.set(name, value);
        }
        if let Some(date) = &self.chat_date {
            template.set_date(date).map_err(raised)?;
        }
        Ok(Some(Arc::new(template)))
    }
}

/// What is handed over to be read, by `name` where it has none of its own.
pub(crate) enum Given<'py> {
    Paths(Vec<String>),
    Batches(String, PyRecordBatchReader),
    Mappings(String, Bound<'py, PyIterator>),
}

impl<'py> Given<'py> {
    /// What Python has told apart: a list of paths, or an object with the `stream` of Arrow or the iterator of
    /// `records` that it stands for.
    pub(crate) fn of(given: &Bound<'py, PyAny>, name: String) -> PyResult<Self> {
        if given.is_instance_of::<PyList>() {
            return Ok(Self::Paths(given.extract()?));
        }
        match given.getattr_opt("stream")? {
            Some(stream) => Ok(Self::Batches(name, stream.extract()?)),
            None => Ok(Self::Mappings(name, given.getattr("records")?.cast_into()?)),
        }
    }

    /// As a thread of the library reads it, and who pulls it meanwhile, if someone must.
    fn split(self) -> PyResult<(Read, Option<Feeder<'py>>)> {
        Ok(match self {
            Self::Paths(paths) => (Read::Paths(paths), None),
            Self::Batches(name, reader) => {
                (Read::Records(Records::batches(name, reader.into_reader()?)), None)
            }
            Self::Mappings(name, records) => {
                let (feeder, fed) = feed(records);
                (Read::Records(Records::objects(name, fed)), Some(feeder))
            }
        })
    }
}

/// What a thread of the library reads.
pub(crate) enum Read {
    Paths(Vec<String>),
    Records(Records<'static>),
}

/// Runs what reads `given` into a corpus; the report as JSON text.
pub(crate) fn poured<T: Serialize + Send>(
    py: Python<'_>,
    handle: &Handle,
    given: Given<'_>,
    dry_run: bool,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut CorpusWriter, Read, &Context<'_>) -> Result<T, Error> + Send,
) -> PyResult<String> {
    let (read, mut feeder) = given.split()?;
    let mut pull = |py: Python<'_>, is_stopped: bool| {
        feeder.as_mut().is_some_and(|feeder| feeder.step(py, is_stopped))
    };
    let report = handle.write_fed(py, listener, dry_run, &mut pull, |writer, context| {
        work(writer, read, context)
    })?;
    tried(py, &report, dry_run)
}

/// Ingests files, the rows of an Arrow stream, or the mappings of an iterator, which are known by `name`; the report as
/// JSON text.
#[pyfunction]
#[pyo3(signature = (handle, given, name, settings, listener=None))]
pub(crate) fn ingest(
    py: Python<'_>,
    handle: &Handle,
    given: &Bound<'_, PyAny>,
    name: String,
    settings: IngestSettings,
    listener: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let given = Given::of(given, name)?;
    let options = settings.options(py, handle)?;
    let (dry_run, listener) = (settings.dry_run, listener.as_ref());
    poured(py, handle, given, dry_run, listener, |writer, read, context| match read {
        Read::Paths(paths) => writer.ingest(&paths, &options, context),
        Read::Records(records) => writer.ingest(records, &options, context),
    })
}
