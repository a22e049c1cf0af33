//! `corpusdb demo` away from any Rust project: the command carries a text.

use crate::support::{Random, TestDir, command, json_lines, prose, repository};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A line of the shell in a folder, with this command in the path.
fn shell(folder: &Path, line: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_corpusdb")).parent().unwrap().to_path_buf();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path)));
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", path.unwrap())
        .output()
        .unwrap()
}

/// Runs the demo in a folder, without a cargo to ask.
fn demo(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corpusdb"))
        .arg("demo")
        .args(arguments)
        .current_dir(folder)
        .env("CARGO", "/nowhere/cargo")
        .output()
        .unwrap()
}

/// It ended with "could not find `Cargo.toml`", which nobody who has the command alone can mend.
#[test]
fn a_demo_in_an_empty_folder_uses_the_built_in_text() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &[]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "Not on crates here: cannot run /nowhere/cargo",
        "equal bytes",
        "near duplicates",
        "witness: document",
        "tokens set apart by |",
        "ok     conservation",
        "verified",
        "Done in",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\u{fffd}'), "half a character: {told}");
    assert!(told.contains("[-") && told.contains("{+"), "where they differ: {told}");
    assert!(folder.path().join("corpusdb-demo/epoch-0/manifest.json").is_file());
    let script = std::fs::read(folder.path().join("corpusdb-demo/demo.sh")).unwrap();
    assert_eq!(script, std::fs::read(repository("examples/demo/demo.sh")).unwrap());
    // Each command that it shows can be copied as it stands.
    let shown: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("  $ ")).collect();
    assert!(shown.len() > 20, "{told}");
    for line in shown.iter().rev().take_while(|line| !line.contains("epoch verify")) {
        if !line.contains(" demo ") {
            let copied = shell(folder.path(), line);
            assert!(copied.status.success(), "{line}: {copied:?}");
        }
    }
}

/// Duplicates of given files were named by file and record number alone.
#[test]
fn a_demo_of_given_paths_shows_the_texts_of_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for number in 0..60_u32 {
        let words: Vec<String> =
            (0..60_u32).map(|at| format!("w{}", (number * 7919 + at * 104_729) % 5003)).collect();
        let text = words.join(" ");
        lines.push_str(&format!("{{\"text\":\"{text}\"}}\n"));
        if number % 6 == 0 {
            lines.push_str(&format!("{{\"text\":\"{text} and one ending more\"}}\n"));
        }
    }
    std::fs::write(folder.path().join("pages.jsonl"), lines).unwrap();
    let output = demo(folder.path(), &["pages.jsonl"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("{+ and one ending more+}"), "{told}");
    assert!(told.contains("ingest corpusdb-demo/corpus pages.jsonl --source pages"), "{told}");
}

/// In JSON nobody tells a story: each line is an answer.
#[test]
fn a_demo_in_json_is_the_answers_of_its_commands() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &["--json"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    let answers = json_lines(&told);
    let types: Vec<&str> = answers.iter().filter_map(|answer| answer["type"].as_str()).collect();
    assert_eq!(types.first(), Some(&"init"), "{told}");
    let ingests: Vec<_> = answers.iter().filter(|answer| answer["type"] == "ingest").collect();
    assert_eq!(ingests.len(), 8, "{told}");
    assert!(ingests[4..].iter().all(|again| again["added"] == 0), "{told}");
}

#[test]
fn a_demo_reuses_its_own_directory_and_refuses_others() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("corpusdb-demo");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(directory.join("mine.txt"), "kept").unwrap();
    let refused = demo(folder.path(), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--dir"), "{refused:?}");
    std::fs::remove_file(directory.join("mine.txt")).unwrap();
    assert!(demo(folder.path(), &[]).status.success());
    std::fs::write(directory.join("mine.txt"), "kept").unwrap();
    assert!(demo(folder.path(), &[]).status.success());
    assert_eq!(std::fs::read_to_string(directory.join("mine.txt")).unwrap(), "kept");
    // Where no shell is, the script stays to be read.
    let without = command(&["demo"]).current_dir(folder.path()).env("PATH", "").output().unwrap();
    assert_eq!(without.status.code(), Some(2));
    let words = String::from_utf8_lossy(&without.stderr);
    assert!(words.contains("no shell") && words.contains("demo.sh"), "{words}");
}

/// The crates of a project that cargo has unpacked: chosen by the script, every other one for the second crawl.
#[test]
fn a_demo_in_a_rust_project_works_on_its_crates() {
    let scratch = TestDir::new();
    let home = scratch.path("cargo");
    let registry = home.join("registry/src/index.example-1");
    let mut locked = String::from("[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n");
    let random = &mut Random::new(5);
    for (name, version) in [("base-64", "0.1.0"), ("base-64", "0.2.0"), ("words", "1.0.0+a-b")] {
        locked += &format!(
            "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+x\"\n"
        );
        let root = registry.join(format!("{name}-{version}"));
        for (file, words) in
            [("src/lib.rs", 300), ("src/a table.rs", 90_000), ("README.md", 80), ("a.json", 9)]
        {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, prose(random, 0, words)).unwrap();
        }
        std::fs::create_dir_all(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/hidden.rs"), "hidden").unwrap();
        std::fs::write(root.join("LICENSE-MIT"), "the licence that all of them have, word by word")
            .unwrap();
    }
    let project = scratch.write("project/Cargo.toml", "[package]\nname = \"own\"\n");
    scratch.write("project/Cargo.lock", locked);
    let cargo = scratch.write("bin/cargo", format!("#!/bin/sh\necho '{project}'\n"));
    assert!(shell(&scratch.path("."), &format!("chmod +x '{cargo}'")).status.success());
    let output = command(&["demo"])
        .current_dir(scratch.path("project"))
        .env("CARGO", &cargo)
        .env("CARGO_HOME", &home)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.contains("Gather real text") && told.contains("name = \"licenses\""), "{told}");
    let crawl = |number: u32| {
        let root = scratch.path(&format!("project/corpusdb-demo/crawl-{number}"));
        let mut files: Vec<String> = walk(&root)
            .iter()
            .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        files.sort();
        files
    };
    let of = |name: &str| {
        [
            format!("code/{name}/src/lib.rs"),
            format!("docs/{name}/README.md"),
            format!("licenses/{name}/LICENSE-MIT"),
        ]
    };
    let mut both = [of("base-64-0.1.0"), of("words-1.0.0+a-b")].concat();
    both.sort();
    assert_eq!((crawl(1), crawl(2)), (both, of("base-64-0.2.0").to_vec()));
}

/// All files below a directory.
fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}
