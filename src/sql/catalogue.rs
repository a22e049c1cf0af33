//! What every table, column and function of SQL means.
//!
//! SHOW TABLES and DESCRIBE answer with these texts, and docs/reference/sql.md is written from them.

use crate::sql::documents::schema::DocumentColumns;
use crate::sql::error::SqlError;
use crate::sql::functions::{json, text_quality};
use crate::sql::session;
use crate::sql::syntax::parser::TABLE_FUNCTIONS;
use crate::sql::tables::arrays::texts;
use crate::sql::tables::specs::{DOCUMENT, DOCUMENTS};
use crate::sql::tables::system;
use crate::sql::tables::system::{TABLES, table_names};
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::Documentation;
use model::near_names::UnknownName;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::View;

/// A row for every table.
pub(crate) fn tables() -> Result<RecordBatch, SqlError> {
    let names = table_names();
    let rows = std::iter::once(DOCUMENT).chain(TABLES.iter().map(|(spec, _)| spec.row));
    batch(vec![("table", texts(names)), ("a row is", texts(rows))])
}

pub(crate) fn columns(view: &View, table: &str) -> Result<RecordBatch, SqlError> {
    let Some(schema) = schema(view, table) else {
        return Err(SqlError::Unknown(UnknownName::new("table", table, table_names())));
    };
    let fields = || schema.fields().iter();
    let kinds = fields().map(|field| sql_type(field.data_type()));
    let nullable: BooleanArray = fields().map(|field| Some(field.is_nullable())).collect();
    let meanings = fields().map(|field| meaning(view, table, field.name()));
    batch(vec![
        ("column", texts(fields().map(|field| field.name().as_str()))),
        ("type", texts(kinds)),
        ("nullable", Arc::new(nullable)),
        ("meaning", texts(meanings)),
    ])
}

fn schema(view: &View, table: &str) -> Option<SchemaRef> {
    if table == "documents" {
        return Some(DocumentColumns::of(view).schema);
    }
    system::all(view).find(|known| known.name() == table).map(|t| t.columns())
}

fn meaning(view: &View, table: &str, column: &str) -> String {
    if table == "documents" && view.fields().iter().any(|field| field.name == column) {
        return "a declared field of the records: VARCHAR for keywords, BIGINT for ints, DOUBLE for floats, BOOLEAN for bools, TIMESTAMP (UTC) for timestamps; null if it is absent or has another type".to_owned();
    }
    let known = match table {
        "documents" => DOCUMENTS.iter().find(|known| known.0 == column).map(|known| known.1),
        _ => {
            let of_table = TABLES.iter().filter(|(spec, _)| spec.name == table);
            let mut columns = of_table.flat_map(|(spec, _)| spec.columns);
            columns.find(|known| known.name == column).map(|known| known.meaning)
        }
    };
    if let Some(meaning) = known {
        return meaning.to_owned();
    }
    let tokenizer = column.strip_prefix("tokens_").unwrap_or(column);
    match table {
        "documents" => {
            format!(
                "length in tokens of the tokenizer `{tokenizer}`; null for documents that it has not encoded"
            )
        }
        _ => format!("tokens of its kept documents by the tokenizer `{tokenizer}`"),
    }
}

/// The name of a type as CAST takes it.
fn sql_type(kind: &DataType) -> String {
    match kind {
        DataType::Utf8 | DataType::Utf8View => "VARCHAR".to_owned(),
        DataType::Boolean => "BOOLEAN".to_owned(),
        DataType::Int64 => "BIGINT".to_owned(),
        DataType::UInt64 => "BIGINT UNSIGNED".to_owned(),
        DataType::UInt32 => "INT UNSIGNED".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP".to_owned(),
        other => other.to_string(),
    }
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, SqlError> {
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), false);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(SqlError::arrow)
}

/// A function as SHOW FUNCTIONS describes it.
struct FunctionDoc {
    kind: &'static str,
    group: String,
    usage: String,
    meaning: String,
}

/// A row for every function.
pub(crate) fn functions(view: &View) -> Result<RecordBatch, SqlError> {
    let all = all_functions(view)?;
    let rows = || all.values();
    batch(vec![
        ("function", texts(all.keys())),
        ("kind", texts(rows().map(|row| row.kind))),
        ("group", texts(rows().map(|row| &row.group))),
        ("usage", texts(rows().map(|row| &row.usage))),
        ("meaning", texts(rows().map(|row| &row.meaning))),
    ])
}

/// Every function by its names. Where one name is both a scalar and a window function, the scalar one is listed.
fn all_functions(view: &View) -> Result<BTreeMap<String, FunctionDoc>, SqlError> {
    let state = session::session(view)?;
    let mut all = BTreeMap::new();
    for (name, function) in state.scalar_functions() {
        let doc = FunctionDoc::of("scalar", name, function.documentation());
        all.insert(name.clone(), doc);
    }
    for (name, meaning) in json::functions() {
        let usage = format!("{name}(JSON, STEP, ..)");
        all.insert(name.to_owned(), FunctionDoc::ours("scalar", "JSON Functions", &usage, meaning));
    }
    for (name, usage, meaning) in text_quality::functions() {
        let doc = FunctionDoc::ours("scalar", "Text Quality Functions", &usage, meaning);
        all.insert(name.to_owned(), doc);
    }
    for (name, function) in state.aggregate_functions() {
        let doc = FunctionDoc::of("aggregate", name, function.documentation());
        all.entry(name.clone()).or_insert(doc);
    }
    for (name, function) in state.window_functions() {
        let doc = FunctionDoc::of("window", name, function.documentation());
        all.entry(name.clone()).or_insert(doc);
    }
    for (name, usage, meaning) in TABLE_FUNCTIONS {
        // `range` also makes lists of values; it is listed as a table.
        let doc = FunctionDoc::ours("table", "Table Functions", usage, meaning);
        all.insert(name.to_owned(), doc);
    }
    Ok(all)
}

impl FunctionDoc {
    fn ours(kind: &'static str, group: &str, usage: &str, meaning: &str) -> Self {
        let (group, usage, meaning) = (group.to_owned(), usage.to_owned(), meaning.to_owned());
        Self { kind, group, usage, meaning }
    }

    /// In the engine's own words.
    fn of(kind: &'static str, name: &str, documentation: Option<&Documentation>) -> Self {
        let Some(engine) = documentation else {
            return Self::ours(kind, "Other Functions", &format!("{name}(..)"), "");
        };
        let first = engine.description.trim().lines().next().unwrap_or_default();
        Self::ours(kind, engine.doc_section.label, engine.syntax_example.trim(), first)
    }
}
