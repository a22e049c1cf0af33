//! Records to documents-to-be: hashes, fingerprint, indexed values. Parallel; looks at nothing stored.

use super::decided::Decided;
use super::feed::Feed;
use super::form::{Formed, Former};
use super::given::Given;
use super::produce::{Chunk, InputPart};
use super::sight::Sighter;
use crate::dedup::{Fingerprint, Fingerprinter};
use crate::input::Item;
use crate::model::{
    Compared, LossSpan, Policy, ReadRecord, Reject, RejectReason, Sightings, SuiteId, TextForm,
    compared_text, half, record_identity, reject_identity, text_hash,
};
use crate::store::{Indexed, indexed};
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A record with everything that is known of it alone.
pub(super) struct Prepared {
    pub(super) record: ReadRecord,
    /// How its text is encoded; none: it is plain.
    pub(super) form: Option<TextForm>,
    /// The ids that came with it.
    pub(super) given: Option<Given>,
    /// What was decided about it elsewhere.
    pub(super) decided: Option<Decided>,
    pub(super) raw: [u8; 16],
    pub(super) content: [u8; 16],
    pub(super) identity: [u8; 16],
    /// Without its shingles, which are beside it.
    pub(super) fingerprint: Fingerprint,
    pub(super) shingles: Shingles,
    pub(super) chars: u64,
    pub(super) indexed: Indexed,
    /// What its text has of suites.
    pub(super) sightings: Vec<(SuiteId, Sightings)>,
}

/// Shingles of a record, more than its text where words are short: whoever decides takes them, and lets go of
/// them before the text is encoded.
pub(super) struct Shingles {
    count: u32,
    hashes: Mutex<Arc<[u64]>>,
}

impl Shingles {
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

pub(super) enum Ready {
    Document(Box<Prepared>),
    Reject(Reject, [u8; 16]),
}

/// A chunk with its items prepared; `pieces` and `items` run in parallel.
pub(super) struct PreparedChunk {
    pub(super) chunk: Chunk,
    pub(super) items: Vec<Vec<Ready>>,
}

impl PreparedChunk {
    /// Whether files were read further than the store knows.
    pub(super) fn moves_on(&self) -> bool {
        self.chunk.pieces.iter().any(|piece| !piece.known && !piece.is_within_same())
    }
}

/// Prepares every record of a chunk, in parallel.
pub(super) fn prepare(
    mut chunk: Chunk,
    source: &str,
    policy: &Policy,
    feed: &Feed,
    former: &Former,
) -> PreparedChunk {
    let mut filtered = 0;
    let items = chunk.pieces.iter_mut().map(|piece: &mut InputPart| {
        let mut items = std::mem::take(&mut piece.items);
        if let Some(sieve) = former.sieve().filter(|_| !piece.sifted) {
            let (kept, out) = sieve.sift(items);
            items = kept;
            filtered += out;
        }
        items
            .into_par_iter()
            .with_min_len(8)
            .map_init(
                || (Fingerprinter::new(policy), Sighter::new(former.seeds(), policy)),
                |crafts, item| match item {
                    // The chunk will not be written: the rest of it need not be made.
                    Item::Record(record) if former.is_cut_short() => rejected(
                        Reject::of(record, None, RejectReason::Form(String::new())),
                        source,
                    ),
                    Item::Record(record) => match former.form(record) {
                        Ok(formed) => {
                            let compared = policy.compared;
                            match one(formed, source, compared, feed, crafts) {
                                Ok(prepared) => Ready::Document(Box::new(prepared)),
                                Err(reject) => rejected(*reject, source),
                            }
                        }
                        Err(reject) => rejected(reject, source),
                    },
                    Item::Reject(reject) => rejected(reject, source),
                },
            )
            .collect()
    });
    let items = items.collect();
    chunk.filtered += filtered;
    PreparedChunk { chunk, items }
}

fn rejected(reject: Reject, source: &str) -> Ready {
    let identity = reject_identity(&reject, source);
    Ready::Reject(reject, identity)
}

fn one(
    formed: Formed,
    source: &str,
    compared: Compared,
    feed: &Feed,
    (craft, sighter): &mut (Fingerprinter, Sighter<'_>),
) -> Result<Prepared, Box<Reject>> {
    let Formed { mut record, form, given, decided } = formed;
    // In every mode: a later change of mind finds the sketches it needs.
    let mut fingerprint =
        craft.fingerprint(&compared_text(compared, &record.text, &record.metadata));
    let shingles = Shingles::new(std::mem::take(&mut fingerprint.shingles));
    let sightings = sighter.look(&record.text, &fingerprint, craft);
    let raw = text_hash(&record.text);
    let content = content_hash(&raw, &record.metadata, form.as_ref(), given.as_ref());
    let identity = record_identity(&record, record.source.as_deref().unwrap_or(source), &content);
    // A record is recognised by what it came with.
    match feed.fed(&record.text, std::mem::take(&mut record.metadata)) {
        Ok(metadata) => record.metadata = metadata,
        Err(why) => return Err(Box::new(Reject::of(record, None, RejectReason::Form(why)))),
    }
    Ok(Prepared {
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
    given: Option<&Given>,
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
