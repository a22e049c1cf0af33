//! Encodes a text by SentencePiece's algorithm: its ids, and where their pieces stand in it.

use super::decoder::PieceDecoder;
use super::fail;
use super::normalizer::{NormalizedBytes, SentencePieceNormalizer, space_settings};
use super::pieces::PieceTable;
use super::proto::{SentencePieceKind, SentencePieceModel};
use super::segment::{PieceSpan, SegmentScratch, Segmenter};
use super::word_cache::WordCache;
use crate::TokenizerError;
use crate::models::PlacedIds;
use crate::models::trie::PieceTrie;
use model::invariant::{part, text_part};
use prost::Message as _;
use std::ops::Range;

/// A `.model`, ready to encode.
pub(crate) struct SentencePiece {
    normalizer: SentencePieceNormalizer,
    segmenter: Segmenter,
    unknown: u32,
    bytes: Option<Box<[u32; 256]>>,
    decoder: PieceDecoder,
}

/// What is kept from text to text.
#[derive(Default)]
pub(crate) struct SentencePieceScratch {
    normalized: NormalizedBytes,
    segment: SegmentScratch,
    words: WordCache,
    word: Vec<u32>,
}

/// Ids, and for each the bytes of the text that it stands for.
type EncodedPlaces = (Vec<u32>, Vec<(usize, usize)>);

impl SentencePiece {
    /// Reads the bytes of a `.model`.
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, TokenizerError> {
        let model = Self::read(bytes)?;
        Self::new(&model, &PieceTable::new(&model)?)
    }

    /// The messages of the bytes of a `.model`.
    pub(crate) fn read(bytes: &[u8]) -> Result<SentencePieceModel, TokenizerError> {
        SentencePieceModel::decode(bytes)
            .map_err(|error| fail(&format!("{error}; is it complete?")))
    }

    pub(crate) fn new(
        model: &SentencePieceModel,
        table: &PieceTable<'_>,
    ) -> Result<Self, TokenizerError> {
        let spec = model.normalizer.as_ref();
        let map = spec.and_then(|spec| spec.precompiled_charsmap.as_deref()).unwrap_or_default();
        let symbols = PieceTrie::new(table.of_kind(SentencePieceKind::UserDefined));
        Ok(Self {
            normalizer: SentencePieceNormalizer::new(map, symbols, space_settings(model))?,
            segmenter: Segmenter::new(table),
            unknown: table.unknown,
            bytes: table.bytes.clone(),
            decoder: PieceDecoder::new(model, table),
        })
    }

    /// Appends the ids of `text`; `out` is as it was when that fails.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`] for a text that SentencePiece refuses too.
    pub(crate) fn encode(
        &self,
        text: &str,
        scratch: &mut SentencePieceScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let start = out.len();
        scratch.normalized.places = None;
        let encoded = self.encode_normalized(text, scratch, out);
        encoded.map_err(|why| {
            out.truncate(start);
            refused(text, why)
        })
    }

    fn encode_normalized(
        &self,
        text: &str,
        scratch: &mut SentencePieceScratch,
        out: &mut Vec<u32>,
    ) -> Result<(), String> {
        let SentencePieceScratch { normalized, segment, words, word } = scratch;
        self.normalizer.normalize(text, normalized)?;
        let normalized = as_text(&normalized.bytes)?;
        let mut was_unknown = false;
        let mut append = |ids: &[u32]| {
            // A run of unknown characters is one id.
            let more = ids.split_first().filter(|(id, _)| was_unknown && **id == self.unknown);
            out.extend_from_slice(more.map_or(ids, |(_, rest)| rest));
            was_unknown = ids.last().map_or(was_unknown, |id| *id == self.unknown);
        };
        self.segmenter.parts(normalized, |part, is_word| {
            if is_word && let Some(ids) = words.get(part.as_bytes()) {
                return append(ids);
            }
            word.clear();
            let mut rest = part.as_bytes();
            self.segmenter.segment(part, segment, |piece| {
                let (bytes, after) = rest.split_at_checked(piece.length).unwrap_or((rest, &[]));
                rest = after;
                self.push_ids(piece, bytes, word);
            });
            if is_word {
                words.put(part.as_bytes(), word);
            }
            append(word);
        });
        Ok(())
    }

    /// The ids of one piece: bytes, where it is unknown and the model has them.
    fn push_ids(&self, piece: PieceSpan, bytes: &[u8], ids: &mut Vec<u32>) {
        match &self.bytes {
            Some(by_byte) if piece.id == self.unknown => {
                ids.extend(bytes.iter().filter_map(|byte| by_byte.get(usize::from(*byte))));
            }
            _ if piece.id == self.unknown && ids.last() == Some(&piece.id) => {}
            _ => ids.push(piece.id),
        }
    }

    /// Encodes like [`SentencePiece::encode`], with the bytes of the text that each id stands for; bytes of one
    /// character have all of it.
    pub(crate) fn encode_with_places(&self, text: &str) -> Result<EncodedPlaces, TokenizerError> {
        let mut normalized = NormalizedBytes { places: Some(Vec::new()), ..Default::default() };
        self.normalizer.normalize(text, &mut normalized).map_err(|why| refused(text, why))?;
        let places = normalized.places.take().unwrap_or_default();
        let (mut scratch, mut one) = (SegmentScratch::default(), Vec::new());
        let (mut ids, mut spans): EncodedPlaces = Default::default();
        let mut at = 0;
        let bytes = as_text(&normalized.bytes).map_err(|why| refused(text, why))?;
        self.segmenter.segment(bytes, &mut scratch, |piece| {
            let end = at + piece.length;
            let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
            let span = (place(at), place(end));
            one.clear();
            self.push_ids(piece, part(bytes.as_bytes(), at..end), &mut one);
            at = end;
            let is_run = one.first() == Some(&self.unknown) && ids.last() == Some(&self.unknown);
            match spans.last_mut().filter(|_| is_run) {
                Some(last) => last.1 = span.1,
                None => {
                    spans.extend(one.iter().map(|_| span));
                    ids.append(&mut one);
                }
            }
        });
        Ok((ids, spans))
    }
}

impl SentencePiece {
    /// The text as its pieces are found in it.
    pub(crate) fn normalized(&self, text: &str) -> Result<String, TokenizerError> {
        let mut normalized = NormalizedBytes::default();
        let made = self.normalizer.normalize(text, &mut normalized);
        let text_of = |()| String::from_utf8(normalized.bytes).map_err(|_| CUT.to_owned());
        made.and_then(text_of).map_err(|why| refused(text, why))
    }

    /// What cuts a normalised text.
    pub(crate) const fn segmenter(&self) -> &Segmenter {
        &self.segmenter
    }

    /// Calls `each` with the parts of a normalised text that are no user symbols of its best segmentation, and with
    /// these and their ids.
    pub(crate) fn around_symbols(&self, text: &str, mut each: impl FnMut(&str, Option<u32>)) {
        let (mut start, mut at) = (0, 0);
        self.segmenter.segment(text, &mut SegmentScratch::default(), |piece| {
            let end = at + piece.length;
            if self.segmenter.is_symbol(piece.id) {
                each(text_part(text, start..at), None);
                each(text_part(text, at..end), Some(piece.id));
                start = end;
            }
            at = end;
        });
        each(text_part(text, start..), None);
    }

    /// Appends the ids of a run of unknown characters.
    pub(crate) fn unknown_ids(&self, run: &str, ids: &mut Vec<u32>) {
        self.push_ids(PieceSpan { id: self.unknown, length: run.len() }, run.as_bytes(), ids);
    }

    /// The ids of a normalised text by a BPE whose joins are dropped as `is_dropped` says, each with its bytes.
    pub(crate) fn encode_dropout(
        &self,
        text: &str,
        mut is_dropped: impl FnMut() -> bool,
    ) -> PlacedIds {
        let (mut scratch, mut ids) = (SegmentScratch::default(), Vec::new());
        let (mut places, mut at): (Vec<Range<usize>>, usize) = Default::default();
        self.segmenter.parts(text, |part, _| {
            let mut rest = part.as_bytes();
            self.segmenter.join_dropout(part, &mut scratch, &mut is_dropped, |piece| {
                let (bytes, after) = rest.split_at_checked(piece.length).unwrap_or((rest, &[]));
                rest = after;
                self.push_ids(piece, bytes, &mut ids);
                let place = at..at + piece.length;
                at = place.end;
                if ids.len() > places.len() {
                    places.resize(ids.len(), place);
                } else if let Some(run) = places.last_mut() {
                    // A run of unknown characters is one id.
                    run.end = place.end;
                }
            });
        });
        ids.into_iter().zip(places).collect()
    }

    /// Encodes like [`SentencePiece::encode_with_places`], with the ids that `draw` has of the normalised text.
    pub(crate) fn draw_with_places(
        &self,
        text: &str,
        draw: &mut dyn FnMut(&str) -> Result<PlacedIds, TokenizerError>,
    ) -> Result<EncodedPlaces, TokenizerError> {
        let mut normalized = NormalizedBytes { places: Some(Vec::new()), ..Default::default() };
        self.normalizer.normalize(text, &mut normalized).map_err(|why| refused(text, why))?;
        let places = normalized.places.take().unwrap_or_default();
        let place = |at: usize| places.get(at).copied().unwrap_or(text.len());
        let drawn = draw(as_text(&normalized.bytes).map_err(|why| refused(text, why))?)?;
        Ok(drawn.into_iter().map(|(id, of)| (id, (place(of.start), place(of.end)))).unzip())
    }

    /// The text of ids, special tokens spelled out; ids that no piece has are skipped.
    pub(crate) fn decode(&self, ids: &[u32]) -> String {
        self.decoder.decode(ids)
    }
}

/// Why a normalised text is none.
const CUT: &str = "its map of characters cuts a character";

fn as_text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| CUT.to_owned())
}

fn refused(text: &str, why: String) -> TokenizerError {
    TokenizerError::Encode { bytes: text.len(), source: why.into() }
}
