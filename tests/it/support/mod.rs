//! What every test needs: a scratch directory, the command, made-up documents, and corpora of them.

pub mod outputs;
pub mod server;
use corpusdb::curate::TrainingTexts;
use corpusdb::dedup::{DedupScope, KeepOrder};
use corpusdb::store::CheckDepth;
use corpusdb::tokenizer::TrainOptions;
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, FieldKind, IngestOptions, IngestReport, Interrupt,
    Policy, Progress, ProgressTally,
};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Memory given to every corpus of the tests.
pub const MEMORY: u64 = 64 << 20;

/// What a command with `--memory 256MB` may hold resident: its caches and work, and the program with its threads.
pub const HELD: u64 = 512 << 20;

// ---- a scratch directory ----

/// A directory of the test's own, removed with it. Its path has no links in it.
pub struct Scratch {
    _directory: tempfile::TempDir,
    root: PathBuf,
}

impl Scratch {
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

/// A file or directory of the repository in which the tests run. The place is asked for at run time: clones
/// share a target directory, so these tests may have been compiled in a clone that is gone.
pub fn repository(path: impl AsRef<Path>) -> PathBuf {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    std::path::absolute(root).unwrap().join(path)
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

/// Fails with every fault that a rule about the sources found.
pub fn assert_none(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

/// How many seeds a random search takes: `few`, as many times as `CORPUSDB_SEEDS` says (`make soak SEEDS=25`).
pub fn seeds(few: u64) -> u64 {
    let times = std::env::var("CORPUSDB_SEEDS").map_or(1, |text| text.parse().unwrap());
    few * times
}

/// Which part of a search that takes long as a whole this process takes: `CORPUSDB_SHARD`, one of a few side by side.
pub fn shard() -> u64 {
    std::env::var("CORPUSDB_SHARD").map_or(0, |text| text.parse().unwrap())
}

// ---- the command ----

/// The command, not yet started.
pub fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corpusdb"));
    command.args(arguments);
    command
}

/// Ctrl-C for a process. The shell has `kill` built in: a small system has no program of that name.
pub fn interrupt(child: &Child) {
    let kill = format!("kill -INT {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

/// What a run of the command came to. A panic is never an answer.
pub struct Ran {
    pub line: String,
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the command to its end.
pub fn corpusdb<S: AsRef<OsStr>>(arguments: &[S]) -> Ran {
    ran(arguments, command(arguments).stdin(Stdio::null()).output().unwrap())
}

/// Runs the command with `input` as its standard input.
pub fn corpusdb_reading<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Ran {
    let mut command = command(arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The command may end before it has read everything.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    ran(arguments, output)
}

/// Runs the command to its end and answers the most memory that it held resident, in bytes; one that
/// comes to hold more than `limit` is killed and fails the test. Where the system does not tell (it is
/// Linux that does) the answer is 0.
#[track_caller]
pub fn corpusdb_within<S: AsRef<OsStr>>(arguments: &[S], limit: u64) -> (Ran, u64) {
    let mut command = command(arguments);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |stream: &mut dyn Read| {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let stdout = std::thread::spawn(move || read(&mut stdout));
    let stderr = std::thread::spawn(move || read(&mut stderr));
    let mut peak = 0;
    // The kernel keeps the peak itself: what is asked late is still told, up to the end of the process.
    let status = loop {
        peak = peak_resident(child.id()).unwrap_or(0).max(peak);
        if peak > limit {
            child.kill().unwrap();
        }
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let ran = ran(arguments, Output { status, stdout, stderr });
    assert!(peak <= limit, "held {peak} bytes, more than {limit}: {ran}");
    (ran, peak)
}

/// The most memory that a running process of ours has held resident, in bytes.
fn peak_resident(process: u32) -> Option<u64> {
    // For a moment a process that was just started still shows the memory of the one that started it.
    let running = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
    if running != Path::new(env!("CARGO_BIN_EXE_corpusdb")).canonicalize().ok()? {
        return None;
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

pub fn ran<S: AsRef<OsStr>>(arguments: &[S], output: Output) -> Ran {
    let words: Vec<_> =
        arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    let ran = Ran {
        line: format!("corpusdb {}", words.join(" ")),
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert!(!ran.stderr.contains("panicked"), "{ran}");
    ran
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { line, code, stdout, stderr } = self;
        write!(f, "{line}\nexit {code:?}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

impl Ran {
    /// Expects success.
    #[track_caller]
    pub fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{self}");
        self
    }

    /// Expects exit code 2 and every one of `words` in the error.
    #[track_caller]
    pub fn fails(self, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{self}");
        let is_told =
            |line: &str| line.starts_with("error: ") || line.starts_with(r#"{"type":"error""#);
        assert!(self.stderr.lines().any(is_told), "{self}");
        for word in words {
            assert!(self.stderr.contains(word), "no `{word}` in\n{self}");
        }
        self
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in\n{self}"))
    }

    /// Standard output as one JSON value a line.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }
}

#[track_caller]
pub fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect()
}

/// `init CORPUS` with further arguments.
#[track_caller]
pub fn init(corpus: &str, more: &[&str]) {
    corpusdb(&[&["init", corpus], more].concat()).good();
}

/// `ingest CORPUS PATH... --json` with further arguments; the report.
#[track_caller]
pub fn ingest(corpus: &str, paths: &[&str], more: &[&str]) -> Value {
    corpusdb(&[&["ingest", corpus], paths, &["--json"], more].concat()).good().json()
}

/// `check CORPUS --digest`.
#[track_caller]
pub fn digest(corpus: &str) -> String {
    let digest = corpusdb(&["check", corpus, "--digest"]).good().stdout.trim().to_owned();
    assert_eq!(digest.len(), 64, "a digest is 64 hexadecimal digits: {digest}");
    digest
}

/// Expects that `check CORPUS --deep` finds nothing.
#[track_caller]
pub fn sound(corpus: &str) {
    corpusdb(&["check", corpus, "--deep"]).good();
}

/// The numbers of `report` under `names`.
#[track_caller]
pub fn numbers<const N: usize>(report: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| {
        report[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {report}"))
    })
}

// ---- the library ----

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

/// A tokenizer.json of 500 ids, the first of which are ChatML's special tokens.
pub fn tokenizer_of_chats(seed: u64) -> Vec<u8> {
    let scratch = Scratch::new();
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let file = scratch.write("a.jsonl", lines(&crawl(seed, 120, false)));
    let mut writer = writer(&path);
    pour(&mut writer, &[file], &IngestOptions::new("web"));
    train(&writer, 500, &["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
}

/// The digest of a corpus that is found sound at every depth.
#[track_caller]
pub fn sound_digest(corpus: &Corpus) -> String {
    let faults = corpus.check(CheckDepth::Deep, &Context::new()).unwrap();
    assert!(faults.is_empty(), "{faults:?}");
    corpus.digest(&Context::new()).unwrap()
}

// ---- stops ----

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
    when: StopWhen,
    told: AtomicU64,
    interrupt: Interrupt,
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

    fn step(&self, done: Option<u64>) {
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

// ---- made-up documents ----

/// Xorshift64*, so that every run of a test sees the same.
#[derive(Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// A number in `from..to`.
    pub fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from)
    }

    /// True in `percent` of cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A record of a crawl.
#[derive(Clone, Debug)]
pub struct Page {
    pub id: Option<String>,
    pub text: String,
    /// An object.
    pub fields: Value,
}

impl Page {
    pub fn new(text: impl Into<String>) -> Self {
        Self { id: None, text: text.into(), fields: json!({}) }
    }

    pub fn keyed(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self { id: Some(id.into()), ..Self::new(text) }
    }

    /// The page as a line of JSON, with its end of line.
    pub fn line(&self) -> String {
        let mut object = serde_json::Map::new();
        if let Some(id) = &self.id {
            object.insert("id".to_owned(), json!(id));
        }
        object.insert("text".to_owned(), json!(self.text));
        object.extend(self.fields.as_object().unwrap().clone());
        format!("{}\n", Value::Object(object))
    }
}

pub fn lines(pages: &[Page]) -> String {
    pages.iter().map(Page::line).collect()
}

/// Alphabets of the made-up languages; the last is written without spaces.
const LANGUAGES: [(&str, &[&str]); 4] = [
    (
        "en",
        &[
            "ba", "der", "ing", "lo", "mi", "nus", "pre", "qua", "ro", "sel", "ta", "um", "ver",
            "wi",
        ],
    ),
    ("de", &["schö", "ße", "ung", "kei", "über", "äch", "ten", "lich", "Gru", "pfa", "öl"]),
    ("ru", &["при", "вет", "сто", "ля", "ник", "ост", "ём", "ща", "ко", "дра"]),
    (
        "zh",
        &["语", "料", "库", "数", "据", "模", "型", "训", "练", "文", "档", "学", "习", "词", "表"],
    ),
];

/// `words` made-up words of language `language % 4`, from some 2,000 of them.
pub fn prose(random: &mut Random, language: usize, words: usize) -> String {
    let (name, syllables) = LANGUAGES[language % LANGUAGES.len()];
    let mut text = String::new();
    for word in 0..words {
        if name != "zh" && word > 0 {
            text.push_str(if random.chance(8) { ", " } else { " " });
        }
        for _ in 0..if name == "zh" { 2 } else { random.between(1, 4) } {
            text.push_str(syllables[random.below(syllables.len())]);
        }
    }
    text.push(if name == "zh" { '。' } else { '.' });
    text
}

/// Another text that differs in `edits` words.
pub fn edited(random: &mut Random, text: &str, edits: usize) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    for _ in 0..edits {
        let at = random.below(words.len());
        match random.below(3) {
            0 => words[at] = format!("edit{}", random.below(50)),
            1 => words.insert(at, format!("more{}", random.below(50))),
            _ if words.len() > 1 => drop(words.remove(at)),
            _ => {}
        }
    }
    words.join(" ")
}

/// A crawl of `count` records: fresh pages in four languages, chains of near duplicates, exact ones,
/// other spellings of the same words, templates, very short and empty texts. With `keyed`, records
/// have ids, and some come again: unchanged, with other text, or with other fields only.
pub fn crawl(seed: u64, count: usize, keyed: bool) -> Vec<Page> {
    let mut random = Random::new(seed);
    let template = prose(&mut random, 0, 70);
    let mut pages: Vec<Page> = Vec::new();
    for number in 0..count {
        let language = random.below(LANGUAGES.len());
        let earlier = if pages.is_empty() {
            None
        } else {
            Some(pages[random.below(pages.len())].text.clone())
        };
        let text = match (random.below(100), earlier) {
            (0..10, Some(earlier)) => earlier,
            (10..40, Some(earlier)) => {
                let edits = random.between(1, 7);
                edited(&mut random, &earlier, edits)
            }
            (40..45, Some(earlier)) => format!("  {}!", earlier.to_uppercase().replace(' ', "  ")),
            (45..55, _) => format!("{template} {}", prose(&mut random, 0, 6)),
            (55..58, _) => ["", "!!! ...", " \n\t ", "—"][random.below(4)].to_owned(),
            (58..64, _) => prose(&mut random, language, 3),
            _ => {
                let words = random.between(8, 120);
                prose(&mut random, language, words)
            }
        };
        let mut page = Page { id: None, text, fields: fields(&mut random, language) };
        if keyed {
            page.id = Some(format!("page-{number}"));
            if !pages.is_empty() && random.chance(25) {
                let before = pages[random.below(pages.len())].clone();
                page = match random.below(4) {
                    0 => before,
                    1 => Page { fields: page.fields, ..before },
                    _ => Page { id: before.id, ..page },
                };
            }
        }
        pages.push(page);
    }
    pages
}

/// Fields of a page: present, absent, and of the wrong type.
fn fields(random: &mut Random, language: usize) -> Value {
    let mut fields = json!({ "url": format!("https://example.org/{}", random.below(40)) });
    if random.chance(80) {
        fields["language"] = json!(LANGUAGES[language].0);
    }
    if random.chance(80) {
        fields["quality"] = json!(random.below(1000) as f64 / 1000.0);
    }
    match random.below(10) {
        0 => {}
        1 => fields["year"] = json!("unknown"),
        _ => fields["year"] = json!(1990 + random.below(30)),
    }
    fields
}
