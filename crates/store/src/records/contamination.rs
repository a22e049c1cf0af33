//! The families `contamination` and `verdicts`: pieces of evaluation suites in stored texts, and verdicts on them.
//!
//! A verdict is of a text, whichever documents have it.
//!
//! A document with any n-gram of a suite has a row, mostly of one run: so evidence, verdicts and conditions read a few
//! rows per thousand documents. Scores are not stored: they depend on the n-grams common among kept documents, which
//! every commit may change, so a stored one would depend on when its document came.

use crate::batch::CommitBatch;
use crate::bytes::cursor::{ByteCursor, put_varint};
use crate::bytes::key::{ContaminationKey, VerdictKey, suite_prefix};
use crate::database::family::store_family;
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::{
    ByteSpan, DocId, GramPlace, GramRun, ItemText, Sightings, SuiteId, SuitePiece, SuiteVerdict,
    WholeItem,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;

store_family! {
    /// What texts have of suites. Written by ingest and `contamination add`, read by the table `contamination`.
    Contamination = "contamination", Dense,
    ContaminationKey, "suite u32, document u64"
    => "contamination": Sightings, |_, bytes| decode_sightings(bytes),
    "runs of n-grams and whole items: hand-packed, see below"
}

store_family! {
    /// What people decided about items and texts. Written by `contamination review`, read by whoever tells evidence.
    Verdicts = "verdicts", Small,
    VerdictKey, "suite u32, blake3-128 of the text, item u32 counted from 0"
    => "verdict": SuiteVerdict, |_, bytes| decode_verdict(bytes),
    "u8: 0 rejected, 1 accepted"
}

/// Without pieces.
const FORMAT: u8 = 1;
/// With pieces behind the runs.
const PIECES: u8 = 2;
/// With pieces, and the turns of short questions of which some are not the first of their items.
const TURNS: u8 = 3;
/// Tokens that a piece may have: longer runs are of n-grams.
const PIECE_TOKENS: RangeInclusive<u32> = 5..=7;

/// The stored form: runs and pieces in the order of the text, each with its distance from the one before.
pub(crate) fn encode_sightings(sightings: &Sightings) -> Vec<u8> {
    let has_turns = sightings.whole.iter().any(|whole| whole.turn > 0);
    let has_pieces = has_turns || !sightings.pieces.is_empty();
    let mut out = vec![match (has_turns, has_pieces) {
        (true, _) => TURNS,
        (false, true) => PIECES,
        (false, false) => FORMAT,
    }];
    put_varint(&mut out, sightings.unlisted);
    put_varint(&mut out, sightings.runs.len() as u64);
    let mut token = 0;
    for run in &sightings.runs {
        put_varint(&mut out, run.token.saturating_sub(token));
        put_varint(&mut out, run.gram.into());
        put_varint(&mut out, run.count.into());
        put_span(&mut out, run.span);
        token = run.token;
    }
    if has_pieces {
        put_pieces(&mut out, &sightings.pieces);
    }
    for whole in &sightings.whole {
        put_varint(&mut out, whole.item.into());
        if has_turns {
            put_varint(&mut out, whole.turn.into());
        }
        put_span(&mut out, whole.question);
        put_span(&mut out, whole.answer);
    }
    out
}

fn put_pieces(out: &mut Vec<u8>, pieces: &[SuitePiece]) {
    put_varint(out, pieces.len() as u64);
    let mut token = 0;
    for piece in pieces {
        put_varint(out, piece.token.saturating_sub(token));
        put_varint(out, piece.place.item.into());
        put_varint(out, piece.place.text.code().into());
        put_varint(out, piece.place.position.into());
        put_varint(out, piece.tokens.into());
        put_span(out, piece.span);
        token = piece.token;
    }
}

/// What a row says.
pub(crate) fn decode_sightings(bytes: &[u8]) -> Result<Sightings, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    let format = cursor.u8()?;
    if ![FORMAT, PIECES, TURNS].contains(&format) {
        let why = format!("format {format} of sightings, not {FORMAT} to {TURNS}");
        return Err(DecodeError::at(0, why));
    }
    let unlisted = cursor.varint()?;
    let mut found = Sightings { unlisted, ..Sightings::default() };
    let runs = cursor.varint()?;
    let mut before = 0_u64;
    for _ in 0..runs {
        let at = cursor.offset();
        let token = read_token(&mut cursor, before)?;
        let (gram, count) = (cursor.varint_u32()?, cursor.varint_u32()?);
        if count == 0 || gram.checked_add(count).is_none() {
            return Err(DecodeError::at(at, format!("a run of {count} n-grams from {gram}")));
        }
        found.runs.push(GramRun { token, gram, count, span: read_span(&mut cursor)? });
        before = token;
    }
    if format != FORMAT {
        found.pieces = read_pieces(&mut cursor)?;
    }
    while cursor.end().is_err() {
        let item = cursor.varint_u32()?;
        let turn = if format == TURNS { cursor.varint_u32()? } else { 0 };
        let (question, answer) = (read_span(&mut cursor)?, read_span(&mut cursor)?);
        found.whole.push(WholeItem { item, turn, question, answer });
    }
    Ok(found)
}

fn read_pieces(cursor: &mut ByteCursor<'_>) -> Result<Vec<SuitePiece>, DecodeError> {
    let (mut found, mut before) = (Vec::new(), 0);
    for _ in 0..cursor.varint()? {
        let at = cursor.offset();
        let token = read_token(cursor, before)?;
        let item = cursor.varint_u32()?;
        let text = ItemText::from_code(cursor.varint_u32()?);
        let (position, tokens) = (cursor.varint_u32()?, cursor.varint_u32()?);
        if !PIECE_TOKENS.contains(&tokens) || position.checked_add(tokens).is_none() {
            return Err(DecodeError::at(at, format!("a piece of {tokens} tokens from {position}")));
        }
        let place = GramPlace { item, text, position };
        found.push(SuitePiece { token, place, tokens, span: read_span(cursor)? });
        before = token;
    }
    Ok(found)
}

fn read_token(cursor: &mut ByteCursor<'_>, before: u64) -> Result<u64, DecodeError> {
    let at = cursor.offset();
    let token = before.checked_add(cursor.varint()?);
    token.ok_or_else(|| DecodeError::at(at, "a token beyond 64 bits"))
}

fn put_span(out: &mut Vec<u8>, (start, end): ByteSpan) {
    put_varint(out, start);
    put_varint(out, end.saturating_sub(start));
}

fn read_span(cursor: &mut ByteCursor<'_>) -> Result<ByteSpan, DecodeError> {
    let at = cursor.offset();
    let start = cursor.varint()?;
    let end = start.checked_add(cursor.varint()?);
    Ok((start, end.ok_or_else(|| DecodeError::at(at, "a span beyond 64 bits"))?))
}

/// The stored form.
pub(crate) const fn encode_verdict(verdict: SuiteVerdict) -> [u8; 1] {
    [verdict as u8]
}

/// What a row says.
pub(crate) fn decode_verdict(bytes: &[u8]) -> Result<SuiteVerdict, DecodeError> {
    let found = match bytes {
        [byte] => SuiteVerdict::ALL.into_iter().find(|verdict| *verdict as u8 == *byte),
        _ => None,
    };
    found.ok_or_else(|| DecodeError::at(0, format!("{bytes:?} is not a verdict")))
}

impl View {
    /// What a stored text has of a suite; none where it has nothing.
    #[doc(hidden)]
    pub fn sightings(
        &self,
        suite: SuiteId,
        document: DocId,
    ) -> Result<Option<Sightings>, StoreError> {
        let key = ContaminationKey { suite, document };
        self.pinned().read::<Contamination, _>(&key)
    }

    /// The documents whose texts have something of a suite, ascending, each with that.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    #[doc(hidden)]
    pub fn all_sightings(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Sightings), StoreError>>, StoreError> {
        let rows = self.pinned().scan_prefix::<Contamination>(&suite_prefix(suite))?;
        Ok(rows.filter_map(|key, found| Some((key.document, found))))
    }

    /// The first document of a suite that is stored in no row of `suites`, or does not exist: neither is written.
    pub(crate) fn stray_sighting(&self) -> Result<Option<(SuiteId, DocId)>, StoreError> {
        let known: Vec<SuiteId> = self.suites()?.iter().map(|(suite, _)| *suite).collect();
        let mut rows = self.pinned().scan::<Contamination>(&[], None)?;
        while let Some((key, _)) = rows.next()? {
            if !known.contains(&key.suite) || key.document.0 >= self.documents() {
                return Ok(Some((key.suite, key.document)));
            }
        }
        Ok(None)
    }

    /// The verdicts of a suite, ascending by text and item.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    #[doc(hidden)]
    pub fn verdicts(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(VerdictSubject, SuiteVerdict), StoreError>>, StoreError>
    {
        let rows = self.pinned().scan_prefix::<Verdicts>(&suite_prefix(suite))?;
        Ok(rows.filter_map(|key, verdict| Some(((key.text, key.item), verdict))))
    }

    /// The verdicts of a suite of whose text nothing is known any more: no document has it that has anything of the
    /// suite.
    #[doc(hidden)]
    pub fn orphaned_verdicts(&self, suite: SuiteId) -> Result<Vec<VerdictSubject>, StoreError> {
        let all: Vec<VerdictSubject> = self
            .verdicts(suite)?
            .map(|row| row.map(|(of, _)| of))
            .collect::<Result<_, StoreError>>()?;
        let mut missing: BTreeSet<[u8; 16]> = all.iter().map(|(text, _)| *text).collect();
        if missing.is_empty() {
            return Ok(Vec::new());
        }
        for row in self.all_sightings(suite)? {
            let (document, _) = row?;
            missing.remove(&self.print(document)?.raw);
        }
        Ok(all.into_iter().filter(|(text, _)| missing.contains(text)).collect())
    }

    /// The first verdict of a suite or an item that there is not: neither is written.
    pub(crate) fn stray_verdict(&self) -> Result<Option<(SuiteId, u32)>, StoreError> {
        let mut rows = self.pinned().scan::<Verdicts>(&[], None)?;
        while let Some((key, _)) = rows.next()? {
            let mut suites = self.suites()?.iter();
            if !suites.any(|(suite, record)| *suite == key.suite && key.item < record.items) {
                return Ok(Some((key.suite, key.item)));
            }
        }
        Ok(None)
    }
}

impl CommitBatch<'_> {
    /// Stores what a text has of a suite.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_sightings(
        &mut self,
        suite: SuiteId,
        document: DocId,
        found: &Sightings,
    ) -> Result<(), StoreError> {
        self.put::<Contamination>(&ContaminationKey { suite, document }, &encode_sightings(found))
    }

    /// Forgets what the text of a document has of any suite.
    pub(crate) fn forget_sightings(&mut self, document: DocId) -> Result<(), StoreError> {
        for (suite, _) in self.view().clone().suites()? {
            self.delete::<Contamination>(&ContaminationKey { suite: *suite, document })?;
        }
        Ok(())
    }

    /// Stores a verdict in the place of an earlier one; `None` deletes that.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_verdict(
        &mut self,
        suite: SuiteId,
        (text, item): VerdictSubject,
        verdict: Option<SuiteVerdict>,
    ) -> Result<(), StoreError> {
        let key = VerdictKey { suite, text, item };
        match verdict {
            Some(verdict) => self.put::<Verdicts>(&key, &encode_verdict(verdict)),
            None => self.delete::<Verdicts>(&key),
        }
    }
}

/// A text by its hash, and the number of an item.
pub type VerdictSubject = ([u8; 16], u32);

#[cfg(test)]
mod sightings_tests {
    use super::*;
    use model::SuitePart;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let run = GramRun { token: 3, gram: 200, count: 2, span: (10, 300) };
        let later = GramRun { token: 8, gram: 0, count: 1, span: (310, 350) };
        let whole = WholeItem { item: 4, turn: 0, question: (1, 2), answer: (5, 6) };
        let mut found = Sightings {
            runs: vec![run, later],
            whole: vec![whole],
            unlisted: 1,
            ..Sightings::default()
        };
        let bytes = encode_sightings(&found);
        let expected = [1, 1, 2, 3, 200, 1, 2, 10, 0xa2, 2, 5, 0, 1, 0xb6, 2, 40, 4, 1, 1, 5, 1];
        assert_eq!(bytes, expected);
        assert_eq!(decode_sightings(&bytes), Ok(found.clone()));
        let text = ItemText::first(SuitePart::Answer);
        let place = GramPlace { item: 7, text, position: 300 };
        let piece = SuitePiece { token: 20, place, tokens: 5, span: (400, 430) };
        found.pieces = vec![piece, SuitePiece { token: 26, ..piece }];
        let bytes = encode_sightings(&found);
        let pieces = [2, 20, 7, 1, 0xac, 2, 5, 0x90, 3, 30, 6, 7, 1, 0xac, 2, 5, 0x90, 3, 30];
        assert_eq!(bytes, [&[2][..], &expected[1..16], &pieces, &expected[16..]].concat());
        assert_eq!(decode_sightings(&bytes), Ok(found));
        let found =
            Sightings { whole: vec![WholeItem { turn: 1, ..whole }], ..Sightings::default() };
        assert_eq!(encode_sightings(&found), [3, 0, 0, 0, 4, 1, 1, 1, 5, 1]);
        assert_eq!(decode_sightings(&[3, 0, 0, 0, 4, 1, 1, 1, 5, 1]), Ok(found));
        // An unknown format, runs of nothing, no runs, pieces of nothing, one without its end and one of as much as an
        // n-gram, no bytes.
        for bad in [
            &[4, 0, 0][..],
            &[1, 0, 1, 0, 0, 0, 0, 0],
            &[1, 0, 1],
            &[2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 0, 1, 0, 0, 3, 0, 5, 0],
            &[2, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0],
            &[],
        ] {
            assert!(decode_sightings(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_sightings(bytes: Vec<u8>) {
            if let Ok(found) = decode_sightings(&bytes) {
                prop_assert_eq!(decode_sightings(&encode_sightings(&found)), Ok(found));
            }
        }
    }
}

#[cfg(test)]
mod verdicts_tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        assert_eq!(
            (encode_verdict(SuiteVerdict::Rejected), encode_verdict(SuiteVerdict::Accepted)),
            ([0], [1])
        );
        for verdict in SuiteVerdict::ALL {
            assert_eq!(decode_verdict(&encode_verdict(verdict)), Ok(verdict));
        }
        for bad in [&[][..], &[2], &[0, 0]] {
            assert!(decode_verdict(bad).is_err(), "{bad:?}");
        }
    }
}
