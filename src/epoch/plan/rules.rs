//! What a plan decides of the rows of a source, besides its documents: how they are packed, ordered and counted.

use crate::epoch::pack::PackPolicy;
use crate::epoch::recipe::{
    MixUnit, OrderKind, PackKind, PartialRow, Recipe, RowTarget, SourceRecipe, SpecialIds,
    counts_alike,
};
use std::sync::Arc;

/// What decides the rows of a source besides its documents.
#[derive(Clone, Debug)]
pub(in crate::epoch) struct RowRules {
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
    /// Whether passes count differently: rows cut from documents in the order of a pass are more or fewer as
    /// documents happen to fit, and so are the EOS where a row of `concat` ends within a document. Everything else that
    /// is counted is the same in every pass.
    pub const fn passes_differ(&self) -> bool {
        let rows = matches!(self.unit, MixUnit::Rows);
        let tokens = matches!(self.unit, MixUnit::Tokens | MixUnit::LossTokens);
        let differ = match self.policy.kind {
            PackKind::Greedy => rows,
            PackKind::Concat => {
                rows && self.policy.multiple > 1 || (rows || tokens) && self.policy.cut_eos
            }
            PackKind::BestFit | PackKind::None => false,
        };
        differ && !matches!(self.order, OrderKind::Sequential)
    }
}

/// What decides the rows of a source.
pub(in crate::epoch) fn rules(
    recipe: &Recipe,
    source: Option<&SourceRecipe>,
    name: &str,
    specials: &SpecialIds,
    opens: Vec<Vec<u64>>,
) -> RowRules {
    let grouped = recipe.order.length_grouped;
    let rows = recipe.batch.as_ref().and_then(|batch| batch.rows);
    let exact = grouped.filter(|grouped| grouped.exact.is_some()).zip(rows);
    RowRules {
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
