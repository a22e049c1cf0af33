//! The entries of one commit in the making.

use super::row::bucket_of;
use super::run::Entry;
use crate::model::{DocId, Generation};
use rayon::prelude::*;

/// Entries by generation; a later first member of the same bucket counts.
#[derive(Default)]
pub struct BandRows {
    sections: Vec<Section>,
}

/// The entries of one generation.
pub(super) struct Section {
    pub(super) generation: Generation,
    /// (bucket, document << 1 | more).
    firsts: Vec<(u64, u64)>,
    /// (bucket, document).
    members: Vec<(u64, u64)>,
    /// Buckets that had no member before.
    pub(super) new: u64,
    /// One more than the highest band.
    pub(super) bands: u32,
}

impl BandRows {
    /// A bucket's first member: of a bucket that had none, or rewritten to say that there are more.
    pub(in crate::store) fn first(
        &mut self,
        generation: Generation,
        band: u8,
        hash: u64,
        document: DocId,
        more: bool,
    ) {
        let section = self.section(generation);
        section.firsts.push((bucket_of(band, hash), document.0 << 1 | u64::from(more)));
        section.new += u64::from(!more);
        section.bands = section.bands.max(u32::from(band) + 1);
    }

    /// A further member.
    pub(in crate::store) fn member(
        &mut self,
        generation: Generation,
        band: u8,
        hash: u64,
        document: DocId,
    ) {
        self.section(generation).members.push((bucket_of(band, hash), document.0));
    }

    fn section(&mut self, generation: Generation) -> &mut Section {
        // Batches write one generation, at most two.
        let at = self.sections.iter().position(|section| section.generation == generation);
        let at = at.unwrap_or_else(|| {
            let (firsts, members) = (Vec::new(), Vec::new());
            self.sections.push(Section { generation, firsts, members, new: 0, bands: 0 });
            self.sections.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
        &mut self.sections[at]
    }

    /// Entries put in, those that later ones replace included.
    pub(super) fn entries(&self) -> usize {
        self.sections.iter().map(|section| section.firsts.len() + section.members.len()).sum()
    }

    pub(super) fn into_sections(self) -> Vec<Section> {
        let mut sections = self.sections;
        sections.sort_unstable_by_key(|section| section.generation);
        sections
    }
}

impl Section {
    /// First and further members as entries, ascending.
    pub(super) fn sorted(mut self) -> (Vec<Entry>, Vec<Entry>) {
        rayon::join(|| self.firsts.par_sort_unstable(), || self.members.par_sort_unstable());
        let entry = |(bucket, value): &(u64, u64)| Entry::new(*bucket, *value);
        // Of one bucket the largest is the last one put in: the mark is set once and never cleared.
        let firsts = self.firsts.chunk_by(|a, b| a.0 == b.0).filter_map(<[_]>::last).map(entry);
        let firsts = firsts.collect();
        self.members.dedup();
        (firsts, self.members.iter().map(entry).collect())
    }
}
