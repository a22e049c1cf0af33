//! Keeps the exact rows, the best-ranked eligible document of each text, up to date while documents come and go.

use super::decision::ImportState;
use super::overlay::Overlay;
use super::writer_cache::{TextTwins, text_of};
use model::{DocId, Error};
use std::collections::{BTreeMap, BTreeSet};
use store::TextKind;
use text::dedup::Rank;

/// A text by its whole hash.
type LeaderText = (TextKind, [u8; 16]);
/// The best-ranked document of each text.
type NextLeaders = BTreeMap<LeaderText, Rank>;

/// Reads the exact rows of everything that is to be decided at once.
pub(super) fn remember_texts(overlay: &mut Overlay, queue: &BTreeSet<Rank>) -> Result<(), Error> {
    for form in overlay.forms() {
        let mut hashes = Vec::with_capacity(queue.len());
        for rank in queue {
            hashes.push(overlay.text_hash(*form, rank.document)?);
        }
        overlay.remember_exact(*form, hashes.into_iter())?;
    }
    Ok(())
}

/// Which document leads each text, with what is remembered of the texts of large clusters.
pub(super) struct TextLeaders {
    twins: TextTwins,
}

/// The best-ranked eligible document of equal text, when it outranks this one.
pub(super) fn twin_before(overlay: &Overlay, rank: Rank) -> Result<Option<DocId>, Error> {
    for form in overlay.forms() {
        if let Some(twin) = overlay.exact(*form, overlay.text_hash(*form, rank.document)?)?
            && twin != rank.document
            && overlay.rank(twin)? < rank
            && overlay.is_eligible(twin)?
        {
            return Ok(Some(twin));
        }
    }
    Ok(None)
}

/// The eligible documents whose texts equal the document's; it leads its texts if it outranks them.
pub(super) fn meet_texts(overlay: &mut Overlay, document: DocId) -> Result<Vec<DocId>, Error> {
    let rank = overlay.rank(document)?;
    let mut twins = Vec::new();
    for form in overlay.forms() {
        let hash = overlay.text_hash(*form, document)?;
        let mut leads = true;
        if let Some(twin) = overlay.exact(*form, hash)?
            && twin != document
            && overlay.is_eligible(twin)?
        {
            leads = rank < overlay.rank(twin)?;
            twins.push(twin);
        }
        if leads {
            overlay.set_exact(*form, hash, Some(document));
        }
    }
    Ok(twins)
}

/// Makes a document that came with its decision the leader of its texts, if it outranks the leaders or these are to
/// leave; answers whether it leads all of its texts.
pub(super) fn lead_as_given(
    overlay: &mut Overlay,
    imports: &ImportState,
    rank: Rank,
) -> Result<bool, Error> {
    let mut leads_all = true;
    for form in overlay.forms() {
        let hash = overlay.text_hash(*form, rank.document)?;
        let leads = match overlay.exact(*form, hash)? {
            Some(leader) => imports.is_leaving(leader) || rank < overlay.rank(leader)?,
            None => true,
        };
        if leads {
            overlay.set_exact(*form, hash, Some(rank.document));
        }
        leads_all &= leads;
    }
    Ok(leads_all)
}

impl TextLeaders {
    /// With what the last commit remembered.
    pub(super) const fn new(twins: TextTwins) -> Self {
        Self { twins }
    }

    /// What is remembered for the next commit.
    pub(super) fn into_twins(self) -> TextTwins {
        self.twins
    }

    /// Takes the exact rows of a document's texts over from leaders that it outranks; answers the kept ones among
    /// these, which are decided again.
    pub(super) fn lead(
        &mut self,
        overlay: &mut Overlay,
        imports: &ImportState,
        rank: Rank,
    ) -> Result<Vec<Rank>, Error> {
        let mut outranked = Vec::new();
        for form in overlay.forms() {
            let hash = overlay.text_hash(*form, rank.document)?;
            let leader = overlay.exact(*form, hash)?;
            let mut leads = leader.is_none();
            if let Some(leader) = leader.filter(|leader| *leader != rank.document) {
                self.twins.pair(text_of(*form, hash), leader, rank.document);
                let other = overlay.rank(leader)?;
                let is_eligible = overlay.is_eligible(leader)?;
                let is_to_stay = imports.is_imported(leader) && imports.is_leaving(rank.document);
                leads = (other > rank && !is_to_stay) || !is_eligible;
                if leads && is_eligible && overlay.is_kept(leader) {
                    outranked.push(other);
                }
            }
            if leads {
                overlay.set_exact(*form, hash, Some(rank.document));
            }
        }
        Ok(outranked)
    }

    /// The exact rows that lead to documents that left lead to the next eligible document of the
    /// same text. Documents of one text share their fate, so it is of the same cluster.
    pub(super) fn reassign(
        &mut self,
        overlay: &mut Overlay,
        departed: &BTreeMap<DocId, DocId>,
        imports: &ImportState,
    ) -> Result<(), Error> {
        let mut vacant: BTreeMap<DocId, BTreeSet<LeaderText>> = BTreeMap::new();
        for (document, kept) in departed {
            for form in overlay.forms() {
                let hash = overlay.text_hash(*form, *document)?;
                let leader = overlay.exact(*form, hash)?;
                // Who came decided may lead a text already that another one had yet to leave.
                if leader.is_some_and(|one| one == *document || imports.is_imported(one)) {
                    vacant.entry(*kept).or_default().insert((*form, hash));
                }
            }
        }
        for (kept, texts) in vacant {
            let heirs = match overlay.mode().is_transitive() {
                // A dissolved cluster is put together again as a whole.
                true => self.read_heirs(overlay, kept, &texts, false)?,
                false => self.heirs(overlay, kept, &texts)?,
            };
            for text in texts {
                let mut heir = heirs.get(&text).copied();
                if let Some(leader) = overlay.exact(text.0, text.1)?
                    && imports.is_imported(leader)
                    && overlay.is_eligible(leader)?
                {
                    let rank = overlay.rank(leader)?;
                    let stays = heir.filter(|heir| !imports.is_leaving(heir.document));
                    heir = Some(stays.map_or(rank, |heir| heir.min(rank)));
                }
                overlay.set_exact(text.0, text.1, heir.map(|rank| rank.document));
            }
        }
        Ok(())
    }

    /// The best-ranked eligible documents of these texts in a cluster.
    fn heirs(
        &mut self,
        overlay: &Overlay,
        kept: DocId,
        texts: &BTreeSet<LeaderText>,
    ) -> Result<NextLeaders, Error> {
        let mut heirs = NextLeaders::new();
        for (form, hash) in texts {
            let Some(known) = self.twins.of_text(kept, text_of(*form, *hash)) else {
                return self.read_heirs(overlay, kept, texts, true);
            };
            for heir in known {
                let is_of = *heir == kept
                    || overlay.match_of(*heir)?.is_some_and(|found| found.witness == kept);
                if is_of && overlay.is_eligible(*heir)? {
                    consider(overlay, *heir, texts, &mut heirs)?;
                }
            }
        }
        Ok(heirs)
    }

    /// The next leaders of these texts, by reading the cluster, which is remembered if `is_to_be_known` and it is
    /// large.
    fn read_heirs(
        &mut self,
        overlay: &Overlay,
        kept: DocId,
        texts: &BTreeSet<LeaderText>,
        is_to_be_known: bool,
    ) -> Result<NextLeaders, Error> {
        let mut heirs = NextLeaders::new();
        let mut cluster = overlay.members(kept)?;
        cluster.insert(kept);
        let mut known = (is_to_be_known && self.twins.admits(cluster.len())).then(Vec::new);
        for heir in cluster {
            if !overlay.is_eligible(heir)? {
                continue;
            }
            consider(overlay, heir, texts, &mut heirs)?;
            for form in overlay.forms() {
                let text = text_of(*form, overlay.text_hash(*form, heir)?);
                known.iter_mut().for_each(|known| known.push((text, heir)));
            }
        }
        if let Some(known) = known {
            self.twins.remember(kept, known);
        }
        Ok(heirs)
    }
}

/// Makes a document the heir of the texts that it has, where it outranks the heir so far.
fn consider(
    overlay: &Overlay,
    heir: DocId,
    texts: &BTreeSet<LeaderText>,
    heirs: &mut NextLeaders,
) -> Result<(), Error> {
    for form in overlay.forms() {
        let text = (*form, overlay.text_hash(*form, heir)?);
        if texts.contains(&text) {
            let rank = overlay.rank(heir)?;
            let best = heirs.entry(text).or_insert(rank);
            *best = rank.min(*best);
        }
    }
    Ok(())
}
