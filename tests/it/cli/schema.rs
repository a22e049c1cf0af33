//! The schema of the reports: what `--json` prints is what `corpusdb reference schema` says.

use crate::support::schema::{line_misfits, resolved, schema};
use crate::support::{corpusdb, repository};
use serde_json::{Map, Value};
use std::path::Path;

#[test]
fn every_verb_has_a_report_and_every_name_in_it_is_there() {
    fn look(schema: &Value, definitions: &Map<String, Value>) {
        match schema {
            Value::Object(members) => {
                if let Some(path) = members.get("$ref").and_then(Value::as_str) {
                    let name = path.strip_prefix("#/$defs/").unwrap();
                    assert!(definitions.contains_key(name), "{path}");
                }
                members.values().for_each(|inner| look(inner, definitions));
            }
            Value::Array(all) => all.iter().for_each(|inner| look(inner, definitions)),
            _ => {}
        }
    }
    let definitions = schema()["$defs"].as_object().unwrap();
    look(schema(), definitions);
    let details = resolved(&schema()["verbs"]["tokenizer show"]);
    assert_eq!(details["properties"]["complete"]["type"], "boolean");
    assert!(details["required"].as_array().unwrap().contains(&"base".into()));
}

#[test]
fn a_line_that_does_not_fit_is_found() {
    let report = &schema()["verbs"]["tokenizer drop"];
    let line = |text: &str| line_misfits(&serde_json::from_str(text).unwrap(), report);
    assert!(line(r#"{"name": "t", "broken_plans": [1]}"#).is_empty());
    assert_eq!(line(r#"{"name": "t"}"#), [".broken_plans is absent"]);
    assert_eq!(line(r#"{"name": "t", "broken_plans": ["1"]}"#).len(), 1);
    assert_eq!(line(r#"{"name": "t", "broken_plans": [], "more": 1}"#), [".more is unknown"]);
}

/// Files of the package that are written from the rows; `make docs` writes them.
#[test]
fn generated_python_files_are_up_to_date() {
    for (page, file) in [("python-options", "_options.py"), ("python-reports", "_reports.py")] {
        let path = repository(Path::new("python/corpusdb").join(file));
        let printed = corpusdb(&["reference", page]).good().stdout;
        assert!(std::fs::read_to_string(path).unwrap() == printed, "{file}: run `make docs`");
    }
}
