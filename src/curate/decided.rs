//! What every commit here does once it is said what comes and goes: deciding what follows, and encoding what is
//! kept again.

use super::error::CurateError;
use crate::decide::{
    AppliedDecisions, DecisionCounts, DecisionSession, LoadedTokenizer, encode_kept_again,
};
use crate::model::DocId;
use crate::store::Batch;

/// What the decisions of a commit came to.
pub(super) struct Decided {
    /// Documents that are kept now and were not.
    pub(super) newly_kept: Vec<DocId>,
    /// Documents that were kept and are not any more.
    pub(super) no_longer_kept: Vec<DocId>,
    /// Work done and limits met.
    pub(super) counts: DecisionCounts,
}

/// Decides, writes the outcome into the batch, and encodes what is kept again by every tokenizer.
/// `stored_only`: documents that the session saw come in are no news.
pub(super) fn decide(
    batch: &mut Batch<'_>,
    session: DecisionSession,
    tokenizers: &[LoadedTokenizer],
    stored_only: bool,
) -> Result<Decided, CurateError> {
    let decisions = session.settle()?;
    let newly_kept = decisions.newly_kept(stored_only);
    let AppliedDecisions { counts, no_longer_kept } = decisions.apply(batch)?;
    for tokenizer in tokenizers {
        encode_kept_again(batch, tokenizer, &newly_kept)?;
    }
    Ok(Decided { newly_kept, no_longer_kept, counts })
}
