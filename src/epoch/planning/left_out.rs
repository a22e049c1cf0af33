//! Accounts for documents that a plan could draw and does not: reasons that add up, source by source.
//!
//! For both sides of a holdout it says what the two plans lack together.

use super::labels::FewLabels;
use super::moment::PlanMoment;
use super::origins::origins_of_plan;
use super::select::{
    LeftOutReason, before_holdout, documents_of_all, removed_documents, source_documents,
    split_by_holdout,
};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{count_tokens, with_tokens};
use crate::epoch::plan::{PinnedSnapshot, Plan, PlanHeader, policy};
use model::{Context, TokenizerId};
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

/// Near duplicates of kept documents that a plan draws of a source beside these: `select.per_cluster`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NearDrawn {
    /// How many.
    pub documents: u64,
    /// Their stored tokens.
    pub tokens: u64,
    /// The clusters that they are of, as far as the corpus still knows these.
    pub clusters: u64,
}

/// What a plan does not draw, and what it draws beside what is kept.
#[derive(Default)]
pub struct LeftOutAccount {
    /// What each source leaves out of the kept documents that it could draw, in the order of the plan.
    pub sources: Vec<Vec<LeftOut>>,
    /// What each source draws that is not kept, where the recipe asks for it.
    pub near: Vec<NearDrawn>,
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
    context: &Context<'_>,
) -> Result<LeftOutAccount, EpochError> {
    let (plan, recipe) = (&planned.plan, &planned.plan.recipe);
    let Some(moment) = moment_of_plan(corpora, plan)? else {
        return Ok(LeftOutAccount::default());
    };
    let kept = corpora.kept_at(&moment)?;
    let mut all = LeftOutAccount::default();
    // What stays after each step, for all sources.
    let mut steps: Vec<(LeftOutReason, RoaringTreemap)> = Vec::new();
    let none = RoaringTreemap::new();
    let step = |reason, stays: &RoaringTreemap| steps.push((reason, stays.clone()));
    let base = before_holdout(corpora, recipe, (&kept, &none), step, context)?;
    if let Some(holdout) = &recipe.select.holdout {
        let (side, neither) = split_by_holdout(corpora, &moment, holdout, (&base, &kept), context)?;
        steps.push((LeftOutReason::Holdout, side));
        all.undecided = Some(count_undecided(corpora, plan, tokenizer, &neither, context)?);
    }
    let few = FewLabels::of_plan(corpora, plan, tokenizer)?;
    for (source, pinned) in recipe.sources.iter().zip(&planned.pinned) {
        let from = origins_of_plan(corpora, plan, source)?;
        let mut account = Account { corpora, tokenizer, left_out: Vec::new(), context };
        let mut stays = documents_of_all(corpora, &from)? & &kept;
        for (reason, of_step) in &steps {
            let condition = recipe.select.condition.as_deref();
            let condition = condition.filter(|_| *reason == LeftOutReason::Where);
            stays = account.step(*reason, condition, &stays, of_step)?;
        }
        if let Some(condition) = &source.condition {
            let of_step = corpora.select(condition, context)?;
            stays = account.step(LeftOutReason::Where, Some(condition), &stays, &of_step)?;
        }
        if let Some(few) = few.of_source(&policy(recipe, Some(source), &plan.tokenizer.specials)) {
            let of_step = &stays - &(few - pinned.documents());
            stays = account.step(LeftOutReason::MinTrained, None, &stays, &of_step)?;
        }
        let (selected, _) = with_tokens(corpora, tokenizer, &stays, recipe.select.min_tokens)?;
        stays = account.step(LeftOutReason::MinTokens, None, &stays, &selected)?;
        account.step(LeftOutReason::NotOwed, None, &stays, &pinned.documents())?;
        all.sources.push(account.left_out);
    }
    if recipe.select.per_cluster > 1 {
        let near = planned.pinned.iter().map(|pinned| pinned.documents() - &kept);
        let near: Vec<RoaringTreemap> = near.collect();
        for (near, clusters) in near.iter().zip(corpora.clusters_at(&moment, &near)?) {
            let (documents, tokens) = (near.len(), count_tokens(corpora, tokenizer, near)?);
            all.near.push(NearDrawn { documents, tokens, clusters });
        }
    }
    Ok(all)
}

/// What a source leaves out so far.
struct Account<'a> {
    corpora: &'a Corpora,
    tokenizer: TokenizerId,
    left_out: Vec<LeftOut>,
    context: &'a Context<'a>,
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
            let null = &goes & self.corpora.select_nulls(condition, self.context)?;
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

/// How many documents of the sources of a plan are on neither side of its holdout: it and the plan of the
/// other side together lack them. None when it has no holdout, the snapshot that it draws from was dropped, or one of
/// several corpora has moved on from the moment that it draws from.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub fn undecided(
    corpora: &Corpora,
    plan: &PlanHeader,
    context: &Context<'_>,
) -> Result<Option<u64>, EpochError> {
    let recipe = &plan.recipe;
    let Some(holdout) = &recipe.select.holdout else { return Ok(None) };
    let Some(moment) = moment_of_plan(corpora, plan)? else { return Ok(None) };
    let kept = corpora.kept_at(&moment)?;
    let none = RoaringTreemap::new();
    let base = before_holdout(corpora, recipe, (&kept, &none), |_, _| {}, context)?;
    let (_, neither) = split_by_holdout(corpora, &moment, holdout, (&base, &kept), context)?;
    let (tokenizer, _) = corpora
        .tokenizer_named(&plan.tokenizer.name)
        .map_err(EpochError::Stale)?
        .ok_or_else(|| EpochError::Stale(format!("tokenizer `{}` is gone", plan.tokenizer.name)))?;
    count_undecided(corpora, plan, tokenizer, &neither, context).map(Some)
}

/// How many documents of the sources of a plan are among those on `neither` side of its holdout.
pub(super) fn count_undecided(
    corpora: &Corpora,
    plan: &PlanHeader,
    tokenizer: TokenizerId,
    neither: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<u64, EpochError> {
    let (recipe, mut undecided) = (&plan.recipe, 0);
    for source in recipe.sources.iter().filter(|_| !neither.is_empty()) {
        let from = origins_of_plan(corpora, plan, source)?;
        let of = (neither, None);
        let (drawn, ..) = source_documents(corpora, recipe, source, &from, tokenizer, of, context)?;
        undecided += drawn.len();
    }
    Ok(undecided)
}

/// The moment that a plan draws from; none when its snapshot was dropped, or one of several corpora has moved on.
pub(super) fn moment_of_plan(
    corpora: &Corpora,
    plan: &PlanHeader,
) -> Result<Option<PlanMoment>, EpochError> {
    Ok(match corpora.moment_again(&plan.snapshot.name, plan.commits())? {
        Some(moment) => Some(moment),
        None if is_dropped(corpora, plan)? || !is_of_one(corpora, plan)? => None,
        None => Some(corpora.moment(None, None)?),
    })
}

/// Whether a plan draws from one corpus, which has no other snapshot of that name by now.
fn is_of_one(corpora: &Corpora, plan: &PlanHeader) -> Result<bool, EpochError> {
    let again = corpora.first().snapshot(&plan.snapshot.name)?;
    Ok(plan.shards.is_empty() && again.is_none())
}

/// Whether a plan draws from a snapshot that was dropped. One that is not stored may draw from what a view itself
/// shows, under a name that no snapshot has.
///
/// # Errors
/// [`EpochError::Store`].
pub fn is_dropped(corpora: &Corpora, plan: &PlanHeader) -> Result<bool, EpochError> {
    let PinnedSnapshot { name, commit } = &plan.snapshot;
    let view = corpora.first();
    let is_absent = view.snapshot(name)?.is_none() && *commit != view.commit().0;
    Ok(is_absent && !view.plans_from(name)?.is_empty())
}

/// How many documents a plan draws that a removal has taken out since its snapshot was made.
///
/// # Errors
/// [`EpochError::Store`].
pub fn removed_since(corpora: &Corpora, planned: &Plan) -> Result<u64, EpochError> {
    let removed = removed_documents(corpora)?;
    Ok(if removed.is_empty() { 0 } else { planned.count_drawn(&removed) })
}
