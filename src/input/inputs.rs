//! Path arguments to inputs: files, directories, patterns, standard input.

use super::error::ReadError;
use super::folders::{self, FolderEntry, FolderFault, LeftFile, LeftRole, MOST_STATE};
use super::item::ReadOptions;
use crate::model::{Interrupt, is_corpus};
use crate::remote::{NameMatcher, RemoteCursor, RemoteObject, is_remote};
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// One input after expansion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Absolute path with the directory's links resolved and the file's own name kept; `-` for
    /// standard input.
    pub path: Arc<PathBuf>,
    /// Bytes of the file; 0 when not known (pipes).
    pub size: u64,
    /// What tells one state of the file from another, beside its size; 0 for pipes.
    pub version: i128,
    /// Whether it is standard input.
    pub is_stdin: bool,
    /// The object of a store that it is; its path is then the object's address.
    pub object: Option<RemoteObject>,
}

impl InputFile {
    /// Whether its size and version are those that were recorded of it. What older releases recorded of a file on disk
    /// is its time alone.
    pub fn is_unchanged(&self, size: u64, version: i128) -> bool {
        let has_time_alone = i64::try_from(version).is_ok() && self.object.is_none();
        let mask = if has_time_alone { TIME } else { !0 };
        size == self.size && (version ^ self.version) & mask == 0
    }

    /// Whether it can be read again, from any place on: it is neither a pipe nor standard input.
    pub fn is_file(&self) -> bool {
        self.object.is_some() || !self.is_stdin && self.path.is_file()
    }

    /// Its own name, in small letters.
    pub fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        match name.split_once('?') {
            Some((name, _)) if self.object.is_some() => name.to_owned(),
            _ => name,
        }
    }
}

/// What path arguments stand for.
#[derive(Debug, Default)]
pub struct InputList {
    /// What is read, in this order.
    pub files: Vec<InputFile>,
    /// Files of folders that are not.
    pub left: Vec<LeftFile>,
    seen: HashSet<PathBuf>,
    exclude: Vec<glob::Pattern>,
}

/// Expands path arguments in the order given: a file is itself; a directory all files with records below it in byte
/// order of their paths; a pattern (`*`, `?`, `[..]`, `**`) its matches in byte order; `-` standard input; an address
/// the objects of a store that it stands for, by the same rules. A file reached twice is read once. What of a directory
/// is skipped is reported with the reason.
///
/// # Errors
/// [`ReadError::NotFound`], [`ReadError::NoMatch`], [`ReadError::Pattern`],
/// [`ReadError::EmptyDirectory`], [`ReadError::MappedDataset`], or [`ReadError::Io`] and [`ReadError::Remote`] on what
/// cannot be looked at.
pub fn expand(
    paths: &[String],
    options: &ReadOptions,
    interrupt: &Interrupt,
) -> Result<InputList, ReadError> {
    let mut found = InputList::default();
    for pattern in &options.exclude {
        let parsed = glob::Pattern::new(pattern).map_err(|error| pattern_error(pattern, &error))?;
        found.exclude.push(parsed);
    }
    for argument in paths {
        let path = Path::new(argument);
        if argument == "-" {
            found.add_stdin();
        } else if path.exists() {
            found.add(path)?;
        } else if is_remote(argument) {
            let (objects, unreachable) = options.stores.objects(argument, interrupt, matching)?;
            found
                .left
                .extend(unreachable.into_iter().map(|path| unreachable_object(argument, path)));
            found.add_objects(argument, objects)?;
        } else if argument.contains(['*', '?', '[']) {
            for path in matches(argument)? {
                found.add(&path)?;
            }
        } else {
            return Err(ReadError::NotFound { path: path.to_path_buf() });
        }
    }
    Ok(found)
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
    LeftFile { path, role, why: why.to_owned() }
}

/// The files of paths alone.
#[cfg(test)]
pub fn expand_local(paths: &[String]) -> Result<Vec<InputFile>, ReadError> {
    Ok(expand(paths, &ReadOptions::default(), &Interrupt::default())?.files)
}

impl InputList {
    fn add_stdin(&mut self) {
        let path = PathBuf::from("-");
        if self.seen.insert(path.clone()) {
            self.files.push(InputFile {
                path: Arc::new(path),
                size: 0,
                version: 0,
                is_stdin: true,
                object: None,
            });
        }
    }

    fn add(&mut self, path: &Path) -> Result<(), ReadError> {
        let absolute = path_on_record(path)?;
        let metadata = std::fs::metadata(&absolute).map_err(ReadError::io(path, "look at it"))?;
        if !metadata.is_dir() {
            self.add_file(absolute, &metadata);
            return Ok(());
        }
        let entries = self.walk(&absolute)?;
        let read = |(file, _): &(PathBuf, Metadata)| first_bytes(File::open(file).ok()?);
        let data = self.sort_out(&absolute, entries, read)?;
        if data.is_empty() {
            return Err(ReadError::EmptyDirectory { path: path.to_path_buf() });
        }
        for (file, metadata) in data {
            self.add_file(file, &metadata);
        }
        Ok(())
    }

    /// The files of a folder that hold records, in byte order of their names; the others are noted.
    fn sort_out<T>(
        &mut self,
        folder: &Path,
        mut entries: Vec<FolderEntry<T>>,
        read: impl Fn(&T) -> Option<Vec<u8>>,
    ) -> Result<Vec<T>, ReadError> {
        let join =
            |name: &str| format!("{}/{name}", folder.to_string_lossy().trim_end_matches('/'));
        let left =
            |name: &str, role, why: &str| LeftFile { path: join(name), role, why: why.to_owned() };
        entries.retain(|entry| {
            let name = entry.name.rsplit('/').next().unwrap_or_default();
            let excluded = |pattern: &&glob::Pattern| {
                pattern.matches_with(&entry.name, wildcards()) || pattern.matches(name)
            };
            let excluded = self.exclude.iter().find(excluded);
            if let Some(pattern) = excluded {
                let why = format!("`{}` is excluded", pattern.as_str());
                self.left.push(left(&entry.name, LeftRole::Excluded, &why));
            }
            excluded.is_none()
        });
        let contents = folders::sort_out(entries, read).map_err(|fault| match fault {
            FolderFault::Missing(name) => ReadError::NotFound { path: join(&name).into() },
            FolderFault::Mapped(name) => ReadError::MappedDataset { path: join(&name).into() },
        })?;
        self.left
            .extend(contents.left.iter().map(|(entry, role, why)| left(&entry.name, *role, why)));
        Ok(contents.data.into_iter().map(|entry| entry.item).collect())
    }

    /// The objects that an address stands for: all of a folder, or those that it names.
    fn add_objects(&mut self, argument: &str, objects: Vec<RemoteObject>) -> Result<(), ReadError> {
        let folder = argument.trim_end_matches('/');
        let below = |object: &RemoteObject| {
            let name = object.name();
            Some(name.strip_prefix(folder)?.strip_prefix('/')?.to_owned())
        };
        let is_folder = objects.iter().all(|object| below(object).is_some());
        if !is_folder || argument.contains(['*', '?', '[']) {
            return objects.into_iter().try_for_each(|object| self.add_object(object));
        }
        let entries = objects.into_iter().map(|object| {
            let name = below(&object).unwrap_or_default();
            FolderEntry { name, item: object }
        });
        let read = |object: &RemoteObject| first_bytes(RemoteCursor::new(object, MOST_STATE));
        let data = self.sort_out(Path::new(folder), entries.collect(), read)?;
        if data.is_empty() {
            return Err(ReadError::EmptyDirectory { path: folder.into() });
        }
        data.into_iter().try_for_each(|object| self.add_object(object))
    }

    fn add_object(&mut self, object: RemoteObject) -> Result<(), ReadError> {
        let path = PathBuf::from(object.name());
        if !self.seen.insert(path.clone()) {
            let known = self.files.iter().find(|input| *input.path == path);
            let clash = known.and_then(|input| input.object.as_ref()?.clash(&object));
            clash.map_or(Ok(()), |clash| Err(ReadError::Remote(clash)))
        } else {
            self.files.push(InputFile {
                size: object.size(),
                version: object.version(),
                path: Arc::new(path),
                is_stdin: false,
                object: Some(object),
            });
            Ok(())
        }
    }

    fn add_file(&mut self, path: PathBuf, metadata: &Metadata) {
        // A pipe under /dev/fd has a name but no place it resolves to.
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.seen.insert(identity) {
            let is_file = metadata.is_file();
            self.files.push(InputFile {
                size: if is_file { metadata.len() } else { 0 },
                version: if is_file { version(metadata) } else { 0 },
                path: Arc::new(path),
                is_stdin: false,
                object: None,
            });
        }
    }
}

impl InputList {
    /// All files below a directory but those of corpora, by their names below it; hidden ones are not looked at.
    fn walk(
        &mut self,
        directory: &Path,
    ) -> Result<Vec<FolderEntry<(PathBuf, Metadata)>>, ReadError> {
        let mut files = Vec::new();
        let mut left = Vec::new();
        let mut note = |path: &Path, role, why: &str| {
            let path = path.to_string_lossy().into_owned();
            left.push(LeftFile { path, role, why: why.to_owned() });
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
            if is_hidden || kind.is_dir() && is_corpus(entry.path()) {
                match is_hidden {
                    true => note(entry.path(), LeftRole::Hidden, "its name begins with a dot"),
                    false => note(entry.path(), LeftRole::Corpus, "a corpus: export what it holds"),
                }
                if kind.is_dir() {
                    walk.skip_current_dir();
                }
            } else if kind.is_file() {
                let metadata = entry.metadata().map_err(|error| walk_error(directory, error))?;
                let below = entry.path().strip_prefix(directory).unwrap_or(entry.path());
                let name = below.to_string_lossy().into_owned();
                files.push(FolderEntry { name, item: (entry.into_path(), metadata) });
            } else if !kind.is_dir() {
                note(entry.path(), LeftRole::Special, "a pipe, socket or device: give its path");
            }
        }
        files.sort_by(|a, b| path_bytes(&a.item.0).cmp(path_bytes(&b.item.0)));
        left.sort_by(|a, b| a.path.cmp(&b.path));
        self.left.extend(left);
        Ok(files)
    }
}

/// A path as it is on record. The directory alone is resolved: caches keep files under meaningless names and link to
/// them under their real ones, and the real name is what a user knows.
///
/// # Errors
/// [`ReadError::Io`] where nothing is there.
pub fn path_on_record(path: &Path) -> Result<PathBuf, ReadError> {
    let resolved = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            parent.canonicalize().map(|parent| parent.join(name))
        }
        _ => path.canonicalize(),
    };
    resolved.map_err(ReadError::io(path, "resolve it"))
}

/// The beginning of a file that describes others.
fn first_bytes(file: impl Read) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MOST_STATE + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
    // What stands before the first part with a wildcard is a directory.
    let is_literal = |part: &std::path::Component<'_>| {
        !part.as_os_str().to_string_lossy().contains(['*', '?', '['])
    };
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

/// The bits of a version that are the time at which the file was modified, in nanoseconds since 1970.
const TIME: i128 = 0xffff_ffff_ffff_ffff;

/// The time at which a file was modified and, above it, 48 bits of which file it is and when it was changed: tools set
/// the first at will.
fn version(metadata: &Metadata) -> i128 {
    let modified = metadata.mtime().wrapping_mul(1_000_000_000).wrapping_add(metadata.mtime_nsec());
    let mut hasher = blake3::Hasher::new();
    for part in [metadata.ino().cast_signed(), metadata.ctime(), metadata.ctime_nsec()] {
        hasher.update(&part.to_le_bytes());
    }
    let [a, b, c, d, e, f, ..] = *hasher.finalize().as_bytes();
    let state = i128::from(u64::from_le_bytes([a | 1, b, c, d, e, f, 0, 0]));
    (state << 64) | (i128::from(modified) & TIME)
}
