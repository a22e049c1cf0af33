//! The bytes that each id of a byte-level vocabulary stands for: one behind the other, they are the text.

use super::vocabulary::Vocabulary;
use std::collections::HashMap;
use tokenizers_fast::pre_tokenizers::byte_level::ByteLevel;

/// Of each token the bytes of the text that it stands for, half-open.
pub type TokenOffsets = Vec<(u32, u32)>;

/// The character that stands for each byte in a byte-level vocabulary, by byte.
pub(in crate::tokenizer) fn byte_characters() -> [char; 256] {
    ByteLevel::alphabet()
}

/// Bytes by id; none where a token is not spelled in bytes.
pub(super) struct TokenBytes(Vec<Box<[u8]>>);

impl TokenBytes {
    pub(super) fn new(vocabulary: &Vocabulary) -> Self {
        let bytes: HashMap<char, u8> = byte_characters().into_iter().zip(0..=u8::MAX).collect();
        let mut spellings: Vec<Box<[u8]>> = Vec::new();
        let mut set = |id: u32, spelled: Vec<u8>| {
            let at = id as usize;
            if spellings.len() <= at {
                spellings.resize_with(at + 1, Box::default);
            }
            if let Some(slot) = spellings.get_mut(at) {
                *slot = spelled.into_boxed_slice();
            }
        };
        for (token, id) in vocabulary.own() {
            let spelled: Option<Vec<u8>> =
                token.chars().map(|letter| bytes.get(&letter).copied()).collect();
            set(id, spelled.unwrap_or_default());
        }
        for (id, token, _) in vocabulary.added() {
            set(id, token.as_bytes().to_vec());
        }
        Self(spellings)
    }

    /// Where each of `ids` stands in `text`, in whole characters, if their bytes are just the text.
    pub(super) fn place(&self, text: &str, ids: &[u32]) -> Option<TokenOffsets> {
        let mut offsets = Vec::with_capacity(ids.len());
        let mut at = 0;
        for id in ids {
            let spelled = self.0.get(*id as usize).filter(|spelled| !spelled.is_empty())?;
            let end = at + spelled.len();
            if text.as_bytes().get(at..end)? != &**spelled {
                return None;
            }
            let (start, ceil) = (text.floor_char_boundary(at), text.ceil_char_boundary(end));
            offsets.push((u32::try_from(start).ok()?, u32::try_from(ceil).ok()?));
            at = end;
        }
        (at == text.len()).then_some(offsets)
    }
}
