//! The tokens of a `tokenizer.json` and their ids, read without loading an encoder; the bytes that each id stands for.

use super::engine::reference::LibraryReference;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use tokenizers_fast::pre_tokenizers::byte_level::ByteLevel;

/// Tokens by spelling, and those added to the model's own.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tokenizer) struct Vocabulary {
    /// The model's own.
    ids: HashMap<Box<str>, u32>,
    /// By id: spelling, and whether it is special.
    added: Vec<(u32, Box<str>, bool)>,
}

#[derive(Deserialize)]
struct TokenizerFile {
    #[serde(default)]
    added_tokens: Vec<AddedTokenEntry>,
    model: ModelSection,
}

#[derive(Deserialize)]
struct AddedTokenEntry {
    content: String,
    #[serde(default)]
    special: bool,
}

#[derive(Deserialize)]
struct ModelSection {
    vocab: VocabularySection,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum VocabularySection {
    Ids(HashMap<Box<str>, u32>),
    /// Unigram: spelling and score, in order of id.
    Scores(Vec<(Box<str>, Value)>),
}

impl Vocabulary {
    /// As the reference implementation numbers them: the ids that the file gives to added tokens do
    /// not count; one that the model has not follows the model's last, in the order of the file.
    pub(in crate::tokenizer) fn read(json: &[u8]) -> Option<Self> {
        let file: TokenizerFile = serde_json::from_slice(json).ok()?;
        let ids: HashMap<Box<str>, u32> = match file.model.vocab {
            VocabularySection::Ids(ids) => ids,
            VocabularySection::Scores(scores) => {
                scores.into_iter().map(|(token, _)| token).zip(0u32..).collect()
            }
        };
        let mut next = u32::try_from(ids.len()).ok()?;
        let mut known: HashMap<&str, u32> = HashMap::new();
        let mut added: HashMap<u32, (Box<str>, bool)> = HashMap::new();
        for token in &file.added_tokens {
            let content = token.content.as_str();
            if content.is_empty() {
                continue;
            }
            let id = match known.get(content).or_else(|| ids.get(content)) {
                Some(id) => *id,
                None => {
                    next += 1;
                    next - 1
                }
            };
            known.insert(content, id);
            added.insert(id, (content.into(), token.special));
        }
        Some(Self { added: by_id(added.into_iter().map(|(id, (t, s))| (id, t, s))), ids })
    }

    /// What the oracle says itself.
    pub(in crate::tokenizer) fn of(oracle: &LibraryReference) -> Self {
        let added = oracle.added().map(|(id, token, special)| (id, token.into(), special));
        Self {
            added: by_id(added),
            ids: oracle.vocabulary().map(|(token, id)| (token.into(), id)).collect(),
        }
    }

    /// One more than the largest id; none of an empty vocabulary.
    pub(in crate::tokenizer) fn size(&self) -> Option<u32> {
        let ids = self.ids.values().chain(self.added.iter().map(|(id, ..)| id));
        ids.max().map(|largest| largest.saturating_add(1))
    }

    pub(in crate::tokenizer) fn id(&self, token: &str) -> Option<u32> {
        let added = self.added.iter().find(|(_, added, _)| **added == *token);
        added.map(|(id, ..)| *id).or_else(|| self.ids.get(token).copied())
    }

    /// The model's own tokens, in no particular order.
    pub(in crate::tokenizer) fn own(&self) -> impl Iterator<Item = (&str, u32)> {
        self.ids.iter().map(|(token, id)| (&**token, *id))
    }

    /// Added tokens, ascending by id: id, spelling, whether special.
    pub(in crate::tokenizer) fn added(&self) -> impl Iterator<Item = (u32, &str, bool)> {
        self.added.iter().map(|(id, token, special)| (*id, &**token, *special))
    }

    /// Special tokens as they are spelled, ascending by id.
    pub(in crate::tokenizer) fn specials(&self) -> impl Iterator<Item = (u32, &str)> {
        self.added().filter(|(.., special)| *special).map(|(id, token, _)| (id, token))
    }
}

fn by_id(added: impl Iterator<Item = (u32, Box<str>, bool)>) -> Vec<(u32, Box<str>, bool)> {
    let mut added: Vec<(u32, Box<str>, bool)> = added.collect();
    added.sort_unstable();
    added
}

/// Of each token the bytes of the text that it stands for, half-open.
pub type TokenOffsets = Vec<(u32, u32)>;

/// The character that stands for each byte in a byte-level vocabulary, by byte.
pub(in crate::tokenizer) fn byte_characters() -> [char; 256] {
    ByteLevel::alphabet()
}

/// Bytes by id; none where a token is not spelled in bytes.
pub(in crate::tokenizer) struct TokenBytes(Vec<Box<[u8]>>);

impl TokenBytes {
    pub(in crate::tokenizer) fn new(vocabulary: &Vocabulary) -> Self {
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
    pub(in crate::tokenizer) fn place(&self, text: &str, ids: &[u32]) -> Option<TokenOffsets> {
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
