//! The texts of a sweep with the sketches of one shingle size: which share a bucket, in components that no pair leaves.

use super::texts::{SweepText, SweepTexts};
use model::invariant::{at, part};
use model::{Context, Error, Interrupted, Policy};
use rayon::prelude::*;
use std::cmp::Reverse;
use std::sync::atomic::AtomicUsize;
use store::View;
use text::dedup::{DisjointSets, Fingerprinter, Sketch, band_keys};

/// Bytes of a key of a bucket beside its document, while both are sorted.
const KEY: usize = 16;

/// The decisions by one shingle size at several thresholds.
pub(super) struct SizeSweep<'s> {
    pub(super) view: &'s View,
    texts: &'s [SweepText],
    sketches: Vec<Option<Sketch>>,
    /// Of one shingle size, by threshold.
    pub(super) policies: &'s [Policy],
    /// Makes shingles; its copies have buffers of their own.
    pub(super) craft: Fingerprinter,
    /// Bytes of shingles that may still be held.
    pub(super) room: AtomicUsize,
    pub(super) context: &'s Context<'s>,
}

impl<'s> SizeSweep<'s> {
    /// Reads or makes the sketches.
    pub(super) fn new(
        view: &'s View,
        texts: &'s SweepTexts,
        policies: &'s [Policy],
        is_stored: bool,
        context: &'s Context<'s>,
    ) -> Result<Self, Error> {
        let policy = policies.first().unwrap_or(view.policy());
        Ok(Self {
            view,
            texts: &texts.texts,
            sketches: texts.sketches(view, policy, is_stored, context)?,
            policies,
            craft: Fingerprinter::new(policy),
            room: AtomicUsize::new(part_of(context, 8)),
            context,
        })
    }

    pub(super) fn text(&self, text: usize) -> &SweepText {
        at(self.texts, text)
    }

    pub(super) fn sketch(&self, text: usize) -> Option<&Sketch> {
        at(&self.sketches, text).as_ref()
    }

    /// The texts that share a bucket with another at some threshold, by component, the largest first, each ascending;
    /// and the texts that share none.
    pub(super) fn components(&self) -> Result<(Vec<Vec<usize>>, Vec<usize>), Interrupted> {
        let members: Vec<usize> = (0..self.texts.len()).collect();
        let mut sets: DisjointSets<usize> = members.iter().copied().collect();
        let mut bandings: Vec<(u32, u32)> = Vec::new();
        for policy in self.policies {
            if !bandings.contains(&(policy.bands, policy.rows)) {
                bandings.push((policy.bands, policy.rows));
                self.join_buckets(&members, policy, &mut sets)?;
            }
        }
        let mut of: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
        for member in members {
            if let Some(of) = of.get_mut(sets.least(member).unwrap_or(member)) {
                of.push(member);
            }
        }
        of.retain(|members| !members.is_empty());
        let (mut several, alone): (Vec<_>, Vec<_>) =
            of.into_iter().partition(|members| members.len() > 1);
        several.sort_by_key(|members| Reverse(members.len()));
        Ok((several, alone.into_iter().flatten().collect()))
    }

    /// Makes one set of the members, which `sets` numbers by their places, that share a bucket of the policy. As many
    /// bands are sorted at once as there is room for.
    pub(super) fn join_buckets(
        &self,
        members: &[usize],
        policy: &Policy,
        sets: &mut DisjointSets<usize>,
    ) -> Result<(), Interrupted> {
        let all = usize::try_from(policy.bands).unwrap_or(usize::MAX);
        let room = part_of(self.context, 16) / rayon::current_num_threads().max(1);
        let at_once = (room / (KEY * members.len().max(1))).clamp(1, all.max(1));
        for first in (0..all).step_by(at_once) {
            self.context.check_interrupt()?;
            let last = (first + at_once).min(all);
            let mut keys: Vec<(u64, u32)> = (0..u32::MAX)
                .into_par_iter()
                .zip(members)
                .flat_map_iter(|(place, member)| {
                    let sketch = self.sketch(*member);
                    let source = self.text(*member).source;
                    let bands = sketch.map(|sketch| band_keys(sketch, policy, source));
                    let bands = (0_u64..).zip(bands.unwrap_or_default());
                    // A hash has 40 bits.
                    let keyed = bands.map(move |(band, hash)| ((band << 40) | hash, place));
                    keyed.skip(first).take(last - first)
                })
                .collect();
            keys.par_sort_unstable();
            for (one, other) in keys.iter().zip(part(&keys, keys.len().min(1)..)) {
                if one.0 == other.0 {
                    sets.join(one.1 as usize, other.1 as usize);
                }
            }
        }
        Ok(())
    }
}

/// A part of the memory of a call.
pub(super) fn part_of(context: &Context<'_>, parts: u64) -> usize {
    usize::try_from(context.memory / parts).unwrap_or(usize::MAX)
}
