//! Counts the documents, tokens and rows of each source, and turns weights, budgets and schedules into integers.

use crate::corpus::Corpora;
use crate::epoch::coverage::PinnedSource;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader, PassTokenizer};
use crate::epoch::mix::{MixError, PlannedPoint, integer_weights, temperature, unimax, with_fixed};
use crate::epoch::pack::{LengthHistogram, PackLosses, PackPolicy};
use crate::epoch::plan::{
    PinnedTokenizer, PlannedSource, capacity, fluid, largest_total, long_name, narrow, ratio, rules,
};
use crate::epoch::recipe::{MixMethod, MixUnit, PackKind, Recipe, SourceRecipe};
use crate::epoch::rows::{OpenPurpose, PassCount, SourceRows};
use model::{Interrupt, TokenizerId};
use std::sync::Arc;

/// Sets the weights of `sources` and what an epoch asks of each; gives the budget of an epoch, in the
/// mix's unit, and the schedule.
///
/// # Errors
/// [`EpochError::Recipe`] for shares that contradict each other.
pub(super) fn set(
    recipe: &Recipe,
    sources: &mut [PlannedSource],
) -> Result<(u64, Vec<PlannedPoint>), EpochError> {
    let amounts: Vec<u64> = sources.iter().map(|source| source.amount).collect();
    let whole = |amounts: &[u64]| narrow(amounts.iter().map(|amount| u128::from(*amount)).sum());
    let asked = recipe.mix.tokens;
    let schedule = schedule(recipe)?;
    let weights = match recipe.mix.method {
        _ if !schedule.is_empty() => vec![0; sources.len()],
        Some(MixMethod::Weights) => by_weight(recipe)?,
        Some(MixMethod::Temperature) => {
            temperature(&amounts, recipe.mix.temperature.unwrap_or(1.0))
        }
        Some(MixMethod::Unimax) => {
            // A source holds all its passes; a budget beyond the sum asks for all.
            let passes: Vec<u64> = sources.iter().map(PlannedSource::available).collect();
            unimax(&passes, 1, asked.unwrap_or_else(|| whole(&passes)))
        }
        Some(MixMethod::Natural) | None => amounts.clone(),
    };
    if let Some(at) = weights.iter().position(|weight| *weight == 0)
        && schedule.is_empty()
    {
        let unit = recipe.mix.unit.name();
        let why = |source: &PlannedSource| match asked.filter(|_| source.available() > 0) {
            Some(tokens) => format!("mix.tokens = {tokens} leaves it none; raise it"),
            None => format!("it has no {unit}, or too few"),
        };
        let source = sources.get(at).map(|source| (source.name.as_str(), why(source)));
        let (name, why) = source.unwrap_or_default();
        return Err(EpochError::Recipe(format!("source `{name}` gets no share: {why}")));
    }
    for (source, weight) in sources.iter_mut().zip(&weights) {
        source.weight = *weight;
    }
    let due = fluid(sources, &schedule, capacity(recipe))?;
    let fixed = recipe.sources.iter().all(|source| source.tokens.is_some());
    let budget = match (asked, recipe.mix.method) {
        (Some(tokens), _) => tokens,
        (None, Some(MixMethod::Weights)) if fixed && schedule.is_empty() => whole(&weights),
        (None, Some(MixMethod::Unimax)) => whole(&weights),
        (None, Some(MixMethod::Weights | MixMethod::Temperature)) => {
            largest_total(sources, &due).unwrap_or_else(|| whole(&amounts))
        }
        (None, Some(MixMethod::Natural) | None) => whole(&amounts),
    };
    if budget == 0 {
        return Err(EpochError::Recipe(
            "the shares do not leave room for a single row; raise max_repeats, or change the weights"
                .to_owned(),
        ));
    }
    for (at, source) in sources.iter_mut().enumerate() {
        source.expected = due.share(at, budget);
    }
    Ok((budget, schedule))
}

/// Weights given by the recipe, in a common scale with the budgets given there.
fn by_weight(recipe: &Recipe) -> Result<Vec<u64>, EpochError> {
    let fixed: Vec<Option<u64>> = recipe.sources.iter().map(|source| source.tokens).collect();
    let given: Vec<f64> = recipe.sources.iter().filter_map(|source| source.weight).collect();
    let integers = integer_weights(&given)
        .ok_or_else(|| EpochError::Recipe("every source needs a positive weight".to_owned()))?;
    if fixed.iter().all(Option::is_none) {
        return Ok(integers);
    }
    let mut integers = integers.into_iter();
    let weights: Vec<Option<u64>> =
        recipe.sources.iter().map(|source| source.weight.and_then(|_| integers.next())).collect();
    with_fixed(&weights, &fixed, recipe.mix.tokens)
        .map_err(|why| EpochError::Recipe(mix_message(&why)))
}

fn mix_message(why: &MixError) -> String {
    match why {
        MixError::BudgetNeeded { fixed } => format!(
            "sources with a weight share what sources with tokens leave: give mix.tokens, more than the {fixed} that are fixed"
        ),
        other => other.to_string(),
    }
}

fn schedule(recipe: &Recipe) -> Result<Vec<PlannedPoint>, EpochError> {
    let mut points: Vec<PlannedPoint> = Vec::new();
    for point in &recipe.mix.schedule {
        let weights: Vec<f64> = recipe
            .sources
            .iter()
            .map(|source| point.weights.get(&source.name).copied().unwrap_or(0.0))
            .collect();
        let positive: Vec<f64> = weights.iter().copied().filter(|weight| *weight > 0.0).collect();
        let mut integers = integer_weights(&positive)
            .ok_or_else(|| EpochError::Recipe("mix.schedule has an invalid weight".to_owned()))?
            .into_iter();
        let shares = weights
            .iter()
            .map(|weight| if *weight > 0.0 { integers.next().unwrap_or(0) } else { 0 })
            .collect();
        let at = match (point.at_tokens, point.at_step) {
            (Some(at), _) => at,
            (None, step) => step.unwrap_or(0).saturating_mul(step_amount(recipe)?),
        };
        if points.last().is_some_and(|last| last.at >= at) {
            return Err(EpochError::Recipe(format!(
                "mix.schedule is not ascending: the point at {at} {} is not after the one before it",
                recipe.mix.unit.name()
            )));
        }
        points.push(PlannedPoint { at, shares, ramp: point.ramp });
    }
    Ok(points)
}

/// What a step counts: a batch of full rows.
fn step_amount(recipe: &Recipe) -> Result<u64, EpochError> {
    let rows = recipe.batch.as_ref().and_then(|batch| batch.rows).unwrap_or(1);
    match recipe.mix.unit {
        MixUnit::Tokens => Ok(rows.saturating_mul(capacity(recipe).into())),
        MixUnit::Rows => Ok(rows),
        MixUnit::Documents | MixUnit::LossTokens => Err(EpochError::Recipe(
            "at_step needs mix.unit = \"tokens\" or \"rows\": a step has no fixed number of documents or loss tokens"
                .to_owned(),
        )),
    }
}

/// What the sources of a plan are planned with.
pub(super) struct SourceInputs<'a> {
    pub recipe: &'a Recipe,
    pub tokenizer: TokenizerId,
    pub pinned: &'a PinnedTokenizer,
    /// Those of the passes, where each draws segmentations of its own.
    pub draws: &'a Arc<[PassTokenizer]>,
    /// Documents of the source by stored tokens, where every pass holds each of them once.
    pub known: Option<Arc<LengthHistogram>>,
    pub interrupt: &'a Interrupt,
}

/// The rows of a source that passes hold so, opened to be counted.
pub(super) fn open_source(
    corpora: &Corpora,
    inputs: &SourceInputs<'_>,
    source: &SourceRecipe,
    documents: &Arc<PinnedSource>,
    trained: &LossReader,
) -> Result<SourceRows, EpochError> {
    let specials = &inputs.pinned.specials;
    let mut sources = inputs.recipe.sources.iter();
    let at = sources.position(|of| of.name == source.name).unwrap_or_default();
    let rules = rules(inputs.recipe, (at, Some(source)), &source.name, specials, Vec::new());
    let lengths = LengthReader {
        corpora: corpora.clone(),
        tokenizer: inputs.tokenizer,
        tokenizer_name: inputs.pinned.name.as_str().into(),
        draws: Arc::clone(inputs.draws),
        overhead: rules.policy.overhead(),
        known: inputs.known.clone(),
        interrupt: inputs.interrupt.clone(),
        sharing: documents
            .sets()
            .saturating_mul(inputs.recipe.sources.len())
            .saturating_mul(inputs.draws.len().max(1)),
    };
    SourceRows::open(rules, &lengths, Arc::clone(documents), trained, OpenPurpose::Count)
}

/// What a plan says of a source whose first pass comes to `first`.
///
/// # Errors
/// [`EpochError::Empty`] when no row comes of it; [`EpochError::Store`].
pub(super) fn plan_source(
    source: &SourceRecipe,
    opened: &SourceRows,
    first: &PassCount,
) -> Result<PlannedSource, EpochError> {
    let (policy, documents) = (opened.rules().policy, opened.pinned());
    let later = opened.count_later(first)?;
    let histogram = opened.histogram(0);
    let parts = documents.strata_of(0).flat_map(|of| of.parts.segments());
    let (mut effective, mut added) = (0_u64, 0_u64);
    for (length, count) in &histogram {
        effective += u64::from(*length) * count;
        added += u64::from(policy.overhead()) * count;
    }
    for part in parts {
        effective += u64::from(part.length);
        added += u64::from(policy.bos && part.offset == 0);
        added += u64::from(policy.eos && part.end() == part.document_length);
    }
    let all = documents.documents().len();
    let partial_tokens = opened.unfilled_tokens(0);
    check_rows(source, &policy, all, first.tokens, partial_tokens)?;
    let space = u128::from(first.rows) * u128::from(policy.capacity);
    let fixed = policy.kind != PackKind::None;
    Ok(PlannedSource {
        name: source.name.clone(),
        draws_from: Vec::new(),
        documents: all,
        tokens: effective - added,
        effective_tokens: effective,
        packed_tokens: first.tokens,
        losses: PackLosses { partial_tokens, ..policy.losses(&histogram) },
        rows: first.rows,
        full_rows: first.full_rows,
        segment_full_rows: first.segment_full_rows,
        efficiency: if fixed { ratio(first.tokens.into(), space) } else { 1.0 },
        amount: first.amount,
        later_amount: later.first().map_or(0, |run| run.amount),
        later_amounts: if later.len() > 1 { later } else { Vec::new() },
        first_joined: false,
        weight: 0,
        expected: 0,
        max_repeats: source.max_repeats,
        opens: Vec::new(),
        selection: documents.digest(),
        histogram: opened.lengths_digest(),
    })
}

/// Refuses a source without rows: `tokens` of its `all` documents are in rows, `partial_tokens` do not fill one.
fn check_rows(
    source: &SourceRecipe,
    policy: &PackPolicy,
    all: u64,
    tokens: u64,
    partial_tokens: u64,
) -> Result<(), EpochError> {
    if all == 0 {
        let why =
            "its passes are over and it has no new document; raise its max_repeats, or remove it";
        let what = format!("what is left of source `{}`", source.name);
        return Err(EpochError::Empty { what, why: why.to_owned() });
    }
    if tokens == 0 && partial_tokens > 0 {
        let why = format!(
            "its {partial_tokens} tokens fill no row of {}: lower pack.length, or declare tokenizer.specials.pad with pack.options.partial = \"keep\"",
            policy.capacity
        );
        return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
    }
    if tokens == 0 {
        let why = format!(
            "all {all} are longer than a row of {} tokens and pack.long is {}",
            policy.capacity,
            long_name(policy.long)
        );
        return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
    }
    Ok(())
}
