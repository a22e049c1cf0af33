//! Documents that other values rank otherwise: the commit that changes the values decides about them again.

use super::encode::{LoadedTokenizer, encode_kept_again};
use super::error::DecideError;
use super::session::DecisionSession;
use crate::model::Interrupt;
use crate::store::Batch;

/// Documents that stand otherwise because their values rank them otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RerankCounts {
    /// Documents that are kept now and were not.
    pub kept_again: u64,
    /// Documents that were kept and are not any more.
    pub no_longer_kept: u64,
}

impl std::ops::AddAssign for RerankCounts {
    fn add_assign(&mut self, other: Self) {
        self.kept_again += other.kept_again;
        self.no_longer_kept += other.no_longer_kept;
    }
}

/// Decides about the documents that the batch ranks otherwise, and encodes what is kept again. The decision of a moment
/// is so by the values of that moment: nobody has to ask by which values a document was removed.
///
/// # Errors
/// [`DecideError`] when the store cannot be read, or a stop was asked for.
pub fn decide_reranked(
    batch: &mut Batch<'_>,
    tokenizers: &[LoadedTokenizer],
    interrupt: &Interrupt,
) -> Result<RerankCounts, DecideError> {
    let reranked = batch.reranked().clone();
    if reranked.is_empty() {
        return Ok(RerankCounts::default());
    }
    let mut session = DecisionSession::begin(batch, interrupt);
    for (document, number) in reranked {
        session.rerank(document, number)?;
    }
    let decisions = session.settle()?;
    let kept_again = decisions.newly_kept(true);
    let no_longer_kept = decisions.apply(batch)?.no_longer_kept.len() as u64;
    for tokenizer in tokenizers {
        encode_kept_again(batch, tokenizer, &kept_again)?;
    }
    Ok(RerankCounts { kept_again: kept_again.len() as u64, no_longer_kept })
}
