//! The family `loss`: which tokens are trained on, and the byte spans of the text that they follow from.

use crate::batch::CommitBatch;
use crate::bytes::cursor::ByteCursor;
use crate::bytes::key::{StoreKey, TokensKey};
use crate::database::family::store_family;
use crate::error::{DecodeError, StoreError};
use crate::view::View;
use model::invariant::part;
use model::{DocId, LossSpan, TextForm, TokenizerId};
use std::ops::Range;

/// Under this id stand byte spans of texts; tokenizers count from 0 to 4,095.
pub(crate) const TEXT: TokenizerId = TokenizerId(u16::MAX);
const FORMAT: u8 = 1;
const HAS_SPECIALS: u8 = 1;
const IS_GIVEN: u8 = 2;
const HAS_SPANS: u8 = 4;
const HAS_PLAIN: u8 = 8;

fn put_spans(out: &mut Vec<u8>, spans: &[LossSpan]) {
    for span in spans {
        out.extend_from_slice(&span.start.to_le_bytes());
        out.extend_from_slice(&span.end.to_le_bytes());
        out.extend_from_slice(&span.weight.to_le_bytes());
    }
}

fn read_spans(cursor: &mut ByteCursor<'_>) -> Result<Vec<LossSpan>, DecodeError> {
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
            return Err(DecodeError::at(at, format!("span {start}..{end} of weight {weight}")));
        }
        least = end;
        spans.push(LossSpan { start, end, weight });
    }
}

fn read_plain(cursor: &mut ByteCursor<'_>) -> Result<Vec<Range<u32>>, DecodeError> {
    let count = cursor.u32()?;
    let (mut plain, mut least) = (Vec::new(), 0);
    for _ in 0..count {
        let at = cursor.offset();
        let (start, end) = (cursor.u32()?, cursor.u32()?);
        if start < least || end <= start {
            return Err(DecodeError::at(at, format!("plain text {start}..{end}")));
        }
        least = end;
        plain.push(start..end);
    }
    if plain.is_empty() {
        return Err(DecodeError::at(cursor.offset(), "plain text of no bytes".to_owned()));
    }
    Ok(plain)
}

pub(crate) fn encode_loss(spans: &[LossSpan]) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_spans(&mut out, spans);
    out
}

fn decode_loss(bytes: &[u8]) -> Result<Vec<LossSpan>, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    expect_format(&mut cursor)?;
    read_spans(&mut cursor)
}

fn expect_format(cursor: &mut ByteCursor<'_>) -> Result<(), DecodeError> {
    let format = cursor.u8()?;
    match format {
        FORMAT => Ok(()),
        _ => Err(DecodeError::at(0, format!("span format {format}, not {FORMAT}"))),
    }
}

#[expect(clippy::expect_used, reason = "what ingests read is bounded: a text has at most 4 GiB")]
pub(crate) fn encode_form(form: &TextForm) -> Vec<u8> {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let mut out = vec![FORMAT];
    out.push(
        flag(form.specials, HAS_SPECIALS)
            | flag(form.given.is_some(), IS_GIVEN)
            | flag(form.spans.is_some(), HAS_SPANS)
            | flag(!form.plain.is_empty(), HAS_PLAIN),
    );
    if let Some(tokenizer) = form.given {
        out.extend_from_slice(&tokenizer.0.to_le_bytes());
    }
    if !form.plain.is_empty() {
        let count = u32::try_from(form.plain.len()).expect("ranges of a text of at most 4 GiB");
        out.extend_from_slice(&count.to_le_bytes());
    }
    for range in &form.plain {
        out.extend_from_slice(&range.start.to_le_bytes());
        out.extend_from_slice(&range.end.to_le_bytes());
    }
    put_spans(&mut out, form.spans.as_deref().unwrap_or_default());
    out
}

fn decode_form(bytes: &[u8]) -> Result<TextForm, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    expect_format(&mut cursor)?;
    let flags = cursor.u8()?;
    if flags & !(HAS_SPECIALS | IS_GIVEN | HAS_SPANS | HAS_PLAIN) != 0 {
        return Err(DecodeError::at(1, format!("unknown flags {flags}")));
    }
    let given = if flags & IS_GIVEN != 0 { Some(TokenizerId(cursor.u16()?)) } else { None };
    let plain = if flags & HAS_PLAIN != 0 { read_plain(&mut cursor)? } else { Vec::new() };
    let spans = if flags & HAS_SPANS != 0 { Some(read_spans(&mut cursor)?) } else { None };
    cursor.end()?;
    Ok(TextForm { specials: flags & HAS_SPECIALS != 0, given, plain, spans })
}

store_family! {
    /// What of a document is trained on. Written with its ids; read by epochs, `show` and check.
    Loss = "loss", Dense,
    TokensKey, "tokenizer u16, document u64"
    => {
        /// Trained tokens of a document.
        TokenLoss = "trained tokens", (tokenizer, document): (TokenizerId, DocId) [TokensKey { tokenizer, document }]
        if tokenizer != TEXT
        => Vec<LossSpan>, |_, bytes| decode_loss(bytes);
        /// How its text is encoded, and what of it is trained on.
        TextLoss = "trained text", document: DocId [TokensKey { tokenizer: TEXT, document }]
        => TextForm, |_, bytes| decode_form(bytes);
    }
    "format u8 = 1, then spans of trained ids: start u32, end u32, weight f32, LE; tokenizer 0xffff: how the text is encoded, see below"
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
        self.pinned().read::<TokenLoss, _>(&(tokenizer, document))
    }

    /// Whether any document encoded by `tokenizer` has tokens that are not plainly trained.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn has_loss(&self, tokenizer: TokenizerId) -> Result<bool, StoreError> {
        let key = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        Ok(self.pinned().scan_prefix::<Loss>(part(&key, ..2))?.advance()?.is_some())
    }

    /// The documents encoded by `tokenizer` that say which tokens are trained on, each with these, ascending by
    /// document.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn all_losses(
        &self,
        tokenizer: TokenizerId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Vec<LossSpan>), StoreError>>, StoreError> {
        let prefix = TokensKey { tokenizer, document: DocId(0) }.to_bytes();
        let rows = self.pinned().scan_prefix::<TokenLoss>(part(&prefix, ..2))?;
        Ok(rows.filter_map(|(_, document), spans| Some((document, spans))))
    }

    /// How a document's text is encoded and what of it is trained on; none: plain text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn text_form(&self, document: DocId) -> Result<Option<TextForm>, StoreError> {
        self.pinned().read::<TextLoss, _>(&document)
    }

    /// Documents that have a [`TextForm`], each with it, ascending by document.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn text_forms(
        &self,
    ) -> Result<impl Iterator<Item = Result<(DocId, TextForm), StoreError>>, StoreError> {
        let prefix = TokensKey { tokenizer: TEXT, document: DocId(0) }.to_bytes();
        let rows = self.pinned().scan_prefix::<TextLoss>(part(&prefix, ..2))?;
        Ok(rows.filter_map(|document, form| Some((document, form))))
    }

    /// Documents whose ids of `tokenizer` came with their records.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read.
    pub fn count_imported_ids(&self, tokenizer: TokenizerId) -> Result<u64, StoreError> {
        let key = TokensKey { tokenizer: TEXT, document: DocId(0) }.to_bytes();
        let mut rows = self.pinned().scan_prefix::<TextLoss>(part(&key, ..2))?;
        let mut documents = 0;
        while let Some((_, form)) = rows.next()? {
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

impl CommitBatch<'_> {
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
        let given = Some(TokenizerId(2));
        let mut form = TextForm { specials: true, given, plain: Vec::new(), spans: Some(spans) };
        let bytes = encode_form(&form);
        assert_eq!(bytes, [1, 7, 2, 0, 3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0x80, 0x3f]);
        assert_eq!(decode_form(&bytes), Ok(form.clone()));
        (form.given, form.plain) = (None, vec![1..2, 5..263]);
        let bytes = encode_form(&form);
        let plain = [2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 7, 1, 0, 0];
        assert_eq!(bytes[..2], [1, 13]);
        assert_eq!(bytes[2..22], plain);
        assert_eq!(bytes[22..], [3, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0x80, 0x3f]);
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
        assert!(decode_form(&[1, 16]).is_err() && decode_form(&[1, 0, 0]).is_err());
        assert!(decode_form(&[1, 8]).is_err() && decode_form(&[1, 8, 0, 0, 0, 0]).is_err());
        assert!(decode_form(&[1, 8, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_row(bytes: Vec<u8>) {
            if let Ok(spans) = decode_loss(&bytes) { prop_assert_eq!(encode_loss(&spans), bytes.clone()); }
            if let Ok(form) = decode_form(&bytes) { prop_assert_eq!(encode_form(&form), bytes); }
        }
    }
}
