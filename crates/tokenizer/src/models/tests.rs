//! Tests of BPE merging and of growth, against the stock encoder and the stock trainer.

use super::growth::GrownMerge;
use super::merges::MergeReplay;
use super::*;
use model::Context;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};
use tokenizers::Model;
use tokenizers::models::bpe::{BPE, BpeTrainer, Vocab};

type Table = BTreeMap<String, u64>;

/// Tokens by id, and merges (left, right, id) by rank.
struct Stock {
    tokens: Vec<String>,
    merges: Vec<(u32, u32, u32)>,
    model: BPE,
}

fn stock(table: &Table, vocab_size: usize, min_frequency: u64, max: Option<usize>) -> Stock {
    let words = table.iter().map(|(word, count)| (word.as_str().into(), *count)).collect();
    let trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(vocab_size)
        .min_frequency(min_frequency)
        .max_token_length(max)
        .build();
    let mut model = BPE::default();
    trainer.do_train(&words, &mut model).unwrap();
    let value = serde_json::to_value(&model).unwrap();
    let ids: HashMap<String, u32> = serde_json::from_value(value["vocab"].clone()).unwrap();
    let pairs: Vec<(String, String)> = serde_json::from_value(value["merges"].clone()).unwrap();
    let mut tokens = vec![String::new(); ids.len()];
    for (token, id) in &ids {
        tokens[*id as usize] = token.clone();
    }
    let merges = pairs
        .iter()
        .map(|(left, right)| (ids[left], ids[right], ids[&format!("{left}{right}")]))
        .collect();
    Stock { tokens, merges, model }
}

/// Grows `from` by the engine until `size` tokens; answers tokens, merges by rank, and whether an
/// old token was made by a further merge.
fn grown(table: &Table, from: &Stock, size: usize, min: u64, max: usize) -> (Stock, bool) {
    let mut tokens = from.tokens.clone();
    let mut words = CountedWords::new(1);
    for (word, count) in table {
        let encoded = from.model.tokenize(word).unwrap();
        let ids: Vec<u32> = encoded.into_iter().map(|token| token.id).collect();
        words.push(&ids, &[*count]);
    }
    let mut merges = MergeTable::new(from.merges.iter().copied());
    let (next_id, new_tokens) = (tokens.len() as u32, (size - tokens.len()) as u32);
    let options = GrowthOptions { new_tokens, min_frequency: min, max_token_length: None };
    let added = grow(&words, &mut merges, next_id, options, |left, right| {
        let (left, right) = (&tokens[left as usize], &tokens[right as usize]);
        let token = format!("{left}{right}");
        let is_of_two_letters = left.chars().count() + right.chars().count() == 2;
        if !is_of_two_letters && token.chars().count() >= max {
            return PairOutcome::Never;
        }
        match tokens.iter().position(|known| *known == token) {
            Some(id) => PairOutcome::Existing(id as u32),
            None => {
                tokens.push(token);
                PairOutcome::New
            }
        }
    });
    let again = added.iter().any(|merge| !merge.is_new);
    let new = added.iter().map(|merge| (merge.left, merge.right, merge.id));
    let merges = from.merges.iter().copied().chain(new).collect();
    (Stock { tokens, merges, model: BPE::default() }, again)
}

fn tables() -> impl Strategy<Value = Table> {
    let dense = prop::collection::btree_map("[ab]{1,14}", 1_u64..6, 1..60);
    let wide = prop::collection::btree_map("[a-e]{1,9}", 1_u64..60, 1..40);
    prop_oneof![dense, wide]
}

/// A list of merges as no trainer gives it: ranks in any order, tokens made in several ways.
/// Symbols are spans of the alphabet `abab..`, so that pairs often spell the same.
fn strange_merges() -> impl Strategy<Value = Vec<(u32, u32, u32)>> {
    prop::collection::vec((0_u32..8, 0_u32..8, 0_u32..8), 0..14)
}

fn strange_words() -> impl Strategy<Value = Vec<(Vec<u32>, [u64; 2])>> {
    prop::collection::vec((prop::collection::vec(0_u32..5, 0..12), [0_u64..9, 0_u64..9]), 0..20)
}

/// The rule, read off its definition.
fn encode(symbols: &[u32], merges: &[(u32, u32, u32)]) -> Vec<u32> {
    let mut ranks = HashMap::new();
    for (rank, (left, right, id)) in merges.iter().enumerate() {
        ranks.insert((*left, *right), (rank, *id));
    }
    let mut symbols = symbols.to_vec();
    loop {
        let best = (1..symbols.len())
            .filter_map(|at| {
                ranks.get(&(symbols[at - 1], symbols[at])).map(|(rank, id)| (*rank, at, *id))
            })
            .min();
        let Some((_, at, id)) = best else { return symbols };
        symbols[at - 1] = id;
        symbols.remove(at);
    }
}

/// Grows as [`grow`] does, counting everything again for each merge.
fn grow_slowly(
    words: &CountedWords,
    merges: &mut Vec<(u32, u32, u32)>,
    first_id: u32,
    options: GrowthOptions,
    join: impl Fn(u32, u32, u32) -> PairOutcome,
) -> Vec<GrownMerge> {
    let (mut added, mut next_id, mut never) = (Vec::new(), first_id, Vec::new());
    while next_id - first_id < options.new_tokens {
        let mut counts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (word, count) in words.iter() {
            for pair in encode(word, merges).windows(2) {
                *counts.entry((pair[0], pair[1])).or_default() += count.iter().sum::<u64>();
            }
        }
        counts.retain(|pair, count| *count > 0 && !never.contains(pair));
        let best =
            counts.into_iter().max_by_key(|(pair, count)| (*count, std::cmp::Reverse(*pair)));
        let Some(((left, right), count)) = best else { break };
        if count < options.min_frequency {
            break;
        }
        let (id, is_new) = match join(left, right, next_id) {
            PairOutcome::Never => {
                never.push((left, right));
                continue;
            }
            PairOutcome::Existing(id) => (id, false),
            PairOutcome::New => (next_id, true),
        };
        next_id += u32::from(is_new);
        merges.push((left, right, id));
        added.push(GrownMerge { left, right, id, count, is_new });
    }
    added
}

/// Merges as [`merge_by_likelihood`] does, counting everything again for each merge.
fn merge_by_likelihood_slowly(
    words: &CountedWords,
    first_id: u32,
    options: GrowthOptions,
    join: impl Fn(u32, u32) -> PairOutcome,
) -> Vec<GrownMerge> {
    let mut words: Vec<(Vec<u32>, u64)> =
        words.iter().map(|(word, counts)| (word.to_vec(), counts.iter().sum())).collect();
    let (mut added, mut next_id, mut never) = (Vec::new(), first_id, Vec::new());
    while next_id - first_id < options.new_tokens {
        let mut symbols: BTreeMap<u32, u128> = BTreeMap::new();
        let mut pairs: BTreeMap<(u32, u32), u128> = BTreeMap::new();
        for (word, count) in &words {
            word.iter()
                .for_each(|symbol| *symbols.entry(*symbol).or_default() += u128::from(*count));
            for pair in word.windows(2) {
                *pairs.entry((pair[0], pair[1])).or_default() += u128::from(*count);
            }
        }
        pairs.retain(|pair, count| {
            *count >= u128::from(options.min_frequency.max(1)) && !never.contains(pair)
        });
        // By fractions: a/b > c/d where ad > cb; then by count, then the smaller pair.
        let product = |(left, right): &(u32, u32)| symbols[left] * symbols[right];
        let best = pairs.iter().max_by(|(one, count), (other, than)| {
            let order = (*count * product(other)).cmp(&(*than * product(one)));
            order.then(count.cmp(than)).then(other.cmp(one))
        });
        let Some((&(left, right), &count)) = best else { break };
        let (id, is_new) = match join(left, right) {
            PairOutcome::Never => {
                never.push((left, right));
                continue;
            }
            PairOutcome::Existing(id) => (id, false),
            PairOutcome::New => (next_id, true),
        };
        next_id += u32::from(is_new);
        words.iter_mut().for_each(|(word, _)| *word = joined(word, left, right, id));
        added.push(GrownMerge { left, right, id, count: count.try_into().unwrap(), is_new });
    }
    added
}

/// Every (left, right) as one symbol, from the left.
fn joined(word: &[u32], left: u32, right: u32, id: u32) -> Vec<u32> {
    match word {
        [a, b, rest @ ..] if (*a, *b) == (left, right) => {
            [vec![id], joined(rest, left, right, id)].concat()
        }
        [a, rest @ ..] => [vec![*a], joined(rest, left, right, id)].concat(),
        [] => Vec::new(),
    }
}

/// Tokens of a group that the first merges leave.
fn left(words: &CountedWords, replayed: &MergeReplay, group: usize, merges: usize) -> u64 {
    let joined: u64 = (0..merges).map(|merge| replayed.joined(merge).unwrap()[group]).sum();
    words.mass()[group] - joined
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(400)))]

    #[test]
    fn growing_gives_what_the_stock_trainer_gives(
        table in tables(), first in 4_usize..60, more in 0_usize..60, min in 0_u64..4,
        max in prop::option::of(3_usize..9),
    ) {
        let small = stock(&table, first, min, max);
        let large = stock(&table, first + more, min, max);
        let size = (first + more).max(small.tokens.len());
        let (ours, again) = grown(&table, &small, size, min, max.unwrap_or(usize::MAX));
        prop_assert!(!again, "training makes no token twice");
        prop_assert_eq!(ours.tokens, large.tokens);
        prop_assert_eq!(ours.merges, large.merges);
    }

    #[test]
    fn a_replay_counts_the_tokens_that_encoding_gives(table in tables(), size in 4_usize..90) {
        let trained = stock(&table, size, 0, None);
        let ids: HashMap<&String, u32> = trained.tokens.iter().zip(0_u32..).collect();
        let mut words = CountedWords::new(1);
        for (word, count) in &table {
            let symbols: Vec<u32> = word.chars().map(|c| ids[&c.to_string()]).collect();
            words.push(&symbols, &[*count]);
        }
        let replayed = replay(&words, &MergeTable::new(trained.merges.iter().copied()));
        let spelled = |id: u32| trained.tokens[id as usize].clone();
        for cut in 0..=trained.merges.len() {
            let pairs = trained.merges[..cut].iter().map(|(l, r, _)| (spelled(*l), spelled(*r)));
            let vocab: Vocab = trained.tokens.iter().cloned().zip(0..).collect();
            let model = BPE::builder().vocab_and_merges(vocab, pairs.collect()).build().unwrap();
            let tokens: u64 = table
                .iter()
                .map(|(word, count)| model.tokenize(word).unwrap().len() as u64 * count)
                .sum();
            prop_assert_eq!(left(&words, &replayed, 0, cut), tokens, "with {} merges", cut);
        }
    }

    #[test]
    fn strange_merges_are_replayed_for_every_size(
        words in strange_words(), merges in strange_merges(),
    ) {
        let table = MergeTable::new(merges.iter().copied());
        let mut packed = CountedWords::new(2);
        for (word, counts) in &words {
            packed.push(word, counts);
            let mut symbols = word.clone();
            table.apply(&mut symbols, &mut MergeScratch::default(), |_| ());
            prop_assert_eq!(symbols, encode(word, &merges));
        }
        let replayed = replay(&packed, &table);
        // Where a pair is given twice the last rank counts, so only lists without such have prefixes.
        let mut pairs: Vec<_> = merges.iter().map(|(l, r, _)| (l, r)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let first = if pairs.len() == merges.len() { 0 } else { merges.len() };
        for cut in first..=merges.len() {
            for group in 0..2 {
                let tokens: u64 = words
                    .iter()
                    .map(|(word, counts)| {
                        encode(word, &merges[..cut]).len() as u64 * counts[group]
                    })
                    .sum();
                prop_assert_eq!(left(&packed, &replayed, group, cut), tokens);
            }
        }
    }

    #[test]
    fn growth_keeps_words_as_an_encoder_has_them(
        words in strange_words(), merges in strange_merges(), new_tokens in 0_u32..12,
        min_frequency in 0_u64..8,
    ) {
        let mut packed = CountedWords::new(2);
        for (word, counts) in &words {
            packed.push(word, counts);
        }
        // Some pairs make what exists, some nothing.
        let join = |left: u32, right: u32| match (left * 7 + right * 3) % 5 {
            0 => PairOutcome::Existing((left + right) % 8),
            1 => PairOutcome::Never,
            _ => PairOutcome::New,
        };
        let options = GrowthOptions { new_tokens, min_frequency, max_token_length: None };
        let mut slow = merges.clone();
        let expected = grow_slowly(&packed, &mut slow, 8, options, |left, right, _| join(left, right));
        let mut table = MergeTable::new(merges.iter().copied());
        let added = grow(&packed, &mut table, 8, options, join);
        prop_assert_eq!(&added, &expected);
        prop_assert_eq!(table.len(), slow.len());
    }

    #[test]
    fn merging_by_likelihood_gives_what_counting_again_gives(
        words in strange_words(), new_tokens in 0_u32..16, min_frequency in 0_u64..8,
    ) {
        let mut packed = CountedWords::new(2);
        for (word, counts) in &words {
            packed.push(word, counts);
        }
        // Some pairs make what exists, though never one of their own parts, and some nothing.
        let join = |left: u32, right: u32| match (left * 7 + right * 3) % 9 {
            0 if left.max(right) < 5 => PairOutcome::Existing(left.max(right) + 1),
            1 => PairOutcome::Never,
            _ => PairOutcome::New,
        };
        let options = GrowthOptions { new_tokens, min_frequency, max_token_length: None };
        let expected = merge_by_likelihood_slowly(&packed, 8, options, join);
        let added = merge_by_likelihood(&packed, 8, options, &Context::new(), join).unwrap();
        prop_assert_eq!(added, expected);
    }
}

/// The products of such counts have more than 128 bits.
#[test]
fn scores_of_large_counts_are_compared_exactly() {
    let large = 1 << 62;
    let mut words = CountedWords::new(1);
    // (0, 1) has large / large^2, and (2, 3) one less above and one less in each part below.
    words.push(&[0, 1], &[large]);
    words.push(&[2, 3], &[large - 1]);
    words.push(&[4, 5], &[large - 1]);
    words.push(&[5], &[1]);
    let options = GrowthOptions { new_tokens: 3, min_frequency: 2, max_token_length: None };
    let added =
        merge_by_likelihood(&words, 6, options, &Context::new(), |_, _| PairOutcome::New).unwrap();
    let order: Vec<_> = added.iter().map(|merge| (merge.left, merge.count)).collect();
    // (4, 5) has 1 / large as (0, 1) has, and the smaller count.
    assert_eq!(order, [(2, large - 1), (0, large), (4, large - 1)]);
}

#[test]
fn a_run_of_one_symbol_is_merged_from_the_left() {
    let table = MergeTable::new([(0, 0, 1), (1, 1, 2), (1, 0, 3)]);
    for length in 0..12 {
        let mut symbols = vec![0; length];
        table.apply(&mut symbols, &mut MergeScratch::default(), |_| ());
        let expected: Vec<u32> = std::iter::repeat_n(2, length / 4)
            .chain([[].as_slice(), &[0], &[1], &[3]][length % 4].iter().copied())
            .collect();
        assert_eq!(symbols, expected);
    }
}

#[test]
fn counts_beyond_32_bits_keep_their_order() {
    let mut words = CountedWords::new(1);
    words.push(&[0, 1], &[9_000_000_000]);
    words.push(&[1, 2], &[4_000_000_000_000]);
    let options = GrowthOptions { new_tokens: 2, min_frequency: 2, max_token_length: None };
    let added = grow(&words, &mut MergeTable::default(), 3, options, |_, _| PairOutcome::New);
    assert_eq!(
        added.iter().map(|merge| (merge.left, merge.count)).collect::<Vec<_>>(),
        [(1, 4_000_000_000_000), (0, 9_000_000_000)]
    );
}
