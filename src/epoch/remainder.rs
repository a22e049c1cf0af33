//! What a plan has left when part of its run is consumed: the documents of each source that the pass
//! under way has not reached, and the parts of those it has reached in part.
//!
//! Each source is walked from the beginning of its pass to where the run stands.

use super::arrange::Arrangement;
use super::consumed::Consumed;
use super::error::EpochError;
use super::index::Index;
use super::open::Opened;
use super::pack::Fragment;
use super::pinned::PinnedPool;
use super::rows::{Cursor, SourceRows, SourceState};
use super::stream::Stream;
use crate::model::Interrupt;
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is left of a plan's passes under way.
pub(super) struct Remainder {
    /// blake3 of the plan, in hexadecimal.
    pub plan: String,
    /// Rows of its run that are consumed.
    pub next_row: u64,
    /// Layer `k`: documents of which more than `k` whole copies are still to come.
    layers: Vec<RoaringTreemap>,
    /// Parts still to come of the others, ascending.
    parts: Vec<Fragment>,
    /// Every document of the plan.
    known: RoaringTreemap,
    /// By name: passes that are over.
    passes: BTreeMap<String, u32>,
    /// Names of the sources that have had all passes the parent allows.
    over: BTreeSet<String>,
}

impl Remainder {
    /// What is left of the plan of `opened` after `next_row` rows of its run.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when the run is not that long; [`EpochError::Interrupted`];
    /// [`EpochError::Store`].
    pub fn of(opened: &Opened, next_row: u64, interrupt: &Interrupt) -> Result<Self, EpochError> {
        let states = states_at(opened, next_row, interrupt)?;
        let mut left = Self {
            plan: opened.plan.hash_hex(),
            next_row,
            layers: Vec::new(),
            parts: Vec::new(),
            known: RoaringTreemap::new(),
            passes: BTreeMap::new(),
            over: BTreeSet::new(),
        };
        for (source, state) in opened.sources.iter().zip(states) {
            left.add(source, &state, interrupt)?;
        }
        left.parts.sort_unstable();
        Ok(left)
    }

    fn add(
        &mut self,
        source: &Arc<SourceRows>,
        state: &SourceState,
        interrupt: &Interrupt,
    ) -> Result<(), EpochError> {
        let name = source.rules().name.to_string();
        self.known |= source.pinned().documents();
        self.passes.insert(name.clone(), state.pass);
        if state.pass >= source.rules().max_repeats {
            self.over.insert(name);
            return Ok(());
        }
        if source.rules().replace {
            return Err(EpochError::Recipe(
                "a curriculum with replacement has no remainder: any of its documents may come at any time".to_owned(),
            ));
        }
        let consumed = between(source, state, interrupt)?;
        let policy = source.rules().policy;
        for pool in source.pinned().pools_of(state.pass) {
            let left = consumed.left(pool, &policy);
            for (k, layer) in left.layers.iter().enumerate() {
                while self.layers.len() <= k {
                    self.layers.push(RoaringTreemap::new());
                }
                if let Some(layers) = self.layers.get_mut(k) {
                    *layers |= layer;
                }
            }
            self.parts.extend(left.parts);
        }
        Ok(())
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
    /// next one begins anew: those of the parent are over, and the recipe allows more.
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

/// Where each source stands after `next_row` rows of the run; at the beginning of a pass when the one
/// before is over.
fn states_at(
    opened: &Opened,
    next_row: u64,
    interrupt: &Interrupt,
) -> Result<Vec<SourceState>, EpochError> {
    let arrangement = Arrangement::of(&opened.plan);
    let mut epoch = 0;
    let state = loop {
        let index = Index::of(opened, &arrangement, epoch, interrupt).map_err(|error| match error {
            EpochError::Infeasible { .. } => EpochError::Recipe(format!(
                "the run of the plan ends before row {next_row}, which cannot have been consumed"
            )),
            other => other,
        })?;
        if next_row <= index.end.row {
            let row = next_row.saturating_sub(index.start.row);
            let mark = index.before_row(row).ok_or_else(|| EpochError::bug("no mark"))?;
            let mut stream = Stream::at(opened, &mark.state)?;
            while stream.row() < next_row {
                stream.next_row()?;
            }
            break stream.state();
        }
        epoch += 1;
    };
    let mut states = Vec::new();
    for (source, state) in opened.sources.iter().zip(&state.sources) {
        let mut cursor = Cursor::at(Arc::clone(source), state)?;
        cursor.peek()?;
        states.push(cursor.state());
    }
    Ok(states)
}

/// What of a source came between the beginning of the pass that `state` is in and `state`.
fn between(
    source: &Arc<SourceRows>,
    state: &SourceState,
    interrupt: &Interrupt,
) -> Result<Consumed, EpochError> {
    let start = SourceState { pass: state.pass, ..SourceState::default() };
    let mut cursor = Cursor::at(Arc::clone(source), &start)?;
    let policy = source.rules().policy;
    let mut consumed = Consumed::default();
    while !state.is_at_start() && cursor.state() != *state {
        if interrupt.is_raised() {
            return Err(EpochError::Interrupted);
        }
        let row = cursor.take()?.ok_or_else(|| EpochError::bug("a pass ended too soon"))?;
        for segment in source.segments(&row)? {
            consumed.add(&segment, &policy);
        }
    }
    Ok(consumed)
}
