//! What a single row must hold, decided position by position.

use super::checks::Property;
use crate::epoch::error::EpochError;
use crate::epoch::ids::TokenReader;
use crate::epoch::open::Opened;
use crate::epoch::pack::Policy;
use crate::epoch::plan::Plan;
use crate::epoch::read::{ReadRow, ReadViews};
use crate::epoch::recipe::PackKind;
use crate::model::DocId;
use roaring::RoaringTreemap;

/// Checks rows one by one.
pub(super) struct RowChecker<'a> {
    plan: &'a Plan,
    sources: Vec<(&'a str, Policy, &'a RoaringTreemap)>,
}

/// What was found in a row.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Tokens that its segments hold.
    pub real: usize,
    /// Its segments, where they could be made sense of.
    pub segments: Vec<FoundSegment>,
    pub failures: Vec<(Property, String)>,
}

/// A segment as the files have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FoundSegment {
    pub document: u64,
    pub offset: u64,
    pub length: u64,
    /// Tokens of the document that are packed, by the store.
    pub packed: u64,
}

impl Findings {
    pub fn fail(&mut self, property: Property, why: String) {
        self.failures.push((property, why));
    }
}

impl<'a> RowChecker<'a> {
    pub fn new(plan: &'a Plan, opened: &'a Opened<'a>) -> Self {
        let sources = opened.sources.iter().map(|source| {
            let rules = source.rules();
            (rules.name, rules.policy, source.documents().selection)
        });
        Self { plan, sources: sources.collect() }
    }

    /// Checks one row.
    ///
    /// # Errors
    /// [`EpochError::Store`] when the store cannot be read; what is wrong with the row is in the findings.
    pub fn check(
        &self,
        reader: &mut TokenReader<'_>,
        row: &ReadRow,
    ) -> Result<Findings, EpochError> {
        let mut findings = Findings::default();
        let Some(lengths) = check_boundaries(row, &mut findings) else {
            return Ok(findings);
        };
        findings.real = lengths.iter().sum();
        self.check_padding(row, &mut findings);
        if let Some(views) = &row.views {
            check_views(row, views, &lengths, &mut findings);
        }
        let source = self.sources.iter().find(|(name, ..)| *name == row.source);
        let Some((_, policy, selection)) = source else {
            findings.fail(
                Property::Integrity,
                format!("is of source `{}`, which the plan does not have", row.source),
            );
            return Ok(findings);
        };
        let mut start = 0;
        for ((document, offset), length) in row.doc_ids.iter().zip(&row.doc_offsets).zip(&lengths) {
            let piece = row.ids.get(start..start + length).unwrap_or_default();
            start += length;
            let (Ok(document), Ok(offset)) = (u64::try_from(*document), u64::try_from(*offset))
            else {
                findings.fail(Property::Integrity, "has a negative document or offset".to_owned());
                continue;
            };
            if !selection.contains(document) {
                findings.fail(
                    Property::Integrity,
                    format!("holds document {document}, which is not of the selection"),
                );
                continue;
            }
            let sequence = match reader.sequence(DocId(document)) {
                Ok(sequence) => sequence,
                Err(error @ EpochError::NotEncoded { .. }) => {
                    findings.fail(Property::Ids, format!("cannot be checked: {error}"));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            if sequence.get(from..from.saturating_add(*length)) != Some(piece) {
                findings.fail(
                    Property::Ids,
                    format!("has other ids than document {document} from token {offset}"),
                );
            }
            let packed = u32::try_from(sequence.len()).map_or(0, |length| policy.packed(length));
            let at_end = start == findings.real;
            let segment =
                FoundSegment { document, offset, length: *length as u64, packed: packed.into() };
            check_integrity(policy, &segment, start == *length, at_end, &mut findings);
            findings.segments.push(segment);
        }
        Ok(findings)
    }

    /// Rows of fixed length are full, or filled with the pad token at their end.
    fn check_padding(&self, row: &ReadRow, findings: &mut Findings) {
        let capacity = self.plan.capacity as usize;
        let pads = row.ids.get(findings.real..);
        let (expected, pad) = match self.plan.pad() {
            Some(pad) => (capacity, Some(pad)),
            None => (findings.real, None),
        };
        if findings.real > capacity || row.ids.len() != expected || pads.is_none() {
            let why = format!(
                "has {} tokens, {} of them in segments, for a capacity of {capacity}",
                row.ids.len(),
                findings.real
            );
            findings.fail(Property::Boundaries, why);
        } else if pads.unwrap_or_default().iter().any(|id| Some(*id) != pad) {
            findings.fail(
                Property::Boundaries,
                "is filled with something else than the pad token".to_owned(),
            );
        }
    }
}

/// Segment lengths are positive, and as many as documents and offsets.
fn check_boundaries(row: &ReadRow, findings: &mut Findings) -> Option<Vec<usize>> {
    let lengths: Vec<usize> = row
        .seq_lengths
        .iter()
        .filter_map(|length| usize::try_from(*length).ok().filter(|length| *length > 0))
        .collect();
    let segments = row.seq_lengths.len();
    if segments == 0
        || lengths.len() != segments
        || row.doc_ids.len() != segments
        || row.doc_offsets.len() != segments
    {
        let why = format!(
            "has {segments} segment lengths ({} positive), {} documents, {} offsets",
            lengths.len(),
            row.doc_ids.len(),
            row.doc_offsets.len()
        );
        findings.fail(Property::Boundaries, why);
        return None;
    }
    Some(lengths)
}

/// A document that fits a row is whole; a longer one is cut at multiples of a row. `concat` cuts
/// where its rows end.
fn check_integrity(
    policy: &Policy,
    segment: &FoundSegment,
    first: bool,
    last: bool,
    findings: &mut Findings,
) {
    let capacity = u64::from(policy.capacity);
    let end = segment.offset + segment.length;
    let sound = if policy.kind == PackKind::Concat {
        end <= segment.packed && (segment.offset == 0 || first) && (end == segment.packed || last)
    } else {
        segment.offset.is_multiple_of(capacity)
            && end == segment.packed.min(segment.offset.saturating_add(capacity))
    };
    if !sound {
        let why = format!(
            "cuts document {} ({} tokens packed) at {} to {end}",
            segment.document, segment.packed, segment.offset
        );
        findings.fail(Property::Integrity, why);
    }
}

/// Labels, loss mask, positions and starts, each by its definition at every position.
fn check_views(row: &ReadRow, views: &ReadViews, lengths: &[usize], findings: &mut Findings) {
    let width = row.ids.len();
    if [views.labels.len(), views.loss_mask.len(), views.position_ids.len()] != [width; 3] {
        findings.fail(Property::Labels, "has columns of different lengths".to_owned());
        return;
    }
    // Segment and place in it of every position; pads are the segment after the last.
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(width);
    let mut starts = Vec::new();
    for (segment, length) in lengths.iter().enumerate() {
        starts.push(places.len());
        places.extend((0..*length).map(|place| (segment, place)));
    }
    let pads = width.saturating_sub(places.len());
    places.extend((0..pads).map(|place| (lengths.len(), place)));
    if !views
        .seq_start_id
        .iter()
        .map(|start| usize::try_from(*start).ok())
        .eq(starts.into_iter().map(Some))
    {
        findings.fail(
            Property::Boundaries,
            "has other segment starts than its segment lengths".to_owned(),
        );
    }
    let positions = views.position_ids.iter().map(|position| usize::try_from(*position).ok());
    if !positions.eq(places.iter().map(|(_, place)| Some(*place))) {
        findings.fail(
            Property::Positions,
            "has positions that do not restart with each segment".to_owned(),
        );
    }
    let label = |(id, (segment, place)): (&u32, &(usize, usize))| {
        let ignored = *place == 0 || *segment == lengths.len();
        if ignored { -100 } else { i64::from(*id) }
    };
    if !views.labels.iter().map(|label| i64::from(*label)).eq(row
        .ids
        .iter()
        .zip(&places)
        .map(label))
    {
        findings.fail(
            Property::Labels,
            "has labels that cross a segment, or are not its ids".to_owned(),
        );
    }
    let next = places.iter().skip(1).map(Some).chain([None]);
    let mask = places.iter().zip(next).map(|((segment, _), next)| {
        i8::from(
            *segment < lengths.len() && next.is_some_and(|(following, _)| following == segment),
        )
    });
    if !views.loss_mask.iter().copied().eq(mask) {
        findings.fail(Property::Labels, "has a loss mask that crosses a segment".to_owned());
    }
}
