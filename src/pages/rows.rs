//! A page of rows of an epoch: a band each, their documents, and their text with what is trained on in bold.
//!
//! A notebook shows the same at a glance: bands, and the text of the first few rows on demand.

use super::bands::Bands;
use super::figures::cut;
use super::{PageError, PageModel, environment};
use crate::epoch::{RowPart, RowReport, RowSegment};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

/// Positions of the rows whose text a glance shows, and how many of these rows there are, at most.
const GLANCE_POSITIONS: u64 = 16_384;
const GLANCE_ROWS: usize = 8;

/// Rows of a plan, with their text.
#[derive(Debug, Serialize)]
pub struct RowsPage<'a> {
    name: String,
    epoch: u64,
    bands: Bands<'a>,
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
    /// The rows of an epoch of a corpus called `name`, whose plan has `sources`; rows without their text show their
    /// documents alone.
    pub fn new(rows: &'a [RowReport], epoch: u64, name: &str, sources: &[String]) -> Self {
        let bands = Bands::new(rows, sources);
        Self { name: cut(name), epoch, bands, rows: rows.iter().map(ShownRow::of).collect() }
    }

    /// How many of `rows` rows, of up to `capacity` positions each, a glance has bands of.
    pub fn glanced(rows: usize, capacity: u32) -> usize {
        const POSITIONS: usize = 1 << 20;
        rows.min(Bands::MOST).min((POSITIONS / capacity.max(1) as usize).max(1))
    }

    /// The rows for a cell of a notebook, without frame and style ([`notebook_style`](super::notebook_style)); `more`
    /// are there besides.
    ///
    /// # Errors
    /// [`PageError::Template`].
    pub fn glance(mut self, more: usize) -> Result<String, PageError> {
        self.bands.more += more as u64;
        let mut left = GLANCE_POSITIONS;
        let fits = |row: &&ShownRow<'_>| {
            let rest = left.checked_sub(row.width.into());
            left = rest.unwrap_or(left);
            rest.is_some()
        };
        let texts = self.rows.iter().take(GLANCE_ROWS).take_while(fits).count();
        // The text of one row is what was asked for.
        let is_one = self.rows.len() == 1 && more == 0;
        self.rows.truncate(if is_one { 1 } else { texts });
        let context = context! { page => Value::from_serialize(&self), is_one };
        Ok(environment()?.get_template("rows_glance.html")?.render(context)?)
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
    use crate::pages::page;

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
        let shown = RowsPage::new(&rows, 0, hostile, &[hostile.to_owned()]);
        let whole = page(&shown).unwrap();
        for words in ["<i>&lt;script&gt;", "<b>&lt;script&gt;", "3 pads", "Row 4711 of epoch 0"] {
            assert!(whole.contains(words), "{words}: {whole}");
        }
        for bad in ["<script", "\u{202e}", "<img", "http://", "https://"] {
            assert!(!whole.contains(bad), "{bad}: {whole}");
        }
        let glance = shown.glance(2).unwrap();
        for words in ["<i>&lt;script&gt;", "Its text", "and 2 more rows", "<rect class=\"t0\""] {
            assert!(glance.contains(words), "{words}: {glance}");
        }
        for bad in ["<script", "\u{202e}", "<style", " style="] {
            assert!(!glance.contains(bad), "{bad}: {glance}");
        }
    }
}
