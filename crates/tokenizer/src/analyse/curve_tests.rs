//! Tests of curves of models without merges: every point against a model trained to that size.

use super::*;
use crate::{
    ModelKind, PretokenCounter, PretokenTable, Tokenizer, TrainOptions, TrainingOutput,
    pretokenizer_file, tokens_by_group, train,
};
use model::{Context, Interrupt};
use serde_json::{Value, json};

/// Words of syllables that three languages share in part, the first ones commonest.
fn texts() -> [String; 3] {
    const SYLLABLES: [&str; 24] = [
        "the", "re", "un", "ing", "er", "mo", "th", "a", "ge", "Grö", "ße", "lich", "st", "ein",
        "sch", "ver", "при", "вет", "ст", "во", "ни", "е", "мир", "ы",
    ];
    let mut state = 1_u64;
    let mut draw = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // The lesser of two draws.
        let [a, b] = [state >> 33, (state >> 13) & 0x000F_FFFF].map(|part| part as usize % below);
        a.min(b)
    };
    [0, 4, 12].map(|from| {
        let mut text = String::new();
        for _ in 0..300 {
            for _ in 0..=draw(4) {
                text += SYLLABLES[from + draw(12)];
            }
            text += ["", ",", "."][draw(3)];
            text += " ";
        }
        text
    })
}

fn groups() -> Vec<String> {
    ["de", "ru", "en"].map(str::to_owned).to_vec()
}

fn counted(json: &[u8], texts: &[String]) -> PretokenTable {
    let limit = PretokenCounter::DEFAULT_LIMIT;
    let mut counter = PretokenCounter::new(json, texts.len(), limit).expect("splits");
    for (group, text) in texts.iter().enumerate() {
        counter.add_text(group, text).expect("counts");
    }
    counter.finish()
}

/// The curve of a tokenizer trained by the options, whose points must equal the results of training to each size.
fn assert_trained(options: &TrainOptions, fewest: usize) -> VocabularyCurve {
    let table = counted(&pretokenizer_file(options).expect("pipeline"), &texts());
    let trained = |vocab_size: u32| {
        let options = TrainOptions { vocab_size, ..options.clone() };
        train(&table, &groups(), &options, &Context::new()).expect("trains")
    };
    let TrainingOutput { json, report } = trained(options.vocab_size);
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    let subject = AnalysedTokenizer::new(&tokenizer, &json).expect("is made ready");
    let subject = subject.trained_by(Ok(options.clone()));
    let drawn = subject.curve(&groups(), &table, 16, &Context::new());
    let curve = drawn.expect("runs").expect("is one");
    assert!(curve.confirmed);
    assert!(curve.points.len() >= fewest, "{}", curve.points.len());
    let last = curve.points.last().expect("has points");
    assert_eq!(last.vocab_size, u64::from(report.vocab_size));
    // Training is what costs here.
    let every = curve.points.len().div_ceil(4);
    for point in curve.points.iter().rev().step_by(every) {
        let json = if point == last {
            json.clone()
        } else {
            let trained = trained(u32::try_from(point.vocab_size).expect("is small"));
            assert_eq!(u64::from(trained.report.vocab_size), point.vocab_size);
            trained.json
        };
        let tokens = tokens_by_group(&json, &table).expect("encodes");
        for (name, found) in curve.groups.iter().zip(&point.by_group) {
            let group = groups().iter().position(|group| group == name).expect("known");
            assert_eq!(tokens[group], *found, "{name} at {}", point.vocab_size);
        }
        assert_eq!(point.by_group.iter().sum::<u64>(), point.tokens);
    }
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("starts");
    let again = one.install(|| subject.curve(&groups(), &table, 16, &Context::new()));
    assert_eq!(again.expect("runs").expect("is one"), curve, "on one thread");
    curve
}

#[test]
fn the_curve_of_a_wordpiece_is_what_training_to_each_size_gives() {
    let options = TrainOptions {
        model: ModelKind::WordPiece,
        vocab_size: 320,
        specials: vec!["[UNK]".to_owned()],
        ..TrainOptions::default()
    };
    let curve = assert_trained(&options, 40);
    assert!(curve.knee.is_some() && curve.prices.len() >= 2);
}

#[test]
fn the_curve_of_a_unigram_is_what_training_to_each_size_gives() {
    let options = TrainOptions {
        model: ModelKind::Unigram,
        vocab_size: 400,
        specials: vec!["<unk>".to_owned()],
        ..TrainOptions::default()
    };
    let curve = assert_trained(&options, 4);
    assert!(curve.knee.is_some());
}

#[test]
fn the_curve_of_a_unigram_has_its_bytes_and_its_named_tokens() {
    let options = TrainOptions {
        model: ModelKind::Unigram,
        vocab_size: 430,
        byte_fallback: true,
        character_coverage: Some(0.98),
        max_token_length: Some(5),
        seed_tokens: vec!["Größe".to_owned()],
        ..TrainOptions::default()
    };
    assert_trained(&options, 2);
}

#[test]
fn the_curve_of_an_unknown_unigram_is_of_the_defaults() {
    let options = TrainOptions { model: ModelKind::Unigram, vocab_size: 200, ..Default::default() };
    let table = counted(&pretokenizer_file(&options).expect("pipeline"), &texts());
    let json = train(&table, &groups(), &options, &Context::new()).expect("trains").json;
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    let subject = || AnalysedTokenizer::new(&tokenizer, &json).expect("is made ready");
    let curve = |subject: AnalysedTokenizer<'_>| {
        subject.curve(&groups(), &table, 16, &Context::new()).expect("runs")
    };
    let unknown = curve(subject());
    assert!(unknown.is_ok());
    assert_eq!(unknown, curve(subject().trained_by(Ok(options))));
    assert_eq!(curve(subject().trained_by(Err("why".to_owned()))), Err("why".to_owned()));
    let raised = Interrupt::default();
    raised.raise();
    let stopped = subject()
        .curve(&groups(), &table, 16, &Context::new().with_interrupt(&raised))
        .expect("runs");
    assert_eq!(stopped, Err("interrupted".to_owned()));
}

/// A longer piece that is taken first may leave more behind it: tokens need not fall.
#[test]
fn the_curve_of_a_wordpiece_equals_truncated_vocabularies() {
    let pieces = [
        "[UNK]", "a", "b", "c", "##a", "##b", "##c", "##bc", "ab", "##ca", "##cab", "abc", "abcab",
        "x", "bc",
    ];
    let file = |pieces: &[&str]| {
        let vocab: serde_json::Map<String, Value> =
            (0..).zip(pieces).map(|(id, piece)| ((*piece).to_owned(), json!(id))).collect();
        let special = json!({"id": 0, "content": "[UNK]", "special": true, "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false});
        let file = json!({"version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [special], "normalizer": null,
            "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": null, "decoder": null,
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 9, "vocab": vocab}});
        serde_json::to_vec(&file).expect("writes")
    };
    let json = file(&pieces);
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    let subject = AnalysedTokenizer::new(&tokenizer, &json).expect("is made ready");
    let texts = [
        "abc abcab abcab abcab abca bcab xab",
        "abcab abcab abcab cabcab axb qb abcabcabc abcabcabca bcabc bc",
    ];
    let texts = texts.map(str::to_owned);
    let table = counted(&json, &texts);
    let names = ["one", "two"].map(str::to_owned);
    let drawn = subject.curve(&names, &table, 16, &Context::new());
    let curve = drawn.expect("runs").expect("is one");
    assert!(curve.confirmed);
    // `x` is a character, so it is in all of them; seven pieces are longer.
    let longer = ["##bc", "ab", "##ca", "##cab", "abc", "abcab", "bc"];
    assert_eq!(curve.points.len(), longer.len() + 1);
    let mut rises = false;
    for (left, point) in curve.points.iter().enumerate() {
        let gone = &longer[left..];
        let kept: Vec<&str> =
            pieces.iter().copied().filter(|piece| !gone.contains(piece)).collect();
        assert_eq!(kept.len() as u64, point.vocab_size);
        let tokens = tokens_by_group(&file(&kept), &table).expect("encodes");
        for (name, found) in curve.groups.iter().zip(&point.by_group) {
            let group = names.iter().position(|group| group == name).expect("known");
            assert_eq!(tokens[group], *found, "{name} with {left} longer pieces");
        }
        let before = left.checked_sub(1).map_or(u64::MAX, |before| curve.points[before].tokens);
        rises |= point.tokens > before;
    }
    assert!(rises, "the example is one where more ids give more tokens");
}
