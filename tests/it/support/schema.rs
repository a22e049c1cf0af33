//! The schema of the reports, and what of a line of `--json` does not fit it.

use crate::support::corpusdb;
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// The schema, as the command prints it.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        serde_json::from_str(&corpusdb(&["reference", "schema"]).good().stdout).unwrap()
    })
}

/// Checks a line of `--json` against the report of the verb that the arguments begin with. Verbs that are in no table are
/// passed over.
#[track_caller]
pub fn assert_fits(arguments: &[&str], line: &Value) {
    let verbs = schema()["verbs"].as_object().unwrap();
    let words = |count: usize| arguments.iter().take(count).copied().collect::<Vec<_>>().join(" ");
    let Some(report) = verbs.get(&words(2)).or_else(|| verbs.get(&words(1))) else { return };
    let mut line = line.as_object().unwrap().clone();
    // Of the line, not of the report.
    line.shift_remove("type");
    let misfits = line_misfits(&Value::Object(line), report);
    assert!(misfits.is_empty(), "{arguments:?}: {misfits:?}");
}

/// As [`misfits`], where a report that is a list has a line for each thing in it.
pub fn line_misfits(line: &Value, report: &Value) -> Vec<String> {
    let report = resolved(report);
    if let Some(items) = report.get("items") {
        return misfits(line, items, "");
    }
    match branches(report).filter(|_| report.get("properties").is_none()) {
        Some(branches) => least(branches.iter().map(|branch| line_misfits(line, branch))),
        None => misfits(line, report, ""),
    }
}

pub fn resolved(schema: &Value) -> &Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(path) => &self::schema()["$defs"][path.rsplit('/').next().unwrap()],
        None => schema,
    }
}

pub fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()
}

/// Those of the branch that fits best.
pub fn least(all: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    all.min_by_key(Vec::len).unwrap_or_default()
}

/// What of a value a schema does not say, or says otherwise, each with its path.
pub fn misfits(value: &Value, schema: &Value, path: &str) -> Vec<String> {
    let schema = resolved(schema);
    let mut found = Vec::new();
    if let Some(branches) = branches(schema) {
        found.extend(least(branches.iter().map(|branch| misfits(value, branch, path))));
    }
    let is_one = |words: &Value| words.as_array().is_some_and(|words| words.contains(value));
    let is_word = schema.get("const").is_none_or(|word| word == value)
        && schema.get("enum").is_none_or(is_one);
    let kinds = schema.get("type").map(|kind| match kind {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap()],
    });
    if !is_word || kinds.is_some_and(|kinds| !kinds.iter().any(|kind| is_of_kind(value, kind))) {
        found.push(format!("{path}: {value} is not {schema}"));
    }
    match value {
        Value::Object(members) => found.extend(member_misfits(members, schema, path)),
        Value::Array(values) => {
            let tuple = schema.get("prefixItems").and_then(Value::as_array);
            for (at, value) in values.iter().enumerate() {
                let of = tuple.and_then(|parts| parts.get(at)).or_else(|| schema.get("items"));
                found.extend(of.iter().flat_map(|of| misfits(value, of, &format!("{path}[{at}]"))));
            }
        }
        _ => {}
    }
    found
}

pub fn member_misfits(members: &Map<String, Value>, schema: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap();
        if !members.contains_key(name) {
            found.push(format!("{path}.{name} is absent"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (name, value) in members {
        match known.and_then(|known| known.get(name)).or(others) {
            Some(of) if of.is_object() => {
                found.extend(misfits(value, of, &format!("{path}.{name}")));
            }
            Some(of) if *of == Value::Bool(false) => {
                found.push(format!("{path}.{name} is unknown"))
            }
            // Another branch may know it.
            None if known.is_some() && branches(schema).is_none() => {
                found.push(format!("{path}.{name} is unknown"));
            }
            _ => {}
        }
    }
    found
}

pub fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no kind {other}"),
    }
}
