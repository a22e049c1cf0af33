//! Tests of models written and read back, and of what is refused.

use super::to_sentencepiece;
use crate::convert::{TokenizerInput, convert};
use crate::engine::hostile_texts::hostile_texts;
use crate::sentencepiece::proto::{SentencePieceKind, SentencePieceModel};
use crate::{Tokenizer, TokenizerError};
use prost::Message as _;
use serde_json::{Value, json};

const BPE: &[u8] = include_bytes!("vectors/bpe.model");
const UNIGRAM: &[u8] = include_bytes!("vectors/unigram.model");

fn read(model: &[u8]) -> Vec<u8> {
    convert(TokenizerInput::SentencePiece(model)).expect("converts").json
}

fn ids(file: &[u8], texts: &[String]) -> Vec<Vec<u32>> {
    let tokenizer = Tokenizer::load(file, &[]).expect("loads");
    let mut encoder = tokenizer.encoder();
    let encode = |text: &String| {
        let mut ids = Vec::new();
        encoder.encode(text, &mut ids).map(|()| ids)
    };
    texts.iter().map(encode).collect::<Result<_, _>>().expect("encodes")
}

#[test]
fn a_model_that_was_read_is_written_as_it_was() {
    for original in [BPE, UNIGRAM] {
        let json = read(original);
        let written = to_sentencepiece(&json).expect("writes").bytes;
        let (ours, theirs) = (
            SentencePieceModel::decode(written.as_slice()).expect("reads"),
            SentencePieceModel::decode(original).expect("reads"),
        );
        assert_eq!(ours.pieces.len(), theirs.pieces.len());
        for (ours, theirs) in ours.pieces.iter().zip(&theirs.pieces) {
            assert_eq!(ours.text(), theirs.text());
            // The symbol of the Unigram is one more entry to the encoder, with the score it computes.
            if theirs.known_kind() != Some(SentencePieceKind::UserDefined) {
                assert_eq!(ours.known_kind(), theirs.known_kind(), "{}", ours.text());
            }
        }
        let (ours, theirs) =
            (ours.normalizer.expect("is there"), theirs.normalizer.expect("is there"));
        assert_eq!(ours.add_dummy_prefix.unwrap_or(true), theirs.add_dummy_prefix.unwrap_or(true));
        let removes = |n: &crate::sentencepiece::proto::NormalizerSpec| {
            n.remove_extra_whitespaces.unwrap_or(true)
        };
        assert_eq!(removes(&ours), removes(&theirs));
        let texts = hostile_texts();
        assert_eq!(ids(&written, &texts), ids(original, &texts));
    }
}

/// A file like LLaMA's, with merges in the order of a trainer.
fn llama(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut tokens = vec!["<unk>".to_owned(), "<s>".to_owned(), "</s>".to_owned()];
    tokens.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")));
    tokens.extend(["▁", "a", "b", "\n", "ab", "▁a", "▁ab", "<x>"].map(str::to_owned));
    let vocab: serde_json::Map<String, Value> =
        tokens.into_iter().zip(0u32..).map(|(token, id)| (token, id.into())).collect();
    let added = |id: u32, content: &str| json!({ "id": id, "content": content, "special": true });
    let mut file = json!({ "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>"), added(266, "<x>")],
        "normalizer": { "type": "Sequence", "normalizers": [
            { "type": "Prepend", "prepend": "▁" },
            { "type": "Replace", "pattern": { "String": " " }, "content": "▁" }] },
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [
            { "type": "Split", "pattern": { "String": "\n" }, "behavior": "Isolated", "invert": false },
            { "type": "Split", "pattern": { "String": "▁" }, "behavior": "MergedWithNext", "invert": false }] },
        "post_processor": null, "decoder": null,
        "model": { "type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "ignore_merges": false,
            "vocab": vocab, "merges": [["a", "b"], ["▁", "a"], ["▁", "ab"]] } });
    for token in file["added_tokens"].as_array_mut().expect("a list") {
        for flag in ["single_word", "lstrip", "rstrip", "normalized"] {
            token[flag] = json!(false);
        }
    }
    change(&mut file);
    file.to_string().into_bytes()
}

#[test]
fn a_trained_bpe_is_written_with_its_kinds_and_reads_back() {
    let json = llama(|_| ());
    let written = to_sentencepiece(&json).expect("writes").bytes;
    let model = SentencePieceModel::decode(written.as_slice()).expect("reads");
    let kinds: Vec<Option<SentencePieceKind>> =
        model.pieces.iter().map(|piece| piece.known_kind()).collect();
    assert_eq!(
        kinds[..3],
        [
            Some(SentencePieceKind::Unknown),
            Some(SentencePieceKind::Control),
            Some(SentencePieceKind::Control)
        ]
    );
    assert_eq!(kinds[3], Some(SentencePieceKind::Byte));
    assert_eq!(
        kinds[266],
        Some(SentencePieceKind::Control),
        "a special token beyond the usual ones"
    );
    let trainer = model.trainer.expect("is there");
    assert_eq!(
        [trainer.unk_id, trainer.bos_id, trainer.eos_id, trainer.pad_id],
        [0, 1, 2, -1].map(Some)
    );
    let scores: Vec<Option<f32>> = model.pieces[263..266].iter().map(|piece| piece.score).collect();
    assert_eq!(scores, [Some(0.0), Some(-1.0), Some(-2.0)]);
    let texts: Vec<String> =
        ["ab ab", " a b\nab", "", "ba aab é <s> <x>", "  ab"].map(str::to_owned).to_vec();
    assert_eq!(ids(&written, &texts), ids(&json, &texts));
}

#[test]
fn added_tokens_of_a_unigram_have_no_score() {
    let mut file: Value = serde_json::from_slice(&read(UNIGRAM)).expect("reads");
    let next = file["model"]["vocab"].as_array().expect("is there").len();
    let added = json!({"id": next, "content": "<extra>", "special": false, "normalized": false,
        "lstrip": false, "rstrip": false, "single_word": false});
    file["added_tokens"].as_array_mut().expect("is there").push(added);
    let json = serde_json::to_vec(&file).expect("writes");
    let written = to_sentencepiece(&json).expect("writes").bytes;
    let model = SentencePieceModel::decode(written.as_slice()).expect("reads");
    let piece = &model.pieces[next];
    assert_eq!((piece.text(), piece.score), ("<extra>", Some(0.0)));
    assert_eq!(piece.known_kind(), Some(SentencePieceKind::UserDefined));
}

#[test]
fn settings_without_a_sentencepiece_form_are_refused() {
    let fails = |change: fn(&mut Value)| match to_sentencepiece(&llama(change)) {
        Err(TokenizerError::Inexpressible(what)) => what,
        other => panic!("{other:?}"),
    };
    assert!(fails(|f| f["model"]["type"] = json!("WordPiece")).contains("WordPiece"));
    assert!(fails(|f| f["model"]["ignore_merges"] = json!(true)).contains("`ignore_merges`"));
    assert!(fails(|f| f["model"]["unk_token"] = Value::Null).contains("no unknown token"));
    assert!(fails(|f| f["normalizer"] = Value::Null).contains("does not write spaces"));
    assert!(fails(|f| f["normalizer"] = json!({ "type": "NFKC" })).contains("NFKC"));
    assert!(
        fails(|f| f["pre_tokenizer"] = json!({ "type": "Whitespace" })).contains("`Whitespace`")
    );
    assert!(fails(|f| {
        f["normalizer"] = Value::Null;
        f["pre_tokenizer"] = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true });
    })
    .contains("begins with a space"));
    assert!(
        fails(|f| { f["model"]["vocab"]["a▁"] = json!(267) })
            .contains("reaches over the start of a word")
    );
    assert!(
        fails(|f| { f["model"]["vocab"]["z"] = json!(300) }).contains("no token has the id 267")
    );
    assert!(
        fails(|f| {
            f["model"]["byte_fallback"] = json!(false);
            f["model"]["fuse_unk"] = json!(false);
        })
        .contains("`fuse_unk`")
    );
    assert!(fails(|f| f["model"]["vocab"]["\0"] = json!(267)).contains("has a NUL"));
    // This normalizer trims the end alone, and a SentencePiece model both ends.
    let trims = fails(|f| {
        let steps = f["normalizer"]["normalizers"].as_array_mut().expect("a list");
        steps.insert(
            0,
            json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " }),
        );
        steps.insert(0, json!({ "type": "Strip", "strip_left": false, "strip_right": true }));
    });
    assert!(trims.contains("SentencePiece would give other ids on `\\n`"), "{trims}");
    // The list of merges lacks a pair that SentencePiece joins.
    let joins = fails(|f| {
        f["model"]["vocab"]["aa"] = json!(267);
        f["model"]["vocab"]["aaa"] = json!(268);
        let merges = [["a", "a"], ["a", "aa"], ["a", "b"], ["▁", "a"], ["▁", "ab"]];
        f["model"]["merges"] = json!(merges);
    });
    assert!(joins.contains("SentencePiece would give other ids on `aaa"), "{joins}");
    assert!(matches!(to_sentencepiece(b"{"), Err(TokenizerError::Load(_))));
}
