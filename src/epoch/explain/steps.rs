//! Shows how the first rows of an epoch are grouped by length, step by step: permuted, cut into mega-batches, each of
//! these sorted, the longest of all moved to the front, cut into batches.
//!
//! The steps are taken from the code that gives the rows: the sampler of the batches, or the reproduced sampler.

use super::measure::PaddingSum;
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader};
use crate::epoch::recipe::OrderKind;
use crate::epoch::rows::{OpenPurpose, RowRef, SourceRows};
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan, RunCursor};
use crate::epoch::torch::OrderStep;
use model::show::{count, number};
use model::{Error, Interrupt};
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Mega-batches that are shown, at most, and rows of each.
const MEGA_BATCHES: u64 = 64;
const LISTED: usize = 4096;
/// Columns of the text, and lines of a step.
const COLUMNS: usize = 80;
const LINES: usize = 16;

/// How the first rows of an epoch are grouped by length, step by step. Lists end after 4,096 rows of a mega-batch or
/// batch, and batches with as many rows as are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct GroupingSteps {
    /// The seed of torch's generator, where the order of transformers is reproduced: that of the recipe + the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator_seed: Option<u64>,
    /// Rows of a mega-batch.
    pub mega_batch_rows: u64,
    /// The first mega-batches; end to end, the rows of their first step are the permutation.
    pub mega_batches: Vec<MegaBatch>,
    /// The longest row of all, where it is moved to the front.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<LongestRow>,
    /// The batches that these mega-batches give, in order.
    pub batches: Vec<StepBatch>,
}

/// The rows of a mega-batch after each step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MegaBatch {
    /// How many rows it has.
    pub rows: u64,
    /// As they come: permuted.
    pub permuted: StepRows,
    /// Sorted by length, longest first; or by classes of lengths.
    pub sorted: StepRows,
    /// With the longest row of all at the very front, where it is moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_first: Option<StepRows>,
}

/// Rows in an order: each is a document, or a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StepRows {
    /// The document of each row.
    pub documents: Vec<u64>,
    /// The tokens of each row.
    pub tokens: Vec<u32>,
    /// The first token of each row within its document, where any row begins within one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub offsets: Vec<u32>,
}

/// The longest row of an epoch, which changes places with the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LongestRow {
    /// Its document.
    pub document: u64,
    /// Its tokens.
    pub tokens: u32,
    /// The mega-batch in which it was, from 0 on.
    pub mega_batch: u64,
}

/// A batch, padded to its longest row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StepBatch {
    /// Its number in the epoch, from 0 on.
    pub number: u64,
    /// Its rows, without rows of pads.
    pub rows: StepRows,
    /// Its rows, those of pads too, times the places of the longest.
    pub places: u64,
    /// Places that hold pads.
    pub pads: u64,
}

/// The steps of the first `mega_batches` mega-batches of the epoch that [`super::explain`] explains.
///
/// # Errors
/// [`EpochError::Recipe`] where rows are not grouped by length; no mega-batch, or more than 64; as [`super::explain`].
pub fn grouping_steps(
    corpora: &Corpora,
    planned: &Plan,
    mega_batches: u64,
    interrupt: &Interrupt,
) -> Result<GroupingSteps, EpochError> {
    if !(1..=MEGA_BATCHES).contains(&mega_batches) {
        let message = format!(
            "`steps=` is {mega_batches}; give a number of mega-batches from 1 to {MEGA_BATCHES}"
        );
        return Err(Error::bad_input(message).into());
    }
    refuse_ungrouped(&planned.plan, "steps")?;
    let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, interrupt)?;
    let sampler = BatchSampler::of(&planned.plan);
    let marks = EpochIndex::first_with_rows(&opened, &sampler, interrupt)?;
    let mut steps = match opened.is_listed() {
        true => reproduced(&opened, &marks, mega_batches)?,
        false => sampled(&opened, &sampler, &marks, mega_batches, interrupt)?,
    };
    let most: u64 = steps.mega_batches.iter().map(|mega| mega.rows.min(LISTED as u64)).sum();
    let (mut given, mut cursor) = (0, BatchCursor::at(&opened, &sampler, &marks, 0)?);
    while given < most {
        interrupt.check()?;
        let number = cursor.next_number();
        let Some(batch) = cursor.next_batch()? else { break };
        given += batch.rows.len() as u64;
        let tokens = batch.rows.iter().map(|row| row.tokens);
        let real: u64 = tokens.clone().map(u64::from).sum();
        let places = PaddingSum::default().add(&opened.plan, tokens, batch.pads);
        let rows = StepRows::of(&opened, batch.rows.iter().take(LISTED))?;
        steps.batches.push(StepBatch { number, rows, places, pads: places.saturating_sub(real) });
    }
    Ok(steps)
}

/// Refuses `what`, an option, for a recipe that does not group rows by length.
pub(super) fn refuse_ungrouped(plan: &PlanHeader, what: &str) -> Result<(), EpochError> {
    match plan.recipe.order.kind {
        OrderKind::LengthGrouped => Ok(()),
        _ => Err(EpochError::Recipe(format!(
            "`{what}=` is about rows that are grouped by length, and this recipe does not group them; it needs order.kind = \"length-grouped\", with pack.kind = \"none\" and [batch]"
        ))),
    }
}

/// The steps of the reproduced sampler, as it takes them.
fn reproduced(
    opened: &OpenPlan,
    marks: &EpochIndex,
    mega_batches: u64,
) -> Result<GroupingSteps, EpochError> {
    let (Some(source), Some(at)) = (opened.sources.first(), marks.start.sources.first()) else {
        return Err(EpochError::bug("a sampler is reproduced for no source"));
    };
    let pass = at.pass;
    let (mut size, mut all, mut moved) = (1, 0, None);
    let mut orders: Vec<Vec<Vec<u64>>> = Vec::new();
    source.show_order(pass, &mut |step| {
        let order = match step {
            OrderStep::Permuted { order, mega_batch } => {
                let order = order();
                (size, all) = (mega_batch, order.len());
                order
            }
            OrderStep::Sorted(order) => order(),
            OrderStep::LongestFirst { order, from } => {
                let order = order();
                moved = order.first().map(|index| (*index, from / size));
                order
            }
        };
        let shown = usize::try_from(mega_batches).unwrap_or(usize::MAX);
        let heads = order.chunks(size).take(shown).map(|mega| mega.iter().take(LISTED).copied());
        orders.push(heads.map(Iterator::collect).collect());
    })?;
    let mut steps = GroupingSteps {
        generator_seed: Some(source.rules().exact_seed(pass)),
        mega_batch_rows: size as u64,
        mega_batches: Vec::new(),
        longest: None,
        batches: Vec::new(),
    };
    let rows_of = |order: &[u64]| listed_rows(opened, source, pass, order);
    if let Some((index, mega_batch)) = moved {
        let StepRows { documents, tokens, .. } = rows_of(&[index])?;
        let row = documents.first().zip(tokens.first());
        steps.longest = row.map(|(document, tokens)| LongestRow {
            document: *document,
            tokens: *tokens,
            mega_batch: mega_batch as u64,
        });
    }
    let mut orders = orders.into_iter();
    let mut next = || orders.next().unwrap_or_default();
    let (permuted, sorted, longest) = (next(), next(), next());
    for (at, ((permuted, sorted), longest)) in
        permuted.iter().zip(&sorted).zip(&longest).enumerate()
    {
        steps.mega_batches.push(MegaBatch {
            rows: size.min(all.saturating_sub(at.saturating_mul(size))) as u64,
            permuted: rows_of(permuted)?,
            sorted: rows_of(sorted)?,
            longest_first: Some(rows_of(longest)?),
        });
    }
    Ok(steps)
}

/// The rows of the indices that another sampler's order has.
fn listed_rows(
    opened: &OpenPlan,
    source: &SourceRows,
    pass: u32,
    order: &[u64],
) -> Result<StepRows, EpochError> {
    let rows = order.iter().map(|index| source.listed_row(pass, *index));
    StepRows::of(opened, rows.collect::<Result<Vec<_>, _>>()?.iter())
}

/// The steps of the sampler of the batches.
fn sampled(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    marks: &EpochIndex,
    mega_batches: u64,
    interrupt: &Interrupt,
) -> Result<GroupingSteps, EpochError> {
    let mut steps = GroupingSteps {
        generator_seed: None,
        mega_batch_rows: sampler.window,
        mega_batches: Vec::new(),
        longest: None,
        batches: Vec::new(),
    };
    let mut cursor = RunCursor::at(opened, &marks.start)?;
    let until = marks.last_run_row(sampler);
    while cursor.row() < until && (steps.mega_batches.len() as u64) < mega_batches {
        interrupt.check()?;
        let mut rows = Vec::new();
        while cursor.row() < until && (rows.len() as u64) < sampler.window {
            rows.push(cursor.next_row()?);
        }
        let permuted = StepRows::of(opened, rows.iter().take(LISTED))?;
        sampler.sort(&mut rows, |row| row.tokens);
        steps.mega_batches.push(MegaBatch {
            rows: rows.len() as u64,
            permuted,
            sorted: StepRows::of(opened, rows.iter().take(LISTED))?,
            longest_first: None,
        });
    }
    // A mega-batch of the whole epoch has its rows, not as many as it could have.
    let largest = steps.mega_batches.iter().map(|mega| mega.rows).max().unwrap_or(0);
    if steps.mega_batches.len() < 2 {
        steps.mega_batch_rows = sampler.window.min(largest.max(1));
    }
    Ok(steps)
}

impl StepRows {
    /// Rows of one document each.
    fn of<'a>(
        opened: &OpenPlan,
        rows: impl Iterator<Item = &'a RowRef>,
    ) -> Result<Self, EpochError> {
        let mut found = Self::default();
        for row in rows {
            let segments = opened.source(row)?.segments(row)?;
            let [segment] = segments.as_slice() else {
                return Err(EpochError::bug(
                    "a row that is grouped by length has several documents",
                ));
            };
            found.documents.push(segment.document.0);
            found.offsets.push(segment.offset);
            found.tokens.push(row.tokens);
        }
        if found.offsets.iter().all(|offset| *offset == 0) {
            found.offsets.clear();
        }
        Ok(found)
    }

    /// Each row as document:tokens, after one another in a line that begins with `head`, as many as it has columns for.
    fn line(&self, head: &str) -> String {
        let mut line = head.to_owned();
        let rows = self.documents.iter().zip(&self.tokens).enumerate();
        for (at, (document, tokens)) in rows {
            let shown = match self.offsets.get(at) {
                None | Some(0) => format!(" {document}:{tokens}"),
                Some(offset) => format!(" {document}+{offset}:{tokens}"),
            };
            let is_last = at + 1 == self.documents.len();
            let room = if is_last { COLUMNS } else { COLUMNS - 3 };
            if line.len() + shown.len() > room {
                line.push_str(" ..");
                break;
            }
            line.push_str(&shown);
        }
        line
    }
}

impl fmt::Display for GroupingSteps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = count(self.mega_batch_rows, "row", "rows");
        match self.generator_seed {
            Some(seed) => {
                writeln!(f, "grouped by length as transformers does, generator seed {seed}")
            }
            None => writeln!(f, "grouped by length"),
        }?;
        writeln!(f, "1 permuted (document:tokens)")?;
        let mut permuted = StepRows::default();
        for mega in self.mega_batches.iter().map(|mega| &mega.permuted) {
            // Where any row begins within its document, all have an offset.
            permuted.offsets.resize(permuted.documents.len(), 0);
            permuted.offsets.extend(&mega.offsets);
            permuted.documents.extend(&mega.documents);
            permuted.tokens.extend(&mega.tokens);
        }
        writeln!(f, "{}", permuted.line(" "))?;
        writeln!(f, "2 cut into mega-batches of {rows}")?;
        self.write_mega_batches(f, |mega| Some(&mega.permuted))?;
        writeln!(f, "3 sorted in each, longest first")?;
        self.write_mega_batches(f, |mega| Some(&mega.sorted))?;
        match &self.longest {
            None => writeln!(f, "4 the longest of all stays in its mega-batch")?,
            Some(LongestRow { document, tokens, mega_batch }) => {
                let from = match mega_batch {
                    0 => "it is there already".to_owned(),
                    at => format!("from mega-batch {}", number(*at)),
                };
                writeln!(f, "4 the longest of all to the front: {document}:{tokens}, {from}")?;
                if *mega_batch > 0 {
                    self.write_mega_batches(f, |mega| mega.longest_first.as_ref())?;
                }
            }
        }
        write!(f, "5 batches, padded to the longest row of each")?;
        for batch in self.batches.iter().take(LINES) {
            let places = count(batch.places, "place", "places");
            let pads = count(batch.pads, "pad", "pads");
            let head = format!("  batch {}: {places}, {pads} ", batch.number);
            write!(f, "\n{}", batch.rows.line(&head))?;
        }
        write_more(f, self.batches.len())
    }
}

impl GroupingSteps {
    /// The rows of each mega-batch after a step, a line each.
    fn write_mega_batches(
        &self,
        f: &mut fmt::Formatter<'_>,
        rows: impl Fn(&MegaBatch) -> Option<&StepRows>,
    ) -> fmt::Result {
        let lines = self.mega_batches.iter().filter_map(rows).enumerate().take(LINES);
        for (at, rows) in lines {
            writeln!(f, "{}", rows.line(&format!("  mega-batch {at} ")))?;
        }
        match self.mega_batches.len().saturating_sub(LINES) {
            0 => Ok(()),
            more => writeln!(f, "  .. {more} more"),
        }
    }
}

/// Says that there are more lines than are written.
fn write_more(f: &mut fmt::Formatter<'_>, all: usize) -> fmt::Result {
    match all.saturating_sub(LINES) {
        0 => Ok(()),
        more => write!(f, "\n  .. {more} more"),
    }
}
