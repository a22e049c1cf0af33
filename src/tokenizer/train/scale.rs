//! Scales counts down where those of the trainers would overflow.
//!
//! The BPE trainer counts pairs in `i32`, the Unigram trainer words and characters in `u32`. Beyond
//! that they wrap, without an error, and the commonest of all are lost (tokenizers issue 2058).

use super::balance::to_float;
use super::options::ModelLayout;
use std::collections::{BTreeMap, HashMap};

pub(super) const MAX_PAIR_COUNT: u64 = i32::MAX as u64;
const MAX_UNIGRAM_COUNT: u64 = u32::MAX as u64;

/// Brings the counts of words, spelled in symbols, under the limit of the trainer; answers the factor
/// that was applied: 1 if they were under it.
pub(super) fn scale_to_limit(words: &mut BTreeMap<String, u64>, form: ModelLayout) -> f64 {
    let (largest, lifted, limit) = match form {
        ModelLayout::Unigram => largest_of_characters(words),
        ModelLayout::ByteLevel
        | ModelLayout::Characters
        | ModelLayout::WordEnds
        | ModelLayout::WordPiece => largest_pair(words, form),
    };
    scale(words, largest, lifted, limit)
}

/// No later pair of tokens can pass the commonest pair of symbols: each stands on one such pair.
fn largest_pair(words: &BTreeMap<String, u64>, form: ModelLayout) -> (u128, u64, u64) {
    // Of WordPiece the first symbol of a word is another than the same character inside.
    let is_first_apart = form == ModelLayout::WordPiece;
    let mut pairs: HashMap<(char, char, bool), (u128, u64)> = HashMap::new();
    for (word, count) in words {
        let following = word.chars().skip(1);
        for (place, (left, right)) in word.chars().zip(following).enumerate() {
            let pair = (left, right, is_first_apart && place == 0);
            let (sum, rows) = pairs.entry(pair).or_default();
            *sum += u128::from(*count);
            *rows += 1;
        }
    }
    let largest = pairs.values().map(|(sum, _)| *sum).max().unwrap_or(0);
    let lifted = pairs.values().map(|(_, rows)| *rows).max().unwrap_or(0);
    (largest, lifted, MAX_PAIR_COUNT)
}

/// The sum over words, and over the occurrences of the commonest character.
fn largest_of_characters(words: &BTreeMap<String, u64>) -> (u128, u64, u64) {
    let mut characters: HashMap<char, (u128, u64)> = HashMap::new();
    for (word, count) in words {
        for character in word.chars() {
            let (sum, rows) = characters.entry(character).or_default();
            *sum += u128::from(*count);
            *rows += 1;
        }
    }
    let largest = characters.values().map(|(sum, _)| *sum).max().unwrap_or(0);
    let lifted = characters.values().map(|(_, rows)| *rows).max().unwrap_or(0);
    let total: u128 = words.values().map(|count| u128::from(*count)).sum();
    let rows = u64::try_from(words.len()).unwrap_or(u64::MAX);
    (largest.max(total), lifted.max(rows), MAX_UNIGRAM_COUNT)
}

/// One factor for all, chosen so that the largest sum stays under the limit although nothing falls
/// below 1: there is room for the `lifted` rows that this raises.
fn scale(words: &mut BTreeMap<String, u64>, largest: u128, lifted: u64, limit: u64) -> f64 {
    if largest <= u128::from(limit) {
        return 1.0;
    }
    let target = u128::from(limit.saturating_sub(lifted).max(1));
    for count in words.values_mut() {
        // 64 and 33 bits: no overflow.
        let share = u128::from(*count) * target / largest;
        *count = u64::try_from(share).unwrap_or(u64::MAX).max(1);
    }
    to_float(u64::try_from(target).unwrap_or(u64::MAX))
        / to_float(u64::try_from(largest).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
    }

    fn largest(words: &BTreeMap<String, u64>, form: ModelLayout) -> u128 {
        match form {
            ModelLayout::Unigram => largest_of_characters(words).0,
            _ => largest_pair(words, form).0,
        }
    }

    #[test]
    fn counts_are_scaled_under_the_limit_and_keep_their_order() {
        let counts = [("aa", 9_000_000_000), ("aab", 3_000_000_000), ("ab", 5), ("b", 1 << 60)];
        let mut scaled = words(&counts);
        let factor = scale_to_limit(&mut scaled, ModelLayout::ByteLevel);
        let found = largest(&scaled, ModelLayout::ByteLevel);
        assert!(found <= MAX_PAIR_COUNT.into() && found > (MAX_PAIR_COUNT / 2).into());
        assert!((factor - 2_147_483_645.0 / 12e9).abs() < 1e-9, "{factor}");
        assert_eq!(scaled["ab"], 1);
        assert_eq!(scaled["aa"] / scaled["aab"], 3);
        let mut small = words(&[("aa", 7)]);
        assert_eq!((scale_to_limit(&mut small, ModelLayout::ByteLevel), small["aa"]), (1.0, 7));
    }

    #[test]
    fn the_first_symbol_of_a_wordpiece_is_another_one() {
        // `ab` and `##a ##b` stay below the limit each, not together.
        let counts = [("ab", MAX_PAIR_COUNT), ("cab", MAX_PAIR_COUNT)];
        assert_eq!(scale_to_limit(&mut words(&counts), ModelLayout::WordPiece), 1.0);
        assert!(scale_to_limit(&mut words(&counts), ModelLayout::Characters) < 1.0);
    }

    #[test]
    fn characters_and_words_of_a_unigram_stay_below_32_bits() {
        for counts in [[("aaa", 2_000_000_000), ("b", 1)], [("a", 3_000_000_000), ("b", 3 << 30)]] {
            let mut scaled = words(&counts);
            assert!(scale_to_limit(&mut scaled, ModelLayout::Unigram) < 1.0);
            assert!(largest(&scaled, ModelLayout::Unigram) <= u128::from(u32::MAX));
            assert!(scaled.values().all(|count| u32::try_from(*count).is_ok()));
        }
    }

    proptest! {
        #[test]
        fn any_counts_fit(counts in proptest::collection::btree_map("[a-c語]{1,6}", any::<u64>(), 1..40)) {
            for form in [ModelLayout::ByteLevel, ModelLayout::Characters, ModelLayout::WordPiece, ModelLayout::Unigram] {
                let mut scaled = counts.clone();
                scale_to_limit(&mut scaled, form);
                let limit = if form == ModelLayout::Unigram { MAX_UNIGRAM_COUNT } else { MAX_PAIR_COUNT };
                prop_assert!(largest(&scaled, form) <= u128::from(limit));
                prop_assert_eq!(scaled.len(), counts.len());
            }
        }
    }
}
