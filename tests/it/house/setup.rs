//! What builds the crate: the set-up step with its libclang, and RocksDB compiled once, outside cargo.
#![cfg(target_os = "linux")]

use crate::support::sources::PACKAGES;
use crate::support::{TestDir, corpusdb_test, repository};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

// ----
// The set-up step: it finds the libclang that bindgen will load, no other, and tries it before anything is built; and
// dependencies that are compiled once.

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
fn tests_of_a_package_take_the_dependencies_of_the_workspace() {
    // With the dependencies of build scripts and without: what is compiled for both may have two lines.
    let edges = ["normal,build,dev", "normal,dev"];
    let together = edges.map(|edges| features(&["--workspace"], edges));
    // What is built to be run has no dependencies of tests: none may change how another is compiled.
    let run = features(&["--workspace"], "normal,build");
    let package = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    let ours = PACKAGES.iter().filter(|name| **name != "testing");
    for name in ours.map(|name| format!("corpusdb-{name}")).chain(["corpusdb".to_owned()]) {
        let of = ["--package", &name, "--features", &format!("{name}/cli")];
        let alone = edges.map(|edges| features(&of, edges));
        for (alone, together) in alone.iter().zip(&together) {
            let other: Vec<&String> = alone.difference(together).collect();
            assert!(other.is_empty(), "{name}: crates/testing must turn on what all do: {other:?}");
        }
        let [alone, _] = alone;
        assert!(alone.iter().any(|line| line.starts_with("datafusion v")), "{name}: {alone:?}");
        let of_tests: BTreeSet<String> = alone.iter().map(|line| package(line)).collect();
        let changed: Vec<&String> =
            run.difference(&together[0]).filter(|it| of_tests.contains(&package(it))).collect();
        assert!(changed.is_empty(), "a dependency of tests changes the features of: {changed:?}");
    }
}

// ----
// RocksDB compiled outside cargo: whole or absent, once for all, noticed when damaged, and told when it fails.
//
// The script runs in a small clone of its own, on sources of a few lines and with a compiler that notes what it gets.

/// How many files the sources have, the one beside them included.
const FILES: usize = 31;

struct Workshop {
    scratch: TestDir,
}

impl Workshop {
    fn new() -> Self {
        let place = Self { scratch: TestDir::new() };
        let sources = "registry/librocksdb-sys-0.1.0+1.2.3";
        let names: Vec<String> = (1..FILES).map(|at| format!("db/file_{at}.cc")).collect();
        for name in &names {
            place.write(&format!("{sources}/rocksdb/{name}"), &format!("// source {name}\n"));
        }
        let list = format!("{}\nutil/build_version.cc\n", names.join("\n"));
        place.write(&format!("{sources}/rocksdb_lib_sources.txt"), &list);
        place.write(&format!("{sources}/build_version.cc"), "// source build_version\n");
        place.write(&format!("{sources}/build.rs"), "fn main() {}\n");
        let manifest = |name: &str| place.path(&format!("registry/{name}/Cargo.toml"));
        let metadata = format!(
            "{{\"packages\":[{{\"manifest_path\":\"{}\"}},{{\"manifest_path\":\"{}\"}}],\"resolve\":{{\"nodes\":[\
             {{\"id\":\"registry+x#librocksdb-sys@0.1.0\",\"deps\":[],\"features\":[\"lz4\",\"static\"]}}]}}}}",
            manifest("librocksdb-sys-0.1.0+1.2.3").display(),
            manifest("lz4-sys-1.0.0").display(),
        );
        place.write("metadata.json", &metadata);
        place.program("cargo", &format!("cat {}/metadata.json", place.path("").display()));
        // An object is what stands in the unit and in what it includes; each run is noted.
        place.program(
            "c++",
            "[ \"$1\" != --version ] || { echo fake 1.0; exit 0; }\n\
             while [ $# -gt 0 ]; do case $1 in -c) unit=$2 ;; -o) object=$2 ;; esac; shift; done\n\
             echo run >> \"$NOTES\"; [ -z \"${SLOW:-}\" ] || sleep \"$SLOW\"\n\
             for file in $(sed -n 's/^#include \"\\(.*\\)\"$/\\1/p' \"$unit\"); do\n\
             case $file in *\"${BROKEN:-none}\") echo \"$file:1:2: error: no such thing\" >&2; exit 1 ;; esac\n\
             cat \"$file\"; done > \"$object\"; grep source \"$unit\" >> \"$object\" || :",
        );
        let script = std::fs::read_to_string(repository("scripts/rocksdb.sh")).unwrap();
        let known = script.lines().find(|line| line.starts_with("BUILD_SCRIPT=")).unwrap();
        let checksum =
            Command::new("sha256sum").arg(place.path(&format!("{sources}/build.rs"))).output();
        let checksum = String::from_utf8(checksum.unwrap().stdout).unwrap();
        let own = format!("BUILD_SCRIPT={}", checksum.split(' ').next().unwrap());
        place.write("clone/scripts/rocksdb.sh", &script.replace(known, &own));
        place.write("clone/.cargo/config.toml", "");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.scratch.write(name, text);
    }

    fn program(&self, name: &str, body: &str) {
        let path = format!("bin/{name}");
        self.write(&path, &format!("#!/bin/sh\n{body}\n"));
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.path(&path), mode).unwrap();
    }

    fn command(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new("bash");
        let path = std::env::join_paths(
            std::iter::once(self.path("bin"))
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        command.arg(self.path("clone/scripts/rocksdb.sh")).args(arguments);
        for name in
            ["ROCKSDB_LIB_DIR", "ROCKSDB_COMPILE", "CXX", "CXXFLAGS", "JOBS", "CARGO_TARGET_DIR"]
        {
            command.env_remove(name);
        }
        command.env("PATH", path.unwrap()).env("CORPUSDB_CACHE", self.path("cache"));
        command.env("NOTES", self.path("notes")).envs(variables.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, variables: &[(&str, &str)]) -> Output {
        self.command(&[], variables).output().unwrap()
    }

    /// The folder that a run that went well printed.
    fn library(&self, variables: &[(&str, &str)]) -> PathBuf {
        let output = self.run(variables);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim_end())
    }

    /// How often the compiler ran so far.
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path("notes")).unwrap_or_default().lines().count()
    }

    fn local(&self) -> String {
        std::fs::read_to_string(self.path("clone/.cargo/local.toml")).unwrap_or_default()
    }

    /// What stands in the cache, but for the lock.
    fn cache(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path("cache")).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "rocksdb.lock")
            .collect()
    }
}

fn assert_whole(library: &Path) {
    let bytes = std::fs::read(library.join("librocksdb.a")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert_eq!(text.matches("// source").count(), FILES, "{text}");
}

corpusdb_test!(every_source_is_compiled_once_for_this_machine, Workshop::new(), |place| {
    let library = place.library(&[]);
    assert_whole(&library);
    let (runs, told) = (place.runs(), place.local());
    assert!((2..FILES).contains(&runs), "{runs} units");
    assert!(told.contains(&format!("ROCKSDB_LIB_DIR = '{}'", library.display())), "{told}");
    assert_eq!(place.library(&[]), library);
    assert_eq!((place.runs(), place.cache().len()), (runs, 1));
    // Other flags, another library.
    assert_ne!(place.library(&[("CXXFLAGS", "-march=native")]), library);
    assert_eq!(place.cache().len(), 2);
});

corpusdb_test!(a_damaged_library_is_compiled_again, Workshop::new(), |place| {
    let library = place.library(&[]);
    let file = library.join("librocksdb.a");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let output = place.run(&[]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is damaged and is compiled again"));
    assert_whole(&library);
    std::fs::remove_file(library.join("checksum")).unwrap();
    let runs = place.runs();
    assert_eq!(place.library(&[]), library);
    assert!(place.runs() > runs, "without a checksum nothing is known of it");
    assert_eq!(place.cache().len(), 1);
});

corpusdb_test!(failed_compilations_are_named_and_leave_nothing, Workshop::new(), |place| {
    let output = place.run(&[("BROKEN", "file_7.cc")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in ["db/file_7.cc:1:2: error: no such thing", "make build ROCKSDB_COMPILE=1"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(place.cache(), ["rocksdb-failure.log"]);
    assert_eq!(place.local(), "");
    assert_whole(&place.library(&[]));
});

corpusdb_test!(two_at_once_give_one_library, Workshop::new(), |place| {
    let started: Vec<_> =
        (0..2).map(|_| place.command(&[], &[("SLOW", "0.05")]).spawn().unwrap()).collect();
    let libraries: Vec<String> = started
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        })
        .collect();
    assert_eq!(libraries[0], libraries[1]);
    assert_whole(Path::new(&libraries[0]));
    assert_eq!(place.cache().len(), 1);
});

corpusdb_test!(a_stopped_build_leaves_no_library, Workshop::new(), |place| {
    for signal in ["-TERM", "-KILL"] {
        let mut child = place.command(&[], &[("SLOW", "1")]).spawn().unwrap();
        let runs = place.runs();
        while place.runs() == runs {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let kill = format!("kill {signal} {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        assert!(!child.wait().unwrap().success());
        assert!(!place.cache().iter().any(|name| name.starts_with("rocksdb-0.1.0")), "{signal}");
    }
    assert_whole(&place.library(&[]));
    assert_eq!(place.cache().len(), 1);
});

corpusdb_test!(a_library_from_elsewhere_is_left_alone, Workshop::new(), |place| {
    place.library(&[]);
    for (name, value) in [("ROCKSDB_LIB_DIR", "/opt/rocksdb"), ("ROCKSDB_COMPILE", "1")] {
        let runs = place.runs();
        assert!(place.run(&[(name, value)]).status.success());
        assert_eq!(place.runs(), runs);
        assert!(!place.local().contains("ROCKSDB"), "{name}: {}", place.local());
    }
});

corpusdb_test!(unknown_build_scripts_and_features_are_refused, Workshop::new(), |place| {
    place.write("registry/librocksdb-sys-0.1.0+1.2.3/build.rs", "fn main() { other() }\n");
    let output = place.run(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && said.contains("build.rs is not the build script"),
        "{said}"
    );

    let place = Workshop::new();
    let metadata = std::fs::read_to_string(place.path("metadata.json")).unwrap();
    place.write("metadata.json", &metadata.replace("\"lz4\"", "\"jemalloc\""));
    let output = place.run(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("feature 'jemalloc'"), "{said}");
    assert_eq!(place.runs(), 0);
});
