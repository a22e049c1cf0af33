//! The tokens of a `tokenizer.json` and their ids, read without loading an encoder; the bytes that each id stands for.

use super::file::TokenizerFile;
use std::collections::HashMap;
use tokenizers_fast::pre_tokenizers::byte_level::ByteLevel;

/// Tokens by spelling, and those added to the model's own.
#[derive(Debug, PartialEq, Eq)]
pub struct Vocabulary {
    /// The model's own.
    ids: HashMap<Box<str>, u32>,
    /// By id: spelling, and whether it is special.
    added: Vec<(u32, Box<str>, bool)>,
    added_ids: HashMap<Box<str>, u32>,
}

impl Vocabulary {
    /// Numbers tokens as the reference implementation does: the ids that the file gives to added tokens do not count;
    /// an added token that the model lacks follows the model's last, in the order of the file.
    pub(crate) fn of_file(file: &TokenizerFile) -> Option<Self> {
        let own = file.vocabulary_entries().into_iter();
        let ids: HashMap<Box<str>, u32> = own
            .map(|(token, id)| Some((Box::from(token), u32::try_from(id).ok()?)))
            .collect::<Option<_>>()?;
        let mut next = u32::try_from(ids.len()).ok()?;
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut added: HashMap<u32, (Box<str>, bool)> = HashMap::new();
        for token in file.added_tokens().filter(|token| !token.content.is_empty()) {
            let content = token.content;
            let id = match known.get(content).or_else(|| ids.get(content)) {
                Some(id) => *id,
                None => {
                    next += 1;
                    next - 1
                }
            };
            known.insert(content, id);
            added.insert(id, (content.into(), token.is_special));
        }
        Some(Self::new(ids, added.into_iter().map(|(id, (token, special))| (id, token, special))))
    }

    /// The model's own tokens, and added ones with their ids and whether they are special.
    pub(crate) fn new(
        ids: HashMap<Box<str>, u32>,
        added: impl Iterator<Item = (u32, Box<str>, bool)>,
    ) -> Self {
        let mut added: Vec<(u32, Box<str>, bool)> = added.collect();
        added.sort_unstable();
        let added_ids = added.iter().map(|(id, token, _)| (token.clone(), *id)).collect();
        Self { ids, added, added_ids }
    }

    /// One more than the largest id; none of an empty vocabulary.
    pub(crate) fn size(&self) -> Option<u32> {
        self.all_ids().max().map(|largest| largest.saturating_add(1))
    }

    /// Every id, in no particular order; some may come twice.
    pub(crate) fn all_ids(&self) -> impl Iterator<Item = u32> {
        self.ids.values().copied().chain(self.added.iter().map(|(id, ..)| *id))
    }

    /// The id of a token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.added_ids.get(token).or_else(|| self.ids.get(token)).copied()
    }

    /// The model's own tokens, in no particular order.
    pub(crate) fn model_tokens(&self) -> impl Iterator<Item = (&str, u32)> {
        self.ids.iter().map(|(token, id)| (&**token, *id))
    }

    /// Added tokens, ascending by id: id, spelling, whether special.
    pub fn added(&self) -> impl Iterator<Item = (u32, &str, bool)> {
        self.added.iter().map(|(id, token, special)| (*id, &**token, *special))
    }

    /// Special tokens as they are spelled, ascending by id.
    pub(crate) fn specials(&self) -> impl Iterator<Item = (u32, &str)> {
        self.added().filter(|(.., special)| *special).map(|(id, token, _)| (id, token))
    }
}

/// Places for the ids of a vocabulary: the ids themselves, or where they are sparse their places in ascending order.
/// So what is kept by id takes memory by the number of tokens, however large an id is.
#[derive(Debug)]
pub(crate) struct IdPlaces {
    sparse: Option<Box<[u32]>>,
    count: usize,
}

impl IdPlaces {
    pub(crate) fn of(vocabulary: &Vocabulary) -> Self {
        let mut ids: Vec<u32> = vocabulary.all_ids().collect();
        ids.sort_unstable();
        ids.dedup();
        let size = ids.last().map_or(0, |largest| *largest as usize + 1);
        if size <= 2 * ids.len() + IDS_BEYOND {
            Self { sparse: None, count: size }
        } else {
            Self { count: ids.len(), sparse: Some(ids.into_boxed_slice()) }
        }
    }

    /// How many places there are.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// Whether the ids leave out so many numbers that a table by id would be mostly empty.
    pub(crate) const fn is_sparse(&self) -> bool {
        self.sparse.is_some()
    }

    /// The place of an id, if it has one.
    pub(crate) fn place(&self, id: u32) -> Option<usize> {
        match &self.sparse {
            Some(ids) => ids.binary_search(&id).ok(),
            None => Some(id as usize).filter(|place| *place < self.count),
        }
    }

    /// The ids by place, ascending.
    pub(crate) fn ids(&self) -> impl Iterator<Item = u32> {
        let dense = (0u32..).take(if self.is_sparse() { 0 } else { self.count });
        self.sparse.iter().flat_map(|ids| ids.iter().copied()).chain(dense)
    }
}

/// Ids beyond twice the number of tokens for which places are kept all the same.
const IDS_BEYOND: usize = 1 << 16;

/// For each token, the bytes of the text that it stands for, half-open.
pub type TokenOffsets = Vec<(u32, u32)>;

/// The character that stands for each byte in a byte-level vocabulary, by byte.
pub(crate) fn byte_characters() -> [char; 256] {
    ByteLevel::alphabet()
}

/// Bytes by id; none where a token is not spelled in bytes.
pub(crate) struct TokenBytes {
    places: IdPlaces,
    bytes: Vec<Box<[u8]>>,
}

impl TokenBytes {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let letters: HashMap<char, u8> = byte_characters().into_iter().zip(0..=u8::MAX).collect();
        let places = IdPlaces::of(vocabulary);
        let mut bytes: Vec<Box<[u8]>> = vec![Box::default(); places.count()];
        let mut set = |id: u32, spelled: Vec<u8>| {
            if let Some(slot) = places.place(id).and_then(|place| bytes.get_mut(place)) {
                *slot = spelled.into_boxed_slice();
            }
        };
        for (token, id) in vocabulary.model_tokens() {
            let spelled: Option<Vec<u8>> =
                token.chars().map(|letter| letters.get(&letter).copied()).collect();
            set(id, spelled.unwrap_or_default());
        }
        for (id, token, _) in vocabulary.added() {
            set(id, token.as_bytes().to_vec());
        }
        Self { places, bytes }
    }

    fn get(&self, id: u32) -> Option<&[u8]> {
        let bytes = self.bytes.get(self.places.place(id)?)?;
        Some(&**bytes).filter(|bytes| !bytes.is_empty())
    }

    /// Where each of `ids` stands in `text`, in whole characters, if their bytes are just the text.
    pub(crate) fn offsets_of(&self, text: &str, ids: &[u32]) -> Option<TokenOffsets> {
        let mut offsets = Vec::with_capacity(ids.len());
        let mut at = 0;
        for id in ids {
            let spelled = self.get(*id)?;
            let end = at + spelled.len();
            if text.as_bytes().get(at..end)? != spelled {
                return None;
            }
            let (start, ceil) = (text.floor_char_boundary(at), text.ceil_char_boundary(end));
            offsets.push((u32::try_from(start).ok()?, u32::try_from(ceil).ok()?));
            at = end;
        }
        (at == text.len()).then_some(offsets)
    }
}

#[cfg(test)]
#[path = "vocabulary_tests.rs"]
mod tests;
