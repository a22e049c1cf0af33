//! Makes a plan from a recipe and a snapshot: which documents, how long, how many rows, which shares.
//!
//! `resolve` says once what names and defaults stand for (of sources: `origins`), `moment` answers for the corpora as
//! they were, `select` finds the documents of each source, `clusters` near duplicates beside them, and `suites` keeps
//! suites out; `strata` puts them in classes
//! for a curriculum, `pin` makes passes of them, `shares` counts their rows and sets what each source gives, `limits`
//! refuses rows without room and epochs without a batch, `labels` finds documents without enough labels, and `left_out`
//! accounts for what is not drawn.

mod clusters;
mod labels;
mod left_out;
mod limits;
mod moment;
mod origins;
mod pin;
mod resolve;
mod select;
mod shares;
mod strata;
mod suites;

pub use left_out::{LeftOut, NearDrawn, is_dropped, left_out, removed_since, undecided};
pub use pin::TokenAligner;
pub use resolve::unencoded_members;
pub use select::LeftOutReason;

use crate::corpus::Corpora;
use crate::epoch::coverage::{PassRun, PinnedSource};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::LossReader;
use crate::epoch::pacing;
use crate::epoch::pacing::Pace;
use crate::epoch::pack::EffectiveSequence;
use crate::epoch::plan::{
    PinnedSnapshot, Plan, PlanHeader, PlannedSource, capacity, masks, pinned_shards,
};
use crate::epoch::recipe::{Curriculum, CurriculumPacing, Recipe, SourceRecipe};
use crate::epoch::rows::SourceRows;
use crate::epoch::run::{OwedPasses, Remainder};
use model::{Context, Interrupt};
use moment::PlanMoment;
use pin::PassBuilder;
use resolve::{Resolution, SourceSelections, resolve};
use roaring::RoaringTreemap;
use shares::{SourceInputs, open_source, plan_source};
use std::sync::Arc;

/// What a plan is computed against.
#[derive(Clone, Copy)]
pub struct PlanInputs<'a> {
    /// The corpora.
    pub corpora: &'a Corpora,
    /// The moment drawn from.
    pub moment: &'a PlanMoment,
    /// What was kept then.
    pub kept: &'a RoaringTreemap,
    /// Where each token of a text ends; needed to cut at paragraphs.
    pub ends: Option<&'a dyn TokenAligner>,
    /// Asked before each block of lengths is read.
    pub interrupt: &'a Interrupt,
}

/// Computes the plan of `recipe`. Reads bitmaps and length columns only, besides what `order.curriculum`
/// and `long = "paragraph"` need.
///
/// # Errors
/// [`EpochError::Unknown`] for names that do not exist, [`EpochError::Empty`],
/// [`EpochError::NotEncoded`], [`EpochError::Infeasible`], [`EpochError::PadNeeded`],
/// [`EpochError::Select`] for a `where` that is wrong, [`EpochError::Store`].
pub fn plan(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    context: &Context<'_>,
) -> Result<Plan, EpochError> {
    plan_from(against, resolve(against, recipe, None, context)?, None, context)
}

/// The plan that an extension continues from, and how much of it is consumed.
#[derive(Clone, Copy)]
pub struct PlanExtension<'a> {
    /// The plan that it extends, behind those which that one went on from, the first one first.
    pub chain: &'a [Plan],
    /// Rows of the run of the last plan that are consumed.
    pub next_row: u64,
    /// Whether the recipe is that of the last plan, whose `max_repeats` are what was left when it was made.
    pub inherits: bool,
}

/// Computes a plan that continues from the last plan of a chain after some rows of its run: the documents it has left
/// in its passes under way, and those whose passes are not used up.
///
/// # Errors
/// As [`plan`]; [`EpochError::Recipe`] when a run of the chain is not that long.
pub fn extend(
    against: &PlanInputs<'_>,
    rest: &PlanExtension<'_>,
    recipe: &Recipe,
    context: &Context<'_>,
) -> Result<Plan, EpochError> {
    let PlanExtension { chain, next_row, inherits } = *rest;
    let Some(parent) = chain.last() else {
        return Err(EpochError::bug("the extension of an unknown plan"));
    };
    if recipe.tokenizer.segmentation.is_some() || !parent.plan.tokenizer.draws.is_empty() {
        return Err(EpochError::Recipe(
            "tokenizer.segmentation draws other tokens in each pass, so what a plan has left of a pass is not what another plan's passes hold: such a plan is neither extended nor extends one; plan the recipe by itself"
                .to_owned(),
        ));
    }
    let drawn = inherits.then(|| parent.documents());
    let resolution = resolve(against, recipe, drawn.as_ref(), context)?;
    let (before, tokenizer) = (&parent.plan.tokenizer, &resolution.pinned_tokenizer);
    if tokenizer.hash != before.hash {
        return Err(EpochError::Recipe(format!(
            "the extended plan uses tokenizer `{}`, this recipe `{}`: their ids do not mix; name `{}`, or plan the recipe by itself",
            before.name, tokenizer.name, before.name
        )));
    }
    let remainder = Remainder::of_chain(against.corpora, chain, next_row, context)?;
    plan_from(against, resolution, Some((remainder, inherits)), context)
}

/// Makes a plan, as [`plan`] does, from what a chain of plans has left and what is new; says whether the recipe is
/// that of the last plan.
fn plan_from(
    against: &PlanInputs<'_>,
    resolution: Resolution,
    remainder: Option<(Remainder, bool)>,
    context: &Context<'_>,
) -> Result<Plan, EpochError> {
    let corpora = against.corpora;
    let Resolution { recipe, tokenizer, pinned_tokenizer, draws, sources: selected } = resolution;
    let SourceSelections { selections, mut counted, mut draws_from, .. } = selected;
    let trained =
        LossReader::of(corpora, tokenizer, (pinned_tokenizer.specials, recipe.pack.cut_eos))?;
    let builder =
        PassBuilder::new(against, &recipe, tokenizer, &pinned_tokenizer, &selections, context)?;
    let remainder = remainder.map(|(remainder, inherits)| {
        (remainder.convert(EffectiveSequence::of(&pinned_tokenizer.specials)), inherits)
    });

    context.progress.begin("lengths", Some(selections.len() as u64));
    let (mut sources, mut opened, mut pinned) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = Vec::new();
    for (at, (_, selection)) in selections.iter().enumerate() {
        context.interrupt.check()?;
        let Some(of) = recipe.sources.get(at) else { continue };
        let whole = builder.repeated(selection);
        let (owed, max_repeats) = match &remainder {
            Some((remainder, inherits)) => {
                let inherited = remainder.inherited_repeats(&of.name).filter(|_| *inherits);
                let max_repeats = inherited.unwrap_or(of.max_repeats);
                (remainder.owed(selection, &whole, max_repeats), max_repeats)
            }
            None => (OwedPasses::of_new(&whole, of.max_repeats), of.max_repeats),
        };
        let known = counted.remove(&of.name).flatten();
        let (name, is_extension) = (of.name.clone(), remainder.is_some());
        let interrupt = context.interrupt;
        let inputs = SourceInputs {
            recipe: &recipe,
            tokenizer,
            pinned: &pinned_tokenizer,
            draws: &draws,
            known,
            interrupt,
        };
        let passes = SourcePasses { builder: &builder, selection, owed: &owed, is_extension };
        let (mut source, documents, rows) = plan_passes(corpora, &inputs, &passes, at, &trained)?;
        source.draws_from = draws_from.remove(&name).unwrap_or_default();
        before.push(max_repeats.saturating_sub(source.max_repeats));
        sources.push(source);
        opened.push(rows);
        pinned.push(documents);
        context.progress.advance(sources.len() as u64);
    }
    let commit = against.moment.commits().next().unwrap_or_default();
    let drawn = pinned_shards(corpora, against.moment.commits(), &pinned)?;
    let recipe = recipe.with_passes(sources.iter().map(|source| source.max_repeats));
    let (budget, schedule) = shares::set(&recipe, &mut sources)?;
    let mut plan = PlanHeader {
        version: PlanHeader::VERSION,
        capacity: capacity(&recipe),
        snapshot: PinnedSnapshot { name: against.moment.name.clone(), commit },
        shards: drawn,
        tokenizer: pinned_tokenizer,
        parent: remainder.map(|(remainder, _)| remainder.parent),
        budget,
        schedule,
        sources,
        recipe,
    };
    if let Some(curriculum) = plan.recipe.order.curriculum.clone() {
        set_pacing(&mut plan, &curriculum, &opened)?;
    }
    plan.check_first_epoch(&before)?;
    limits::check_padding(&plan)?;
    limits::check_window(&plan, context.memory)?;
    masks::check(corpora, tokenizer, &plan, &pinned)?;
    let planned = Plan::unstored(plan, pinned);
    limits::check_rows(corpora, &planned, context.interrupt)?;
    Ok(planned)
}

/// What the passes of a source are made from.
struct SourcePasses<'a> {
    builder: &'a PassBuilder<'a>,
    selection: &'a RoaringTreemap,
    owed: &'a OwedPasses,
    is_extension: bool,
}

/// Plans and counts the passes of source `at` of a recipe. The rest of passes under way is joined to the next pass
/// where it counts nothing by itself: no epoch would ever take it.
fn plan_passes(
    corpora: &Corpora,
    inputs: &SourceInputs<'_>,
    passes: &SourcePasses<'_>,
    at: usize,
    trained: &LossReader,
) -> Result<(PlannedSource, Arc<PinnedSource>, SourceRows), EpochError> {
    let SourcePasses { builder, selection, owed, is_extension } = *passes;
    let source = inputs.recipe.sources.get(at);
    let source = source.ok_or_else(|| EpochError::bug("passes of a source that is not there"))?;
    for joined in [false, true] {
        let source =
            SourceRecipe { max_repeats: owed.passes() - u32::from(joined), ..source.clone() };
        let documents = builder.source(inputs.recipe, &source, selection, owed, joined)?;
        let documents = Arc::new(documents);
        if !is_extension && documents.documents().is_empty() {
            let why = format!("select.repeat is 0 for each of its {} documents", selection.len());
            return Err(EpochError::Empty { what: format!("source `{}`", source.name), why });
        }
        // Most sources are planned so: one stratum of the selection as it is, however often it comes.
        let whole = |run: &PassRun| {
            let is_one = matches!(run.coverage.whole.layers(), [only] if only == selection);
            is_one && run.coverage.parts.is_empty()
        };
        let is_whole = documents.strata.len() == 1
            && documents.strata.iter().flat_map(|stratum| &stratum.runs).all(whole);
        let known = inputs.known.clone().filter(|_| is_whole);
        let inputs = SourceInputs { known, ..*inputs };
        let rows = open_source(corpora, &inputs, &source, &documents, trained)?;
        let first = rows.count_first()?;
        if first.amount == 0 && !owed.left.is_empty() && !joined && owed.passes() > 1 {
            continue;
        }
        let planned = plan_source(&source, &rows, &first)?;
        if planned.amount == 0 && is_extension {
            return Err(EpochError::Empty {
                what: format!("what is left of source `{}`", source.name),
                why: format!(
                    "its {} tokens count no {}: give mix.unit = \"tokens\", raise its max_repeats, or remove it",
                    planned.packed_tokens,
                    inputs.recipe.mix.unit.name()
                ),
            });
        }
        let planned = PlannedSource { first_joined: joined, ..planned };
        return Ok((planned, documents, rows));
    }
    Err(EpochError::bug("a joined pass that counts nothing"))
}

/// Sets the times at which strata open. A source is paced over what one epoch takes of it, or over a
/// pass where that is less.
fn set_pacing(
    plan: &mut PlanHeader,
    curriculum: &Curriculum,
    opened: &[SourceRows],
) -> Result<(), EpochError> {
    for (source, rows) in plan.sources.iter_mut().zip(opened) {
        let mut opens_of = Vec::new();
        for run in 0..rows.runs() {
            let amounts = rows.amounts(run);
            let whole: u64 = amounts.iter().sum();
            let taken = u128::from(whole) * u128::from(source.expected);
            let taken = crate::epoch::plan::narrow(taken / u128::from(source.amount.max(1)));
            let horizon = taken.clamp(1, whole.max(1));
            let pace = Pace { pacing: pacing(curriculum), c0: curriculum.c0 };
            let paced = match curriculum.replace {
                true => Ok(()),
                false => pace.check(&amounts, horizon),
            };
            let times = paced.and_then(|()| pace.opens(&amounts, horizon)).map_err(|why| {
                EpochError::Recipe(format!("order.curriculum of source `{}`: {why}", source.name))
            })?;
            opens_of.push(times);
        }
        source.opens = opens_of;
    }
    Ok(())
}

const fn pacing(curriculum: &Curriculum) -> pacing::Pacing {
    match curriculum.pacing {
        CurriculumPacing::Linear => pacing::Pacing::Linear,
        CurriculumPacing::Sqrt => pacing::Pacing::Sqrt,
        CurriculumPacing::RootP => pacing::Pacing::Root(curriculum.root),
        CurriculumPacing::Exp => pacing::Pacing::Exp,
        CurriculumPacing::Step => pacing::Pacing::Step(curriculum.steps),
    }
}
