//! Writes a tokenizer as a SentencePiece `.model` (pieces and normaliser settings), or refuses what that cannot say.

use crate::engine::hostile_texts::hostile_texts;
use crate::engine::proof::{IdDifference, difference_from_sentencepiece, excerpt};
use crate::engine::reference::LibraryReference;
use crate::error::TokenizerError;
use crate::file::write::{byte_of_token, byte_token};
use crate::file::{ModelType, SPACE_MARKER, TokenizerFile, step_type};
use crate::sentencepiece::SentencePiece;
use crate::sentencepiece::proto::{
    BPE, ModelPiece, NormalizerSpec, SentencePieceKind, SentencePieceModel, TrainerSpec, UNIGRAM,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prost::Message as _;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

fn fail(what: &str) -> TokenizerError {
    TokenizerError::Inexpressible(what.to_owned())
}

/// A SentencePiece model that was written of a `tokenizer.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenModel {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The beginning of a text that it cuts otherwise because SentencePiece adds scores in 32 bits, and the
    /// `tokenizers` library in 64: then both ways have nearly the same score.
    pub rounded: Option<String>,
}

/// A SentencePiece model that gives the ids of a `tokenizer.json`: a BPE over characters, with or without fall-back to
/// bytes, or a Unigram, with `▁` for spaces. Special tokens become control tokens.
///
/// What was written is read back and encodes the texts on which encoders are known to differ.
///
/// # Errors
/// [`TokenizerError::Load`] when the file cannot be parsed, [`TokenizerError::Inexpressible`] when a
/// SentencePiece model cannot do what it does, or gives other ids on one of these texts.
pub fn to_sentencepiece(json: &[u8]) -> Result<WrittenModel, TokenizerError> {
    let file = TokenizerFile::read(json)?;
    let is_bpe = match file.model_type() {
        Ok(ModelType::Bpe) => true,
        Ok(ModelType::Unigram) => false,
        other => {
            let kind = other.map_or_else(|name| name, |kind| kind.name());
            return Err(fail(&format!("its model is {kind}; only BPE and Unigram can")));
        }
    };
    let steps = SentencePieceSettings::of(&file)?;
    let tokens = PieceVocabulary::of(&file)?;
    let written =
        if is_bpe { bpe_pieces(&file, &tokens)? } else { unigram_pieces(&file, &tokens)? };
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
    let model = SentencePieceModel { pieces: written, trainer: Some(trainer), normalizer };
    let rounded = prove(json, &model)?;
    Ok(WrittenModel { bytes: model.encode_to_vec(), rounded })
}

/// Compares a model with the library over the file that it was made of. Answers a text of a Unigram on which they
/// differ by rounding alone.
fn prove(json: &[u8], model: &SentencePieceModel) -> Result<Option<String>, TokenizerError> {
    let written = model.encode_to_vec();
    let encoder = SentencePiece::load(&written).map_err(|error| match error {
        TokenizerError::SentencePiece(what) => TokenizerError::Inexpressible(what),
        other => other,
    })?;
    let library = LibraryReference::load(json)?;
    let (mut texts, mut rounded) = (hostile_texts(), None);
    while let Some(difference) = difference_from_sentencepiece(&library, &encoder, &texts) {
        let text = excerpt(&difference.text);
        if !is_rounding(model, &difference) {
            return Err(fail(&format!("SentencePiece would give other ids on {text}")));
        }
        rounded.get_or_insert(text);
        let behind = difference.at + 1;
        texts.drain(..behind);
    }
    Ok(rounded)
}

/// Whether a Unigram gives both lists of ids nearly the same score: within what additions in 32 bits lose.
fn is_rounding(model: &SentencePieceModel, difference: &IdDifference) -> bool {
    const LOSS: f64 = 1e-5;
    if model.trainer.as_ref().and_then(|trainer| trainer.model_type) != Some(UNIGRAM) {
        return false;
    }
    let sum = |ids: &[u32]| -> f64 {
        let pieces = ids.iter().filter_map(|id| model.pieces.get(*id as usize));
        pieces.map(|piece| f64::from(piece.score.unwrap_or_default())).sum()
    };
    let (library, pieces) = (sum(&difference.library), sum(&difference.sentencepiece));
    (library - pieces).abs() <= LOSS * library.abs().max(pieces.abs()).max(1.0)
}

/// What is done to a text.
#[derive(Default)]
pub(crate) struct SentencePieceSettings {
    charsmap: Option<Vec<u8>>,
    /// The text is composed before the map is used.
    is_composed: bool,
    trims: bool,
    collapses: bool,
    prefix: bool,
    escapes: bool,
    /// A word begins at its marker.
    splits_at_markers: bool,
    splits_lines: bool,
    splits_digits: bool,
}

impl SentencePieceSettings {
    pub(crate) fn of(file: &TokenizerFile) -> Result<Self, TokenizerError> {
        let mut steps = Self::default();
        let normalizers = file.normalizers();
        for (at, step) in normalizers.iter().enumerate() {
            steps.normalize(step, normalizers.get(at + 1).copied())?;
        }
        for step in file.pre_tokenizers() {
            steps.split(step)?;
        }
        if !steps.escapes {
            return Err(fail("it does not write spaces as `▁`"));
        }
        if steps.trims != steps.collapses {
            return Err(fail(
                "of extra spaces it removes only those at the ends, or only those between",
            ));
        }
        Ok(steps)
    }

    fn normalize(&mut self, step: &Value, next: Option<&Value>) -> Result<(), TokenizerError> {
        let content = step.get("content").and_then(Value::as_str);
        match (step_type(step), pattern(step)) {
            ("NFC", _) if next.is_some_and(|next| step_type(next) == "Precompiled") => {
                self.is_composed = true;
            }
            ("Precompiled", _) => {
                let map = step.get("precompiled_charsmap").and_then(Value::as_str);
                let map = map.and_then(|map| BASE64_STANDARD.decode(map).ok());
                self.charsmap =
                    Some(map.ok_or_else(|| fail("its map of characters is not base64"))?);
            }
            ("Strip", _) if step.get("strip_right") == Some(&Value::Bool(true)) => {
                self.trims = true
            }
            ("Replace", Some(("Regex", r"\A +| +\z" | r" +\z"))) if content == Some("") => {
                self.trims = true;
            }
            ("Replace", Some(("Regex", " {2,}")))
                if matches!(content, Some(" " | SPACE_MARKER)) =>
            {
                self.collapses = true;
            }
            ("Prepend", _) if step.get("prepend").and_then(Value::as_str) == Some(SPACE_MARKER) => {
                self.prefix = true;
            }
            ("Replace", Some(("String", " "))) if content == Some(SPACE_MARKER) => {
                self.escapes = true
            }
            ("NFC" | "NFKC" | "NFD" | "NFKD", _) => {
                let what = format!(
                    "it normalises to {}, for which a SentencePiece model needs a compiled map of characters",
                    step_type(step)
                );
                return Err(fail(&what));
            }
            (other, _) => return Err(fail(&format!("its normalizer has a step `{other}`"))),
        }
        Ok(())
    }

    fn split(&mut self, step: &Value) -> Result<(), TokenizerError> {
        let behavior = step.get("behavior").and_then(Value::as_str);
        match (step_type(step), pattern(step), behavior) {
            ("Split", Some(("String", SPACE_MARKER)), Some("MergedWithNext")) => {
                self.splits_at_markers = true;
            }
            ("Split", Some(("String", "\n")), Some("Isolated")) => self.splits_lines = true,
            ("Digits", ..) if step.get("individual_digits") == Some(&Value::Bool(true)) => {
                self.splits_digits = true;
            }
            // With a map that makes all white space spaces, splitting at it removes what is extra.
            ("WhitespaceSplit", ..) if self.charsmap.is_some() => {
                self.trims = true;
                self.collapses = true;
            }
            ("Metaspace", ..) => self.metaspace(step)?,
            (other, ..) => {
                return Err(fail(&format!("it splits texts by `{other}`, other than at spaces")));
            }
        }
        Ok(())
    }

    fn metaspace(&mut self, step: &Value) -> Result<(), TokenizerError> {
        if step.get("replacement").and_then(Value::as_str) != Some(SPACE_MARKER) {
            return Err(fail("it writes spaces otherwise than as `▁`"));
        }
        self.escapes = true;
        self.splits_at_markers = step.get("split") != Some(&Value::Bool(false));
        let scheme = step.get("prepend_scheme").and_then(Value::as_str).unwrap_or("always");
        if scheme != "never" && !self.prefix {
            if !self.collapses {
                let what = "it puts `▁` before a text unless that begins with a space; SentencePiece does so always";
                return Err(fail(what));
            }
            self.prefix = true;
        }
        Ok(())
    }

    /// Checks that the splits are as good as none.
    pub(crate) fn check(&self, tokens: &PieceVocabulary) -> Result<(), TokenizerError> {
        let reaches =
            |over: &str, is_over: &dyn Fn(&str) -> bool| match tokens.normal().find(|t| is_over(t))
            {
                Some(token) => {
                    Err(fail(&format!("`{token}` reaches over {over}, where it splits texts")))
                }
                None => Ok(()),
            };
        let has = |token: &str| tokens.byte_fallback || tokens.normal().any(|other| other == token);
        if self.splits_at_markers {
            reaches("the start of a word", &|token| token.chars().skip(1).any(|c| c == '▁'))?;
            if !has(SPACE_MARKER) {
                return Err(fail(
                    "`▁` alone is not a token, so unknown words would become one token",
                ));
            }
        }
        if self.splits_lines {
            reaches("a line", &|token| token != "\n" && token.contains('\n'))?;
            if !has("\n") {
                return Err(fail(
                    "a line feed is not a token, so unknown lines would become one token",
                ));
            }
        }
        if self.splits_digits {
            let reaching =
                |token: &str| token.chars().any(char::is_numeric) && token.chars().nth(1).is_some();
            reaches("a digit", &reaching)?;
        }
        Ok(())
    }

    pub(crate) fn normalizer(&self) -> NormalizerSpec {
        let name = match (&self.charsmap, self.is_composed) {
            (None, _) => "identity",
            // Readers compose the text first by this name.
            (Some(_), true) => "nmt_nfkc",
            (Some(_), false) => "precompiled",
        };
        NormalizerSpec {
            name: Some(name.to_owned()),
            precompiled_charsmap: self.charsmap.clone(),
            add_dummy_prefix: Some(self.prefix),
            remove_extra_whitespaces: Some(self.collapses),
            escape_whitespaces: Some(true),
        }
    }
}

/// The kind of a pattern and the pattern.
fn pattern(step: &Value) -> Option<(&str, &str)> {
    let pattern = step.get("pattern")?.as_object()?;
    let (kind, pattern) = pattern.iter().next()?;
    Some((kind.as_str(), pattern.as_str()?))
}

/// Tokens by id, and what they are.
pub(crate) struct PieceVocabulary {
    by_id: Vec<String>,
    /// Special ones: spelling and id.
    pub(crate) specials: HashMap<String, u32>,
    /// Added ones that are not special.
    plain: HashSet<String>,
    pub(crate) unknown: u32,
    pub(crate) byte_fallback: bool,
}

impl PieceVocabulary {
    pub(crate) fn of(file: &TokenizerFile) -> Result<Self, TokenizerError> {
        let mut by_id: HashMap<u32, String> = HashMap::new();
        let mut put = |id: u32, token: &str| match by_id.insert(id, token.to_owned()) {
            Some(other) if other != token => {
                Err(fail(&format!("`{other}` and `{token}` have the id {id}")))
            }
            _ => Ok(()),
        };
        let entries = file.vocabulary_entries();
        if entries.is_empty() {
            return Err(fail("its model has no vocabulary"));
        }
        for (token, id) in entries {
            put(number(Some(id))?, token)?;
        }
        let (mut specials, mut plain) = (HashMap::new(), HashSet::new());
        for token in file.added_tokens() {
            let (id, content) = (number(token.id)?, token.content.to_owned());
            put(id, &content)?;
            if token.is_special {
                specials.insert(content, id);
            } else {
                plain.insert(content);
            }
        }
        let unknown_id = file.model().get("unk_id");
        let unknown = match (file.model_text("unk_token"), unknown_id) {
            (Some(token), _) => by_id.iter().find(|(_, other)| *other == token).map(|(id, _)| *id),
            (None, Some(id)) => number(id.as_u64()).ok(),
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
        let byte_fallback = file.is_model_set("byte_fallback");
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

    pub(crate) fn spelling(&self, id: u32) -> &str {
        self.by_id.get(id as usize).map_or("", String::as_str)
    }

    fn kind(&self, id: u32, token: &str) -> SentencePieceKind {
        if id == self.unknown {
            SentencePieceKind::Unknown
        } else if self.specials.contains_key(token) {
            SentencePieceKind::Control
        } else if self.plain.contains(token) {
            SentencePieceKind::UserDefined
        } else if self.byte_fallback && byte_of_token(token).is_some() {
            SentencePieceKind::Byte
        } else {
            SentencePieceKind::Normal
        }
    }

    /// Tokens that text is spelled with.
    pub(crate) fn normal(&self) -> impl Iterator<Item = &str> {
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

fn number(id: Option<u64>) -> Result<u32, TokenizerError> {
    id.and_then(|id| u32::try_from(id).ok()).ok_or_else(|| fail("one of its tokens has no id"))
}

/// A piece's score is the rank of its first merge, negated: the best is joined first.
pub(crate) fn bpe_pieces(
    file: &TokenizerFile,
    tokens: &PieceVocabulary,
) -> Result<Vec<ModelPiece>, TokenizerError> {
    for key in ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"] {
        if file.is_model_set(key) {
            return Err(fail(&format!("its model sets `{key}`")));
        }
    }
    if !tokens.byte_fallback && !file.is_model_set("fuse_unk") {
        return Err(fail(
            "it gives each unknown character a token of its own (`fuse_unk` is false)",
        ));
    }
    let merges = file.merges().map_err(|what| fail(&format!("its merges {what}")))?;
    let mut scores: HashMap<String, f32> = HashMap::new();
    for (rank, (left, right)) in (0u32..).zip(merges) {
        // Exact: as many merges as a float of 32 bits can count are more than any file has.
        if rank >= 1 << 24 {
            return Err(fail("it has more merges than scores of 32 bits can order"));
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "below 2^24, where every integer is a float"
        )]
        scores.entry([left, right].concat()).or_insert(-(rank as f32));
    }
    Ok(tokens.pieces(|_, token| {
        let is_character = token.chars().nth(1).is_none();
        scores.get(token).copied().or(is_character.then_some(f32::MIN))
    }))
}

/// Scores as they are, in 32 bits.
pub(crate) fn unigram_pieces(
    file: &TokenizerFile,
    tokens: &PieceVocabulary,
) -> Result<Vec<ModelPiece>, TokenizerError> {
    let pieces = file.pieces().map_err(|what| fail(&format!("its vocabulary {what}")))?;
    let is_scored = |score: f64| score.is_finite() && score.abs() < f64::from(f32::MAX);
    if let Some(id) = pieces.iter().position(|(_, score)| !is_scored(*score)) {
        return Err(fail(&format!("the token {id} has no finite score")));
    }
    Ok(tokens.pieces(|id, _| {
        // Added tokens have none.
        let score = pieces.get(id as usize).map_or(0.0, |(_, score)| *score);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "rounded to the precision of the format"
        )]
        let score = score as f32;
        Some(score)
    }))
}

#[cfg(test)]
#[path = "to_sentencepiece_tests.rs"]
mod tests;
