//! Finds the sources of a corpus that the sources of a recipe draw from: by name, by pattern, or by list.

use super::moment::PlanMoment;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::PlanHeader;
use crate::epoch::recipe::{DrawsFrom, NamePattern, Recipe, SourceRecipe};
use model::near_names::UnknownName;
use model::{Error, ErrorKind, SourceId};
use store::system_fields;

/// The sources of the corpus that a source of a recipe draws from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceOrigins {
    pub ids: Vec<SourceId>,
    /// Their names in order, where a pattern or a list stood for them.
    pub found: Vec<String>,
}

/// What every source of the recipe draws from. A name that a source has is that source, whatever signs are in it; else
/// a pattern is every source with a matching name and a document in the snapshot.
///
/// # Errors
/// [`EpochError::Unknown`] for a name or pattern that no source has; [`EpochError`] when two draw from the
/// same one; [`EpochError::Recipe`] for an invalid pattern; [`EpochError::Store`].
pub(super) fn origins(
    corpora: &Corpora,
    recipe: &Recipe,
    moment: &PlanMoment,
) -> Result<Vec<SourceOrigins>, EpochError> {
    let all: Result<Vec<SourceOrigins>, EpochError> =
        recipe.sources.iter().map(|source| of_source(corpora, source, moment)).collect();
    let all = all?;
    check_claims(corpora, recipe, &all)?;
    Ok(all)
}

/// What a source of a plan draws from: its patterns are not looked up again.
///
/// # Errors
/// [`EpochError::Unknown`] for a source that there is not any more.
pub(super) fn origins_of_plan(
    corpora: &Corpora,
    plan: &PlanHeader,
    source: &SourceRecipe,
) -> Result<Vec<SourceId>, EpochError> {
    let planned = plan.sources.iter().find(|planned| planned.name == source.name);
    let found = planned.map_or(&[][..], |planned| &planned.draws_from);
    let entries = if found.is_empty() { entries(source) } else { found };
    entries.iter().map(|name| named(corpora, name).ok_or_else(|| unknown(corpora, name))).collect()
}

fn entries(source: &SourceRecipe) -> &[String] {
    source.from.as_ref().map_or(std::slice::from_ref(&source.name), DrawsFrom::entries)
}

fn of_source(
    corpora: &Corpora,
    source: &SourceRecipe,
    moment: &PlanMoment,
) -> Result<SourceOrigins, EpochError> {
    let entries = entries(source);
    if let [name] = entries
        && let (Some(id), None | Some(DrawsFrom::One(_))) = (named(corpora, name), &source.from)
    {
        return Ok(SourceOrigins { ids: vec![id], found: Vec::new() });
    }
    let mut found: Vec<(String, SourceId)> = Vec::new();
    for entry in entries {
        match named(corpora, entry) {
            Some(id) if is_seen(corpora, id, moment)? => found.push((entry.clone(), id)),
            Some(_) => {
                return Err(EpochError::Empty {
                    what: format!("`{entry}`, which source `{}` draws from,", source.name),
                    why: format!(
                        "its first document was ingested after the snapshot `{}`",
                        moment.name
                    ),
                });
            }
            None if NamePattern::is(entry) => {
                let pattern = NamePattern::parse(entry).map_err(|why| {
                    let name = &source.name;
                    EpochError::Recipe(format!("`from` of source `{name}`: `{entry}`: {why}"))
                })?;
                let before = found.len();
                for (id, name) in corpora.sources() {
                    if pattern.matches(name) && is_seen(corpora, id, moment)? {
                        found.push((name.to_owned(), id));
                    }
                }
                if found.len() == before {
                    let known = seen_names(corpora, moment)?;
                    return Err(EpochError::Unknown(UnknownName::new("source", entry, known)));
                }
            }
            None => return Err(unknown(corpora, entry)),
        }
    }
    found.sort();
    // A name and a pattern, or two patterns, may stand for the same source.
    found.dedup();
    let (found, ids) = found.into_iter().unzip();
    Ok(SourceOrigins { ids, found })
}

/// Two that draw from one source take the same documents, unless conditions part them.
fn check_claims(
    corpora: &Corpora,
    recipe: &Recipe,
    all: &[SourceOrigins],
) -> Result<(), EpochError> {
    let claims: Vec<(&SourceRecipe, &SourceOrigins)> = recipe.sources.iter().zip(all).collect();
    for (at, (second, seconds)) in claims.iter().enumerate() {
        for (first, firsts) in claims.iter().take(at) {
            let by_name = firsts.found.is_empty() && seconds.found.is_empty();
            let parted = first.condition.is_some() && second.condition.is_some();
            if by_name || parted {
                continue;
            }
            let both = firsts.ids.iter().filter(|id| seconds.ids.contains(id));
            let both: Vec<String> = both.map(|id| corpora.source_name(*id).to_owned()).collect();
            if !both.is_empty() {
                let message = format!(
                    "sources `{}` and `{}` of the recipe both draw from {}; leave it to one of them, or give each a `where` that excludes the other's documents",
                    first.name,
                    second.name,
                    listing(&both)
                );
                return Err(Error::of(ErrorKind::BadRecipe, message).into());
            }
        }
    }
    Ok(())
}

fn named(corpora: &Corpora, name: &str) -> Option<SourceId> {
    corpora.source_named(name)
}

/// Whether a source had a document at a moment.
fn is_seen(corpora: &Corpora, id: SourceId, moment: &PlanMoment) -> Result<bool, EpochError> {
    for (shard, view, id) in corpora.views_with(id) {
        let documents =
            view.documents_with(system_fields::SOURCE, &system_fields::source_value(id))?;
        if documents.min().is_some_and(|first| first < moment.documents(shard)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn unknown(corpora: &Corpora, name: &str) -> EpochError {
    let known = corpora.sources().map(|(_, name)| name);
    EpochError::Unknown(UnknownName::new("source", name, known))
}

fn seen_names(corpora: &Corpora, moment: &PlanMoment) -> Result<Vec<String>, EpochError> {
    let mut names = Vec::new();
    for (id, name) in corpora.sources() {
        if is_seen(corpora, id, moment)? {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

pub(super) fn listing(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}
