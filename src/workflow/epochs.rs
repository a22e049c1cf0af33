//! Plans epochs: at the moment of a snapshot, with cuts between tokens, and stores or extends the plans.

use crate::corpus::{Corpora, Corpus, CorpusWriter};
use crate::curate;
use crate::epoch::{
    self, EpochError, EpochRow, Plan, PlanExtension, PlanInputs, PlanStorage, Recipe, RowReport,
    RowSegment, TokenAligner,
};
use model::{Context, DocId, Error};
use std::sync::Arc;
use store::{EpochRecord, View};
use tokenizer::Tokenizer;

impl Corpus {
    /// Plans an epoch without storing it: against the recipe's snapshot, or else this moment. It has the hash of the plan
    /// that a writer stores of the recipe.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when the recipe cannot be met.
    pub fn plan(&self, recipe: &Recipe, context: &Context<'_>) -> Result<Plan, Error> {
        let made = made_for(self.view(), recipe)?;
        let made = made.as_ref().map(|(name, _)| name.as_str());
        plan_at(self.corpora(), recipe, made, &self.within(context))
    }

    /// What rows of a plan have: their documents by key and source and, with `with_text`, their text in parts that are
    /// trained on or not.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) for rows of another plan;
    /// [`TokenizerError`](crate::tokenizer::TokenizerError) when ids cannot be decoded.
    pub fn row_reports(
        &self,
        planned: &Plan,
        rows: &[EpochRow],
        with_text: bool,
    ) -> Result<Vec<RowReport>, Error> {
        let loaded = match with_text {
            true => Some(self.tokenizer(Some(&planned.plan.tokenizer.name))?),
            false => None,
        };
        let is_sharded = !planned.plan.shards.is_empty();
        let report = |row: &EpochRow| {
            let parts = loaded.as_ref().map(|of| row.parts(|ids| of.tokenizer.decode(ids)));
            let trained = row.target_weights().into_iter().filter(|weight| *weight > 0.0).count();
            Ok(RowReport {
                row: row.number(),
                batch: row.batch(),
                source: row.source().map(str::to_owned),
                pass: row.pass(),
                width: row.shape().width,
                trained: trained as u64,
                segments: self.row_segments(row, is_sharded)?,
                parts: parts.transpose()?,
                input_ids: row.ids().to_vec(),
            })
        };
        rows.iter().map(report).collect()
    }

    fn row_segments(&self, row: &EpochRow, is_sharded: bool) -> Result<Vec<RowSegment>, Error> {
        let segment = |(segment, span): (&epoch::Segment, &epoch::views::Span)| {
            let (view, inside) = self.corpora().find(segment.document)?;
            let place = view.place(inside)?;
            Ok(RowSegment {
                document: segment.document.0,
                key: view.display_key(inside)?,
                source: view.source_name(place.source)?.to_owned(),
                offset: segment.offset,
                length: segment.length,
                document_length: segment.document_length,
                start: span.start,
                shard: is_sharded.then_some(Corpora::place(segment.document).0),
                id: inside.0,
            })
        };
        row.segments().iter().zip(&row.shape().spans).map(segment).collect()
    }
}

impl CorpusWriter {
    /// Plans an epoch and stores the plan, with marks along its first epoch; a recipe without a snapshot makes and
    /// pins one of this moment. The same plan is stored once: planning it again answers the stored one.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when the recipe cannot be met.
    pub fn plan(
        &mut self,
        recipe: &Recipe,
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Plan), Error> {
        self.plan_epochs(recipe, 1, context)
    }

    /// As [`CorpusWriter::plan`], with marks along the first `epochs` epochs, as [`CorpusWriter::mark_epochs`]
    /// makes them.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when the recipe cannot be met or has fewer epochs; a plan that is new
    /// is then not stored.
    pub fn plan_epochs(
        &mut self,
        recipe: &Recipe,
        epochs: u64,
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Plan), Error> {
        let context = self.within(context);
        self.store_draws(recipe, &context)?;
        self.store_plan(recipe, &context, |corpus, made| {
            let planned = plan_at(&corpus.corpora(), recipe, made, &context)?;
            Ok((planned, epochs))
        })
    }

    /// Plans what is left of plan `parent` once `next_row` rows of its run are consumed, with whatever
    /// the snapshot of `recipe` has that is new: nothing that was consumed comes again within its pass,
    /// nothing that was not is lost. Without a recipe, that of the parent is taken, of this moment.
    ///
    /// # Errors
    /// [`EpochError`](crate::epoch::EpochError) when there is no such plan or row, or the recipe cannot be met.
    pub fn extend(
        &mut self,
        parent: u32,
        next_row: u64,
        recipe: Option<&Recipe>,
        context: &Context<'_>,
    ) -> Result<(EpochRecord, Plan), Error> {
        let chain = epoch::chain_of(self.view(), parent)?;
        let of_parent = chain.last().map(|parent| parent.plan.recipe.unresolved());
        let given = recipe.or(of_parent.as_ref());
        let given =
            given.ok_or_else(|| EpochError::Bug("the extension of an unknown plan".to_owned()))?;
        let rest = PlanExtension { chain: &chain, next_row, inherits: recipe.is_none() };
        let context = self.within(context);
        self.store_plan(given, &context, |corpus, made| {
            let planned = plan_against(&corpus.corpora(), given, made, &context, |against| {
                epoch::extend(against, &rest, given, &context)
            })?;
            context.progress.end();
            Ok((planned, 1))
        })
    }

    /// Encodes the near duplicates that the plan of a recipe draws, where they have no ids yet, in commits of their own. At
    /// first as many as it asks for: where all have enough tokens, nothing is encoded in vain.
    fn encode_members(&mut self, recipe: &Recipe, context: &Context<'_>) -> Result<(), Error> {
        if recipe.select.per_cluster == 1 {
            return Ok(());
        }
        for round in 0.. {
            let made = made_for(self.view(), recipe)?;
            let made = made.as_ref().map(|(name, _)| name.as_str());
            let (name, members) =
                plan_against(&self.corpora(), recipe, made, context, |against| {
                    epoch::unencoded_members(against, recipe, round, context)
                })?;
            context.progress.end();
            if members.is_empty() {
                break;
            }
            let loaded = curate::load_to_encode(self.store(), &name)?;
            curate::encode_members(self.store(), &loaded, &members, context)?;
        }
        Ok(())
    }

    /// Stores the segmentations that the passes of a recipe draw, and encodes every document that has none of them. After
    /// an interrupt the same call continues.
    fn store_draws(&mut self, recipe: &Recipe, context: &Context<'_>) -> Result<(), Error> {
        let Some(segmentation) = recipe.tokenizer.segmentation else { return Ok(()) };
        recipe.check()?;
        let base = match &recipe.tokenizer.name {
            Some(name) => name.clone(),
            None => match Vec::from_iter(self.view().own_tokenizers()).as_slice() {
                [(_, only)] => only.name.clone(),
                // Planning says what is missing.
                _ => return Ok(()),
            },
        };
        let passes = recipe.sources.iter().map(|source| source.max_repeats).max().unwrap_or(1);
        for name in curate::register_draws(self.store(), &base, segmentation, passes)? {
            // Most plans find them whole: then there is nothing to load them for.
            if curate::find(self.view(), &name)?.1.encoded_to == u64::MAX {
                continue;
            }
            let loaded = curate::load_to_encode(self.store(), &name)?;
            curate::encode_stored(self.store(), loaded.id, &loaded.tokenizer, context)?;
        }
        Ok(self.store().flush_if_long()?)
    }

    /// Plans, at a new snapshot where the recipe names none, and stores the plan, the indexes of its first epochs and
    /// the new snapshot in one commit.
    fn store_plan(
        &mut self,
        recipe: &Recipe,
        context: &Context<'_>,
        plan: impl FnOnce(&Self, Option<&str>) -> Result<(Plan, u64), Error>,
    ) -> Result<(EpochRecord, Plan), Error> {
        self.encode_members(recipe, context)?;
        let made = made_for(self.view(), recipe)?;
        let (planned, epochs) = plan(self, made.as_ref().map(|(name, _)| name.as_str()))?;
        let new = made.filter(|(_, is_there)| !is_there).map(|(name, _)| name);
        let others = self.other_views();
        let stored = epoch::store_plan(
            self.store(),
            &others,
            planned,
            PlanStorage { epochs, snapshot: new.as_deref() },
            context,
        );
        Ok(stored?)
    }
}

/// The name of the snapshot of this moment that the plan of a recipe draws from, and whether there is one; none where the
/// recipe names another.
fn made_for(view: &View, recipe: &Recipe) -> Result<Option<(String, bool)>, Error> {
    Ok(match recipe.snapshot {
        Some(_) => None,
        None => Some(view.snapshot_of_now()?),
    })
}

/// Finds where tokens end by encoding a text again.
struct TokenEndFinder<'a> {
    corpora: &'a Corpora,
    tokenizer: Option<Arc<Tokenizer>>,
}

impl TokenAligner for TokenEndFinder<'_> {
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
) -> Result<Plan, Error> {
    let planned = plan_against(corpora, recipe, made, context, |against| {
        epoch::plan(against, recipe, context)
    })?;
    context.progress.end();
    Ok(planned)
}

/// Plans at the snapshot that the recipe names, or else at `made`, or else at what the corpora show now.
fn plan_against<T>(
    corpora: &Corpora,
    recipe: &Recipe,
    made: Option<&str>,
    context: &Context<'_>,
    plan: impl FnOnce(&PlanInputs<'_>) -> Result<T, EpochError>,
) -> Result<T, Error> {
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
    let ends = TokenEndFinder { corpora, tokenizer };
    let interrupt = context.interrupt;
    let against =
        PlanInputs { corpora, moment: &moment, kept: &kept, ends: Some(&ends), interrupt };
    Ok(plan(&against)?)
}
