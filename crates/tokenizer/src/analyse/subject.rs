//! A tokenizer made ready to be analysed: its model, and the bytes of text that each id stands for.

use crate::encode::Tokenizer;
use crate::engine::reference::LibraryReference;
use crate::engine::splitter::PretokenSplitter;
use crate::error::TokenizerError;
use crate::file::write::byte_of_token;
use crate::file::{ModelType, TokenizerFile};
use crate::train::TrainOptions;
use crate::vocabulary::{IdPlaces, byte_characters};
use serde_json::Value;
use std::collections::HashMap;
use tokenizers::models::ModelWrapper;

/// How a vocabulary spells text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VocabularySpelling {
    /// Each byte as a character, as GPT-2 does.
    Bytes,
    /// A space as `▁`, bytes as `<0x00>`, as SentencePiece does.
    Metaspace,
    /// What continues inside a word begins with `##`; spaces are not in the vocabulary.
    WordPiece,
    /// As it is.
    Plain,
}

/// What an id is, apart from what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VocabularyOrigin {
    Model,
    /// A byte token of SentencePiece.
    Byte,
    /// Added beside the model.
    Added,
    /// Added, and marked special.
    Special,
}

/// One id's token.
#[derive(Clone, Debug)]
pub(super) struct VocabularyToken {
    /// As the vocabulary has it.
    pub(super) spelled: String,
    /// The bytes of text that it stands for.
    pub(super) surface: Box<[u8]>,
    pub(super) origin: VocabularyOrigin,
}

impl VocabularyToken {
    /// Whether it was added beside the model, so that text is never encoded to it.
    pub(super) const fn is_added(&self) -> bool {
        matches!(self.origin, VocabularyOrigin::Added | VocabularyOrigin::Special)
    }

    /// The text that it stands for, unless it is part of a character.
    pub(super) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.surface).ok()
    }
}

/// A tokenizer made ready to be analysed. Shared by the threads that count.
pub struct AnalysedTokenizer<'t> {
    pub(super) tokenizer: &'t Tokenizer,
    pub(super) model: ModelWrapper,
    pub(super) splitter: PretokenSplitter,
    pub(super) spelling: VocabularySpelling,
    /// Where what is kept by id stands.
    places: IdPlaces,
    /// By place; ids without a token are holes.
    pub(super) tokens: Vec<Option<VocabularyToken>>,
    /// How a Unigram was trained, or why it cannot be trained so again; none: unknown.
    pub(super) training: Option<Result<TrainOptions, String>>,
}

impl<'t> AnalysedTokenizer<'t> {
    /// Makes `tokenizer` ready; `json` is the `tokenizer.json` that it was loaded from.
    ///
    /// # Errors
    /// [`TokenizerError::Load`] when the file is not one.
    pub fn new(tokenizer: &'t Tokenizer, json: &[u8]) -> Result<Self, TokenizerError> {
        let file = TokenizerFile::read(json)?;
        let model = LibraryReference::of_file(&file, json)?.model().clone();
        let spelling = VocabularySpelling::of(&file);
        let affixes = TokenAffixes::of(&model, spelling);
        let places = IdPlaces::of(tokenizer.vocabulary());
        let mut tokens = vec![None; places.count()];
        let mut set = |id: u32, token: VocabularyToken| {
            if let Some(slot) = places.place(id).and_then(|place| tokens.get_mut(place)) {
                *slot = Some(token);
            }
        };
        for (spelled, id) in tokenizer.vocabulary().model_tokens() {
            let (surface, origin) = affixes.surface(spelled);
            set(
                id,
                VocabularyToken { spelled: spelled.to_owned(), surface: surface.into(), origin },
            );
        }
        for (id, spelled, is_special) in tokenizer.vocabulary().added() {
            let origin =
                if is_special { VocabularyOrigin::Special } else { VocabularyOrigin::Added };
            let surface = spelled.as_bytes().into();
            set(id, VocabularyToken { spelled: spelled.to_owned(), surface, origin });
        }
        let splitter = PretokenSplitter::of(json)?;
        Ok(Self { tokenizer, model, splitter, spelling, places, tokens, training: None })
    }

    /// With what it was trained by, so that the smaller models of a Unigram's curve are trained likewise, or
    /// with the reason that they cannot be. Without, the trainer's defaults are taken.
    #[must_use]
    pub fn trained_by(self, training: Result<TrainOptions, String>) -> Self {
        Self { training: Some(training), ..self }
    }

    /// The kind of the model, as files name it: `BPE`, `WordPiece`, `Unigram` or `WordLevel`.
    #[must_use]
    pub const fn model_name(&self) -> &'static str {
        match &self.model {
            ModelWrapper::BPE(_) => "BPE",
            ModelWrapper::WordPiece(_) => "WordPiece",
            ModelWrapper::WordLevel(_) => "WordLevel",
            ModelWrapper::Unigram(_) => "Unigram",
        }
    }

    /// Whether smaller vocabularies of the model are known or can be trained, so that there is a curve.
    #[must_use]
    pub const fn has_curve(&self) -> bool {
        !matches!(self.model, ModelWrapper::WordLevel(_))
    }

    /// How many ids have a token.
    #[must_use]
    pub fn token_count(&self) -> u64 {
        self.tokens.iter().flatten().count() as u64
    }

    /// Where what is kept by id stands for this one.
    pub(super) fn place_of(&self, id: u32) -> Option<usize> {
        self.places.place(id)
    }

    /// How often an id came, by counts that stand by place.
    pub(super) fn uses_of(&self, uses: &[u64], id: u32) -> u64 {
        self.place_of(id).and_then(|place| uses.get(place)).copied().unwrap_or(0)
    }

    pub(super) fn token(&self, id: u32) -> Option<&VocabularyToken> {
        self.tokens.get(self.places.place(id)?)?.as_ref()
    }

    /// Tokens with their ids, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &VocabularyToken)> {
        self.places.ids().zip(&self.tokens).filter_map(|(id, token)| Some((id, token.as_ref()?)))
    }

    /// Where each of `ids` stands in `text`, in whole characters, when their bytes are the text; what
    /// the vocabulary does not spell (the space before the first word, spaces of WordPiece) is
    /// allowed for. `places` is overwritten.
    pub(super) fn place(
        &self,
        text: &str,
        ids: &[u32],
        places: &mut Vec<(usize, usize)>,
    ) -> Option<()> {
        places.clear();
        let bytes = text.as_bytes();
        let mut at = 0;
        let mut drops_space = self.spelling == VocabularySpelling::Metaspace && {
            let length = |id: &u32| self.token(*id).map_or(0, |token| token.surface.len());
            ids.iter().map(length).sum::<usize>() == bytes.len() + 1
        };
        for id in ids {
            let mut surface = &*self.token(*id)?.surface;
            if drops_space {
                surface = surface.strip_prefix(b" ")?;
                drops_space = false;
            }
            if self.spelling == VocabularySpelling::WordPiece {
                let rest = text.get(at..)?;
                at += rest.len() - rest.trim_start().len();
            }
            let end = at + surface.len();
            if bytes.get(at..end)? != surface {
                return None;
            }
            places.push((text.floor_char_boundary(at), text.ceil_char_boundary(end)));
            at = end;
        }
        let rest = text.get(at..)?;
        let is_told = rest.is_empty()
            || (self.spelling == VocabularySpelling::WordPiece && rest.trim_start().is_empty());
        is_told.then_some(())
    }
}

/// What is taken off a spelled token, and how the rest is read.
struct TokenAffixes {
    spelling: VocabularySpelling,
    bytes: HashMap<char, u8>,
    prefix: Option<String>,
    suffix: Option<String>,
}

impl TokenAffixes {
    fn of(model: &ModelWrapper, spelling: VocabularySpelling) -> Self {
        let (prefix, suffix) = match model {
            ModelWrapper::BPE(bpe) => {
                (bpe.continuing_subword_prefix.clone(), bpe.end_of_word_suffix.clone())
            }
            ModelWrapper::WordPiece(model) => (Some(model.continuing_subword_prefix.clone()), None),
            ModelWrapper::WordLevel(_) | ModelWrapper::Unigram(_) => (None, None),
        };
        let bytes = byte_characters().into_iter().zip(0..=u8::MAX).collect();
        let filled = |affix: Option<String>| affix.filter(|affix| !affix.is_empty());
        Self { spelling, bytes, prefix: filled(prefix), suffix: filled(suffix) }
    }

    fn surface(&self, spelled: &str) -> (Vec<u8>, VocabularyOrigin) {
        let as_it_is = || (spelled.as_bytes().to_vec(), VocabularyOrigin::Model);
        match self.spelling {
            VocabularySpelling::Bytes => {
                let bytes = spelled.chars().map(|letter| self.bytes.get(&letter).copied());
                bytes
                    .collect::<Option<Vec<u8>>>()
                    .map_or_else(as_it_is, |b| (b, VocabularyOrigin::Model))
            }
            VocabularySpelling::Metaspace => match byte_of_token(spelled) {
                Some(byte) => (vec![byte], VocabularyOrigin::Byte),
                None => (spelled.replace('▁', " ").into_bytes(), VocabularyOrigin::Model),
            },
            VocabularySpelling::WordPiece | VocabularySpelling::Plain => {
                let without = |rest: &str, affix: &Option<String>, end: bool| {
                    let cut = affix.as_deref().and_then(|affix| {
                        if end { rest.strip_suffix(affix) } else { rest.strip_prefix(affix) }
                    });
                    cut.unwrap_or(rest).to_owned()
                };
                let rest = without(spelled, &self.prefix, false);
                (without(&rest, &self.suffix, true).into_bytes(), VocabularyOrigin::Model)
            }
        }
    }
}

impl VocabularySpelling {
    fn of(file: &TokenizerFile) -> Self {
        if file.model_type() == Ok(ModelType::WordPiece) {
            return Self::WordPiece;
        }
        let part = |name: &str| file.json().get(name).map_or(String::new(), Value::to_string);
        let (decoder, before) = (part("decoder"), part("pre_tokenizer"));
        let names = |name: &str| decoder.contains(name) || before.contains(name);
        if names("\"ByteLevel\"") || part("normalizer").contains("\"ByteLevel\"") {
            Self::Bytes
        } else if names("\"Metaspace\"") || names("\"ByteFallback\"") || decoder.contains('▁') {
            Self::Metaspace
        } else {
            Self::Plain
        }
    }
}
