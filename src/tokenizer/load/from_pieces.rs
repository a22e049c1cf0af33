//! The pieces of a SentencePiece model as the vocabulary and the rules of a BPE or a Unigram model.

use crate::tokenizer::TokenizerError;
use crate::tokenizer::file::{BpeSettings, bpe};
use crate::tokenizer::proto::{ModelPiece, SentencePieceKind, SentencePieceModel};
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// SentencePiece joins the pair whose joined spelling has the best score, so each way to cut a
/// normal piece into two is a merge. `is_merging`: else every character stays alone.
pub(super) fn bpe_model(
    known: &PieceTable<'_>,
    byte_fallback: bool,
    is_merging: bool,
) -> Result<Value, TokenizerError> {
    if let Some((id, piece, _)) =
        known.pieces.iter().find(|(_, _, kind)| *kind == SentencePieceKind::Unused)
    {
        let piece = piece.text();
        return Err(fail(&format!("piece {id} `{piece}` is an unused piece of a BPE model")));
    }
    let vocab: Map<String, Value> =
        known.pieces.iter().map(|(id, piece, _)| (piece.text().to_owned(), (*id).into())).collect();
    let unknown = known.pieces.iter().find(|(id, ..)| *id == known.unknown);
    let settings = BpeSettings {
        unk_token: unknown.map(|(_, piece, _)| piece.text()),
        fuse_unk: true,
        byte_fallback,
        ..BpeSettings::default()
    };
    let merges = if is_merging { merges(known) } else { Vec::new() };
    Ok(bpe(vocab, merges.into(), &settings))
}

/// Best score first; where scores are equal, longer halves first, as transformers' converter has it.
fn merges(known: &PieceTable<'_>) -> Vec<Value> {
    let normal = known.pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Normal);
    let ids: HashMap<&str, u32> =
        normal.clone().map(|(id, piece, _)| (piece.text(), *id)).collect();
    let mut found = Vec::new();
    for (_, piece, _) in normal {
        let text = piece.text();
        for (at, _) in text.char_indices().skip(1) {
            let Some((left, right)) = text.split_at_checked(at) else { continue };
            if let (Some(left_id), Some(right_id)) = (ids.get(left), ids.get(right)) {
                let lengths = (left.chars().count(), right.chars().count());
                found.push((score(piece), Reverse(lengths), (*left_id, *right_id), left, right));
            }
        }
    }
    found.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    found.into_iter().map(|(_, _, _, left, right)| json!([left, right])).collect()
}

fn score(piece: &ModelPiece) -> f32 {
    piece.score.unwrap_or_default()
}

/// The vocabulary of scores. Text spells neither bytes nor control tokens nor unused pieces, which the
/// reference implementation does not know of: their score is below any other way to spell them. User-defined
/// symbols have the score that SentencePiece computes for them as it encodes.
pub(super) fn unigram_model(
    known: &PieceTable<'_>,
    byte_fallback: bool,
) -> Result<Value, TokenizerError> {
    /// What an unknown character costs beyond the worst piece, in both implementations.
    const UNKNOWN_PENALTY: f64 = 10.0;
    let normal = known.pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Normal);
    let scores = normal.map(|(_, piece, _)| f64::from(score(piece)));
    let (worst, best) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(worst, best), score| {
        (worst.min(score), best.max(score))
    });
    if worst > best {
        return Err(fail("it has no pieces for text"));
    }
    let counted = |length: usize| f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    let longest = known.pieces.iter().map(|(_, piece, _)| piece.text().len()).max().unwrap_or(0);
    let unreachable = (worst.min(0.0) - UNKNOWN_PENALTY) * counted(longest + 1);
    let vocab: Vec<Value> = known
        .pieces
        .iter()
        .map(|(_, piece, kind)| {
            let score = match kind {
                SentencePieceKind::Byte
                | SentencePieceKind::Unused
                | SentencePieceKind::Control
                | SentencePieceKind::Unknown => unreachable,
                SentencePieceKind::UserDefined => counted(piece.text().len()).mul_add(best, -0.1),
                SentencePieceKind::Normal => f64::from(score(piece)),
            };
            json!([piece.text(), score])
        })
        .collect();
    Ok(json!({
        "type": "Unigram", "unk_id": known.unknown, "vocab": vocab, "byte_fallback": byte_fallback
    }))
}

pub(super) fn fail(what: &str) -> TokenizerError {
    TokenizerError::SentencePiece(what.to_owned())
}

/// Pieces with their ids and kinds, known to be distinct and to have one unknown token.
pub(super) struct PieceTable<'a> {
    pub(super) pieces: Vec<(u32, &'a ModelPiece, SentencePieceKind)>,
    pub(super) unknown: u32,
}

impl<'a> PieceTable<'a> {
    pub(super) fn of(model: &'a SentencePieceModel) -> Result<Self, TokenizerError> {
        let mut seen = HashSet::new();
        let mut pieces = Vec::with_capacity(model.pieces.len());
        for (id, piece) in (0u32..).zip(&model.pieces) {
            let kind = piece.known_kind().ok_or_else(|| {
                fail(&format!("piece {id} `{}` is of a kind that is not known", piece.text()))
            })?;
            if piece.text().is_empty() {
                return Err(fail(&format!("piece {id} is empty")));
            }
            if !seen.insert(piece.text()) {
                return Err(fail(&format!("piece {id} `{}` is there twice", piece.text())));
            }
            if piece.score.is_some_and(|score| !score.is_finite()) {
                return Err(fail(&format!("piece {id} `{}` has no finite score", piece.text())));
            }
            pieces.push((id, piece, kind));
        }
        let mut unknowns = pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Unknown);
        let (Some((unknown, _, _)), None) = (unknowns.next(), unknowns.next()) else {
            return Err(fail(
                "it must have exactly one unknown token; is it a SentencePiece model?",
            ));
        };
        let unknown = *unknown;
        Ok(Self { pieces, unknown })
    }

    pub(super) fn of_kind(&self, wanted: SentencePieceKind) -> Vec<(u32, &'a ModelPiece)> {
        let of_kind = self.pieces.iter().filter(|(_, _, kind)| *kind == wanted);
        of_kind.map(|(id, piece, _)| (*id, *piece)).collect()
    }

    /// Whether unknown characters become bytes, which needs a piece for each.
    pub(super) fn byte_fallback(&self, is_set: bool) -> Result<bool, TokenizerError> {
        let bytes: HashSet<&str> = self
            .of_kind(SentencePieceKind::Byte)
            .into_iter()
            .map(|(_, piece)| piece.text())
            .collect();
        let missing = (0..=u8::MAX).find(|byte| !bytes.contains(&*format!("<0x{byte:02X}>")));
        match missing {
            Some(byte) if is_set => {
                Err(fail(&format!("it falls back to bytes, but has no piece <0x{byte:02X}>")))
            }
            _ => Ok(is_set),
        }
    }

    /// Pieces that text is cut into.
    pub(super) fn spelled(&self) -> impl Iterator<Item = &'a str> {
        let spelled = [SentencePieceKind::Normal, SentencePieceKind::UserDefined];
        self.pieces
            .iter()
            .filter(move |(_, _, kind)| spelled.contains(kind))
            .map(|(_, p, _)| p.text())
    }
}
