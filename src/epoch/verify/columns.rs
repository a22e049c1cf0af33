//! What a row says of itself beside its ids and segments, each column by its definition at every position.

use super::checks::Property;
use super::findings::{Findings, Places};
use super::read::ReadRow;
use crate::epoch::build::Values;
use crate::epoch::recipe::Column;
use crate::model::LossSpan;

/// A row and what its columns follow from.
pub(super) struct Columns<'a> {
    pub row: &'a ReadRow,
    pub places: &'a Places,
    /// Every pad is a segment with a position of its own.
    pub each: bool,
    /// The trained tokens of each segment, where documents say which are.
    pub said: Option<&'a [Vec<LossSpan>]>,
    /// The same, unless the recipe ignores it.
    pub trained: Option<&'a [Vec<LossSpan>]>,
}

/// (segment, token of it), or a pad.
type SegmentPosition = Option<(usize, usize)>;

impl Columns<'_> {
    /// Every column that the row has.
    pub fn check(&self, findings: &mut Findings) {
        if self.places.len() != self.row.ids.len() {
            findings.fail(Property::Labels, "has columns of different lengths".to_owned());
            return;
        }
        for (column, found) in &self.row.columns {
            if self.expected(*column) != *found {
                let (property, why) = wrong(*column);
                findings.fail(property, why.to_owned());
            }
        }
        self.check_beside(findings);
    }

    /// What the row must have in a column.
    fn expected(&self, column: Column) -> Values {
        let places = || self.places.iter().copied();
        let numbers = || self.numbers();
        match column {
            Column::AttentionMask => {
                Values::I8(places().map(|place| i8::from(place.is_some())).collect())
            }
            Column::Labels => {
                let label = |(id, place): (&u32, SegmentPosition)| {
                    if is_target(place, self.trained) { id.cast_signed() } else { -100 }
                };
                Values::I32(self.row.ids.iter().zip(places()).map(label).collect())
            }
            Column::LossMask => {
                let next = places().skip(1).chain([None]).take(self.places.len());
                Values::I8(next.map(|next| i8::from(is_target(next, self.trained))).collect())
            }
            Column::LossWeights => {
                let of = |place| {
                    if is_target(place, self.trained) { weight(place, self.trained) } else { 0.0 }
                };
                Values::F32(places().map(of).collect())
            }
            Column::PositionIds => Values::I32(self.positions()),
            Column::SegmentIds => {
                Values::I32(numbers().into_iter().map(|number| number + 1).collect())
            }
            Column::SeqIdx => Values::I32(numbers()),
            Column::SeqStartId => {
                let starts = (0..).zip(places());
                let starts = starts.filter(|(_, place)| place.is_some_and(|(_, token)| token == 0));
                Values::I32(starts.map(|(at, _)| at).collect())
            }
            Column::CuSeqlens => {
                let mut end = 0;
                let ends = self.lengths().into_iter().map(|length| {
                    end += length;
                    end
                });
                Values::I32(std::iter::once(0).chain(ends).collect())
            }
            Column::MaxSeqlen => Values::I32(vec![self.lengths().into_iter().max().unwrap_or(0)]),
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

    /// What stands in files of their own: a byte a token, and the spans of segment tables.
    fn check_beside(&self, findings: &mut Findings) {
        let places = || self.places.iter().copied();
        let loss = places().map(|place| u8::from(weight(place, self.trained) > 0.0));
        let labels = places().map(|place| u8::from(is_target(place, self.trained)));
        let masks = [
            self.row.loss.as_ref().is_none_or(|found| found.iter().copied().eq(loss)),
            self.row.label_mask.as_ref().is_none_or(|found| found.iter().copied().eq(labels)),
        ];
        if masks.contains(&false) {
            findings
                .fail(Property::Labels, "has other trained tokens than its documents".to_owned());
        }
        if let Some(found) = &self.row.trained
            && !self.spans_agree(found)
        {
            findings.fail(
                Property::Labels,
                "has spans of trained tokens that are not those of its documents".to_owned(),
            );
        }
    }

    /// Whether spans say at every position what documents say.
    fn spans_agree(&self, spans: &[(i32, i32, f32)]) -> bool {
        let mut found = vec![0.0; self.places.len()];
        for (start, end, weight) in spans {
            let bounds = (usize::try_from(*start), usize::try_from(*end));
            let (Ok(start), Ok(end)) = bounds else { return false };
            match found.get_mut(start..end) {
                Some(part) => part.fill(*weight),
                None => return false,
            }
        }
        found.into_iter().eq(self.places.iter().map(|place| weight(*place, self.said)))
    }
}

/// What a wrong column is a failure of.
const fn wrong(column: Column) -> (Property, &'static str) {
    match column {
        Column::AttentionMask => {
            (Property::Boundaries, "has an attention mask that is not that of its segments")
        }
        Column::CuSeqlens | Column::MaxSeqlen => {
            (Property::Boundaries, "has other cumulative lengths than its segments")
        }
        Column::SegmentIds | Column::SeqIdx => {
            (Property::Boundaries, "has other segment numbers than its segment lengths")
        }
        Column::SeqStartId => {
            (Property::Boundaries, "has other segment starts than its segment lengths")
        }
        Column::PositionIds => {
            (Property::Positions, "has positions that do not restart with each segment")
        }
        Column::Labels => {
            (Property::Labels, "has labels that cross a segment, are untrained, or are not its ids")
        }
        Column::LossMask => (Property::Labels, "has a loss mask that is not that of its labels"),
        Column::LossWeights => {
            (Property::Labels, "has loss weights that are not those of its documents")
        }
    }
}

/// Whether a token stands at a place, is not the first of its segment, and is trained.
fn is_target(place: SegmentPosition, trained: Option<&[Vec<LossSpan>]>) -> bool {
    place.is_some_and(|(_, token)| token > 0) && weight(place, trained) > 0.0
}

/// The weight of the token at a place; 0 on pads and what is not trained.
fn weight(place: SegmentPosition, trained: Option<&[Vec<LossSpan>]>) -> f32 {
    let Some((segment, token)) = place else { return 0.0 };
    let Some(spans) = trained.and_then(|trained| trained.get(segment)) else { return 1.0 };
    let at = spans.partition_point(|span| span.end as usize <= token);
    spans.get(at).filter(|span| span.start as usize <= token).map_or(0.0, |span| span.weight)
}
