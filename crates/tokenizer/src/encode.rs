//! A loaded tokenizer and its encoder: the fast engine where it is proven, the reference otherwise.

use super::convert::{TokenizerInput, convert, is_sentencepiece, original_model};
use super::engine::ReferenceEncoder;
use super::engine::cuts::{ChunkCutter, PART};
use super::engine::hostile_texts::hostile_texts;
use super::engine::pipeline::{DeclineReason, PipelineEngine, PipelineScratch};
use super::engine::proof;
use super::engine::reference::{DrawWord, EncodedWithOffsets, LibraryReference, SpecialPlace};
use super::error::TokenizerError;
use super::file::TokenizerFile;
use super::file::unigram::unigram_variants;
use super::models::PlacedIds;
use super::sentencepiece::{SentencePiece, SentencePieceScratch};
use super::vocabulary::{IdPlaces, TokenBytes, TokenOffsets, Vocabulary};
use super::{FAST, REFERENCE, SENTENCEPIECE};
use aho_corasick::{AhoCorasick, Match, MatchKind};
use model::invariant::text_part;
use model::{Error, ErrorKind, Hint, is_zero, overlaps_any};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Which encoder gives the ids: the reference of the tokenizer's file, or one that gives the same at another speed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncoderBackend {
    /// SentencePiece's algorithm, the reference of a `.model`, at some 20 MB/s.
    SentencePiece,
    /// The fast engine, which passed the proof.
    Fast,
    /// The reference encoder, at some 4 MB/s.
    Oracle {
        /// Why the fast one is not used.
        reason: String,
    },
}

impl EncoderBackend {
    /// The word used in reports.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SentencePiece => "sentencepiece",
            Self::Fast => "fast",
            Self::Oracle { .. } => "oracle",
        }
    }
}

/// Why a file is read by the reference alone; stored in its verdict.
const NOT_NUMBERED: &str = "its tokens cannot be numbered without the oracle";

/// The tokens of a stored file with the ids that its encoder gives. `verdict` is stored with it; nothing is proven.
pub fn stored_vocabulary(json: &[u8], verdict: &str) -> Result<Vocabulary, TokenizerError> {
    let of_file = Vocabulary::of_file(&TokenizerFile::read_tokens(json)?);
    match of_file.filter(|_| !verdict.contains(NOT_NUMBERED)) {
        Some(vocabulary) => Ok(vocabulary),
        None => Ok(LibraryReference::load(json)?.vocabulary()),
    }
}

/// The fast engine keeps arrays by id, which ids far above the number of tokens would fill.
fn fits_fast(vocabulary: &Vocabulary) -> Result<(), String> {
    if !IdPlaces::of(vocabulary).is_sparse() {
        return Ok(());
    }
    let largest = vocabulary.size().unwrap_or_default().saturating_sub(1);
    let count = vocabulary.all_ids().count();
    Err(format!(
        "its largest id is {largest} of only {count} tokens, too sparse for the fast encoder"
    ))
}

/// A loaded tokenizer. Text is only text: special tokens spelled in it are not recognised, and
/// neither beginning nor end marks are added.
pub struct Tokenizer {
    // What a tokenizer shares with those that draw segmentations of it.
    pub(crate) json: Arc<[u8]>,
    pub(crate) reference: Arc<ReferenceEncoder>,
    /// Built when first asked, if the fast encoder is proven already.
    chosen: OnceLock<ChosenEncoder>,
    vocabulary: Arc<Vocabulary>,
    vocab_size: u32,
    /// Whether this process compared the fast engine with the reference.
    is_proven_here: bool,
    spellings: OnceLock<TokenBytes>,
    /// Finds special tokens that a text spells; none if it cannot be built, which is an error then.
    finder: OnceLock<Option<AhoCorasick>>,
    /// Whether the fast encoder gives the oracle's ids where special tokens are special.
    is_fast_with_specials: OnceLock<bool>,
    /// Where long texts are cut; looked at when the first one comes.
    cuts: OnceLock<Option<ChunkCutter>>,
    /// Draws the segmentation of each text, where that is not the best one.
    draws: Option<TextDraws>,
}

/// Gives for a text what draws the segmentations of its words.
pub(crate) type TextDraws = Box<
    dyn for<'t> Fn(&'t Tokenizer, &str) -> Result<Option<WordDraws<'t>>, TokenizerError>
        + Send
        + Sync,
>;
/// Draws the segmentations of words, one after the other.
pub(crate) type WordDraws<'t> = Box<dyn FnMut(&str) -> Result<PlacedIds, TokenizerError> + 't>;

/// Which encoder gives the ids.
struct ChosenEncoder {
    fast: Option<PipelineEngine>,
    backend: EncoderBackend,
}

impl ChosenEncoder {
    fn of(fast: Result<PipelineEngine, String>) -> Self {
        match fast {
            Ok(fast) => Self { fast: Some(fast), backend: EncoderBackend::Fast },
            Err(reason) => Self { fast: None, backend: EncoderBackend::Oracle { reason } },
        }
    }

    /// The fast engine of a file that was proven before, if it can be built here.
    fn proven(json: &[u8], vocabulary: &Vocabulary) -> Self {
        if let Err(why) = fits_fast(vocabulary) {
            return Self::of(Err(why));
        }
        let fast = TokenizerFile::read(json)
            .and_then(|file| Ok((unigram_variants(&file, json)?, file)))
            .map_err(|error| error.to_string())
            .and_then(|(variants, file)| {
                load_engine(variants.map_or(file, |variants| variants.fast))
            });
        Self::of(fast)
    }
}

fn load_engine(file: TokenizerFile) -> Result<PipelineEngine, String> {
    PipelineEngine::load(file)
        .map_err(|why| format!("the fast encoder cannot load the file: {why}"))
}

impl Tokenizer {
    /// Loads the bytes of a `tokenizer.json` and compares the fast engine with the reference on
    /// built-in hostile strings and on `sample` (its first 2 MB): about a second. On any difference
    /// the reference is used, and [`Tokenizer::backend`] says why. Of a SentencePiece `.model` the ids are
    /// SentencePiece's, and nothing is compared.
    ///
    /// # Errors
    /// [`TokenizerError::Load`] when the reference cannot read the file, [`TokenizerError::IdTooLarge`] for ids of
    /// 2^31 and more, [`TokenizerError::Dropout`] when it asks for random ids, [`TokenizerError::EmptyVocabulary`]
    /// when it has no token, [`TokenizerError::SentencePiece`] for a model that SentencePiece refuses.
    pub fn load(bytes: &[u8], sample: &[&str]) -> Result<Self, TokenizerError> {
        if is_sentencepiece(bytes) {
            let json = convert(TokenizerInput::SentencePiece(bytes))?.json;
            return Self::load_sentencepiece(&json, bytes);
        }
        let json = bytes;
        let file = TokenizerFile::read(json)?;
        let variants = unigram_variants(&file, json)?;
        let reference = LibraryReference::load_variants(json, variants.as_ref())?;
        let vocabulary = reference.vocabulary();
        let is_numbered_alike = Vocabulary::of_file(&file).as_ref() == Some(&vocabulary);
        let prove = || {
            if !is_numbered_alike {
                return Err(NOT_NUMBERED.to_owned());
            }
            fits_fast(&vocabulary)?;
            let fast = load_engine(variants.map_or(file, |variants| variants.fast))?;
            proof::prove(&fast, &reference, &vocabulary, sample).map(|()| fast)
        };
        let chosen = ChosenEncoder::of(prove());
        let loaded =
            Self::of(json, ReferenceEncoder::library(reference), Some(chosen), vocabulary)?;
        Ok(Self { is_proven_here: true, ..loaded })
    }

    /// Loads a SentencePiece model with the `tokenizer.json` that was made of it.
    #[doc(hidden)]
    pub fn load_sentencepiece(json: &[u8], model: &[u8]) -> Result<Self, TokenizerError> {
        let model = SentencePiece::load(model)?;
        let vocabulary = Vocabulary::of_file(&TokenizerFile::read_tokens(json)?);
        let vocabulary = vocabulary.ok_or(TokenizerError::EmptyVocabulary)?;
        let chosen = ChosenEncoder { fast: None, backend: EncoderBackend::SentencePiece };
        let reference = ReferenceEncoder::SentencePiece(Box::new(model));
        Self::of(json, reference, Some(chosen), vocabulary)
    }

    /// Loads a file that [`Tokenizer::load`] was given before, by its verdict then: `fast` is whether
    /// the fast engine was proven. Nothing is compared, and either encoder is built when it is needed.
    ///
    /// # Errors
    /// As [`Tokenizer::load`].
    pub fn load_proven(json: &[u8], fast: bool) -> Result<Self, TokenizerError> {
        let refused = match Vocabulary::of_file(&TokenizerFile::read_tokens(json)?) {
            Some(vocabulary) if fast => {
                return Self::of(json, ReferenceEncoder::unloaded(), None, vocabulary);
            }
            None if fast => NOT_NUMBERED,
            _ => "the fast encoder was not proven when the tokenizer was added",
        };
        let reference = LibraryReference::load(json)?;
        let vocabulary = reference.vocabulary();
        let chosen = ChosenEncoder::of(Err(refused.to_owned()));
        Self::of(json, ReferenceEncoder::library(reference), Some(chosen), vocabulary)
    }

    fn of(
        json: &[u8],
        reference: ReferenceEncoder,
        chosen: Option<ChosenEncoder>,
        vocabulary: Vocabulary,
    ) -> Result<Self, TokenizerError> {
        let vocab_size = vocabulary.size().ok_or(TokenizerError::EmptyVocabulary)?;
        Ok(Self {
            json: json.into(),
            reference: Arc::new(reference),
            chosen: chosen.map(OnceLock::from).unwrap_or_default(),
            vocabulary: Arc::new(vocabulary),
            vocab_size,
            is_proven_here: false,
            spellings: OnceLock::new(),
            finder: OnceLock::new(),
            is_fast_with_specials: OnceLock::new(),
            cuts: OnceLock::new(),
            draws: None,
        })
    }

    /// One that draws the segmentations of texts, of the same file.
    pub(crate) fn with_draws(&self, draws: TextDraws) -> Self {
        Self {
            json: Arc::clone(&self.json),
            reference: Arc::clone(&self.reference),
            chosen: OnceLock::new(),
            vocabulary: Arc::clone(&self.vocabulary),
            vocab_size: self.vocab_size,
            is_proven_here: false,
            spellings: OnceLock::new(),
            finder: OnceLock::new(),
            is_fast_with_specials: OnceLock::new(),
            cuts: OnceLock::new(),
            draws: Some(draws),
        }
    }

    /// Builds the encoder now that the first text would wait for.
    pub fn build_encoder(&self) {
        if self.draws.is_none() {
            self.chosen();
        }
    }

    fn chosen(&self) -> &ChosenEncoder {
        if let Some(chosen) = self.chosen.get() {
            return chosen;
        }
        // Not within the lock: threads of a pool that waited for it could keep what builds there from ending.
        let built = ChosenEncoder::proven(&self.json, &self.vocabulary);
        self.chosen.get_or_init(|| built)
    }

    #[cfg(test)]
    pub(crate) fn with_reference_only(self) -> Self {
        let chosen = ChosenEncoder::of(Err("a test wants the oracle".to_owned()));
        Self { chosen: OnceLock::from(chosen), ..self }
    }

    /// Whose ids are right, with its version.
    #[must_use]
    pub fn reference(&self) -> &'static str {
        match &*self.reference {
            ReferenceEncoder::Library(_) => REFERENCE,
            ReferenceEncoder::SentencePiece(_) => SENTENCEPIECE,
        }
    }

    pub(crate) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// An encoder with scratch space of its own; one per thread.
    #[must_use]
    pub fn encoder(&self) -> Encoder<'_> {
        Encoder {
            tokenizer: self,
            scratch: PipelineScratch::default(),
            pieces: SentencePieceScratch::default(),
            engines: EngineTexts::default(),
            declined: None,
        }
    }

    /// Fails when it has no ids for some of the texts that encoders are proven on: then documents would be
    /// stored without ids of it.
    ///
    /// # Errors
    /// [`TokenizerError`] that shows the first such text.
    pub fn prove_complete(&self) -> Result<(), TokenizerError> {
        let (mut encoder, mut ids) = (self.encoder(), Vec::new());
        for text in hostile_texts() {
            ids.clear();
            let Err(error) = encoder.encode(&text, &mut ids) else { continue };
            let why = error.refusal().ok_or(error)?;
            let message = format!(
                "the tokenizer cannot encode every text: it refuses {} ({why}); it needs an unknown token in its vocabulary, all bytes, or another split pattern",
                proof::excerpt(&text)
            );
            return Err(Error::of(ErrorKind::BadTokenizer, message).into());
        }
        Ok(())
    }

    /// Fails when the file gives an added token another id than encoders do, so that trainers that go by the file
    /// would count otherwise.
    ///
    /// # Errors
    /// [`TokenizerError`] that names the first such token.
    #[doc(hidden)]
    pub fn prove_added_ids(&self) -> Result<(), TokenizerError> {
        let file = TokenizerFile::read_tokens(&self.json)?;
        for token in file.added_tokens().filter(|token| !token.content.is_empty()) {
            let Some(id) = token.id else { continue };
            let given = self.token_to_id(token.content);
            if given.map(u64::from) != Some(id) {
                let given = given.map_or_else(|| "none".to_owned(), |id| id.to_string());
                let message = format!(
                    "the file gives `{}` the id {id}, but encoders give it {given}",
                    token.content
                );
                let hint = Hint::text(
                    "encoders number added tokens that the vocabulary lacks from its size on, in the order of the file: \
                     write these ids into the file, or the tokens into the vocabulary",
                );
                return Err(Error::of(ErrorKind::BadTokenizer, message).with_hint(hint).into());
            }
        }
        Ok(())
    }

    /// What is to be stored of the engine, if this process compared it with the reference.
    #[doc(hidden)]
    pub fn new_verdict(&self) -> Option<String> {
        self.is_proven_here.then(|| self.backend().verdict())
    }

    /// Which encoder gives the ids.
    #[must_use]
    pub fn backend(&self) -> &EncoderBackend {
        &self.chosen().backend
    }

    /// One more than the largest id, added tokens included.
    #[must_use]
    pub fn vocab_size(&self) -> u32 {
        self.vocab_size
    }

    /// The id of a token spelled as in the vocabulary, special tokens included.
    #[must_use]
    pub fn token_to_id(&self, token: &str) -> Option<u32> {
        self.vocabulary.id(token)
    }

    /// Special tokens as they are spelled, ascending by id.
    #[must_use]
    pub fn specials(&self) -> Vec<(u32, String)> {
        self.vocabulary.specials().map(|(id, token)| (id, token.to_owned())).collect()
    }

    /// Whether some special tokens are searched for in the text as the normaliser makes it: then other spellings become
    /// them too, as in capitals or wide letters.
    #[must_use]
    pub fn normalises_specials(&self) -> bool {
        let Ok(file) = TokenizerFile::read_tokens(&self.json) else { return true };
        let is_normalised = |json: &serde_json::Value| json.get("normalized") == Some(&true.into());
        file.added_tokens().any(|token| token.is_special && is_normalised(token.json))
    }

    /// Calls `each` with every special token that `text` spells, from its start, the longest where
    /// several begin: its place in [`Tokenizer::specials`], and its bytes. They stay text when encoded;
    /// this is for telling that they are there.
    ///
    /// # Errors
    /// [`TokenizerError`] when they are too many to look for.
    pub fn specials_in(
        &self,
        text: &str,
        mut each: impl FnMut(usize, Range<usize>),
    ) -> Result<(), TokenizerError> {
        for found in self.special_finder()?.find_iter(text) {
            each(found.pattern().as_usize(), found.range());
        }
        Ok(())
    }

    fn special_finder(&self) -> Result<&AhoCorasick, TokenizerError> {
        let finder = self.finder.get_or_init(|| {
            let specials = self.vocabulary.specials().map(|(_, token)| token);
            AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(specials).ok()
        });
        finder.as_ref().ok_or_else(|| {
            let message =
                "the tokenizer has more special tokens than can be searched for in a text";
            Error::of(ErrorKind::BadTokenizer, message).into()
        })
    }

    /// The ids of `text`, and for each the bytes of the text that it stands for, as half-open ranges
    /// of whole characters that never step back; tokens that share a character share its range.
    /// With `specials`, special tokens spelled in the text are special tokens. At the speed of the fast
    /// encoder when the bytes of its ids, one behind the other, are the text; else at the oracle's.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`] or [`TokenizerError::Panicked`].
    pub fn encode_with_offsets(
        &self,
        text: &str,
        specials: bool,
    ) -> Result<(Vec<u32>, TokenOffsets), TokenizerError> {
        match self.offsets_by_fast_engine(text, specials) {
            Some(encoded) => Ok(encoded),
            None => self.reference_offsets(text, specials),
        }
    }

    fn reference_offsets(
        &self,
        text: &str,
        specials: bool,
    ) -> Result<(Vec<u32>, TokenOffsets), TokenizerError> {
        let mut drawn = self.word_draws(text)?;
        let draw = drawn.as_deref_mut().map(|draw| draw as DrawWord<'_>);
        let (ids, places) = match &*self.reference {
            ReferenceEncoder::Library(library) => {
                library_of(library, &self.json)?.encode_placed(text, specials, draw)?
            }
            ReferenceEncoder::SentencePiece(model) => {
                let places = if specials { self.places_of_specials(text)? } else { Vec::new() };
                encode_around(model, text, &places, draw)?
            }
        };
        Ok((ids, whole_characters(text, places)?))
    }

    fn word_draws(&self, text: &str) -> Result<Option<WordDraws<'_>>, TokenizerError> {
        self.draws.as_ref().map_or(Ok(None), |draws| draws(self, text))
    }

    /// The special tokens that a text spells: their ids and their bytes.
    pub(crate) fn places_of_specials(
        &self,
        text: &str,
    ) -> Result<Vec<SpecialPlace>, TokenizerError> {
        let specials = self.specials();
        let found = self.special_finder()?.find_iter(text);
        let place = |(found, (id, _)): (Match, &(u32, String))| (*id, found.range());
        let known =
            found.filter_map(|found| Some((found, specials.get(found.pattern().as_usize())?)));
        Ok(known.map(place).collect())
    }

    /// The ids of `text` and their bytes, where special tokens spelled in it are special tokens, but not those that
    /// hold a byte of `plain` (ascending): these are text. None where there are no such ones.
    fn encode_beside_plain(
        &self,
        text: &str,
        plain: &[Range<u32>],
    ) -> Result<Option<(Vec<u32>, TokenOffsets)>, TokenizerError> {
        let mut specials = match &*self.reference {
            ReferenceEncoder::Library(library) => {
                library_of(library, &self.json)?.places_of_specials(text)?
            }
            ReferenceEncoder::SentencePiece(_) => self.places_of_specials(text)?,
        };
        let all = specials.len();
        specials.retain(|(_, place)| !overlaps_any(plain, place));
        if specials.len() == all {
            return Ok(None);
        }
        let mut drawn = self.word_draws(text)?;
        let draw = drawn.as_deref_mut().map(|draw| draw as DrawWord<'_>);
        let (ids, places) = match &*self.reference {
            ReferenceEncoder::Library(library) => {
                library_of(library, &self.json)?.encode_around(text, &specials, draw)?
            }
            ReferenceEncoder::SentencePiece(model) => encode_around(model, text, &specials, draw)?,
        };
        Ok(Some((ids, whole_characters(text, places)?)))
    }

    /// By the fast encoder, if it is to be trusted and its ids spell the text byte for byte.
    pub(crate) fn offsets_by_fast_engine(
        &self,
        text: &str,
        specials: bool,
    ) -> Option<(Vec<u32>, TokenOffsets)> {
        if self.draws.is_some() {
            return None;
        }
        let fast = self.chosen().fast.as_ref()?;
        let (mut ids, mut scratch) =
            (Vec::with_capacity(text.len() / 3 + 1), PipelineScratch::default());
        if specials {
            let is_proven = self.is_fast_with_specials.get_or_init(|| {
                let ReferenceEncoder::Library(library) = &*self.reference else { return false };
                library_of(library, &self.json).is_ok_and(|reference| {
                    proof::prove_with_specials(fast, reference, &self.vocabulary).is_ok()
                })
            });
            is_proven.then_some(())?;
            fast.encode_special(text, &mut scratch, &mut ids).ok()?;
        } else {
            fast.encode(text, &mut scratch, &mut ids).ok()?;
        }
        let spellings = self.spellings.get_or_init(|| TokenBytes::new(&self.vocabulary));
        let offsets = spellings.offsets_of(text, &ids)?;
        Some((ids, offsets))
    }

    /// For each token of plain `text`, the byte where it ends; that of a token which splits a
    /// character is the character's end.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_with_offsets`].
    pub fn ends(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        let (_, offsets) = self.encode_with_offsets(text, false)?;
        Ok(offsets.into_iter().map(|(_, end)| end).collect())
    }

    /// The text of `ids`, special tokens spelled out. Ids that cut a character give U+FFFD.
    ///
    /// # Errors
    /// [`TokenizerError::Decode`] when the decoder refuses; unknown ids are skipped.
    pub fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        match &*self.reference {
            ReferenceEncoder::Library(library) => library_of(library, &self.json)?.decode(ids),
            ReferenceEncoder::SentencePiece(model) => Ok(model.decode(ids)),
        }
    }
}

/// Ranges of whole characters that never step back: a normaliser may drop or reorder characters.
fn whole_characters(
    text: &str,
    places: Vec<(usize, usize)>,
) -> Result<TokenOffsets, TokenizerError> {
    let too_long = |_| TokenizerError::TooLong { bytes: text.len() };
    let (mut offsets, mut start, mut end) = (Vec::with_capacity(places.len()), 0, 0);
    for (from, to) in places {
        start = text.floor_char_boundary(from).max(start);
        end = text.ceil_char_boundary(to).max(start).max(end);
        offsets
            .push((u32::try_from(start).map_err(too_long)?, u32::try_from(end).map_err(too_long)?));
    }
    Ok(offsets)
}

/// Special tokens in these places, and what stands between them: each part is a text of its own.
fn encode_around(
    model: &SentencePiece,
    text: &str,
    specials: &[SpecialPlace],
    mut draw: Option<DrawWord<'_>>,
) -> Result<EncodedWithOffsets, TokenizerError> {
    let (mut ids, mut places) = EncodedWithOffsets::default();
    let mut start = 0;
    let end = (None, text.len()..text.len());
    let specials = specials.iter().map(|(id, place)| (Some(*id), place.clone()));
    for (special, place) in specials.chain([end]) {
        let part = text_part(text, start..place.start);
        let (part_ids, part_places) = match &mut draw {
            Some(draw) => model.draw_with_places(part, draw)?,
            None => model.encode_with_places(part)?,
        };
        ids.extend(part_ids.into_iter().chain(special));
        places.extend(part_places.into_iter().map(|(a, b)| (start + a, start + b)));
        places.extend(special.map(|_| (place.start, place.end)));
        start = place.end;
    }
    Ok((ids, places))
}

/// The library over a file, loaded when first asked.
pub(crate) fn library_of<'l>(
    library: &'l OnceLock<Box<LibraryReference>>,
    json: &[u8],
) -> Result<&'l LibraryReference, TokenizerError> {
    if let Some(library) = library.get() {
        return Ok(library);
    }
    let loaded = LibraryReference::load(json)?;
    Ok(library.get_or_init(|| Box::new(loaded)))
}

/// How many texts each engine encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct EngineTexts {
    /// By the fast engine.
    pub fast: u64,
    /// By SentencePiece's algorithm, the reference of a `.model`.
    #[serde(skip_serializing_if = "is_zero")]
    pub sentencepiece: u64,
    /// By the reference encoder of a `tokenizer.json`, which is some forty times slower.
    pub reference: u64,
    /// Of these, those that the fast engine declined although it is proven, by the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub declined: BTreeMap<String, u64>,
}

impl EngineTexts {
    /// Counts those of `other` too.
    pub fn add(&mut self, other: Self) {
        self.fast += other.fast;
        self.sentencepiece += other.sentencepiece;
        self.reference += other.reference;
        for (reason, texts) in other.declined {
            *self.declined.entry(reason).or_default() += texts;
        }
    }
}

/// Encodes texts one after the other, reusing its buffers.
pub struct Encoder<'a> {
    tokenizer: &'a Tokenizer,
    scratch: PipelineScratch,
    pieces: SentencePieceScratch,
    /// Since they were last taken.
    engines: EngineTexts,
    /// Why the fast engine declined a part of the text that is encoded now.
    declined: Option<DeclineReason>,
}

impl<'a> Encoder<'a> {
    /// Appends the ids of `text` to `out`. What the fast encoder refuses goes to the oracle. A text of more than
    /// 256 KiB is encoded in parts where it can be cut without a trace in its ids: then it takes no memory beside
    /// them.
    ///
    /// # Errors
    /// [`TokenizerError::Encode`] or [`TokenizerError::Panicked`] when the oracle fails too; `out`
    /// is then as it was.
    pub fn encode(&mut self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        self.declined = None;
        if self.tokenizer.draws.is_some() {
            out.append(&mut self.tokenizer.reference_offsets(text, false)?.0);
            self.count_reference(None);
            return Ok(());
        }
        self.encode_in_parts(text, PART, out)?;
        match self.declined.take() {
            None if self.tokenizer.chosen().fast.is_some() => self.engines.fast += 1,
            declined => self.count_reference(declined),
        }
        Ok(())
    }

    /// Encodes as [`Tokenizer::encode_with_offsets`] does, and counts the text for its engine.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_with_offsets`].
    pub fn encode_with_offsets(
        &mut self,
        text: &str,
        specials: bool,
    ) -> Result<(Vec<u32>, TokenOffsets), TokenizerError> {
        if let Some(encoded) = self.tokenizer.offsets_by_fast_engine(text, specials) {
            self.engines.fast += 1;
            return Ok(encoded);
        }
        let encoded = self.tokenizer.reference_offsets(text, specials)?;
        let is_fast = self.tokenizer.draws.is_none() && self.tokenizer.chosen().fast.is_some();
        self.count_reference(is_fast.then_some(DeclineReason::Offsets));
        Ok(encoded)
    }

    /// Encodes as [`Encoder::encode_with_offsets`] does with special tokens, but those that hold a byte of `plain`
    /// (ranges of bytes of the text, ascending) are text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_with_offsets`].
    pub fn encode_beside_plain(
        &mut self,
        text: &str,
        plain: &[Range<u32>],
    ) -> Result<(Vec<u32>, TokenOffsets), TokenizerError> {
        match self.tokenizer.encode_beside_plain(text, plain)? {
            Some(encoded) => {
                self.count_reference(None);
                Ok(encoded)
            }
            None => self.encode_with_offsets(text, true),
        }
    }

    fn count_reference(&mut self, declined: Option<DeclineReason>) {
        match &*self.tokenizer.reference {
            ReferenceEncoder::Library(_) => self.engines.reference += 1,
            ReferenceEncoder::SentencePiece(_) => self.engines.sentencepiece += 1,
        }
        if let Some(reason) = declined {
            *self.engines.declined.entry(reason.to_string()).or_default() += 1;
        }
    }

    /// How many texts each engine encoded since this was last asked.
    pub fn take_engine_texts(&mut self) -> EngineTexts {
        std::mem::take(&mut self.engines)
    }

    pub(crate) fn encode_in_parts(
        &mut self,
        text: &str,
        part: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        // SentencePiece's memory does not grow with what it keeps of a text beside the ids.
        if let ReferenceEncoder::SentencePiece(_) = &*self.tokenizer.reference {
            return self.encode_whole(text, out);
        }
        let start = out.len();
        let mut rest = text;
        while rest.len() > part
            && let Some(cuts) = self.cuts()
            && let Some((first, second)) = cuts.split_after(rest, part)
        {
            self.encode_whole(first, out).inspect_err(|_| out.truncate(start))?;
            rest = second;
        }
        self.encode_whole(rest, out).inspect_err(|_| out.truncate(start))
    }

    pub(crate) fn cuts(&self) -> Option<&'a ChunkCutter> {
        let tokenizer = self.tokenizer;
        let cuts = tokenizer.cuts.get_or_init(|| {
            let mut encoder = tokenizer.encoder();
            ChunkCutter::of(&tokenizer.json, |text, out| encoder.encode_whole(text, out))
        });
        cuts.as_ref()
    }

    fn encode_whole(&mut self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        if let Some(fast) = &self.tokenizer.chosen().fast {
            match fast.encode(text, &mut self.scratch, out) {
                Ok(()) => return Ok(()),
                Err(reason) => self.declined = Some(reason),
            }
        }
        match &*self.tokenizer.reference {
            ReferenceEncoder::Library(library) => {
                library_of(library, &self.tokenizer.json)?.encode(text, out)
            }
            ReferenceEncoder::SentencePiece(model) => model.encode(text, &mut self.pieces, out),
        }
    }
}

/// The word for the reference encoder, as [`EncoderBackend::name`] has it.
const ORACLE: &str = "oracle";

impl EncoderBackend {
    /// The encoder in words, with its library or with the reason that there is none: what is stored.
    #[doc(hidden)]
    pub fn verdict(&self) -> String {
        match self {
            Self::SentencePiece => self.name().to_owned(),
            Self::Fast => format!("{}, {FAST}", self.name()),
            Self::Oracle { reason } => format!("{} ({reason}), {NOT}{FAST}", self.name()),
        }
    }
}

/// Before the fast library that a verdict for the reference is of. Verdicts of earlier releases do not name it.
const NOT: &str = "not ";

impl Tokenizer {
    /// Loads a file by the verdict that is stored with it, and the reference library that the verdict is of. By
    /// another pair of libraries nothing is proven yet: then it is proven here. A reader goes by a verdict for the
    /// reference whatever release it is of; with `is_writer` the fast engine of this release is tried.
    #[doc(hidden)]
    pub fn load_stored(
        json: &[u8],
        (verdict, reference): (&str, &str),
        is_writer: bool,
    ) -> Result<Self, TokenizerError> {
        let is_declined = verdict.starts_with(&format!("{ORACLE} ("))
            && (!is_writer || verdict.ends_with(&format!(", {NOT}{FAST}")));
        let is_proven =
            reference == REFERENCE && (is_declined || verdict == EncoderBackend::Fast.verdict());
        if is_proven {
            Self::load_proven(json, !verdict.starts_with(ORACLE))
        } else {
            Self::load(json, &[])
        }
    }
}

/// Whether a stored reference is SentencePiece: then the tokenizer is loaded from its `.model`.
pub fn is_sentencepiece_reference(reference: &str) -> bool {
    reference.split(' ').next() == SENTENCEPIECE.split(' ').next()
}

/// A tokenizer to be registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenizerRegistration<'a> {
    /// The name under which it is registered.
    pub name: &'a str,
    /// The bytes of its `tokenizer.json`.
    pub json: &'a [u8],
    /// Where it came from, in words.
    pub lineage: &'a str,
    /// The files it was made of, by name, where they were not this `tokenizer.json`.
    pub originals: &'a [(String, Vec<u8>)],
    /// How it was trained or extended, as JSON.
    pub decisions: Option<&'a [u8]>,
    /// The registered tokenizer that it extends: documents without a new token take over its ids.
    pub base: Option<&'a str>,
}

impl<'a> TokenizerRegistration<'a> {
    /// The SentencePiece model whose ids are right: the one that `json` was made of.
    #[doc(hidden)]
    pub fn model(&self) -> Result<Option<&'a [u8]>, TokenizerError> {
        let Some(model) = original_model(self.originals) else { return Ok(None) };
        let converted = convert(TokenizerInput::SentencePiece(model))?;
        Ok((converted.json == self.json).then_some(model))
    }
}

/// One token of a shown text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct TokenPiece {
    /// The id of the token.
    pub id: u32,
    /// The text that it stands for; of tokens that share a character, the first has it.
    pub text: String,
}

/// The tokens of `text`, with where they stand. With `specials`, special tokens spelled in it are special
/// tokens.
///
/// # Errors
/// As [`Tokenizer::encode_with_offsets`].
pub(crate) fn token_pieces(
    tokenizer: &Tokenizer,
    text: &str,
    specials: bool,
) -> Result<(Vec<TokenPiece>, TokenOffsets), TokenizerError> {
    let (ids, offsets) = tokenizer.encode_with_offsets(text, specials)?;
    let mut told = 0;
    let pieces = ids.into_iter().zip(&offsets).map(|(id, (start, end))| {
        let piece = text.get((*start).max(told) as usize..*end as usize).unwrap_or_default();
        told = told.max(*end);
        TokenPiece { id, text: piece.to_owned() }
    });
    Ok((pieces.collect(), offsets))
}
