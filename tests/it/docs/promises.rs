//! docs/reference/promises.md: each promise has its test, and what `--json` had at the last release it still has.

use crate::support::{assert_none, repository, schema};
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = "docs/reference/promises.md";
const JSON: &str = "tests/promises/json.txt";

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Files with tests, and the functions behind each, that the rows of the page name in backticks.
fn named_tests(page: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let mut file = None;
        for name in row.split('`').skip(1).step_by(2) {
            let is_file = [".rs", ".py"].iter().any(|end| name.ends_with(end));
            match file {
                _ if is_file => file = Some(name),
                Some(file) => found.push((file, name)),
                None => {}
            }
        }
    }
    found
}

#[test]
fn every_promise_names_a_test_that_exists() {
    let page = read(PAGE);
    let named = named_tests(&page);
    let is_there = |(file, name): &&(&str, &str)| {
        let text = read(file);
        let declared = [format!("fn {name}("), format!("def {name}("), format!("!({name},")];
        declared.iter().any(|line| text.contains(line))
    };
    let missing = named.iter().filter(|test| !is_there(test));
    assert_none(&missing.map(|(file, name)| format!("{file} has no {name}")).collect::<Vec<_>>());
    assert!(named.len() > 10, "{named:?}");
    // A promise without a test would be none.
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.ends_with("| held by |"));
    for row in rows {
        assert!(!named_tests(row).is_empty(), "{row}");
    }
}

/// What a value of a schema is, in a few words.
fn kind(schema: &Value) -> String {
    let list = |values: &Value, mark: &str| {
        let kinds = values.as_array().unwrap().iter().map(kind);
        kinds.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(mark)
    };
    let inner = |name: &str| schema.get(name).map_or_else(String::new, kind);
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        return path.rsplit('/').next().unwrap().to_owned();
    }
    if let Some(branches) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        return list(branches, "|");
    }
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().map(|one| one.as_str().unwrap()).collect::<Vec<_>>().join("|")
        }
        Some(Value::String(name)) if name == "array" => match schema.get("prefixItems") {
            Some(parts) => format!("[{}]", list(parts, ",")),
            None => format!("[{}]", inner("items")),
        },
        Some(Value::String(name)) if name == "object" => {
            format!("{{{}}}", inner("additionalProperties"))
        }
        Some(Value::String(name)) => name.clone(),
        _ => "any".to_owned(),
    }
}

/// Each verb with its report, and each member of each report with what it is.
fn members(schema: &Value) -> BTreeSet<String> {
    let verbs = schema["verbs"].as_object().unwrap().iter();
    let mut found: BTreeSet<String> =
        verbs.map(|(verb, report)| format!("corpusdb {verb}: {}", kind(report))).collect();
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        for (member, of) in definition["properties"].as_object().into_iter().flatten() {
            found.insert(format!("{name}.{member}: {}", kind(of)));
        }
    }
    found
}

/// The list is written anew at a release (`CORPUSDB_WRITE_PROMISES=1`), when a promise may end; between two releases
/// members are added alone.
#[test]
fn members_of_json_are_those_of_the_last_release() {
    let now = members(schema());
    if std::env::var_os("CORPUSDB_WRITE_PROMISES").is_some() {
        let lines: String = now.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(repository(JSON), lines).unwrap();
    }
    let promised = read(JSON);
    assert!(promised.lines().count() > 1_000);
    let gone = promised.lines().filter(|line| !now.contains(*line));
    assert_none(&gone.map(|line| format!("promised, and gone: {line}")).collect::<Vec<_>>());
}

#[test]
fn kinds_and_rows_are_read_as_written() {
    let schema = serde_json::json!({
        "verbs": { "init": { "$ref": "#/$defs/A" } },
        "$defs": { "A": { "properties": {
            "n": { "type": ["integer", "null"] },
            "of": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/B" }, { "type": "null" }] } },
            "by": { "type": "object", "additionalProperties": { "type": "string" } },
        } } },
    });
    let expected = ["A.by: {string}", "A.n: integer|null", "A.of: [B|null]", "corpusdb init: A"];
    assert_eq!(members(&schema), expected.map(str::to_owned).into());
    let row = "| all of `it` | `tests/a.rs`: `one`, `two`; `b.py`: `three` |";
    assert_eq!(named_tests(row), [("tests/a.rs", "one"), ("tests/a.rs", "two"), ("b.py", "three")]);
}
