//! The shape of a row: where its segments lie.

use super::PadView;

/// A segment in its row: a document or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    /// Its first position.
    pub start: u32,
    /// Its tokens, at least 1.
    pub length: u32,
}

impl Span {
    /// The position after its last.
    #[must_use]
    pub const fn end(self) -> u32 {
        self.start.saturating_add(self.length)
    }
}

/// A row without its ids: how wide it is and where its segments lie. What no span covers is pads.
///
/// Views of a shape that [`RowShape::check`] refuses are of its width all the same, and mean nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// Tokens of the row, pads included.
    pub width: u32,
    /// Its segments, in order, apart or adjacent, none empty.
    pub spans: Vec<Span>,
    /// What pads are: no segment, or a segment each.
    pub pads: PadView,
}

/// Boundaries, masks or columns that do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A span that is not a place in the row.
    #[error(
        "segment {index} lies at {start} with {length} tokens; segments are not empty, follow each \
         other and end within the row of {width}"
    )]
    BadSpan {
        /// Its number in the row.
        index: usize,
        /// Its first position.
        start: u32,
        /// Its tokens.
        length: u32,
        /// Tokens of the row.
        width: u32,
    },
    /// More tokens than an i32 boundary can name.
    #[error(
        "{tokens} tokens are more than boundaries of type i32 can count; make the batch smaller"
    )]
    TooLong {
        /// Tokens of the row or batch.
        tokens: u64,
    },
    /// Rows of a rectangular batch differ.
    #[error("row {row} is {width} tokens wide and row 0 is {first}; pad the rows to one width")]
    Ragged {
        /// The row that differs.
        row: usize,
        /// Its tokens.
        width: u64,
        /// Tokens of the first row.
        first: u64,
    },
    /// A tensor of another size than its shape says.
    #[error("{what} has {found} values; expected {wanted}")]
    Size {
        /// Which tensor.
        what: &'static str,
        /// Its values.
        found: usize,
        /// What the shape asks for.
        wanted: usize,
    },
    /// A mask that is not of 0 and 1.
    #[error(
        "the attention mask has {value} at row {row}, column {column}; only 0 and 1 are allowed"
    )]
    BadMask {
        /// Row of the value.
        row: usize,
        /// Column of the value.
        column: usize,
        /// The value.
        value: String,
    },
}

impl RowShape {
    /// Segments of these lengths end to end, pads after them, and no pad in a segment.
    ///
    /// Lengths that add up to more than the width make a shape that [`RowShape::check`] refuses.
    #[must_use]
    pub fn packed(lengths: impl IntoIterator<Item = u32>, width: u32) -> Self {
        let mut start = 0_u32;
        let spans = lengths.into_iter().map(|length| {
            let span = Span { start, length };
            start = span.end();
            span
        });
        Self { width, spans: spans.collect(), pads: PadView::Suffix }
    }

    /// This row with another meaning of its pads.
    #[must_use]
    pub fn with_pads(self, pads: PadView) -> Self {
        Self { pads, ..self }
    }

    /// Checks that spans are not empty, follow each other and end within the width, which an i32 can hold.
    ///
    /// # Errors
    /// The first span that does not, or the width.
    pub fn check(&self) -> Result<(), ViewError> {
        if i32::try_from(self.width).is_err() {
            return Err(ViewError::TooLong { tokens: u64::from(self.width) });
        }
        let mut free = 0;
        for (index, &Span { start, length }) in self.spans.iter().enumerate() {
            let end = start.checked_add(length).filter(|end| *end <= self.width);
            match end {
                Some(end) if start >= free && length > 0 => free = end,
                _ => return Err(ViewError::BadSpan { index, start, length, width: self.width }),
            }
        }
        Ok(())
    }

    /// The row with every run of pads a segment of its own: boundaries that cover the whole row, for
    /// kernels that are given all of it (flash-attn varlen over packed rows, OLMo-core's `doc_lens`).
    /// For boundaries only: its labels would train on pads.
    #[must_use]
    pub fn covering(&self) -> Self {
        let whole = Self { pads: PadView::Suffix, ..self.clone() };
        let spans =
            whole.runs().into_iter().map(|run| Span { start: run.start, length: run.length });
        Self { spans: spans.collect(), ..whole }
    }

    /// The row from left to right in runs that cover it: segments, and pads one run or one by one.
    pub(super) fn runs(&self) -> Vec<ShapeRun> {
        let mut runs = Vec::with_capacity(2 * self.spans.len() + 1);
        self.for_each_run(|run| runs.push(run));
        runs
    }

    /// Calls `given` for each run, without memory for a list of them.
    pub(in crate::epoch) fn for_each_run(&self, mut given: impl FnMut(ShapeRun)) {
        let (mut free, mut number) = (0, 0);
        for span in &self.spans {
            // A span out of place is cut to the free part, so that runs cover the row once.
            let start = span.start.clamp(free, self.width);
            self.pads(free, start, &mut number, &mut given);
            free = span.end().clamp(start, self.width);
            given(ShapeRun { start, length: free - start, segment: Some(number), pads: false });
            number += 1;
        }
        self.pads(free, self.width, &mut number, &mut given);
    }

    fn pads(&self, from: u32, to: u32, number: &mut u32, given: &mut impl FnMut(ShapeRun)) {
        match self.pads {
            PadView::Suffix if from < to => {
                given(ShapeRun { start: from, length: to - from, segment: None, pads: true });
            }
            PadView::Suffix => {}
            PadView::Each => (from..to).for_each(|start| {
                given(ShapeRun { start, length: 1, segment: Some(*number), pads: true });
                *number += 1;
            }),
        }
    }

    /// The runs that are segments.
    pub(super) fn segments(&self) -> impl Iterator<Item = ShapeRun> {
        self.runs().into_iter().filter(|run| run.segment.is_some())
    }
}

/// A part of a row that is one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::epoch) struct ShapeRun {
    pub start: u32,
    pub length: u32,
    /// Number of the segment it is, from 0; pads have one if every pad is a segment.
    pub segment: Option<u32>,
    pub pads: bool,
}

/// A length as the i32 that trainers read; [`RowShape::check`] refuses what does not fit.
pub(super) fn signed(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

/// A length of something in memory.
pub(super) fn size(length: u32) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}

/// A count in memory as the i64 that tensors hold.
pub(super) fn wide(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
