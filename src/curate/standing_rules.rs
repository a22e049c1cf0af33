//! Derives standings of documents whose bitmaps cannot be read from traces, removals, matches, words and blocks.

use crate::decide::{BlockKeys, Blocklist};
use model::{BLOCK_SIZE, CommitSeq, DocId, Error, Generation, Standing};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::ops::Range;
use store::{BlockKind, CommitBatch, View};

/// The rows from which standings of the visible generations are derived.
pub struct StandingRules {
    shown: BTreeMap<Generation, ShownGeneration>,
    /// Generation, standing, block of each bitmap that could not be read; block 2^64 - 1: all.
    lost: Vec<(u32, u8, u64)>,
}

/// A generation up to the last commit that counts of it.
struct ShownGeneration {
    until: CommitSeq,
    /// Documents that were stored then.
    documents: u64,
    removed: RoaringTreemap,
    purged: RoaringTreemap,
}

impl ShownGeneration {
    /// Whether it continues.
    const fn is_current(&self) -> bool {
        self.until.0 == u64::MAX
    }
}

impl StandingRules {
    /// The rules for a view whose bitmaps `lost` cannot be read.
    ///
    /// # Errors
    /// [`Error`] when rows of removals or snapshots cannot be read.
    pub fn of(view: &View, lost: Vec<(u32, u8, u64)>) -> Result<Self, Error> {
        let (removed, purged) = (RoaringTreemap::new(), RoaringTreemap::new());
        let new = |until| ShownGeneration {
            until,
            documents: 0,
            removed: removed.clone(),
            purged: purged.clone(),
        };
        let shown = view.shown_generations()?;
        let mut shown: BTreeMap<Generation, ShownGeneration> =
            shown.into_iter().map(|(generation, until)| (generation, new(until))).collect();
        for (commit, record) in view.commits()? {
            for one in shown.values_mut().filter(|one| commit <= one.until) {
                one.documents = one.documents.max(record.first.saturating_add(record.added));
            }
        }
        for row in view.removals()? {
            let (commit, documents) = row?;
            let is_back =
                view.commit_record(commit)?.is_some_and(|record| record.kind == "restore");
            for one in shown.values_mut().filter(|one| commit <= one.until) {
                if is_back {
                    one.removed -= &documents;
                } else {
                    one.removed |= &documents;
                }
            }
        }
        for row in view.traces()? {
            let (commit, traces) = row?;
            for one in shown.values_mut().filter(|one| commit <= one.until) {
                one.purged.extend(traces.iter().map(|trace| trace.document.0));
            }
        }
        Ok(Self { shown, lost })
    }

    /// Gives the removed and purged documents of a block that no bitmap has their standing.
    pub(super) fn fill_removed(
        &self,
        batch: &mut CommitBatch<'_>,
        block: u64,
    ) -> Result<(), Error> {
        self.fill_by(batch, block, |_, shown, document| Ok(shown.removed_standing(document)))
    }

    /// Gives all documents of a block that no bitmap has their standing, in every generation that is shown. Those that
    /// were removed have theirs.
    pub(super) fn fill(&self, batch: &mut CommitBatch<'_>, block: u64) -> Result<(), Error> {
        let view = batch.view().clone();
        let mut blocklist = Blocklist::new(&view)?;
        self.fill_by(batch, block, |under, shown, document| {
            if let Some(found) = matched(under, shown, document)? {
                return Ok(Some(found));
            }
            let [with_key, with_sketch] =
                [BlockKind::Identity, BlockKind::Similar].map(|what| blocklist.has(what));
            let of = BlockKeys::of(&view, document, (with_key, with_sketch))?;
            let is_blocked = blocklist.keeps_out(&of, Some(document), |craft| {
                Ok(craft.shingles(&view.compared_text(document)?).into())
            })?;
            // A document without words is blocked all the same.
            match is_blocked {
                true => Ok(Some(Standing::Blocked)),
                false => unmatched(under, document).map(Some),
            }
        })
    }

    fn fill_by(
        &self,
        batch: &mut CommitBatch<'_>,
        block: u64,
        mut standing: impl FnMut(&View, &ShownGeneration, DocId) -> Result<Option<Standing>, Error>,
    ) -> Result<(), Error> {
        let view = batch.view().clone();
        let documents: Range<u64> =
            block * BLOCK_SIZE..((block + 1) * BLOCK_SIZE).min(view.documents());
        for (generation, shown) in &self.shown {
            let under = view.with_policy(view.policy().clone(), *generation);
            let known = under.block_standings(block)?;
            let lost: Vec<Standing> = Standing::ALL
                .into_iter()
                .filter(|standing| self.is_lost(*generation, *standing, block))
                .collect();
            for document in documents.clone().map(DocId) {
                if known.of(document.slot()).is_some() {
                    continue;
                }
                // Documents that came later have no standing in an earlier generation.
                if !shown.is_current() && document.0 >= shown.documents {
                    continue;
                }
                let found = match lost.as_slice() {
                    // Every document has one: that whose bitmap is the only one that is lost.
                    [only] => Some(*only),
                    _ => standing(&under, shown, document)?,
                };
                if let Some(found) = found {
                    batch.put_standing(*generation, document, found)?;
                }
            }
        }
        Ok(())
    }

    fn is_lost(&self, Generation(of): Generation, standing: Standing, block: u64) -> bool {
        self.lost.iter().any(|(generation, code, at)| {
            *generation == of && *code == standing as u8 && (*at == block || *at == u64::MAX)
        })
    }
}

impl ShownGeneration {
    fn removed_standing(&self, document: DocId) -> Option<Standing> {
        match document.0 {
            id if self.purged.contains(id) => Some(Standing::Purged),
            id if self.removed.contains(id) => Some(Standing::Removed),
            _ => None,
        }
    }
}

/// The standing of a document that was not removed, by its match; none: it has no match.
fn matched(
    view: &View,
    shown: &ShownGeneration,
    document: DocId,
) -> Result<Option<Standing>, Error> {
    let found = view.match_at((view.generation(), shown.until), document)?;
    Ok(found.map(|found| found.kind.standing()))
}

/// The standing of a document that nothing keeps out.
fn unmatched(view: &View, document: DocId) -> Result<Standing, Error> {
    let is_empty = view.policy().compares_words() && view.print(document)?.words == 0;
    Ok(if is_empty { Standing::Empty } else { Standing::Kept })
}
