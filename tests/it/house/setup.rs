//! The set-up step: it finds the libclang that bindgen will load, no other, and tries it before anything is built; and
//! dependencies that are compiled once.
#![cfg(target_os = "linux")]

use crate::support::repository;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

/// Runs the script as on a machine without `llvm-config`, with the variables given.
fn libclang(arguments: &[&Path], variables: &[(&str, &Path)]) -> Output {
    let script = repository("scripts/libclang.sh");
    let mut command = Command::new("sh");
    command.arg(script).args(arguments).env("LLVM_CONFIG_PATH", "/nowhere/llvm-config");
    for name in ["LIBCLANG_PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied()).output().unwrap()
}

/// Puts a file that begins as a library of the given word size does.
fn put(root: &Path, path: &str, bits: usize) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, [0x7f, b'E', b'L', b'F', if bits == 64 { 2 } else { 1 }, 1, 1, 0])
        .unwrap();
}

fn found(root: &Path, variables: &[(&str, &Path)]) -> Option<String> {
    let output = libclang(&[Path::new("find"), root], variables);
    let path = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.success(), !path.is_empty(), "{path}");
    let path = Path::new(path.trim_end());
    Some(path.strip_prefix(root).ok()?.to_str()?.to_owned()).filter(|path| !path.is_empty())
}

/// Libraries with the bits they are of, and the one that is to be found.
type Case<'a> = (&'a [(&'a str, usize)], Option<&'a str>);

/// `/usr/lib/llvm-14/lib/libclang-cpp.so.14` was taken for libclang, and the build died in bindgen after twelve
/// minutes.
#[test]
fn libclang_cpp_is_not_taken_for_libclang() {
    let here = usize::try_from(usize::BITS).unwrap();
    let there = if here == 64 { 32 } else { 64 };
    let cases: [Case<'_>; 9] = [
        (&[], None),
        (
            &[
                ("usr/lib/llvm-14/lib/libclang-cpp.so.14", here),
                ("usr/lib/x86_64-linux-gnu/libclang-cpp.so.14", here),
            ],
            None,
        ),
        (&[("usr/lib/llvm-14/lib/libclangAST.so", here)], None),
        // The library alone, as the package `libclang1-14` brings it.
        (
            &[
                ("usr/lib/llvm-14/lib/libclang-cpp.so.14", here),
                ("usr/lib/llvm-14/lib/libclang.so.1", here),
                ("usr/lib/x86_64-linux-gnu/libclang-14.so.14.0.6", here),
            ],
            Some("usr/lib/x86_64-linux-gnu/libclang-14.so.14.0.6"),
        ),
        // With the package `libclang-dev`.
        (
            &[
                ("usr/lib/llvm-14/lib/libclang.so", here),
                ("usr/lib/llvm-14/lib/libclang-14.so", here),
                ("usr/lib/llvm-14/lib/libclang-14.0.6.so", here),
            ],
            Some("usr/lib/llvm-14/lib/libclang-14.0.6.so"),
        ),
        // The highest version wins, as numbers; of equal ones the first folder.
        (
            &[
                ("usr/lib/llvm-9/lib/libclang.so.9", here),
                ("usr/lib/llvm-14/lib/libclang.so.14", here),
            ],
            Some("usr/lib/llvm-14/lib/libclang.so.14"),
        ),
        (
            &[("usr/lib64/libclang.so", here), ("usr/local/lib/libclang.so", here)],
            Some("usr/local/lib/libclang.so"),
        ),
        (&[("usr/lib/libclang.so", there)], None),
        (
            &[("usr/lib/libclang.so.19", there), ("usr/lib64/libclang.so", here)],
            Some("usr/lib64/libclang.so"),
        ),
    ];
    for (files, expected) in cases {
        let root = tempfile::tempdir().unwrap();
        for (path, bits) in files {
            put(root.path(), path, *bits);
        }
        assert_eq!(found(root.path(), &[]).as_deref(), expected, "{files:?}");
    }
}

#[test]
fn libclang_path_is_all_that_is_searched() {
    let bits = usize::try_from(usize::BITS).unwrap();
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    put(root, "usr/lib/libclang.so", bits);
    put(root, "opt/clang/libclang.so.17", bits);
    put(root, "opt/cpp/libclang-cpp.so.17", bits);
    std::fs::write(root.join("opt/libclang.so"), "no library").unwrap();
    let cases = [
        ("opt/clang", Some("opt/clang/libclang.so.17")),
        ("opt/clang/libclang.so.17", Some("opt/clang/libclang.so.17")),
        ("opt/cpp", None),
        ("opt/cpp/libclang-cpp.so.17", None),
        ("opt", None),
        ("opt/nowhere", None),
    ];
    for (path, expected) in cases {
        let path = root.join(path);
        assert_eq!(
            found(root, &[("LIBCLANG_PATH", &path)]).as_deref(),
            expected,
            "{}",
            path.display()
        );
    }
    let wrong = libclang(&[Path::new("find"), root], &[("LIBCLANG_PATH", &root.join("opt/cpp"))]);
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(said.contains("unset it"), "{said}");
    let beside = root.join("opt/clang");
    assert_eq!(
        found(root, &[("LD_LIBRARY_PATH", &beside)]).as_deref(),
        Some("opt/clang/libclang.so.17")
    );
}

/// A file of the right name that is not libclang is told before the build; the one this was built with passes.
#[test]
fn libclang_is_tried_before_the_build() {
    let root = tempfile::tempdir().unwrap();
    let other = root.path().join("libclang.so");
    let source = root.path().join("other.c");
    std::fs::write(&source, "int other(void) { return 0; }\n").unwrap();
    let compiled =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&other).arg(&source).status();
    assert!(compiled.unwrap().success());
    let output = libclang(&[Path::new("prove"), &other], &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("has not the functions of libclang"), "{said}");

    let script = repository("scripts/libclang.sh");
    let output = Command::new("sh").arg(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The packages of a build with their features, a line each, as cargo resolves them: those that the edges lead to.
fn features(of: &[&str], edges: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(repository("."))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p} {f}"])
        .args(["--edges", edges])
        .args(of)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines = lines.lines().map(|line| line.trim_end_matches("(*)").trim().to_owned());
    lines.filter(|line| !line.is_empty()).collect()
}

/// One feature more in the workspace or in a test, and a test of the package by itself compiles DataFusion again: 20
/// minutes.
#[test]
fn tests_of_the_package_take_the_dependencies_of_the_workspace() {
    let alone = features(&["--package", "corpusdb"], "normal,build,dev");
    let together = features(&["--workspace"], "normal,build,dev");
    assert!(alone.iter().any(|line| line.starts_with("datafusion v")), "{alone:?}");
    let other: Vec<&String> = alone.difference(&together).collect();
    assert!(other.is_empty(), "Cargo.toml must turn on what the workspace does: {other:?}");

    // What is built to be run has no dependencies of tests: none may change how another is compiled.
    let run = features(&["--workspace"], "normal,build");
    let package = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let of_tests: BTreeSet<String> = alone.iter().map(|line| package(line)).collect();
    let changed: Vec<&String> =
        run.difference(&alone).filter(|line| of_tests.contains(&package(line))).collect();
    assert!(changed.is_empty(), "a dependency of tests changes the features of: {changed:?}");
}
