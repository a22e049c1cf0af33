//! Rewrites error messages of the engine: unknown names, expressions where they are not allowed, bad patterns.

use super::catalogue::table_names;
use super::outside::TABLE_FUNCTIONS;
use crate::sql::error::QueryError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use model::near_names::UnknownName;

/// The catalogue's own name, which users never wrote.
const CATALOGUE: &str = "datafusion.public.";

impl QueryError {
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

    /// As [`QueryError::statement`], but for errors of ours that went through the engine: they come back as they were.
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
    if let DataFusionError::SchemaError(schema, _) = error.find_root()
        && let SchemaError::FieldNotFound { field, valid_fields } = schema.as_ref()
    {
        let known: Vec<&str> = valid_fields.iter().map(|column| column.name.as_str()).collect();
        let told = unknown("column", &field.name, known.iter().copied());
        let is_of_documents = ["key", "standing", "meta"].iter().all(|name| known.contains(name));
        let field = match is_of_documents {
            true => format!(
                "; a field of the records is `meta ->> '{}'`, and what `id_field=` named is the column key",
                field.name
            ),
            false => String::new(),
        };
        return format!(
            "{told} (a name with capitals needs double quotes, text needs single ones){field}"
        );
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
        DataFusionError::External(inner) => inner.to_string(),
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
        return Some(unknown("table", name, table_names()));
    }
    // The engine looks among its scalar functions, or among aggregates where the call is one.
    let (name, meant) = name("Invalid function '", "'.")?;
    let meant = meant.trim().strip_prefix("Did you mean '")?.strip_suffix("'?")?;
    Some(format!("no function `{name}`; did you mean `{meant}`?"))
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let unknown = UnknownName::new(what, name, known);
    format!("{unknown}; {}", unknown.hint())
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

/// The name of the column an error complains of.
pub(crate) fn unknown_column(error: &DataFusionError) -> Option<&str> {
    let DataFusionError::SchemaError(schema, _) = error.find_root() else { return None };
    let SchemaError::FieldNotFound { field, .. } = schema.as_ref() else { return None };
    Some(&field.name)
}
