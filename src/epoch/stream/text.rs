//! Decodes the text of rows: what of a document each row has, and which of it is trained on.

use super::EpochRow;
use crate::epoch::views::{LossWeighting, loss_weights};
use model::invariant::text_part;
use serde::Serialize;
use std::ops::Range;

/// A row of an epoch for people and programs: its documents, its ids and, on request, its text.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RowReport {
    /// Its number in the epoch.
    pub row: u64,
    /// Its global batch; none if the recipe has no batches.
    pub batch: Option<u64>,
    /// Its source; none for a row of pads.
    pub source: Option<String>,
    /// The pass over its source, counted from 0 within the run of the plan: how often its documents were due before.
    /// None for a row of pads, and where rows are drawn with replacement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass: Option<u32>,
    /// Positions of the row.
    pub width: u32,
    /// How many of them are trained on.
    pub trained: u64,
    /// The documents in it, in order.
    pub segments: Vec<RowSegment>,
    /// Its text in parts that cover the row, in order; none unless it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<RowPart>>,
    /// Its ids, pads included.
    pub input_ids: Vec<u32>,
}

/// A document or a part of one in a row.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RowSegment {
    /// The document; with several corpora its number among those of all.
    pub document: u64,
    /// Its key.
    pub key: String,
    /// Its source in the corpus; that of the row is one of the recipe.
    pub source: String,
    /// The first token of the document that is in the row.
    pub offset: u32,
    /// The number of its tokens in the row.
    pub length: u32,
    /// Tokens of the document.
    pub document_length: u32,
    /// The position of the first one in the row.
    pub start: u32,
    /// The corpus that it is in, from 0, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<u64>,
    /// Its id in that corpus.
    #[serde(skip)]
    pub id: u64,
}

/// A part of a row: pads, or a part of one segment that is trained on as a whole or not at all.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct RowPart {
    /// Its text, special tokens spelled out; empty for pads. A character that two parts share is in the later one.
    pub text: String,
    /// Whether it is trained on: whether the labels have its ids. They never have the first token of a segment.
    pub trained: bool,
    /// What its tokens weigh in the loss, where that is not 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f32>,
    /// The number of its segment in the row, from 0; none for pads.
    pub segment: Option<usize>,
    /// Its first position in the row.
    pub start: u32,
    /// How many positions it has.
    pub length: u32,
}

impl EpochRow {
    /// What each of its positions weighs as a target of the loss; 0 where the labels have no id.
    pub(crate) fn target_weights(&self) -> Vec<f32> {
        loss_weights(&self.shape, self.trained(), LossWeighting::Tokens)
    }

    /// The row from left to right, in parts that cover it; `decode` gives the text of ids. The texts of the parts of a
    /// segment make the text of its ids, whatever is trained on. A row without its ids has no text.
    ///
    /// # Errors
    /// Those of `decode`.
    pub fn parts<E>(
        &self,
        mut decode: impl FnMut(&[u32]) -> Result<String, E>,
    ) -> Result<Vec<RowPart>, E> {
        let weights = self.target_weights();
        let (mut parts, mut free) = (Vec::new(), 0);
        for (number, span) in self.shape.spans.iter().enumerate() {
            push_pads(&mut parts, free..span.start);
            free = span.end();
            let place = span.start as usize..span.end() as usize;
            let weights = weights.get(place.clone()).unwrap_or_default();
            let runs: Vec<(f32, usize)> = weights
                .chunk_by(|a, b| a == b)
                .filter_map(|run| Some((run.first().copied()?, run.len())))
                .collect();
            let lengths = runs.iter().map(|(_, length)| *length);
            let ids = self.ids.get(place).unwrap_or_default();
            let texts = texts(ids, lengths, &mut decode)?;
            let mut start = span.start;
            for ((weight, length), text) in runs.into_iter().zip(texts) {
                // A row has at most `u32::MAX` positions.
                let length = length as u32;
                let trained = weight > 0.0;
                let odd = Some(weight).filter(|weight| trained && *weight != 1.0);
                let segment = Some(number);
                parts.push(RowPart { text, trained, weight: odd, segment, start, length });
                start += length;
            }
        }
        push_pads(&mut parts, free..self.shape.width);
        Ok(parts)
    }
}

fn push_pads(parts: &mut Vec<RowPart>, place: Range<u32>) {
    if !place.is_empty() {
        parts.push(RowPart {
            text: String::new(),
            trained: false,
            weight: None,
            segment: None,
            start: place.start,
            length: place.end - place.start,
        });
    }
}

/// The text of ids, cut where runs of them end.
///
/// Decoders drop a space before the first id and cannot write a part of a character, so a run is decoded behind the
/// run before it, and what that one alone gives is taken off. Where the rest is not what comes next in the whole text,
/// as at the end of a run that cuts a character, all ids up to there are decoded.
fn texts<E>(
    ids: &[u32],
    lengths: impl Iterator<Item = usize>,
    decode: &mut impl FnMut(&[u32]) -> Result<String, E>,
) -> Result<Vec<String>, E> {
    let of = |place: Range<usize>| ids.get(place).unwrap_or_default();
    let whole = decode(ids)?;
    let (mut texts, mut before, mut told) = (Vec::new(), String::new(), 0);
    // The run before this one, and this one.
    let (mut first, mut start) = (0, 0);
    for length in lengths {
        let end = start + length;
        let left = text_part(&whole, told..);
        let next = if end >= ids.len() {
            whole.len()
        } else {
            let here = decode(of(first..end))?;
            let added = text_part(&here, common(&before, &here)..);
            let is_whole = !added.is_empty() && !added.ends_with('\u{fffd}');
            match is_whole && left.starts_with(added) {
                true => told + added.len(),
                false => common(&decode(of(0..end))?, &whole).max(told),
            }
        };
        texts.push(text_part(&whole, told..next).to_owned());
        before = decode(of(start..end))?;
        (first, start, told) = (start, end, next);
    }
    Ok(texts)
}

/// Bytes of the characters with which both texts begin.
fn common(a: &str, b: &str) -> usize {
    let differ = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    differ.map_or(a.len().min(b.len()), |((at, _), _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::views::RowShape;
    use model::LossSpan;
    use proptest::prelude::*;
    use std::convert::Infallible;

    /// A decoder of bytes, as most are: bytes that are no character become U+FFFD. With `spaced` it drops a first
    /// space, as decoders of SentencePiece do.
    fn bytes(ids: &[u32], spaced: bool) -> Result<String, Infallible> {
        let bytes: Vec<u8> = ids.iter().map(|id| *id as u8).collect();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(if spaced { text.strip_prefix(' ').unwrap_or(&text).to_owned() } else { text })
    }

    fn row(text: &[u8], trained: Option<&[(u32, u32)]>, pads: u32) -> EpochRow {
        let length = text.len() as u32;
        let span = |(start, end): &(u32, u32)| LossSpan { start: *start, end: *end, weight: 1.0 };
        EpochRow {
            ids: text.iter().map(|byte| u32::from(*byte)).chain((0..pads).map(|_| 0)).collect(),
            shape: RowShape::packed([length], length + pads),
            trained: trained.map(|spans| spans.iter().map(span).collect()),
            ..EpochRow::none()
        }
    }

    fn shown(row: &EpochRow, spaced: bool) -> Vec<(String, bool, Option<usize>, u32)> {
        let parts = row.parts(|ids| bytes(ids, spaced)).unwrap();
        let part = |part: RowPart| (part.text, part.trained, part.segment, part.length);
        parts.into_iter().map(part).collect()
    }

    #[test]
    fn a_space_and_a_character_at_a_border_are_not_lost() {
        let own = |text: &str, trained, length| (text.to_owned(), trained, Some(0), length);
        let pads = |length| (String::new(), false, None, length);
        // The first token of a segment is no target, whatever its document says.
        let spaces = row(b"Hi Norway", Some(&[(0, 1), (2, 9)]), 2);
        let parts = [own("Hi", false, 2), own(" Norway", true, 7), pads(2)];
        assert_eq!(shown(&spaces, true), parts);
        // é is cut in the middle: it stands in the part that ends it.
        let cut = row("né?".as_bytes(), Some(&[(2, 3)]), 0);
        assert_eq!(shown(&cut, false), [own("n", false, 2), own("é", true, 1), own("?", false, 1)]);
        // All of it, but the first token.
        assert_eq!(shown(&row(b"abc", None, 0), false), [own("a", false, 1), own("bc", true, 2)]);
    }

    proptest! {
        #[test]
        fn parts_make_the_text_of_their_segment(
            text in prop::collection::vec(prop_oneof![
                Just("a"), Just(" "), Just("é"), Just("語"), Just("🙂"), Just("\u{fffd}"), Just("\n"),
            ], 1..24),
            from in 0_usize..4,
            cut in 0_usize..4,
            spans in prop::collection::btree_set(0_u32..96, 0..12),
            spaced: bool,
        ) {
            let text = text.concat();
            // A document that another row has the beginning or the end of.
            let bytes_of = text.as_bytes().get(from..text.len() - cut.min(text.len())).unwrap_or_default();
            prop_assume!(!bytes_of.is_empty());
            let length = bytes_of.len() as u32;
            let ends: Vec<u32> = spans.into_iter().filter(|at| *at <= length).collect();
            let spans: Vec<(u32, u32)> = ends.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let row = row(bytes_of, Some(&spans), 3);
            let (whole, mut told, mut at) = (bytes(&row.ids[..bytes_of.len()], spaced).unwrap(), String::new(), 0);
            let weights = row.target_weights();
            for part in row.parts(|ids| bytes(ids, spaced)).unwrap() {
                prop_assert_eq!(part.start, at);
                at += part.length;
                if part.segment.is_some() {
                    told += &part.text;
                    let exact = bytes(&row.ids[..at as usize], spaced).unwrap();
                    let end = if at == length { whole.len() } else { common(&exact, &whole) };
                    prop_assert_eq!(told.len(), end, "{:?}", part);
                }
                let place = part.start as usize..at as usize;
                prop_assert!(weights[place].iter().all(|weight| (*weight > 0.0) == part.trained));
            }
            prop_assert_eq!(told, whole);
            prop_assert_eq!(at, length + 3);
        }
    }
}
