//! The packages of `crates/`: each public name of one is taken by another, by the database, its tests or its users.
//!
//! The compiler finds unused names within a package; what one gives to others it takes for used.

use crate::support::sources::{File, PACKAGES, files, tokens};
use crate::support::{assert_none, repository};
use std::collections::BTreeSet;

/// The package that a file is of; the database and what stands around it are one.
fn package(path: &str) -> &str {
    path.strip_prefix("crates/").and_then(|path| path.split('/').next()).unwrap_or("corpusdb")
}

fn is_test(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/")
}

/// Names that a file gives to other packages, if their modules are public: re-exports, which stand in the first column,
/// and methods, which stand in the fifth.
fn given(file: &File) -> BTreeSet<String> {
    let text = file.text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_face = file.path.ends_with("/mod.rs") || file.path.ends_with("/lib.rs");
    let trees = text.split("\npub use ").skip(1).filter(|_| is_face);
    let trees = trees.map(|tree| tree.split(';').next().unwrap_or_default());
    let ends = |part: &str| tokens(part).pop().filter(|name| name != "}");
    let mut names: BTreeSet<String> =
        trees.flat_map(|tree| tree.split([',', '}'])).filter_map(ends).collect();
    for line in text.lines() {
        let method = ["    pub fn ", "    pub const fn ", "    pub async fn "];
        let name = method.iter().find_map(|head| line.strip_prefix(head));
        names.extend(name.and_then(|name| tokens(name).into_iter().next()));
    }
    names
}

/// Public names of packages that no other package, and nobody outside, names.
fn untaken(files: &[File], surface: &str) -> Vec<String> {
    let taken_by = |file: &File| (package(&file.path).to_owned(), tokens(&file.text));
    let words: Vec<(String, Vec<String>)> = files.iter().map(taken_by).collect();
    let public: BTreeSet<String> = tokens(surface).into_iter().collect();
    let mut faults = Vec::new();
    for of in PACKAGES {
        let others = words.iter().filter(|(by, _)| by != of).flat_map(|(_, words)| words);
        let others: BTreeSet<&String> = others.chain(&public).collect();
        for file in files.iter().filter(|file| package(&file.path) == of && !is_test(&file.path)) {
            let unknown = given(file).into_iter().filter(|name| !others.contains(name));
            faults.extend(unknown.map(|name| format!("{}: nobody else names `{name}`", file.path)));
        }
    }
    faults
}

#[test]
fn every_public_name_of_a_package_is_taken() {
    let all = files(&["src", "crates", "tests", "benches", "python/src"]);
    let surface = std::fs::read_to_string(repository("tests/surface.txt")).unwrap();
    let names: usize =
        all.iter().filter(|it| it.path.starts_with("crates/")).map(|it| given(it).len()).sum();
    assert!(names > 800, "only {names} names found");
    assert_none(&untaken(&all, &surface));
}

#[test]
fn a_name_that_nobody_takes_is_seen() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file(
            "crates/model/src/lib.rs",
            "mod a;\npub use a::{Taken, Idle};\npub(crate) use a::Own;",
        ),
        file(
            "crates/model/src/a.rs",
            "impl Taken {\n    pub const fn ask(&self) {}\n    pub fn nap(&self) {}\n    pub(crate) fn own(&self) {}\n}",
        ),
        file("src/x.rs", "fn f() { model::Taken.ask() }"),
    ];
    let faults = untaken(&files, "");
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("`Idle`") && faults[1].contains("`nap`"), "{faults:?}");
    assert_none(&untaken(&files, "struct Idle\n    pub fn nap(&self)"));
}
