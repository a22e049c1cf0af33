//! Lists every function that a statement can call, with what it is for: the answer of SHOW FUNCTIONS.

use super::files::TABLE_FUNCTIONS;
use super::{json, text_quality};
use crate::sql::error::SqlError;
use crate::sql::session;
use arrow::array::StringArray;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::logical_expr::Documentation;
use std::collections::BTreeMap;
use std::sync::Arc;
use store::View;

/// A function as SHOW FUNCTIONS describes it.
struct FunctionDoc {
    kind: &'static str,
    group: String,
    usage: String,
    meaning: String,
}

pub(crate) fn table(view: &View) -> Result<RecordBatch, SqlError> {
    let all = all(view)?;
    let rows = || all.values();
    let columns: [(&str, StringArray); 5] = [
        ("function", all.keys().map(Some).collect()),
        ("kind", rows().map(|row| Some(row.kind)).collect()),
        ("group", rows().map(|row| Some(row.group.as_str())).collect()),
        ("usage", rows().map(|row| Some(row.usage.as_str())).collect()),
        ("meaning", rows().map(|row| Some(row.meaning.as_str())).collect()),
    ];
    let field = |(name, _): &(&str, StringArray)| Field::new(*name, DataType::Utf8, false);
    let schema = Schema::new(columns.iter().map(field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|(_, array)| Arc::new(array) as _).collect();
    RecordBatch::try_new(Arc::new(schema), arrays).map_err(SqlError::arrow)
}

/// Every function by its names. Where one name is both a scalar and a window function, the scalar one is listed.
fn all(view: &View) -> Result<BTreeMap<String, FunctionDoc>, SqlError> {
    let state = session::session(view)?;
    let mut all = BTreeMap::new();
    for (name, function) in state.scalar_functions() {
        let told = FunctionDoc::of("scalar", name, function.documentation());
        all.insert(name.clone(), told);
    }
    for (name, meaning) in json::functions() {
        let usage = format!("{name}(JSON, STEP, ..)");
        all.insert(name.to_owned(), FunctionDoc::ours("scalar", "JSON Functions", &usage, meaning));
    }
    for (name, usage, meaning) in text_quality::functions() {
        let told = FunctionDoc::ours("scalar", "Text Quality Functions", &usage, meaning);
        all.insert(name.to_owned(), told);
    }
    for (name, function) in state.aggregate_functions() {
        let told = FunctionDoc::of("aggregate", name, function.documentation());
        all.entry(name.clone()).or_insert(told);
    }
    for (name, function) in state.window_functions() {
        let told = FunctionDoc::of("window", name, function.documentation());
        all.entry(name.clone()).or_insert(told);
    }
    for (name, usage, meaning) in TABLE_FUNCTIONS {
        // `range` also makes lists of values; it is listed as a table.
        let told = FunctionDoc::ours("table", "Table Functions", usage, meaning);
        all.insert(name.to_owned(), told);
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
        let Some(told) = documentation else {
            return Self::ours(kind, "Other Functions", &format!("{name}(..)"), "");
        };
        let first = told.description.trim().lines().next().unwrap_or_default();
        Self::ours(kind, told.doc_section.label, told.syntax_example.trim(), first)
    }
}
