//! Reads the documents of a sweep: distinct texts in the order of ranks, and their sketches.

use super::too_large;
use crate::curate::commits::LengthBlock;
use crate::decide::{RankNumbers, ViewRanker, print_of, stored_sketch};
use model::{Context, DocId, Error, Policy, SourceId, Standing};
use rayon::prelude::*;
use roaring::RoaringTreemap;
use store::View;
use text::dedup::{Fingerprinter, Rank, Sketch};

/// Documents read at once.
const PART: usize = 1 << 13;
/// Bytes held of a document, beside its sketch: its rank and hash while texts are counted, then its place in a set.
const PER_DOCUMENT: u64 = 160;

/// A text, by the best-ranked document that has it. Documents of equal text have the same neighbours, so it decides for
/// all of them.
pub(super) struct SweepText {
    pub(super) document: DocId,
    pub(super) source: SourceId,
    /// Documents with this text.
    pub(super) copies: u32,
}

/// The distinct texts of the documents that are compared.
pub(super) struct SweepTexts {
    /// Ranks ascending.
    pub(super) texts: Vec<SweepText>,
    pub(super) documents: u64,
    pub(super) bytes: u64,
}

/// A document before texts are told apart.
struct SweepDocument {
    text: [u8; 16],
    rank: Rank,
    source: SourceId,
    bytes: u64,
}

impl SweepTexts {
    /// Reads the documents that a decision under the view's policy is about, of those `chosen`.
    pub(super) fn read(
        view: &View,
        chosen: Option<RoaringTreemap>,
        is_stored: bool,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        let mut eligible = RoaringTreemap::new();
        for standing in [Standing::Kept, Standing::Exact, Standing::Near, Standing::Empty] {
            eligible |= view.documents_standing(standing)?;
        }
        if let Some(chosen) = chosen {
            eligible &= chosen;
        }
        check_memory(eligible.len(), view.policy(), context)?;
        let mut documents = read_documents(view, &eligible, is_stored, context)?;
        let (count, mut bytes) = (documents.len() as u64, 0);
        documents.par_sort_unstable_by_key(|one| (one.text, one.rank));
        let mut led: Vec<(Rank, SweepText)> = Vec::new();
        let mut last = None;
        for SweepDocument { text, rank, source, bytes: size } in documents {
            match led.last_mut().filter(|_| last == Some(text)) {
                Some((_, leader)) => leader.copies = leader.copies.saturating_add(1),
                None => {
                    bytes += size;
                    led.push((rank, SweepText { document: rank.document, source, copies: 1 }));
                }
            }
            last = Some(text);
        }
        led.par_sort_unstable_by_key(|(rank, _)| *rank);
        let texts = led.into_iter().map(|(_, text)| text).collect();
        Ok(Self { texts, documents: count, bytes })
    }

    /// The sketch of each text under a policy, from the store or from the text; none of a text too short for one.
    pub(super) fn sketches(
        &self,
        view: &View,
        policy: &Policy,
        is_stored: bool,
        context: &Context<'_>,
    ) -> Result<Vec<Option<Sketch>>, Error> {
        let stage = format!("sketching {}-token shingles", policy.shingle);
        context.progress.begin(&stage, Some(self.texts.len() as u64));
        let mut sketches: Vec<Option<Sketch>> = Vec::with_capacity(self.texts.len());
        for part in self.texts.chunks(PART) {
            context.check_interrupt()?;
            let read = part.par_iter().with_min_len(8).map_init(
                || Fingerprinter::new(policy),
                |craft, text| match is_stored {
                    true => stored_sketch(view, text.document),
                    false => Ok(craft.fingerprint(&view.compared_text(text.document)?).sketch),
                },
            );
            sketches.extend(read.collect::<Result<Vec<_>, Error>>()?);
            context.progress.advance(sketches.len() as u64);
        }
        Ok(sketches)
    }
}

fn check_memory(documents: u64, policy: &Policy, context: &Context<'_>) -> Result<(), Error> {
    let bytes = documents.saturating_mul(PER_DOCUMENT + policy.sketch_bytes() as u64);
    let most = context.memory / 2;
    if bytes > most {
        return Err(too_large("the sketches of the documents", bytes, most));
    }
    Ok(())
}

fn read_documents(
    view: &View,
    eligible: &RoaringTreemap,
    is_stored: bool,
    context: &Context<'_>,
) -> Result<Vec<SweepDocument>, Error> {
    context.progress.begin("reading documents", Some(eligible.len()));
    let (ranker, policy, order) = (ViewRanker::new(view), view.policy(), view.order_field());
    let (mut numbers, mut lengths) = (RankNumbers::default(), LengthBlock::default());
    let (mut ids, mut done) = (eligible.iter().map(DocId), 0);
    let mut documents = Vec::new();
    loop {
        context.check_interrupt()?;
        let mut part = Vec::new();
        for id in ids.by_ref().take(PART) {
            part.push((id, numbers.read(view, order, id)?, lengths.of(view, id)?));
        }
        if part.is_empty() {
            return Ok(documents);
        }
        done += part.len() as u64;
        let read = part.into_par_iter().with_min_len(8).map_init(
            || Fingerprinter::new(policy),
            |craft, (id, number, bytes)| {
                let mut print = view.print(id)?;
                if !is_stored && bytes > 0 {
                    print = print_of(print.raw, &craft.fingerprint(&view.compared_text(id)?));
                }
                // A document without a single token is empty, whatever the threshold.
                if print.words == 0 {
                    return Ok(None);
                }
                let source = view.source_of(id)?;
                let text = policy.text_key(source, print.normalised);
                let rank = ranker.rank_stored(view, id, &print.raw, number)?;
                Ok(Some(SweepDocument { text, rank, source, bytes }))
            },
        );
        documents.extend(read.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten());
        context.progress.advance(done);
    }
}
