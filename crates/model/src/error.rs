//! The error of the library with its kinds, and what errors of all modules are made of: refused I/O, interrupts, hints.

use crate::named;
use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// What kind of trouble an [`Error`] is: by it a program decides what to do. Each is a class of `corpusdb.errors` in
/// Python, and an exit status of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A requested stop: commits stay, and the same call continues from there.
    Interrupted,
    /// A corpus, document, source, field, tokenizer, snapshot, suite, plan, table, column or file that there is not.
    NotFound,
    /// No stored document has that key.
    KeyNotFound,
    /// A row, batch, rank or epoch beyond the last.
    OutOfRange,
    /// What is to be made is there already.
    AlreadyExists,
    /// Somebody else writes.
    Locked,
    /// An input, or an option about it, that cannot be used.
    BadInput,
    /// A statement or condition that cannot be run.
    BadQuery,
    /// Settings of dedup that do not go together, or that the corpus cannot go over to.
    BadPolicy,
    /// A name that is taken or malformed.
    BadName,
    /// A recipe that contradicts itself, or asks for what its format cannot hold.
    BadRecipe,
    /// A tokenizer's file, text or training that cannot be used.
    BadTokenizer,
    /// An epoch that the corpus cannot give.
    Infeasible,
    /// A plan that does not fit the corpus any more.
    Stale,
    /// A store of a newer release, or one to be migrated first.
    WrongFormat,
    /// Bytes of the store that no release wrote, or commits that are lost.
    Corrupt,
    /// Whatever else went wrong: a disk, a network, a limit, a fault of this library.
    Failed,
}

// But for `Interrupted` and `Failed`, which are `KeyboardInterrupt` and `CorpusError` there, a word is the name of the
// class in Python.
named!(ErrorKind {
    Interrupted = "Interrupted", NotFound = "NotFound", KeyNotFound = "KeyNotFound",
    OutOfRange = "OutOfRange", AlreadyExists = "AlreadyExists", Locked = "Locked",
    BadInput = "BadInput", BadQuery = "BadQuery", BadPolicy = "BadPolicy", BadName = "BadName",
    BadRecipe = "BadRecipe", BadTokenizer = "BadTokenizer", Infeasible = "Infeasible",
    Stale = "Stale", WrongFormat = "WrongFormat", Corrupt = "Corrupt", Failed = "Failed",
});

impl ErrorKind {
    /// The exit status of the command that ends with such an error.
    #[must_use]
    pub const fn exit_status(self) -> u8 {
        match self {
            Self::Interrupted => 130,
            _ => 2,
        }
    }
}

/// What an error is about, where programs ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErrorDetails {
    /// Who holds a lock, as it says itself.
    pub holder: Option<String>,
    /// The file of a bad input, or the name of records of a program.
    pub file: Option<String>,
    /// The number of the bad record in it, from 0.
    pub record: Option<u64>,
    /// The record's first byte, in the file as decompressed; of a damaged file, the byte as stored.
    pub byte: Option<u64>,
}

/// Any error of the library: its kind, a message that says what is wrong and where, and the way out.
///
/// A name in backticks that is an option is that of a field of the library (`id_field`); each face writes it as its
/// users do.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    hint: Option<Hint>,
    details: Option<Box<ErrorDetails>>,
    /// What was attempted, where the message does not say it.
    attempt: Option<String>,
    error: Box<dyn StdError + Send + Sync>,
}

impl Error {
    /// The error of a room, of that kind.
    #[doc(hidden)]
    pub fn new(kind: ErrorKind, error: impl StdError + Send + Sync + 'static) -> Self {
        Self { kind, hint: None, details: None, attempt: None, error: Box::new(error) }
    }

    /// An error of that kind that its message says whole, made where the check is.
    #[doc(hidden)]
    pub fn of(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(kind, PlainError(message.into()))
    }

    /// The error that an input, or an option about it, cannot be used.
    #[doc(hidden)]
    pub fn bad_input(message: impl Into<String>) -> Self {
        Self::of(ErrorKind::BadInput, message)
    }

    /// This error with the way out.
    #[must_use]
    #[doc(hidden)]
    pub fn with_hint(self, hint: impl Into<Option<Hint>>) -> Self {
        Self { hint: hint.into(), ..self }
    }

    /// This error with what it is about.
    #[doc(hidden)]
    pub fn with_details(self, details: ErrorDetails) -> Self {
        Self { details: Some(Box::new(details)), ..self }
    }

    /// This error with what was attempted, which stands before its message.
    #[must_use]
    #[doc(hidden)]
    pub fn attempting(self, attempt: String) -> Self {
        Self { attempt: Some(attempt), ..self }
    }

    /// What kind of trouble it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The way out, where there is one to name.
    #[must_use]
    pub const fn hint(&self) -> Option<&Hint> {
        self.hint.as_ref()
    }

    /// What it is about, where programs ask for it.
    #[must_use]
    pub fn details(&self) -> Option<&ErrorDetails> {
        self.details.as_deref()
    }

    /// Whether this is a stop that was asked for: the corpus is consistent, the command can be run again.
    #[must_use]
    pub fn is_interrupt(&self) -> bool {
        self.kind == ErrorKind::Interrupted
    }

    /// The error of the module that it comes from, such as `StoreError`: for programs that need more than
    /// its kind.
    #[must_use]
    pub fn origin<E: StdError + 'static>(&self) -> Option<&E> {
        self.error.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(attempt) = &self.attempt {
            write!(f, "{attempt}: ")?;
        }
        self.error.fmt(f)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.error.source()
    }
}

impl From<Interrupted> for Error {
    fn from(stop: Interrupted) -> Self {
        Self::new(ErrorKind::Interrupted, stop)
    }
}

impl From<io::Error> for Error {
    /// The error of a file that a caller named; the room's own files are an [`IoError`] each.
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            io::ErrorKind::AlreadyExists => ErrorKind::AlreadyExists,
            _ => ErrorKind::Failed,
        };
        let hint = system_way_out(&error.to_string());
        Self::new(kind, error).with_hint(hint)
    }
}

impl From<IoError> for Error {
    fn from(error: IoError) -> Self {
        let hint = error.hint();
        Self::new(ErrorKind::Failed, error).with_hint(hint)
    }
}

/// An error that is its words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct PlainError(String);

/// What the system refused to do to a file or directory.
#[derive(Debug, thiserror::Error)]
#[error("{doing} {}", path.display())]
pub struct IoError {
    /// What was being done, such as `writing`.
    pub doing: &'static str,
    /// To what.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl IoError {
    /// The error of doing so to a path, for `map_err`.
    #[doc(hidden)]
    pub fn of(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { doing, path, source }
    }
}

impl IoError {
    /// The way out, where the system's reason has one.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        let kind = self.source.kind();
        let by_kind = WAYS_OUT.iter().find(|(of, ..)| *of == Some(kind));
        by_kind.map_or_else(
            || system_way_out(&self.source.to_string()),
            |(.., way_out)| Some(Hint::text(*way_out)),
        )
    }
}

/// Where there is no room.
const DISK_FULL: &str = "commits are not lost: free space on that disk, then run the same again";

/// What a system refuses for, as a kind, where there is one, and in the words of its library; and the way out.
const WAYS_OUT: [(Option<io::ErrorKind>, &str, &str); 9] = [
    (Some(io::ErrorKind::StorageFull), "No space left on device", DISK_FULL),
    (Some(io::ErrorKind::QuotaExceeded), "Disk quota exceeded", DISK_FULL),
    (
        Some(io::ErrorKind::FileTooLarge),
        "File too large",
        "the size of files is limited for this process (`ulimit -f`): raise the limit, then run the same again",
    ),
    (
        None,
        "Too many open files",
        "a corpus keeps its files open, one for about 64 MB: raise the limit of open files (`ulimit -n 65536`; the hard limit is in /etc/security/limits.conf), or compact the corpus to have fewer files",
    ),
    (
        Some(io::ErrorKind::ReadOnlyFilesystem),
        "Read-only file system",
        "writing to a corpus needs a file system that is mounted for writing: remount it, or write to a copy; reading works as it is",
    ),
    (
        Some(io::ErrorKind::PermissionDenied),
        "Permission denied",
        "it belongs to another user, or is write-protected: change its owner or mode, or run this as its owner",
    ),
    (
        None,
        "No locks available",
        "the file system has no locks, or no more of them: use a local disk, or mount it with locks (NFS needs its lock service)",
    ),
    (
        Some(io::ErrorKind::Unsupported),
        "Operation not supported",
        "the file system does not support that: use one on a local disk",
    ),
    (
        None,
        "Input/output error",
        "the disk fails to read or write: look into the system's log, copy what can be read to another disk, then run a deep check there",
    ),
];

/// The way out of what a system refuses, by the words of its library in a message.
pub fn system_way_out(message: &str) -> Option<Hint> {
    let found = WAYS_OUT.iter().find(|(_, words, _)| message.contains(words));
    found.map(|(.., way_out)| Hint::text(*way_out))
}

/// Waits until the names in a directory are on disk. A file system that cannot be asked for that (SMB, some of FUSE)
/// does no better for an error.
pub fn sync_directory(path: &Path) -> Result<(), IoError> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match File::open(path).and_then(|directory| directory.sync_all()) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        synced => synced.map_err(IoError::of("syncing", path)),
    }
}

/// A requested stop: earlier commits stay, and the same call continues from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interrupted {
    /// What this call had done by then, where it counts: how many, and of what, such as `documents were added`.
    pub done: Option<(u64, &'static str)>,
}

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; ")?;
        if let Some((count, what)) = self.done {
            write!(f, "{count} {what}, ")?;
        }
        f.write_str("run the same command again to continue")
    }
}

impl StdError for Interrupted {}

/// The way out of an error, beside a message that says only what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// What to do, in words for every face.
    pub text: Cow<'static, str>,
    /// The command that does it, as the shell has it; each face writes the verb of it as its users call it.
    pub command: Option<Cow<'static, str>>,
}

impl Hint {
    /// What to do, in words.
    #[doc(hidden)]
    pub fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self { text: text.into(), command: None }
    }

    /// The way out of a row that is not as it was written.
    #[doc(hidden)]
    pub fn deep_check() -> Self {
        Self::text("a deep check finds out what else is damaged")
            .with_command("corpusdb check --deep")
    }

    /// This hint with the command that does it in a shell.
    #[doc(hidden)]
    pub fn with_command(self, command: impl Into<Cow<'static, str>>) -> Self {
        Self { command: Some(command.into()), ..self }
    }
}

/// The hint as the command line prints it, behind the message.
impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.command {
            Some(command) => write!(f, ": `{command}`"),
            None => Ok(()),
        }
    }
}

/// Implements `From` for the error of a lower room: a stop stays a stop in every room.
#[macro_export]
#[doc(hidden)]
macro_rules! from_lower {
    ($error:ident :: $variant:ident ( $lower:ident )) => {
        impl From<$lower> for $error {
            fn from(error: $lower) -> Self {
                match error {
                    $lower::Interrupted(stop) => Self::Interrupted(stop),
                    other => Self::$variant(other),
                }
            }
        }
    };
}

/// The words of an error and of what is behind it, without what stands there twice.
#[must_use]
pub fn error_words(error: &(dyn StdError + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        next = source.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_system_name_their_way_out() {
        let hint =
            |kind: io::ErrorKind| IoError::of("writing", Path::new("a/b"))(kind.into()).hint();
        let told = |kind| hint(kind).unwrap().to_string();
        assert!(told(io::ErrorKind::StorageFull).contains("free space on that disk"));
        assert!(told(io::ErrorKind::ReadOnlyFilesystem).contains("mounted for writing"));
        assert!(told(io::ErrorKind::PermissionDenied).contains("belongs to another user"));
        assert_eq!(hint(io::ErrorKind::NotFound), None);
        // Errors without a kind are known by their numbers, and all by the words of RocksDB too.
        let of_number = |number| {
            let error = IoError::of("writing", Path::new("a/b"));
            error(io::Error::from_raw_os_error(number)).hint().unwrap().to_string()
        };
        assert!(of_number(24).contains("ulimit -n") && of_number(5).contains("another disk"));
        for (kind, words, way_out) in WAYS_OUT {
            let told = system_way_out(&format!("IO error: While it was written: {words}"));
            assert_eq!(told, Some(Hint::text(way_out)));
            assert!(kind.is_none_or(|kind| hint(kind) == told), "{words}");
        }
        assert_eq!(system_way_out("Corruption: block checksum mismatch"), None);
        let error = IoError::of("writing", Path::new("a/b"))(io::ErrorKind::StorageFull.into());
        assert_eq!(error.to_string(), "writing a/b");
        let command = Hint::text("drop it").with_command("corpusdb field drop");
        assert_eq!(command.to_string(), "drop it: `corpusdb field drop`");
    }

    #[test]
    fn a_stop_says_what_was_done_until_then() {
        let again = "run the same command again to continue";
        assert_eq!(Interrupted::default().to_string(), format!("interrupted; {again}"));
        let some = Interrupted { done: Some((17, "documents were added")) };
        assert_eq!(some.to_string(), format!("interrupted; 17 documents were added, {again}"));
    }
}
