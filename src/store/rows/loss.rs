//! Values of the family `loss`: spans of trained tokens, and spans of the text that they follow from.

use crate::model::{LossSpan, TextForm, TokenizerId};
use crate::store::error::Malformed;
use crate::store::rows::bytes::Cursor;
use crate::store::rows::keys::TokensKey;

/// Under this id stand byte spans of texts; tokenizers count from 0 to 4,095.
pub(in crate::store) const TEXT: TokenizerId = TokenizerId(u16::MAX);
const FORMAT: u8 = 1;
const HAS_SPECIALS: u8 = 1;
const IS_GIVEN: u8 = 2;
const HAS_SPANS: u8 = 4;

fn put_spans(out: &mut Vec<u8>, spans: &[LossSpan]) {
    for span in spans {
        out.extend_from_slice(&span.start.to_le_bytes());
        out.extend_from_slice(&span.end.to_le_bytes());
        out.extend_from_slice(&span.weight.to_le_bytes());
    }
}

fn read_spans(cursor: &mut Cursor<'_>) -> Result<Vec<LossSpan>, Malformed> {
    let mut spans: Vec<LossSpan> = Vec::new();
    let mut least = 0;
    loop {
        let at = cursor.offset();
        if cursor.end().is_ok() {
            return Ok(spans);
        }
        let (start, end) = (cursor.u32()?, cursor.u32()?);
        let weight = f32::from_le_bytes(cursor.array()?);
        if start < least || end <= start || !weight.is_finite() || weight <= 0.0 {
            return Err(Malformed::at(at, format!("span {start}..{end} of weight {weight}")));
        }
        least = end;
        spans.push(LossSpan { start, end, weight });
    }
}

pub(in crate::store) fn encode_loss(spans: &[LossSpan]) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_spans(&mut out, spans);
    out
}

fn decode_loss(bytes: &[u8]) -> Result<Vec<LossSpan>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    expect_format(&mut cursor)?;
    read_spans(&mut cursor)
}

fn expect_format(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    let format = cursor.u8()?;
    match format {
        FORMAT => Ok(()),
        _ => Err(Malformed::at(0, format!("span format {format}, not {FORMAT}"))),
    }
}

pub(in crate::store) fn encode_form(form: &TextForm) -> Vec<u8> {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let mut out = vec![FORMAT];
    out.push(
        flag(form.specials, HAS_SPECIALS)
            | flag(form.given.is_some(), IS_GIVEN)
            | flag(form.spans.is_some(), HAS_SPANS),
    );
    if let Some(tokenizer) = form.given {
        out.extend_from_slice(&tokenizer.0.to_le_bytes());
    }
    put_spans(&mut out, form.spans.as_deref().unwrap_or_default());
    out
}

fn decode_form(bytes: &[u8]) -> Result<TextForm, Malformed> {
    let mut cursor = Cursor::new(bytes);
    expect_format(&mut cursor)?;
    let flags = cursor.u8()?;
    if flags & !(HAS_SPECIALS | IS_GIVEN | HAS_SPANS) != 0 {
        return Err(Malformed::at(1, format!("unknown flags {flags}")));
    }
    let given = if flags & IS_GIVEN != 0 { Some(TokenizerId(cursor.u16()?)) } else { None };
    let spans = if flags & HAS_SPANS != 0 { Some(read_spans(&mut cursor)?) } else { None };
    cursor.end()?;
    Ok(TextForm { specials: flags & HAS_SPECIALS != 0, given, spans })
}

/// A row of the family: what the key's tokenizer says it is.
pub enum LossRow {
    /// Trained tokens of a document.
    Tokens(Vec<LossSpan>),
    /// How its text is encoded, and what of it is trained on.
    Text(TextForm),
}

impl LossRow {
    pub(in crate::store) fn decode(key: &TokensKey, bytes: &[u8]) -> Result<Self, Malformed> {
        if key.tokenizer == TEXT {
            decode_form(bytes).map(Self::Text)
        } else {
            decode_loss(bytes).map(Self::Tokens)
        }
    }

    pub(in crate::store) fn tokens(self) -> Result<Vec<LossSpan>, Malformed> {
        match self {
            Self::Tokens(spans) => Ok(spans),
            Self::Text(_) => Err(Malformed::at(0, "of a text, not of its ids")),
        }
    }

    pub(in crate::store) fn text(self) -> Result<TextForm, Malformed> {
        match self {
            Self::Text(form) => Ok(form),
            Self::Tokens(_) => Err(Malformed::at(0, "of ids, not of their text")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let spans = vec![LossSpan { start: 3, end: 258, weight: 1.0 }];
        let bytes = encode_loss(&spans);
        assert_eq!(bytes, [1, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0x80, 0x3f]);
        assert_eq!(decode_loss(&bytes), Ok(spans.clone()));
        assert_eq!(decode_loss(&[1]), Ok(Vec::new()));
        let form = TextForm { specials: true, given: Some(TokenizerId(2)), spans: Some(spans) };
        let bytes = encode_form(&form);
        assert_eq!(bytes, [1, 7, 2, 0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0x80, 0x3f]);
        assert_eq!(decode_form(&bytes), Ok(form));
        assert_eq!(encode_form(&TextForm::default()), [1, 0]);
    }

    #[test]
    fn spans_out_of_order_empty_or_weightless_are_malformed() {
        let span = |start, end, weight| LossSpan { start, end, weight };
        for bad in [
            vec![span(1, 1, 1.0)],
            vec![span(0, 2, 1.0), span(1, 3, 1.0)],
            vec![span(0, 2, 0.0)],
            vec![span(0, 2, f32::NAN)],
        ] {
            assert!(decode_loss(&encode_loss(&bad)).is_err(), "{bad:?}");
        }
        assert!(decode_form(&[1, 8]).is_err() && decode_form(&[1, 0, 0]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_row(bytes: Vec<u8>) {
            if let Ok(spans) = decode_loss(&bytes) { prop_assert_eq!(encode_loss(&spans), bytes.clone()); }
            if let Ok(form) = decode_form(&bytes) { prop_assert_eq!(encode_form(&form), bytes); }
        }
    }
}
