//! Keeps evaluation suites out of a plan: documents that have an item of a suite, and sources that are one.

use super::origins::SourceOrigins;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::recipe::{DrawsFrom, ExcludedSuite, Recipe};
use model::near_names::UnknownName;
use model::{SourceId, SuiteVerdict, hexadecimal};
use roaring::RoaringTreemap;
use store::View;
use text::contamination::ContaminationRule;

/// The suites that a recipe excludes, spelt out: thresholds, the hash of the items, and the rejected pairs.
///
/// # Errors
/// [`EpochError::Unknown`] for a suite that there is not; [`EpochError::Recipe`] for one that stored texts were not
/// searched for to the end, or that has other items or rejected pairs than the recipe says.
pub(super) fn resolve_suites(
    corpora: &Corpora,
    excluded: &[ExcludedSuite],
) -> Result<Vec<ExcludedSuite>, EpochError> {
    let rule = ContaminationRule::default();
    let mut resolved = Vec::with_capacity(excluded.len());
    for excluded in excluded {
        let (mut found, mut all_rejected): (Option<String>, _) = (None, Vec::new());
        corpora.each(|shard, view| {
            let items = items(view, excluded)?;
            if found.as_ref().is_some_and(|first| *first != items) {
                return Err(EpochError::Recipe(format!(
                    "suite `{}` has other items in this shard than in shard 0: add it from the same files",
                    excluded.suite
                )));
            }
            found = Some(items);
            let rejected = rejected(view, &excluded.suite)?;
            if rejected != NONE_REJECTED {
                all_rejected.push((shard, rejected));
            }
            Ok(())
        })?;
        // A corpus where nothing was rejected changes nothing: an extension may take it in.
        let rejected = match all_rejected.as_slice() {
            [] => NONE_REJECTED.to_owned(),
            [(0, only)] => only.clone(),
            all => {
                let told = all.iter().map(|(shard, hash)| format!("{shard} {hash}\n"));
                blake3::hash(told.collect::<String>().as_bytes()).to_hex().to_string()
            }
        };
        if excluded.rejected.as_ref().is_some_and(|asked| *asked != rejected) {
            return Err(EpochError::Recipe(format!(
                "the rejected pairs of suite `{}` changed since this recipe was written out: leave `rejected` out to use today's",
                excluded.suite
            )));
        }
        resolved.push(ExcludedSuite {
            suite: excluded.suite.clone(),
            score: excluded.score.or(Some(rule.score)),
            tokens: excluded.tokens.or(Some(rule.tokens)),
            items: found,
            rejected: Some(rejected),
        });
    }
    Ok(resolved)
}

/// A hash of the items of a suite that a recipe excludes.
fn items(view: &View, excluded: &ExcludedSuite) -> Result<String, EpochError> {
    let Some((_, record)) = view.suite(&excluded.suite)? else {
        let known = view.suites()?.iter().map(|(_, suite)| suite.name.as_str());
        return Err(EpochError::Unknown(UnknownName::new("suite", &excluded.suite, known)));
    };
    if !record.is_complete() {
        return Err(EpochError::Recipe(format!(
            "stored texts were not searched for suite `{}` to the end: run `corpusdb contamination add` with it again",
            excluded.suite
        )));
    }
    let items = hexadecimal(&record.hash);
    if excluded.items.as_ref().is_some_and(|asked| *asked != items) {
        return Err(EpochError::Recipe(format!(
            "the items of suite `{}` changed since this recipe was written out: leave `items` out to use today's",
            excluded.suite
        )));
    }
    Ok(items)
}

/// What stands for no rejected pair.
const NONE_REJECTED: &str = "none";

/// A hash over the pairs of items and texts that were rejected.
fn rejected(view: &View, suite: &str) -> Result<String, EpochError> {
    let (mut hasher, mut pairs) = (blake3::Hasher::new(), 0_u64);
    let Some((suite, _)) = view.suite(suite)? else { return Ok(NONE_REJECTED.to_owned()) };
    for row in view.verdicts(*suite)? {
        let ((text, item), verdict) = row?;
        if verdict == SuiteVerdict::Rejected {
            pairs += 1;
            hasher.update(&text);
            hasher.update(&item.to_le_bytes());
        }
    }
    Ok(if pairs == 0 { NONE_REJECTED.to_owned() } else { hasher.finalize().to_hex().to_string() })
}

/// The documents that have an item of a suite that the recipe excludes. What is common is counted among `kept`, so that
/// a snapshot has one answer.
pub(super) fn contaminated_documents(
    corpora: &Corpora,
    recipe: &Recipe,
    kept: &RoaringTreemap,
) -> Result<RoaringTreemap, EpochError> {
    let mut all = RoaringTreemap::new();
    for excluded in &recipe.select.exclude_contaminated {
        let default = ContaminationRule::default();
        let rule = ContaminationRule {
            score: excluded.score.unwrap_or(default.score),
            tokens: excluded.tokens.unwrap_or(default.tokens),
            ..default
        };
        all |= corpora.contaminated(&excluded.suite, &rule, kept)?;
    }
    Ok(all)
}

/// No source that is a suite is drawn from unless the recipe names it: not by a pattern, and not for want of a list.
///
/// # Errors
/// [`EpochError::Recipe`], with the source and what can be done.
pub(super) fn check_sources(
    corpora: &Corpora,
    recipe: &Recipe,
    origins: &[SourceOrigins],
    selections: &[(String, RoaringTreemap)],
    is_listed: bool,
) -> Result<(), EpochError> {
    for ((source, from), (_, selection)) in recipe.sources.iter().zip(origins).zip(selections) {
        for id in &from.ids {
            let name = corpora.source_name(*id);
            let entries = source.from.as_ref().map(DrawsFrom::entries).unwrap_or_default();
            let is_named = source.name == name || entries.iter().any(|entry| entry == name);
            if is_listed && is_named {
                continue;
            }
            let Some(suite) = suite_of_any(corpora, *id, name)? else { continue };
            let documents = corpora.documents_of(*id)?;
            if !documents.is_disjoint(selection) {
                return Err(EpochError::Recipe(format!(
                    "source `{name}` is the suite `{suite}`: to train on it name it in a [[source]]; to leave it out write select.where = \"source <> '{name}'\""
                )));
            }
        }
    }
    Ok(())
}

/// The suite that a source is in any corpus.
fn suite_of_any(corpora: &Corpora, id: SourceId, name: &str) -> Result<Option<String>, EpochError> {
    for (_, view, id) in corpora.views_with(id) {
        if let Some(suite) = suite_of(view, id, name)? {
            return Ok(Some(suite));
        }
    }
    Ok(None)
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
