//! Flags that every verb takes, and what a verb gets by them: progress, Ctrl-C, memory, threads, open corpora.

use super::bar::{Bar, NotesAlone};
use super::stop_signals::StopSignals;
use super::{memory_watch, output};
use anyhow::Context as _;
use clap::builder::{PathBufValueParser, TypedValueParser};
use corpusdb::remote::ObjectStores;
use corpusdb::store::DryRunCorpus;
use corpusdb::{
    Context, Corpus, CorpusOptions, CorpusWriter, Error, ErrorKind, Interrupt, Progress,
};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Tries of a verb with a short commit to become the writer, and the pause between them.
const LOCK_TRIES: u32 = 600;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Flags that every verb takes.
#[derive(clap::Args)]
#[command(next_help_heading = "Options of every verb")]
pub(super) struct GlobalArgs {
    /// Print JSON instead of text, for verbs that read or report
    #[arg(long, global = true)]
    json: bool,
    /// Draw no progress bars
    #[arg(long, global = true)]
    no_progress: bool,
    /// Memory for caches and batches, such as 512MB or 4GiB [default: a quarter of the machine's, or of the container's limit]
    #[arg(long, global = true, value_name = "BYTES", value_parser = memory)]
    memory: Option<u64>,
    /// Number of threads [default: one per core]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// The corpus that @ stands for [default: CORPUSDB_CORPUS, or the next folder .corpusdb here or above]
    #[arg(long = "corpus", global = true, value_name = "DIR")]
    default_corpus: Option<PathBuf>,
}

/// What stands for the default corpus in the place of CORPUS.
pub(super) const DEFAULT: &str = "@";

/// The folder that is the default corpus of the folders around and below it.
const DEFAULT_FOLDER: &str = ".corpusdb";

/// The time for a record: microseconds since 1970 in UTC.
#[expect(
    clippy::disallowed_methods,
    reason = "the record of a removal has the time of the request; digests and exports do not"
)]
pub fn now() -> Option<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_micros()).ok()
}

/// A page that is written from the verbs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ReferencePage {
    /// The help of all verbs as Markdown: docs/reference/cli.md
    #[default]
    Cli,
    /// The JSON schema of all reports
    Schema,
    /// The keywords of Python: python/corpusdb/_options.py
    PythonOptions,
    /// The reports of Python: python/corpusdb/_reports.py
    PythonReports,
}

/// Functions that generate pages from the table, for the verbs that print them.
#[derive(Clone, Copy)]
pub(super) struct WrittenFromVerbs {
    /// The command with all of its verbs.
    pub(super) command: fn() -> clap::Command,
    pub(super) page: fn(ReferencePage) -> anyhow::Result<String>,
}

/// What a verb gets beside its own arguments.
pub(super) struct CommandSession {
    /// The words that start this command, to start it once more.
    pub(super) program: Vec<OsString>,
    pub(super) verbs: WrittenFromVerbs,
    pub(super) json: bool,
    pub(super) no_progress: bool,
    pub(super) memory: u64,
    pub(super) threads: usize,
    default_corpus: Option<PathBuf>,
    pub(super) progress: Box<dyn Progress>,
    pub(super) interrupt: Interrupt,
    heard: Arc<Mutex<Option<Interrupt>>>,
    _stops: StopSignals,
}

impl CommandSession {
    /// Ctrl-C asks a verb that stops at `safe_points` to do so. Any other verb ends at once, and any at the second
    /// Ctrl-C; no corpus is harmed, since a commit is whole or absent.
    pub(super) fn new(
        globals: GlobalArgs,
        safe_points: bool,
        program: Vec<OsString>,
        verbs: WrittenFromVerbs,
    ) -> anyhow::Result<Self> {
        let memory = globals.memory.unwrap_or_else(|| Corpus::options().memory_bytes());
        memory_watch::watch(memory);
        let interrupt = Interrupt::default();
        let heard = Arc::new(Mutex::new(safe_points.then(|| interrupt.clone())));
        let current = Arc::clone(&heard);
        let stops = StopSignals::hear(move || {
            match &*current.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(asked) if !asked.is_raised() => asked.raise(),
                _ => memory_watch::leave(130),
            }
        })?;
        let progress: Box<dyn Progress> = if globals.no_progress || globals.json {
            Box::new(NotesAlone)
        } else {
            Box::new(Bar::new())
        };
        let threads = globals.threads.map_or(Corpus::options().thread_count(), usize::from);
        // Parallel work outside of an ingest uses the global pool.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
        let GlobalArgs { json, no_progress, default_corpus, .. } = globals;
        Ok(Self {
            program,
            verbs,
            json,
            no_progress,
            memory,
            threads,
            default_corpus,
            progress,
            interrupt,
            heard,
            _stops: stops,
        })
    }

    /// The context of library calls: the command's bar, its Ctrl-C, its threads.
    pub(super) fn context(&self) -> Context<'_> {
        let context = Context::new().with_progress(self.progress.as_ref());
        context.with_interrupt(&self.interrupt).with_threads(self.threads)
    }

    /// From now on Ctrl-C raises the interrupt that is returned; if it is raised already, Ctrl-C ends the command.
    pub(super) fn listen(&self) -> Interrupt {
        let fresh = Interrupt::default();
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Some(fresh.clone());
        fresh
    }

    /// From now on Ctrl-C ends the command at once.
    pub(super) fn listen_no_more(&self) {
        *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The corpus that is meant by what was typed: for `@` the default one.
    ///
    /// # Errors
    /// There is no default corpus.
    pub(super) fn corpus_of(&self, typed: &Path) -> anyhow::Result<PathBuf> {
        if typed != Path::new(DEFAULT) {
            return Ok(typed.to_path_buf());
        }
        let here = std::env::current_dir().unwrap_or_default();
        let around = || {
            let folders = here.ancestors().map(|folder| folder.join(DEFAULT_FOLDER));
            folders.into_iter().find(|folder| folder.is_dir())
        };
        self.chosen_default().or_else(around).with_context(|| {
            format!(
                "{DEFAULT} stands for the default corpus, and there is none: give `default_corpus=`, set CORPUSDB_CORPUS, or make {DEFAULT_FOLDER} here by `corpusdb init {DEFAULT}`"
            )
        })
    }

    /// The directory of a corpus that is to be made: for `@` the default one, or else the folder `.corpusdb` here.
    pub(super) fn new_corpus_of(&self, typed: PathBuf) -> PathBuf {
        match typed == Path::new(DEFAULT) {
            true => self.chosen_default().unwrap_or_else(|| DEFAULT_FOLDER.into()),
            false => typed,
        }
    }

    fn chosen_default(&self) -> Option<PathBuf> {
        let by_variable = || std::env::var_os("CORPUSDB_CORPUS").map(PathBuf::from);
        let chosen = self.default_corpus.clone().or_else(by_variable);
        chosen.filter(|path| !path.as_os_str().is_empty())
    }

    /// The options for opening corpora.
    pub(super) fn options(&self) -> CorpusOptions {
        Corpus::options().memory(self.memory).threads(self.threads)
    }

    pub(super) fn read(&self, path: &Path) -> anyhow::Result<Corpus> {
        self.read_with(path, &[])
    }

    /// As [`CommandSession::read`], with further corpora that share the memory.
    pub(super) fn read_with(&self, path: &Path, shards: &[PathBuf]) -> anyhow::Result<Corpus> {
        Ok(Corpus::options().memory(self.memory).open_with(path, shards)?)
    }

    /// The corpus, or for a dry run a temporary copy of it.
    pub(super) fn target(&self, corpus: &Path, dry_run: bool) -> anyhow::Result<WorkingCopy> {
        Ok(match dry_run {
            true => WorkingCopy::Copy(DryRunCorpus::make(corpus).map_err(Error::from)?),
            false => WorkingCopy::Corpus(corpus.to_path_buf()),
        })
    }

    pub(super) fn write(&self, path: &Path) -> anyhow::Result<CorpusWriter> {
        note_conversion(path);
        Ok(Corpus::options().memory(self.memory).threads(self.threads).open_writer(path)?)
    }

    /// As [`CommandSession::write`], for short commits: waits up to a minute for another writer to end.
    pub(super) fn write_soon(&self, path: &Path) -> anyhow::Result<CorpusWriter> {
        self.write_soon_with(path, &[])
    }

    /// As [`CommandSession::write_soon`], with further corpora that are read and share the memory.
    pub(super) fn write_soon_with(
        &self,
        path: &Path,
        shards: &[PathBuf],
    ) -> anyhow::Result<CorpusWriter> {
        note_conversion(path);
        let options = Corpus::options().memory(self.memory).threads(self.threads);
        let each = options.among(shards.len());
        let others = each.open_all(shards)?;
        for tried in 0_u32.. {
            match each.open_writer(path) {
                Err(error)
                    if error.kind() == ErrorKind::Locked
                        && tried < LOCK_TRIES
                        && !self.interrupt.is_raised() =>
                {
                    std::thread::sleep(LOCK_PAUSE);
                }
                other => return Ok(other?.with_shards(others)?),
            }
        }
        Ok(each.open_writer(path)?.with_shards(others)?)
    }
}

/// Says that a corpus of an older release is converted when it is opened for writing.
fn note_conversion(path: &Path) {
    if let Some(note) = corpusdb::store::conversion_note(path) {
        output::note(&note);
    }
}

/// A corpus, or a copy of it that is removed when this is dropped.
pub(super) enum WorkingCopy {
    Corpus(PathBuf),
    Copy(DryRunCorpus),
}

impl WorkingCopy {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Corpus(path) => path,
            Self::Copy(copy) => copy.path(),
        }
    }
}

/// Access to object stores, as the environment configures it.
pub(super) fn stores() -> ObjectStores {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    ObjectStores::new(std::env::vars_os().filter_map(text))
}

/// The least memory that a corpus works with: caches, batches and RocksDB's own.
const LEAST_MEMORY: u64 = 16 << 20;

/// Parses an amount of memory.
fn memory(text: &str) -> Result<u64, String> {
    match corpusdb::parse_bytes(text)? {
        bytes if bytes < LEAST_MEMORY => Err("a corpus needs at least 16MiB".to_owned()),
        bytes => Ok(bytes),
    }
}

/// Put before a word that begins with a hyphen but is not a flag.
pub(super) const ESCAPE: char = '\u{2}';

/// The id or key of a document, as it was typed.
pub(super) fn parse_document(text: &str) -> Result<String, std::convert::Infallible> {
    Ok(text.strip_prefix(ESCAPE).unwrap_or(text).to_owned())
}

/// Parses the path of something that is made on disk. The address of an object store would become a directory named
/// `s3:`.
pub(super) fn on_disk() -> impl TypedValueParser<Value = PathBuf> {
    PathOnDisk
}

/// Refuses addresses without repeating them: they may have secrets.
#[derive(Clone)]
struct PathOnDisk;

impl TypedValueParser for PathOnDisk {
    type Value = PathBuf;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<PathBuf, clap::Error> {
        let Some((scheme, _)) = value.to_str().and_then(|value| value.split_once("://")) else {
            return PathBufValueParser::new().parse_ref(command, argument, value);
        };
        let why = format!(
            "{scheme}:// is an address, and this must be written to disk: give a path, and copy it from there\n"
        );
        Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, why).with_cmd(command))
    }
}
