//! Selects the documents that a source of an epoch draws from.

use super::PlanInputs;
use super::moment::{PlanMoment, has_moved};
use super::suites::contaminated_documents;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::with_tokens;
use crate::epoch::pack::LengthHistogram;
use crate::epoch::permutation::coin;
use crate::epoch::recipe::{Holdout, HoldoutSide, Recipe, SourceRecipe};
use crate::sql::{Dependence, dependence, names_column};
use model::show::count;
use model::{Context, Error, ErrorKind, SourceId, Standing, TokenizerId};
use roaring::RoaringTreemap;
use serde::Serialize;
use store::TOO_MANY_ROOTS;

/// Why documents are left out of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOutReason {
    /// `select.exclude_removed`.
    Removed,
    /// `select.exclude_contaminated`.
    Suite,
    /// A condition is not true of them.
    Where,
    /// A condition is null for them: it compares with a field that they do not have.
    Null,
    /// They are on the other side of the holdout, or on neither.
    Holdout,
    /// They have fewer tokens than `select.min_tokens`.
    MinTokens,
    /// They have fewer labels than `select.min_trained`.
    MinTrained,
    /// `select.repeat` is 0 for them; in an extension, their passes are over too.
    NotOwed,
}

impl LeftOutReason {
    /// The reason as it is said of documents.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Removed => "removed",
            Self::Suite => "in an excluded suite",
            Self::Where => "not true of where",
            Self::Null => "null in where",
            Self::Holdout => "beyond the holdout",
            Self::MinTokens => "shorter than min_tokens",
            Self::MinTrained => "with fewer labels than min_trained",
            Self::NotOwed => "of which nothing is owed",
        }
    }
}

/// Expressions are evaluated on the present moment. That is the snapshot's answer for all that never changes of a
/// document; what looks at decisions, or at other documents, is refused once something has happened since. A plan must
/// not depend on a random value or the clock.
fn check_expressions(
    corpora: &Corpora,
    recipe: &Recipe,
    moment: &PlanMoment,
) -> Result<(), EpochError> {
    let select = &recipe.select;
    let by = select.holdout.as_ref().map(|holdout| holdout.by.as_str());
    let curriculum = recipe.order.curriculum.as_ref().map(|curriculum| curriculum.by.as_str());
    let all = [
        ("select.where", select.condition.as_deref()),
        ("select.repeat", select.repeat.as_deref()),
        ("select.holdout.by", by.filter(|by| !matches!(*by, "cluster" | "document"))),
        ("order.curriculum.by", curriculum.filter(|by| *by != "surprisal")),
    ];
    let of_sources =
        recipe.sources.iter().map(|source| ("source.where", source.condition.as_deref()));
    let mut is_past = None;
    for (place, expression) in all.into_iter().chain(of_sources) {
        let Some(expression) = expression else { continue };
        check_kinds(corpora, place, expression)?;
        let Dependence { present, chance, .. } = dependence(corpora.first(), expression)?;
        if let Some(chance) = chance {
            return Err(EpochError::Recipe(format!(
                "{place} uses {chance}, which returns another value each time: the same recipe would give another plan; use a column, or `seed`"
            )));
        }
        let Some(present) = present else { continue };
        if is_past.is_none() {
            is_past = Some(has_moved_on(corpora, moment)?);
        }
        if is_past == Some(true) {
            return Err(EpochError::Recipe(format!(
                "{place} uses {present}, which may have changed since the snapshot `{}` was made: use columns of the document itself (all documents of a snapshot are kept), or leave `snapshot` out",
                moment.name
            )));
        }
    }
    Ok(())
}

/// Refuses an expression with a field that is a number in one corpus and a text in another: it would be answered by two
/// rules.
fn check_kinds(corpora: &Corpora, place: &str, expression: &str) -> Result<(), EpochError> {
    for field in corpora.first().fields().iter().filter(|_| corpora.count() > 1) {
        if !names_column(expression, &field.name) {
            continue;
        }
        for (shard, view) in corpora.views() {
            let other = view.fields().iter().find(|other| other.name == field.name);
            let other = other.filter(|other| other.kind != field.kind);
            if let Some(other) = other {
                return Err(EpochError::Recipe(format!(
                    "{place} names the field `{}`, which is of type {} in shard {shard} and of type {} in shard 0: declare it alike",
                    field.name,
                    other.kind.name(),
                    field.kind.name()
                )));
            }
        }
    }
    Ok(())
}

/// Whether documents came or were decided about since a moment.
fn has_moved_on(corpora: &Corpora, moment: &PlanMoment) -> Result<bool, EpochError> {
    for ((_, view), then) in corpora.views().zip(moment.commits()) {
        let since = view.commit().0.saturating_sub(then);
        let commits = view.last_commits(since)?;
        if commits.iter().any(|(at, commit)| at.0 > then && has_moved(commit)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The documents that removals keep out today: removed ones, and what equals them.
pub(in crate::epoch) fn removed_documents(corpora: &Corpora) -> Result<RoaringTreemap, EpochError> {
    let removed = corpora.documents_standing(Standing::Removed)?;
    Ok(removed | corpora.documents_standing(Standing::Blocked)?)
}

/// The near duplicates of which the plan of a recipe may draw some.
fn near_documents(corpora: &Corpora, recipe: &Recipe) -> Result<RoaringTreemap, EpochError> {
    if recipe.select.per_cluster == 1 {
        return Ok(RoaringTreemap::new());
    }
    Ok(corpora.documents_standing(Standing::Near)?)
}

/// Clusters are those of the present: a snapshot that the recipe names must show it.
pub(super) fn check_moment(
    corpora: &Corpora,
    recipe: &Recipe,
    moment: &PlanMoment,
) -> Result<(), EpochError> {
    if recipe.select.per_cluster > 1
        && let Some(name) = &recipe.snapshot
        && has_moved_on(corpora, moment)?
    {
        return Err(EpochError::Recipe(format!(
            "select.per_cluster draws from clusters, which may have changed since the snapshot `{name}` was made: leave `snapshot` out"
        )));
    }
    Ok(())
}

/// The documents that all sources draw from: kept in the snapshot, or near duplicates of these where the recipe draws
/// them too, as `[select]` says, on the asked side of the border to the holdout.
pub(super) fn eligible_documents(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    context: &Context<'_>,
) -> Result<RoaringTreemap, EpochError> {
    let PlanInputs { corpora, moment, kept, .. } = *against;
    check_expressions(corpora, recipe, moment)?;
    let near = near_documents(corpora, recipe)?;
    let base = before_holdout(corpora, recipe, (kept, &near), |_, _| {}, context)?;
    match &recipe.select.holdout {
        Some(holdout) => Ok(split_by_holdout(corpora, moment, holdout, (&base, kept), context)?.0),
        None => Ok(base),
    }
}

/// The documents that `[select]` leaves, of what is kept and of `near` duplicates, before the border to the holdout
/// divides them. `each` is called for every step with the reason why documents are left out and with those that stay.
pub(super) fn before_holdout(
    corpora: &Corpora,
    recipe: &Recipe,
    (kept, near): (&RoaringTreemap, &RoaringTreemap),
    mut each: impl FnMut(LeftOutReason, &RoaringTreemap),
    context: &Context<'_>,
) -> Result<RoaringTreemap, EpochError> {
    let mut base = kept | near;
    if recipe.select.exclude_removed {
        base -= removed_documents(corpora)?;
        each(LeftOutReason::Removed, &base);
    }
    if !recipe.select.exclude_contaminated.is_empty() {
        base -= contaminated_documents(corpora, recipe, kept)?;
        each(LeftOutReason::Suite, &base);
    }
    if let Some(condition) = &recipe.select.condition {
        base &= corpora.select(condition, context)?;
        each(LeftOutReason::Where, &base);
    }
    Ok(base)
}

/// The documents of `base` on the side that the holdout takes, and those on neither side. Keyed coins of groups alone
/// decide, so that no later ingest moves the border.
///
/// A group of clusters is a lineage, identified by its root: the first of the documents whose place was taken since.
/// Where two lineages met and their coins differ, documents of both are on neither side: they are similar to something
/// trained on before and to something held out before.
///
/// A near duplicate is where the kept document of its cluster is, drawn or not; on neither side where its own lineage, or
/// its own value, is elsewhere.
pub(super) fn split_by_holdout(
    corpora: &Corpora,
    moment: &PlanMoment,
    holdout: &Holdout,
    (base, kept): (&RoaringTreemap, &RoaringTreemap),
    context: &Context<'_>,
) -> Result<(RoaringTreemap, RoaringTreemap), EpochError> {
    let is_held = |group: &[u8]| coin("holdout", holdout.seed, group) < holdout.share;
    let wanted = |held: bool| held == (holdout.take == HoldoutSide::Holdout);
    let members = base - kept;
    let mut of_lineage = if members.is_empty() { base.clone() } else { base | kept };
    // Documents with a group on the wanted side, and with one on the other side.
    let (mut here, mut there) = (RoaringTreemap::new(), RoaringTreemap::new());
    if !matches!(holdout.by.as_str(), "cluster" | "document") {
        let of_value = |id, value: Option<&str>| {
            // A document without a value goes by its lineage.
            if let Some(group) = value
                && of_lineage.remove(id)
            {
                let side = if wanted(is_held(group.as_bytes())) { &mut here } else { &mut there };
                side.insert(id);
            }
        };
        corpora.text_values(&holdout.by, of_value, context)?;
    }
    corpora.lineages_at(moment, |document, root| {
        let is_wanted = wanted(is_held(&root.0.to_le_bytes()));
        let mut put = |id: u64| {
            if root == TOO_MANY_ROOTS || is_wanted {
                here.insert(id);
            }
            if root == TOO_MANY_ROOTS || !is_wanted {
                there.insert(id);
            }
        };
        if of_lineage.contains(document.0) {
            put(document.0);
        }
        // It was kept once, and others took its place: whatever its witness is now, it is its own root, without a row.
        if members.contains(root.0) && of_lineage.contains(root.0) {
            put(root.0);
        }
    })?;
    let alone = of_lineage - &here - &there - &members;
    for id in &alone {
        let side = if wanted(is_held(&id.to_le_bytes())) { &mut here } else { &mut there };
        side.insert(id);
    }
    corpora.each_member(&members, |witness, member| {
        for groups in [&mut here, &mut there] {
            if groups.contains(witness.0) {
                groups.insert(member.0);
            }
        }
        Ok(())
    })?;
    Ok(((&here - &there) & base, here & there & base))
}

/// The documents of some sources of the corpora.
pub(super) fn documents_of_all(
    corpora: &Corpora,
    sources: &[SourceId],
) -> Result<RoaringTreemap, EpochError> {
    let mut documents = RoaringTreemap::new();
    for id in sources {
        documents |= corpora.documents_of(*id)?;
    }
    Ok(documents)
}

/// The documents of a source of the recipe, how many there are of each count of tokens, where all have one, and the
/// documents with `few` labels, which are not drawn.
pub(super) fn source_documents(
    corpora: &Corpora,
    recipe: &Recipe,
    source: &SourceRecipe,
    from: &[SourceId],
    tokenizer: TokenizerId,
    (base, few): (&RoaringTreemap, Option<&RoaringTreemap>),
    context: &Context<'_>,
) -> Result<(RoaringTreemap, Option<LengthHistogram>, RoaringTreemap), EpochError> {
    let mut selection = documents_of_all(corpora, from)? & base;
    if let Some(condition) = &source.condition {
        selection &= corpora.select(condition, context)?;
    }
    let unlabelled = few.map_or_else(RoaringTreemap::new, |few| &selection & few);
    selection -= &unlabelled;
    let (selection, counts) =
        with_tokens(corpora, tokenizer, &selection, recipe.select.min_tokens)?;
    Ok((selection, counts, unlabelled))
}

/// Checks that every source has documents, and no document two sources. `kept` are the documents that the snapshot
/// keeps, and `origins` the sources of the corpus that each source of the recipe draws from.
///
/// # Errors
/// [`EpochError::Empty`]; [`EpochError::Select`]; [`EpochError`] when two sources select the same document.
pub(super) fn check(
    corpora: &Corpora,
    recipe: &Recipe,
    selections: &[(String, RoaringTreemap)],
    kept: &RoaringTreemap,
    unlabelled: &[u64],
    origins: impl Fn(&str) -> Vec<SourceId>,
    context: &Context<'_>,
) -> Result<(), EpochError> {
    if selections.is_empty() {
        let nulls = null_fields(corpora, [recipe.select.condition.as_deref()], kept, context)?;
        let why = format!(
            "no kept document of the snapshot passes select.where and min_tokens = {}{nulls}",
            recipe.select.min_tokens
        );
        return Err(EpochError::Empty { what: "the epoch".to_owned(), why });
    }
    for (at, (name, selection)) in selections.iter().enumerate() {
        if selection.is_empty() {
            let own = documents_of_all(corpora, &origins(name))?;
            let source = recipe.sources.iter().find(|source| source.name == *name);
            let condition = source.and_then(|source| source.condition.as_deref());
            let conditions = [recipe.select.condition.as_deref(), condition];
            let nulls = null_fields(corpora, conditions, &(own & kept), context)?;
            let labels = match unlabelled.get(at) {
                Some(documents @ 1..) => format!(
                    "; {} left out for too few labels (select.min_trained = 0 draws them)",
                    count(*documents, "document is", "documents are")
                ),
                _ => String::new(),
            };
            let why = format!(
                "no kept document of the snapshot passes select.where, its own where and min_tokens = {}{nulls}{labels}",
                recipe.select.min_tokens
            );
            return Err(EpochError::Empty { what: format!("source `{name}`"), why });
        }
        for (other, others) in selections.iter().take(at) {
            let documents = selection.intersection_len(others);
            if documents > 0 {
                let example = (selection & others).min().unwrap_or(0);
                let message = format!(
                    "sources `{other}` and `{name}` of the recipe overlap in {documents} documents (document {example} is one); make their `where` exclude each other"
                );
                return Err(Error::of(ErrorKind::BadRecipe, message).into());
            }
        }
    }
    Ok(())
}

/// A hint about declared fields that conditions use and for which no document has a value: a comparison with null is
/// never true.
fn null_fields<'c>(
    corpora: &Corpora,
    conditions: impl IntoIterator<Item = Option<&'c str>>,
    documents: &RoaringTreemap,
    context: &Context<'_>,
) -> Result<String, EpochError> {
    let conditions: Vec<&str> = conditions.into_iter().flatten().collect();
    let mut names = Vec::new();
    for field in corpora.first().fields() {
        let is_named = conditions.iter().any(|condition| names_column(condition, &field.name));
        if is_named && !documents.is_empty() {
            let name = field.name.replace('"', "\"\"");
            let with_values = corpora.select(&format!("\"{name}\" IS NOT NULL"), context)?;
            if with_values.is_disjoint(documents) {
                names.push(format!("`{}`", field.name));
            }
        }
    }
    if names.is_empty() {
        return Ok(String::new());
    }
    Ok(format!(
        "; none of its {} documents has a value of {}, and a comparison with null is never true: write a condition for some sources as `where` under their [[source]]",
        documents.len(),
        names.join(" and ")
    ))
}
