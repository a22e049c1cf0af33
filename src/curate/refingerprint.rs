//! Rewrites prints and sketches of all documents after a redo that changed what is compared.
//!
//! This is the last part of a redo under a policy that compares another part of documents, or has the other version of
//! a normaliser. From then on removals block by both versions.

use super::commits::CommitLoop;
use crate::decide::{BlockKeys, BlockReach, Blocklist, print_of};
use model::{ComparedPart, Context, DocId, Error, Standing};
use rayon::prelude::*;
use std::ops::Range;
use store::{CommitRecord, DocumentPrint, StoreWriter, View};
use text::dedup::Fingerprinter;

/// Documents written in one commit.
const CHUNK: u64 = 1 << 12;

/// A print, and the sketch that is stored beside it.
pub(super) type StoredFingerprint = (DocId, DocumentPrint, Option<Vec<u8>>);

/// Goes on where it stopped; does nothing where all fingerprints are of the policy in force. Until it has ended nothing
/// else is written to the corpus.
///
/// # Errors
/// [`Error`] when the store cannot be read or written, or when a stop was requested: the same call continues.
pub(super) fn refingerprint(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    if writer.view().refingerprinted()?.is_none() {
        return Ok(());
    }
    let documents = writer.view().documents();
    let mut commits = CommitLoop::begin("writing fingerprints", Some(documents), context);
    while let Some(next) = writer.view().refingerprinted()? {
        commits.check_interrupt()?;
        let end = (next + CHUNK).min(documents);
        let mut batch = writer.begin_refingerprinting()?;
        let view = batch.view().clone();
        for (document, print, sketch) in fingerprints(&view, next..end)? {
            batch.put_fingerprint(document, print, sketch);
        }
        let mut blocklist = Blocklist::new(&view)?;
        if blocklist.reach() > BlockReach::Exact {
            let removed = view.documents_standing(Standing::Removed)?;
            for document in (next..end).filter(|id| removed.contains(*id)).map(DocId) {
                block(&view, &mut blocklist, document)?;
            }
        }
        blocklist.write(&mut batch)?;
        batch.put_refingerprinted((end < documents).then_some(end))?;
        let record = CommitRecord::about("redo", format!("fingerprints below {end}"));
        commits.commit(batch, &record, end)?;
    }
    commits.end();
    Ok(())
}

/// The fingerprints by the policy in force of documents that have a text.
pub(super) fn fingerprints(view: &View, ids: Range<u64>) -> Result<Vec<StoredFingerprint>, Error> {
    let policy = view.policy();
    let of = |craft: &mut Fingerprinter, id: u64| {
        let document = DocId(id);
        // Empty in all versions; of what was purged the old sketch may have to stay.
        let stored = view.print(document)?;
        if stored.is_of_empty_text() {
            return Ok(None);
        }
        let print = craft.fingerprint(&view.compared_text(document)?);
        // Two conversations with the same text may have different turns or prompts.
        let is_own =
            view.place(document)?.text_of.is_none() || policy.compared != ComparedPart::Text;
        let sketch = print.sketch.as_ref().filter(|_| is_own);
        let sketch = sketch.map(|sketch| sketch.as_bytes().to_vec());
        Ok(Some((document, print_of(stored.raw, &print), sketch)))
    };
    ids.into_par_iter()
        .map_init(|| Fingerprinter::new(policy), of)
        .filter_map(Result::transpose)
        .collect()
}

/// Makes a removed document that blocks by one version of the normaliser block by both.
fn block(view: &View, blocklist: &mut Blocklist<'_>, document: DocId) -> Result<(), Error> {
    let of = BlockKeys::of_removed(view, document, (blocklist.reach(), true))?;
    let extent = blocklist.extent_of(document, &of)?;
    if extent.reach < BlockReach::Normalised {
        return Ok(());
    }
    blocklist.block(document, &of, extent)
}
