//! Computes what a chain of plans has left after some rows, and how many passes each document has had.
//!
//! Left are, of the passes under way, the documents not given and the rest of those given in part. Given are the rows
//! of batches, in their order; they are replayed from the last epoch that begins before every pass under way. Rows that
//! no batch took were never given. Passes are counted by document, not by the name of a source, so that sources may be
//! renamed, come, go and grow.

use super::batch_cursor::BatchCursor;
use super::batches::BatchSampler;
use super::cursor::RunPosition;
use super::index::EpochIndex;
use super::open::OpenPlan;
use crate::corpus::Corpora;
use crate::epoch::coverage::{Coverage, CoverageCollector, CoverageExcess, DocumentPasses};
use crate::epoch::error::EpochError;
use crate::epoch::pack::EffectiveSequence;
use crate::epoch::plan::{ParentPlan, Plan};
use crate::epoch::rows::{OpenPurpose, SourceRows};
use model::{Context, Interrupt};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What is left of a chain of plans.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct Remainder {
    /// The last plan, and the rows of its run that are given.
    pub parent: ParentPlan,
    /// What the passes under way have not given.
    left: Coverage,
    /// Passes that each document has had or has begun.
    passes: DocumentPasses,
    /// Documents of sources that have a pass under way or to come.
    open: RoaringTreemap,
    /// By source of the last plan: passes over its documents in the whole chain, at most.
    max_repeats: BTreeMap<String, u32>,
    /// What the segments of `left` are parts of.
    sequence: EffectiveSequence,
}

/// The passes that the documents of a source still have.
#[derive(Clone, Debug, Default)]
pub(in crate::epoch) struct OwedPasses {
    /// What is left of passes under way.
    pub left: Coverage,
    /// Documents that the first pass holds whole.
    pub first: RoaringTreemap,
    /// By number of passes after the first: the documents that have as many, ascending.
    pub later: BTreeMap<u32, RoaringTreemap>,
    /// Whether no pass is under way or to come in the plan before: a pass begins, and further ones hold the same.
    pub is_renewed: bool,
}

impl OwedPasses {
    /// What a plan owes of documents that no plan before it had.
    pub fn of_new(documents: &RoaringTreemap, max_repeats: u32) -> Self {
        let later = BTreeMap::from([(max_repeats.saturating_sub(1), documents.clone())]);
        Self { left: Coverage::default(), first: documents.clone(), later, is_renewed: true }
    }

    /// Passes, the first among them.
    pub fn passes(&self) -> u32 {
        1 + self.later.last_key_value().map_or(0, |(later, _)| *later)
    }

    /// The passes after the first in runs that hold the same: how many, and the documents that they hold.
    pub fn later_runs(&self) -> Vec<(u32, RoaringTreemap)> {
        let mut runs = Vec::new();
        let mut before = 0;
        for end in self.later.keys().filter(|end| **end > 0) {
            let of = self.later.range(end..).map(|(_, of)| of);
            let documents = of.fold(RoaringTreemap::new(), |all, of| all | of);
            runs.push((end - before, documents));
            before = *end;
        }
        runs
    }
}

impl Remainder {
    /// What is left of a chain of plans, the first one first, after `next_row` rows of the run of the last one.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when a run of the chain is not that long, its row was never given, or a curriculum with
    /// replacement has no remainder; [`EpochError::Interrupted`]; [`EpochError::Store`].
    pub fn of_chain(
        corpora: &Corpora,
        chain: &[Plan],
        next_row: u64,
        context: &Context<'_>,
    ) -> Result<Self, EpochError> {
        for planned in chain {
            refuse_replacement(planned)?;
        }
        context.progress.begin("remainder", Some(chain.len() as u64));
        let mut remainder: Option<Self> = None;
        for (at, planned) in chain.iter().enumerate() {
            context.interrupt.check()?;
            // A plan is given as far as the one after it says.
            let parent = chain.get(at + 1).and_then(|next| next.plan.parent.as_ref());
            let row = parent.map_or(next_row, |parent| parent.next_row);
            let opened = OpenPlan::open(corpora, planned, OpenPurpose::Give, context.interrupt)?;
            remainder = Some(Self::after_parent(remainder, &opened, row, context.interrupt)?);
            context.progress.advance(at as u64 + 1);
        }
        remainder.ok_or_else(|| EpochError::bug("the extension of an unknown plan"))
    }

    fn after_parent(
        before: Option<Self>,
        opened: &Arc<OpenPlan>,
        next_row: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let given = given(opened, next_row, interrupt)?;
        let sequence = EffectiveSequence::of(&opened.plan.tokenizer.specials);
        let parent = ParentPlan { plan: opened.plan.hash_hex(), next_row };
        let mut now = Self {
            parent,
            left: Coverage::default(),
            passes: DocumentPasses::default(),
            open: RoaringTreemap::new(),
            max_repeats: BTreeMap::new(),
            sequence,
        };
        if let Some(before) = before {
            now.left = before.left.convert(before.sequence, sequence);
            now.passes = before.passes;
            now.open = before.open;
        }
        // What was left before decides how the passes of every source count.
        let (under_way, mut firsts) = (now.left.documents(), Vec::new());
        for (source, planned) in opened.sources.iter().zip(&opened.plan.sources) {
            let first = FirstPass::of(source, planned.first_joined, &now.passes, &under_way);
            now.max_repeats.insert(source.rules().name.to_string(), first.max_repeats);
            firsts.push(first);
        }
        for ((source, given), first) in opened.sources.iter().zip(given).zip(firsts) {
            now.add(source, &first, given, interrupt)?;
        }
        Ok(now)
    }

    /// Counts what a source has given.
    fn add(
        &mut self,
        source: &Arc<SourceRows>,
        first: &FirstPass,
        given: GivenPasses,
        interrupt: &Interrupt,
    ) -> Result<(), EpochError> {
        let documents = source.pinned().documents();
        let passes = given.begun();
        self.open -= &documents;
        if passes == 0 {
            // All is as it was before this plan.
            self.open |= documents;
            return Ok(());
        }
        for (pass, times) in source.by_run(0, passes) {
            let of = source.pinned().pass(pass).documents();
            let mut times = times;
            if pass == 0 {
                // The first run may be of several passes.
                self.passes.add(&(&of - &first.going_on), 1);
                self.passes.add(&first.twice, 1);
                times -= 1;
            }
            if times > 0 {
                self.passes.add(&of, times);
            }
        }
        let mut left = self.left.without(&documents);
        let mut is_open = passes < source.rules().max_repeats;
        let mut collected = given.collected;
        // Rows of a window are put in order together: a pass may have given none where the next one has.
        for pass in given.first..passes {
            interrupt.check()?;
            let collected = collected.remove(&pass).unwrap_or_default();
            let is_last = pass + 1 == passes;
            if let Some(rest) = rest_of_pass(source, pass, &collected, is_last)? {
                is_open = true;
                left.add(&rest);
            }
        }
        if is_open {
            self.open |= documents;
        }
        self.left = left;
        Ok(())
    }

    /// The passes that the documents of a source still have, `selected` now and `whole` where they come at all, when each
    /// has `max_repeats` passes in the whole chain.
    pub fn owed(
        &self,
        selected: &RoaringTreemap,
        whole: &RoaringTreemap,
        max_repeats: u32,
    ) -> OwedPasses {
        let beyond = self.passes.more_than(max_repeats);
        let left = self.left.only(&(selected - beyond));
        let is_under_way = !left.is_empty();
        let known = &self.passes.documents() & selected;
        let is_renewed = !known.is_empty() && self.open.is_disjoint(selected);
        let mut owed = OwedPasses { left, is_renewed, ..OwedPasses::default() };
        for (had, documents) in self.passes.levels(whole) {
            let is_first = if is_under_way { had == 0 } else { had < max_repeats };
            // Passes had once the first one is over.
            let had = if is_under_way { had.max(1) } else { had.saturating_add(1) };
            if is_first {
                owed.first |= &documents;
            }
            if let Some(later) = max_repeats.checked_sub(had).filter(|later| *later > 0) {
                *owed.later.entry(later).or_default() |= documents;
            }
        }
        owed
    }

    /// Passes over the documents of a source of the last plan that its recipe allows in the whole chain.
    pub fn inherited_repeats(&self, name: &str) -> Option<u32> {
        self.max_repeats.get(name).copied()
    }

    /// This remainder for a sequence whose documents have other special tokens.
    #[must_use]
    pub fn convert(self, to: EffectiveSequence) -> Self {
        Self { left: self.left.convert(self.sequence, to), sequence: to, ..self }
    }
}

/// Refuses a plan whose documents are drawn with replacement, before anything is walked.
fn refuse_replacement(planned: &Plan) -> Result<(), EpochError> {
    let curriculum = planned.plan.recipe.order.curriculum.as_ref();
    if curriculum.is_some_and(|curriculum| curriculum.replace) {
        return Err(EpochError::Recipe(
            "a curriculum with replacement has no remainder: any of its documents may come at any time; plan the recipe by itself".to_owned(),
        ));
    }
    Ok(())
}

/// How the first pass of a source counts for its documents.
struct FirstPass {
    /// Documents whose pass was under way before and goes on.
    going_on: RoaringTreemap,
    /// Documents that have two passes in the first pass: those that begin anew, where the rest is joined to the next
    /// pass.
    twice: RoaringTreemap,
    /// Passes over the documents of the source in the whole chain, at most: its plan has as many as the document with
    /// the fewest passes before it has left, the one that was under way among them.
    max_repeats: u32,
}

impl FirstPass {
    /// The remainder of a plan's source, where documents had these `passes` before and some were `under_way`.
    fn of(
        source: &SourceRows,
        joined: bool,
        passes: &DocumentPasses,
        under_way: &RoaringTreemap,
    ) -> Self {
        let documents = source.pinned().pass(0).documents();
        let going_on = under_way & &documents;
        let fewest = passes.levels(&source.pinned().documents());
        let fewest = fewest.first().map_or(0, |(had, _)| *had);
        let in_plan = source.rules().max_repeats;
        if !joined {
            let after_first =
                if going_on.is_empty() { fewest.saturating_add(1) } else { fewest.max(1) };
            let max_repeats = (in_plan - 1).saturating_add(after_first);
            return Self { going_on, twice: RoaringTreemap::new(), max_repeats };
        }
        // A pass more stands beside what goes on. Of an earlier release it may stand beside a pass of documents that begin.
        let (begun, max_repeats) = match going_on.is_empty() {
            true => {
                let last = in_plan.saturating_add(fewest);
                (passes.more_than(last.saturating_sub(1)), last.saturating_add(1))
            }
            false => (passes.documents(), in_plan.saturating_add(fewest.max(1))),
        };
        Self { going_on: RoaringTreemap::new(), twice: documents - begun, max_repeats }
    }
}

/// What is left of a pass that has begun; none when it is over: nothing is left but what fills no row at its end and
/// documents of which nothing is packed. What fills no row belongs to the rest only while the pass goes on.
fn rest_of_pass(
    source: &SourceRows,
    pass: u32,
    collected: &CoverageCollector,
    is_last: bool,
) -> Result<Option<Coverage>, EpochError> {
    let policy = source.rules().policy;
    let due = source.pinned().pass(pass);
    let excess = |CoverageExcess { document }| {
        EpochError::bug(format!("document {document} comes too often in a pass"))
    };
    let rest = due.minus(&collected.coverage(), &policy).map_err(excess)?;
    let unfilled = source.unfilled_segments(pass)?;
    if unfilled.is_empty() {
        return Ok(if source.packs_any(&rest)? { Some(rest) } else { None });
    }
    let mut and_unfilled = collected.clone();
    unfilled.iter().for_each(|segment| and_unfilled.add(segment, &policy));
    let owed = due.minus(&and_unfilled.coverage(), &policy).map_err(excess)?;
    let is_paid = !source.packs_any(&owed)?;
    Ok(if is_paid { None } else { Some(if is_last { rest } else { owed }) })
}

/// What a source has given of the passes under way.
#[derive(Default)]
struct GivenPasses {
    /// The pass of its next row where the window under way begins; those before it are over.
    first: u32,
    /// What each pass gave since, for passes that gave a row.
    collected: BTreeMap<u32, CoverageCollector>,
}

impl GivenPasses {
    /// Passes that have begun.
    fn begun(&self) -> u32 {
        self.collected.last_key_value().map_or(self.first, |(last, _)| self.first.max(last + 1))
    }
}

/// An epoch whose rows are given.
struct GivenEpoch {
    start: RunPosition,
    /// The row of the run before which its rows come.
    until: u64,
    /// Rows given of it.
    rows: u64,
}

/// What each source has given after `next_row` rows of the run.
fn given(
    opened: &Arc<OpenPlan>,
    next_row: u64,
    interrupt: &Interrupt,
) -> Result<Vec<GivenPasses>, EpochError> {
    let sampler = BatchSampler::of(&opened.plan);
    let mut given: Vec<GivenPasses> = Vec::new();
    given.resize_with(opened.sources.len(), GivenPasses::default);
    let epochs = epochs_under_way(opened, &sampler, next_row, interrupt)?;
    // Passes that were over where the last epoch begins need not be collected.
    if let Some(last) = epochs.back() {
        let passes = last.start.sources.iter().map(|source| source.pass);
        given.iter_mut().zip(passes).for_each(|(given, pass)| given.first = pass);
    }
    for (at, epoch) in epochs.iter().enumerate() {
        let mut cursor = BatchCursor::from_start(opened, &sampler, &epoch.start, epoch.until)?;
        let mut to_give = epoch.rows;
        while to_give > 0 {
            drop_ended(&mut given, &mut cursor)?;
            interrupt.check()?;
            let batch = cursor.next_batch()?;
            let batch =
                batch.ok_or_else(|| EpochError::bug("an epoch with fewer rows than it says"))?;
            let taken = to_give.min(batch.rows.len() as u64);
            to_give -= taken;
            for row in batch.rows.iter().take(usize::try_from(taken).unwrap_or(usize::MAX)) {
                let source = opened.source(row)?;
                let Some(given) = given.get_mut(row.source) else { continue };
                if row.pass < given.first {
                    continue;
                }
                let policy = source.rules().policy;
                let collected = given.collected.entry(row.pass).or_default();
                for segment in source.segments_without_repeated(row)? {
                    collected.add(&segment, &policy);
                }
            }
        }
        let is_last = at + 1 == epochs.len();
        if !is_last || epoch.rows.is_multiple_of(sampler.window) {
            drop_ended(&mut given, &mut cursor)?;
        }
    }
    Ok(given)
}

/// Forgets passes that are over where a window begins.
fn drop_ended(given: &mut [GivenPasses], cursor: &mut BatchCursor) -> Result<(), EpochError> {
    for (given, pass) in given.iter_mut().zip(cursor.passes_between_windows()?.unwrap_or_default())
    {
        given.first = given.first.max(pass);
        let first = given.first;
        given.collected.retain(|pass, _| *pass >= first);
    }
    Ok(())
}

/// The epochs from the last one that begins before every pass under way at row `next_row` of the run, which lies in the
/// last of them.
fn epochs_under_way(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    next_row: u64,
    interrupt: &Interrupt,
) -> Result<VecDeque<GivenEpoch>, EpochError> {
    let ended = |error| match error {
        EpochError::Infeasible { .. } => EpochError::Recipe(format!(
            "the run of the plan ends before row {next_row}, which cannot have been consumed"
        )),
        other => other,
    };
    let mut index = EpochIndex::of(opened, sampler, 0, interrupt).map_err(ended)?;
    let mut epochs: VecDeque<GivenEpoch> = VecDeque::new();
    loop {
        // Epochs that are alike are whole passes, of which nothing is under way behind them.
        let of_epoch = index.end.row - index.start.row;
        let behind = next_row.saturating_sub(index.start.row).saturating_sub(1);
        let alike = behind.checked_div(of_epoch).unwrap_or(0).min(index.alike(opened));
        if alike > 1 {
            epochs.clear();
            index = index.after(alike, opened, sampler, interrupt)?;
        }
        let given_to = index.start.row + index.rows;
        let all_to = given_to + index.left_out;
        let is_last = || opened.plan.check_feasible(index.epoch + 1).is_err();
        let is_within = next_row <= given_to || (next_row == all_to && is_last());
        let rows = if is_within { next_row.min(given_to) - index.start.row } else { index.rows };
        while epochs.get(1).is_some_and(|next| is_before_passes(&next.start, &index.start)) {
            epochs.pop_front();
        }
        if epochs.len() == 1 && is_before_passes(&index.start, &index.start) {
            epochs.pop_front();
        }
        epochs.push_back(GivenEpoch {
            start: index.start.clone(),
            until: index.last_run_row(sampler),
            rows,
        });
        if is_within {
            return Ok(epochs);
        }
        if next_row < all_to {
            return Err(EpochError::Recipe(format!(
                "row {next_row} of the run was never given: epoch {} ends at row {given_to}, and the {} rows after it do not fill a batch; the next epoch begins at row {all_to}",
                index.epoch, index.left_out,
            )));
        }
        index = index.next(opened, sampler, interrupt).map_err(ended)?;
    }
}

/// Whether the passes under way at `later` all begin at `start` or behind it.
fn is_before_passes(start: &RunPosition, later: &RunPosition) -> bool {
    start.sources.iter().zip(&later.sources).all(|(start, later)| {
        start.pass < later.pass || (start.pass == later.pass && start.is_at_start())
    })
}
