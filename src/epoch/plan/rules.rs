//! The rules of a plan for the rows of a source: how documents are packed, ordered and counted.

use crate::epoch::pack::PackPolicy;
use crate::epoch::recipe::{
    MixUnit, OrderKind, PackKind, PadSide, PadTo, PadView, PartialRow, Recipe, RowTarget,
    SourceRecipe, SpecialIds, counts_alike,
};
use crate::epoch::views::{RowShape, Span};
use std::sync::Arc;

/// What decides the rows of a source besides its documents.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct RowRules {
    /// Index of the source in the plan.
    pub source: usize,
    /// Name of the source in the epoch; part of every key.
    pub name: Arc<str>,
    pub seed: u64,
    pub policy: PackPolicy,
    pub order: OrderKind,
    /// Passes over the documents in the whole run, at most.
    pub max_repeats: u32,
    /// The mix's unit, in which rows are counted.
    pub unit: MixUnit,
    /// Rows are drawn with replacement from the open strata.
    pub replace: bool,
    /// Batch and mega-batch multiple of the sampler reproduced exactly.
    pub exact: Option<(u64, Option<u32>)>,
    /// Tokens of a pass at which each stratum opens, by pool; empty with one stratum.
    pub opens: Vec<Vec<u64>>,
}

impl RowRules {
    /// The seed of the sampler reproduced exactly, in a pass.
    pub fn exact_seed(&self, pass: u32) -> u64 {
        self.seed.wrapping_add(pass.into())
    }

    /// Whether passes count differently: rows cut from documents in the order of a pass are more or fewer as
    /// documents happen to fit, and so are the EOS where a row of `concat` ends within a document. Everything else that
    /// is counted is the same in every pass.
    pub const fn passes_differ(&self) -> bool {
        let rows = matches!(self.unit, MixUnit::Rows);
        let tokens = matches!(self.unit, MixUnit::Tokens | MixUnit::LossTokens);
        let differ = match self.policy.kind {
            PackKind::Greedy => rows,
            PackKind::Concat => {
                let may_end_early = self.policy.multiple > 1 || self.policy.most_segments.is_some();
                rows && may_end_early || (rows || tokens) && self.policy.cut_eos
            }
            PackKind::BestFit | PackKind::None => false,
        };
        differ && !matches!(self.order, OrderKind::Sequential)
    }
}

/// What decides the rows of source `at` of a recipe.
pub(in crate::epoch) fn rules(
    recipe: &Recipe,
    (at, source): (usize, Option<&SourceRecipe>),
    name: &str,
    specials: &SpecialIds,
    opens: Vec<Vec<u64>>,
) -> RowRules {
    let grouped = recipe.order.length_grouped;
    let rows = recipe.batch.as_ref().and_then(|batch| batch.rows);
    let exact = grouped.filter(|grouped| grouped.exact.is_some()).zip(rows);
    RowRules {
        source: at,
        name: name.into(),
        seed: recipe.seed,
        policy: policy(recipe, source, specials),
        order: recipe.order.kind,
        max_repeats: source.map_or(1, |source| source.max_repeats),
        unit: recipe.mix.unit,
        replace: recipe.order.curriculum.as_ref().is_some_and(|curriculum| curriculum.replace),
        exact: exact.map(|(grouped, rows)| (rows, grouped.mega_batch_mult)),
        opens,
    }
}

/// The packing rules of a source of a recipe.
pub(in crate::epoch) fn policy(
    recipe: &Recipe,
    source: Option<&SourceRecipe>,
    specials: &SpecialIds,
) -> PackPolicy {
    PackPolicy {
        kind: recipe.pack.kind,
        capacity: capacity(recipe) - spare(recipe),
        long: source.and_then(|source| source.pack.long).unwrap_or(recipe.pack.options.long),
        bos: specials.bos.is_some(),
        eos: specials.eos.is_some(),
        multiple: recipe.pack.options.doc_multiple.max(1),
        overlap: recipe.pack.options.overlap,
        whole_rows: whole_rows(recipe, specials),
        cut_eos: recipe.pack.cut_eos,
        most_segments: recipe.pack.most_segments,
    }
}

/// Whether tokens that fill no row of a pass are left out. By default they are, when the format could not hold their
/// row: one of another length.
fn whole_rows(recipe: &Recipe, specials: &SpecialIds) -> bool {
    let options = &recipe.pack.options;
    options.partial.map_or_else(
        || {
            recipe.pack.kind == PackKind::Concat
                && specials.pad.is_none()
                && recipe.output.file_format().needs_equal_rows()
                && options.doc_multiple <= 1
                && !recipe.pack.cut_eos
                && recipe.pack.most_segments.is_none()
                && counts_alike(recipe.mix.unit)
        },
        |partial| partial == PartialRow::Drop,
    )
}

pub(in crate::epoch) fn capacity(recipe: &Recipe) -> u32 {
    recipe.pack.length + u32::from(recipe.pack.options.target == RowTarget::Extra)
}

/// Places at the end of a row that no document takes up: that of the last target, where documents take up
/// multiples that divide the row without it.
pub(in crate::epoch) fn spare(recipe: &Recipe) -> u32 {
    capacity(recipe) % recipe.pack.options.doc_multiple.max(1)
}

/// Where segments and pads lie in rows.
#[derive(Clone, Copy, Debug)]
pub(in crate::epoch) struct SegmentLayout {
    /// Tokens of a row that is filled up with pads; none where rows are as long as the packing makes them.
    filled: Option<u32>,
    /// Places that a document takes up are a multiple of this.
    multiple: u32,
    /// Places at the end of a filled row that no document takes up.
    spare: u32,
    /// Where pads stand.
    pub side: PadSide,
    /// What pads are.
    pads: PadView,
}

impl SegmentLayout {
    pub fn of(recipe: &Recipe, specials: &SpecialIds) -> Self {
        let options = &recipe.pack.options;
        let is_filled = has_rows_of_one_length(recipe) && specials.pad.is_some();
        let is_padded = is_filled || pads_batches(recipe) && specials.pad.is_some();
        Self {
            filled: is_filled.then(|| capacity(recipe)),
            multiple: if is_padded { options.doc_multiple.max(1) } else { 1 },
            spare: if is_filled { spare(recipe) } else { 0 },
            side: options.pad_side,
            pads: options.pad_view,
        }
    }

    /// Places that `tokens` tokens of a document take up in a row.
    pub const fn slot(&self, tokens: u32) -> u32 {
        tokens.next_multiple_of(self.multiple)
    }

    /// Places that segments of these `lengths` take up in a row, with the places left free.
    pub fn used(&self, lengths: impl Iterator<Item = u32>) -> u64 {
        let slot = |length: u32| u64::from(length).next_multiple_of(self.multiple.into());
        lengths.map(slot).sum::<u64>() + u64::from(self.spare)
    }

    /// Where the segments lie, by the tokens of each: after one another, each in its places, at the side that the
    /// recipe says, in a row of `width`, where its batch gives it one, else as long as the packing makes it.
    pub fn shape(
        &self,
        width: Option<u32>,
        lengths: impl Iterator<Item = u32> + Clone,
    ) -> RowShape {
        let used: u32 = lengths.clone().map(|length| self.slot(length)).sum();
        let width = width.or(self.filled).unwrap_or(used);
        let left = self.side == PadSide::Left;
        let mut at = if left { width.saturating_sub(used + self.spare) } else { 0 };
        let mut spans = Vec::new();
        for length in lengths {
            let slot = self.slot(length);
            let start = if left { at + slot - length } else { at };
            spans.push(Span { start, length });
            at += slot;
        }
        RowShape { width, spans, pads: self.pads }
    }
}

/// Whether the recipe packs rows to one length. Otherwise a row is a document, or a part of one.
pub(in crate::epoch) fn has_rows_of_one_length(recipe: &Recipe) -> bool {
    recipe.pack.kind != PackKind::None
}

/// Whether rows are padded to the longest of their batch.
pub(in crate::epoch) fn pads_batches(recipe: &Recipe) -> bool {
    recipe.batch.as_ref().is_some_and(|batch| batch.pad == Some(PadTo::Longest))
}
