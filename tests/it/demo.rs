//! `corpusdb demo` away from any Rust project: the command carries a text.

use std::path::Path;
use std::process::{Command, Output};

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
fn a_demo_in_an_empty_folder_works_on_the_text_that_the_command_carries() {
    let folder = tempfile::tempdir().unwrap();
    let output = demo(folder.path(), &[]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for part in [
        "Not on crates here: cannot run /nowhere/cargo",
        "equal bytes",
        "near duplicates",
        // The old spelling of German against the new.
        "removed:",
        "kept:",
        "tokens set apart by |",
        "ok     conservation",
        "Verified in",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains('\u{fffd}'), "half a character: {told}");
    let bracketed = |line: &&str| line.trim_start().starts_with("kept:") && line.contains('[');
    assert!(told.lines().any(|line| bracketed(&line)), "where they differ: {told}");
    assert!(folder.path().join("corpusdb-demo/epoch-0/manifest.json").is_file());
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
    let removed = told.lines().find(|line| line.trim_start().starts_with("removed:"));
    assert!(removed.is_some_and(|line| line.contains("[ and one ending more]")), "{told}");
}
