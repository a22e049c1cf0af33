//! The errors of loading, using, training and extending tokenizers, and the guard against third-party panics.

use model::near_names::UnknownName;
use model::{Error, ErrorKind, Hint, catch_panic};

/// What [`TokenizerError::Panicked`] was doing when it is the text that it refuses.
pub(crate) const ENCODING: &str = "encoding";

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// A tokenizer that cannot be loaded, used or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file is not a tokenizer the reference implementation reads.
    #[error("not a usable tokenizer.json; for GPT-2's two files give vocab.json and merges.txt")]
    Load(#[source] BoxedError),
    /// An id that peers cannot keep.
    #[error(
        "the token `{token}` has the id {id}; ids of 2147483648 and more do not fit the 32 bits of trainers"
    )]
    IdTooLarge {
        /// Its token.
        token: String,
        /// As the file has it.
        id: u64,
    },
    /// The file asks for random encoding.
    #[error("the tokenizer's model sets `dropout` to {0}, so its ids are random; set it to null")]
    Dropout(f32),
    /// A tokenizer asked for that the corpus does not have.
    #[error(transparent)]
    Unknown(UnknownName),
    /// The tokenizer has neither tokens nor added tokens.
    #[error("the tokenizer has an empty vocabulary")]
    EmptyVocabulary,
    /// The reference implementation refused a text.
    #[error("cannot encode a text of {bytes} bytes")]
    Encode {
        /// Length of the text.
        bytes: usize,
        /// The tokenizers crate's own words.
        #[source]
        source: BoxedError,
    },
    /// Positions in it do not fit 32 bits.
    #[error("a text of {bytes} bytes is too long to compute the offsets of its tokens")]
    TooLong {
        /// Length of the text.
        bytes: usize,
    },
    /// An id that no token has.
    #[error("{id} is not an id of this tokenizer: its vocabulary has {vocab_size}")]
    NoSuchId {
        /// The id.
        id: u32,
        /// One more than the largest id.
        vocab_size: u32,
    },
    /// The reference implementation refused the ids.
    #[error("cannot decode {ids} ids")]
    Decode {
        /// How many were given.
        ids: usize,
        /// The tokenizers crate's own words.
        #[source]
        source: BoxedError,
    },
    /// A third-party encoder panicked.
    #[error("the tokenizers library failed while {doing}: {why}")]
    Panicked {
        /// What it was asked to do.
        doing: &'static str,
        /// The words of the panic.
        why: String,
    },
    /// `vocab.json` is not an object of distinct ids.
    #[error("vocab.json: {0}")]
    Vocab(String),
    /// A line of `merges.txt` is not a merge of this vocabulary.
    #[error("merges.txt, line {line}: {what}")]
    Merges {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A file of one kind given as another.
    #[error("expected {given}, got {is}")]
    Misgiven {
        /// What it was given as.
        given: &'static str,
        /// What it is, and the way out.
        is: &'static str,
    },
    /// A file in the canonical form of tokenizers 1.0 that has no equal in the older form.
    #[error("the tokenizer.json has version 2.0, and its {0}; give the file it was converted from")]
    Dialect(String),
    /// A SentencePiece model that cannot be read or used.
    #[error("SentencePiece model: {0}")]
    SentencePiece(String),
    /// A tiktoken rank file that cannot be read or used.
    #[error("tiktoken ranks, line {line}: {what}")]
    Ranks {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// What was given with a tiktoken rank file does not fit it.
    #[error("tiktoken ranks: {0}")]
    Tiktoken(String),
    /// The tokenizer does what no SentencePiece model can say.
    #[error("cannot be written as a SentencePiece model: {0}")]
    Inexpressible(String),
    /// The vocabulary asked for has no room for the alphabet and the special tokens.
    #[error(
        "a vocabulary of {asked} tokens is too small: the bytes or characters and the special tokens \
         need {least}; ask for more tokens, or for a lower character coverage"
    )]
    VocabularyTooSmall {
        /// Size asked for.
        asked: u32,
        /// The least that works.
        least: usize,
    },
    /// A special token that could not be told from text.
    #[error("special token `{token}` {what}; use a form such as `<|name|>`")]
    Special {
        /// The token.
        token: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A split pattern that is not known or does not compile.
    #[error("split pattern `{pattern}`: {what}")]
    Pattern {
        /// As given.
        pattern: String,
        /// What is wrong with it, and where.
        what: String,
    },
    /// The pre-tokenizer refused a text.
    #[error("cannot split a text of {bytes} bytes into pre-tokens")]
    Split {
        /// Length of the text.
        bytes: usize,
        /// The tokenizers crate's own words.
        #[source]
        source: BoxedError,
    },
    /// A tokenizer that cannot be extended.
    #[error(transparent)]
    Extend(#[from] ExtendError),
    /// Options of a training that exclude one another or are out of range.
    #[error("training options: {0}")]
    TrainOptions(String),
    /// A text that cannot become one token.
    #[error("seed token `{token}` {what}")]
    SeedToken {
        /// As given.
        token: String,
        /// Why not.
        what: &'static str,
    },
    /// Training on nothing.
    #[error("no text to train on")]
    NoText,
    /// The trainer failed.
    #[error("training failed")]
    Train(#[source] BoxedError),
    /// A tokenizer.json could not be written.
    #[error("cannot write the tokenizer as JSON")]
    Write(#[source] serde_json::Error),
    /// Whatever else is wrong, with its own kind.
    #[error(transparent)]
    Other(#[from] Error),
}

impl TokenizerError {
    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Unknown(unknown) => Some(unknown.hint()),
            Self::Other(error) => error.hint().cloned(),
            _ => None,
        }
    }

    /// A tokenizer asked for that is not among the registered ones.
    #[doc(hidden)]
    pub fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Unknown(UnknownName::new("tokenizer", name, known))
    }

    /// Why it is the text, not the tokenizer or its file, that cannot be used: then others can.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Encode { source, .. } => Some(source.to_string()),
            Self::Panicked { doing, why } if *doing == ENCODING => Some(why.clone()),
            Self::TooLong { .. } => Some(self.to_string()),
            _ => None,
        }
    }
}

impl From<TokenizerError> for Error {
    fn from(error: TokenizerError) -> Self {
        let kind = match error {
            TokenizerError::Other(error) => return error,
            TokenizerError::Unknown(_) => ErrorKind::NotFound,
            _ => ErrorKind::BadTokenizer,
        };
        let hint = error.hint();
        Self::new(kind, error).with_hint(hint)
    }
}

/// A tokenizer that cannot be extended, or two that are not what they are taken for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// A file that the reference implementation reads, but not this code.
    #[error("the tokenizer's {part} {what}, so it cannot be extended")]
    Unusual {
        /// Where in the file.
        part: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// A model whose kind does not do what is asked.
    #[error("{asked} needs a BPE model, and this tokenizer has {is}; add terms instead")]
    NotBpe {
        /// What was asked for.
        asked: &'static str,
        /// The model's kind.
        is: &'static str,
    },
    /// No id is left.
    #[error("the vocabulary has no room for another id")]
    Full,
    /// The ids of the old tokens would not stay.
    #[error("token `{token}` would move from id {from} to {to}")]
    Moves {
        /// The token.
        token: String,
        /// Its id.
        from: u32,
        /// The id in the new file.
        to: String,
    },
    /// Plain text would be encoded otherwise although it holds nothing new.
    #[error(
        "{text} would get other ids although it has no new token; \
         the added tokens of this tokenizer are outside its model and cannot be distinguished"
    )]
    Disturbs {
        /// The text, cut.
        text: String,
    },
    /// A token that the model does not make of its own text.
    #[error("the model makes {made} tokens of `{token}`, which should become one")]
    Unreached {
        /// As the vocabulary spells it.
        token: String,
        /// How many.
        made: usize,
    },
    /// Two files; one does not continue the other.
    #[error("the second tokenizer is not an extension of the first: {0}")]
    NoExtension(String),
    /// The map could not be written.
    #[error("cannot write the embedding map")]
    Map(#[source] serde_json::Error),
}

/// Runs third-party code so that its panic is an error of ours. Sound to resume after: the
/// tokenizer is never changed by encoding, and its caches are cleared or keyed by whole words.
pub(crate) fn guard<T>(doing: &'static str, run: impl FnOnce() -> T) -> Result<T, TokenizerError> {
    catch_panic(run).map_err(|why| TokenizerError::Panicked { doing, why })
}
