//! Tests that both implementations split alike, character by character and on random texts.

use super::*;
use crate::engine::hostile_texts::hostile_texts;
use crate::engine::unicode::NEW_CHARACTERS;
use crate::file::pattern::NAMED_PATTERNS;
use proptest::prelude::*;
use std::sync::LazyLock;
use tokenizers::{OffsetReferential, OffsetType, PreTokenizer as _};

const BYTES: &str =
    r#"{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true}"#;

fn file(normalizer: &Value, pre_tokenizer: &Value) -> Vec<u8> {
    json!({
        "version": "1.0", "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null,
        "model": { "type": "BPE", "vocab": {}, "merges": [] }
    })
    .to_string()
    .into_bytes()
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

fn isolated(pattern: Value) -> Value {
    json!({ "type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": false })
}

/// Name, whether the fast implementation is to be used, file.
fn files() -> Vec<(String, bool, Vec<u8>)> {
    let bytes = parsed(BYTES);
    let mut plain = bytes.clone();
    plain["use_regex"] = json!(false);
    let sequence = |steps: &[&Value]| json!({ "type": "Sequence", "pretokenizers": steps });
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let spaces = json!({ "type": "Sequence", "normalizers": [
        { "type": "Prepend", "prepend": "▁" },
        { "type": "Replace", "pattern": { "String": " " }, "content": "▁" }
    ]});
    let words = json!({ "type": "Split", "pattern": { "String": "▁" },
        "behavior": "MergedWithNext", "invert": false });
    let lines = isolated(json!({ "String": "\n" }));
    let bert = json!({ "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
        "strip_accents": false, "lowercase": false });
    let metaspace = |scheme: &str| {
        json!({ "type": "Metaspace", "replacement": "▁",
        "prepend_scheme": scheme, "split": true })
    };
    let (none, nfc, nfkc) = (Value::Null, json!({ "type": "NFC" }), json!({ "type": "NFKC" }));
    let mut files = vec![
        ("bytes".to_owned(), true, file(&none, &bytes)),
        ("nfc".to_owned(), true, file(&nfc, &bytes)),
        ("nfkc".to_owned(), true, file(&nfkc, &bytes)),
        ("digits".to_owned(), true, file(&none, &sequence(&[&digits, &bytes]))),
        ("digits last".to_owned(), false, file(&none, &sequence(&[&bytes, &digits]))),
        ("lines and words".to_owned(), true, file(&spaces, &sequence(&[&lines, &words]))),
        ("digits, words".to_owned(), true, file(&spaces, &sequence(&[&digits, &lines, &words]))),
        ("metaspace".to_owned(), true, file(&none, &metaspace("always"))),
        ("metaspace first".to_owned(), true, file(&none, &metaspace("first"))),
        ("llama".to_owned(), true, file(&spaces, &none)),
        ("bert".to_owned(), true, file(&bert, &json!({ "type": "BertPreTokenizer" }))),
        ("own".to_owned(), false, {
            let own = isolated(json!({ "Regex": "[aeiou]+|[^aeiou]+" }));
            file(&none, &sequence(&[&own, &plain]))
        }),
    ];
    for (name, regex) in NAMED_PATTERNS {
        let split = isolated(json!({ "Regex": regex }));
        files.push((name.to_owned(), true, file(&none, &sequence(&[&split, &plain]))));
    }
    files
}

static SPLITTERS: LazyLock<Vec<(String, PretokenSplitter)>> = LazyLock::new(|| {
    files()
        .into_iter()
        .map(|(name, _, json)| (name, PretokenSplitter::of(&json).unwrap()))
        .collect()
});

fn split_by(
    splitter: &mut PretokenSplitter,
    text: &str,
    run: fn(&mut PretokenSplitter, &str, &mut Vec<String>),
) -> Vec<String> {
    let mut pieces = Vec::new();
    run(splitter, text, &mut pieces);
    pieces
}

fn ours(splitter: &mut PretokenSplitter, text: &str) -> Vec<String> {
    split_by(splitter, text, |splitter, text, pieces| {
        splitter.split(text, |piece| pieces.push(piece.to_owned())).unwrap();
    })
}

fn reference(splitter: &mut PretokenSplitter, text: &str) -> Vec<String> {
    split_by(splitter, text, |splitter, text, pieces| {
        splitter.split_reference(text, &mut |piece: &str| pieces.push(piece.to_owned())).unwrap();
    })
}

#[test]
fn the_fast_implementation_is_used_where_it_can_be() {
    for ((name, is_fast, _), (_, splitter)) in files().iter().zip(SPLITTERS.iter()) {
        assert_eq!(splitter.is_fast(), *is_fast, "{name}");
    }
}

/// The model's symbols, by the reference implementation's own hand.
#[test]
fn pretokens_spelled_are_what_the_reference_hands_to_the_model() {
    for (name, _, json) in files() {
        let mut splitter = PretokenSplitter::of(&json).unwrap();
        let plain = tokenizers::Tokenizer::from_bytes(&json).unwrap();
        for text in hostile_texts() {
            let mut split =
                plain.get_added_vocabulary().extract_and_normalize(plain.get_normalizer(), &text);
            if let Some(pre_tokenizer) = plain.get_pre_tokenizer() {
                pre_tokenizer.pre_tokenize(&mut split).unwrap();
            }
            let theirs: Vec<&str> = split
                .get_splits(OffsetReferential::Original, OffsetType::Byte)
                .into_iter()
                .map(|(piece, _, _)| piece)
                .filter(|piece| !piece.is_empty())
                .collect();
            let mut symbols = String::new();
            let spelled: Vec<String> = ours(&mut splitter, &text)
                .iter()
                .map(|piece| {
                    splitter.spell(piece, &mut symbols);
                    symbols.clone()
                })
                .collect();
            assert_eq!(spelled, theirs, "{name}");
        }
    }
}

/// Every character of the first planes in four surroundings; with the whole of Unicode it takes minutes.
#[test]
fn both_split_alike_around_every_character() {
    for (name, splitter) in SPLITTERS.iter() {
        let mut splitter = splitter.clone();
        let stride = if matches!(name.as_str(), "nfkc" | "bert" | "o200k") { 1 } else { 17 };
        let mut texts = String::new();
        for character in (0..0x3_4000).step_by(stride).filter_map(char::from_u32) {
            if is_new_character(character) {
                continue;
            }
            for part in ["a", "b 1", "1 ", "!", "! A", "e\u{301}\u{345}", "\u{334} "] {
                texts.push(character);
                texts.push_str(part);
            }
            if texts.len() > 20_000 {
                assert_eq!(ours(&mut splitter, &texts), reference(&mut splitter, &texts), "{name}");
                texts.clear();
            }
        }
        assert_eq!(ours(&mut splitter, &texts), reference(&mut splitter, &texts), "{name}");
    }
}

#[test]
fn characters_of_newer_editions_go_to_the_reference() {
    assert!(
        is_new_character('\u{323B0}')
            && is_new_character('\u{33479}')
            && !is_new_character('\u{3347A}')
    );
    for character in ['a', 'é', '語', '한', '👍', '\u{10ffff}', '\u{3300}', '\u{a7cd}'] {
        assert!(!is_new_character(character), "{character:?}");
    }
    for (_, splitter) in SPLITTERS.iter() {
        let mut splitter = splitter.clone();
        for (first, last) in NEW_CHARACTERS {
            for character in [first, last].into_iter().filter_map(char::from_u32) {
                let text = format!("s{character}s 1{character}! {character}");
                assert_eq!(ours(&mut splitter, &text), reference(&mut splitter, &text));
            }
        }
    }
}

#[test]
fn special_tokens_are_text_and_other_added_tokens_no_pretokens() {
    let mut json: Value = serde_json::from_slice(&file(&Value::Null, &parsed(BYTES))).unwrap();
    let added = |id: u32, content: &str, special: bool| {
        json!({ "id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": special })
    };
    json["added_tokens"] = json!([added(0, "<s>", true), added(1, "<tool>", false)]);
    json["model"]["vocab"] = json!({ "<s>": 0, "<tool>": 1 });
    let mut splitter = PretokenSplitter::of(json.to_string().as_bytes()).unwrap();
    let pieces = ours(&mut splitter, "a<s>b<tool>c <tool>");
    assert_eq!(pieces, ["a", "<", "s", ">", "b", "c", " "]);
    assert_eq!(pieces, reference(&mut splitter, "a<s>b<tool>c <tool>"));
}

#[test]
fn other_json_files_are_refused() {
    for bad in [&b""[..], b"{}", b"\xff", b"[1]"] {
        assert!(matches!(PretokenSplitter::of(bad), Err(TokenizerError::Load(_))));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    #[test]
    fn both_split_random_texts_alike(text in "(\\PC|[ \n\r\t'a-eS0-9.▁é語\u{301}]){0,80}") {
        for (name, splitter) in SPLITTERS.iter() {
            let mut splitter = splitter.clone();
            prop_assert_eq!(ours(&mut splitter, &text), reference(&mut splitter, &text), "{}", name);
        }
    }
}
