//! The demo's directory: made, marked as the demo's own, and replaced only when it is.

use anyhow::{Context as _, bail};
use corpusdb::Corpus;
use corpusdb::store::StoreError;
use std::fs;
use std::path::{Path, PathBuf};

const MARKER: &str = ".corpusdb-demo";
const MARK: &str =
    "Made by `corpusdb demo`, which replaces what it made here when it is run again.\n";

/// Where everything of one demo lies.
pub(super) struct DemoDirectory {
    /// As the user gave it, for commands.
    pub(super) shown: String,
    root: PathBuf,
}

impl DemoDirectory {
    const CORPUS: &str = "corpus";
    const RECIPE: &str = "recipe.toml";
    const EPOCH: &str = "epoch-0";
    const CRAWLS: [&str; 2] = ["crawl-1", "crawl-2"];

    /// Makes the directory; what an earlier demo left in it is removed, anything else is refused.
    pub(super) fn make(directory: &Path, memory: u64) -> anyhow::Result<Self> {
        let marker = directory.join(MARKER);
        let is_empty = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => true,
            Err(error) => {
                return Err(error).with_context(|| format!("looking into {}", directory.display()));
            }
        };
        if !is_empty && !marker.is_file() {
            bail!(
                "{} is not empty and was not made by a demo; name another directory with --dir",
                directory.display()
            );
        }
        fs::create_dir_all(directory).with_context(|| format!("making {}", directory.display()))?;
        fs::write(&marker, MARK).with_context(|| format!("writing {}", marker.display()))?;
        let root = directory
            .canonicalize()
            .with_context(|| format!("resolving {}", directory.display()))?;
        let place = Self { shown: directory.display().to_string(), root };
        place.clear(memory)?;
        Ok(place)
    }

    /// Removes only what demos make: a user may have put something of their own beside it.
    fn clear(&self, memory: u64) -> anyhow::Result<()> {
        let corpus = self.corpus();
        if corpus.exists()
            && let Err(corpusdb::Error::Store(error @ StoreError::Locked { .. })) =
                Corpus::options().memory(memory).threads(1).open_writer(&corpus)
        {
            return Err(corpusdb::Error::Store(error)).context("the earlier demo is in use");
        }
        for name in Self::CRAWLS.into_iter().chain([Self::CORPUS, Self::EPOCH]) {
            remove(&self.root.join(name), |path| fs::remove_dir_all(path))?;
        }
        remove(&self.recipe(), |path| fs::remove_file(path))
    }

    pub(super) fn corpus(&self) -> PathBuf {
        self.root.join(Self::CORPUS)
    }

    pub(super) fn recipe(&self) -> PathBuf {
        self.root.join(Self::RECIPE)
    }

    pub(super) fn epoch(&self) -> PathBuf {
        self.root.join(Self::EPOCH)
    }

    /// The directory of crawl 0 or 1.
    pub(super) fn crawl(&self, number: usize) -> PathBuf {
        self.root.join(Self::CRAWLS.get(number).copied().unwrap_or_default())
    }

    /// A path as a user would write it: under the directory as given.
    pub(super) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.root) {
            Ok(below) => Path::new(&self.shown).join(below).display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }

    /// A document's key without the part that all keys of the demo share.
    pub(super) fn short<'a>(&self, key: &'a str) -> &'a str {
        key.strip_prefix(&self.prefix()).unwrap_or(key)
    }

    /// What the keys of gathered files begin with.
    pub(super) fn prefix(&self) -> String {
        format!("{}{}", self.root.display(), std::path::MAIN_SEPARATOR)
    }
}

fn remove(path: &Path, act: impl FnOnce(&Path) -> std::io::Result<()>) -> anyhow::Result<()> {
    match act(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("removing {}", path.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_directory_is_replaced_and_only_what_it_made() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("demo");
        let place = DemoDirectory::make(&directory, 64 << 20).unwrap();
        fs::create_dir_all(place.crawl(1)).unwrap();
        fs::write(place.recipe(), "version = 1").unwrap();
        fs::write(directory.join("mine.txt"), "kept").unwrap();
        DemoDirectory::make(&directory, 64 << 20).unwrap();
        assert!(!place.crawl(1).exists() && !place.recipe().exists());
        assert_eq!(fs::read_to_string(directory.join("mine.txt")).unwrap(), "kept");

        let other = scratch.path().join("other");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("mine.txt"), "kept").unwrap();
        let refused = DemoDirectory::make(&other, 64 << 20).err().unwrap().to_string();
        assert!(refused.contains("--dir"), "{refused}");
        assert!(other.join("mine.txt").exists());
    }

    #[test]
    fn paths_are_shown_under_the_directory_as_given() {
        let scratch = tempfile::tempdir().unwrap();
        let place = DemoDirectory::make(scratch.path(), 64 << 20).unwrap();
        let key = place.crawl(0).join("code").display().to_string();
        assert_eq!(place.short(&key), format!("crawl-1{}code", std::path::MAIN_SEPARATOR));
        assert_eq!(place.short("/elsewhere/a"), "/elsewhere/a");
        assert!(place.show(&place.recipe()).starts_with(&place.shown));
    }
}
