//! Texts as zstd frames made by us, with a dictionary trained on the corpus's own first documents.

use crate::bytes::cursor::ByteCursor;
use crate::error::{DecodeError, StoreError};
use model::invariant::text_part;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use zstd::bulk::{Compressor, Decompressor};

const FORMAT: u8 = 1;
/// Past level 3 zstd spends twice the time for some 3 % less.
const LEVEL: i32 = 3;
/// What zstd's own tool takes.
const DICTIONARY_BYTES: usize = 110 << 10;
/// Fewer and the dictionary would memorise instead of generalise.
const TRAINING_MIN: usize = 1000;
const TRAINING_BYTES: usize = 8 << 20;
/// A dictionary helps texts of this size or less; longer ones learn their own words soon enough.
const DICTIONARY_MAX_TEXT: usize = 128 << 10;

/// Trains a dictionary on `samples`; none when they are too few or too alike for one.
pub(crate) fn train<'a>(samples: impl Iterator<Item = &'a str>) -> Option<Vec<u8>> {
    let mut taken = Vec::new();
    let mut bytes = 0;
    for sample in samples {
        // The head of a long text is enough, and lets more texts in.
        let head = text_part(sample, ..sample.floor_char_boundary(16 << 10));
        if head.len() < 8 {
            continue;
        }
        bytes += head.len();
        taken.push(head.as_bytes());
        if bytes >= TRAINING_BYTES {
            break;
        }
    }
    if taken.len() < TRAINING_MIN || bytes < DICTIONARY_BYTES * 8 {
        return None;
    }
    zstd::dict::from_samples(&taken, DICTIONARY_BYTES).ok()
}

/// What zstd's dictionaries begin with.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Reads the stored form of a dictionary: it is zstd's own.
pub(crate) fn decode_dictionary(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.starts_with(&DICTIONARY_MAGIC) {
        Ok(bytes)
    } else {
        Err(DecodeError::at(0, "not a zstd dictionary"))
    }
}

/// Encodes texts with the newest dictionary. Shared by threads: contexts are pooled.
pub struct TextEncoder {
    dictionary: Option<(u16, Vec<u8>)>,
    plain: Mutex<Vec<Compressor<'static>>>,
    trained: Mutex<Vec<Compressor<'static>>>,
}

impl TextEncoder {
    pub(crate) const fn new(dictionary: Option<(u16, Vec<u8>)>) -> Self {
        Self { dictionary, plain: Mutex::new(Vec::new()), trained: Mutex::new(Vec::new()) }
    }

    pub(crate) const fn has_dictionary(&self) -> bool {
        self.dictionary.is_some()
    }

    /// The stored form of `text`.
    ///
    /// # Errors
    /// [`StoreError::Encode`] for a text of 4 GiB or more.
    pub fn encode(&self, text: &str) -> Result<Vec<u8>, StoreError> {
        let failed = |why: String| StoreError::Encode { what: "text", why };
        let length = u32::try_from(text.len())
            .map_err(|_| failed(format!("{} bytes, over 4 GiB", text.len())))?;
        let trained = self.dictionary.as_ref().filter(|_| text.len() <= DICTIONARY_MAX_TEXT);
        let (id, dictionary, pool) = match trained {
            Some((id, dictionary)) => (*id, dictionary.as_slice(), &self.trained),
            None => (0, [].as_slice(), &self.plain),
        };
        let pooled = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut context = match pooled {
            Some(context) => context,
            None => {
                Compressor::with_dictionary(LEVEL, dictionary).map_err(|e| failed(e.to_string()))?
            }
        };
        let frame = context.compress(text.as_bytes()).map_err(|e| failed(e.to_string()))?;
        pool.lock().unwrap_or_else(PoisonError::into_inner).push(context);
        let mut out = Vec::with_capacity(frame.len() + 7);
        out.push(FORMAT);
        out.extend_from_slice(&id.to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&frame);
        Ok(out)
    }
}

/// Decodes texts. Shared by threads: contexts are pooled by dictionary.
#[derive(Default)]
pub(crate) struct TextDecoder {
    pools: Mutex<BTreeMap<u16, Vec<Decompressor<'static>>>>,
}

impl TextDecoder {
    /// The text in the stored form `bytes`; `load` reads a dictionary not met before.
    pub(crate) fn decode(
        &self,
        bytes: &[u8],
        load: impl FnOnce(u16) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Result<String, DecodeError>, StoreError> {
        let parts = match StoredText::read(bytes) {
            Ok(parts) => parts,
            Err(malformed) => return Ok(Err(malformed)),
        };
        let pooled = self
            .pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_mut(&parts.dictionary)
            .and_then(Vec::pop);
        let mut context = match pooled {
            Some(context) => context,
            None => {
                let dictionary =
                    if parts.dictionary == 0 { Vec::new() } else { load(parts.dictionary)? };
                Decompressor::with_dictionary(&dictionary)
                    .map_err(|error| StoreError::Encode { what: "text", why: error.to_string() })?
            }
        };
        let text = parts.inflate(&mut context);
        self.pools
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(parts.dictionary)
            .or_default()
            .push(context);
        Ok(text)
    }
}

/// The stored form of a text, not yet inflated.
pub struct StoredText<'a> {
    dictionary: u16,
    length: usize,
    frame: &'a [u8],
}

impl<'a> StoredText<'a> {
    const HEAD: usize = 7;

    /// The number of the dictionary that it is compressed with; 0: none.
    pub(crate) const fn dictionary(&self) -> u16 {
        self.dictionary
    }

    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT {
            return Err(DecodeError::at(0, format!("text format {format}, not {FORMAT}")));
        }
        let (dictionary, length) = (cursor.u16()?, cursor.u32()? as usize);
        let frame = cursor.rest();
        // A corrupt length must not ask for 4 GiB: no frame expands so far.
        if length > frame.len().saturating_mul(1 << 17).saturating_add(1 << 16) {
            return Err(DecodeError::at(
                3,
                format!("length {length} of a frame of {}", frame.len()),
            ));
        }
        Ok(Self { dictionary, length, frame })
    }

    fn inflate(&self, context: &mut Decompressor<'static>) -> Result<String, DecodeError> {
        let malformed = |why: String| DecodeError::at(Self::HEAD, why);
        let text =
            context.decompress(self.frame, self.length).map_err(|e| malformed(e.to_string()))?;
        if text.len() != self.length {
            return Err(DecodeError::at(
                3,
                format!("length {} but {} in the frame", self.length, text.len()),
            ));
        }
        String::from_utf8(text).map_err(|e| malformed(format!("text is not UTF-8: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8], dictionary: &[u8]) -> Result<String, DecodeError> {
        TextDecoder::default().decode(bytes, |_| Ok(dictionary.to_vec())).unwrap()
    }

    #[test]
    fn a_trained_dictionary_shrinks_small_texts() {
        let text = |n: usize| {
            format!("# command {n}\n\n> Shows the number {} of a page about directories and files.\n- Do it:\n`run --{n} {}`\n", n * 7, "x".repeat(n % 5)).repeat(3)
        };
        let samples: Vec<String> = (0..6000).map(text).collect();
        let dictionary = train(samples.iter().map(String::as_str)).unwrap();
        let (plain, trained) =
            (TextEncoder::new(None), TextEncoder::new(Some((3, dictionary.clone()))));
        let sample = text(123_457);
        let (with, without) = (trained.encode(&sample).unwrap(), plain.encode(&sample).unwrap());
        assert!(with.len() < without.len(), "{} {}", with.len(), without.len());
        assert_eq!(decode(&with, &dictionary), Ok(sample.clone()));
        assert_eq!(decode(&without, &[]), Ok(sample));
    }

    proptest! {
        #[test]
        fn texts_round_trip(text: String) {
            let stored = TextEncoder::new(None).encode(&text).unwrap();
            prop_assert_eq!(decode(&stored, &[]), Ok(text));
        }

        #[test]
        fn any_bytes_are_an_error_or_a_text(bytes: Vec<u8>) {
            let _ = decode(&bytes, &[]).map_err(|malformed| assert!(malformed.offset <= bytes.len()));
        }
    }
}
