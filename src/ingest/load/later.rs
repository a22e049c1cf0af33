//! Documents whose witnesses came after them: kept until all are there, and removed then.
//!
//! The rows are read once more for it, so that nothing is held of what waits; what was done is told by the standings of
//! the store, so that whoever was stopped goes on.

use crate::decide::{DecideError, Session};
use crate::ingest::decided::{Removal, decided};
use crate::ingest::error::IngestError;
use crate::ingest::judge::{Judge, agrees, as_said, matched, named, wrong};
use crate::ingest::options::IngestOptions;
use crate::ingest::read::{Input, Item, Reader};
use crate::model::{Context, DocId, ReadRecord, RecordKey, Standing, key_identity};
use crate::store::{CommitRecord, Writer};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// Documents that one commit removes.
const PART: usize = 2048;

/// A document that is still kept and is said to be removed.
struct Waiting {
    document: DocId,
    identity: [u8; 16],
    standing: Standing,
    removal: Removal,
    source: String,
    path: std::path::PathBuf,
    row: u64,
}

impl Waiting {
    fn wrong(&self, why: impl Into<String>) -> IngestError {
        wrong(&self.path, self.row, why)
    }
}

/// Removes what waited for its witness, and says how many commits that took.
///
/// # Errors
/// [`IngestError::LoadRow`] for a row that cannot be true; [`IngestError`] when rows cannot be read or written.
pub(super) fn remove_later(
    writer: &mut Writer,
    files: &[Input],
    options: &IngestOptions,
    judge: &mut Judge,
    context: &Context<'_>,
) -> Result<u64, IngestError> {
    let kept = writer.view().kept()?;
    let read = options.reads_all();
    let (mut rows, mut commits, mut waiting) = (0, 0, Vec::new());
    let documents = writer.view().documents().saturating_sub(judge.before);
    context.progress.begin("removing what waited for its witness", Some(documents));
    for file in files {
        let mut reader = Reader::open(file, &read)?;
        while let Some(item) = reader.next()? {
            if context.interrupt.is_raised() {
                return Err(IngestError::Interrupted { report: Box::default() });
            }
            let document = DocId(judge.before + rows);
            rows += 1;
            if let Some(one) = still_kept(item, document, &kept, judge)? {
                waiting.push(one);
            }
            if waiting.len() == PART {
                commits += remove(writer, &std::mem::take(&mut waiting), options, judge, context)?;
                context.progress.advance(rows);
            }
        }
    }
    commits += remove(writer, &waiting, options, judge, context)?;
    writer.flush()?;
    context.progress.end();
    Ok(commits)
}

/// The document of a row, if it waits.
fn still_kept(
    item: Item,
    document: DocId,
    kept: &RoaringTreemap,
    judge: &Judge,
) -> Result<Option<Waiting>, IngestError> {
    let record = match item {
        Item::Record(record) => record,
        Item::Reject(reject) => {
            return Err(wrong(
                &reject.origin.path,
                reject.origin.number,
                reject.reason.to_string(),
            ));
        }
    };
    if !kept.contains(document.0) {
        return Ok(None);
    }
    let ReadRecord { key, source, metadata, origin, .. } = record;
    let (path, row) = (origin.path.as_ref().clone(), origin.number);
    let (_, decided) = decided(&metadata, &judge.ids).map_err(|why| wrong(&path, row, why))?;
    let key = match key {
        RecordKey::Given(key) => key,
        RecordKey::Position => String::new(),
    };
    agrees(&decided, &key).map_err(|why| wrong(&path, row, why))?;
    let Some(removal) = decided.removal else { return Ok(None) };
    let source = source.as_deref().unwrap_or(&judge.source).to_owned();
    let identity = key_identity(&source, &key);
    let standing = decided.standing;
    Ok(Some(Waiting { document, identity, standing, removal, source, path, row }))
}

fn remove(
    writer: &mut Writer,
    waiting: &[Waiting],
    options: &IngestOptions,
    judge: &mut Judge,
    context: &Context<'_>,
) -> Result<u64, IngestError> {
    if waiting.is_empty() {
        return Ok(0);
    }
    let own: Vec<[u8; 16]> = waiting.iter().map(|one| one.identity).collect();
    let witnesses: Vec<[u8; 16]> =
        waiting.iter().map(|one| judge.identity(&one.removal, &one.source)).collect();
    let own = writer.view().identities(&own)?;
    let witnesses = writer.view().identities(&witnesses)?;
    let (mut given, mut sample) = (BTreeMap::new(), Vec::new());
    for ((one, own), witness) in waiting.iter().zip(own).zip(witnesses) {
        if own != Some(one.document) {
            return Err(one.wrong("another row was loaded in its place: the files were changed"));
        }
        let witness = witness.ok_or_else(|| {
            one.wrong(format!("no document has the key of its witness, {:?}", one.removal.witness))
        })?;
        let matched = matched(one.standing, &one.removal, witness);
        if judge.is_compared(&one.identity) {
            sample.push((one.document, matched));
        }
        given.insert(one.document, matched);
    }
    let named = |error: DecideError| match error {
        // What was committed stays: the same command goes on.
        DecideError::Interrupted => IngestError::Interrupted { report: Box::default() },
        error => named(error, |document, why| {
            waiting.iter().find(|one| one.document == document).map(|one| one.wrong(why))
        }),
    };
    let mut batch = writer.begin()?;
    let mut session = Session::new(&batch);
    session.heed(context.interrupt);
    session.remove_given(&given).map_err(named)?;
    for one in waiting {
        let found = session.outcome(one.document)?.standing;
        as_said(one.standing, found).map_err(|why| one.wrong(why))?;
    }
    session.compare_given(&sample).map_err(named)?;
    session.apply(&mut batch)?;
    batch.commit(&CommitRecord {
        kind: "load".to_owned(),
        subject: options.source.clone(),
        changed: waiting.len() as u64,
        ..CommitRecord::default()
    })?;
    judge.compared += sample.len() as u64;
    Ok(1)
}
