//! Values of the family `contamination`: what a text has of a suite, hand-packed.

use crate::model::{ByteSpan, GramPlace, GramRun, Sightings, SuitePart, SuitePiece, WholeItem};
use crate::store::error::Malformed;
use crate::store::rows::bytes::{Cursor, put_varint};
use std::ops::RangeInclusive;

/// Without pieces.
const FORMAT: u8 = 1;
/// With pieces behind the runs.
const PIECES: u8 = 2;
/// Tokens that a piece may have: longer runs are of n-grams.
const PIECE_TOKENS: RangeInclusive<u32> = 5..=7;

/// The stored form: runs and pieces in the order of the text, each with its distance from the one before.
pub(in crate::store) fn encode(sightings: &Sightings) -> Vec<u8> {
    let has_pieces = !sightings.pieces.is_empty();
    let mut out = vec![if has_pieces { PIECES } else { FORMAT }];
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
        out.push(piece.place.part as u8);
        put_varint(out, piece.place.position.into());
        put_varint(out, piece.tokens.into());
        put_span(out, piece.span);
        token = piece.token;
    }
}

/// What a row says.
pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Sightings, Malformed> {
    let mut cursor = Cursor::new(bytes);
    let format = cursor.u8()?;
    if ![FORMAT, PIECES].contains(&format) {
        let why = format!("format {format} of sightings, not {FORMAT} or {PIECES}");
        return Err(Malformed::at(0, why));
    }
    let unlisted = cursor.varint()?;
    let mut found = Sightings { unlisted, ..Sightings::default() };
    let runs = cursor.varint()?;
    let mut before = 0_u64;
    for _ in 0..runs {
        let at = cursor.offset();
        let token = token(&mut cursor, before)?;
        let (gram, count) = (cursor.varint_u32()?, cursor.varint_u32()?);
        if count == 0 || gram.checked_add(count).is_none() {
            return Err(Malformed::at(at, format!("a run of {count} n-grams from {gram}")));
        }
        found.runs.push(GramRun { token, gram, count, span: span(&mut cursor)? });
        before = token;
    }
    if format == PIECES {
        found.pieces = pieces(&mut cursor)?;
    }
    while cursor.end().is_err() {
        let item = cursor.varint_u32()?;
        let (question, answer) = (span(&mut cursor)?, span(&mut cursor)?);
        found.whole.push(WholeItem { item, question, answer });
    }
    Ok(found)
}

fn pieces(cursor: &mut Cursor<'_>) -> Result<Vec<SuitePiece>, Malformed> {
    let (mut found, mut before) = (Vec::new(), 0);
    for _ in 0..cursor.varint()? {
        let at = cursor.offset();
        let token = token(cursor, before)?;
        let item = cursor.varint_u32()?;
        let part = SuitePart::ALL.get(usize::from(cursor.u8()?)).copied();
        let part = part.ok_or_else(|| Malformed::at(at, "unknown part"))?;
        let (position, tokens) = (cursor.varint_u32()?, cursor.varint_u32()?);
        if !PIECE_TOKENS.contains(&tokens) || position.checked_add(tokens).is_none() {
            return Err(Malformed::at(at, format!("a piece of {tokens} tokens from {position}")));
        }
        let place = GramPlace { item, part, position };
        found.push(SuitePiece { token, place, tokens, span: span(cursor)? });
        before = token;
    }
    Ok(found)
}

fn token(cursor: &mut Cursor<'_>, before: u64) -> Result<u64, Malformed> {
    let at = cursor.offset();
    let token = before.checked_add(cursor.varint()?);
    token.ok_or_else(|| Malformed::at(at, "a token beyond 64 bits"))
}

fn put_span(out: &mut Vec<u8>, (start, end): ByteSpan) {
    put_varint(out, start);
    put_varint(out, end.saturating_sub(start));
}

fn span(cursor: &mut Cursor<'_>) -> Result<ByteSpan, Malformed> {
    let at = cursor.offset();
    let start = cursor.varint()?;
    let end = start.checked_add(cursor.varint()?);
    Ok((start, end.ok_or_else(|| Malformed::at(at, "a span beyond 64 bits"))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let run = GramRun { token: 3, gram: 200, count: 2, span: (10, 300) };
        let later = GramRun { token: 8, gram: 0, count: 1, span: (310, 350) };
        let whole = WholeItem { item: 4, question: (1, 2), answer: (5, 6) };
        let mut found = Sightings {
            runs: vec![run, later],
            whole: vec![whole],
            unlisted: 1,
            ..Sightings::default()
        };
        let bytes = encode(&found);
        let expected = [1, 1, 2, 3, 200, 1, 2, 10, 0xa2, 2, 5, 0, 1, 0xb6, 2, 40, 4, 1, 1, 5, 1];
        assert_eq!(bytes, expected);
        assert_eq!(decode(&bytes), Ok(found.clone()));
        let place = GramPlace { item: 7, part: SuitePart::Answer, position: 300 };
        let piece = SuitePiece { token: 20, place, tokens: 5, span: (400, 430) };
        found.pieces = vec![piece, SuitePiece { token: 26, ..piece }];
        let bytes = encode(&found);
        let pieces = [2, 20, 7, 1, 0xac, 2, 5, 0x90, 3, 30, 6, 7, 1, 0xac, 2, 5, 0x90, 3, 30];
        assert_eq!(bytes, [&[2][..], &expected[1..16], &pieces, &expected[16..]].concat());
        assert_eq!(decode(&bytes), Ok(found));
        // An unknown format, runs of nothing, no runs, pieces of nothing, of an unknown part and of as much as an
        // n-gram, no bytes.
        for bad in [
            &[3, 0, 0][..],
            &[1, 0, 1, 0, 0, 0, 0, 0],
            &[1, 0, 1],
            &[2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 0, 1, 0, 0, 3, 0, 5, 0, 0],
            &[2, 0, 0, 1, 0, 0, 0, 0, 8, 0, 0],
            &[],
        ] {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_sightings(bytes: Vec<u8>) {
            if let Ok(found) = decode(&bytes) {
                prop_assert_eq!(decode(&encode(&found)), Ok(found));
            }
        }
    }
}
