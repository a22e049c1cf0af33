//! Tests of the conversion: golden stores of format 8, stopped at every batch and at every step of the swap.

use super::copy::{CopyLimits, copy, open_old};
use super::swap::{before, making, mark};
use crate::check::digest;
use crate::database::Database;
use crate::database::tuning::MemoryBudget;
use crate::error::StoreError;
use crate::files::directory::CorpusDirectory;
use crate::files::journal::{self, Journal, JournalEntry};
use crate::migrate;
use crate::reading::read;
use crate::writer::StoreWriter;
use model::Context;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The golden stores of format 8 that have a digest.
const GOLDEN: [&str; 4] = ["v8", "grown-exact", "grown-tokenizers", "grown-purged"];

fn memory() -> MemoryBudget {
    MemoryBudget::within(16 << 20)
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats").join(name)
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_folder(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// A copy of a golden store, and the digest that it had.
fn store(name: &str) -> (tempfile::TempDir, PathBuf, String) {
    let directory = tempfile::tempdir().unwrap();
    let corpus = directory.path().join("corpus");
    copy_folder(&golden(name).join("corpus"), &corpus);
    let digest = std::fs::read_to_string(golden(name).join("digest")).unwrap();
    (directory, corpus, digest.trim().to_owned())
}

fn digest_of(corpus: &Path) -> String {
    digest(&read(corpus, memory()).unwrap(), &Context::new()).unwrap()
}

/// One batch of the copy, as a process that is killed behind it makes it; answers whether it was the last.
fn one_batch(corpus: &Path, limits: CopyLimits) -> bool {
    let place = CorpusDirectory::new(corpus);
    let old = Arc::new(Database::from(open_old(&place.database(), memory()).unwrap()));
    let limits = CopyLimits { batches: 1, ..limits };
    copy(&old, &making(&place), (memory(), 2), limits).unwrap()
}

#[test]
fn a_copy_goes_on_behind_each_batch() {
    for name in GOLDEN {
        let (_directory, corpus, expected) = store(name);
        let small = CopyLimits { bytes: 1 << 10, documents: 7, ..CopyLimits::default() };
        let mut batches = 1;
        while !one_batch(&corpus, small) {
            batches += 1;
        }
        assert!(batches > 40, "{batches} of {name}");
        drop(StoreWriter::open(&corpus, memory(), 2).unwrap());
        assert_eq!(digest_of(&corpus), expected, "{name}");
        // Nothing is left to do for the next one.
        drop(StoreWriter::open(&corpus, memory(), 2).unwrap());
        assert_eq!(digest_of(&corpus), expected, "{name}");
        assert!(corpus.join(before()).exists() && !corpus.join("migrating-9").exists());
    }
}

#[test]
fn a_copy_of_another_moment_begins_again() {
    let (_directory, corpus, expected) = store("v8");
    let small = CopyLimits { documents: 7, ..CopyLimits::default() };
    for _ in 0..30 {
        assert!(!one_batch(&corpus, small));
    }
    // As if an older release had written to the corpus meanwhile: what was begun is of a store with other commits.
    let other = store("grown-exact");
    let place = CorpusDirectory::new(&corpus);
    let _ = std::fs::remove_dir_all(making(&CorpusDirectory::new(&other.1)));
    std::fs::rename(making(&place), making(&CorpusDirectory::new(&other.1))).unwrap();
    drop(StoreWriter::open(&other.1, memory(), 2).unwrap());
    assert_eq!(digest_of(&other.1), other.2);
    drop(StoreWriter::open(&corpus, memory(), 2).unwrap());
    assert_eq!(digest_of(&corpus), expected);
}

#[test]
fn a_swap_goes_on_at_each_of_its_steps() {
    for step in 0..5 {
        let (_directory, corpus, expected) = store("grown-purged");
        let place = CorpusDirectory::new(&corpus);
        while !one_batch(&corpus, CopyLimits::default()) {}
        let steps: [&dyn Fn(); 4] = [
            &|| mark(&place).unwrap(),
            &|| std::fs::rename(place.database(), corpus.join(before())).unwrap(),
            &|| std::fs::rename(making(&place), place.database()).unwrap(),
            &|| std::fs::remove_file(place.journal()).unwrap(),
        ];
        steps.iter().take(step).for_each(|step| step());
        // A reader refuses what is under way, by the format that it still says.
        let refused = read(&corpus, memory()).err().unwrap();
        assert!(matches!(refused, StoreError::OlderFormat { found: 8, .. }), "{step}: {refused}");
        drop(StoreWriter::open(&corpus, memory(), 2).unwrap());
        assert_eq!(digest_of(&corpus), expected, "{step}");
        assert!(!corpus.join("migrated").exists() && corpus.join(before()).exists());
    }
}

#[test]
fn lost_commits_are_refused_before_a_conversion() {
    let (_directory, corpus, expected) = store("v8");
    let place = CorpusDirectory::new(&corpus);
    let entries = journal::read(&place.journal()).unwrap();
    let ahead = JournalEntry { commit: 700, documents: 3 };
    let whole = std::fs::read(place.journal()).unwrap();
    Journal::open(&place.journal(), &entries).unwrap().append(ahead, None).unwrap();
    let refused = StoreWriter::open(&corpus, memory(), 2).err().unwrap();
    assert!(matches!(refused, StoreError::LostCommits { journal: 700, .. }), "{refused}");
    assert!(!corpus.join(before()).exists() && !corpus.join("migrating-9").exists());
    std::fs::write(place.journal(), whole).unwrap();
    drop(StoreWriter::open(&corpus, memory(), 2).unwrap());
    assert_eq!(digest_of(&corpus), expected);
}

#[test]
fn formats_that_were_never_released_are_refused() {
    let (_directory, corpus, _) = store("v8");
    for format in 1..migrate::CONVERTED {
        std::fs::write(corpus.join("FORMAT"), format!("corpusdb {format} 0.0.1\n")).unwrap();
        let refused = StoreWriter::open(&corpus, memory(), 2).err().unwrap();
        assert!(matches!(refused, StoreError::OlderFormat { found, .. } if found == format));
    }
}
