//! Takes the rows of the files through every check, in order.

use super::checks::{CheckList, Property, RowFindings};
use super::ids::{IdChecker, ReadSegment};
use super::passes::PassAudit;
use super::row::RowChecker;
use crate::epoch::error::EpochError;
use crate::epoch::mix::Scheduler;
use crate::epoch::pack::{Segment, without_repeated};
use crate::epoch::recipe::{MixUnit, RowColumn};
use crate::epoch::rows::RowRef;
use crate::epoch::run::{BatchCursor, BatchSampler, BatchedRow, EpochIndex, OpenPlan};
use crate::epoch::stream::NO_SOURCE;
use crate::epoch::write::{ExportCounts, RowCounts};
use files::output::{ShardReadError, ShardReader, TokenBatch, TokenRow};
use model::Context;
use rayon::prelude::*;
use std::sync::Arc;

/// Everything that is counted while the rows of the files go by.
pub(super) struct Audit<'a> {
    opened: &'a OpenPlan,
    checker: RowChecker<'a>,
    ids: IdChecker<'a>,
    passes: Vec<PassAudit>,
    /// The interleaving as the files have it.
    mix: Scheduler,
    /// Rows after which shares are exact, and the largest row so far, in the mix's unit.
    window: u64,
    largest: u64,
    /// The pass that each source ends in; unknown where rows that fill no batch are carried.
    ends: Option<Vec<u32>>,
    /// The rows that fill no batch, which no file has.
    left_out: Vec<RowRef>,
    pub counts: ExportCounts,
    pub rows: u64,
    /// Real tokens.
    pub tokens: u64,
}

impl<'a> Audit<'a> {
    pub fn new(
        opened: &'a Arc<OpenPlan>,
        sampler: &BatchSampler,
        marks: &EpochIndex,
    ) -> Result<Self, EpochError> {
        let mut ends = Vec::new();
        for (source, end) in opened.sources.iter().zip(&marks.end.sources) {
            ends.push(end.at_next_pass(source)?.pass);
        }
        let mut mix = Scheduler::new(Arc::clone(&opened.fluid));
        mix.restore(marks.start.emitted.clone());
        let passes = marks.start.sources.iter();
        Ok(Self {
            opened,
            checker: RowChecker::new(opened),
            ids: IdChecker::new(opened),
            passes: passes.map(|at| PassAudit::new(at.pass, at.is_at_start())).collect(),
            mix,
            window: sampler.window,
            largest: 0,
            // Rows that open the next epoch belong to passes here too.
            ends: (marks.rows + marks.left_out == marks.end.row - marks.start.row).then_some(ends),
            left_out: BatchCursor::left_out_rows(opened, sampler, marks)?,
            counts: ExportCounts::new(opened.plan.sources.len()),
            rows: 0,
            tokens: 0,
        })
    }

    /// Checks the rows of one shard against the next rows of the epoch; answers what is wrong with its files, where
    /// they are not of their format.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn read_shard(
        &mut self,
        shard: &mut dyn ShardReader,
        ordered: &mut BatchCursor,
        checks: &mut CheckList,
        context: &Context<'_>,
    ) -> Result<Option<ShardReadError>, EpochError> {
        loop {
            context.interrupt.check()?;
            let rows = match shard.next_batch() {
                Ok(Some(rows)) => rows,
                Ok(None) => return Ok(None),
                Err(error) => return Ok(Some(error)),
            };
            let expected = ordered.next_rows(rows.len(), u64::MAX)?;
            let findings = self.check_rows(&rows, &expected)?;
            let found = (self.rows..).zip(rows.rows()).zip(&findings);
            let tokenizers =
                (0_usize..).map(|at| self.opened.tokenizer_in(pass_of(expected.get(at))));
            let found = found.zip(tokenizers).flat_map(|(((number, row), findings), tokenizer)| {
                let segments = findings.segments.iter().zip(&findings.starts);
                segments.map(move |(segment, start)| {
                    let end = start.saturating_add(segment.length as usize);
                    let ids = row.ids().get(*start..end);
                    ReadSegment { row: number, tokenizer, segment: *segment, ids }
                })
            });
            self.ids.check(found.collect(), checks)?;
            for (at, (row, findings)) in rows.rows().zip(findings).enumerate() {
                self.account(row, expected.get(at), findings, checks)?;
            }
            context.progress.advance(self.tokens);
        }
    }

    fn check_rows(
        &self,
        rows: &TokenBatch,
        expected: &[BatchedRow],
    ) -> Result<Vec<RowFindings>, EpochError> {
        let check = |at: usize| {
            let row = rows.row(at);
            let expected = expected.get(at);
            let width = expected.and_then(|expected| expected.width);
            let (name, planned) = self.planned(expected)?;
            let mut findings = self.checker.check(row, width, (pass_of(expected), &planned))?;
            if expected.is_some() {
                compare(row, (name, &planned), &mut findings);
            } else {
                let why = "is beyond the last row of the plan".to_owned();
                findings.fail(Property::Order, why);
            }
            if let Some(found) = row.number().filter(|found| *found != self.rows + at as u64) {
                findings.fail(Property::Order, format!("is numbered {found}"));
            }
            Ok(findings)
        };
        (0..rows.len()).into_par_iter().map(check).collect()
    }

    /// The source and the segments of a row of the plan.
    fn planned(&self, row: Option<&BatchedRow>) -> Result<(&str, Vec<Segment>), EpochError> {
        let Some(row) = row.and_then(|row| row.row.as_ref()) else { return Ok(("", Vec::new())) };
        let source = self.opened.source(row)?;
        Ok((&*source.rules().name, source.segments(row)?))
    }

    fn account(
        &mut self,
        row: TokenRow<'_>,
        expected: Option<&BatchedRow>,
        findings: RowFindings,
        checks: &mut CheckList,
    ) -> Result<(), EpochError> {
        let number = self.rows;
        self.rows += 1;
        for property in [Property::Order, Property::Boundaries, Property::Mix] {
            checks.note(property, 1);
        }
        for property in [Property::Ids, Property::Integrity, Property::Conservation] {
            checks.note(property, row.doc_ids().len() as u64);
        }
        checks.note_if(Property::Positions, row.view(RowColumn::PositionIds).is_some());
        let of_loss = [RowColumn::Labels, RowColumn::LossMask, RowColumn::LossWeights];
        let in_columns = of_loss.into_iter().any(|column| row.view(column).is_some());
        let beside =
            row.trained_tokens().is_some() || row.label_mask().is_some() || row.trained().is_some();
        checks.note_if(Property::Labels, in_columns || beside);
        for (property, why) in &findings.failures {
            checks.fail(*property, format!("row {number} {why}"));
        }
        let plan = &self.opened.plan;
        let source = plan.sources.iter().position(|source| source.name == row.source());
        let pads = row.ids().len().saturating_sub(findings.real);
        // What the row before has too counts there.
        let repeated = expected.and_then(|row| row.row.as_ref()).map_or(0, |row| row.repeated);
        let again = usize::from(repeated > 0 && row.doc_offsets().first() == Some(&0));
        let documents = row.doc_offsets().iter().filter(|offset| **offset == 0).count() - again;
        let segments: Vec<Segment> = without_repeated(&findings.segments, repeated).collect();
        let tokens = findings.real.saturating_sub(repeated as usize);
        let amount = self.amount(tokens, &segments, pass_of(expected))?;
        self.counts.add(source.unwrap_or(NO_SOURCE), RowCounts { tokens, pads, documents, amount });
        self.tokens += tokens as u64;
        let Some(source) = source else { return Ok(()) };
        let expected = expected.and_then(|expected| expected.row.as_ref());
        self.largest = self.largest.max(amount);
        self.mix.record(source, amount);
        let whole_window = self.rows.is_multiple_of(self.window);
        if whole_window && self.mix.deviation() > self.largest.max(plan.capacity.into()) {
            let why = format!("leaves a source {} from its share", self.mix.deviation());
            checks.fail(Property::Mix, format!("row {number} {why}"));
        }
        let pass =
            expected.filter(|expected| expected.source == source).map(|expected| expected.pass);
        if let (Some(passes), Some(rows)) =
            (self.passes.get_mut(source), self.opened.sources.get(source))
        {
            segments.iter().for_each(|segment| passes.add(pass, segment, rows));
        }
        if whole_window {
            self.settle(number, checks);
        }
        Ok(())
    }

    /// What a row of the files counts in the mix's unit, by what no row before it has.
    fn amount(&self, tokens: usize, segments: &[Segment], pass: u32) -> Result<u64, EpochError> {
        match self.opened.plan.recipe.mix.unit {
            MixUnit::Tokens => Ok(tokens as u64),
            MixUnit::Rows => Ok(1),
            MixUnit::Documents => {
                Ok(segments.iter().filter(|found| found.offset == 0).count() as u64)
            }
            MixUnit::LossTokens => {
                let trained = self.opened.trained_in(pass);
                segments.iter().map(|segment| trained.count(segment)).sum()
            }
        }
    }

    /// Checks the passes that are over, at the end of a window.
    fn settle(&mut self, number: u64, checks: &mut CheckList) {
        for (passes, rows) in self.passes.iter_mut().zip(&self.opened.sources) {
            if let Err(why) = passes.end_window(rows) {
                checks.fail(Property::Conservation, format!("up to row {number}: {why}"));
            }
        }
    }

    /// Checks what only the end can show.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn finish(&mut self, checks: &mut CheckList) -> Result<(), EpochError> {
        self.ids.settle(checks)?;
        // Another pass than the last one may lack them, where the rows of a window are put in order together.
        for row in &self.left_out {
            let (passes, source) =
                (self.passes.get_mut(row.source), self.opened.sources.get(row.source));
            let (Some(passes), Some(source)) = (passes, source) else { continue };
            for segment in source.segments_without_repeated(row)? {
                passes.add(Some(row.pass), &segment, source);
            }
        }
        let sources = self.opened.sources.iter().zip(&self.opened.plan.sources);
        for (at, (passes, (rows, source))) in self.passes.iter_mut().zip(sources).enumerate() {
            let ended = self.ends.as_ref().and_then(|ends| ends.get(at));
            let is_last_over = ended.is_some_and(|ended| passes.last_pass() < *ended);
            if let Err(why) = passes.end(rows, is_last_over) {
                checks.fail(Property::Conservation, format!("source `{}`: {why}", source.name));
            }
        }
        Ok(())
    }
}

/// The pass of a row of the plan.
fn pass_of(row: Option<&BatchedRow>) -> u32 {
    row.and_then(|row| row.row.as_ref()).map_or(0, |row| row.pass)
}

/// Whether a row is the one that the plan has there, of this source and with these segments.
fn compare(row: TokenRow<'_>, (name, planned): (&str, &[Segment]), findings: &mut RowFindings) {
    let found = row.doc_ids().iter().zip(row.doc_offsets()).zip(row.seq_lengths());
    let same = name == row.source()
        && planned.len() == row.doc_ids().len()
        && planned.iter().zip(found).all(|(segment, ((document, offset), length))| {
            u64::try_from(*document) == Ok(segment.document.0)
                && i64::from(segment.offset) == *offset
                && i64::from(segment.length) == i64::from(*length)
        });
    if !same {
        let why = format!("is not the row of source `{name}` that the plan has there");
        findings.fail(Property::Order, why);
    }
}
