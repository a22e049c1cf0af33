//! Trains a tokenizer: from a table of pre-tokens and options to a `tokenizer.json`, with room for seed tokens.

use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use crate::file::write::{BpeSettings, FileParts, added_token, bpe};
use crate::models::viterbi::best_score;
use crate::vocabulary::byte_characters;
use model::Context;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::count::PretokenTable;
use super::layout::{END, layout_parts, pretokenizer_file};
use super::options::{MergeScore, ModelLayout, TrainOptions};
use super::report::{self, RoundTrip, TrainReport};
use super::trainers;
use super::weigh::{characters, cut, prune, scale_to_64_bits, scale_to_limit, weigh};

/// Distinct words that are trained on at most: the BPE trainer needs one to two kilobytes for each.
const MAX_WORDS: usize = 1 << 20;
/// Distinct words that a Unigram is trained on at most: its trainer runs on one thread and needs half a millisecond for
/// each; and never fewer than [`WORDS_PER_TOKEN`] times the vocabulary.
const MAX_UNIGRAM_WORDS: usize = 1 << 18;
const WORDS_PER_TOKEN: usize = 8;

/// A trained tokenizer.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingOutput {
    /// The bytes of its `tokenizer.json`.
    pub json: Vec<u8>,
    /// What it is and how it came about.
    pub report: TrainReport,
}

/// Trains on a table whose pre-tokens were split by the `pipeline` of the same options. `groups` names the groups of
/// the table. The same input gives the same bytes. The phases are reported to progress: the counts are made ready, the
/// trainer runs; the stock trainers do not tell how far they are, and cannot be stopped.
///
/// # Errors
/// As [`TrainOptions::check`]; [`TokenizerError::NoText`], [`TokenizerError::VocabularyTooSmall`] when
/// the characters do not fit, [`TokenizerError::SeedToken`], [`TokenizerError::Train`] and
/// [`TokenizerError::Panicked`] when the trainer fails.
pub fn train(
    table: &PretokenTable,
    groups: &[String],
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<TrainingOutput, TokenizerError> {
    options.check()?;
    context.progress.begin("weighing pre-tokens", None);
    let form = options.layout();
    let limit = usize::try_from(options.vocab_size).unwrap_or(usize::MAX);
    let prepared = trainer_input(table, groups, options)?;
    let TrainerInput { words, reserved, characters, .. } = &prepared;
    let continuing = match form {
        ModelLayout::WordPiece => trainers::wordpiece_alphabet(words).1.len(),
        ModelLayout::WordEnds => trainers::word_ends_alphabet(words).1.len(),
        _ => 0,
    };
    let fixed = reserved.len() + characters + continuing;
    options.check_room(fixed)?;
    let learned = limit.saturating_sub(fixed) as u64;
    let total = (options.score == MergeScore::Likelihood).then_some(learned);
    context.progress.begin(&phase(form, words.len(), limit), total);
    let (model, vocab_size) = model(&prepared, fixed, options, context)?;
    let is_pending =
        matches!(form, ModelLayout::ByteLevel | ModelLayout::Characters | ModelLayout::WordEnds);
    let added_tokens = (0..)
        .zip(&options.all_specials())
        .map(|(id, special)| added_token(id, special, true))
        .collect();
    let vocab_size = u32::try_from(vocab_size).unwrap_or(u32::MAX);
    Ok(TrainingOutput {
        json: FileParts { model, added_tokens, ..layout_parts(options)? }.into_json()?,
        report: TrainReport {
            vocab_size,
            shortfall: report::shortfall(vocab_size, options),
            alphabet: u32::try_from(*characters).unwrap_or(u32::MAX),
            words: u64::try_from(words.len()).unwrap_or(u64::MAX),
            pruned_words: prepared.pruned.0,
            pruned_share: prepared.pruned.1,
            sampled_one_in: table.sampled_one_in,
            skipped: table.skipped(),
            unit: prepared.unit,
            scale: prepared.scale,
            round_trip: RoundTrip::of(options),
            groups: report::groups(table, groups, &prepared.weights, prepared.kept.as_ref()),
            pending_seed_tokens: if is_pending { options.seed_tokens.clone() } else { Vec::new() },
        },
    })
}

/// Runs the trainer: the model of the `tokenizer.json`, and how many tokens it has. `fixed` of these are not choice of
/// the trainer.
fn model(
    prepared: &TrainerInput,
    fixed: usize,
    options: &TrainOptions,
    context: &Context<'_>,
) -> Result<(Value, usize), TokenizerError> {
    let TrainerInput { words, seeds, reserved, required, .. } = prepared;
    let limit = usize::try_from(options.vocab_size).unwrap_or(usize::MAX);
    // Scaled-down counts are of so much text that a pair at the limit is no accident.
    let min_frequency = options.min_frequency.saturating_mul(prepared.unit);
    Ok(match options.layout() {
        ModelLayout::ByteLevel => {
            let model = trainers::bpe(words, reserved, &byte_characters(), min_frequency, options)?;
            let size = model.vocab.len();
            (bpe(model.vocab, model.merges, &BpeSettings::default()), size)
        }
        ModelLayout::Characters => {
            let settings = options.unknown().map(BpeSettings::falling_back).unwrap_or_default();
            let model = trainers::bpe(words, reserved, required, min_frequency, options)?;
            let size = model.vocab.len();
            (bpe(model.vocab, model.merges, &settings), size)
        }
        ModelLayout::WordEnds => {
            let unk_token = options.unknown();
            let end_of_word_suffix = Some(END);
            let settings = BpeSettings { unk_token, end_of_word_suffix, ..BpeSettings::default() };
            let model = trainers::word_ends(words, reserved, min_frequency, options)?;
            let size = model.vocab.len();
            (bpe(model.vocab, model.merges, &settings), size)
        }
        ModelLayout::WordPiece => {
            let vocab = match options.score {
                MergeScore::Frequency => {
                    trainers::wordpiece(words, reserved, min_frequency, options)?
                }
                MergeScore::Likelihood => trainers::wordpiece_by_likelihood(
                    words,
                    reserved,
                    min_frequency,
                    options,
                    context,
                )?,
            };
            let vocab = into_wordpiece(vocab, seeds, fixed, limit)?;
            let size = vocab.len();
            let model = json!({
                "type": "WordPiece",
                "unk_token": options.unknown(),
                "continuing_subword_prefix": trainers::PREFIX,
                "max_input_chars_per_word": 100,
                "vocab": vocab
            });
            (model, size)
        }
        ModelLayout::Unigram => {
            let unknown = options.unknown().unwrap_or_default();
            let pieces = trainers::unigram(words, reserved, required, unknown, options)?;
            let pieces = into_unigram(pieces, seeds, reserved.len(), limit)?;
            let unknown = pieces.iter().position(|(piece, _)| piece == unknown);
            let size = pieces.len();
            let model = json!({
                "type": "Unigram",
                "unk_id": unknown,
                "vocab": pieces,
                "byte_fallback": options.byte_fallback
            });
            (model, size)
        }
    })
}

/// What a trainer is given.
pub(super) struct TrainerInput {
    /// Words with their counts, spelled in symbols.
    pub(super) words: BTreeMap<String, u64>,
    /// The texts that are to be tokens, in symbols.
    pub(super) seeds: Vec<String>,
    /// Special tokens and those of bytes.
    pub(super) reserved: Vec<String>,
    /// Characters that are tokens whatever the corpus has.
    pub(super) required: Vec<char>,
    /// The characters of the corpus that are to be tokens; none: bytes are.
    kept: Option<BTreeSet<char>>,
    weights: Vec<f64>,
    unit: u64,
    /// Words left out as too rare, and their share.
    pruned: (u64, f64),
    scale: f64,
    /// Characters or bytes that have a token.
    pub(super) characters: usize,
}

/// Weighs the groups, chooses the characters and brings the counts under the limits of the trainer.
pub(super) fn trainer_input(
    table: &PretokenTable,
    groups: &[String],
    options: &TrainOptions,
) -> Result<TrainerInput, TokenizerError> {
    let form = options.layout();
    let limit = usize::try_from(options.vocab_size).unwrap_or(usize::MAX);
    let weighed = weigh(table, groups, options)?;
    if weighed.words.is_empty() {
        return Err(TokenizerError::NoText);
    }
    let mut splitter = PretokenSplitter::of(&pretokenizer_file(options)?)?;
    let seeds = symbols(&options.seed_tokens, &mut splitter)?;

    let specials = options.all_specials();
    let reserved: Vec<String> = specials.into_iter().chain(options.byte_tokens()).collect();
    let required = required(form, &reserved, &seeds);
    let mut kept = None;
    if form != ModelLayout::ByteLevel {
        let mut characters = characters(table, &weighed, options.character_coverage);
        // A text with one is rare, and no SentencePiece model can have a piece for it.
        if matches!(form, ModelLayout::Characters | ModelLayout::Unigram) {
            characters.remove(&'\0');
        }
        characters.extend(required.iter().copied());
        kept = Some(characters);
    }
    let mut apart = reserved.clone();
    // What the Unigram trainer calls the unknown, without a likelihood: in a word it makes it fail.
    apart.extend((form == ModelLayout::Unigram).then(|| "<UNK>".to_owned()));
    // The mark itself in a text: no merge may make of it what ends a word.
    apart.extend((form == ModelLayout::WordEnds).then(|| END.to_owned()));
    let mut words = cut(&weighed.words, kept.as_ref(), &apart, form);
    let most = most_words(form, limit);
    let is_pruned = words.len() > most && form != ModelLayout::ByteLevel;
    let before = is_pruned.then(|| characters_of(&words));
    let pruned = prune(&mut words, most);
    if let Some(before) = before {
        // Each is to be a token, though all its words went.
        for lost in before.difference(&characters_of(&words)) {
            words.insert(lost.to_string(), 1);
        }
    }
    if form == ModelLayout::ByteLevel {
        words = spelled(&words, &splitter);
    }
    if matches!(form, ModelLayout::WordPiece | ModelLayout::WordEnds) {
        // The characters of seeds must have tokens, inside of words and at their ends.
        for seed in &seeds {
            words.entry(seed.clone()).or_insert(1);
        }
    }
    let scale = match options.score {
        MergeScore::Frequency => scale_to_limit(&mut words, form),
        MergeScore::Likelihood => scale_to_64_bits(&mut words),
    };
    let used = characters_of(&words);
    let characters = match form {
        ModelLayout::ByteLevel => byte_characters().len(),
        ModelLayout::Characters | ModelLayout::WordEnds | ModelLayout::WordPiece => used.len(),
        ModelLayout::Unigram => used.iter().chain(&required).collect::<BTreeSet<_>>().len(),
    };
    let (weights, unit) = (weighed.weights, weighed.unit);
    Ok(TrainerInput {
        words,
        seeds,
        reserved,
        required,
        kept,
        weights,
        unit,
        pruned,
        scale,
        characters,
    })
}

/// What the trainer does, on how much.
fn phase(form: ModelLayout, words: usize, limit: usize) -> String {
    match form {
        ModelLayout::Unigram => format!("pruning pieces of {words} words to {limit}"),
        ModelLayout::ByteLevel
        | ModelLayout::Characters
        | ModelLayout::WordEnds
        | ModelLayout::WordPiece => {
            format!("merging pairs of {words} words to {limit}")
        }
    }
}

fn most_words(form: ModelLayout, vocab_size: usize) -> usize {
    match form {
        ModelLayout::Unigram => MAX_UNIGRAM_WORDS.max(vocab_size.saturating_mul(WORDS_PER_TOKEN)),
        ModelLayout::ByteLevel
        | ModelLayout::Characters
        | ModelLayout::WordEnds
        | ModelLayout::WordPiece => MAX_WORDS,
    }
}

/// Characters that must be tokens whatever the corpus has: those of what a Unigram could else take for
/// a special token, and those of the texts that are to be tokens.
fn required(form: ModelLayout, reserved: &[String], seeds: &[String]) -> Vec<char> {
    let seeds = seeds.iter().flat_map(|seed| seed.chars());
    let required: BTreeSet<char> = match form {
        ModelLayout::ByteLevel => BTreeSet::new(),
        ModelLayout::Characters | ModelLayout::WordEnds | ModelLayout::WordPiece => seeds.collect(),
        ModelLayout::Unigram => {
            reserved.iter().flat_map(|token| token.chars()).chain(seeds).collect()
        }
    };
    required.into_iter().collect()
}

fn characters_of(words: &BTreeMap<String, u64>) -> BTreeSet<char> {
    words.keys().flat_map(|word| word.chars()).collect()
}

/// Words in the characters that stand for their bytes.
fn spelled(words: &BTreeMap<String, u64>, splitter: &PretokenSplitter) -> BTreeMap<String, u64> {
    let mut symbols = String::new();
    words
        .iter()
        .map(|(word, count)| {
            splitter.spell(word, &mut symbols);
            (symbols.clone(), *count)
        })
        .collect()
}

/// By how much a named token is likelier than the best way around it.
const MARGIN: f64 = 0.001;

/// The symbols of each named text, sorted by length: it has to be one pre-token.
pub(super) fn symbols(
    seeds: &[String],
    splitter: &mut PretokenSplitter,
) -> Result<Vec<String>, TokenizerError> {
    let mut found = BTreeSet::new();
    for seed in seeds {
        let mut pieces: Vec<String> = Vec::new();
        splitter.split(seed, |piece| pieces.push(piece.to_owned()))?;
        let fail = |what| Err(TokenizerError::SeedToken { token: seed.clone(), what });
        match pieces.as_slice() {
            [] => return fail("is empty"),
            [piece] => found.insert((piece.chars().count(), piece.clone())),
            _ => return fail("is split before the model sees it, so it cannot be one token"),
        };
    }
    Ok(found.into_iter().map(|(_, piece)| piece).collect())
}

/// Puts them at the end of a WordPiece's vocabulary, in the place of the last pieces learned. A word
/// is matched from the longest piece down, so they are found.
pub(super) fn into_wordpiece(
    vocab: Map<String, Value>,
    seeds: &[String],
    fixed: usize,
    limit: usize,
) -> Result<Map<String, Value>, TokenizerError> {
    let new: Vec<&String> = seeds.iter().filter(|seed| !vocab.contains_key(*seed)).collect();
    let room = limit.saturating_sub(new.len());
    if room < fixed {
        return Err(no_room(seeds, limit));
    }
    let mut over = vocab.len().saturating_sub(room);
    let tokens: Vec<String> = vocab.into_iter().map(|(token, _)| token).collect();
    let mut kept: Vec<String> = Vec::with_capacity(limit);
    // From the last learned on, but for those that are asked for.
    for (place, token) in tokens.into_iter().enumerate().rev() {
        if over > 0 && place >= fixed && !seeds.contains(&token) {
            over -= 1;
        } else {
            kept.push(token);
        }
    }
    kept.reverse();
    kept.extend(new.into_iter().cloned());
    Ok(kept.into_iter().zip((0_u32..).map(Value::from)).collect())
}

/// Puts them among the pieces of a Unigram, scored just above the best other segmentation, in the
/// place of the pieces of the least score. `fixed` special pieces stand first.
pub(super) fn into_unigram(
    mut pieces: Vec<(String, f64)>,
    seeds: &[String],
    fixed: usize,
    limit: usize,
) -> Result<Vec<(String, f64)>, TokenizerError> {
    let mut learned = pieces.split_off(fixed.min(pieces.len()));
    let is_seed: BTreeSet<&String> = seeds.iter().collect();
    let new = seeds.len() - learned.iter().filter(|(piece, _)| is_seed.contains(piece)).count();
    let mut over = (pieces.len() + learned.len() + new).saturating_sub(limit);
    let mut kept = Vec::with_capacity(learned.len());
    while let Some((piece, score)) = learned.pop() {
        if over > 0 && piece.chars().nth(1).is_some() && !is_seed.contains(&piece) {
            over -= 1;
        } else {
            kept.push((piece, score));
        }
    }
    if over > 0 {
        return Err(no_room(seeds, limit));
    }
    let mut scores: HashMap<String, f64> = kept.into_iter().collect();
    // Shorter ones first: a longer one has to beat them.
    for seed in seeds {
        let own = scores.remove(seed).unwrap_or(f64::NEG_INFINITY);
        let other = best(seed, &scores);
        scores.insert(seed.clone(), own.max(other + MARGIN));
    }
    let mut learned: Vec<(String, f64)> = scores.into_iter().collect();
    learned.sort_unstable_by(|(a, score_a), (b, score_b)| {
        score_b.total_cmp(score_a).then_with(|| a.cmp(b))
    });
    pieces.extend(learned);
    Ok(pieces)
}

/// The score of the likeliest segmentation; every character is a piece.
fn best(word: &str, scores: &HashMap<String, f64>) -> f64 {
    best_score(word, None, |rest, reach| {
        let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
        for end in ends {
            if let Some(score) = rest.get(..end).and_then(|piece| scores.get(piece)) {
                reach.piece(end, *score);
            }
        }
    })
}

fn no_room(seeds: &[String], limit: usize) -> TokenizerError {
    let what = format!("{} seed tokens do not fit a vocabulary of {limit}", seeds.len());
    TokenizerError::TrainOptions(what)
}
