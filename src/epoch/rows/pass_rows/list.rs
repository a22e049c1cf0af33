//! One row a document or part of one, in an order that needs all of them in memory: that of another sampler.

use super::documents::PassDocuments;
use crate::epoch::error::EpochError;
use crate::epoch::pack::Segment;
use crate::epoch::torch::length_grouped_indices;

/// The rows of a pool in the order of documents.
pub struct ListedRows(Vec<Segment>);

impl ListedRows {
    /// Lists the rows of a pool whose documents lie in `blocks`.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn list(held: &PassDocuments, blocks: &[u64]) -> Result<Self, EpochError> {
        let capacity = held.rules.policy.capacity;
        let mut rows = Vec::new();
        for block in blocks {
            rows.extend(held.parts(*block)?.into_iter().flat_map(|part| part.cut(capacity)));
        }
        Ok(Self(rows))
    }

    /// Rows of a pass.
    pub fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    /// What is in row `index`.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn row(&self, held: &PassDocuments, index: u64) -> Result<&Segment, EpochError> {
        let row = usize::try_from(index).ok().and_then(|index| self.0.get(index));
        row.ok_or_else(|| held.no_row(index))
    }

    /// The order that the rows have in a pass: positions in the order of documents.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when there are more rows in a batch than memory has places.
    pub fn order(&self, held: &PassDocuments, pass: u32) -> Result<Vec<u64>, EpochError> {
        let Some((batch, multiple)) = held.rules.exact else {
            return Err(EpochError::bug("listed rows without another sampler's order"));
        };
        let lengths: Vec<u32> = self.0.iter().map(|row| row.length).collect();
        let seed = held.rules.seed.wrapping_add(pass.into());
        let batch = usize::try_from(batch).unwrap_or(usize::MAX);
        let multiple = multiple.map(|multiple| multiple as usize);
        let order = length_grouped_indices(&lengths, batch, multiple, seed);
        order.map_err(|why| EpochError::Recipe(format!("order.length_grouped: {why}")))
    }
}
