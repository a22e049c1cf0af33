//! A page of rows of an epoch: their documents, and their text with what is trained on in bold.

use super::PageModel;
use super::figures::cut;
use crate::epoch::{RowPart, RowReport, RowSegment};
use serde::Serialize;

/// Rows of a plan, with their text.
#[derive(Debug, Serialize)]
pub struct RowsPage<'a> {
    name: String,
    epoch: u64,
    rows: Vec<ShownRow<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownRow<'a> {
    row: u64,
    batch: Option<u64>,
    source: Option<&'a str>,
    pass: Option<u32>,
    tokens: u32,
    width: u32,
    trained: u64,
    segments: &'a [RowSegment],
    /// The text of the row by segment; pads are pieces of their own.
    pieces: Vec<ShownPiece<'a>>,
}

#[derive(Debug, Serialize)]
struct ShownPiece<'a> {
    /// None for pads.
    segment: Option<&'a RowSegment>,
    parts: &'a [RowPart],
    length: u32,
}

impl<'a> RowsPage<'a> {
    /// The rows of an epoch of a corpus called `name`; rows without their text show their documents alone.
    pub fn new(rows: &'a [RowReport], epoch: u64, name: &str) -> Self {
        Self { name: cut(name), epoch, rows: rows.iter().map(ShownRow::of).collect() }
    }
}

impl<'a> ShownRow<'a> {
    fn of(row: &'a RowReport) -> Self {
        let parts = row.parts.as_deref().unwrap_or_default();
        let piece = |parts: &'a [RowPart]| {
            let number = parts.first().and_then(|part| part.segment);
            ShownPiece {
                segment: number.and_then(|number| row.segments.get(number)),
                parts,
                length: parts.iter().map(|part| part.length).sum(),
            }
        };
        Self {
            row: row.row,
            batch: row.batch,
            source: row.source.as_deref(),
            pass: row.pass,
            tokens: row.segments.iter().map(|segment| segment.length).sum(),
            width: row.width,
            trained: row.trained,
            segments: &row.segments,
            pieces: parts.chunk_by(|a, b| a.segment == b.segment).map(piece).collect(),
        }
    }
}

impl PageModel for RowsPage<'_> {
    const TEMPLATE: &'static str = "rows.html";

    fn title(&self) -> String {
        match self.rows.as_slice() {
            [only] => format!("Row {} of epoch {} of {}", only.row, self.epoch, self.name),
            rows => format!("{} rows of epoch {} of {}", rows.len(), self.epoch, self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::{fragment, page};

    #[test]
    fn hostile_keys_sources_and_texts_are_escaped() {
        let hostile = "<script>alert(1)</script>\u{202e}\"'&";
        let part = |trained, segment, start, length| RowPart {
            text: if segment == Some(0) { hostile.to_owned() } else { String::new() },
            trained,
            weight: None,
            segment,
            start,
            length,
        };
        let segment = RowSegment {
            document: 17,
            key: hostile.to_owned(),
            source: hostile.to_owned(),
            offset: 0,
            length: 5,
            document_length: 5,
            start: 0,
            shard: None,
            id: 17,
        };
        let row = RowReport {
            row: 4711,
            batch: None,
            source: Some(hostile.to_owned()),
            pass: Some(1),
            width: 8,
            trained: 4,
            segments: vec![segment],
            parts: Some(vec![
                part(false, Some(0), 0, 1),
                part(true, Some(0), 1, 4),
                part(false, None, 5, 3),
            ]),
            input_ids: Vec::new(),
        };
        let rows = [row];
        let shown = RowsPage::new(&rows, 0, hostile);
        let whole = page(&shown).unwrap();
        for words in ["<i>&lt;script&gt;", "<b>&lt;script&gt;", "3 pads", "Row 4711 of epoch 0"] {
            assert!(whole.contains(words), "{words}: {whole}");
        }
        for bad in ["<script", "\u{202e}", "<img", "http://", "https://"] {
            assert!(!whole.contains(bad), "{bad}: {whole}");
        }
        assert!(fragment(&shown).unwrap().starts_with("<div class=\"corpusdb\">"));
    }
}
