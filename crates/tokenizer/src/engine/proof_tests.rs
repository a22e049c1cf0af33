//! Tests of the proof of the fast engine and of the table of `check`, on tokenizers of each kind.

use super::hostile_texts;
use crate::check::{CheckSubject, CheckVerdict, check};
use crate::convert::{TokenizerInput, convert};
use crate::engine::hostile_texts::long_texts;
use crate::{EncoderBackend, REFERENCE, SENTENCEPIECE, Tokenizer, TokenizerCheck};
use serde_json::{Value, json};

const BPE: &[u8] = include_bytes!("../convert/vectors/bpe.model");
const UNIGRAM: &[u8] = include_bytes!("../convert/vectors/unigram.model");

fn converted(model: &[u8]) -> Vec<u8> {
    convert(TokenizerInput::SentencePiece(model)).expect("converts").json
}

fn checked(json: &[u8], sample: &[&str]) -> TokenizerCheck {
    let subject = CheckSubject { json, model: None, reference: REFERENCE };
    check(&subject, sample).expect("checks")
}

fn case<'a>(found: &'a TokenizerCheck, name: &str) -> (CheckVerdict, &'a str) {
    let case = found.cases.iter().find(|case| case.name == name).expect("is a case");
    (case.verdict, &case.what)
}

/// BERT's form: words and punctuation, `##` inside words, no white space.
fn wordpiece() -> Value {
    let words =
        ["[UNK]", "[CLS]", "a", "b", "##a", "##b", "ab", "1", "##2", ".", "[", "]", "c", "l", "s"];
    let vocab: serde_json::Map<String, Value> =
        words.iter().zip(0u32..).map(|(word, id)| ((*word).to_owned(), id.into())).collect();
    json!({ "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [{ "id": 1, "content": "[CLS]", "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true }],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" }, "post_processor": null,
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocab } })
}

#[test]
fn every_kind_of_model_is_proven_and_its_table_has_no_fault() {
    let sample = ["the sample a b ab", "<s> [CLS] 12"];
    for json in [converted(BPE), converted(UNIGRAM), wordpiece().to_string().into_bytes()] {
        let found = checked(&json, &sample);
        assert_eq!((found.backend, &found.reason), ("fast", &None));
        assert!(found.is_good(), "{:?}", found.cases);
        assert_eq!(case(&found, "encoders agree").0, CheckVerdict::Ok);
        assert_ne!(case(&found, "special tokens in text are text").0, CheckVerdict::Fault);
    }
    let found = checked(&converted(BPE), &[]);
    assert_eq!(found, checked(&converted(BPE), &[]), "it is the same each time");
    // This tokenizer falls back to bytes, so only the sign that stands for a space is lost.
    let (verdict, what) = case(&found, "characters come back");
    assert_eq!(verdict, CheckVerdict::Notice);
    assert!(what.starts_with("1 of ") && what.contains("U+2580-258F"), "{what}");
    let (_, what) = case(&found, "digits");
    assert!(what.ends_with("tokens of 1 to 12 digits: 2 3 4 5 6 7 8 9 10 11 12 13"), "{what}");
    assert_eq!(found.vocab_size, 500);
    assert_eq!(case(&found, "ids fit 16 bits").0, CheckVerdict::Ok);
    assert_eq!(case(&found, "ids without gaps"), (CheckVerdict::Ok, "0 to 499"));
    assert_eq!(case(&found, "reserved ids").0, CheckVerdict::Notice);
    let found = checked(wordpiece().to_string().as_bytes(), &[]);
    assert_eq!(case(&found, "runs of spaces, tabs").0, CheckVerdict::Notice);
}

#[test]
fn a_model_is_proven_against_its_json_and_the_library() {
    let json = converted(UNIGRAM);
    let subject = CheckSubject { json: &json, model: Some(UNIGRAM), reference: SENTENCEPIECE };
    let found = check(&subject, &[]).expect("checks");
    assert_eq!((found.backend, found.reason.as_deref()), ("sentencepiece", None));
    assert!(found.is_good(), "{:?}", found.cases);
    assert_eq!(case(&found, "ids of SentencePiece").0, CheckVerdict::Ok);
    assert_eq!(case(&found, "ids of added tokens").0, CheckVerdict::Ok);
    assert_eq!(case(&found, "alone, in a row, across threads").0, CheckVerdict::Ok);

    // The file is as if an older release had numbered two letters otherwise.
    let mut file: Value = serde_json::from_slice(&json).expect("parses");
    for entry in file["model"]["vocab"].as_array_mut().expect("a list") {
        let other = match entry[0].as_str() {
            Some("e") => "a",
            Some("a") => "e",
            _ => continue,
        };
        entry[0] = json!(other);
    }
    let json = file.to_string().into_bytes();
    let verdict = |reference, sample: &[&str]| {
        let subject = CheckSubject { json: &json, model: Some(UNIGRAM), reference };
        let found = check(&subject, sample).expect("checks");
        let (verdict, what) = case(&found, "ids of SentencePiece");
        (verdict, what.to_owned())
    };
    let (fault, what) = verdict(REFERENCE, &["xe ze qe"]);
    assert_eq!(fault, CheckVerdict::Fault);
    assert!(what.ends_with("a text of the corpus: register the .model under a new name"), "{what}");
    let (notice, what) = verdict(REFERENCE, &[]);
    assert_eq!(notice, CheckVerdict::Notice);
    assert!(what.contains("SentencePiece gives others on `"), "{what}");
    let (notice, what) = verdict(SENTENCEPIECE, &[]);
    assert_eq!(notice, CheckVerdict::Notice);
    assert!(what.contains("give other programs the .model"), "{what}");
}

#[test]
fn faults_of_a_file_are_found() {
    // The reference implementation gives the id 15; the file says 40.
    let mut file = wordpiece();
    let mut added = file["added_tokens"][0].clone();
    added["content"] = json!("<extra>");
    added["id"] = json!(40);
    added["special"] = json!(false);
    file["added_tokens"].as_array_mut().expect("is a list").push(added);
    let found = checked(file.to_string().as_bytes(), &[]);
    let (verdict, what) = case(&found, "ids of added tokens");
    assert_eq!(verdict, CheckVerdict::Fault);
    assert_eq!(what, "the file gives `<extra>` the id 40, but encoders give it 15");
    assert!(!found.is_good());
    assert_eq!(case(&found, "added tokens in words").0, CheckVerdict::Notice);

    let mut file = wordpiece();
    file["model"]["vocab"]["b"] = json!(2);
    let found = checked(file.to_string().as_bytes(), &[]);
    assert_eq!(
        case(&found, "ids without gaps"),
        (CheckVerdict::Fault, "`a` and `b` have the id 2")
    );

    // Cut only at white space, a word can be the special token.
    let mut file = wordpiece();
    file["normalizer"] = Value::Null;
    file["pre_tokenizer"] = json!({ "type": "WhitespaceSplit" });
    let found = checked(file.to_string().as_bytes(), &[]);
    let (verdict, what) = case(&found, "special tokens in text are text");
    assert_eq!((verdict, what), (CheckVerdict::Fault, "text that spells [CLS] becomes the token"));
}

/// A file like T5's: special tokens stand in the vocabulary of scores.
fn unigram_that_scores_specials() -> Vec<u8> {
    let mut file: Value = serde_json::from_slice(&converted(UNIGRAM)).expect("parses");
    for id in 0..3 {
        file["model"]["vocab"][id][1] = json!(0.0);
    }
    file.to_string().into_bytes()
}

#[test]
fn text_does_not_spell_the_special_tokens_of_a_unigram() {
    let json = unigram_that_scores_specials();
    let stock = tokenizers::Tokenizer::from_bytes(&json).expect("loads");
    let tokenizer = Tokenizer::load(&json, &[]).expect("loads");
    assert_eq!(*tokenizer.backend(), EncoderBackend::Fast);
    assert_eq!(tokenizer.token_to_id("</s>"), Some(2));
    let mut encoder = tokenizer.encoder();
    let mut encode = |text: &str| {
        let mut ids = Vec::new();
        encoder.encode(text, &mut ids).expect("encodes");
        ids
    };
    let spelled = "a </s> <s>b<unk>";
    let theirs = stock.encode_fast(spelled, false).expect("encodes");
    assert!(theirs.get_ids().contains(&2), "the library takes it for the token");
    let ours = encode(spelled);
    assert!(!ours.contains(&2) && !ours.contains(&1), "{ours:?}");
    assert_eq!(tokenizer.decode(&[2]).expect("decodes"), "</s>");
    let (special, _) = tokenizer.encode_with_offsets("a</s>", true).expect("encodes");
    assert_eq!(special.last(), Some(&2), "where it is asked for it is the token");
    // No other text changes.
    for text in hostile_texts().iter().filter(|text| !text.contains('<')) {
        let theirs = stock.encode_fast(text.as_str(), false).expect("encodes");
        assert_eq!(encode(text), theirs.get_ids(), "{text:?}");
    }
}

#[test]
fn a_proven_tokenizer_loads_without_its_proof_and_is_the_same() {
    for json in [converted(BPE), unigram_that_scores_specials(), wordpiece().to_string().into()] {
        let first = Tokenizer::load(&json, &[]).expect("loads");
        assert_eq!(*first.backend(), EncoderBackend::Fast);
        for fast in [true, false] {
            let again = Tokenizer::load_proven(&json, fast).expect("loads");
            assert_eq!(*again.backend() == EncoderBackend::Fast, fast);
            assert_eq!(again.vocab_size(), first.vocab_size());
            assert_eq!(again.specials(), first.specials());
            assert_eq!(again.token_to_id("a"), first.token_to_id("a"));
            for text in hostile_texts() {
                let ids = |tokenizer: &Tokenizer| {
                    let mut ids = Vec::new();
                    tokenizer.encoder().encode(&text, &mut ids).expect("encodes");
                    ids
                };
                assert_eq!(ids(&again), ids(&first), "{text:?}");
                let decoded =
                    |tokenizer: &Tokenizer| tokenizer.decode(&ids(&first)).expect("decodes");
                assert_eq!(decoded(&again), decoded(&first));
            }
        }
    }
    assert!(Tokenizer::load_proven(b"{}", true).is_err());
    assert!(Tokenizer::load_proven(b"{}", false).is_err());
}

#[test]
fn spelled_special_tokens_are_counted() {
    let tokenizer = Tokenizer::load_proven(&converted(BPE), true).expect("loads");
    assert_eq!(tokenizer.specials().len(), 3);
    let mut counts = [0; 3];
    tokenizer.specials_in("<s>a</s></s> <s < s> <unk><s>", |at, _| counts[at] += 1).expect("looks");
    assert_eq!(counts, [1, 2, 2]);
}

#[test]
fn the_long_texts_have_every_character_once() {
    let texts = long_texts();
    assert_eq!(texts, long_texts());
    let bytes: usize = texts.iter().map(String::len).sum();
    assert!((2_000_000..4_000_000).contains(&bytes), "{bytes}");
    let all: std::collections::HashSet<char> = texts.iter().flat_map(|text| text.chars()).collect();
    for character in (0..0x3_2400).filter_map(char::from_u32) {
        assert!(all.contains(&character), "{character:?}");
    }
    assert!(texts.iter().any(|text| text.len() == 200_000 && text.starts_with("aaaa")));
}
