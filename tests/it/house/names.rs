//! Names of tests say behaviour, helpers stand in `support`, and no type of the tests is defined twice.

use crate::support::{assert_none, repository};
use std::collections::BTreeMap;
use std::path::Path;

/// Characters of a name: what a list of tests shows in one line.
const LONGEST: usize = 60;

/// Words that riddle: who does what, and when, says more.
const RIDDLES: [&str; 4] = ["told", "anew", "of_which", "is_none"];

/// The sources below a folder: path and text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = repository(folder);
    let files = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.unwrap().into_path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
    let named = |path: &Path| format!("{folder}/{}", path.strip_prefix(&root).unwrap().display());
    files.map(|path| (named(&path), std::fs::read_to_string(&path).unwrap())).collect()
}

/// The identifier with which a text begins.
fn identifier(text: &str) -> &str {
    let end = text.find(|sign: char| !sign.is_alphanumeric() && sign != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Tests of a source: functions under `#[test]`, and those of `corpusdb_test!`.
fn tests(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let rest = match line.strip_prefix("corpusdb_test!(") {
            Some("") => lines.find(|line| !line.starts_with("///")),
            Some(rest) => Some(rest),
            None if line == "#[test]" => {
                lines.find_map(|line| line.split_once("fn ").map(|(_, rest)| rest))
            }
            None => continue,
        };
        found.extend(rest.map(identifier));
    }
    found
}

fn is_riddle(name: &str) -> bool {
    let spelled = format!("_{name}_");
    name.starts_with("what_") || RIDDLES.iter().any(|word| spelled.contains(&format!("_{word}_")))
}

#[test]
fn names_of_tests_are_short_and_say_behaviour() {
    let all = [sources("src"), sources("tests/it")].concat();
    let named =
        all.iter().flat_map(|(path, text)| tests(text).into_iter().map(move |of| (path, of)));
    let named: Vec<_> = named.collect();
    assert!(named.len() > 1_400, "{}", named.len());
    let faults = named.iter().filter(|(_, name)| name.len() > LONGEST || is_riddle(name));
    let faults: Vec<String> = faults.map(|(path, name)| format!("{path}: {name}")).collect();
    assert_none(&faults);
}

#[test]
fn tests_import_from_support_alone() {
    let faults = sources("tests/it").into_iter().flat_map(|(path, text)| {
        let is_helper = path.starts_with("tests/it/support/");
        let stranger = |line: &&str| {
            let from = line.strip_prefix("use crate::").map(identifier);
            line.starts_with("use super::") && !is_helper || from.is_some_and(|it| it != "support")
        };
        text.lines().filter(stranger).map(|line| format!("{path}: {line}")).collect::<Vec<_>>()
    });
    assert_none(&faults.collect::<Vec<_>>());
}

#[test]
fn no_type_of_the_tests_is_defined_twice() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources("tests/it") {
        for line in text.lines() {
            let line = line.strip_prefix("pub ").unwrap_or(line);
            let name = line.strip_prefix("struct ").or_else(|| line.strip_prefix("enum "));
            if let Some(name) = name.map(identifier) {
                places.entry(name.to_owned()).or_default().push(path.clone());
            }
        }
    }
    let twice = places.into_iter().filter(|(_, places)| places.len() > 1);
    let faults: Vec<String> =
        twice.map(|(name, of)| format!("{name}: {}", of.join(", "))).collect();
    assert_none(&faults);
}

#[test]
fn riddles_and_every_form_of_a_test_are_seen() {
    let text = "#[test]\nfn one() {}\n#[cfg(unix)]\n#[test]\n#[ignore]\nfn two() {}\ncorpusdb_test!(three, |t| {});\n\
                corpusdb_test!(\n    /// Why.\n    four,\n    |t| {}\n);\nfn helper() {}\n";
    assert_eq!(tests(text), ["one", "two", "three", "four"]);
    let riddles = ["what_is_kept", "a_stop_is_told", "it_is_none", "a_source_of_which_nothing_is"];
    assert!(riddles.into_iter().all(is_riddle));
    assert!(!is_riddle("somewhat_longer_texts_are_toldered"));
}
