//! The errors of the store: user mistakes, environment faults and corruption are different variants.

use model::near_names::UnknownName;
use model::{
    Error, ErrorDetails, ErrorKind, Hint, Interrupted, IoError, manifest_beside, system_way_out,
};
use std::path::{Path, PathBuf};

/// An error of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The directory holds no corpus.
    #[error("{} is not a corpus", path.display())]
    NotACorpus {
        /// The directory asked for.
        path: PathBuf,
        /// Whether something else is there, so that no corpus can be made in its place.
        taken: bool,
    },
    /// A stop was asked for.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// `init` found something in its way.
    #[error("{} already exists and is not an empty directory", path.display())]
    AlreadyExists {
        /// The directory asked for.
        path: PathBuf,
    },
    /// `init` was interrupted here before.
    #[error("{} has a corpus whose creation was interrupted", path.display())]
    HalfMade {
        /// The directory asked for.
        path: PathBuf,
    },
    /// The corpus was written by a newer release.
    #[error(
        "{} has store format {found}, this release reads up to {supported}; it was last written by corpusdb {release}",
        path.display()
    )]
    NewerFormat {
        /// The corpus.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The newest version this release knows.
        supported: u32,
        /// The release that wrote it.
        release: String,
    },
    /// The corpus needs a migration, which only a writer may run.
    #[error("{} has store format {found}, older than {supported}", path.display())]
    OlderFormat {
        /// The corpus.
        path: PathBuf,
        /// Its format version.
        found: u32,
        /// The version this release reads.
        supported: u32,
    },
    /// Another process is writing.
    #[error("{} is being written by {holder}", path.display())]
    Locked {
        /// The corpus.
        path: PathBuf,
        /// Who holds the lock, as it says itself.
        holder: String,
        /// Whether that is this process.
        is_own: bool,
    },
    /// The folder that a writer has open is no longer what stands at its path.
    #[error("{} {what}", path.display())]
    Exchanged {
        /// The corpus, as it was called.
        path: PathBuf,
        /// What became of it, and what stands there now.
        what: String,
    },
    /// The database is behind the journal: acknowledged commits are gone.
    #[error(
        "{} lost acknowledged commits {} to {journal}: the database ends at commit {database}",
        path.display(), database + 1
    )]
    LostCommits {
        /// The corpus.
        path: PathBuf,
        /// Last commit in the database.
        database: u64,
        /// Last commit in the journal.
        journal: u64,
    },
    /// A write-ahead log that holds acknowledged commits is not whole.
    #[error(
        "{} lost acknowledged commits: its log {} {damage}, and has rows of {commits} that are in no table yet",
        path.display(), log.display()
    )]
    LostLog {
        /// The corpus.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// What became of it.
        damage: String,
        /// The commits that end in it.
        commits: String,
    },
    /// The corpus changed faster than it could be opened.
    #[error(
        "{} is being written to faster than it can be opened ({why})",
        path.display()
    )]
    Restless {
        /// The corpus.
        path: PathBuf,
        /// What was missed last.
        why: String,
    },
    /// The database's list of its tables is not whole.
    #[error("{} lost names of tables: their list {} {damage}", path.display(), manifest.display())]
    LostTables {
        /// The corpus.
        path: PathBuf,
        /// The list: the manifest of the database.
        manifest: PathBuf,
        /// What became of it.
        damage: String,
    },
    /// A table that is not as it was written, cannot be read, or is gone. RocksDB's own words name the file and place.
    #[error("family {family} is damaged: {why}")]
    Damaged {
        /// The column family whose rows the table has.
        family: &'static str,
        /// RocksDB's words.
        why: String,
    },
    /// Derived families are being made again, or a repair of them was stopped.
    #[error("{} is being repaired{}", path.display(), listed(families))]
    Repairing {
        /// The corpus.
        path: PathBuf,
        /// The families; none where one of them is not there.
        families: Vec<String>,
    },
    /// Bytes that no release wrote.
    #[error("corrupt {what} in family {family}, key {key}, byte {offset}: {why}")]
    Corrupt {
        /// What was being read.
        what: &'static str,
        /// The column family.
        family: &'static str,
        /// The key, in hexadecimal.
        key: String,
        /// Where in the value decoding stopped.
        offset: usize,
        /// Why.
        why: String,
    },
    /// A row that another row refers to is absent.
    #[error("missing {what} in family {family}, key {key}")]
    Missing {
        /// What was searched for.
        what: &'static str,
        /// The column family.
        family: &'static str,
        /// The key, readable.
        key: String,
    },
    /// Fingerprints are of two versions of the normaliser.
    #[error("a redo to another version of the normaliser was interrupted while it became current")]
    Refingerprinting,
    /// An earlier moment is shown, for which files are kept.
    #[error("this process has an older view of the corpus open, which still needs its files")]
    Held,
    /// A name that is taken, unknown or malformed.
    #[error("{0}")]
    Name(String),
    /// A source, snapshot or suite that there is not.
    #[error(transparent)]
    Unknown(UnknownName),
    /// A directory of backups, or a backup, that cannot be used.
    #[error("{}: {why}", path.display())]
    Backup {
        /// The directory, or the file in it.
        path: PathBuf,
        /// What is wrong, in words.
        why: String,
    },
    /// RocksDB's own words: it names the file and offset of a damaged block.
    #[error("storage: {0}")]
    Rocks(String),
    /// The file system.
    #[error(transparent)]
    Io(IoError),
    /// A record that cannot be encoded.
    #[error("cannot encode {what}: {why}")]
    Encode {
        /// The record.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// Whatever else is wrong, with its own kind.
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<rocksdb::Error> for StoreError {
    fn from(error: rocksdb::Error) -> Self {
        Self::Rocks(in_words(error))
    }
}

impl From<IoError> for StoreError {
    fn from(error: IoError) -> Self {
        let path = match error.path.to_str() {
            Some(words) => PathBuf::from(in_full(words)),
            None => error.path,
        };
        Self::Io(IoError { path, ..error })
    }
}

/// Where a process finds what it has open.
pub(crate) const DESCRIPTORS: &str = "/proc/self/fd/";

/// RocksDB's own words.
pub(crate) fn in_words(error: rocksdb::Error) -> String {
    in_full(&error.into_string())
}

/// Words with the names that open directories have now, in the place of their descriptors, which mean nothing to people.
fn in_full(words: &str) -> String {
    let mut parts = words.split(DESCRIPTORS);
    let mut full = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (descriptor, rest) = part.split_at(digits);
        match std::fs::read_link(format!("{DESCRIPTORS}{descriptor}")) {
            Ok(name) => full += &name.display().to_string(),
            Err(_) => full.extend([DESCRIPTORS, descriptor]),
        }
        full += rest;
    }
    full
}

/// What RocksDB says that the system did not say, and what to do about it.
const WAYS_OUT: [(&str, &str, Option<&str>); 4] = [
    (
        "While fsync: a directory",
        "the file system cannot make names in a directory durable (SMB, some of FUSE): keep the corpus on a local disk; exports and backups may go there",
        None,
    ),
    (
        "CURRENT",
        "the file `CURRENT` of the database is lost or damaged, which a repair writes again",
        Some("corpusdb check CORPUS --repair"),
    ),
    (
        "No such file",
        "a file of the database is missing: put it back, repair derived rows, restore a backup, or copy the intact documents into a new corpus: `corpusdb check CORPUS --salvage NEW`",
        Some("corpusdb check CORPUS --repair"),
    ),
    (
        "Corruption",
        "a file of the corpus is damaged: a deep check shows what is damaged, and a repair recomputes derived rows; for other rows restore a backup, or copy the intact documents into a new corpus: `corpusdb check CORPUS --salvage NEW`",
        Some("corpusdb check CORPUS --repair"),
    ),
];

/// What stands in the place of a corpus, and what to name instead.
fn way_to_a_corpus(path: &Path) -> &'static str {
    if path.is_file() {
        "it is a file, and a corpus is a directory: name the corpus first, then the file, or make a corpus"
    } else if path.join("manifest.json").is_file() || manifest_beside(path).is_file() {
        "it looks like an epoch, an export or a load, which have a manifest: name the corpus first, then what is read or checked, or make a corpus"
    } else {
        "it holds other things: name another directory, or make a corpus in a new one"
    }
}

/// Where acknowledged commits are gone.
const RESTORE: &str = "restore a backup (a copy made file by file beside a writer is not one: `corpusdb backup create` takes it), ingest again into a new corpus, or copy what is whole into one";
/// What copies what is whole of a damaged corpus.
const SALVAGE: &str = "corpusdb check CORPUS --salvage NEW";

impl StoreError {
    /// The error that a file of the folder `outputs` is no entry.
    pub(crate) fn output(file: &Path, why: &str) -> Self {
        let file = in_full(&file.display().to_string());
        let message = format!("{file}: this entry of an output cannot be read: {why}");
        let way_out = "nothing else depends on it: remove the file";
        Error::of(ErrorKind::Corrupt, message).with_hint(Hint::text(way_out)).into()
    }

    /// The error that a tokenizer of that name is registered, so that another one cannot be.
    #[doc(hidden)]
    pub fn tokenizer_taken(name: &str) -> Self {
        Self::Name(format!("tokenizer `{name}` exists already; choose another name"))
    }

    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        Some(match self {
            Self::NotACorpus { path, taken: false } => {
                Hint::text("make one").with_command(format!("corpusdb init {}", path.display()))
            }
            // The first commit of a corpus is in the journal.
            Self::NotACorpus { path, taken: true }
                if path.join("journal").metadata().is_ok_and(|journal| journal.len() > 0) =>
            {
                Hint::text("its file `FORMAT` is lost or damaged, or `corpusdb init` was stopped just before it wrote that; a repair writes it")
                    .with_command(format!("corpusdb check {} --repair", path.display()))
            }
            Self::NotACorpus { path, taken: true } => {
                Hint::text(way_to_a_corpus(path)).with_command("corpusdb init NEW")
            }
            Self::Unknown(unknown) => unknown.hint(),
            Self::HalfMade { .. } => {
                Hint::text("remove the directory, then create the corpus again")
            }
            Self::NewerFormat { .. } => Hint::text("use that release or a newer one"),
            Self::OlderFormat { path, .. } => Hint::text("what opens it for writing converts it")
                .with_command(format!("corpusdb dedup settle {}", path.display())),
            Self::Locked { is_own: true, .. } => {
                Hint::text("write with the handle that has it open, or close that first")
            }
            Self::Locked { .. } => Hint::text("wait for it to end, or read beside it"),
            Self::Exchanged { .. } => Hint::text(
                "a renamed folder keeps all that was committed: run the same again with the path of the corpus that is meant, and end writers before a folder is renamed or replaced",
            ),
            Self::LostCommits { .. } => Hint::text(RESTORE).with_command(SALVAGE),
            Self::LostLog { .. } => Hint::text(format!("put that file back unchanged, {RESTORE}"))
                .with_command(SALVAGE),
            Self::LostTables { path, .. } => Hint::text(format!(
                "if a copy without the file {} passes a deep check, a power cut under corpusdb 0.1.0 left that note ahead of the disk: remove it; else {RESTORE}",
                path.join("manifest").display()
            ))
            .with_command(SALVAGE),
            Self::Restless { .. } => Hint::text(
                "try again when the writer is less busy, or allow this user to make hard links in that directory",
            ),
            Self::Damaged { family, .. }
            | Self::Corrupt { family, .. }
            | Self::Missing { family, .. } => way_out(family),
            Self::Repairing { path, .. } => {
                Hint::text("wait for it to end, or continue an interrupted one")
                    .with_command(format!("corpusdb check {} --repair", path.display()))
            }
            Self::Refingerprinting => Hint::text("run it again without a setting: it continues")
                .with_command("corpusdb dedup redo"),
            Self::Held => Hint::text("close it, and run the same again"),
            Self::Io(error) => return error.hint(),
            Self::Other(error) => return error.hint().cloned(),
            Self::Rocks(words) => {
                let found = WAYS_OUT.iter().find(|(symptom, ..)| words.contains(symptom));
                let own = found.map(|(_, way_out, command)| {
                    let hint = Hint::text(*way_out);
                    command.map_or(hint.clone(), |command| hint.with_command(command))
                });
                return own.or_else(|| system_way_out(words));
            }
            _ => return None,
        })
    }

    /// The family whose rows are at fault, where it is one.
    #[must_use]
    pub const fn family(&self) -> Option<&'static str> {
        match self {
            Self::Damaged { family, .. }
            | Self::Corrupt { family, .. }
            | Self::Missing { family, .. } => Some(family),
            _ => None,
        }
    }
}

impl StoreError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotACorpus { .. } | Self::Unknown(_) => ErrorKind::NotFound,
            Self::AlreadyExists { .. } | Self::HalfMade { .. } => ErrorKind::AlreadyExists,
            Self::Locked { .. } => ErrorKind::Locked,
            Self::LostCommits { .. }
            | Self::LostLog { .. }
            | Self::LostTables { .. }
            | Self::Backup { .. }
            | Self::Damaged { .. }
            | Self::Repairing { .. }
            | Self::Corrupt { .. }
            | Self::Missing { .. } => ErrorKind::Corrupt,
            Self::NewerFormat { .. } | Self::OlderFormat { .. } => ErrorKind::WrongFormat,
            Self::Name(_) => ErrorKind::BadName,
            Self::Other(error) => error.kind(),
            _ => ErrorKind::Failed,
        }
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let mut details = ErrorDetails::default();
        match error {
            StoreError::Interrupted(stop) => return stop.into(),
            StoreError::Other(error) => return error,
            StoreError::Locked { ref holder, .. } => details.holder = Some(holder.clone()),
            _ => {}
        }
        let (kind, hint) = (error.kind(), error.hint());
        Self::new(kind, error).with_hint(hint).with_details(details)
    }
}

/// The families whose rows follow from those of others: a repair makes them again. Of `tokens` and `loss` but what came
/// with the records; of `sketch_pages` but what purged documents have.
const DERIVED: [&str; 14] = [
    "tokens",
    "loss",
    "columns",
    "terms",
    "postings",
    "exact",
    "sketch_pages",
    "bands",
    "bands_more",
    "band_runs",
    "members",
    "keys",
    "suite_ngrams",
    "contamination",
];

/// Whether the rows of a family follow from those of others.
pub(crate) fn is_derived(family: &str) -> bool {
    DERIVED.contains(&family)
}

/// What can be done about rows of a family that cannot be read.
fn way_out(family: &str) -> Hint {
    if is_derived(family) {
        Hint::text(format!("`{family}` has derived rows, which can be recomputed"))
            .with_command("corpusdb check CORPUS --repair")
    } else {
        Hint::text(format!(
            "`{family}` has primary rows, which cannot be recomputed: restore a backup, or copy the intact documents into a new corpus"
        ))
        .with_command(SALVAGE)
    }
}

/// Why bytes could not be decoded, before the family and key are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// Where decoding stopped.
    pub offset: usize,
    /// Why.
    pub why: String,
}

impl DecodeError {
    pub(crate) fn at(offset: usize, why: impl Into<String>) -> Self {
        Self { offset, why: why.into() }
    }
}

fn listed(families: &[String]) -> String {
    if families.is_empty() { String::new() } else { format!(": {}", families.join(", ")) }
}
