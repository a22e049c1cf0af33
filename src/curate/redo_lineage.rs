//! Whose place documents take when another policy becomes current: written beside it, before the switch.

use super::error::CurateError;
use crate::decide::Lineages;
use crate::model::{DocId, Generation, Match, MatchKind, Policy};
use crate::store::{CommitRecord, RedoRecord, Roots, View, Writer};
use roaring::RoaringTreemap;
use std::sync::Arc;

/// Documents looked at for one commit.
const CHUNK: usize = 1 << 13;

/// A document under the policies before and after, in the clusters of both.
struct Both<'a> {
    before: &'a View,
    after: &'a View,
}

impl Both<'_> {
    fn matched(view: &View, document: DocId) -> Result<Option<Match>, CurateError> {
        Ok(view.match_of(document)?.filter(|found| found.kind != MatchKind::Superseded))
    }

    fn was(&self, document: DocId) -> Result<Option<Match>, CurateError> {
        Self::matched(self.before, document)
    }

    fn is(&self, document: DocId) -> Result<Option<Match>, CurateError> {
        Self::matched(self.after, document)
    }
}

/// Adds, in the generation that becomes current next and has `kept` documents, the roots of documents that
/// take another's place by it. Whatever is kept again goes first, since it may displace others.
///
/// # Errors
/// [`CurateError`] when the store cannot be read or written.
pub(super) fn descend(
    writer: &mut Writer,
    policy: &Policy,
    record: &RedoRecord,
    kept: &RoaringTreemap,
) -> Result<(), CurateError> {
    let kept_before = writer.view().kept()?;
    let again = kept - &kept_before;
    in_chunks(writer, policy, record, again, |both, lineages, document| {
        let own = lineages.before(document, both.was(document)?)?;
        lineages.join(document, own, &Roots::default());
        Ok(())
    })?;
    let displaced = &kept_before - kept;
    in_chunks(writer, policy, record, displaced, |both, lineages, document| {
        let Some(next) = both.is(document)?.map(|found| found.witness) else { return Ok(()) };
        let takes = lineages.before(document, None)?;
        let own = lineages.before(next, None)?;
        lineages.join(next, own, &takes);
        Ok(())
    })?;
    // Duplicates of another witness than before go on by what they had.
    let mut moved = RoaringTreemap::new();
    let before = writer.view().clone();
    let after = before.under(policy.clone(), Generation(record.generation));
    for matched in before.matched()? {
        let (document, _, was) = matched?;
        let next = Both::matched(&after, document)?.map(|found| found.witness);
        if was.kind != MatchKind::Superseded && next.is_some_and(|next| next != was.witness) {
            moved.insert(document.0);
        }
    }
    in_chunks(writer, policy, record, moved, |both, lineages, document| {
        let own = lineages.before(document, both.was(document)?)?;
        let next = both.is(document)?.map_or(document, |found| found.witness);
        if !lineages.before(next, None)?.holds(&own) {
            lineages.join(document, own, &Roots::default());
        }
        Ok(())
    })
}

fn in_chunks(
    writer: &mut Writer,
    policy: &Policy,
    record: &RedoRecord,
    documents: RoaringTreemap,
    mut each: impl FnMut(&Both<'_>, &mut Lineages<'_>, DocId) -> Result<(), CurateError>,
) -> Result<(), CurateError> {
    let generation = Generation(record.generation);
    let mut documents = documents.iter().map(DocId).peekable();
    while documents.peek().is_some() {
        let before = writer.view().clone();
        let after = before.under(policy.clone(), generation);
        let both = Both { before: &before, after: &after };
        // Under the new generation, so that what chunks before this one wrote is seen.
        let mut lineages = Lineages::new(&after)?;
        for document in documents.by_ref().take(CHUNK) {
            each(&both, &mut lineages, document)?;
        }
        let rows = lineages.rows()?;
        if rows.is_empty() {
            continue;
        }
        let kept = Arc::default();
        let next = DocId(record.next);
        let mut batch = writer.begin_under(policy, generation, kept, next)?;
        for (document, roots) in rows {
            batch.descend(document, &roots)?;
        }
        // A redo that is stopped here goes on here.
        batch.put_redo(Some(record))?;
        batch.commit(&CommitRecord {
            kind: "redo".to_owned(),
            subject: "lineages".to_owned(),
            ..CommitRecord::default()
        })?;
    }
    Ok(())
}
