//! Takes the rows of the files through every check, in order.

use super::checks::{Checks, Property};
use super::coverage::Coverage;
use super::row::{Findings, RowChecker};
use crate::epoch::error::EpochError;
use crate::epoch::ids::TokenReader;
use crate::epoch::manifest::Counts;
use crate::epoch::mix::Scheduler;
use crate::epoch::open::Opened;
use crate::epoch::plan::Plan;
use crate::epoch::read::{self, Layout, ReadError, ReadRow};
use crate::epoch::recipe::Format;
use crate::epoch::stream::{Stream, StreamRow};
use crate::epoch::width::Width;
use crate::model::Progress;
use crate::store::View;
use rayon::prelude::*;
use std::path::Path;

/// Everything that is counted while the rows of the files go by.
pub(super) struct Audit<'a> {
    plan: &'a Plan,
    opened: &'a Opened<'a>,
    checker: RowChecker<'a>,
    coverage: Vec<Coverage>,
    /// The interleaving as the files have it.
    pub mix: Scheduler,
    pub counts: Counts,
    pub rows: u64,
}

impl<'a> Audit<'a> {
    pub fn new(plan: &'a Plan, opened: &'a Opened<'a>, started: &Scheduler) -> Self {
        let coverage = plan.sources.iter().zip(started.emitted());
        Self {
            plan,
            opened,
            checker: RowChecker::new(plan, opened),
            coverage: coverage
                .map(|(source, started)| Coverage::new(*started, source.packed_tokens))
                .collect(),
            mix: started.clone(),
            counts: Counts::new(plan.sources.len()),
            rows: 0,
        }
    }

    /// Checks the rows of one shard against those the stream has next.
    ///
    /// # Errors
    /// [`ReadError::Malformed`] when the shard's files are not of their format.
    pub fn read_shard(
        &mut self,
        view: &View,
        dir: &Path,
        shard: usize,
        stream: &mut Stream<'_>,
        checks: &mut Checks,
        progress: &dyn Progress,
    ) -> Result<(), ReadError> {
        let format = self.plan.recipe.output.format;
        let layout = Layout {
            format,
            row_tokens: Some(self.plan.capacity as usize)
                .filter(|_| self.plan.fixed_length() && format == Format::Raw),
            id_bytes: Width::of(format, self.plan.tokenizer.vocab_size).bytes(),
        };
        let mut reader = read::open(dir, shard, layout)?;
        loop {
            let rows = reader.next_rows()?;
            if rows.is_empty() {
                return Ok(());
            }
            let expected = stream.next_rows(rows.len(), u64::MAX)?;
            let findings = self.check_rows(view, &rows, &expected)?;
            for (at, (row, findings)) in rows.iter().zip(findings).enumerate() {
                self.account(row, expected.get(at), findings, checks);
            }
            progress.advance(self.mix.total() - stream.started().total());
        }
    }

    fn check_rows(
        &self,
        view: &View,
        rows: &[ReadRow],
        expected: &[StreamRow],
    ) -> Result<Vec<Findings>, EpochError> {
        let tokenizer = &self.plan.tokenizer;
        let reader =
            || TokenReader::new(view, self.opened.tokenizer, &tokenizer.name, tokenizer.specials);
        let check = |reader: &mut TokenReader<'_>, (at, row): (usize, &ReadRow)| {
            let mut findings = self.checker.check(reader, row)?;
            self.compare(row, expected.get(at), self.rows + at as u64, &mut findings)?;
            Ok(findings)
        };
        rows.par_iter().enumerate().map_init(reader, check).collect()
    }

    /// Whether a row is the one the plan has there.
    fn compare(
        &self,
        row: &ReadRow,
        expected: Option<&StreamRow>,
        number: u64,
        findings: &mut Findings,
    ) -> Result<(), EpochError> {
        if row.number.is_some_and(|found| found != number) {
            findings
                .fail(Property::Order, format!("is numbered {}", row.number.unwrap_or_default()));
        }
        let Some(expected) = expected else {
            findings.fail(Property::Order, "is beyond the last row of the plan".to_owned());
            return Ok(());
        };
        let source = self.opened.sources.get(expected.source);
        let source = source.ok_or_else(|| EpochError::bug("a row of no source"))?;
        let segments = source.segments(&expected.row)?;
        let same = source.rules().name == row.source
            && segments.len() == row.doc_ids.len()
            && segments
                .iter()
                .zip(&row.doc_ids)
                .all(|(segment, id)| u64::try_from(*id) == Ok(segment.document.0))
            && segments
                .iter()
                .zip(&row.doc_offsets)
                .all(|(segment, offset)| i64::from(segment.offset) == *offset)
            && segments
                .iter()
                .zip(&row.seq_lengths)
                .all(|(segment, length)| i64::from(segment.length) == i64::from(*length));
        if !same {
            findings.fail(
                Property::Order,
                format!(
                    "is not the row of source `{}` that the plan has there",
                    source.rules().name
                ),
            );
        }
        Ok(())
    }

    fn account(
        &mut self,
        row: &ReadRow,
        expected: Option<&StreamRow>,
        findings: Findings,
        checks: &mut Checks,
    ) {
        let number = self.rows;
        self.rows += 1;
        for property in [Property::Order, Property::Boundaries, Property::Mix] {
            checks.note(property, 1);
        }
        for property in [Property::Ids, Property::Integrity, Property::Conservation] {
            checks.note(property, row.doc_ids.len() as u64);
        }
        if row.views.is_some() {
            checks.note(Property::Positions, 1);
            checks.note(Property::Labels, 1);
        }
        for (property, why) in findings.failures {
            checks.fail(property, format!("row {number} {why}"));
        }
        let Some(source) = self.plan.sources.iter().position(|source| source.name == row.source)
        else {
            return;
        };
        let documents = row.doc_offsets.iter().filter(|offset| **offset == 0).count();
        self.counts.add(
            source,
            findings.real,
            row.ids.len().saturating_sub(findings.real),
            documents,
        );
        self.mix.record(source, u32::try_from(findings.real).unwrap_or(u32::MAX));
        if self.mix.deviation() > u64::from(self.plan.capacity) {
            let why = format!("leaves a source {} tokens from its share", self.mix.deviation());
            checks.fail(Property::Mix, format!("row {number} {why}"));
        }
        let pass =
            expected.filter(|expected| expected.source == source).map(|expected| expected.row.pass);
        if let (Some(coverage), Some(rows)) =
            (self.coverage.get_mut(source), self.opened.sources.get(source))
        {
            let found = coverage.enter(pass, rows).and_then(|()| {
                findings.segments.iter().try_for_each(|segment| coverage.add(segment))
            });
            if let Err(why) = found {
                checks.fail(Property::Conservation, format!("row {number}: {why}"));
            }
        }
    }

    /// Checks what only the end can tell.
    pub fn finish(&mut self, stream: &Stream<'_>, checks: &mut Checks) {
        let emitted = stream.started().emitted().iter().zip(stream.scheduler().emitted());
        let sources = self.opened.sources.iter().zip(&self.plan.sources);
        for ((coverage, (rows, source)), (started, ended)) in
            self.coverage.iter_mut().zip(sources).zip(emitted)
        {
            let pass_ended = ended > started && ended.is_multiple_of(source.packed_tokens);
            if pass_ended && let Err(why) = coverage.end_pass(rows) {
                checks.fail(Property::Conservation, format!("source `{}`: {why}", source.name));
            }
        }
    }
}
