//! Tests of segmentations: against SentencePiece's answers, against all segmentations of short texts, and of the laws
//! of draws.

use super::{ScoredSegmentation, Segmentation};
use crate::train::ModelKind;
use crate::{PretokenCounter, Tokenizer, TrainOptions, pretokenizer_file};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::Context;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Small models, texts, their twelve best segmentations by sentencepiece 0.2.3 with scores, and for some powers the
/// entropy by sentencepiece 0.2.1, the last release whose Python package computes it.
const VECTORS: &str = include_str!("vectors.json");
/// Its sums are of 32 bits.
const ROUNDED: f64 = 1e-4;

#[derive(Deserialize)]
struct VectorModel {
    name: String,
    model: String,
    rows: Vec<VectorRow>,
}

#[derive(Deserialize)]
struct VectorRow {
    text: String,
    best: Vec<(Vec<u32>, f64)>,
    entropies: Vec<(f64, f64)>,
}

fn ids(segmentation: &ScoredSegmentation) -> Vec<u32> {
    segmentation.tokens.iter().map(|token| token.id).collect()
}

#[test]
fn best_segmentations_and_entropies_are_those_of_sentencepiece() {
    let models: Vec<VectorModel> = serde_json::from_str(VECTORS).expect("parses");
    let mut compared = 0;
    for of in models {
        let bytes = BASE64_STANDARD.decode(&of.model).expect("is base64");
        let model = Tokenizer::load(&bytes, &[]).expect("loads");
        for VectorRow { text, best, entropies } in of.rows {
            let what = format!("{}: {text:?}", of.name);
            let found = model.best_segmentations(&text, false, 12).expect("segments");
            assert_eq!(found.segmentations.len(), best.len(), "{what}");
            let last = best.last().map_or(0.0, |(_, score)| *score);
            for (own, (theirs, score)) in found.segmentations.iter().zip(&best) {
                assert!((own.log_probability - score).abs() < ROUNDED, "{what}");
                // Which of two alike comes first is the heap's affair there, and which of the last is there at all.
                let is_same = |(ids_of, other): &(Vec<u32>, f64)| {
                    (other - score).abs() < ROUNDED && *ids_of == ids(own)
                };
                let is_last = (score - last).abs() < ROUNDED && best.len() == 12;
                assert!(is_last || best.iter().any(is_same), "{what}: {theirs:?} {own:?}");
                compared += usize::from(*theirs == ids(own));
            }
            for (alpha, entropy) in entropies {
                let own = model.segmentation_entropy(&text, false, alpha).expect("measures");
                assert!((own - entropy).abs() < ROUNDED, "{what}: {own} is not {entropy}");
            }
        }
    }
    assert!(compared > 200, "{compared} stand in the same place");
}

/// A Unigram that cuts at spaces.
fn unigram(pieces: &[(&str, f64)]) -> Tokenizer {
    let vocab: Vec<Value> =
        [("<unk>", 0.0)].iter().chain(pieces).map(|(text, score)| json!([text, score])).collect();
    library(json!({ "type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": vocab }))
}

fn library(model: Value) -> Tokenizer {
    let file = json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": null, "post_processor": null,
        "added_tokens": [{ "id": 0, "content": "<unk>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true }],
        "pre_tokenizer": { "type": "WhitespaceSplit" }, "decoder": null, "model": model
    });
    Tokenizer::load_proven(file.to_string().as_bytes(), false).expect("loads")
}

/// All segmentations of a word, each as lengths, pieces and score.
fn naive(word: &str, pieces: &[(&str, f64)], unknown: f64) -> Vec<(Vec<usize>, Vec<u32>, f64)> {
    let Some(first) = word.chars().next().map(char::len_utf8) else {
        return vec![(Vec::new(), Vec::new(), 0.0)];
    };
    let mut arcs: Vec<(usize, u32, f64)> = (1..)
        .zip(pieces)
        .filter(|(_, (piece, _))| word.starts_with(piece))
        .map(|(id, (piece, score))| (piece.len(), id, *score))
        .collect();
    if arcs.iter().all(|(length, ..)| *length != first) {
        arcs.push((first, 0, unknown));
    }
    let mut all = Vec::new();
    for (length, id, score) in arcs {
        for (lengths, ids, rest) in naive(&word[length..], pieces, unknown) {
            let is_run = id == 0 && ids.first() == Some(&0);
            all.push((
                [vec![length], lengths].concat(),
                if is_run { ids } else { [vec![id], ids].concat() },
                score + rest,
            ));
        }
    }
    all
}

type NaiveSegmentation = (f64, Vec<usize>, Vec<u32>);

/// All segmentations of a text, the best first.
fn naive_text(text: &str, pieces: &[(&str, f64)], unknown: f64) -> Vec<NaiveSegmentation> {
    let mut all: Vec<NaiveSegmentation> = vec![(0.0, Vec::new(), Vec::new())];
    for word in text.split_whitespace() {
        let of_word = naive(word, pieces, unknown);
        all = all
            .into_iter()
            .flat_map(|(score, lengths, ids)| {
                let joined = |(more, next, sum): &(Vec<usize>, Vec<u32>, f64)| {
                    let lengths = [lengths.clone(), more.clone()].concat();
                    (score + sum, lengths, [ids.clone(), next.clone()].concat())
                };
                of_word.iter().map(joined).collect::<Vec<_>>()
            })
            .collect();
    }
    let from_end = |lengths: &[usize]| lengths.iter().rev().copied().collect::<Vec<_>>();
    all.sort_by(|(a, of_a, _), (b, of_b, _)| {
        b.total_cmp(a).then_with(|| from_end(of_b).cmp(&from_end(of_a)))
    });
    all
}

/// Texts of a few words, with characters that no piece has.
const WORDS: &str = "[abx語]{1,5}( [abx]{1,4}){0,2}";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(48)))]
    /// Halves are exact in 64 bits, so that what is alike is exactly alike.
    #[test]
    fn best_segmentations_are_the_first_of_all_in_order(
        text in WORDS, halves in proptest::collection::vec(0_u8..9, 6), count in 1_usize..1025
    ) {
        let spelled = ["a", "b", "ab", "ba", "aba", "xb"];
        let scores = halves.iter().map(|halves| -0.5 * f64::from(*halves + 1));
        let pieces: Vec<(&str, f64)> = spelled.into_iter().zip(scores).collect();
        let unknown = pieces.iter().map(|(_, score)| *score).fold(0.0, f64::min) - 10.0;
        let all = naive_text(&text, &pieces, unknown);
        let model = unigram(&pieces);
        let found = model.best_segmentations(&text, false, count).expect("segments");
        prop_assert_eq!(found.segmentations.len(), all.len().min(count));
        let worst = found.segmentations.last().map_or(0.0, |last| last.log_probability);
        for (own, (score, _, of)) in found.segmentations.iter().zip(&all) {
            prop_assert_eq!(own.log_probability, *score);
            prop_assert!(*score == worst && all.len() > count || &ids(own) == of, "{:?} is not {:?}", own, of);
            let spelled: String = own.tokens.iter().map(|token| token.text.as_str()).collect();
            prop_assert_eq!(spelled, text.replace(' ', ""));
        }
        let sum: f64 = all.iter().map(|(score, ..)| score.exp()).sum();
        prop_assert!((found.log_likelihood - sum.ln()).abs() < 1e-9);
        let shares = all.iter().map(|(score, ..)| score.exp() / sum);
        let entropy: f64 = shares.map(|share| -share * share.ln()).sum();
        prop_assert!((found.entropy - entropy).abs() < 1e-9);
        prop_assert_eq!(model.segmentation_entropy(&text, false, 1.0).expect("measures"), found.entropy);
        let uniform = model.segmentation_entropy(&text, false, 0.0).expect("measures");
        prop_assert!((uniform - (all.len() as f64).ln()).abs() < 1e-9);
        let mut best = Vec::new();
        model.encoder().encode(&text, &mut best).expect("encodes");
        prop_assert_eq!(&ids(&found.segmentations[0]), &best, "the first is what is stored");
    }
}

#[test]
fn long_texts_have_best_segmentations_by_their_parts() {
    let model = unigram(&[("a", -1.0), ("b", -2.0), ("ab", -3.5), ("ba", -3.25)]);
    let text = "ab ba aab ".repeat(20_000);
    let found = model.best_segmentations(&text, false, 3).expect("segments");
    let costs: Vec<f64> = found
        .segmentations
        .iter()
        .map(|one| found.segmentations[0].log_probability - one.log_probability)
        .collect();
    assert_eq!(costs, [0.0, 0.25, 0.25]);
    // Together they would have more tokens than are allowed.
    let error = model.best_segmentations(&text, false, 1024).expect_err("must fail");
    assert!(error.to_string().contains("the 1024 best segmentations of a text of 200000 bytes"));
    assert!(error.hint().is_some());
    // A lattice without a cut, in which very many paths are alike.
    let error = model.best_segmentations(&"ab".repeat(40_000), false, 1000).expect_err("must fail");
    assert!(error.to_string().contains("take too much memory"), "{error}");
}

/// Fails for frequencies that chance gives once in a thousand times (Wilson and Hilferty's approximation).
fn assert_drawn(what: &str, counts: &BTreeMap<Vec<u32>, u64>, expected: &BTreeMap<Vec<u32>, f64>) {
    let draws: u64 = counts.values().sum();
    assert!(counts.keys().all(|drawn| expected.contains_key(drawn)), "{what}: {counts:?}");
    let mut chi = 0.0;
    for (one, share) in expected {
        let expected = share * draws as f64;
        assert!(expected > 4.0, "{what}: too rare to be judged");
        chi += (counts.get(one).copied().unwrap_or(0) as f64 - expected).powi(2) / expected;
    }
    let ninths = 2.0 / (9.0 * (expected.len() as f64 - 1.0));
    let most = (expected.len() as f64 - 1.0) * (1.0 - ninths + 3.09 * ninths.sqrt()).powi(3);
    assert!(chi < most, "{what}: chi-square {chi} is not below {most}");
}

fn drawn(model: &Tokenizer, text: &str, segmentation: Segmentation) -> Vec<u32> {
    let mut ids = vec![7];
    model.encode_segmentation(text, false, segmentation, &mut ids).expect("draws");
    assert_eq!(ids.remove(0), 7, "what is there stays");
    ids
}

const SEEDS: u64 = 10_000;

#[test]
fn draws_of_a_unigram_are_as_frequent_as_they_are_probable() {
    let model = unigram(&[("a", -1.0), ("b", -1.5), ("ab", -2.0), ("ba", -2.25), ("aba", -3.125)]);
    for (text, alpha) in [("abab ab", 1.0), ("abab ab", 0.3), ("aba", 2.0), ("abax ba", 0.0)] {
        let all = model.best_segmentations(text, false, 1024).expect("segments").segmentations;
        let weights = all.iter().map(|one| (ids(one), (alpha * one.log_probability).exp()));
        let mut expected: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for (ids, weight) in weights {
            *expected.entry(ids).or_default() += weight;
        }
        let sum: f64 = expected.values().sum();
        expected.values_mut().for_each(|weight| *weight /= sum);
        let mut counts = BTreeMap::new();
        for seed in 0..SEEDS {
            *counts
                .entry(drawn(&model, text, Segmentation::Sample { alpha, seed }))
                .or_default() += 1;
        }
        assert_drawn(&format!("{text} at {alpha}"), &counts, &expected);
        let best = drawn(&model, text, Segmentation::Best);
        for seed in 0..100 {
            let draw = Segmentation::Sample { alpha: 1e6, seed };
            assert_eq!(drawn(&model, text, draw), best, "a large power draws the best one");
        }
    }
}

/// The probabilities of what dropout makes of a word, by its definition: the first merge that is not dropped is made.
fn dropout_shares(
    symbols: &[u32],
    merges: &[(u32, u32, u32)],
    dropout: f64,
    share: f64,
    out: &mut BTreeMap<Vec<u32>, f64>,
) {
    let mut candidates: Vec<(usize, usize, u32)> = Vec::new();
    for (at, pair) in symbols.windows(2).enumerate() {
        let rank = merges.iter().position(|merge| [merge.0, merge.1] == *pair);
        candidates.extend(rank.map(|rank| (rank, at, merges[rank].2)));
    }
    candidates.sort_unstable();
    let mut left = share;
    for (_, at, id) in candidates {
        let mut merged = symbols.to_vec();
        merged.splice(at..at + 2, [id]);
        dropout_shares(&merged, merges, dropout, left * (1.0 - dropout), out);
        left *= dropout;
    }
    *out.entry(symbols.to_vec()).or_default() += left;
}

#[test]
fn draws_of_a_bpe_drop_merges_as_the_article_has_it() {
    let vocab = json!({ "<unk>": 0, "a": 1, "b": 2, "ab": 3, "aba": 4, "abab": 5, "ba": 6 });
    let merges = [("a", "b"), ("ab", "a"), ("ab", "ab"), ("b", "a")];
    let numbers = [(1, 2, 3), (3, 1, 4), (3, 3, 5), (2, 1, 6)];
    let model = library(json!({ "type": "BPE", "dropout": null, "unk_token": "<unk>",
        "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
        "byte_fallback": false, "vocab": vocab, "merges": merges }));
    for (text, symbols, probability) in
        [("abab", vec![1, 2, 1, 2], 0.4), ("babab", vec![2, 1, 2, 1, 2], 0.6)]
    {
        let (mut expected, mut counts) = (BTreeMap::new(), BTreeMap::new());
        dropout_shares(&symbols, &numbers, probability, 1.0, &mut expected);
        for seed in 0..SEEDS {
            let draw = Segmentation::Dropout { probability, seed };
            *counts.entry(drawn(&model, text, draw)).or_default() += 1;
        }
        assert_drawn(text, &counts, &expected);
        assert_eq!(
            drawn(&model, text, Segmentation::Dropout { probability: 1.0, seed: 3 }),
            symbols
        );
        let none = Segmentation::Dropout { probability: 0.0, seed: 3 };
        assert_eq!(drawn(&model, text, none), drawn(&model, text, Segmentation::Best));
    }
}

/// Tokenizers trained here, their `.model` forms, and a Unigram whose added token stands in texts.
static TOKENIZERS: LazyLock<Vec<(&str, Tokenizer)>> =
    LazyLock::new(|| FILES.iter().map(|(name, file)| (*name, loaded(file))).collect());

/// The same, each of which draws.
static DRAWING: LazyLock<Vec<(Segmentation, Tokenizer)>> = LazyLock::new(|| {
    let drawing = FILES.iter().map(|(name, file)| {
        let draw = match *name {
            "unigram" => Segmentation::Sample { alpha: 0.3, seed: 7 },
            _ => Segmentation::Dropout { probability: 0.3, seed: 7 },
        };
        (draw, loaded(file).with_segmentation(draw))
    });
    drawing.collect()
});

fn loaded(file: &[u8]) -> Tokenizer {
    let is_json = file.starts_with(b"{");
    if is_json { Tokenizer::load_proven(file, false) } else { Tokenizer::load(file, &[]) }
        .expect("loads")
}

static FILES: LazyLock<Vec<(&str, Vec<u8>)>> = LazyLock::new(|| {
    let mut all = Vec::new();
    for (name, model) in [("unigram", ModelKind::Unigram), ("bpe", ModelKind::Bpe)] {
        let options =
            TrainOptions { model, vocab_size: 420, byte_fallback: true, ..TrainOptions::default() };
        let json = pretokenizer_file(&options).expect("pipeline");
        let mut counter =
            PretokenCounter::new(&json, 1, PretokenCounter::DEFAULT_LIMIT).expect("new");
        for text in TEXTS {
            counter.add_text(0, text).expect("counts");
        }
        let trained =
            crate::train(&counter.finish(), &["all".to_owned()], &options, &Context::new());
        let json = trained.expect("trains").json;
        let model = crate::to_sentencepiece(&json).expect("is a model").bytes;
        let mut file: Value = serde_json::from_slice(&json).expect("parses");
        let added = file["added_tokens"].as_array_mut().expect("is a list");
        added.push(json!({ "id": 420, "content": "<tool>", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": false }));
        all.push((name, file.to_string().into_bytes()));
        all.push((name, model));
    }
    let vectors: Vec<VectorModel> = serde_json::from_str(VECTORS).expect("parses");
    for of in vectors.iter().filter(|of| of.name != "plain") {
        all.push(("unigram", BASE64_STANDARD.decode(&of.model).expect("is base64")));
    }
    all
});

const TEXTS: [&str; 4] = [
    "The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's the lazy dog.",
    "Übergröße, naïve café, die Größe der Straße — und noch größere Straßen.",
    "1234 12345 123456 3.14159 2.71828 1,000,000",
    "你好，世界。你好，朋友。世界很大。",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    #[test]
    fn draws_decode_to_the_text_of_the_best_and_keep_specials(
        parts in proptest::collection::vec(
            prop_oneof!["[a-zé ]{1,12}", "[你好語👍]{1,3}", Just("<tool>".to_owned()),
                Just("<|endoftext|>".to_owned()), Just("<|user|>".to_owned()), Just("xyz".to_owned())], 0..6),
        seed: u64, share in 0.0f64..1.0, specials: bool
    ) {
        let text = parts.concat();
        for (kind, model) in TOKENIZERS.iter() {
            let draw = match *kind {
                "unigram" => Segmentation::Sample { alpha: share, seed },
                _ => Segmentation::Dropout { probability: share, seed },
            };
            let encoded = |segmentation| {
                let mut ids = Vec::new();
                model.encode_segmentation(&text, specials, segmentation, &mut ids).expect("encodes");
                ids
            };
            let (best, drawn) = (encoded(Segmentation::Best), encoded(draw));
            prop_assert_eq!(&drawn, &encoded(draw), "a draw is a function of text and seed");
            let decoded = |ids: &[u32]| model.decode(ids).expect("decodes");
            prop_assert_eq!(decoded(&best), decoded(&drawn));
            let added = |ids: &[u32]| -> Vec<u32> {
                let of: Vec<u32> = model.vocabulary().added().map(|(id, ..)| id).collect();
                ids.iter().copied().filter(|id| of.contains(id)).collect()
            };
            prop_assert_eq!(added(&best), added(&drawn));
            let pieces = model.segmentation_pieces(&text, specials, draw).expect("encodes");
            prop_assert_eq!(pieces.iter().map(|piece| piece.id).collect::<Vec<_>>(), drawn);
            // As in SentencePiece, some of the n-best have the characters of a user symbol in its place.
            if *kind == "unigram" && !text.contains("<|user|>") {
                let found = model.best_segmentations(&text, specials, 4).expect("segments");
                for one in &found.segmentations {
                    prop_assert_eq!(added(&ids(one)), added(&best));
                    prop_assert_eq!(decoded(&ids(one)), decoded(&best));
                }
            }
        }
    }
}

/// The bytes of a text that its tokens stand for.
fn covered(offsets: &[(u32, u32)]) -> BTreeSet<u32> {
    offsets.iter().flat_map(|(start, end)| *start..*end).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    #[test]
    fn a_drawing_tokenizer_gives_ids_and_places_of_its_draws(
        parts in proptest::collection::vec(
            prop_oneof!["[a-zé ]{1,12}", "[你好語👍]{1,3}", Just("<tool>".to_owned()),
                Just("<|endoftext|>".to_owned()), Just("<|user|>".to_owned()), Just("xyz".to_owned())], 0..6),
        specials: bool
    ) {
        let text = parts.concat();
        for ((draw, drawing), (_, best)) in DRAWING.iter().zip(TOKENIZERS.iter()) {
            let of_draw = |specials| {
                let mut ids = Vec::new();
                best.encode_segmentation(&text, specials, *draw, &mut ids).expect("encodes");
                ids
            };
            let mut ids = vec![7];
            drawing.encoder().encode(&text, &mut ids).expect("encodes");
            prop_assert_eq!(&ids[1..], &of_draw(false));
            let (ids, offsets) =
                drawing.encoder().encode_with_offsets(&text, specials).expect("encodes");
            prop_assert_eq!(&ids, &of_draw(specials));
            let (_, of_best) = best.encode_with_offsets(&text, specials).expect("encodes");
            prop_assert_eq!(ids.len(), offsets.len());
            prop_assert!(offsets.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1));
            prop_assert_eq!(covered(&offsets), covered(&of_best), "{:?}", offsets);
        }
    }
}

#[test]
fn the_seed_of_a_pass_is_the_hash_of_its_number() {
    let sample = Segmentation::Sample { alpha: 0.5, seed: 7 };
    let seeds = [0_u32, 1].map(|pass| {
        let Segmentation::Sample { alpha: 0.5, seed } = sample.of_pass(pass) else { panic!() };
        assert_eq!(seed, xxhash_rust::xxh3::xxh3_64_with_seed(&pass.to_le_bytes(), 7));
        seed
    });
    // Those of the package `xxhash`.
    assert_eq!(seeds, [14_269_266_266_311_360_037, 15_829_120_202_471_193_548]);
    assert_eq!(Segmentation::Best.of_pass(3), Segmentation::Best);
    for (of, word) in [
        (sample, "sample-0.5-7-3"),
        (
            Segmentation::Dropout { probability: 1e-7, seed: u64::MAX },
            "dropout-0.0000001-18446744073709551615-3",
        ),
    ] {
        assert_eq!(of.pass_name(3), word);
        assert_eq!(Segmentation::of_pass_named(word), Some(of.of_pass(3)));
    }
    for word in
        ["", "best-3", "sample-0.5-7", "sample-0.50-7-3", "sample-0.5-7-3-1", "sample-x-7-3"]
    {
        assert_eq!(Segmentation::of_pass_named(word), None, "{word}");
    }
}

#[test]
fn draws_are_the_same_on_all_machines_and_threads() {
    let model = unigram(&[("a", -1.0), ("b", -1.5), ("ab", -2.0), ("ba", -2.25), ("aba", -3.0)]);
    let draw = |seed| drawn(&model, "ababa baba", Segmentation::Sample { alpha: 0.5, seed });
    let here: Vec<Vec<u32>> = (0..3).map(draw).collect();
    let there = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).rev().map(|seed| scope.spawn(move || draw(seed))).collect();
        threads.into_iter().rev().map(|thread| thread.join().expect("draws")).collect::<Vec<_>>()
    });
    assert_eq!(here, there);
    assert_eq!(here, GOLDEN_DRAWS.map(|ids: &[u32]| ids.to_vec()));
}

/// The keys are those of the package `xxhash`.
const GOLDEN_DRAWS: [&[u32]; 3] =
    [&[5, 2, 1, 2, 1, 2, 1], &[1, 2, 5, 4, 4], &[1, 2, 1, 4, 2, 3, 1]];

#[test]
fn models_without_probabilities_are_refused_with_the_way_out() {
    let word_piece = library(json!({ "type": "WordPiece", "unk_token": "<unk>",
        "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": { "<unk>": 0, "a": 1, "##b": 2 } }));
    let of_bpe = |model: &Tokenizer| {
        let error = model.best_segmentations("ab", false, 5).expect_err("must fail");
        let hint = error.hint().expect("has a way out").to_string();
        assert!(hint.contains("`dropout=`") && hint.contains("`model=unigram`"), "{hint}");
        assert!(error.to_string().contains("is a BPE"), "{error}");
    };
    let bpes = TOKENIZERS.iter().filter(|(name, _)| *name == "bpe");
    assert_eq!(bpes.clone().inspect(|(_, model)| of_bpe(model)).count(), 2);
    let error = word_piece.best_segmentations("ab", false, 5).expect_err("must fail").to_string();
    assert!(error.starts_with("no n-best segmentations: this tokenizer is a WordPiece"), "{error}");
    let dropout = Segmentation::Dropout { probability: 0.1, seed: 1 };
    let error = word_piece.encode_segmentation("ab", false, dropout, &mut Vec::new());
    assert!(error.expect_err("must fail").to_string().contains("needs a BPE"));
    let model = unigram(&[("a", -1.0), ("b", -1.5)]);
    let error = model.encode_segmentation("ab", false, dropout, &mut Vec::new());
    assert!(
        error.expect_err("must fail").hint().expect("has one").to_string().contains("`alpha=`")
    );
    for count in [0, 1025] {
        let error =
            model.best_segmentations("ab", false, count).expect_err("must fail").to_string();
        assert_eq!(error, format!("`nbest=` is {count}; it must be from 1 to 1024"));
    }
    for alpha in [-0.5, f64::NAN, f64::INFINITY] {
        let draw = Segmentation::Sample { alpha, seed: 1 };
        let error = model.encode_segmentation("ab", false, draw, &mut Vec::new());
        assert!(error.expect_err("must fail").to_string().starts_with("`alpha=` is "));
        assert!(model.segmentation_entropy("ab", false, alpha).is_err());
    }
    for probability in [-0.1, 1.5, f64::NAN] {
        let draw = Segmentation::Dropout { probability, seed: 1 };
        let error = TOKENIZERS[2].1.encode_segmentation("ab", false, draw, &mut Vec::new());
        assert!(error.expect_err("must fail").to_string().starts_with("`dropout=` is "));
    }
}

#[test]
fn a_unigram_without_unknown_token_refuses_as_its_encoder_does() {
    let model = library(json!({ "type": "Unigram", "unk_id": null, "byte_fallback": false,
        "vocab": [["a", -1.0], ["aa", -1.5]] }));
    let found = model.best_segmentations("aa", false, 9).expect("segments");
    assert_eq!(found.segmentations.iter().map(ids).collect::<Vec<_>>(), [vec![1], vec![0, 0]]);
    assert!(model.encoder().encode("ab", &mut Vec::new()).is_err());
    assert!(model.best_segmentations("ab", false, 9).expect_err("must fail").refusal().is_some());
    let draw = Segmentation::Sample { alpha: 1.0, seed: 1 };
    assert!(model.encode_segmentation("ab", false, draw, &mut Vec::new()).is_err());
}
