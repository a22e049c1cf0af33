//! The tokenizer a corpus holds: the fast encoder where it is proven, the oracle otherwise.

use super::error::TokenizerError;
use super::fast::{Fast, FastScratch};
use super::oracle::Oracle;
use super::self_test;

/// Which encoder gives the ids. Both give the same; they differ in speed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The fast encoder, which passed the self-test.
    Fast,
    /// The reference encoder, at some 4 MB/s.
    Oracle {
        /// Why the fast one is not used.
        reason: String,
    },
}

impl Backend {
    /// The word used in reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Oracle { .. } => "oracle",
        }
    }
}

/// A loaded tokenizer. Text is only text: special tokens spelled in it are not recognised, and
/// neither beginning nor end marks are added.
pub struct Tokenizer {
    oracle: Oracle,
    fast: Option<Fast>,
    backend: Backend,
    vocab_size: u32,
}

impl Tokenizer {
    /// Loads the bytes of a `tokenizer.json` and compares the fast encoder with the oracle on
    /// built-in hostile strings and on `sample` (its first 2 MB). On any difference the oracle is
    /// used, and [`Tokenizer::backend`] says why.
    ///
    /// # Errors
    /// [`TokenizerError::Load`] when the oracle cannot read the file, [`TokenizerError::Dropout`]
    /// when it asks for random ids, [`TokenizerError::EmptyVocabulary`] when it has no token.
    pub fn load(json: &[u8], sample: &[&str]) -> Result<Self, TokenizerError> {
        let oracle = Oracle::load(json)?;
        let vocab_size =
            oracle.largest_id().ok_or(TokenizerError::EmptyVocabulary)?.saturating_add(1);
        let proven = Fast::load(json)
            .map_err(|why| format!("the fast encoder cannot load the file: {why}"))
            .and_then(|fast| self_test::compare(&fast, &oracle, sample).map(|()| fast));
        let (fast, backend) = match proven {
            Ok(fast) => (Some(fast), Backend::Fast),
            Err(reason) => (None, Backend::Oracle { reason }),
        };
        Ok(Self { oracle, fast, backend, vocab_size })
    }

    /// An encoder with scratch space of its own; one per thread.
    #[must_use]
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder { tokenizer: self, scratch: FastScratch::default() }
    }

    /// Which encoder gives the ids.
    #[must_use]
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    /// One more than the largest id, added tokens included.
    #[must_use]
    pub fn vocab_size(&self) -> u32 {
        self.vocab_size
    }

    /// The id of a token spelled as in the vocabulary, special tokens included.
    #[must_use]
    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.oracle.token_to_id(token)
    }

    /// The text of `ids`, special tokens spelled out. Ids that cut a character give U+FFFD.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`] when the decoder refuses; unknown ids are skipped.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        self.oracle.decode(ids)
    }
}

/// Encodes texts one after the other, reusing its buffers.
pub struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    scratch: FastScratch,
}

impl Encoder<'_> {
    /// Appends the ids of `text` to `out`. What the fast encoder refuses goes to the oracle.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`] or [`TokenizerError::Panicked`] when the oracle fails too; `out`
    /// is then as it was.
    pub fn encode(&mut self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        if let Some(fast) = &self.tokenizer.fast
            && fast.encode(text, &mut self.scratch, out).is_ok()
        {
            return Ok(());
        }
        self.tokenizer.oracle.encode(text, out)
    }
}
