//! The options of a training, and the layout of the model that they come down to.

use crate::file::pattern::PretokenPattern;
use crate::file::write::byte_token;
use model::named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of model that is trained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "cli",
    derive(schemars::JsonSchema, clap::ValueEnum),
    value(rename_all = "lower")
)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Byte-pair encoding: on bytes, or on characters with `byte_fallback`.
    #[default]
    Bpe,
    /// As BERT: words are split greedily, and pieces inside a word begin with `##`.
    WordPiece,
    /// The likeliest segmentation under a unigram language model.
    Unigram,
}

impl MergeScore {
    /// Whether it is what records say nothing of.
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

named!(ModelKind { Bpe = "bpe", WordPiece = "wordpiece", Unigram = "unigram" });

/// By which score of a pair of neighbours a WordPiece is trained: the pair of the highest becomes a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum MergeScore {
    /// How often the pair occurs, as in BPE and in the library tokenizers.
    #[default]
    Frequency,
    /// How often the pair occurs, over the product of how often its parts do: the gain in likelihood, as in the first
    /// WordPiece.
    Likelihood,
}

/// How numbers are split before the model sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum DigitSplit {
    /// Every digit is one token.
    Single,
    /// Groups of up to three, from the left.
    #[serde(rename = "groups-of-3")]
    #[cfg_attr(feature = "cli", value(name = "groups-of-3"))]
    GroupsOf3,
    /// As the split pattern has it.
    #[default]
    Keep,
}

/// The Unicode normal form applied to texts first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
pub enum UnicodeForm {
    /// Canonical composition.
    Nfc,
    /// Compatibility composition: loses distinctions such as that of `ﬁ` and `fi`.
    Nfkc,
    /// Texts are not changed.
    #[default]
    None,
}

/// The options of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema, clap::Args))]
#[serde(default)]
pub struct TrainOptions {
    /// The kind of model.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub model: ModelKind,
    /// The score by which a WordPiece chooses the pairs that become tokens.
    ///
    /// By likelihood rare pairs come first: raise `min_frequency` as far as the vocabulary is still filled.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    #[serde(skip_serializing_if = "MergeScore::is_default")]
    pub score: MergeScore,
    /// Size of the vocabulary, with special and reserved tokens, bytes and characters.
    ///
    /// A small corpus may give fewer tokens.
    #[cfg_attr(feature = "cli", arg(long, default_value_t = 32_768, value_name = "N"))]
    pub vocab_size: u32,
    /// Whether the symbols of a BPE are characters, and rare characters fall back to their bytes.
    ///
    /// As in SentencePiece, spaces are `▁`. For a Unigram: whether rare characters fall back to bytes.
    #[cfg_attr(feature = "cli", arg(long))]
    pub byte_fallback: bool,
    /// Whether the symbols of a BPE are characters, with `</w>` after the last one of a word.
    ///
    /// Words are separated by white space, as in the first BPE for text (Sennrich et al. 2016) and in GPT-1.
    #[cfg_attr(feature = "cli", arg(long, conflicts_with_all = ["byte_fallback", "pattern"]))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub end_of_word: bool,
    /// How numbers are split.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub digits: DigitSplit,
    /// Number of unused special tokens after the others: `<|reserved_0|>`, `<|reserved_1|>` and so on.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 0))]
    pub reserve: u32,
    /// Special tokens, which get the first ids in this order; an empty text alone: none.
    ///
    /// WordPiece needs `[UNK]`; a Unigram and a BPE on characters need `<unk>`. It is added as the first token unless
    /// it is listed here.
    #[cfg_attr(
        feature = "cli",
        arg(
            id = "specials",
            long = "special",
            value_name = "TOKEN",
            default_value = "<|endoftext|>"
        )
    )]
    pub specials: Vec<String>,
    /// The split pattern of byte-level BPE: gpt2, cl100k, llama3, o200k, qwen2, tekken, or a regular expression. By
    /// default gpt2.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME|REGEX", value_parser = PretokenPattern::parse))]
    pub pattern: Option<PretokenPattern>,
    /// The Unicode normal form applied to texts first.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub normalizer: UnicodeForm,
    /// Share of the characters of the texts, in each group, that become tokens; the rarest ones are left out. By default
    /// 0.9995.
    ///
    /// By default a character that is one in 10,000 of a group's text is a token too. Byte-level BPE does not need it: it
    /// has all characters as bytes.
    #[cfg_attr(feature = "cli", arg(long, value_name = "SHARE"))]
    pub character_coverage: Option<f64>,
    /// The lowest count at which a pair becomes a token (BPE, WordPiece), after weighting.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N", default_value_t = 2))]
    pub min_frequency: u64,
    /// The longest token, in symbols of the model: bytes of a byte-level BPE, else characters.
    ///
    /// Tokens of BPE and WordPiece after the first merges stay below this length; those of a Unigram may reach it. By
    /// default 16 for a Unigram, else no limit.
    #[cfg_attr(feature = "cli", arg(long, value_name = "N"))]
    pub max_token_length: Option<u32>,
    /// Balance the groups: one with the share p of all bytes counts as p^A.
    ///
    /// 1 changes nothing, 0 makes all groups equal.
    #[cfg_attr(feature = "cli", arg(long, value_name = "A", default_value_t = 1.0))]
    pub alpha: f64,
    /// Factors on the counts of groups, by name, after `alpha`; 1 where not named, 0 leaves it out.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub weights: BTreeMap<String, f64>,
    /// Texts that must be one token each.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub seed_tokens: Vec<String>,
}

impl Default for TrainOptions {
    fn default() -> Self {
        Self {
            model: ModelKind::Bpe,
            score: MergeScore::Frequency,
            vocab_size: 32_768,
            byte_fallback: false,
            end_of_word: false,
            digits: DigitSplit::Keep,
            reserve: 0,
            specials: vec!["<|endoftext|>".to_owned()],
            pattern: None,
            normalizer: UnicodeForm::None,
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
pub(super) enum ModelLayout {
    ByteLevel,
    /// BPE on characters with `▁`, and bytes for what is not covered.
    Characters,
    /// BPE on characters with `</w>` at the end of a word.
    WordEnds,
    WordPiece,
    Unigram,
}

impl TrainOptions {
    pub(super) fn layout(&self) -> ModelLayout {
        match self.model {
            ModelKind::Bpe if self.end_of_word => ModelLayout::WordEnds,
            ModelKind::Bpe if self.byte_fallback => ModelLayout::Characters,
            ModelKind::Bpe => ModelLayout::ByteLevel,
            ModelKind::WordPiece => ModelLayout::WordPiece,
            ModelKind::Unigram => ModelLayout::Unigram,
        }
    }

    /// Whether texts are split by a pattern.
    pub(crate) fn takes_pattern(&self) -> bool {
        self.layout() == ModelLayout::ByteLevel
    }

    /// The token for what the vocabulary has not.
    pub(super) fn unknown(&self) -> Option<&'static str> {
        match self.layout() {
            ModelLayout::ByteLevel => None,
            ModelLayout::WordPiece => Some("[UNK]"),
            ModelLayout::Characters | ModelLayout::WordEnds | ModelLayout::Unigram => Some("<unk>"),
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
        match self.layout() {
            ModelLayout::Characters | ModelLayout::Unigram if self.byte_fallback => {
                (0..=u8::MAX).map(byte_token).collect()
            }
            _ => Vec::new(),
        }
    }
}
