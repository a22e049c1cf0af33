//! Whether every document of a source comes as often as it should in a pass, told from the segments of the files.

use crate::epoch::coverage::{CoverageCollector, CoverageExcess};
use crate::epoch::pack::Segment;
use crate::epoch::rows::SourceRows;
use std::collections::BTreeMap;

/// What of a source has been seen, by pass. Rows of a window are put in another order, so that those of several passes
/// may come mixed; a pass is over when a window has ended and a later pass has begun.
pub(super) struct PassAudit {
    /// The pass that the export begins in, and whether at its start.
    first: (u32, bool),
    open: BTreeMap<u32, CoverageCollector>,
}

impl PassAudit {
    /// Begins in `pass`, at its start or not.
    pub fn new(pass: u32, from_start: bool) -> Self {
        Self {
            first: (pass, from_start),
            open: BTreeMap::from([(pass, CoverageCollector::default())]),
        }
    }

    /// The last pass that anything came of.
    pub fn pass(&self) -> u32 {
        self.open.last_key_value().map_or(self.first.0, |(pass, _)| *pass)
    }

    /// Counts a segment of a row of `pass` (none: unknown, taken as the last).
    pub fn add(&mut self, pass: Option<u32>, segment: &Segment, source: &SourceRows) {
        let pass = pass.unwrap_or_else(|| self.pass());
        self.open.entry(pass).or_default().add(segment, &source.rules().policy);
    }

    /// A window has ended: of passes before the last, everything came.
    pub fn settle(&mut self, source: &SourceRows) -> Result<(), String> {
        while self.open.len() > 1 {
            let Some((pass, seen)) = self.open.pop_first() else { break };
            self.check(pass, seen, source, true)?;
        }
        Ok(())
    }

    /// The export has ended, and the last pass with it or not.
    pub fn end(&mut self, source: &SourceRows, pass_over: bool) -> Result<(), String> {
        self.settle(source)?;
        let last = self.open.pop_last();
        last.map_or(Ok(()), |(pass, seen)| self.check(pass, seen, source, pass_over))
    }

    /// Nothing came more often than a pass holds it, what fills no row at its end counted with it where that is left
    /// out; when the pass is over, and all of it is in this export, everything came.
    fn check(
        &self,
        pass: u32,
        mut seen: CoverageCollector,
        source: &SourceRows,
        pass_over: bool,
    ) -> Result<(), String> {
        if source.rules().replace {
            return Ok(());
        }
        let policy = source.rules().policy;
        let is_whole = pass_over && (pass != self.first.0 || self.first.1);
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
        let missing = source.packed_documents(&left).map_err(|error| error.to_string())?;
        missing.min().map_or(Ok(()), |document| {
            Err(format!(
                "{} documents are missing in a pass, or are incomplete; document {document} is one",
                missing.len()
            ))
        })
    }
}
