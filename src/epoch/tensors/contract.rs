//! The batch contracts of trainers: which keys each trainer reads, and the fields that they are made of.
//!
//! Sources of the tables, read in August 2026: `DataCollatorWithFlattening` of transformers 5.23, the collator of TRL 1.16
//! with `padding_free`, `GPTDataset` of Megatron-LM with `inter_document_masking`, `HuggingFaceTextDataset` of torchtitan
//! 0.3, and `DataCollator` of OLMo-core 3.0.
//!
//! Models of transformers part documents by `position_ids` only without a cache, and new models have one. Hybrid models
//! read `cu_seq_lens_q` and `seq_idx` too, and refuse a batch that has these where their kernels are missing. So the
//! default batch has all keys and `use_cache = False`: the numbers of each document alone, or an error of transformers
//! that names the kernel. Models that read none of the keys leak still: `corpusdb.torch.check_model` tries one. A field
//! made for one trainer alone is a view with a name of its own.

use super::BatchField;
use crate::epoch::error::EpochError;
use model::named;

/// A trainer whose batches are known: [`BatchForm::contract`](super::BatchForm::contract).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Models of Hugging Face transformers with any attention, hybrid ones too: one row of tokens without pads, its
    /// boundaries, and `use_cache = false`, since with a cache these models do not part documents by their positions.
    Transformers,
    /// TRL's `SFTTrainer` with `padding_free`: the same keys; it turns the cache off by itself.
    Trl,
    /// Megatron's `get_batch`: rows of one length, labels at the positions that predict them, and boundaries of every
    /// row in as many columns as it has tokens, and one.
    Megatron,
    /// torchtitan: rows of one length, their positions, and labels at the positions that predict them. It takes inputs
    /// and labels as a pair.
    Torchtitan,
    /// OLMo-core: rows of one length, the tokens that are targets, and lengths of documents, pads among them.
    OlmoCore,
}

/// A key of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BatchKey {
    pub name: &'static str,
    pub field: BatchField,
    /// Whether its values are of type f32, whatever the field's own is.
    pub float: bool,
}

const fn key(name: &'static str, field: BatchField) -> BatchKey {
    BatchKey { name, field, float: false }
}

/// A row of tokens with its boundaries.
const FLAT: &[BatchKey] = &[
    BatchKey::of(BatchField::CuSeqLensK),
    BatchKey::of(BatchField::CuSeqLensQ),
    BatchKey::of(BatchField::Labels),
    BatchKey::of(BatchField::MaxLengthK),
    BatchKey::of(BatchField::MaxLengthQ),
    BatchKey::of(BatchField::PositionIds),
    BatchKey::of(BatchField::SeqIdx),
];

const MEGATRON: &[BatchKey] = &[
    key("cu_seqlens", BatchField::CuSeqlensRows),
    key("labels", BatchField::NextIds),
    BatchKey { name: "loss_mask", field: BatchField::LossMask, float: true },
    key("max_seqlen", BatchField::MaxSeqlenRows),
    key("position_ids", BatchField::PositionIdsRows),
];

const TORCHTITAN: &[BatchKey] =
    &[key("labels", BatchField::ShiftedLabels), key("positions", BatchField::PositionIds)];

const OLMO_CORE: &[BatchKey] = &[
    key("doc_lens", BatchField::DocLensPadded),
    BatchKey::of(BatchField::LabelMask),
    BatchKey::of(BatchField::MaxDocLens),
];

impl BatchKey {
    /// The field under its own name.
    pub const fn of(field: BatchField) -> Self {
        key(field.name(), field)
    }
}

named!(Contract {
    Transformers = "transformers", Trl = "trl", Megatron = "megatron", Torchtitan = "torchtitan",
    OlmoCore = "olmo-core",
});

impl Contract {
    /// The contract in a message.
    pub(in crate::epoch) fn describe(self) -> String {
        format!("of the contract \"{}\"", self.name())
    }

    /// Refuses rows that differ in length where the trainer takes rows of one.
    pub(in crate::epoch) fn check_rows(self, has_one_length: bool) -> Result<(), EpochError> {
        if self.is_flat() || has_one_length {
            return Ok(());
        }
        Err(EpochError::Limit {
            format: self.describe(),
            why: "its rows have one length, and those of the recipe have that of their documents"
                .to_owned(),
            instead: "pack them with `length` under [pack]".to_owned(),
        })
    }

    /// Whether the segments of all rows stand end to end.
    #[must_use]
    pub const fn is_flat(self) -> bool {
        matches!(self, Self::Transformers | Self::Trl)
    }

    /// What its token ids are called.
    pub(super) const fn ids(self) -> &'static str {
        match self {
            Self::Megatron => "tokens",
            Self::Torchtitan => "input",
            Self::Transformers | Self::Trl | Self::OlmoCore => "input_ids",
        }
    }

    /// What stands beside them.
    pub(super) const fn keys(self) -> &'static [BatchKey] {
        match self {
            Self::Transformers | Self::Trl => FLAT,
            Self::Megatron => MEGATRON,
            Self::Torchtitan => TORCHTITAN,
            Self::OlmoCore => OLMO_CORE,
        }
    }

    /// Whether batches turn the cache of the model off.
    pub(super) const fn turns_cache_off(self) -> bool {
        matches!(self, Self::Transformers)
    }

    /// Whether pads are id 0, so that an embedding of the vocabulary alone has them.
    pub(super) const fn pads_with_zero(self) -> bool {
        matches!(self, Self::Megatron)
    }
}
