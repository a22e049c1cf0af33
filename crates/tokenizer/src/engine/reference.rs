//! The reference encoder, whose ids are right by definition: tokenizers 0.23, set so that text is only text.
//!
//! The library knows special tokens everywhere or nowhere. Where a record says which are special, and others are text,
//! the special ones are put behind signs of their own, added to a twin that takes special tokens for text, with the
//! token's own rules for space and normaliser. The form of a text names bytes, not tokens, so a tokenizer that comes
//! later obeys it too.

use super::segment_model::{SegmentModel, model_ids};
use crate::error::{ENCODING, TokenizerError, guard};
use crate::file::TokenizerFile;
use crate::file::unigram::{self, UnigramVariants};
use crate::models::PlacedIds;
use crate::vocabulary::Vocabulary;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::OnceLock;
use tokenizers::models::ModelWrapper;
use tokenizers::{
    AddedToken, Encoding, NormalizedString, Normalizer as _, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer as _, Token,
};

/// A tokenizer of the reference implementation, set so that text is only text: special tokens
/// inside it are not recognised, nothing is added, cut or padded.
pub(crate) struct LibraryReference {
    /// Where text could spell special tokens, they have other names in it.
    plain: tokenizers::Tokenizer,
    /// The tokenizer of the file itself, where `plain` is not that.
    whole: Option<tokenizers::Tokenizer>,
    /// The id that a Unigram has for what it does not know.
    unknown: Option<u32>,
    /// Twins that tell positions, made when first asked: of plain text, and of text with special tokens.
    placing: [OnceLock<tokenizers::Tokenizer>; 2],
    /// The twin of plain text with a stand-in of each special token, made when first asked.
    standing: OnceLock<StandIns>,
    /// What other segmentations than the best need, made when first asked.
    segments: OnceLock<SegmentModel>,
}

/// Finds special tokens behind signs of their own only: what spells them is text.
struct StandIns {
    library: tokenizers::Tokenizer,
    /// For each special token its stand-in, and the stand-in's id in the twin.
    signs: BTreeMap<u32, (String, u32)>,
}

/// A special token in a text: its id and its bytes.
pub(crate) type SpecialPlace = (u32, Range<usize>);

/// Before the number of a special token in its stand-in: a noncharacter. The number is a character for private use.
const STAND_IN: char = '\u{fdd5}';
const FIRST_STAND_IN: u32 = 0xf_0000;

/// Gives the ids of a word as the model sees it.
pub(crate) type DrawWord<'d> = &'d mut dyn FnMut(&str) -> Result<PlacedIds, TokenizerError>;

/// Ids, and for each the bytes of the text that it stands for.
pub(crate) type EncodedWithOffsets = (Vec<u32>, Vec<(usize, usize)>);

impl LibraryReference {
    /// Loads the encoder of a `tokenizer.json`.
    pub(crate) fn load(bytes: &[u8]) -> Result<Self, TokenizerError> {
        Self::of_file(&TokenizerFile::read(bytes)?, bytes)
    }

    /// Loads the encoder of a file that is parsed already; `bytes` are those of `file`.
    pub(crate) fn of_file(file: &TokenizerFile, bytes: &[u8]) -> Result<Self, TokenizerError> {
        Self::load_variants(bytes, unigram::unigram_variants(file, bytes)?.as_ref())
    }

    /// `variants`: what [`unigram::unigram_variants`] made of the file.
    pub(crate) fn load_variants(
        bytes: &[u8],
        variants: Option<&UnigramVariants>,
    ) -> Result<Self, TokenizerError> {
        let (plain, whole) = match variants {
            Some(variants) => (read(&variants.plain)?, Some(read(&variants.whole)?)),
            None => (read(bytes)?, None),
        };
        if let ModelWrapper::BPE(bpe) = plain.get_model()
            && let Some(dropout) = bpe.dropout
        {
            return Err(TokenizerError::Dropout(dropout));
        }
        let unknown = variants.and_then(|variants| variants.unknown);
        Ok(Self { unknown, ..Self::of_libraries(plain, whole) })
    }

    fn of_libraries(plain: tokenizers::Tokenizer, whole: Option<tokenizers::Tokenizer>) -> Self {
        let (placing, standing, segments) = Default::default();
        Self { plain, whole, unknown: None, placing, standing, segments }
    }

    /// To split texts: what the model of the file is does not matter.
    pub(crate) fn load_splits(bytes: &[u8]) -> Result<Self, TokenizerError> {
        Ok(Self::of_libraries(read(bytes)?, None))
    }

    /// The tokenizer of the file itself.
    fn whole(&self) -> &tokenizers::Tokenizer {
        self.whole.as_ref().unwrap_or(&self.plain)
    }

    /// The model, with its vocabulary as in the file.
    pub(crate) fn model(&self) -> &ModelWrapper {
        self.whole().get_model()
    }

    /// Appends the ids of plain text.
    pub(crate) fn encode(&self, text: &str, out: &mut Vec<u32>) -> Result<(), TokenizerError> {
        let encoding = guard(ENCODING, || self.plain.encode_fast(text, false))?
            .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        out.extend_from_slice(encoding.get_ids());
        Ok(())
    }

    /// The ids of a text and the place of each; `specials`: special tokens in the text are recognised. `draw` gives the
    /// ids of each word in place of the model.
    pub(crate) fn encode_placed(
        &self,
        text: &str,
        specials: bool,
        draw: Option<DrawWord<'_>>,
    ) -> Result<EncodedWithOffsets, TokenizerError> {
        let encoding = encode(self.twin(specials), text, draw)?;
        Ok((encoding.get_ids().to_vec(), encoding.get_offsets().to_vec()))
    }

    /// The twin of plain text, or of text with special tokens.
    fn twin(&self, specials: bool) -> &tokenizers::Tokenizer {
        let [plain, special] = &self.placing;
        let twin = if specials { special } else { plain };
        twin.get_or_init(|| {
            let mut twin = if specials { self.whole().clone() } else { self.plain.clone() };
            twin.set_encode_special_tokens(!specials);
            // A post-processor adds nothing here, and some trim the space off positions.
            twin.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
            twin
        })
    }

    /// The special tokens that are found in a text.
    pub(crate) fn places_of_specials(
        &self,
        text: &str,
    ) -> Result<Vec<SpecialPlace>, TokenizerError> {
        let added = self.whole().get_added_tokens_decoder();
        let (ids, places) = self.encode_placed(text, true, None)?;
        let mut found = Vec::new();
        for (id, (start, end)) in ids.into_iter().zip(places) {
            let Some(special) = added.get(&id).filter(|token| token.special) else { continue };
            // The model has the id of `<unk>` for what it does not know.
            let spelled = text.get(start..end).unwrap_or_default();
            if spelled.trim() == special.content
                || special.normalized && self.normal(spelled)? == self.normal(&special.content)?
            {
                found.push((id, start..end));
            }
        }
        Ok(found)
    }

    /// The ids of a text and the place of each, where these special tokens are special, and others are text.
    pub(crate) fn encode_around(
        &self,
        text: &str,
        specials: &[SpecialPlace],
        draw: Option<DrawWord<'_>>,
    ) -> Result<EncodedWithOffsets, TokenizerError> {
        let refused =
            |why: String| TokenizerError::Encode { bytes: text.len(), source: why.into() };
        let stand_ins = match self.standing.get() {
            Some(stand_ins) => stand_ins,
            None => {
                let made = self.stand_ins()?;
                self.standing.get_or_init(|| made)
            }
        };
        if text.contains(STAND_IN) {
            return Err(refused(format!(
                "beside special tokens that are text it holds {STAND_IN:?}, which stands for the others here"
            )));
        }
        // Each part of the text that is copied: where it begins here, and there.
        let (mut here, mut parts, mut start) = (String::new(), Vec::new(), 0);
        for (id, place) in specials {
            parts.push((here.len(), start));
            // The places are the library's: a special token may take the space that the next one begins with.
            here += text.get(start..place.start).unwrap_or_default();
            here += stand_ins.signs.get(id).map_or("", |(sign, _)| sign);
            start = place.end;
        }
        parts.push((here.len(), start));
        here += text.get(start..).unwrap_or_default();
        let encoding = encode(&stand_ins.library, &here, draw)?;
        let there = |at: usize| {
            let part = parts.partition_point(|(begin, _)| *begin <= at).saturating_sub(1);
            parts.get(part).map_or(at, |(begin, start)| start + (at - begin))
        };
        let (mut ids, mut places) = EncodedWithOffsets::default();
        let mut left = specials.iter();
        let mut next = left.next();
        for (id, (from, to)) in encoding.get_ids().iter().zip(encoding.get_offsets()) {
            let sign = next.and_then(|(special, _)| stand_ins.signs.get(special));
            if let Some((special, place)) =
                next.filter(|_| sign.is_some_and(|(_, sign)| sign == id))
            {
                ids.push(*special);
                places.push((place.start, place.end));
                next = left.next();
            } else {
                ids.push(*id);
                places.push((there(*from), there(*to)));
            }
        }
        if next.is_some() {
            return Err(refused(
                "the normaliser leaves out what stands for special tokens beside those that are text"
                    .to_owned(),
            ));
        }
        Ok((ids, places))
    }

    /// A text as the normaliser makes it, without space around it.
    fn normal(&self, text: &str) -> Result<String, TokenizerError> {
        let mut normal = NormalizedString::from(text);
        if let Some(normalizer) = self.whole().get_normalizer() {
            guard(ENCODING, || normalizer.normalize(&mut normal))?
                .map_err(|source| TokenizerError::Encode { bytes: text.len(), source })?;
        }
        Ok(normal.get().trim().to_owned())
    }

    fn stand_ins(&self) -> Result<StandIns, TokenizerError> {
        let mut library = self.plain.clone();
        library.set_encode_special_tokens(true);
        library.with_post_processor(None::<tokenizers::PostProcessorWrapper>);
        let added: BTreeMap<u32, AddedToken> =
            self.whole().get_added_tokens_decoder().into_iter().collect();
        let specials = added.into_iter().filter(|(_, token)| token.special);
        let numbers = (FIRST_STAND_IN..).filter_map(char::from_u32);
        let named: Vec<(u32, AddedToken)> = specials
            .zip(numbers)
            // Found although special tokens are text; what it does with space and words beside it is the token's.
            .map(|((id, token), number)| {
                let content = format!("{STAND_IN}{number}");
                (id, AddedToken { content, special: false, ..token })
            })
            .collect();
        guard("loading", || library.add_tokens(named.iter().map(|(_, token)| token.clone())))?
            .map_err(TokenizerError::Load)?;
        let sign = |(id, token): (u32, AddedToken)| {
            let own = library.token_to_id(&token.content)?;
            Some((id, (token.content, own)))
        };
        let signs = named.into_iter().filter_map(sign).collect();
        Ok(StandIns { library, signs })
    }

    /// Calls `each` with the pre-tokens of a text, as the model sees them, in order, and with the added tokens among
    /// them, which go past the model, with their ids. `specials`: special tokens in the text are recognised.
    pub(crate) fn pretokens(
        &self,
        text: &str,
        specials: bool,
        mut each: impl FnMut(&str, Option<u32>),
    ) -> Result<(), TokenizerError> {
        let library = if specials { self.twin(true) } else { &self.plain };
        let split = guard("splitting", || split(library, text))?
            .map_err(|source| TokenizerError::Split { bytes: text.len(), source })?;
        for (word, _, tokens) in split.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match tokens {
                Some(tokens) => {
                    tokens.iter().for_each(|token| each(&token.value, Some(token.id)));
                }
                None if word.is_empty() => {}
                None => each(word, None),
            }
        }
        Ok(())
    }

    /// The model, made ready to give other segmentations of words than the best.
    pub(crate) fn segments(&self) -> Result<&SegmentModel, TokenizerError> {
        if let Some(model) = self.segments.get() {
            return Ok(model);
        }
        let made = SegmentModel::of(self.plain.get_model(), self.unknown)?;
        Ok(self.segments.get_or_init(|| made))
    }

    /// The ids that the model gives for one pre-token, spelled as the model sees it.
    pub(crate) fn encode_pretoken(&self, pretoken: &str) -> Result<Vec<u32>, TokenizerError> {
        model_ids(self.plain.get_model(), pretoken)
    }

    /// The model's own tokens with their ids, in no particular order.
    pub(crate) fn model_tokens(&self) -> impl Iterator<Item = (String, u32)> {
        self.whole().get_vocab(false).into_iter()
    }

    /// All tokens, as it numbers them.
    pub(crate) fn vocabulary(&self) -> Vocabulary {
        let ids = self.model_tokens().map(|(token, id)| (token.into(), id)).collect();
        let added = self.added().map(|(id, token, special)| (id, token.into(), special));
        Vocabulary::new(ids, added)
    }

    /// Added tokens as they are spelled, in no particular order: id, spelling, whether special.
    pub(crate) fn added(&self) -> impl Iterator<Item = (u32, String, bool)> {
        let added = self.whole().get_added_tokens_decoder();
        added.into_iter().map(|(id, token)| (id, token.content, token.special))
    }

    pub(crate) fn decode(&self, ids: &[u32]) -> Result<String, TokenizerError> {
        guard("decoding", || self.whole().decode(ids, false))?
            .map_err(|source| TokenizerError::Decode { ids: ids.len(), source })
    }

    /// The tokenizer with these texts as added tokens, to try them out.
    pub(crate) fn with_added(&self, texts: &[String]) -> Result<Self, TokenizerError> {
        let token = |text: &String| AddedToken::from(text.as_str(), false).normalized(false);
        let add = |library: &tokenizers::Tokenizer| {
            let mut library = library.clone();
            guard("loading", || library.add_tokens(texts.iter().map(token)))?
                .map_err(TokenizerError::Load)?;
            Ok::<_, TokenizerError>(library)
        };
        let whole = self.whole.as_ref().map(add).transpose()?;
        Ok(Self { unknown: self.unknown, ..Self::of_libraries(add(&self.plain)?, whole) })
    }
}

/// The pre-tokens of a text, and the added tokens among them.
fn split(library: &tokenizers::Tokenizer, text: &str) -> tokenizers::Result<PreTokenizedString> {
    let added = library.get_added_vocabulary();
    let mut split = added.extract_and_normalize(library.get_normalizer(), text);
    if let Some(pre_tokenizer) = library.get_pre_tokenizer() {
        pre_tokenizer.pre_tokenize(&mut split)?;
    }
    Ok(split)
}

/// Encodes a text; `draw` gives the ids of each word in place of the model.
fn encode(
    library: &tokenizers::Tokenizer,
    text: &str,
    draw: Option<DrawWord<'_>>,
) -> Result<Encoding, TokenizerError> {
    let encoded = guard(ENCODING, || {
        let Some(draw) = draw else { return library.encode(text, false) };
        let (mut split, draw) = (split(library, text)?, RefCell::new(draw));
        split.tokenize(|word| {
            let drawn = match word.get() {
                "" => Vec::new(),
                word => draw.borrow_mut()(word)?,
            };
            let token =
                |(id, of): (u32, Range<usize>)| Token::new(id, String::new(), (of.start, of.end));
            Ok(drawn.into_iter().map(token).collect())
        })?;
        split.into_encoding(None, 0, OffsetType::Byte)
    })?;
    encoded.map_err(|source| TokenizerError::Encode { bytes: text.len(), source })
}

fn read(bytes: &[u8]) -> Result<tokenizers::Tokenizer, TokenizerError> {
    let mut tokenizer = guard("loading", || tokenizers::Tokenizer::from_bytes(bytes))?
        .map_err(TokenizerError::Load)?;
    tokenizer.with_truncation(None).map_err(TokenizerError::Load)?;
    tokenizer.with_padding(None);
    tokenizer.set_encode_special_tokens(true);
    Ok(tokenizer)
}
