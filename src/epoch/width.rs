//! The integer type token ids are written as.

use super::recipe::Format;

/// Vocabularies from here on are written as i32 by Megatron's own tools.
const MEGATRON_U16_BELOW: u32 = 65_500;
/// Largest vocabulary whose ids all fit u16.
const RAW_U16_UP_TO: u32 = 65_536;

/// An integer type of token ids, little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// Two bytes.
    U16,
    /// Four bytes, signed.
    I32,
    /// Four bytes.
    U32,
}

impl Width {
    /// The type a format gives ids of a vocabulary.
    pub const fn of(format: Format, vocab: u32) -> Self {
        match format {
            Format::Parquet => Self::I32,
            Format::Megatron if vocab < MEGATRON_U16_BELOW => Self::U16,
            Format::Megatron => Self::I32,
            Format::Raw if vocab <= RAW_U16_UP_TO => Self::U16,
            Format::Raw => Self::U32,
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
}
