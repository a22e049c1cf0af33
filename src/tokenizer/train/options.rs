//! What is asked of a training, and whether it can be had.

use super::super::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of model that is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Byte-pair encoding: on bytes, or on characters with `byte_fallback`.
    #[default]
    Bpe,
    /// BERT's: words are split greedily, `##` before what continues one.
    WordPiece,
    /// The likeliest segmentation under a unigram language model.
    Unigram,
}

/// How numbers are split before the model sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Digits {
    /// Every digit by itself.
    Single,
    /// Groups of up to three, from the left.
    #[serde(rename = "groups-of-3")]
    GroupsOf3,
    /// As the split pattern has it.
    #[default]
    Keep,
}

/// The Unicode normal form that texts are brought to first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Normalizer {
    /// Canonical composition.
    Nfc,
    /// Compatibility composition: loses distinctions such as that of `ﬁ` and `fi`.
    Nfkc,
    /// Texts are taken as they are.
    #[default]
    None,
}

/// What is asked of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TrainOptions {
    /// The kind of model.
    pub model: ModelKind,
    /// Tokens to end with, all counted: special and reserved ones, bytes, characters. A small corpus
    /// may give fewer.
    pub vocab_size: u32,
    /// For BPE: characters, not bytes, are the symbols, spaces are `▁`, and a character out of the
    /// vocabulary falls back to its bytes, as SentencePiece has it. For Unigram: the fall-back.
    pub byte_fallback: bool,
    /// For BPE: characters are the symbols, the last one of a word has `</w>` behind it, and a word is what stands
    /// between white space, as in the first BPE for text (Sennrich et al. 2016) and in GPT-1.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end_of_word: bool,
    /// How numbers are split.
    pub digits: Digits,
    /// Unused special tokens `<|reserved_0|>`, `<|reserved_1|>`, .. after the special ones.
    pub reserve: u32,
    /// Special tokens, given the first ids in this order. WordPiece needs `[UNK]`, the models with
    /// `▁` need `<unk>`: put first unless named here.
    pub specials: Vec<String>,
    /// What splits texts, for byte-level BPE alone; GPT-2's if not given.
    pub pattern: Option<Pattern>,
    /// The normal form.
    pub normalizer: Normalizer,
    /// Share of the characters of the corpus that the vocabulary must have as tokens; the rarest
    /// beyond are left out. 0.9995 if not given. Byte-level BPE has them all as bytes.
    pub character_coverage: Option<f64>,
    /// The least count of a pair that becomes a token (BPE, WordPiece), after weighting.
    pub min_frequency: u64,
    /// The trainer's bound on the symbols of a token: bytes for byte-level BPE, else characters. Of
    /// BPE and WordPiece every token beyond the first merges is shorter; a Unigram's is at most as
    /// long, and 16 if not given.
    pub max_token_length: Option<u32>,
    /// Exponent that evens out groups: one with the share p of all bytes counts as if it had
    /// p^alpha / sum of p^alpha. 1 leaves the counts as they are, 0 makes all groups equal.
    pub alpha: f64,
    /// Factors on the counts of groups, by name, after `alpha`; 1 where not named, 0 leaves it out.
    pub weights: BTreeMap<String, f64>,
    /// Texts that must be one token each.
    pub seed_tokens: Vec<String>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            model: ModelKind::Bpe,
            vocab_size: 32_768,
            byte_fallback: false,
            end_of_word: false,
            digits: Digits::Keep,
            reserve: 0,
            specials: vec!["<|endoftext|>".to_owned()],
            pattern: None,
            normalizer: Normalizer::None,
            character_coverage: None,
            // A pair seen once is an accident, not a token.
            min_frequency: 2,
            max_token_length: None,
            alpha: 1.0,
            weights: BTreeMap::new(),
            seed_tokens: Vec::new(),
        }
    }
}

/// What a model kind with its options comes down to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    ByteLevel,
    /// BPE on characters with `▁`, and bytes for what is not covered.
    Characters,
    /// BPE on characters with `</w>` at the end of a word.
    WordEnds,
    WordPiece,
    Unigram,
}

impl TrainOptions {
    pub(super) fn form(&self) -> Form {
        match self.model {
            ModelKind::Bpe if self.end_of_word => Form::WordEnds,
            ModelKind::Bpe if self.byte_fallback => Form::Characters,
            ModelKind::Bpe => Form::ByteLevel,
            ModelKind::WordPiece => Form::WordPiece,
            ModelKind::Unigram => Form::Unigram,
        }
    }

    /// The token for what the vocabulary has not.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        match self.form() {
            Form::ByteLevel => None,
            Form::WordPiece => Some("[UNK]"),
            Form::Characters | Form::WordEnds | Form::Unigram => Some("<unk>"),
        }
    }

    /// Special tokens by id: that for the unknown, those asked for, the reserved ones.
    pub(super) fn all_specials(&self) -> Vec<String> {
        let unknown = self.unknown().map(str::to_owned);
        let unknown = unknown.filter(|unknown| !self.specials.contains(unknown));
        let reserved = (0..self.reserve).map(|number| format!("<|reserved_{number}|>"));
        unknown.into_iter().chain(self.specials.iter().cloned()).chain(reserved).collect()
    }

    /// Tokens that stand for bytes, in the models on characters.
    pub(super) fn byte_tokens(&self) -> Vec<String> {
        match self.form() {
            Form::Characters | Form::Unigram if self.byte_fallback => {
                (0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")).collect()
            }
            _ => Vec::new(),
        }
    }
}
