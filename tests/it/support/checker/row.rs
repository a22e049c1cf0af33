//! One row by itself: integrity, capacity, boundaries, masks, positions, labels, specials, provenance.

use crate::support::checker::corpus::CheckedDocument;
use corpusdb::Recipe;
use corpusdb::epoch::recipe::{LongDocuments, PackKind, PadSide, PadView, RowTarget};
use corpusdb::epoch::views;
use corpusdb::epoch::{EpochRow, Plan, Segment, SpecialIds};

/// What rows of a plan are held against.
pub struct Rules<'a> {
    pub recipe: &'a Recipe,
    pub specials: SpecialIds,
    pub stored: &'a [CheckedDocument],
    /// Whether any document says what of it is trained.
    pub any_loss: bool,
    /// Documents that may be cut anywhere, because a parent plan cut them.
    pub cut_before: bool,
}

/// A position of a row: which segment, which token of it.
type At = Option<(usize, usize)>;

impl<'a> Rules<'a> {
    pub fn of(planned: &'a Plan, stored: &'a [CheckedDocument]) -> Self {
        Self {
            recipe: &planned.plan.recipe,
            specials: planned.plan.tokenizer.specials,
            stored,
            any_loss: stored.iter().any(|document| document.loss.is_some()),
            cut_before: planned.plan.parent.is_some(),
        }
    }

    pub fn capacity(&self) -> usize {
        let extra = self.recipe.pack.options.target == RowTarget::Extra;
        self.recipe.pack.length as usize + usize::from(extra)
    }

    /// Places at the end of a row for the last target alone.
    fn spare(&self) -> usize {
        self.capacity() % self.recipe.pack.options.doc_multiple as usize
    }

    /// Places of a row that documents may take up.
    fn room(&self) -> usize {
        self.capacity() - self.spare()
    }

    pub fn long(&self, source: &str) -> LongDocuments {
        let of = self.recipe.sources.iter().find(|of| of.name == source).unwrap();
        of.pack.long.unwrap_or(self.recipe.pack.options.long)
    }

    /// BOS, the stored ids, EOS.
    pub fn sequence(&self, document: u64) -> Vec<u32> {
        let mut ids: Vec<u32> = self.specials.bos.into_iter().collect();
        ids.extend(self.stored[document as usize].ids.as_ref().expect("a document with ids"));
        ids.extend(self.specials.eos);
        ids
    }

    pub fn length(&self, document: u64) -> usize {
        let stored =
            self.stored[document as usize].ids.as_ref().expect("a document with ids").len();
        stored + usize::from(self.specials.bos.is_some()) + usize::from(self.specials.eos.is_some())
    }

    /// How much of a document is packed: a prefix of its sequence.
    pub fn packed(&self, source: &str, document: u64) -> usize {
        let (length, capacity) = (self.length(document), self.room());
        match self.long(source) {
            _ if length <= capacity => length,
            LongDocuments::Drop => 0,
            LongDocuments::Truncate => capacity - usize::from(self.recipe.pack.cut_eos),
            LongDocuments::Paragraph => length,
            LongDocuments::Split if self.recipe.pack.cut_eos => length,
            LongDocuments::Split => {
                let concat = self.recipe.pack.kind == PackKind::Concat;
                let lone = self.specials.eos.is_some() && length % capacity == 1 && !concat;
                length - usize::from(lone)
            }
        }
    }

    /// Trained tokens of the sequence of a document, with their weight: where spans say what is trained, a
    /// BOS is not, and an EOS is as the token before it.
    pub fn trained(&self, document: u64) -> Vec<f32> {
        let of = &self.stored[document as usize];
        let Some(spans) = &of.loss else { return vec![1.0; self.length(document)] };
        let mut weights = vec![0.0; of.ids.as_ref().unwrap().len()];
        for span in spans {
            weights[span.start as usize..span.end as usize].fill(span.weight);
        }
        let last = weights.last().copied().unwrap_or(0.0);
        let bos = self.specials.bos.map(|_| 0.0);
        bos.into_iter().chain(weights).chain(self.specials.eos.map(|_| last)).collect()
    }

    /// Whether the last token of a segment is an EOS behind which its document goes on.
    pub fn adds_eos(&self, segment: &Segment) -> bool {
        self.recipe.pack.cut_eos && segment.offset + segment.length < segment.document_length
    }

    /// The tokens of its document in a segment of a row.
    pub fn own(&self, segment: &Segment) -> std::ops::Range<usize> {
        let end = segment.offset + segment.length - u32::from(self.adds_eos(segment));
        segment.offset as usize..end as usize
    }

    /// The weight of every token of a segment: an EOS at a cut has that of the stored token before it.
    pub fn weights(&self, segment: &Segment) -> Vec<f32> {
        let trained = self.trained(segment.document.0);
        let own = self.own(segment);
        let mut weights = trained[own.clone()].to_vec();
        if self.adds_eos(segment) {
            weights.push(trained[own.end - 1]);
        }
        weights
    }

    /// Whether a row with as many segments and one more would have more than it may.
    pub fn is_full(&self, segments: usize) -> bool {
        self.is_over(segments + 1)
    }

    fn is_over(&self, segments: usize) -> bool {
        self.recipe.pack.most_segments.is_some_and(|most| segments > most as usize)
    }

    /// Checks a row of a source.
    pub fn check(&self, row: &EpochRow) {
        let options = &self.recipe.pack.options;
        let (capacity, kind) = (self.capacity(), self.recipe.pack.kind);
        let longest = self.recipe.batch.as_ref().is_some_and(|batch| batch.pad.is_some());
        let padded = self.specials.pad.is_some() && (kind != PackKind::None || longest);
        // Rows of one batch have one width, which those who have all of them check.
        let width = if longest { row.ids().len() } else { capacity };
        let spare = if longest { 0 } else { self.spare() };
        let (segments, ids) = (row.segments(), row.ids());
        let Some(source) = row.source() else {
            assert!(segments.is_empty(), "a row of no source holds nothing");
            assert!(ids.iter().all(|id| Some(*id) == self.specials.pad));
            assert_eq!(ids.len(), if padded { width } else { 0 });
            return;
        };
        let from = self.recipe.sources.iter().find(|of| of.name == source);
        let from = from.expect("a source of the recipe").from.clone().unwrap();
        assert!(!segments.is_empty());
        if kind == PackKind::None {
            assert_eq!(segments.len(), 1);
        }
        assert!(!self.is_over(segments.len()), "a row with more segments than it may have");

        // Where everything stands, from the lengths alone.
        let multiple = if padded { options.doc_multiple as usize } else { 1 };
        let mut places: Vec<At> = Vec::new();
        for (number, segment) in segments.iter().enumerate() {
            let length = segment.length as usize;
            let tokens = (0..length).map(|token| Some((number, token)));
            let pads = vec![None; length.next_multiple_of(multiple) - length];
            match options.pad_side {
                PadSide::Right => places.extend(tokens.chain(pads)),
                PadSide::Left => places.extend(pads.into_iter().chain(tokens)),
            }
        }
        assert!(places.len() <= width.max(capacity), "a row over its capacity");
        if padded {
            let rest = vec![None; width - spare - places.len()];
            match options.pad_side {
                PadSide::Right => places.extend(rest),
                PadSide::Left => drop(places.splice(0..0, rest)),
            }
            places.extend(vec![None; spare]);
        }
        assert_eq!(ids.len(), places.len());

        // Integrity and provenance: every token is that of its document.
        for (number, segment) in segments.iter().enumerate() {
            let (document, offset) = (segment.document.0, segment.offset as usize);
            let of = &self.stored[document as usize];
            assert!(
                of.kept && from.entries().contains(&of.source),
                "document {document} in a row of `{source}`"
            );
            let sequence = self.sequence(document);
            assert_eq!(segment.document_length as usize, sequence.len());
            let end = offset + segment.length as usize;
            assert!(segment.length > 0 && end <= sequence.len());
            let mine =
                ids.iter().zip(&places).filter(|(_, at)| at.is_some_and(|at| at.0 == number));
            let own = self.own(segment);
            assert!(!own.is_empty() && end - own.end <= 1);
            let eos = self.specials.eos.iter().take(end - own.end);
            assert!(
                mine.map(|(id, _)| id).eq(sequence[own.clone()].iter().chain(eos)),
                "ids of document {document}"
            );
            let (first, last) = (number == 0, number + 1 == segments.len());
            self.check_cut(source, document, (offset, own.end), (first, last));
        }
        let pads = ids.iter().zip(&places).filter(|(_, at)| at.is_none());
        assert!(pads.map(|(id, _)| *id).all(|id| Some(id) == self.specials.pad));

        // One BOS where a document begins, one EOS where it ends, none elsewhere: text holds no specials.
        let count = |special: Option<u32>| {
            let of = ids.iter().zip(&places).filter(|(_, at)| at.is_some());
            of.filter(|(id, _)| Some(**id) == special).count()
        };
        let begin = segments.iter().filter(|segment| segment.offset == 0).count();
        let ended = |segment: &&Segment| {
            segment.offset + segment.length == segment.document_length || self.adds_eos(segment)
        };
        if self.specials.bos.is_some() && !self.any_loss {
            assert_eq!(count(self.specials.bos), begin);
        }
        if self.specials.eos.is_some() && !self.any_loss {
            assert_eq!(count(self.specials.eos), segments.iter().filter(ended).count());
        }
        self.check_views(row, &places);
    }

    /// A document that fits is whole. A longer one is cut at multiples of a row, or where its paragraphs
    /// end; `concat` cuts at the ends of rows.
    fn check_cut(
        &self,
        source: &str,
        document: u64,
        (offset, end): (usize, usize),
        (first, last): (bool, bool),
    ) {
        let packed = self.packed(source, document);
        assert!(packed > 0, "document {document} is left out");
        let at_end = end == self.length(document);
        let eos = usize::from(self.recipe.pack.cut_eos);
        let capacity = self.room() - if at_end { 0 } else { eos };
        if self.cut_before {
            assert!(end - offset <= capacity);
        } else if self.recipe.pack.kind == PackKind::Concat {
            assert!(end <= packed && (offset == 0 || first) && (end == packed || last));
        } else if self.length(document) <= self.room() {
            assert_eq!((offset, end), (0, packed), "document {document} is cut and fits");
        } else if self.long(source) == LongDocuments::Paragraph {
            assert!(end - offset <= capacity);
        } else {
            assert_eq!(offset % (self.room() - eos), 0);
            assert_eq!(end, packed.min(offset + capacity));
        }
    }

    /// Every view by its definition at every position.
    fn check_views(&self, row: &EpochRow, places: &[At]) {
        let shape = row.shape();
        shape.check().unwrap();
        let width = places.len();
        let each = self.recipe.pack.options.pad_view == PadView::Each;
        let signed: Vec<i32> = row.ids().iter().map(|id| i32::try_from(*id).unwrap()).collect();
        // The number of the segment at each position, pads as the recipe sees them.
        let mut number = -1;
        let mut before = None;
        let numbers: Vec<i32> = places
            .iter()
            .map(|at| match at {
                Some((segment, _)) if before == Some(*segment) => number,
                Some((segment, _)) => {
                    before = Some(*segment);
                    number += 1;
                    number
                }
                None if each => {
                    number += 1;
                    number
                }
                None => -1,
            })
            .collect();
        let starts: Vec<usize> = (0..width)
            .filter(|at| numbers[*at] >= 0 && (*at == 0 || numbers[at - 1] != numbers[*at]))
            .collect();
        let lengths: Vec<i32> = starts
            .iter()
            .map(|start| numbers.iter().filter(|number| **number == numbers[*start]).count() as i32)
            .collect();
        let ends = lengths.iter().scan(0, |sum, length| {
            *sum += length;
            Some(*sum)
        });
        let cumulative: Vec<i32> = std::iter::once(0).chain(ends).collect();
        let found = views::cu_seqlens(shape);
        assert!(found.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(found, cumulative);
        assert_eq!(views::doc_lens(shape), lengths);
        assert_eq!(views::max_seqlen(shape) as i32, lengths.iter().copied().max().unwrap_or(0));
        assert!(views::seq_start_id(shape).iter().map(|start| *start as usize).eq(starts));
        assert_eq!(views::seq_idx(shape), numbers);
        assert!(
            views::segment_ids(shape).iter().zip(&numbers).all(|(id, number)| *id == number + 1)
        );

        // Positions: from 0 in every segment; from 0 in every run of pads.
        let positions = views::position_ids(shape);
        for at in 0..width {
            let restarts = at == 0 || numbers[at] != numbers[at - 1];
            assert_eq!(positions[at], if restarts { 0 } else { positions[at - 1] + 1 });
        }
        // No attention across segments, none to what comes later.
        if width <= 300 {
            let mask = views::block_causal_mask(shape);
            for query in 0..width {
                for key in 0..width {
                    let sees =
                        key <= query && numbers[query] >= 0 && numbers[query] == numbers[key];
                    assert_eq!(mask[query * width + key], sees, "{query} sees {key}");
                }
            }
        }
        // A target is predicted from within its segment, and trained.
        assert_eq!(row.trained().is_some(), self.any_loss);
        let trained: Vec<Vec<f32>> =
            row.segments().iter().map(|segment| self.weights(segment)).collect();
        let weight = |at: usize| match places[at] {
            Some((number, token)) if token > 0 => trained[number][token],
            _ => 0.0,
        };
        let expected: Vec<i32> =
            (0..width).map(|at| if weight(at) > 0.0 { signed[at] } else { -100 }).collect();
        assert_eq!(views::labels(shape, &signed, row.trained()), expected);
        let mut shifted: Vec<i32> = expected.iter().skip(1).copied().collect();
        shifted.resize(width, -100);
        assert_eq!(views::shifted_labels(shape, &signed, row.trained()), shifted);
        let mask = views::loss_mask(shape, row.trained());
        assert!(mask.iter().zip(&shifted).all(|(mask, label)| (*mask == 1) == (*label != -100)));
        let weights = views::loss_weights(shape, row.trained(), views::LossWeighting::Tokens);
        assert!((0..width).all(|at| weights[at] == weight(at)));
        let shares = views::loss_weights(shape, row.trained(), views::LossWeighting::Sequences);
        for number in 0..row.segments().len() {
            let of = |at: &usize| places[*at].is_some_and(|at| at.0 == number) && weight(*at) > 0.0;
            let targets: Vec<usize> = (0..width).filter(of).collect();
            let sum: f32 = targets.iter().map(|at| shares[*at]).sum();
            let mean: f32 =
                targets.iter().map(|at| weight(*at)).sum::<f32>() / targets.len() as f32;
            assert!(targets.is_empty() || (sum - mean).abs() < 1e-4, "{sum} is not {mean}");
        }
    }
}
