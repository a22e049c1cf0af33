//! Removed documents that a document kept from now on explains better than their witness does.
//!
//! They are decided again, so that the witness named is the best-ranked similar kept document, whatever came
//! first. Only a document that is in the buckets is found: in keep orders other than `first` every one that
//! was decided is, under `first` those that were kept once, or lost a witness.

use super::error::DecideError;
use super::rank::Rank;
use super::session::Session;
use crate::dedup::Sketch;
use crate::model::{DocId, MatchKind};
use std::collections::BTreeSet;
use std::sync::Arc;

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
        self.read_followers(&shared)?;
        for key in &shared {
            let known = self.followers.get(key).map(Arc::clone);
            let known = known.iter().flat_map(|known| known.iter());
            followers.extend(
                known.take_while(|(witness, _)| *witness > rank).map(|(_, document)| *document),
            );
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

    /// Reads the removed members of buckets, once a commit.
    fn read_followers(&mut self, keys: &[(u8, u64)]) -> Result<(), DecideError> {
        let unread = keys.iter().filter(|key| !self.followers.contains_key(*key));
        let unread: Vec<(u8, u64)> = unread.copied().collect();
        let is_removed = |document| !self.scene.is_kept(document);
        let found = self.scene.view.buckets(&unread, usize::MAX, is_removed)?;
        for (key, bucket) in unread.into_iter().zip(found) {
            let mut followers = Vec::new();
            for document in bucket.map(|bucket| bucket.members).unwrap_or_default() {
                if let Some(matched) = self.scene.match_of(document)?
                    && matched.kind != MatchKind::Superseded
                {
                    followers.push((self.scene.rank(matched.witness)?, document));
                }
            }
            followers.sort_unstable_by(|a, b| b.cmp(a));
            self.followers.insert(key, followers.into());
        }
        Ok(())
    }
}
