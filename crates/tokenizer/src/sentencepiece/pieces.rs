//! The pieces of a SentencePiece model by kind, checked as SentencePiece checks them.

use super::fail;
use super::proto::{BPE, CHAR, ModelPiece, SentencePieceKind, SentencePieceModel, UNIGRAM, WORD};
use crate::TokenizerError;
use crate::file::write::byte_token;
use std::collections::{HashMap, HashSet};

/// How a model cuts a text into pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentAlgorithm {
    Unigram,
    Bpe,
    Word,
    Char,
}

impl SegmentAlgorithm {
    /// The word for it in messages.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Unigram => "Unigram",
            Self::Bpe => "BPE",
            Self::Word => "model of words",
            Self::Char => "model of characters",
        }
    }
}

/// Pieces with their ids and kinds. One of them is the unknown piece. Of the pieces that text is cut into each spelling
/// is there once, and of the reserved ones likewise; a spelling may be one of both, but not in a BPE.
pub(crate) struct PieceTable<'a> {
    pub(crate) pieces: Vec<(u32, &'a ModelPiece, SentencePieceKind)>,
    pub(crate) unknown: u32,
    pub(crate) algorithm: SegmentAlgorithm,
    /// The id of each byte, where unknown characters become bytes.
    pub(crate) bytes: Option<Box<[u32; 256]>>,
}

/// SentencePiece takes pieces that are shorter, in bytes.
const LONGEST: usize = 8000;

/// Whether a piece of this kind is found in text by its spelling.
pub(crate) const fn is_text(kind: SentencePieceKind) -> bool {
    matches!(
        kind,
        SentencePieceKind::Normal | SentencePieceKind::UserDefined | SentencePieceKind::Unused
    )
}

impl<'a> PieceTable<'a> {
    pub(crate) fn new(model: &'a SentencePieceModel) -> Result<Self, TokenizerError> {
        let trainer = model.trainer.as_ref();
        let algorithm = match trainer.and_then(|trainer| trainer.model_type).unwrap_or(UNIGRAM) {
            UNIGRAM => SegmentAlgorithm::Unigram,
            BPE => SegmentAlgorithm::Bpe,
            WORD => SegmentAlgorithm::Word,
            CHAR => SegmentAlgorithm::Char,
            other => return Err(fail(&format!("its type {other} is unknown"))),
        };
        let (mut texts, mut reserved) = (HashSet::new(), HashSet::new());
        let mut pieces = Vec::with_capacity(model.pieces.len());
        for (id, piece) in (0u32..).zip(&model.pieces) {
            let text = piece.text();
            let refuse =
                |what: &str| Err(fail(&format!("piece {id} `{}` {what}", text.escape_debug())));
            let Some(kind) = piece.known_kind() else {
                return refuse("is of a kind that is not known");
            };
            if text.is_empty() {
                return Err(fail(&format!("piece {id} is empty")));
            }
            if text.len() >= LONGEST {
                return Err(fail(&format!(
                    "piece {id} has {} bytes, which is too long",
                    text.len()
                )));
            }
            // The one way in which SentencePiece takes a NUL: nothing spells it.
            let is_blank = text == "\0" && kind == SentencePieceKind::Unused;
            if text.contains('\0') && !is_blank {
                return refuse("has a NUL, where SentencePiece ends a piece");
            }
            // A BPE has one map for both.
            let is_among_texts = is_text(kind) || algorithm == SegmentAlgorithm::Bpe;
            let seen = if is_among_texts { &mut texts } else { &mut reserved };
            if !is_blank && !seen.insert(text) {
                return refuse("is there twice");
            }
            if piece.score.is_some_and(|score| !score.is_finite()) {
                return refuse("has no finite score");
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
        if algorithm == SegmentAlgorithm::Unigram
            && !pieces.iter().any(|(_, _, kind)| *kind == SentencePieceKind::Normal)
        {
            return Err(fail("it has no pieces for text"));
        }
        let falls_back = trainer.and_then(|trainer| trainer.byte_fallback) == Some(true);
        let bytes = byte_ids(&pieces, falls_back)?;
        Ok(Self { pieces, unknown, algorithm, bytes })
    }

    pub(crate) fn of_kind(
        &self,
        wanted: SentencePieceKind,
    ) -> impl Iterator<Item = (u32, &'a str)> {
        let pieces = self.pieces.iter().filter(move |(_, _, kind)| *kind == wanted);
        pieces.map(|(id, piece, _)| (*id, piece.text()))
    }

    /// Pieces that text is cut into.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (u32, &'a str)> {
        let is_spelled = |piece: &ModelPiece, kind| is_text(kind) && piece.text() != "\0";
        let pieces = self.pieces.iter().filter(move |(_, piece, kind)| is_spelled(piece, *kind));
        pieces.map(|(id, piece, _)| (*id, piece.text()))
    }
}

/// The id of each byte. SentencePiece refuses pieces for bytes that are not used, and a fall-back that lacks some.
fn byte_ids(
    pieces: &[(u32, &ModelPiece, SentencePieceKind)],
    falls_back: bool,
) -> Result<Option<Box<[u32; 256]>>, TokenizerError> {
    let bytes = pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Byte);
    let by_spelling: HashMap<&str, u32> = bytes.map(|(id, piece, _)| (piece.text(), *id)).collect();
    if !falls_back {
        return match pieces.iter().find(|(_, _, kind)| *kind == SentencePieceKind::Byte) {
            Some((id, piece, _)) => {
                let piece = piece.text();
                Err(fail(&format!(
                    "piece {id} `{piece}` is a byte, but it does not fall back to bytes"
                )))
            }
            None => Ok(None),
        };
    }
    let mut ids = Box::new([0; 256]);
    for (byte, id) in (0..=u8::MAX).zip(ids.iter_mut()) {
        let spelling = byte_token(byte);
        let found = by_spelling.get(spelling.as_str());
        *id = *found
            .ok_or_else(|| fail(&format!("it falls back to bytes, but has no piece {spelling}")))?;
    }
    if by_spelling.len() > ids.len() {
        return Err(fail("it has a byte piece that is not spelled as a byte"));
    }
    Ok(Some(ids))
}
