//! Tests of extensions of every kind of model, judged by the reference implementation.

use super::base::ExtensionBase;
use super::bpe::ExtendableBpe;
use super::*;
use crate::error::ExtendError;
use crate::{Tokenizer, TokenizerError};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;

const TEXT: &str = "the cat sat on the mat and the dog sat on the log; \
    a cardiologist sees cardiac patients, hearts and arteries of the patients; \
    the cat and the dog see the cardiologist and the mat, on and on, to the end of the log, \
    tested and testing, ended and ending, sitting and seating: 12 cats, 34 dogs, 567 logs. ";

fn alphabet() -> HashSet<char> {
    ByteLevel::alphabet().into_iter().collect()
}

fn spell(pretoken: &str, out: &mut String) {
    let alphabet = tokenizers_fast::pre_tokenizers::byte_level::ByteLevel::alphabet();
    out.clear();
    out.extend(pretoken.bytes().map(|byte| alphabet[usize::from(byte)]));
}

fn file(model: impl serde::Serialize, rest: Value) -> Vec<u8> {
    let mut file = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": null, "pre_tokenizer": null, "post_processor": null, "decoder": null,
    });
    for (name, value) in rest.as_object().unwrap() {
        file[name] = value.clone();
    }
    file["model"] = serde_json::to_value(model).unwrap();
    serde_json::to_vec_pretty(&file).unwrap()
}

fn special(id: u32, content: &str, is_special: bool) -> Value {
    json!({ "id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": is_special })
}

/// Byte-level BPE with GPT-2's split; its one special token is outside the model.
static BYTE_LEVEL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    let mut spelled = String::new();
    for word in TEXT.split_inclusive(' ') {
        spell(&format!(" {}", word.trim()), &mut spelled);
        *words.entry(spelled.as_str().into()).or_insert(0) += 1;
    }
    let trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(300)
        .initial_alphabet(alphabet().into_iter().collect())
        .build();
    let mut model = BPE::default();
    trainer.do_train(&words.into_iter().collect(), &mut model).unwrap();
    let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true });
    file(
        model,
        json!({
            "pre_tokenizer": byte_level, "decoder": byte_level,
            "added_tokens": [special(300, "<|end|>", true)],
        }),
    )
});

/// A file like Llama 2's: spaces are `▁`, the whole text is one word, unknown characters are bytes.
static BYTE_FALLBACK: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for word in TEXT.split(' ') {
        *words.entry(format!("▁{word}").as_str().into()).or_insert(0_u64) += 1;
    }
    let trainer = BpeTrainer::builder().show_progress(false).vocab_size(90).build();
    let mut model = BPE::default();
    trainer.do_train(&words.into_iter().collect(), &mut model).unwrap();
    let mut model = serde_json::to_value(model).unwrap();
    let size = model["vocab"].as_object().unwrap().len();
    for byte in 0..256 {
        model["vocab"][format!("<0x{byte:02X}>")] = json!(size + byte);
    }
    model["vocab"]["<unk>"] = json!(size + 256);
    model["unk_token"] = json!("<unk>");
    model["fuse_unk"] = json!(true);
    model["byte_fallback"] = json!(true);
    // The older spelling of merges.
    let merges = model["merges"].as_array().unwrap().iter();
    model["merges"] = merges
        .map(|pair| json!(format!("{} {}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap())))
        .collect();
    file(
        model,
        json!({
            "normalizer": { "type": "Sequence", "normalizers": [
                { "type": "Prepend", "prepend": "▁" },
                { "type": "Replace", "pattern": { "String": " " }, "content": "▁" },
            ]},
            "decoder": { "type": "Sequence", "decoders": [
                { "type": "Replace", "pattern": { "String": "▁" }, "content": " " },
                { "type": "ByteFallback" }, { "type": "Fuse" },
            ]},
            "added_tokens": [special((size + 256) as u32, "<unk>", true)],
        }),
    )
});

static WORDPIECE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut trainer = WordPieceTrainer::builder()
        .show_progress(false)
        .vocab_size(90)
        .special_tokens(vec![tokenizers::AddedToken::from("[UNK]", true)])
        .build();
    let words = TEXT.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    tokenizers::Trainer::feed(&mut trainer, words.map(str::to_owned), |word| {
        Ok(vec![word.to_owned()])
    })
    .unwrap();
    let mut model = WordPiece::default();
    tokenizers::Trainer::train(&trainer, &mut model).unwrap();
    file(
        model,
        json!({
            "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true },
            "pre_tokenizer": { "type": "BertPreTokenizer" },
            "added_tokens": [special(0, "[UNK]", true)],
        }),
    )
});

static UNIGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(90)
        .unk_token(Some("<unk>".to_owned()))
        .special_tokens(vec![tokenizers::AddedToken::from("<unk>", true)])
        .build()
        .unwrap();
    let mut words: BTreeMap<String, u32> = BTreeMap::new();
    for word in TEXT.split(' ') {
        *words.entry(format!("▁{word}")).or_default() += 1;
    }
    let mut model = Unigram::default();
    trainer.do_train(words.into_iter().collect(), &mut model).unwrap();
    file(
        model,
        json!({
            "pre_tokenizer": { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                "split": true },
            "decoder": { "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always",
                "split": true },
            "added_tokens": [special(0, "<unk>", true)],
        }),
    )
});

const TERMS: [&str; 7] =
    ["angiology", "stent", "cardiology", "cats", "cardiograms", "the", "ststst"];

fn terms() -> Vec<String> {
    TERMS.map(str::to_owned).to_vec()
}

fn extended(base: &[u8]) -> TokenizerExtension {
    extend_by_terms(base, &terms(), TermOptions::default()).unwrap()
}

/// One extension of each kind.
static EXTENDED: LazyLock<Vec<(&'static [u8], TokenizerExtension)>> = LazyLock::new(|| {
    [&BYTE_LEVEL, &BYTE_FALLBACK, &WORDPIECE, &UNIGRAM]
        .map(|base| (base.as_slice(), extended(base)))
        .into()
});

#[test]
fn terms_become_one_token_and_no_old_id_moves() {
    for (base, extension) in EXTENDED.iter() {
        let (old, new) =
            (ExtensionBase::load(base).unwrap(), ExtensionBase::load(&extension.json).unwrap());
        for (token, id) in old.all_tokens() {
            assert_eq!(new.all_tokens().get(&token), Some(&id));
        }
        for report in &extension.terms {
            for form in &report.forms {
                let (TermOutcome::Added { id, .. } | TermOutcome::Existed { id }) = form.outcome
                else {
                    panic!("{form:?}")
                };
                assert_eq!(new.encode_word(&form.form).unwrap(), [id], "{}", form.form);
            }
        }
        let text = "stent cats angiology the cardiology.";
        assert!(new.encode(text).unwrap().len() < old.encode(text).unwrap().len());
        assert_eq!(new.next_id as usize, old.next_id as usize + extension.map.rows.len());
        let difference = vocabulary_diff(base, &extension.json).unwrap();
        assert!(difference.keeps_old_ids && difference.merges_in_order);
        assert_eq!(difference.added.len(), extension.map.rows.len());
        assert_eq!(difference.merges_added, extension.merges);
    }
}

#[test]
fn a_term_in_running_text_is_its_token() {
    let (_, extension) = &EXTENDED[0];
    let new = ExtensionBase::load(&extension.json).unwrap();
    let id = |form: &str| new.vocabulary[form];
    let ids = new.encode("a stent,\nstent (stent)").unwrap();
    assert!(ids.contains(&id("Ġstent")));
    assert_eq!(ids.iter().filter(|found| **found == id("stent")).count(), 2);
    let (_, extension) = &EXTENDED[3];
    let new = ExtensionBase::load(&extension.json).unwrap();
    let ids = new.encode("a stent of the stent").unwrap();
    assert_eq!(ids.iter().filter(|found| **found == new.vocabulary["▁stent"]).count(), 2);
}

#[test]
fn extension_changes_vocabulary_and_merges_alone() {
    for (base, extension) in EXTENDED.iter() {
        let old: Value = serde_json::from_slice(base).unwrap();
        let mut new: Value = serde_json::from_slice(&extension.json).unwrap();
        assert!(extension.json.starts_with(b"{\n"), "indented as the base is");
        if let Some(list) = old["model"]["vocab"].as_array() {
            assert!(new["model"]["vocab"].as_array().unwrap().starts_with(list));
        } else {
            let entries = |file: &Value| -> Vec<(String, Value)> {
                let entries = file["model"]["vocab"].as_object().unwrap().iter();
                entries.map(|(token, id)| (token.clone(), id.clone())).collect()
            };
            assert!(entries(&new).starts_with(&entries(&old)));
        }
        if let Some(list) = old["model"]["merges"].as_array() {
            let merges = new["model"]["merges"].as_array().unwrap();
            assert!(merges.starts_with(list));
            assert!(merges.iter().all(|merge| merge.is_string() == list[0].is_string()));
            new["model"]["merges"] = old["model"]["merges"].clone();
        }
        new["model"]["vocab"] = old["model"]["vocab"].clone();
        assert_eq!(old, new);
    }
}

#[test]
fn old_pieces_of_a_new_token_spell_it() {
    for (base, extension) in EXTENDED.iter() {
        let old = ExtensionBase::load(base).unwrap();
        let by_id: HashMap<u32, String> =
            old.all_tokens().into_iter().map(|(token, id)| (id, token)).collect();
        for row in &extension.map.rows {
            let pieces: Vec<&str> = row.old_ids.iter().map(|id| by_id[id].as_str()).collect();
            let continued = pieces.iter().map(|piece| piece.strip_prefix("##").unwrap_or(piece));
            if !pieces.contains(&"<unk>")
                && !pieces.contains(&"[UNK]")
                && !pieces.iter().any(|p| p.starts_with("<0x"))
            {
                assert_eq!(continued.collect::<String>(), row.token);
            }
            assert!((row.weights.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert_eq!(row.weights.len(), row.old_ids.len());
            if let Some((left, right)) = row.parents {
                assert!(left < row.id && right < row.id);
            }
        }
    }
}

#[test]
fn impossible_tokens_are_refused_with_a_reason() {
    let asked = ["heart attack", "stent", "x<|end|>", "", "don't"].map(str::to_owned);
    let extension = extend_by_terms(&BYTE_LEVEL, &asked, TermOptions::default()).unwrap();
    let refused: Vec<bool> = extension
        .terms
        .iter()
        .map(|report| {
            report.forms.iter().all(|form| matches!(form.outcome, TermOutcome::Refused { .. }))
        })
        .collect();
    assert_eq!(refused, [true, false, true, true, true]);
    let TermOutcome::Refused { reason } = &extension.terms[0].forms[0].outcome else { panic!() };
    assert!(reason.contains("`heart` `Ġattack`"), "{reason}");
    // In this model spaces are inside of words.
    let extension = extend_by_terms(&BYTE_FALLBACK, &asked[..1], TermOptions::default()).unwrap();
    assert!(matches!(extension.terms[0].forms[0].outcome, TermOutcome::Added { .. }));
    // Added tokens that are not special are seen in text.
    let mut file: Value = serde_json::from_slice(&BYTE_LEVEL).unwrap();
    file["added_tokens"].as_array_mut().unwrap().push(special(301, "angio", false));
    let base = serde_json::to_vec(&file).unwrap();
    let extension = extend_by_terms(&base, &terms(), TermOptions::default()).unwrap();
    assert!(matches!(extension.terms[0].forms[0].outcome, TermOutcome::Refused { .. }));
    assert!(matches!(extension.terms[1].forms[0].outcome, TermOutcome::Added { .. }));
}

#[test]
fn one_form_only_when_asked() {
    let one = |forms| {
        let options = TermOptions { forms, ..TermOptions::default() };
        let extension = extend_by_terms(&BYTE_LEVEL, &["stent".to_owned()], options).unwrap();
        let forms = &extension.terms[0].forms;
        forms.iter().map(|form| form.form.clone()).collect::<Vec<_>>()
    };
    assert_eq!(one(TermForms::Both), ["stent", "Ġstent"]);
    assert_eq!(one(TermForms::AfterSpace), ["Ġstent"]);
    assert_eq!(one(TermForms::Bare), ["stent"]);
}

#[test]
fn few_tokens_stand_between_and_existing_ones_are_used() {
    // All of `abcd`'s halves exist: no token is needed on the way.
    let model = json!({
        "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
        "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false,
        "ignore_merges": false,
        "vocab": { "a": 0, "b": 1, "c": 2, "d": 3, "x": 4, "ab": 5, "xb": 6, "cd": 7 },
        "merges": [["x", "b"], ["a", "b"]]
    });
    let base = file(model, json!({}));
    let extension = extend_by_terms(
        &base,
        &["abcd".to_owned()],
        TermOptions { forms: TermForms::Bare, ..TermOptions::default() },
    )
    .unwrap();
    assert_eq!(extension.map.rows.len(), 1);
    assert_eq!(extension.merges, 2, "c d makes the old `cd`");
    assert_eq!(extension.map.rows[0].old_ids, [5, 7]);
    assert!(matches!(
        extension.terms[0].forms[0].outcome,
        TermOutcome::Added { id: 8, intermediates: 0 }
    ));
}

#[test]
fn characters_that_were_bytes_become_tokens() {
    let extension =
        extend_by_terms(&BYTE_FALLBACK, &["冠状".to_owned()], TermOptions::default()).unwrap();
    let characters: Vec<&EmbeddingRow> =
        extension.map.rows.iter().filter(|row| row.origin == TokenOrigin::Character).collect();
    assert_eq!(characters.len(), 2);
    assert!(characters.iter().all(|row| row.old_ids.len() == 3 && row.parents.is_none()));
    let (old, new) = (
        ExtensionBase::load(&BYTE_FALLBACK).unwrap(),
        ExtensionBase::load(&extension.json).unwrap(),
    );
    assert_eq!(new.encode("the 冠状").unwrap().last(), Some(&new.vocabulary["▁冠状"]));
    let affected = ReencodeFilter::between(&BYTE_FALLBACK, &extension.json).unwrap();
    let mut scratch = ReencodeScratch::default();
    let mut is_affected =
        |text: &str| affected.is_affected(&old.encode(text).unwrap(), &mut scratch);
    assert!(is_affected("x状y") && is_affected("冠"));
    assert!(!is_affected("脉 é 👍 the cat"));
}

#[test]
fn added_tokens_outside_the_model_keep_their_ids() {
    // The reference implementation gives them ids by the vocabulary's size when it loads a file.
    let (base, extension) = &EXTENDED[0];
    let new = ExtensionBase::load(&extension.json).unwrap();
    assert_eq!(ExtensionBase::load(base).unwrap().added["<|end|>"], 300);
    assert_eq!(new.added["<|end|>"], 300);
    assert_eq!(extension.map.rows[0].id, 301);
    assert!(!new.encode("a <|end|>b").unwrap().contains(&300), "in text it is text");
}

#[test]
fn whole_words_skip_the_merges_under_ignore_merges() {
    let mut file: Value = serde_json::from_slice(&BYTE_LEVEL).unwrap();
    file["model"]["ignore_merges"] = json!(true);
    // A token that no merge makes.
    file["model"]["vocab"]["zzz"] = json!(300);
    file["added_tokens"] = json!([]);
    let base = serde_json::to_vec(&file).unwrap();
    let asked = ["zzz", "zzzzzz"].map(str::to_owned);
    let extension = extend_by_terms(
        &base,
        &asked,
        TermOptions { forms: TermForms::Bare, ..TermOptions::default() },
    )
    .unwrap();
    assert_eq!(extension.terms[0].forms[0].outcome, TermOutcome::Existed { id: 300 });
    let (old, new) =
        (ExtensionBase::load(&base).unwrap(), ExtensionBase::load(&extension.json).unwrap());
    assert_eq!(new.encode("zzzzzz").unwrap().len(), 1);
    let affected = ReencodeFilter::between(&base, &extension.json).unwrap();
    for text in ["zzz", "zz", "zzzz z", " zzz", "zzzzzz", "azzz"] {
        let ids = old.encode(text).unwrap();
        let differs = ids != new.encode(text).unwrap();
        assert!(!differs || affected.is_affected(&ids, &mut ReencodeScratch::default()), "{text}");
    }
}

#[test]
fn unknown_words_that_may_become_known_are_affected() {
    // Without `##s` by itself, `##ts` alone can carry an s: what is unknown hangs on where words are cut.
    let mut file: Value = serde_json::from_slice(&WORDPIECE).unwrap();
    file["model"]["vocab"] = json!({ "[UNK]": 0, "c": 1, "##a": 2, "##t": 3, "##ats": 4, "a": 5 });
    let base = serde_json::to_vec(&file).unwrap();
    let of = |term: &str| {
        let extension = extend_by_terms(&base, &[term.to_owned()], TermOptions::default()).unwrap();
        let affected = ReencodeFilter::between(&base, &extension.json).unwrap();
        let (old, new) =
            (ExtensionBase::load(&base).unwrap(), ExtensionBase::load(&extension.json).unwrap());
        move |text: &str| {
            let ids = old.encode(text).unwrap();
            let is_affected = affected.is_affected(&ids, &mut ReencodeScratch::default());
            (is_affected, ids != new.encode(text).unwrap())
        }
    };
    // `cats` was c ##ats, `catas` is unknown; the word `ca` makes of `cats` something unknown.
    let ca = of("ca");
    assert_eq!(ca("cats"), (true, true));
    assert_eq!(ca("catas"), (true, false));
    assert_eq!(ca("a cx"), (true, false));
    assert_eq!(ca("a at"), (false, false));
    // `cata` is unknown no more.
    let known = of("catas");
    assert_eq!(known("catas"), (true, true));
}

#[test]
fn growth_goes_on_where_training_stopped() {
    let counts: BTreeMap<Box<str>, u64> =
        [(" cardiology", 5), (" stent", 7_000_000_000), ("log", 3)]
            .map(|(word, count)| (word.into(), count))
            .into();
    let options = GrowthOptions { new_tokens: 1000, min_frequency: 4, max_token_length: None };
    let extension = extend_by_growth(&BYTE_LEVEL, &counts, options, spell).unwrap();
    let new = ExtensionBase::load(&extension.json).unwrap();
    assert_eq!(new.encode(" cardiology stent").unwrap().len(), 2);
    assert!(new.encode("xlog").unwrap().len() > 1);
    let rows = &extension.map.rows;
    assert_eq!(rows[0].count, Some(7_000_000_000));
    assert!(rows.iter().all(|row| row.origin == TokenOrigin::Grown && row.count >= Some(4)));
    assert_eq!(
        rows.iter().map(|row| row.id).collect::<Vec<_>>(),
        (301..301 + rows.len() as u32).collect::<Vec<_>>()
    );
    let short = GrowthOptions { max_token_length: Some(4), ..options };
    let extension = extend_by_growth(&BYTE_LEVEL, &counts, short, spell).unwrap();
    assert!(extension.map.rows.iter().all(|row| row.token.chars().count() <= 4));
    let refused = extend_by_growth(&UNIGRAM, &counts, options, spell);
    assert!(matches!(refused, Err(TokenizerError::Extend(ExtendError::NotBpe { .. }))));
    let empty = extend_by_growth(&BYTE_LEVEL, &BTreeMap::new(), options, spell);
    assert!(matches!(empty, Err(TokenizerError::NoText)));
}

#[test]
fn the_map_is_the_same_as_json_lines_and_as_safetensors() {
    let (_, extension) = &EXTENDED[1];
    let map = &extension.map;
    let lines = map.json_lines().unwrap();
    let bytes = map.safetensors().unwrap();
    assert!(bytes == map.safetensors().unwrap());
    assert!(bytes == extended(&BYTE_FALLBACK).map.safetensors().unwrap());
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().as_ref().unwrap();
    assert_eq!(metadata["base_vocab_size"], map.base_vocab_size.to_string());
    assert_eq!(metadata["extended"], blake3::hash(&extension.json).to_hex().to_string());
    let integers = |name: &str| -> Vec<i64> {
        let data = tensors.tensor(name).unwrap().data();
        data.chunks_exact(8).map(|chunk| i64::from_le_bytes(chunk.try_into().unwrap())).collect()
    };
    let (new_ids, offsets, old_ids) =
        (integers("new_ids"), integers("offsets"), integers("old_ids"));
    assert_eq!(lines.lines().count(), new_ids.len());
    for (at, line) in lines.lines().enumerate() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["id"], new_ids[at]);
        let slice = &old_ids[offsets[at] as usize..offsets[at + 1] as usize];
        assert_eq!(row["old_ids"], json!(slice));
    }
    assert_eq!(tensors.tensor("weights").unwrap().data().len(), 4 * old_ids.len());
}

#[test]
fn unrelated_tokenizers_are_refused() {
    let cut = |change: &dyn Fn(&mut Value)| {
        let mut file: Value = serde_json::from_slice(&EXTENDED[0].1.json).unwrap();
        change(&mut file);
        ReencodeFilter::between(&BYTE_LEVEL, &serde_json::to_vec(&file).unwrap()).err()
    };
    let is_told = |error: Option<TokenizerError>| {
        matches!(error, Some(TokenizerError::Extend(ExtendError::NoExtension(_))))
    };
    assert!(cut(&|_| ()).is_none());
    assert!(is_told(cut(&|file| file["pre_tokenizer"]["add_prefix_space"] = json!(true))));
    assert!(is_told(cut(&|file| file["model"]["merges"].as_array_mut().unwrap().swap(0, 1))));
    assert!(is_told(cut(&|file| file["model"]["vocab"]["strange"] = json!(5000))));
    assert!(ReencodeFilter::between(&BYTE_LEVEL, &UNIGRAM).is_err());
    let difference = vocabulary_diff(&BYTE_LEVEL, &BYTE_FALLBACK).unwrap();
    assert!(!difference.keeps_old_ids && !difference.removed.is_empty());
}

#[test]
fn extending_twice_gives_the_same_bytes() {
    assert_eq!(extended(&BYTE_LEVEL).json, EXTENDED[0].1.json);
    let again = extended(&EXTENDED[0].1.json);
    assert_eq!((again.json.as_slice(), again.map.rows.len()), (EXTENDED[0].1.json.as_slice(), 0));
}

fn texts() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        prop::sample::select(TEXT.split(' ').collect::<Vec<_>>()).prop_map(str::to_owned),
        prop::sample::select(TERMS.to_vec()).prop_map(str::to_owned),
        prop::sample::select(TERMS.to_vec())
            .prop_flat_map(|term| (1..term.len()).prop_map(move |cut| term[..cut].to_owned())),
        "[a-u]{1,6}",
        "\\PC{0,4}",
    ];
    let gap = prop::sample::select(vec![" ", " ", "", "\n", ", ", "-"]);
    prop::collection::vec((word, gap), 0..8).prop_map(|parts| {
        parts.into_iter().flat_map(|(word, gap)| [word, gap.to_owned()]).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(2000)))]

    #[test]
    fn every_text_whose_ids_change_is_affected(text in texts(), kind in 0_usize..4) {
        static READY: LazyLock<Vec<(ExtensionBase, ExtensionBase, ReencodeFilter)>> = LazyLock::new(|| {
            EXTENDED.iter().map(|(base, extension)| (
                ExtensionBase::load(base).unwrap(),
                ExtensionBase::load(&extension.json).unwrap(),
                ReencodeFilter::between(base, &extension.json).unwrap(),
            )).collect()
        });
        let (base, extended, affected) = &READY[kind];
        let ids = base.encode(&text).unwrap();
        if !affected.is_affected(&ids, &mut ReencodeScratch::default()) {
            prop_assert_eq!(ids, extended.encode(&text).unwrap());
        }
    }

    #[test]
    fn words_are_encoded_as_by_the_reference(
        word in "[a-u▁é語]{0,12}", prefix in prop::bool::ANY, suffix in prop::bool::ANY,
        fuse in prop::bool::ANY, unknown in prop::bool::ANY, fallback in prop::bool::ANY,
    ) {
        let mut file: Value = serde_json::from_slice(&BYTE_FALLBACK).unwrap();
        let model = &mut file["model"];
        if prefix {
            model["continuing_subword_prefix"] = json!("s");
            model["merges"] = json!([]);
        }
        if suffix {
            model["end_of_word_suffix"] = json!("e");
        }
        if !unknown {
            model["unk_token"] = json!(null);
        }
        model["fuse_unk"] = json!(fuse);
        model["byte_fallback"] = json!(fallback);
        let base = ExtensionBase::load(&serde_json::to_vec(&file).unwrap()).unwrap();
        let mut ours = Vec::new();
        ExtendableBpe::of(&base).unwrap().encode_word(&word, &mut ours);
        prop_assert_eq!(ours, base.encode_word(&word).unwrap());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(10)))]

    #[test]
    fn any_terms_and_any_growth_leave_all_other_texts_alone(
        terms in prop::collection::vec("[a-u]{2,9}|[a-e]{2,5}|(ab){2,4}|é[a-c]é", 1..12),
        texts in prop::collection::vec(texts(), 40),
        kind in 0_usize..4,
        grown in prop::collection::btree_map("[a-u]{2,9}", 1_u64..9, 1..20),
    ) {
        let base = [&BYTE_LEVEL, &BYTE_FALLBACK, &WORDPIECE, &UNIGRAM][kind].as_slice();
        let mut json = extend_by_terms(base, &terms, TermOptions::default()).unwrap().json;
        if kind < 2 {
            let counts = grown.iter().map(|(word, count)| (word.as_str().into(), *count)).collect();
            let options = GrowthOptions { new_tokens: 20, min_frequency: 2, max_token_length: None };
            json = extend_by_growth(&json, &counts, options, |word, out| word.clone_into(out)).unwrap().json;
        }
        let (old, new) = (ExtensionBase::load(base).unwrap(), ExtensionBase::load(&json).unwrap());
        let affected = ReencodeFilter::between(base, &json).unwrap();
        let words = terms.iter().chain(grown.keys());
        let mixed = texts.chunks(2).zip(words).map(|(texts, word)| texts.join(word));
        for text in texts.iter().cloned().chain(mixed) {
            let ids = old.encode(&text).unwrap();
            if !affected.is_affected(&ids, &mut ReencodeScratch::default()) {
                prop_assert_eq!(ids, new.encode(&text).unwrap(), "{}", text);
            }
        }
    }
}

/// `COVID-19` could not be added at all to a tokenizer whose pattern splits at digits and hyphens.
#[test]
fn terms_with_digits_and_hyphens_become_added_tokens_when_asked() {
    let terms: Vec<String> =
        ["COVID-19", "stent", "SARS-CoV-2", "COVID-19", "é-1"].map(str::to_owned).to_vec();
    let refused = extend_by_terms(&BYTE_LEVEL, &terms, TermOptions::default()).unwrap();
    assert!(refused.terms[0].refused().unwrap().contains("it can become an added token"));
    let options = TermOptions { added_tokens: true, ..TermOptions::default() };
    let extension = extend_by_terms(&BYTE_LEVEL, &terms, options).unwrap();
    let id = |term: usize, form: usize| match extension.terms[term].forms[form].outcome {
        TermOutcome::Matched { id }
        | TermOutcome::Existed { id }
        | TermOutcome::Added { id, .. } => Some(id),
        TermOutcome::Refused { .. } => None,
    };
    assert!(matches!(extension.terms[0].forms[0].outcome, TermOutcome::Matched { .. }));
    assert!(matches!(extension.terms[1].forms[0].outcome, TermOutcome::Added { .. }));
    assert_eq!((id(3, 0), id(3, 1)), (id(0, 0), id(0, 1)), "asked for twice");
    // The term's characters spell other bytes, and decoders would give one of them. Behind a space the term spells
    // none.
    assert!(extension.terms[4].refused().unwrap().contains("decoded"));
    // New ids follow those of the model, without a gap.
    let ids: Vec<u32> = extension.map.rows.iter().map(|row| row.id).collect();
    let all: Vec<u32> = (301..301 + u32::try_from(ids.len()).unwrap()).collect();
    assert_eq!(ids, all);
    let rows: Vec<&EmbeddingRow> =
        extension.map.rows.iter().filter(|row| row.origin == TokenOrigin::Added).collect();
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    assert_eq!(texts, [" é-1", "COVID-19", " COVID-19", "SARS-CoV-2", " SARS-CoV-2"]);
    let before = Tokenizer::load(&BYTE_LEVEL, &[]).unwrap();
    let after = Tokenizer::load(&extension.json, &[]).unwrap();
    let encode = |tokenizer: &Tokenizer, text: &str| {
        let mut ids = Vec::new();
        tokenizer.encoder().encode(text, &mut ids).unwrap();
        ids
    };
    for row in &rows {
        assert_eq!(row.old_ids, encode(&before, &row.text), "{}", row.text);
        assert!(row.weights.iter().all(|weight| *weight > 0.0));
    }
    let text = "of COVID-19, and xCOVID-19y; SARS-CoV-2 testing\nCOVID-19";
    let found = encode(&after, text);
    assert_eq!(after.decode(&found).unwrap(), text);
    let of = |text: &str| rows.iter().find(|row| row.text == text).unwrap().id;
    let count = |wanted: u32| found.iter().filter(|id| **id == wanted).count();
    assert_eq!(
        (count(of(" COVID-19")), count(of("COVID-19")), count(of(" SARS-CoV-2"))),
        (1, 2, 1)
    );
    // The text decides which stored ids are still valid.
    let affected = ReencodeFilter::between(&BYTE_LEVEL, &extension.json).unwrap();
    assert!(affected.needs_text());
    assert!(affected.is_text_affected(text) && !affected.is_text_affected("COVID 19"));
    for same in ["testing and tested", "of COVID", "19 cats", "SARS-CoV"] {
        let (old, new) = (encode(&before, same), encode(&after, same));
        let is_affected = affected.is_affected(&old, &mut ReencodeScratch::default());
        assert!(is_affected || old == new, "{same}");
    }
    // An extension of an extension has them still.
    let more = extend_by_terms(&extension.json, &["gating".to_owned()], options).unwrap();
    let last = Tokenizer::load(&more.json, &[]).unwrap();
    assert_eq!(encode(&last, text), found);
    assert!(!ReencodeFilter::between(&extension.json, &more.json).unwrap().needs_text());
}

#[test]
fn added_tokens_come_into_wordpiece_and_unigram_too() {
    let options = TermOptions { added_tokens: true, ..TermOptions::default() };
    for base in [&*WORDPIECE, &*UNIGRAM, &*BYTE_FALLBACK] {
        let terms = ["test-19".to_owned()];
        let extension = extend_by_terms(base, &terms, options).unwrap();
        let after = Tokenizer::load(&extension.json, &[]).unwrap();
        let mut found = Vec::new();
        after.encoder().encode("a test-19 b", &mut found).unwrap();
        for form in &extension.terms[0].forms {
            if let TermOutcome::Matched { id } = form.outcome
                && form.form.starts_with(' ')
            {
                assert!(found.contains(&id), "{found:?}");
            }
        }
        ReencodeFilter::between(base, &extension.json).unwrap();
    }
}
