//! A SentencePiece `.model` as a `tokenizer.json` with the same ids.
//!
//! SentencePiece's own steps are kept as they are: the compiled map of characters, white space removed or
//! collapsed, one `▁` before the text, spaces written `▁`. The usual model is cut at each `▁`, which
//! changes no id and lets encoders remember words; one whose pieces reach over words is not.

use crate::tokenizer::TokenizerError;
use crate::tokenizer::engine::reference::guard;
use crate::tokenizer::file::write::{
    BpeSettings, FileParts, added_token, bpe, replace, replace_regex, sequence, split,
};
use crate::tokenizer::sentencepiece::{
    BPE, CHAR, ModelPiece, SentencePieceKind, SentencePieceModel, UNIGRAM, WORD,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use tokenizers::normalizers::Precompiled;
use tokenizers::{NormalizedString, Normalizer as _};

/// What SentencePiece writes for a space.
const MARKER: &str = "▁";

pub(in crate::tokenizer) fn to_json(bytes: &[u8]) -> Result<Vec<u8>, TokenizerError> {
    let model = SentencePieceModel::decode(bytes)
        .map_err(|error| fail(&format!("{error}; is it complete?")))?;
    let known = PieceTable::of(&model)?;
    let trainer = model.trainer.clone().unwrap_or_default();
    if trainer.treat_whitespace_as_suffix == Some(true) {
        return Err(fail("it writes white space after words, which is not supported"));
    }
    let is_bpe = match trainer.model_type.unwrap_or(UNIGRAM) {
        UNIGRAM => false,
        BPE | CHAR => true,
        WORD => return Err(fail("it is a word model; only BPE, Unigram and char models are read")),
        other => return Err(fail(&format!("its type {other} is unknown"))),
    };
    let byte_fallback = known.byte_fallback(trainer.byte_fallback == Some(true))?;
    let user_symbols = known.of_kind(SentencePieceKind::UserDefined);
    let spaces = WhitespaceSettings::of(&model, &known, is_bpe && !user_symbols.is_empty())?;
    let specials = [SentencePieceKind::Unknown, SentencePieceKind::Control]
        .into_iter()
        .flat_map(|kind| known.of_kind(kind));
    let mut added: Vec<(u32, &str, bool)> =
        specials.map(|(id, piece)| (id, piece.text(), true)).collect();
    if is_bpe {
        // They are never split or joined: found before the model sees the text.
        added.extend(user_symbols.iter().map(|(id, piece)| (*id, piece.text(), false)));
    }
    added.sort_unstable();
    let parts = FileParts {
        added_tokens: added
            .iter()
            .map(|(id, text, special)| added_token(*id, text, *special))
            .collect(),
        normalizer: spaces.normalizer(),
        pre_tokenizer: spaces.pre_tokenizer(),
        decoder: spaces.decoder(byte_fallback),
        model: if is_bpe {
            let is_merging = trainer.model_type != Some(CHAR);
            bpe_model(&known, byte_fallback, is_merging)?
        } else {
            unigram_model(&known, byte_fallback)?
        },
    };
    parts.into_json()
}

/// What is done to white space, and where a text may be cut.
struct WhitespaceSettings {
    charsmap: Option<String>,
    /// What stands for a space.
    marker: &'static str,
    prefix: bool,
    removes_extra: bool,
    /// No piece reaches over the start of a word.
    is_cut: bool,
    /// The map is of composed characters: SentencePiece finds the longest entry, the reference
    /// implementation one or a few characters, so the text is composed first.
    is_composed: bool,
    /// Symbols are taken out of the text first, so that it comes in parts.
    in_parts: bool,
}

impl WhitespaceSettings {
    fn of(
        model: &SentencePieceModel,
        known: &PieceTable<'_>,
        in_parts: bool,
    ) -> Result<Self, TokenizerError> {
        let spec = model.normalizer.clone().unwrap_or_default();
        let marker = if spec.escape_whitespaces.unwrap_or(true) { MARKER } else { " " };
        let map = spec.precompiled_charsmap.filter(|map| !map.is_empty());
        if let Some(map) = &map {
            check_map(map)?;
        }
        // A marker that is not a token would be joined with the unknown characters before it.
        let is_cut = known.spelled().any(|piece| piece == marker)
            && !known.spelled().any(|piece| piece.chars().skip(1).any(|c| marker.contains(c)));
        Ok(Self {
            charsmap: map.map(|map| BASE64_STANDARD.encode(map)),
            marker,
            prefix: spec.add_dummy_prefix.unwrap_or(true),
            removes_extra: spec.remove_extra_whitespaces.unwrap_or(true),
            is_cut,
            is_composed: spec.name.is_some_and(|name| name.contains("nfkc")),
            in_parts,
        })
    }

    fn normalizer(&self) -> Value {
        let mut steps = Vec::new();
        if let Some(map) = &self.charsmap {
            if self.is_composed {
                steps.push(json!({ "type": "NFC" }));
            }
            steps.push(json!({ "type": "Precompiled", "precompiled_charsmap": map }));
        }
        if self.removes_extra {
            // Of a text that comes in parts the start needs none: one space is as good as the prefix.
            let extra = if self.in_parts { r" +\z" } else { r"\A +| +\z" };
            steps.push(replace_regex(extra, ""));
            steps.push(replace_regex(" {2,}", " "));
        }
        if self.prefix && !self.in_parts {
            steps.push(json!({ "type": "Prepend", "prepend": self.marker }));
        }
        if self.marker != " " {
            steps.push(replace(" ", self.marker));
        }
        sequence("normalizers", steps)
    }

    fn pre_tokenizer(&self) -> Value {
        if self.prefix && self.in_parts {
            return json!({
                "type": "Metaspace", "replacement": self.marker, "prepend_scheme": "first",
                "split": self.is_cut
            });
        }
        if self.is_cut {
            return split(json!({ "String": self.marker }), "MergedWithNext");
        }
        Value::Null
    }

    fn decoder(&self, byte_fallback: bool) -> Value {
        let mut steps = Vec::new();
        if self.marker != " " {
            steps.push(replace(self.marker, " "));
        }
        if byte_fallback {
            steps.push(json!({ "type": "ByteFallback" }));
        }
        steps.push(json!({ "type": "Fuse" }));
        if self.prefix {
            steps.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
        }
        sequence("decoders", steps)
    }
}

/// Whether a map of characters can be read at all; the libraries trust it.
fn check_map(map: &[u8]) -> Result<(), TokenizerError> {
    let read = guard("reading a map of characters", || {
        let map = Precompiled::from(map).map_err(|error| error.to_string())?;
        let mut text = NormalizedString::from("aéﬁ①語 \t\u{3000}");
        map.normalize(&mut text).map_err(|error| error.to_string())
    });
    match read {
        Ok(Ok(())) => Ok(()),
        Ok(Err(what)) => Err(fail(&format!("its map of characters cannot be read: {what}"))),
        Err(_) => Err(fail("its map of characters is damaged")),
    }
}

/// SentencePiece joins the pair whose joined spelling has the best score, so each way to cut a
/// normal piece into two is a merge. `is_merging`: else every character stays alone.
pub(in crate::tokenizer) fn bpe_model(
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
pub(in crate::tokenizer) fn unigram_model(
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

pub(in crate::tokenizer) fn fail(what: &str) -> TokenizerError {
    TokenizerError::SentencePiece(what.to_owned())
}

/// Pieces with their ids and kinds, known to be distinct and to have one unknown token.
pub(in crate::tokenizer) struct PieceTable<'a> {
    pub(in crate::tokenizer) pieces: Vec<(u32, &'a ModelPiece, SentencePieceKind)>,
    pub(in crate::tokenizer) unknown: u32,
}

impl<'a> PieceTable<'a> {
    pub(in crate::tokenizer) fn of(model: &'a SentencePieceModel) -> Result<Self, TokenizerError> {
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

    pub(in crate::tokenizer) fn of_kind(
        &self,
        wanted: SentencePieceKind,
    ) -> Vec<(u32, &'a ModelPiece)> {
        let of_kind = self.pieces.iter().filter(|(_, _, kind)| *kind == wanted);
        of_kind.map(|(id, piece, _)| (*id, *piece)).collect()
    }

    /// Whether unknown characters become bytes, which needs a piece for each.
    pub(in crate::tokenizer) fn byte_fallback(&self, is_set: bool) -> Result<bool, TokenizerError> {
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
    pub(in crate::tokenizer) fn spelled(&self) -> impl Iterator<Item = &'a str> {
        let spelled = [SentencePieceKind::Normal, SentencePieceKind::UserDefined];
        self.pieces
            .iter()
            .filter(move |(_, _, kind)| spelled.contains(kind))
            .map(|(_, p, _)| p.text())
    }
}
