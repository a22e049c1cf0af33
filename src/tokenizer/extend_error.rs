//! What can go wrong with an extension.

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
