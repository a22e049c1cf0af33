//! Corpora in directories of tests: made through the library or copied, their tokenizers, their files, and progress.

use crate::support::{corpusdb, crawl, init, lines};
use corpusdb::curate::TrainingTexts;
use corpusdb::dedup::{DedupScope, KeepOrder};
use corpusdb::ingest::ReadOptions;
use corpusdb::store::CheckDepth;
use corpusdb::store::table::FAMILIES;
use corpusdb::tokenizer::TrainOptions;
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, FieldKind, IngestOptions, IngestReport,
    Interrupt, Policy, Progress, ProgressTally,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

// ----
// Corpora made through the library, and tokenizers of them.

/// Memory given to every corpus of the tests.
pub const MEMORY: u64 = 64 << 20;

/// Makes a corpus with the fields that [`crawl`] gives its pages.
pub fn make(path: &Path, mode: DedupMode, threshold: f64) {
    let fields = [
        ("url".to_owned(), FieldKind::Keyword),
        ("quality".to_owned(), FieldKind::Float),
        ("year".to_owned(), FieldKind::Int),
    ];
    Corpus::init(path, &Policy::new(mode, threshold).unwrap(), &fields).unwrap();
}

pub fn writer(path: &Path) -> CorpusWriter {
    Corpus::options().memory(MEMORY).threads(2).open_writer(path).unwrap()
}

pub fn reader(path: &Path) -> Corpus {
    Corpus::options().memory(MEMORY).open(path).unwrap()
}

/// Every mode with every kind of keep order, in one scope or the other.
pub fn policies() -> Vec<Policy> {
    let modes = [
        DedupMode::Witness,
        DedupMode::Components,
        DedupMode::Lsh,
        DedupMode::Exact,
        DedupMode::None,
    ];
    let keeps = [
        KeepOrder::First,
        KeepOrder::Longest,
        KeepOrder::SourcePriority(vec!["books".to_owned()]),
        KeepOrder::Field("year".to_owned()),
    ];
    let mut all = Vec::new();
    for mode in modes {
        for (at, keep) in keeps.iter().enumerate() {
            let scope = if at % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
            let policy = Policy::new(mode, 0.6).unwrap();
            all.push(Policy { keep: keep.clone(), scope, ..policy });
        }
    }
    all
}

/// Trains on all kept documents; answers the `tokenizer.json`.
pub fn train(writer: &CorpusWriter, vocab_size: u32, specials: &[&str]) -> Vec<u8> {
    let specials = specials.iter().map(|token| (*token).to_owned()).collect();
    let options = TrainOptions { vocab_size, specials, ..TrainOptions::default() };
    let on = TrainingTexts::default();
    writer.train_tokenizer(&options, &on, &Context::new()).unwrap().json
}

/// Ingests through the library.
pub fn pour(writer: &mut CorpusWriter, paths: &[String], options: &IngestOptions) -> IngestReport {
    writer.ingest(paths, options, &Context::new()).unwrap()
}

/// An ingest of records with keys under the source `web`.
pub fn keyed_options(batch_bytes: u64) -> IngestOptions {
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    IngestOptions { batch_bytes, read, ..IngestOptions::new("web") }
}

/// The template of ChatML.
pub const CHATML: &str = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/// A tokenizer.json of 500 ids, the first of which are ChatML's special tokens.
pub fn tokenizer_of_chats(seed: u64) -> Vec<u8> {
    static FILES: Mutex<BTreeMap<u64, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let train = || {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        make(&path, DedupMode::Witness, 0.8);
        let file = scratch.write("a.jsonl", lines(&crawl(seed, 120, false)));
        let mut writer = writer(&path);
        pour(&mut writer, &[file], &IngestOptions::new("web"));
        train(&writer, 500, &["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    };
    files.entry(seed).or_insert_with(train).clone()
}

/// The digest of a corpus that is found sound at every depth.
#[track_caller]
pub fn sound_digest(corpus: &Corpus) -> String {
    let faults = corpus.check(CheckDepth::Deep, &Context::new()).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    corpus.digest(&Context::new()).unwrap()
}

/// A tokenizer that belongs to the tests, trained on a made-up crawl.
pub fn trained() -> &'static [u8] {
    static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        make(&path, DedupMode::Witness, 0.8);
        let file = scratch.write("a.jsonl", lines(&crawl(2, 120, false)));
        let mut writer = writer(&path);
        pour(&mut writer, &[file], &IngestOptions::new("web"));
        train(&writer, 400, &["<|endoftext|>"])
    });
    &FILE
}

// ----
// The directory of a test, files of the repository, and copies of directories.

/// A directory of the test's own, removed with it. Its path has no links in it.
pub struct TestDir {
    pub _directory: tempfile::TempDir,
    pub root: PathBuf,
}

impl TestDir {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        Self { _directory: directory, root }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The path as an argument.
    pub fn arg(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Writes a file, its directories included; answers its path as an argument.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        self.arg(name)
    }
}

/// A directory with a corpus that `init` made with these arguments, and the path of the corpus.
#[track_caller]
pub fn with_corpus(more: &[&str]) -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, more);
    (scratch, corpus)
}

/// The files below a directory, in order.
pub fn paths_below(directory: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter();
    let paths = entries.map(|entry| entry.unwrap().into_path());
    paths.filter(|path| !path.is_dir()).collect()
}

/// The names of what stands in a directory, in order.
pub fn file_names(directory: impl AsRef<Path>) -> Vec<String> {
    let entries = walkdir::WalkDir::new(directory).min_depth(1).max_depth(1).sort_by_file_name();
    let names = entries.into_iter().map(|entry| entry.unwrap().file_name().to_owned());
    names.map(|name| name.into_string().unwrap()).collect()
}

/// Copies a directory with all that is in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Removes from a golden store what RocksDB tells people, and what it makes again when it opens.
pub fn strip_logs(corpus: &Path) {
    for entry in std::fs::read_dir(corpus.join("db")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        if file.starts_with("LOG")
            || file.starts_with("OPTIONS")
            || file == "LOCK"
            || file.ends_with(".log") && std::fs::metadata(&path).unwrap().len() == 0
        {
            std::fs::remove_file(path).unwrap();
        }
    }
    let _ = std::fs::remove_file(corpus.join("writer.lock"));
}

// ----
// Corpora that are made once and copied: a tokenizer is trained and proven once, not once a test.

const PREFIX: &str = "corpusdb-fixtures-";

/// Copies to `to` what `make` makes at the path that it is given. `recipe` names all that decides what that is. The
/// copy is the test's own; paths of files that the corpus was made of are gone.
pub fn fixture(recipe: &str, to: &Path, make: impl FnOnce(&Path)) {
    static ONE_BY_ONE: Mutex<BTreeMap<String, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let name = blake3::hash(recipe.as_bytes()).to_hex();
    let made = FOLDER.join(name.as_str());
    if !made.exists() {
        let lock = {
            let mut locks = ONE_BY_ONE.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(locks.entry(recipe.to_owned()).or_default())
        };
        let _one = lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !made.exists() {
            let directory = TestDir::new();
            let path = directory.path("corpus");
            make(&path);
            // Another process of the same binary may be as far: whoever is first has it.
            let aside = FOLDER.join(format!("{name}-{}", std::process::id()));
            copy(&path, &aside);
            if std::fs::rename(&aside, &made).is_err() {
                std::fs::remove_dir_all(&aside).unwrap();
            }
        }
    }
    copy(&made, to);
}

/// The folder of this binary and the command, among the temporary files. Those of binaries that nobody ran for a day
/// are removed.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for program in [std::env::current_exe().unwrap(), env!("CARGO_BIN_EXE_corpusdb").into()] {
        let about = std::fs::metadata(&program).unwrap();
        hasher.update(format!("{program:?} {} {:?}", about.len(), about.modified()).as_bytes());
    }
    let parent = std::env::temp_dir();
    for entry in std::fs::read_dir(&parent).unwrap().flatten() {
        let age = entry.metadata().and_then(|about| about.modified());
        let day = Duration::from_hours(24);
        let is_old = age.is_ok_and(|then| then.elapsed().unwrap_or_default() > day);
        if is_old && entry.file_name().to_string_lossy().starts_with(PREFIX) {
            // Another process may be removing it.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = parent.join(format!("{PREFIX}{}", &hasher.finalize().to_hex()[..16]));
    std::fs::create_dir_all(&folder).unwrap();
    folder
});

/// `init CORPUS` with further arguments, and [`trained`] registered as `own`.
#[track_caller]
pub fn init_with_tokenizer(corpus: &str, more: &[&str]) {
    fixture(&format!("init {more:?} with a tokenizer"), Path::new(corpus), |path| {
        let path = path.display().to_string();
        init(&path, more);
        let directory = TestDir::new();
        let file = directory.write("tokenizer.json", trained());
        corpusdb(&["tokenizer", "add", &path, "own", &file]).good();
    });
}

// ----
// Progress that stops a call, that does something in the middle of it, and that records what it is told.

/// When a [`StopAt`] asks for its stop.
#[derive(Clone, Copy)]
pub enum StopWhen {
    /// At a beginning, an advance or an end that so many were told before.
    Told(u64),
    /// At the advance of this number, from 1.
    Advance(u64),
    /// At an advance with which so much is done.
    Done(u64),
}

/// Progress that asks for a stop.
pub struct StopAt {
    pub when: StopWhen,
    pub told: AtomicU64,
    pub interrupt: Interrupt,
}

impl StopAt {
    pub fn new(when: StopWhen) -> Self {
        Self { when, told: AtomicU64::new(0), interrupt: Interrupt::default() }
    }

    /// That of a call which it watches and stops.
    pub fn context(&self) -> Context<'_> {
        Context::new().with_progress(self).with_interrupt(&self.interrupt)
    }

    pub fn is_raised(&self) -> bool {
        self.interrupt.is_raised()
    }

    pub fn step(&self, done: Option<u64>) {
        let is_now = match (self.when, done) {
            (StopWhen::Told(before), _) => self.told.fetch_add(1, Ordering::SeqCst) == before,
            (StopWhen::Advance(nth), Some(_)) => {
                self.told.fetch_add(1, Ordering::SeqCst) + 1 == nth
            }
            (StopWhen::Done(least), Some(done)) => done >= least,
            (_, None) => false,
        };
        if is_now {
            self.interrupt.raise();
        }
    }
}

impl Progress for StopAt {
    fn begin(&self, _: &str, _: Option<u64>) {
        self.step(None);
    }
    fn advance(&self, done: u64) {
        self.step(Some(done));
    }
    fn tally(&self, _: &ProgressTally) {}
    fn end(&self) {
        self.step(None);
    }
    fn note(&self, _: &str) {}
}

/// Progress that does something once, when all of a stage is done: of the stage `files`, when every file of an output is
/// on disk and the output has not got its name.
pub struct AtEndOf<'a> {
    stage: &'static str,
    act: Mutex<Option<Box<dyn FnOnce() + Send + 'a>>>,
    /// The stage that was begun last, and its total.
    now: Mutex<(String, Option<u64>)>,
}

impl<'a> AtEndOf<'a> {
    pub fn new(stage: &'static str, act: impl FnOnce() + Send + 'a) -> Self {
        Self { stage, act: Mutex::new(Some(Box::new(act))), now: Mutex::default() }
    }

    /// Whether it has done what it was to do.
    pub fn is_done(&self) -> bool {
        self.act.lock().unwrap().is_none()
    }
}

impl Progress for AtEndOf<'_> {
    fn begin(&self, stage: &str, total: Option<u64>) {
        *self.now.lock().unwrap() = (stage.to_owned(), total);
    }
    fn advance(&self, done: u64) {
        let is_end = *self.now.lock().unwrap() == (self.stage.to_owned(), Some(done));
        let act = if is_end { self.act.lock().unwrap().take() } else { None };
        act.into_iter().for_each(|act| act());
    }
    fn tally(&self, _: &ProgressTally) {}
    fn end(&self) {}
    fn note(&self, _: &str) {}
}

// ----
// The tables of each family in the directory of a corpus.

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

// ----
// Ids as the reference library gives them.

/// Every kept document has the reference's ids of one tokenizer. How many ids each has, in order.
#[track_caller]
pub fn ids_as_reference(corpus: &Corpus, name: &str) -> Vec<usize> {
    let view = corpus.view();
    let (id, _) = view.tokenizer_named(name).unwrap();
    let mut oracle = tokenizers::Tokenizer::from_bytes(view.tokenizer_file(id).unwrap()).unwrap();
    oracle.set_encode_special_tokens(true);
    let mut lengths = Vec::new();
    for document in corpus.select("kept").unwrap() {
        let text = view.text(DocId(document)).unwrap();
        let mut stored = Vec::new();
        assert!(view.tokens(id, DocId(document), &mut stored).unwrap(), "document {document}");
        let expected = oracle.encode(&*text, false).unwrap();
        assert_eq!(stored, expected.get_ids(), "{name}, document {document}: {text:.60}");
        lengths.push(stored.len());
    }
    lengths
}
