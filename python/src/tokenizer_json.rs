//! What is told of a tokenizer: the object that the command prints with `--json`, of one type.

use corpusdb::cli::words::told;
use corpusdb::curate::AddTokenizerReport;
use corpusdb::store::TokenizerRecord;
use serde_json::{Map, Value, json};

/// Its record, and what was just encoded.
pub(crate) fn record(record: &TokenizerRecord, added: Option<&AddTokenizerReport>) -> Value {
    let mut told = untyped(told::object(record, added));
    told.entry("refused").or_insert(Value::Null);
    let markers = added.map(|added| &added.ordinary_markers);
    told.insert("ordinary_markers".to_owned(), json!(markers));
    Value::Object(told)
}

/// Its record, the tokenizer it extends, and every decision of its training.
pub(crate) fn everything(
    record: &TokenizerRecord,
    base: Option<&str>,
    decisions: Option<&[u8]>,
) -> Value {
    let decisions = decisions.and_then(|bytes| serde_json::from_slice(bytes).ok());
    Value::Object(untyped(told::everything(record, base, decisions.unwrap_or(Value::Null))))
}

fn untyped(mut told: Map<String, Value>) -> Map<String, Value> {
    told.shift_remove("type");
    told
}
