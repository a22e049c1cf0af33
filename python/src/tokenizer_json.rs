//! What is told of a tokenizer: its report as an object in which nothing is absent.

use corpusdb::Error;
use corpusdb::curate::TokenizerReport;
use corpusdb::tokenizer::TokenizerError;
use serde_json::{Value, json};

/// A tokenizer, and what was just encoded.
pub(crate) fn record(report: &TokenizerReport) -> Result<Value, Error> {
    let mut told = serde_json::to_value(report).map_err(TokenizerError::Write)?;
    if let Value::Object(members) = &mut told {
        members.entry("refused").or_insert(Value::Null);
        let markers = report.encoded_tokens.map(|_| &report.ordinary_markers);
        members.insert("ordinary_markers".to_owned(), json!(markers));
    }
    Ok(told)
}
