//! The calls of [`Corpus`] and [`CorpusWriter`] about plans: find, explain, stream, build, verify, mark, drop.

use super::{
    BuildJob, Epoch, Explanation, GroupingSteps, Manifest, MultiplierSweep, Plan, StreamOptions,
    Verification,
};
use crate::corpus::{Corpus, CorpusWriter, shown_destination};
use crate::epoch;
use model::{Context, Error};
use std::path::Path;
use store::{OutputBatches, OutputKind, OutputRecord, View};

impl Corpus {
    /// A stored plan with what it pins.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when there is no such plan or it is damaged.
    pub fn stored_plan(&self, number: u32) -> Result<Plan, Error> {
        Ok(epoch::stored_plan(self.view(), number)?)
    }

    /// What an epoch of a plan will be.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when lengths cannot be read.
    pub fn explain(&self, planned: &Plan, context: &Context<'_>) -> Result<Explanation, Error> {
        Ok(epoch::explain(self.corpora(), planned, context)?)
    }

    /// How the rows of the first `mega_batches` mega-batches of an epoch are grouped by length, step by step, as far as
    /// the batches: of a plan with `order.kind = "length-grouped"`.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when rows are not grouped by length, or more than 64 mega-batches are
    /// asked for; when lengths cannot be read.
    pub fn grouping_steps(
        &self,
        planned: &Plan,
        mega_batches: u64,
        context: &Context<'_>,
    ) -> Result<GroupingSteps, Error> {
        Ok(epoch::grouping_steps(self.corpora(), planned, mega_batches, context.interrupt)?)
    }

    /// What other multipliers of the mega-batch would cost in pads, and leave to chance: of a plan with `order.kind =
    /// "length-grouped"`. Reads lengths only, of at most 1,048,576 rows.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when rows are not grouped by length, or lengths cannot be read.
    pub fn sweep_multipliers(
        &self,
        planned: &Plan,
        context: &Context<'_>,
    ) -> Result<MultiplierSweep, Error> {
        Ok(epoch::sweep_multipliers(self.corpora(), planned, context.interrupt)?)
    }

    /// Notes for people who train on a plan, a line each: rows and batches without a label, answers that are cut,
    /// special tokens that come twice. [`Corpus::explain`] has them as numbers.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when rows cannot be read.
    pub fn plan_notes(&self, planned: &Plan, context: &Context<'_>) -> Result<Vec<String>, Error> {
        Ok(epoch::plan_notes(self.corpora(), planned, context)?)
    }

    /// How many documents of a plan's sources are on neither side of its holdout: lineages met in them of which
    /// one is trained on and another held out. None where it has no holdout, or its snapshot was dropped.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when lineages cannot be read.
    pub fn undecided(&self, planned: &Plan) -> Result<Option<u64>, Error> {
        Ok(epoch::undecided(self.corpora(), &planned.plan, &Context::new())?)
    }

    /// How many documents a plan draws that a removal has taken out since its snapshot was made: they are trained on
    /// all the same, unless the recipe says `exclude_removed`.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when rows cannot be read.
    pub fn removed_since(&self, planned: &Plan) -> Result<u64, Error> {
        Ok(epoch::removed_since(self.corpora(), planned)?)
    }

    /// Refuses a plan some of whose documents were purged, as far as this corpus shows. A program that reads a plan
    /// for long should ask a corpus that it opens again after commits ([`Corpus::journal_bytes`]).
    ///
    /// # Errors
    /// [`EpochError::Purged`](crate::epoch::EpochError::Purged).
    pub fn refuse_purged(&self, planned: &Plan) -> Result<(), Error> {
        Ok(epoch::refuse_purged(self.corpora(), planned)?)
    }

    /// Opens epoch number `epoch` of a plan: its rows and batches, any of them and in order.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when `max_repeats` does not reach that far, or the store is not the
    /// plan's.
    pub fn epoch(&self, planned: &Plan, epoch: u64, context: &Context<'_>) -> Result<Epoch, Error> {
        Ok(Epoch::open(self.corpora(), planned, epoch, context)?)
    }

    /// Writes epoch number `epoch` of a plan to the directory `out`.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when `out` is in use, or ids cannot be read or written.
    pub fn build(
        &self,
        planned: &Plan,
        job: &BuildJob<'_>,
        context: &Context<'_>,
    ) -> Result<Manifest, Error> {
        let BuildJob { epoch, out } = *job;
        let context = self.within(context);
        let answer = epoch::build(self.corpora(), planned, epoch, out, &context)?;
        context.progress.end();
        Ok(answer)
    }

    /// Works like [`Corpus::build`], and puts the epoch on record: plan, epoch, where it went, and `time`
    /// (microseconds since 1970). The second answer is its number in the table `outputs`, or why it has none.
    ///
    /// # Errors
    /// As [`Corpus::build`].
    pub fn build_on_record(
        &self,
        planned: &Plan,
        job: &BuildJob<'_>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<(Manifest, Result<u32, Error>), Error> {
        let manifest = self.build(planned, job, context)?;
        let hash = blake3::hash(manifest.to_json().as_bytes()).to_hex().to_string();
        let recorded = self.put_on_record(&OutputRecord {
            kind: OutputKind::Epoch,
            destination: shown_destination(job.out),
            commit: self.view().commit().0,
            batches: Some(OutputBatches {
                plan: planned.number(),
                hash: manifest.plan.clone(),
                epoch: manifest.epoch,
                end: manifest.totals.batches.unwrap_or(manifest.totals.rows),
                ..OutputBatches::default()
            }),
            manifest: Some(hash),
            time,
            ..OutputRecord::default()
        });
        Ok((manifest, recorded))
    }

    /// Puts a stream of an epoch that begins on record: plan, epoch, rank and the first batch. A stream that continues
    /// where the same rank was stopped extends that entry. `to` says where its batches go.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) where nobody may write to the corpus: the stream is not on record.
    pub fn record_stream(
        &self,
        planned: &Plan,
        epoch: &Epoch,
        options: &StreamOptions,
        (to, time): (&str, Option<i64>),
    ) -> Result<StreamEntry, Error> {
        let record = OutputRecord {
            kind: OutputKind::Stream,
            destination: to.to_owned(),
            commit: self.view().commit().0,
            batches: Some(OutputBatches {
                plan: planned.number(),
                hash: planned.plan.hash_hex(),
                epoch: epoch.number(),
                first: options.from_batch,
                end: epoch.batches(),
                rank: Some((options.rank, options.world)),
                is_open: true,
            }),
            time,
            ..OutputRecord::default()
        };
        let (number, record, before) = self.view().leave_stream(record)?;
        let before = before.and_then(|before| before.batches);
        Ok(StreamEntry { view: self.view().clone(), number, record, before })
    }

    /// Reads a written epoch back and checks it against its plan and the store.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when the store cannot be read; what is wrong with the files is in the
    /// answer.
    pub fn verify(
        &self,
        planned: &Plan,
        directory: &Path,
        context: &Context<'_>,
    ) -> Result<Verification, Error> {
        let context = self.within(context);
        let answer = epoch::verify(self.corpora(), planned, directory, &context)?;
        context.progress.end();
        Ok(answer)
    }
}

/// A stream on record that is under way. Until it ends, and where it is stopped before that, its entry says that all
/// batches up to the end of the epoch may have gone out.
#[must_use]
pub struct StreamEntry {
    view: View,
    number: u32,
    record: OutputRecord,
    /// What its entry said of the run that it continues.
    before: Option<OutputBatches>,
}

impl StreamEntry {
    /// Its number in the table `outputs`.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The stream has ended, or was closed, before the global batch `next`.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) where the entry cannot be written: it then says more than was given.
    pub fn end(self, next: u64) -> Result<(), Error> {
        let Self { view, number, mut record, before } = self;
        if let Some(batches) = &mut record.batches {
            batches.end = next.max(before.map_or(0, |before| before.end));
            batches.is_open = false;
        }
        Ok(view.extend_output(number, &record)?)
    }
}

impl CorpusWriter {
    /// Stores marks along the first `epochs` epochs of plan `number`, where they are missing, and answers how many
    /// epochs got marks. Any number of readers open an epoch with marks without a walk over its rows. An epoch is
    /// walked once for its marks, at about 100 ns a row; a mark takes about 15 bytes a source, and an epoch has at
    /// most 8,192. An epoch of whole passes over one source needs none. After an interrupt the epochs that were walked
    /// have their marks.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when there is no such plan, it has fewer epochs, or it does not fit
    /// the corpus any more.
    pub fn mark_epochs(
        &mut self,
        number: u32,
        epochs: u64,
        context: &Context<'_>,
    ) -> Result<u64, Error> {
        let context = self.within(context);
        let others = self.other_views();
        Ok(epoch::mark_epochs(self.store(), &others, number, epochs, &context)?)
    }

    /// Forgets a stored plan with the documents it pins and its marks. An epoch that was built of it cannot be verified
    /// any more. Its number is not given again.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when there is no such plan, or another plan extends it.
    pub fn drop_plan(&mut self, number: u32) -> Result<(), Error> {
        Ok(epoch::drop_plan(self.store(), number)?)
    }
}
