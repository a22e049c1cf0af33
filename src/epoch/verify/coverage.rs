//! Whether every document of a source comes as often as it should in a pass, told from the segments of
//! the files.

use crate::epoch::pack::Segment;
use crate::epoch::rows::SourceRows;
use crate::epoch::run::Consumed;
use std::collections::BTreeMap;

/// What of a source has been seen, by pass. Rows of a window are put in another order, so that those of
/// several passes may come mixed; a pass is over when a window has ended and a later pass has begun.
pub(super) struct Coverage {
    /// The pass that the export begins in, and whether at its start.
    first: (u32, bool),
    open: BTreeMap<u32, Consumed>,
}

impl Coverage {
    /// Begins in `pass`, at its start or not.
    pub fn new(pass: u32, from_start: bool) -> Self {
        let open = [(pass, Consumed::default())].into_iter().collect();
        Self { first: (pass, from_start), open }
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
            let Some((pass, mut seen)) = self.open.pop_first() else { break };
            self.check(pass, &mut seen, source, true)?;
        }
        Ok(())
    }

    /// The export has ended, and the last pass with it or not.
    pub fn end(&mut self, source: &SourceRows, pass_over: bool) -> Result<(), String> {
        self.settle(source)?;
        let last = self.open.pop_last();
        last.map_or(Ok(()), |(pass, mut seen)| self.check(pass, &mut seen, source, pass_over))
    }

    /// Nothing came more often than a pass holds it, what fills no row at its end counted with it where that is
    /// left out; when the pass is over, and all of it is in this
    /// export, everything came.
    fn check(
        &self,
        pass: u32,
        seen: &mut Consumed,
        source: &SourceRows,
        pass_over: bool,
    ) -> Result<(), String> {
        if source.rules().replace {
            return Ok(());
        }
        let from_start = pass != self.first.0 || self.first.1;
        if pass_over && from_start {
            let partial = source.partial(pass).map_err(|error| error.to_string())?;
            partial.iter().for_each(|segment| seen.add(segment, &source.rules().policy));
        }
        for pool in source.pinned().pools_of(pass) {
            let mut left = seen.left(pool, &source.rules().policy);
            if let Some(document) = left.beyond.min() {
                return Err(format!("document {document} occurs too often in a pass"));
            }
            if !(pass_over && from_start) {
                continue;
            }
            drop_unpacked(&mut left.layers, source).map_err(|error| error.to_string())?;
            if let Some((document, missing)) = left.missing() {
                return Err(format!(
                    "{missing} documents are missing in a pass, or are incomplete; document {document} is one"
                ));
            }
        }
        Ok(())
    }
}

/// Documents without packed tokens are due in no pass.
fn drop_unpacked(
    layers: &mut [roaring::RoaringTreemap],
    source: &SourceRows,
) -> Result<(), crate::epoch::error::EpochError> {
    for layer in layers {
        *layer = source.packed_of(layer)?;
    }
    Ok(())
}
