//! Options in the words of the library: by the names of their fields, which each face writes as its users do.

use crate::support::{Scratch, assert_none, corpusdb, crawl, ingest, init, lines, repository};
use corpusdb::cli::rows::{Face, spell_message};
use corpusdb::{Corpus, ErrorKind};
use std::path::{Path, PathBuf};

/// Files whose words are stored, as reasons of rejects, or run as they stand: they are in the spelling of the command.
const STORED: [&str; 12] = [
    "src/model/record.rs",
    "src/input/builder.rs",
    "src/input/csv_reader.rs",
    "src/input/foreign.rs",
    "src/input/json_reader.rs",
    "src/ingest/chat/budget.rs",
    "src/ingest/chat/conversation.rs",
    "src/ingest/chat/renderer.rs",
    "src/ingest/monitor.rs",
    "src/query/sql/catalogue.rs",
    "src/epoch/fetch/gather.rs",
    "src/model/error.rs",
];

fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// Lines of the library, without the command, comments and tests: file, number, line.
fn library_lines() -> Vec<(String, usize, String)> {
    let (root, mut files) = (repository(""), Vec::new());
    sources(&root.join("src"), &mut files);
    let mut found = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap().display().to_string();
        if name.starts_with("src/cli/") || name.contains("tests") {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        found.extend(lines.map(|(number, line)| (name.clone(), number, line.to_owned())));
    }
    found
}

/// The options in backticks of a line: name and value.
fn options(line: &str) -> Vec<(&str, &str)> {
    let parts = line.split('`').skip(1).step_by(2);
    let named = parts.filter_map(|part| part.split_once('='));
    let is_field = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    named.filter(|(name, _)| !name.is_empty() && name.chars().all(is_field)).collect()
}

/// Messages named flags of the command, also to those who wrote Python.
#[test]
fn every_option_that_the_library_names_is_one_and_each_face_spells_it() {
    let reference = corpusdb(&["reference"]).good().stdout;
    let (mut faults, mut count) = (Vec::new(), 0);
    for (file, number, line) in library_lines() {
        // `files` is of the library and Python alone: who runs the command may read its files.
        for (name, value) in options(&line).into_iter().filter(|(name, _)| *name != "files") {
            count += 1;
            let flag = format!("--{}", name.replace('_', "-"));
            let no_flag = format!("--no-{}", name.replace('_', "-"));
            if !reference.contains(&flag) && !reference.contains(&no_flag) {
                faults.push(format!("{file}:{number}: `{name}=` is no option"));
                continue;
            }
            let text = format!("give `{name}={value}` here");
            let command = spell_message(&text, Face::Command);
            if !command.contains(" --") || command.contains('`') {
                faults.push(format!("{file}:{number}: the command says {command}"));
            }
            let python = spell_message(&text, Face::Python);
            if !python.starts_with(&format!("give `{name}=")) || python.contains("--") {
                faults.push(format!("{file}:{number}: Python says {python}"));
            }
        }
        let flags = line.split(['"', ' ', '(', '`']).filter(|word| {
            word.strip_prefix("--")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        });
        let is_command = line.contains("corpusdb ") || STORED.contains(&file.as_str());
        if !is_command && flags.count() > 0 {
            faults.push(format!("{file}:{number}: a flag of the command: {}", line.trim()));
        }
    }
    assert_none(&faults);
    assert!(count > 40, "{count} options only: are they read?");
}

/// The kind, the message and the way out of errors that people run into, by the library and the command.
#[test]
fn typed_amiss_the_name_that_was_meant_is_told() {
    let scratch = Scratch::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "quality:float"]);
    let file = scratch.write("a.jsonl", lines(&crawl(3, 30, true)));
    ingest(&corpus, &[&file], &["--source", "harbour", "--id-field", "id"]);
    corpusdb(&["tokenizer", "train", &corpus, "harbour-300", "--vocab-size", "300"]).good();
    let meant = |arguments: &[&str], name: &str| {
        corpusdb(arguments).fails(&[&format!("did you mean `{name}`?")]);
    };
    meant(&["duplicates", &corpus, "--source", "habrour"], "harbour");
    meant(&["sql", &corpus, "SELECT qualty FROM documents"], "quality");
    meant(&["count", &corpus, "--where", "qualty > 1"], "quality");
    meant(&["tokenizer", "check", &corpus, "habour-300"], "harbour-300");
    corpusdb(&["snapshot", "create", &corpus, "december"]).good();
    meant(&["snapshot", "show", &corpus, "decembre"], "december");
    for (recipe, name) in [
        ("[pack]\nlenght = 4", "length"),
        ("[pack]\nkind = \"conact\"\nlength = 4", "concat"),
        ("[[source]]\nname = \"harbor\"\nweight = 1.0\n[pack]\nlength = 4", "harbour"),
    ] {
        let recipe = scratch.write("r.toml", format!("version = 1\n{recipe}\n"));
        meant(&["epoch", "plan", &corpus, &recipe], name);
    }
    let open = Corpus::open(&corpus).unwrap();
    let error = open.count("qualty > 1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadQuery);
    // What is like nothing is not guessed.
    let other = corpusdb(&["sql", &corpus, "SELECT xyzzy FROM documents"]).fails(&["xyzzy"]);
    assert!(!other.stderr.contains("did you mean"), "{}", other.stderr);
}
