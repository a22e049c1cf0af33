//! Tests of vocabularies: the ids of added tokens, and ids that leave out most numbers.

use super::*;
use crate::file::write::{BpeSettings, FileParts, added_token, bpe, byte_level};
use crate::{CheckSubject, EncoderBackend, REFERENCE, Tokenizer, TokenizerError, check};
use proptest::prelude::*;
use serde_json::{Value, json};

fn file(added: &[Value], model: &Value) -> Vec<u8> {
    FileParts {
        added_tokens: added.to_vec(),
        normalizer: Value::Null,
        pre_tokenizer: Value::Null,
        decoder: Value::Null,
        model: model.clone(),
    }
    .into_json()
    .unwrap()
}

fn load(added: &[Value], model: &Value) -> Tokenizer {
    Tokenizer::load(&file(added, model), &[]).unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    let mut ids = Vec::new();
    tokenizer.encoder().encode(text, &mut ids).unwrap();
    ids
}

fn unigram() -> Value {
    let letters = ('a'..='f').map(|letter| json!([letter.to_string(), -3.0]));
    let vocab: Vec<Value> =
        [json!(["<unk>", 0.0]), json!(["</s>", 0.0])].into_iter().chain(letters).collect();
    json!({ "type": "Unigram", "unk_id": 0, "vocab": vocab })
}

/// The file is DeBERTa v3's with a line feed added to it.
#[test]
fn added_tokens_outside_the_vocabulary_have_ids_of_their_own() {
    let tokenizer = load(
        &[
            added_token(1, "</s>", true),
            added_token(8, "[MASK]", true),
            added_token(9, "\n", false),
        ],
        &unigram(),
    );
    assert_eq!(encode(&tokenizer, "a\nb"), [2, 9, 3]);
    assert_eq!(tokenizer.token_to_id("\n"), Some(9));
    // Neither special token is to be had from text.
    let ids = encode(&tokenizer, "[MASK]</s>");
    assert!(!ids.contains(&8) && !ids.contains(&1), "{ids:?}");
}

proptest! {
    /// In any order, inside the vocabulary and outside, special and plain.
    #[test]
    fn plain_added_tokens_have_their_own_ids(
        kinds in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..8),
    ) {
        let mut model = unigram();
        let names: Vec<String> = (0..kinds.len()).map(|at| format!("<{at}>")).collect();
        let vocab = model["vocab"].as_array_mut().unwrap();
        for (name, (is_inside, _)) in names.iter().zip(&kinds) {
            if *is_inside {
                vocab.push(json!([name, -5.0]));
            }
        }
        let (mut next, mut tokens) = (u32::try_from(vocab.len()).unwrap(), Vec::new());
        for (name, (is_inside, is_special)) in names.iter().zip(&kinds) {
            let id = if *is_inside {
                let at = model["vocab"].as_array().unwrap().iter().position(|piece| piece[0] == **name);
                u32::try_from(at.unwrap()).unwrap()
            } else {
                next += 1;
                next - 1
            };
            tokens.push(added_token(id, name, *is_special));
        }
        let file = file(&tokens, &model);
        // By each engine, without the second that the proof takes.
        let loaded = [true, false].map(|fast| Tokenizer::load_proven(&file, fast).unwrap());
        let of_both = loaded.iter().flat_map(|one| tokens.iter().zip(&kinds).map(move |of| (one, of)));
        for (tokenizer, (token, (_, is_special))) in of_both {
            prop_assert!(tokenizer.prove_added_ids().is_ok());
            let (name, id) = (token["content"].as_str().unwrap(), token["id"].as_u64().unwrap());
            let ids = encode(tokenizer, &format!("a{name}b"));
            if *is_special {
                prop_assert!(!ids.iter().any(|other| u64::from(*other) == id), "{} {:?}", name, ids);
            } else {
                prop_assert_eq!(ids, [2, u32::try_from(id).unwrap(), 3], "{}", name);
            }
        }
    }
}

#[test]
fn files_with_other_ids_of_added_tokens_are_refused() {
    let words = json!({ "type": "WordLevel", "vocab": { "a": 0, "b": 1 }, "unk_token": "a" });
    let tokenizer = load(&[added_token(7, "<e>", true)], &words);
    assert_eq!(tokenizer.token_to_id("<e>"), Some(2));
    let error = tokenizer.prove_added_ids().unwrap_err();
    assert_eq!(error.to_string(), "the file gives `<e>` the id 7, but encoders give it 2");
    assert!(load(&[added_token(2, "<e>", true)], &words).prove_added_ids().is_ok());
}

/// A byte-level BPE of single bytes, and one more token with this id.
fn sparse(id: u64) -> Vec<u8> {
    let mut vocab: serde_json::Map<String, Value> = byte_characters()
        .into_iter()
        .zip(0u32..)
        .map(|(c, id)| (c.to_string(), id.into()))
        .collect();
    vocab.insert("<e>".to_owned(), id.into());
    FileParts {
        added_tokens: Vec::new(),
        normalizer: Value::Null,
        pre_tokenizer: byte_level(true),
        decoder: byte_level(true),
        model: bpe(vocab, json!([]), &BpeSettings::default()),
    }
    .into_json()
    .unwrap()
}

#[test]
fn the_largest_id_costs_no_more_than_another() {
    let largest = (1 << 31) - 1;
    let tokenizer = Tokenizer::load(&sparse(largest), &[]).unwrap();
    assert_eq!(tokenizer.vocab_size(), 1 << 31);
    let EncoderBackend::Oracle { reason } = tokenizer.backend() else { panic!("is not fast") };
    let expected =
        "its largest id is 2147483647 of only 257 tokens, too sparse for the fast encoder";
    assert_eq!(reason, expected);
    let (ids, offsets) = tokenizer.encode_with_offsets("aé", false).unwrap();
    assert_eq!(tokenizer.decode(&ids).unwrap(), "aé");
    assert_eq!(offsets, [(0, 1), (1, 3), (1, 3)]);
    let places = IdPlaces::of(tokenizer.vocabulary());
    assert_eq!(
        (places.count(), places.place(2_147_483_647), places.place(300)),
        (257, Some(256), None)
    );
    assert_eq!(places.ids().last(), Some(2_147_483_647));
    let found =
        check(&CheckSubject { json: &sparse(largest), model: None, reference: REFERENCE }, &[])
            .unwrap();
    let gaps = found.cases.iter().find(|case| case.name == "ids without gaps").unwrap();
    assert_eq!(gaps.what, "2147483391 ids have no token, the first is 256");
    // A file that was registered as fast by an earlier release is no longer run by it.
    let stored = Tokenizer::load_proven(&sparse(largest), true).unwrap();
    assert_eq!(encode(&stored, "aé"), ids);
}

#[test]
fn ids_that_do_not_fit_32_bits_with_a_sign_are_refused_by_name() {
    for id in [1 << 31, u64::from(u32::MAX), 1 << 40] {
        let error = Tokenizer::load(&sparse(id), &[]).map(|_| ()).unwrap_err();
        assert!(matches!(error, TokenizerError::IdTooLarge { id: other, .. } if other == id));
        assert!(error.to_string().starts_with(&format!("the token `<e>` has the id {id};")));
    }
}

#[test]
fn ids_that_are_dense_are_their_own_places() {
    let tokenizer = Tokenizer::load(&sparse(256), &[]).unwrap();
    assert_eq!(*tokenizer.backend(), EncoderBackend::Fast);
    let places = IdPlaces::of(tokenizer.vocabulary());
    assert!(!places.is_sparse());
    assert!((0..257).eq(places.ids()) && (0..257).all(|id| places.place(id) == Some(id as usize)));
    assert_eq!(places.place(257), None);
}
