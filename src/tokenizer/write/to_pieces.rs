//! The vocabulary of a `tokenizer.json` as SentencePiece's pieces with their scores.

use super::fail;
use crate::tokenizer::TokenizerError;
use crate::tokenizer::proto::{ModelPiece, SentencePieceKind};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Tokens by id, and what they are.
pub(super) struct PieceVocabulary {
    by_id: Vec<String>,
    /// Special ones: spelling and id.
    pub(super) specials: HashMap<String, u32>,
    /// Added ones that are not special.
    plain: HashSet<String>,
    pub(super) unknown: u32,
    pub(super) byte_fallback: bool,
}

impl PieceVocabulary {
    pub(super) fn of(file: &Value, model: &Value) -> Result<Self, TokenizerError> {
        let mut by_id: HashMap<u32, String> = HashMap::new();
        let mut put = |id: u32, token: &str| match by_id.insert(id, token.to_owned()) {
            Some(other) if other != token => {
                Err(fail(&format!("`{other}` and `{token}` have the id {id}")))
            }
            _ => Ok(()),
        };
        match model.get("vocab") {
            Some(Value::Object(vocab)) => {
                for (token, id) in vocab {
                    put(number(id)?, token)?;
                }
            }
            Some(Value::Array(vocab)) => {
                for (id, entry) in (0u32..).zip(vocab) {
                    put(id, entry.get(0).and_then(Value::as_str).unwrap_or_default())?;
                }
            }
            _ => return Err(fail("its model has no vocabulary")),
        }
        let (mut specials, mut plain) = (HashMap::new(), HashSet::new());
        for token in file.get("added_tokens").and_then(Value::as_array).into_iter().flatten() {
            let content = token.get("content").and_then(Value::as_str).unwrap_or_default();
            let id = number(token.get("id").unwrap_or(&Value::Null))?;
            put(id, content)?;
            if token.get("special") == Some(&Value::Bool(true)) {
                specials.insert(content.to_owned(), id);
            } else {
                plain.insert(content.to_owned());
            }
        }
        let unknown = match (model.get("unk_token").and_then(Value::as_str), model.get("unk_id")) {
            (Some(token), _) => by_id.iter().find(|(_, other)| *other == token).map(|(id, _)| *id),
            (None, Some(id)) => number(id).ok(),
            (None, None) => None,
        };
        let unknown =
            unknown.ok_or_else(|| fail("it has no unknown token, which every such model has"))?;
        let count = u32::try_from(by_id.len()).unwrap_or(u32::MAX);
        let by_id: Vec<String> = (0..count)
            .map(|id| by_id.remove(&id).ok_or_else(|| fail(&format!("no token has the id {id}"))))
            .collect::<Result<_, _>>()?;
        if let Some(id) = by_id.iter().position(String::is_empty) {
            return Err(fail(&format!("the token {id} is empty")));
        }
        let byte_fallback = model.get("byte_fallback") == Some(&Value::Bool(true));
        let tokens = Self { by_id, specials, plain, unknown, byte_fallback };
        tokens.check_bytes()?;
        Ok(tokens)
    }

    fn check_bytes(&self) -> Result<(), TokenizerError> {
        let known: HashSet<&str> = self.by_id.iter().map(String::as_str).collect();
        let missing = (0..=u8::MAX).map(byte_token).find(|byte| !known.contains(byte.as_str()));
        match missing.filter(|_| self.byte_fallback) {
            Some(byte) => Err(fail(&format!("it falls back to bytes, but has no token {byte}"))),
            None => Ok(()),
        }
    }

    pub(super) fn spelling(&self, id: u32) -> &str {
        self.by_id.get(id as usize).map_or("", String::as_str)
    }

    fn kind(&self, id: u32, token: &str) -> SentencePieceKind {
        if id == self.unknown {
            SentencePieceKind::Unknown
        } else if self.specials.contains_key(token) {
            SentencePieceKind::Control
        } else if self.plain.contains(token) {
            SentencePieceKind::UserDefined
        } else if self.byte_fallback && is_byte_token(token) {
            SentencePieceKind::Byte
        } else {
            SentencePieceKind::Normal
        }
    }

    /// Tokens that text is spelled with.
    pub(super) fn normal(&self) -> impl Iterator<Item = &str> {
        let tokens = (0u32..).zip(&self.by_id);
        tokens
            .filter(|(id, token)| self.kind(*id, token) == SentencePieceKind::Normal)
            .map(|(_, t)| t.as_str())
    }

    fn pieces(&self, score: impl Fn(u32, &str) -> Option<f32>) -> Vec<ModelPiece> {
        let pieces = (0u32..).zip(&self.by_id).map(|(id, token)| {
            let kind = self.kind(id, token);
            let found = score(id, token);
            // One that nothing joins to must not be joined to here either.
            let kind = if found.is_none() && kind == SentencePieceKind::Normal {
                SentencePieceKind::Control
            } else {
                kind
            };
            let piece = Some(token.clone());
            ModelPiece { piece, score: Some(found.unwrap_or_default()), kind: Some(kind as i32) }
        });
        pieces.collect()
    }
}

fn number(id: &Value) -> Result<u32, TokenizerError> {
    id.as_u64()
        .and_then(|id| u32::try_from(id).ok())
        .ok_or_else(|| fail(&format!("{id} is not an id of a token")))
}

fn byte_token(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

fn is_byte_token(token: &str) -> bool {
    let digits = token.strip_prefix("<0x").and_then(|rest| rest.strip_suffix('>'));
    digits.is_some_and(|d| {
        d.len() == 2 && u8::from_str_radix(d, 16).is_ok_and(|b| byte_token(b) == token)
    })
}

/// A piece's score is the rank of its first merge, negated: the best is joined first.
pub(super) fn bpe_pieces(
    model: &Value,
    tokens: &PieceVocabulary,
) -> Result<Vec<ModelPiece>, TokenizerError> {
    let is_set = |key: &str| {
        model.get(key).is_some_and(|value| {
            !value.is_null() && value != &Value::Bool(false) && value.as_str() != Some("")
        })
    };
    for key in ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"] {
        if is_set(key) {
            return Err(fail(&format!("its model sets `{key}`")));
        }
    }
    if !tokens.byte_fallback && !is_set("fuse_unk") {
        return Err(fail(
            "it gives each unknown character a token of its own (`fuse_unk` is false)",
        ));
    }
    let merges =
        model.get("merges").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut scores: HashMap<String, f32> = HashMap::new();
    for (rank, merge) in (0u32..).zip(merges) {
        let joined: Option<String> = match merge {
            Value::String(pair) => Some(pair.split(' ').collect()),
            Value::Array(pair) => pair.iter().map(Value::as_str).collect(),
            _ => None,
        };
        let joined =
            joined.ok_or_else(|| fail(&format!("merge {rank} is not a pair of tokens")))?;
        // Exact: as many merges as a float of 32 bits can count are more than any file has.
        if rank >= 1 << 24 {
            return Err(fail("it has more merges than scores of 32 bits can order"));
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "below 2^24, where every integer is a float"
        )]
        scores.entry(joined).or_insert(-(rank as f32));
    }
    Ok(tokens.pieces(|_, token| {
        let is_character = token.chars().nth(1).is_none();
        scores.get(token).copied().or(is_character.then_some(f32::MIN))
    }))
}

/// Scores as they are, in 32 bits.
pub(super) fn unigram_pieces(
    model: &Value,
    tokens: &PieceVocabulary,
) -> Result<Vec<ModelPiece>, TokenizerError> {
    let vocab = model.get("vocab").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for (id, entry) in vocab.iter().enumerate() {
        let score = entry.get(1).and_then(Value::as_f64);
        if !score.is_some_and(|score| score.is_finite() && score.abs() < f64::from(f32::MAX)) {
            return Err(fail(&format!("the token {id} has no finite score")));
        }
    }
    Ok(tokens.pieces(|id, _| {
        let score = vocab.get(id as usize).and_then(|entry| entry.get(1)).and_then(Value::as_f64);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounded to the precision of the format"
        )]
        let score = score.unwrap_or_default() as f32;
        Some(score)
    }))
}
