//! Which tokens of documents and rows are trained on, in the coordinates of effective sequences.

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::recipe::SpecialIds;
use model::{DocId, LossSpan, TokenizerId};

/// Reads the loss spans of one tokenizer.
#[derive(Clone)]
pub(in crate::epoch) struct LossReader {
    corpora: Corpora,
    tokenizer: TokenizerId,
    bos: bool,
    eos: bool,
    /// Whether parts of documents end with EOS where these go on.
    cut_eos: bool,
    /// Whether any document has spans: most corpora have none, and then nothing is read.
    any: bool,
}

impl LossReader {
    /// # Errors
    /// [`EpochError::Store`].
    pub fn of(
        corpora: &Corpora,
        tokenizer: TokenizerId,
        (specials, cut_eos): (SpecialIds, bool),
    ) -> Result<Self, EpochError> {
        Ok(Self {
            corpora: corpora.clone(),
            tokenizer,
            bos: specials.bos.is_some(),
            eos: specials.eos.is_some(),
            cut_eos,
            any: corpora.has_loss(tokenizer)?,
        })
    }

    /// With spans read or not.
    pub fn with_spans(self, any: bool) -> Self {
        Self { any, ..self }
    }

    /// The spans of the same documents by another tokenizer, which draws segmentations of this one.
    pub fn by(&self, tokenizer: TokenizerId) -> Self {
        Self { tokenizer, ..self.clone() }
    }

    /// Whether any document has spans.
    pub const fn any(&self) -> bool {
        self.any
    }

    /// The trained spans of a document of effective `length`, in its effective sequence; none: all of it.
    /// BOS is never trained where spans say what is; EOS is when the last stored token is.
    fn document(&self, document: DocId, length: u32) -> Result<Option<Vec<LossSpan>>, EpochError> {
        if !self.any {
            return Ok(None);
        }
        let Some(mut spans) = self.corpora.loss(self.tokenizer, document)? else { return Ok(None) };
        let bos = u32::from(self.bos);
        let stored_end = length - u32::from(self.eos);
        for span in &mut spans {
            span.start += bos;
            span.end += bos;
        }
        if let Some(last) = spans.last_mut().filter(|last| last.end == stored_end) {
            last.end = length;
        }
        Ok(Some(spans))
    }

    /// The trained spans of a segment of a row, counted from its first token; none: all of it. An EOS behind which the
    /// document goes on is trained as that of a document is: when the token before it is.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn segment(&self, segment: &Segment) -> Result<Option<Vec<LossSpan>>, EpochError> {
        let Some(spans) = self.document(segment.document, segment.document_length)? else {
            return Ok(None);
        };
        let added = u32::from(segment.adds_eos(self.cut_eos));
        let end = segment.end() - added;
        let clip = |span: LossSpan| LossSpan {
            start: span.start.clamp(segment.offset, end) - segment.offset,
            end: span.end.clamp(segment.offset, end) - segment.offset,
            ..span
        };
        let mut spans: Vec<LossSpan> =
            spans.into_iter().map(clip).filter(|span| span.start < span.end).collect();
        if let Some(last) = spans.last_mut().filter(|last| last.end + added == segment.length) {
            last.end = segment.length;
        }
        Ok(Some(spans))
    }

    /// The trained spans of a segment that begins at position `start` of a row; all of it where nothing
    /// else is known.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn spans_in_row(&self, segment: &Segment, start: u32) -> Result<Vec<LossSpan>, EpochError> {
        let whole = || vec![LossSpan { start: 0, end: segment.length, weight: 1.0 }];
        let spans = self.segment(segment)?.unwrap_or_else(whole);
        let moved =
            |span: LossSpan| LossSpan { start: span.start + start, end: span.end + start, ..span };
        Ok(spans.into_iter().map(moved).collect())
    }

    /// Trained tokens of a segment.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count(&self, segment: &Segment) -> Result<u64, EpochError> {
        Ok(match self.segment(segment)? {
            None => segment.length.into(),
            Some(spans) => spans.iter().map(|span| u64::from(span.end - span.start)).sum(),
        })
    }
}
