//! Which documents a source of an epoch draws from.

use super::holdout::one_side;
use super::listing;
use crate::epoch::documents::with_tokens;
use crate::epoch::error::EpochError;
use crate::epoch::pack::Histogram;
use crate::epoch::recipe::{Recipe, SourceRecipe};
use crate::model::TokenizerId;
use crate::query::select;
use crate::store::{View, fields};
use roaring::RoaringTreemap;

/// Columns whose values follow the present decisions, not those of a snapshot.
const OF_STANDING: [&str; 6] = ["kept", "standing", "dup_of", "jaccard", "cluster", "cluster_size"];

/// Conditions are evaluated on the present moment. That is the snapshot's answer for all that never
/// changes of a document; what follows its standing is refused once the two differ.
fn check_conditions(
    view: &View,
    recipe: &Recipe,
    snapshot_kept: &RoaringTreemap,
) -> Result<(), EpochError> {
    let of_sources = recipe.sources.iter().filter_map(|source| source.condition.as_deref());
    for condition in of_sources.chain(recipe.select.condition.as_deref()) {
        let mut words = condition.split(|c: char| !c.is_alphanumeric() && c != '_');
        let Some(word) =
            words.find(|word| OF_STANDING.iter().any(|name| word.eq_ignore_ascii_case(name)))
        else {
            continue;
        };
        if view.kept()? != *snapshot_kept {
            return Err(EpochError::Recipe(format!(
                "`where` uses `{word}`, whose values have changed since the snapshot; a snapshot's documents are all kept ones, so leave it out, or leave `snapshot` out"
            )));
        }
    }
    Ok(())
}

/// The documents that all sources draw from: kept in the snapshot, as `[select]` says, on the asked side
/// of the border to the holdout.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Recipe`]; [`EpochError::Store`].
pub(super) fn base(
    view: &View,
    recipe: &Recipe,
    snapshot: &str,
    kept: &RoaringTreemap,
) -> Result<RoaringTreemap, EpochError> {
    check_conditions(view, recipe, kept)?;
    let mut base = kept.clone();
    if let Some(condition) = &recipe.select.condition {
        base &= select(view, Some(condition))?;
    }
    if let Some(holdout) = &recipe.select.holdout {
        base = one_side(view, snapshot, holdout, &base)?;
    }
    Ok(base)
}

/// The documents of a source of the recipe, and how many of each count of tokens, where all have one.
///
/// # Errors
/// [`EpochError::Unknown`]; [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn of_source(
    view: &View,
    recipe: &Recipe,
    source: &SourceRecipe,
    tokenizer: TokenizerId,
    base: &RoaringTreemap,
) -> Result<(RoaringTreemap, Option<Histogram>), EpochError> {
    let from = source.from.as_deref().unwrap_or(&source.name);
    let (id, _) = view.source_named(from).ok_or_else(|| EpochError::Unknown {
        what: "source",
        name: from.to_owned(),
        known: listing(&view.sources().map(|(_, record)| record.name.clone()).collect::<Vec<_>>()),
    })?;
    let mut selection = view.documents_with(fields::SOURCE, &fields::source_value(id))?;
    selection &= base;
    if let Some(condition) = &source.condition {
        selection &= select(view, Some(condition))?;
    }
    with_tokens(view, tokenizer, &selection, recipe.select.min_tokens)
}

/// Whether every source has documents, and no document two sources.
///
/// # Errors
/// [`EpochError::Empty`]; [`EpochError::Overlap`].
pub(super) fn check(
    recipe: &Recipe,
    selections: &[(String, RoaringTreemap)],
) -> Result<(), EpochError> {
    if selections.is_empty() {
        let why = format!(
            "no kept document of the snapshot passes select.where and min_tokens = {}",
            recipe.select.min_tokens
        );
        return Err(EpochError::Empty { what: "the epoch".to_owned(), why });
    }
    for (at, (name, selection)) in selections.iter().enumerate() {
        if selection.is_empty() {
            let why = format!(
                "no kept document of the snapshot passes select.where, its own where and min_tokens = {}",
                recipe.select.min_tokens
            );
            return Err(EpochError::Empty { what: format!("source `{name}`"), why });
        }
        for (other, others) in selections.iter().take(at) {
            let documents = selection.intersection_len(others);
            if documents > 0 {
                let example = (selection & others).min().unwrap_or(0);
                return Err(EpochError::Overlap {
                    first: other.clone(),
                    second: name.clone(),
                    documents,
                    example,
                });
            }
        }
    }
    Ok(())
}
