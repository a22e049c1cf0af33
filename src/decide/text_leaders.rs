//! Exact rows: the best-ranked eligible document of a text, while documents come and go.

use super::error::DecideError;
use super::session::DecisionSession;
use super::writer_cache::text_of;
use crate::dedup::Rank;
use crate::model::DocId;
use crate::store::{DocumentRecord, TextKind};
use std::collections::{BTreeMap, BTreeSet};

/// A text by its whole hash.
type LeaderText = (TextKind, [u8; 16]);
/// The best-ranked document of each text.
type NextLeaders = BTreeMap<LeaderText, Rank>;

impl DecisionSession {
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
    pub(super) fn reassign_leaders(&mut self) -> Result<(), DecideError> {
        let mut vacant: BTreeMap<DocId, BTreeSet<LeaderText>> = BTreeMap::new();
        for (document, kept) in &self.left {
            let header = self.scene.header(*document)?;
            for form in self.forms() {
                let hash = self.scene.text_hash(*form, &header);
                let leader = self.scene.exact(*form, hash)?;
                // Who came decided may lead a text already that another one had yet to leave.
                if leader.is_some_and(|one| one == *document || self.is_imported(one)) {
                    vacant.entry(*kept).or_default().insert((*form, hash));
                }
            }
        }
        for (kept, texts) in vacant {
            let heirs = match self.mode().is_transitive() {
                // Such a cluster is put together again as a whole.
                true => self.read_heirs(kept, &texts, false)?,
                false => self.heirs(kept, &texts)?,
            };
            for text in texts {
                let mut heir = heirs.get(&text).copied();
                if let Some(leader) = self.scene.exact(text.0, text.1)?
                    && self.is_imported(leader)
                    && self.scene.is_eligible(leader)?
                {
                    let rank = self.scene.rank(leader)?;
                    let stays = heir.filter(|heir| !self.is_leaving(heir.document));
                    heir = Some(stays.map_or(rank, |heir| heir.min(rank)));
                }
                self.scene.set_exact(text.0, text.1, heir.map(|rank| rank.document));
            }
        }
        Ok(())
    }

    /// The best-ranked eligible documents of these texts in a cluster.
    fn heirs(
        &mut self,
        kept: DocId,
        texts: &BTreeSet<LeaderText>,
    ) -> Result<NextLeaders, DecideError> {
        let mut heirs = NextLeaders::new();
        for (form, hash) in texts {
            let Some(known) = self.twins.of_text(kept, text_of(*form, *hash)) else {
                return self.read_heirs(kept, texts, true);
            };
            for heir in known {
                let is_of = *heir == kept
                    || self.scene.match_of(*heir)?.is_some_and(|found| found.witness == kept);
                if is_of && self.scene.is_eligible(*heir)? {
                    self.consider(*heir, texts, &mut heirs)?;
                }
            }
        }
        Ok(heirs)
    }

    /// The same by reading the cluster, which is remembered if it is to be and is large.
    fn read_heirs(
        &mut self,
        kept: DocId,
        texts: &BTreeSet<LeaderText>,
        is_to_be_known: bool,
    ) -> Result<NextLeaders, DecideError> {
        let mut heirs = NextLeaders::new();
        let mut cluster = self.scene.members(kept)?;
        cluster.insert(kept);
        let mut known = (is_to_be_known && self.twins.admits(cluster.len())).then(Vec::new);
        for heir in cluster {
            if !self.scene.is_eligible(heir)? {
                continue;
            }
            let header = self.consider(heir, texts, &mut heirs)?;
            for form in self.forms() {
                let text = text_of(*form, self.scene.text_hash(*form, &header));
                known.iter_mut().for_each(|known| known.push((text, heir)));
            }
        }
        if let Some(known) = known {
            self.twins.remember(kept, known);
        }
        Ok(heirs)
    }

    /// Makes a document the heir of those of the texts that it has, if it outranks the one so far.
    fn consider(
        &self,
        heir: DocId,
        texts: &BTreeSet<LeaderText>,
        heirs: &mut NextLeaders,
    ) -> Result<DocumentRecord, DecideError> {
        let header = self.scene.header(heir)?;
        for form in self.forms() {
            let text = (*form, self.scene.text_hash(*form, &header));
            if texts.contains(&text) {
                let rank = self.scene.rank(heir)?;
                let best = heirs.entry(text).or_insert(rank);
                *best = rank.min(*best);
            }
        }
        Ok(header)
    }
}
