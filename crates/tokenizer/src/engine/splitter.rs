//! Splits texts into the pre-tokens of any tokenizer: what its normalizer and pre-tokenizer hand to its model.

use super::hostile_texts::hostile_texts;
use super::reference::LibraryReference;
use super::unicode::{has_new_characters, is_new_character};
use crate::error::{TokenizerError, guard};
use crate::file::{TokenizerFile, step_type};
use crate::vocabulary::byte_characters;
use serde_json::{Map, Value, json};
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use tokenizers_fast::pipeline::{
    PipelineTokenizer, PreTokenizer as _, PreTokenizerScratch, Segment, Span,
    SpecialSegmentIterator, normalize_all,
};

/// Splits texts as the reference implementation does, at the speed of the fast one where both agree.
/// A clone shares all but the buffers: one per thread.
///
/// Special tokens spelled in a text are text. What other added tokens match is not a pre-token: the model never sees
/// it.
pub struct PretokenSplitter {
    shared: Arc<SplitterParts>,
    scratch: PreTokenizerScratch,
    spans: Vec<Span>,
}

struct SplitterParts {
    reference: LibraryReference,
    fast: Option<PipelineTokenizer>,
    /// Whether pre-tokens are given as text although the model spells their bytes as characters.
    is_byte_level: bool,
    alphabet: [char; 256],
    bytes: HashMap<char, u8>,
}

impl Clone for PretokenSplitter {
    fn clone(&self) -> Self {
        Self::with(Arc::clone(&self.shared))
    }
}

impl PretokenSplitter {
    /// The splitter of a `tokenizer.json`; its model is not looked at. The fast implementation is
    /// used if it splits built-in hostile strings as the reference does.
    ///
    /// # Errors
    /// [`TokenizerError::Load`] when the reference implementation cannot read the file.
    pub fn of(json: &[u8]) -> Result<Self, TokenizerError> {
        let reference = LibraryReference::load_splits(json)?;
        let file = TokenizerFile::read(json)?;
        let alphabet = byte_characters();
        let shared = SplitterParts {
            reference,
            fast: None,
            is_byte_level: is_byte_level_last(&file),
            alphabet,
            bytes: alphabet.into_iter().zip(0..=u8::MAX).collect(),
        };
        let Some(fast) = load_fast(file) else { return Ok(Self::with(Arc::new(shared))) };
        let mut proven = Self::with(Arc::new(SplitterParts { fast: Some(fast), ..shared }));
        if !proven.is_proven()? {
            let mut shared = proven.shared;
            if let Some(shared) = Arc::get_mut(&mut shared) {
                shared.fast = None;
            }
            proven = Self::with(shared);
        }
        Ok(proven)
    }

    fn with(shared: Arc<SplitterParts>) -> Self {
        Self { shared, scratch: PreTokenizerScratch::default(), spans: Vec::new() }
    }

    /// Whether the fast implementation is used.
    #[cfg(test)]
    pub(crate) fn is_fast(&self) -> bool {
        self.shared.fast.is_some()
    }

    /// Calls `each` with every pre-token of `text` in order: normalised text; [`PretokenSplitter::spell`]
    /// gives the symbols of the model.
    ///
    /// # Errors
    /// [`TokenizerError::Split`] or [`TokenizerError::Panicked`] when the implementation fails.
    pub fn split(&mut self, text: &str, mut each: impl FnMut(&str)) -> Result<(), TokenizerError> {
        if self.shared.fast.is_some() && !has_new_characters(text) {
            self.split_fast(text, &mut each)
        } else {
            self.split_reference(text, &mut each)
        }
    }

    /// Puts the symbols that the model makes of a pre-token into `out`, replacing what it held.
    pub fn spell(&self, pretoken: &str, out: &mut String) {
        out.clear();
        if self.shared.is_byte_level {
            let alphabet = &self.shared.alphabet;
            out.extend(pretoken.bytes().filter_map(|byte| alphabet.get(usize::from(byte))));
        } else {
            out.push_str(pretoken);
        }
    }

    fn split_fast(
        &mut self,
        text: &str,
        each: &mut impl FnMut(&str),
    ) -> Result<(), TokenizerError> {
        let Self { shared, scratch, spans } = self;
        let Some(fast) = &shared.fast else { return Ok(()) };
        let added = fast.get_added_vocabulary();
        guard("splitting", || {
            for segment in SpecialSegmentIterator::new(text, added, false, true) {
                let Segment::Text { text, input_offset } = segment else { continue };
                let normalised = normalize_all(fast.get_normalizers(), text, input_offset)?;
                for segment in SpecialSegmentIterator::new(&normalised, added, true, true) {
                    let Segment::Text { text, .. } = segment else { continue };
                    u32::try_from(text.len())?;
                    spans.clear();
                    fast.get_pre_tokenizer().pre_tokenize(text, scratch, spans)?;
                    for pretoken in spans.iter().filter_map(|span| text.get(span.range())) {
                        if !pretoken.is_empty() {
                            each(pretoken);
                        }
                    }
                }
            }
            Ok(())
        })?
        .map_err(|source| TokenizerError::Split { bytes: text.len(), source })
    }

    fn split_reference(
        &self,
        text: &str,
        each: &mut impl FnMut(&str),
    ) -> Result<(), TokenizerError> {
        let SplitterParts { reference, is_byte_level, bytes, .. } = &*self.shared;
        let mut raw = Vec::new();
        reference.pretokens(text, false, |pretoken, added| {
            if added.is_some() {
                return;
            }
            if !*is_byte_level {
                return each(pretoken);
            }
            raw.clear();
            raw.extend(pretoken.chars().filter_map(|character| bytes.get(&character)));
            // The step before cut text, so it is text again.
            if let Ok(pretoken) = str::from_utf8(&raw) {
                each(pretoken);
            }
        })
    }

    /// Whether both implementations split all hostile strings alike.
    fn is_proven(&mut self) -> Result<bool, TokenizerError> {
        for text in hostile_texts() {
            let text: String =
                text.chars().filter(|character| !is_new_character(*character)).collect();
            let mut pieces = Vec::new();
            if self.split_fast(&text, &mut |piece: &str| pieces.push(piece.to_owned())).is_err() {
                return Ok(false);
            }
            let (same, mut at) = (Cell::new(true), 0);
            self.split_reference(&text, &mut |piece: &str| {
                same.set(same.get() && pieces.get(at).is_some_and(|other| other == piece));
                at += 1;
            })?;
            if !same.get() || at != pieces.len() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn load_fast(file: TokenizerFile) -> Option<PipelineTokenizer> {
    let load = |file: &Value| {
        let text = file.to_string();
        guard("converting", || {
            let canonical = tokenizers_fast::canonicalize_str(&text).ok()?;
            tokenizers_fast::from_json(&canonical).ok()
        })
        .ok()?
    };
    // The model does nothing here. A model of single bytes does as well if there is none, or none that the fast
    // implementation takes.
    let has_tokens = !file.vocabulary_entries().is_empty();
    let mut file = file.into_json();
    if let Some(fast) = has_tokens.then(|| load(&file)).flatten() {
        return Some(fast);
    }
    let bytes = byte_characters().into_iter().zip(0..);
    let vocab: Map<String, Value> =
        bytes.map(|(character, id)| (character.to_string(), Value::from(id))).collect();
    *file.get_mut("model")? = json!({ "type": "BPE", "vocab": vocab, "merges": [] });
    load(&file)
}

/// Whether spelling bytes as characters is the last thing done before the model, and done once.
fn is_byte_level_last(file: &TokenizerFile) -> bool {
    let is_bytes = |step: &&Value| step_type(step) == "ByteLevel";
    let splits = file.pre_tokenizers();
    splits.last().is_some_and(is_bytes)
        && splits.into_iter().filter(is_bytes).count() == 1
        && !file.normalizers().iter().any(is_bytes)
}

#[cfg(test)]
#[path = "splitter_tests.rs"]
mod tests;
