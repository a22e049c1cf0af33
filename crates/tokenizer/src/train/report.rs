//! The report of a training beside its file: sizes, treatment of the counts, and tokens by group.

use super::count::PretokenTable;
use super::options::{ModelKind, ModelLayout, TrainOptions, UnicodeForm};
use super::weigh;
use crate::engine::reference::LibraryReference;
use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use crate::sampled::TextTotals;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A trained tokenizer, and the treatment of its counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TrainReport {
    /// Tokens of the result; fewer than asked for when the corpus has no more.
    pub vocab_size: u32,
    /// Why there are fewer than asked for; none if there are as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortfall: Option<String>,
    /// Characters with a token of their own, of the corpus or of the options; 256 bytes for byte-level BPE.
    pub alphabet: u32,
    /// Distinct words that the trainer saw.
    pub words: u64,
    /// Distinct words left out because they were the rarest: more than a million are not trained
    /// on, of a Unigram more than a quarter of that or eight times the vocabulary.
    pub pruned_words: u64,
    /// Their share of all occurrences.
    pub pruned_share: f64,
    /// The counts come from one in this many texts.
    pub sampled_one_in: u64,
    /// Pre-tokens left out because they are longer than 16 KiB.
    pub skipped: u64,
    /// What one occurrence in a group of weight 1 counted; the least frequency was multiplied by it.
    pub unit: u64,
    /// The factor that brought the counts under the limit of the trainer; 1 if they were.
    pub scale: f64,
    /// What decoding gives back.
    pub round_trip: RoundTrip,
    /// By group, in the order of the table.
    pub groups: Vec<TrainGroupReport>,
    /// Texts asked to be tokens that are not put in here: those of a BPE have to be merged.
    pub pending_seed_tokens: Vec<String>,
}

/// What was counted of a group, and how well the vocabulary covers it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TrainGroupReport {
    /// The name of the language or source.
    pub name: String,
    /// How much was counted.
    #[serde(flatten)]
    pub mass: TextTotals,
    /// Distinct pre-tokens.
    pub pretokens: u64,
    /// The weight its counts were given.
    pub weight: f64,
    /// Share of its characters, after normalisation, that the vocabulary has as tokens or as bytes of
    /// a byte-level BPE. Others fall back to bytes, or are unknown.
    pub character_coverage: f64,
}

/// What decoding the ids of a text gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RoundTrip {
    /// The text, byte for byte; of models that write spaces as `▁`, with spaces for that character.
    Exact,
    /// The text in the normal form that was asked for.
    Normalised,
    /// As the two above, if all its characters are covered; others are lost.
    Covered,
    /// Words: white space is not kept, nor are unknown words.
    Words,
}

impl RoundTrip {
    /// What a tokenizer of these options promises.
    #[must_use]
    pub fn of(options: &TrainOptions) -> Self {
        match options.layout() {
            ModelLayout::WordPiece | ModelLayout::WordEnds => Self::Words,
            ModelLayout::Unigram if !options.byte_fallback => Self::Covered,
            _ if options.normalizer != UnicodeForm::None => Self::Normalised,
            _ => Self::Exact,
        }
    }
}

/// Why a training ended before it had as many tokens as asked for; none if it has them.
pub(super) fn shortfall(vocab_size: u32, options: &TrainOptions) -> Option<String> {
    let asked = options.vocab_size;
    if vocab_size >= asked {
        return None;
    }
    let why = match (options.model, options.max_token_length) {
        (ModelKind::Unigram, _) => "the texts have no more pieces; train on more".to_owned(),
        (_, longest) => {
            let shorter = longest.map_or(String::new(), |most| {
                format!(" and makes a token below `max_token_length=` {most}")
            });
            format!(
                "no pair is left that occurs {} times{shorter}; lower `min_frequency=`, or train on more text",
                options.min_frequency
            )
        }
    };
    Some(format!("the vocabulary has {vocab_size} of {asked} tokens: {why}"))
}

/// One report a group; `kept`: the characters of the vocabulary, none where all bytes are.
pub(super) fn groups(
    table: &PretokenTable,
    names: &[String],
    weights: &[f64],
    kept: Option<&BTreeSet<char>>,
) -> Vec<TrainGroupReport> {
    let masses = table.masses.iter().zip(&table.groups);
    let named = names.iter().zip(weights);
    named
        .zip(masses)
        .map(|((name, weight), (mass, words))| TrainGroupReport {
            name: name.clone(),
            mass: *mass,
            pretokens: u64::try_from(words.len()).unwrap_or(u64::MAX),
            weight: *weight,
            character_coverage: kept.map_or(1.0, |kept| weigh::coverage(words, kept)),
        })
        .collect()
}

/// Pre-tokens encoded as one piece of parallel work.
const PIECE: usize = 4096;

/// Tokens of each group of a table which was counted with the splits of this `tokenizer.json`.
///
/// # Errors
/// [`TokenizerError::Load`] when the file is not a tokenizer, [`TokenizerError::Encode`] when its model refuses a
/// pre-token.
pub fn tokens_by_group(json: &[u8], table: &PretokenTable) -> Result<Vec<u64>, TokenizerError> {
    let reference = LibraryReference::load(json)?;
    let splitter = PretokenSplitter::of(json)?;
    let tokens_of = |words: &[(&str, u64)]| {
        let (mut symbols, mut total) = (String::new(), 0_u64);
        for (word, count) in words {
            splitter.spell(word, &mut symbols);
            let tokens = reference.encode_pretoken(&symbols)?.len() as u64;
            total = total.saturating_add(tokens.saturating_mul(*count));
        }
        Ok::<u64, TokenizerError>(total)
    };
    let of_group = |group: &BTreeMap<Box<str>, u64>| {
        let words: Vec<(&str, u64)> = group.iter().map(|(word, count)| (&**word, *count)).collect();
        words.par_chunks(PIECE).map(tokens_of).try_reduce(|| 0, |a, b| Ok(a.saturating_add(b)))
    };
    table.groups.iter().map(of_group).collect()
}
