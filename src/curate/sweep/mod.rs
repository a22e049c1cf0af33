//! What each of several thresholds and shingle sizes would remove, side by side, from stored sketches and texts.
//!
//! `texts` reads the documents and makes sketches of another shingle size; `buckets` finds the texts that share one, in
//! components that no pair leaves; `component` decides those of one component at each threshold, with the exact
//! similarities; `tally` counts.
//!
//! Candidates at a threshold are those of a corpus that is decided again by it: texts that share one of the threshold's
//! own bands and whose sketches are close enough. So every count is that of a `dedup redo`, or, where the shingle size
//! is another, of a corpus that was made with it.

mod buckets;
mod component;
mod tally;
mod texts;

use crate::corpus::Corpus;
use crate::inspect::InspectError;
use crate::inspect::duplicates::{
    DedupSweep, SimilarityQuartiles, SweepLine, SweepOptions, SweepRemovals,
};
use crate::sql::DocumentFilter;
use buckets::SizeSweep;
use model::{Context, DedupMode, Error, ErrorKind, Hint, Policy, show};
use store::{View, check_keep_order};
use texts::SweepTexts;

/// Thresholds of a sweep that names none.
const THRESHOLDS: [f64; 6] = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
/// Shingle sizes of a sweep that names none.
const SHINGLES: [u32; 3] = [3, 5, 7];
/// Bytes of code that an ingest takes in per second on one core (docs/BENCHMARKS.md): sketches alone take less.
const BYTES_PER_SECOND: f64 = 26e6;

impl Corpus {
    /// What each of several thresholds and shingle sizes would remove, under the dedup policy or another one that the
    /// stored sketches serve: how many documents, in which clusters, how similar to what is kept, and how many of them
    /// only without verification. Candidates are found by the bands that each threshold would have, and compared by
    /// their texts, so that the counts are those of decisions under each policy.
    ///
    /// Sketches of the corpus's own shingle size are read; for each other size they are made from all texts. All
    /// sketches are held in memory.
    ///
    /// # Errors
    /// [`Error`] for settings, a condition or a source that cannot be used, for more documents than the memory holds,
    /// or after a stop.
    pub fn sweep_dedup(
        &self,
        other: Option<&Policy>,
        options: &SweepOptions,
        context: &Context<'_>,
    ) -> Result<DedupSweep, Error> {
        let policy = self.view().policy();
        policy.check()?;
        sweep_dedup(self.view(), other.unwrap_or(policy), options, &self.within(context))
    }
}

/// Compares thresholds and shingle sizes under an otherwise unchanged policy, `base`. Nothing is written.
///
/// # Errors
/// [`Error`] for a threshold or shingle size that cannot be had, for a policy that needs other sketches, when the
/// documents need more memory than the context gives, when rows cannot be read, or after a stop.
fn sweep_dedup(
    view: &View,
    base: &Policy,
    options: &SweepOptions,
    context: &Context<'_>,
) -> Result<DedupSweep, Error> {
    if let Some((asked, stored)) = view.policy().fixed_against(base) {
        return Err(InspectError::Fixed { asked, stored }.into());
    }
    check_keep_order(&base.keep, view.fields())?;
    let sizes = policies(base, options)?;
    // After a stopped redo the stored sketches may still be those of the policy before.
    let is_stored =
        base.has_fingerprints_of(view.stored_policy()) && view.refingerprinted()?.is_none();
    let under = view.with_policy(base.clone(), view.generation());
    let chosen = match options.filter == DocumentFilter::default() {
        true => None,
        false => Some(options.filter.clone().with_interrupt(context.interrupt).select(view)?),
    };
    let texts = SweepTexts::read(&under, chosen, is_stored, context)?;
    note_texts_read(&texts, (base, is_stored), &sizes, context);
    let mut lines = Vec::new();
    for policies in &sizes {
        let is_stored = is_stored && policies.iter().all(|policy| policy.shingle == base.shingle);
        let sweep = SizeSweep::new(&under, &texts, policies, is_stored, context)?;
        for (policy, tally) in policies.iter().zip(component::tallies(&sweep)?) {
            lines.push(tally.line(policy, base, texts.documents));
        }
    }
    context.progress.end();
    Ok(DedupSweep {
        documents: texts.documents,
        texts: texts.texts.len() as u64,
        bytes: texts.bytes,
        lines,
    })
}

/// The policies of each shingle size, by threshold.
fn policies(base: &Policy, options: &SweepOptions) -> Result<Vec<Vec<Policy>>, Error> {
    let named = |given: &[f64]| if given.is_empty() { THRESHOLDS.to_vec() } else { given.to_vec() };
    let mut thresholds = named(&options.thresholds);
    thresholds.push(base.threshold);
    thresholds.sort_by(f64::total_cmp);
    thresholds.dedup();
    let mut shingles = match options.shingles.is_empty() {
        true => SHINGLES.to_vec(),
        false => options.shingles.clone(),
    };
    shingles.push(base.shingle);
    shingles.sort_unstable();
    shingles.dedup();
    let policy = |shingle: u32, threshold: f64| -> Result<Policy, Error> {
        let mut policy = Policy { mode: DedupMode::Witness, shingle, ..base.clone() };
        if threshold != base.threshold {
            policy.set_threshold(threshold)?;
        }
        policy.check()?;
        Ok(policy)
    };
    let of_size = |shingle: u32| -> Result<Vec<Policy>, Error> {
        thresholds.iter().map(|at| policy(shingle, *at)).collect()
    };
    shingles.into_iter().map(of_size).collect()
}

/// Says what sketches that are not stored cost.
fn note_texts_read(
    texts: &SweepTexts,
    (base, is_stored): (&Policy, bool),
    sizes: &[Vec<Policy>],
    context: &Context<'_>,
) {
    let sizes = sizes.iter().filter_map(|policies| policies.first()).map(|policy| policy.shingle);
    let made: Vec<String> = sizes
        .filter(|shingle| !is_stored || *shingle != base.shingle)
        .map(|shingle| shingle.to_string())
        .collect();
    if made.is_empty() || texts.bytes == 0 {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let seconds = texts.bytes as f64 * made.len() as f64 / BYTES_PER_SECOND;
    let cores = rayon::current_num_threads();
    #[expect(clippy::cast_precision_loss, reason = "threads are few")]
    let seconds = seconds / cores as f64;
    context.progress.note(&format!(
        "sketches of shingles of {} tokens are made from {} texts of {}: about {} on {}",
        show::listed(&made),
        show::number(texts.texts.len() as u64),
        show::size(texts.bytes),
        show::seconds(seconds),
        show::count(cores as u64, "core", "cores")
    ));
}

/// The error that a sweep needs more memory than it has.
fn too_large(what: &str, bytes: u64, most: u64) -> Error {
    let message = format!(
        "{what} need about {} of memory, and a sweep may take {} for them",
        show::size(bytes),
        show::size(most)
    );
    Error::of(ErrorKind::Failed, message)
        .with_hint(Hint::text("raise `memory=`, or compare a part of the documents: `where=`"))
}
