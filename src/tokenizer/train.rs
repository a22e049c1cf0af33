//! Byte-level BPE training from counts of pre-tokens, bounded in memory, in any order of texts.

use super::error::TokenizerError;
use super::file;
use super::oracle::guard;
use super::pretokens::{Splitter, byte_characters};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap, HashSet};
use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, BpeTrainer};

/// Longer pre-tokens are not counted: one megabyte of a single letter would else be a "word" that
/// outweighs the language.
const MAX_PRETOKEN_BYTES: usize = 256;
/// A pair seen once is an accident, not a token.
const MIN_FREQUENCY: u64 = 2;
/// The trainer counts pairs in `i32`; beyond it counts wrap and the commonest pairs are lost.
const MAX_PAIR_COUNT: u64 = i32::MAX as u64;
/// Levels of sampling, from every text to one in 2^63.
const LEVELS: usize = 64;

/// What is asked of a training.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainOptions {
    /// Tokens to end with, special ones and the 256 bytes included. A small corpus may give fewer.
    pub vocab_size: u32,
    /// Special tokens, given the first ids in this order.
    pub specials: Vec<String>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self { vocab_size: 32_768, specials: vec!["<|endoftext|>".to_owned()] }
    }
}

/// Counts pre-tokens (GPT-2's split) and trains on the counts.
///
/// Memory is bounded by sampling whole texts: each has a level drawn from a hash of its content
/// (half the texts 0, a quarter 1, ...), every level has its own table, and when the tables
/// together pass the limit the lowest is dropped. Which levels remain depends on the texts alone,
/// not on their order nor on how they were spread over threads.
pub struct BpeTraining {
    splitter: Splitter,
    limit: usize,
    lowest: usize,
    tables: Vec<HashMap<Box<str>, u64>>,
    entries: usize,
    skipped: u64,
}

impl BpeTraining {
    /// Entries of the default limit: some 200 MB.
    pub const DEFAULT_LIMIT: usize = 2 << 20;

    /// A training that holds at most `limit` table entries (about 100 bytes each) while it counts.
    ///
    /// # Errors
    /// [`TokenizerError::Train`] if the pre-tokenizer cannot be built.
    pub fn new(limit: usize) -> Result<Self, TokenizerError> {
        Ok(Self {
            splitter: Splitter::new()?,
            limit,
            lowest: 0,
            tables: (0..LEVELS).map(|_| HashMap::new()).collect(),
            entries: 0,
            skipped: 0,
        })
    }

    /// Counts the pre-tokens of one text. Equal texts count each time.
    ///
    /// # Errors
    /// [`TokenizerError::Train`] or [`TokenizerError::Panicked`] when the pre-tokenizer fails.
    pub fn feed(&mut self, text: &str) -> Result<(), TokenizerError> {
        let level = level(text);
        if level < self.lowest {
            return Ok(());
        }
        let Some(table) = self.tables.get_mut(level) else { return Ok(()) };
        let before = table.len();
        let skipped = &mut self.skipped;
        let counted = self.splitter.split(text, |pretoken| {
            if pretoken.len() > MAX_PRETOKEN_BYTES {
                *skipped += 1;
            } else if let Some(count) = table.get_mut(pretoken) {
                *count += 1;
            } else {
                table.insert(pretoken.into(), 1);
            }
        });
        self.entries += table.len() - before;
        self.shrink();
        counted
    }

    /// Adds what another training counted; both had the same limit.
    #[must_use]
    pub fn merge(mut self, other: Self) -> Self {
        self.lowest = self.lowest.max(other.lowest);
        self.skipped += other.skipped;
        for (level, (ours, theirs)) in self.tables.iter_mut().zip(other.tables).enumerate() {
            if level < self.lowest {
                ours.clear();
            } else if ours.is_empty() {
                *ours = theirs;
            } else {
                for (pretoken, count) in theirs {
                    *ours.entry(pretoken).or_default() += count;
                }
            }
        }
        self.entries = self.tables.iter().map(HashMap::len).sum();
        self.shrink();
        self
    }

    /// One in how many texts the counts are of: 1 while memory sufficed, then powers of two.
    #[must_use]
    pub fn sampled_one_in(&self) -> u64 {
        1u64.checked_shl(u32::try_from(self.lowest).unwrap_or(u32::MAX)).unwrap_or(u64::MAX)
    }

    /// Pre-tokens left out because they are longer than 256 bytes, those of texts later dropped
    /// from the sample included.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Trains and gives the bytes of a `tokenizer.json`. The same texts give the same bytes.
    ///
    /// # Errors
    /// [`TokenizerError::NoText`], [`TokenizerError::VocabularyTooSmall`],
    /// [`TokenizerError::Special`], or [`TokenizerError::Train`] when the trainer fails.
    pub fn finish(mut self, options: &TrainOptions) -> Result<Vec<u8>, TokenizerError> {
        check_specials(&mut self.splitter, options)?;
        let counts = scaled(self.total(), MAX_PAIR_COUNT);
        if counts.is_empty() {
            return Err(TokenizerError::NoText);
        }
        let alphabet = byte_characters();
        let added = |token: &String| AddedToken::from(token.as_str(), true);
        let trainer = BpeTrainer::builder()
            .show_progress(false)
            .vocab_size(usize::try_from(options.vocab_size).unwrap_or(usize::MAX))
            .min_frequency(MIN_FREQUENCY)
            .special_tokens(options.specials.iter().map(added).collect())
            .initial_alphabet(HashSet::from(alphabet))
            .build();
        let words = counts
            .iter()
            .map(|(pretoken, count)| (spell(pretoken, &alphabet).as_str().into(), *count))
            .collect();
        let mut model = BPE::default();
        guard("training", || trainer.do_train(&words, &mut model))?
            .map_err(TokenizerError::Train)?;
        write(&model, &options.specials)
    }

    fn shrink(&mut self) {
        while self.entries > self.limit && self.lowest + 1 < LEVELS {
            if let Some(table) = self.tables.get_mut(self.lowest) {
                self.entries -= table.len();
                *table = HashMap::new();
            }
            self.lowest += 1;
        }
    }

    fn total(&mut self) -> BTreeMap<Box<str>, u64> {
        let mut total = BTreeMap::new();
        for table in &mut self.tables {
            for (pretoken, count) in table.drain() {
                *total.entry(pretoken).or_default() += count;
            }
        }
        total
    }
}

fn level(text: &str) -> usize {
    let hash = blake3::hash(text.as_bytes());
    let head = hash.as_bytes().first_chunk().map_or(0, |head| u64::from_le_bytes(*head));
    // 64 trailing zeros share the last level.
    usize::try_from(head.trailing_zeros()).unwrap_or(0).min(LEVELS - 1)
}

/// Scales all counts down by one factor when the commonest pair of bytes passes `limit`. No later
/// pair can pass it: each stands on one pair of adjacent bytes. Nothing falls below 1.
fn scaled(mut counts: BTreeMap<Box<str>, u64>, limit: u64) -> BTreeMap<Box<str>, u64> {
    let mut pairs: BTreeMap<[u8; 2], u64> = BTreeMap::new();
    let mut rows: BTreeMap<[u8; 2], u64> = BTreeMap::new();
    for (pretoken, count) in &counts {
        for pair in pretoken.as_bytes().array_windows() {
            *pairs.entry(*pair).or_default() += count;
            *rows.entry(*pair).or_default() += 1;
        }
    }
    let largest = pairs.values().copied().max().unwrap_or(0);
    if largest > limit {
        // Room for the rows that the floor of 1 lifts.
        let lifted = rows.values().copied().max().unwrap_or(0);
        let target = limit.saturating_sub(lifted).max(1);
        for count in counts.values_mut() {
            let share = u128::from(*count) * u128::from(target) / u128::from(largest);
            *count = u64::try_from(share).unwrap_or(u64::MAX).max(1);
        }
    }
    counts
}

fn spell(pretoken: &str, alphabet: &[char; 256]) -> String {
    pretoken.bytes().filter_map(|byte| alphabet.get(usize::from(byte))).collect()
}

/// A special token must not be something the text itself can be encoded to: it has to fall into
/// several pre-tokens, since no learned token reaches over one.
fn check_specials(splitter: &mut Splitter, options: &TrainOptions) -> Result<(), TokenizerError> {
    let mut seen = HashSet::new();
    for token in &options.specials {
        let fail = |what| TokenizerError::Special { token: token.clone(), what };
        let mut pieces = 0;
        splitter.split(token, |_| pieces += 1)?;
        if token.is_empty() {
            return Err(fail("is empty"));
        }
        if pieces < 2 {
            return Err(fail("is a word that text can contain as one token"));
        }
        if !seen.insert(token) {
            return Err(fail("is given twice"));
        }
    }
    let least = 256 + options.specials.len();
    if usize::try_from(options.vocab_size).unwrap_or(usize::MAX) < least {
        return Err(TokenizerError::VocabularyTooSmall { asked: options.vocab_size, least });
    }
    Ok(())
}

fn write(model: &BPE, specials: &[String]) -> Result<Vec<u8>, TokenizerError> {
    // The model's own serialisation is the one way to its merges; it writes the vocabulary by id.
    let mut value = serde_json::to_value(model).map_err(TokenizerError::Write)?;
    let merges = value.get_mut("merges").map(Value::take).unwrap_or_default();
    let vocab: Map<String, Value> = match value.get_mut("vocab").map(Value::take) {
        Some(Value::Object(vocab)) => vocab,
        _ => Map::new(),
    };
    let specials: Vec<(String, u32)> =
        (0u32..).zip(specials).map(|(id, token)| (token.clone(), id)).collect();
    file::byte_level_bpe(vocab, merges, &specials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_scaled_under_the_limit_and_keep_their_order() {
        let counts: BTreeMap<Box<str>, u64> =
            [("aa", 9_000_000_000), ("aab", 3_000_000_000), ("ab", 5), ("b", 1 << 60)]
                .map(|(word, count)| (word.into(), count))
                .into();
        let scaled = scaled(counts.clone(), MAX_PAIR_COUNT);
        let pair_count = |pair: &str| -> u64 {
            let windows = |word: &str| {
                word.as_bytes().windows(2).filter(|w| *w == pair.as_bytes()).count() as u64
            };
            scaled.iter().map(|(word, count)| windows(word) * count).sum()
        };
        assert!(pair_count("aa") <= MAX_PAIR_COUNT && pair_count("aa") > MAX_PAIR_COUNT / 2);
        assert_eq!(scaled["ab"], 1);
        assert_eq!(scaled["aa"] / scaled["aab"], 3);
        let small: BTreeMap<Box<str>, u64> = [("aa".into(), 7)].into();
        assert_eq!(super::scaled(small.clone(), MAX_PAIR_COUNT), small);
    }

    #[test]
    fn huge_counts_still_learn_the_commonest_pair() {
        let mut training = BpeTraining::new(1000).expect("new");
        training.feed("hello world").expect("feed");
        for table in &mut training.tables {
            for count in table.values_mut() {
                *count = 10_000_000_000;
            }
        }
        let json = training
            .finish(&TrainOptions { vocab_size: 270, ..TrainOptions::default() })
            .expect("trains");
        let file: Value = serde_json::from_slice(&json).expect("parses");
        assert!(file["model"]["vocab"].get("hello").is_some());
    }
}
