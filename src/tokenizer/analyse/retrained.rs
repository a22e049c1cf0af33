//! How long pre-tokens are in smaller vocabularies of a Unigram: these are trained on them.
//!
//! A Unigram has no order of its own: to be smaller its likelihoods must be found again. All sizes are
//! trained at once, each as training to that size on the counted pre-tokens would have it.

use super::super::error::TokenizerError;
use super::super::train::{
    ModelKind, PretokenTable, SizeRequest, SizedModel, TrainOptions, train_sizes,
};
use super::curve::{MARGIN, SMALLEST, SizeLengths};
use super::replay::CurveSample;
use super::subject::AnalysedTokenizer;
use crate::model::Interrupt;
use std::collections::BTreeSet;
use tokenizers::models::ModelWrapper;

/// The least size is 2^3, in half powers of two.
const LEAST_HALF_POWER: u32 = 6;

impl AnalysedTokenizer<'_> {
    /// The lengths at the sizes that are trained, and with the tokenizer itself, which gives `own` tokens.
    pub(super) fn retrained(
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
