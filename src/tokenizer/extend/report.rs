//! What became of terms.

use serde::Serialize;

/// What became of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TermReport {
    /// The term as given.
    pub term: String,
    /// Its forms as the model spells them.
    pub forms: Vec<FormReport>,
}

impl TermReport {
    /// Why one of its forms cannot be a token, if so.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.forms.iter().find_map(|form| match &form.outcome {
            Outcome::Refused { reason } => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// What became of one form of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FormReport {
    /// As the model spells it; the text where it never gets that far.
    pub form: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// The outcome for one form of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Outcome {
    /// It is a new token.
    Added {
        /// The id of the token.
        id: u32,
        /// New tokens on the way to it.
        intermediates: u32,
    },
    /// It is a token that was there before: the base's, or one that a shorter term brought.
    Existed {
        /// The id of the token.
        id: u32,
    },
    /// It is a new added token: the pre-tokenizer would split it, so it is looked for in a text before that, also
    /// inside words.
    #[serde(rename = "added-token")]
    Matched {
        /// The id of the token.
        id: u32,
    },
    /// It cannot be one token.
    Refused {
        /// Why, and what to do.
        reason: String,
    },
}
