//! Turns path arguments into inputs: files, directories, patterns, objects of stores, standard input.

use super::block::RawRecord;
use super::error::ReadError;
use super::file_names::is_archive;
use super::folders::{
    self, FolderEntry, FolderFault, FolderForm, FolderLook, LeftFile, LeftRole, MOST_STATE,
    SeenContent,
};
use super::input_reader::InputReader;
use super::inputs::{InputFile, path_on_record};
use super::item::{InputFormat, ReadItem, ReadOptions, TextUnit};
use super::table_formats::table_around;
use crate::remote::{NameMatcher, RemoteCursor, RemoteObject, is_remote, without_secrets};
use model::invariant::part;
use model::{Interrupt, is_corpus};
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// What makes a path a pattern.
const WILDCARDS: [char; 3] = ['*', '?', '['];

/// What path arguments stand for.
#[derive(Debug, Default)]
pub struct InputList {
    /// What is read, in this order.
    pub files: Vec<InputFile>,
    /// Files of folders and patterns that are not.
    pub left: Vec<LeftFile>,
}

/// Expands path arguments in the order given: a file is itself; a directory all files with records below it in byte
/// order of their paths; a pattern (`*`, `?`, `[..]`, `**`) its matches in byte order, by the rules of a directory; `-`
/// standard input; an address the objects of a store that it stands for, by the same rules. A file reached twice is read
/// once. What of a directory or a pattern is skipped is reported with the reason.
///
/// # Errors
/// [`ReadError::NotFound`], [`ReadError::NoMatch`], [`ReadError::Pattern`],
/// [`ReadError::EmptyDirectory`], [`ReadError::MappedDataset`], [`ReadError::TableFolder`], or [`ReadError::Io`] and
/// [`ReadError::Remote`] on what cannot be looked at.
pub fn expand(
    paths: &[String],
    options: &ReadOptions,
    interrupt: &Interrupt,
) -> Result<InputList, ReadError> {
    let exclude = options
        .exclude
        .iter()
        .map(|pattern| glob::Pattern::new(pattern).map_err(|error| pattern_error(pattern, &error)));
    let mut found = InputFinder {
        options,
        exclude: exclude.collect::<Result<_, _>>()?,
        list: InputList::default(),
        seen: HashSet::new(),
    };
    for argument in paths {
        let path = Path::new(argument);
        if argument == "-" {
            found.add(InputFile::stdin())?;
        } else if path.exists() {
            found.add_path(path)?;
        } else if is_remote(argument) {
            let (objects, unreachable) = options.stores.objects(argument, interrupt, matching)?;
            let unreachable = unreachable.into_iter();
            found.list.left.extend(unreachable.map(|path| unreachable_object(argument, path)));
            found.add_objects(argument, objects)?;
        } else if is_pattern(argument) {
            found.add_matches(argument)?;
        } else {
            return Err(ReadError::NotFound { path: path.to_path_buf() });
        }
    }
    Ok(found.list)
}

/// An object of an address that no request can ask for.
fn unreachable_object(address: &str, path: String) -> LeftFile {
    let below = path.strip_prefix(address.trim_end_matches('/')).unwrap_or(&path);
    let (role, why) = match folders::is_hidden(below) {
        true => (LeftRole::Hidden, folders::HIDDEN),
        false => (
            LeftRole::Unreachable,
            "no request can name it (an empty part, `.`, `..` or a slash at an end): copy it to another name",
        ),
    };
    LeftFile { path, role, why: why.to_owned(), bytes: 0 }
}

/// The files of paths alone.
///
/// # Errors
/// As of [`expand`].
#[doc(hidden)]
pub fn expand_local(paths: &[String]) -> Result<Vec<InputFile>, ReadError> {
    Ok(expand(paths, &ReadOptions::default(), &Interrupt::default())?.files)
}

/// Finds what arguments stand for.
struct InputFinder<'a> {
    options: &'a ReadOptions,
    exclude: Vec<glob::Pattern>,
    list: InputList,
    seen: HashSet<PathBuf>,
}

impl InputFinder<'_> {
    /// Adds a file, once.
    fn add(&mut self, file: InputFile) -> Result<(), ReadError> {
        // A pipe under /dev/fd has a name but no place it resolves to.
        let identity = match file.is_stdin || file.object.is_some() {
            true => file.path.to_path_buf(),
            false => file.path.canonicalize().unwrap_or_else(|_| file.path.to_path_buf()),
        };
        if self.seen.insert(identity) {
            self.list.files.push(file);
        } else if let Some(object) = &file.object {
            let known = self.list.files.iter().find(|known| known.path == file.path);
            let clash = known.and_then(|known| known.object.as_ref()?.clash(object));
            return clash.map_or(Ok(()), |clash| Err(ReadError::Remote(clash)));
        }
        Ok(())
    }

    fn add_path(&mut self, path: &Path) -> Result<(), ReadError> {
        let absolute = path_on_record(path)?;
        let metadata = std::fs::metadata(&absolute).map_err(ReadError::io(path, "look at it"))?;
        if !metadata.is_dir() {
            return self.add(InputFile::on_disk(absolute, &metadata));
        }
        if let Some((table, format)) = table_around(&absolute) {
            return Err(ReadError::of_table(table, format));
        }
        let entries = self.walk(&absolute)?;
        self.add_folder(path, &absolute, entries, "")
    }

    /// Adds what a pattern matches, as a folder of these files; a directory among them stands for the files below it.
    fn add_matches(&mut self, pattern: &str) -> Result<(), ReadError> {
        let above = folder_of_pattern(pattern);
        let (mut entries, mut names, mut folders) = (Vec::new(), HashSet::new(), HashSet::new());
        for path in matches(pattern)? {
            let absolute = path_on_record(&path)?;
            let below = path.strip_prefix(above).unwrap_or(&path).to_string_lossy().into_owned();
            let metadata =
                std::fs::metadata(&absolute).map_err(ReadError::io(&path, "look at it"))?;
            let folder = match metadata.is_dir() {
                true => Some(absolute.as_path()),
                false => absolute.parent(),
            };
            if let Some(folder) = folder.filter(|folder| folders.insert(folder.to_path_buf()))
                && let Some((table, format)) = table_around(folder)
            {
                return Err(ReadError::of_table(table, format));
            }
            let mut found = match metadata.is_dir() {
                true => self.walk(&absolute)?,
                false => {
                    let item = InputFile::on_disk(absolute, &metadata);
                    vec![FolderEntry { name: String::new(), item }]
                }
            };
            found.iter_mut().for_each(|entry| entry.name = join(&below, &entry.name));
            entries.extend(found.into_iter().filter(|entry| names.insert(entry.name.clone())));
        }
        let spelled = pattern.get(above.len()..).unwrap_or(pattern);
        self.add_folder(Path::new(pattern), Path::new(above), entries, spelled)
    }

    /// The objects that an address stands for: all of a folder, or those that it names.
    fn add_objects(&mut self, argument: &str, objects: Vec<RemoteObject>) -> Result<(), ReadError> {
        let above = match is_pattern(argument) {
            true => folder_of_pattern(argument),
            false => argument,
        };
        let above = above.trim_end_matches('/');
        let below = |name: &str| Some(name.strip_prefix(above)?.strip_prefix('/')?.to_owned());
        let is_itself = |name: &str| {
            let is_named = name == argument || name.starts_with("http");
            is_named || !is_pattern(argument) && below(name).is_none()
        };
        if let [object] = objects.as_slice()
            && is_itself(object.name())
        {
            return objects.into_iter().try_for_each(|object| self.add(object.into()));
        }
        let entries = objects.into_iter().map(|object| {
            let name = below(object.name()).unwrap_or_else(|| object.name().to_owned());
            FolderEntry { name, item: object.into() }
        });
        let spelled = argument.get(above.len()..).unwrap_or_default().trim_start_matches('/');
        let given = without_secrets(argument.trim_end_matches('/'));
        self.add_folder(Path::new(&given), Path::new(above), entries.collect(), spelled)
    }

    /// Adds the files of a folder that hold records, in the order of the entries; the others are noted.
    fn add_folder(
        &mut self,
        given: &Path,
        folder: &Path,
        mut entries: Vec<FolderEntry<InputFile>>,
        pattern: &str,
    ) -> Result<(), ReadError> {
        let join = |name: &str| join(folder.to_string_lossy().trim_end_matches('/'), name);
        let before = self.list.left.len();
        let left = |file: &InputFile, role, why: &str| {
            let path = file.path.to_string_lossy().into_owned();
            LeftFile { path, role, why: why.to_owned(), bytes: file.size }
        };
        entries.retain(|entry| {
            let name = entry.name.rsplit('/').next().unwrap_or_default();
            let excluded = |pattern: &&glob::Pattern| {
                pattern.matches_with(&entry.name, wildcards()) || pattern.matches(name)
            };
            let excluded = self.exclude.iter().find(excluded);
            if let Some(pattern) = excluded {
                let why = format!("`{}` is excluded", pattern.as_str());
                self.list.left.push(left(&entry.item, LeftRole::Excluded, &why));
            }
            excluded.is_none()
        });
        let look = FolderLook {
            form: match self.options.format {
                InputFormat::Auto => FolderForm::Auto,
                InputFormat::Text => FolderForm::Texts,
                _ => FolderForm::Records,
            },
            pattern,
            read: &first_bytes,
            content: &|file: &InputFile| content(file, self.options),
        };
        let contents = folders::sort_out(entries, &look).map_err(|fault| match fault {
            FolderFault::Missing(name) => ReadError::NotFound { path: join(&name).into() },
            FolderFault::Mapped(name) => ReadError::MappedDataset { path: join(&name).into() },
            FolderFault::Table(name, format) => {
                ReadError::of_table(Path::new(&join(&name)), format)
            }
        })?;
        let of_rules = contents.left.iter();
        self.list.left.extend(of_rules.map(|(entry, role, why)| left(&entry.item, *role, why)));
        if contents.data.is_empty() {
            let why = part(&self.list.left, before..);
            let why = why.first().map(|file| format!(", such as {}: {}", file.path, file.why));
            let (path, why) = (given.to_path_buf(), why.unwrap_or_default());
            return Err(ReadError::EmptyDirectory { path, why });
        }
        contents.data.into_iter().try_for_each(|entry| self.add(entry.item))
    }

    /// All files below a directory but those of corpora, by their names below it; hidden ones are not looked at.
    fn walk(&mut self, directory: &Path) -> Result<Vec<FolderEntry<InputFile>>, ReadError> {
        let mut files = Vec::new();
        let mut left = Vec::new();
        let mut note = |path: &Path, role, why: &str| {
            let path = path.to_string_lossy().into_owned();
            left.push(LeftFile { path, role, why: why.to_owned(), bytes: 0 });
        };
        let mut walk = WalkDir::new(directory).follow_links(true).into_iter();
        while let Some(entry) = walk.next() {
            let entry = match entry {
                Ok(entry) => entry,
                // A link to a directory above it: its files are met without it.
                Err(error) if error.loop_ancestor().is_some() => continue,
                Err(error) if is_dangling_link(&error) => {
                    let path = error.path().unwrap_or(directory);
                    note(path, LeftRole::Special, "a link to nothing");
                    continue;
                }
                Err(error) => return Err(walk_error(directory, error)),
            };
            let is_hidden =
                entry.depth() > 0 && folders::is_hidden(&entry.file_name().to_string_lossy());
            let kind = entry.file_type();
            if !is_hidden && kind.is_dir() && is_corpus(entry.path()) {
                note(entry.path(), LeftRole::Corpus, "a corpus: export what it holds");
                walk.skip_current_dir();
            } else if is_hidden || kind.is_file() {
                let metadata = entry.metadata().map_err(|error| walk_error(directory, error))?;
                let below = entry.path().strip_prefix(directory).unwrap_or(entry.path());
                let name = below.to_string_lossy().into_owned();
                // A hidden folder is one entry.
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
                let item = InputFile::on_disk(entry.into_path(), &metadata);
                files.push(FolderEntry { name, item });
            } else if !kind.is_dir() {
                note(entry.path(), LeftRole::Special, "a pipe, socket or device: give its path");
            }
        }
        files.sort_by(|a, b| path_bytes(&a.item.path).cmp(path_bytes(&b.item.path)));
        left.sort_by(|a, b| a.path.cmp(&b.path));
        self.list.left.extend(left);
        Ok(files)
    }
}

/// Looks at what an ingest would make of a file of a folder. An archive is not opened: a gigabyte of it may have no
/// text.
fn content(file: &InputFile, options: &ReadOptions) -> SeenContent {
    if !file.is_file() {
        return SeenContent::Unknown;
    }
    if is_archive(&file.name()) {
        return SeenContent::Records;
    }
    let (format, text_by) = (InputFormat::Auto, TextUnit::File);
    let options = ReadOptions { format, text_by, ..options.clone() };
    let foreign = |error: ReadError| match error.blames_file() {
        Some(LeftRole::Foreign) => SeenContent::Foreign,
        _ => SeenContent::Unknown,
    };
    let mut reader = match InputReader::open_once(file, &options) {
        Ok(reader) => reader,
        Err(error) => return foreign(error),
    };
    // The columns of a table were looked at when it was opened.
    if reader.is_parquet() {
        return SeenContent::Records;
    }
    let (is_object, is_reject) = match reader.next_raw() {
        Ok(Some(raw)) if raw.not_text().is_some() => return SeenContent::Foreign,
        Ok(Some(RawRecord::Json { .. })) => (options.whole, false),
        Ok(Some(RawRecord::Read(item))) => (false, matches!(*item, ReadItem::Reject(_))),
        Ok(Some(RawRecord::Csv { .. })) => (false, false),
        Ok(None) => return SeenContent::Unknown,
        Err(error) => return foreign(error),
    };
    match () {
        () if reader.is_single() => SeenContent::Text,
        () if is_reject => SeenContent::Unknown,
        () if is_object && matches!(reader.next_raw(), Ok(None)) => SeenContent::Object,
        () => SeenContent::Records,
    }
}

/// The beginning of a file that describes others.
fn first_bytes(file: &InputFile) -> Option<Vec<u8>> {
    let read: Box<dyn Read> = match &file.object {
        Some(object) => Box::new(RemoteCursor::new(object, MOST_STATE)),
        None => Box::new(File::open(file.path.as_ref()).ok()?),
    };
    let mut bytes = Vec::new();
    read.take(MOST_STATE + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// A path of two; either may be empty.
fn join(folder: &str, name: &str) -> String {
    let stroke = if folder.is_empty() || name.is_empty() { "" } else { "/" };
    format!("{folder}{stroke}{name}")
}

fn is_pattern(argument: &str) -> bool {
    argument.contains(WILDCARDS)
}

/// The folder above whatever a pattern matches, as it is spelled, with a stroke behind it; empty where that is here.
fn folder_of_pattern(pattern: &str) -> &str {
    let literal = pattern.split(WILDCARDS).next().unwrap_or_default();
    literal.rfind('/').and_then(|stroke| literal.get(..=stroke)).unwrap_or_default()
}

fn pattern_error(pattern: &str, error: &glob::PatternError) -> ReadError {
    ReadError::Pattern { pattern: pattern.to_owned(), why: error.to_string() }
}

fn is_dangling_link(error: &walkdir::Error) -> bool {
    error.path().is_some_and(|path| path.is_symlink() && !path.exists())
}

fn walk_error(directory: &Path, error: walkdir::Error) -> ReadError {
    let path = error.path().unwrap_or(directory).to_path_buf();
    ReadError::Io { path, doing: "look through it", source: error.into() }
}

/// How patterns match: a wildcard does not match hidden names or a slash.
fn wildcards() -> glob::MatchOptions {
    glob::MatchOptions {
        require_literal_leading_dot: true,
        require_literal_separator: true,
        ..Default::default()
    }
}

/// Tells which names of objects a pattern matches.
fn matching(pattern: &str) -> Result<NameMatcher, String> {
    let parsed = glob::Pattern::new(pattern).map_err(|error| error.to_string())?;
    Ok(Box::new(move |name| parsed.matches_with(name, wildcards())))
}

fn matches(pattern: &str) -> Result<Vec<PathBuf>, ReadError> {
    let options = wildcards();
    let mut paths = match pattern.contains("**") {
        true => matches_below(pattern, options)?,
        false => matches_here(pattern, options)?,
    };
    if paths.is_empty() {
        return Err(ReadError::NoMatch { pattern: pattern.to_owned() });
    }
    paths.sort_by(|a, b| path_bytes(a).cmp(path_bytes(b)));
    Ok(paths)
}

/// Matches of a pattern of any depth. Directories are walked as they are when given by name: a link to one above
/// it is not followed round and round.
fn matches_below(pattern: &str, options: glob::MatchOptions) -> Result<Vec<PathBuf>, ReadError> {
    // Paths are compared as they are walked: without doubled strokes and parts that stay where they are.
    let pattern: PathBuf = Path::new(pattern).components().collect();
    let pattern = pattern.to_string_lossy();
    let parsed = glob::Pattern::new(&pattern).map_err(|error| pattern_error(&pattern, &error))?;
    // The path before the first part with a wildcard is a directory.
    let is_literal =
        |part: &std::path::Component<'_>| !part.as_os_str().to_string_lossy().contains(WILDCARDS);
    let base: PathBuf = Path::new(pattern.as_ref()).components().take_while(is_literal).collect();
    let root = if base.as_os_str().is_empty() { Path::new(".") } else { &base };
    let mut paths = Vec::new();
    for entry in WalkDir::new(root).follow_links(true) {
        match entry {
            Ok(entry) => {
                let path = match base.as_os_str().is_empty() {
                    true => entry.path().strip_prefix(".").unwrap_or(entry.path()),
                    false => entry.path(),
                };
                // `**` at the end stands for what is below, whose directories are not matches of their own.
                let counts = entry.file_type().is_file() || !pattern.ends_with("**");
                if entry.depth() > 0 && counts && parsed.matches_path_with(path, options) {
                    paths.push(path.to_path_buf());
                }
            }
            Err(error) if error.loop_ancestor().is_some() || is_dangling_link(&error) => {}
            // A pattern below nothing matches nothing.
            Err(error) if error.depth() == 0 && !root.exists() => {}
            Err(error) => return Err(walk_error(root, error)),
        }
    }
    Ok(paths)
}

fn matches_here(pattern: &str, options: glob::MatchOptions) -> Result<Vec<PathBuf>, ReadError> {
    let walk = glob::glob_with(pattern, options).map_err(|error| pattern_error(pattern, &error))?;
    let mut paths = Vec::new();
    for path in walk {
        let path = path.map_err(|error| {
            let path = error.path().to_path_buf();
            ReadError::Io { path, doing: "look through it", source: error.into() }
        })?;
        paths.push(path);
    }
    Ok(paths)
}

fn path_bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}
