//! What is told of a tokenizer: the object that the command prints with `--json`.

use corpusdb::curate::Added;
use corpusdb::store::TokenizerRecord;
use serde_json::{Map, Value, json};

/// Its record, and what was just encoded.
pub(crate) fn record(record: &TokenizerRecord, added: Option<&Added>) -> Value {
    let mut told = fields(record);
    let done = added.map(|added| &added.done);
    told.insert("encoded_tokens".to_owned(), json!(done.map(|done| done.tokens)));
    let encoded = done.map(|done| done.documents.saturating_sub(done.copied));
    told.insert("encoded_documents".to_owned(), json!(encoded));
    told.insert("copied_documents".to_owned(), json!(done.map(|done| done.copied)));
    let spelled = done.map(|done| &done.special_tokens_in_text);
    told.insert("special_tokens_in_text".to_owned(), json!(spelled));
    let refused = done.map(|done| &done.refused).filter(|found| found.documents > 0);
    told.insert("refused".to_owned(), json!(refused));
    let markers = added.map(|added| &added.ordinary_markers);
    told.insert("ordinary_markers".to_owned(), json!(markers));
    Value::Object(told)
}

/// Its record, the tokenizer it extends, and every decision of its training.
pub(crate) fn everything(
    record: &TokenizerRecord,
    base: Option<String>,
    decisions: Option<&[u8]>,
) -> Value {
    let mut told = fields(record);
    told.insert("base".to_owned(), json!(base));
    let decisions = decisions.and_then(|bytes| serde_json::from_slice(bytes).ok());
    told.insert("decisions".to_owned(), decisions.unwrap_or(Value::Null));
    Value::Object(told)
}

fn fields(record: &TokenizerRecord) -> Map<String, Value> {
    let hex = |hash: &[u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let originals = record.originals.iter();
    let originals: Vec<Value> =
        originals.map(|file| json!({ "name": file.name, "hash": hex(&file.hash) })).collect();
    let told = json!({
        "name": record.name, "vocab_size": record.vocab_size,
        "hash": hex(&record.hash), "lineage": record.lineage, "backend": record.backend,
        "reference": record.reference, "originals": originals,
        "complete": record.encoded_to == u64::MAX,
    });
    match told {
        Value::Object(told) => told,
        _ => Map::new(),
    }
}
