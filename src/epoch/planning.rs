//! From a recipe and a snapshot to a plan: which documents, how long, how many rows, which shares.

use super::documents::{Documents, digest, histogram_digest, with_tokens};
use super::error::EpochError;
use super::mix::integer_weights;
use super::plan::{
    PinnedSnapshot, PinnedTokenizer, Plan, PlannedSource, capacity, largest_budget, long_name,
    narrow, policy, ratio,
};
use super::recipe::{Format, Method, PackKind, Recipe, SourceRecipe};
use super::rows::{Rules, SourceRows};
use super::special::{SpecialIds, special_ids};
use crate::model::{Progress, TokenizerId};
use crate::query::select;
use crate::store::{View, fields};
use roaring::RoaringTreemap;

/// A plan with the documents it pins, to be stored together.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The documents of each source, by its name in the recipe; in the plan's order.
    pub selections: Vec<(String, RoaringTreemap)>,
}

/// Computes the plan of `recipe` against the snapshot `snapshot`, whose kept documents are
/// `snapshot_kept`. Reads bitmaps and length columns only. When the view does not hold the snapshot
/// yet, the view's own commit is pinned.
///
/// # Errors
/// [`EpochError::Unknown`] for names that do not exist, [`EpochError::Overlap`], [`EpochError::Empty`],
/// [`EpochError::NotEncoded`], [`EpochError::Infeasible`], [`EpochError::PadNeeded`],
/// [`EpochError::Select`] for a `where` that is wrong, [`EpochError::Store`].
pub fn plan(
    view: &View,
    recipe: &Recipe,
    snapshot: &str,
    snapshot_kept: &RoaringTreemap,
    progress: &dyn Progress,
) -> Result<Planned, EpochError> {
    let mut recipe = recipe.clone();
    recipe.snapshot = Some(snapshot.to_owned());
    let (tokenizer, pinned) = find_tokenizer(view, &mut recipe)?;
    let listed = !recipe.sources.is_empty();
    if !listed {
        recipe.sources =
            view.sources().map(|(_, source)| SourceRecipe::named(&source.name)).collect();
    }
    check_conditions(view, &recipe, snapshot_kept)?;
    progress.begin("select", Some(recipe.sources.len() as u64));
    let mut selections = Vec::new();
    let mut base = snapshot_kept.clone();
    if let Some(condition) = &recipe.select.condition {
        base &= select(view, Some(condition))?;
    }
    for source in &recipe.sources {
        selections
            .push((source.name.clone(), select_source(view, &recipe, source, tokenizer, &base)?));
        progress.advance(selections.len() as u64);
    }
    if !listed {
        selections.retain(|(_, selection)| !selection.is_empty());
        recipe.sources.retain(|source| selections.iter().any(|(name, _)| *name == source.name));
    }
    check_selections(&recipe, &selections)?;

    progress.begin("lengths", Some(selections.len() as u64));
    let mut sources = Vec::new();
    for (recipe_of, (_, selection)) in recipe.sources.iter().zip(&selections) {
        sources.push(plan_source(view, &recipe, recipe_of, (tokenizer, &pinned), selection)?);
        progress.advance(sources.len() as u64);
    }
    set_weights(&recipe, &mut sources)?;
    let budget = match (recipe.mix.tokens, recipe.mix.method) {
        (Some(tokens), _) => tokens,
        (None, Some(Method::Weights)) => largest_budget(&sources, 0),
        (None, _) => sources.iter().map(|source| source.packed_tokens).sum(),
    };
    let whole: u128 = sources.iter().map(|source| u128::from(source.weight)).sum();
    for source in &mut sources {
        source.expected_tokens =
            narrow(u128::from(source.weight) * u128::from(budget) / whole.max(1));
    }
    let commit = view.snapshot(snapshot)?.map_or(view.commit().0, |record| record.commit);
    let plan = Plan {
        version: Plan::VERSION,
        capacity: capacity(&recipe),
        recipe,
        snapshot: PinnedSnapshot { name: snapshot.to_owned(), commit },
        tokenizer: pinned,
        budget,
        sources,
    };
    plan.check_feasible(0)?;
    check_padding(&plan)?;
    Ok(Planned { plan, selections })
}

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

fn find_tokenizer(
    view: &View,
    recipe: &mut Recipe,
) -> Result<(TokenizerId, PinnedTokenizer), EpochError> {
    let names: Vec<String> = view.tokenizers().map(|(_, record)| record.name.clone()).collect();
    let name = match (&recipe.tokenizer.name, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, []) => {
            let message = "the corpus has no tokenizer; add one with `corpusdb tokenizer add` or `tokenizer train`";
            return Err(EpochError::Recipe(message.to_owned()));
        }
        (None, _) => {
            return Err(EpochError::Recipe(format!(
                "tokenizer.name is needed: there is {}",
                listing(&names)
            )));
        }
    };
    let (id, record) = view.tokenizer_named(&name).ok_or_else(|| EpochError::Unknown {
        what: "tokenizer",
        name: name.clone(),
        known: listing(&names),
    })?;
    let specials = special_ids(&view.tokenizer_file(id)?, &recipe.tokenizer.specials)?;
    recipe.tokenizer.name = Some(name.clone());
    let hash = blake3::Hash::from_bytes(record.hash).to_hex().to_string();
    Ok((id, PinnedTokenizer { name, hash, vocab_size: record.vocab_size, specials }))
}

fn select_source(
    view: &View,
    recipe: &Recipe,
    source: &SourceRecipe,
    tokenizer: TokenizerId,
    base: &RoaringTreemap,
) -> Result<RoaringTreemap, EpochError> {
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

fn check_selections(
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

fn plan_source(
    view: &View,
    recipe: &Recipe,
    source: &SourceRecipe,
    (tokenizer, pinned): (TokenizerId, &PinnedTokenizer),
    selection: &RoaringTreemap,
) -> Result<PlannedSource, EpochError> {
    let specials: &SpecialIds = &pinned.specials;
    let policy = policy(recipe, Some(source), specials);
    let rules = Rules {
        name: &source.name,
        seed: recipe.seed,
        policy,
        order: recipe.order.kind,
        max_repeats: source.max_repeats,
    };
    let documents = Documents {
        view,
        tokenizer,
        tokenizer_name: &pinned.name,
        selection,
        overhead: policy.overhead(),
    };
    let (opened, histogram) = SourceRows::to_count(rules, documents)?;
    let (rows, full_rows) = opened.count_pass()?;
    let documents = selection.len();
    let effective: u64 = histogram.iter().map(|(length, count)| u64::from(*length) * count).sum();
    let packed = policy.packed_tokens(&histogram);
    if packed == 0 {
        let why = format!(
            "all {documents} are longer than a row of {} tokens and pack.long is {}",
            policy.capacity,
            long_name(policy.long)
        );
        return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
    }
    let fixed = policy.kind != PackKind::None;
    Ok(PlannedSource {
        name: source.name.clone(),
        documents,
        tokens: effective - u64::from(policy.overhead()) * documents,
        effective_tokens: effective,
        packed_tokens: packed,
        losses: policy.losses(&histogram),
        rows,
        full_rows,
        efficiency: if fixed {
            ratio(packed.into(), u128::from(rows) * u128::from(policy.capacity))
        } else {
            1.0
        },
        weight: 0,
        expected_tokens: 0,
        max_repeats: source.max_repeats,
        selection: digest(selection),
        histogram: histogram_digest(&histogram),
    })
}

fn set_weights(recipe: &Recipe, sources: &mut [PlannedSource]) -> Result<(), EpochError> {
    if recipe.mix.method != Some(Method::Weights) {
        for source in sources {
            source.weight = source.packed_tokens;
        }
        return Ok(());
    }
    let weights: Vec<f64> = recipe.sources.iter().filter_map(|source| source.weight).collect();
    let weights = integer_weights(&weights).filter(|weights| weights.len() == sources.len());
    let weights = weights
        .ok_or_else(|| EpochError::Recipe("every source needs a positive weight".to_owned()))?;
    for (source, weight) in sources.iter_mut().zip(weights) {
        source.weight = weight;
    }
    Ok(())
}

fn check_padding(plan: &Plan) -> Result<(), EpochError> {
    let format = plan.recipe.output.format;
    if format == Format::Parquet || !plan.fixed_length() || plan.pad().is_some() {
        return Ok(());
    }
    match plan.sources.iter().find(|source| source.full_rows < source.rows) {
        None => Ok(()),
        Some(source) => Err(EpochError::PadNeeded {
            format: format.name(),
            name: source.name.clone(),
            rows: source.rows - source.full_rows,
        }),
    }
}

fn listing(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }
}
