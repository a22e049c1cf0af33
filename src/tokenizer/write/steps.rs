//! Normalizer and pre-tokenizer of a `tokenizer.json` as the settings of SentencePiece's normaliser.
//!
//! SentencePiece has a fixed course: a compiled map of characters, extra spaces removed, one `▁` put first,
//! spaces written `▁`. It never splits: a split is as good as none where no token reaches over it.

use super::fail;
use super::to_pieces::PieceVocabulary;
use crate::tokenizer::TokenizerError;
use crate::tokenizer::proto::NormalizerSpec;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

const MARKER: &str = "▁";

/// What is done to a text.
#[derive(Default)]
pub(super) struct SentencePieceSettings {
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
    pub(super) fn of(file: &Value) -> Result<Self, TokenizerError> {
        let mut steps = Self::default();
        let mut normalizers = Vec::new();
        flatten(file.get("normalizer"), "normalizers", &mut normalizers);
        for (at, step) in normalizers.iter().enumerate() {
            steps.normalize(step, normalizers.get(at + 1).copied())?;
        }
        let mut splits = Vec::new();
        flatten(file.get("pre_tokenizer"), "pretokenizers", &mut splits);
        for step in splits {
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
        match (kind(step), pattern(step)) {
            ("NFC", _) if next.is_some_and(|next| kind(next) == "Precompiled") => {
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
            ("Replace", Some(("Regex", " {2,}"))) if matches!(content, Some(" " | MARKER)) => {
                self.collapses = true;
            }
            ("Prepend", _) if step.get("prepend").and_then(Value::as_str) == Some(MARKER) => {
                self.prefix = true;
            }
            ("Replace", Some(("String", " "))) if content == Some(MARKER) => self.escapes = true,
            ("NFC" | "NFKC" | "NFD" | "NFKD", _) => {
                let what = format!(
                    "it normalises to {}, for which a SentencePiece model needs a compiled map of characters",
                    kind(step)
                );
                return Err(fail(&what));
            }
            (other, _) => return Err(fail(&format!("its normalizer has a step `{other}`"))),
        }
        Ok(())
    }

    fn split(&mut self, step: &Value) -> Result<(), TokenizerError> {
        let behavior = step.get("behavior").and_then(Value::as_str);
        match (kind(step), pattern(step), behavior) {
            ("Split", Some(("String", MARKER)), Some("MergedWithNext")) => {
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
        if step.get("replacement").and_then(Value::as_str) != Some(MARKER) {
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

    /// Whether the splits are as good as none.
    pub(super) fn check(&self, tokens: &PieceVocabulary) -> Result<(), TokenizerError> {
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
            if !has(MARKER) {
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

    pub(super) fn normalizer(&self) -> NormalizerSpec {
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

fn kind(step: &Value) -> &str {
    step.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The kind of a pattern and the pattern.
fn pattern(step: &Value) -> Option<(&str, &str)> {
    let pattern = step.get("pattern")?.as_object()?;
    let (kind, pattern) = pattern.iter().next()?;
    Some((kind.as_str(), pattern.as_str()?))
}

fn flatten<'a>(component: Option<&'a Value>, children: &str, steps: &mut Vec<&'a Value>) {
    let Some(step) = component.filter(|step| !step.is_null()) else { return };
    match step.get(children).and_then(Value::as_array) {
        Some(members) => members.iter().for_each(|member| flatten(Some(member), children, steps)),
        None => steps.push(step),
    }
}
