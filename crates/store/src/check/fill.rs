//! Writes the rows of a repair's second half: members, identities, counters, and the progress of the repair.
//!
//! The contents of these rows are computed by `curate`, which knows the crafts.

use crate::batch::CommitBatch;
use crate::bytes::key::{IdentityKey, MatchKey, MemberKey, StoreKey, encode_document};
use crate::bytes::record::{self, RepairRecord};
use crate::check::carried::LENGTHS;
use crate::database::family::StoreFamily;
use crate::decisions::generations::SourceTotals;
use crate::decisions::matches::{Matches, Members, encode_member, member_changes};
use crate::documents::tokens::Tokens;
use crate::error::StoreError;
use crate::meta::{Meta, MetaKey};
use crate::view::View;
use crate::writer::StoreWriter;
use model::{CommitSeq, DocId, Generation, SourceId};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::ops::Range;

impl View {
    /// How many lengths in tokens the repair under way could not read.
    #[doc(hidden)]
    pub fn lost_lengths(&self) -> Result<u64, StoreError> {
        let repairs = self.repairs()?;
        let lost = repairs.get(Tokens::NAME).into_iter().flat_map(|record| &record.lost);
        Ok(lost.filter(|(of, _, _)| *of == LENGTHS).map(|(_, _, count)| count).sum())
    }
}

impl StoreWriter {
    /// Begins a commit of a repair: also while fingerprints are of two versions.
    ///
    /// # Errors
    /// [`StoreError`] when an earlier commit failed.
    pub fn begin_repair(&mut self) -> Result<CommitBatch<'_>, StoreError> {
        self.begin_refingerprinting()
    }
}

impl CommitBatch<'_> {
    /// Stores how far families are made again.
    pub fn put_repair(&mut self, families: &[&str], next: u64) -> Result<(), StoreError> {
        let known = self.view().repairs()?;
        for family in families {
            let Some(record) = known.get(*family) else { continue };
            let record = RepairRecord { next, ..record.clone() };
            let key = MetaKey::Repair((*family).to_owned());
            self.put::<Meta>(&key, &record::encode("repair", &record)?)?;
        }
        Ok(())
    }

    /// All families are made again: others may open the corpus.
    pub fn end_repair(&mut self) -> Result<(), StoreError> {
        for family in self.view().repairs()?.into_keys() {
            self.delete::<Meta>(&MetaKey::Repair(family))?;
        }
        Ok(())
    }

    /// Writes whom witnesses stand for, of the matches of these documents in a generation: every row that the matches
    /// wrote beside them.
    pub fn put_members(
        &mut self,
        generation: Generation,
        documents: Range<u64>,
    ) -> Result<(), StoreError> {
        let view = self.view().clone();
        let key = |document| {
            let (removed, commit) = (DocId(document), CommitSeq(0));
            MatchKey { generation, removed, commit }.to_bytes()
        };
        let (from, end) = (key(documents.start), key(documents.end));
        let mut rows = view.pinned().scan::<Matches>(&from, Some(end))?;
        let mut before = None;
        while let Some((MatchKey { removed, commit, .. }, now)) = rows.next()? {
            let was = match before.take() {
                Some((document, found)) if document == removed => found,
                _ => None,
            };
            for (witness, has_joined) in member_changes(was.as_ref(), now.as_ref()) {
                let key = MemberKey { generation, witness, removed, commit };
                self.put::<Members>(&key, &encode_member(has_joined))?;
            }
            before = Some((removed, now));
        }
        Ok(())
    }

    /// Stores under which identity a later ingest recognises a document.
    pub fn put_identity(&mut self, identity: [u8; 16], document: DocId) {
        let key = IdentityKey { hash: identity }.to_bytes();
        self.identities.put(&key, &encode_document(document));
    }

    /// Replaces the counters of sources and of the corpus: by what all documents come to, and those that are `kept`.
    ///
    /// # Errors
    /// [`StoreError`] when a source is unknown.
    pub fn put_counters(
        &mut self,
        kept: &RoaringTreemap,
        of_all: &BTreeMap<SourceId, SourceTotals>,
        of_kept: &BTreeMap<SourceId, SourceTotals>,
    ) -> Result<(), StoreError> {
        self.state.kept = kept.len();
        let sources: Vec<SourceId> = self.view().sources().map(|(id, _)| id).collect();
        for source in sources {
            let all = of_all.get(&source).cloned().unwrap_or_default();
            let of_kept = of_kept.get(&source).cloned().unwrap_or_default();
            let record = self.source_record(source)?;
            (record.documents, record.bytes) = (all.kept, all.bytes);
            of_kept.count_kept(record);
        }
        Ok(())
    }
}
