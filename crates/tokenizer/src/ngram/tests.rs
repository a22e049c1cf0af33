//! The two sorts give what the formulas of the paper give, within any memory.

use super::{KneserNey, NgramCounts};
use model::{Context, Interrupt};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use testing::cases;

const BEGIN: i64 = -1;
const END: i64 = -2;

fn estimated(order: usize, memory: u64, documents: &[Vec<u32>]) -> (Vec<f64>, NgramCounts) {
    let mut model = KneserNey::new(order, &std::env::temp_dir(), memory).unwrap();
    for document in documents {
        model.add(document).unwrap();
    }
    model.perplexities(&Context::new()).unwrap()
}

/// The model of the paper, by maps of everything.
struct NaiveModel {
    order: usize,
    /// What Kneser-Ney counts, by n-gram.
    counts: BTreeMap<Vec<i64>, u64>,
    discounts: Vec<[f64; 3]>,
    fallback_orders: Vec<usize>,
}

impl NaiveModel {
    fn of(order: usize, sentences: &[Vec<i64>]) -> Self {
        let mut tokens: BTreeMap<Vec<i64>, u64> = BTreeMap::new();
        let mut before: BTreeMap<Vec<i64>, BTreeSet<i64>> = BTreeMap::new();
        for sentence in sentences {
            for end in 2..=sentence.len() {
                for length in 1..=order.min(end) {
                    let ngram = &sentence[end - length..end];
                    *tokens.entry(ngram.to_vec()).or_default() += 1;
                    before.entry(ngram[1..].to_vec()).or_default().insert(ngram[0]);
                }
            }
        }
        let counts = tokens.into_iter().map(|(ngram, count)| {
            let is_whole = ngram.len() == order || ngram[0] == BEGIN;
            let count = if is_whole { count } else { before[&ngram].len() as u64 };
            (ngram, count)
        });
        let counts: BTreeMap<Vec<i64>, u64> = counts.collect();
        let (mut discounts, mut fallback_orders) = (Vec::new(), Vec::new());
        for length in 1..=order {
            let with = |count: u64| {
                counts.iter().filter(|(ngram, of)| ngram.len() == length && **of == count).count()
                    as f64
            };
            let y = with(1) / (with(1) + 2.0 * with(2));
            let d = [1_u64, 2, 3].map(|c| c as f64 - (c + 1) as f64 * y * with(c + 1) / with(c));
            let is_estimated = (1..=3).all(|c| with(c) > 0.0)
                && d.iter().zip([1.0, 2.0, 3.0]).all(|(d, most)| *d >= 0.0 && *d <= most);
            if !is_estimated {
                fallback_orders.push(length);
            }
            discounts.push(if is_estimated { d } else { [0.5, 1.0, 1.5] });
        }
        Self { order, counts, discounts, fallback_orders }
    }

    fn of_length(&self, length: usize) -> usize {
        self.counts.keys().filter(|ngram| ngram.len() == length).count()
    }

    fn p(&self, word: i64, context: &[i64]) -> f64 {
        let length = context.len() + 1;
        let lower = || match context {
            [] => 1.0 / (self.of_length(1) + 1) as f64,
            [_, nearer @ ..] => self.p(word, nearer),
        };
        let taken = |count: u64| match count {
            0 => 0.0,
            count => self.discounts[length - 1][count.min(3) as usize - 1],
        };
        let followers = self
            .counts
            .iter()
            .filter(|(ngram, _)| ngram.len() == length && &ngram[..length - 1] == context);
        let followers: Vec<u64> = followers.map(|(_, count)| *count).collect();
        let total: u64 = followers.iter().sum();
        if total == 0 {
            return lower();
        }
        let weight = followers.iter().map(|count| taken(*count)).sum::<f64>() / total as f64;
        let mut ngram = context.to_vec();
        ngram.push(word);
        let count = self.counts.get(&ngram).copied().unwrap_or(0);
        (count as f64 - taken(count)) / total as f64 + weight * lower()
    }

    fn perplexity(&self, sentence: &[i64]) -> f64 {
        let nats: f64 = (1..sentence.len())
            .map(|at| {
                let first = (at + 1).saturating_sub(self.order);
                -self.p(sentence[at], &sentence[first..at]).ln()
            })
            .sum();
        (nats / (sentence.len() - 1) as f64).exp()
    }
}

fn sentence(ids: &[u32]) -> Vec<i64> {
    let ids = ids.iter().map(|id| i64::from(*id));
    std::iter::once(BEGIN).chain(ids).chain([END]).collect()
}

fn is_close(a: f64, b: f64) -> bool {
    (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-9 * b.abs()
}

/// Documents whose tokens follow one another by a habit, so that n-grams come again, and their counts are all kinds.
fn documents(seed: u64, documents: usize, tokens: usize, vocabulary: u64) -> Vec<Vec<u32>> {
    let mut state = seed;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    (0..documents)
        .map(|_| {
            let (mut last, length) = (0, draw(2 * tokens as u64));
            let next = (0..length).map(|_| {
                let most = 1 + draw(vocabulary);
                let spread = 1 + draw(most);
                last = (last * 3 + spread) % vocabulary;
                last as u32
            });
            next.collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(40)))]

    #[test]
    fn perplexities_are_those_of_the_formulas(
        order in KneserNey::ORDERS,
        ids in prop::collection::vec(prop::collection::vec(0_u32..6, 0..30), 1..12),
    ) {
        let sentences: Vec<_> = ids.iter().filter(|ids| !ids.is_empty()).map(|ids| sentence(ids)).collect();
        let naive = NaiveModel::of(order, &sentences);
        let (found, counts) = estimated(order, 1 << 20, &ids);
        prop_assert_eq!(counts.documents, sentences.len() as u64);
        prop_assert_eq!(counts.tokens, ids.iter().map(Vec::len).sum::<usize>() as u64);
        let ngrams: Vec<u64> = (1..=order).map(|length| naive.of_length(length) as u64).collect();
        prop_assert_eq!(&counts.ngrams, &ngrams);
        prop_assert_eq!(&counts.fallback_orders, &naive.fallback_orders);
        for (ids, found) in ids.iter().zip(found) {
            let expected = if ids.is_empty() { f64::NAN } else { naive.perplexity(&sentence(ids)) };
            prop_assert!(is_close(found, expected), "{found} for {expected}");
        }
    }

    #[test]
    fn probabilities_of_a_context_sum_to_one(
        order in KneserNey::ORDERS,
        ids in prop::collection::vec(prop::collection::vec(0_u32..5, 1..20), 1..8),
        context in prop::collection::vec(0_i64..5, 0..5),
    ) {
        // The judge is judged: with the end, and one word that no document has.
        let sentences: Vec<_> = ids.iter().map(|ids| sentence(ids)).collect();
        let naive = NaiveModel::of(order, &sentences);
        let context = &context[..context.len().min(order - 1)];
        let words: BTreeSet<i64> = sentences.iter().flatten().copied().filter(|word| *word != BEGIN).collect();
        let sum: f64 = words.iter().chain([&99]).map(|word| naive.p(*word, context)).sum();
        prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}

#[test]
fn discounts_of_enough_text_are_estimated() {
    let ids = documents(7, 60, 40, 30);
    let sentences: Vec<_> =
        ids.iter().filter(|ids| !ids.is_empty()).map(|ids| sentence(ids)).collect();
    let naive = NaiveModel::of(3, &sentences);
    assert!(!naive.fallback_orders.contains(&2) && !naive.fallback_orders.contains(&3));
    let (found, counts) = estimated(3, 1 << 20, &ids);
    assert_eq!(counts.fallback_orders, naive.fallback_orders);
    for (ours, theirs) in counts.discounts.iter().zip(&naive.discounts) {
        assert!(ours.iter().zip(theirs).all(|(a, b)| is_close(*a, *b)), "{ours:?} {theirs:?}");
    }
    for (ids, found) in ids.iter().zip(found).filter(|(ids, _)| !ids.is_empty()) {
        assert!(is_close(found, naive.perplexity(&sentence(ids))));
    }
}

/// What `lmplz --discount_fallback` of KenLM 0.3.0 estimates from these documents, and its module answers.
#[test]
fn perplexities_are_those_of_kenlm() {
    let ids = documents(11, 300, 40, 60);
    for (order, theirs) in [
        (2, [41.21485, 37.44231, 37.25889, 33.55082, 32.59702, 35.15867]),
        (3, [17.95914, 29.34149, 18.0347, 18.82261, 17.81796, 21.27961]),
        (5, [2.1729, 29.4524, 2.09314, 2.13525, 2.11166, 3.74229]),
    ] {
        let (ours, _) = estimated(order, 1 << 24, &ids);
        for (ours, theirs) in ours.iter().zip(theirs) {
            // It computes in single precision.
            assert!((ours - theirs).abs() < 1e-5 * theirs, "{ours} for {theirs}");
        }
    }
}

#[test]
fn memory_and_threads_change_no_bit() {
    let ids = documents(3, 1500, 60, 900);
    let bits = |memory: u64| {
        let (found, counts) = estimated(4, memory, &ids);
        (found.iter().map(|number| number.to_bits()).collect::<Vec<_>>(), counts)
    };
    let in_memory = bits(1 << 30);
    // Some hundred runs, and tapes that end in files.
    assert!(in_memory.1.tokens > 80_000);
    assert_eq!(bits(1 << 18), in_memory);
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one_thread.install(|| bits(1 << 21)), in_memory);
}

#[test]
fn an_order_there_is_not_is_refused() {
    for order in [0, 1, 7] {
        let error = KneserNey::new(order, &std::env::temp_dir(), 1 << 20).err().unwrap();
        assert!(error.to_string().contains("from 2 to 6"), "{error}");
    }
}

#[test]
fn documents_beyond_the_memory_are_refused() {
    let mut model = KneserNey::new(2, &std::env::temp_dir(), 480).unwrap();
    (0..10).for_each(|_| model.add(&[1, 2]).unwrap());
    let error = model.add(&[1, 2]).unwrap_err();
    assert!(error.to_string().ends_with("memory for 10"), "{error}");
    assert!(error.hint().is_some_and(|hint| format!("{hint:?}").contains("memory=")));
}

#[test]
fn an_interrupt_stops_an_estimate() {
    let interrupt = Interrupt::default();
    let mut model = KneserNey::new(2, &std::env::temp_dir(), 1 << 24).unwrap();
    (0..2000).for_each(|_| model.add(&[5; 40]).unwrap());
    interrupt.raise();
    let error = model.perplexities(&Context::new().with_interrupt(&interrupt)).unwrap_err();
    assert!(error.is_interrupt());
}
