//! Common n-grams: many texts of several sources have them, so they are no evidence and are ignored.

use crate::model::{GramPlace, Sightings, SourceId};
use std::collections::{BTreeMap, BTreeSet};

/// Counts, of one suite, the texts and sources that have each n-gram, each token within a piece and each short
/// question.
#[derive(Clone, Debug)]
pub struct Common {
    documents: u32,
    sources: usize,
    grams: Vec<Count>,
    whole: BTreeMap<u32, Count>,
    tokens: BTreeMap<GramPlace, Count>,
}

/// Sources that are distinguished.
const TOLD: usize = 8;

#[derive(Clone, Debug, Default)]
struct Count {
    documents: u32,
    /// The first few.
    sources: Vec<SourceId>,
}

impl Count {
    fn of(&mut self, source: SourceId, is_copy: bool) {
        self.documents = self.documents.saturating_add(u32::from(!is_copy));
        if self.sources.len() < TOLD && !self.sources.contains(&source) {
            self.sources.push(source);
        }
    }
}

impl Common {
    /// Of a suite of so many n-grams; common is what so many documents of so many sources have.
    pub fn new(documents: u32, sources: u32, grams: u32) -> Self {
        Self {
            documents,
            sources: (sources as usize).clamp(1, TOLD),
            grams: vec![Count::default(); grams as usize],
            whole: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Counts a document of a source, once for each n-gram, token and question. A copy has the text of one that was
    /// counted: its source counts, and it does not, so that no order of documents has a say, and no number of copies
    /// makes an item common.
    pub fn count(&mut self, source: SourceId, found: &Sightings, is_copy: bool) {
        let runs = found.runs.iter();
        let mut grams: Vec<u32> = runs.flat_map(|run| run.gram..run.gram + run.count).collect();
        grams.sort_unstable();
        grams.dedup();
        for gram in grams {
            if let Some(count) = self.grams.get_mut(gram as usize) {
                count.of(source, is_copy);
            }
        }
        let tokens: BTreeSet<GramPlace> =
            found.pieces.iter().flat_map(|piece| piece.places()).collect();
        for token in tokens {
            self.tokens.entry(token).or_default().of(source, is_copy);
        }
        for whole in &found.whole {
            self.whole.entry(whole.item).or_default().of(source, is_copy);
        }
    }

    /// Whether an n-gram counts for nothing.
    pub fn has_gram(&self, gram: u32) -> bool {
        self.grams.get(gram as usize).is_some_and(|count| self.is_common(count))
    }

    /// Whether a short question counts for nothing.
    pub fn has_whole(&self, item: u32) -> bool {
        self.whole.get(&item).is_some_and(|count| self.is_common(count))
    }

    /// The tokens that are ignored within pieces as common.
    pub fn tokens(&self) -> impl Iterator<Item = GramPlace> {
        let common = self.tokens.iter().filter(|(_, count)| self.is_common(count));
        common.map(|(place, _)| *place)
    }

    fn is_common(&self, count: &Count) -> bool {
        count.documents >= self.documents && count.sources.len() >= self.sources
    }
}
