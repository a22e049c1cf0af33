//! An in-memory index of one suite, from which evidence is computed, and the counts that find its common n-grams.
//!
//! An n-gram is common where many texts of several sources have it: it is no evidence, and is ignored.

use super::{MOST_ITEMS, PIECE, SEED};
use model::invariant::{at, run};
use model::{GramPlace, ItemText, ShortItem, Sightings, SourceId, SuiteGram, SuitePiece};
use std::collections::{BTreeMap, BTreeSet};

/// A suite, with the weights of its tokens.
#[derive(Debug, Default)]
pub struct SuiteIndex {
    /// Where each n-gram stands, behind that of the one before.
    places: Vec<GramPlace>,
    ends: Vec<usize>,
    /// By n-gram: how much it says; nothing where very many items or documents have it.
    weights: Vec<f64>,
    parts: BTreeMap<(u32, ItemText), PartWeights>,
    /// Tokens of short questions, by item and turn.
    pub(super) short: BTreeMap<(u32, u32), u32>,
    /// Short questions that are ignored as common.
    pub(super) common: BTreeSet<(u32, u32)>,
    /// Tokens that are ignored within pieces as common.
    common_tokens: BTreeSet<GramPlace>,
}

/// A text of an item.
#[derive(Debug, Default)]
pub(super) struct PartWeights {
    /// By position.
    pub(super) grams: Vec<u32>,
    /// How much each token says: as much as the n-gram that says most of those that have it.
    pub(super) tokens: Vec<f64>,
    /// All tokens together.
    pub(super) whole: f64,
}

impl SuiteIndex {
    /// Builds the index from the rows of a suite of so many items and n-grams. `corrupt` makes the error of a row, by
    /// its hash.
    ///
    /// # Errors
    /// The first error among the rows, and one that contradicts the others: its number is not below that of the
    /// n-grams, or it stands behind the end of a part, whose n-grams stand at every place up to the last.
    pub fn of<E>(
        rows: impl Iterator<Item = Result<(u64, SuiteGram), E>>,
        (items, grams): (u32, u32),
        corrupt: impl Fn(u64, String) -> E,
    ) -> Result<Self, E> {
        let (mut placed, mut short) = (Vec::new(), BTreeMap::new());
        let mut extents: BTreeMap<(u32, ItemText), PartExtent> = BTreeMap::new();
        for row in rows {
            match row? {
                (hash, SuiteGram::Seed(number, _)) if number >= grams => {
                    return Err(corrupt(hash, format!("number {number} of {grams} n-grams")));
                }
                (hash, SuiteGram::Seed(number, places)) => {
                    for place in &places {
                        extents.entry((place.item, place.text)).or_default().add(place, hash);
                    }
                    placed.extend(places.into_iter().map(|place| (number, place)));
                }
                (_, SuiteGram::Short(items)) => {
                    let tokens = |question: &[u64]| question.len() as u32;
                    let of = |item: &ShortItem| ((item.item, item.turn), tokens(&item.question));
                    short.extend(items.iter().map(of));
                }
                (hash, SuiteGram::Piece(places)) => {
                    for place in &places {
                        let extent = extents.entry((place.item, place.text)).or_default();
                        extent.piece = extent.piece.max((place.position, hash));
                    }
                }
            }
        }
        if let Some((why, row)) = extents.values().find_map(PartExtent::damage) {
            return Err(corrupt(row, why));
        }
        placed.sort_unstable();
        let mut index = Self { short, ..Self::default() };
        for of_gram in placed.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((number, _)) = of_gram.first() else { continue };
            // Numbers without a place there are none of; a row that is lost leaves its number empty.
            index.ends.resize(*number as usize, index.places.len());
            index.weights.resize(*number as usize, 0.0);
            index.places.extend(of_gram.iter().map(|(_, place)| *place));
            index.ends.push(index.places.len());
            let mut having: Vec<u32> = of_gram.iter().map(|(_, place)| place.item).collect();
            having.dedup();
            index.weights.push(weight(items, having.len()));
            for (_, place) in of_gram {
                index.parts.entry((place.item, place.text)).or_default().put(place, *number);
            }
        }
        index.weigh();
        Ok(index)
    }

    /// How many n-grams there are.
    pub fn grams(&self) -> u32 {
        u32::try_from(self.weights.len()).unwrap_or(u32::MAX)
    }

    /// From now on what is common counts for nothing.
    pub fn ignore_common(&mut self, common: &CommonGrams) {
        for (gram, weight) in (0..).zip(&mut self.weights) {
            if common.has_gram(gram) {
                *weight = 0.0;
            }
        }
        self.common = self.short.keys().copied().filter(|short| common.has_whole(*short)).collect();
        self.common_tokens = common.tokens().collect();
        self.weigh();
    }

    fn weigh(&mut self) {
        let weights = &self.weights;
        for part in self.parts.values_mut() {
            part.tokens = vec![0.0; part.grams.len() + SEED - 1];
            for (position, gram) in part.grams.iter().enumerate() {
                let weight = *at(weights, *gram as usize);
                for token in part.tokens.iter_mut().skip(position).take(SEED) {
                    *token = token.max(weight);
                }
            }
            part.whole = part.tokens.iter().sum();
        }
    }

    /// Where an n-gram stands; nowhere where it says nothing.
    pub(super) fn places(&self, gram: u32) -> &[GramPlace] {
        let gram = gram as usize;
        if self.weights.get(gram).is_none_or(|weight| *weight <= 0.0) {
            return &[];
        }
        run(&self.places, &self.ends, gram)
    }

    /// Whether a piece says anything: no token of it is common, by itself or with the n-grams that have it.
    pub(super) fn counts(&self, piece: &SuitePiece) -> bool {
        let from = piece.place.position as usize;
        let weights = self
            .part(piece.place.item, piece.place.text)
            .and_then(|part| part.tokens.get(from..from + piece.tokens as usize));
        weights.is_some_and(|weights| weights.iter().all(|weight| *weight > 0.0))
            && !piece.places().any(|place| self.common_tokens.contains(&place))
    }

    pub(super) fn part(&self, item: u32, text: ItemText) -> Option<&PartWeights> {
        self.parts.get(&(item, text))
    }
}

/// How far the n-grams of a part reach.
#[derive(Default)]
struct PartExtent {
    places: u32,
    /// The furthest position, and the hash of the n-gram that stands there.
    last: u32,
    row: u64,
    /// The furthest position of a piece, and its hash.
    piece: (u32, u64),
}

impl PartExtent {
    fn add(&mut self, place: &GramPlace, row: u64) {
        self.places = self.places.saturating_add(1);
        if place.position >= self.last {
            (self.last, self.row) = (place.position, row);
        }
    }

    /// What is wrong, and the hash of the row that shows it: an n-gram stands at every position up to the last, and the
    /// pieces end where the last n-gram does.
    fn damage(&self) -> Option<(String, u64)> {
        let Self { places, last, row, piece } = *self;
        let tokens = places as usize + SEED - 1;
        let (position, row) = if places > 0 && last >= places {
            (last, row)
        } else if places == 0 || piece.0 as usize + PIECE > tokens {
            piece
        } else {
            return None;
        };
        Some((format!("position {position} in a part that has {places} n-grams"), row))
    }
}

impl PartWeights {
    fn put(&mut self, place: &GramPlace, gram: u32) {
        let position = place.position as usize;
        if self.grams.len() <= position {
            self.grams.resize(position + 1, gram);
        }
        if let Some(known) = self.grams.get_mut(position) {
            *known = gram;
        }
    }
}

/// The weight of an n-gram that `having` of the items have.
fn weight(items: u32, having: usize) -> f64 {
    match u32::try_from(having) {
        Ok(having) if (1..=MOST_ITEMS).contains(&having) => {
            (1.0 + f64::from(items) / f64::from(having)).ln()
        }
        _ => 0.0,
    }
}

/// Counts, of one suite, the texts and sources that have each n-gram, each token within a piece and each short
/// question.
#[derive(Clone, Debug)]
pub struct CommonGrams {
    documents: u32,
    sources: usize,
    grams: Vec<GramCount>,
    whole: BTreeMap<(u32, u32), GramCount>,
    tokens: BTreeMap<GramPlace, GramCount>,
}

/// Sources that are distinguished.
const TOLD: usize = 8;

#[derive(Clone, Debug, Default)]
struct GramCount {
    documents: u32,
    /// The first few.
    sources: Vec<SourceId>,
}

impl GramCount {
    fn of(&mut self, source: SourceId, is_copy: bool) {
        self.documents = self.documents.saturating_add(u32::from(!is_copy));
        if self.sources.len() < TOLD && !self.sources.contains(&source) {
            self.sources.push(source);
        }
    }
}

impl CommonGrams {
    /// The counts for a suite of `grams` n-grams; an n-gram is common if `documents` documents of `sources` sources
    /// have it.
    pub fn new(documents: u32, sources: u32, grams: u32) -> Self {
        Self {
            documents,
            sources: (sources as usize).clamp(1, TOLD),
            grams: vec![GramCount::default(); grams as usize],
            whole: BTreeMap::new(),
            tokens: BTreeMap::new(),
        }
    }

    /// Counts a document of a source, once for each n-gram, token and question. A copy has the text of one that was
    /// counted: its source counts, and it does not, so that no order of documents has a say, and no number of copies
    /// makes an item common.
    pub fn count(&mut self, source: SourceId, found: &Sightings, is_copy: bool) {
        let runs = found.runs.iter();
        let mut grams: Vec<u32> = runs.flat_map(|run| run.grams(self.grams.len())).collect();
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
            self.whole.entry((whole.item, whole.turn)).or_default().of(source, is_copy);
        }
    }

    /// Whether an n-gram counts for nothing.
    pub fn has_gram(&self, gram: u32) -> bool {
        self.grams.get(gram as usize).is_some_and(|count| self.is_common(count))
    }

    /// Whether a short question, by its item and turn, counts for nothing.
    pub(crate) fn has_whole(&self, short: (u32, u32)) -> bool {
        self.whole.get(&short).is_some_and(|count| self.is_common(count))
    }

    /// How many short questions count for nothing.
    pub fn whole(&self) -> usize {
        self.whole.values().filter(|count| self.is_common(count)).count()
    }

    /// The tokens that are ignored within pieces as common.
    pub fn tokens(&self) -> impl Iterator<Item = GramPlace> {
        let common = self.tokens.iter().filter(|(_, count)| self.is_common(count));
        common.map(|(place, _)| *place)
    }

    fn is_common(&self, count: &GramCount) -> bool {
        count.documents >= self.documents && count.sources.len() >= self.sources
    }
}
