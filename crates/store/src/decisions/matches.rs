//! The families `matches` and `members`: why a document is not kept, and whom a witness stands for.

use crate::batch::CommitBatch;
use crate::bytes::cursor::ByteCursor;
use crate::bytes::key::{
    self, ExactKey, MatchKey, MemberKey, StoreKey, TextKind, generation_prefix,
};
use crate::database::family::store_family;
use crate::decisions::hashes::Exact;
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::invariant::part;
use model::{CommitSeq, DocId, Generation, Match, MatchKind};
use std::ops::Range;

const LEFT: u8 = 0;
const JOINED: u8 = 1;

/// The stored form of a match; none says that the document has none any more.
pub(crate) fn encode_match(found: Option<&Match>) -> Vec<u8> {
    let Some(found) = found else {
        return vec![LEFT];
    };
    let mut out = Vec::with_capacity(21);
    out.push(found.kind as u8);
    out.extend_from_slice(&found.witness.0.to_le_bytes());
    out.extend_from_slice(&found.shared.to_le_bytes());
    out.extend_from_slice(&found.removed_shingles.to_le_bytes());
    out.extend_from_slice(&found.witness_shingles.to_le_bytes());
    out
}

pub(crate) fn decode_match(bytes: &[u8]) -> Result<Option<Match>, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    let code = cursor.u8()?;
    if code == LEFT {
        cursor.end()?;
        return Ok(None);
    }
    let kind = MatchKind::from_code(code)
        .ok_or_else(|| DecodeError::at(0, format!("unknown kind {code}")))?;
    let found = Match {
        kind,
        witness: DocId(cursor.u64()?),
        shared: cursor.u32()?,
        removed_shingles: cursor.u32()?,
        witness_shingles: cursor.u32()?,
    };
    cursor.end()?;
    Ok(Some(found))
}

pub(crate) const fn encode_member(joined: bool) -> [u8; 1] {
    [if joined { JOINED } else { LEFT }]
}

pub(crate) fn decode_member(bytes: &[u8]) -> Result<bool, DecodeError> {
    match bytes {
        [JOINED] => Ok(true),
        [LEFT] => Ok(false),
        _ => Err(DecodeError::at(0, "member is neither joined nor left")),
    }
}

store_family! {
    /// Why a document is not kept; the newest row of a document counts.
    Matches = "matches", Ranged,
    MatchKey, "generation u32, removed u64, commit u64"
    => "match": Option<Match>, |_, bytes| decode_match(bytes),
    "kind u8 (0: no longer), witness u64, shared u32, shingles u32 of both, LE"
}

store_family! {
    /// The documents a witness removed; the newest row of a pair counts.
    Members = "members", Ranged,
    MemberKey, "generation u32, witness u64, removed u64, commit u64"
    => "member": bool, |_, bytes| decode_member(bytes),
    "u8: 1 joined, 0 left"
}

/// The documents that have a match, ascending, each with the commit that gave it. Holds one; ends behind an error.
pub struct MatchIter<'a>(Box<dyn Iterator<Item = <Self as Iterator>::Item> + Send + 'a>);

/// The last row of each key, of rows in the order of their commits: that row counts. A key whose rows cannot all be
/// read has only the error.
fn newest<K: PartialEq, T>(
    rows: impl Iterator<Item = Result<(K, T), StoreError>>,
) -> impl Iterator<Item = Result<(K, T), StoreError>> {
    let mut rows = rows.peekable();
    std::iter::from_fn(move || {
        let mut row = rows.next()?;
        while let Some(later) = rows.next_if(|next| match (&row, next) {
            (Ok((key, _)), Ok((of, _))) => key == of,
            (now, next) => now.is_ok() && next.is_err(),
        }) {
            row = later;
        }
        Some(row)
    })
}

impl View {
    /// Why a document is not kept, when another document is the reason.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn match_of(&self, removed: DocId) -> Result<Option<Match>, StoreError> {
        self.match_at(self.last(), removed)
    }

    /// Why a document was not kept at `commit`, when `generation` was current.
    #[doc(hidden)]
    pub fn match_at(
        &self,
        (generation, commit): (Generation, CommitSeq),
        removed: DocId,
    ) -> Result<Option<Match>, StoreError> {
        let from = MatchKey { generation, removed, commit: CommitSeq(0) }.to_bytes();
        let rows = self.pinned().scan_prefix::<Matches>(part(&from, ..12))?;
        let rows = rows.filter_map(|key, found| Some((key.commit, found)));
        let is_until = |row: &Result<_, _>| row.as_ref().map_or(true, |(at, _)| *at <= commit);
        let rows = rows.take_while(is_until).map(|row| row.map(|(_, found)| (removed, found)));
        Ok(newest(rows).next().transpose()?.and_then(|(_, found)| found))
    }

    /// The newest match of every document that has one, ascending by document.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn matched(&self) -> Result<MatchIter<'_>, StoreError> {
        self.matched_at(self.last(), 0..u64::MAX)
    }

    /// The match of every one of `documents` that had one at `commit`, when `generation` was current: ascending.
    #[doc(hidden)]
    pub fn matched_at(
        &self,
        (generation, until): (Generation, CommitSeq),
        documents: Range<u64>,
    ) -> Result<MatchIter<'_>, StoreError> {
        let key = |document| {
            let (removed, commit) = (DocId(document), CommitSeq(0));
            MatchKey { generation, removed, commit }.to_bytes()
        };
        let end = Some(key(documents.end));
        let rows = self.pinned().scan::<Matches>(&key(documents.start), end)?;
        let rows = rows.filter_map(move |key, found| {
            (key.commit <= until).then_some((key.removed, (key.commit, found)))
        });
        let matched = newest(rows).filter_map(|row| match row {
            Ok((removed, (commit, found))) => found.map(|found| Ok((removed, commit, found))),
            Err(error) => Some(Err(error)),
        });
        Ok(MatchIter(Box::new(matched)))
    }

    /// The moment after which no row of this view's generation is.
    fn last(&self) -> (Generation, CommitSeq) {
        (self.generation(), CommitSeq(u64::MAX))
    }

    /// The documents whose witness this document is now, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn members(&self, witness: DocId) -> Result<Vec<DocId>, StoreError> {
        let key = MemberKey {
            generation: self.generation(),
            witness,
            removed: DocId(0),
            commit: CommitSeq(0),
        };
        let key = key.to_bytes();
        let rows = self.pinned().scan_prefix::<Members>(part(&key, ..12))?;
        let rows = rows.filter_map(|key, joined| Some((key.removed, joined)));
        joined(newest(rows)).collect()
    }

    /// Every witness with each of its members, ascending by witness, then by member. Holds one row, however many there
    /// are.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn all_members(
        &self,
    ) -> Result<impl Iterator<Item = Result<(DocId, DocId), StoreError>>, StoreError> {
        let prefix = generation_prefix(self.generation());
        let rows = self.pinned().scan_prefix::<Members>(&prefix)?;
        let rows = rows.filter_map(|key, joined| Some(((key.witness, key.removed), joined)));
        Ok(joined(newest(rows)))
    }
}

impl Iterator for MatchIter<'_> {
    type Item = Result<(DocId, CommitSeq, Match), StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}

impl std::fmt::Debug for MatchIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MatchIter").finish_non_exhaustive()
    }
}

/// The pairs that are together, of pairs that each joined or left.
fn joined<P>(
    rows: impl Iterator<Item = Result<(P, bool), StoreError>>,
) -> impl Iterator<Item = Result<P, StoreError>> {
    rows.filter_map(|row| match row {
        Ok((pair, true)) => Some(Ok(pair)),
        Ok((_, false)) => None,
        Err(error) => Some(Err(error)),
    })
}

/// The witness that loses a document by a change of a match, and the one that gets it, each with whether it joined.
pub(crate) fn member_changes(
    before: Option<&Match>,
    now: Option<&Match>,
) -> impl Iterator<Item = (DocId, bool)> {
    let witness = |found: Option<&Match>| {
        found.filter(|found| found.is_duplicate()).map(|found| found.witness)
    };
    let (left, joined) = (witness(before), witness(now));
    let changes = [left.map(|one| (one, false)), joined.map(|one| (one, true))];
    changes.into_iter().flatten().filter(move |_| left != joined)
}

impl CommitBatch<'_> {
    /// Records why a document is not kept (`now`; none when it is kept or alone), replacing `before`.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn record_match(
        &mut self,
        removed: DocId,
        before: Option<&Match>,
        now: Option<&Match>,
    ) -> Result<(), StoreError> {
        if before == now {
            return Ok(());
        }
        let (generation, commit) = (self.view.generation(), self.commit_seq());
        self.put::<Matches>(&MatchKey { generation, removed, commit }, &encode_match(now))?;
        for (witness, has_joined) in member_changes(before, now) {
            let key = MemberKey { generation, witness, removed, commit };
            self.put::<Members>(&key, &encode_member(has_joined))?;
        }
        Ok(())
    }

    /// Names the best-ranked eligible document of a text; none forgets the text.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn set_exact(
        &mut self,
        kind: TextKind,
        hash: [u8; 16],
        document: Option<DocId>,
    ) -> Result<(), StoreError> {
        let key = ExactKey { generation: self.view.generation(), kind, hash };
        match document {
            Some(document) => self.put::<Exact>(&key, &key::encode_document(document)),
            None => self.delete::<Exact>(&key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let found = Match {
            kind: MatchKind::Near,
            witness: DocId(258),
            shared: 4,
            removed_shingles: 5,
            witness_shingles: 6,
        };
        let bytes = encode_match(Some(&found));
        assert_eq!(bytes, [2, 2, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(decode_match(&bytes), Ok(Some(found)));
        assert_eq!(decode_match(&encode_match(None)), Ok(None));
        assert!(
            decode_match(&[9]).is_err()
                && decode_match(&[]).is_err()
                && decode_match(&[0, 0]).is_err()
        );
        assert!(decode_member(&encode_member(true)).unwrap() && decode_member(&[7]).is_err());
    }
}
