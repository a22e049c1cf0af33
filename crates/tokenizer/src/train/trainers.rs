//! Runs the stock trainers so that the same words give the same model, in every process and on any number of threads.
//!
//! * BPE: a pair is chosen by count, then by ids, and ids are those of the sorted alphabet: no order of
//!   hashing reaches the result. It runs on all threads.
//! * BPE with marked ends of words, WordPiece: the trainer numbers `a</w>` and `##a`, `##b`, .. as it meets
//!   them in a hash map, so they are given beforehand, sorted.
//! * WordPiece by likelihood: the stock trainer counts frequencies alone, so this one is ours, on one thread.
//! * Unigram: sums of floating point depend on how rayon cuts the words, so it runs on one thread;
//!   characters that fell out of the model come back with scores in the order of a hash set, so those
//!   scores are dealt out again by character.

use super::layout::END;
use super::options::TrainOptions;
use crate::error::{TokenizerError, guard};
use crate::models::lattice::ScoredPiece;
use crate::models::viterbi::UNKNOWN_PENALTY;
use crate::models::{CountedWords, GrowthOptions, PairOutcome, merge_by_likelihood};
use model::invariant::at;
use model::{Context, Error};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};

/// What continues a word.
pub(super) const PREFIX: &str = "##";
/// The step between the scores that the Unigram trainer gives to characters it took back.
const SCORE_STEP: f64 = 0.0001;
const UNIGRAM_PIECE: usize = 16;

type TrainingWords = BTreeMap<String, u64>;

/// Vocabulary by id, and merges in order.
pub(super) struct BpeVocabulary {
    pub(super) vocab: Map<String, Value>,
    pub(super) merges: Value,
}

/// A BPE whose first ids are `first`, then the characters of the words and of `alphabet`, sorted.
pub(super) fn bpe(
    words: &TrainingWords,
    first: &[String],
    alphabet: &[char],
    min_frequency: u64,
    options: &TrainOptions,
) -> Result<BpeVocabulary, TokenizerError> {
    let trainer = BpeTrainer::builder().initial_alphabet(alphabet.iter().copied().collect());
    train_bpe(trainer.build(), words, first.to_vec(), min_frequency, options)
}

/// A BPE whose last symbol of a word has a mark: `first`, characters, characters that end words, then merges. The
/// trainer would number the ends as it meets them in a hash map.
pub(super) fn word_ends(
    words: &TrainingWords,
    first: &[String],
    min_frequency: u64,
    options: &TrainOptions,
) -> Result<BpeVocabulary, TokenizerError> {
    let mut first = first.to_vec();
    let (characters, ends) = word_ends_alphabet(words);
    first.extend(characters.iter().map(char::to_string));
    first.extend(ends.iter().map(|character| format!("{character}{END}")));
    let trainer = BpeTrainer::builder().end_of_word_suffix(END.to_owned());
    train_bpe(trainer.build(), words, first, min_frequency, options)
}

/// All characters, and those that end words.
pub(super) fn word_ends_alphabet(words: &TrainingWords) -> (BTreeSet<char>, BTreeSet<char>) {
    let characters = words.keys().flat_map(|word| word.chars()).collect();
    let ends = words.keys().filter_map(|word| word.chars().next_back()).collect();
    (characters, ends)
}

/// The vocabulary of a WordPiece: `first`, characters, continuing characters, longer pieces.
pub(super) fn wordpiece(
    words: &TrainingWords,
    first: &[String],
    min_frequency: u64,
    options: &TrainOptions,
) -> Result<Map<String, Value>, TokenizerError> {
    let mut first = first.to_vec();
    let (characters, continuing) = wordpiece_alphabet(words);
    first.extend(characters.iter().map(char::to_string));
    first.extend(continuing.iter().map(|character| format!("{PREFIX}{character}")));
    let trainer = BpeTrainer::builder().continuing_subword_prefix(PREFIX.to_owned());
    Ok(train_bpe(trainer.build(), words, first, min_frequency, options)?.vocab)
}

/// The vocabulary of a WordPiece, in the same order, whose longer pieces are chosen by likelihood.
pub(super) fn wordpiece_by_likelihood(
    words: &TrainingWords,
    first: &[String],
    min_frequency: u64,
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<Map<String, Value>, TokenizerError> {
    let (characters, continuing) = wordpiece_alphabet(words);
    let mut pieces = LearnedPieces::default();
    first.iter().for_each(|token| pieces.push(token.clone(), 0));
    characters.iter().for_each(|character| pieces.push(character.to_string(), 1));
    continuing.iter().for_each(|character| pieces.push(format!("{PREFIX}{character}"), 1));
    let (mut counted, mut symbols, mut spelled) = (CountedWords::new(1), Vec::new(), String::new());
    for (word, count) in words {
        symbols.clear();
        for (place, character) in word.chars().enumerate() {
            spelled.clear();
            spelled.push_str(if place == 0 { "" } else { PREFIX });
            spelled.push(character);
            symbols.extend(pieces.ids.get(spelled.as_str()));
        }
        counted.push(&symbols, &[*count]);
    }
    let next_id = pieces.next_id();
    let max_token_length = options.max_token_length.map(whole);
    let new_tokens = options.vocab_size.saturating_sub(next_id);
    let growth = GrowthOptions { new_tokens, min_frequency, max_token_length };
    let join = |left, right| pieces.join(left, right, max_token_length);
    merge_by_likelihood(&counted, next_id, growth, context, join).map_err(Error::from)?;
    Ok(pieces.spelled.into_iter().zip((0_u32..).map(Value::from)).collect())
}

/// The pieces of a WordPiece that is trained.
#[derive(Default)]
struct LearnedPieces {
    /// By id.
    spelled: Vec<String>,
    /// In characters, by id.
    lengths: Vec<usize>,
    ids: HashMap<String, u32>,
}

impl LearnedPieces {
    fn next_id(&self) -> u32 {
        u32::try_from(self.spelled.len()).unwrap_or(u32::MAX)
    }

    fn push(&mut self, piece: String, length: usize) {
        self.ids.insert(piece.clone(), self.next_id());
        self.spelled.push(piece);
        self.lengths.push(length);
    }

    /// The piece of two others. Only one of two characters may be as long as `most` or longer, as of the stock trainer.
    fn join(&mut self, left: u32, right: u32, most: Option<usize>) -> PairOutcome {
        let [left, right] = [left, right].map(|id| id as usize);
        let length = at(&self.lengths, left) + at(&self.lengths, right);
        if length > 2 && most.is_some_and(|most| length >= most) {
            return PairOutcome::Never;
        }
        let right = at(&self.spelled, right);
        let piece =
            format!("{}{}", at(&self.spelled, left), right.strip_prefix(PREFIX).unwrap_or(right));
        if let Some(id) = self.ids.get(&piece) {
            return PairOutcome::Existing(*id);
        }
        self.push(piece, length);
        PairOutcome::New
    }
}

/// All characters, and those that stand inside words.
pub(super) fn wordpiece_alphabet(words: &TrainingWords) -> (BTreeSet<char>, BTreeSet<char>) {
    let characters = words.keys().flat_map(|word| word.chars()).collect();
    let continuing = words.keys().flat_map(|word| word.chars().skip(1)).collect();
    (characters, continuing)
}

fn train_bpe(
    trainer: BpeTrainer,
    words: &TrainingWords,
    first: Vec<String>,
    min_frequency: u64,
    options: &TrainOptions,
) -> Result<BpeVocabulary, TokenizerError> {
    let added = |token: String| AddedToken::from(token, true);
    let mut trainer = trainer;
    trainer.show_progress = false;
    trainer.vocab_size = whole(options.vocab_size);
    trainer.min_frequency = min_frequency;
    trainer.max_token_length = options.max_token_length.map(whole);
    trainer.special_tokens = first.into_iter().map(added).collect();
    let words = words.iter().map(|(word, count)| (word.as_str().into(), *count)).collect();
    let mut model = BPE::default();
    guard("training", || trainer.do_train(&words, &mut model))?.map_err(TokenizerError::Train)?;
    // The model's own serialisation is the one way to its merges; it writes the vocabulary by id.
    let mut value = serde_json::to_value(&model).map_err(TokenizerError::Write)?;
    let merges = value.get_mut("merges").map(Value::take).unwrap_or_default();
    let vocab = match value.get_mut("vocab").map(Value::take) {
        Some(Value::Object(vocab)) => vocab,
        _ => Map::new(),
    };
    Ok(BpeVocabulary { vocab, merges })
}

/// The pieces of a Unigram with their log probabilities: `first`, which contains `unknown`, then the others by falling
/// score. The characters of `required` are pieces, whether the words have them or not.
pub(super) fn unigram(
    words: &TrainingWords,
    first: &[String],
    required: &[char],
    unknown: &str,
    options: &TrainOptions,
) -> Result<Vec<(String, f64)>, TokenizerError> {
    let mut trainer = UnigramTrainer::default();
    trainer.show_progress = false;
    trainer.vocab_size = options.vocab_size;
    trainer.special_tokens =
        first.iter().map(|token| AddedToken::from(token.as_str(), true)).collect();
    trainer.initial_alphabet = required.iter().copied().collect();
    trainer.unk_token = Some(unknown.to_owned());
    trainer.max_piece_length = longest_piece(options);
    let sentences = sentences(words);
    let one_thread = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| TokenizerError::Train(error.into()))?;
    let mut model = Unigram::default();
    guard("training", || one_thread.install(|| trainer.do_train(sentences, &mut model)))?
        .map_err(TokenizerError::Train)?;
    let learned = model.iter().skip(first.len()).cloned().collect();
    Ok(after_specials(first, learned))
}

/// What the trainer makes of the pieces at which its passes end: the characters of `required`, whether the pieces
/// have them or not, and of the others the first ones that have room; then as [`unigram`].
pub(super) fn unigram_of_passes(
    pieces: &[ScoredPiece],
    first: &[String],
    required: &BTreeSet<char>,
    vocab_size: usize,
) -> Vec<ScoredPiece> {
    let least = pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    let required: BTreeSet<String> = required.iter().map(char::to_string).collect();
    let found: HashMap<&str, f64> =
        pieces.iter().map(|(piece, score)| (piece.as_str(), *score)).collect();
    let mut penalty = 0.0;
    let mut learned: Vec<ScoredPiece> = Vec::new();
    for character in &required {
        let score = found.get(character.as_str()).copied().unwrap_or_else(|| {
            let score = least + penalty;
            penalty += SCORE_STEP;
            score
        });
        learned.push((character.clone(), score));
    }
    let room = vocab_size.saturating_sub(first.len() + learned.len());
    // The first is the unknown of the passes.
    let others = pieces.iter().skip(1).filter(|(piece, _)| !required.contains(piece));
    learned.extend(others.take(room).cloned());
    after_specials(first, learned)
}

/// The pieces learnt behind the special ones.
fn after_specials(first: &[String], learned: Vec<ScoredPiece>) -> Vec<ScoredPiece> {
    let learned = scores_by_character(learned);
    let least = learned.iter().map(|(_, score)| *score).fold(0.0, f64::min);
    // The model takes them from text like any piece: below what their characters cost, never.
    let score = |token: &String| (least - UNKNOWN_PENALTY) * count_of(token.chars().count() + 1);
    let mut pieces: Vec<ScoredPiece> =
        first.iter().map(|token| (token.clone(), score(token))).collect();
    pieces.extend(learned);
    pieces
}

/// Words as the Unigram trainer takes them.
pub(super) fn sentences(words: &TrainingWords) -> Vec<(String, u32)> {
    let count = |count: &u64| u32::try_from(*count).unwrap_or(u32::MAX);
    words.iter().map(|(word, times)| (word.clone(), count(times))).collect()
}

/// The longest piece of a Unigram, in characters.
pub(super) fn longest_piece(options: &TrainOptions) -> usize {
    options.max_token_length.map_or(UNIGRAM_PIECE, whole)
}

/// Deals out by character the scores that the trainer gave in no order, then sorts by score and text.
fn scores_by_character(mut pieces: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let least = pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min);
    // The very sums the trainer makes, as far as they are found in an unbroken row.
    let is_single = |piece: &str| piece.chars().nth(1).is_none();
    let found: HashSet<u64> = pieces
        .iter()
        .filter(|(piece, _)| is_single(piece))
        .map(|(_, score)| score.to_bits())
        .collect();
    let (mut dealt, mut penalty) = (HashSet::new(), 0.0);
    while found.contains(&(least + penalty).to_bits()) && dealt.insert((least + penalty).to_bits())
    {
        penalty += SCORE_STEP;
    }
    let is_dealt =
        |(piece, score): &(String, f64)| is_single(piece) && dealt.contains(&score.to_bits());
    let mut characters: Vec<String> =
        pieces.iter().filter(|piece| is_dealt(piece)).map(|(piece, _)| piece.clone()).collect();
    let mut scores: Vec<f64> =
        pieces.iter().filter(|piece| is_dealt(piece)).map(|(_, score)| *score).collect();
    characters.sort_unstable();
    scores.sort_unstable_by(|a, b| b.total_cmp(a));
    pieces.retain(|piece| !is_dealt(piece));
    pieces.extend(characters.into_iter().zip(scores));
    pieces.sort_unstable_by(|(a, score_a), (b, score_b)| {
        score_b.total_cmp(score_a).then_with(|| a.cmp(b))
    });
    pieces
}

fn whole(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn count_of(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_no_order_are_dealt_out_by_character() {
        let step = |times: usize| {
            let mut penalty = 0.0;
            for _ in 0..times {
                penalty += SCORE_STEP;
            }
            -9.0 + penalty
        };
        let model = |order: [usize; 3]| {
            let mut pieces = vec![("ab".to_owned(), -1.0), ("c".to_owned(), -2.0)];
            for (character, place) in ["x", "y", "z"].into_iter().zip(order) {
                pieces.push((character.to_owned(), step(place)));
            }
            pieces.push(("cd".to_owned(), step(1)));
            pieces
        };
        let settled_once = scores_by_character(model([0, 1, 2]));
        assert_eq!(settled_once, scores_by_character(model([2, 0, 1])));
        let order: Vec<&str> = settled_once.iter().map(|(piece, _)| piece.as_str()).collect();
        assert_eq!(order, ["ab", "c", "x", "cd", "y", "z"]);
        assert_eq!(settled_once[2].1, step(2));
    }
}
