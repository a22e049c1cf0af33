//! What a plan has left when part of its run is consumed: the documents of each source that the passes
//! under way have not given, and the parts of those they have given in part; and what the plans before it
//! left that it did not take.
//!
//! `standing` finds the rows that are given of each source. A pass is walked from its beginning to the
//! window that is open; of that, the rows that were given count, in whatever order they came.

mod standing;

use super::consumed::Consumed;
use super::open::OpenPlan;
use crate::epoch::error::EpochError;
use crate::epoch::pack::Fragment;
use crate::epoch::plan::PinnedPool;
use crate::epoch::rows::{RowPlace, SourceCursor, SourcePosition, SourceRows};
use crate::model::Interrupt;
use roaring::RoaringTreemap;
use standing::Given;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is left of a plan's passes under way.
pub(in crate::epoch) struct Remainder {
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// Rows of its run that are consumed.
    pub next_row: u64,
    /// Layer `k`: documents with more than `k` whole copies still to come.
    layers: Vec<RoaringTreemap>,
    /// Parts still to come of the others, ascending.
    parts: Vec<Fragment>,
    /// Every document of the plan.
    known: RoaringTreemap,
    /// By name: passes that are over, of the plan and of those before it.
    passes: BTreeMap<String, u32>,
    /// The same of the plan alone.
    own: BTreeMap<String, u32>,
    /// Names of the sources that have had all passes the parent allows.
    over: BTreeSet<String>,
}

impl Remainder {
    /// What is left of the plan of `opened` after `next_row` rows of its run.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when the run is not that long, or row `next_row` was never given;
    /// [`EpochError::Interrupted`]; [`EpochError::Store`].
    pub fn of(
        opened: &Arc<OpenPlan>,
        next_row: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, EpochError> {
        let given = standing::at(opened, next_row, interrupt)?;
        let mut left = Self {
            plan: opened.plan.hash_hex(),
            next_row,
            layers: Vec::new(),
            parts: Vec::new(),
            known: RoaringTreemap::new(),
            passes: BTreeMap::new(),
            own: BTreeMap::new(),
            over: BTreeSet::new(),
        };
        for (source, given) in opened.sources.iter().zip(given) {
            left.add(source, given, interrupt)?;
        }
        left.parts.sort_unstable();
        left.own = left.passes.clone();
        Ok(left)
    }

    /// The same with what the plans before this one left: documents that this plan does not have are left
    /// as they were, and passes that were over are.
    #[must_use]
    pub fn after(mut self, before: Self) -> Self {
        for (k, layer) in before.layers.into_iter().enumerate() {
            let layer = layer - &self.known;
            match self.layers.get_mut(k) {
                Some(own) => *own |= layer,
                None => self.layers.push(layer),
            }
        }
        let parts = before.parts.into_iter();
        self.parts.extend(parts.filter(|part| !self.known.contains(part.document.0)));
        self.parts.sort_unstable();
        self.known |= before.known;
        for name in before.over {
            if !self.passes.contains_key(&name) {
                self.over.insert(name);
            }
        }
        for (name, passes) in before.passes {
            *self.passes.entry(name).or_default() += passes;
        }
        self
    }

    /// The same for a recipe that counts passes from the beginning of the last plan.
    #[must_use]
    pub fn of_last(self) -> Self {
        Self { passes: self.own.clone(), ..self }
    }

    fn add(
        &mut self,
        source: &Arc<SourceRows>,
        given: Given,
        interrupt: &Interrupt,
    ) -> Result<(), EpochError> {
        let name = source.rules().name.to_string();
        self.known |= source.pinned().documents();
        let first = given.state.pass;
        let most = source.rules().max_repeats;
        let last = given.rows.last_key_value().map_or(first, |(pass, _)| first.max(*pass));
        self.passes.insert(name.clone(), last);
        if last >= most {
            self.over.insert(name);
            return Ok(());
        }
        if source.rules().replace {
            return Err(EpochError::Recipe(
                "a curriculum with replacement has no remainder: any of its documents may come at any time".to_owned(),
            ));
        }
        let (mut layers, mut parts) = (Vec::new(), Vec::new());
        for pass in first..=last {
            let mut consumed = Consumed::default();
            if pass == first {
                walk(source, &given.state, &given.never, &mut consumed, interrupt)?;
            }
            let policy = source.rules().policy;
            for row in given.rows.get(&pass).into_iter().flatten() {
                source
                    .segments_without_repeated(row)?
                    .iter()
                    .for_each(|segment| consumed.add(segment, &policy));
            }
            leave_partial(source, pass, pass < last, &mut consumed)?;
            for pool in source.pinned().pools_of(pass) {
                let left = consumed.left(pool, &policy);
                left.layers.into_iter().for_each(|layer| add_copies(&mut layers, layer));
                parts.extend(left.parts);
            }
        }
        if self.is_over(source, &given, &layers, &parts)? {
            // The open window has given all of it.
            self.passes.insert(name.clone(), last + 1);
            if last + 1 >= most {
                self.over.insert(name);
                return Ok(());
            }
            let pools = source.pinned().pools_of(last + 1);
            for pool in pools {
                pool.layers.iter().for_each(|layer| add_copies(&mut layers, layer.clone()));
                parts.extend(&pool.fragments);
            }
        }
        layers.into_iter().for_each(|layer| add_copies(&mut self.layers, layer));
        self.parts.extend(parts);
        Ok(())
    }

    /// Whether a pass with rows in the open window has no packed tokens left.
    fn is_over(
        &self,
        source: &SourceRows,
        given: &Given,
        layers: &[RoaringTreemap],
        parts: &[Fragment],
    ) -> Result<bool, EpochError> {
        if given.rows.is_empty() || !parts.is_empty() {
            return Ok(false);
        }
        for layer in layers {
            if !source.packed_of(layer)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What a first pass over `documents` holds: what is left of those that the plan knew, and the new
    /// ones as often as `whole` has them.
    pub fn left(&self, documents: &RoaringTreemap, whole: &[RoaringTreemap]) -> PinnedPool {
        let layers = self.layers.len().max(whole.len());
        let empty = RoaringTreemap::new();
        let layer = |k: usize| {
            let old = self.layers.get(k).unwrap_or(&empty) & documents;
            old | (whole.get(k).unwrap_or(&empty) - &self.known)
        };
        let parts = self.parts.iter().filter(|part| documents.contains(part.document.0));
        PinnedPool { layers: (0..layers).map(layer).collect(), fragments: parts.copied().collect() }
    }

    /// Passes that a source still has of `max_repeats`, the one under way among them, and whether the
    /// next one begins again: those of the parent are over, and the recipe allows more.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when the recipe allows fewer passes than are over.
    pub fn passes_left(&self, name: &str, max_repeats: u32) -> Result<(u32, bool), EpochError> {
        let over = self.passes.get(name).copied().unwrap_or(0);
        if over > max_repeats {
            return Err(EpochError::Recipe(format!(
                "source `{name}` has had {over} passes, more than the max_repeats = {max_repeats} of this recipe"
            )));
        }
        Ok(((max_repeats - over).max(1), self.over.contains(name) && over < max_repeats))
    }
}

/// What fills no row at the end of a pass stays left out when the pass is over: `is_over`, or when nothing else of
/// it is left.
fn leave_partial(
    source: &Arc<SourceRows>,
    pass: u32,
    is_over: bool,
    consumed: &mut Consumed,
) -> Result<(), EpochError> {
    let partial = source.partial(pass)?;
    if partial.is_empty() {
        return Ok(());
    }
    let policy = source.rules().policy;
    let mut all = consumed.clone();
    partial.iter().for_each(|segment| all.add(segment, &policy));
    let mut any = false;
    for pool in source.pinned().pools_of(pass).filter(|_| !is_over) {
        let left = all.left(pool, &policy);
        any |= !left.parts.is_empty();
        for layer in &left.layers {
            any |= !source.packed_of(layer)?.is_empty();
        }
    }
    if !any {
        *consumed = all;
    }
    Ok(())
}

/// Adds one more copy of every document of `more` to layers; layer `k` has the documents that come more than `k` times.
fn add_copies(layers: &mut Vec<RoaringTreemap>, mut more: RoaringTreemap) {
    for layer in layers.iter_mut() {
        let carried = &*layer & &more;
        *layer |= &more;
        more = carried;
        if more.is_empty() {
            return;
        }
    }
    if !more.is_empty() {
        layers.push(more);
    }
}

/// Counts what of a source came between the beginning of the pass that `state` is in and `state`, without the
/// rows that were `never` given.
fn walk(
    source: &Arc<SourceRows>,
    state: &SourcePosition,
    never: &BTreeMap<RowPlace, u64>,
    consumed: &mut Consumed,
    interrupt: &Interrupt,
) -> Result<(), EpochError> {
    let start = SourcePosition { pass: state.pass, ..SourcePosition::default() };
    let mut cursor = SourceCursor::at(Arc::clone(source), &start)?;
    let policy = source.rules().policy;
    let mut never = never.clone();
    while !state.is_at_start() && cursor.state() != *state {
        interrupt.check()?;
        let row = cursor.take()?.ok_or_else(|| EpochError::bug("a pass ended too soon"))?;
        if let Some(times) = never.get_mut(&row).filter(|times| **times > 0) {
            *times -= 1;
            continue;
        }
        for segment in source.segments_without_repeated(&row)? {
            consumed.add(&segment, &policy);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_added_layer_by_layer() {
        let of = |ids: &[u64]| ids.iter().copied().collect::<RoaringTreemap>();
        let mut layers = vec![of(&[1, 2, 3]), of(&[2])];
        add_copies(&mut layers, of(&[2, 3, 4]));
        assert_eq!(layers, [of(&[1, 2, 3, 4]), of(&[2, 3]), of(&[2])]);
        add_copies(&mut layers, of(&[]));
        assert_eq!(layers.len(), 3);
    }
}
