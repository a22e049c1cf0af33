//! What a plan decides of the rows of a source, besides its documents.

use crate::epoch::pack::PackPolicy;
use crate::epoch::recipe::{MixUnit, OrderKind, PackKind};
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
    /// documents happen to fit. Everything else that is counted is the same in every pass.
    pub const fn passes_differ(&self) -> bool {
        let cut = match self.policy.kind {
            PackKind::Greedy => true,
            PackKind::Concat => self.policy.multiple > 1,
            PackKind::BestFit | PackKind::None => false,
        };
        cut && matches!(self.unit, MixUnit::Rows) && !matches!(self.order, OrderKind::Sequential)
    }
}
