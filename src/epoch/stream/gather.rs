//! Gathers the ids of many rows at once: documents are read in the order of the store, and ids go where rows have them.

use super::row::{EpochRow, NO_SOURCE};
use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::recipe::SpecialIds;
use crate::epoch::run::{BatchedRow, OpenPlan};
use model::invariant::part;
use model::{DocId, LossSpan, TokenizerId};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};
use store::TokenIdsRef;

/// Segments read by one thread at a time.
const PIECE_SEGMENTS: usize = 2048;

/// Tokens of documents that one thread looks up together, unless one has more.
const LOOK_UP_TOKENS: u64 = 1 << 21;

/// Gives rows their ids.
pub(in crate::epoch) struct Gatherer<'a> {
    opened: &'a OpenPlan,
    /// Memory to be used again: at the rate of a build, what the system takes to hand out pages is felt.
    spare_rows: Mutex<Vec<Vec<u32>>>,
    spare_pieces: Mutex<Vec<Vec<u8>>>,
}

fn take<T>(from: &Mutex<Vec<Vec<T>>>) -> Vec<T> {
    from.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
}

fn give<T>(to: &Mutex<Vec<Vec<T>>>, memory: impl Iterator<Item = Vec<T>>) {
    let cleared = memory.map(|mut memory| {
        memory.clear();
        memory
    });
    to.lock().unwrap_or_else(PoisonError::into_inner).extend(cleared);
}

/// The special tokens of rows.
#[derive(Clone, Copy)]
struct RowSpecials {
    ids: SpecialIds,
    /// Parts of documents end with EOS where these go on.
    cut_eos: bool,
}

/// A segment to be read, and its number among those of all rows.
#[derive(Clone, Copy)]
struct SegmentRead {
    tokenizer: TokenizerId,
    segment: Segment,
    number: usize,
}

/// Stored ids of some segments as bytes, one after the other: BOS and EOS apart.
struct SegmentTokens {
    bytes: Vec<u8>,
    /// Numbers of the segments, with where each begins and ends.
    ranges: Vec<(usize, usize, usize)>,
    wide: bool,
}

/// Where the stored ids of a segment are.
#[derive(Clone, Copy, Default)]
struct TokenRange {
    piece: usize,
    start: usize,
    end: usize,
}

impl<'a> Gatherer<'a> {
    pub const fn new(opened: &'a OpenPlan) -> Self {
        Self { opened, spare_rows: Mutex::new(Vec::new()), spare_pieces: Mutex::new(Vec::new()) }
    }

    /// Takes back the memory of rows that are no longer needed.
    pub fn give_back(&self, rows: &mut Vec<EpochRow>) {
        give(&self.spare_rows, rows.drain(..).map(|row| row.ids));
    }

    /// The rows, with their ids and pads.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Stale`] when a document has another length than the
    /// length column says; [`EpochError::PadNeeded`]; [`EpochError::Store`].
    pub fn rows(&self, rows: &[BatchedRow]) -> Result<Vec<EpochRow>, EpochError> {
        let mut few: Vec<Vec<Segment>> = Vec::new();
        let mut count = 0;
        // What one thread reads alone is not worth another: beside a training loop there are as many readers as cores.
        let most = if rows.len() <= PIECE_SEGMENTS { PIECE_SEGMENTS } else { 0 };
        while let Some(row) = rows.get(few.len()).filter(|_| count < most) {
            few.push(self.segments(row)?);
            count += few.last().map_or(0, Vec::len);
        }
        if few.len() == rows.len() {
            return self.fill_here(rows, few);
        }
        let rest: Vec<Vec<Segment>> = part(rows, few.len()..)
            .par_iter()
            .map(|row| self.segments(row))
            .collect::<Result<_, _>>()?;
        let segments: Vec<Vec<Segment>> = few.into_iter().chain(rest).collect();
        let mut wanted: Vec<SegmentRead> = segments
            .iter()
            .zip(rows)
            .flat_map(|(segments, row)| segments.iter().map(move |segment| (segment, row)))
            .enumerate()
            .map(|(number, (segment, row))| {
                let tokenizer = self.tokenizer_of(row);
                SegmentRead { tokenizer, segment: *segment, number }
            })
            .collect();
        let mut places = vec![TokenRange::default(); wanted.len()];
        wanted.par_sort_unstable_by_key(|wanted| {
            (wanted.tokenizer, wanted.segment.document, wanted.number)
        });
        let pieces: Vec<SegmentTokens> = wanted
            .par_chunks(PIECE_SEGMENTS)
            .map(|wanted| self.piece(wanted))
            .collect::<Result<_, _>>()?;
        for (piece, found) in pieces.iter().enumerate() {
            for (number, start, end) in found.ranges.iter().copied() {
                if let Some(place) = places.get_mut(number) {
                    *place = TokenRange { piece, start, end };
                }
            }
        }
        let mut firsts = Vec::with_capacity(rows.len());
        let mut first = 0;
        for segments in &segments {
            firsts.push(first);
            first += segments.len();
        }
        let rows = rows
            .par_iter()
            .zip(segments)
            .zip(firsts)
            .map(|((row, segments), first)| {
                let places = part(&places, first..first + segments.len());
                self.assemble(row, segments, places, &pieces)
            })
            .collect();
        give(&self.spare_pieces, pieces.into_iter().map(|piece| piece.bytes));
        rows
    }

    /// Rows of few segments, on this thread: ids go from where the store has them to where the rows do.
    fn fill_here(
        &self,
        rows: &[BatchedRow],
        segments: Vec<Vec<Segment>>,
    ) -> Result<Vec<EpochRow>, EpochError> {
        let mut wanted: Vec<(TokenizerId, Segment, usize, u32)> = Vec::new();
        let mut filled: Vec<EpochRow> = Vec::with_capacity(rows.len());
        for (at, (given, segments)) in rows.iter().zip(segments).enumerate() {
            let row = self.empty(given, segments)?;
            let spans = row.segments.iter().zip(&row.shape.spans);
            let tokenizer = self.tokenizer_of(given);
            wanted.extend(spans.map(|(segment, span)| (tokenizer, *segment, at, span.start)));
            filled.push(row);
        }
        wanted.sort_unstable_by_key(|(tokenizer, segment, row, start)| {
            (*tokenizer, segment.document, *row, *start)
        });
        let specials = self.specials();
        let mut left = wanted.as_slice();
        for (tokenizer, documents) in
            looked_up(wanted.iter().map(|(of, segment, ..)| (*of, segment)))
        {
            self.each_tokens(tokenizer, &documents, |document, stored| {
                while let Some(((_, segment, row, start), rest)) =
                    left.split_first().filter(|((of, segment, ..), _)| {
                        (*of, segment.document) == (tokenizer, document)
                    })
                {
                    let ids = stored_range(segment, specials, stored)?;
                    let row = filled.get_mut(*row).map(|row| row.ids.as_mut_slice());
                    put(row.unwrap_or_default(), segment, *start, specials, ids)?;
                    left = rest;
                }
                Ok(())
            })?;
        }
        if left.is_empty() { Ok(filled) } else { Err(EpochError::bug("a document was not read")) }
    }

    /// A row without its ids: pads stand for them.
    fn empty(&self, given: &BatchedRow, segments: Vec<Segment>) -> Result<EpochRow, EpochError> {
        let mut row = self.row_without_ids(given, segments)?;
        row.ids = take(&self.spare_rows);
        row.ids.resize(row.shape.width as usize, self.opened.plan.pad().unwrap_or_default());
        Ok(row)
    }

    /// Rows without ids: a caller that has these from elsewhere puts them in.
    ///
    /// # Errors
    /// [`EpochError::PadNeeded`]; [`EpochError::Store`].
    pub fn rows_without_ids(&self, rows: &[BatchedRow]) -> Result<Vec<EpochRow>, EpochError> {
        rows.iter().map(|row| self.row_without_ids(row, self.segments(row)?)).collect()
    }

    fn row_without_ids(
        &self,
        given: &BatchedRow,
        segments: Vec<Segment>,
    ) -> Result<EpochRow, EpochError> {
        let plan = &self.opened.plan;
        let lengths = segments.iter().map(|segment| segment.length);
        let (real, shape) =
            (lengths.clone().sum::<u32>(), plan.layout().shape(given.width, lengths));
        let source = given.row.as_ref().map_or(NO_SOURCE, |row| row.source);
        let format = plan.recipe.output.format;
        if plan.pad().is_none()
            && plan.fixed_length()
            && real < plan.capacity
            && plan.recipe.output.file_format().needs_equal_rows()
        {
            // Rows of later passes may be cut otherwise than those of the first, which planning checked.
            let source = self.opened.sources.get(source);
            let name = source.map_or_else(String::new, |source| source.rules().name.to_string());
            return Err(EpochError::PadNeeded { format: format.name(), name, rows: 1 });
        }
        let pass = given.row.as_ref().map_or(0, |row| row.pass);
        let reader = self.opened.trained_in(pass);
        let trained = match reader.any() {
            true => {
                let mut trained: Vec<LossSpan> = Vec::new();
                for (segment, span) in segments.iter().zip(&shape.spans) {
                    trained.extend(reader.spans_in_row(segment, span.start)?);
                }
                Some(trained)
            }
            false => None,
        };
        let (real, batch) = (real as usize, given.batch);
        let pass = given.row.as_ref().filter(|_| !plan.is_endless()).map(|row| row.pass);
        let repeated = given.row.as_ref().map_or(0, |row| row.repeated as usize);
        let ids = Vec::new();
        let none = EpochRow::none();
        Ok(EpochRow { source, ids, real, repeated, segments, shape, trained, batch, pass, ..none })
    }

    /// The tokenizer whose ids a row has.
    fn tokenizer_of(&self, given: &BatchedRow) -> TokenizerId {
        self.opened.tokenizer_in(given.row.as_ref().map_or(0, |row| row.pass))
    }

    /// Calls `each` with every one of `documents`, which ascend, and its ids.
    fn each_tokens(
        &self,
        tokenizer: TokenizerId,
        documents: &[DocId],
        mut each: impl FnMut(DocId, TokenIdsRef<'_>) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        self.opened.corpora.for_each_tokens(tokenizer, documents, |document, stored| match stored {
            Some(stored) => each(document, stored),
            None => {
                let tokenizer = self.opened.plan.tokenizer.name.clone();
                Err(EpochError::NotEncoded { tokenizer, document: document.0, near_of: None })
            }
        })
    }

    fn specials(&self) -> RowSpecials {
        let plan = &self.opened.plan;
        RowSpecials { ids: plan.tokenizer.specials, cut_eos: plan.recipe.pack.cut_eos }
    }

    fn segments(&self, given: &BatchedRow) -> Result<Vec<Segment>, EpochError> {
        let Some(row) = &given.row else { return Ok(Vec::new()) };
        self.opened.source(row)?.segments(row)
    }

    fn piece(&self, wanted: &[SegmentRead]) -> Result<SegmentTokens, EpochError> {
        let mut piece = SegmentTokens {
            bytes: take(&self.spare_pieces),
            ranges: Vec::with_capacity(wanted.len()),
            wide: false,
        };
        let specials = self.specials();
        let mut left = wanted;
        let all = wanted.iter().map(|wanted| (wanted.tokenizer, &wanted.segment));
        for (tokenizer, documents) in looked_up(all) {
            self.each_tokens(tokenizer, &documents, |document, stored| {
                piece.wide = stored.is_wide();
                while let Some((next, rest)) = left.split_first().filter(|(next, _)| {
                    (next.tokenizer, next.segment.document) == (tokenizer, document)
                }) {
                    let start = piece.bytes.len();
                    let ids = stored_range(&next.segment, specials, stored)?;
                    piece.bytes.extend_from_slice(ids.bytes());
                    piece.ranges.push((next.number, start, piece.bytes.len()));
                    left = rest;
                }
                Ok(())
            })?;
        }
        if left.is_empty() { Ok(piece) } else { Err(EpochError::bug("a document was not read")) }
    }

    fn assemble(
        &self,
        given: &BatchedRow,
        segments: Vec<Segment>,
        places: &[TokenRange],
        pieces: &[SegmentTokens],
    ) -> Result<EpochRow, EpochError> {
        let specials = self.specials();
        let mut row = self.empty(given, segments)?;
        for ((segment, place), span) in row.segments.iter().zip(places).zip(&row.shape.spans) {
            let piece = pieces.get(place.piece);
            let stored = piece.and_then(|piece| {
                piece.bytes.get(place.start..place.end).map(|b| TokenIdsRef::again(b, piece.wide))
            });
            let stored = stored.ok_or_else(|| EpochError::bug("a segment was not read"))?;
            put(&mut row.ids, segment, span.start, specials, stored)?;
        }
        Ok(row)
    }
}

/// Puts a segment where its row has it: the stored ids with BOS before the first of a document and EOS behind its last,
/// or behind each part of it.
fn put(
    row: &mut [u32],
    segment: &Segment,
    start: u32,
    specials: RowSpecials,
    stored: TokenIdsRef<'_>,
) -> Result<(), EpochError> {
    let (mut from, mut to) = (start as usize, start as usize + segment.length as usize);
    if let Some(bos) = specials.ids.bos.filter(|_| segment.offset == 0) {
        row.get_mut(from).into_iter().for_each(|first| *first = bos);
        from += 1;
    }
    let is_end = specials.cut_eos || segment.end() == segment.document_length;
    if let Some(eos) = specials.ids.eos.filter(|_| is_end && from < to) {
        to -= 1;
        row.get_mut(to).into_iter().for_each(|last| *last = eos);
    }
    let place = row.get_mut(from..to).unwrap_or_default();
    if place.len() != stored.len() {
        return Err(EpochError::bug("a segment has other tokens than its length"));
    }
    stored.copy_to(place);
    Ok(())
}

/// The documents of segments, which are sorted by tokenizer and document, in groups that are looked up together: results
/// are held until the group is complete, and of a long document maybe only a part is wanted.
fn looked_up<'s>(
    wanted: impl Iterator<Item = (TokenizerId, &'s Segment)>,
) -> Vec<(TokenizerId, Vec<DocId>)> {
    let mut groups: Vec<(TokenizerId, Vec<DocId>)> = Vec::new();
    let (mut last, mut held) = (None, 0);
    for (tokenizer, Segment { document, document_length, .. }) in wanted {
        if last == Some((tokenizer, *document)) {
            continue;
        }
        last = Some((tokenizer, *document));
        held += u64::from(*document_length);
        let group = groups.last_mut();
        match group.filter(|(of, _)| *of == tokenizer && held <= LOOK_UP_TOKENS) {
            Some((_, group)) => group.push(*document),
            None => {
                held = u64::from(*document_length);
                groups.push((tokenizer, vec![*document]));
            }
        }
    }
    groups
}

/// The stored ids of a segment of the effective sequence, which is BOS, the stored ids, EOS.
fn stored_range<'a>(
    segment: &Segment,
    specials: RowSpecials,
    stored: TokenIdsRef<'a>,
) -> Result<TokenIdsRef<'a>, EpochError> {
    let before = usize::from(specials.ids.bos.is_some());
    let after = before + stored.len();
    let whole = after + usize::from(specials.ids.eos.is_some());
    let start = segment.offset as usize;
    let end = segment.end() as usize - usize::from(segment.adds_eos(specials.cut_eos));
    if whole != segment.document_length as usize || end > whole {
        return Err(EpochError::Stale(format!(
            "document {} has {whole} tokens where its length column says {}; run `corpusdb check --deep`",
            segment.document, segment.document_length
        )));
    }
    Ok(stored.slice(start.saturating_sub(before)..end.min(after).saturating_sub(before)))
}
