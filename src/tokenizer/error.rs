//! What can go wrong with a tokenizer.

type Source = Box<dyn std::error::Error + Send + Sync>;

/// A tokenizer that cannot be loaded, used or trained.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenizerError {
    /// The file is not a tokenizer the reference implementation reads.
    #[error("not a usable tokenizer.json; for GPT-2's two files give vocab.json and merges.txt")]
    Load(#[source] Source),
    /// The file asks for random encoding.
    #[error("the tokenizer's model sets `dropout` to {0}, so its ids are random; set it to null")]
    Dropout(f32),
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
        source: Source,
    },
    /// Positions in it do not fit 32 bits.
    #[error("a text of {bytes} bytes is too long to tell where its tokens stand")]
    TooLong {
        /// Length of the text.
        bytes: usize,
    },
    /// The reference implementation refused the ids.
    #[error("cannot decode {ids} ids")]
    Decode {
        /// How many were given.
        ids: usize,
        /// The tokenizers crate's own words.
        #[source]
        source: Source,
    },
    /// A third-party encoder panicked; the message went to the panic hook.
    #[error("the tokenizers library panicked while it was {doing}")]
    Panicked {
        /// What it was asked to do.
        doing: &'static str,
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
    /// The vocabulary asked for has no room for the bytes and the special tokens.
    #[error(
        "a vocabulary of {asked} tokens is too small: 256 bytes and the special tokens need {least}"
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
    /// Training on nothing.
    #[error("no text to train on")]
    NoText,
    /// The trainer failed.
    #[error("training failed")]
    Train(#[source] Source),
    /// A tokenizer.json could not be written.
    #[error("cannot write the tokenizer as JSON")]
    Write(#[source] serde_json::Error),
}
