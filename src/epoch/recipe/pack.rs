//! `[pack]`: how documents become rows.

use serde::{Deserialize, Serialize};

/// How documents become rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PackRecipe {
    /// The way of packing.
    pub kind: PackKind,
    /// Tokens of a row.
    pub length: u32,
    /// Each part of a document that is cut ends with EOS, which counts as any token of the row does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut_eos: bool,
    /// Further options of packing.
    pub options: PackOptions,
}

impl Default for PackRecipe {
    fn default() -> Self {
        Self {
            kind: PackKind::BestFit,
            length: 2048,
            cut_eos: false,
            options: PackOptions::default(),
        }
    }
}

/// A way of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PackKind {
    /// Best-fit-decreasing over the whole source: fewest rows, no document cut that fits.
    BestFit,
    /// Documents in order; a new row when the next one does not fit.
    Greedy,
    /// Documents in order, end to end, cut into full rows.
    Concat,
    /// One document a row.
    None,
}

/// Details of packing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct PackOptions {
    /// Whether rows hold one more token for the last target.
    pub target: RowTarget,
    /// What happens to documents longer than a row.
    pub long: LongDocuments,
    /// Every document takes up a multiple of this; pads fill it. `length` must be a multiple too.
    pub doc_multiple: u32,
    /// Where pads stand.
    pub pad_side: PadSide,
    /// What pads are to readers that derive segments.
    pub pad_view: PadView,
    /// What happens to the tokens at the end of a pass that do not fill a row of `concat`; absent: they become a
    /// shorter row, or are left out if the format needs rows of one length and there is no pad token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial: Option<PartialRow>,
    /// Every row of a pass but the first begins with the last token of the one before, so that none is without
    /// its prediction: of `concat` with `target = "extra"`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub overlap: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            target: RowTarget::Inside,
            long: LongDocuments::Split,
            doc_multiple: 1,
            pad_side: PadSide::Right,
            pad_view: PadView::Suffix,
            partial: None,
            overlap: false,
        }
    }
}

/// Whether rows hold one more token for the last target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RowTarget {
    /// Rows hold `length` tokens.
    Inside,
    /// Rows hold `length + 1` tokens.
    Extra,
}

/// What happens to documents longer than a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LongDocuments {
    /// Cut into fragments of a row each, and a tail.
    Split,
    /// Cut where a paragraph ends, into fragments of at most a row.
    Paragraph,
    /// Keep the head that fits one row; the rest is lost and counted.
    Truncate,
    /// Leave the document out; counted.
    Drop,
}

/// What happens to tokens at the end of a pass that do not fill a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PartialRow {
    /// They are a row, shorter or filled with pads.
    Keep,
    /// They are left out, and counted.
    Drop,
}

/// Where pads stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadSide {
    /// Pads stand after the tokens of a row.
    Right,
    /// Pads stand before the tokens of a row.
    Left,
}

/// What pads are to readers that derive segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PadView {
    /// No segment.
    Suffix,
    /// Each a segment of its own.
    Each,
}
