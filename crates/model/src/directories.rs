//! Recognises a corpus, or an output that has a manifest, by what is in and beside a directory, and names manifests.

use crate::invariant::part;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Bytes of the longest name that file systems take.
const NAME_BYTES: usize = 255;
/// The name of a manifest: between a dot and this stands the name of its output.
const MANIFEST: &str = ".manifest.json";

/// A name with something before and behind it. Where that would be longer than names may be, the name is cut, and a
/// part of its hash keeps it apart from others that begin so.
pub fn derived_name(before: &str, name: &OsStr, behind: &str) -> OsString {
    let bytes = name.as_bytes();
    let room = NAME_BYTES.saturating_sub(before.len() + behind.len());
    let mut derived = before.as_bytes().to_vec();
    if bytes.len() <= room {
        derived.extend(bytes);
    } else {
        let mark = format!("~{:.8}", blake3::hash(bytes).to_hex());
        let most = room.saturating_sub(mark.len());
        // Between characters, where there are some: none has more than four bytes.
        let is_within = |end: &usize| bytes.get(*end).is_some_and(|byte| byte & 0xc0 == 0x80);
        let end = (most.saturating_sub(3)..=most).rev().find(|end| !is_within(end));
        let end = end.unwrap_or(most);
        derived.extend(part(bytes, ..end));
        derived.extend(mark.as_bytes());
    }
    derived.extend(behind.as_bytes());
    OsString::from_vec(derived)
}

/// The name of the manifest of an output, which stands beside it: readers of a directory take every file in it for
/// data, hidden ones too.
pub fn manifest_name(output: &OsStr) -> OsString {
    derived_name(".", output, MANIFEST)
}

/// Where the manifest of an output stands.
pub fn manifest_beside(output: &Path) -> PathBuf {
    output.with_file_name(manifest_name(output.file_name().unwrap_or_default()))
}

/// Where the manifest of a directory is read from: beside it, or in it under the name `inside`, as earlier releases
/// wrote it. Links are followed, and a directory without a name, such as `.`, has the one that it was made under.
pub fn find_manifest(directory: &Path, inside: &str) -> PathBuf {
    let named = directory.canonicalize().unwrap_or_else(|_| directory.to_path_buf());
    let (beside, inside) = (manifest_beside(&named), directory.join(inside));
    if inside.is_file() && !beside.is_file() { inside } else { beside }
}

/// Whether a directory is a corpus.
pub fn is_corpus(directory: &Path) -> bool {
    let format = File::open(directory.join("FORMAT")).ok().and_then(|file| {
        let mut line = String::new();
        file.take(64).read_to_string(&mut line).ok()?;
        Some(line)
    });
    format.is_some_and(|line| line.starts_with("corpusdb")) && directory.join("db").is_dir()
}

/// The corpus that a path is, or that it is inside of; the path need not be there.
pub fn corpus_around(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find(|path| path.exists())?.canonicalize().ok()?;
    there.ancestors().find(|directory| is_corpus(directory)).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn derived_names_are_short_enough_and_differ() {
        let long = |letter: &str, count: usize| {
            derived_name(".", OsStr::new(&letter.repeat(count)), ".tmp")
        };
        for (letter, count) in [("x", 250), ("x", 251), ("x", 255), ("д", 127), ("€", 85)] {
            let name = long(letter, count).into_string().unwrap();
            assert!(name.len() <= 255 && name.starts_with(".") && name.ends_with(".tmp"), "{name}");
            assert_eq!(name.contains('~'), letter.len() * count > 250);
        }
        assert_ne!(long("x", 254), long("x", 255));
        assert_eq!(derived_name("", OsStr::from_bytes(&[0x80; 255]), "~").len(), 255);
    }

    #[test]
    fn a_manifest_is_found_beside_its_directory_or_in_it() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("out")).unwrap();
        symlink("out", at("link")).unwrap();
        let found = |name: &str| find_manifest(&at(name), "manifest.json");
        assert_eq!(found("none"), at(".none.manifest.json"));
        assert_eq!(found("out"), at(".out.manifest.json"));
        fs::write(at("out/manifest.json"), "{}").unwrap();
        assert_eq!(found("link"), at("link/manifest.json"));
        fs::write(at(".out.manifest.json"), "{}").unwrap();
        for name in ["out", "out/", "out/.", "link", "out/../out"] {
            assert_eq!(found(name), at(".out.manifest.json"), "{name}");
        }
    }

    #[test]
    fn a_path_is_inside_a_corpus_by_whatever_way_it_goes() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().canonicalize().unwrap().join(name);
        fs::create_dir_all(at("c/db/sub")).unwrap();
        fs::create_dir_all(at("plain/db")).unwrap();
        fs::write(at("plain/FORMAT"), "another").unwrap();
        symlink("c/db", at("link")).unwrap();
        assert_eq!(corpus_around(&at("c/db/sub")), None);
        fs::write(at("c/FORMAT"), "corpusdb 9\n").unwrap();
        for name in ["c", "c/new", "c/db/sub/new/newer", "link/new", "plain/../c/new"] {
            assert_eq!(corpus_around(&at(name)), Some(at("c")), "{name}");
        }
        for name in ["", "new", "plain/new", "c.new", "c/../new"] {
            assert_eq!(corpus_around(&at(name)), None, "{name}");
        }
    }
}
