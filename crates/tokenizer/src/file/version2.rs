//! Converts the canonical `tokenizer.json` of tokenizers 1.0 (version 2.0) to the form that the reference reads.
//!
//! Version 2.0 says in two places what 1.0 says in one: the byte level is a flag of the model, and a
//! Metaspace is a normalizer followed by a split. It leaves defaults out, and its template names the
//! ids of special tokens where 1.0 names their spellings. Everything else is spelled alike.

use super::pattern::GPT2;
use super::step_type;
use super::write::{byte_level, sequence, split};
use crate::TokenizerError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};

#[derive(Deserialize)]
struct FileVersion {
    version: Option<String>,
    #[serde(rename = "model")]
    _model: IgnoredAny,
}

/// None when the oracle reads the file as it is; else the same tokenizer as version 1.0.
pub(crate) fn to_version_1(bytes: &[u8]) -> Result<Option<Vec<u8>>, TokenizerError> {
    let head: FileVersion =
        serde_json::from_slice(bytes).map_err(|error| TokenizerError::Load(error.into()))?;
    if head.version.as_deref() != Some("2.0") {
        return Ok(None);
    }
    let mut file: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| TokenizerError::Load(error.into()))?;
    lower(&mut file)?;
    serde_json::to_vec_pretty(&file).map(Some).map_err(TokenizerError::Write)
}

/// From version 2.0 to 1.0, in place.
fn lower(file: &mut Map<String, Value>) -> Result<(), TokenizerError> {
    file.insert("version".to_owned(), "1.0".into());
    let is_byte_level = file
        .get_mut("model")
        .and_then(Value::as_object_mut)
        .and_then(|model| model.shift_remove("byte_level"))
        == Some(Value::Bool(true));
    let metaspace = take_metaspace(file)?;
    let mut steps = members(file.get("pre_tokenizer"), "pretokenizers");
    for step in &mut steps {
        fill_split(step);
    }
    if let Some(metaspace) = metaspace {
        steps = with_metaspace(&metaspace, steps)?;
    }
    if is_byte_level {
        // GPT-2's split is the byte level's own.
        let is_gpt2 = steps.last() == Some(&split(json!({ "Regex": GPT2 }), "Isolated"));
        if is_gpt2 {
            steps.pop();
        }
        steps.push(byte_level(is_gpt2));
    }
    set(file, "pre_tokenizer", sequence("pretokenizers", steps));
    if file.get("post_processor").is_some_and(Value::is_object) {
        let names = spellings(file);
        if let Some(template) = file.get_mut("post_processor").and_then(Value::as_object_mut) {
            name_specials(template, &names)?;
        }
    }
    Ok(())
}

fn set(file: &mut Map<String, Value>, key: &str, value: Value) {
    file.insert(key.to_owned(), value);
}

/// The steps of a component, one or a sequence.
fn members(component: Option<&Value>, children: &str) -> Vec<Value> {
    match component {
        None | Some(Value::Null) => Vec::new(),
        Some(step) if step_type(step) == "Sequence" => {
            step.get(children).and_then(Value::as_array).cloned().unwrap_or_default()
        }
        Some(step) => vec![step.clone()],
    }
}

/// Version 2.0 leaves out what is usual.
fn fill_split(step: &mut Value) {
    let fill = match step_type(step) {
        "Split" => json!({ "behavior": "Isolated", "invert": false }),
        "Punctuation" => json!({ "behavior": "Isolated" }),
        "Digits" => json!({ "individual_digits": false }),
        _ => return,
    };
    if let (Some(step), Value::Object(fill)) = (step.as_object_mut(), fill) {
        for (key, value) in fill {
            step.entry(key).or_insert(value);
        }
    }
}

/// The Metaspace that ends the normalizers, taken out of them.
fn take_metaspace(file: &mut Map<String, Value>) -> Result<Option<Value>, TokenizerError> {
    let mut steps = members(file.get("normalizer"), "normalizers");
    let Some(at) = steps.iter().position(|step| step_type(step) == "MetaspaceNormalizer") else {
        return Ok(None);
    };
    if at + 1 < steps.len() {
        let what = "normalizer goes on after a MetaspaceNormalizer, which version 1.0 cannot say";
        return Err(TokenizerError::Dialect(what.to_owned()));
    }
    let metaspace = steps.pop();
    set(file, "normalizer", sequence("normalizers", steps));
    Ok(metaspace)
}

/// The steps that the normalizer `metaspace` and `steps` together stand for.
fn with_metaspace(metaspace: &Value, steps: Vec<Value>) -> Result<Vec<Value>, TokenizerError> {
    let replacement = metaspace.get("replacement").cloned().unwrap_or_default();
    let cut = json!({
        "type": "Split", "pattern": { "String": replacement },
        "behavior": "MergedWithNext", "invert": false
    });
    let is_cut = steps.first() == Some(&cut);
    let drops = metaspace.get("drop_whitespace") == Some(&Value::Bool(true));
    if drops && !is_cut {
        let what =
            "MetaspaceNormalizer drops white space without a split, which version 1.0 cannot say";
        return Err(TokenizerError::Dialect(what.to_owned()));
    }
    let mut lowered = Vec::new();
    if drops {
        lowered.push(json!({ "type": "WhitespaceSplit" }));
    }
    lowered.push(json!({
        "type": "Metaspace", "replacement": replacement,
        "prepend_scheme": metaspace.get("prepend"), "split": is_cut
    }));
    lowered.extend(steps.into_iter().skip(usize::from(is_cut)));
    Ok(lowered)
}

/// Tokens by id, those of the template's special tokens among them.
fn spellings(file: &Map<String, Value>) -> HashMap<u64, String> {
    let mut names = HashMap::new();
    match file.get("model").and_then(|model| model.get("vocab")) {
        Some(Value::Object(vocab)) => {
            let named = vocab.iter().filter_map(|(token, id)| Some((id.as_u64()?, token.clone())));
            names.extend(named);
        }
        Some(Value::Array(vocab)) => {
            let tokens = vocab.iter().map(|piece| piece.get(0).and_then(Value::as_str));
            let named = (0..).zip(tokens).filter_map(|(id, token)| Some((id, token?.to_owned())));
            names.extend(named);
        }
        _ => {}
    }
    let added = file.get("added_tokens").and_then(Value::as_array).into_iter().flatten();
    names.extend(added.filter_map(|token| {
        Some((token.get("id")?.as_u64()?, token.get("content")?.as_str()?.to_owned()))
    }));
    names
}

/// Ids of a template become spellings, with the table that gives the ids back.
fn name_specials(
    template: &mut Map<String, Value>,
    names: &HashMap<u64, String>,
) -> Result<(), TokenizerError> {
    let mut specials = BTreeMap::new();
    for key in ["single", "pair"] {
        let pieces = template.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut named = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let type_id = piece.get("type_id").and_then(Value::as_u64).unwrap_or(0);
            if let Some(sequence) = piece.get("seq") {
                named.push(json!({ "Sequence": { "id": sequence, "type_id": type_id } }));
                continue;
            }
            for id in piece.get("ids").and_then(Value::as_array).into_iter().flatten() {
                let name = id.as_u64().and_then(|id| names.get(&id)).ok_or_else(|| {
                    let what = format!("post_processor adds the id {id}, which no token has");
                    TokenizerError::Dialect(what)
                })?;
                named.push(json!({ "SpecialToken": { "id": name, "type_id": type_id } }));
                let entry = json!({ "id": name, "ids": [id], "tokens": [name] });
                specials.insert(name.clone(), entry);
            }
        }
        template.insert(key.to_owned(), named.into());
    }
    template.insert("special_tokens".to_owned(), json!(specials));
    Ok(())
}
