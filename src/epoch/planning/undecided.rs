//! What the plans of both sides of a holdout lack together.

use super::moment::PlanMoment;
use super::origins::origins_of_plan;
use super::select::{before_holdout, of_source, removed, split_by_holdout};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{PinnedSnapshot, Plan, PlanHeader};
use crate::model::TokenizerId;
use roaring::RoaringTreemap;

/// How many documents of the sources of a plan are on neither side of its holdout: it and the plan of the
/// other side together lack them. None when it has no holdout, the snapshot that it draws from was dropped, or one of
/// several corpora has moved on from the moment that it draws from.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub fn undecided(corpora: &Corpora, plan: &PlanHeader) -> Result<Option<u64>, EpochError> {
    let recipe = &plan.recipe;
    let Some(holdout) = &recipe.select.holdout else { return Ok(None) };
    let Some(moment) = moment_of_plan(corpora, plan)? else { return Ok(None) };
    let kept = corpora.kept_at(&moment)?;
    let base = before_holdout(corpora, recipe, &kept, |_, _| {})?;
    let (_, neither) = split_by_holdout(corpora, &moment, holdout, &base)?;
    let (tokenizer, _) = corpora
        .tokenizer_named(&plan.tokenizer.name)
        .map_err(EpochError::Stale)?
        .ok_or_else(|| EpochError::Stale(format!("tokenizer `{}` is gone", plan.tokenizer.name)))?;
    count_undecided(corpora, plan, tokenizer, &neither).map(Some)
}

/// How many documents of the sources of a plan are among those on `neither` side of its holdout.
pub(super) fn count_undecided(
    corpora: &Corpora,
    plan: &PlanHeader,
    tokenizer: TokenizerId,
    neither: &RoaringTreemap,
) -> Result<u64, EpochError> {
    let (recipe, mut undecided) = (&plan.recipe, 0);
    for source in recipe.sources.iter().filter(|_| !neither.is_empty()) {
        let from = origins_of_plan(corpora, plan, source)?;
        undecided += of_source(corpora, recipe, source, &from, tokenizer, neither)?.0.len();
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
    let removed = removed(corpora)?;
    Ok(if removed.is_empty() { 0 } else { planned.count_drawn(&removed) })
}
