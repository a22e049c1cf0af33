//! Records to documents-to-be: hashes, fingerprint, indexed values. Parallel; looks at nothing stored.

use super::decided::ImportedRow;
use super::feed::SignalFields;
use super::form::{ConvertedText, RecordConverter};
use super::given::SuppliedTokens;
use super::produce::{IngestChunk, InputPart};
use super::sight::SuiteScanner;
use crate::dedup::{Fingerprint, Fingerprinter};
use crate::input::ReadItem;
use crate::model::{
    Compared, LossSpan, Policy, ReadRecord, Reject, RejectReason, Sightings, SuiteId, TextForm,
    compared_text, half, record_identity, reject_identity, text_hash,
};
use crate::store::{Indexed, indexed};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A record with everything that is known of it alone.
pub(super) struct FingerprintedRecord {
    pub(super) record: ReadRecord,
    /// How its text is encoded; none: it is plain.
    pub(super) form: Option<TextForm>,
    /// The ids that came with it.
    pub(super) given: Option<SuppliedTokens>,
    /// What was decided about it elsewhere.
    pub(super) decided: Option<ImportedRow>,
    pub(super) raw: [u8; 16],
    pub(super) content: [u8; 16],
    pub(super) identity: [u8; 16],
    /// Without its shingles, which are beside it.
    pub(super) fingerprint: Fingerprint,
    pub(super) shingles: RecordShingles,
    pub(super) chars: u64,
    pub(super) indexed: Indexed,
    /// What its text has of suites.
    pub(super) sightings: Vec<(SuiteId, Sightings)>,
}

/// Shingles of a record, more than its text where words are short: whoever decides takes them, and lets go of
/// them before the text is encoded.
pub(super) struct RecordShingles {
    count: u32,
    hashes: Mutex<Arc<[u64]>>,
}

impl RecordShingles {
    fn new(hashes: Vec<u64>) -> Self {
        let count = u32::try_from(hashes.len()).unwrap_or(u32::MAX);
        Self { count, hashes: Mutex::new(hashes.into()) }
    }

    /// How many they are, taken or not.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// They stay here.
    pub(super) fn shared(&self) -> Arc<[u64]> {
        Arc::clone(&self.hashes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// They are gone from here.
    pub(super) fn take(&self) -> Arc<[u64]> {
        std::mem::take(&mut *self.hashes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) enum FingerprintedItem {
    Document(Box<FingerprintedRecord>),
    Reject(Reject, [u8; 16]),
}

/// A chunk with its items prepared; `pieces` and `items` run in parallel.
pub(super) struct FingerprintedChunk {
    pub(super) chunk: IngestChunk,
    pub(super) items: Vec<Vec<FingerprintedItem>>,
}

impl FingerprintedChunk {
    /// Whether files were read further than the store knows.
    pub(super) fn advances_files(&self) -> bool {
        self.chunk.pieces.iter().any(|piece| !piece.known && !piece.repeats_stored())
    }
}

/// Prepares every record of a chunk, in parallel.
pub(super) fn fingerprint_chunk(
    mut chunk: IngestChunk,
    source: &str,
    policy: &Policy,
    feed: &SignalFields,
    former: &RecordConverter,
) -> FingerprintedChunk {
    let mut filtered = 0;
    let items = chunk.pieces.iter_mut().map(|piece: &mut InputPart| {
        let mut items = std::mem::take(&mut piece.items);
        if let Some(sieve) = former.sieve().filter(|_| !piece.sifted) {
            let (kept, out) = sieve.apply(items);
            items = kept;
            filtered += out;
        }
        items
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || (Fingerprinter::new(policy), SuiteScanner::new(former.seeds(), policy)),
                |crafts, item| match item {
                    // The chunk will not be written: the rest of it need not be made.
                    ReadItem::Record(record) if former.is_interrupted() => rejected(
                        Reject::of(record, None, RejectReason::Form(String::new())),
                        source,
                    ),
                    ReadItem::Record(record) => match former.convert(record) {
                        Ok(formed) => {
                            let compared = policy.compared;
                            match fingerprint_record(formed, source, compared, feed, crafts) {
                                Ok(prepared) => FingerprintedItem::Document(Box::new(prepared)),
                                Err(reject) => rejected(*reject, source),
                            }
                        }
                        Err(reject) => rejected(reject, source),
                    },
                    ReadItem::Reject(reject) => rejected(reject, source),
                },
            )
            .collect()
    });
    let items = items.collect();
    chunk.filtered += filtered;
    FingerprintedChunk { chunk, items }
}

fn rejected(reject: Reject, source: &str) -> FingerprintedItem {
    let identity = reject_identity(&reject, source);
    FingerprintedItem::Reject(reject, identity)
}

fn fingerprint_record(
    formed: ConvertedText,
    source: &str,
    compared: Compared,
    feed: &SignalFields,
    (craft, sighter): &mut (Fingerprinter, SuiteScanner<'_>),
) -> Result<FingerprintedRecord, Box<Reject>> {
    let ConvertedText { mut record, form, given, decided } = formed;
    // In every mode: a later change of mind finds the sketches it needs.
    let mut fingerprint =
        craft.fingerprint(&compared_text(compared, &record.text, &record.metadata));
    let shingles = RecordShingles::new(std::mem::take(&mut fingerprint.shingles));
    let sightings = sighter.scan(&record.text, &fingerprint, craft);
    let raw = text_hash(&record.text);
    let content = content_hash(&raw, &record.metadata, form.as_ref(), given.as_ref());
    let identity = record_identity(&record, record.source.as_deref().unwrap_or(source), &content);
    // A record is recognised by what it came with.
    match feed.with_signals(&record.text, std::mem::take(&mut record.metadata)) {
        Ok(metadata) => record.metadata = metadata,
        Err(why) => return Err(Box::new(Reject::of(record, None, RejectReason::Form(why)))),
    }
    Ok(FingerprintedRecord {
        form,
        given,
        decided,
        raw,
        content,
        identity,
        fingerprint,
        shingles,
        chars: record.text.chars().count() as u64,
        indexed: indexed(&record.metadata, &feed.fields),
        sightings,
        record,
    })
}

/// Plain text: of text and metadata. Else also of what is trained on and of the ids that came along.
fn content_hash(
    raw: &[u8; 16],
    metadata: &str,
    form: Option<&TextForm>,
    given: Option<&SuppliedTokens>,
) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(raw);
    hasher.update(metadata.as_bytes());
    if let Some(form) = form {
        hasher.update(&[0, u8::from(form.specials), u8::from(form.spans.is_some())]);
        spans(&mut hasher, form.spans.as_deref().unwrap_or_default());
    }
    if let Some(given) = given {
        hasher.update(&[1, u8::from(given.spans.is_some())]);
        spans(&mut hasher, given.spans.as_deref().unwrap_or_default());
        for id in &given.ids {
            hasher.update(&id.to_le_bytes());
        }
    }
    half(&hasher.finalize())
}

fn spans(hasher: &mut blake3::Hasher, spans: &[LossSpan]) {
    for span in spans {
        hasher.update(&span.start.to_le_bytes());
        hasher.update(&span.end.to_le_bytes());
        hasher.update(&span.weight.to_le_bytes());
    }
}
