//! A filter of documents: by a condition, a source and a snapshot.

use crate::sql::documents::table::kept_in;
use crate::sql::error::SqlError;
use crate::sql::expression::SqlExpression;
use crate::sql::select::{count, documents};
use crate::sql::syntax::parameters::SqlParameters;
use model::{Context, Interrupt};
use roaring::RoaringTreemap;
use store::{View, system_fields};

/// Which documents are meant: all stored ones, or those that satisfy all conditions here. A text is the condition
/// alone, so that `"kept".into()` is one.
///
/// ```
/// use corpusdb::sql::DocumentFilter;
///
/// let filter = DocumentFilter::from("language = 'en'").in_snapshot("june");
/// assert_eq!(filter.condition.as_deref(), Some("language = 'en'"));
/// assert_eq!(DocumentFilter::default(), DocumentFilter::from(None));
/// ```
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct DocumentFilter {
    /// Only documents for which this SQL condition over the table documents is true.
    ///
    /// Its columns have today's values, also with `snapshot`.
    #[cfg_attr(
        feature = "cli",
        arg(id = "where", long = "where", value_name = "SQL", allow_hyphen_values = true)
    )]
    pub condition: Option<String>,
    /// Only documents of this source.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub source: Option<String>,
    /// Only the documents that this snapshot keeps; the counts of all documents are those stored when it was made.
    #[cfg_attr(feature = "cli", arg(long, value_name = "NAME"))]
    pub snapshot: Option<String>,
    /// The values of `?`, `$1` or `$name` in the condition.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub parameters: SqlParameters,
    /// Asks the condition to stop.
    #[cfg_attr(feature = "cli", arg(skip))]
    pub interrupt: Interrupt,
}

impl PartialEq for DocumentFilter {
    /// Whether both mean the same documents, whatever stops them.
    fn eq(&self, other: &Self) -> bool {
        let Self { condition, source, snapshot, parameters, interrupt: _ } = self;
        (condition, source, snapshot, parameters)
            == (&other.condition, &other.source, &other.snapshot, &other.parameters)
    }
}

impl DocumentFilter {
    /// This filter with values for the parameters of its condition. They are bound to it, and never become part of its
    /// text.
    #[must_use]
    pub fn with_parameters(self, parameters: SqlParameters) -> Self {
        Self { parameters, ..self }
    }

    /// This filter for one source alone.
    #[must_use]
    pub fn of_source(self, source: impl Into<String>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// This filter among the documents that a snapshot keeps.
    #[must_use]
    pub fn in_snapshot(self, snapshot: impl Into<String>) -> Self {
        Self { snapshot: Some(snapshot.into()), ..self }
    }

    /// This filter, whose answer ends once this stop is asked for.
    #[must_use]
    pub fn with_interrupt(self, interrupt: &Interrupt) -> Self {
        Self { interrupt: interrupt.clone(), ..self }
    }

    /// The documents of a view that pass. It blocks as [`super::select`] does.
    pub(crate) fn select(&self, view: &View) -> Result<RoaringTreemap, SqlError> {
        self.documents(view, |condition| condition)
    }

    /// The documents that would pass, but the condition is null for them. It blocks as [`super::select`] does.
    pub(crate) fn select_nulls(&self, view: &View) -> Result<RoaringTreemap, SqlError> {
        match self.condition {
            Some(_) => self.documents(view, SqlExpression::is_null),
            None => Ok(RoaringTreemap::new()),
        }
    }

    /// The documents of the source and of the snapshot that satisfy what `of` makes of the condition.
    fn documents(
        &self,
        view: &View,
        of: impl FnOnce(SqlExpression) -> SqlExpression,
    ) -> Result<RoaringTreemap, SqlError> {
        let mut found = match &self.snapshot {
            Some(snapshot) => Some(kept_in(view, snapshot)?),
            None => None,
        };
        if let Some(source) = &self.source {
            let value = system_fields::source_value(view.expect_source(source)?.0);
            let of_source = view.documents_with(system_fields::SOURCE, &value)?;
            found = Some(meet(found, of_source));
        }
        if let Some(condition) = &self.condition {
            let condition = of(SqlExpression::parse(view, condition, &self.parameters)?);
            found = Some(meet(found, documents(view, condition, &self.context())?));
        }
        Ok(found.unwrap_or_else(|| (0..view.documents()).collect()))
    }

    /// How many documents pass. For a condition alone no document is examined when the indexes can answer.
    pub(crate) fn count(&self, view: &View) -> Result<u64, SqlError> {
        if self.source.is_some() || self.snapshot.is_some() {
            return Ok(self.select(view)?.len());
        }
        let Some(condition) = &self.condition else { return Ok(view.documents()) };
        let condition = SqlExpression::parse(view, condition, &self.parameters)?;
        count(view, condition, &self.context())
    }

    fn context(&self) -> Context<'_> {
        Context::new().with_interrupt(&self.interrupt)
    }
}

fn meet(found: Option<RoaringTreemap>, other: RoaringTreemap) -> RoaringTreemap {
    match found {
        Some(found) => found & other,
        None => other,
    }
}

impl From<&str> for DocumentFilter {
    fn from(condition: &str) -> Self {
        Self { condition: Some(condition.to_owned()), ..Self::default() }
    }
}

impl From<&String> for DocumentFilter {
    fn from(condition: &String) -> Self {
        condition.as_str().into()
    }
}

impl From<String> for DocumentFilter {
    fn from(condition: String) -> Self {
        Self { condition: Some(condition), ..Self::default() }
    }
}

impl From<Option<&str>> for DocumentFilter {
    fn from(condition: Option<&str>) -> Self {
        Self { condition: condition.map(str::to_owned), ..Self::default() }
    }
}

impl From<&Self> for DocumentFilter {
    fn from(filter: &Self) -> Self {
        filter.clone()
    }
}
