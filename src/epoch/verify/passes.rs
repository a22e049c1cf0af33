//! Checks, from the segments in the files, that each document of a source comes as often as it should in each pass.

use crate::epoch::coverage::{CoverageCollector, CoverageExcess};
use crate::epoch::pack::Segment;
use crate::epoch::rows::SourceRows;
use std::collections::BTreeMap;

/// The coverage that the files give a source, by pass. A window puts its rows in another order, so that rows of several
/// passes may come mixed: a pass is over when a window has ended and a later pass has begun.
pub(super) struct PassAudit {
    /// The pass that the export begins in, and whether it begins at the start of it.
    first: u32,
    is_first_whole: bool,
    /// The coverage so far of each pass that is not over.
    open: BTreeMap<u32, CoverageCollector>,
}

impl PassAudit {
    /// The checks of an export that begins in pass `first`, at its start if `is_first_whole`.
    pub fn new(first: u32, is_first_whole: bool) -> Self {
        let open = BTreeMap::from([(first, CoverageCollector::default())]);
        Self { first, is_first_whole, open }
    }

    /// The last pass that a row was of.
    pub fn last_pass(&self) -> u32 {
        self.open.last_key_value().map_or(self.first, |(pass, _)| *pass)
    }

    /// Counts a segment of a row of `pass`; none where the pass is unknown and taken to be the last.
    pub fn add(&mut self, pass: Option<u32>, segment: &Segment, source: &SourceRows) {
        let pass = pass.unwrap_or_else(|| self.last_pass());
        self.open.entry(pass).or_default().add(segment, &source.rules().policy);
    }

    /// Checks the passes that are over, at the end of a window.
    pub fn end_window(&mut self, source: &SourceRows) -> Result<(), String> {
        while self.open.len() > 1 {
            let Some((pass, seen)) = self.open.pop_first() else { break };
            self.check(pass, seen, source, true)?;
        }
        Ok(())
    }

    /// Checks the rest at the end of the export; `is_last_over` where the last pass ends there, too.
    pub fn end(&mut self, source: &SourceRows, is_last_over: bool) -> Result<(), String> {
        self.end_window(source)?;
        let last = self.open.pop_last();
        last.map_or(Ok(()), |(pass, seen)| self.check(pass, seen, source, is_last_over))
    }

    /// Checks that no document came more often than a pass holds it. Of a pass that began in this export and is over,
    /// all must have come, but for what fills no row at its end and is left out.
    fn check(
        &self,
        pass: u32,
        mut seen: CoverageCollector,
        source: &SourceRows,
        is_over: bool,
    ) -> Result<(), String> {
        if source.rules().replace {
            return Ok(());
        }
        let policy = source.rules().policy;
        let is_whole = is_over && (pass != self.first || self.is_first_whole);
        if is_whole {
            let unfilled = source.unfilled_segments(pass).map_err(|error| error.to_string())?;
            unfilled.iter().for_each(|segment| seen.add(segment, &policy));
        }
        let due = source.pinned().pass(pass);
        let left =
            due.minus(&seen.coverage(), &policy).map_err(|CoverageExcess { document }| {
                format!("document {document} occurs too often in a pass")
            })?;
        if !is_whole {
            return Ok(());
        }
        let missing = source.packed_documents(pass, &left).map_err(|error| error.to_string())?;
        missing.min().map_or(Ok(()), |document| {
            Err(format!(
                "{} documents are missing in a pass, or are incomplete; document {document} is one",
                missing.len()
            ))
        })
    }
}
