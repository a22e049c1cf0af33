//! What expressions of a recipe say of documents: each corpus answers for its own.

use crate::contamination::ContaminationRule;
use crate::corpus::{Corpora, parts, whole, wholes};
use crate::epoch::error::EpochError;
use crate::model::DocId;
use crate::query::{contaminated, numbers, select, texts};
use crate::store::View;
use roaring::RoaringTreemap;

impl Corpora {
    /// Calls `ask` with each corpus; which one it is stands before what went wrong, where there are several.
    ///
    /// # Errors
    /// Those of `ask`; what a recipe has wrong in [`EpochError::InShard`].
    pub(in crate::epoch) fn each(
        &self,
        mut ask: impl FnMut(u64, &View) -> Result<(), EpochError>,
    ) -> Result<(), EpochError> {
        for (shard, view) in self.views() {
            ask(shard, view).map_err(|error| match error {
                EpochError::Select(_) | EpochError::Unknown(_) | EpochError::Recipe(_)
                    if self.count() > 1 =>
                {
                    EpochError::InShard { shard, error: Box::new(error) }
                }
                other => other,
            })?;
        }
        Ok(())
    }

    /// The documents that satisfy a condition.
    ///
    /// # Errors
    /// [`EpochError::Select`].
    pub(in crate::epoch) fn select(&self, condition: &str) -> Result<RoaringTreemap, EpochError> {
        let mut all = RoaringTreemap::new();
        self.each(|shard, view| {
            all |= wholes(shard, select(view, Some(condition))?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Calls `of` with every document and its number by an expression.
    ///
    /// # Errors
    /// [`EpochError::Select`].
    pub(in crate::epoch) fn numbers(
        &self,
        expression: &str,
        mut of: impl FnMut(u64, Option<f64>),
    ) -> Result<(), EpochError> {
        self.each(|shard, view| {
            let of = |id, value| of(whole(shard, DocId(id)).0, value);
            Ok(numbers(view, expression, of)?)
        })
    }

    /// Calls `of` with every document and its text by an expression.
    ///
    /// # Errors
    /// [`EpochError::Select`].
    pub(in crate::epoch) fn texts(
        &self,
        expression: &str,
        mut of: impl FnMut(u64, Option<&str>),
    ) -> Result<(), EpochError> {
        self.each(|shard, view| {
            let of = |id, value: Option<&str>| of(whole(shard, DocId(id)).0, value);
            Ok(texts(view, expression, of)?)
        })
    }

    /// The documents that have an item of a suite. What is common is counted among those of `kept` that are in the same
    /// corpus.
    ///
    /// # Errors
    /// [`EpochError::Select`].
    pub(in crate::epoch) fn contaminated(
        &self,
        suite: &str,
        rule: &ContaminationRule,
        kept: &RoaringTreemap,
    ) -> Result<RoaringTreemap, EpochError> {
        if self.count() == 1 {
            return Ok(contaminated(self.first(), suite, rule, kept)?);
        }
        let mut all = RoaringTreemap::new();
        self.each(|shard, view| {
            let found = contaminated(view, suite, rule, &parts(shard, kept))?;
            all |= wholes(shard, found);
            Ok(())
        })?;
        Ok(all)
    }
}
