//! Erases the rows of purged documents, after moving texts that they lent and hashing what stays known of them.

use super::{PurgeProcedure, traces, values};
use crate::decide::{BlockKeys, Blocklist};
use model::{
    ComparedPart, DocId, Error, compared_text, key_identity, position_identity, text_hash,
};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use store::{
    BlockKind, CommitRecord, DocumentPlace, DocumentPrint, Erasure, PurgeTrace, TracePart,
    TraceRun, View,
};
use text::dedup::Fingerprinter;

/// Documents erased in one commit.
const CHUNK: usize = 1 << 10;
/// Runs of a text, of its ids by one tokenizer, and of what is shorter.
const OF_TEXT: usize = 12;
const OF_TOKENS: usize = 6;
const OF_OTHERS: usize = 4;

/// Borrowers written in one commit.
const BORROWERS: usize = 1 << 13;
/// Bytes that a lender with its heir takes, about.
const HELD: u64 = 64;

/// Erases documents that are removed, some in a commit.
pub(super) fn erase(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
) -> Result<(), Error> {
    purge.commits.stage("erasing rows", Some(documents.len()));
    let mut ids = documents.iter().map(DocId);
    let mut done = 0;
    loop {
        let chunk: Vec<DocId> = ids.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        let mut batch = purge.commits.batch(purge.writer)?;
        let view = batch.view().clone();
        let blocklist = Blocklist::new(&view)?;
        let mut traces = Vec::with_capacity(chunk.len());
        for document in &chunk {
            let document = *document;
            let (place, identity) = (view.place(document)?, identity_of(&view, document)?);
            traces.push(trace(&view, document, &place, identity)?);
            let sketch = lasting_sketch(&view, &blocklist, document)?;
            let place = DocumentPlace { content: [0; 16], text_of: None, ..place };
            let print = empty_print(&view);
            batch.erase(Erasure { document, place, print, identity, sketch })?;
        }
        batch.put_removal(chunk.iter().copied())?;
        batch.put_traces(&traces)?;
        let changed = chunk.len() as u64;
        purge.report.purged += changed;
        done += changed;
        let record = CommitRecord { changed, ..purge.record.clone() };
        purge.commits.commit(batch, &record, done)?;
    }
    Ok(())
}

/// The print of an empty document.
fn empty_print(view: &View) -> DocumentPrint {
    let policy = view.policy();
    let compared = match policy.compared {
        ComparedPart::Text => String::new(),
        compared => compared_text(compared, "", "{}", None).into_owned(),
    };
    let print = Fingerprinter::new(policy).fingerprint(&compared);
    DocumentPrint {
        raw: text_hash(""),
        normalised: print.normalised,
        words: print.tokens,
        shingles: print.shingles.len() as u32,
    }
}

/// The identity under which a later ingest would recognise a document.
pub fn identity_of(view: &View, document: DocId) -> Result<[u8; 16], Error> {
    let (key, place) = (view.key(document)?, view.place(document)?);
    let path = match key {
        Some(_) => None,
        None => view.file_bytes(place.source, place.file)?,
    };
    let source = view.source_name(place.source)?;
    Ok(identity_under(source, key.as_deref(), &place, &path.unwrap_or_default()))
}

/// The identity of a document in a source of that name; `path` is that of its file, where it has no key.
pub fn identity_under(
    source: &str,
    key: Option<&str>,
    place: &DocumentPlace,
    path: &[u8],
) -> [u8; 16] {
    match key {
        Some(key) => key_identity(source, key),
        None => position_identity(source, path, place.number, &place.content),
    }
}

/// Adds the runs of a document with this key that words may quote; `owner` stores its text.
pub(super) fn quoted_runs(
    view: &View,
    owner: DocId,
    key: Option<&str>,
    runs: &mut Vec<TraceRun>,
) -> Result<(), Error> {
    let text = view.text_of_owner(owner)?;
    traces::add(text.as_bytes(), TracePart::Text, OF_TEXT, runs);
    if let Some(key) = key {
        traces::add(key.as_bytes(), TracePart::Key, OF_OTHERS, runs);
    }
    Ok(())
}

fn trace(
    view: &View,
    document: DocId,
    place: &DocumentPlace,
    identity: [u8; 16],
) -> Result<PurgeTrace, Error> {
    let mut found = Vec::new();
    let (owner, key) = (place.text_owner(document), view.key(document)?);
    quoted_runs(view, owner, key.as_deref(), &mut found)?;
    let metadata = view.metadata(document)?;
    traces::add(metadata.as_bytes(), TracePart::Metadata, OF_OTHERS, &mut found);
    values::add_runs(&metadata, &mut found);
    for (tokenizer, _) in view.tokenizers() {
        if let Some(tokens) = view.token_bytes(tokenizer, document)? {
            traces::add(&tokens, TracePart::Tokens, OF_TOKENS, &mut found);
        }
    }
    let identity = key.map(|_| identity);
    Ok(PurgeTrace { document, raw: view.print(document)?.raw, identity, runs: found })
}

/// The sketch that stays of a purged document while what is similar to it is blocked: its text cannot tell any more.
fn lasting_sketch(
    view: &View,
    blocklist: &Blocklist<'_>,
    document: DocId,
) -> Result<Option<Vec<u8>>, Error> {
    if !blocklist.has(BlockKind::Similar) {
        return Ok(None);
    }
    let of = BlockKeys::of(view, document, (false, true))?;
    let similar = of.keys().filter(|(what, _)| *what == BlockKind::Similar);
    let stays = blocklist.is_blocking(document, similar)?;
    Ok(of.sketch.filter(|_| stays).map(|sketch| sketch.as_bytes().to_vec()))
}

/// Moves what the documents have lent. One scan of all places, or several, where there are more lenders than memory is
/// for. Stopped and run again, it continues: what has moved is lent no more.
pub(super) fn move_texts(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
    memory: u64,
) -> Result<(), Error> {
    let most = (memory / 16 / HELD).max(1 << 10) as usize;
    let mut lenders = documents.iter();
    loop {
        let some: RoaringTreemap = lenders.by_ref().take(most).collect();
        if some.is_empty() {
            return Ok(());
        }
        let view = purge.writer.view().clone();
        let mut moving = TextMover { purge, rows: Vec::new(), bytes: 0 };
        let mut heirs: BTreeMap<DocId, DocId> = BTreeMap::new();
        for row in view.places(0..view.documents())? {
            let (document, place) = row?;
            let lender = place.text_of.filter(|of| some.contains(of.0));
            let Some(lender) = lender.filter(|_| !documents.contains(document.0)) else { continue };
            let heir = *heirs.entry(lender).or_insert(document);
            moving.row(BorrowerMove { document, lender, heir })?;
        }
        moving.commit()?;
    }
}

/// A borrower of a text, its former lender, and the document that has the text now.
struct BorrowerMove {
    document: DocId,
    lender: DocId,
    heir: DocId,
}

struct TextMover<'p, 'a, 'c> {
    purge: &'p mut PurgeProcedure<'a, 'c>,
    rows: Vec<BorrowerMove>,
    /// Bytes of texts that move with the next commit.
    bytes: u64,
}

impl TextMover<'_, '_, '_> {
    fn row(&mut self, row: BorrowerMove) -> Result<(), Error> {
        if row.document == row.heir {
            self.bytes += self.purge.writer.view().text_bytes(row.document)?;
        }
        self.rows.push(row);
        if self.rows.len() >= BORROWERS || self.bytes >= self.purge.writer.batch_bytes() {
            self.commit()?;
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let Self { purge, rows, bytes } = self;
        let mut batch = purge.commits.batch(purge.writer)?;
        for BorrowerMove { document, lender, heir } in rows.drain(..) {
            if document == heir {
                batch.move_text(lender, heir)?;
                purge.report.moved_texts += 1;
            } else {
                batch.set_text_owner(document, heir)?;
            }
        }
        *bytes = 0;
        purge.commits.commit(batch, &purge.record, purge.report.moved_texts)
    }
}
