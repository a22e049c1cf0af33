//! Checks that segments have the ids that the store has.
//!
//! A document is read once for all the rows that are examined together, and once for all that it is cut into: parts of
//! documents are remembered by a hash and compared when many are there, document by document, however far apart their
//! rows are.

use super::checks::{CheckList, Property};
use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::run::OpenPlan;
use model::{DocId, TokenizerId};
use rayon::prelude::*;
use store::TokenIdsRef;

/// Segments compared by one thread at a time.
const PIECE_SEGMENTS: usize = 512;
/// Parts remembered, at most: 48 bytes each, 24 MiB in all.
const PARTS: usize = 1 << 19;

/// A segment of a row of the files with the ids that it has there; none where the row ends before.
pub(super) struct ReadSegment<'a> {
    pub row: u64,
    /// Whose ids they are.
    pub tokenizer: TokenizerId,
    pub segment: Segment,
    pub ids: Option<&'a [u32]>,
}

/// A part of a document as the files have it.
struct PartHash {
    tokenizer: TokenizerId,
    document: DocId,
    offset: u32,
    length: u32,
    document_length: u32,
    row: u64,
    /// The first half of a BLAKE3 hash of its ids.
    hash: [u8; 16],
}

/// Compares ids.
pub(super) struct IdChecker<'a> {
    opened: &'a OpenPlan,
    parts: Vec<PartHash>,
    /// Parts remembered, at most.
    most: usize,
}

/// Failures of rows: (row, document, first token, what is wrong).
type IdFailures = Vec<(u64, DocId, u32, String)>;

impl<'a> IdChecker<'a> {
    pub const fn new(opened: &'a OpenPlan) -> Self {
        Self { opened, parts: Vec::new(), most: PARTS }
    }

    /// Compares whole documents, and remembers parts of others.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn check(
        &mut self,
        found: Vec<ReadSegment<'_>>,
        checks: &mut CheckList,
    ) -> Result<(), EpochError> {
        let is_whole =
            |found: &ReadSegment<'_>| found.segment.length == found.segment.document_length;
        let (mut whole, cut): (Vec<_>, Vec<_>) = found.into_iter().partition(is_whole);
        whole
            .par_sort_unstable_by_key(|found| (found.tokenizer, found.segment.document, found.row));
        let wrong: Vec<IdFailures> = whole
            .par_chunks(PIECE_SEGMENTS)
            .flat_map_iter(|found| found.chunk_by(|one, next| one.tokenizer == next.tokenizer))
            .map(|found| self.compare(found))
            .collect::<Result<_, _>>()?;
        tell(wrong, checks);
        self.parts.par_extend(cut.into_par_iter().map(|found| PartHash {
            tokenizer: found.tokenizer,
            document: found.segment.document,
            offset: found.segment.offset,
            length: found.segment.length,
            document_length: found.segment.document_length,
            row: found.row,
            hash: hash(found.ids.unwrap_or_default()),
        }));
        if self.parts.len() >= self.most { self.settle(checks) } else { Ok(()) }
    }

    /// Compares the parts that are remembered; to be called once more at the end.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn settle(&mut self, checks: &mut CheckList) -> Result<(), EpochError> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.par_sort_unstable_by_key(|part| {
            (part.tokenizer, part.document, part.offset, part.row)
        });
        let wrong: Vec<IdFailures> = parts
            .par_chunk_by(|part, next| {
                (part.tokenizer, part.document) == (next.tokenizer, next.document)
            })
            .map_init(Vec::new, |ids, parts| self.compare_parts(parts, ids))
            .collect::<Result<_, _>>()?;
        tell(wrong, checks);
        Ok(())
    }

    /// Segments of one tokenizer, ascending by document, with their documents.
    fn compare(&self, found: &[ReadSegment<'_>]) -> Result<IdFailures, EpochError> {
        let mut documents: Vec<DocId> = found.iter().map(|found| found.segment.document).collect();
        documents.dedup();
        let (mut wrong, mut left, mut ids) = (IdFailures::new(), found, Vec::new());
        let Some(tokenizer) = found.first().map(|found| found.tokenizer) else { return Ok(wrong) };
        self.opened.corpora.for_each_tokens(tokenizer, &documents, |document, stored| {
            self.sequence(stored, &mut ids);
            while let Some((next, rest)) =
                left.split_first().filter(|(next, _)| next.segment.document == document)
            {
                let segment = &next.segment;
                if stored.is_none() {
                    wrong.push((next.row, document, segment.offset, self.unencoded(document)));
                } else if next.ids != Some(ids.as_slice()) {
                    wrong.push(other_ids(next.row, document, segment.offset));
                }
                left = rest;
            }
            Ok::<(), EpochError>(())
        })?;
        Ok(wrong)
    }

    /// Parts of one document, with it. `ids` is memory to be used again.
    fn compare_parts(
        &self,
        parts: &[PartHash],
        ids: &mut Vec<u32>,
    ) -> Result<IdFailures, EpochError> {
        let mut wrong = IdFailures::new();
        let Some(PartHash { tokenizer, document, .. }) = parts.first() else { return Ok(wrong) };
        let document = *document;
        let mut is_stored = false;
        self.opened.corpora.for_each_tokens(*tokenizer, &[document], |_, stored| {
            is_stored = stored.is_some();
            self.sequence(stored, ids);
            Ok::<(), EpochError>(())
        })?;
        for part in parts {
            if !is_stored {
                wrong.push((part.row, document, part.offset, self.unencoded(document)));
                continue;
            }
            let (from, whole) = (part.offset as usize, part.document_length as usize);
            let to = from.saturating_add(part.length as usize);
            let of = ids.get(from..to).filter(|_| ids.len() == whole);
            if of.is_none_or(|of| self.hash_in_row(of, to < whole) != part.hash) {
                wrong.push(other_ids(part.row, document, part.offset));
            }
        }
        Ok(wrong)
    }

    /// The hash of a part of a document as a row has it: where the document goes on, maybe with EOS for its last token.
    fn hash_in_row(&self, part: &[u32], goes_on: bool) -> [u8; 16] {
        let plan = &self.opened.plan;
        let eos = plan.tokenizer.specials.eos.filter(|_| goes_on && plan.recipe.pack.cut_eos);
        match (eos, part.split_last()) {
            (Some(eos), Some((_, before))) => hash(&[before, &[eos]].concat()),
            _ => hash(part),
        }
    }

    /// BOS, the stored ids and EOS of a document, into `ids`.
    fn sequence(&self, stored: Option<TokenIdsRef<'_>>, ids: &mut Vec<u32>) {
        let specials = self.opened.plan.tokenizer.specials;
        ids.clear();
        if let Some(stored) = stored {
            ids.extend(specials.bos);
            stored.append(ids);
            ids.extend(specials.eos);
        }
    }

    fn unencoded(&self, document: DocId) -> String {
        let tokenizer = self.opened.plan.tokenizer.name.clone();
        let error = EpochError::NotEncoded { tokenizer, document: document.0, near_of: None };
        format!("cannot be checked: {error}")
    }
}

fn other_ids(row: u64, document: DocId, offset: u32) -> (u64, DocId, u32, String) {
    let why = format!("has other ids than document {document} from token {offset}");
    (row, document, offset, why)
}

/// Tells of failures in the order of rows.
fn tell(wrong: Vec<IdFailures>, checks: &mut CheckList) {
    let mut wrong: IdFailures = wrong.into_iter().flatten().collect();
    wrong.sort_unstable();
    for (row, _, _, why) in wrong {
        checks.fail(Property::Ids, format!("row {row} {why}"));
    }
}

fn hash(ids: &[u32]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for ids in ids.chunks(1024) {
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        hasher.update(&bytes);
    }
    let mut half = [0; 16];
    hasher.finalize_xof().fill(&mut half);
    half
}
