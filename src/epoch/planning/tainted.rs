//! Suites and a plan: documents that have an item of one, and sources that are one.

use super::origins::Origins;
use super::tokenizer::listing;
use crate::contamination::Rule;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::{DrawsFrom, Recipe};
use crate::model::{SourceId, SuiteId, SuiteVerdict};
use crate::query::contaminated;
use crate::store::{View, fields};
use roaring::RoaringTreemap;

/// Spells out the suites that a recipe excludes: thresholds, which items they are, and what was rejected of them.
///
/// # Errors
/// [`EpochError::Unknown`] for a suite that there is not; [`EpochError::Recipe`] for one that stored texts were not
/// searched for to the end, or that has other items or rejected pairs than the recipe says.
pub(super) fn spell_out(view: &View, recipe: &mut Recipe) -> Result<(), EpochError> {
    let rule = Rule::default();
    for excluded in &mut recipe.select.exclude_contaminated {
        let Some((suite, record)) = view.suite(&excluded.suite)? else {
            let known = view.suites()?.iter().map(|(_, suite)| suite.name.clone());
            let known: Vec<String> = known.collect();
            return Err(EpochError::Unknown {
                what: "suite",
                name: excluded.suite.clone(),
                known: match known.is_empty() {
                    true => "none: `corpusdb contamination add` adds one".to_owned(),
                    false => listing(&known),
                },
            });
        };
        if !record.is_complete() {
            return Err(EpochError::Recipe(format!(
                "stored texts were not searched for suite `{}` to the end: run `corpusdb contamination add` with it again",
                excluded.suite
            )));
        }
        let items: String = record.hash.iter().map(|byte| format!("{byte:02x}")).collect();
        if excluded.items.as_ref().is_some_and(|asked| *asked != items) {
            return Err(EpochError::Recipe(format!(
                "suite `{}` has other items than this recipe was made for: leave `items` out to take those that it has",
                excluded.suite
            )));
        }
        excluded.items = Some(items);
        let rejected = rejected(view, *suite)?;
        if excluded.rejected.as_ref().is_some_and(|asked| *asked != rejected) {
            return Err(EpochError::Recipe(format!(
                "other pairs of suite `{}` are rejected than when this recipe was spelt out: leave `rejected` out to take those that are now",
                excluded.suite
            )));
        }
        excluded.rejected = Some(rejected);
        excluded.score.get_or_insert(rule.score);
        excluded.tokens.get_or_insert(rule.tokens);
    }
    Ok(())
}

/// A hash over the pairs of items and texts that were rejected.
fn rejected(view: &View, suite: SuiteId) -> Result<String, EpochError> {
    let (mut hasher, mut pairs) = (blake3::Hasher::new(), 0_u64);
    for row in view.verdicts(suite)? {
        let ((text, item), verdict) = row?;
        if verdict == SuiteVerdict::Rejected {
            pairs += 1;
            hasher.update(&text);
            hasher.update(&item.to_le_bytes());
        }
    }
    Ok(if pairs == 0 { "none".to_owned() } else { hasher.finalize().to_hex().to_string() })
}

/// The documents that have an item of a suite that the recipe excludes. What is common is counted among `kept`, so that
/// a snapshot has one answer.
///
/// # Errors
/// [`EpochError::Select`]; [`EpochError::Store`].
pub(super) fn tainted(
    view: &View,
    recipe: &Recipe,
    kept: &RoaringTreemap,
) -> Result<RoaringTreemap, EpochError> {
    let mut all = RoaringTreemap::new();
    for excluded in &recipe.select.exclude_contaminated {
        let default = Rule::default();
        let rule = Rule {
            score: excluded.score.unwrap_or(default.score),
            tokens: excluded.tokens.unwrap_or(default.tokens),
            ..default
        };
        all |= contaminated(view, &excluded.suite, &rule, kept)?;
    }
    Ok(all)
}

/// No source that is a suite is drawn from unless the recipe names it: not by a pattern, and not for want of a list.
///
/// # Errors
/// [`EpochError::Recipe`], with the source and what can be done.
pub(super) fn check_sources(
    view: &View,
    recipe: &Recipe,
    origins: &[Origins],
    selections: &[(String, RoaringTreemap)],
    is_listed: bool,
) -> Result<(), EpochError> {
    for ((source, from), (_, selection)) in recipe.sources.iter().zip(origins).zip(selections) {
        for id in &from.ids {
            let name = view.source_name(*id);
            let entries = source.from.as_ref().map(DrawsFrom::entries).unwrap_or_default();
            let is_named = source.name == name || entries.iter().any(|entry| entry == name);
            if is_listed && is_named {
                continue;
            }
            let Some(suite) = suite_of(view, *id, name)? else { continue };
            let documents = view.documents_with(fields::SOURCE, &fields::source_value(*id))?;
            if !documents.is_disjoint(selection) {
                return Err(EpochError::Recipe(format!(
                    "source `{name}` is the suite `{suite}`: to train on it name it in a [[source]]; to leave it out say select.where = \"source <> '{name}'\""
                )));
            }
        }
    }
    Ok(())
}

/// The suite that a source is: it has its name, or was ingested from one of its files.
fn suite_of(view: &View, id: SourceId, name: &str) -> Result<Option<String>, EpochError> {
    for (_, suite) in view.suites()? {
        let mut is_suite = suite.name == name;
        for file in suite.files.iter().filter(|file| *file != "-") {
            is_suite = is_suite || view.file(id, file.as_bytes())?.is_some();
        }
        if is_suite {
            return Ok(Some(suite.name.clone()));
        }
    }
    Ok(None)
}
