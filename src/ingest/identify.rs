//! Identifies the records of a chunk: which are new, which are known, and which supersede a document under their key.
//!
//! The file also resolves the sources that the records belong to, and the numbers of its files in each of them.

use super::file_state::FileNumbers;
use super::fingerprinter::{FingerprintedChunk, FingerprintedItem, FingerprintedRecord};
use super::options::IngestOptions;
use super::reader::{RecordIdentity, TornRecord};
use super::report::IngestReport;
use model::{
    DocId, Error, ErrorKind, FileId, ReadRecord, RecordKey, Reject, SourceId, Standing,
    parse_object, timestamp_of_text,
};
use roaring::RoaringTreemap;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use store::{CommitBatch, DocumentPlace, View};

/// What became of one record.
#[derive(Clone, Debug)]
pub(super) enum RecordOutcome {
    /// The record is this document, new or known before.
    Document(DocId),
    /// The record could not be read.
    Rejected(Reject),
    /// What it says was purged, with the key it came under: it is not stored.
    Purged(Option<String>),
}

/// A document to be stored.
pub(super) struct PendingDocument<'a> {
    pub(super) id: DocId,
    pub(super) prepared: &'a FingerprintedRecord,
    pub(super) source: SourceId,
    pub(super) file: FileId,
    pub(super) supersedes: Option<DocId>,
    /// What it supersedes has the same text.
    pub(super) has_text_of_superseded: bool,
    /// The stored document whose text this one shares.
    pub(super) twin: Option<DocId>,
}

/// What the records of a chunk are.
pub(super) struct IdentifiedChunk<'a> {
    pub(super) new: Vec<PendingDocument<'a>>,
    /// The outcome of every record.
    pub(super) fates: Vec<RecordOutcome>,
    /// Files some of whose documents are superseded by another file of the same source, and that one.
    pub(super) overtaken: BTreeSet<(SourceId, FileId, FileId)>,
    /// Records whose content is in force already, and documents that others supersede.
    pub(super) unchanged: u64,
    /// Unchanged records that are captures older than the stored one of their address.
    pub(super) older: u64,
    pub(super) updated: u64,
    /// Records whose text or key was purged.
    pub(super) purged: u64,
}

/// The newest document under a key.
#[derive(Clone, Copy)]
struct NewestVersion {
    id: DocId,
    raw: [u8; 16],
    content: [u8; 16],
    file: FileId,
    /// Its place in the file.
    number: u64,
    /// When it was captured, of a document that this chunk brings.
    moment: Option<i64>,
}

impl NewestVersion {
    fn of(view: &View, id: DocId) -> Result<Self, Error> {
        let DocumentPlace { content, file, number, .. } = view.place(id)?;
        let raw = view.print(id)?.raw;
        Ok(Self { id, raw, content, file, number, moment: None })
    }

    /// Whether a capture of its address was made before it.
    fn is_newer_than(
        &self,
        moment: Option<i64>,
        view: &View,
        date_field: &str,
    ) -> Result<bool, Error> {
        let Some(moment) = moment else { return Ok(false) };
        let newest = match self.moment {
            None if self.id.0 < view.documents() => {
                let stored = parse_object(&view.metadata(self.id)?).unwrap_or_default();
                stored.get(date_field).and_then(Value::as_str).and_then(timestamp_of_text)
            }
            known => known,
        };
        Ok(newest.is_some_and(|newest| newest > moment))
    }
}

/// Tells new records from known ones, in order; what is new gets the next ids. Captures have their moment in `date_field`.
#[expect(clippy::too_many_lines, reason = "the rules in their order: each needs those before it")]
pub(super) fn identify<'a>(
    batch: &CommitBatch<'_>,
    chunk: &'a FingerprintedChunk,
    (sources, numbers): (&ChunkSources, &FileNumbers),
    date_field: &str,
    report: &mut IngestReport,
) -> Result<IdentifiedChunk<'a>, Error> {
    let documents = || {
        chunk.items.iter().flatten().filter_map(|item| match item {
            FingerprintedItem::Document(prepared) => Some(prepared.as_ref()),
            FingerprintedItem::Reject(..) => None,
        })
    };
    let hashes: Vec<_> = documents().map(|prepared| prepared.identity).collect();
    let mut stored = batch.view().identities(&hashes)?;
    find_by_earlier_identity(batch.view(), documents(), &mut stored)?;
    let mut stored = stored.into_iter();
    let mut local: HashMap<[u8; 16], NewestVersion> = HashMap::new();
    let mut next = batch.next_document();
    let purged = PurgedContent::of(batch.view())?;
    let (mut unchanged, mut older, mut updated, mut not_stored) = (0, 0, 0, 0);
    let (mut new, mut fates, mut overtaken) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (at, (part, items)) in chunk.chunk.parts.iter().zip(&chunk.items).enumerate() {
        for item in items {
            report.read += 1;
            let prepared = match item {
                FingerprintedItem::Document(prepared) => prepared.as_ref(),
                FingerprintedItem::Reject(reject, _) => {
                    report.bytes += reject.raw_bytes;
                    fates.push(RecordOutcome::Rejected(reject.clone()));
                    continue;
                }
            };
            report.bytes += prepared.record.text.len() as u64;
            let source = sources.source(&prepared.record);
            let (file, number) = (sources.file(at, source), prepared.record.origin.number);
            let before = match (local.get(&prepared.identity), stored.next().flatten()) {
                (Some(known), _) => Some(*known),
                (None, Some(id)) => Some(NewestVersion::of(batch.view(), id)?),
                (None, None) => None,
            };
            // The key comes again further behind, in the same file or in another one, and that content is in force.
            let comes_again = |before: &NewestVersion| {
                let is_behind = before.file == file && before.number > number
                    || numbers.comes_behind(part.place, (source, before.file), before.number);
                number < part.stored() && is_behind
            };
            let supersedes = match before {
                Some(before)
                    if has_content(prepared, &before.content)
                        || part.is_known()
                        || comes_again(&before) =>
                {
                    unchanged += 1;
                    fates.push(RecordOutcome::Document(before.id));
                    continue;
                }
                Some(before)
                    if before.is_newer_than(prepared.moment, batch.view(), date_field)? =>
                {
                    (unchanged, older) = (unchanged + 1, older + 1);
                    fates.push(RecordOutcome::Document(before.id));
                    continue;
                }
                before => before,
            };
            if purged.keep_out(batch.view(), prepared)? {
                not_stored += 1;
                fates.push(RecordOutcome::Purged(given_key(prepared)));
                continue;
            }
            let supersedes = match (supersedes, &part.torn) {
                (None, Some(torn)) => stored_torn(batch.view(), torn, (file, number))?,
                (supersedes, _) => supersedes,
            };
            if let Some(before) = supersedes.filter(|before| before.file != file) {
                overtaken.insert((source, before.file, file));
            }
            let FingerprintedRecord { raw, content, moment, .. } = *prepared;
            let newest = NewestVersion { id: next, raw, content, file, number, moment };
            local.insert(prepared.identity, newest);
            updated += u64::from(supersedes.is_some());
            fates.push(RecordOutcome::Document(next));
            new.push(PendingDocument {
                id: next,
                prepared,
                source,
                file,
                supersedes: supersedes.map(|before| before.id),
                has_text_of_superseded: supersedes.is_some_and(|before| before.raw == raw),
                twin: None,
            });
            next = DocId(next.0 + 1);
        }
    }
    Ok(IdentifiedChunk { new, fates, overtaken, unchanged, older, updated, purged: not_stored })
}

/// Looks up records that are known by nothing else by the identities that older releases gave them. Under a key that
/// another record may have now, only the same content is the record.
fn find_by_earlier_identity<'r>(
    view: &View,
    records: impl Iterator<Item = &'r FingerprintedRecord>,
    stored: &mut [Option<DocId>],
) -> Result<(), Error> {
    let unknown = records.enumerate().filter(|(at, _)| stored.get(*at) == Some(&None));
    // Under a key that was given most are the one that was asked for.
    let others = unknown.flat_map(|(at, record)| {
        let earlier = record.earlier.iter().filter(|one| one.identity != record.identity);
        earlier.map(move |one| (at, *one))
    });
    let asked: Vec<(usize, RecordIdentity)> = others.collect();
    let identities: Vec<_> = asked.iter().map(|(_, earlier)| earlier.identity).collect();
    for ((at, earlier), found) in asked.iter().zip(view.identities(&identities)?) {
        let Some(slot) = stored.get_mut(*at).filter(|slot| slot.is_none()) else { continue };
        *slot = match found {
            Some(id) if earlier.is_other_key => {
                let is_same = NewestVersion::of(view, id)?.content == earlier.content;
                is_same.then_some(id)
            }
            found => found,
        };
    }
    Ok(())
}

/// The document of a record as it was when it had no end: what that has become takes its place.
fn stored_torn(
    view: &View,
    torn: &TornRecord,
    at: (FileId, u64),
) -> Result<Option<NewestVersion>, Error> {
    if torn.number != at.1 {
        return Ok(None);
    }
    let identities: Vec<_> = torn.stored.iter().map(|stored| stored.identity).collect();
    for (stored, id) in torn.stored.iter().zip(view.identities(&identities)?) {
        let Some(id) = id else { continue };
        let found = NewestVersion::of(view, id)?;
        if found.content == stored.content && (found.file, found.number) == at {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Whether a stored content is that of the record, as it is taken now or as older releases took it.
fn has_content(record: &FingerprintedRecord, stored: &[u8; 16]) -> bool {
    let mut earlier = record.earlier.iter();
    record.content == *stored || earlier.any(|earlier| earlier.content == *stored)
}

/// The purged documents, whose texts and keys are not to come back.
struct PurgedContent(RoaringTreemap);

impl PurgedContent {
    fn of(view: &View) -> Result<Self, Error> {
        Ok(Self(view.documents_standing(Standing::Purged)?))
    }

    /// Whether a purged document keeps a record from being stored: by text, key, or text but for case and punctuation.
    fn keep_out(&self, view: &View, prepared: &FingerprintedRecord) -> Result<bool, Error> {
        if self.0.is_empty() {
            return Ok(false);
        }
        for (what, hash) in prepared.block_keys(false).keys() {
            if view.blockers(what, hash)?.iter().any(|by| self.0.contains(by.0)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn given_key(prepared: &FingerprintedRecord) -> Option<String> {
    match &prepared.record.key {
        RecordKey::Given(key) => Some(key.clone()),
        RecordKey::Position => None,
    }
}

/// The most sources that the records of an ingest may name: whoever opens the corpus holds all of them in memory.
const MAX_NAMED_SOURCES: usize = 4096;

/// Sources of a chunk. Files are booked under that of the ingest; a document's file has a number in its own source.
pub(super) struct ChunkSources {
    own: SourceId,
    named: BTreeMap<Arc<str>, SourceId>,
    /// By piece of the chunk and source.
    files: BTreeMap<(usize, SourceId), FileId>,
}

impl ChunkSources {
    /// The sources of a chunk; new ones get their numbers in the order of the records.
    pub(super) fn of(
        batch: &mut CommitBatch<'_>,
        chunk: &FingerprintedChunk,
        options: &IngestOptions,
    ) -> Result<Self, Error> {
        let own = batch.source(&options.source)?;
        let mut sources = Self { own, named: BTreeMap::new(), files: BTreeMap::new() };
        for (at, (part, items)) in chunk.chunk.parts.iter().zip(&chunk.items).enumerate() {
            sources.number(batch, at, own, part.path())?;
            for item in items {
                let FingerprintedItem::Document(prepared) = item else { continue };
                let Some(name) = &prepared.record.source else { continue };
                let source = match sources.named.get(name) {
                    Some(source) => *source,
                    None => {
                        let source = batch.source(name)?;
                        if sources.named.len() >= MAX_NAMED_SOURCES
                            || source.0 as usize >= MAX_NAMED_SOURCES
                        {
                            let field = options.read.source_field.as_deref().unwrap_or_default();
                            let message = format!(
                                "field `{field}` names more than {MAX_NAMED_SOURCES} sources, which are kept in memory: give a field that names few"
                            );
                            return Err(Error::of(ErrorKind::Failed, message));
                        }
                        sources.named.insert(Arc::clone(name), source);
                        source
                    }
                };
                sources.number(batch, at, source, part.path())?;
            }
        }
        Ok(sources)
    }

    fn number(
        &mut self,
        batch: &mut CommitBatch<'_>,
        at: usize,
        source: SourceId,
        path: &[u8],
    ) -> Result<(), Error> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.files.entry((at, source)) {
            slot.insert(batch.file(source, path)?);
        }
        Ok(())
    }

    /// The source of the ingest itself.
    pub(super) const fn own(&self) -> SourceId {
        self.own
    }

    /// The source of a record.
    pub(super) fn source(&self, record: &ReadRecord) -> SourceId {
        record.source.as_ref().and_then(|name| self.named.get(name)).copied().unwrap_or(self.own)
    }

    /// The file of a piece in a source.
    pub(super) fn file(&self, piece: usize, source: SourceId) -> FileId {
        self.files.get(&(piece, source)).copied().unwrap_or_default()
    }

    /// Every file that a piece is part of: its source with its number there.
    pub(super) fn files(&self, piece: usize) -> impl Iterator<Item = (SourceId, FileId)> {
        let range = (piece, SourceId(0))..=(piece, SourceId(u32::MAX));
        self.files.range(range).map(|((_, source), file)| (*source, *file))
    }

    /// Sources with their names.
    pub(super) fn names<'a>(
        &'a self,
        options: &'a IngestOptions,
    ) -> impl Iterator<Item = (SourceId, &'a str)> {
        let named = self.named.iter().map(|(name, source)| (*source, name.as_ref()));
        std::iter::once((self.own, options.source.as_str())).chain(named)
    }
}
