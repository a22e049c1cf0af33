//! Terms that the pre-tokenizer splits, as added tokens: searched for in a text before anything else is done to it.

use super::added::trial_contexts;
use super::base::ExtensionBase;
use super::bpe::NewToken;
use super::map::TokenOrigin;
use super::report::{TermOutcome, TermReport};
use crate::tokenizer::error::TokenizerError;
use crate::tokenizer::extend_error::ExtendError;
use std::collections::BTreeMap;

/// Texts that are to be added tokens, in the order in which they were asked for.
#[derive(Default)]
pub(super) struct AddedTerms {
    /// With the term and the form that asked.
    asked: Vec<(String, usize, usize)>,
}

impl AddedTerms {
    /// Asks for a text, as the given form of the given term. [`AddedTerms::settle`] returns the result.
    pub(super) fn ask(&mut self, text: &str, term: usize, form: usize) {
        self.asked.push((text.to_owned(), term, form));
    }

    /// Tries all that was asked for, gives ids from `first` on, and writes into the reports what became of it.
    pub(super) fn settle(
        self,
        base: &ExtensionBase,
        first: u32,
        reports: &mut BTreeMap<usize, TermReport>,
    ) -> Result<Vec<NewToken>, TokenizerError> {
        if self.asked.is_empty() {
            return Ok(Vec::new());
        }
        let texts: Vec<String> = self.asked.iter().map(|(text, ..)| text.clone()).collect();
        let trial = base.with_added(&texts)?;
        let (mut made, mut ids): (Vec<NewToken>, BTreeMap<String, u32>) = Default::default();
        for (text, term, form) in self.asked {
            let outcome = if let Some(id) = ids.get(&text) {
                TermOutcome::Existed { id: *id }
            } else if let Some(reason) = refusal(base, &trial, &text)? {
                TermOutcome::Refused { reason }
            } else {
                let before = u32::try_from(made.len()).map_err(|_| ExtendError::Full)?;
                let id = first.checked_add(before).ok_or(ExtendError::Full)?;
                let (token, pieces, origin) =
                    (text.clone(), base.encode(&text)?, TokenOrigin::Added);
                made.push(NewToken { id, token, parents: None, pieces, count: None, origin });
                ids.insert(text, id);
                TermOutcome::Matched { id }
            };
            let report = reports.get_mut(&term).and_then(|report| report.forms.get_mut(form));
            if let Some(report) = report {
                report.outcome = outcome;
            }
        }
        Ok(made)
    }
}

/// Why a text cannot be an added token, if so. `trial` has all that were asked for.
fn refusal(
    base: &ExtensionBase,
    trial: &ExtensionBase,
    text: &str,
) -> Result<Option<String>, TokenizerError> {
    if base.vocabulary.contains_key(text) {
        return Ok(Some("the vocabulary has another entry with this spelling".to_owned()));
    }
    let id = trial.added.get(text).copied();
    for (around, is_found) in trial_contexts(text) {
        let ids = trial.encode(&around)?;
        if is_found && !id.is_some_and(|id| ids.contains(&id)) {
            return Ok(Some("another added token is found at its place".to_owned()));
        }
        if trial.decode_all(&ids)? != base.decode_all(&base.encode(&around)?)? {
            let reason = "as an added token it would change the text when it is decoded";
            return Ok(Some(reason.to_owned()));
        }
    }
    Ok(None)
}
