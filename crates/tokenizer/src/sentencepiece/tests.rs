//! Tests of ids, places and texts that sentencepiece 0.2.3 gave, and of models that it refuses.

use super::proto::{
    BPE, CHAR, ModelPiece, NormalizerSpec, SentencePieceKind, SentencePieceModel, TrainerSpec,
    UNIGRAM, WORD,
};
use super::{PieceTable, SentencePiece, SentencePieceScratch};
use crate::TokenizerError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use prost::Message as _;
use serde::Deserialize;

/// Small models of every type and setting. A row: text, ids, places, text of the ids; no places where bytes are, for
/// which SentencePiece gives only the last one some, no text where an unknown id is.
const VECTORS: &str = include_str!("vectors.json");

type VectorRow = (String, Vec<u32>, Option<Vec<(usize, usize)>>, Option<String>);

#[derive(Deserialize)]
struct Vectors {
    map: String,
    models: Vec<VectorModel>,
}

#[derive(Deserialize)]
struct VectorModel {
    model_type: i32,
    byte_fallback: bool,
    suffix: bool,
    map: bool,
    prefix: bool,
    removes: bool,
    escapes: bool,
    pieces: Vec<(String, f32, i32)>,
    rows: Vec<VectorRow>,
}

fn vectors() -> (Vec<u8>, Vec<VectorModel>) {
    let vectors: Vectors = serde_json::from_str(VECTORS).expect("parses");
    (BASE64_STANDARD.decode(vectors.map).expect("is base64"), vectors.models)
}

fn piece(text: &str, score: f32, kind: SentencePieceKind) -> ModelPiece {
    ModelPiece { piece: Some(text.to_owned()), score: Some(score), kind: Some(kind as i32) }
}

impl VectorModel {
    fn model(&self, map: &[u8]) -> SentencePieceModel {
        let pieces = self.pieces.iter().map(|(text, score, kind)| ModelPiece {
            piece: Some(text.clone()),
            score: Some(*score),
            kind: Some(*kind),
        });
        let mut pieces: Vec<ModelPiece> = pieces.collect();
        if self.byte_fallback {
            let bytes = (0..=u8::MAX)
                .map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, SentencePieceKind::Byte));
            pieces.splice(3..3, bytes);
        }
        SentencePieceModel {
            pieces,
            trainer: Some(TrainerSpec {
                model_type: Some(self.model_type),
                byte_fallback: Some(self.byte_fallback),
                treat_whitespace_as_suffix: Some(self.suffix),
                ..TrainerSpec::default()
            }),
            normalizer: Some(NormalizerSpec {
                precompiled_charsmap: self.map.then(|| map.to_vec()),
                add_dummy_prefix: Some(self.prefix),
                remove_extra_whitespaces: Some(self.removes),
                escape_whitespaces: Some(self.escapes),
                ..NormalizerSpec::default()
            }),
        }
    }
}

#[test]
fn every_model_gives_ids_offsets_and_texts_of_sentencepiece() {
    let (map, models) = vectors();
    assert_eq!((models.len(), models.iter().map(|model| model.rows.len()).sum()), (39, 468));
    for of in models {
        let model = SentencePiece::load(&of.model(&map).encode_to_vec()).expect("loads");
        let mut scratch = SentencePieceScratch::default();
        for (text, ids, places, shown) in &of.rows {
            let what = format!("type {}, {:?}, {text:?}", of.model_type, &of.pieces[3..]);
            // What is there already stays, and twice is as once: words are remembered.
            for _ in 0..2 {
                let mut found = vec![7];
                model.encode(text, &mut scratch, &mut found).expect("encodes");
                assert_eq!((found[0], &found[1..]), (7, &ids[..]), "{what}");
            }
            let (again, found) = model.encode_with_places(text).expect("encodes");
            assert_eq!(&again, ids, "{what}");
            assert_eq!(&found, places.as_ref().unwrap_or(&found), "{what}");
            assert_eq!(&model.decode(ids), shown.as_ref().unwrap_or(&model.decode(ids)), "{what}");
        }
    }
}

fn model(model_type: i32, pieces: Vec<ModelPiece>) -> SentencePieceModel {
    let mut all = vec![piece("<unk>", 0.0, SentencePieceKind::Unknown)];
    all.extend(pieces);
    let trainer = TrainerSpec { model_type: Some(model_type), ..TrainerSpec::default() };
    SentencePieceModel { pieces: all, trainer: Some(trainer), normalizer: None }
}

fn normal(text: &str, score: f32) -> ModelPiece {
    piece(text, score, SentencePieceKind::Normal)
}

fn ids(model: &SentencePieceModel, text: &str) -> Vec<u32> {
    let model = SentencePiece::load(&model.encode_to_vec()).expect("loads");
    let mut ids = Vec::new();
    model.encode(text, &mut SentencePieceScratch::default(), &mut ids).expect("encodes");
    assert_eq!(model.encode_with_places(text).expect("encodes").0, ids);
    ids
}

#[test]
fn user_symbols_of_a_unigram_score_by_their_length() {
    // 0.1 for each byte but the first: by the best of the others, `xyz` would lose against its letters.
    let symbol = piece("xyz", 0.0, SentencePieceKind::UserDefined);
    let letters = ["▁", "x", "y", "z", "xy"].map(|text| normal(text, -5.0));
    let of = model(UNIGRAM, letters.into_iter().chain([symbol]).collect());
    assert_eq!(ids(&of, "xyz"), [1, 6]);
}

#[test]
fn sums_of_a_unigram_are_rounded_to_32_bits() {
    // In 64 bits both ways to cut `aab` are equal and the first is taken; rounded, `aa` and `b` are more.
    let pieces = [("▁", -0.1), ("a", -1.3), ("b", -0.7), ("aa", -2.6), ("ab", -2.0)];
    let of = model(UNIGRAM, pieces.map(|(text, score)| normal(text, score)).to_vec());
    let mut sums = std::collections::BTreeSet::new();
    for length in 1..400 {
        sums.insert(ids(&of, &"aab".repeat(length)).last().copied());
    }
    assert_eq!(sums, [Some(3), Some(5)].into());
}

#[test]
fn a_long_text_has_the_ids_of_its_parts() {
    let (map, models) = vectors();
    for of in models.iter().filter(|of| of.prefix && of.removes && !of.suffix && of.escapes) {
        let model = SentencePiece::load(&of.model(&map).encode_to_vec()).expect("loads");
        let mut scratch = SentencePieceScratch::default();
        let (mut one, mut all) = (Vec::new(), Vec::new());
        // No piece reaches over the character that nothing knows.
        model.encode("ab ca\u{1F600}", &mut scratch, &mut one).expect("encodes");
        model.encode(&"ab ca\u{1F600} ".repeat(5000), &mut scratch, &mut all).expect("encodes");
        if of.model_type == BPE || of.model_type == CHAR {
            assert_eq!(all, one.repeat(5000), "type {}", of.model_type);
        }
        assert_eq!(
            model.encode_with_places(&"ab ca\u{1F600} ".repeat(5000)).expect("encodes").0,
            all
        );
    }
}

#[test]
fn models_that_sentencepiece_refuses_are_refused_with_the_piece() {
    let fails = |model: &SentencePieceModel| match PieceTable::new(model) {
        Err(TokenizerError::SentencePiece(what)) => what,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("must fail"),
    };
    let control = |text| piece(text, 0.0, SentencePieceKind::Control);
    let a = || normal("a", -1.0);
    assert!(fails(&model(BPE, vec![normal("a\0", 0.0)])).contains("piece 1 `a\\0` has a NUL"));
    assert!(fails(&model(BPE, vec![a(), a()])).contains("piece 2 `a` is there twice"));
    assert!(fails(&model(BPE, vec![normal(&"a".repeat(8000), 0.0)])).contains("too long"));
    assert!(fails(&model(BPE, vec![normal("a", f32::NAN)])).contains("no finite score"));
    assert!(fails(&model(9, vec![a()])).contains("type 9"));
    assert!(fails(&model(UNIGRAM, vec![control("a")])).contains("no pieces for text"));
    let byte = piece("<0x41>", 0.0, SentencePieceKind::Byte);
    assert!(fails(&model(BPE, vec![a(), byte])).contains("does not fall back to bytes"));
    // Text and reserved pieces stand in two maps, but in one of a BPE.
    assert!(fails(&model(BPE, vec![a(), control("a")])).contains("is there twice"));
    for kind in [UNIGRAM, CHAR, WORD] {
        assert!(PieceTable::new(&model(kind, vec![a(), control("a")])).is_ok());
    }
    // The one way in which it takes a NUL.
    let blank = || piece("\0", 0.0, SentencePieceKind::Unused);
    assert_eq!(ids(&model(CHAR, vec![blank(), a(), blank(), normal("▁", 0.0)]), "a"), [4, 2]);
}

#[test]
fn ids_that_cut_a_character_or_that_nothing_has_are_decoded() {
    let mut of = model(BPE, vec![normal("▁a", 0.0), normal("b▁", 0.0)]);
    of.pieces.extend(
        (0..=u8::MAX).map(|byte| piece(&format!("<0x{byte:02X}>"), 0.0, SentencePieceKind::Byte)),
    );
    if let Some(trainer) = &mut of.trainer {
        trainer.byte_fallback = Some(true);
    }
    let model = SentencePiece::load(&of.encode_to_vec()).expect("loads");
    let byte = |byte: u32| 3 + byte;
    assert_eq!(model.decode(&[1, 1, 2, 0, 9999]), "a ab <unk>");
    assert_eq!(model.decode(&[byte(0xE8), byte(0xAA), byte(0x9E), 1]), "語 a");
    assert_eq!(model.decode(&[byte(0xE8), byte(0xAA), 1]), "\u{fffd}\u{fffd} a");
    assert_eq!(model.decode(&[]), "");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(64)))]
    #[test]
    fn no_map_of_characters_breaks_encoding(at in 0usize..8192, byte: u8, cut in 0usize..8192) {
        let (map, models) = vectors();
        let mut damaged = map.clone();
        damaged[at % map.len()] = byte;
        for map in [&damaged[..], &map[..cut % map.len()]] {
            let of = models.iter().find(|of| of.map).expect("is there").model(map);
            let Ok(model) = SentencePiece::load(&of.encode_to_vec()) else { continue };
            for text in ["ab ABe\u{301}é\u{3000}ﬁ\u{33cd}\u{ad}", "\0", "\u{301}\u{301}"] {
                let _ = model.encode_with_places(text);
            }
        }
    }
}
