//! What a removal is asked for with: how far it reaches, and what is kept on record of it.

use super::error::CurateError;
use crate::decide::BlockReach;
use crate::store::CommitRecord;

/// Bytes that a reason or a condition on record may have.
const MOST: usize = 4096;

/// How far a removal reaches beyond its documents, and what the records of its commits say of it. Made from a
/// [`BlockReach`], or from whether equal texts and keys are blocked.
///
/// ```
/// use corpusdb::curate::{BlockReach, Removal};
///
/// let removal = Removal::new(BlockReach::Exact).because("asked for by their author").at(1_764_000_000_000_000);
/// assert_eq!(removal.reason.as_deref(), Some("asked for by their author"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removal {
    /// What it keeps out from now on.
    pub reach: BlockReach,
    /// Why, in the words of who does it.
    pub reason: Option<String>,
    /// The SQL condition that selected the documents, where one did.
    pub condition: Option<String>,
    /// When, in microseconds since 1970 in UTC. The library reads no clock: a program says it, or nothing is on record.
    pub time: Option<i64>,
}

impl Removal {
    /// One of that reach, of which nothing is on record but the documents.
    #[must_use]
    pub fn new(reach: BlockReach) -> Self {
        Self { reach, ..Self::default() }
    }

    /// With the reason on record.
    #[must_use]
    pub fn because(self, reason: impl Into<String>) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// With the SQL condition on record that selected the documents.
    #[must_use]
    pub fn of(self, condition: impl Into<String>) -> Self {
        Self { condition: Some(condition.into()), ..self }
    }

    /// With the time on record: microseconds since 1970 in UTC.
    #[must_use]
    pub fn at(self, time: i64) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The record of a commit of this removal.
    ///
    /// # Errors
    /// [`CurateError::Reason`] when the reason is too long to be on record.
    pub(super) fn record(&self, kind: &str) -> Result<CommitRecord, CurateError> {
        if let Some(reason) = self.reason.as_ref().filter(|reason| reason.len() > MOST) {
            return Err(CurateError::Reason { bytes: reason.len(), most: MOST });
        }
        let condition = self.condition.as_ref().map(|condition| shortened(condition));
        Ok(CommitRecord {
            kind: kind.to_owned(),
            reason: self.reason.clone(),
            condition,
            time: self.time,
            ..CommitRecord::default()
        })
    }
}

impl From<BlockReach> for Removal {
    fn from(reach: BlockReach) -> Self {
        Self::new(reach)
    }
}

impl From<bool> for Removal {
    fn from(blocks: bool) -> Self {
        Self::new(blocks.into())
    }
}

/// A condition of a million ids says no more than its beginning.
fn shortened(condition: &str) -> String {
    if condition.len() <= MOST {
        return condition.to_owned();
    }
    let end = (0..=MOST - 3).rev().find(|at| condition.is_char_boundary(*at)).unwrap_or(0);
    format!("{}…", condition.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_record_is_bounded() {
        let long = "ä".repeat(MOST);
        let record = Removal::new(BlockReach::Nothing).of(long.clone()).record("remove").unwrap();
        let condition = record.condition.unwrap();
        assert!(condition.len() <= MOST && condition.starts_with("ää") && condition.ends_with('…'));
        let error = Removal::new(BlockReach::Nothing).because(long).record("remove").unwrap_err();
        assert!(error.to_string().contains("8192 bytes"), "{error}");
        let record = Removal::from(true).because("they asked").at(7).record("remove").unwrap();
        assert_eq!((record.reason.as_deref(), record.time), (Some("they asked"), Some(7)));
    }
}
