//! What follows when a document stops being eligible: those it explained are decided again.

use super::error::DecideError;
use super::scene::TextForm;
use super::session::Session;
use crate::model::{DedupMode, DocId, Match, MatchKind, Standing};
use std::collections::BTreeSet;

impl Session {
    /// `old` is superseded by `new`, which takes its key; everyone who lost a witness is reconsidered.
    pub(super) fn supersede(&mut self, old: DocId, new: DocId) -> Result<(), DecideError> {
        let before = self.scene.standing(old)?;
        if before.is_eligible() {
            self.pass_on_texts(old)?;
        }
        let orphans =
            if before == Standing::Kept { self.scene.members(old)? } else { BTreeSet::new() };
        self.scene.set_standing(old, Standing::Superseded)?;
        let successor = Match {
            kind: MatchKind::Superseded,
            witness: new,
            shared: 0,
            removed_shingles: 0,
            witness_shingles: 0,
        };
        self.scene.set_match(old, Some(successor))?;
        self.reconsider(orphans)
    }

    /// The exact rows that lead to `old` lead to the next eligible document of the same text.
    fn pass_on_texts(&mut self, old: DocId) -> Result<(), DecideError> {
        if self.scene.view.policy().mode == DedupMode::None {
            return Ok(());
        }
        let header = self.scene.header(old)?;
        let mut heirs: Option<BTreeSet<DocId>> = None;
        for form in [TextForm::Raw, TextForm::Normalised] {
            if self.scene.exact(form, form.hash(&header))? != Some(old) {
                continue;
            }
            // Documents of one text share their fate: they are in the cluster of `old` or led by it.
            let heirs = match &mut heirs {
                Some(heirs) => heirs,
                none => {
                    let mut cluster = self.scene.members(old)?;
                    if let Some(found) = self.scene.match_of(old)? {
                        cluster.extend(self.scene.members(found.witness)?);
                    }
                    none.insert(cluster)
                }
            };
            let mut next = None;
            for heir in heirs.iter().filter(|heir| **heir != old) {
                if form.hash(&self.scene.header(*heir)?) == form.hash(&header) {
                    next = Some(*heir);
                    break;
                }
            }
            self.scene.exact.insert((form, form.hash(&header)), next);
        }
        Ok(())
    }

    /// Decides documents again in rank order, and those whose answer depends on them.
    fn reconsider(&mut self, mut queue: BTreeSet<DocId>) -> Result<(), DecideError> {
        while let Some(id) = queue.pop_first() {
            let before = self.scene.standing(id)?;
            if !before.is_eligible() {
                continue;
            }
            self.counts.reconsidered += 1;
            let decision = self.decide(id)?;
            self.settle(id, decision)?;
            let now_kept = decision.standing == Standing::Kept;
            if now_kept && before != Standing::Kept {
                if let Some(sketch) = self.scene.sketch(id)? {
                    queue.extend(self.scene.higher_neighbours(id, &sketch, &mut self.craft)?);
                }
            } else if !now_kept && before == Standing::Kept {
                queue.extend(self.scene.members(id)?);
            }
        }
        Ok(())
    }
}
