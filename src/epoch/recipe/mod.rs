//! The recipe: what a user asks of an epoch, as TOML.
//!
//! `form` is its shape, one type a table; `check` refuses what contradicts itself or is not built.
//! Unknown keys are errors everywhere: a misspelt option must not become a default.

mod check;
mod form;

pub use form::{
    Batch, Format, Long, Method, Mix, Order, OrderKind, Output, Pack, PackKind, PackOptions,
    PadSide, PadView, Recipe, Select, SourcePack, SourceRecipe, Specials, Target, TokenizerChoice,
    Unit,
};

use super::error::EpochError;

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when it does not parse or contradicts itself (with line and column where
    /// the parser knows them), [`EpochError::NotBuilt`] when it asks for what this release lacks.
    pub fn parse(text: &str) -> Result<Self, EpochError> {
        let mut recipe: Self = toml::from_str(text)
            .map_err(|error| EpochError::Recipe(error.to_string().trim_end().to_owned()))?;
        recipe.select.min_tokens = recipe.select.min_tokens.max(1);
        for source in &mut recipe.sources {
            source.from.get_or_insert_with(|| source.name.clone());
        }
        if recipe.mix.method.is_none() {
            let weighted = recipe.sources.iter().any(|source| source.weight.is_some());
            recipe.mix.method = Some(if weighted { Method::Weights } else { Method::Natural });
        }
        recipe.check()?;
        Ok(recipe)
    }

    /// Whether the recipe can be had; as [`Recipe::parse`] does after reading.
    pub(super) fn check(&self) -> Result<(), EpochError> {
        check::check(self)
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
