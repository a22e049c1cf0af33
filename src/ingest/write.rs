//! One prepared chunk into one commit: identity, decision, token ids, rows.

use super::encode::{encode, store_form};
use super::error::IngestError;
use super::identify::{Fate, Identified, New, identify};
use super::options::{IngestOptions, RecordForm};
use super::prepare::{Prepared, PreparedChunk, Ready};
use super::produce::InputPart;
use super::report::IngestReport;
use super::watch::Watch;
use crate::decide::{
    Arrival, Blockable, Blockade, DecideError, LoadedTokenizer, Orphans, Refused, Session,
    encode_again,
};
use crate::model::{Compared, DocId, FileId, Interrupt, SourceId, Standing, half};
use crate::store::{
    Batch, Blocked, CommitRecord, FileRecord, Header, NewDocument, RejectRecord, StoreError,
    TextEncoder, Writer,
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

/// What became of a chunk.
pub(super) enum Written {
    /// It is committed, with the fate of every record in order.
    Committed(Vec<Fate>),
    /// It had better come with more.
    Waits(Want),
}

/// Why a chunk waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want {
    /// New documents with which it had better come.
    pub(super) documents: usize,
    /// New documents it has.
    pub(super) has: usize,
}

/// Commits a chunk, unless it `may_wait` and had better come with what is behind it.
pub(super) fn write(
    writer: &mut Writer,
    chunk: &PreparedChunk,
    may_wait: bool,
    options: &IngestOptions,
    tokenizers: &[LoadedTokenizer],
    watch: &mut Watch,
    report: &mut IngestReport,
    interrupt: &Interrupt,
) -> Result<Written, IngestError> {
    let mut batch = writer.begin()?;
    let source = batch.source(&options.source)?;
    let first = batch.next_document();
    if let RecordForm::Chat(chat) = &options.form
        && let Some(template) = &chat.template
    {
        batch.template(template.source(), &template.variables_words())?;
    }
    let started = Instant::now();
    let mut counts = ChunkCounts::default();
    let files = chunk.chunk.pieces.iter().map(|piece| batch.file(source, path(piece)));
    let files: Vec<_> = files.collect::<Result<_, _>>()?;
    for (piece, file) in chunk.chunk.pieces.iter().zip(&files) {
        if piece.says_it_again() {
            batch.forget_overtaken(source, *file)?;
        }
    }
    let before = (report.read, report.bytes);
    let Identified { mut new, fates, overtaken, unchanged, updated } =
        identify(&batch, chunk, &files, report)?;
    let superseded = new.iter().filter_map(|new| new.supersedes);
    let orphans = Orphans::of(&batch, superseded)?;
    if may_wait && let Some(documents) = orphans.want(new.len()) {
        (report.read, report.bytes) = before;
        return Ok(Written::Waits(Want { documents, has: new.len() }));
    }
    (counts.unchanged, counts.updated) = (unchanged, updated);
    for (file, by) in overtaken {
        batch.overtake(source, file, by)?;
    }

    let mut session = Session::new(&batch);
    session.name_source(source, &options.source);
    session.heed(interrupt);
    session.know(orphans);
    find_twins(&mut session, source, &mut new)?;
    report.stages.decide += started.elapsed().as_secs_f64();

    let started = Instant::now();
    let encoder = batch.encoder(new.iter().map(|new| new.prepared.record.text.as_str()))?;
    compress(&encoder, &mut new)?;
    report.stages.encode += started.elapsed().as_secs_f64();

    let started = Instant::now();
    let view = batch.view().clone();
    let mut blockade = Blockade::new(&view)?;
    for document in &mut new {
        let prepared = document.prepared;
        let owner = owner(&mut session, source, document)?;
        if owner.is_none() && document.text.is_none() {
            document.text = Some(encoder.encode(&prepared.record.text)?);
        }
        let header =
            header(prepared, source, files.get(document.piece).copied().unwrap_or_default(), owner);
        let id = batch.add(NewDocument {
            header: header.clone(),
            identity: prepared.identity,
            text: document.text.take().filter(|_| owner.is_none()),
            sketch: prepared
                .fingerprint
                .sketch
                .as_ref()
                .filter(|_| owner.is_none())
                .map(|s| s.as_bytes().to_vec()),
            metadata: prepared.record.metadata.clone(),
            indexed: prepared.indexed.clone(),
        })?;
        debug_assert_eq!(id, document.id);
        store_form(&mut batch, tokenizers, id, prepared)?;
        session.arrive(Arrival {
            id,
            header,
            sketch: prepared.fingerprint.sketch.clone(),
            number: number(&session, prepared),
            supersedes: document.supersedes,
            is_blocked: is_blocked(&mut blockade, prepared)?,
            shingles: prepared.shingles.take(),
        })?;
    }
    session.settle()?;
    let mut kept = Vec::new();
    for document in &new {
        let outcome = session.outcome(document.id)?;
        counts.standing(outcome.standing);
        if outcome.standing == Standing::Kept {
            kept.push((document.id, document.prepared));
        }
        watch.see(document.id, &outcome);
    }
    watch.see_open(session.left_open());
    watch.allow(&session, batch.view())?;
    let kept_again = session.newly_kept(true);
    // The session ends, with the shingles of all newcomers: ids take their place.
    report.dedup += session.apply(&mut batch)?.counts;
    report.stages.decide += started.elapsed().as_secs_f64();

    let started = Instant::now();
    for tokenizer in tokenizers {
        let (mut spelled, mut refused) = (BTreeMap::new(), Refused::default());
        let on_error = options.on_error;
        let added =
            encode(&mut batch, tokenizer, source, &kept, &mut spelled, &mut refused, on_error)?
                + encode_again(&mut batch, tokenizer, &kept_again, &mut refused)?;
        if refused.documents > 0 {
            report.refused.entry(tokenizer.name.clone()).or_default().and(refused);
        }
        *report.tokens.entry(tokenizer.name.clone()).or_default() += added;
        if !spelled.is_empty() {
            let known = report.special_tokens_in_text.entry(tokenizer.name.clone()).or_default();
            for (special, documents) in spelled {
                *known.entry(special).or_default() += documents;
            }
        }
    }
    report.stages.encode += started.elapsed().as_secs_f64();

    let started = Instant::now();
    let mut rejected = BTreeMap::new();
    for (piece, items) in chunk.chunk.pieces.iter().zip(&chunk.items) {
        for item in items {
            if let Ready::Reject(reject, _) = item {
                watch.reject(reject);
            }
        }
        rejects(&mut batch, piece, items, options, source, &mut counts, &mut rejected)?;
    }
    let record = CommitRecord {
        kind: "ingest".to_owned(),
        subject: options.source.clone(),
        first: first.0,
        added: new.len() as u64,
        kept: counts.kept,
        changed: kept_again.len() as u64 + counts.updated,
        rejected: counts.rejected,
    };
    let is_needed = !new.is_empty()
        || counts.rejected > 0
        || chunk.chunk.pieces.iter().any(|piece| !piece.known && !piece.is_within_same());
    if is_needed {
        batch.commit(&record)?;
        report.commits += 1;
    }
    report.stages.commit += started.elapsed().as_secs_f64();
    counts.add_to(report, new.len() as u64, chunk.chunk.unchanged);
    Ok(Written::Committed(fates))
}

fn path(piece: &InputPart) -> &[u8] {
    piece.input.path.as_os_str().as_bytes()
}

/// Names, for each document, the stored one that has its text.
fn find_twins(
    session: &mut Session,
    source: SourceId,
    new: &mut [New<'_>],
) -> Result<(), IngestError> {
    let texts: Vec<_> = new.iter().map(|new| new.prepared.raw).collect();
    let twins = session.text_twins(source, &texts)?;
    for (new, twin) in new.iter_mut().zip(twins) {
        new.twin = match twin {
            Some(twin) if is_compared_alike(session, twin, new.prepared)? => Some(twin),
            _ => None,
        };
    }
    Ok(())
}

/// Whether a stored document of the same text may lend its sketch too: always, but where something else than
/// the text is compared.
fn is_compared_alike(
    session: &Session,
    other: DocId,
    prepared: &Prepared,
) -> Result<bool, IngestError> {
    Ok(session.compared() == Compared::Text
        || session.header(other)?.normalised == prepared.fingerprint.normalised)
}

/// Compresses, in parallel, the texts that no stored document has.
fn compress(encoder: &TextEncoder, new: &mut [New<'_>]) -> Result<(), StoreError> {
    new.par_iter_mut().with_min_len(8).filter(|new| new.twin.is_none()).try_for_each(|new| {
        new.text = Some(encoder.encode(&new.prepared.record.text)?);
        Ok(())
    })
}

/// The document whose stored text is this one's; none when it stores its own.
fn owner(
    session: &mut Session,
    source: SourceId,
    new: &New<'_>,
) -> Result<Option<DocId>, IngestError> {
    let raw = new.prepared.raw;
    if let Some(old) = new.supersedes {
        let header = session.header(old)?;
        if header.raw == raw && is_compared_alike(session, old, new.prepared)? {
            return Ok(Some(header.text_owner(old)));
        }
    }
    if new.twin.is_some() {
        return Ok(new.twin);
    }
    let shared = match session.compared() {
        Compared::Text => raw,
        Compared::Turns => {
            half(&blake3::hash(&[raw, new.prepared.fingerprint.normalised].concat()))
        }
    };
    let owner = session.text_owner(new.id, source, shared);
    Ok(Some(owner).filter(|owner| *owner != new.id))
}

/// The document's number in the field that ranks documents.
fn number(session: &Session, prepared: &Prepared) -> Option<i64> {
    let field = session.order_field()?;
    let found = prepared.indexed.numbers.iter().find(|(other, _)| *other == field);
    found.map(|(_, number)| *number)
}

/// Whether a document that the user removed keeps this one out.
fn is_blocked(blockade: &mut Blockade<'_>, prepared: &Prepared) -> Result<bool, DecideError> {
    let fingerprint = &prepared.fingerprint;
    let is_keyed = matches!(prepared.record.key, crate::model::RecordKey::Given(_));
    let sketch = fingerprint.sketch.as_ref().filter(|_| blockade.has(Blocked::Similar));
    let of = Blockable {
        raw: prepared.raw,
        identity: is_keyed.then_some(prepared.identity),
        normalised: (fingerprint.tokens > 0).then_some(fingerprint.normalised),
        sketch: sketch.cloned(),
    };
    blockade.keeps_out(&of, None, |_| Ok(prepared.shingles.shared()))
}

fn header(prepared: &Prepared, source: SourceId, file: FileId, text_of: Option<DocId>) -> Header {
    let key = match &prepared.record.key {
        crate::model::RecordKey::Given(key) => Some(key.clone()),
        crate::model::RecordKey::Position => None,
    };
    Header {
        source,
        file,
        number: prepared.record.origin.number,
        commit: crate::model::CommitSeq(0),
        key,
        raw: prepared.raw,
        normalised: prepared.fingerprint.normalised,
        content: prepared.content,
        bytes: prepared.record.text.len() as u64,
        chars: prepared.chars,
        words: prepared.fingerprint.tokens,
        shingles: prepared.shingles.count(),
        text_of,
    }
}

/// Stores a piece's rejects and how far its file was read. `rejected` are those of files by the pieces before it.
fn rejects(
    batch: &mut Batch<'_>,
    piece: &InputPart,
    items: &[Ready],
    options: &IngestOptions,
    source: SourceId,
    counts: &mut ChunkCounts,
    rejected: &mut BTreeMap<FileId, u64>,
) -> Result<(), IngestError> {
    let mut bad = 0;
    for item in items {
        let Ready::Reject(reject, identity) = item else { continue };
        bad += u64::from(reject.origin.number >= piece.same);
        let record = RejectRecord {
            source: options.source.clone(),
            path: piece.input.path.to_string_lossy().into_owned(),
            number: reject.origin.number,
            offset: reject.origin.offset,
            reason: reject.reason.to_string(),
            bytes: reject.raw_bytes,
            raw: reject.raw.clone(),
        };
        counts.rejected += u64::from(batch.reject(*identity, &record)?);
    }
    if piece.known || piece.is_within_same() {
        return Ok(());
    }
    let path = path(piece);
    let file = batch.file(source, path)?;
    let before = match rejected.get(&file) {
        _ if !piece.continues && piece.same == 0 => 0,
        Some(before) => *before,
        None => batch.view().file(source, path)?.map_or(0, |record| record.rejected),
    };
    rejected.insert(file, before + bad);
    let record = FileRecord {
        file: file.0,
        size: piece.input.size,
        modified: piece.input.modified_ns,
        single: piece.single,
        whole: piece.whole,
        offset: piece.end.offset,
        records: piece.end.records,
        rejected: before + bad,
        prefix: piece.end.prefix,
        reading: options.reading(),
    };
    Ok(batch.put_file(source, path, &record)?)
}

#[derive(Default)]
struct ChunkCounts {
    kept: u64,
    exact: u64,
    near: u64,
    empty: u64,
    unchanged: u64,
    updated: u64,
    rejected: u64,
}

impl ChunkCounts {
    fn standing(&mut self, standing: Standing) {
        match standing {
            Standing::Kept => self.kept += 1,
            Standing::Exact => self.exact += 1,
            Standing::Near => self.near += 1,
            Standing::Empty => self.empty += 1,
            Standing::Superseded | Standing::Blocked | Standing::Removed => {}
        }
    }

    fn add_to(&self, report: &mut IngestReport, added: u64, skipped: u64) {
        report.added += added;
        report.kept += self.kept;
        report.exact_duplicates += self.exact;
        report.near_duplicates += self.near;
        report.empty += self.empty;
        report.unchanged += self.unchanged + skipped;
        report.updated += self.updated;
        report.rejected += self.rejected;
    }
}
