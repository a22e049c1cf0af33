//! Whether what is asked of a training can be had.

use super::super::error::TokenizerError;
use super::super::split::PretokenSplitter;
use super::options::{ModelKind, ModelLayout, TrainOptions};
use super::pipeline::pretokenizer_file;
use std::collections::HashSet;

impl TrainOptions {
    /// Refuses what cannot work, before anything is counted.
    ///
    /// # Errors
    /// [`TokenizerError::TrainOptions`], [`TokenizerError::Pattern`], [`TokenizerError::Special`] or
    /// [`TokenizerError::VocabularyTooSmall`].
    pub fn check(&self) -> Result<(), TokenizerError> {
        let fail = |what: &str| Err(TokenizerError::TrainOptions(what.to_owned()));
        match &self.pattern {
            Some(pattern) if self.form() == ModelLayout::ByteLevel => pattern.check()?,
            Some(_) => {
                return fail("a split pattern needs byte-level BPE; this model splits at spaces");
            }
            None => {}
        }
        if self.byte_fallback && self.form() == ModelLayout::WordPiece {
            return fail("WordPiece has no byte fallback; choose bpe or unigram");
        }
        if self.end_of_word && (self.model != ModelKind::Bpe || self.byte_fallback) {
            return fail("a mark at the end of words needs BPE without byte fallback");
        }
        match self.character_coverage {
            Some(_) if self.form() == ModelLayout::ByteLevel => {
                return fail("byte-level BPE covers every character; leave the coverage out");
            }
            Some(coverage) if !(coverage > 0.0 && coverage <= 1.0) => {
                return fail("the character coverage must be above 0 and at most 1");
            }
            _ => {}
        }
        if !(self.alpha.is_finite() && self.alpha >= 0.0) {
            return fail("alpha must be a number from 0 on; 1 changes nothing");
        }
        if self.weights.values().any(|weight| !(weight.is_finite() && *weight >= 0.0)) {
            return fail("weights must be numbers from 0 on");
        }
        if self.max_token_length == Some(0) {
            return fail("the longest token must have at least one symbol");
        }
        self.check_specials()
    }

    /// A special token must not be something the text itself can be encoded to. Where the model works
    /// within pre-tokens it has to fall into several; the others are trained on words cut inside it.
    fn check_specials(&self) -> Result<(), TokenizerError> {
        let mut splitter = PretokenSplitter::of(&pretokenizer_file(self)?)?;
        let (mut seen, specials, bytes) = (HashSet::new(), self.all_specials(), self.byte_tokens());
        for token in &specials {
            let fail = |what| TokenizerError::Special { token: token.clone(), what };
            let mut pieces = 0;
            splitter.split(token, |_| pieces += 1)?;
            if token.is_empty() {
                return Err(fail("is empty"));
            }
            let is_word = match self.form() {
                ModelLayout::ByteLevel | ModelLayout::WordPiece => pieces < 2,
                ModelLayout::Characters | ModelLayout::WordEnds | ModelLayout::Unigram => {
                    token.chars().count() < 2 || token.starts_with(char::is_alphanumeric)
                }
            };
            if is_word {
                return Err(fail("is a word that text can contain as one token"));
            }
            if bytes.contains(token) {
                return Err(fail("is the spelling of a byte"));
            }
            if !seen.insert(token) {
                return Err(fail("is given twice"));
            }
        }
        let symbols = if self.form() == ModelLayout::ByteLevel { 256 } else { bytes.len() };
        self.check_room(specials.len() + symbols)
    }

    /// Refuses a vocabulary below `least`.
    pub(super) fn check_room(&self, least: usize) -> Result<(), TokenizerError> {
        let has_room = usize::try_from(self.vocab_size).is_ok_and(|asked| asked >= least);
        let too_small = TokenizerError::VocabularyTooSmall { asked: self.vocab_size, least };
        if has_room { Ok(()) } else { Err(too_small) }
    }
}
