//! The rows of purged documents: what is left to know of them is hashed, then they are erased.

use super::PurgeReport;
use super::runs;
use crate::curate::error::CurateError;
use crate::decide::{BlockKeys, Blocklist};
use crate::dedup::Fingerprinter;
use crate::model::{
    Compared, Context, DocId, compared_text, key_identity, position_identity, text_hash,
};
use crate::store::{Batch, Blocked, CommitRecord, Erased, Header, RunOf, Trace, View, Writer};
use roaring::RoaringTreemap;

/// Documents erased in one commit.
const CHUNK: usize = 1 << 10;
/// Runs of a text, of its ids by one tokenizer, and of what is shorter.
const OF_TEXT: usize = 12;
const OF_TOKENS: usize = 6;
const OF_OTHERS: usize = 4;

/// Erases documents that are removed, some in a commit.
pub(super) fn erase(
    writer: &mut Writer,
    documents: &RoaringTreemap,
    record: &CommitRecord,
    context: &Context<'_>,
    report: &mut PurgeReport,
) -> Result<(), CurateError> {
    context.progress.begin("erasing rows", Some(documents.len()));
    let mut ids = documents.iter().map(DocId);
    let mut done = 0;
    loop {
        let chunk: Vec<DocId> = ids.by_ref().take(CHUNK).collect();
        if chunk.is_empty() {
            break;
        }
        let mut batch = writer.begin()?;
        let view = batch.view().clone();
        let blockade = Blocklist::new(&view)?;
        let mut traces = Vec::with_capacity(chunk.len());
        for document in &chunk {
            let header = view.expect_header(*document)?;
            let identity = identity(&view, &header)?;
            traces.push(trace(&view, *document, &header, identity)?);
            let sketch = lasting_sketch(&view, &blockade, *document, &header)?;
            let stub = stub(&view, &header);
            let document = *document;
            let sketch = sketch.as_deref();
            batch.erase(&Erased { document, header: &header, stub: &stub, identity, sketch })?;
        }
        end(batch, &chunk, &traces, record)?;
        report.purged += chunk.len() as u64;
        report.commits += 1;
        done += chunk.len() as u64;
        context.progress.advance(done);
        if context.interrupt.is_raised() {
            return Err(CurateError::Interrupted);
        }
    }
    context.progress.end();
    Ok(())
}

fn end(
    mut batch: Batch<'_>,
    chunk: &[DocId],
    traces: &[Trace],
    record: &CommitRecord,
) -> Result<(), CurateError> {
    batch.put_removal(chunk.iter().copied())?;
    batch.put_traces(traces)?;
    batch.commit(&CommitRecord { changed: chunk.len() as u64, ..record.clone() })?;
    Ok(())
}

/// The header of an empty document in that place.
fn stub(view: &View, header: &Header) -> Header {
    let policy = view.policy();
    let compared = match policy.compared {
        Compared::Text => String::new(),
        compared => compared_text(compared, "", "{}").into_owned(),
    };
    let print = Fingerprinter::new(policy).fingerprint(&compared);
    Header {
        source: header.source,
        file: header.file,
        number: header.number,
        commit: header.commit,
        key: None,
        raw: text_hash(""),
        normalised: print.normalised,
        content: [0; 16],
        bytes: 0,
        chars: 0,
        words: print.tokens,
        shingles: print.shingles.len() as u32,
        text_of: None,
    }
}

/// The identity under which a later ingest would recognise a document.
fn identity(view: &View, header: &Header) -> Result<[u8; 16], CurateError> {
    let source = view.source_name(header.source);
    Ok(match &header.key {
        Some(key) => key_identity(source, key),
        None => {
            let path = view.file_bytes(header.source, header.file)?.unwrap_or_default();
            position_identity(source, &path, header.number, &header.content)
        }
    })
}

fn trace(
    view: &View,
    document: DocId,
    header: &Header,
    identity: [u8; 16],
) -> Result<Trace, CurateError> {
    let mut found = Vec::new();
    let text = view.text_of_owner(header.text_owner(document))?;
    runs::add(text.as_bytes(), RunOf::Text, OF_TEXT, &mut found);
    runs::add(view.metadata(document)?.as_bytes(), RunOf::Metadata, OF_OTHERS, &mut found);
    if let Some(key) = &header.key {
        runs::add(key.as_bytes(), RunOf::Key, OF_OTHERS, &mut found);
    }
    for (tokenizer, _) in view.tokenizers() {
        if let Some(tokens) = view.token_bytes(tokenizer, document)? {
            runs::add(&tokens, RunOf::Tokens, OF_TOKENS, &mut found);
        }
    }
    let identity = header.key.as_ref().map(|_| identity);
    Ok(Trace { document, raw: header.raw, identity, runs: found })
}

/// The sketch that stays of a purged document while what is similar to it is blocked: its text cannot tell any more.
fn lasting_sketch(
    view: &View,
    blockade: &Blocklist<'_>,
    document: DocId,
    header: &Header,
) -> Result<Option<Vec<u8>>, CurateError> {
    if !blockade.has(Blocked::Similar) {
        return Ok(None);
    }
    let of = BlockKeys::of(view, document, header, true)?;
    let similar = of.keys().filter(|(what, _)| *what == Blocked::Similar);
    let stays = blockade.is_blocking(document, similar)?;
    Ok(of.sketch.filter(|_| stays).map(|sketch| sketch.as_bytes().to_vec()))
}
