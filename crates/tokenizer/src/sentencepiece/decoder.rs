//! Decodes ids to text, as `SentencePieceProcessor::Decode` puts it together; special tokens are spelled out.

use super::normalizer::{DummySpace, space_settings};
use super::pieces::PieceTable;
use super::proto::{SentencePieceKind, SentencePieceModel};
use crate::file::SPACE_MARKER;

/// What an id stands for.
enum DecodedPiece {
    Byte(u8),
    /// Control symbols and the unknown piece.
    Special(Box<str>),
    Text(Box<str>),
}

/// Makes text of ids.
pub(super) struct PieceDecoder {
    /// By id.
    pieces: Vec<DecodedPiece>,
    /// One space is taken off the start.
    drops_space: bool,
    /// All spaces are.
    drops_spaces: bool,
}

impl PieceDecoder {
    pub(super) fn new(model: &SentencePieceModel, table: &PieceTable<'_>) -> Self {
        let mut by_id = vec![None; table.pieces.len()];
        for (byte, id) in (0..=u8::MAX).zip(table.bytes.iter().flat_map(|ids| ids.iter())) {
            if let Some(slot) = by_id.get_mut(*id as usize) {
                *slot = Some(byte);
            }
        }
        let pieces =
            table.pieces.iter().zip(by_id).map(|((_, piece, kind), byte)| match (kind, byte) {
                (_, Some(byte)) => DecodedPiece::Byte(byte),
                (SentencePieceKind::Control | SentencePieceKind::Unknown, None) => {
                    DecodedPiece::Special(piece.text().into())
                }
                _ => DecodedPiece::Text(piece.text().into()),
            });
        let spaces = space_settings(model);
        Self {
            pieces: pieces.collect(),
            drops_space: spaces.dummy != DummySpace::None || spaces.removes_extra,
            drops_spaces: spaces.removes_extra,
        }
    }

    /// The text of ids; those that no piece has are skipped.
    pub(super) fn decode(&self, ids: &[u32]) -> String {
        let (mut text, mut bytes) = (String::new(), Vec::new());
        let mut is_at_start = true;
        for id in ids {
            let piece = match self.pieces.get(*id as usize) {
                None => continue,
                Some(DecodedPiece::Byte(byte)) => {
                    bytes.push(*byte);
                    continue;
                }
                Some(piece) => piece,
            };
            push_bytes(&mut bytes, &mut text);
            is_at_start &= text.is_empty();
            match piece {
                DecodedPiece::Text(piece) => {
                    let dropped = (is_at_start && self.drops_space)
                        .then(|| piece.strip_prefix(SPACE_MARKER))
                        .flatten();
                    is_at_start &= dropped.is_none() || self.drops_spaces;
                    text.push_str(&dropped.unwrap_or(piece).replace(SPACE_MARKER, " "));
                }
                DecodedPiece::Special(piece) => text.push_str(piece),
                DecodedPiece::Byte(_) => {}
            }
        }
        push_bytes(&mut bytes, &mut text);
        text
    }
}

/// Bytes as characters, and each that is part of none as U+FFFD.
fn push_bytes(bytes: &mut Vec<u8>, text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    bytes.clear();
}
