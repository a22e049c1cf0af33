//! The tables of each family in the directory of a corpus.

use corpusdb::store::table::FAMILIES;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The tables of each family, which a property of each table names.
pub fn tables(corpus: &Path) -> BTreeMap<&'static str, Vec<PathBuf>> {
    let mut found: BTreeMap<&'static str, Vec<PathBuf>> = BTreeMap::new();
    for entry in std::fs::read_dir(corpus.join("db")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "sst") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        // The property `rocksdb.column.family.name`, 22 bytes of which it shares with the one before: 4 more, and how
        // many its value has.
        let property = |part: &[u8]| part.starts_with(&[22, 4]) && part.get(3..7) == Some(b"name");
        let at = bytes.windows(7).position(property).unwrap();
        let name = &bytes[at + 7..at + 7 + usize::from(bytes[at + 2])];
        let family = FAMILIES.iter().find(|family| family.name.as_bytes() == name).unwrap().name;
        found.entry(family).or_default().push(path);
    }
    found.values_mut().for_each(|tables| tables.sort());
    found
}
