//! Tests of every form of a tokenizer against ids that its own library gave, and of what is refused.

use super::{TokenizerFileKind, TokenizerInput, convert, detect_kind};
use crate::file::version2::to_version_1;
use crate::sentencepiece::proto::{ModelPiece, SentencePieceKind, SentencePieceModel, TrainerSpec};
use crate::vocabulary::byte_characters;
use crate::{Tokenizer, TokenizerError};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Models trained by sentencepiece 0.2.3 with identity normalisation and the ids it gave: `bpe` falls
/// back to bytes and keeps white space, `unigram` removes extra white space and has a user symbol.
const BPE: &[u8] = include_bytes!("vectors/bpe.model");
const UNIGRAM: &[u8] = include_bytes!("vectors/unigram.model");
const IDS: &str = include_str!("vectors/ids.json");

fn ids(file: &[u8], text: &str) -> Vec<u32> {
    let tokenizer = Tokenizer::load(file, &[]).expect("loads");
    let mut ids = Vec::new();
    tokenizer.encoder().encode(text, &mut ids).expect("encodes");
    ids
}

#[test]
fn sentencepiece_models_give_the_ids_of_sentencepiece() {
    let golden: Value = serde_json::from_str(IDS).expect("parses");
    let texts: Vec<&str> =
        golden["texts"].as_array().expect("texts").iter().filter_map(Value::as_str).collect();
    for (name, model) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let converted = convert(TokenizerInput::SentencePiece(model)).expect("converts");
        assert_eq!(converted.originals, [("tokenizer.model".to_owned(), model.to_vec())]);
        let theirs: Vec<Vec<u32>> =
            serde_json::from_value(golden[name].clone()).expect("lists of ids");
        assert_eq!(theirs.len(), texts.len());
        for (text, theirs) in texts.iter().zip(theirs) {
            assert_eq!(ids(model, text), theirs, "{name} {text:?}");
            // In these the tokenizer.json says all that decides them.
            assert_eq!(ids(&converted.json, text), theirs, "{name} {text:?}");
        }
    }
}

#[test]
fn a_bpe_with_bytes_gives_every_text_back() {
    let json = convert(TokenizerInput::SentencePiece(BPE)).expect("converts").json;
    for file in [BPE, &json] {
        let tokenizer = Tokenizer::load(file, &[]).expect("loads");
        for text in ["plain", " two  spaces ", "\t\n\r\n", "👍 né 語\u{0}", "▁", "<0x41>"] {
            let decoded = tokenizer.decode(&ids(file, text)).expect("decodes");
            // The one character that SentencePiece itself takes for a space.
            assert_eq!(decoded, text.replace('▁', " "));
        }
    }
}

#[test]
fn damaged_models_are_errors() {
    for model in [BPE, UNIGRAM] {
        for end in (0..model.len()).step_by(37) {
            // Cut between two pieces a model stays readable, and lacks only what follows.
            let _ = convert(TokenizerInput::SentencePiece(&model[..end]));
        }
        let mut bytes = model.to_vec();
        bytes.truncate(model.len() / 2 + 1);
        while SentencePieceModel::decode(bytes.as_slice()).is_ok() {
            bytes.pop();
        }
        let error = convert(TokenizerInput::SentencePiece(&bytes)).expect_err("is cut").to_string();
        assert!(error.starts_with("SentencePiece model: "), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(48)))]
    #[test]
    fn no_bytes_of_a_model_break_loading(at in 0usize..6_000, byte: u8, more in proptest::collection::vec(any::<u8>(), 0..12)) {
        let mut bytes = BPE.to_vec();
        bytes[at] = byte;
        bytes.splice(at..at + more.len(), more);
        if let Ok(converted) = convert(TokenizerInput::SentencePiece(&bytes)) {
            let _ = Tokenizer::load_proven(&converted.json, true);
        }
        let _ = convert(TokenizerInput::SentencePiece(&bytes[at..]));
    }
}

fn model(pieces: &[(&str, SentencePieceKind)], change: impl FnOnce(&mut TrainerSpec)) -> Vec<u8> {
    let mut trainer = TrainerSpec { model_type: Some(2), ..TrainerSpec::default() };
    change(&mut trainer);
    let pieces = pieces.iter().zip(0u16..).map(|((piece, kind), at)| ModelPiece {
        piece: Some((*piece).to_owned()),
        score: Some(-f32::from(at)),
        kind: Some(*kind as i32),
    });
    SentencePieceModel { pieces: pieces.collect(), trainer: Some(trainer), normalizer: None }
        .encode_to_vec()
}

#[test]
fn models_that_cannot_be_used_say_why() {
    let fails = |pieces: &[(&str, SentencePieceKind)], change: fn(&mut TrainerSpec)| {
        convert(TokenizerInput::SentencePiece(&model(pieces, change)))
            .expect_err("must fail")
            .to_string()
    };
    let unk = ("<unk>", SentencePieceKind::Unknown);
    let a = ("a", SentencePieceKind::Normal);
    assert!(fails(&[a], |_| ()).contains("exactly one unknown token"));
    assert!(fails(&[unk, a, a], |_| ()).contains("piece 2 `a` is there twice"));
    assert!(fails(&[unk, ("", SentencePieceKind::Normal)], |_| ()).contains("piece 1 is empty"));
    assert!(fails(&[unk, a], |t| t.model_type = Some(9)).contains("type 9"));
    assert!(fails(&[unk, a], |t| t.byte_fallback = Some(true)).contains("<0x00>"));
    let unigram = |t: &mut TrainerSpec| t.model_type = Some(1);
    assert!(fails(&[unk], unigram).contains("no pieces for text"));
}

#[test]
fn every_type_of_model_converts_with_its_tokens_and_ids() {
    use SentencePieceKind::{Control, Normal, Unknown, Unused, UserDefined};
    let pieces = [
        ("<unk>", Unknown),
        ("<s>", Control),
        ("a", Normal),
        ("b", Normal),
        ("ab", Unused),
        ("▁", Normal),
        ("a▁", Normal),
        ("<sym>", UserDefined),
    ];
    for model_type in 1..=4 {
        for is_suffix in [false, true] {
            let bytes = model(&pieces, |trainer| {
                trainer.model_type = Some(model_type);
                trainer.treat_whitespace_as_suffix = Some(is_suffix);
            });
            let json = convert(TokenizerInput::SentencePiece(&bytes)).expect("converts").json;
            // Other programs can read the file, whatever ids they get by it.
            tokenizers::Tokenizer::from_bytes(&json).expect("loads");
            let tokenizer = Tokenizer::load_sentencepiece(&json, &bytes).expect("loads");
            assert_eq!(tokenizer.backend().name(), "sentencepiece");
            assert_eq!((tokenizer.vocab_size(), tokenizer.token_to_id("<sym>")), (8, Some(7)));
            assert_eq!(tokenizer.specials(), [(0, "<unk>".to_owned()), (1, "<s>".to_owned())]);
            let (ids, offsets) = tokenizer.encode_with_offsets("a<s>b", true).expect("encodes");
            assert_eq!(ids.iter().filter(|id| **id == 1).count(), 1);
            assert_eq!(offsets.len(), ids.len());
            assert!(offsets.contains(&(1, 4)) && offsets.contains(&(4, 5)), "{offsets:?}");
            let (plain, _) = tokenizer.encode_with_offsets("a<s>b", false).expect("encodes");
            assert!(!plain.contains(&1), "{plain:?}");
        }
    }
}

#[test]
fn reserved_pieces_spelled_alike_get_names_of_their_own() {
    use SentencePieceKind::{Control, Normal, Unknown, Unused};
    let pieces = [
        ("<unk>", Unknown),
        ("a", Control),
        ("a", Normal),
        ("▁", Normal),
        ("\0", Unused),
        ("\0", Unused),
    ];
    let bytes = model(&pieces, |trainer| trainer.model_type = Some(4));
    let tokenizer = Tokenizer::load(&bytes, &[]).expect("loads");
    assert_eq!(tokenizer.vocab_size(), 6);
    assert_eq!((tokenizer.token_to_id("a"), tokenizer.token_to_id("a#1")), (Some(2), Some(1)));
    assert_eq!(ids(&bytes, "a"), [3, 2]);
}

/// Ranks of the 256 bytes and of some joined ones.
fn ranks(more: &[&[u8]]) -> BTreeMap<Vec<u8>, u32> {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    bytes.chain(more.iter().map(|token| token.to_vec())).zip(0..).collect()
}

fn rank_file(ranks: &BTreeMap<Vec<u8>, u32>) -> Vec<u8> {
    let lines =
        ranks.iter().map(|(token, rank)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)));
    lines.collect::<String>().into_bytes()
}

/// tiktoken's own rule, written plainly: the pair of lowest joined rank, leftmost first.
fn joined(ranks: &BTreeMap<Vec<u8>, u32>, piece: &[u8]) -> Vec<u32> {
    let mut parts: Vec<Vec<u8>> = piece.iter().map(|byte| vec![*byte]).collect();
    if let Some(rank) = ranks.get(piece) {
        return vec![*rank];
    }
    loop {
        let pairs = parts.windows(2).enumerate();
        let best = pairs.filter_map(|(at, pair)| Some((*ranks.get(&pair.concat())?, at))).min();
        let Some((_, at)) = best else { break };
        let right = parts.remove(at + 1);
        parts[at].extend(right);
    }
    parts.iter().map(|part| ranks[part]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    #[test]
    fn tiktoken_ranks_join_as_tiktoken_joins(
        tokens in proptest::collection::btree_set("[abc]{2,4}", 1..12), word in "[abcd]{1,24}"
    ) {
        let tokens: Vec<&[u8]> = tokens.iter().map(String::as_bytes).collect();
        let ranks = ranks(&tokens);
        let given = TokenizerInput::Tiktoken { ranks: &rank_file(&ranks), pattern: "gpt2", specials: &[] };
        let json = convert(given).expect("converts").json;
        // Equal halves that overlap, as of `aaa`, tiktoken takes from the left; a list of merges has
        // one order for them. No published vocabulary is made so that it shows.
        let overlaps = tokens.iter().any(|t| t.len() > 2 && t.windows(2).any(|pair| pair[0] == pair[1]));
        prop_assume!(!overlaps);
        prop_assert_eq!(ids(&json, &word), joined(&ranks, word.as_bytes()));
    }
}

#[test]
fn tiktoken_specials_keep_their_ids() {
    let ranks = rank_file(&ranks(&[b"ab"]));
    for id in [257, 300] {
        let specials = [("<|end|>".to_owned(), id)];
        let given =
            TokenizerInput::Tiktoken { ranks: &ranks, pattern: "cl100k", specials: &specials };
        let converted = convert(given).expect("converts");
        let tokenizer = Tokenizer::load(&converted.json, &[]).expect("loads");
        assert_eq!(tokenizer.specials(), [(id, "<|end|>".to_owned())]);
        assert!(!ids(&converted.json, "a<|end|>b").contains(&id));
        let (special, _) = tokenizer.encode_with_offsets("a<|end|>b", true).expect("encodes");
        assert_eq!(special, [97, id, 98]);
        assert_eq!(converted.originals[1], ("pattern.txt".to_owned(), b"cl100k".to_vec()));
    }
}

#[test]
fn rank_files_that_do_not_fit_name_the_line() {
    let fails = |ranks: &[u8], pattern: &str, specials: &[(String, u32)]| {
        convert(TokenizerInput::Tiktoken { ranks, pattern, specials })
            .expect_err("must fail")
            .to_string()
    };
    let good = rank_file(&ranks(&[]));
    assert_eq!(
        fails(b"IQ== 0\nIQ== 1\n", "gpt2", &[]),
        "tiktoken ranks, line 2: the token was given in line 1 already"
    );
    assert!(
        fails(b"IQ== 0\n\nIg== x\n", "gpt2", &[]).starts_with("tiktoken ranks, line 3: the rank")
    );
    assert!(
        fails(b"IQ== 0\n!! 1\n", "gpt2", &[])
            .starts_with("tiktoken ranks, line 2: the token is not base64")
    );
    assert!(fails(b"IQ== 0\n", "gpt2", &[]).contains("no token for the byte 0x00"));
    assert!(fails(&good, "", &[]).contains("must be given with it"));
    assert!(fails(&good, "gpt9", &[]).contains("a name that is not known"));
    assert!(fails(&good, r"\p{N}{1,3}+|\s+", &[]).contains("leave it out"));
    let special = |token: &str, id| vec![(token.to_owned(), id)];
    assert!(fails(&good, "gpt2", &special("<|x|>", 7)).contains("is a rank of the file"));
    assert!(
        fails(&good, "gpt2", &[special("<|x|>", 300), special("<|x|>", 301)].concat())
            .contains("twice")
    );
}

#[test]
fn a_file_given_as_another_is_called_by_its_name() {
    let ranks = rank_file(&ranks(&[]));
    let forms: [(&[u8], TokenizerFileKind); 10] = [
        (b" \n", TokenizerFileKind::Empty),
        (br#"{"version":"1.0","model":{}}"#, TokenizerFileKind::TokenizerJson),
        (br#"{"tokenizer_class":"LlamaTokenizer"}"#, TokenizerFileKind::TokenizerConfig),
        (br#"{"model":0,"b":1}"#, TokenizerFileKind::Vocab),
        (b"#version: 0.2\na b\n", TokenizerFileKind::Merges),
        (BPE, TokenizerFileKind::SentencePiece),
        (&ranks, TokenizerFileKind::Tiktoken),
        (&[0x1f, 0x8b, 8, 0], TokenizerFileKind::Compressed),
        (b"<!DOCTYPE html>", TokenizerFileKind::Page),
        (b"version https://git-lfs.github.com/spec/v1\n", TokenizerFileKind::LfsPointer),
    ];
    for (bytes, expected) in forms {
        assert_eq!(
            detect_kind(bytes),
            expected,
            "{:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
        );
        if !matches!(expected, TokenizerFileKind::TokenizerJson) {
            let error =
                convert(TokenizerInput::TokenizerJson(bytes)).expect_err("is something else");
            assert!(matches!(error, TokenizerError::Misgiven { given: "tokenizer.json", .. }));
        }
    }
    let error =
        convert(TokenizerInput::SentencePiece(b"{\"model\":{}}")).expect_err("is JSON").to_string();
    assert_eq!(error, "expected a SentencePiece model, got a tokenizer.json");
}

fn bytes_and(more: &[(&str, u32)]) -> Value {
    let bytes = byte_characters().into_iter().map(String::from).zip(0u32..);
    let more = more.iter().map(|(token, id)| ((*token).to_owned(), *id));
    bytes
        .chain(more)
        .map(|(token, id)| (token, Value::from(id)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Files of version 1.0 in which version 2.0 says something differently.
fn old_files() -> Vec<Value> {
    let file = |normalizer: Value, pre_tokenizer: Value, post_processor: Value, model: Value| {
        json!({ "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [{ "id": 256, "content": "[X]", "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false, "special": true }],
            "normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": post_processor,
            "decoder": null, "model": model })
    };
    let bpe = json!({ "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
        "vocab": bytes_and(&[("[X]", 256), ("ab", 257), ("Ġa", 258)]), "merges": [["a", "b"], ["Ġ", "a"]] });
    let unigram = json!({ "type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab":
        [["<unk>", 0.0], ["▁", -2.0], ["▁a", -1.5], ["a", -2.5], ["b", -3.0], ["ab", -3.5], [" ", -9.0]] });
    let byte_level = |use_regex: bool| {
        json!({ "type": "ByteLevel", "add_prefix_space": false,
        "trim_offsets": true, "use_regex": use_regex })
    };
    let metaspace = |scheme: &str, split: bool| {
        json!({ "type": "Metaspace", "replacement": "▁",
        "prepend_scheme": scheme, "split": split })
    };
    let template = json!({ "type": "TemplateProcessing",
        "single": [{ "SpecialToken": { "id": "[X]", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
        "special_tokens": { "[X]": { "id": "[X]", "ids": [256], "tokens": ["[X]"] } } });
    let digits = json!({ "type": "Digits", "individual_digits": true });
    let sequence = |steps: Vec<Value>| json!({ "type": "Sequence", "pretokenizers": steps });
    let lower = json!({ "type": "Lowercase" });
    vec![
        file(Value::Null, byte_level(true), Value::Null, bpe.clone()),
        file(Value::Null, byte_level(false), template.clone(), bpe.clone()),
        file(lower.clone(), sequence(vec![digits, byte_level(true)]), template, bpe),
        file(Value::Null, metaspace("always", true), Value::Null, unigram.clone()),
        file(lower, metaspace("first", false), Value::Null, unigram.clone()),
        file(
            Value::Null,
            sequence(vec![json!({ "type": "WhitespaceSplit" }), metaspace("always", true)]),
            Value::Null,
            unigram,
        ),
    ]
}

#[test]
fn the_canonical_form_of_the_new_library_comes_back_as_it_was() {
    for old in old_files() {
        let old = old.to_string();
        assert_eq!(to_version_1(old.as_bytes()).expect("parses"), None, "is read as it is");
        let canonical = tokenizers_fast::canonicalize_str(&old).expect("converts");
        let converted =
            convert(TokenizerInput::TokenizerJson(canonical.as_bytes())).expect("converts back");
        assert_eq!(
            converted.originals,
            [("tokenizer.json".to_owned(), canonical.clone().into_bytes())]
        );
        let again = std::str::from_utf8(&converted.json).expect("is text");
        let again = tokenizers_fast::canonicalize_str(again).expect("converts again");
        let parse = |text: &str| serde_json::from_str::<Value>(text).expect("parses");
        assert!(parse(&again) == parse(&canonical), "{old}");
        for text in ["ab a aB  abab a12b", " a", "", "\n a\tb "] {
            assert_eq!(ids(&converted.json, text), ids(old.as_bytes(), text), "{old} {text:?}");
        }
    }
}
