//! Tests of parts of texts against whole texts, by every kind of tokenizer that is cut.

use super::*;
use crate::{
    DigitSplit, ModelKind, PretokenCounter, PretokenPattern, Tokenizer, TokenizerInput,
    TrainOptions, UnicodeForm, convert, pretokenizer_file, train,
};
use model::Context;
use proptest::prelude::*;
use serde_json::json;
use std::sync::LazyLock;

const TEXTS: [&str; 4] = [
    "The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's the lazy dog.",
    "fn main() {\n    let x = vec![1, 2, 3];\n    for y in &x {\n        println!(\"{y}\");\n    }\n}\n",
    "Übergröße, naïve café, die Größe der Straße — und noch größere Straßen. 1234 3.14159 1,000",
    "你好，世界。你好，朋友。世界很大。 the them these a ab abc 's 're x y z",
];

fn trained(options: &TrainOptions) -> Vec<u8> {
    let json = pretokenizer_file(options).unwrap();
    let mut counter = PretokenCounter::new(&json, 1, PretokenCounter::DEFAULT_LIMIT).unwrap();
    TEXTS.iter().for_each(|text| counter.add_text(0, text).unwrap());
    train(&counter.finish(), &["all".to_owned()], options, &Context::new()).unwrap().json
}

/// Tokenizers that are cut, by both encoders, with a name.
static CUT: LazyLock<Vec<(String, Tokenizer)>> = LazyLock::new(|| {
    let mut files = Vec::new();
    let base = TrainOptions { vocab_size: 400, ..Default::default() };
    for name in ["gpt2", "cl100k", "o200k"] {
        let pattern = Some(PretokenPattern::parse(name).unwrap());
        files.push((name.to_owned(), trained(&TrainOptions { pattern, ..base.clone() })));
    }
    for model in [ModelKind::Unigram, ModelKind::WordPiece] {
        let (digits, normalizer) = (DigitSplit::GroupsOf3, UnicodeForm::Nfkc);
        let options = TrainOptions { model, digits, normalizer, ..base.clone() };
        files.push((format!("{model:?}"), trained(&options)));
    }
    let characters = TrainOptions { byte_fallback: true, ..base };
    files.push(("characters".to_owned(), trained(&characters)));
    for (name, model) in [
        ("spm unigram", &include_bytes!("../convert/vectors/unigram.model")[..]),
        ("spm bpe", include_bytes!("../convert/vectors/bpe.model")),
    ] {
        files.push((name.to_owned(), convert(TokenizerInput::SentencePiece(model)).unwrap().json));
    }
    let mut of_unigram: Value = serde_json::from_slice(&files[3].1).unwrap();
    of_unigram["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [
        { "type": "Punctuation", "behavior": "MergedWithPrevious" }, { "type": "WhitespaceSplit" },
        { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true } ] });
    of_unigram["normalizer"] = json!({ "type": "Lowercase" });
    files.push(("many steps".to_owned(), of_unigram.to_string().into_bytes()));
    let loaded = files.into_iter().flat_map(|(name, json)| {
        [true, false].map(|fast| {
            (format!("{name}, fast: {fast}"), Tokenizer::load_proven(&json, fast).unwrap())
        })
    });
    loaded.collect()
});

fn check(text: &str, part: usize) {
    for (name, tokenizer) in &*CUT {
        let mut encoder = tokenizer.encoder();
        assert!(encoder.cuts().is_some(), "{name} is not cut");
        let (mut whole, mut parts) = (vec![7], vec![7]);
        encoder.encode(text, &mut whole).unwrap();
        encoder.encode_in_parts(text, part, &mut parts).unwrap();
        assert_eq!(whole, parts, "{name}, {part}: {text:?}");
    }
}

#[test]
fn every_hostile_text_has_the_same_ids_in_parts() {
    let hostile: Vec<String> =
        hostile_texts().into_iter().filter(|text| text.len() < 200).collect();
    check(&hostile.join(" a b "), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(24)))]

    #[test]
    fn any_text_has_the_same_ids_in_parts(
        pieces in prop::collection::vec(prop::sample::select(vec![
            " ", " ", " ", "  ", "\n", "\t", "\u{a0}", "a", "x", "the", "Q", "s", "e", "7", "12345", "'s",
            "'re", "'", ".", ",", "::", "(", "-", "~", "=", "e\u{301}", "\u{301}", "\u{338}", "é", "ﬁ", "Σ",
            "ΑΣ", "ß", "語", "。", "▁", "Ġ", "¨", "\u{3000}", "👍🏽", "\u{200d}", "\u{61d}", "<|endoftext|>",
            "</s>", "[UNK]", "<unk>", "\u{0}", "\r\n", "{y}", "println",
        ]), 0..40),
        part in 1usize..12,
    ) {
        check(&pieces.concat(), part);
    }
}

/// A text of 60 MB was encoded at once: 100 MB of places of its words and more, 1.9 GB of a Unigram's scores.
#[test]
fn a_long_text_is_encoded_in_short_parts() {
    let text = TEXTS.join(" ").repeat(4 * PART / TEXTS.concat().len());
    for (name, tokenizer) in &*CUT {
        let encoder = tokenizer.encoder();
        let (mut rest, mut parts) = (text.as_str(), 0);
        while let Some((first, second)) =
            encoder.cuts().and_then(|cuts| cuts.split_after(rest, PART))
        {
            assert!(first.len() < PART + 200, "{name}: {}", first.len());
            (rest, parts) = (second, parts + 1);
        }
        assert!(rest.len() < PART + 200 && parts >= 3, "{name}: {parts}");
    }
}

fn file(change: impl FnOnce(&mut Value)) -> Value {
    let pattern = Some(PretokenPattern::parse("gpt2").unwrap());
    let options = TrainOptions { pattern, ..Default::default() };
    let mut file = serde_json::from_slice(&pretokenizer_file(&options).unwrap()).unwrap();
    change(&mut file);
    file
}

#[test]
fn possible_matches_over_a_cut_prevent_it() {
    assert!(
        ChunkCutter::from_file(&TokenizerFile::from(file(|_| {})))
            .is_some_and(|cuts| cuts.any_visible)
    );
    let token = |content: &str, special: bool, right: bool| {
        json!([{ "id": 1, "content": content, "special": special, "lstrip": false, "rstrip": right,
            "single_word": false, "normalized": false }])
    };
    for (change, is_cut) in [
        (("added_tokens", token("<a>", false, false)), true),
        (("added_tokens", token("   ", false, false)), true),
        (("added_tokens", token("<a>", true, true)), true),
        (("added_tokens", token("<a>", false, true)), false),
        (("added_tokens", token("a b", true, false)), false),
        (("added_tokens", token("a¨b", false, false)), false),
        (("pre_tokenizer", Value::Null), false),
        (("pre_tokenizer", json!({ "type": "FixedLength", "length": 5 })), false),
        (("pre_tokenizer", json!({ "type": "UnicodeScripts" })), false),
        (("pre_tokenizer", json!({ "type": "Digits", "individual_digits": true })), false),
        (("pre_tokenizer", split(json!({ "Regex": r"\w+ \w+" }))), false),
        (("pre_tokenizer", split(json!({ "String": "x y" }))), false),
        (("pre_tokenizer", split(json!({ "String": " " }))), true),
        (("normalizer", replace(json!({ "String": "x y" }))), false),
        (("normalizer", replace(json!({ "Regex": "x y" }))), false),
        (("normalizer", replace(json!({ "String": " " }))), false),
        (("normalizer", replace(json!({ "String": "\n" }))), true),
    ] {
        let (key, value) = change;
        let json = file(|file| file[key] = value);
        let file = TokenizerFile::from(json.clone());
        assert_eq!(ChunkCutter::from_file(&file).is_some(), is_cut, "{key}: {}", json[key]);
    }
}

fn split(pattern: Value) -> Value {
    json!({ "type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": false })
}

fn replace(pattern: Value) -> Value {
    json!({ "type": "Replace", "pattern": pattern, "content": "-" })
}

/// Where spaces at the start of a text are removed and none is put there, a part behind a cut would lose its own.
#[test]
fn a_space_that_no_part_can_have_is_not_cut_at() {
    let mut file: Value =
        serde_json::from_slice(&trained(&TrainOptions { vocab_size: 300, ..Default::default() }))
            .unwrap();
    let cuts = |file: &Value| {
        let tokenizer = Tokenizer::load_proven(file.to_string().as_bytes(), false).unwrap();
        tokenizer.encoder().cuts().is_some()
    };
    assert!(cuts(&file));
    file["normalizer"] = json!({ "type": "Strip", "strip_left": true, "strip_right": true });
    assert!(!cuts(&file));
    file["pre_tokenizer"]["add_prefix_space"] = json!(true);
    assert!(cuts(&file));
}
