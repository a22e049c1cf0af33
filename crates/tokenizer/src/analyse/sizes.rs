//! Computes how long counted pre-tokens are at smaller sizes of the vocabulary, by kind of model.
//!
//! A BPE is replayed merge by merge, a WordPiece cut greedily once for all sizes, a Unigram trained to each size.

use super::curve::{MARGIN, MergeCounts, SMALLEST, SizeLengths, VocabularyCurve};
use super::subject::{AnalysedTokenizer, VocabularyToken};
use crate::engine::segment_model::{bpe_merges, model_ids};
use crate::error::TokenizerError;
use crate::models::{CountedWords, MergeTable, replay};
use crate::train::{ModelKind, PretokenTable, SizeRequest, SizedModel, TrainOptions, train_sizes};
use model::{Context, Interrupt};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenizers::models::ModelWrapper;
use tokenizers::models::wordpiece::WordPiece;

/// The most groups that the curve shows apart, by bytes; the others are one.
const GROUPS: usize = 12;
/// Pre-tokens encoded as one piece of parallel work.
const PIECE: usize = 4096;

/// Pre-tokens and how often each was counted.
type GroupPretokens = BTreeMap<Box<str>, u64>;

/// The counted pre-tokens by rows of the curve.
pub(super) struct CurveSample {
    /// Names of the rows.
    pub(super) rows: Vec<String>,
    /// Bytes by row.
    pub(super) bytes: Vec<u64>,
    /// Distinct pre-tokens as the model sees them, with their counts by row, in byte order of the text.
    pub(super) words: Vec<(String, Vec<u64>)>,
    /// One in how many texts were counted.
    pub(super) sampled_one_in: u64,
    /// Pre-tokens that were left out.
    pub(super) skipped: u64,
}

impl CurveSample {
    fn of(subject: &AnalysedTokenizer<'_>, groups: &[String], table: &PretokenTable) -> Self {
        let rows = CurveRows::of(groups, &table.groups);
        let mut bytes = vec![0u64; rows.names.len()];
        for (mass, row) in table.masses.iter().zip(&rows.row_of) {
            if let Some(bytes) = bytes.get_mut(*row) {
                *bytes += mass.bytes;
            }
        }
        let mut spelled = String::new();
        let words = rows.pretokens(&table.groups).map(|(pretoken, counts)| {
            subject.splitter.spell(pretoken, &mut spelled);
            (spelled.clone(), counts)
        });
        let words = words.collect();
        let (sampled_one_in, skipped) = (table.sampled_one_in, table.skipped());
        Self { rows: rows.names, bytes, words, sampled_one_in, skipped }
    }

    /// Tokens by row, given those of a word. The result does not depend on the number of threads.
    pub(super) fn tokens(
        &self,
        of: impl Fn(&str) -> Result<u64, TokenizerError> + Sync,
    ) -> Result<Vec<u64>, TokenizerError> {
        let empty = || vec![0u64; self.rows.len()];
        let count = |words: &[(String, Vec<u64>)]| {
            let mut totals = empty();
            for (word, counts) in words {
                let tokens = of(word)?;
                for (total, count) in totals.iter_mut().zip(counts) {
                    *total = total.wrapping_add(tokens.wrapping_mul(*count));
                }
            }
            Ok(totals)
        };
        self.words.par_chunks(PIECE).map(count).try_reduce(empty, |mut all, part| {
            for (total, more) in all.iter_mut().zip(part) {
                *total = total.wrapping_add(more);
            }
            Ok(all)
        })
    }
}

impl AnalysedTokenizer<'_> {
    /// The curve of sequence length against vocabulary size over the pre-tokens that a counter of this
    /// tokenizer counted; `groups` names their groups. The inner error says why there is none; when the
    /// interrupt is raised while smaller models are trained, that is why.
    ///
    /// Memory: 8 bytes a merge or piece, group (at most thirteen) and thread, and the distinct pre-tokens once
    /// more; for a Unigram that of its training.
    ///
    /// # Errors
    /// [`TokenizerError`] when the model cannot be written or refuses a pre-token.
    pub fn curve(
        &self,
        groups: &[String],
        table: &PretokenTable,
        embedding_width: u64,
        context: &Context<'_>,
    ) -> Result<Result<VocabularyCurve, String>, TokenizerError> {
        if !self.has_curve() {
            return Ok(Err(format!(
                "a {} model has no order in which its vocabulary grew",
                self.model_name()
            )));
        }
        if table.groups.iter().all(BTreeMap::is_empty) {
            return Ok(Err("no pre-tokens were counted".to_owned()));
        }
        let sample = CurveSample::of(self, groups, table);
        let own = sample.tokens(|word| Ok(model_ids(&self.model, word)?.len() as u64))?;
        let lengths = match &self.model {
            ModelWrapper::WordPiece(model) => self.wordpiece_lengths(&sample, model),
            ModelWrapper::Unigram(_) => {
                match self.unigram_lengths(&sample, groups, table, &own, context.interrupt)? {
                    Ok(lengths) => lengths,
                    Err(why) => return Ok(Err(why)),
                }
            }
            _ => self.replayed(&sample)?,
        };
        Ok(Ok(VocabularyCurve::of(&lengths, embedding_width, own.iter().sum())))
    }

    fn wordpiece_lengths(&self, sample: &CurveSample, model: &WordPiece) -> SizeLengths {
        let greedy = GreedySegmenter::of(self, model);
        let rows = sample.rows.len();
        let changes = greedy.changes(&sample.words, rows);
        let mut by_group = changes.tokens;
        let base = self.token_count().saturating_sub(u64::from(greedy.pieces));
        let mut tokens = by_group.clone();
        for added in changes.added.chunks(rows.max(1)) {
            for (tokens, added) in by_group.iter_mut().zip(added) {
                *tokens = tokens.wrapping_add_signed(*added);
            }
            tokens.extend_from_slice(&by_group);
        }
        sample.lengths((base..=base + u64::from(greedy.pieces)).collect(), tokens, true)
    }

    fn replayed(&self, sample: &CurveSample) -> Result<SizeLengths, TokenizerError> {
        let (ranked, unmerged) = bpe_merges(&self.model)?;
        let ranks = MergeTable::new(ranked.iter().copied());
        let mut words = CountedWords::new(sample.rows.len());
        for (word, counts) in &sample.words {
            words.push(&model_ids(&unmerged, word)?, counts);
        }
        let replayed = replay(&words, &ranks);
        let made: BTreeSet<u32> = ranked.iter().map(|(_, _, id)| *id).collect();
        let mut seen = BTreeSet::new();
        let counts = MergeCounts {
            groups: sample.rows.clone(),
            bytes: sample.bytes.clone(),
            symbols: words.mass(),
            base_ids: self.token_count().saturating_sub(made.len() as u64),
            makes_id: ranked.iter().map(|(_, _, id)| seen.insert(*id)).collect(),
            joined: (0..ranked.len())
                .flat_map(|merge| replayed.joined(merge).unwrap_or_default())
                .copied()
                .collect(),
            sampled_one_in: sample.sampled_one_in,
            skipped: sample.skipped,
        };
        Ok(SizeLengths::from(&counts))
    }
}

impl CurveSample {
    /// The lengths at these sizes.
    pub(super) fn lengths(&self, sizes: Vec<u64>, tokens: Vec<u64>, are_all: bool) -> SizeLengths {
        SizeLengths {
            groups: self.rows.clone(),
            bytes: self.bytes.clone(),
            sizes,
            tokens,
            are_all,
            sampled_one_in: self.sampled_one_in,
            skipped: self.skipped,
        }
    }
}

/// Which row of the curve each group is counted in.
struct CurveRows {
    names: Vec<String>,
    row_of: Vec<usize>,
}

impl CurveRows {
    fn of(groups: &[String], tables: &[GroupPretokens]) -> Self {
        let bytes = |table: &GroupPretokens| -> u64 {
            table.iter().map(|(pretoken, count)| pretoken.len() as u64 * count).sum()
        };
        let mut order: Vec<(usize, u64)> = tables.iter().map(bytes).enumerate().collect();
        order.retain(|(_, bytes)| *bytes > 0);
        // Stable: equal groups stay as they were given.
        order.sort_by_key(|(_, bytes)| Reverse(*bytes));
        let mut rows = Self { names: Vec::new(), row_of: vec![usize::MAX; tables.len()] };
        for (place, (table, _)) in order.iter().enumerate() {
            if place < GROUPS {
                rows.names.push(groups.get(*table).cloned().unwrap_or_default());
            } else if place == GROUPS {
                rows.names.push("other groups".to_owned());
            }
            if let Some(row) = rows.row_of.get_mut(*table) {
                *row = place.min(GROUPS);
            }
        }
        rows
    }

    /// Every distinct pre-token with its count by row, in byte order.
    fn pretokens<'a>(
        &self,
        tables: &'a [GroupPretokens],
    ) -> impl Iterator<Item = (&'a str, Vec<u64>)> {
        let mut all: BTreeMap<&'a str, Vec<u64>> = BTreeMap::new();
        for (table, row) in tables.iter().zip(&self.row_of) {
            for (pretoken, count) in table {
                let counts = all.entry(pretoken).or_insert_with(|| vec![0; self.names.len()]);
                if let Some(total) = counts.get_mut(*row) {
                    *total += count;
                }
            }
        }
        all.into_iter()
    }
}

/// The longer pieces of a WordPiece by id, and what is in every vocabulary.
pub(super) struct GreedySegmenter<'s> {
    /// By spelling at the beginning of a word: how many longer pieces there are when it comes in.
    first: HashMap<&'s str, u32>,
    /// By spelling inside of a word, without the mark: how many longer pieces there are when it comes in.
    inside: HashMap<&'s str, u32>,
    /// Bytes of the longest.
    longest: usize,
    /// Longer words are unknown, in characters.
    most: usize,
    /// Longer pieces.
    pub(super) pieces: u32,
}

/// Tokens that each longer piece adds to the groups: mostly it takes some away.
pub(super) struct SizeChanges {
    /// Tokens before the first longer piece, by group.
    pub(super) tokens: Vec<u64>,
    /// By longer piece, then by group.
    pub(super) added: Vec<i64>,
}

impl<'s> GreedySegmenter<'s> {
    pub(super) fn of(subject: &'s AnalysedTokenizer<'_>, model: &WordPiece) -> Self {
        let prefix = model.continuing_subword_prefix.as_str();
        let most = model.max_input_chars_per_word;
        let (first, inside) = (HashMap::new(), HashMap::new());
        let mut greedy = Self { first, inside, longest: 0, most, pieces: 0 };
        for (_, token) in subject.iter() {
            let rest = token.spelled.strip_prefix(prefix);
            let is_single = |token: &VocabularyToken| {
                let text = rest.filter(|rest| !rest.is_empty()).unwrap_or(&token.spelled);
                text.chars().nth(1).is_none()
            };
            let comes_in = if token.is_added() || is_single(token) {
                0
            } else {
                greedy.pieces += 1;
                greedy.pieces
            };
            greedy.longest = greedy.longest.max(token.spelled.len());
            greedy.first.insert(&token.spelled, comes_in);
            if let Some(rest) = rest {
                greedy.inside.insert(rest, comes_in);
            }
        }
        greedy
    }

    /// What every longer piece does to words with their counts by group. The result does not depend on the
    /// number of threads. Memory: 8 bytes a piece, group and thread.
    pub(super) fn changes(&self, words: &[(String, Vec<u64>)], groups: usize) -> SizeChanges {
        let empty = || SizeChanges {
            tokens: vec![0; groups],
            added: vec![0; self.pieces as usize * groups],
        };
        let piece = words.len().div_ceil(4 * rayon::current_num_threads().max(1)).max(PIECE);
        let count = |words: &[(String, Vec<u64>)]| {
            let mut changes = empty();
            let mut steps = Vec::new();
            for (word, counts) in words {
                self.steps(word, &mut steps);
                let mut before = 0_i64;
                for (comes_in, tokens) in &steps {
                    changes.add(*comes_in, *tokens - before, counts);
                    before = *tokens;
                }
            }
            changes
        };
        words.par_chunks(piece).map(count).reduce_with(SizeChanges::and).unwrap_or_else(empty)
    }

    /// How many tokens the word has from how many longer pieces on; the first is for none.
    fn steps(&self, word: &str, steps: &mut Vec<(u32, i64)>) {
        steps.clear();
        if word.chars().nth(self.most).is_some() {
            steps.push((0, 1));
            return;
        }
        let (mut at, mut places) = (0, HashMap::new());
        loop {
            let (tokens, next) = self.path(word, at, &mut places);
            if steps.last().is_none_or(|(_, last)| *last != tokens) {
                steps.push((at, tokens));
            }
            let Some(next) = next else { return };
            at = next;
        }
    }

    /// Tokens with the first `at` longer pieces, and the next one that takes another way. `places` are the pieces at
    /// the places that were examined: length and when they come in.
    fn path(
        &self,
        word: &str,
        at: u32,
        places: &mut HashMap<usize, Vec<(usize, u32)>>,
    ) -> (i64, Option<u32>) {
        let (mut begin, mut tokens) = (0, 0);
        let mut next: Option<u32> = None;
        while let Some(rest) = word.get(begin..).filter(|rest| !rest.is_empty()) {
            let pieces = places.entry(begin).or_insert_with(|| self.pieces_at(rest, begin == 0));
            let mut taken = None;
            // Longest first: those before the one that is taken would be taken instead.
            for (length, comes_in) in pieces.iter() {
                if *comes_in <= at {
                    taken = Some(*length);
                    break;
                }
                next = Some(next.map_or(*comes_in, |next| next.min(*comes_in)));
            }
            // Without a piece the whole word is unknown.
            let Some(length) = taken else { return (1, next) };
            begin += length;
            tokens += 1;
        }
        (tokens, next)
    }

    /// The pieces that a text begins with, longest first.
    fn pieces_at(&self, rest: &str, is_first: bool) -> Vec<(usize, u32)> {
        let known = if is_first { &self.first } else { &self.inside };
        let ends = rest.char_indices().map(|(at, character)| at + character.len_utf8());
        let within = ends.take_while(|end| *end <= self.longest);
        let mut pieces: Vec<(usize, u32)> =
            within.filter_map(|end| Some((end, *known.get(rest.get(..end)?)?))).collect();
        pieces.reverse();
        pieces
    }
}

impl SizeChanges {
    /// `more` tokens a word from the `comes_in`-th longer piece on; from the beginning for 0.
    fn add(&mut self, comes_in: u32, more: i64, counts: &[u64]) {
        let Some(place) = (comes_in as usize).checked_sub(1) else {
            for (total, count) in self.tokens.iter_mut().zip(counts) {
                *total = total.wrapping_add(more.unsigned_abs().wrapping_mul(*count));
            }
            return;
        };
        let row = self.added.get_mut(place * counts.len()..).unwrap_or_default();
        for (total, count) in row.iter_mut().zip(counts) {
            *total = total.wrapping_add(more.wrapping_mul(count.cast_signed()));
        }
    }

    fn and(mut self, other: Self) -> Self {
        for (total, more) in self.tokens.iter_mut().zip(other.tokens) {
            *total = total.wrapping_add(more);
        }
        for (total, more) in self.added.iter_mut().zip(other.added) {
            *total = total.wrapping_add(more);
        }
        self
    }
}

/// The least size is 2^3, in half powers of two.
const LEAST_HALF_POWER: u32 = 6;

impl AnalysedTokenizer<'_> {
    /// The lengths at the sizes that are trained, and with the tokenizer itself, which gives `own` tokens.
    pub(super) fn unigram_lengths(
        &self,
        sample: &CurveSample,
        groups: &[String],
        table: &PretokenTable,
        own: &[u64],
        interrupt: &Interrupt,
    ) -> Result<Result<SizeLengths, String>, TokenizerError> {
        let options = match &self.training {
            Some(Ok(options)) => options.clone(),
            Some(Err(why)) => return Ok(Err(why.clone())),
            None => self.options(),
        };
        let whole = self.token_count();
        let asked = SizeRequest { table, groups, options: &options };
        let cuts: Vec<SizedModel> =
            match train_sizes(&asked, |least| sizes(least, whole), interrupt) {
                Ok(Some(cuts)) => cuts,
                Ok(None) => return Ok(Err("interrupted".to_owned())),
                Err(error @ (TokenizerError::Panicked { .. } | TokenizerError::Write(_))) => {
                    return Err(error);
                }
                Err(error) => {
                    return Ok(Err(format!("smaller vocabularies cannot be trained: {error}")));
                }
            };
        let (mut measured, mut tokens) = (Vec::new(), Vec::new());
        for cut in cuts.iter().filter(|cut| cut.size < whole) {
            measured.push(cut.size);
            tokens.extend(sample.tokens(|word| Ok(cut.tokens(word, &mut Vec::new())))?);
        }
        measured.push(whole);
        tokens.extend_from_slice(own);
        Ok(Ok(sample.lengths(measured, tokens, false)))
    }

    /// The defaults, with the special tokens and the bytes that the tokenizer has.
    fn options(&self) -> TrainOptions {
        let ModelWrapper::Unigram(model) = &self.model else { return TrainOptions::default() };
        let added = self.iter().filter(|(_, token)| token.is_added());
        TrainOptions {
            model: ModelKind::Unigram,
            vocab_size: u32::try_from(self.token_count()).unwrap_or(u32::MAX),
            byte_fallback: model.byte_fallback(),
            specials: added.map(|(_, token)| token.spelled.clone()).collect(),
            ..TrainOptions::default()
        }
    }
}

/// Half powers of two, and what the table shows beyond powers of two.
fn sizes(least: u64, whole: u64) -> BTreeSet<u32> {
    let half_powers = (LEAST_HALF_POWER..2 * u32::BITS).map(|half| {
        // Halves of the exponent: the square root of a power of four, or of twice one.
        2f64.powf(f64::from(half) / 2.0).round() as u64
    });
    let within: Vec<u64> = half_powers.filter(|size| (least + 1..whole).contains(size)).collect();
    let powers = within.iter().filter(|size| size.is_power_of_two() && **size >= SMALLEST);
    let further = powers.map(|size| size + MARGIN).filter(|size| *size < whole);
    within.iter().copied().chain(further).filter_map(|size| u32::try_from(size).ok()).collect()
}
