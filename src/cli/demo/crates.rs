//! The crates that cargo has unpacked: found through `cargo metadata`, bounded in size, cut into halves.

use anyhow::{Context as _, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Bytes of source code taken, about: the demo must end within two minutes on two cores.
const CODE_BUDGET: u64 = 64_000_000;
/// Larger files of code are generated tables.
const FILE_LIMIT: u64 = 256 * 1024;

/// The sources that a crate's files belong to.
pub(super) const SOURCES: [&str; 3] = ["code", "docs", "licenses"];

/// An unpacked crate with the files that the demo takes.
pub(super) struct Crate {
    /// Name and version, as its directory is called.
    pub(super) title: String,
    name: String,
    root: PathBuf,
    files: Vec<CrateFile>,
}

/// A file of a crate.
pub(super) struct CrateFile {
    /// Path below the crate.
    pub(super) path: PathBuf,
    /// Which of [`SOURCES`] it belongs to.
    pub(super) source: &'static str,
    /// Its size.
    pub(super) bytes: u64,
}

/// What the demo takes, and what it leaves.
pub(super) struct Choice {
    /// The crates taken, by name and version.
    pub(super) taken: Vec<Crate>,
    /// Names and versions of those left out, largest first.
    pub(super) left: Vec<String>,
    /// Files of code left out of the crates taken, for their size.
    pub(super) large_files: u64,
}

impl Crate {
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn files(&self) -> &[CrateFile] {
        &self.files
    }

    fn code(&self) -> u64 {
        self.files.iter().filter(|file| file.source == "code").map(|file| file.bytes).sum()
    }
}

/// Finds the crates of the project in the working directory and takes as many as the budget allows:
/// those present in several versions first (the likeliest near duplicates), then small before large.
pub(super) fn choose() -> anyhow::Result<Choice> {
    let mut found: BTreeMap<(String, String), PathBuf> = BTreeMap::new();
    for (name, version, root) in unpacked()? {
        found.insert((name, version), root);
    }
    if found.is_empty() {
        bail!("cargo has unpacked no crates for this project; `cargo fetch` does");
    }
    let mut versions: BTreeMap<String, u32> = BTreeMap::new();
    for (name, _) in found.keys() {
        *versions.entry(name.clone()).or_default() += 1;
    }
    let mut large_files = BTreeMap::new();
    let mut crates = Vec::new();
    for ((name, version), root) in found {
        let (files, large) = files(&root)?;
        let title = format!("{name}-{version}");
        large_files.insert(title.clone(), large);
        crates.push(Crate { title, name, root, files });
    }
    crates.sort_by_key(|found| {
        (versions.get(&found.name).is_none_or(|count| *count < 2), found.code())
    });
    let mut sum = 0;
    let mut choice = Choice { taken: Vec::new(), left: Vec::new(), large_files: 0 };
    for found in crates {
        if sum + found.code() > CODE_BUDGET {
            choice.left.push(found.title);
        } else {
            sum += found.code();
            choice.large_files += large_files.get(&found.title).copied().unwrap_or(0);
            choice.taken.push(found);
        }
    }
    choice.left.reverse();
    choice.taken.sort_by(|a, b| a.title.cmp(&b.title));
    Ok(choice)
}

/// Name, version and directory of every registry crate of the project. First without the network;
/// that fails on crates that a build had no use for, so the lock file and what is unpacked come next.
fn unpacked() -> anyhow::Result<Vec<(String, String, PathBuf)>> {
    let host = host();
    let mut words = vec!["--format-version".to_owned(), "1".to_owned()];
    words.extend(host.iter().flat_map(|host| ["--filter-platform".to_owned(), host.clone()]));
    if let Ok(metadata) = cargo(&words, true) {
        return Ok(packages(&metadata));
    }
    let project = cargo(&["--format-version", "1", "--no-deps"].map(str::to_owned), true)?;
    let workspace = project.get("workspace_root").and_then(|root| root.as_str()).unwrap_or(".");
    let locked = from_lock_file(&Path::new(workspace).join("Cargo.lock")).unwrap_or_default();
    if !locked.is_empty() {
        return Ok(locked);
    }
    Ok(packages(&cargo(&words, false)?))
}

fn cargo(words: &[String], offline: bool) -> anyhow::Result<serde_json::Value> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(&program);
    command.arg("metadata").args(words);
    if offline {
        command.arg("--offline");
    }
    let done = command.output().with_context(|| format!("cannot run {}", program.display()))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        bail!("cargo: {}", said.trim().trim_start_matches("error: "));
    }
    serde_json::from_slice(&done.stdout).context("reading the answer of cargo metadata")
}

/// The platform that cargo unpacks crates for.
fn host() -> Option<String> {
    let program = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let done = Command::new(program).arg("-vV").output().ok()?;
    let said = String::from_utf8(done.stdout).ok()?;
    said.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

fn packages(metadata: &serde_json::Value) -> Vec<(String, String, PathBuf)> {
    let packages = metadata.get("packages").and_then(|packages| packages.as_array());
    let read = |package: &serde_json::Value| {
        // A package without a source is the project itself.
        package.get("source")?.as_str()?;
        let text = |field: &str| package.get(field)?.as_str().map(str::to_owned);
        let root = PathBuf::from(text("manifest_path")?).parent()?.to_path_buf();
        Some((text("name")?, text("version")?, root))
    };
    packages.into_iter().flatten().filter_map(read).collect()
}

/// The packages of a lock file whose directories are there.
fn from_lock_file(path: &Path) -> Option<Vec<(String, String, PathBuf)>> {
    let locked: toml::Table = toml::from_str(&std::fs::read_to_string(path).ok()?).ok()?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))?;
    let registries: BTreeSet<PathBuf> = std::fs::read_dir(home.join("registry").join("src"))
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .collect();
    let mut found = Vec::new();
    for package in locked.get("package")?.as_array()? {
        let text = |field: &str| package.get(field).and_then(toml::Value::as_str);
        let (Some(name), Some(version), Some(_)) = (text("name"), text("version"), text("source"))
        else {
            continue;
        };
        let roots = registries.iter().map(|registry| registry.join(format!("{name}-{version}")));
        found.extend(
            roots
                .filter(|root| root.is_dir())
                .take(1)
                .map(|root| (name.to_owned(), version.to_owned(), root)),
        );
    }
    Some(found)
}

/// The files of a crate that the demo takes, in byte order of path, and how many were too large.
fn files(root: &Path) -> anyhow::Result<(Vec<CrateFile>, u64)> {
    let is_hidden = |entry: &walkdir::DirEntry| {
        entry.depth() > 0 && entry.file_name().as_encoded_bytes().first() == Some(&b'.')
    };
    let (mut files, mut large) = (Vec::new(), 0);
    for entry in walkdir::WalkDir::new(root).into_iter().filter_entry(|entry| !is_hidden(entry)) {
        let entry = entry.with_context(|| format!("looking through {}", root.display()))?;
        let Some(source) = source_of(&entry.file_name().to_string_lossy()) else { continue };
        let metadata =
            entry.metadata().with_context(|| format!("looking at {}", entry.path().display()))?;
        if !metadata.is_file() {
            continue;
        }
        if source == "code" && metadata.len() > FILE_LIMIT {
            large += 1;
            continue;
        }
        let path = entry.path().strip_prefix(root).unwrap_or(entry.path()).to_path_buf();
        files.push(CrateFile { path, source, bytes: metadata.len() });
    }
    files.sort_by(|a, b| {
        a.path.as_os_str().as_encoded_bytes().cmp(b.path.as_os_str().as_encoded_bytes())
    });
    Ok((files, large))
}

/// The source that a file of this name belongs to, if any.
fn source_of(name: &str) -> Option<&'static str> {
    let upper = name.to_ascii_uppercase();
    let extension =
        Path::new(name).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if extension == "rs" {
        Some("code")
    } else if ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|start| upper.starts_with(start))
    {
        Some("licenses")
    } else if extension.eq_ignore_ascii_case("md") || upper.starts_with("README") {
        Some("docs")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_belong_to_sources_by_name() {
        let cases = [
            ("lib.rs", Some("code")),
            ("license.rs", Some("code")),
            ("LICENSE-MIT", Some("licenses")),
            ("COPYING", Some("licenses")),
            ("LICENSE.md", Some("licenses")),
            ("README", Some("docs")),
            ("CHANGELOG.md", Some("docs")),
            ("Cargo.toml", None),
        ];
        for (name, source) in cases {
            assert_eq!(source_of(name), source, "{name}");
        }
    }

    #[test]
    fn the_project_itself_is_no_crate() {
        let metadata = serde_json::json!({ "packages": [
            { "name": "own", "version": "0.1.0", "source": null, "manifest_path": "/p/Cargo.toml" },
            { "name": "a", "version": "1.0.0", "source": "registry+x", "manifest_path": "/r/a-1.0.0/Cargo.toml" },
        ]});
        assert_eq!(
            packages(&metadata),
            [("a".to_owned(), "1.0.0".to_owned(), PathBuf::from("/r/a-1.0.0"))]
        );
    }

    #[test]
    fn large_code_hidden_and_other_files_are_left() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: usize| {
            let path = scratch.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, vec![b'a'; bytes]).unwrap();
        };
        for (name, bytes) in [
            ("src/lib.rs", 5),
            ("src/table.rs", 300_000),
            ("README.md", 7),
            (".git/a.rs", 3),
            ("a.json", 3),
        ] {
            write(name, bytes);
        }
        let (files, large) = files(scratch.path()).unwrap();
        let found: Vec<_> = files
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.source, file.bytes))
            .collect();
        assert_eq!(found, [("README.md", "docs", 7), ("src/lib.rs", "code", 5)]);
        assert_eq!(large, 1);
    }
}
