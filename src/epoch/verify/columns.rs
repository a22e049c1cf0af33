//! Checks every column of a row beside its ids and segments, by the column's definition, at every position.

use super::checks::{Property, RowFindings, RowPlaces};
use crate::epoch::recipe::RowColumn;
use files::output::{TokenRow, ViewValues};
use model::LossSpan;

/// A row and what its columns follow from.
pub(super) struct ColumnChecker<'a> {
    pub row: TokenRow<'a>,
    pub places: &'a RowPlaces,
    /// Every pad is a segment with a position of its own.
    pub each: bool,
    /// The trained tokens of each segment, where documents say which are.
    pub said: Option<&'a [Vec<LossSpan>]>,
    /// What documents say is trained, unless the recipe ignores it.
    pub trained: Option<&'a [Vec<LossSpan>]>,
}

/// (segment, token of it), or a pad.
type SegmentPosition = Option<(usize, usize)>;

impl ColumnChecker<'_> {
    /// Every column that the row has.
    pub fn check(&self, findings: &mut RowFindings) {
        if self.places.len() != self.row.ids().len() {
            findings.fail(Property::Labels, "has columns of different lengths".to_owned());
            return;
        }
        for (column, found) in self.row.views() {
            if !self.agrees(column, found) {
                let (property, why) = wrong(column);
                findings.fail(property, why.to_owned());
            }
        }
        self.check_beside(findings);
    }

    /// Whether the values of a column are those that the row must have.
    fn agrees(&self, column: RowColumn, found: ViewValues<'_>) -> bool {
        let places = || self.places.iter().copied();
        let numbers = || self.numbers().into_iter();
        let target = |place| is_target(place, self.trained);
        match (column, found) {
            (RowColumn::AttentionMask, ViewValues::I8(found)) => {
                same(found, places().map(|place| i8::from(place.is_some())))
            }
            (RowColumn::Labels, ViewValues::I32(found)) => {
                let label = |(id, place): (&u32, SegmentPosition)| {
                    if target(place) { id.cast_signed() } else { -100 }
                };
                same(found, self.row.ids().iter().zip(places()).map(label))
            }
            (RowColumn::LossMask, ViewValues::I8(found)) => {
                let next = places().skip(1).chain([None]).take(self.places.len());
                same(found, next.map(|next| i8::from(target(next))))
            }
            (RowColumn::LossWeights, ViewValues::F32(found)) => {
                let of = |place| if target(place) { weight(place, self.trained) } else { 0.0 };
                same(found, places().map(of))
            }
            (RowColumn::PositionIds, ViewValues::I32(found)) => same(found, self.positions()),
            (RowColumn::SegmentIds, ViewValues::I32(found)) => {
                same(found, numbers().map(|number| number + 1))
            }
            (RowColumn::SeqIdx, ViewValues::I32(found)) => same(found, numbers()),
            (RowColumn::SeqStartId, ViewValues::I32(found)) => {
                let starts = (0..).zip(places());
                let starts = starts.filter(|(_, place)| place.is_some_and(|(_, token)| token == 0));
                same(found, starts.map(|(at, _)| at))
            }
            (RowColumn::CuSeqlens, ViewValues::I32(found)) => {
                let mut end = 0;
                let ends = self.lengths().into_iter().map(|length| {
                    end += length;
                    end
                });
                same(found, std::iter::once(0).chain(ends))
            }
            (RowColumn::MaxSeqlen, ViewValues::I32(found)) => {
                same(found, [self.lengths().into_iter().max().unwrap_or(0)])
            }
            // The values have another type than the column.
            _ => false,
        }
    }

    /// From 0 in every segment, and in every run of pads.
    fn positions(&self) -> Vec<i32> {
        let mut position = 0;
        let mut before = None;
        let next = |place: &SegmentPosition| {
            let segment = place.map(|(segment, _)| segment);
            let goes_on = before == Some(segment) && !(self.each && segment.is_none());
            position = if goes_on { position + 1 } else { 0 };
            before = Some(segment);
            position
        };
        self.places.iter().map(next).collect()
    }

    /// The number of the segment at each position, -1 on pads that are none.
    fn numbers(&self) -> Vec<i32> {
        let mut number = -1;
        let mut before = None;
        let next = |place: &SegmentPosition| {
            let segment = place.map(|(segment, _)| segment);
            if segment.is_none() && !self.each {
                return -1;
            }
            if segment.is_none() || before != segment {
                number += 1;
            }
            before = segment;
            number
        };
        self.places.iter().map(next).collect()
    }

    /// Tokens of each numbered segment.
    fn lengths(&self) -> Vec<i32> {
        let mut lengths: Vec<i32> = Vec::new();
        for number in self.numbers() {
            let Ok(number) = usize::try_from(number) else { continue };
            if lengths.len() <= number {
                lengths.resize(number + 1, 0);
            }
            if let Some(length) = lengths.get_mut(number) {
                *length += 1;
            }
        }
        lengths
    }

    /// What stands in files of their own: a byte a token, the ends of runs, and the spans of segment tables.
    fn check_beside(&self, findings: &mut RowFindings) {
        let places = || self.places.iter().copied();
        let trained = places().map(|place| u8::from(weight(place, self.trained) > 0.0));
        let labels = places().map(|place| u8::from(is_target(place, self.trained)));
        if self.row.trained_tokens().is_some_and(|found| !same(found, trained))
            || self.row.label_mask().is_some_and(|found| !same(found, labels))
        {
            findings
                .fail(Property::Labels, "has other trained tokens than its documents".to_owned());
        }
        if self.row.run_ends().is_some_and(|found| !same(found, self.run_ends())) {
            let why = "has other ends than its segments and pads".to_owned();
            findings.fail(Property::Boundaries, why);
        }
        if let Some(found) = self.row.trained()
            && !self.spans_agree(found)
        {
            findings.fail(
                Property::Labels,
                "has spans of trained tokens that are not those of its documents".to_owned(),
            );
        }
    }

    /// Where positions start over, and the end of the row.
    fn run_ends(&self) -> Vec<i32> {
        let starts = (0..).zip(self.positions()).skip(1);
        let ends = starts.filter(|(_, position)| *position == 0).map(|(at, _)| at);
        let last = i32::try_from(self.places.len()).ok().filter(|end| *end > 0);
        ends.chain(last).collect()
    }

    /// Whether spans say at every position what documents say.
    fn spans_agree(&self, spans: impl Iterator<Item = (i32, i32, f32)>) -> bool {
        let mut found = vec![0.0; self.places.len()];
        for (start, end, weight) in spans {
            let bounds = (usize::try_from(start), usize::try_from(end));
            let (Ok(start), Ok(end)) = bounds else { return false };
            match found.get_mut(start..end) {
                Some(part) => part.fill(weight),
                None => return false,
            }
        }
        found.into_iter().eq(self.places.iter().map(|place| weight(*place, self.said)))
    }
}

/// Whether values are these.
fn same<T: PartialEq + Copy>(found: &[T], expected: impl IntoIterator<Item = T>) -> bool {
    found.iter().copied().eq(expected)
}

/// What a wrong column is a failure of.
const fn wrong(column: RowColumn) -> (Property, &'static str) {
    match column {
        RowColumn::AttentionMask => {
            (Property::Boundaries, "has an attention mask that is not that of its segments")
        }
        RowColumn::CuSeqlens | RowColumn::MaxSeqlen => {
            (Property::Boundaries, "has other cumulative lengths than its segments")
        }
        RowColumn::SegmentIds | RowColumn::SeqIdx => {
            (Property::Boundaries, "has other segment numbers than its segment lengths")
        }
        RowColumn::SeqStartId => {
            (Property::Boundaries, "has other segment starts than its segment lengths")
        }
        RowColumn::PositionIds => {
            (Property::Positions, "has positions that do not restart with each segment")
        }
        RowColumn::Labels => {
            (Property::Labels, "has labels that cross a segment, are untrained, or are not its ids")
        }
        RowColumn::LossMask => (Property::Labels, "has a loss mask that is not that of its labels"),
        RowColumn::LossWeights => {
            (Property::Labels, "has loss weights that are not those of its documents")
        }
    }
}

/// Whether a token stands at a place, is not the first of its segment, and is trained.
fn is_target(place: SegmentPosition, trained: Option<&[Vec<LossSpan>]>) -> bool {
    place.is_some_and(|(_, token)| token > 0) && weight(place, trained) > 0.0
}

/// The weight of the token at a place; 0 on pads and untrained tokens.
fn weight(place: SegmentPosition, trained: Option<&[Vec<LossSpan>]>) -> f32 {
    let Some((segment, token)) = place else { return 0.0 };
    let Some(spans) = trained.and_then(|trained| trained.get(segment)) else { return 1.0 };
    let at = spans.partition_point(|span| span.end as usize <= token);
    spans.get(at).filter(|span| span.start as usize <= token).map_or(0.0, |span| span.weight)
}
