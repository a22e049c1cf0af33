//! The epochs of a corpus: planned, told, given row by row, written and verified.

use super::{Corpus, CorpusWriter};
use crate::curate;
use crate::epoch::{
    self, Against, BuildJob, Corpora, Epoch, EpochError, Explanation, Manifest, Planned, Recipe,
    Rest, TokenEnds, Verification,
};
use crate::model::{Context, DocId, Error};
use crate::store::{CheckFault, EpochRecord};
use crate::tokenizer::Tokenizer;
use std::path::Path;
use std::sync::Arc;

impl Corpus {
    /// Plans an epoch without storing it: against the recipe's snapshot, or else this moment.
    ///
    /// # Errors
    /// [`Error::Epoch`] when the recipe cannot be met.
    pub fn plan(&self, recipe: &Recipe, context: &Context<'_>) -> Result<Planned, Error> {
        plan_at(self.corpora(), recipe, None, &self.within(context))
    }

    /// A stored plan with what it pins.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan or it is damaged.
    pub fn stored_plan(&self, number: u32) -> Result<Planned, Error> {
        Ok(epoch::stored_plan(&self.view, number)?)
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
    pub fn explain(&self, planned: &Planned, context: &Context<'_>) -> Result<Explanation, Error> {
        Ok(epoch::explain(self.corpora(), planned, context.interrupt)?)
    }

    /// How many documents of a plan's sources are on neither side of its holdout: lineages met in them of which
    /// one is trained on and another held out. None where it has no holdout, or its snapshot was dropped.
    ///
    /// # Errors
    /// [`Error::Epoch`] when lineages cannot be read.
    pub fn undecided(&self, planned: &Planned) -> Result<Option<u64>, Error> {
        Ok(epoch::undecided(self.corpora(), &planned.plan)?)
    }

    /// How many documents a plan draws that a removal has taken out since its snapshot was made: they are trained on
    /// all the same, unless the recipe says `exclude_removed`.
    ///
    /// # Errors
    /// [`Error::Epoch`] when rows cannot be read.
    pub fn removed_since(&self, planned: &Planned) -> Result<u64, Error> {
        Ok(epoch::removed_since(self.corpora(), planned)?)
    }

    /// Opens epoch number `epoch` of a plan: its rows and batches, any of them and in order.
    ///
    /// # Errors
    /// [`Error::Epoch`] when `max_repeats` does not reach that far, or the store is not the plan's.
    pub fn epoch(
        &self,
        planned: &Planned,
        epoch: u64,
        context: &Context<'_>,
    ) -> Result<Epoch, Error> {
        Ok(Epoch::open(self.corpora(), planned, epoch, context)?)
    }

    /// Marks that are stored with plans and are not those of their epochs.
    pub(super) fn check_marks(&self) -> Result<Vec<CheckFault>, Error> {
        Ok(epoch::check_marks(self.corpora())?)
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
        context: &Context<'_>,
    ) -> Result<u64, Error> {
        Ok(Epoch::open(self.corpora(), planned, epoch, context)?.run_row_after(rows, context)?)
    }

    /// Writes epoch number `epoch` of a plan to the directory `out`.
    ///
    /// # Errors
    /// [`Error::Epoch`] when `out` is in use, or ids cannot be read or written.
    pub fn build(
        &self,
        planned: &Planned,
        job: &BuildJob<'_>,
        context: &Context<'_>,
    ) -> Result<Manifest, Error> {
        let BuildJob { epoch, out } = *job;
        let context = self.within(context);
        let answer = epoch::build(self.corpora(), planned, epoch, out, &context)?;
        context.progress.end();
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
        context: &Context<'_>,
    ) -> Result<Verification, Error> {
        let context = self.within(context);
        let answer = epoch::verify(self.corpora(), planned, directory, &context)?;
        context.progress.end();
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
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Planned), Error> {
        self.plan_epochs(recipe, 1, context)
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
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Planned), Error> {
        let context = self.within(context);
        self.with_snapshot(recipe, |corpus, made| {
            let planned = plan_at(&corpus.corpora(), recipe, made, &context)?;
            let others = corpus.other_views();
            Ok(epoch::store_plan(&mut corpus.writer, &others, planned, epochs, &context)?)
        })
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
        context: &Context<'_>,
    ) -> Result<u64, Error> {
        let context = self.within(context);
        let others = self.other_views();
        Ok(epoch::mark_epochs(&mut self.writer, &others, number, epochs, &context)?)
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
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Planned), Error> {
        let chain = epoch::chain_of(self.view(), parent)?;
        let of_parent = chain.last().map(|parent| parent.plan.recipe.clone());
        let of_parent = of_parent.map(|recipe| Recipe { snapshot: None, ..recipe });
        let given = recipe.or(of_parent.as_ref());
        let given = given.ok_or_else(|| EpochError::Bug("an extension of no plan".to_owned()))?;
        let rest = Rest { chain: &chain, next_row, inherits: recipe.is_none() };
        let context = self.within(context);
        self.with_snapshot(given, |corpus, made| {
            let planned = against(&corpus.corpora(), given, made, |against| {
                epoch::extend(against, &rest, given, &context)
            })?;
            context.progress.end();
            let others = corpus.other_views();
            Ok(epoch::store_plan(&mut corpus.writer, &others, planned, 1, &context)?)
        })
    }

    /// Forgets a stored plan with the documents it pins and its marks. An epoch that was built of it cannot be verified
    /// any more. Its number is not given again.
    ///
    /// # Errors
    /// [`Error::Epoch`] when there is no such plan, or another plan goes on from it.
    pub fn drop_plan(&mut self, number: u32) -> Result<(), Error> {
        Ok(epoch::drop_plan(&mut self.writer, number)?)
    }

    /// Plans with the snapshot of this moment where a recipe names none. One that was made for a plan that cannot be had
    /// goes again.
    fn with_snapshot<T>(
        &mut self,
        recipe: &Recipe,
        plan: impl FnOnce(&mut Self, Option<&str>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if recipe.snapshot.is_some() {
            return plan(self, None);
        }
        let before = self.view().snapshots()?.len();
        // Plans and snapshots are commits too, but change nothing that a snapshot shows.
        let name = self.writer.snapshot_of_now()?;
        let is_new = self.view().snapshots()?.len() > before;
        let planned = plan(self, Some(&name));
        if planned.is_err() && is_new {
            // The first error is the one to tell; a plan that was stored keeps its snapshot.
            let _ = self.writer.drop_snapshot(&name, false);
        }
        planned
    }
}

/// Tells where tokens end by encoding a text again.
struct Ends<'a> {
    corpora: &'a Corpora,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl TokenEnds for Ends<'_> {
    fn ends(&self, document: DocId, text: &str) -> Result<Option<Vec<u32>>, String> {
        let Some(tokenizer) = &self.tokenizer else { return Ok(None) };
        let (view, inside) = self.corpora.find(document).map_err(|error| error.to_string())?;
        let ends = curate::token_ends(view, tokenizer, inside, text);
        ends.map_err(|error| error.to_string())
    }
}

fn plan_at(
    corpora: &Corpora,
    recipe: &Recipe,
    made: Option<&str>,
    context: &Context<'_>,
) -> Result<Planned, Error> {
    let planned = against(corpora, recipe, made, |against| epoch::plan(against, recipe, context))?;
    context.progress.end();
    Ok(planned)
}

/// Against the snapshot that a recipe names, or else the one `made` for it, or else what the corpora show.
fn against(
    corpora: &Corpora,
    recipe: &Recipe,
    made: Option<&str>,
    plan: impl FnOnce(&Against<'_>) -> Result<Planned, EpochError>,
) -> Result<Planned, Error> {
    let moment = corpora.moment(recipe.snapshot.as_deref(), made)?;
    let kept = corpora.kept_at(&moment)?;
    let view = corpora.first();
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
    let ends = Ends { corpora, tokenizer };
    let against = Against { corpora, moment: &moment, kept: &kept, ends: Some(&ends) };
    Ok(plan(&against)?)
}
