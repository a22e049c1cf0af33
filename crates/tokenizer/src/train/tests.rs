//! Tests of trained models against the stock trainers', on tables small enough to make here.

use super::*;
use crate::engine::hostile_texts::hostile_texts;
use crate::{EncoderBackend, PretokenPattern, Tokenizer, TokenizerError};
use model::{Context, Progress, ProgressTally};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
use tokenizers::models::{ModelWrapper, TrainerWrapper};
use tokenizers::normalizers::NFC;
use tokenizers::{AddedToken, Model as _, NormalizedString, Normalizer as _};

const TEXTS: [&str; 8] = [
    "The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's the lazy dog.",
    "fn main() {\n    let x = vec![1, 2, 3];\n    for y in &x {\n        println!(\"{y}\");\n    }\n}\n",
    "Übergröße, naïve café, die Größe der Straße — und noch größere Straßen.",
    "1234 12345 123456 3.14159 2.71828 1,000,000 in 1999 and 2024",
    "你好，世界。你好，朋友。世界很大。",
    "the the the then there these those that this they them their",
    "Сегодня хорошая погода, и завтра будет хорошая погода.",
    " leading and  double   spaces\n\n\ttabs\tand lines \r\n 👍🏽 e\u{301}",
];

fn options(kind: &str) -> TrainOptions {
    let base = TrainOptions { vocab_size: 420, ..TrainOptions::default() };
    let characters = TrainOptions { character_coverage: Some(1.0), ..base.clone() };
    match kind {
        "cl100k, single digits" => TrainOptions {
            pattern: Some(PretokenPattern::Named("cl100k".to_owned())),
            digits: DigitSplit::Single,
            ..base
        },
        "digits" => TrainOptions { digits: DigitSplit::Single, ..base },
        "groups" => TrainOptions { digits: DigitSplit::GroupsOf3, reserve: 3, ..base },
        "nfc" => TrainOptions { normalizer: UnicodeForm::Nfc, ..base },
        "short" => TrainOptions { max_token_length: Some(4), min_frequency: 1, ..base },
        "byte-fallback" => TrainOptions { byte_fallback: true, vocab_size: 520, ..characters },
        "wordpiece" => TrainOptions { model: ModelKind::WordPiece, ..characters },
        "unigram" => TrainOptions { model: ModelKind::Unigram, vocab_size: 250, ..characters },
        "unigram, bytes" => TrainOptions {
            model: ModelKind::Unigram,
            vocab_size: 480,
            byte_fallback: true,
            digits: DigitSplit::Single,
            ..characters
        },
        _ => base,
    }
}

const KINDS: [&str; 10] = [
    "gpt2",
    "cl100k, single digits",
    "digits",
    "groups",
    "nfc",
    "short",
    "byte-fallback",
    "wordpiece",
    "unigram",
    "unigram, bytes",
];

static TRAINED: LazyLock<BTreeMap<&str, (Vec<u8>, Tokenizer)>> = LazyLock::new(|| {
    let train = |kind| {
        let json = trained(&TEXTS, &options(kind)).json;
        let tokenizer = Tokenizer::load(&json, &TEXTS).unwrap();
        (kind, (json, tokenizer))
    };
    KINDS.into_iter().map(train).collect()
});

fn names() -> Vec<String> {
    vec!["all".to_owned()]
}

fn counter(options: &TrainOptions, limit: usize) -> PretokenCounter {
    PretokenCounter::new(&pretokenizer_file(options).unwrap(), 1, limit).unwrap()
}

fn counted(texts: &[&str], options: &TrainOptions) -> PretokenCounter {
    let mut counter = counter(options, PretokenCounter::DEFAULT_LIMIT);
    for text in texts {
        counter.add_text(0, text).unwrap();
    }
    counter
}

fn trained(texts: &[&str], options: &TrainOptions) -> TrainingOutput {
    train(&counted(texts, options).finish(), &names(), options, &Context::new()).unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encoder().encode(text, &mut ids).unwrap();
    ids
}

fn model(json: &[u8]) -> Value {
    serde_json::from_slice::<Value>(json).unwrap()["model"].clone()
}

/// What the stock trainer makes of the texts themselves, by its own entry point.
fn stock(options: &TrainOptions) -> ModelWrapper {
    let mut tokenizer =
        tokenizers::Tokenizer::from_bytes(pretokenizer_file(options).unwrap()).unwrap();
    let mut first: Vec<String> = options.all_specials();
    first.extend(options.byte_tokens());
    let special = |token: &String| AddedToken::from(token.as_str(), true);
    let vocab_size = options.vocab_size as usize;
    let bpe = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(vocab_size)
        .min_frequency(options.min_frequency)
        .max_token_length(options.max_token_length.map(|length| length as usize));
    let mut trainer: TrainerWrapper = match options.layout() {
        options::ModelLayout::ByteLevel => {
            let alphabet = crate::vocabulary::byte_characters();
            let bpe = bpe.initial_alphabet(alphabet.into_iter().collect::<HashSet<char>>());
            bpe.special_tokens(first.iter().map(special).collect()).build().into()
        }
        options::ModelLayout::WordEnds => {
            let bpe = bpe.end_of_word_suffix("</w>".to_owned());
            bpe.special_tokens(first.iter().map(special).collect()).build().into()
        }
        options::ModelLayout::Characters => {
            bpe.special_tokens(first.iter().map(special).collect()).build().into()
        }
        options::ModelLayout::WordPiece => {
            tokenizer.with_model(WordPiece::default());
            // The trainer numbers continuing characters in the order of a hash map, so they are given.
            let mut splitter =
                crate::PretokenSplitter::of(&pretokenizer_file(options).unwrap()).unwrap();
            let (mut characters, mut inside) = (BTreeMap::new(), BTreeMap::new());
            for text in TEXTS {
                splitter
                    .split(text, |word| {
                        characters.extend(word.chars().map(|c| (c, ())));
                        inside.extend(word.chars().skip(1).map(|c| (c, ())));
                    })
                    .unwrap();
            }
            first.extend(characters.into_keys().map(String::from));
            first.extend(inside.into_keys().map(|c| format!("##{c}")));
            WordPieceTrainer::builder()
                .show_progress(false)
                .vocab_size(vocab_size)
                .min_frequency(options.min_frequency)
                .special_tokens(first.iter().map(special).collect())
                .build()
                .into()
        }
        options::ModelLayout::Unigram => {
            tokenizer.with_model(Unigram::default());
            let alphabet: HashSet<char> = first.iter().flat_map(|token| token.chars()).collect();
            UnigramTrainer::builder()
                .show_progress(false)
                .vocab_size(options.vocab_size)
                .special_tokens(first.iter().map(special).collect())
                .initial_alphabet(alphabet.into_iter().collect())
                .unk_token(Some("<unk>".to_owned()))
                .build()
                .unwrap()
                .into()
        }
    };
    tokenizer.train(&mut trainer, TEXTS.iter()).unwrap();
    tokenizer.get_model().clone()
}

#[test]
fn training_equals_the_stock_trainer_on_texts() {
    for kind in KINDS.into_iter().filter(|kind| !kind.starts_with("unigram")) {
        let ours = model(&TRAINED[kind].0);
        let theirs = match stock(&options(kind)) {
            ModelWrapper::BPE(model) => serde_json::to_value(&model).unwrap(),
            model => serde_json::to_value(model).unwrap(),
        };
        assert_eq!(ours["vocab"], theirs["vocab"], "{kind}");
        assert_eq!(ours.get("merges"), theirs.get("merges"), "{kind}");
        let size = ours["vocab"].as_object().unwrap().len();
        let least = if kind == "wordpiece" { 180 } else { 330 };
        assert!(size > least, "{kind} learned: {size}");
    }
}

/// The stock trainer gives its pieces in another order each time, and the last places of their scores
/// vary with the threads.
#[test]
fn unigram_pieces_equal_the_stock_trainers() {
    for kind in ["unigram", "unigram, bytes"] {
        let options = options(kind);
        let ModelWrapper::Unigram(theirs) = stock(&options) else { panic!("a Unigram") };
        let theirs: BTreeMap<String, f64> = theirs.iter().cloned().collect();
        let ours: Vec<(String, f64)> =
            serde_json::from_value(model(&TRAINED[kind].0)["vocab"].clone()).unwrap();
        assert_eq!(ours.len(), theirs.len(), "{kind}");
        let first = options.all_specials().len() + options.byte_tokens().len();
        for (piece, score) in ours.iter().skip(first) {
            let stock = theirs.get(piece).unwrap_or_else(|| panic!("{kind} {piece}"));
            // Characters that it took back are some hundredths apart.
            let is_dealt = piece.chars().count() == 1;
            assert!((score - stock).abs() < if is_dealt { 0.02 } else { 1e-9 }, "{kind} {piece}");
        }
        assert!(ours.iter().skip(first).any(|(piece, _)| piece.chars().count() > 2));
    }
}

#[test]
fn order_threads_and_runs_do_not_change_the_training() {
    let mut reversed = TEXTS;
    reversed.reverse();
    for kind in KINDS {
        let options = options(kind);
        let merged = counted(&TEXTS[3..], &options).merge(counted(&TEXTS[..3], &options));
        let tables = [merged.finish(), counted(&reversed, &options).finish()];
        for (threads, table) in [1, 2, 3, 7].into_iter().zip(tables.iter().cycle()) {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| train(table, &names(), &options, &Context::new()).unwrap());
            assert!(again.json == TRAINED[kind].0, "{kind}");
        }
    }
}

#[test]
fn trained_files_encode_as_the_reference_does() {
    for (kind, (json, tokenizer)) in &*TRAINED {
        // Groups of three digits before GPT-2's pattern need an engine that the fast one has not.
        let is_fast = *tokenizer.backend() == EncoderBackend::Fast;
        println!("{kind}: {:?}", tokenizer.backend());
        assert!(is_fast || ["groups", "nfc", "wordpiece"].contains(kind), "{kind}");
        let oracle = crate::engine::reference::LibraryReference::load(json).unwrap();
        for text in hostile_texts().iter().map(String::as_str).chain(TEXTS) {
            let mut theirs = Vec::new();
            oracle.encode(text, &mut theirs).unwrap();
            assert!(encode(tokenizer, text) == theirs, "{kind}");
        }
    }
}

fn back(tokenizer: &Tokenizer, text: &str) -> String {
    tokenizer.decode(&encode(tokenizer, text)).unwrap()
}

#[test]
fn decoding_gives_what_is_promised() {
    for (kind, (_, tokenizer)) in &*TRAINED {
        let options = options(kind);
        let promise = RoundTrip::of(&options);
        for text in hostile_texts().iter().map(String::as_str).chain(TEXTS) {
            let text = text.replace('▁', "_");
            match promise {
                RoundTrip::Exact => assert!(back(tokenizer, &text) == text, "{kind} {text:?}"),
                RoundTrip::Normalised => {
                    let mut normal = NormalizedString::from(text.as_str());
                    NFC.normalize(&mut normal).unwrap();
                    assert!(back(tokenizer, &text) == normal.get(), "{kind}");
                }
                RoundTrip::Covered => {
                    let is_covered =
                        |c: char| c == ' ' || tokenizer.token_to_id(&c.to_string()).is_some();
                    let text: String = text.chars().filter(|c| is_covered(*c)).collect();
                    assert!(back(tokenizer, &text) == text, "{kind} {text:?}");
                }
                RoundTrip::Words => {}
            }
        }
    }
    assert_eq!(back(&TRAINED["wordpiece"].1, "the lazy dog"), "the lazy dog");
}

/// No text gives the id of a special or of a byte token by spelling it, however common that is.
#[test]
fn spelled_tokens_stay_text() {
    let spelled = "<|endoftext|> <unk><unk> [UNK] a<UNK> <0x0A><0x41> <|reserved_0|>";
    let texts: Vec<&str> = TEXTS.into_iter().chain([spelled; 200]).collect();
    for kind in KINDS {
        let options = TrainOptions { reserve: 1, ..options(kind) };
        let options = TrainOptions { vocab_size: options.vocab_size + 60, ..options };
        let json = trained(&texts, &options).json;
        let tokenizer = Tokenizer::load(&json, &[]).unwrap();
        let ids = encode(&tokenizer, spelled);
        let specials: Vec<u32> = tokenizer.specials().into_iter().map(|(id, _)| id).collect();
        assert_eq!(specials.len(), options.all_specials().len());
        assert!(specials.iter().copied().eq(0..specials.len() as u32), "{kind}");
        assert!(!ids.iter().any(|id| specials.contains(id)), "{kind} {ids:?}");
        for byte in options.byte_tokens() {
            let id = tokenizer.token_to_id(&byte).unwrap();
            assert!(!ids.contains(&id), "{kind} {byte}");
        }
        if RoundTrip::of(&options) != RoundTrip::Words {
            assert_eq!(tokenizer.decode(&ids).unwrap(), spelled, "{kind}");
        }
    }
}

/// Tokenizers issue 2058: counts of pairs are 32 bits wide in the trainer.
#[test]
fn large_counts_keep_the_commonest_pair() {
    let options = TrainOptions { vocab_size: 270, ..TrainOptions::default() };
    let mut table = counted(&["hello hello world"], &options).finish();
    for count in table.groups[0].values_mut() {
        *count *= 1_500_000_000;
    }
    let words = table.groups[0].iter().map(|(word, count)| (word.replace(' ', "Ġ").into(), *count));
    let trainer = BpeTrainer::builder().show_progress(false).vocab_size(30).build();
    let mut bpe = BPE::default();
    trainer.do_train(&words.collect(), &mut bpe).unwrap();
    assert!(bpe.token_to_id("he").is_none() && bpe.token_to_id("hello").is_none(), "it is lost");
    let trained = train(&table, &names(), &options, &Context::new()).unwrap();
    assert!(model(&trained.json)["vocab"].get("hello").is_some());
    assert!(trained.report.scale < 1.0);
}

/// For Unigram the counts of words and of characters are scaled.
#[test]
fn the_counts_of_a_unigram_are_scaled_and_the_pieces_stay() {
    let options = options("unigram");
    let mut table = counted(&TEXTS, &options).finish();
    let once = train(&table, &names(), &options, &Context::new()).unwrap();
    for count in table.groups[0].values_mut() {
        *count *= 2_000_000_000;
    }
    let large = train(&table, &names(), &options, &Context::new()).unwrap();
    assert!(large.report.scale < 0.02 && once.report.scale == 1.0);
    let pieces = |trained: &TrainingOutput| -> HashSet<String> {
        let vocab: Vec<(String, f64)> =
            serde_json::from_value(model(&trained.json)["vocab"].clone()).unwrap();
        vocab.into_iter().map(|(piece, _)| piece).collect()
    };
    // More counts let more pieces live, so they need not be the same; the common ones are.
    for piece in ["▁the", "▁"] {
        assert!(pieces(&large).contains(piece) && pieces(&once).contains(piece), "{piece}");
    }
}

#[test]
fn a_full_table_samples_texts_the_same_in_any_order() {
    let texts: Vec<String> =
        (0..2000).map(|n| format!("word{} common text number {n} of many", n % 700)).collect();
    let options = options("gpt2");
    let counted = |order: &mut dyn Iterator<Item = &String>| {
        let mut counter = counter(&options, 400);
        for text in order {
            counter.add_text(0, text).unwrap();
        }
        counter
    };
    let forward = counted(&mut texts.iter()).finish();
    assert!(forward.sampled_one_in > 1, "the limit was met");
    assert!(forward.masses[0].texts < 2000 && forward.groups[0].len() <= 400);
    let backward = counted(&mut texts.iter().rev()).finish();
    let halves = counted(&mut texts[..900].iter()).merge(counted(&mut texts[900..].iter()));
    assert_eq!(backward, forward);
    assert_eq!(halves.finish(), forward);
}

#[test]
fn groups_are_counted_apart_and_measured() {
    let options = options("gpt2");
    let mut counter = PretokenCounter::new(&pretokenizer_file(&options).unwrap(), 2, 1000).unwrap();
    let mut other = counter.empty_like();
    counter.add_text(0, TEXTS[0]).unwrap();
    other.add_text(1, TEXTS[2]).unwrap();
    other.add_text(1, TEXTS[2]).unwrap();
    other.add_text(2, "no such group").unwrap();
    let table = counter.merge(other).finish();
    assert_eq!((table.masses[0].texts, table.masses[1].texts), (1, 2));
    assert_eq!(table.masses[1].bytes, 2 * TEXTS[2].len() as u64);
    assert_eq!(table.masses[1].characters, 2 * TEXTS[2].chars().count() as u64);
    assert_eq!((table.groups[0]["The"], table.groups[1].get("The")), (1, None));
    for (json, tokenizer) in [&TRAINED["gpt2"], &TRAINED["short"]] {
        let tokens = tokens_by_group(json, &table).unwrap();
        let own = [TEXTS[0], TEXTS[2]].map(|text| encode(tokenizer, text).len() as u64);
        assert_eq!(tokens, [own[0], 2 * own[1]]);
    }
    let names = ["en".to_owned(), "de".to_owned()];
    let even = TrainOptions { alpha: 0.0, ..options.clone() };
    let report = train(&table, &names, &even, &Context::new()).unwrap().report;
    let [english, german] = &report.groups[..] else { panic!("two") };
    assert_eq!((english.name.as_str(), german.mass.texts), ("en", 2));
    assert!(english.weight > 1.0 && german.weight < 1.0 && report.unit > 1);
    assert_eq!((english.character_coverage, report.alphabet), (1.0, 256));
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<TrainReport>(&json).unwrap(), report);
    let json = serde_json::to_string(&even).unwrap();
    assert_eq!(serde_json::from_str::<TrainOptions>(&json).unwrap(), even);
}

/// The letters of a small group are rare among all: left out with the default coverage, they had no token.
#[test]
fn characters_are_covered_in_every_group() {
    let options = options("byte-fallback");
    let mut options = TrainOptions { character_coverage: None, ..options };
    let mut counter = PretokenCounter::new(&pretokenizer_file(&options).unwrap(), 2, 1000).unwrap();
    (0..2000).for_each(|_| counter.add_text(0, "the lazy dog and the quick fox").unwrap());
    counter.add_text(1, "ჩემი ენა მცირეა").unwrap();
    let table = counter.finish();
    let names = ["en".to_owned(), "ka".to_owned()];
    let report = train(&table, &names, &options, &Context::new()).unwrap();
    let tokenizer = Tokenizer::load(&report.json, &[]).unwrap();
    for letter in ["ჩ", "ე", "მ", "ი", "ნ", "ა", "ც", "რ"] {
        assert!(tokenizer.token_to_id(letter).is_some(), "{letter}");
    }
    assert_eq!(report.report.groups[1].character_coverage, 1.0);
    // A group that is left out covers nothing; a coverage is that of each group.
    options.weights.insert("ka".to_owned(), 0.0);
    let without = train(&table, &names, &options, &Context::new()).unwrap();
    assert_eq!(without.report.groups[1].character_coverage, 0.0);
    options.weights.clear();
    options.character_coverage = Some(0.5);
    let half = train(&table, &names, &options, &Context::new()).unwrap().report;
    for group in half.groups {
        assert!((0.5..0.8).contains(&group.character_coverage), "{}", group.character_coverage);
    }
}

/// A character lost its token with the rarest words, and its coverage said otherwise.
#[test]
fn characters_of_pruned_words_are_tokens() {
    let options = TrainOptions { character_coverage: Some(1.0), ..options("unigram") };
    let many = (0..1_u32 << 18).map(|n| (format!("▁{n:x}").into(), 2));
    let words: BTreeMap<Box<str>, u64> = many.chain([("▁語".into(), 1)]).collect();
    let table = PretokenTable {
        groups: vec![words],
        masses: vec![TextTotals::default()],
        sampled_one_in: 1,
    };
    let input = run::trainer_input(&table, &names(), &options).unwrap();
    assert_eq!(input.words.get("語"), Some(&1));
    assert!(input.words.len() <= (1 << 18) + 1);
}

/// What balancing is for: the language of few texts is cut into fewer tokens.
#[test]
fn evening_out_serves_the_smaller_group() {
    let names = ["en".to_owned(), "ru".to_owned()];
    let compressed = |alpha: f64, weight: Option<f64>| {
        let weights = weight.map(|weight| ("ru".to_owned(), weight)).into_iter().collect();
        let options = TrainOptions { vocab_size: 300, alpha, weights, ..options("gpt2") };
        let json = pretokenizer_file(&options).unwrap();
        let mut counter = PretokenCounter::new(&json, 2, 10_000).unwrap();
        for _ in 0..200 {
            counter.add_text(0, TEXTS[0]).unwrap();
            counter.add_text(0, TEXTS[5]).unwrap();
        }
        counter.add_text(1, TEXTS[6]).unwrap();
        let table = counter.finish();
        let trained = train(&table, &names, &options, &Context::new()).unwrap();
        tokens_by_group(&trained.json, &table).unwrap()
    };
    let (plain, even) = (compressed(1.0, None), compressed(0.3, None));
    assert!(even[1] < plain[1] && even[0] > plain[0], "{plain:?} {even:?}");
    let lifted = compressed(1.0, Some(1000.0));
    assert!(lifted[1] < even[1], "{even:?} {lifted:?}");
}

#[test]
fn encoding_pretokens_gives_the_tokens_of_the_texts() {
    for kind in KINDS {
        let table = counted(&TEXTS, &options(kind)).finish();
        let (json, tokenizer) = &TRAINED[kind];
        let whole: usize = TEXTS.iter().map(|text| encode(tokenizer, text).len()).sum();
        assert_eq!(tokens_by_group(json, &table).unwrap(), [whole as u64], "{kind}");
    }
}

#[test]
fn rare_characters_fall_back_to_bytes() {
    let texts: Vec<&str> = std::iter::repeat_n("the lazy dog ", 500).chain(["語 the"]).collect();
    let base = options("byte-fallback");
    let options = TrainOptions { character_coverage: Some(0.999), ..base.clone() };
    let partly = trained(&texts, &options);
    let tokenizer = Tokenizer::load(&partly.json, &[]).unwrap();
    assert_eq!(tokenizer.token_to_id("語"), None);
    assert_eq!(back(&tokenizer, "語 the"), "語 the");
    let coverage = partly.report.groups[0].character_coverage;
    assert!(coverage < 1.0 && coverage > 0.999, "{coverage}");
    let wholly = trained(&texts, &base);
    assert_eq!(wholly.report.groups[0].character_coverage, 1.0);
    assert_eq!(wholly.report.alphabet, partly.report.alphabet + 1);
    assert!(Tokenizer::load(&wholly.json, &[]).unwrap().token_to_id("語").is_some());
}

#[test]
fn seed_tokens_are_one_token_each_within_the_size_asked_for() {
    let seeds = ["dog", "Größe der", "погодазавтра", "zzyzx", "the"].map(str::to_owned);
    for kind in ["wordpiece", "unigram", "unigram, bytes"] {
        let seed_tokens = Vec::from_iter(seeds.iter().filter(|seed| !seed.contains(' ')).cloned());
        let base = match options(kind) {
            base if kind == "wordpiece" => TrainOptions { vocab_size: 185, ..base },
            base if kind == "unigram" => TrainOptions { vocab_size: 125, ..base },
            base => TrainOptions { vocab_size: 375, ..base },
        };
        let options = TrainOptions { seed_tokens: seed_tokens.clone(), ..base.clone() };
        let seeded = trained(&TEXTS, &options);
        assert!(seeded.report.pending_seed_tokens.is_empty());
        let tokenizer = Tokenizer::load(&seeded.json, &TEXTS).unwrap();
        for seed in &seed_tokens {
            let ids = encode(&tokenizer, seed);
            assert_eq!(ids.len(), 1, "{kind} {seed}");
            let after = encode(&tokenizer, &format!("The {seed}"));
            assert!(after.contains(&ids[0]), "{kind} {seed}");
        }
        assert!(seeded.report.vocab_size <= options.vocab_size, "{kind}");
        assert_eq!(seeded.report.vocab_size, trained(&TEXTS, &base).report.vocab_size, "{kind}");
        let table = counted(&TEXTS, &options).finish();
        let asked = TrainOptions { seed_tokens: seeds.to_vec(), ..options };
        let error = train(&table, &names(), &asked, &Context::new()).unwrap_err();
        assert!(matches!(error, TokenizerError::SeedToken { .. }), "{error}");
    }
    let options = TrainOptions { seed_tokens: seeds.to_vec(), ..options("gpt2") };
    assert!(
        train(&counted(&TEXTS, &options).finish(), &names(), &options, &Context::new()).is_err()
    );
    let options = TrainOptions { seed_tokens: vec!["zzyzx".to_owned()], ..options };
    assert_eq!(trained(&TEXTS, &options).report.pending_seed_tokens, ["zzyzx"]);
}

#[test]
fn overlong_pretokens_are_left_out_and_counted() {
    let texts: Vec<String> =
        TEXTS.map(str::to_owned).into_iter().chain(["a".repeat(20_000)]).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let trained = trained(&texts, &options("gpt2"));
    assert_eq!(trained.report.skipped, 1);
    assert!(trained.json == TRAINED["gpt2"].0);
}

#[test]
fn training_refuses_what_cannot_work() {
    let table = counted(&TEXTS, &options("gpt2")).finish();
    let fails =
        |options: TrainOptions| train(&table, &names(), &options, &Context::new()).unwrap_err();
    let gpt2 = options("gpt2");
    assert!(matches!(
        fails(TrainOptions { vocab_size: 256, ..gpt2.clone() }),
        TokenizerError::VocabularyTooSmall { asked: 256, least: 257 }
    ));
    for kind in ["gpt2", "wordpiece", "unigram"] {
        for bad in [vec![""], vec!["the"], vec!["<a>", "<a>"], vec!["<|reserved_0|>"]] {
            let specials = bad.into_iter().map(str::to_owned).collect();
            let options = TrainOptions { specials, reserve: 1, ..options(kind) };
            assert!(matches!(fails(options), TokenizerError::Special { .. }), "{kind}");
        }
    }
    let specials = vec!["<0x0A>".to_owned()];
    let error = fails(TrainOptions { specials, ..options("byte-fallback") });
    assert!(error.to_string().contains("spelling of a byte"), "{error}");
    for kind in ["wordpiece", "unigram", "byte-fallback"] {
        let options = options(kind);
        let table = counted(&TEXTS, &options).finish();
        let small = TrainOptions { vocab_size: 300.min(options.vocab_size / 3), ..options.clone() };
        let error = train(&table, &names(), &small, &Context::new()).unwrap_err();
        assert!(matches!(error, TokenizerError::VocabularyTooSmall { .. }), "{kind} {error}");
        let pattern = Some(PretokenPattern::default());
        let error = fails(TrainOptions { pattern, ..options });
        assert!(matches!(error, TokenizerError::TrainOptions(_)), "{kind}");
    }
    let pattern = Some(PretokenPattern::Regex("a(".to_owned()));
    assert!(matches!(
        fails(TrainOptions { pattern, ..gpt2.clone() }),
        TokenizerError::Pattern { .. }
    ));
    for bad in [
        TrainOptions { alpha: -1.0, ..gpt2.clone() },
        TrainOptions { alpha: f64::NAN, ..gpt2.clone() },
        TrainOptions { weights: BTreeMap::from([("all".to_owned(), -1.0)]), ..gpt2.clone() },
        TrainOptions { weights: BTreeMap::from([("none".to_owned(), 1.0)]), ..gpt2.clone() },
        TrainOptions { character_coverage: Some(0.9), ..gpt2.clone() },
        TrainOptions { character_coverage: Some(1.1), ..options("unigram") },
        TrainOptions { byte_fallback: true, ..options("wordpiece") },
        TrainOptions { max_token_length: Some(0), ..gpt2.clone() },
    ] {
        assert!(matches!(fails(bad.clone()), TokenizerError::TrainOptions(_)), "{bad:?}");
    }
    let nothing = counted(&[""], &gpt2).finish();
    assert!(matches!(
        train(&nothing, &names(), &gpt2, &Context::new()),
        Err(TokenizerError::NoText)
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(100)))]
    #[test]
    fn any_text_comes_back_where_promised(text in "(\\PC|[ \n\t\ra-e<>0-9x'語é]){0,60}") {
        prop_assume!(!text.contains('▁'));
        for (kind, (_, tokenizer)) in &*TRAINED {
            if RoundTrip::of(&options(kind)) == RoundTrip::Exact {
                prop_assert_eq!(&back(tokenizer, &text), &text, "{}", kind);
            }
        }
    }
}

/// The stages that a training reports.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<String>>);

impl Progress for Told {
    fn begin(&self, stage: &str, _total: Option<u64>) {
        self.0.lock().unwrap().push(stage.to_owned());
    }
    fn advance(&self, _done: u64) {}
    fn tally(&self, _tally: &ProgressTally) {}
    fn end(&self) {}
    fn note(&self, _message: &str) {}
}

/// Minutes passed silently of what was done.
#[test]
fn training_tells_its_phases() {
    for (model, trains) in [
        (ModelKind::Bpe, "merging pairs of "),
        (ModelKind::WordPiece, "merging pairs of "),
        (ModelKind::Unigram, "pruning pieces of "),
    ] {
        let specials = vec!["[UNK]".to_owned()];
        let options = TrainOptions { model, vocab_size: 400, specials, ..TrainOptions::default() };
        let told = Told::default();
        train(
            &counted(&TEXTS, &options).finish(),
            &names(),
            &options,
            &Context::new().with_progress(&told),
        )
        .unwrap();
        let told = told.0.into_inner().unwrap();
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(told[0], "weighing pre-tokens");
        assert!(told[1].starts_with(trains) && told[1].ends_with(" words to 400"), "{told:?}");
    }
}

/// The first BPE for text marks the ends of words; only its later forms could be trained.
#[test]
fn ends_of_words_can_be_marked() {
    let options = TrainOptions {
        end_of_word: true,
        vocab_size: 300,
        specials: vec!["<|end|>".to_owned()],
        character_coverage: Some(1.0),
        ..TrainOptions::default()
    };
    let texts = ["low lower lowest newer wider low low", "the lower the newer, low</w> is odd"];
    let once = trained(&texts, &options);
    assert_eq!(once.report.round_trip, RoundTrip::Words);
    let model = model(&once.json);
    assert_eq!(model["end_of_word_suffix"], "</w>");
    let vocab = model["vocab"].as_object().unwrap();
    assert!(vocab.contains_key("low</w>") && vocab.contains_key("lower</w>"), "{vocab:?}");
    let tokenizer = Tokenizer::load(&once.json, &texts).unwrap();
    let text = "lower newer low";
    let ids = encode(&tokenizer, text);
    assert_eq!(ids[ids.len() - 1], u32::try_from(vocab["low</w>"].as_u64().unwrap()).unwrap());
    assert_eq!(tokenizer.decode(&ids).unwrap(), text);
    // What is spelled like the mark is no end of a word.
    let spelled = encode(&tokenizer, "low</w>");
    assert!(spelled.len() > 1 && spelled[0] != ids[ids.len() - 1], "{spelled:?}");
    // Ids do not depend on the order in which a hash map gives the ends.
    for _ in 0..4 {
        assert_eq!(trained(&texts, &options).json, once.json);
    }
    let told = serde_json::to_value(TrainOptions::default()).unwrap();
    assert!(told.get("end_of_word").is_none(), "decisions of other models stay as they are");
    let wrong = TrainOptions { byte_fallback: true, ..options };
    assert!(wrong.check().unwrap_err().to_string().contains("byte fallback"));
}
