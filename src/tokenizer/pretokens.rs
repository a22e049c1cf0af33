//! GPT-2's split of a text into pre-tokens, and its spelling of bytes as characters.

use super::error::TokenizerError;
use super::oracle::guard;
use tokenizers_fast::SplitDelimiterBehavior;
use tokenizers_fast::pipeline::{PreTokenizer, PreTokenizerScratch, Span};
use tokenizers_fast::pre_tokenizers::byte_level::ByteLevel;
use tokenizers_fast::pre_tokenizers::split::{Split, SplitPattern};

/// The pattern of GPT-2's published encoder.
const GPT2_PATTERN: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Splits texts by GPT-2's pattern, reusing its buffers.
pub(super) struct Splitter {
    split: Split,
    scratch: PreTokenizerScratch,
    spans: Vec<Span>,
}

impl Splitter {
    pub(super) fn new() -> Result<Self, TokenizerError> {
        let pattern = SplitPattern::Regex(GPT2_PATTERN.to_owned());
        let split = Split::native(pattern, SplitDelimiterBehavior::Isolated, false)
            .map_err(TokenizerError::Train)?;
        Ok(Self { split, scratch: PreTokenizerScratch::default(), spans: Vec::new() })
    }

    /// Calls `each` with every pre-token in order; together they are the text.
    pub(super) fn split<'t>(
        &mut self,
        text: &'t str,
        mut each: impl FnMut(&'t str),
    ) -> Result<(), TokenizerError> {
        self.spans.clear();
        guard("splitting", || self.split.pre_tokenize(text, &mut self.scratch, &mut self.spans))?
            .map_err(TokenizerError::Train)?;
        for span in &self.spans {
            let range = usize_of(span.start)..usize_of(span.end);
            if let Some(pretoken) = text.get(range) {
                each(pretoken);
            }
        }
        Ok(())
    }
}

/// The character that stands for each byte in a byte-level vocabulary, by byte.
pub(super) fn byte_characters() -> [char; 256] {
    ByteLevel::alphabet()
}

const fn usize_of(offset: u32) -> usize {
    offset as usize
}
