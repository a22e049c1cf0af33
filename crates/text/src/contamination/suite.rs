//! Builds the rows of a suite that texts are searched for (n-grams, pieces, short questions), and hashes its items.
//!
//! N-grams are numbered in the order of the items.

use super::{PIECE, SEED, SHORT, SHORTEST};
use crate::dedup::TokenHashes;
use model::{GramPlace, Normaliser, ShortItem, SuiteGram, SuiteItem, SuitePart};
use std::collections::{BTreeMap, BTreeSet};

/// What a suite comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteNgrams {
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
    /// Items of which something is searched for that never counts by itself: a passage, or a text of too few tokens.
    pub uncounted: u32,
}

/// What is searched for of `items`, by the tokens of a normaliser.
pub fn suite_ngrams(items: &[SuiteItem], normaliser: Normaliser) -> SuiteNgrams {
    let mut built = SuiteNgrams::default();
    let mut hasher = blake3::Hasher::new();
    let mut craft = TokenHashes::new(normaliser);
    let mut hashes = Vec::new();
    for (number, item) in (0_u32..).zip(items) {
        hash_item(&mut hasher, item);
        built.weak += u32::from(item.is_weak());
        let (mut is_searchable, mut counts) = (false, false);
        for (of, text) in item.all() {
            let tokens = craft.of(text);
            TokenHashes::runs(tokens, SEED, &mut hashes);
            is_searchable |= !hashes.is_empty();
            let place = |position: u32| GramPlace { item: number, text: of, position };
            for (position, hash) in (0..).zip(&hashes) {
                built.stands(*hash, place(position));
            }
            // N-grams of other parts do not count either.
            if of.part != SuitePart::Passage && tokens.len() >= SHORT {
                counts = true;
                TokenHashes::runs(tokens, PIECE, &mut hashes);
                for (position, hash) in (0..).zip(&hashes) {
                    built.is_piece(*hash, place(position));
                }
            }
        }
        for short in short_items(number, item, &mut craft) {
            (is_searchable, counts) = (true, true);
            built.is_short(&short);
        }
        built.unsearchable += u32::from(!is_searchable);
        built.uncounted += u32::from(is_searchable && !counts);
    }
    built.hash = *hasher.finalize().as_bytes();
    built
}

/// Takes id, question, answer and passage, each with its length before it; of a part with several texts all ones and
/// their number before them.
fn hash_item(hasher: &mut blake3::Hasher, item: &SuiteItem) {
    hash_text(hasher, &item.id);
    for texts in &item.parts {
        match texts.as_slice() {
            [] => hash_text(hasher, ""),
            [only] => hash_text(hasher, only),
            texts => {
                hasher.update(&u64::MAX.to_le_bytes());
                hasher.update(&(texts.len() as u64).to_le_bytes());
                texts.iter().for_each(|text| hash_text(hasher, text));
            }
        }
    }
}

fn hash_text(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

impl SuiteNgrams {
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

    fn is_short(&mut self, item: &ShortItem) {
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

/// The questions of few tokens, each with the first tokens of every answer: of what is behind the last `####`, where
/// there is that. Answers of the same tokens are one.
fn short_items(number: u32, item: &SuiteItem, craft: &mut TokenHashes) -> Vec<ShortItem> {
    let (mut answers, mut seen) = (Vec::new(), BTreeSet::new());
    for answer in item.texts(SuitePart::Answer) {
        let answer = answer.rsplit_once("####").map_or(answer.as_str(), |(_, last)| last);
        let answer: Vec<u64> = craft.of(answer).iter().take(SEED).copied().collect();
        if !answer.is_empty() && seen.insert(answer.clone()) {
            answers.push(answer);
        }
    }
    let mut found = Vec::new();
    for (turn, question) in (0..).zip(item.texts(SuitePart::Question)) {
        let question = craft.of(question);
        if (SHORTEST..SHORT).contains(&question.len()) {
            let question = question.to_vec();
            let with = |answer: &Vec<u64>| ShortItem {
                item: number,
                turn,
                question: question.clone(),
                answer: answer.clone(),
            };
            found.extend(answers.iter().map(with));
        }
    }
    found
}
