//! Folders of datasets: which of their files hold records, and which only describe them.
//!
//! What `save_to_disk` of the library `datasets` writes lists its files (`state.json`), a dictionary of splits its
//! folders (`dataset_dict.json`); a repository of the Hub has a page beside numbered shards.

use super::error::ReadError;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// A description longer than this is none.
const MOST_STATE: u64 = 16 << 20;

/// Takes from the files of a folder, and of those in it, what is no record of a dataset. A file that a dataset lists
/// and that is not there is an error.
pub(super) fn data_files_only<T>(files: Vec<(PathBuf, T)>) -> Result<Vec<(PathBuf, T)>, ReadError> {
    let mut folders: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for (file, _) in &files {
        if let (Some(folder), Some(name)) = (file.parent(), file.file_name()) {
            let names = folders.entry(folder.to_path_buf()).or_default();
            names.insert(name.to_string_lossy().into_owned());
        }
    }
    let mut listed: BTreeMap<&Path, BTreeSet<String>> = BTreeMap::new();
    for (folder, names) in &folders {
        let is_saved = names.contains("state.json") && names.contains("dataset_info.json");
        let Some(data) = is_saved.then(|| data_files(folder)).flatten() else { continue };
        if let Some(missing) = data.iter().find(|name| !folder.join(name).is_file()) {
            return Err(ReadError::NotFound { path: folder.join(missing) });
        }
        listed.insert(folder, data);
    }
    let is_description = |file: &Path| {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return false };
        match (listed.get(folder), name.to_str()) {
            (Some(data), Some(name)) => !data.contains(name),
            (None, Some("dataset_dict.json")) => {
                listed.keys().any(|split| split.parent() == Some(folder))
            }
            (None, Some("README.md" | "dataset_info.json" | "dataset_infos.json")) => {
                let within = |other: &PathBuf| other.starts_with(folder);
                folders
                    .iter()
                    .filter(|(other, _)| within(other))
                    .any(|(_, names)| has_shards(names))
            }
            _ => false,
        }
    };
    let is_kept: Vec<bool> = files.iter().map(|(file, _)| !is_description(file)).collect();
    let kept = files.into_iter().zip(is_kept).filter(|(_, is_kept)| *is_kept);
    Ok(kept.map(|(file, _)| file).collect())
}

/// The files that a saved dataset lists; none when the list cannot be read.
fn data_files(folder: &Path) -> Option<BTreeSet<String>> {
    #[derive(serde::Deserialize)]
    struct SavedDatasetState {
        #[serde(rename = "_data_files")]
        files: Vec<SavedDataFile>,
    }
    #[derive(serde::Deserialize)]
    struct SavedDataFile {
        filename: String,
    }
    let path = folder.join("state.json");
    if std::fs::metadata(&path).ok()?.len() > MOST_STATE {
        return None;
    }
    let state: SavedDatasetState = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    // A name is one of this folder, nothing else.
    let is_name = |name: &str| Path::new(name).file_name() == Some(OsStr::new(name));
    let names: BTreeSet<String> = state.files.into_iter().map(|file| file.filename).collect();
    (!names.is_empty() && names.iter().all(|name| is_name(name))).then_some(names)
}

/// Whether there is a shard of a dataset: `train-00000-of-00007.parquet`, or `.arrow` of a cache.
fn has_shards(names: &BTreeSet<String>) -> bool {
    names.iter().any(|name| {
        let Some(name) = [".parquet", ".arrow"].iter().find_map(|end| name.strip_suffix(end))
        else {
            return false;
        };
        // The Hub's own conversions have a hash behind the number.
        let mut words = name.rsplit('-').map(|word| word.get(..5).unwrap_or(word));
        let is_number = |word: &str| word.len() == 5 && word.bytes().all(|b| b.is_ascii_digit());
        let words: Vec<&str> = words.by_ref().take(4).collect();
        let is_numbered =
            |three: &[&str]| matches!(three, [of, "of", at] if is_number(of) && is_number(at));
        words.windows(3).any(is_numbered)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_of_a_dataset_are_told_by_their_numbers() {
        let has = |name: &str| has_shards(&BTreeSet::from([name.to_owned()]));
        for name in [
            "train-00000-of-00007.parquet",
            "test-00003-of-00004-0a1b2c3d4e5f6071.parquet",
            "imdb-train-00000-of-00002.arrow",
        ] {
            assert!(has(name), "{name}");
        }
        for name in ["train.parquet", "a-00000-of-00007.txt", "00000.parquet", "of-of-of.arrow"] {
            assert!(!has(name), "{name}");
        }
    }
}
