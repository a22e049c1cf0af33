//! Exact rows: the best-ranked eligible document of a text, while documents come and go.

use super::error::DecideError;
use super::rank::Rank;
use super::scene::TextForm;
use super::session::Session;
use crate::model::DocId;
use std::collections::{BTreeMap, BTreeSet};

impl Session {
    /// Reads the exact rows of everything that is to be decided at once.
    pub(super) fn remember_texts(&mut self) -> Result<(), DecideError> {
        for form in self.forms() {
            let mut hashes = Vec::with_capacity(self.queue.len());
            for rank in &self.queue {
                hashes.push(self.scene.text_hash(*form, &self.scene.header(rank.document)?));
            }
            self.scene.remember_exact(*form, hashes.into_iter())?;
        }
        Ok(())
    }

    /// The exact rows that lead to documents that left lead to the next eligible document of the
    /// same text. Documents of one text share their fate, so it is of the same cluster.
    pub(super) fn hand_on_texts(&mut self) -> Result<(), DecideError> {
        let mut vacant: BTreeMap<DocId, BTreeSet<(TextForm, [u8; 16])>> = BTreeMap::new();
        for (document, kept) in &self.left {
            let header = self.scene.header(*document)?;
            for form in self.forms() {
                let hash = self.scene.text_hash(*form, &header);
                if self.scene.exact(*form, hash)? == Some(*document) {
                    vacant.entry(*kept).or_default().insert((*form, hash));
                }
            }
        }
        for (kept, texts) in vacant {
            let mut heirs: BTreeMap<(TextForm, [u8; 16]), Rank> = BTreeMap::new();
            let mut cluster = self.scene.members(kept)?;
            cluster.insert(kept);
            for heir in cluster {
                if !self.scene.is_eligible(heir)? {
                    continue;
                }
                let header = self.scene.header(heir)?;
                for form in self.forms() {
                    let text = (*form, self.scene.text_hash(*form, &header));
                    if texts.contains(&text) {
                        let rank = self.scene.rank(heir)?;
                        let best = heirs.entry(text).or_insert(rank);
                        *best = rank.min(*best);
                    }
                }
            }
            for text in texts {
                self.scene.exact.insert(text, heirs.get(&text).map(|rank| rank.document));
            }
        }
        Ok(())
    }
}
