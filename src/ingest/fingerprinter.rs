//! Turns the raw records of a chunk into fingerprinted ones, in parallel: all that follows from a record alone.
//!
//! A record is decoded, filtered and converted to a text. Then come shingles and sketch, what the text has of suites
//! ([`SuiteScanner`]), the identities by which a record is recognised ([`RecordIdentifier`]), the scores of signals,
//! which go into its metadata ([`SignalFields`]), and its indexed values. Nothing stored is read.

use super::converter::{ConvertedText, EarlierText, RecordConverter};
use super::error::{load_row, rejected_record};
use super::imported_row::ImportedRow;
use super::options::OnError;
use super::pretokenized::SuppliedTokens;
use super::reader::{IngestChunk, InputPart, PartKind, RecordIdentity};
use crate::decide::BlockKeys;
use files::input::{
    CAPTURE_FIELDS, InputReader, RawRecord, ReadItem, RecordBuilder, split_members,
};
use model::{
    ComparedPart, ContentFields, Error, ErrorKind, FieldDeclaration, FieldKind, Hint, LossSpan,
    Normaliser, Policy, ReadRecord, RecordKey, Reject, RejectReason, Sightings, Signature, SuiteId,
    TextForm, canonical, compared_text, content_form, hash128, key_identity, record_identity,
    reject_identity, text_hash, without_null_members,
};
use rayon::ThreadPool;
use rayon::prelude::*;
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::{Arc, Mutex, PoisonError};
use store::{IndexedValues, View, block_hashes, indexed, with_fields};
use text::contamination::{SeedIndex, SeedScratch, TextTokens};
use text::dedup::{Fingerprint, Fingerprinter};
use text::signals::{Signal, scores, scores_json};

/// A record with all that follows from it alone.
pub(super) struct FingerprintedRecord {
    pub(super) record: ReadRecord,
    /// How its text is encoded; none: it is plain.
    pub(super) form: Option<TextForm>,
    /// The ids that came with it.
    pub(super) given: Option<SuppliedTokens>,
    /// A template quoted arguments of tool calls a second time.
    pub(super) has_quoted_arguments: bool,
    /// Names of members of messages that a template left out.
    pub(super) left_out: Vec<String>,
    /// What was decided about it elsewhere.
    pub(super) decided: Option<ImportedRow>,
    /// Hash of its text.
    pub(super) raw: [u8; 16],
    pub(super) content: [u8; 16],
    /// When it was captured ([`Capture::moment`](model::Capture)).
    pub(super) moment: Option<i64>,
    pub(super) identity: [u8; 16],
    /// Identity and content as older releases took them, where they are others.
    pub(super) earlier: Vec<RecordIdentity>,
    /// Without its shingles, which are beside it.
    pub(super) fingerprint: Fingerprint,
    pub(super) shingles: RecordShingles,
    pub(super) chars: u64,
    pub(super) indexed: IndexedValues,
    /// What its text has of suites.
    pub(super) sightings: Vec<(SuiteId, Sightings)>,
}

impl FingerprintedRecord {
    /// The error of a record that cannot be a row of a load.
    pub(super) fn load_row(&self, why: impl Display) -> Error {
        let origin = &self.record.origin;
        load_row(&origin.path, origin.number, why)
    }

    /// The keys by which a removal may keep it out; `with_sketch` when similarity matters.
    pub(super) fn block_keys(&self, with_sketch: bool) -> BlockKeys {
        let Fingerprint { tokens, normalised, sketch, .. } = &self.fingerprint;
        let is_keyed = matches!(self.record.key, RecordKey::Given(_));
        let identity = is_keyed.then_some(self.identity);
        let hashes = block_hashes(self.raw, identity, (*tokens, *normalised));
        BlockKeys::new(hashes, sketch.as_ref().filter(|_| with_sketch).cloned())
    }
}

/// Shingles of a record. They take more memory than its text where words are short, so whoever decides takes them out,
/// and drops them before the text is encoded.
pub(super) struct RecordShingles {
    count: u32,
    hashes: Mutex<Arc<[u64]>>,
}

impl RecordShingles {
    fn new(hashes: Vec<u64>) -> Self {
        let count = u32::try_from(hashes.len()).unwrap_or(u32::MAX);
        Self { count, hashes: Mutex::new(hashes.into()) }
    }

    /// How many shingles the record has, also when they are taken out.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// The shingles, which stay here.
    pub(super) fn shared(&self) -> Arc<[u64]> {
        Arc::clone(&self.hashes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the shingles out.
    pub(super) fn take(&self) -> Arc<[u64]> {
        std::mem::take(&mut *self.hashes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) enum FingerprintedItem {
    Document(Box<FingerprintedRecord>),
    Reject(Reject, [u8; 16]),
}

/// A chunk with its records fingerprinted; `parts` and `items` run in parallel.
pub(super) struct FingerprintedChunk {
    pub(super) chunk: IngestChunk,
    pub(super) items: Vec<Vec<FingerprintedItem>>,
}

impl FingerprintedChunk {
    /// Whether files were read further than the store knows.
    pub(super) fn advances_files(&self) -> bool {
        self.chunk.parts.iter().any(InputPart::advances_file)
    }
}

/// The settings of an ingest by which records are fingerprinted.
pub(super) struct FingerprintContext<'a> {
    /// The source of records that name none.
    pub(super) source: &'a str,
    pub(super) policy: &'a Policy,
    pub(super) signals: &'a SignalFields,
    pub(super) converter: &'a RecordConverter,
    pub(super) on_error: OnError,
    /// The threads of the work.
    pub(super) pool: &'a ThreadPool,
}

/// Records that the pool gets at once. The decider of the chunk before is served between two pieces: behind a whole
/// chunk, decisions came late, and the last ones ran alone.
const PIECE: usize = 512;

/// Decodes and fingerprints every record of a chunk, in parallel. Where a bad record ends the ingest, the chunk is cut
/// before the first one.
pub(super) fn fingerprint_chunk(
    mut chunk: IngestChunk,
    context: &FingerprintContext<'_>,
) -> FingerprintedChunk {
    let parts = std::mem::take(&mut chunk.parts);
    let mut items = Vec::with_capacity(parts.len());
    for mut part in parts {
        find_torn(&mut part, &mut chunk, context);
        let records = std::mem::take(&mut part.records);
        let before = records.len() as u64;
        let mut of_part = fingerprint_records(records, context);
        let mut filtered = before - of_part.len() as u64;
        let bad = match context.on_error {
            OnError::Fail if !part.is_known() => {
                of_part.iter().position(|item| matches!(item, FingerprintedItem::Reject(..)))
            }
            OnError::Fail | OnError::Reject => None,
        };
        let mut error = None;
        if let Some(at) = bad
            && let Some(FingerprintedItem::Reject(reject, _)) = of_part.get(at)
        {
            let first = part.end.records - before;
            filtered = reject.origin.number - first - at as u64;
            error = Some(rejected_record(reject));
            // The next run continues at the bad record, not behind it.
            match InputReader::point_at(&part.input, context.converter.read(), &reject.origin) {
                Ok(point) => part.end = point,
                Err(why) => error = Some(why.into()),
            }
            part.is_last = false;
            of_part.truncate(at);
        }
        chunk.filtered += filtered;
        if error.is_none() || !of_part.is_empty() || filtered > 0 {
            chunk.parts.push(part);
            items.push(of_part);
        }
        if error.is_some() {
            chunk.error = error;
            break;
        }
    }
    FingerprintedChunk { chunk, items }
}

/// Finds the identities under which the torn record of a part, which had no end when it was read before, was stored.
fn find_torn(part: &mut InputPart, chunk: &mut IngestChunk, context: &FingerprintContext<'_>) {
    let Some(torn) = &mut part.torn else { return };
    let was = fingerprint_records(torn.raw.take().into_iter().collect(), context).pop();
    if let Some(FingerprintedItem::Document(record)) = was {
        let FingerprintedRecord { identity, content, earlier, .. } = *record;
        let own = RecordIdentity { identity, content, is_other_key: false };
        torn.stored = std::iter::once(own).chain(earlier).collect();
        if part.kind == PartKind::Next {
            // The record was counted among those that are not read again.
            chunk.unchanged = chunk.unchanged.saturating_sub(1);
        }
    }
}

fn fingerprint_records(
    records: Vec<RawRecord<'static>>,
    context: &FingerprintContext<'_>,
) -> Vec<FingerprintedItem> {
    let mut items = Vec::with_capacity(records.len());
    let mut records = records.into_iter();
    let builder = RecordBuilder::new(context.converter.read());
    loop {
        let piece: Vec<RawRecord<'static>> = records.by_ref().take(PIECE).collect();
        if piece.is_empty() {
            return items;
        }
        items.extend(context.pool.install(|| fingerprint_piece(piece, &builder, context)));
    }
}

fn fingerprint_piece(
    records: Vec<RawRecord<'static>>,
    builder: &RecordBuilder,
    context: &FingerprintContext<'_>,
) -> Vec<FingerprintedItem> {
    let FingerprintContext { source, policy, signals, converter, .. } = *context;
    let read = records.into_par_iter().with_min_len(8);
    let read = read.map_init(|| builder.clone(), |builder, raw| builder.build(raw));
    let read: Vec<ReadItem> = match converter.sieve() {
        Some(filter) => filter.apply(read.collect()),
        None => read.collect(),
    };
    let identifier = RecordIdentifier::new(source, converter);
    let tools = || (Fingerprinter::new(policy), SuiteScanner::new(converter.seeds(), policy));
    let read = read.into_par_iter().with_min_len(8);
    read.map_init(tools, |tools, item| match item {
        // The chunk will not be written, so its other records need not be made.
        ReadItem::Record(record) if converter.is_interrupted() => {
            rejected(Reject::of(record, None, None, RejectReason::Form(String::new())), source)
        }
        ReadItem::Record(record) => match converter.convert(record) {
            Ok(converted) => {
                match fingerprint_record(converted, &identifier, policy.compared, signals, tools) {
                    Ok(record) => FingerprintedItem::Document(Box::new(record)),
                    Err(reject) => rejected(*reject, source),
                }
            }
            Err(reject) => rejected(reject, source),
        },
        ReadItem::Reject(reject) => rejected(reject, source),
    })
    .collect()
}

fn rejected(reject: Reject, source: &str) -> FingerprintedItem {
    let identity = reject_identity(&reject, source);
    FingerprintedItem::Reject(reject, identity)
}

fn fingerprint_record(
    formed: ConvertedText,
    identifier: &RecordIdentifier<'_>,
    compared: ComparedPart,
    signals: &SignalFields,
    (craft, scanner): &mut (Fingerprinter, SuiteScanner<'_>),
) -> Result<FingerprintedRecord, Box<Reject>> {
    let ConvertedText { mut record, form, given, decided, earlier, .. } = formed;
    let (has_quoted_arguments, left_out) = (formed.has_quoted_arguments, formed.left_out);
    // In every mode: a later change of mind finds the sketches it needs.
    let mut fingerprint =
        craft.fingerprint(&compared_text(compared, &record.text, &record.metadata, form.as_ref()));
    let shingles = RecordShingles::new(std::mem::take(&mut fingerprint.shingles));
    let sightings = scanner.scan(&record.text, &fingerprint, craft);
    let raw = text_hash(&record.text);
    let forms = (form.as_ref(), given.as_ref());
    let identities = identifier.identities(&record, raw, forms, &earlier);
    let (RecordIdentity { identity, content, .. }, earlier) = match identities {
        Ok(identities) => identities,
        Err(why) => {
            return Err(Box::new(Reject::of(record, None, None, RejectReason::Form(why))));
        }
    };
    // Scores are added behind the identities, which do not cover them.
    match signals.with_signals(&record.text, std::mem::take(&mut record.metadata)) {
        Ok(metadata) => record.metadata = metadata,
        Err(why) => return Err(Box::new(Reject::of(record, None, None, RejectReason::Form(why)))),
    }
    Ok(FingerprintedRecord {
        form,
        given,
        has_quoted_arguments,
        left_out,
        decided,
        raw,
        content,
        moment: record.capture.and_then(|capture| capture.moment),
        identity,
        earlier,
        fingerprint,
        shingles,
        chars: record.text.chars().count() as u64,
        indexed: indexed(&record.metadata, &signals.fields)
            .with_not_finite(&record.not_finite.fields, &signals.fields),
        sightings,
        record,
    })
}

/// Makes the identities by which records are recognised, those of earlier releases among them.
struct RecordIdentifier<'a> {
    /// The source of records that name none.
    source: &'a str,
    /// Declared fields whose values are no texts.
    typed: &'a [(String, FieldKind)],
    /// Members of a capture that are not its content, by the names that the options give them.
    capture_fields: [String; CAPTURE_FIELDS.len()],
    /// Whether records are kept as they came, numbers as they are spelled.
    verbatim: bool,
    /// The id field, where it is kept among the fields because of that.
    kept_id: Option<String>,
    /// Whether documents are stored already, perhaps by an earlier release.
    has_stored: bool,
}

impl<'a> RecordIdentifier<'a> {
    fn new(source: &'a str, converter: &'a RecordConverter) -> Self {
        let read = converter.read();
        let capture_fields = CAPTURE_FIELDS.map(|name| read.name_of(name).to_owned());
        Self {
            source,
            typed: &read.declared,
            capture_fields,
            verbatim: read.verbatim,
            kept_id: read.id_field.clone().filter(|_| read.verbatim),
            has_stored: converter.has_stored(),
        }
    }

    /// The fields without the id: earlier releases did not keep it among them.
    ///
    /// # Errors
    /// In words, for fields that are not JSON.
    fn without_id<'m>(&self, metadata: &'m str) -> Result<Cow<'m, str>, String> {
        match &self.kept_id {
            Some(id) => split_members(metadata, |name, _| name == id).map(Cow::Owned),
            None => Ok(Cow::Borrowed(metadata)),
        }
    }

    /// Identity and content of a record with this hash of its text, and those that earlier releases took, where they are
    /// others: of fields without their types, in the order and the spelling of the input, with members of null, and
    /// under the key that they read.
    ///
    /// # Errors
    /// In words, for fields that are not JSON.
    fn identities(
        &self,
        record: &ReadRecord,
        raw: [u8; 16],
        (form, given): (Option<&TextForm>, Option<&SuppliedTokens>),
        earlier: &[EarlierText],
    ) -> Result<(RecordIdentity, Vec<RecordIdentity>), String> {
        let source = record.source.as_deref().unwrap_or(self.source);
        let left_out = record.capture.map_or(self.kept_id.as_slice(), |_| &self.capture_fields);
        let content_fields = ContentFields { left_out, typed: self.typed, is_row: record.is_row };
        let fields = content_form(&record.metadata, content_fields)?;
        let content = content_hash(&raw, &fields, form, given);
        let identity = record_identity(record, source, &content);
        let today = RecordIdentity { identity, content, is_other_key: false };
        let mut others = Vec::new();
        if !self.has_stored {
            return Ok((today, others));
        }
        let mut add = |raw: &[u8; 16], other: &str, form: Option<&TextForm>| {
            let content = content_hash(raw, other, form, given);
            if content != today.content {
                let identity = record_identity(record, source, &content);
                others.push(RecordIdentity { identity, content, is_other_key: false });
            }
            if let Some(key) = record.earlier_key.as_deref() {
                let identity = key_identity(source, key);
                others.push(RecordIdentity { identity, content, is_other_key: true });
            }
        };
        if !self.typed.is_empty() {
            // The content before a field was declared.
            let untyped = ContentFields { typed: &[], ..content_fields };
            add(&raw, &content_form(&record.metadata, untyped)?, form);
        }
        let spelled = self.without_id(&record.metadata)?;
        let stored = match self.verbatim {
            true => Cow::Owned(canonical(&spelled)?.json),
            false => Cow::Borrowed(&*spelled),
        };
        let without_nulls = without_null_members(&stored)?;
        if without_nulls != fields {
            add(&raw, &without_nulls, form);
        }
        if without_nulls != stored {
            add(&raw, &stored, form);
        }
        if stored != spelled {
            add(&raw, &spelled, form);
        }
        for EarlierText { metadata, made } in earlier {
            let metadata = self.without_id(metadata)?;
            match made {
                Some((text, form)) => add(&text_hash(text), &metadata, Some(form)),
                None => add(&raw, &metadata, form),
            }
        }
        Ok((today, others))
    }
}

/// The hash of a record's content: of its text and fields; where the text is not plain, also of what is trained on and
/// of the ids that came along.
fn content_hash(
    raw: &[u8; 16],
    fields: &str,
    form: Option<&TextForm>,
    given: Option<&SuppliedTokens>,
) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw);
    hasher.update(fields.as_bytes());
    if let Some(form) = form {
        hasher.update(&[0, u8::from(form.specials), u8::from(form.spans.is_some())]);
        hash_spans(&mut hasher, form.spans.as_deref().unwrap_or_default());
        for plain in &form.plain {
            hasher.update(&[2]);
            hasher.update(&plain.start.to_le_bytes());
            hasher.update(&plain.end.to_le_bytes());
        }
    }
    if let Some(given) = given {
        hasher.update(&[1, u8::from(given.spans.is_some())]);
        hash_spans(&mut hasher, given.spans.as_deref().unwrap_or_default());
        for id in &given.ids {
            hasher.update(&id.to_le_bytes());
        }
    }
    hash128(&hasher.finalize())
}

fn hash_spans(hasher: &mut blake3::Hasher, spans: &[LossSpan]) {
    for span in spans {
        hasher.update(&span.start.to_le_bytes());
        hasher.update(&span.end.to_le_bytes());
        hasher.update(&span.weight.to_le_bytes());
    }
}

/// The declared fields, and the stored signals whose scores every new document gets.
pub(super) struct SignalFields {
    pub(super) fields: Vec<FieldDeclaration>,
    signals: Vec<Signal>,
    /// The member of the metadata that has the score of each signal.
    members: Vec<String>,
}

impl SignalFields {
    /// The fields and signals of a corpus.
    ///
    /// # Errors
    /// [`Error`] for a signal of another release.
    pub(super) fn of(view: &View) -> Result<Self, Error> {
        let (mut signals, mut members) = (Vec::new(), Vec::new());
        for (field, expression) in view.fed_fields() {
            let known = Signal::from_name(&field.name);
            let Some(signal) = known.filter(|signal| signal.stored_version(expression).is_some())
            else {
                let message = format!(
                    "documents get the signal `{}`, `{expression}`, which this release does not know",
                    field.name
                );
                return Err(Error::of(ErrorKind::Failed, message).with_hint(
                    Hint::text("use the release that stored it, or drop the field")
                        .with_command("corpusdb field drop"),
                ));
            };
            signals.push(signal);
            members.push(field.member().to_owned());
        }
        Ok(Self { fields: view.fields().to_vec(), signals, members })
    }

    /// The metadata of a record with the scores of its text.
    ///
    /// # Errors
    /// In words, for metadata that are not an object.
    pub(super) fn with_signals(&self, text: &str, metadata: String) -> Result<String, String> {
        if self.signals.is_empty() {
            return Ok(metadata);
        }
        let why = |error: serde_json::Error| format!("its scores cannot be stored: {error}");
        let raw = scores_json(&scores(text, &self.signals)).map_err(why)?;
        let both = self.members.iter().zip(&raw);
        let values: Vec<_> = both.map(|(member, raw)| (member.as_str(), raw.as_ref())).collect();
        with_fields(&metadata, &values, &self.fields).map_err(why)
    }
}

/// Finds in texts what they have of suites. Each thread has its own, for its scratch memory.
struct SuiteScanner<'a> {
    seeds: &'a SeedIndex,
    scratch: SeedScratch,
    /// The normaliser of the fingerprints, where a scan can use their tokens because they are those of the text.
    shared: Option<Normaliser>,
}

impl<'a> SuiteScanner<'a> {
    pub(super) fn new(seeds: &'a SeedIndex, policy: &Policy) -> Self {
        let is_shared =
            policy.compared == ComparedPart::Text && policy.signature == Signature::Native;
        let shared = is_shared.then_some(policy.normaliser);
        Self { seeds, scratch: SeedScratch::default(), shared }
    }

    /// What a text has of suites; its `fingerprint` is the last that `craft` made.
    pub(super) fn scan(
        &mut self,
        text: &str,
        fingerprint: &Fingerprint,
        craft: &Fingerprinter,
    ) -> Vec<(SuiteId, Sightings)> {
        if self.seeds.is_empty() {
            return Vec::new();
        }
        let hashes = craft.last_tokens();
        // `craft` keeps none of an unusually long text.
        let is_made = hashes.len() as u64 == u64::from(fingerprint.tokens);
        let made = self.shared.filter(|_| is_made);
        let made = made.map(|normaliser| TextTokens { normaliser, hashes });
        self.seeds.scan(text, made, &mut self.scratch)
    }
}
