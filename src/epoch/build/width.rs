//! The integer type token ids are written as.

use crate::epoch::recipe::{Format, Ids, Layout, OutputRecipe};

/// Vocabularies from here on are written as i32 by Megatron's own tools.
const MEGATRON_U16_BELOW: u32 = 65_500;
/// Largest vocabulary whose ids all fit u16.
const U16_UP_TO: u32 = 65_536;
/// Largest vocabulary that datatrove gives u16.
const DATATROVE_U16_UP_TO: u32 = 65_535;

/// An integer type of token ids, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::epoch) enum Width {
    /// Two bytes.
    U16,
    /// Four bytes, signed.
    I32,
    /// Four bytes.
    U32,
}

impl Width {
    /// The type an output gives ids of a vocabulary.
    pub fn of(output: &OutputRecipe, vocab: u32) -> Self {
        let narrow_up_to =
            |largest: u32, wide: Self| if vocab <= largest { Self::U16 } else { wide };
        match (output.format, output.layout()) {
            (Format::Mds, _) if output.ids == Some(Ids::U16) => Self::U16,
            (Format::Parquet | Format::Arrow | Format::Mds | Format::Jsonl, _) => Self::I32,
            (Format::Megatron, _) => narrow_up_to(MEGATRON_U16_BELOW - 1, Self::I32),
            (Format::Litdata, _) => narrow_up_to(U16_UP_TO, Self::I32),
            (Format::Raw, Layout::Nanogpt | Layout::LlmC) => Self::U16,
            (Format::Raw, Layout::Datatrove) => narrow_up_to(DATATROVE_U16_UP_TO, Self::U32),
            (Format::Raw, Layout::Plain | Layout::Olmo) => narrow_up_to(U16_UP_TO, Self::U32),
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
        }
    }

    pub const fn bytes(self) -> usize {
        match self {
            Self::U16 => 2,
            Self::I32 | Self::U32 => 4,
        }
    }

    /// The largest id of the type.
    pub const fn max(self) -> u32 {
        match self {
            Self::U16 => u16::MAX as u32,
            Self::I32 => i32::MAX as u32,
            Self::U32 => u32::MAX,
        }
    }

    /// The type's code in a Megatron index.
    pub const fn megatron_code(self) -> u8 {
        match self {
            Self::U16 => 8,
            Self::I32 | Self::U32 => 4,
        }
    }

    /// The type's place among those of NumPy that litdata lists.
    pub const fn numpy_code(self) -> u8 {
        match self {
            Self::U16 => 5,
            Self::I32 => 2,
            Self::U32 => 6,
        }
    }
}
