//! The recipe: what a user asks of an epoch, as TOML.
//!
//! `form` is its shape, and files beside it have its tables; `ranges` bounds its numbers, `check` refuses recipes that
//! contradict themselves or ask for what is not built. Unknown keys are errors everywhere: a misspelt option must not
//! become a default.
//!
//! `form` is its shape, and files beside it have its tables; `ranges` bounds its numbers, `check` refuses what contradicts
//! itself or is not built.
//! Unknown keys are errors everywhere: a misspelt option must not become a default.

mod check;
mod documents;
mod form;
mod output;
mod ranges;
mod rows;
mod sources;
mod special;

pub(super) use check::counts_alike;

pub use documents::{
    ExcludedSuite, Holdout, HoldoutSide, SelectRecipe, SpecialTokens, TokenizerRecipe,
};
pub use files::output::{IdType, OutputCompression, RowColumn};
pub use form::{Recipe, ResolvedRecipe};
pub use output::{Format, Layout, OutputRecipe};
pub(crate) use rows::PartialRow;
pub use rows::{
    BatchRecipe, BatchTail, BudgetCount, Curriculum, CurriculumPacing, ExactSampler, LengthBuckets,
    LengthGrouped, LongDocuments, OrderKind, OrderRecipe, PackKind, PackOptions, PackRecipe,
    PadSide, PadTo, PadView, RowTarget, SortWindow,
};
pub(super) use sources::NamePattern;
pub use sources::{
    DrawsFrom, MixMethod, MixRecipe, MixUnit, SchedulePoint, SourcePack, SourceRecipe,
};
pub use special::SpecialIds;
pub(crate) use special::special_ids;

use crate::epoch::error::EpochError;
pub use crate::epoch::mix::Ramp;
use crate::sql::resolved;
use model::near_names::did_you_mean;
use model::text_file::without_byte_order_mark;

/// The words of the parser, with the key or word that was meant by one that is not known:
/// "unknown field `lenght`, expected one of `kind`, `length`".
fn with_near_name(words: &str) -> String {
    let question = words.lines().find_map(|line| {
        let (before, known) = line.split_once("`, expected ")?;
        let (_, name) = before.rsplit_once('`')?;
        did_you_mean(name, known.split('`').skip(1).step_by(2))
    });
    match question {
        Some(question) => format!("{words}; {question}"),
        None => words.to_owned(),
    }
}

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when it does not parse or contradicts itself (with line and column where
    /// the parser knows them), [`EpochError`] when it asks for what this release lacks.
    pub fn parse(text: &str) -> Result<Self, EpochError> {
        let text = without_byte_order_mark(text);
        let out_of_range = |out: ranges::OutOfRange| EpochError::Recipe(out.words(Some(text)));
        let mut recipe: Self = toml::from_str(text).map_err(|error| {
            let words = || EpochError::Recipe(with_near_name(error.to_string().trim_end()));
            ranges::check_text(text).map_or_else(out_of_range, |()| words())
        })?;
        ranges::check(&recipe).map_err(out_of_range)?;
        recipe.select.min_tokens = recipe.select.min_tokens.max(1);
        if let Some(condition) = &mut recipe.select.condition {
            *condition = resolved(condition, false).map_err(EpochError::Recipe)?;
        }
        for source in &mut recipe.sources {
            if let Some(condition) = &mut source.condition {
                *condition = resolved(condition, false).map_err(EpochError::Recipe)?;
            }
            source.from.get_or_insert_with(|| DrawsFrom::One(source.name.clone()));
        }
        if recipe.mix.method.is_none() {
            let weighted = !recipe.mix.schedule.is_empty()
                || recipe
                    .sources
                    .iter()
                    .any(|source| source.weight.is_some() || source.tokens.is_some());
            recipe.mix.method =
                Some(if weighted { MixMethod::Weights } else { MixMethod::Natural });
        }
        recipe.check()?;
        recipe.output.fill_defaults();
        Ok(recipe)
    }

    /// Checks the recipe as [`Recipe::parse`] does after reading.
    pub(crate) fn check(&self) -> Result<(), EpochError> {
        ranges::check(self).map_err(|out| EpochError::Recipe(out.words(None)))?;
        check::check(self)?;
        check::check_ignored(self)
    }

    /// Checks a recipe that is stored in a plan: settings that an earlier release accepted and ignored stay valid.
    pub(super) fn check_stored(&self) -> Result<(), EpochError> {
        check::check(self)
    }

    /// The recipe that a manifest has.
    ///
    /// # Errors
    /// [`EpochError::Plan`] if it does not parse; as [`Recipe::parse`] if it contradicts itself.
    pub(in crate::epoch) fn of_manifest(text: &str) -> Result<Self, EpochError> {
        let recipe: Self = toml::from_str(text).map_err(|error| {
            EpochError::Plan(format!("the recipe of the manifest: {}", error.message()))
        })?;
        recipe.check_stored()?;
        Ok(recipe)
    }

    /// Whether documents are cut where paragraphs end.
    #[must_use]
    pub fn cuts_at_paragraphs(&self) -> bool {
        let long = |source: &SourceRecipe| source.pack.long;
        self.pack.options.long == LongDocuments::Paragraph
            || self.sources.iter().any(|source| long(source) == Some(LongDocuments::Paragraph))
    }

    /// The recipe as TOML with every default spelt out. Parses to the same recipe.
    #[must_use]
    pub fn to_toml_with_defaults(&self) -> String {
        // Every field is a plain TOML type, so this cannot fail; the message would show if it did.
        toml::to_string(self).unwrap_or_else(|error| format!("# {error}\n"))
    }
}

#[cfg(test)]
mod tests;
