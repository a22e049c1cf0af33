//! Why documents that a plan could draw are not in it: an account that adds up, source by source.

use super::origins::origins_of_plan;
use super::select::{LeftOutReason, before_holdout, documents_of_all, split_by_holdout};
use super::undecided::{count_undecided, moment_of_plan};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{count_tokens, with_tokens};
use crate::epoch::plan::Plan;
use crate::model::TokenizerId;
use roaring::RoaringTreemap;
use serde::Serialize;

/// Documents of a source that a plan does not draw, for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LeftOut {
    /// Why.
    pub reason: LeftOutReason,
    /// How many.
    pub documents: u64,
    /// Their stored tokens.
    pub tokens: u64,
}

/// What a plan does not draw.
#[derive(Default)]
pub struct LeftOutAccount {
    /// What each source leaves out of the kept documents that it could draw, in the order of the plan.
    pub sources: Vec<Vec<LeftOut>>,
    /// Documents of the sources on neither side of the holdout, where there is one.
    pub undecided: Option<u64>,
}

/// What a plan does not draw; nothing is known where the snapshot was dropped.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub fn left_out(
    corpora: &Corpora,
    planned: &Plan,
    tokenizer: TokenizerId,
) -> Result<LeftOutAccount, EpochError> {
    let (plan, recipe) = (&planned.plan, &planned.plan.recipe);
    let Some(moment) = moment_of_plan(corpora, plan)? else {
        return Ok(LeftOutAccount::default());
    };
    let kept = corpora.kept_at(&moment)?;
    let mut all = LeftOutAccount::default();
    // What stays after each step, for all sources.
    let mut steps: Vec<(LeftOutReason, RoaringTreemap)> = Vec::new();
    let base = before_holdout(corpora, recipe, &kept, |reason, stays| {
        steps.push((reason, stays.clone()));
    })?;
    if let Some(holdout) = &recipe.select.holdout {
        let (side, neither) = split_by_holdout(corpora, &moment, holdout, &base)?;
        steps.push((LeftOutReason::Holdout, side));
        all.undecided = Some(count_undecided(corpora, plan, tokenizer, &neither)?);
    }
    for (source, pinned) in recipe.sources.iter().zip(&planned.pinned) {
        let from = origins_of_plan(corpora, plan, source)?;
        let mut account = Account { corpora, tokenizer, left_out: Vec::new() };
        let mut stays = documents_of_all(corpora, &from)? & &kept;
        for (reason, of_step) in &steps {
            let condition = recipe.select.condition.as_deref();
            let condition = condition.filter(|_| *reason == LeftOutReason::Where);
            stays = account.step(*reason, condition, &stays, of_step)?;
        }
        if let Some(condition) = &source.condition {
            let of_step = corpora.select(condition)?;
            stays = account.step(LeftOutReason::Where, Some(condition), &stays, &of_step)?;
        }
        let (selected, _) = with_tokens(corpora, tokenizer, &stays, recipe.select.min_tokens)?;
        stays = account.step(LeftOutReason::MinTokens, None, &stays, &selected)?;
        account.step(LeftOutReason::NotOwed, None, &stays, &pinned.documents())?;
        all.sources.push(account.left_out);
    }
    Ok(all)
}

/// What a source leaves out so far.
struct Account<'a> {
    corpora: &'a Corpora,
    tokenizer: TokenizerId,
    left_out: Vec<LeftOut>,
}

impl Account<'_> {
    /// What stays of `before` when only `of_step` does; what goes is counted, what a condition is null for by itself.
    fn step(
        &mut self,
        reason: LeftOutReason,
        condition: Option<&str>,
        before: &RoaringTreemap,
        of_step: &RoaringTreemap,
    ) -> Result<RoaringTreemap, EpochError> {
        let mut goes = before - of_step;
        if let Some(condition) = condition.filter(|_| !goes.is_empty()) {
            let null = &goes & self.corpora.select(&format!("({condition}) IS NULL"))?;
            goes -= &null;
            self.count(LeftOutReason::Null, &null)?;
        }
        self.count(reason, &goes)?;
        Ok(before & of_step)
    }

    fn count(&mut self, reason: LeftOutReason, goes: &RoaringTreemap) -> Result<(), EpochError> {
        if goes.is_empty() {
            return Ok(());
        }
        let tokens = count_tokens(self.corpora, self.tokenizer, goes)?;
        match self.left_out.iter_mut().find(|of| of.reason == reason) {
            Some(of) => {
                of.documents += goes.len();
                of.tokens += tokens;
            }
            None => self.left_out.push(LeftOut { reason, documents: goes.len(), tokens }),
        }
        Ok(())
    }
}
