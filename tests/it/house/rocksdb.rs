//! RocksDB compiled outside cargo: whole or absent, once for all, noticed when damaged, and told when it fails.
//!
//! The script runs in a small clone of its own, on sources of a few lines and with a compiler that notes what it gets.
#![cfg(target_os = "linux")]

use crate::support::{TestDir, repository};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

#[test]
fn every_source_is_compiled_once_for_this_machine() {
    let place = Workshop::new();
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
}

#[test]
fn a_damaged_library_is_compiled_again() {
    let place = Workshop::new();
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
}

#[test]
fn failed_compilations_are_named_and_leave_nothing() {
    let place = Workshop::new();
    let output = place.run(&[("BROKEN", "file_7.cc")]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for words in ["db/file_7.cc:1:2: error: no such thing", "make build ROCKSDB_COMPILE=1"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(place.cache(), ["rocksdb-failure.log"]);
    assert_eq!(place.local(), "");
    assert_whole(&place.library(&[]));
}

#[test]
fn two_at_once_give_one_library() {
    let place = Workshop::new();
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
}

#[test]
fn a_stopped_build_leaves_no_library() {
    let place = Workshop::new();
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
}

#[test]
fn a_library_from_elsewhere_is_left_alone() {
    let place = Workshop::new();
    place.library(&[]);
    for (name, value) in [("ROCKSDB_LIB_DIR", "/opt/rocksdb"), ("ROCKSDB_COMPILE", "1")] {
        let runs = place.runs();
        assert!(place.run(&[(name, value)]).status.success());
        assert_eq!(place.runs(), runs);
        assert!(!place.local().contains("ROCKSDB"), "{name}: {}", place.local());
    }
}

#[test]
fn unknown_build_scripts_and_features_are_refused() {
    let place = Workshop::new();
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
}
