//! The command: started, run to its end, killed, and what it came to; and what its pages and its schema say.

use crate::support::TestDir;
use serde_json::{Map, Value};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// What a command with `--memory 256MB` may hold resident: its caches and work, and the program with its threads.
pub const HELD: u64 = 512 << 20;

/// Arguments of an ingest of records with keys under the source `web`.
pub const WEB_BY_ID: [&str; 4] = ["--source", "web", "--id-field", "id"];

/// The command, not yet started.
pub fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corpusdb"));
    command.args(arguments);
    command
}

/// The command, started; nobody hears what it says.
pub fn silent<S: AsRef<OsStr>>(arguments: &[S]) -> Child {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Waits until something is so or the process is gone; whether it is so and the process still runs.
pub fn until(child: &mut Child, is_so: impl Fn() -> bool) -> bool {
    while !is_so() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    true
}

/// Kills a process and waits for its end.
pub fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `python3 -c SCRIPT`, not yet started.
pub fn python(script: &str) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

/// Runs a command line on a terminal of 24 rows and 80 columns, and prints what came there.
pub const TERMINAL: &str = r#"
import fcntl, os, pty, struct, sys, termios
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b""
while True:
    try:
        part = os.read(terminal, 65536)
    except OSError:
        break
    if not part:
        break
    shown += part
os.waitpid(pid, 0)
sys.stdout.buffer.write(shown)
"#;

/// The data card of a corpus as JSON.
#[track_caller]
pub fn report(corpus: &str, more: &[&str]) -> Value {
    corpusdb(&[&["report", corpus, "--json"], more].concat()).good().json()
}

/// The module of a judge is there: a test that nothing judges is not passed.
#[track_caller]
pub fn python_has(module: &str) {
    let import = python(&format!("import {module}")).stderr(Stdio::null()).status();
    assert!(
        import.is_ok_and(|status| status.success()),
        "python3 has no {module}: `make test-python` installs it, and `make quick TEST=..` finds it"
    );
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
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
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
pub fn peak_resident(process: u32) -> Option<u64> {
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

    /// Expects exit code 1: it did what it could, and the answer is bad.
    #[track_caller]
    pub fn answers_badly(self) -> Self {
        assert_eq!(self.code, Some(1), "{self}");
        self
    }

    /// Expects that standard output is this, but for the end of its last line.
    #[track_caller]
    pub fn is(self, whole: &str) -> Self {
        assert_eq!(self.stdout.trim_end_matches('\n'), whole, "{self}");
        self
    }

    /// Expects each of `words` in standard output.
    #[track_caller]
    pub fn prints(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stdout.contains(word), "no `{word}` in\n{self}");
        }
        self
    }

    /// Expects numbers of a JSON report: `read 3, added 2`.
    #[track_caller]
    pub fn counts(self, expected: &str) -> Self {
        let report = self.json();
        let found = expected.split(", ").map(|part| {
            let (name, _) = part.rsplit_once(' ').unwrap();
            format!("{name} {}", report[name])
        });
        assert_eq!(found.collect::<Vec<_>>().join(", "), expected, "{self}");
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

impl TestDir {
    /// Runs the command in this directory to its end: `t.ran("sql c 'SELECT 1'")`.
    pub fn ran(&self, line: &str) -> Ran {
        let words = words(line);
        let mut command = command(&words);
        ran(&words, command.current_dir(&self.root).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs the command in this directory, and expects success.
    #[track_caller]
    pub fn run(&self, line: &str) -> Ran {
        self.ran(line).good()
    }

    /// Writes a file and ingests it with further arguments; the report.
    #[track_caller]
    pub fn ingest(
        &self,
        corpus: &str,
        name: &str,
        bytes: impl AsRef<[u8]>,
        more: &[&str],
    ) -> Value {
        ingest(corpus, &[&self.write(name, bytes)], more)
    }

    /// Expects that the two corpora have one digest.
    #[track_caller]
    pub fn same(&self, one: &str, other: &str) {
        assert_eq!(digest(&self.arg(one)), digest(&self.arg(other)), "{one} and {other}");
    }

    /// Expects that `check --deep` finds nothing in a corpus.
    #[track_caller]
    pub fn sound(&self, corpus: &str) {
        sound(&self.arg(corpus));
    }

    /// The one column that a statement answers, as it is in JSON: texts without quotes.
    #[track_caller]
    pub fn column(&self, corpus: &str, statement: &str) -> Vec<String> {
        let corpus = self.arg(corpus);
        let rows = corpusdb(&["sql", &corpus, statement, "--format", "jsonl"]).good().json_lines();
        let cell = |row: &Value| {
            let cell = row.as_object().unwrap().values().next().unwrap();
            cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)
        };
        rows.iter().map(cell).collect()
    }
}

/// The words of a line as a shell splits it: at spaces outside of single and double quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for sign in line.chars() {
        match (quote, sign) {
            (Some(open), sign) if sign == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, sign) => word.get_or_insert_default().push(sign),
        }
    }
    assert!(quote.is_none(), "an open quote in {line}");
    words.extend(word);
    words
}

#[track_caller]
pub fn json_lines(text: &str) -> Vec<Value> {
    // Only a line feed ends a line: texts may hold what else some take for one.
    text.split_terminator('\n')
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}")))
        .collect()
}

/// The rows that a statement answers.
#[track_caller]
pub fn sql(corpus: &str, statement: &str) -> Vec<Value> {
    corpusdb(&["sql", corpus, statement, "--format", "json"]).good().json_lines()
}

/// Arguments that declare fields: `["url:keyword", "year:int"]`.
pub fn declaring<'f>(fields: &[&'f str]) -> Vec<&'f str> {
    fields.iter().flat_map(|field| ["--field", *field]).collect()
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

/// Expects each of `words` in a text.
#[track_caller]
pub fn assert_contains(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "no `{word}` in\n{text}");
    }
}

/// Expects members of a report.
#[track_caller]
pub fn assert_has(report: &Value, members: &Value) {
    for (name, value) in members.as_object().unwrap() {
        assert_eq!(report[name], *value, "`{name}` of {report}");
    }
}

/// The numbers of `report` under `names`.
#[track_caller]
pub fn numbers<const N: usize>(report: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| {
        report[name].as_u64().unwrap_or_else(|| panic!("no number `{name}` in {report}"))
    })
}

// ----
// The schema of the reports, and what of a line of `--json` does not fit it.

/// The schema, as the command prints it.
pub fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        serde_json::from_str(&corpusdb(&["reference", "schema"]).good().stdout).unwrap()
    })
}

/// Checks a line of `--json` against the report of the verb that the arguments begin with. Verbs that are in no table are
/// passed over.
#[track_caller]
pub fn assert_fits(arguments: &[&str], line: &Value) {
    let verbs = schema()["verbs"].as_object().unwrap();
    let words = |count: usize| arguments.iter().take(count).copied().collect::<Vec<_>>().join(" ");
    let Some(report) = verbs.get(&words(2)).or_else(|| verbs.get(&words(1))) else { return };
    let mut line = line.as_object().unwrap().clone();
    // Of the line, not of the report.
    line.shift_remove("type");
    let misfits = line_misfits(&Value::Object(line), report);
    assert!(misfits.is_empty(), "{arguments:?}: {misfits:?}");
}

/// As [`misfits`], where a report that is a list has a line for each thing in it.
pub fn line_misfits(line: &Value, report: &Value) -> Vec<String> {
    let report = resolved(report);
    if let Some(items) = report.get("items") {
        return misfits(line, items, "");
    }
    match branches(report).filter(|_| report.get("properties").is_none()) {
        Some(branches) => least(branches.iter().map(|branch| line_misfits(line, branch))),
        None => misfits(line, report, ""),
    }
}

pub fn resolved(schema: &Value) -> &Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(path) => &self::schema()["$defs"][path.rsplit('/').next().unwrap()],
        None => schema,
    }
}

pub fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()
}

/// Those of the branch that fits best.
pub fn least(all: impl Iterator<Item = Vec<String>>) -> Vec<String> {
    all.min_by_key(Vec::len).unwrap_or_default()
}

/// What of a value a schema does not say, or says otherwise, each with its path.
pub fn misfits(value: &Value, schema: &Value, path: &str) -> Vec<String> {
    let schema = resolved(schema);
    let mut found = Vec::new();
    if let Some(branches) = branches(schema) {
        found.extend(least(branches.iter().map(|branch| misfits(value, branch, path))));
    }
    let is_one = |words: &Value| words.as_array().is_some_and(|words| words.contains(value));
    let is_word = schema.get("const").is_none_or(|word| word == value)
        && schema.get("enum").is_none_or(is_one);
    let kinds = schema.get("type").map(|kind| match kind {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        one => vec![one.as_str().unwrap()],
    });
    if !is_word || kinds.is_some_and(|kinds| !kinds.iter().any(|kind| is_of_kind(value, kind))) {
        found.push(format!("{path}: {value} is not {schema}"));
    }
    match value {
        Value::Object(members) => found.extend(member_misfits(members, schema, path)),
        Value::Array(values) => {
            let tuple = schema.get("prefixItems").and_then(Value::as_array);
            for (at, value) in values.iter().enumerate() {
                let of = tuple.and_then(|parts| parts.get(at)).or_else(|| schema.get("items"));
                found.extend(of.iter().flat_map(|of| misfits(value, of, &format!("{path}[{at}]"))));
            }
        }
        _ => {}
    }
    found
}

pub fn member_misfits(members: &Map<String, Value>, schema: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        let name = name.as_str().unwrap();
        if !members.contains_key(name) {
            found.push(format!("{path}.{name} is absent"));
        }
    }
    let known = schema.get("properties").and_then(Value::as_object);
    let others = schema.get("additionalProperties");
    for (name, value) in members {
        match known.and_then(|known| known.get(name)).or(others) {
            Some(of) if of.is_object() => {
                found.extend(misfits(value, of, &format!("{path}.{name}")));
            }
            Some(of) if *of == Value::Bool(false) => {
                found.push(format!("{path}.{name} is unknown"))
            }
            // Another branch may know it.
            None if known.is_some() && branches(schema).is_none() => {
                found.push(format!("{path}.{name} is unknown"));
            }
            _ => {}
        }
    }
    found
}

pub fn is_of_kind(value: &Value, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no kind {other}"),
    }
}

// ----
// Blocks of the pages, and a shell that runs them.

/// A block of a page: what it is marked as, and its lines.
pub struct Block<'t> {
    pub mark: &'t str,
    pub body: &'t str,
}

pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let parts = page.split("\n```").collect::<Vec<_>>();
    let opened = parts.iter().skip(1).step_by(2);
    opened
        .filter_map(|part| part.split_once('\n'))
        .map(|(mark, body)| Block { mark, body })
        .collect()
}

/// Runs a program of bash with the command in its path; answers what it printed.
pub fn bash(scratch: &TestDir, script: &str, name: &str) -> String {
    let beside = Path::new(env!("CARGO_BIN_EXE_corpusdb")).parent().unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(beside.to_owned()).chain(std::env::split_paths(&path));
    let output = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", script])
        .current_dir(scratch.path(""))
        .env("PATH", std::env::join_paths(paths).unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {told}");
    told
}
