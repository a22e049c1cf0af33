//! Whether every document of a source comes exactly once a pass, told from the segments of the files.

use super::row::FoundSegment;
use crate::epoch::rows::SourceRows;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;

/// What of a source has been seen in the pass under way: a bitmap, and the fragments of documents
/// not yet whole.
pub(super) struct Coverage {
    pass: Option<u32>,
    /// Whether the pass under way began in this export.
    from_start: bool,
    whole: RoaringTreemap,
    parts: BTreeMap<u64, BTreeMap<u64, u64>>,
}

impl Coverage {
    /// Begins after `started` tokens of a source whose passes have `packed` tokens each.
    pub fn new(started: u64, packed: u64) -> Self {
        Self {
            pass: None,
            from_start: started.is_multiple_of(packed),
            whole: RoaringTreemap::new(),
            parts: BTreeMap::new(),
        }
    }

    /// The next row is of `pass` (none: unknown, taken as the pass under way).
    pub fn enter(&mut self, pass: Option<u32>, rows: &SourceRows<'_>) -> Result<(), String> {
        if self.pass.is_some() && pass.is_some() && pass != self.pass {
            let ended = self.end_pass(rows);
            self.from_start = true;
            self.pass = pass;
            return ended;
        }
        self.pass = pass.or(self.pass);
        Ok(())
    }

    /// Counts a segment.
    pub fn add(&mut self, segment: &FoundSegment) -> Result<(), String> {
        let document = segment.document;
        let twice = || {
            Err(format!("document {document} comes twice in a pass at token {}", segment.offset))
        };
        if self.whole.contains(document) {
            return twice();
        }
        let parts = self.parts.entry(document).or_default();
        let end = segment.offset + segment.length;
        let before = parts.range(..end).next_back().map(|(offset, length)| offset + length);
        if before.is_some_and(|before| before > segment.offset) {
            return twice();
        }
        parts.insert(segment.offset, segment.length);
        // Parts do not overlap and none reaches past what is packed, so the sum tells.
        if end <= segment.packed && parts.values().sum::<u64>() == segment.packed {
            self.parts.remove(&document);
            self.whole.insert(document);
        }
        Ok(())
    }

    /// The pass under way is over: every document of the source has come, whole.
    pub fn end_pass(&mut self, rows: &SourceRows<'_>) -> Result<(), String> {
        let whole = std::mem::take(&mut self.whole);
        let parts = std::mem::take(&mut self.parts);
        if !std::mem::replace(&mut self.from_start, true) {
            return Ok(());
        }
        if let Some((document, parts)) = parts.first_key_value() {
            let tokens: u64 = parts.values().sum();
            return Err(format!("document {document} comes with {tokens} tokens only in a pass"));
        }
        let expected = expected(rows).map_err(|error| error.to_string())?;
        if whole == expected {
            return Ok(());
        }
        let missing = &expected - &whole;
        match missing.min() {
            Some(document) => Err(format!(
                "{} documents are missing in a pass, document {document} is one",
                missing.len()
            )),
            None => Err(format!(
                "{} documents come in a pass that should be left out",
                (whole - expected).len()
            )),
        }
    }
}

/// The documents of which anything is packed.
fn expected(rows: &SourceRows<'_>) -> Result<RoaringTreemap, crate::epoch::error::EpochError> {
    let documents = rows.documents();
    let policy = rows.rules().policy;
    let mut expected = RoaringTreemap::new();
    for (block, _) in documents.blocks() {
        let lengths = documents.lengths(block)?;
        let packed = lengths.iter().filter(|(_, length)| policy.packed(*length) > 0);
        let ids: Vec<u64> = packed.map(|(slot, _)| DocId::at(block, *slot).0).collect();
        expected.extend(ids);
    }
    Ok(expected)
}
