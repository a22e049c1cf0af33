//! A Unigram trained to many sizes at once, each as [`super::train`] would train it.

use super::super::error::TokenizerError;
use super::super::unigram::score_as_loaded;
use super::count::PretokenTable;
use super::models;
use super::options::TrainOptions;
use super::passes::{self, UnigramSegmenter};
use super::run::{TrainerInput, trainer_input};
use super::seeds;
use crate::model::Interrupt;
use std::collections::BTreeSet;

/// The training that sizes are asked of.
pub(in super::super) struct SizeRequest<'a> {
    /// Pre-tokens.
    pub(in super::super) table: &'a PretokenTable,
    /// Names of its groups.
    pub(in super::super) groups: &'a [String],
    /// The options; their size is the largest that will be asked for.
    pub(in super::super) options: &'a TrainOptions,
}

/// A model of one size: how it cuts pre-tokens.
pub(in super::super) struct SizedModel {
    /// Ids.
    pub(in super::super) size: u64,
    cutter: UnigramSegmenter,
    is_by_bytes: bool,
}

impl SizedModel {
    /// Tokens of a pre-token, as the encoder of the trained file gives. `scratch` is overwritten.
    pub(in super::super) fn tokens(
        &self,
        pretoken: &str,
        scratch: &mut Vec<(f64, u32, bool)>,
    ) -> u64 {
        self.cutter.tokens(pretoken, self.is_by_bytes, scratch)
    }
}

/// Trains to the sizes that `of` makes of the least possible one, which has room for nothing but what is
/// always in; those that cannot be had are left out. Ascending, each size once. None when it was interrupted.
///
/// # Errors
/// As [`super::train`].
pub(in super::super) fn train_sizes(
    asked: &SizeRequest<'_>,
    of: impl FnOnce(u64) -> BTreeSet<u32>,
    interrupt: &Interrupt,
) -> Result<Option<Vec<SizedModel>>, TokenizerError> {
    let SizeRequest { table, groups, options } = *asked;
    options.check()?;
    let TrainerInput { words, seeds, reserved, required, characters, .. } =
        trainer_input(table, groups, options)?;
    let least = (reserved.len() + characters) as u64;
    let mut sizes = of(least);
    sizes.retain(|size| u64::from(*size) > least);
    let sizes: Vec<u32> = sizes.into_iter().collect();
    let sentences = models::sentences(&words);
    let longest = models::longest_piece(options);
    let Some(ended) = passes::sizes(&sentences, longest, &sizes, interrupt)? else {
        return Ok(None);
    };
    let used = words.keys().flat_map(|word| word.chars());
    let required: BTreeSet<char> = used.chain(required).collect();
    let mut cuts: Vec<SizedModel> = Vec::new();
    for (size, pieces) in ended {
        let limit = usize::try_from(size).unwrap_or(usize::MAX);
        let pieces = models::unigram_of_passes(&pieces, &reserved, &required, limit);
        // Named tokens without room do not rule out larger sizes.
        let Ok(mut pieces) = seeds::into_unigram(pieces, &seeds, reserved.len(), limit) else {
            continue;
        };
        pieces.iter_mut().for_each(|(_, score)| *score = score_as_loaded(*score));
        let size = pieces.len() as u64;
        // A small corpus gives fewer than asked for, the same for all larger sizes.
        if cuts.last().is_none_or(|last| last.size < size) {
            let cutter = UnigramSegmenter::of(&pieces, reserved.len());
            cuts.push(SizedModel { size, cutter, is_by_bytes: options.byte_fallback });
        }
    }
    Ok(Some(cuts))
}
