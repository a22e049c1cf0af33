//! Texts of format 8: zstd frames, with a dictionary that was trained on the corpus's own first documents.

use crate::bytes::cursor::ByteCursor;
use crate::error::DecodeError;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use zstd::bulk::Decompressor;

const FORMAT: u8 = 1;

/// What zstd's dictionaries begin with.
const DICTIONARY_MAGIC: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// Reads the stored form of a dictionary: it is zstd's own.
pub(super) fn decode_dictionary(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    if bytes.starts_with(&DICTIONARY_MAGIC) {
        Ok(bytes)
    } else {
        Err(DecodeError::at(0, "not a zstd dictionary"))
    }
}

/// Decodes texts. Shared by threads: contexts are pooled by dictionary.
pub(super) struct TextDecoder {
    dictionaries: BTreeMap<u16, Vec<u8>>,
    pools: Mutex<BTreeMap<u16, Vec<Decompressor<'static>>>>,
}

impl TextDecoder {
    pub(super) const fn new(dictionaries: BTreeMap<u16, Vec<u8>>) -> Self {
        Self { dictionaries, pools: Mutex::new(BTreeMap::new()) }
    }

    /// The text in the stored form `bytes`.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<String, DecodeError> {
        let stored = StoredText::read(bytes)?;
        let number = stored.dictionary;
        let pools = || self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let pooled = pools().get_mut(&number).and_then(Vec::pop);
        let mut context = match pooled {
            Some(context) => context,
            None => {
                let dictionary = match number {
                    0 => &[],
                    _ => self.dictionaries.get(&number).map(Vec::as_slice).ok_or_else(|| {
                        DecodeError::at(1, format!("dictionary {number}, which is not stored"))
                    })?,
                };
                Decompressor::with_dictionary(dictionary)
                    .map_err(|error| DecodeError::at(1, error.to_string()))?
            }
        };
        let text = stored.inflate(&mut context);
        pools().entry(number).or_default().push(context);
        text
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

    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, DecodeError> {
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
