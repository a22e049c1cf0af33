//! What is told of a tokenizer: a line, or everything.

use crate::cli::print;
use crate::cli::session::CommandSession;
use corpusdb::Corpus;
use corpusdb::curate::{AddTokenizerReport, BackfillReport};
use corpusdb::store::TokenizerRecord;
use serde_json::{Map, Value, json};

/// A line, or an object, about a tokenizer; `added` is what was just encoded.
pub(super) fn record(
    record: &TokenizerRecord,
    added: Option<&AddTokenizerReport>,
    session: &CommandSession,
) -> anyhow::Result<()> {
    let complete = record.encoded_to == u64::MAX;
    for (marker, tokens) in added.iter().flat_map(|added| &added.ordinary_markers) {
        print::talk(&format!(
            "note: {} reads `{marker}` of a stored chat template as {tokens} ordinary tokens: turns cannot be told from what is said in them",
            record.name
        ));
    }
    if session.json {
        return print::json(&object(record, added));
    }
    let encoded = added.map_or(String::new(), |added| {
        let BackfillReport { documents, copied, tokens, .. } = &added.done;
        let tokens = print::number(*tokens);
        if *copied == 0 {
            return format!(", encoded {tokens} tokens");
        }
        let (encoded, copied) = (print::number(documents - copied), print::number(*copied));
        format!(", {tokens} tokens: {encoded} documents encoded, {copied} taken over")
    });
    let state = if complete { "" } else { "; not all is encoded: `tokenizer backfill` goes on" };
    print::line(&format!(
        "{}: {} ids, encoder {}{encoded}{state} ({})",
        record.name, record.vocab_size, record.backend, record.lineage
    ))?;
    for (special, documents) in added.iter().flat_map(|added| &added.done.special_tokens_in_text) {
        let documents = print::number(*documents);
        print::line(&format!("  {documents} documents spell {special}: encoded as text"))?;
    }
    if let Some(added) = added {
        print::refused(&record.name, &added.done.refused)?;
    }
    Ok(())
}

/// A tokenizer as an object, with what was just encoded.
pub fn object(record: &TokenizerRecord, added: Option<&AddTokenizerReport>) -> Map<String, Value> {
    let mut told = fields(record);
    let done = added.map(|added| &added.done);
    told.insert("encoded_tokens".to_owned(), json!(done.map(|done| done.tokens)));
    let encoded = done.map(|done| done.documents.saturating_sub(done.copied));
    told.insert("encoded_documents".to_owned(), json!(encoded));
    told.insert("copied_documents".to_owned(), json!(done.map(|done| done.copied)));
    let spelled = done.map(|done| &done.special_tokens_in_text);
    told.insert("special_tokens_in_text".to_owned(), json!(spelled));
    if let Some(refused) = done.map(|done| &done.refused).filter(|found| found.documents > 0) {
        told.insert("refused".to_owned(), json!(refused));
    }
    told
}

/// A tokenizer as an object, with the one that it extends and every decision of its training.
pub fn everything(
    record: &TokenizerRecord,
    base: Option<&str>,
    decisions: Value,
) -> Map<String, Value> {
    let mut told = fields(record);
    told.insert("base".to_owned(), json!(base));
    told.insert("decisions".to_owned(), decisions);
    told
}

fn fields(record: &TokenizerRecord) -> Map<String, Value> {
    let hex = |hash: &[u8; 32]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let originals = record.originals.iter();
    let originals: Vec<Value> =
        originals.map(|file| json!({ "name": file.name, "hash": hex(&file.hash) })).collect();
    let told = json!({
        "type": "tokenizer", "name": record.name, "vocab_size": record.vocab_size,
        "hash": hex(&record.hash), "lineage": record.lineage, "backend": record.backend,
        "reference": record.reference, "originals": originals,
        "complete": record.encoded_to == u64::MAX,
    });
    match told {
        Value::Object(told) => told,
        _ => Map::new(),
    }
}

/// Everything that is stored about a tokenizer.
pub(super) fn show(corpus: &Corpus, name: &str, session: &CommandSession) -> anyhow::Result<()> {
    let view = corpus.view();
    let (id, record) = corpus.tokenizer_record(name)?;
    let error = corpusdb::Error::from;
    let decisions = view.tokenizer_decisions(id).map_err(error)?;
    let decisions: Value = match decisions {
        Some(bytes) => serde_json::from_slice(&bytes)?,
        None => Value::Null,
    };
    let base = record.base.and_then(|base| {
        view.tokenizers().find(|(id, _)| id.0 == base).map(|(_, base)| base.name.clone())
    });
    let mut told = everything(record, base.as_deref(), decisions);
    if session.json {
        return print::json(&told);
    }
    told.remove("type");
    tell(&Value::Object(told), 0)
}

/// Prints a value as an indented outline.
fn tell(value: &Value, depth: usize) -> anyhow::Result<()> {
    let indent = "  ".repeat(depth);
    let nested = |value: &Value| match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(all) => all.iter().any(Value::is_object),
        _ => false,
    };
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let key = key.replace('_', " ");
                if nested(value) {
                    print::line(&format!("{indent}{key}"))?;
                    tell(value, depth + 1)?;
                } else {
                    print::line(&format!("{indent}{key}: {}", plain(value)))?;
                }
            }
        }
        Value::Array(all) => {
            for value in all {
                match value {
                    Value::Object(map) => {
                        let row: Vec<String> = map
                            .iter()
                            .map(|(key, value)| {
                                format!("{} {}", key.replace('_', " "), plain(value))
                            })
                            .collect();
                        print::line(&format!("{indent}{}", row.join(", ")))?;
                    }
                    value => print::line(&format!("{indent}{}", plain(value)))?,
                }
            }
        }
        value => print::line(&format!("{indent}{}", plain(value)))?,
    }
    Ok(())
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(plain).collect::<Vec<_>>().join(" "),
        value => value.to_string(),
    }
}

/// What a drop left behind.
pub(super) fn dropped(name: &str, plans: &[u32], session: &CommandSession) -> anyhow::Result<()> {
    if session.json {
        return print::json(&json!({ "type": "dropped", "name": name, "broken_plans": plans }));
    }
    let plans: Vec<String> = plans.iter().map(u32::to_string).collect();
    let broken = match plans.as_slice() {
        [] => String::new(),
        plans => format!("; plans {} cannot be opened any more", plans.join(", ")),
    };
    print::line(&format!("dropped {name}{broken}"))
}
