//! Counts the rows, steps and documents of an epoch without a label, over which a loss is no number.

use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::rows::RowRef;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan, RankSharing};
use model::show::{count, number};
use model::{DocId, Interrupt, LossSpan};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::fmt;
use std::sync::Arc;

/// Numbers of ranks whose batches are looked at.
const WORLDS: [u64; 4] = [1, 2, 4, 8];
/// The most rows that are searched from the beginning of the epoch on: when a plan is explained, and when it is made,
/// which should take no longer for it.
pub(super) const EXPLAINED_ROWS: u64 = 1 << 22;
pub(super) const PLANNED_ROWS: u64 = 1 << 14;

/// Rows, batches and documents without a label: those of which no token but the first of a document is trained on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LabelGaps {
    /// Rows that were looked at: the first of the epoch, rows of pads apart.
    pub rows: u64,
    /// Rows of these without a label.
    pub rows_without_label: u64,
    /// (ranks, batches of a rank without a label, batches of all ranks), where the recipe has batches. Where every batch
    /// is of one rank, for one rank alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub batches_without_label: Vec<(u64, u64, u64)>,
    /// Parts of documents that begin within what is trained on: an answer whose question is in another row.
    pub parts_in_answers: u64,
    /// Documents of which all that is trained on is cut off.
    pub answers_cut_off: u64,
}

/// Searches the first rows of a plan, up to a limit; none where everything is trained on. The sources must be opened
/// to give rows.
pub(super) fn label_gaps(
    opened: &Arc<OpenPlan>,
    sampler: &BatchSampler,
    marks: &EpochIndex,
    most: u64,
    interrupt: &Interrupt,
) -> Result<Option<LabelGaps>, EpochError> {
    if !opened.masked() {
        return Ok(None);
    }
    let looked = match most {
        EXPLAINED_ROWS.. if !opened.has_draws() => LabelFinder::of_all(opened)?,
        _ => LabelFinder { opened, known: None },
    };
    let mut gaps = LabelGaps::default();
    let worlds: Vec<u64> = match sampler.sharing() {
        RankSharing::Divided(rows) => {
            WORLDS.into_iter().filter(|world| rows.is_multiple_of(*world)).collect()
        }
        RankSharing::Dealt => Vec::from_iter(sampler.has_batches().then_some(1)),
    };
    let mut batches = vec![(0, 0); worlds.len()];
    let mut cursor = BatchCursor::at(opened, sampler, marks, 0)?;
    while gaps.rows < most {
        interrupt.check()?;
        let number = cursor.next_number();
        let Some(batch) = cursor.next_batch()? else { break };
        let labels: Vec<bool> =
            batch.rows.iter().map(|row| looked.row(row, &mut gaps)).collect::<Result<_, _>>()?;
        for (world, (without, all)) in worlds.iter().zip(&mut batches) {
            let count = (labels.len() as u64, batch.pads);
            for rank in 0..*world {
                let mut places = match sampler.sharing() {
                    RankSharing::Divided(_) => sampler.places(number, count, rank, *world),
                    RankSharing::Dealt => (0..count.0).collect(),
                }
                .into_iter();
                let has_label = places.any(|at| {
                    let label = usize::try_from(at).ok().and_then(|at| labels.get(at));
                    label.copied().unwrap_or(false)
                });
                *without += u64::from(!has_label);
                *all += 1;
            }
        }
    }
    let batches = worlds.into_iter().zip(batches);
    gaps.batches_without_label =
        batches.map(|(world, (without, all))| (world, without, all)).collect();
    Ok(Some(gaps))
}

/// Finds which rows have a label. Whole documents may be known by one scan of what all say, others are looked up.
struct LabelFinder<'a> {
    opened: &'a OpenPlan,
    known: Option<KnownLabels>,
}

/// What all documents say.
#[derive(Default)]
struct KnownLabels {
    /// Documents of which nothing is trained on.
    untrained: RoaringTreemap,
    /// Documents of which a first token is all that is trained on, perhaps.
    unclear: RoaringTreemap,
}

impl<'a> LabelFinder<'a> {
    fn of_all(opened: &'a OpenPlan) -> Result<Self, EpochError> {
        let mut known = KnownLabels::default();
        for loss in opened.corpora.all_losses(opened.tokenizer)? {
            let (document, spans) = loss?;
            match spans.last() {
                None => known.untrained.insert(document.0),
                Some(last) if last.end < 2 => known.unclear.insert(document.0),
                Some(_) => false,
            };
        }
        Ok(Self { opened, known: Some(known) })
    }

    /// Whether a row has a label.
    fn row(&self, row: &RowRef, gaps: &mut LabelGaps) -> Result<bool, EpochError> {
        let source = self.opened.source(row)?;
        let mut has_label = false;
        for segment in source.segments_without_repeated(row)? {
            let label = self.segment(&segment, row.pass)?;
            has_label |= label;
            if segment.offset > 0 {
                gaps.parts_in_answers += u64::from(self.begins_within_trained(&segment, row.pass)?);
            } else if !label && segment.length < segment.document_length {
                let packed = source.rules().policy.packed(segment.document_length);
                // A row that has all that is packed of a document cuts off the rest.
                let is_cut = packed <= segment.length && self.is_trained_on(&segment, row.pass)?;
                gaps.answers_cut_off += u64::from(is_cut);
            }
        }
        gaps.rows += 1;
        gaps.rows_without_label += u64::from(!has_label);
        Ok(has_label)
    }

    /// Whether anything of the document of a segment is trained on.
    fn is_trained_on(&self, segment: &Segment, pass: u32) -> Result<bool, EpochError> {
        if let Some(known) = &self.known {
            return Ok(!known.untrained.contains(segment.document.0));
        }
        let whole = Segment { offset: 0, length: segment.document_length, ..*segment };
        Ok(self.opened.trained_in(pass).segment(&whole)?.is_none_or(|spans| !spans.is_empty()))
    }

    /// Whether a segment has a label.
    fn segment(&self, segment: &Segment, pass: u32) -> Result<bool, EpochError> {
        let DocId(document) = segment.document;
        if segment.length == segment.document_length
            && let Some(known) = &self.known
            && !known.unclear.contains(document)
        {
            return Ok(segment.length > 1 && !known.untrained.contains(document));
        }
        // The first token of a segment is no label.
        Ok(match self.opened.trained_in(pass).segment(segment)? {
            None => segment.length > 1,
            Some(spans) => spans.last().is_some_and(|last| last.end > 1),
        })
    }

    /// Whether the token before a part and its first one are both trained on.
    fn begins_within_trained(&self, segment: &Segment, pass: u32) -> Result<bool, EpochError> {
        let (offset, length) = (segment.offset - 1, 2.min(segment.length + 1));
        let border = Segment { offset, length, ..*segment };
        let spans = self.opened.trained_in(pass).segment(&border)?;
        let trained = |span: &LossSpan| span.end - span.start;
        Ok(spans.is_some_and(|spans| spans.iter().map(trained).sum::<u32>() == 2))
    }
}

impl fmt::Display for LabelGaps {
    /// A line for each that there is, each with its end; nothing where there is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rows_without_label > 0 {
            write!(
                f,
                "rows without a label: {} of {}",
                number(self.rows_without_label),
                number(self.rows)
            )?;
            let batches = self.batches_without_label.iter();
            for (at, (ranks, without, all)) in batches.enumerate() {
                let before = if at == 0 { "; batches of a rank without one: " } else { ", " };
                let ranks = count(*ranks, "rank", "ranks");
                write!(f, "{before}{} of {} with {ranks}", number(*without), number(*all))?;
            }
            writeln!(f)?;
        }
        if self.answers_cut_off > 0 {
            writeln!(
                f,
                "{} cut before anything is trained on: leave them out (pack.options.long = \"drop\"), or take longer rows",
                count(self.answers_cut_off, "document is", "documents are")
            )?;
        }
        if self.parts_in_answers > 0 {
            writeln!(
                f,
                "{} within an answer that is trained on, without its question: leave such documents out (pack.options.long = \"drop\"), or take longer rows",
                count(
                    self.parts_in_answers,
                    "part of a document begins",
                    "parts of documents begin"
                )
            )?;
        }
        Ok(())
    }
}
