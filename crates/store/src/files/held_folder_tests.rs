//! Tests of what RocksDB writes of its own accord, and what errors say, after a folder was exchanged.
#![expect(clippy::unwrap_used, reason = "a test")]

use crate::bytes::record::CommitRecord;
use crate::database::compact::{PIECE, compact};
use crate::error::StoreError;
use crate::table::FAMILIES;
use crate::{MemoryBudget, StoreWriter, create, read};
use model::{Context, DedupMode, IoError, Policy};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MEMORY: u64 = 16 << 20;

struct Exchange {
    _directory: tempfile::TempDir,
    path: PathBuf,
    moved: PathBuf,
    writer: StoreWriter,
}

/// A writer whose folder was exchanged after its last commit.
fn exchanged() -> Exchange {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().canonicalize().unwrap().join(name);
    let (path, new, moved) = (at("corpus"), at("new"), at("moved"));
    let policy = Policy::new(DedupMode::Exact, 0.8).unwrap();
    for path in [&path, &new] {
        create(path, &policy, &[]).unwrap();
    }
    let mut writer = StoreWriter::open(&path, MemoryBudget::within(MEMORY), 2).unwrap();
    for _ in 0..3 {
        writer.begin().unwrap().commit(&CommitRecord::default()).unwrap();
    }
    std::fs::rename(&path, &moved).unwrap();
    std::fs::rename(&new, &path).unwrap();
    Exchange { _directory: directory, path, moved, writer }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for path in std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()) {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// What RocksDB writes without being asked went by the path: over the files of the corpus that was put there.
#[test]
fn tables_without_a_commit_go_to_the_folder_that_was_opened() {
    let Exchange { _directory, path, moved, mut writer } = exchanged();
    let (there, opened) = (files(&path), files(&moved));
    let last = writer.view().commit();
    writer.write_tables().unwrap();
    let families = FAMILIES.iter().map(|family| family.name);
    compact(&writer.db, families, PIECE, &Context::new()).unwrap();
    writer.refresh_view().unwrap();
    let refused = writer.flush().err();
    assert!(matches!(refused, Some(StoreError::Exchanged { .. })), "{refused:?}");
    drop(writer);
    assert!(files(&path) == there, "the new folder is as it was");
    assert!(files(&moved) != opened, "tables came into the old one");
    let memory = MemoryBudget::within(MEMORY);
    assert_eq!(read(&moved, memory).unwrap().commit(), last);
    assert_eq!(read(&path, memory).unwrap().commit().0, 1);
}

#[test]
fn errors_name_files_as_they_are_called_now() {
    let Exchange { _directory, moved, writer, .. } = exchanged();
    let at = writer.place().journal();
    assert_ne!(at, moved.join("journal"));
    let error = StoreError::from(IoError::of("reading", &at)(std::io::Error::other("why")));
    assert_eq!(error.to_string(), format!("reading {}", moved.join("journal").display()));
    let absent = writer.place().database().join("absent.sst");
    let told = writer.db.ingest_external_file(vec![absent]).unwrap_err();
    let told = StoreError::from(told).to_string();
    assert!(told.contains(&moved.join("db/absent.sst").display().to_string()), "{told}");
}
