//! Registers the newcomers of a chunk: finds documents of equal texts, stores new ones, and has them decided.

use super::encoder::store_text_form;
use super::fingerprinter::FingerprintedRecord;
use super::identify::PendingDocument;
use crate::decide::{Blocklist, CommitDecisions, DecisionSession, LoadedTokenizer, Newcomer};
use model::{CommitSeq, ComparedPart, DocId, Error, FileId, RecordKey, SourceId, hash128};
use std::collections::{BTreeSet, HashMap};
use store::{
    BlockKind, CommitBatch, DocumentPlace, DocumentPrint, DocumentRecord, NewDocument, View,
};

/// Has newcomers arrive in the session that decides about them.
pub(super) fn arrive(
    session: &mut DecisionSession,
    view: &View,
    new: &[PendingDocument<'_>],
) -> Result<(), Error> {
    let mut blocklist = Blocklist::new(view)?;
    let mut owners = TextOwners::default();
    for document in new {
        let prepared = document.prepared;
        let owner = owners.owner(session, document)?;
        // The blocklist looks at the shingles first: the newcomer takes them.
        let is_out = is_blocked(&mut blocklist, prepared)?;
        let newcomer = Newcomer {
            header: header(prepared, document.source, document.file, owner),
            sketch: prepared.fingerprint.sketch.clone(),
            number: number(session, prepared),
            shingles: Some(prepared.shingles.take()),
        };
        session.arrive(document.id, newcomer, document.supersedes, is_out)?;
    }
    Ok(())
}

/// Stores a newcomer that is decided, with its text unless another document lends one.
pub(super) fn store_document(
    batch: &mut CommitBatch<'_>,
    decisions: &CommitDecisions,
    tokenizers: &[LoadedTokenizer],
    document: &PendingDocument<'_>,
) -> Result<(), Error> {
    let prepared = document.prepared;
    let header = decisions.newcomer(document.id)?.header.clone();
    let owns_text = header.place.text_of.is_none();
    // One text may have several prompts, and borrowers change owners.
    let owns_sketch = owns_text || batch.view().policy().compared == ComparedPart::Prompt;
    let sketch = prepared.fingerprint.sketch.as_ref().filter(|_| owns_sketch);
    let id = batch.add(NewDocument {
        header,
        identity: prepared.identity,
        text: owns_text.then(|| prepared.record.text.clone()),
        sketch: sketch.map(|sketch| sketch.as_bytes().to_vec()),
        metadata: prepared.record.metadata.clone(),
        indexed: prepared.indexed.clone(),
    })?;
    debug_assert_eq!(id, document.id);
    for (suite, found) in &prepared.sightings {
        batch.put_sightings(*suite, id, found)?;
    }
    store_text_form(batch, tokenizers, id, prepared)
}

/// Names, for each document, the stored one that has its text.
pub(super) fn find_equal_texts(
    session: &mut DecisionSession,
    new: &mut [PendingDocument<'_>],
) -> Result<(), Error> {
    let sources: BTreeSet<SourceId> = new.iter().map(|new| new.source).collect();
    for source in sources {
        let of_source = || new.iter().filter(|new| new.source == source);
        let hashes =
            |new: &PendingDocument<'_>| (new.prepared.raw, new.prepared.fingerprint.normalised);
        let texts: Vec<_> = of_source().map(hashes).collect();
        let twins = session.text_twins(source, &texts)?;
        for (new, twin) in new.iter_mut().filter(|new| new.source == source).zip(twins) {
            new.twin = match twin {
                Some(twin) if has_equal_compared_text(session, twin, new.prepared)? => Some(twin),
                _ => None,
            };
        }
    }
    Ok(())
}

/// Whether a stored document of the same text may lend its sketch too: always, but where something else than
/// the text is compared.
fn has_equal_compared_text(
    session: &DecisionSession,
    other: DocId,
    prepared: &FingerprintedRecord,
) -> Result<bool, Error> {
    Ok(session.compared() == ComparedPart::Text
        || session.print(other)?.normalised == prepared.fingerprint.normalised)
}

/// The newcomers of a commit that store a text, by its hash: others of the same text need not.
#[derive(Default)]
struct TextOwners(HashMap<[u8; 16], DocId>);

impl TextOwners {
    /// The document whose stored text is this one's; none when it stores its own.
    fn owner(
        &mut self,
        session: &DecisionSession,
        new: &PendingDocument<'_>,
    ) -> Result<Option<DocId>, Error> {
        let raw = new.prepared.raw;
        if let Some(old) = new.supersedes {
            if session.print(old)?.raw == raw
                && has_equal_compared_text(session, old, new.prepared)?
            {
                return Ok(Some(session.place(old)?.text_owner(old)));
            }
        }
        if new.twin.is_some() {
            return Ok(new.twin);
        }
        let compared = match session.compared() {
            ComparedPart::Text => raw,
            ComparedPart::Turns | ComparedPart::Prompt => {
                hash128(&blake3::hash(&[raw, new.prepared.fingerprint.normalised].concat()))
            }
        };
        let shared = session.shared_text(new.source, compared);
        let owner = shared.map(|shared| *self.0.entry(shared).or_insert(new.id));
        Ok(owner.filter(|owner| *owner != new.id))
    }
}

/// The document's number in the field that ranks documents.
fn number(session: &DecisionSession, prepared: &FingerprintedRecord) -> Option<i64> {
    let field = session.order_field()?;
    let found = prepared.indexed.numbers.iter().find(|(other, _)| *other == field);
    found.map(|(_, number)| *number)
}

/// Whether a document that the user removed keeps this one out.
fn is_blocked(
    blocklist: &mut Blocklist<'_>,
    prepared: &FingerprintedRecord,
) -> Result<bool, Error> {
    let of = prepared.block_keys(blocklist.has(BlockKind::Similar));
    blocklist.keeps_out(&of, None, |_| Ok(prepared.shingles.shared()))
}

fn header(
    prepared: &FingerprintedRecord,
    source: SourceId,
    file: FileId,
    text_of: Option<DocId>,
) -> DocumentRecord {
    let key = match &prepared.record.key {
        RecordKey::Given(key) => Some(key.clone()),
        RecordKey::Position => None,
    };
    DocumentRecord {
        place: DocumentPlace {
            source,
            file,
            number: prepared.record.origin.number,
            content: prepared.content,
            text_of,
        },
        print: DocumentPrint {
            raw: prepared.raw,
            normalised: prepared.fingerprint.normalised,
            words: prepared.fingerprint.tokens,
            shingles: prepared.shingles.count(),
        },
        commit: CommitSeq(0),
        key,
        bytes: prepared.record.text.len() as u64,
        chars: prepared.chars,
    }
}
