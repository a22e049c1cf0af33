//! The order of an opening: what is lost is said before anything is written.

use super::{Writer, create};
use crate::model::{DedupMode, Policy};
use crate::store::database::tuning::Memory;
use crate::store::error::StoreError;
use crate::store::files::directory::CorpusDirectory;
use crate::store::files::journal::{self, Entry, Journal};
use crate::store::{migrate, read};

#[test]
fn lost_commits_are_refused_before_the_corpus_is_migrated() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    let policy = Policy::new(DedupMode::Exact, 0.8).unwrap();
    create(&path, &policy, &[]).unwrap();
    let place = CorpusDirectory::new(&path);
    // A journal ahead of the database, in a corpus of an older format.
    let entries = journal::read(&place.journal()).unwrap();
    let ahead = Entry { commit: 7, documents: 3 };
    Journal::open(&place.journal(), &entries).unwrap().append(ahead, None).unwrap();
    let format = format!("corpusdb {} 0.0.1\n", migrate::current() - 1);
    std::fs::write(place.format(), &format).unwrap();
    let memory = Memory::within(16 << 20);
    let refused = Writer::open(&path, memory, 2).err().unwrap();
    assert!(matches!(refused, StoreError::LostCommits { journal: 7, .. }), "{refused}");
    assert_eq!(std::fs::read_to_string(place.format()).unwrap(), format);
    let before = path.join(format!("before-format-{}", migrate::current()));
    assert!(!before.exists());
    // Without the lost commit it is migrated and opened.
    let mut bytes = std::fs::read(place.journal()).unwrap();
    bytes.truncate(bytes.len() - 24);
    std::fs::write(place.journal(), bytes).unwrap();
    drop(Writer::open(&path, memory, 2).unwrap());
    assert!(before.exists());
    assert_eq!(read(&path, memory).unwrap().commit().0, 1);
}
