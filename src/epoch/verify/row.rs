//! Checks what a single row must hold, position by position.

use super::checks::{Property, RowFindings, RowPlaces};
use super::columns::ColumnChecker;
use crate::epoch::error::EpochError;
use crate::epoch::lengths::effective;
use crate::epoch::pack::Segment;
use crate::epoch::recipe::{PackKind, PadSide, PadView};
use crate::epoch::rows::SourceRows;
use crate::epoch::run::OpenPlan;
use files::output::TokenRow;
use model::{DocId, LossSpan};
use roaring::RoaringTreemap;

/// Checks rows one by one.
pub(super) struct RowChecker<'a> {
    opened: &'a OpenPlan,
    sources: Vec<SourceChecker<'a>>,
}

/// What a segment of a source may be.
struct SourceChecker<'a> {
    source: &'a SourceRows,
    documents: RoaringTreemap,
}

impl<'a> RowChecker<'a> {
    pub fn new(opened: &'a OpenPlan) -> Self {
        let sources = opened
            .sources
            .iter()
            .map(|source| SourceChecker { source, documents: source.pinned().documents() });
        Self { opened, sources: sources.collect() }
    }

    /// Checks one row, of `width` tokens where its batch gives it a width, but for the ids of its segments.
    /// `planned` are the pass and the segments of the row that the plan has there.
    ///
    /// # Errors
    /// [`EpochError::Store`] when the store cannot be read; what is wrong with the row is in the findings.
    pub fn check(
        &self,
        row: TokenRow<'_>,
        width: Option<u32>,
        (pass, planned): (u32, &[Segment]),
    ) -> Result<RowFindings, EpochError> {
        let mut findings = RowFindings::default();
        let Some(lengths) = check_boundaries(row, &mut findings) else {
            return Ok(findings);
        };
        let most = self.opened.plan.recipe.pack.most_segments;
        if let Some(most) = most.filter(|most| lengths.len() > *most as usize) {
            let why =
                format!("has {} segments, and pack.most_segments allows {most}", lengths.len());
            findings.fail(Property::Boundaries, why);
        }
        findings.real = lengths.iter().fold(0, |sum, length| sum.saturating_add(*length));
        if findings.real > row.ids().len() {
            // The claimed lengths are checked before room is made for them.
            let why =
                format!("has {} tokens in segments and {} ids", findings.real, row.ids().len());
            findings.fail(Property::Boundaries, why);
            return Ok(findings);
        }
        let (places, starts) = self.places(row, width, &lengths);
        self.check_padding(row, &places, &mut findings);
        let checked =
            self.sources.iter().find(|checked| *checked.source.rules().name == *row.source());
        if checked.is_none() && !(row.source().is_empty() && lengths.is_empty()) {
            findings.fail(
                Property::Integrity,
                format!("is of source `{}`, which the plan does not have", row.source()),
            );
            return Ok(findings);
        }
        let mut trained: Option<Vec<Vec<LossSpan>>> = self.opened.trained.any().then(Vec::new);
        let reader = self.opened.trained_in(pass);
        let segments = row.doc_ids().iter().zip(row.doc_offsets()).zip(&lengths).zip(&starts);
        for (number, (((document, offset), length), start)) in segments.enumerate() {
            let Some(checked) = checked else { continue };
            let numbers = (*document, *offset, *length);
            let Some(segment) =
                self.segment(checked, numbers, (pass, planned.get(number)), &mut findings)?
            else {
                trained = None;
                continue;
            };
            let (first, last) = (number == 0, number + 1 == lengths.len());
            check_integrity(checked, &segment, (first, last), &mut findings);
            if let Some(trained) = &mut trained {
                trained.push(reader.spans_in_row(&segment, 0)?);
            }
            findings.segments.push(segment);
            findings.starts.push(*start);
        }
        let known = !self.opened.trained.any() || trained.is_some();
        if known {
            let each = self.opened.plan.recipe.pack.options.pad_view == PadView::Each;
            let said = trained.as_deref();
            let trained = said.filter(|_| self.opened.masked());
            let columns = ColumnChecker { row, places: &places, each, said, trained };
            columns.check(&mut findings);
        }
        Ok(findings)
    }

    /// A segment with the length of its document; none when it is not one that could be.
    fn segment(
        &self,
        checked: &SourceChecker<'_>,
        (document, offset, length): (i64, i64, usize),
        (pass, planned): (u32, Option<&Segment>),
        findings: &mut RowFindings,
    ) -> Result<Option<Segment>, EpochError> {
        let numbers = (u64::try_from(document), u32::try_from(offset), u32::try_from(length));
        let (Ok(document), Ok(offset), Ok(length)) = numbers else {
            findings.fail(
                Property::Integrity,
                format!("has document {document} from token {offset}, which cannot be"),
            );
            return Ok(None);
        };
        if !checked.documents.contains(document) {
            findings.fail(
                Property::Integrity,
                format!("holds document {document}, which is not of the selection"),
            );
            return Ok(None);
        }
        let document = DocId(document);
        // The plan's length of it is compared with the stored ids in any case.
        let document_length = match planned.filter(|planned| planned.document == document) {
            Some(planned) => Some(planned.document_length),
            None => self.length(document, pass)?,
        };
        let Some(document_length) = document_length else {
            let tokenizer = self.opened.plan.tokenizer.name.clone();
            let error = EpochError::NotEncoded { tokenizer, document: document.0, near_of: None };
            findings.fail(Property::Ids, format!("cannot be checked: {error}"));
            return Ok(None);
        };
        if offset.checked_add(length).is_none_or(|end| end > document_length) {
            findings.fail(
                Property::Ids,
                format!("has other ids than document {document} from token {offset}"),
            );
            return Ok(None);
        }
        Ok(Some(Segment { document, offset, length, document_length }))
    }

    /// The effective length of a document in a pass; none when it has no ids.
    fn length(&self, document: DocId, pass: u32) -> Result<Option<u32>, EpochError> {
        let specials = self.opened.plan.tokenizer.specials;
        let overhead = u32::from(specials.bos.is_some()) + u32::from(specials.eos.is_some());
        let (corpora, tokenizer) = (&self.opened.corpora, self.opened.tokenizer_in(pass));
        let found = corpora.token_counts(tokenizer, document.block(), |values| {
            effective(values, document.slot(), overhead)
        })?;
        Ok(found.flatten())
    }

    /// What stands at every position of a row: (segment, token of it), or a pad. Each segment takes up a
    /// multiple of places, its pads at the side where pads stand. With it, where each segment begins.
    fn places(
        &self,
        row: TokenRow<'_>,
        width: Option<u32>,
        lengths: &[usize],
    ) -> (RowPlaces, Vec<usize>) {
        let plan = &self.opened.plan;
        let options = &plan.recipe.pack.options;
        let left = options.pad_side == PadSide::Left;
        let padded = plan.pad().is_some();
        let mut places: RowPlaces = Vec::with_capacity(row.ids().len());
        let mut starts = Vec::with_capacity(lengths.len());
        for (segment, length) in lengths.iter().enumerate() {
            let multiple = if padded { options.doc_multiple.max(1) as usize } else { 1 };
            let pads = length.next_multiple_of(multiple) - length;
            let tokens = (0..*length).map(|token| Some((segment, token)));
            starts.push(places.len() + if left { pads } else { 0 });
            let pads = std::iter::repeat_n(None, pads);
            if left {
                places.extend(pads.chain(tokens));
            } else {
                places.extend(tokens.chain(pads));
            }
        }
        if padded {
            // Places for the last target alone stand at the end whatever the side.
            let spare = if width.is_none() { plan.spare() as usize } else { 0 };
            let rest =
                (width.unwrap_or(plan.capacity) as usize).saturating_sub(spare + places.len());
            let at = if left { 0 } else { places.len() };
            if left {
                starts.iter_mut().for_each(|start| *start += rest);
            }
            places.splice(at..at, std::iter::repeat_n(None, rest));
            places.extend(std::iter::repeat_n(None, spare));
        }
        (places, starts)
    }

    /// A row is as long as its plan makes it, and the pad token stands where no segment does.
    fn check_padding(
        &self,
        row: TokenRow<'_>,
        places: &[Option<(usize, usize)>],
        findings: &mut RowFindings,
    ) {
        let capacity = self.opened.plan.capacity as usize;
        let pad = self.opened.plan.pad();
        if findings.real > capacity || row.ids().len() != places.len() {
            let why = format!(
                "has {} tokens, {} of them in segments, for a capacity of {capacity}",
                row.ids().len(),
                findings.real
            );
            findings.fail(Property::Boundaries, why);
        } else if row
            .ids()
            .iter()
            .zip(places)
            .any(|(id, place)| place.is_none() && Some(*id) != pad)
        {
            findings.fail(
                Property::Boundaries,
                "is filled with something else than the pad token".to_owned(),
            );
        }
    }
}

/// Segment lengths are positive, and as many as documents and offsets.
fn check_boundaries(row: TokenRow<'_>, findings: &mut RowFindings) -> Option<Vec<usize>> {
    let lengths: Vec<usize> = row
        .seq_lengths()
        .iter()
        .filter_map(|length| usize::try_from(*length).ok().filter(|length| *length > 0))
        .collect();
    let segments = row.seq_lengths().len();
    // A row of no source is one of pads.
    if (segments == 0 && !row.source().is_empty())
        || lengths.len() != segments
        || row.doc_ids().len() != segments
        || row.doc_offsets().len() != segments
    {
        let why = format!(
            "has {segments} segment lengths ({} positive), {} documents, {} offsets",
            lengths.len(),
            row.doc_ids().len(),
            row.doc_offsets().len()
        );
        findings.fail(Property::Boundaries, why);
        return None;
    }
    Some(lengths)
}

/// Checks that a segment lies within its document or pinned part. It begins and ends where that does, or at a multiple
/// of a row from its beginning; with `concat`, where the row does. Where parts end with EOS, a row has a token less of
/// a document that continues in the next row.
fn check_integrity(
    checked: &SourceChecker<'_>,
    segment: &Segment,
    (first, last): (bool, bool),
    findings: &mut RowFindings,
) {
    let policy = checked.source.rules().policy;
    let packed = policy.packed(segment.document_length);
    let added = u32::from(policy.cut_eos && segment.end() < segment.document_length);
    let (offset, end) = (segment.offset, segment.end() - added);
    let is_sound = |from: u32, to: u32| {
        let Some(inside) = offset.checked_sub(from) else { return false };
        if policy.kind == PackKind::Concat {
            offset < end && end <= to && (inside == 0 || first) && (end == to || last)
        } else {
            let fills = policy.capacity - u32::from(policy.cut_eos);
            let eos = u32::from(policy.cut_eos && to < segment.document_length);
            let rest = to.saturating_sub(offset);
            let expected = if rest + eos <= policy.capacity { to } else { offset + fills };
            inside.is_multiple_of(fills) && end == expected
        }
    };
    let document = segment.document;
    let is_owed = checked.source.pinned().coverages().any(|coverage| {
        let is_whole = coverage.whole.layers().first().is_some_and(|all| all.contains(document.0));
        let parts = coverage.parts.of_document(document);
        (is_whole && is_sound(0, packed))
            || parts.iter().any(|part| is_sound(part.offset, part.end()))
    });
    if !is_owed {
        let why = format!("cuts document {document} ({packed} tokens packed) at {offset} to {end}");
        findings.fail(Property::Integrity, why);
    }
}
