//! What became of terms.

use serde::Serialize;

/// The result of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
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
            TermOutcome::Refused { reason } => Some(reason.as_str()),
            _ => None,
        })
    }
}

/// The result of one form of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FormReport {
    /// As the model spells it; the text if it does not reach the model.
    pub form: String,
    /// The outcome.
    pub outcome: TermOutcome,
}

/// The outcome for one form of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum TermOutcome {
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
    /// It is a new added token: the pre-tokenizer would split it, so it is found in a text before that step, also
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

/// The outcomes of the forms of many terms, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TermCounts {
    /// Forms that became tokens of the model.
    pub forms_added: usize,
    /// Forms that became added tokens.
    pub forms_added_tokens: usize,
    /// Forms that were tokens already.
    pub forms_existed: usize,
    /// Forms that could not become one.
    pub forms_refused: usize,
}

impl TermCounts {
    /// Those of the terms of an extension.
    #[must_use]
    pub fn of(terms: &[TermReport]) -> Self {
        let mut counts = Self::default();
        for form in terms.iter().flat_map(|term| &term.forms) {
            *match form.outcome {
                TermOutcome::Added { .. } => &mut counts.forms_added,
                TermOutcome::Matched { .. } => &mut counts.forms_added_tokens,
                TermOutcome::Existed { .. } => &mut counts.forms_existed,
                TermOutcome::Refused { .. } => &mut counts.forms_refused,
            } += 1;
        }
        counts
    }
}
