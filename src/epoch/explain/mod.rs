//! Explains what an epoch will be, before a byte is written: rows, passes, losses, shares, steps.

mod documents;
mod labels;
mod measure;
mod padding;
mod repeats;
mod specials;
mod steps;
mod sweep;
mod text;

pub(crate) use documents::documents_of_epoch;
pub use labels::LabelGaps;
pub use measure::{MixPoint, Padding};
pub use padding::{DocumentPadding, PaddingCost};
pub use repeats::{Repeats, SourceRepeats};
pub use specials::SpecialRepeats;
pub(crate) use steps::grouping_steps;
pub use steps::{GroupingSteps, LongestRow, MegaBatch, StepBatch, StepRows};
pub(crate) use sweep::sweep_multipliers;
pub use sweep::{MultiplierCost, MultiplierSweep};

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader, PlannedSource, masks, ratio};
use crate::epoch::planning::{LeftOut, LeftOutReason, NearDrawn, is_dropped, left_out};
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan, cost};
use model::show::count;
use model::{Context, is_zero};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Batch sizes for which steps are reported.
const BATCHES: [u64; 4] = [64, 256, 512, 1024];
/// Numbers of ranks for which balance is reported, and the batches that it is measured on.
const WORLDS: [u64; 4] = [2, 4, 8, 64];
const BALANCED_BATCHES: u64 = 64;
/// Bytes of ids written a second, a cautious guess.
const BUILD_RATE: f64 = 150e6;

/// What the first epoch of a plan that has rows will be, epoch 0 unless its rows are all carried on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// The snapshot drawn from.
    pub snapshot: String,
    /// Whether it was dropped since: rows stay the same, but documents on neither side of a holdout are no longer
    /// known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub snapshot_dropped: bool,
    /// The name of the tokenizer of the plan.
    pub tokenizer: String,
    /// Tokens a row holds.
    pub capacity: u32,
    /// Size asked of one epoch, in `unit`.
    pub budget: u64,
    /// The unit in which shares and the budget are counted.
    pub unit: String,
    /// Epochs that `max_repeats` allows.
    pub epochs: u64,
    /// Which epoch this is: the first one with rows. All rows of those before it are carried to it.
    #[serde(skip_serializing_if = "is_zero")]
    pub epoch: u64,
    /// The sources, in the plan's order.
    pub sources: Vec<SourceExplanation>,
    /// Due and achieved amounts of the sources at up to 65 points of the epoch, with beginning and end; none with one
    /// source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub along: Vec<MixPoint>,
    /// Rows of the epoch.
    pub rows: u64,
    /// Real tokens of the epoch.
    pub tokens: u64,
    /// Real tokens / (rows x capacity), rows of pads included; 1 when rows have no fixed length.
    pub efficiency: f64,
    /// Share of the epoch's positions that are padding, in percent: of rows of a fixed length, or of batches
    /// whose rows are padded to their longest; 0 where rows of unequal length come in no batches.
    pub padding_percent: f64,
    /// Padding to the longest row of each batch, where rows have no fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch_padding: Option<Padding>,
    /// What padding would cost for the same documents, a row each: what packing or grouping is measured against.
    pub document_padding: DocumentPadding,
    /// Global batches of the epoch, where the recipe has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batches: Option<u64>,
    /// Rows that do not fill a batch and are left out.
    pub left_out_rows: u64,
    /// Real tokens of these rows.
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out_tokens: u64,
    /// (ranks, largest cost of a rank / mean cost), over the first batches; where costs are balanced.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub balance: Vec<(u64, f64)>,
    /// (rows of a batch, whole batches of the epoch), where the recipe has no batches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<(u64, u64)>,
    /// Stored tokens of the selected documents, each counted once, that are masked from training.
    pub untrained_tokens: u64,
    /// Stored tokens with a weight other than 1.
    pub weighted_tokens: u64,
    /// Whether masks and weights are ignored (`output.ignore_loss`).
    pub ignore_loss: bool,
    /// Rows and batches without a label, and answers that are cut; absent where every token is trained on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<LabelGaps>,
    /// Documents that have the BOS or the EOS of the recipe already, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub special_repeats: Option<SpecialRepeats>,
    /// The sources of the corpus of which several chat templates wrote the texts that are drawn (or one with several
    /// values), with how many.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mixed_templates: BTreeMap<String, u64>,
    /// Documents of the sources that are on neither side of the holdout, where there is one: lineages met in which one
    /// is trained on and another held out. Absent too where the snapshot was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided_documents: Option<u64>,
    /// Bytes of the ids as the output format writes them, pads included, before compression.
    pub id_bytes: u64,
    /// Seconds that building it takes where ids are written at 150 MB/s (docs/BENCHMARKS.md).
    pub build_seconds: f64,
    /// The recipe with every default, as TOML.
    pub recipe: String,
    /// How the first rows are grouped by length, where that is asked for: [`Corpus::grouping_steps`] makes it.
    ///
    /// [`Corpus::grouping_steps`]: crate::Corpus::grouping_steps
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grouping: Option<GroupingSteps>,
    /// What other multipliers of the mega-batch would do, where that is asked for: [`Corpus::sweep_multipliers`] makes
    /// it.
    ///
    /// [`Corpus::sweep_multipliers`]: crate::Corpus::sweep_multipliers
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<MultiplierSweep>,
}

/// What the epoch takes from a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct SourceExplanation {
    /// The name of the source.
    pub name: String,
    /// The sources of the corpus that it draws from, where the recipe has a pattern or a list of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub draws_from: Vec<String>,
    /// Documents that the recipe selects of this source.
    pub documents: u64,
    /// Stored tokens of the selected documents.
    pub tokens: u64,
    /// BOS and EOS tokens added in one pass, those at cuts with them.
    pub specials_added: u64,
    /// Rows of one pass.
    pub pass_rows: u64,
    /// Those of them with as many segments as `pack.most_segments` allows, and places left.
    #[serde(skip_serializing_if = "is_zero")]
    pub segment_full_rows: u64,
    /// Share of the rows of a pass that is real tokens.
    pub efficiency: f64,
    /// Documents left out of a pass for their length.
    pub dropped_documents: u64,
    /// Tokens of the documents left out.
    pub dropped_tokens: u64,
    /// Tokens cut off in a pass.
    pub truncated_tokens: u64,
    /// Lone end tokens left out of a pass.
    pub lone_eos: u64,
    /// Tokens at the end of a pass that do not fill a row and are left out.
    pub partial_tokens: u64,
    /// Documents that are cut and end without their EOS where they are cut, so that readers that find documents by it
    /// take two for one; 0 where no EOS is declared.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_without_eos: u64,
    /// Near duplicates of kept documents among the documents that are drawn, where the recipe has `select.per_cluster`;
    /// not known where the snapshot was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_duplicates: Option<NearDrawn>,
    /// Kept documents of its origins that the plan does not draw, by reason; not known where the snapshot was dropped.
    /// With the tokens drawn, those of near duplicates left out, they are all that there are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Rows of the epoch.
    pub rows: u64,
    /// Real tokens of the epoch.
    pub epoch_tokens: u64,
    /// Passes the epoch takes: 1.5 is one and a half.
    pub passes: f64,
    /// Tokens of the first pass that the epoch does not reach.
    pub unused_tokens: u64,
    /// What comes more than once; absent where documents are drawn with replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats: Option<SourceRepeats>,
    /// Its share of the epoch in the mix's unit, as asked.
    pub asked_share: f64,
    /// Its share of the epoch in the mix's unit, as it will be.
    pub achieved_share: f64,
}

/// Tells what epoch 0 of a plan will be; where its rows fill no batch and are carried, the first epoch that has one. Reads
/// lengths only.
///
/// # Errors
/// [`EpochError::NoRows`] when no epoch has a batch;
/// [`EpochError::Stale`] when the store is not the plan's; [`EpochError::Interrupted`];
/// [`EpochError::Store`].
pub fn explain(
    corpora: &Corpora,
    planned: &Plan,
    context: &Context<'_>,
) -> Result<Explanation, EpochError> {
    let interrupt = context.interrupt;
    let Plan { plan, pinned, .. } = planned;
    let opened = OpenPlan::open(corpora, planned, purpose(corpora, plan)?, interrupt)?;
    let sampler = BatchSampler::of(plan);
    let marks = EpochIndex::first_with_rows(&opened, &sampler, interrupt)?;
    let marks = marks.without_carried(&opened, &sampler)?;
    let unbatched = BatchCursor::count_left_out(&opened, &sampler, &marks)?;
    let left_out_tokens: u64 = unbatched.iter().map(|(_, tokens)| tokens).sum();
    let (rows, tokens) = (marks.rows + marks.pads, marks.tokens() - left_out_tokens);
    let batch_padding = measure::measure(&opened, &sampler, &marks, interrupt)?;
    let filled = FillRate::of(plan, &marks, batch_padding);
    let said = match opened.trained.any() {
        true => {
            masks::summarise_loss(corpora, opened.tokenizer, &masks::documents(pinned), |_| false)?
        }
        false => masks::LossSummary::default(),
    };
    let steps = BATCHES.iter().map(|batch| (*batch, rows / batch));
    let has_batches = sampler.has_batches();
    let left_out = left_out(corpora, planned, opened.tokenizer, context)?;
    let width = plan.recipe.output.id_type(plan.tokenizer.vocab_size).bytes();
    let mut sources = sources(&opened, &marks, left_out.sources, &unbatched)?;
    for (source, near) in sources.iter_mut().zip(left_out.near) {
        source.near_duplicates = Some(near);
    }
    let document_padding =
        padding::document_padding(&opened, &marks, &sources, filled.padding_percent);
    let id_bytes = filled.places.saturating_mul(width as u64);
    Ok(Explanation {
        plan: plan.hash_hex(),
        snapshot: plan.snapshot.name.clone(),
        snapshot_dropped: is_dropped(corpora, plan)?,
        tokenizer: plan.tokenizer.name.clone(),
        capacity: plan.capacity,
        budget: plan.budget,
        unit: plan.recipe.mix.unit.name().to_owned(),
        epochs: plan.feasible_epochs(),
        epoch: marks.epoch,
        sources,
        along: measure::points(&opened, &marks, interrupt)?,
        rows,
        tokens,
        efficiency: filled.efficiency,
        padding_percent: filled.padding_percent,
        batch_padding,
        document_padding,
        batches: has_batches.then_some(marks.batches),
        left_out_rows: marks.left_out,
        left_out_tokens,
        balance: balance(&opened, &sampler, &marks)?,
        steps: if has_batches { Vec::new() } else { steps.collect() },
        untrained_tokens: said.untrained,
        weighted_tokens: said.weighted,
        ignore_loss: plan.recipe.output.ignore_loss,
        labels: labels::label_gaps(&opened, &sampler, &marks, labels::EXPLAINED_ROWS, interrupt)?,
        special_repeats: specials::special_repeats(
            corpora,
            planned,
            opened.tokenizer,
            specials::EXPLAINED_DOCUMENTS,
            interrupt,
        )?,
        mixed_templates: corpora.mixed_templates(&masks::documents(&planned.pinned))?,
        undecided_documents: left_out.undecided,
        id_bytes,
        build_seconds: id_bytes as f64 / BUILD_RATE,
        recipe: plan.recipe.to_toml_with_defaults(),
        grouping: None,
        sweep: None,
    })
}

/// Notes for people who train on a plan, a line each: answers and labels that its first rows lose, and special tokens
/// that come twice.
pub(crate) fn plan_notes(
    corpora: &Corpora,
    planned: &Plan,
    context: &Context<'_>,
) -> Result<Vec<String>, EpochError> {
    let interrupt = context.interrupt;
    let tokenizer = corpora.tokenizer_named(&planned.plan.tokenizer.name);
    let Some((tokenizer, _)) = tokenizer.map_err(EpochError::Stale)? else {
        return Ok(Vec::new());
    };
    let mut notes = String::new();
    if let Some(least) = planned.plan.recipe.select.min_trained.filter(|least| *least > 0) {
        let sources = left_out(corpora, planned, tokenizer, context)?.sources;
        let all = sources.iter().flatten().filter(|of| of.reason == LeftOutReason::MinTrained);
        let documents = all.map(|of| of.documents).sum();
        notes += &format!(
            "{} left out, with fewer labels than {least} (select.min_trained; 0 draws all)\n",
            count(documents, "document is", "documents are")
        );
    }
    if purpose(corpora, &planned.plan)? == OpenPurpose::Give {
        let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, interrupt)?;
        let sampler = BatchSampler::of(&planned.plan);
        let marks = match opened.masked() {
            true => Some(EpochIndex::first_with_rows(&opened, &sampler, interrupt)),
            false => None,
        };
        // The error of a plan without a batch comes when it is opened.
        if let Some(Ok(marks)) = marks
            && let Some(gaps) =
                labels::label_gaps(&opened, &sampler, &marks, labels::PLANNED_ROWS, interrupt)?
        {
            notes.push_str(&gaps.to_string());
        }
    }
    let most = specials::PLANNED_DOCUMENTS;
    if let Some(doubled) = specials::special_repeats(corpora, planned, tokenizer, most, interrupt)?
    {
        notes.push_str(&doubled.to_string());
    }
    Ok(notes.lines().map(str::to_owned).collect())
}

/// The documents of a row matter where they say what is trained on.
fn purpose(corpora: &Corpora, plan: &PlanHeader) -> Result<OpenPurpose, EpochError> {
    let tokenizer = corpora.tokenizer_named(&plan.tokenizer.name).map_err(EpochError::Stale)?;
    let has_loss = match tokenizer {
        Some((tokenizer, _)) if !plan.recipe.output.ignore_loss => corpora.has_loss(tokenizer)?,
        _ => false,
    };
    Ok(if has_loss { OpenPurpose::Give } else { OpenPurpose::Count })
}

/// How evenly the first batches cost their ranks, for a few numbers of ranks.
fn balance(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    marks: &EpochIndex,
) -> Result<Vec<(u64, f64)>, EpochError> {
    let batch = opened.plan.recipe.batch.as_ref();
    let Some((linear, rows)) = batch.and_then(|batch| batch.balance.zip(batch.rows)) else {
        return Ok(Vec::new());
    };
    let worlds: Vec<u64> = WORLDS.into_iter().filter(|world| rows.is_multiple_of(*world)).collect();
    let mut worst = vec![1.0_f64; worlds.len()];
    let mut ordered = BatchCursor::at(opened, sampler, marks, 0)?;
    for number in 0..BALANCED_BATCHES {
        let Some(batch) = ordered.next_batch()? else { break };
        let costs: Vec<u128> =
            batch.rows.iter().map(|row| cost(opened, linear, row)).collect::<Result<_, _>>()?;
        let all: u128 = costs.iter().sum();
        for (world, worst) in worlds.iter().zip(&mut worst) {
            let of_rank = |rank| {
                let slice = sampler.places(number, (costs.len() as u64, 0), rank, *world);
                let costs = slice.iter().filter_map(|at| costs.get(usize::try_from(*at).ok()?));
                costs.sum::<u128>()
            };
            let largest = (0..*world).map(of_rank).max().unwrap_or(0);
            *worst = worst.max(ratio(largest * u128::from(*world), all));
        }
    }
    Ok(worlds.into_iter().zip(worst).collect())
}

/// How full the positions of an epoch are.
struct FillRate {
    /// Real tokens / positions of rows of a fixed length; else 1.
    efficiency: f64,
    padding_percent: f64,
    /// Positions that are written.
    places: u64,
}

impl FillRate {
    fn of(plan: &PlanHeader, marks: &EpochIndex, batch_padding: Option<Padding>) -> Self {
        let (rows, tokens) = (marks.rows + marks.pads, marks.tokens());
        let all = marks.end.row - marks.start.row + marks.pads;
        let places_of_rows = u128::from(all) * u128::from(plan.capacity);
        let (efficiency, places) = if plan.fixed_length() {
            (ratio(tokens.into(), places_of_rows), crate::epoch::plan::narrow(places_of_rows))
        } else {
            (1.0, tokens)
        };
        let places = match batch_padding.filter(|_| plan.pads_batches()) {
            // What was not looked at is taken to be alike.
            Some(seen) => {
                let all = u128::from(seen.positions) * u128::from(rows.max(seen.rows));
                crate::epoch::plan::narrow(all / u128::from(seen.rows.max(1)))
            }
            None => places,
        };
        // Every row repeats a token but the first one of a pass, which is not known here.
        let repeated = if plan.recipe.pack.options.overlap { u128::from(all) } else { 0 };
        let padding_percent = match (plan.fixed_length(), batch_padding) {
            (true, _) if repeated > 0 => {
                (1.0 - ratio(u128::from(tokens) + repeated, places_of_rows)).max(0.0) * 100.0
            }
            (true, _) => (1.0 - efficiency) * 100.0,
            (false, padding) => padding.map_or(0.0, |padding| padding.percent),
        };
        Self { efficiency, padding_percent, places }
    }
}

/// What the epoch takes of each source.
fn sources(
    opened: &OpenPlan,
    marks: &EpochIndex,
    left_out: Vec<Vec<LeftOut>>,
    unbatched: &[(u64, u64)],
) -> Result<Vec<SourceExplanation>, EpochError> {
    let plan = &opened.plan;
    let emitted: u64 = marks.end.total();
    let taken = marks.tokens_of().zip(marks.rows_of()).zip(&marks.end.emitted);
    let sources = plan.sources.iter().zip(taken).map(|(source, ((tokens, rows), amount))| {
        SourceExplanation {
            name: source.name.clone(),
            draws_from: source.draws_from.clone(),
            documents: source.documents,
            tokens: source.tokens,
            specials_added: specials_added(source),
            pass_rows: source.rows,
            segment_full_rows: source.segment_full_rows,
            efficiency: source.efficiency,
            dropped_documents: source.losses.dropped_documents,
            dropped_tokens: source.losses.dropped_tokens,
            truncated_tokens: source.losses.truncated_tokens,
            lone_eos: source.losses.lone_eos,
            partial_tokens: source.losses.partial_tokens,
            cut_without_eos: 0,
            near_duplicates: None,
            left_out: Vec::new(),
            rows,
            epoch_tokens: tokens,
            passes: ratio(tokens.into(), source.packed_tokens.into()),
            unused_tokens: source.packed_tokens.saturating_sub(tokens),
            repeats: None,
            asked_share: plan.asked_share(source),
            achieved_share: ratio((*amount).into(), emitted.into()),
        }
    });
    let mut sources: Vec<SourceExplanation> = sources.collect();
    for (source, rows) in sources.iter_mut().zip(&opened.sources) {
        source.cut_without_eos = rows.cut_without_eos()?;
    }
    for ((source, planned), (rows, tokens)) in sources.iter_mut().zip(&plan.sources).zip(unbatched)
    {
        source.rows -= rows;
        source.epoch_tokens -= tokens;
        source.passes = ratio(source.epoch_tokens.into(), planned.packed_tokens.into());
        source.unused_tokens = planned.packed_tokens.saturating_sub(source.epoch_tokens);
    }
    for (source, left_out) in sources.iter_mut().zip(left_out) {
        source.left_out = left_out;
    }
    let of_plan = opened.sources.iter().zip(&plan.sources);
    for (source, (rows, planned)) in sources.iter_mut().zip(of_plan) {
        source.repeats = repeats::repeats(&opened.corpora, rows, planned, source.epoch_tokens)?;
    }
    Ok(sources)
}

/// Special tokens that a pass adds: to its documents, and where these are cut.
const fn specials_added(source: &PlannedSource) -> u64 {
    let losses = &source.losses;
    let lost = losses.dropped_tokens + losses.truncated_tokens + losses.lone_eos;
    let in_rows = source.packed_tokens + lost + losses.partial_tokens;
    // The effective tokens are in rows or lost; rows have more where EOS stand at cuts.
    source.effective_tokens - source.tokens + in_rows.saturating_sub(source.effective_tokens)
}
