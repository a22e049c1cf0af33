//! Converts a SentencePiece `.model` to a `tokenizer.json`.
//!
//! The ids of a `.model` are those of `sentencepiece`; the file that is written here lists its tokens, and says what
//! other programs need to come as near to these ids as a `tokenizer.json` can: the compiled map of characters, white
//! space removed or collapsed, one `▁` before the text, spaces written `▁`. The usual model is cut at each `▁`, which
//! changes no id and lets encoders remember words; one whose pieces reach over words is not.

use crate::TokenizerError;
use crate::file::SPACE_MARKER;
use crate::file::write::{
    BpeSettings, FileParts, added_token, bpe, replace, replace_regex, sequence, split,
};
use crate::models::viterbi::UNKNOWN_PENALTY;
use crate::sentencepiece::proto::{ModelPiece, SentencePieceKind, SentencePieceModel};
use crate::sentencepiece::{
    DummySpace, PieceTable, SegmentAlgorithm, SentencePiece, space_settings, symbol_score,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

/// The bytes of a `tokenizer.json`.
pub(crate) fn to_json(bytes: &[u8]) -> Result<Vec<u8>, TokenizerError> {
    let model = SentencePiece::read(bytes)?;
    let table = PieceTable::new(&model)?;
    // Whether its map of characters can be used.
    SentencePiece::new(&model, &table)?;
    let spellings = spellings(&table);
    let spelled = |id: u32| spellings.get(id as usize).map_or("", String::as_str);
    let user_symbols: Vec<u32> =
        table.of_kind(SentencePieceKind::UserDefined).map(|(id, _)| id).collect();
    let is_unigram = table.algorithm == SegmentAlgorithm::Unigram;
    let spaces = WhitespaceSettings::of(&model, &table, !is_unigram && !user_symbols.is_empty());
    let specials = [SentencePieceKind::Unknown, SentencePieceKind::Control]
        .into_iter()
        .flat_map(|kind| table.of_kind(kind));
    let mut added: Vec<(u32, &str, bool)> =
        specials.map(|(id, _)| (id, spelled(id), true)).collect();
    if !is_unigram {
        // User symbols are never split or joined: they are found before the model sees the text.
        added.extend(user_symbols.into_iter().map(|id| (id, spelled(id), false)));
    }
    added.sort_unstable();
    let parts = FileParts {
        added_tokens: added
            .iter()
            .map(|(id, text, special)| added_token(*id, text, *special))
            .collect(),
        normalizer: spaces.normalizer(),
        pre_tokenizer: spaces.pre_tokenizer(),
        decoder: spaces.decoder(table.bytes.is_some()),
        model: match table.algorithm {
            SegmentAlgorithm::Unigram => unigram_model(&table, &spellings),
            SegmentAlgorithm::Bpe => bpe_model(&table, &spellings, merges(&table)),
            SegmentAlgorithm::Char => bpe_model(&table, &spellings, Vec::new()),
            SegmentAlgorithm::Word => json!({
                "type": "WordLevel", "vocab": vocab(&spellings), "unk_token": spelled(table.unknown)
            }),
        },
    };
    parts.into_json()
}

/// The pieces as the file spells them, by id: each spelling once. A reserved piece that is spelled like one for text
/// has its id behind it.
fn spellings(table: &PieceTable<'_>) -> Vec<String> {
    let texts: HashSet<&str> = table.texts().map(|(_, text)| text).collect();
    let mut seen = HashSet::new();
    let mut spellings = Vec::with_capacity(table.pieces.len());
    let text_ids: HashSet<u32> = table.texts().map(|(id, _)| id).collect();
    for (id, piece, _) in &table.pieces {
        let mut spelling = piece.text().to_owned();
        while !text_ids.contains(id) && (texts.contains(&*spelling) || seen.contains(&spelling)) {
            spelling = format!("{spelling}#{id}");
        }
        seen.insert(spelling.clone());
        spellings.push(spelling);
    }
    spellings
}

fn vocab(spellings: &[String]) -> Map<String, Value> {
    spellings.iter().cloned().zip((0u32..).map(Value::from)).collect()
}

/// What is done to white space, and where a text may be cut.
struct WhitespaceSettings {
    charsmap: Option<String>,
    /// What stands for a space.
    marker: &'static str,
    dummy: DummySpace,
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
    fn of(model: &SentencePieceModel, table: &PieceTable<'_>, in_parts: bool) -> Self {
        let spec = model.normalizer.clone().unwrap_or_default();
        let spaces = space_settings(model);
        let marker = if spaces.escapes { SPACE_MARKER } else { " " };
        let is_suffix = spaces.dummy == DummySpace::Suffix;
        let map = spec.precompiled_charsmap.filter(|map| !map.is_empty());
        let reaches_over = |piece: &str| {
            let inner = match is_suffix {
                true => piece.strip_suffix(marker),
                false => piece.strip_prefix(marker),
            };
            inner.unwrap_or(piece).contains(marker)
        };
        // A marker that is not a token would be joined with the unknown characters before it.
        let is_cut = table.texts().any(|(_, piece)| piece == marker)
            && !table.texts().any(|(_, piece)| reaches_over(piece));
        Self {
            charsmap: map.map(|map| BASE64_STANDARD.encode(map)),
            marker,
            dummy: spaces.dummy,
            removes_extra: spaces.removes_extra,
            is_cut: is_cut || table.algorithm == SegmentAlgorithm::Word,
            is_composed: spec.name.is_some_and(|name| name.contains("nfkc")),
            in_parts,
        }
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
            // The start of a text that comes in parts needs no such step: one space is as good as the prefix.
            let extra = if self.in_parts { r" +\z" } else { r"\A +| +\z" };
            steps.push(replace_regex(extra, ""));
            steps.push(replace_regex(" {2,}", " "));
        }
        if self.dummy == DummySpace::Prefix && !self.in_parts {
            steps.push(json!({ "type": "Prepend", "prepend": self.marker }));
        }
        if self.marker != " " {
            steps.push(replace(" ", self.marker));
        }
        sequence("normalizers", steps)
    }

    fn pre_tokenizer(&self) -> Value {
        if self.dummy == DummySpace::Prefix && self.in_parts {
            return json!({
                "type": "Metaspace", "replacement": self.marker, "prepend_scheme": "first",
                "split": self.is_cut
            });
        }
        if self.is_cut {
            let side = match self.dummy {
                DummySpace::Suffix => "MergedWithPrevious",
                DummySpace::None | DummySpace::Prefix => "MergedWithNext",
            };
            return split(json!({ "String": self.marker }), side);
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
        let (start, stop) = match self.dummy {
            DummySpace::None => (0, 0),
            DummySpace::Prefix => (1, 0),
            DummySpace::Suffix => (0, 1),
        };
        if start + stop > 0 {
            steps.push(json!({ "type": "Strip", "content": " ", "start": start, "stop": stop }));
        }
        sequence("decoders", steps)
    }
}

/// SentencePiece joins the pair whose joined spelling has the best score. Pieces that are marked unused are joined by
/// no merge: a `tokenizer.json` cannot split them again.
fn bpe_model(table: &PieceTable<'_>, spellings: &[String], merges: Vec<Value>) -> Value {
    let settings = BpeSettings {
        unk_token: spellings.get(table.unknown as usize).map(String::as_str),
        fuse_unk: true,
        byte_fallback: table.bytes.is_some(),
        ..BpeSettings::default()
    };
    bpe(vocab(spellings), merges.into(), &settings)
}

/// Each way to cut a normal piece into two is a merge. Best score first; where scores are equal, longer halves first,
/// as transformers' converter has it.
fn merges(table: &PieceTable<'_>) -> Vec<Value> {
    let normal = table.pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Normal);
    let ids: HashMap<&str, u32> =
        normal.clone().map(|(id, piece, _)| (piece.text(), *id)).collect();
    let mut pairs = Vec::new();
    for (_, piece, _) in normal {
        let text = piece.text();
        for (at, _) in text.char_indices().skip(1) {
            let Some((left, right)) = text.split_at_checked(at) else { continue };
            if let (Some(left_id), Some(right_id)) = (ids.get(left), ids.get(right)) {
                let lengths = (left.chars().count(), right.chars().count());
                pairs.push((score(piece), Reverse(lengths), (*left_id, *right_id), left, right));
            }
        }
    }
    pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    pairs.into_iter().map(|(_, _, _, left, right)| json!([left, right])).collect()
}

fn score(piece: &ModelPiece) -> f32 {
    piece.score.unwrap_or_default()
}

/// The vocabulary of scores. Text spells neither bytes nor control tokens nor unused pieces, which the
/// reference implementation does not know of: their score is below any other way to spell them. User-defined
/// symbols have the score that SentencePiece computes for them as it encodes.
fn unigram_model(table: &PieceTable<'_>, spellings: &[String]) -> Value {
    let normal = table.pieces.iter().filter(|(_, _, kind)| *kind == SentencePieceKind::Normal);
    let scores = normal.map(|(_, piece, _)| f64::from(score(piece)));
    let worst = scores.fold(f64::MAX, f64::min);
    let counted = |length: usize| f64::from(u32::try_from(length).unwrap_or(u32::MAX));
    let longest = table.pieces.iter().map(|(_, piece, _)| piece.text().len()).max().unwrap_or(0);
    let unreachable = (worst.min(0.0) - UNKNOWN_PENALTY) * counted(longest + 1);
    let pieces = table.pieces.iter().zip(spellings);
    let vocab: Vec<Value> = pieces
        .map(|((_, piece, kind), spelling)| {
            let score = match kind {
                SentencePieceKind::Byte
                | SentencePieceKind::Unused
                | SentencePieceKind::Control
                | SentencePieceKind::Unknown => unreachable,
                SentencePieceKind::UserDefined => f64::from(symbol_score(piece.text().len())),
                SentencePieceKind::Normal => f64::from(score(piece)),
            };
            json!([spelling, score])
        })
        .collect();
    json!({
        "type": "Unigram", "unk_id": table.unknown, "vocab": vocab,
        "byte_fallback": table.bytes.is_some()
    })
}
