//! Finds documents that begin or end with special tokens which the recipe adds once more.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, masks};
use model::show::number;
use model::{DocId, Interrupt, TokenizerId};
use serde::Serialize;
use std::fmt;

/// The most documents that are searched: when a plan is explained, and when it is made.
pub(super) const EXPLAINED_DOCUMENTS: usize = 1 << 20;
pub(super) const PLANNED_DOCUMENTS: usize = 1 << 12;
/// Documents whose ids are read together.
const TOGETHER: usize = 1024;

/// Documents that have the BOS or the EOS of the recipe already: they get another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SpecialRepeats {
    /// Documents that were looked at: the first of those whose ids came with their records, or whose text a template wrote.
    pub documents: u64,
    /// How many of them begin with BOS already.
    pub begin_with_bos: u64,
    /// How many of them end with EOS already.
    pub end_with_eos: u64,
}

/// Searches the first documents of a plan, up to a limit; none where it adds neither BOS nor EOS, or no document can
/// have them.
pub(super) fn special_repeats(
    corpora: &Corpora,
    planned: &Plan,
    tokenizer: TokenizerId,
    most: usize,
    interrupt: &Interrupt,
) -> Result<Option<SpecialRepeats>, EpochError> {
    let specials = planned.plan.tokenizer.specials;
    if specials.bos.is_none() && specials.eos.is_none() {
        return Ok(None);
    }
    let drawn = masks::documents(&planned.pinned);
    let mut documents: Vec<DocId> = Vec::new();
    for form in corpora.text_forms()? {
        let (document, form) = form?;
        // The text of other documents is plain: what it spells are no special tokens.
        if (form.specials || form.given.is_some()) && drawn.contains(document.0) {
            documents.push(document);
        }
        if documents.len() == most {
            break;
        }
    }
    let mut doubled = SpecialRepeats { documents: documents.len() as u64, ..Default::default() };
    for documents in documents.chunks(TOGETHER) {
        interrupt.check()?;
        corpora.for_each_tokens(tokenizer, documents, |_, ids| {
            let (Some(ids), mut ends) = (ids.filter(|ids| !ids.is_empty()), Vec::new()) else {
                return Ok::<_, EpochError>(());
            };
            ids.slice(0..1).append(&mut ends);
            ids.slice(ids.len() - 1..ids.len()).append(&mut ends);
            let is = |end: Option<&u32>, special: Option<u32>| {
                special.is_some() && end.copied() == special
            };
            doubled.begin_with_bos += u64::from(is(ends.first(), specials.bos));
            doubled.end_with_eos += u64::from(is(ends.last(), specials.eos));
            Ok(())
        })?;
    }
    Ok(Some(doubled).filter(|doubled| doubled.begin_with_bos + doubled.end_with_eos > 0))
}

impl fmt::Display for SpecialRepeats {
    /// A line for each that there is, each with its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (documents, name, side) in
            [(self.begin_with_bos, "bos", "begin"), (self.end_with_eos, "eos", "end")]
        {
            if documents > 0 {
                writeln!(
                    f,
                    "{}: {} of {} documents with special tokens of their own {side} with it already, and get another: leave `{name}` out of tokenizer.specials",
                    name.to_uppercase(),
                    number(documents),
                    number(self.documents)
                )?;
            }
        }
        Ok(())
    }
}
