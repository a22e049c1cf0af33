//! Removed documents that a document kept from now on explains better than their witness does.
//!
//! They are decided again, so that the witness named is the best-ranked similar kept document, whatever came
//! first. Only a document that is in the buckets is found: in keep orders other than `first` every one that
//! was decided is, under `first` those that were kept once, or lost a witness.

use super::crowd::WHOLE;
use super::error::DecideError;
use super::rank::Rank;
use super::session::Session;
use crate::dedup::Sketch;
use crate::model::{DocId, MatchKind};
use std::collections::{BTreeSet, HashMap};

/// Removed members of buckets that a commit remembers: some 32 MB, and as much for their witnesses.
const REMEMBERED: usize = 1 << 20;

/// Ranks of the witnesses of removed documents, while one document is looked at.
type Witnesses = HashMap<DocId, Option<Rank>>;

impl Session {
    /// Has those decided again that the document, kept now, is similar to and outranks the witness of.
    pub(super) fn queue_followers(
        &mut self,
        rank: Rank,
        sketch: &Sketch,
        keys: &[(u8, u64)],
        stored: &[Option<(DocId, bool)>],
    ) -> Result<(), DecideError> {
        let mut followers = BTreeSet::new();
        let mut shared = Vec::new();
        for (key, found) in keys.iter().zip(stored) {
            match found {
                Some((_, true)) => shared.push(*key),
                Some((only, false)) if !self.scene.is_kept(*only) => {
                    followers.insert(*only);
                }
                _ => {}
            }
        }
        let mut witnesses = Witnesses::new();
        for keys in shared.chunks(WHOLE) {
            let unread: Vec<(u8, u64)> =
                keys.iter().filter(|key| !self.followers.contains_key(*key)).copied().collect();
            let is_removed = |document| !self.scene.is_kept(document);
            let read = self.scene.view.buckets(&unread, usize::MAX, is_removed)?;
            let of = |known: &[(Rank, DocId)]| -> Vec<DocId> {
                let outranked = known.iter().take_while(|(witness, _)| *witness > rank);
                outranked.map(|(_, document)| *document).collect()
            };
            let known = keys.iter().filter_map(|key| self.followers.get(key));
            known.for_each(|known| followers.extend(of(known)));
            for (key, bucket) in unread.into_iter().zip(read) {
                let members = bucket.map(|bucket| bucket.members).unwrap_or_default();
                let read = self.removed_members(members, &mut witnesses)?;
                followers.extend(of(&read));
                self.remember_followers(key, read);
            }
        }
        for document in followers {
            let other = self.scene.rank(document)?;
            if other <= rank || self.queue.contains(&other) || self.scene.is_kept(document) {
                continue;
            }
            let Some(matched) = self.scene.match_of(document)? else { continue };
            if self.scene.is_eligible(document)?
                && self.scene.rank(matched.witness)? > rank
                && self.first_similar(rank.document, sketch, BTreeSet::from([other]))?.is_some()
            {
                self.queue.insert(other);
            }
        }
        Ok(())
    }

    /// These removed members of a bucket, each with the rank of its witness: the worst-ranked first.
    fn removed_members(
        &self,
        members: Vec<DocId>,
        witnesses: &mut Witnesses,
    ) -> Result<Vec<(Rank, DocId)>, DecideError> {
        let mut found = Vec::new();
        for document in members {
            // Most are in many of the buckets.
            let witness = match witnesses.get(&document) {
                Some(known) => *known,
                None => {
                    let matched = self.scene.match_of(document)?;
                    let in_cluster = matched.filter(|one| one.kind != MatchKind::Superseded);
                    let rank = in_cluster.map(|one| self.scene.rank(one.witness)).transpose()?;
                    if witnesses.len() < REMEMBERED {
                        witnesses.insert(document, rank);
                    }
                    rank
                }
            };
            found.extend(witness.map(|witness| (witness, document)));
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        Ok(found)
    }

    /// Has the members of a bucket read once a commit, as far as memory allows.
    fn remember_followers(&mut self, key: (u8, u64), members: Vec<(Rank, DocId)>) {
        if members.len() > REMEMBERED {
            return;
        }
        if self.followers_held + members.len() > REMEMBERED {
            self.followers.clear();
            self.followers_held = 0;
        }
        self.followers_held += members.len() + 1;
        self.followers.insert(key, members.into());
    }
}
