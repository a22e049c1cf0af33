//! A `tokenizer.json` with `▁` for spaces as a SentencePiece `.model`.

use super::fail;
use super::steps::SentencePieceSettings;
use super::to_pieces::{self, PieceVocabulary};
use crate::tokenizer::TokenizerError;
use crate::tokenizer::proto::{BPE, SentencePieceModel, TrainerSpec, UNIGRAM};
use serde_json::Value;

/// The bytes of a SentencePiece model that gives the ids of a `tokenizer.json`: a BPE over characters,
/// with or without fall-back to bytes, or a Unigram, with `▁` for spaces. Special tokens become control
/// tokens.
///
/// Three things remain that no check can rule out: SentencePiece joins any two pieces whose joined
/// spelling is a piece, where a list of merges may lack the pair; it adds scores in 32 bits, so that of
/// two ways with all but equal scores it may take the other; and unknown characters side by side are one
/// unknown token to it, also where the file splits them.
///
/// # Errors
/// [`TokenizerError::Load`] when the file cannot be parsed, [`TokenizerError::Inexpressible`] when a
/// SentencePiece model cannot do what it does.
pub fn to_sentencepiece(json: &[u8]) -> Result<Vec<u8>, TokenizerError> {
    let file: Value =
        serde_json::from_slice(json).map_err(|error| TokenizerError::Load(error.into()))?;
    let model = file.get("model").cloned().unwrap_or_default();
    let is_bpe = match model.get("type").and_then(Value::as_str) {
        Some("BPE") => true,
        Some("Unigram") => false,
        other => {
            let kind = other.unwrap_or("untyped");
            return Err(fail(&format!("its model is {kind}; only BPE and Unigram can")));
        }
    };
    let steps = SentencePieceSettings::of(&file)?;
    let tokens = PieceVocabulary::of(&file, &model)?;
    let written = if is_bpe {
        to_pieces::bpe_pieces(&model, &tokens)?
    } else {
        to_pieces::unigram_pieces(&model, &tokens)?
    };
    steps.check(&tokens)?;
    let control = |name: &str| {
        let id = tokens.specials.get(name).filter(|id| **id != tokens.unknown);
        Some(id.and_then(|id| i32::try_from(*id).ok()).unwrap_or(-1))
    };
    let trainer = TrainerSpec {
        model_type: Some(if is_bpe { BPE } else { UNIGRAM }),
        vocab_size: i32::try_from(written.len()).ok(),
        byte_fallback: Some(tokens.byte_fallback),
        unk_id: i32::try_from(tokens.unknown).ok(),
        bos_id: control("<s>"),
        eos_id: control("</s>"),
        pad_id: control("<pad>"),
        unk_piece: Some(tokens.spelling(tokens.unknown).to_owned()),
        ..TrainerSpec::default()
    };
    let normalizer = Some(steps.normalizer());
    Ok(SentencePieceModel { pieces: written, trainer: Some(trainer), normalizer }.encode_to_vec())
}
