//! Joins values from outside to stored documents, by id or key: one commit a chunk; to repeat a join changes nothing.

use super::converter::declared_kinds;
use super::field_tally::FieldTally;
use super::file_tally::odd_quote_words;
use super::options::{JoinBy, JoinColumn, JoinOptions, JoinReport};
use super::reader::IngestInput;
use crate::decide::{LoadedTokenizer, decide_reranked};
use files::input::{InputReader, ReadItem, ReadOptions};
use model::near_names::{UnknownName, way_out};
use model::{
    Context, DocId, Error, FieldDeclaration, FieldValue, Hint, Interrupt, Interrupted, Misfit,
    ReadRecord, RecordKey, canonical, key_identity, value_excerpt,
};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use store::{CommitRecord, StoreWriter, View};

/// Unknown ids or keys that the report lists.
const LISTED: usize = 10;

/// The values of a record, each with the place of its field among those that are set.
type JoinValues = Vec<(usize, Box<RawValue>)>;

/// What a record has to be joined.
enum JoinRecord {
    /// Values, by the id or key of the document that they are of, and the key that earlier releases read.
    Values(String, Option<String>, JoinValues),
    /// Values of another type than their fields' alone, which are counted.
    Misfits,
    /// No value, or no name.
    Nothing,
}

/// Records that are joined in one commit, bounded in number and in bytes.
#[derive(Default)]
struct JoinBatch {
    records: Vec<(String, JoinValues)>,
    /// Keys as earlier releases read them, by the place of the record.
    earlier: Vec<(usize, String)>,
    bytes: u64,
}

/// Reads records and sets fields of the documents that they name. Of several values for one field of a document the
/// last counts; a `null` takes the value away, where a format tells it from no value at all (Parquet does not). A value
/// that the type of its field cannot hold is skipped and counted: what the document has stays. With a key the newest
/// document of it is meant. No more than the records of one commit are held. Where the keep order goes by one of the
/// fields, each commit decides about the documents that it ranks otherwise, and `tokenizers` encode what is kept again.
///
/// # Errors
/// [`Error`] for a field that is not declared, for a record without a name, where options say `strict` for a value of
/// another type, and when an input cannot be read. Earlier commits stay; the same call again
/// continues.
pub fn join(
    writer: &mut StoreWriter,
    inlets: Vec<IngestInput<'_>>,
    options: &JoinOptions,
    tokenizers: &[LoadedTokenizer],
    context: &Context<'_>,
) -> Result<JoinReport, Error> {
    check_source(writer.view(), options)?;
    let fields: Vec<FieldDeclaration> = options
        .columns
        .iter()
        .map(|column| declared(writer.view(), column))
        .collect::<Result<_, _>>()?;
    let joining = FieldJoin { options, fields: &fields, tokenizers, interrupt: context.interrupt };
    let mut tally = FieldTally::of(&fields);
    let columns = options.columns.iter().map(|column| column.column.as_str());
    let read = ReadOptions {
        text_field: None,
        id_field: Some(options.by.field().to_owned()),
        whole: true,
        declared: declared_kinds(columns.zip(&fields)),
        ..options.read.clone()
    };
    let names = fields.iter().map(|field| field.name.clone()).collect();
    let mut report = JoinReport { fields: names, ..JoinReport::default() };
    let sizes = inlets.iter().map(|inlet| match inlet {
        IngestInput::File(input) => Some(std::fs::metadata(input.path.as_ref()).ok()?.len()),
        IngestInput::Memory(_) => None,
    });
    context.progress.begin("joining", sizes.sum::<Option<u64>>());
    let mut before = 0;
    for inlet in inlets {
        let path = inlet.path().unwrap_or_default();
        let reader = inlet.reader(&read, context.interrupt);
        let mut reader = reader.map_err(|error| or_stopped(error.into(), &report))?;
        loop {
            let most = writer.batch_bytes();
            let chunk = joining.chunk(&mut reader, most, &mut tally, &mut report);
            report.misfits = tally.misfits();
            let (chunk, is_over) = chunk.map_err(|error| or_stopped(error, &report))?;
            let written = joining.write(writer, &chunk, &mut report);
            written.map_err(|error| or_stopped(error, &report))?;
            context.progress.advance(before + reader.input_bytes());
            if is_over {
                break;
            }
            if context.interrupt.is_raised() {
                return Err(stopped(&report).into());
            }
        }
        before += reader.input_bytes();
        note_oddities(&mut reader, &path, &mut report);
    }
    context.progress.end();
    if report.records > 0 && report.without_value == report.records {
        let columns: Vec<&str> = options.columns.iter().map(|c| c.column.as_str()).collect();
        let columns = columns.join("` or `");
        return Err(Error::bad_input(format!("no record has a value in a field `{columns}`")));
    }
    Ok(report)
}

/// The request to stop, after the records that the report counts.
const fn stopped(report: &JoinReport) -> Interrupted {
    Interrupted { done: Some((report.records, "records were joined")) }
}

/// An error of reading, or the stop that was asked for while it waited.
fn or_stopped(error: Error, report: &JoinReport) -> Error {
    if error.is_interrupt() { stopped(report).into() } else { error }
}

/// A join under way.
struct FieldJoin<'a> {
    options: &'a JoinOptions,
    /// The fields of `options.columns`, in their order.
    fields: &'a [FieldDeclaration],
    tokenizers: &'a [LoadedTokenizer],
    interrupt: &'a Interrupt,
}

impl FieldJoin<'_> {
    /// The next records, and whether they are the last of their file.
    fn chunk(
        &self,
        reader: &mut InputReader<'_>,
        most: u64,
        tally: &mut FieldTally,
        report: &mut JoinReport,
    ) -> Result<(JoinBatch, bool), Error> {
        let mut chunk = JoinBatch::default();
        while chunk.records.len() < self.options.batch.max(1) && chunk.bytes < most {
            let Some(item) = reader.next()? else { return Ok((chunk, true)) };
            report.records += 1;
            match self.named_values(item, tally)? {
                JoinRecord::Values(name, earlier, values) => {
                    let at = chunk.records.len();
                    chunk.earlier.extend(earlier.map(|earlier| (at, earlier)));
                    let bytes = values.iter().map(|(_, raw)| raw.get().len()).sum::<usize>();
                    chunk.bytes += (name.len() + bytes) as u64;
                    chunk.records.push((name, values));
                }
                JoinRecord::Misfits => {}
                JoinRecord::Nothing => report.without_value += 1,
            }
        }
        Ok((chunk, false))
    }

    /// One commit.
    fn write(
        &self,
        writer: &mut StoreWriter,
        chunk: &JoinBatch,
        report: &mut JoinReport,
    ) -> Result<(), Error> {
        if chunk.records.is_empty() {
            return Ok(());
        }
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let found = self.documents(&view, chunk)?;
        // All values of a document, in the order of the records: what it comes to is the same however they are cut.
        let mut values: BTreeMap<DocId, Vec<(&str, &RawValue)>> = BTreeMap::new();
        for ((name, given), documents) in chunk.records.iter().zip(found) {
            if documents.is_empty() {
                report.unknown += 1;
                if report.unknown_examples.len() < LISTED {
                    report.unknown_examples.push(name.clone());
                }
            } else {
                report.matched += 1;
            }
            for document in documents {
                let named = given
                    .iter()
                    .filter_map(|(at, raw)| Some((self.fields.get(*at)?.member(), raw.as_ref())));
                values.entry(document).or_default().extend(named);
            }
        }
        let mut changed = 0;
        for (document, values) in &values {
            changed += u64::from(batch.set_fields(*document, values)?);
        }
        report.changed += changed;
        report.unchanged += values.len() as u64 - changed;
        if changed == 0 {
            return Ok(());
        }
        let decided = decide_reranked(&mut batch, self.tokenizers, self.interrupt)?;
        report.kept_again += decided.kept_again;
        report.no_longer_kept += decided.no_longer_kept;
        batch.commit(&CommitRecord::about("field", report.fields.join(", ")))?;
        report.commits += 1;
        Ok(())
    }

    /// The documents that the records of a chunk name, in their order.
    fn documents(&self, view: &View, chunk: &JoinBatch) -> Result<Vec<Vec<DocId>>, Error> {
        if let JoinBy::Id(_) = self.options.by {
            let document = |name: &String| {
                let id: Option<u64> = name.parse().ok();
                id.filter(|id| *id < view.documents()).map(DocId)
            };
            let names = chunk.records.iter().map(|(name, _)| document(name).into_iter().collect());
            let mut found: Vec<Vec<DocId>> = names.collect();
            // A column of ids with a hole in it has `7.0`.
            for (at, name) in &chunk.earlier {
                if let Some(found) = found.get_mut(*at) {
                    found.extend(document(name));
                }
            }
            return Ok(found);
        }
        let mut found: Vec<Vec<DocId>> = vec![Vec::new(); chunk.records.len()];
        let keys = chunk.records.iter().map(|(key, _)| key).enumerate();
        self.find_keys(view, &keys.collect::<Vec<_>>(), &mut found)?;
        let is_unknown = |at: usize| found.get(at).is_some_and(Vec::is_empty);
        let earlier = chunk.earlier.iter().filter(|(at, _)| is_unknown(*at));
        let earlier: Vec<(usize, &String)> = earlier.map(|(at, key)| (*at, key)).collect();
        self.find_keys(view, &earlier, &mut found)?;
        Ok(found)
    }

    /// The newest documents of keys, for the records at these places.
    fn find_keys(
        &self,
        view: &View,
        keys: &[(usize, &String)],
        found: &mut [Vec<DocId>],
    ) -> Result<(), Error> {
        let only = self.options.source.as_ref();
        for (_, source) in view.sources() {
            if keys.is_empty() || only.is_some_and(|only| *only != source.name) {
                continue;
            }
            let hashes: Vec<[u8; 16]> =
                keys.iter().map(|(_, key)| key_identity(&source.name, key)).collect();
            for ((at, _), document) in keys.iter().zip(view.identities(&hashes)?) {
                if let Some(found) = found.get_mut(*at) {
                    found.extend(document);
                }
            }
        }
        Ok(())
    }

    /// The id or key of a record, and its values; those of another type are counted.
    fn named_values(&self, item: ReadItem, tally: &mut FieldTally) -> Result<JoinRecord, Error> {
        let record = match item {
            ReadItem::Record(record) => record,
            ReadItem::Reject(reject) => {
                let place = reject.origin.record_and_byte();
                return Err(Error::bad_input(format!(
                    "{place}: {}; nothing of its batch was set, what was committed before stays: mend such records or leave them out, then run the same again",
                    reject.reason
                )));
            }
        };
        let fail = |record: &ReadRecord, what: String| {
            Error::bad_input(format!("{}: {what}", record.origin.record()))
        };
        // With its nulls: they take values away.
        let spelled = record.spelled.as_ref().map_or(&record.metadata, |spelled| &spelled.json);
        let fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(spelled)
            .map_err(|error| fail(&record, format!("its fields cannot be read: {error}")))?;
        let (mut values, mut has_misfits) = (JoinValues::new(), false);
        for (at, (column, field)) in self.options.columns.iter().zip(self.fields).enumerate() {
            let Some(raw) = fields.get(&column.column) else { continue };
            let not_finite =
                record.not_finite.fields.iter().find(|(name, _)| *name == column.column);
            let misfit = match (not_finite, FieldValue::of_json(raw.get(), field.kind)) {
                (Some((_, spelled)), _) => Some((*spelled).to_owned()),
                (None, Err(Misfit)) => Some(value_excerpt(raw.get())),
                (None, Ok(_)) => None,
            };
            if let Some(value) = misfit {
                if self.options.strict {
                    let (column, kind) = (&column.column, field.kind.name());
                    let what = format!("`{column}` is {value}, and the field is of kind {kind}");
                    return Err(fail(&record, what));
                }
                tally.count_value(field.id, Some(&value), &record.origin);
                has_misfits = true;
                continue;
            }
            if raw.get() != "null" {
                tally.count_value(field.id, None, &record.origin);
            }
            values.push((at, in_canonical_form(raw)));
        }
        Ok(match record.key {
            RecordKey::Given(name) if !values.is_empty() => {
                JoinRecord::Values(name, record.earlier_key, values)
            }
            RecordKey::Given(_) if has_misfits => JoinRecord::Misfits,
            _ => JoinRecord::Nothing,
        })
    }
}

/// A value in the form in which an ingest stores it: numbers are spelled in one way.
fn in_canonical_form(raw: &RawValue) -> Box<RawValue> {
    let form = canonical(raw.get()).ok();
    let form = form.and_then(|form| RawValue::from_string(form.json).ok());
    form.unwrap_or_else(|| raw.to_owned())
}

/// Counts rows and quotes of a table that may be meant otherwise.
fn note_oddities(reader: &mut InputReader<'_>, path: &[u8], report: &mut JoinReport) {
    let odd = reader.take_oddities();
    report.name_rows += odd.names.count;
    report.odd_quotes.extend(odd_quote_words(&String::from_utf8_lossy(path), odd));
}

fn check_source(view: &View, options: &JoinOptions) -> Result<(), Error> {
    let Some(source) = &options.source else { return Ok(()) };
    view.expect_source(source)?;
    Ok(())
}

/// A field as it is declared.
fn declared(view: &View, column: &JoinColumn) -> Result<FieldDeclaration, Error> {
    let name = &column.field;
    if let Some(expression) = view.fed_by(name) {
        return Err(Error::bad_input(format!(
            "field `{name}` is the signal `{expression}`, which every document gets; set another field, or `corpusdb signals drop` it first"
        )));
    }
    if let Some(found) = view.field_named(name) {
        return Ok(found.clone());
    }
    if view.filling_field(name).is_some() {
        return Err(Error::bad_input(format!(
            "field `{name}` is being filled; run `corpusdb field add` or `corpusdb field compute` to its end first"
        )));
    }
    let known = view.fields().iter().map(|field| field.name.as_str());
    let unknown = UnknownName::new("field", name, known);
    if unknown.known.is_empty() {
        return Err(unknown.into());
    }
    let way_out = way_out(name, &unknown.known);
    let sign = if way_out.ends_with('?') { "" } else { ";" };
    let hint = Hint::text(format!("{way_out}{sign} or declare it"))
        .with_command(format!("corpusdb field add CORPUS {name}:float"));
    Err(Error::from(unknown).with_hint(hint))
}
