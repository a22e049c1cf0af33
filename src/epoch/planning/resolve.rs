//! Resolves names and defaults of a recipe: its snapshot, suites, tokenizer, special tokens, documents of each source.

use super::labels::FewLabels;
use super::origins::{SourceOrigins, listing, origins};
use super::{PlanInputs, clusters, limits, select, suites};
use crate::corpus::{Corpora, parts};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::PassTokenizer;
use crate::epoch::pack::LengthHistogram;
use crate::epoch::plan::{PinnedTokenizer, pass_tokenizers, policy};
use crate::epoch::recipe::{
    Recipe, ResolvedRecipe, SourceRecipe, SpecialIds, SpecialTokens, special_ids,
};
use model::near_names::UnknownName;
use model::{Context, TokenizerId};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::draw_name;
use tokenizer::stored_vocabulary;

/// A recipe with all that its names and defaults stand for at a moment.
pub(super) struct Resolution {
    pub recipe: ResolvedRecipe,
    pub tokenizer: TokenizerId,
    pub pinned_tokenizer: PinnedTokenizer,
    /// The tokenizers of the passes, where each draws segmentations of its own.
    pub draws: Arc<[PassTokenizer]>,
    pub sources: SourceSelections,
}

/// The documents of each source of a recipe.
pub(super) struct SourceSelections {
    pub selections: Vec<(String, RoaringTreemap)>,
    /// By stored tokens, where that was found on the way.
    pub counted: BTreeMap<String, Option<Arc<LengthHistogram>>>,
    /// How many documents of each are left out for their labels.
    pub unlabelled: Vec<u64>,
    /// The sources of the corpus that they are from, where a pattern or a list stood for these.
    pub draws_from: BTreeMap<String, Vec<String>>,
}

/// Resolves a recipe: no name and no default of it is looked up elsewhere. A recipe that lists no sources gets all that
/// have documents. Of the documents that the extended plan has `drawn`, by this very recipe, none is left out for its
/// labels where the recipe does not ask for some.
///
/// # Errors
/// As [`plan`](super::plan), but for what rows need.
pub(super) fn resolve(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    drawn: Option<&RoaringTreemap>,
    context: &Context<'_>,
) -> Result<Resolution, EpochError> {
    let (corpora, is_listed) = (against.corpora, !recipe.sources.is_empty());
    let RecipeSelections {
        recipe: mut resolved,
        tokenizer,
        mut pinned_tokenizer,
        origins,
        mut sources,
    } = select_all(against, recipe, drawn, context)?;
    let drawn_by = (tokenizer, &*pinned_tokenizer.name);
    clusters::draw(against, &resolved, drawn_by, &mut sources.selections)?;
    if resolved.select.per_cluster > 1 {
        // They were counted before some were drawn.
        sources.counted.clear();
    }
    // A default that leaves out nothing is not in the hash of a plan.
    if resolved.select.min_trained.is_none_or(|least| least == FewLabels::LEAST) {
        let is_any = sources.unlabelled.iter().any(|documents| *documents > 0);
        resolved.select.min_trained = is_any.then_some(FewLabels::LEAST);
    }
    suites::check_sources(corpora, &resolved, &origins, &sources.selections, is_listed)?;
    let names: Vec<String> = resolved.sources.iter().map(|source| source.name.clone()).collect();
    if !is_listed {
        // One that has documents, but none with a label, is not left out in silence.
        let (selections, unlabelled) = (&mut sources.selections, &mut sources.unlabelled);
        let is_drawn: Vec<bool> = selections
            .iter()
            .zip(&*unlabelled)
            .map(|((_, selection), without)| !selection.is_empty() || *without > 0)
            .collect();
        let mut of = is_drawn.iter();
        selections.retain(|_| of.next() == Some(&true));
        let mut of = is_drawn.iter();
        unlabelled.retain(|_| of.next() == Some(&true));
        resolved.sources.retain(|source| selections.iter().any(|(name, _)| *name == source.name));
    }
    // The recipe is checked as it will be read again: with every source that takes part.
    resolved.check()?;
    let ids_of = |name: &str| {
        let at = names.iter().position(|known| known == name);
        at.and_then(|at| origins.get(at)).map_or_else(Vec::new, |from| from.ids.clone())
    };
    select::check(
        corpora,
        &resolved,
        &sources.selections,
        against.kept,
        &sources.unlabelled,
        ids_of,
        context,
    )?;
    limits::check_memory(&resolved, &sources.selections, context.memory)?;
    let draws = resolve_draws(corpora, &resolved, &mut pinned_tokenizer)?;
    let recipe = ResolvedRecipe::new(resolved);
    Ok(Resolution { recipe, tokenizer, pinned_tokenizer, draws, sources })
}

/// The near duplicates of the first corpus without ids that the plan of a recipe draws, as far as is known before they
/// have some, and the tokenizer that they lack: other corpora are only read, and planning names what they lack. In each
/// further `round` twice as many of a cluster are examined, since those that were encoded had too few tokens or labels.
///
/// # Errors
/// As [`plan`](super::plan), but for what rows need.
pub fn unencoded_members(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    round: u32,
    context: &Context<'_>,
) -> Result<(String, RoaringTreemap), EpochError> {
    let found = select_all(against, recipe, None, context)?;
    let most = u64::from(recipe.select.per_cluster);
    let missing = |most| {
        let members = clusters::first_of_clusters(against, &found.sources.selections, most)?;
        let without = clusters::without_ids(against.corpora, found.tokenizer, &members)?;
        Ok::<_, EpochError>(parts(0, &without))
    };
    let mut members = missing(most)?;
    if round > 0 && !members.is_empty() {
        members = missing(most << round.min(31))?;
    }
    Ok((found.pinned_tokenizer.name, members))
}

/// A recipe whose names are looked up, and what passes for each of its sources.
pub(super) struct RecipeSelections {
    recipe: Recipe,
    pub tokenizer: TokenizerId,
    pub pinned_tokenizer: PinnedTokenizer,
    origins: Vec<SourceOrigins>,
    pub sources: SourceSelections,
}

/// Finds what passes for each source, of a cluster of near duplicates as many as there are.
///
/// # Errors
/// As [`resolve`].
pub(super) fn select_all(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    drawn: Option<&RoaringTreemap>,
    context: &Context<'_>,
) -> Result<RecipeSelections, EpochError> {
    let corpora = against.corpora;
    select::check_moment(corpora, recipe, against.moment)?;
    let mut resolved = recipe.clone();
    resolved.snapshot = against.moment.named();
    let excluded = &mut resolved.select.exclude_contaminated;
    *excluded = suites::resolve_suites(corpora, excluded)?;
    let (tokenizer, pinned_tokenizer) = resolve_tokenizer(corpora, recipe)?;
    resolved.tokenizer.name = Some(pinned_tokenizer.name.clone());
    if recipe.sources.is_empty() {
        resolved.sources = corpora.sources().map(|(_, name)| SourceRecipe::named(name)).collect();
    }
    let origins = origins(corpora, &resolved, against.moment)?;
    let specials = &pinned_tokenizer.specials;
    let mut few = FewLabels::of(corpora, &resolved, (tokenizer, specials))?;
    if let Some(drawn) = drawn.filter(|_| resolved.select.min_trained.is_none()) {
        few = few.without(drawn);
    }
    let few = |source: &SourceRecipe| few.of_source(&policy(&resolved, Some(source), specials));
    let sources = select_sources(against, &resolved, &origins, (tokenizer, &few), context)?;
    Ok(RecipeSelections { recipe: resolved, tokenizer, pinned_tokenizer, origins, sources })
}

/// The documents that a source is cut down to, where it is.
type FewOf<'a, 'f> = &'a dyn Fn(&SourceRecipe) -> Option<&'f RoaringTreemap>;

fn select_sources<'f>(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    origins: &[SourceOrigins],
    (tokenizer, few): (TokenizerId, FewOf<'_, 'f>),
    context: &Context<'_>,
) -> Result<SourceSelections, EpochError> {
    let corpora = against.corpora;
    context.progress.begin("select", Some(recipe.sources.len() as u64));
    let base = select::eligible_documents(against, recipe, context)?;
    let (mut selections, mut counted) = (Vec::new(), BTreeMap::new());
    let (mut draws_from, mut unlabelled) = (BTreeMap::new(), Vec::new());
    for (source, from) in recipe.sources.iter().zip(origins) {
        context.interrupt.check()?;
        let of = (&base, few(source));
        let (selection, counts, without) =
            select::source_documents(corpora, recipe, source, &from.ids, tokenizer, of, context)?;
        // Which near duplicates were ever encoded must not show in a plan.
        unlabelled.push(without.intersection_len(against.kept));
        draws_from.insert(source.name.clone(), from.found.clone());
        selections.push((source.name.clone(), selection));
        counted.insert(source.name.clone(), counts.map(Arc::new));
        context.progress.advance(selections.len() as u64);
    }
    Ok(SourceSelections { selections, counted, unlabelled, draws_from })
}

/// The tokenizer that a recipe names, or the only one there is.
///
/// # Errors
/// [`EpochError::Recipe`] when it must be named or has not encoded everything; [`EpochError::Unknown`];
/// [`EpochError::Store`].
fn resolve_tokenizer(
    corpora: &Corpora,
    recipe: &Recipe,
) -> Result<(TokenizerId, PinnedTokenizer), EpochError> {
    let first = corpora.first();
    let names: Vec<String> =
        first.own_tokenizers().map(|(_, record)| record.name.clone()).collect();
    let name = match (&recipe.tokenizer.name, names.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [only]) => only.clone(),
        (None, []) => {
            let message = "the corpus has no tokenizer; add one with `corpusdb tokenizer add` or `corpusdb tokenizer train`";
            return Err(EpochError::Recipe(message.to_owned()));
        }
        (None, _) => {
            return Err(EpochError::Recipe(format!(
                "tokenizer.name is needed: there is {}",
                listing(&names)
            )));
        }
    };
    let found = corpora.tokenizer_named(&name).map_err(EpochError::Recipe)?;
    let unknown = || EpochError::Unknown(UnknownName::new("tokenizer", &name, names.clone()));
    let (id, record) = found.ok_or_else(unknown)?;
    check_encoded(corpora, &name)?;
    let specials = if recipe.tokenizer.specials == SpecialTokens::default() {
        SpecialIds::default()
    } else {
        let vocabulary = stored_vocabulary(&first.tokenizer_file(id)?, &record.backend)?;
        special_ids(&vocabulary, &recipe.tokenizer.specials)?
    };
    let hash = blake3::Hash::from_bytes(record.hash).to_hex().to_string();
    let (vocab_size, draws) = (record.vocab_size, Vec::new());
    Ok((id, PinnedTokenizer { name, hash, vocab_size, specials, draws }))
}

fn check_encoded(corpora: &Corpora, name: &str) -> Result<(), EpochError> {
    corpora.each(|_, view| {
        let encoded = view.tokenizer_named(name).map_or(0, |(_, record)| record.encoded_to);
        if encoded < view.documents() {
            return Err(EpochError::Recipe(format!(
                "tokenizer `{name}` has not encoded all documents yet; run `corpusdb tokenizer backfill CORPUS {name}` first"
            )));
        }
        Ok(())
    })
}

/// Pins the draws of all passes, where the recipe has some: whoever can write stores them before.
fn resolve_draws(
    corpora: &Corpora,
    recipe: &Recipe,
    pinned: &mut PinnedTokenizer,
) -> Result<Arc<[PassTokenizer]>, EpochError> {
    let Some(segmentation) = recipe.tokenizer.segmentation else { return Ok(Arc::default()) };
    let passes = recipe.sources.iter().map(|source| source.max_repeats).max().unwrap_or(1);
    let names = (0..passes).map(|pass| draw_name(&pinned.name, &segmentation.pass_name(pass)));
    pinned.draws = names.collect();
    let draws = pass_tokenizers(corpora, pinned).map_err(|why| {
        EpochError::Recipe(format!(
            "the segmentations that tokenizer.segmentation draws are not stored ({why}): `corpusdb epoch plan` with this recipe, in each corpus that it draws from, draws and stores them"
        ))
    })?;
    pinned.draws.iter().try_for_each(|name| check_encoded(corpora, name))?;
    Ok(draws)
}
