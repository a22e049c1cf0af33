//! The family `loss`: which tokens are trained on, and the byte spans of the text that they follow from.

use crate::model::{DocId, LossSpan, TextForm, TokenizerId};
use crate::store::batch::Batch;
use crate::store::columns::{Loss, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::bytes::Cursor;
use crate::store::rows::keys::{Key, TokensKey};
use crate::store::view::View;
use std::ops::ControlFlow;

/// Under this id stand byte spans of texts; tokenizers count from 0 to 4,095.
const TEXT: TokenizerId = TokenizerId(u16::MAX);
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

/// Decodes a row of the family, whichever of the two it is.
pub(in crate::store) fn decode_row(key: &[u8], value: &[u8]) -> Result<(), Malformed> {
    if TokensKey::decode(key)?.tokenizer == TEXT {
        decode_form(value).map(drop)
    } else {
        decode_loss(value).map(drop)
    }
}

impl View {
    /// The trained tokens of a document in its stored ids, ascending; none: all of them.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn loss(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<Vec<LossSpan>>, StoreError> {
        let key = TokensKey { tokenizer, document };
        self.pinned().read::<Loss, _>("trained tokens", &key, decode_loss)
    }

    /// Whether any document encoded by `tokenizer` has tokens that are not plainly trained.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_loss(&self, tokenizer: TokenizerId) -> Result<bool, StoreError> {
        let key = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        let prefix = key.get(..2).unwrap_or_default();
        Ok(self.pinned().scan_prefix::<Loss>(prefix)?.advance()?.is_some())
    }

    /// Calls `give` with the trained tokens of every document of `tokenizer` that says which they are,
    /// ascending by document, until it breaks.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; those of `give`.
    pub fn for_each_loss<E: From<StoreError>>(
        &self,
        tokenizer: TokenizerId,
        mut give: impl FnMut(DocId, Vec<LossSpan>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let prefix = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        let mut rows = self.pinned().scan_prefix::<Loss>(prefix.get(..2).unwrap_or_default())?;
        while let Some((key, value)) = rows.advance()? {
            let row =
                TokensKey::decode(key).and_then(|key| Ok((key.document, decode_loss(value)?)));
            let (document, spans) =
                row.map_err(|why| corrupt::<Loss>("trained tokens", key, why))?;
            if give(document, spans)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How a document's text is encoded and what of it is trained on; none: plain text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn text_form(&self, document: DocId) -> Result<Option<TextForm>, StoreError> {
        let key = TokensKey { tokenizer: TEXT, document };
        self.pinned().read::<Loss, _>("trained text", &key, decode_form)
    }

    /// Documents whose ids of `tokenizer` came with their records.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn given_by(&self, tokenizer: TokenizerId) -> Result<u64, StoreError> {
        let key = TokensKey { tokenizer: TEXT, document: DocId(0) }.to_bytes();
        let mut rows = self.pinned().scan_prefix::<Loss>(key.get(..2).unwrap_or_default())?;
        let mut documents = 0;
        while let Some((key, value)) = rows.advance()? {
            let form =
                decode_form(value).map_err(|why| corrupt::<Loss>("trained text", key, why))?;
            documents += u64::from(form.given == Some(tokenizer));
        }
        Ok(documents)
    }

    /// Whether any document has a [`TextForm`].
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_text_forms(&self) -> Result<bool, StoreError> {
        self.has_loss(TEXT)
    }
}

impl Batch<'_> {
    /// Stores which of a document's ids are trained on.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn loss(
        &mut self,
        tokenizer: TokenizerId,
        document: DocId,
        spans: &[LossSpan],
    ) -> Result<(), StoreError> {
        self.put::<Loss>(&TokensKey { tokenizer, document }, &encode_loss(spans))
    }

    /// Stores how a document's text is encoded and what of it is trained on.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn text_form(&mut self, document: DocId, form: &TextForm) -> Result<(), StoreError> {
        self.put::<Loss>(&TokensKey { tokenizer: TEXT, document }, &encode_form(form))
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
