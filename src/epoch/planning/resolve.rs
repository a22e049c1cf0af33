//! What names and defaults of a recipe stand for: its snapshot, suites, tokenizer, special tokens, and the documents of
//! each source.

use super::origins::{SourceOrigins, listing, origins};
use super::{PlanInputs, limits, select, suites};
use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::pack::LengthHistogram;
use crate::epoch::plan::PinnedTokenizer;
use crate::epoch::recipe::{
    Recipe, ResolvedRecipe, SourceRecipe, SpecialIds, SpecialTokens, special_ids,
};
use crate::model::near_names::UnknownName;
use crate::model::{Context, TokenizerId};
use crate::tokenizer::stored_vocabulary;
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A recipe with all that its names and defaults stand for at a moment.
pub(super) struct Resolution {
    pub recipe: ResolvedRecipe,
    pub tokenizer: TokenizerId,
    pub pinned_tokenizer: PinnedTokenizer,
    pub sources: SourceSelections,
}

/// The documents of each source of a recipe.
pub(super) struct SourceSelections {
    pub selections: Vec<(String, RoaringTreemap)>,
    /// By stored tokens, where that was found on the way.
    pub counted: BTreeMap<String, Option<Arc<LengthHistogram>>>,
    /// The sources of the corpus that they are from, where a pattern or a list stood for these.
    pub draws_from: BTreeMap<String, Vec<String>>,
}

/// Resolves a recipe: no name and no default of it is looked up elsewhere. A recipe that lists no sources gets all that
/// have documents.
///
/// # Errors
/// As [`plan`](super::plan), but for what rows need.
pub(super) fn resolve(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    context: &Context<'_>,
) -> Result<Resolution, EpochError> {
    let (corpora, is_listed) = (against.corpora, !recipe.sources.is_empty());
    let mut resolved = recipe.clone();
    resolved.snapshot = against.moment.named();
    let excluded = &mut resolved.select.exclude_contaminated;
    *excluded = suites::resolve_suites(corpora, excluded)?;
    let (tokenizer, pinned_tokenizer) = resolve_tokenizer(corpora, recipe)?;
    resolved.tokenizer.name = Some(pinned_tokenizer.name.clone());
    if !is_listed {
        resolved.sources = corpora.sources().map(|(_, name)| SourceRecipe::named(name)).collect();
    }
    let origins = origins(corpora, &resolved, against.moment)?;
    let mut sources = select_sources(against, &resolved, &origins, tokenizer, context)?;
    suites::check_sources(corpora, &resolved, &origins, &sources.selections, is_listed)?;
    let names: Vec<String> = resolved.sources.iter().map(|source| source.name.clone()).collect();
    if !is_listed {
        let selections = &mut sources.selections;
        selections.retain(|(_, selection)| !selection.is_empty());
        resolved.sources.retain(|source| selections.iter().any(|(name, _)| *name == source.name));
    }
    // As it will be read again: with every source that takes part.
    resolved.check()?;
    let ids_of = |name: &str| {
        let at = names.iter().position(|known| known == name);
        at.and_then(|at| origins.get(at)).map_or_else(Vec::new, |from| from.ids.clone())
    };
    select::check(corpora, &resolved, &sources.selections, against.kept, ids_of)?;
    limits::check_memory(&resolved, &sources.selections, context.memory)?;
    let recipe = ResolvedRecipe::new(resolved);
    Ok(Resolution { recipe, tokenizer, pinned_tokenizer, sources })
}

fn select_sources(
    against: &PlanInputs<'_>,
    recipe: &Recipe,
    origins: &[SourceOrigins],
    tokenizer: TokenizerId,
    context: &Context<'_>,
) -> Result<SourceSelections, EpochError> {
    let corpora = against.corpora;
    context.progress.begin("select", Some(recipe.sources.len() as u64));
    let base = select::eligible_documents(corpora, recipe, against.moment, against.kept)?;
    let (mut selections, mut counted) = (Vec::new(), BTreeMap::new());
    let mut draws_from = BTreeMap::new();
    for (source, from) in recipe.sources.iter().zip(origins) {
        context.interrupt.check()?;
        let (selection, counts) =
            select::source_documents(corpora, recipe, source, &from.ids, tokenizer, &base)?;
        draws_from.insert(source.name.clone(), from.found.clone());
        selections.push((source.name.clone(), selection));
        counted.insert(source.name.clone(), counts.map(Arc::new));
        context.progress.advance(selections.len() as u64);
    }
    Ok(SourceSelections { selections, counted, draws_from })
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
    let names: Vec<String> = first.tokenizers().map(|(_, record)| record.name.clone()).collect();
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
    corpora.each(|_, view| {
        let encoded = view.tokenizer_named(&name).map_or(0, |(_, record)| record.encoded_to);
        if encoded < view.documents() {
            return Err(EpochError::Recipe(format!(
                "tokenizer `{name}` has not encoded all documents yet; run `corpusdb tokenizer backfill CORPUS {name}` first"
            )));
        }
        Ok(())
    })?;
    let specials = if recipe.tokenizer.specials == SpecialTokens::default() {
        SpecialIds::default()
    } else {
        let vocabulary = stored_vocabulary(&first.tokenizer_file(id)?, &record.backend)?;
        special_ids(&vocabulary, &recipe.tokenizer.specials)?
    };
    let hash = blake3::Hash::from_bytes(record.hash).to_hex().to_string();
    Ok((id, PinnedTokenizer { name, hash, vocab_size: record.vocab_size, specials }))
}
