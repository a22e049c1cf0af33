//! A SentencePiece `.model` as a `tokenizer.json` with the same ids.
//!
//! SentencePiece's own steps are kept as they are: the compiled map of characters, white space removed or
//! collapsed, one `▁` before the text, spaces written `▁`. The usual model is cut at each `▁`, which
//! changes no id and lets encoders remember words; one whose pieces reach over words is not.

use super::from_pieces::{self, PieceTable, fail};
use crate::tokenizer::TokenizerError;
use crate::tokenizer::file::{FileParts, added_token, replace, replace_regex, sequence, split};
use crate::tokenizer::oracle::guard;
use crate::tokenizer::proto::{BPE, CHAR, SentencePieceKind, SentencePieceModel, UNIGRAM, WORD};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokenizers::normalizers::Precompiled;
use tokenizers::{NormalizedString, Normalizer as _};

/// What SentencePiece writes for a space.
const MARKER: &str = "▁";

pub(super) fn to_json(bytes: &[u8]) -> Result<Vec<u8>, TokenizerError> {
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
            from_pieces::bpe_model(&known, byte_fallback, is_merging)?
        } else {
            from_pieces::unigram_model(&known, byte_fallback)?
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
