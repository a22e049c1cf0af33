//! The outcome of each term of an extension, and the differences of two vocabularies.

use super::base::ExtensionBase;
use crate::error::TokenizerError;
use crate::file::ModelType;
use serde::Serialize;
use std::collections::HashSet;

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
    /// The counts of the terms of an extension.
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

/// The difference of two vocabularies, added tokens included; lists are ascending by (old) id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct VocabularyDiff {
    /// Tokens of both with the same id.
    pub kept: u64,
    /// Tokens of both with another id: token, old id, new id.
    pub moved: Vec<(String, u32, u32)>,
    /// Tokens of the first only, with their id.
    pub removed: Vec<(String, u32)>,
    /// Tokens of the second only, with their id.
    pub added: Vec<(String, u32)>,
    /// Merges of both; 0 as are the next two where a model does not merge.
    pub merges_kept: u64,
    /// Merges of the first only.
    pub merges_removed: u64,
    /// Merges of the second only.
    pub merges_added: u64,
    /// Whether the merges of both stand in the same order.
    pub merges_in_order: bool,
    /// Whether ids of the first tokenizer mean the same to the second: none moved, none removed.
    pub keeps_old_ids: bool,
}

/// Compares the bytes of two `tokenizer.json`.
///
/// # Errors
/// [`TokenizerError::Load`] when one cannot be read.
pub fn vocabulary_diff(first: &[u8], second: &[u8]) -> Result<VocabularyDiff, TokenizerError> {
    let (first, second) = (ExtensionBase::load(first)?, ExtensionBase::load(second)?);
    let mut old: Vec<(String, u32)> = first.all_tokens().into_iter().collect();
    let mut new = second.all_tokens();
    old.sort_unstable_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    let (mut kept, mut moved, mut removed) = (0, Vec::new(), Vec::new());
    for (token, id) in old {
        match new.remove(&token) {
            Some(now) if now == id => kept += 1,
            Some(now) => moved.push((token, id, now)),
            None => removed.push((token, id)),
        }
    }
    let mut added: Vec<(String, u32)> = new.into_iter().collect();
    added.sort_unstable_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    let of = |base: &ExtensionBase| -> Result<Vec<(String, String)>, TokenizerError> {
        if base.kind != ModelType::Bpe {
            return Ok(Vec::new());
        }
        let merges = base.merges()?.into_iter();
        Ok(merges.map(|(left, right)| (left.to_owned(), right.to_owned())).collect())
    };
    let (old_merges, new_merges) = (of(&first)?, of(&second)?);
    let (of_old, of_new): (HashSet<_>, HashSet<_>) =
        (old_merges.iter().collect(), new_merges.iter().collect());
    let common = |merges: &[(String, String)], other: &HashSet<&(String, String)>| {
        merges.iter().filter(|merge| other.contains(merge)).cloned().collect::<Vec<_>>()
    };
    let (first_common, second_common) =
        (common(&old_merges, &of_new), common(&new_merges, &of_old));
    Ok(VocabularyDiff {
        kept,
        keeps_old_ids: moved.is_empty() && removed.is_empty(),
        moved,
        removed,
        added,
        merges_kept: first_common.len() as u64,
        merges_removed: (old_merges.len() - first_common.len()) as u64,
        merges_added: (new_merges.len() - second_common.len()) as u64,
        merges_in_order: first_common == second_common,
    })
}
