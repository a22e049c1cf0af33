//! Selects the files of a folder that hold records, alike on disk and in a bucket, and says why the others are left.
//!
//! One rule for folders, patterns and prefixes; a file that is named by itself is always read.
//! * What `save_to_disk` of the library `datasets` writes lists its files (`state.json`), a dictionary of splits its
//!   folders (`dataset_dict.json`).
//! * Spark, Hive and table formats leave markers (`_SUCCESS`, `_metadata`) beside numbered parts; a folder of a table
//!   format is refused.
//! * Editors, transfers and backups leave copies and parts of files: see [`leftover`].
//! * A repository of the Hub has a page, a licence and scripts beside its shards. A file with records in it is data,
//!   whatever its name; where a folder holds data, its texts are no documents.
//! * `lang=de/` says a field of all records below: see [`path_fields`].

use super::file_names::{is_data, is_description, is_page, is_part};
use super::leftovers::{FETCHED, STATES, leftover};
use super::table_formats::{LakeFormat, table_of};
use model::{HIVE_NULL, percent_decoded};
use std::cell::RefCell;
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
    /// It describes the data beside it, or is another text without records there.
    Description,
    /// A copy or a part of a file that an editor, a transfer or a backup left, by its name.
    Leftover,
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
    /// Its size; 0 where it is not known.
    pub bytes: u64,
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
    /// This folder is a table whose metadata say which rows it has.
    Table(String, LakeFormat),
}

/// What an ingest would make of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeenContent {
    /// Records.
    Records,
    /// One JSON object without a known text: it may describe other files.
    Object,
    /// A document of its own.
    Text,
    /// Nothing: it has no records of the expected form, or is neither records nor a text.
    Foreign,
    /// The file has no bytes, or is damaged.
    Unknown,
}

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FolderForm {
    /// Records where there are any, else texts.
    #[default]
    Auto,
    /// Each file is records.
    Records,
    /// Each file is a text.
    Texts,
}

/// How a folder is looked at.
pub(super) struct FolderLook<'a, T> {
    pub(super) form: FolderForm,
    /// The part of a pattern behind the folder: endings that it spells, such as `.bak`, are asked for.
    pub(super) pattern: &'a str,
    /// The first bytes of a file, up to [`MOST_STATE`] and one more.
    pub(super) read: &'a dyn Fn(&T) -> Option<Vec<u8>>,
    pub(super) content: &'a dyn Fn(&T) -> SeenContent,
}

/// A longer description is ignored.
pub(super) const MOST_STATE: u64 = 16 << 20;

const MARKERS: [&str; 5] = ["_success", "_metadata", "_common_metadata", "_temporary", "_started"];
const MARKER_STARTS: [&str; 3] = ["_committed_", "_started_", "_success."];
const MARKER_FOLDERS: [&str; 3] = ["_temporary", "_spark_metadata", "_symlink_format_manifest"];
/// Files of a kind that are opened to see whether a folder holds records.
const OPENED: usize = 8;

const MARKER: &str = "a marker of the program that wrote the files beside it";
const DESCRIBES: &str = "it describes the data beside it";
const BESIDE: &str = "a text without records, beside files of records or above them";
pub(super) const HIDDEN: &str = "its name, or that of a folder above it, begins with a dot";
const UNLISTED: &str = "the dataset that is saved there does not list it";

/// Sorts the files of a folder out.
pub(super) fn sort_out<T>(
    entries: Vec<FolderEntry<T>>,
    look: &FolderLook<'_, T>,
) -> Result<FolderContents<T>, FolderFault> {
    let reasons: Vec<_> = {
        let rules = FolderRules::new(&entries, look)?;
        (0..entries.len()).map(|at| rules.reason(at)).collect()
    };
    let mut contents = FolderContents { data: Vec::new(), left: Vec::new() };
    for (entry, reason) in entries.into_iter().zip(reasons) {
        match reason {
            None => contents.data.push(entry),
            Some((role, why)) => contents.left.push((entry, role, why)),
        }
    }
    Ok(contents)
}

/// What is known of the folders below one.
struct FolderRules<'a, T> {
    entries: &'a [FolderEntry<T>],
    look: &'a FolderLook<'a, T>,
    names: BTreeSet<&'a str>,
    /// The files that saved datasets list, by their folder.
    listed: BTreeMap<String, BTreeSet<String>>,
    /// By folder: what stands in it and below.
    below: BTreeMap<String, Below>,
    /// What was seen in files that were opened.
    seen: RefCell<BTreeMap<usize, SeenContent>>,
    /// Whether the files in a folder and below give records.
    giving: RefCell<BTreeMap<String, bool>>,
}

#[derive(Default)]
struct Below {
    /// The first files of each kind.
    first: [Vec<usize>; 4],
    /// Numbered parts, or folders of partitions.
    is_dataset: bool,
    /// A page or a licence stands in the folder itself.
    has_page: bool,
}

/// What a name says of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameKind {
    /// Its records.
    Data,
    /// Some JSON.
    Json,
    /// A page, a licence, a schema.
    Description,
    Text,
}

impl<'a, T> FolderRules<'a, T> {
    fn new(
        entries: &'a [FolderEntry<T>],
        look: &'a FolderLook<'a, T>,
    ) -> Result<Self, FolderFault> {
        let names = entries.iter().map(|entry| entry.name.as_str()).collect();
        let mut rules = Self {
            entries,
            look,
            names,
            listed: BTreeMap::new(),
            below: BTreeMap::new(),
            seen: RefCell::default(),
            giving: RefCell::default(),
        };
        rules.find_tables()?;
        rules.find_saved()?;
        for (at, entry) in entries.iter().enumerate() {
            rules.note(at, &entry.name);
        }
        Ok(rules)
    }

    /// Refuses a table that has files here.
    fn find_tables(&self) -> Result<(), FolderFault> {
        for (folder, format) in self.names.iter().filter_map(|name| table_of(name)) {
            let is_of_table = |name: &&str| {
                let below = match folder {
                    "" => Some(*name),
                    folder => name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')),
                };
                below.is_some_and(|below| !is_hidden(below) && table_of(below).is_none())
            };
            if self.names.iter().any(is_of_table) {
                return Err(FolderFault::Table(folder.to_owned(), format));
            }
        }
        Ok(())
    }

    /// Finds what datasets that were saved list.
    fn find_saved(&mut self) -> Result<(), FolderFault> {
        for entry in self.entries {
            let (folder, name) = split(&entry.name);
            if name == "state.json"
                && self.names.contains(join(folder, "dataset_info.json").as_str())
                && let Some(bytes) = (self.look.read)(&entry.item)
                && let Some(state) = SavedDataset::parse(&bytes)
            {
                if !state.indices.is_empty() {
                    return Err(FolderFault::Mapped(entry.name.clone()));
                }
                let missing = |file: &&String| !self.names.contains(join(folder, file).as_str());
                if let Some(file) = state.files.iter().find(missing) {
                    return Err(FolderFault::Missing(join(folder, file)));
                }
                self.listed.insert(folder.to_owned(), state.files);
            }
        }
        Ok(())
    }

    /// Notes a file, for its folder and all above it.
    fn note(&mut self, at: usize, name: &str) {
        let (folder, file) = split(name);
        let is_success = file.eq_ignore_ascii_case("_success");
        let is_read = self.by_name(name).is_none();
        let kind = self.kind(file);
        let is_data = kind == NameKind::Data;
        let is_partition = is_data && folder.split('/').any(|part| partition(part).is_some());
        // Programs that write markers write datasets.
        let is_dataset = is_success || is_read && (is_part(file) || is_partition);
        let own = self.below.entry(folder.to_owned()).or_default();
        own.has_page |= is_read && kind == NameKind::Description && is_page(file);
        let mut folder = folder;
        loop {
            let below = self.below.entry(folder.to_owned()).or_default();
            below.is_dataset |= is_dataset;
            if is_read
                && let Some(first) = below.first.get_mut(kind as usize)
                && first.len() < OPENED
            {
                first.push(at);
            }
            if folder.is_empty() {
                break;
            }
            folder = split(folder).0;
        }
    }

    fn kind(&self, file: &str) -> NameKind {
        match self.look.form {
            FolderForm::Texts => NameKind::Text,
            _ if is_data(file) || is_part(file) => NameKind::Data,
            _ if is_description(file) => NameKind::Description,
            FolderForm::Records => NameKind::Data,
            FolderForm::Auto if file.to_ascii_lowercase().contains(".json") => NameKind::Json,
            FolderForm::Auto => NameKind::Text,
        }
    }

    /// What a file is, once it is opened.
    fn content(&self, at: usize) -> SeenContent {
        if let Some(known) = self.seen.borrow().get(&at) {
            return *known;
        }
        let entry = self.entries.get(at);
        let content = entry.map_or(SeenContent::Unknown, |entry| (self.look.content)(&entry.item));
        self.seen.borrow_mut().insert(at, content);
        content
    }

    /// The first files of a kind in a folder and below.
    fn first(&self, folder: &str, kind: NameKind) -> &[usize] {
        self.below.get(folder).and_then(|below| below.first.get(kind as usize)).map_or(&[], |it| it)
    }

    fn gives(&self, folder: &str, kind: NameKind) -> bool {
        self.first(folder, kind).iter().any(|at| self.content(*at) == SeenContent::Records)
    }

    /// Whether any file is data by its name, or holds records under another name.
    fn holds_data(&self) -> bool {
        !self.first("", NameKind::Data).is_empty()
            || self.gives("", NameKind::Json)
            || self.gives("", NameKind::Text)
    }

    /// Whether the files in a folder and below give records: a table without a text, such as a list of the texts beside
    /// it, gives none.
    fn gives_records(&self, folder: &str) -> bool {
        if let Some(known) = self.giving.borrow().get(folder) {
            return *known;
        }
        let has_page = self.below.get(folder).is_some_and(|below| below.has_page);
        let gives = self.gives(folder, NameKind::Data)
            || self.gives(folder, NameKind::Json)
            || has_page && self.gives(folder, NameKind::Text);
        self.giving.borrow_mut().insert(folder.to_owned(), gives);
        gives
    }

    /// Whether a folder lies below a page and records: in a clone of a dataset, whose other folders hold its scripts
    /// and documentation.
    fn is_in_repository(&self, folder: &str) -> bool {
        let mut folder = folder;
        loop {
            if self.below.get(folder).is_some_and(|below| below.has_page)
                && self.gives_records(folder)
            {
                return true;
            }
            if folder.is_empty() {
                return false;
            }
            folder = split(folder).0;
        }
    }

    /// Why a file is left by its name alone, whatever stands beside it.
    fn by_name(&self, name: &str) -> Option<(LeftRole, &'static str)> {
        if hidden_parts(name) > hidden_parts(self.look.pattern) {
            return Some((LeftRole::Hidden, HIDDEN));
        }
        if leftover(self.look.pattern).is_none() {
            let is_fetched = || {
                STATES.iter().any(|end| {
                    let of = name.strip_suffix(end).is_some_and(|of| self.names.contains(of));
                    of || self.names.contains(format!("{name}{end}").as_str())
                })
            };
            if let Some(why) = leftover(name).or_else(|| is_fetched().then_some(FETCHED)) {
                return Some((LeftRole::Leftover, why));
            }
        }
        is_marker(name).then_some((LeftRole::Marker, MARKER))
    }

    /// Why a file is left; none: it holds records, or a text.
    fn reason(&self, at: usize) -> Option<(LeftRole, &'static str)> {
        let name = self.entries.get(at)?.name.as_str();
        let (folder, file) = split(name);
        if let Some(reason) = self.by_name(name) {
            return Some(reason);
        }
        if let Some(files) = self.listed.get(folder) {
            return (!files.contains(file)).then_some((LeftRole::Description, UNLISTED));
        }
        let is_dataset = self.below.get(folder).is_some_and(|below| below.is_dataset);
        match self.kind(file) {
            NameKind::Data => None,
            NameKind::Description => {
                let holds_split = self.listed.keys().any(|split_of| split(split_of).0 == folder);
                let describes = is_dataset || holds_split || self.holds_data();
                let is_left = describes
                    && match self.content(at) {
                        SeenContent::Records => false,
                        SeenContent::Object => !is_page(file),
                        SeenContent::Text | SeenContent::Foreign | SeenContent::Unknown => true,
                    };
                is_left.then_some((LeftRole::Description, DESCRIBES))
            }
            kind @ (NameKind::Json | NameKind::Text) => {
                let is_beside =
                    is_dataset || self.gives_records(folder) || self.is_in_repository(folder);
                let is_left = is_beside
                    && match self.content(at) {
                        SeenContent::Text => true,
                        SeenContent::Records | SeenContent::Object => false,
                        SeenContent::Foreign | SeenContent::Unknown => {
                            is_dataset && kind == NameKind::Text
                        }
                    };
                is_left.then_some((LeftRole::Description, BESIDE))
            }
        }
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
    hidden_parts(name) > 0
}

fn hidden_parts(name: &str) -> usize {
    let is_hidden = |part: &&str| part.starts_with('.') && !matches!(*part, "." | "..");
    name.split('/').filter(is_hidden).count()
}

fn is_marker(path: &str) -> bool {
    let (folder, name) = split(path);
    let name = name.to_ascii_lowercase();
    folder.split('/').any(|part| MARKER_FOLDERS.contains(&part))
        || MARKERS.contains(&name.as_str())
        || MARKER_STARTS.iter().any(|start| name.starts_with(start))
}
