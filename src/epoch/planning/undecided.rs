//! What the plans of both sides of a holdout lack together.

use super::holdout::divide;
use super::select::of_source;
use crate::epoch::error::EpochError;
use crate::epoch::plan::Plan;
use crate::query::select;
use crate::store::View;

/// How many documents of the sources of a plan are on neither side of its holdout: it and the plan of the
/// other side together lack them.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub fn undecided(view: &View, plan: &Plan) -> Result<u64, EpochError> {
    let recipe = &plan.recipe;
    let Some(holdout) = &recipe.select.holdout else { return Ok(0) };
    let snapshot = plan.snapshot.name.as_str();
    let mut base = match view.snapshot(snapshot)? {
        Some(_) => view.snapshot_kept(snapshot)?,
        None => view.kept()?,
    };
    if let Some(condition) = &recipe.select.condition {
        base &= select(view, Some(condition))?;
    }
    let (_, neither) = divide(view, snapshot, holdout, &base)?;
    let (tokenizer, _) = view
        .tokenizer_named(&plan.tokenizer.name)
        .ok_or_else(|| EpochError::Stale(format!("tokenizer `{}` is gone", plan.tokenizer.name)))?;
    let mut undecided = 0;
    for source in recipe.sources.iter().filter(|_| !neither.is_empty()) {
        undecided += of_source(view, recipe, source, tokenizer, &neither)?.0.len();
    }
    Ok(undecided)
}
