//! What the curve is drawn from: pre-tokens that were counted, and of a byte-pair model its merges over them.

use super::super::error::TokenizerError;
use super::super::merges::{CountedWords, MergeTable, replay};
use super::super::oracle::guard;
use super::super::train::PretokenTable;
use super::curve::{MergeCounts, SizeLengths, VocabularyCurve};
use super::greedy::GreedySegmenter;
use super::subject::AnalysedTokenizer;
use crate::model::Context;
use rayon::prelude::*;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenizers::Model;
use tokenizers::models::ModelWrapper;
use tokenizers::models::wordpiece::WordPiece;

/// Groups that the curve tells apart, most bytes first; the others are one.
const GROUPS: usize = 12;
/// Pre-tokens encoded as one piece of parallel work.
const PIECE: usize = 4096;

/// Pre-tokens and how often each was counted.
type GroupPretokens = BTreeMap<Box<str>, u64>;
/// Merges as (left, right, made), by rank.
type RankedMerges = Vec<(u32, u32, u32)>;

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
        let own = sample.tokens(|word| Ok(tokenize(&self.model, word)?.len() as u64))?;
        let lengths = match &self.model {
            ModelWrapper::WordPiece(model) => self.greedily(&sample, model),
            ModelWrapper::Unigram(_) => {
                match self.retrained(&sample, groups, table, &own, context.interrupt)? {
                    Ok(lengths) => lengths,
                    Err(why) => return Ok(Err(why)),
                }
            }
            _ => self.replayed(&sample)?,
        };
        Ok(Ok(VocabularyCurve::of(&lengths, embedding_width, own.iter().sum())))
    }

    fn greedily(&self, sample: &CurveSample, model: &WordPiece) -> SizeLengths {
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
        let (ranked, unmerged) = self.merges()?;
        let ranks = MergeTable::new(ranked.iter().copied());
        let mut words = CountedWords::new(sample.rows.len());
        for (word, counts) in &sample.words {
            words.push(&tokenize(&unmerged, word)?, counts);
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

    /// The merges, and the model without them: it gives the symbols that merging
    /// begins with. The model's own serialisation is the one way to its merges.
    fn merges(&self) -> Result<(RankedMerges, ModelWrapper), TokenizerError> {
        let unreadable = |error: serde_json::Error| TokenizerError::Load(error.into());
        let mut value = serde_json::to_value(&self.model).map_err(unreadable)?;
        let merges = value.get_mut("merges").map(Value::take).unwrap_or_default();
        if let Value::Object(model) = &mut value {
            model.insert("merges".to_owned(), Value::Array(Vec::new()));
            // A word of the vocabulary would be taken whole.
            model.insert("ignore_merges".to_owned(), Value::Bool(false));
        }
        let unmerged: ModelWrapper = serde_json::from_value(value).map_err(unreadable)?;
        let pairs: Vec<(String, String)> = serde_json::from_value(merges).map_err(unreadable)?;
        let prefix = match &self.model {
            ModelWrapper::BPE(bpe) => bpe.continuing_subword_prefix.clone().unwrap_or_default(),
            _ => String::new(),
        };
        let ids: HashMap<&str, u32> =
            self.iter().map(|(id, token)| (token.spelled.as_str(), id)).collect();
        let ranked = pairs.iter().filter_map(|(left, right)| {
            let rest = right.strip_prefix(&prefix).unwrap_or(right);
            let made = ids.get(format!("{left}{rest}").as_str())?;
            Some((*ids.get(left.as_str())?, *ids.get(right.as_str())?, *made))
        });
        Ok((ranked.collect(), unmerged))
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

/// The ids that the model gives for a word.
fn tokenize(model: &ModelWrapper, word: &str) -> Result<Vec<u32>, TokenizerError> {
    let tokens = guard("encoding", || model.tokenize(word))?
        .map_err(|source| TokenizerError::Encode { bytes: word.len(), source })?;
    Ok(tokens.into_iter().map(|token| token.id).collect())
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
