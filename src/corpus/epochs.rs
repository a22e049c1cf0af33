//! The epochs of a corpus: planned, told, given row by row, written and verified.

use super::{Corpus, CorpusWriter};
use crate::curate;
use crate::epoch::{
    self, Against, BuildJob, Epoch, EpochError, Explanation, Manifest, PinnedSource, Plan, Planned,
    Recipe, Rest, TokenEnds, Verification,
};
use crate::error::Error;
use crate::model::{Context, DocId, Interrupt, Progress};
use crate::store::{CommitRecord, EpochRecord, Fault, MarksRecord, StoreError, View};
use crate::tokenizer::Tokenizer;
use std::path::Path;
use std::sync::Arc;

/// Plans that are named one by one where one was asked for that is not there.
const SHOWN: usize = 12;

/// Bytes of marks that one commit stores, and those of one epoch more.
const MARKS_BYTES: usize = 8 << 20;

impl Corpus {
    /// Plans an epoch without storing it: against the recipe's snapshot, or else this moment.
    ///
    /// # Errors
    /// [`Error::Epoch`] when the recipe cannot be met.
    pub fn plan(&self, recipe: &Recipe, progress: &dyn Progress) -> Result<Planned, Error> {
        let never = Interrupt::default();
        plan_at(&self.view, recipe, &Context::new(progress, &never, self.memory))
    }

    /// A stored plan with what it pins.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan or it is damaged.
    pub fn stored_plan(&self, number: u32) -> Result<Planned, Error> {
        stored_plan(&self.view, number)
    }

    /// The stored plans.
    ///
    /// # Errors
    /// [`Error::Store`] when they cannot be read.
    pub fn epochs(&self) -> Result<Vec<EpochRecord>, Error> {
        Ok(self.view.epochs()?)
    }

    /// What an epoch of a plan will be.
    ///
    /// # Errors
    /// [`Error::Epoch`] when lengths cannot be read.
    pub fn explain(&self, planned: &Planned, interrupt: &Interrupt) -> Result<Explanation, Error> {
        Ok(epoch::explain(&self.view, planned, interrupt)?)
    }

    /// How many documents of a plan's sources are on neither side of its holdout: lineages met in them of which
    /// one is trained on and another held out. None where it has no holdout.
    ///
    /// # Errors
    /// [`Error::Epoch`] when lineages cannot be read.
    pub fn undecided(&self, planned: &Planned) -> Result<Option<u64>, Error> {
        let plan = &planned.plan;
        let count = plan.recipe.select.holdout.as_ref().map(|_| epoch::undecided(&self.view, plan));
        Ok(count.transpose()?)
    }

    /// Opens epoch number `epoch` of a plan: its rows and batches, any of them and in order.
    ///
    /// # Errors
    /// [`Error::Epoch`] when `max_repeats` does not reach that far, or the store is not the plan's.
    pub fn epoch(
        &self,
        planned: &Planned,
        epoch: u64,
        interrupt: &Interrupt,
    ) -> Result<Epoch, Error> {
        Ok(Epoch::open(&self.view, planned, epoch, interrupt)?)
    }

    /// Marks that are stored with plans and are not those of their epochs.
    pub(super) fn check_marks(&self) -> Result<Vec<Fault>, Error> {
        let mut faults = Vec::new();
        for record in self.view.epochs()? {
            if !self.view.marked_epochs(record.number)?.is_empty() {
                let planned = stored_plan(&self.view, record.number)?;
                faults.extend(epoch::check_marks(&self.view, &planned)?);
            }
        }
        Ok(faults)
    }

    /// The row of a plan's run that comes after `rows` rows were given from the beginning of epoch `epoch`
    /// on, as trainers count them: batches times their rows, rows of pads included, over as many epochs as
    /// it takes.
    ///
    /// # Errors
    /// [`Error::Epoch`] when `max_repeats` does not reach that far.
    pub fn run_row(
        &self,
        planned: &Planned,
        epoch: u64,
        rows: u64,
        interrupt: &Interrupt,
    ) -> Result<u64, Error> {
        Ok(Epoch::open(&self.view, planned, epoch, interrupt)?.run_row_after(rows, interrupt)?)
    }

    /// Writes epoch number `epoch` of a plan to the directory `out`.
    ///
    /// # Errors
    /// [`Error::Epoch`] when `out` is in use, or ids cannot be read or written.
    pub fn build(&self, planned: &Planned, job: &BuildJob<'_>) -> Result<Manifest, Error> {
        let BuildJob { epoch, out, threads, progress, interrupt } = *job;
        let context = Context::new(progress, interrupt, self.memory).with_threads(threads);
        let answer = epoch::build(&self.view, planned, epoch, out, &context)?;
        progress.end();
        Ok(answer)
    }

    /// Reads a written epoch back and checks it against its plan and the store.
    ///
    /// # Errors
    /// [`Error::Epoch`] when the store cannot be read; what is wrong with the files is in the answer.
    pub fn verify(
        &self,
        planned: &Planned,
        directory: &Path,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<Verification, Error> {
        let context = Context::new(progress, interrupt, self.memory);
        let answer = epoch::verify(&self.view, planned, directory, &context)?;
        progress.end();
        Ok(answer)
    }
}

impl CorpusWriter {
    /// Plans an epoch and stores the plan, with marks along its first epoch; a recipe without a snapshot makes and
    /// pins one of this moment. The same plan is stored once: planning it again answers the stored one.
    ///
    /// # Errors
    /// [`Error::Epoch`] when the recipe cannot be met.
    pub fn plan(
        &mut self,
        recipe: &Recipe,
        progress: &dyn Progress,
    ) -> Result<(EpochRecord, Planned), Error> {
        self.plan_epochs(recipe, 1, progress, &Interrupt::default())
    }

    /// As [`CorpusWriter::plan`], with marks along the first `epochs` epochs, as [`CorpusWriter::mark_epochs`]
    /// makes them.
    ///
    /// # Errors
    /// [`Error::Epoch`] when the recipe cannot be met or has fewer epochs; a plan that is new is then not stored.
    pub fn plan_epochs(
        &mut self,
        recipe: &Recipe,
        epochs: u64,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<(EpochRecord, Planned), Error> {
        let recipe = self.pinned_to_now(recipe)?;
        let context = Context::new(progress, interrupt, self.memory);
        let planned = plan_at(self.view(), &recipe, &context)?;
        self.store_plan(planned, epochs, &context)
    }

    /// Stores marks along the first `epochs` epochs of plan `number`, where they are not yet: an epoch that has them
    /// is opened without a walk over its rows, by any number of readers. An epoch is walked once for it, at some 100
    /// ns a row, and its marks take some 15 bytes a source, 8,192 times at most. An epoch of whole passes over one
    /// source needs none. How many epochs got marks is the answer; after an interrupt those that were walked have
    /// theirs.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan, it has fewer epochs, or it does not fit the corpus any more.
    pub fn mark_epochs(
        &mut self,
        number: u32,
        epochs: u64,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<u64, Error> {
        let view = self.view().clone();
        let planned = stored_plan(&view, number)?;
        let (mut marked, mut found) = (0, Vec::new());
        let context = Context::new(progress, interrupt, self.memory);
        let walked = epoch::unmarked(&view, &planned, epochs, &context, |marks| {
            marked += 1;
            found.push(marks);
            let held: usize = found.iter().map(MarksRecord::bytes).sum();
            if held > MARKS_BYTES { self.store_marks(number, &mut found) } else { Ok(()) }
        });
        self.store_marks(number, &mut found)?;
        walked?;
        progress.end();
        Ok(marked)
    }

    fn store_marks(&mut self, number: u32, found: &mut Vec<MarksRecord>) -> Result<(), Error> {
        if found.is_empty() {
            return Ok(());
        }
        let mut batch = self.writer.begin()?;
        for marks in found.drain(..) {
            batch.put_marks(number, &marks)?;
        }
        let (kind, subject) = ("epoch".to_owned(), format!("{number} marked"));
        batch.commit(&CommitRecord { kind, subject, ..CommitRecord::default() })?;
        Ok(())
    }

    /// Plans what is left of plan `parent` once `next_row` rows of its run are consumed, with whatever
    /// the snapshot of `recipe` has that is new: nothing that was consumed comes again within its pass,
    /// nothing that was not is lost. Without a recipe, that of the parent is taken, of this moment.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan or row, or the recipe cannot be met.
    pub fn extend(
        &mut self,
        parent: u32,
        next_row: u64,
        recipe: Option<&Recipe>,
        progress: &dyn Progress,
        interrupt: &Interrupt,
    ) -> Result<(EpochRecord, Planned), Error> {
        let chain = chain_of(self.view(), parent)?;
        let of_parent = chain.last().map(|parent| parent.plan.recipe.clone());
        let of_parent = of_parent.map(|recipe| Recipe { snapshot: None, ..recipe });
        let given = recipe.or(of_parent.as_ref());
        let given = given.ok_or_else(|| EpochError::Bug("an extension of no plan".to_owned()))?;
        let pinned = self.pinned_to_now(given)?;
        let rest = Rest { chain: &chain, next_row, inherits: recipe.is_none() };
        let context = Context::new(progress, interrupt, self.memory);
        let planned = against(self.view(), &pinned, |against| {
            epoch::extend(against, &rest, &pinned, &context)
        })?;
        progress.end();
        self.store_plan(planned, 1, &context)
    }

    /// Forgets a stored plan with the documents it pins and its marks. An epoch that was built of it cannot be verified any
    /// more. Its number is not given again.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan, or another plan goes on from it.
    pub fn drop_plan(&mut self, number: u32) -> Result<(), Error> {
        let planned = stored_plan(self.view(), number)?;
        let hash = blake3::Hash::from_bytes(planned.plan.hash()).to_hex();
        for record in self.view().epochs()? {
            let ledger = Plan::from_json(&record.plan).ok().and_then(|plan| plan.parent);
            if ledger.is_some_and(|ledger| ledger.plan == hash.as_str()) {
                return Err(EpochError::Needed { plan: number, by: record.number }.into());
            }
        }
        let mut batch = self.writer.begin()?;
        batch.drop_epoch(number)?;
        batch.commit(&CommitRecord {
            kind: "epoch".to_owned(),
            subject: format!("{number} dropped"),
            ..CommitRecord::default()
        })?;
        Ok(())
    }

    fn pinned_to_now(&mut self, recipe: &Recipe) -> Result<Recipe, Error> {
        let mut recipe = recipe.clone();
        if recipe.snapshot.is_none() {
            // Plans and snapshots are commits too, but change nothing that a snapshot shows.
            recipe.snapshot = Some(self.writer.snapshot_of_now()?);
        }
        Ok(recipe)
    }

    fn store_plan(
        &mut self,
        planned: Planned,
        epochs: u64,
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Planned), Error> {
        let hash = planned.plan.hash();
        if let Some(record) = self.view().epochs()?.into_iter().find(|record| record.hash == hash) {
            self.mark_epochs(record.number, epochs, context.progress, context.interrupt)?;
            let stored = Some(record.number);
            return Ok((record, Planned { stored, ..planned }));
        }
        let mut marks = Vec::new();
        epoch::unmarked(self.view(), &planned, epochs, context, |record| {
            marks.push(record);
            Ok::<(), EpochError>(())
        })?;
        context.progress.end();
        let plan = &planned.plan;
        let record = EpochRecord {
            number: 0,
            hash,
            snapshot: plan.snapshot.name.clone(),
            plan: plan.to_json(),
        };
        let encoded =
            planned.pinned.iter().map(|pinned| Ok((pinned.name.clone(), pinned.encode()?)));
        let parts: Vec<(String, Vec<u8>)> = encoded.collect::<Result<_, EpochError>>()?;
        let mut batch = self.writer.begin()?;
        let record = batch.add_epoch(record, &parts)?;
        for marks in &marks {
            batch.put_marks(record.number, marks)?;
        }
        let subject = record.number.to_string();
        batch.commit(&CommitRecord {
            kind: "epoch".to_owned(),
            subject,
            ..CommitRecord::default()
        })?;
        let stored = Some(record.number);
        Ok((record, Planned { stored, ..planned }))
    }
}

/// A stored plan with those that it goes on from, the first one first.
fn chain_of(view: &View, number: u32) -> Result<Vec<Planned>, Error> {
    let mut chain = vec![stored_plan(view, number)?];
    let epochs = view.epochs()?;
    while let Some(ledger) = chain.last().and_then(|planned| planned.plan.parent.clone()) {
        let of_hash = |record: &&EpochRecord| {
            blake3::Hash::from_bytes(record.hash).to_hex().as_str() == ledger.plan
        };
        let Some(record) = epochs.iter().find(of_hash) else {
            return Err(EpochError::Stale(format!(
                "plan {} goes on from a plan that this corpus does not have any more; what that one consumed is not known",
                number
            ))
            .into());
        };
        chain.push(stored_plan(view, record.number)?);
    }
    chain.reverse();
    Ok(chain)
}

/// Tells where tokens end by encoding a text again.
struct Ends<'a> {
    view: &'a View,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl TokenEnds for Ends<'_> {
    fn ends(&self, document: DocId, text: &str) -> Result<Option<Vec<u32>>, String> {
        let Some(tokenizer) = &self.tokenizer else { return Ok(None) };
        let form = self.view.text_form(document).map_err(|error| error.to_string())?;
        let form = form.unwrap_or_default();
        if form.given.is_some() {
            return Ok(None);
        }
        let encoded = tokenizer.encode_with_offsets(text, form.specials);
        let (_, offsets) = encoded.map_err(|error| error.to_string())?;
        Ok(Some(offsets.into_iter().map(|(_, end)| end).collect()))
    }
}

fn plan_at(view: &View, recipe: &Recipe, context: &Context<'_>) -> Result<Planned, Error> {
    let planned = against(view, recipe, |against| epoch::plan(against, recipe, context))?;
    context.progress.end();
    Ok(planned)
}

fn against(
    view: &View,
    recipe: &Recipe,
    plan: impl FnOnce(&Against<'_>) -> Result<Planned, EpochError>,
) -> Result<Planned, Error> {
    let (snapshot, kept) = match &recipe.snapshot {
        None => ("now".to_owned(), view.kept()?),
        Some(name) => {
            if view.snapshot(name)?.is_none() {
                let known: Vec<String> =
                    view.snapshots()?.into_iter().map(|record| record.name).collect();
                let known = if known.is_empty() {
                    "none; leave `snapshot` out to make one".to_owned()
                } else {
                    known.join(", ")
                };
                return Err(
                    EpochError::Unknown { what: "snapshot", name: name.clone(), known }.into()
                );
            }
            (name.clone(), view.snapshot_kept(name)?)
        }
    };
    let mut tokenizer = None;
    if recipe.cuts_at_paragraphs() {
        let mut all = view.tokenizers();
        let found = all.find(|(_, record)| {
            recipe.tokenizer.name.as_ref().is_none_or(|name| *name == record.name)
        });
        if let Some((_, record)) = found {
            tokenizer = Some(curate::load(view, Some(&record.name))?.tokenizer);
        }
    }
    let ends = Ends { view, tokenizer };
    let against = Against { view, snapshot: &snapshot, kept: &kept, ends: Some(&ends) };
    Ok(plan(&against)?)
}

fn stored_plan(view: &View, number: u32) -> Result<Planned, Error> {
    let Some(record) = view.epoch(number)? else {
        let epochs = view.epochs()?;
        let known = match epochs.last() {
            None => "none; make one with `corpusdb epoch plan`".to_owned(),
            Some(last) => {
                let from = epochs.len().saturating_sub(SHOWN);
                let shown = epochs.iter().skip(from).map(|record| record.number.to_string());
                let shown = shown.collect::<Vec<_>>().join(", ");
                let more = format!(
                    "a list of {} plans up to {}: `corpusdb epoch list`",
                    epochs.len(),
                    last.number
                );
                if from == 0 { shown } else { more }
            }
        };
        return Err(EpochError::Unknown { what: "plan", name: number.to_string(), known }.into());
    };
    let plan = Plan::from_json(&record.plan)?;
    let mut pinned = Vec::new();
    for source in &plan.sources {
        let part = view.epoch_part(number, &source.name)?.ok_or_else(|| StoreError::Missing {
            what: "epoch selection",
            family: "epochs",
            key: format!("{number} {}", source.name),
        })?;
        pinned.push(Arc::new(PinnedSource::decode(&source.name, &part)?));
    }
    Ok(Planned { plan, pinned, stored: Some(number) })
}
