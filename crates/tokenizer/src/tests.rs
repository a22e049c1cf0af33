//! Tests of both encoders, training and GPT-2's files, on tokenizers small enough to make here.

use super::engine::hostile_texts::hostile_texts;
use super::engine::reference::LibraryReference;
use super::{
    EncoderBackend, PretokenCounter, Tokenizer, TokenizerError, TrainOptions,
    from_vocab_and_merges, pretokenizer_file,
};
use model::Context;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::LazyLock;

const TEXTS: [&str; 6] = [
    "The quick brown fox jumps over the lazy dog. The dog doesn't mind; it's the lazy dog.",
    "fn main() {\n    let x = vec![1, 2, 3];\n    for y in &x {\n        println!(\"{y}\");\n    }\n}\n",
    "Übergröße, naïve café, die Größe der Straße — und noch größere Straßen.",
    "1234 12345 123456 3.14159 2.71828 1,000,000",
    "你好，世界。你好，朋友。世界很大。",
    "the the the then there these those that this they them their",
];

static TRAINED: LazyLock<Vec<u8>> = LazyLock::new(|| train(&TEXTS, &options(400)));
static TOKENIZER: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::load(&TRAINED, &TEXTS).expect("loads"));

static ORACLE_ONLY: LazyLock<Tokenizer> =
    LazyLock::new(|| Tokenizer::load(&TRAINED, &TEXTS).expect("loads").with_reference_only());

fn options(vocab_size: u32) -> TrainOptions {
    TrainOptions { vocab_size, ..TrainOptions::default() }
}

fn train(texts: &[&str], options: &TrainOptions) -> Vec<u8> {
    let json = pretokenizer_file(options).expect("pipeline");
    let mut counter = PretokenCounter::new(&json, 1, PretokenCounter::DEFAULT_LIMIT).expect("new");
    for text in texts {
        counter.add_text(0, text).expect("feed");
    }
    super::train(&counter.finish(), &["all".to_owned()], options, &Context::new())
        .expect("trains")
        .json
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encoder().encode(text, &mut ids).expect("encodes");
    ids
}

#[test]
fn a_trained_tokenizer_runs_on_the_fast_encoder() {
    assert_eq!(*TOKENIZER.backend(), EncoderBackend::Fast);
    assert_eq!(TOKENIZER.token_to_id("<|endoftext|>"), Some(0));
    assert!((258..=400).contains(&TOKENIZER.vocab_size()));
    let ids = encode(&TOKENIZER, TEXTS[0]);
    assert!(ids.len() * 3 < TEXTS[0].len() * 2, "merges were learned: {}", ids.len());
    assert!(ids.iter().all(|id| *id < TOKENIZER.vocab_size()));
    assert_eq!(TOKENIZER.decode(&ids).expect("decodes"), TEXTS[0]);
}

#[test]
fn encoding_appends_and_specials_in_text_are_text() {
    let mut ids = vec![7];
    let mut encoder = TOKENIZER.encoder();
    encoder.encode("the dog", &mut ids).expect("encodes");
    let first = ids.len();
    encoder.encode("<|endoftext|>", &mut ids).expect("encodes");
    assert_eq!(ids[0], 7);
    assert!(!ids[1..].contains(&0), "no id of the special token");
    assert_eq!(TOKENIZER.decode(&ids[first..]).expect("decodes"), "<|endoftext|>");
    assert_eq!(TOKENIZER.decode(&[0]).expect("decodes"), "<|endoftext|>");
}

#[test]
fn an_unmodified_library_reads_the_file_and_gives_the_same_ids() {
    let reference = tokenizers::Tokenizer::from_bytes(&*TRAINED).expect("loads");
    for text in TEXTS {
        let theirs = reference.encode(text, true).expect("encodes");
        assert_eq!(encode(&TOKENIZER, text), theirs.get_ids());
    }
    // Left alone, the library takes a spelled special token for the token itself.
    let spelled = reference.encode("<|endoftext|>", true).expect("encodes");
    assert_eq!(spelled.get_ids(), [0]);
}

#[test]
fn gpt2_files_become_a_tokenizer_with_the_same_ids() {
    let file: Value = serde_json::from_slice(&TRAINED).expect("parses");
    let vocab = file["model"]["vocab"].to_string();
    let mut merges = String::from("#version: 0.2\n");
    for pair in file["model"]["merges"].as_array().expect("merges") {
        merges.push_str(&format!(
            "{} {}\r\n",
            pair[0].as_str().expect("left"),
            pair[1].as_str().expect("right")
        ));
    }
    let json = from_vocab_and_merges(vocab.as_bytes(), merges.as_bytes()).expect("converts");
    let tokenizer = Tokenizer::load(&json, &TEXTS).expect("loads");
    assert_eq!(*tokenizer.backend(), EncoderBackend::Fast);
    assert_eq!(tokenizer.vocab_size(), TOKENIZER.vocab_size());
    for text in hostile_texts() {
        assert_eq!(encode(&tokenizer, &text), encode(&TOKENIZER, &text));
    }
}

#[test]
fn gpt2_files_that_do_not_fit_name_the_line() {
    let fails = |vocab: &str, merges: &[u8]| {
        from_vocab_and_merges(vocab.as_bytes(), merges).expect_err("must fail").to_string()
    };
    assert!(fails("[]", b"").starts_with("vocab.json: "));
    assert_eq!(fails("{}", b""), "vocab.json: no token in it");
    assert_eq!(fails(r#"{"a":1,"b":1}"#, b""), "vocab.json: two tokens have the id 1");
    let vocab = r#"{"a":0,"b":1,"ab":2}"#;
    assert_eq!(
        fails(vocab, b"#version: 0.2\na b\na\n"),
        "merges.txt, line 3: not two tokens with one space between"
    );
    assert_eq!(fails(vocab, b"b a\n"), "merges.txt, line 1: `ba` is not in vocab.json");
    assert_eq!(fails(vocab, b"a b\n\xff\n"), "merges.txt, line 2: not UTF-8");
}

#[test]
fn unsupported_files_go_to_the_reference_with_a_reason() {
    // A pattern only a regular expression engine can run.
    let mut file: Value = serde_json::from_slice(&TRAINED).expect("parses");
    file["pre_tokenizer"] = json!({ "type": "Sequence", "pretokenizers": [
        { "type": "Split", "pattern": { "Regex": "[aeiou]+|[^aeiou]+" }, "behavior": "Isolated", "invert": false },
        { "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false }
    ]});
    let json = file.to_string();
    let tokenizer = Tokenizer::load(json.as_bytes(), &TEXTS).expect("loads");
    let EncoderBackend::Oracle { reason } = tokenizer.backend() else { panic!("must fall back") };
    assert!(reason.starts_with("the fast encoder"), "{reason}");
    assert_eq!(tokenizer.backend().name(), "oracle");
    let ids = encode(&tokenizer, TEXTS[0]);
    assert_eq!(tokenizer.decode(&ids).expect("decodes"), TEXTS[0]);
    assert_ne!(ids, encode(&TOKENIZER, TEXTS[0]));
}

#[test]
fn truncation_padding_and_frames_of_the_file_are_not_applied() {
    let mut file: Value = serde_json::from_slice(&TRAINED).expect("parses");
    file["truncation"] =
        json!({ "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 });
    file["padding"] = json!({ "strategy": { "Fixed": 64 }, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<|endoftext|>" });
    file["post_processor"] = json!({ "type": "TemplateProcessing",
        "single": [{ "SpecialToken": { "id": "<|endoftext|>", "type_id": 0 } }, { "Sequence": { "id": "A", "type_id": 0 } }],
        "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
        "special_tokens": { "<|endoftext|>": { "id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"] } } });
    let tokenizer = Tokenizer::load(file.to_string().as_bytes(), &TEXTS).expect("loads");
    assert_eq!(*tokenizer.backend(), EncoderBackend::Fast);
    for text in TEXTS {
        assert_eq!(encode(&tokenizer, text), encode(&TOKENIZER, text));
    }
}

#[test]
fn broken_files_are_errors() {
    for bad in [
        &b""[..],
        b"{}",
        b"\xff",
        b"[1]",
        br#"{"model":{"type":"BPE","vocab":{},"merges":[["a","b"]]}}"#,
    ] {
        assert!(Tokenizer::load(bad, &[]).is_err());
    }
    let mut file: Value = serde_json::from_slice(&TRAINED).expect("parses");
    file["model"]["dropout"] = json!(0.1);
    let error = Tokenizer::load(file.to_string().as_bytes(), &[]).err().expect("must fail");
    assert!(matches!(error, TokenizerError::Dropout(_)));
}

proptest! {
    #[test]
    fn fast_ids_are_the_oracles_and_decode_to_the_text(text in "(\\PC|[ \n\t'<|>a-e0-9]){0,200}") {
        let oracle = LibraryReference::load(&TRAINED).expect("loads");
        let mut theirs = Vec::new();
        oracle.encode(&text, &mut theirs).expect("encodes");
        let ours = encode(&TOKENIZER, &text);
        prop_assert_eq!(&ours, &theirs);
        prop_assert_eq!(TOKENIZER.decode(&ours).expect("decodes"), text);
    }

    #[test]
    fn no_bytes_break_loading(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Tokenizer::load(&bytes, &[]).is_err());
    }
}

/// Each token's bytes follow the ones before, and together they are the text.
fn cover(text: &str, offsets: &[(u32, u32)]) -> bool {
    let mut told = 0;
    offsets.iter().all(|(start, end)| {
        let (start, end) = (*start as usize, *end as usize);
        let follows = start <= told && told <= end;
        told = end;
        follows && text.is_char_boundary(start) && text.is_char_boundary(end)
    }) && told == text.len()
}

#[test]
fn offsets_are_those_of_the_same_ids_and_cover_the_text() {
    for text in hostile_texts().iter().map(String::as_str).chain(TEXTS) {
        let (ids, offsets) = TOKENIZER.encode_with_offsets(text, false).expect("encodes");
        assert_eq!(ids, encode(&TOKENIZER, text), "{text:?}");
        assert!(cover(text, &offsets), "{text:?}");
        let ends = TOKENIZER.ends(text).expect("encodes");
        assert!(ends.is_sorted() && ends.last().is_none_or(|end| *end as usize == text.len()));
    }
    assert!(
        TOKENIZER.offsets_by_fast_engine("<|endoftext|> 👍é", true).is_some(),
        "it is the fast one"
    );
    let (ids, offsets) = TOKENIZER.encode_with_offsets("a<|endoftext|>é", true).expect("encodes");
    assert_eq!((ids[1], offsets[1], offsets.last()), (0, (1, 14), Some(&(14, 16))));
    assert_eq!(TOKENIZER.specials(), [(0, "<|endoftext|>".to_owned())]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(200)))]
    #[test]
    fn offsets_of_any_text_cover_it(text in "\\PC{0,60}|[ \n\ta-c'é語👍]{0,60}") {
        let (ids, offsets) = TOKENIZER.encode_with_offsets(&text, false).expect("encodes");
        prop_assert_eq!(ids, encode(&TOKENIZER, &text));
        prop_assert!(cover(&text, &offsets), "{:?} {:?}", text, offsets);
        // With special tokens, and by both encoders.
        let spelled = text.replace('b', "<|endoftext|>");
        let (ids, offsets) = TOKENIZER.encode_with_offsets(&spelled, true).expect("encodes");
        let (oracle_ids, oracle_offsets) = ORACLE_ONLY.encode_with_offsets(&spelled, true).expect("encodes");
        prop_assert_eq!((ids, offsets), (oracle_ids, oracle_offsets));
    }
}

/// The trained file with three special tokens spelled `names`, and what its pipeline and they do with letters and
/// space.
fn with_specials(names: [&str; 3], pipeline: &Value, flags: &Value) -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&TRAINED).expect("is JSON");
    file.as_object_mut().expect("is one").extend(pipeline.as_object().expect("is one").clone());
    let added = file["added_tokens"].as_array_mut().expect("is a list");
    for name in names {
        let mut token = json!({"id": 1000 + added.len(), "content": name, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true});
        token.as_object_mut().expect("is one").extend(flags.as_object().expect("is one").clone());
        added.push(token);
    }
    serde_json::to_vec(&file).expect("writes")
}

const TURNS: [&str; 3] = ["<|begin|>", "<|end|>", "<s>"];
/// A template's tokens as they are written for a library that knows no others, so that `TURNS` are text to it.
const OTHER_TURNS: [&str; 3] = ["\u{e000}", "\u{e001}", "\u{e002}"];

static WITH_TURNS: LazyLock<Vec<(Tokenizer, tokenizers::Tokenizer)>> = LazyLock::new(|| {
    let pipelines = [
        json!({}),
        json!({"normalizer": {"type": "Prepend", "prepend": "_"}}),
        json!({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]}}),
        json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Metaspace", "replacement": "_", "prepend_scheme": "first", "split": true},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}]}}),
    ];
    let flags =
        [json!({}), json!({"lstrip": true}), json!({"rstrip": true}), json!({"normalized": true})];
    // What is put before a text is put before a token that is normalised, which is none then but at the start.
    let is_whole = |(pipeline, flags): &(&Value, &Value)| {
        pipeline["normalizer"]["type"] != "Prepend" || flags["normalized"] != true
    };
    let pairs =
        pipelines.iter().flat_map(|pipeline| flags.iter().map(move |flags| (pipeline, flags)));
    let load = |(pipeline, flags): (&Value, &Value)| {
        let ours = Tokenizer::load(&with_specials(TURNS, pipeline, flags), &[]).expect("loads");
        let other = with_specials(OTHER_TURNS, pipeline, flags);
        (ours, tokenizers::Tokenizer::from_bytes(other).expect("loads"))
    };
    pairs.filter(is_whole).map(load).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(150)))]
    /// Judged by the library over a file whose special tokens have other spellings.
    #[test]
    fn special_tokens_beside_plain_ones_are_the_library_s(
        parts in prop::collection::vec((0_usize..8, "[a-cE <|>é_]{0,6}"), 0..10),
        at in 0_usize..15,
    ) {
        let (ours, other) = &WITH_TURNS[at];
        let (mut text, mut other_text, mut plain, mut forged) = (String::new(), String::new(), Vec::new(), 0);
        for (what, word) in &parts {
            let start = u32::try_from(text.len()).expect("is short");
            match (TURNS.get(*what), TURNS.get(what.wrapping_sub(3))) {
                (Some(turn), _) => {
                    text += turn;
                    other_text += OTHER_TURNS[*what];
                }
                (None, said) => {
                    let said = said.map_or(word.as_str(), |turn| turn);
                    text += said;
                    other_text += said;
                    forged += usize::from(said != word);
                    if said != word {
                        plain.push(start..start + u32::try_from(said.len()).expect("is short"));
                    }
                }
            }
        }
        let found = ours.encoder().encode_beside_plain(&text, &plain);
        let (ids, offsets) = found.expect("encodes");
        let expected = other.encode_fast(other_text.as_str(), false).expect("encodes");
        let as_ours = |id: &u32| {
            let turn = OTHER_TURNS.iter().position(|turn| other.token_to_id(turn) == Some(*id));
            turn.map_or(*id, |turn| ours.token_to_id(TURNS[turn]).expect("is known"))
        };
        let expected: Vec<u32> = expected.get_ids().iter().map(as_ours).collect();
        prop_assert_eq!(&ids, &expected, "{:?} {:?}", text, plain);
        prop_assert_eq!(ids.len(), offsets.len());
        for (id, (start, end)) in ids.iter().zip(offsets) {
            let spelled = text[start as usize..end as usize].trim();
            if let Some(turn) = TURNS.iter().find(|turn| ours.token_to_id(turn) == Some(*id)) {
                prop_assert_eq!(spelled, *turn);
                prop_assert!(plain.iter().all(|range| range.end <= start || end <= range.start));
            }
        }
        prop_assert!(forged > 0 || plain.is_empty());
    }
}

#[test]
fn plain_ones_of_sentencepiece_are_text_and_of_a_filter_refused() {
    let bytes = include_bytes!("convert/vectors/bpe.model");
    let json = super::convert(super::TokenizerInput::SentencePiece(bytes)).expect("converts").json;
    let tokenizer = Tokenizer::load_sentencepiece(&json, bytes).expect("loads");
    let (ids, offsets) = tokenizer
        .encoder()
        .encode_beside_plain("<s>a</s><s>b", std::slice::from_ref(&(8..11)))
        .expect("encodes");
    let special = |name: &str| tokenizer.token_to_id(name).expect("is known");
    assert_eq!((ids[0], offsets[0]), (special("<s>"), (0, 3)));
    let end = ids.iter().position(|id| *id == special("</s>")).expect("is the template's");
    assert_eq!(offsets[end], (4, 8));
    let mut alone = Vec::new();
    tokenizer.encoder().encode("<s>b", &mut alone).expect("encodes");
    assert_eq!(ids[end + 1..], alone);
    // Places of special tokens that overlap: the first takes the space that the second begins with.
    let special = |content: &str, id: u32, takes_space: bool| {
        json!({"id": id, "content": content, "special": true, "normalized": true, "lstrip": false,
            "rstrip": takes_space, "single_word": false})
    };
    let mut file: Value =
        serde_json::from_slice(&with_specials(TURNS, &json!({}), &json!({}))).expect("reads");
    for (at, (content, takes_space)) in (0..).zip([("<a>", true), (" <b>", false), ("<c>", false)])
    {
        let entry = special(content, 2000 + at, takes_space);
        file["added_tokens"].as_array_mut().expect("is there").push(entry);
    }
    let tokenizer =
        Tokenizer::load(&serde_json::to_vec(&file).expect("writes"), &[]).expect("loads");
    let plain = std::slice::from_ref(&(8..11));
    let (ids, offsets) =
        tokenizer.encoder().encode_beside_plain("<a> <b> <c>", plain).expect("encodes");
    let of = |special: &str| tokenizer.token_to_id(special).expect("is known");
    assert_eq!((&ids[..2], &offsets[..2]), (&[of("<a>"), of(" <b>")][..], &[(0, 4), (3, 7)][..]));
    assert!(ids.len() == offsets.len() && !ids.contains(&of("<c>")), "{ids:?}");
    // Where a normaliser leaves out what stands for the others, nothing is given.
    let filter = json!({"normalizer": {"type": "Replace", "pattern": {"Regex": "[\\x{fdd0}-\\x{fdef}\\x{f0000}-\\x{ffffd}]"}, "content": ""}});
    let json = with_specials(TURNS, &filter, &json!({"normalized": true}));
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    let refused = tokenizer
        .encoder()
        .encode_beside_plain("<s>a<s>", std::slice::from_ref(&(4..7)))
        .unwrap_err();
    assert!(refused.refusal().expect("is of the text").contains("the normaliser leaves out"));
}
