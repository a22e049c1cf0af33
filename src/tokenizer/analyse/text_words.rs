//! The words of a text (Unicode segmentation), and the tokens of each word.

use super::super::error::TokenizerError;
use unicode_segmentation::UnicodeSegmentation;

/// A text cut into words once, for any number of tokenizers.
///
/// Words are those of Unicode Standard Annex 29 that contain a letter or a digit. Scripts written
/// without spaces have a word per character or syllable there, so that figures per word compare
/// tokenizers on one language, not languages with each other.
pub struct TextWords<'a> {
    pub(super) text: &'a str,
    pub(super) characters: u64,
    /// Half-open ranges of bytes, ascending.
    pub(super) words: Vec<(usize, usize)>,
}

impl<'a> TextWords<'a> {
    /// Cuts a text into words, as Unicode's UAX-29 does.
    ///
    /// # Errors
    /// [`TokenizerError::TooLong`] for a text over 4 GB.
    pub fn new(text: &'a str) -> Result<Self, TokenizerError> {
        if u32::try_from(text.len()).is_err() {
            return Err(TokenizerError::TooLong { bytes: text.len() });
        }
        let words = text.unicode_word_indices().map(|(at, word)| (at, at + word.len())).collect();
        Ok(Self { text, characters: text.chars().count() as u64, words })
    }
}

/// How the words of a text fell into tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AlignedWords {
    /// Tokens that hold some of a word.
    pub(super) tokens: u64,
    /// Words that lie in one token.
    pub(super) single: u64,
    /// Words cut into several.
    pub(super) continued: u64,
}

/// TextCounts over `words`, given where the tokens stand; both ascending. A token is of the first word
/// that it holds some of, and counts once, so that a token of several words lowers the mean.
pub(super) fn align(words: &[(usize, usize)], places: &[(usize, usize)]) -> AlignedWords {
    let mut counts = AlignedWords::default();
    let mut rest = places;
    // Tokens of `places` that were counted already.
    let mut owned = 0;
    for (start, end) in words {
        let before = rest.iter().take_while(|(_, ends)| ends <= start).count();
        rest = rest.get(before..).unwrap_or_default();
        let first = places.len() - rest.len();
        let mut within = 0u64;
        for (at, (begins, ends)) in rest.iter().enumerate() {
            if begins >= end {
                break;
            }
            if ends > begins {
                within += 1;
                if first + at >= owned {
                    counts.tokens += 1;
                    owned = first + at + 1;
                }
            }
        }
        match within {
            0 => {}
            1 => counts.single += 1,
            _ => counts.continued += 1,
        }
    }
    counts
}
