//! Items to what is searched for: their n-grams, numbered in the order of the items, and short questions.

use super::{PIECE, SEED, SHORT, SHORTEST};
use crate::dedup::TokenHashes;
use crate::model::{GramPlace, ShortItem, SuiteGram, SuiteItem, SuitePart};
use std::collections::BTreeMap;

/// What a suite comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// What it has under each hash.
    pub grams: BTreeMap<u64, SuiteGram>,
    /// blake3 over its items.
    pub hash: [u8; 32],
    /// Distinct n-grams.
    pub seeds: u32,
    /// Items without an answer.
    pub weak: u32,
    /// Items without any part long enough to search for.
    pub unsearchable: u32,
}

/// What is searched for of `items`.
pub fn build(items: &[SuiteItem]) -> Built {
    let mut built = Built::default();
    let mut hasher = blake3::Hasher::new();
    let mut craft = TokenHashes::new();
    let mut hashes = Vec::new();
    for (number, item) in (0_u32..).zip(items) {
        for text in std::iter::once(&item.id).chain(&item.parts) {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        built.weak += u32::from(item.is_weak());
        let mut is_searchable = false;
        for part in SuitePart::ALL {
            let tokens = craft.of(item.part(part));
            TokenHashes::runs(tokens, SEED, &mut hashes);
            is_searchable |= !hashes.is_empty();
            let place = |position: u32| GramPlace { item: number, part, position };
            for (position, hash) in (0..).zip(&hashes) {
                built.stands(*hash, place(position));
            }
            // Of others no n-gram counts either.
            if part != SuitePart::Passage && tokens.len() >= SHORT {
                TokenHashes::runs(tokens, PIECE, &mut hashes);
                for (position, hash) in (0..).zip(&hashes) {
                    built.is_piece(*hash, place(position));
                }
            }
        }
        if let Some(short) = short(number, item, &mut craft) {
            is_searchable = true;
            built.is_short(short);
        }
        built.unsearchable += u32::from(!is_searchable);
    }
    built.hash = *hasher.finalize().as_bytes();
    built
}

impl Built {
    fn stands(&mut self, hash: u64, place: GramPlace) {
        let next = self.seeds;
        let mut is_new = false;
        let found = self.grams.entry(hash).or_insert_with(|| {
            is_new = true;
            SuiteGram::Seed(next, Vec::new())
        });
        self.seeds += u32::from(is_new);
        // Two kinds under one hash would be a collision of hashes: one of them is not found.
        if let SuiteGram::Seed(_, places) = found {
            places.push(place);
        }
    }

    fn is_piece(&mut self, hash: u64, place: GramPlace) {
        let key = piece_key(hash);
        let found = self.grams.entry(key).or_insert_with(|| SuiteGram::Piece(Vec::new()));
        if let SuiteGram::Piece(places) = found {
            places.push(place);
        }
    }

    fn is_short(&mut self, item: ShortItem) {
        let mut first = Vec::new();
        TokenHashes::runs(item.question.get(..SHORTEST).unwrap_or_default(), SHORTEST, &mut first);
        for hash in first {
            let found = self.grams.entry(hash).or_insert_with(|| SuiteGram::Short(Vec::new()));
            if let SuiteGram::Short(items) = found {
                items.push(item.clone());
            }
        }
    }
}

/// What the hash of a piece is stored as, and the hash of what is stored: short questions may begin with the same
/// tokens.
pub(super) const fn piece_key(hash: u64) -> u64 {
    !hash
}

/// A question of few tokens, with the first tokens of its answer: of what is behind the last `####`, where there is
/// that.
fn short(number: u32, item: &SuiteItem, craft: &mut TokenHashes) -> Option<ShortItem> {
    let question = craft.of(item.part(SuitePart::Question)).to_vec();
    if !(SHORTEST..SHORT).contains(&question.len()) {
        return None;
    }
    let answer = item.part(SuitePart::Answer);
    let answer = answer.rsplit_once("####").map_or(answer, |(_, last)| last);
    let answer: Vec<u64> = craft.of(answer).iter().take(SEED).copied().collect();
    (!answer.is_empty()).then_some(ShortItem { item: number, question, answer })
}
