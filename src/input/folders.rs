//! Folders: which of their files hold records, alike on disk and in a bucket, and why the others are left.
//!
//! * What `save_to_disk` of the library `datasets` writes lists its files (`state.json`), a dictionary of splits its
//!   folders (`dataset_dict.json`).
//! * Spark, Hive and table formats leave markers (`_SUCCESS`, `_metadata`) beside numbered parts.
//! * A repository of the Hub has a page, a licence and scripts beside its shards.
//! * `lang=de/` says a field of all records below: see [`path_fields`].

use super::decompress::without_compression;
use crate::model::{HIVE_NULL, percent_decoded};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Why a file was left out, or not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub enum LeftRole {
    /// Its name, or that of a folder above it, begins with a dot.
    Hidden,
    /// A pattern of `--exclude` matches it.
    Excluded,
    /// A marker by which a program says that it wrote the other files.
    Marker,
    /// It describes the data beside it.
    Description,
    /// A corpus.
    Corpus,
    /// A pipe, socket or device, or a link to nothing.
    Special,
    /// An object of a bucket that no request can ask for by its name.
    Unreachable,
    /// It has no bytes.
    Empty,
    /// It has no records of the expected form.
    Foreign,
    /// It is truncated, damaged or unreadable; the records before the damage were read.
    Damaged,
}

/// A file that was left out, or not read to its end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct LeftFile {
    /// Its path or address.
    pub path: String,
    /// What it is.
    pub role: LeftRole,
    /// The reason, in words.
    pub why: String,
}

/// A file somewhere below a folder.
pub(super) struct FolderEntry<T> {
    /// Its path below the folder, with strokes.
    pub(super) name: String,
    pub(super) item: T,
}

/// The files of a folder, sorted out.
pub(super) struct FolderContents<T> {
    pub(super) data: Vec<FolderEntry<T>>,
    pub(super) left: Vec<(FolderEntry<T>, LeftRole, &'static str)>,
}

/// Why a folder cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FolderFault {
    /// A dataset lists this file, and it is not there.
    Missing(String),
    /// This dataset is a choice of rows of its files.
    Mapped(String),
}

/// A longer description is ignored.
pub(super) const MOST_STATE: u64 = 16 << 20;

/// Ends of names of files that hold records and nothing else, without what says the compression.
const DATA: [&str; 12] = [
    ".parquet", ".arrow", ".feather", ".ipc", ".jsonl", ".ndjson", ".csv", ".tsv", ".warc", ".wet",
    ".wat", ".pq",
];
/// Ends of names of compressed files that other programs write beside those that are read by their names.
const COMPRESSED: [&str; 6] = [".gzip", ".zstd", ".snappy", ".bgz", ".zlib", ".z"];
/// Names that describe what stands beside them, whatever their ending.
const PAGES: [&str; 9] = [
    "readme",
    "license",
    "licence",
    "notice",
    "citation",
    "copying",
    "authors",
    "changelog",
    "contributing",
];
const DESCRIPTIONS: [&str; 12] = [
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "croissant.json",
    "metadata.json",
    "meta.json",
    "manifest.json",
    "schema.json",
    "md5sums",
    "sha1sums",
    "sha256sums",
    "checksums.txt",
];
const CHECKSUMS: [&str; 5] = [".crc", ".md5", ".sha1", ".sha256", ".sha512"];
const MARKERS: [&str; 5] = ["_success", "_metadata", "_common_metadata", "_temporary", "_started"];
const MARKER_STARTS: [&str; 3] = ["_committed_", "_started_", "_success."];
const MARKER_FOLDERS: [&str; 4] =
    ["_temporary", "_delta_log", "_spark_metadata", "_symlink_format_manifest"];

const MARKER: &str = "a marker of the program that wrote the files beside it";
const DELTA: &str = "the log of a Delta table: files that the table has removed are read, too; export the table to read its current rows";
const DESCRIBES: &str = "it describes the data beside it";
const BESIDE: &str = "it is beside the parts of a dataset and does not belong to them";
const UNLISTED: &str = "the dataset that is saved there does not list it";
pub(super) const HIDDEN: &str = "its name, or that of a folder above it, begins with a dot";

/// Sorts the files of a folder out. `read` gives the first bytes of one, up to [`MOST_STATE`] and one more.
pub(super) fn sort_out<T>(
    entries: Vec<FolderEntry<T>>,
    read: impl Fn(&T) -> Option<Vec<u8>>,
) -> Result<FolderContents<T>, FolderFault> {
    let rules = FolderRules::new(&entries, read)?;
    let mut contents = FolderContents { data: Vec::new(), left: Vec::new() };
    let reasons: Vec<_> = entries.iter().map(|entry| rules.reason(&entry.name)).collect();
    for (entry, reason) in entries.into_iter().zip(reasons) {
        match reason {
            None => contents.data.push(entry),
            Some((role, why)) => contents.left.push((entry, role, why)),
        }
    }
    Ok(contents)
}

/// What is known of the folders below one.
#[derive(Default)]
struct FolderRules {
    /// The files that saved datasets list, by their folder.
    listed: BTreeMap<String, BTreeSet<String>>,
    /// By folder: what stands in it and below.
    below: BTreeMap<String, Below>,
}

#[derive(Clone, Copy, Default)]
struct Below {
    /// Files with records.
    has_data: bool,
    /// Files that are neither those nor a description.
    has_others: bool,
    /// Numbered parts, or folders of partitions.
    is_dataset: bool,
}

impl FolderRules {
    fn new<T>(
        entries: &[FolderEntry<T>],
        read: impl Fn(&T) -> Option<Vec<u8>>,
    ) -> Result<Self, FolderFault> {
        let mut rules = Self::default();
        let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        for entry in entries {
            let (folder, name) = split(&entry.name);
            if name == "state.json"
                && names.contains(join(folder, "dataset_info.json").as_str())
                && let Some(state) = read(&entry.item).and_then(|bytes| SavedDataset::parse(&bytes))
            {
                if !state.indices.is_empty() {
                    return Err(FolderFault::Mapped(entry.name.clone()));
                }
                let missing = |file: &&String| !names.contains(join(folder, file).as_str());
                if let Some(file) = state.files.iter().find(missing) {
                    return Err(FolderFault::Missing(join(folder, file)));
                }
                rules.listed.insert(folder.to_owned(), state.files);
            }
        }
        for name in names {
            let (folder, file) = split(name);
            if is_hidden(name) || marker(name).is_some() {
                // Who writes markers writes datasets.
                let is_success = file.eq_ignore_ascii_case("_success");
                rules.note(folder, Below { is_dataset: is_success, ..Below::default() });
                continue;
            }
            let is_data = is_data(file);
            let is_part = is_part(file);
            let is_partition = is_data && folder.split('/').any(|part| partition(part).is_some());
            let kind = Below {
                has_data: is_data || is_part,
                has_others: !is_data
                    && !is_part
                    && !is_description(file)
                    && !rules.listed.contains_key(folder),
                is_dataset: is_part || is_partition,
            };
            rules.note(folder, kind);
        }
        Ok(rules)
    }

    /// Notes a file of a folder, for it and all above it.
    fn note(&mut self, folder: &str, kind: Below) {
        let mut folder = folder;
        loop {
            let below = self.below.entry(folder.to_owned()).or_default();
            below.has_data |= kind.has_data;
            below.has_others |= kind.has_others;
            below.is_dataset |= kind.is_dataset;
            if folder.is_empty() {
                break;
            }
            folder = split(folder).0;
        }
    }

    /// Why a file is left; none: it holds records, or a text.
    fn reason(&self, name: &str) -> Option<(LeftRole, &'static str)> {
        let (folder, file) = split(name);
        if is_hidden(name) {
            return Some((LeftRole::Hidden, HIDDEN));
        }
        if let Some(why) = marker(name) {
            return Some((LeftRole::Marker, why));
        }
        if let Some(files) = self.listed.get(folder) {
            return (!files.contains(file)).then_some((LeftRole::Description, UNLISTED));
        }
        let holds_split = || self.listed.keys().any(|split_of| split(split_of).0 == folder);
        let below = self.below.get(folder).copied().unwrap_or_default();
        let describes = is_description(file)
            && (below.is_dataset || below.has_data && !below.has_others || holds_split());
        if describes {
            return Some((LeftRole::Description, DESCRIBES));
        }
        let is_record =
            is_data(file) || is_part(file) || file.to_ascii_lowercase().contains(".json");
        (below.is_dataset && below.has_data && !is_record)
            .then_some((LeftRole::Description, BESIDE))
    }
}

/// The fields that the folders of a file say of all its records, in the order of the path: `lang=de/` the field `lang`.
/// Of two of one name the inner one counts; Hive's name for null means no value.
#[must_use]
pub fn path_fields(path: &Path) -> Vec<(String, Option<String>)> {
    let mut fields: Vec<(String, Option<String>)> = Vec::new();
    let path = path.to_string_lossy();
    let folder = split(path.split_once('?').map_or(&path, |(path, _)| path)).0;
    for (name, value) in folder.split('/').filter_map(partition) {
        match fields.iter_mut().find(|(field, _)| *field == name) {
            Some((_, known)) => *known = value,
            None => fields.push((name, value)),
        }
    }
    fields
}

/// The name and the value of a folder of a partition; no value where that is null.
fn partition(part: &str) -> Option<(String, Option<String>)> {
    let (name, value) = part.split_once('=')?;
    let name = unescape(name);
    let is_start = |first: char| first.is_alphabetic() || first == '_';
    let is_name = name.starts_with(is_start)
        && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.'));
    // A value that is spelled as null is escaped.
    (is_name && !value.is_empty()).then(|| (name, (value != HIVE_NULL).then(|| unescape(value))))
}

/// Writers escape what no name of a folder can hold as `%2F`.
fn unescape(value: &str) -> String {
    String::from_utf8(percent_decoded(value.as_bytes())).unwrap_or_else(|_| value.to_owned())
}

/// What a saved dataset says of its files.
struct SavedDataset {
    files: BTreeSet<String>,
    indices: Vec<serde_json::Value>,
}

impl SavedDataset {
    fn parse(bytes: &[u8]) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct SavedDatasetState {
            #[serde(rename = "_data_files")]
            files: Vec<SavedDataFile>,
            #[serde(rename = "_indices_data_files", default)]
            indices: Option<Vec<serde_json::Value>>,
        }
        #[derive(serde::Deserialize)]
        struct SavedDataFile {
            filename: String,
        }
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_STATE {
            return None;
        }
        let state: SavedDatasetState = serde_json::from_slice(bytes).ok()?;
        // A name is one of this folder, nothing else.
        let is_name = |name: &String| !name.contains('/') && name != "..";
        let files: BTreeSet<String> = state.files.into_iter().map(|file| file.filename).collect();
        let indices = state.indices.unwrap_or_default();
        (!files.is_empty() && files.iter().all(is_name)).then_some(Self { files, indices })
    }
}

/// The folder and the name of a path.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Whether a name begins with a dot, or that of a folder above it.
pub(super) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

/// Why a file is a marker, where it is one.
fn marker(path: &str) -> Option<&'static str> {
    let (folder, name) = split(path);
    let name = name.to_ascii_lowercase();
    if folder.split('/').any(|part| part == "_delta_log") {
        return Some(DELTA);
    }
    let is_within = folder.split('/').any(|part| MARKER_FOLDERS.contains(&part));
    let is_marker = MARKERS.contains(&name.as_str())
        || MARKER_STARTS.iter().any(|start| name.starts_with(start));
    (is_within || is_marker).then_some(MARKER)
}

/// The name in small letters, without the end that says the compression.
fn plain(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED.iter().find_map(|end| name.strip_suffix(end));
    plain.unwrap_or_else(|| without_compression(&name)).to_owned()
}

fn is_data(name: &str) -> bool {
    let name = plain(name);
    DATA.iter().any(|end| name.ends_with(end))
}

fn is_description(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.split(['.', '-', '_']).next().unwrap_or_default();
    PAGES.contains(&stem)
        || DESCRIPTIONS.contains(&name.as_str())
        || CHECKSUMS.iter().any(|end| name.ends_with(end))
}

/// Whether it is a numbered part of a dataset: `train-00000-of-00007.parquet`, or `part-00000-..-c000.snappy.parquet`.
fn is_part(name: &str) -> bool {
    let is_number =
        |word: &str| word.len() >= 5 && word.bytes().take(5).all(|b| b.is_ascii_digit());
    let stem = name.split('.').next().unwrap_or_default();
    if stem
        .strip_prefix("part-")
        .is_some_and(|rest| is_number(rest.trim_start_matches(['r', 'm', '-'])))
    {
        return true;
    }
    let words: Vec<&str> = stem.split('-').collect();
    let is_numbered =
        |three: &[&str]| matches!(three, [at, "of", of] if is_number(at) && is_number(of));
    words.windows(3).any(is_numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(names: &[&str]) -> Vec<String> {
        let entries = names.iter().map(|name| FolderEntry { name: (*name).to_owned(), item: () });
        let contents = sort_out(entries.collect(), |()| None).unwrap();
        contents.left.into_iter().map(|(entry, ..)| entry.name).collect()
    }

    #[test]
    fn descriptions_are_skipped_beside_records_alone() {
        for (names, expected) in [
            (&["README.md", "a.parquet"][..], &["README.md"][..]),
            (&["README.md", "data/a.jsonl.gz", "LICENSE"], &["README.md", "LICENSE"]),
            (&["a.csv", "a.csv.sha256", "metadata.json"], &["a.csv.sha256", "metadata.json"]),
            // Texts beside a table: the page is one of them.
            (&["README.md", "chapter.md", "a.csv"], &[]),
            (&["README.md", "src/main.rs"], &[]),
            (&["a.txt", "old.arc"], &[]),
            (&["_notes.txt", "b.txt"], &[]),
            // Numbered parts: other files beside them do not belong to the dataset.
            (
                &["README.md", "load.py", "data/train-00000-of-00002.parquet"],
                &["README.md", "load.py"],
            ),
            (&["_SUCCESS", "part-00000-0a1b-c000.json", "x.json"], &["_SUCCESS"]),
            (&["_SUCCESS", "part-00000", "part-00001"], &["_SUCCESS"]),
            (&["_SUCCESS", "part-r-00000.gz.parquet", "notes.txt"], &["_SUCCESS", "notes.txt"]),
            (
                &["lang=de/a.parquet", "lang=de/notes.txt", "LICENSE"],
                &["lang=de/notes.txt", "LICENSE"],
            ),
            (
                &["_delta_log/0.json", "a.parquet", "_temporary/0/b.parquet"],
                &["_delta_log/0.json", "_temporary/0/b.parquet"],
            ),
            (&[".git/HEAD", "a.txt", "b/.c"], &[".git/HEAD", "b/.c"]),
        ] {
            assert_eq!(left(names), expected, "{names:?}");
        }
    }

    #[test]
    fn parts_are_recognised_by_their_numbers() {
        for name in [
            "train-00000-of-00007.parquet",
            "test-00003-of-00004-0a1b2c3d4e5f6071.parquet",
            "imdb-train-00000-of-00002.arrow",
            "part-00000",
            "part-00001-4f-c000.snappy.parquet",
            "part-m-00003.gz",
        ] {
            assert!(is_part(name), "{name}");
        }
        for name in
            ["train.parquet", "a-1-of-2.txt", "00000.parquet", "of-of-of.arrow", "part-time.txt"]
        {
            assert!(!is_part(name), "{name}");
        }
    }

    #[test]
    fn folders_of_partitions_say_fields() {
        let of = |path: &str| path_fields(Path::new(path));
        let field = |name: &str, value: &str| (name.to_owned(), Some(value.to_owned()));
        assert_eq!(
            of("/d/lang=de/dump=2024-10/part-0.parquet"),
            [field("lang", "de"), field("dump", "2024-10")]
        );
        assert_eq!(of("s3://b/a=1%2F2/a=3/x.csv?versionId=k=v"), [field("a", "3")]);
        assert_eq!(of("/d/lang=__HIVE_DEFAULT_PARTITION__/x"), [("lang".to_owned(), None)]);
        assert_eq!(of("/d/=de/lang=/a b=c/1=2/k=v.parquet"), []);
        assert_eq!(of("/d/q=%zz%4/x"), [field("q", "%zz%4")]);
        let escaped = "/d/q=%5F_HIVE_DEFAULT_PARTITION__/x";
        assert_eq!(of(escaped), [field("q", "__HIVE_DEFAULT_PARTITION__")]);
    }

    #[test]
    fn a_saved_dataset_is_the_files_that_it_lists() {
        let state = |files: &str, indices: &str| {
            format!(r#"{{"_data_files":[{files}],"_indices_data_files":{indices}}}"#).into_bytes()
        };
        let sorted = |state: Vec<u8>| {
            let names = [
                "s/state.json",
                "s/dataset_info.json",
                "s/a.arrow",
                "s/b.arrow",
                "dataset_dict.json",
            ];
            let entries = names.map(|name| FolderEntry { name: name.to_owned(), item: () });
            sort_out(entries.into(), |()| Some(state.clone())).map(|contents| {
                contents.data.into_iter().map(|entry| entry.name).collect::<Vec<_>>()
            })
        };
        let a = r#"{"filename":"a.arrow"}"#;
        assert_eq!(sorted(state(a, "null")).unwrap(), ["s/a.arrow"]);
        assert_eq!(sorted(state(a, "[]")).unwrap(), ["s/a.arrow"]);
        let mapped = sorted(state(a, r#"[{"filename":"i.arrow"}]"#));
        assert_eq!(mapped, Err(FolderFault::Mapped("s/state.json".to_owned())));
        let missing = sorted(state(r#"{"filename":"c.arrow"}"#, "[]"));
        assert_eq!(missing, Err(FolderFault::Missing("s/c.arrow".to_owned())));
    }
}
