//! Tests of the passes against the stock trainer, to the last bit of every score.

use super::*;
use crate::train::trainers::{sentences, unigram, unigram_of_passes};
use crate::train::{ModelKind, TrainOptions};
use model::Interrupt;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(6)))]

    #[test]
    fn the_passes_give_the_very_scores_of_the_trainer(
        words in proptest::collection::btree_map("(ab|a|b|é|cab|一|ba){1,7}", 1u64..50, 30..90),
        size in 12u32..60,
    ) {
        let options = TrainOptions { model: ModelKind::Unigram, ..TrainOptions::default() };
        let first = ["<unk>".to_owned()];
        let required: BTreeSet<char> = words.keys().flat_map(|word| word.chars()).collect();
        let asked = [size, size + 7, 2 * size];
        let ended = prune_to_sizes(&sentences(&words), 16, &asked, &Interrupt::default());
        // For some texts the suffix array of the stock trainer is out of its bounds; it then trains nothing at all.
        if let Err(TokenizerError::Panicked { .. }) = ended {
            let options = TrainOptions { vocab_size: size, ..options };
            let stock = unigram(&words, &first, &[], "<unk>", &options);
            let panicked = matches!(stock, Err(TokenizerError::Panicked { .. }));
            prop_assert!(panicked);
            return Ok(());
        }
        let ended = ended.expect("runs").expect("is not stopped");
        for size in asked {
            let options = TrainOptions { vocab_size: size, ..options.clone() };
            let stock = unigram(&words, &first, &[], "<unk>", &options).expect("trains");
            let ours = unigram_of_passes(&ended[&size], &first, &required, size as usize);
            prop_assert_eq!(ours, stock, "{}", size);
        }
    }
}
