//! What every table and column of SQL means.
//!
//! SHOW TABLES and DESCRIBE answer with these texts, and docs/reference/sql.md is written from them.

use crate::sql::documents::schema::DocumentColumns;
use crate::sql::error::SqlError;
use crate::sql::tables::arrays::texts;
use crate::sql::tables::specs::{DOCUMENT, DOCUMENTS};
use crate::sql::tables::system;
use crate::sql::tables::system::TABLES;
use arrow::array::{ArrayRef, BooleanArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use model::near_names::UnknownName;
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

pub(crate) fn table_names() -> impl Iterator<Item = &'static str> {
    std::iter::once("documents").chain(TABLES.iter().map(|(spec, _)| spec.name))
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
