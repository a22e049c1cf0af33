//! Values from outside, joined to stored documents by id or key: one commit a chunk, the same again changes nothing.

use super::error::IngestError;
use super::joined::JoinReport;
use super::produce::Inlet;
use super::read::{Item, ReadOptions, Reader};
use crate::model::{
    Context, DocId, FieldDeclaration, FieldKind, ReadRecord, RecordKey, key_identity,
};
use crate::store::{CommitRecord, View, Writer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Records joined in one commit.
const CHUNK: usize = 1 << 13;
/// Unknown ids or keys that the report lists.
const LISTED: usize = 10;

/// What is joined, and how documents are found.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The declared field that gets the values.
    pub field: String,
    /// The field of the records that has them; the same name when none is given.
    pub value: Option<String>,
    /// How the records name documents.
    pub by: JoinBy,
    /// Keys are those of this source alone; of all sources when none is given.
    pub source: Option<String>,
    /// How the records are read: format, and the longest that is accepted.
    pub read: ReadOptions,
}

/// How records from outside name documents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinBy {
    /// This field has the document's number.
    Id(String),
    /// This field has the key that the document was ingested with.
    Key(String),
}

impl JoinBy {
    fn field(&self) -> &str {
        match self {
            Self::Id(field) | Self::Key(field) => field,
        }
    }
}

/// Reads records and sets the field of the documents that they name. Of several records that name one document the
/// last counts; a `null` takes the value away, where a format tells it from no value at all (Parquet does not). With a
/// key the newest document of it is meant.
///
/// # Errors
/// [`IngestError::Join`] for a field that is not declared and for a record without a name or a fitting value;
/// [`IngestError`] when an input cannot be read. What was committed before stays; the same call again goes on.
pub fn join(
    writer: &mut Writer,
    inlets: Vec<Inlet<'_>>,
    options: &JoinOptions,
    context: &Context<'_>,
) -> Result<JoinReport, IngestError> {
    let declared = declared(writer.view(), options)?;
    let value = options.value.as_deref().unwrap_or(&options.field);
    let read = ReadOptions {
        text_field: None,
        id_field: Some(options.by.field().to_owned()),
        whole: true,
        ..options.read.clone()
    };
    let mut report = JoinReport { field: options.field.clone(), ..JoinReport::default() };
    let sizes = inlets.iter().map(|inlet| match inlet {
        Inlet::File(input) => Some(std::fs::metadata(input.path.as_ref()).ok()?.len()),
        Inlet::Memory(_) => None,
    });
    context.progress.begin("joining", sizes.sum::<Option<u64>>());
    let mut before = 0;
    for inlet in inlets {
        let mut reader = match inlet {
            Inlet::File(input) => Reader::open(&input, &read)?,
            Inlet::Memory(records) => Reader::of_records(records, &read)?,
        };
        loop {
            let mut chunk: Vec<(String, Box<RawValue>)> = Vec::with_capacity(CHUNK);
            let mut is_over = false;
            while chunk.len() < CHUNK && !is_over {
                let Some(item) = reader.next()? else {
                    is_over = true;
                    continue;
                };
                report.records += 1;
                match named_value(item, value, &declared)? {
                    Some(named) => chunk.push(named),
                    None => report.without_value += 1,
                }
            }
            write(writer, &chunk, options, &mut report)?;
            context.progress.advance(before + reader.input_bytes());
            if is_over {
                break;
            }
            if context.interrupt.is_raised() {
                return Err(IngestError::JoinInterrupted { report: Box::new(report) });
            }
        }
        before += reader.input_bytes();
    }
    context.progress.end();
    if report.records > 0 && report.without_value == report.records {
        return Err(IngestError::Join(format!("no record has a value in a field `{value}`")));
    }
    Ok(report)
}

/// One commit.
fn write(
    writer: &mut Writer,
    chunk: &[(String, Box<RawValue>)],
    options: &JoinOptions,
    report: &mut JoinReport,
) -> Result<(), IngestError> {
    if chunk.is_empty() {
        return Ok(());
    }
    let mut batch = writer.begin()?;
    let view = batch.view().clone();
    let found = documents(&view, chunk, options)?;
    let mut values: BTreeMap<DocId, &RawValue> = BTreeMap::new();
    for ((name, value), documents) in chunk.iter().zip(found) {
        if documents.is_empty() {
            report.unknown += 1;
            if report.unknown_examples.len() < LISTED {
                report.unknown_examples.push(name.clone());
            }
        }
        values.extend(documents.into_iter().map(|document| (document, value.as_ref())));
    }
    let mut changed = 0;
    for (document, value) in &values {
        changed += u64::from(batch.set_field(*document, &options.field, value)?);
    }
    report.changed += changed;
    report.unchanged += values.len() as u64 - changed;
    if changed == 0 {
        return Ok(());
    }
    batch.commit(&CommitRecord {
        kind: "field".to_owned(),
        subject: options.field.clone(),
        ..CommitRecord::default()
    })?;
    report.commits += 1;
    Ok(())
}

/// The documents that the records of a chunk name, in their order.
fn documents(
    view: &View,
    chunk: &[(String, Box<RawValue>)],
    options: &JoinOptions,
) -> Result<Vec<Vec<DocId>>, IngestError> {
    if let JoinBy::Id(_) = options.by {
        let document = |(name, _): &(String, _)| {
            let id: Option<u64> = name.parse().ok();
            id.filter(|id| *id < view.documents()).map(DocId).into_iter().collect()
        };
        return Ok(chunk.iter().map(document).collect());
    }
    let mut found: Vec<Vec<DocId>> = vec![Vec::new(); chunk.len()];
    for (_, source) in view.sources() {
        if options.source.as_ref().is_some_and(|only| *only != source.name) {
            continue;
        }
        let hashes: Vec<[u8; 16]> =
            chunk.iter().map(|(key, _)| key_identity(&source.name, key)).collect();
        for (found, document) in found.iter_mut().zip(view.identities(&hashes)?) {
            found.extend(document);
        }
    }
    Ok(found)
}

/// The field as it is declared.
fn declared(view: &View, options: &JoinOptions) -> Result<FieldDeclaration, IngestError> {
    if let Some(source) = &options.source
        && view.source_named(source).is_none()
    {
        let known: Vec<&str> = view.sources().map(|(_, source)| source.name.as_str()).collect();
        return Err(IngestError::Join(format!(
            "there is no source `{source}`; there is {}",
            known.join(", ")
        )));
    }
    let found = view.fields().iter().find(|field| field.name == options.field);
    found.cloned().ok_or_else(|| {
        let known: Vec<&str> = view.fields().iter().map(|field| field.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        IngestError::Join(format!(
            "field `{}` is not declared (declared: {known}); fields are declared when a corpus is made, \
             with `corpusdb init --field {}:float`",
            options.field, options.field
        ))
    })
}

/// The id or key of a record, and its value; none when it has no value.
fn named_value(
    item: Item,
    value: &str,
    declared: &FieldDeclaration,
) -> Result<Option<(String, Box<RawValue>)>, IngestError> {
    let record = match item {
        Item::Record(record) => record,
        Item::Reject(reject) => {
            return Err(IngestError::Join(format!(
                "{}: record {} (counted from 0) at byte {}: {}",
                reject.origin.path.display(),
                reject.origin.number,
                reject.origin.offset,
                reject.reason
            )));
        }
    };
    let fail = |record: &ReadRecord, what: String| {
        let origin = &record.origin;
        let (path, number) = (origin.path.display(), origin.number);
        IngestError::Join(format!("{path}: record {number} (counted from 0): {what}"))
    };
    let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&record.metadata)
        .map_err(|error| fail(&record, format!("its fields cannot be read: {error}")))?;
    let Some(raw) = fields.get(value).cloned() else { return Ok(None) };
    if !fits(raw.get(), declared.kind) {
        let kind = declared.kind.name();
        return Err(fail(
            &record,
            format!("`{value}` is {}, and the field is of kind {kind}", raw),
        ));
    }
    let RecordKey::Given(name) = record.key else { return Ok(None) };
    Ok(Some((name, raw)))
}

/// Whether a value can be indexed as its kind, or is null.
fn fits(raw: &str, kind: FieldKind) -> bool {
    if raw == "null" {
        return true;
    }
    match kind {
        FieldKind::Keyword => !raw.starts_with(['[', '{']),
        FieldKind::Int => serde_json::from_str::<i64>(raw).is_ok(),
        FieldKind::Float => serde_json::from_str::<f64>(raw).is_ok(),
    }
}
