//! Rewrites error messages of the engine: unknown names, expressions where they are not allowed, bad patterns.

use crate::sql::error::SqlError;
use crate::sql::syntax::parser::TABLE_FUNCTIONS;
use crate::sql::tables::system::table_names;
use datafusion::common::{Column, SchemaError, TableReference};
use datafusion::error::DataFusionError;
use model::Hint;
use model::near_names::{UnknownName, did_you_mean};

/// The catalogue's own name, which users never wrote.
const CATALOGUE: &str = "datafusion.public.";

impl SqlError {
    /// What failed while a plan ran; errors of ours that went through the engine come back as they were.
    pub(crate) fn run(error: DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) => Self::run(*inner),
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Run { why: other.to_string() },
            },
            DataFusionError::ArrowError(inner, _) => Self::arrow(*inner),
            other => Self::Run { why: words(&other) },
        }
    }

    /// As [`SqlError::statement`], but for errors of ours that went through the engine: they come back as they were.
    pub(crate) fn planned(statement: &str, error: DataFusionError) -> Self {
        match error {
            DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
                Self::planned(statement, *inner)
            }
            DataFusionError::External(inner) => match inner.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => {
                    Self::Statement { statement: shown(statement), why: other.to_string() }
                }
            },
            other => Self::statement(statement, &other),
        }
    }

    pub(crate) fn statement(statement: &str, error: &DataFusionError) -> Self {
        Self::Statement { statement: shown(statement), why: words(error) }
    }
}

/// The user's words as an error repeats them; of long ones the beginning.
pub(crate) fn shown(statement: &str) -> String {
    const CHARACTERS: usize = 1000;
    let statement = statement.trim();
    match statement.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", statement.get(..end).unwrap_or_default()),
        None => statement.to_owned(),
    }
}

/// The engine's message without its class; for an unknown column, its name and the columns that exist.
pub(crate) fn words(error: &DataFusionError) -> String {
    if let Some(field) = UnknownField::of(error) {
        return field.words();
    }
    let text = match error.find_root() {
        DataFusionError::Plan(text) | DataFusionError::Execution(text) => text.clone(),
        DataFusionError::ResourcesExhausted(text) if text.contains("`memory=`") => text.clone(),
        DataFusionError::ResourcesExhausted(text) => format!(
            "it needs more memory than queries have (a quarter of `memory=`), and cannot spill all of it to disk; give more, or select less ({text})"
        ),
        DataFusionError::SQL(inner, _) => {
            inner.to_string().trim_start_matches("sql parser error: ").to_owned()
        }
        DataFusionError::NotImplemented(text) => misplaced(text).unwrap_or_else(|| text.clone()),
        DataFusionError::External(inner) => match inner.downcast_ref::<SqlError>() {
            Some(own) => with_hint(own, own.hint()),
            None => inner.to_string(),
        },
        other => pattern(&other.strip_backtrace()).unwrap_or_else(|| other.strip_backtrace()),
    };
    let text = text.replace(CATALOGUE, "").replace('\n', " ");
    unknown_words(&text).unwrap_or_else(|| text.trim_end_matches('.').to_owned())
}

/// Our message for a table or function that does not exist; none for other messages.
fn unknown_words(text: &str) -> Option<String> {
    let name = |before: &str, behind: &str| text.strip_prefix(before)?.split_once(behind);
    if let Some((name, _)) = name("table function '", "' not found") {
        return Some(unknown(
            "table function",
            name,
            TABLE_FUNCTIONS.iter().map(|(name, ..)| *name),
        ));
    }
    if let Some((name, _)) = name("table '", "' not found") {
        let name = name.strip_prefix("datafusion.").unwrap_or(name);
        return Some(unknown("table", name, table_names()));
    }
    // The engine looks among its scalar functions, or among aggregates where the call is one, and names the nearest one
    // however far it is.
    let (name, meant) = name("Invalid function '", "'.")?;
    let meant = meant.trim().strip_prefix("Did you mean '").and_then(|it| it.strip_suffix("'?"));
    let way_out = did_you_mean(name, meant);
    let way_out = way_out.unwrap_or_else(|| "SHOW FUNCTIONS lists those that there are".to_owned());
    Some(format!("no function `{name}`; {way_out}"))
}

fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let unknown = UnknownName::new(what, name, known);
    with_hint(&unknown, Some(unknown.hint()))
}

fn with_hint(told: &dyn std::fmt::Display, hint: Option<Hint>) -> String {
    hint.map_or_else(|| told.to_string(), |hint| format!("{told}; {hint}"))
}

/// Our message for a faulty regular expression: the user's fault, which the engine reports as its own.
fn pattern(text: &str) -> Option<String> {
    let (_, why) = text.split_once("Regular expression did not compile: ")?;
    Some(match why.split_once("CompiledTooBig(") {
        Some((_, rest)) => {
            let most: String = rest.chars().take_while(char::is_ascii_digit).collect();
            format!(
                "the regular expression takes more than {most} bytes when it is compiled: use smaller counts in its braces"
            )
        }
        None => format!(
            "the regular expression is wrong: {}",
            why.split(". This").next().unwrap_or(why)
        ),
    })
}

/// Our message, with the way out, for an expression that stands where the engine cannot compute it.
fn misplaced(text: &str) -> Option<String> {
    let (_, named) = text.split_once("does not support logical expression ")?;
    Some(if named.starts_with("WindowFunction") {
        "a window function (OVER) is not allowed in a condition: compute it in a subquery, as in `id IN (SELECT id FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM documents) WHERE n <= 100)`".to_owned()
    } else if ["Exists", "InSubquery", "ScalarSubquery", "SetComparison"]
        .iter()
        .any(|kind| named.starts_with(kind))
    {
        "a subquery is not allowed here: use it in its own condition, as in `id IN (SELECT witness FROM duplicates)`".to_owned()
    } else {
        let kind: String = named.chars().take_while(|c| c.is_alphanumeric()).collect();
        format!("an expression of the kind {kind} is not allowed here: leave it out")
    })
}

/// The name that the engine found no column for, and the columns that it looked at.
struct UnknownField<'e> {
    field: &'e Column,
    columns: &'e [Column],
}

impl<'e> UnknownField<'e> {
    fn of(error: &'e DataFusionError) -> Option<Self> {
        let DataFusionError::SchemaError(schema, _) = error.find_root() else { return None };
        let SchemaError::FieldNotFound { field, valid_fields } = schema.as_ref() else {
            return None;
        };
        Some(Self { field, columns: valid_fields })
    }

    /// The table, or its alias, that stands before the name.
    fn table(&self) -> Option<&'e str> {
        self.field.relation.as_ref().map(TableReference::table)
    }

    /// The columns of that table, or of all where none is named.
    fn known(&self) -> Vec<&'e str> {
        let table = self.table();
        let is_of = |column: &&Column| table.is_none() || table == table_of(column);
        once(self.columns.iter().filter(is_of).map(|column| column.name.as_str()))
    }

    fn is_of_documents(&self) -> bool {
        let known = self.known();
        ["key", "standing", "meta"].iter().all(|name| known.contains(name))
    }

    /// What is wrong, and the way out: of a table with an alias its columns alone.
    fn words(&self) -> String {
        let name = &self.field.name;
        let (known, tables) = (self.known(), once(self.columns.iter().filter_map(table_of)));
        let Some(table) = self.table().filter(|_| !tables.is_empty()) else {
            let known = once(self.columns.iter().map(|column| column.name.as_str()));
            return self.with_notes(unknown("column", name, known));
        };
        match known.as_slice() {
            [] => unknown("table or alias", table, tables),
            _ if tables.len() == 1 => self.with_notes(unknown("column", name, known)),
            _ => {
                let unknown = UnknownName::new("column", name, known);
                self.with_notes(format!("{unknown} in `{table}`; {}", unknown.hint()))
            }
        }
    }

    fn with_notes(&self, told: String) -> String {
        let field = match self.is_of_documents() {
            true => format!(
                "; a field of the records is `meta ->> '{}'`, and what `id_field=` named is the column key",
                self.field.name
            ),
            false => String::new(),
        };
        format!("{told} (a name with capitals needs double quotes, text needs single ones){field}")
    }
}

fn table_of(column: &Column) -> Option<&str> {
    column.relation.as_ref().map(TableReference::table)
}

/// Each name once, in their order.
fn once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The name that an error says `documents` has no column for.
pub(crate) fn unknown_column(error: &DataFusionError) -> Option<&str> {
    let unknown = UnknownField::of(error)?;
    unknown.is_of_documents().then_some(unknown.field.name.as_str())
}
