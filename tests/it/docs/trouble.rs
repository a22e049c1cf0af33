//! docs/reference/trouble.md, row by row; what a system that refuses leaves; and that no clock has a say.

use crate::support::epochs::{EOS, SPECIALS, same_files};
use crate::support::{
    Ran, TestDir, WEB_BY_ID, command, copy, corpusdb, crawl, digest, file_names, fixture, ingest,
    init, lines, paths_below, ran, repository, sound, writer,
};
use corpusdb::CorpusWriter;
use corpusdb::store::StoreError;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// A corpus with one file in it, another one to come, and a library that makes calls on files fail.
struct Trouble {
    scratch: TestDir,
    refusals: PathBuf,
}

impl Trouble {
    /// None where calls cannot be made to fail: without a C compiler, or elsewhere than on Linux.
    fn new() -> Option<Self> {
        static LIBRARY: LazyLock<Option<Vec<u8>>> = LazyLock::new(Trouble::compiled);
        let scratch = TestDir::new();
        let refusals = scratch.path("refusals.so");
        std::fs::write(&refusals, LIBRARY.as_ref()?).unwrap();
        let file = scratch.write("a.jsonl", lines(&crawl(3, 60, true)));
        scratch.write("b.jsonl", lines(&crawl(4, 60, true)));
        fixture("sixty pages", &scratch.path("corpus"), |path| {
            let corpus = path.display().to_string();
            init(&corpus, &[]);
            ingest(&corpus, &[&file], &WEB_BY_ID);
        });
        Some(Self { scratch, refusals })
    }

    /// The library that makes calls fail.
    fn compiled() -> Option<Vec<u8>> {
        let directory = TestDir::new();
        let library = directory.path("refusals.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library);
        compiler.arg(repository("tests/it/refusals.c")).arg("-ldl");
        let made = cfg!(target_os = "linux") && compiler.output().ok()?.status.success();
        made.then(|| std::fs::read(library).unwrap())
    }

    /// The corpus once more.
    fn again(&self, name: &str) -> String {
        copy(&self.scratch.path("corpus"), &self.scratch.path(name));
        self.scratch.arg(name)
    }

    fn refusing(&self, refuse: &str, within: &str, arguments: &[&str]) -> Ran {
        let mut command = command(arguments);
        command.env("LD_PRELOAD", &self.refusals).env("REFUSE", refuse).env("REFUSE_IN", within);
        ran(arguments, command.stdin(Stdio::null()).output().unwrap())
    }

    /// The command in a directory, by a clock that is so many seconds off, and so many further back at each look.
    fn at_clock(&self, (shift, step): (&str, &str), directory: &Path, arguments: &[&str]) {
        let mut command = command(arguments);
        command.env("LD_PRELOAD", &self.refusals).current_dir(directory);
        command.env("REFUSE_CLOCK", shift).env("REFUSE_STEP", step);
        ran(arguments, command.stdin(Stdio::null()).output().unwrap()).good();
    }

    /// The ingest of the other file.
    fn more<'a>(&self, corpus: &'a str, file: &'a str) -> [&'a str; 7] {
        let [a, b, c, d] = WEB_BY_ID;
        ["ingest", corpus, file, a, b, c, d]
    }

    fn write_refused(&self, refuse: &str, within: &str) -> Told {
        let (corpus, file) = (self.again("refused"), self.scratch.arg("b.jsonl"));
        self.refusing(refuse, within, &self.more(&corpus, &file)).into()
    }

    fn read_refused(&self, refuse: &str, within: &str) -> Told {
        let corpus = self.again("refused");
        self.refusing(refuse, within, &["count", &corpus]).into()
    }

    /// The command beside the corpus.
    fn ran(&self, line: &str) -> Told {
        self.scratch.ran(line).into()
    }

    fn read(&self, corpus: &str) -> Told {
        corpusdb(&["count", corpus]).into()
    }

    fn ingest(&self, path: &str, more: &[&str]) -> Told {
        let corpus = self.scratch.arg("corpus");
        let words = ["ingest", &corpus, path, "--source", "web", "--format", "jsonl"];
        corpusdb(&[&words, more].concat()).into()
    }

    /// An ingest that ends at the one record that there is.
    fn record(&self, line: &[u8], more: &[&str]) -> Told {
        let file = self.scratch.write("c.jsonl", line);
        self.ingest(&file, &[&["--on-error", "fail"], more].concat())
    }

    /// The plan of a recipe.
    fn plan(&self, recipe: &str) -> Told {
        let file = self.scratch.write("recipe.toml", recipe);
        corpusdb(&["epoch", "plan", &self.scratch.arg("corpus"), &file]).into()
    }
}

/// What is said, and the exit status of a command.
struct Told(String, Option<i32>);

impl From<Ran> for Told {
    fn from(ran: Ran) -> Self {
        // Alarms stand in the report.
        Self(ran.stderr + &ran.stdout, ran.code)
    }
}

impl From<StoreError> for Told {
    /// As the command would print it.
    fn from(error: StoreError) -> Self {
        Self(format!("error: {error}; {}", error.hint().unwrap()), Some(2))
    }
}

type Case = (&'static str, fn(&Trouble) -> Told);

/// What people meet on their first days: a word that is wrong, a file that is another one, what is missing.
const EVERYDAY: [Case; 27] = [
    ("unexpected argument … found", |place| {
        place.ran("ingest corpus b.jsonl --source web --id-fild id")
    }),
    ("unrecognized subcommand …", |place| place.ran("injest")),
    ("the following required arguments were not provided:", |place| place.ran("export corpus")),
    ("…: no such file or directory", |place| place.ingest(&place.scratch.arg("c.jsonl"), &[])),
    ("…: no file matches the pattern", |place| {
        place.ingest(&place.scratch.arg("c-*.jsonl"), &[])
    }),
    ("… no text: field … is absent or null", |place| {
        place.record(br#"{"body": "a text under another name"}"#, &["--text-field", "text"])
    }),
    ("… id field … is absent, blank, or neither a string nor an integer", |place| {
        place.record(br#"{"text": "one without an address"}"#, &["--id-field", "url"])
    }),
    ("… invalid UTF-8 at byte … of the record", |place| {
        place.record(b"{\"text\": \"caf\xe9 in Latin-1\"}", &[])
    }),
    ("… not a JSON object: …", |place| place.record(br#"{"text": "cut off"#, &[])),
    ("… not a JSON object: duplicate field …", |place| {
        place.record(br#"{"id": "a", "id": "b", "text": "two ids"}"#, &["--id-field", "id"])
    }),
    ("commit … cannot be undone: commit … removed documents of it: undo that first", |place| {
        place.scratch.run("remove corpus 0").good();
        place.ran("undo corpus 2")
    }),
    (
        "commit … cannot be undone: … of its documents were purged, and what is purged is gone",
        |place| {
            place.scratch.run("purge corpus 0").good();
            place.ran("undo corpus 2")
        },
    ),
    ("commit … cannot be undone: the values before it are not stored", |place| {
        place.scratch.run("field add corpus stars:int").good();
        place.scratch.run("field compute corpus stars 'length(text)'").good();
        place.ran("undo corpus 4")
    }),
    ("ALARM: nothing could be read: all … records were rejected …", |place| {
        let line = "{\"body\": \"a text under another name\"}\n";
        let file = place.scratch.write("c.jsonl", line.repeat(2));
        place.ingest(&file, &["--text-field", "text"])
    }),
    ("ALARM: … of … documents… were removed as duplicates…", |place| {
        let file = place.scratch.write("c.jsonl", "{\"text\": \"a page again\"}\n".repeat(130));
        place.ingest(&file, &[])
    }),
    ("no document has the key …", |place| place.ran("show corpus --key nobody")),
    ("no source …", |place| place.ran("stats corpus --source wbe")),
    ("cannot use the expression …", |place| place.ran("count corpus --where 'qualty > 0.5'")),
    ("cannot run …: no column …", |place| {
        place.ran("sql corpus 'SELECT lenght FROM documents'")
    }),
    ("refused …: only one SELECT, …", |place| place.ran("sql corpus 'DELETE FROM documents'")),
    ("no snapshot …", |place| place.ran("count corpus --snapshot june")),
    ("no tokenizer …", |place| place.ran("tokenizer show corpus gpt2")),
    ("… the corpus has no tokenizer; …", |place| place.plan("version = 1\n")),
    ("… recipe: TOML …", |place| place.plan("version = 1\nsead = 2\n")),
    (
        "format … writes rows of equal length and source … has … rows that are not full: …",
        |place| {
            place.scratch.run("tokenizer train corpus own --vocab-size 300");
            place.plan("version = 1\n[pack]\nlength = 64\n[output]\nformat = \"megatron\"\n")
        },
    ),
    ("… exists; …", |place| place.ran("export corpus --to b.jsonl")),
    ("… is in the corpus …", |place| place.ran("export corpus --to corpus/all.jsonl")),
];

/// Room, limits, rights, processes and file systems; `ulimit` itself is in `limits`, kills are in `crash`.
const REFUSED: [Case; 19] = [
    (
        "storage: IO error: No space left on device: While appending to file: …: No space left on device",
        |place| place.write_refused("write:28", ".log"),
    ),
    ("appending to …: No space left on device (os error 28)", |place| {
        place.write_refused("write:28", "/journal")
    }),
    ("writing …: No space left on device (os error 28)", |place| {
        let (corpus, out) = (place.again("refused"), place.scratch.arg("out.jsonl"));
        place.refusing("write:28", "out.jsonl", &["export", &corpus, "--to", &out]).into()
    }),
    ("storage: IO error: While appending to file: …: Disk quota exceeded", |place| {
        place.write_refused("write:122", ".sst")
    }),
    ("storage: IO error: While appending to file: …: File too large", |place| {
        place.write_refused("write:27", ".sst")
    }),
    ("storage: IO error: While open a file for random read: …: Too many open files", |place| {
        place.read_refused("read:24", ".sst")
    }),
    (
        "family … is damaged: IO error: While open a file for random read: …: Input/output error",
        |place| place.read_refused("read:5", ".sst"),
    ),
    ("reading …: Permission denied (os error 13)", |place| {
        place.read_refused("read:13", "/FORMAT")
    }),
    ("opening …: Permission denied (os error 13)", |place| {
        place.write_refused("change:13", "refused")
    }),
    ("storage: IO error: While open a file for random read: …: Permission denied", |place| {
        place.read_refused("read:13", ".sst")
    }),
    ("opening …: Read-only file system (os error 30)", |place| {
        place.write_refused("change:30", "refused")
    }),
    ("… is being written by process …", |place| {
        let corpus = place.again("held");
        let _writer = writer(Path::new(&corpus));
        corpusdb(&["compact", &corpus]).into()
    }),
    ("… is being written by this very process (process …)", |place| {
        let corpus = place.again("held");
        let _writer = writer(Path::new(&corpus));
        let refused = CorpusWriter::open(&corpus).unwrap_err();
        Told(format!("error: {refused}; {}", refused.hint().unwrap()), None)
    }),
    ("… while it was open for writing; …", |place| {
        let corpus = place.again("held");
        let mut writer = writer(Path::new(&corpus));
        std::fs::rename(&corpus, place.scratch.path("renamed")).unwrap();
        let refused = writer.create_snapshot("now").unwrap_err();
        Told(format!("error: {refused}; {}", refused.hint().unwrap()), Some(2))
    }),
    ("… is being written to faster than it can be opened (…)", |place| {
        StoreError::Restless { path: place.scratch.path("c"), why: "a table".to_owned() }.into()
    }),
    ("…: another process adds backups or drops them; wait for it to end", |place| {
        place.scratch.run("backup create corpus backups");
        let lock = std::fs::File::create(place.scratch.path("backups/lock")).unwrap();
        lock.lock().unwrap();
        place.ran("backup create corpus backups")
    }),
    ("locking …: No locks available (os error 37)", |place| {
        place.write_refused("flock:37", "refused")
    }),
    ("locking …: Operation not supported (os error 95)", |place| {
        place.write_refused("flock:95", "refused")
    }),
    ("storage: IO error: While fsync: a directory: Invalid argument", |place| {
        place.refusing("syncdir:22", "", &["init", &place.scratch.arg("new")]).into()
    }),
];

/// What is lost or damaged, and what is no corpus; each in more ways in `corruption`, `backups` and `readers`.
const FOUND: [Case; 15] = [
    ("… lost acknowledged commits … to …: the database ends at commit …", |place| {
        let copied = place.again("copied");
        let corpus = place.again("goes-on");
        corpusdb(&place.more(&corpus, &place.scratch.arg("b.jsonl"))).good();
        // The commit alone, as releases wrote it that named no logs.
        let journal = |corpus: &str| Path::new(corpus).join("journal");
        let mut old = std::fs::read(journal(&copied)).unwrap();
        let new = std::fs::read(journal(&corpus)).unwrap();
        old.extend(&new[new.len() - 24..]);
        std::fs::write(journal(&copied), old).unwrap();
        place.read(&copied)
    }),
    (
        "… lost acknowledged commits: its log … …, and has rows of … that are in no table yet",
        |place| {
            let corpus = place.again("cut");
            // A commit that is in the log alone.
            corpusdb(&["snapshot", "create", &corpus, "now"]).good();
            let log = newest(&Path::new(&corpus).join("db"), "log");
            let bytes = std::fs::read(&log).unwrap();
            std::fs::write(&log, &bytes[..bytes.len() - 4]).unwrap();
            place.read(&corpus)
        },
    ),
    ("… lost names of tables: their list … …", |place| {
        let corpus = place.again("cut");
        let manifest = manifest(&corpus);
        let bytes = std::fs::read(&manifest).unwrap();
        // What was compacted behind the last commit stands after what was noted.
        std::fs::write(&manifest, &bytes[..bytes.len() / 2]).unwrap();
        place.read(&corpus)
    }),
    ("storage: Corruption: …", |place| {
        let corpus = place.again("damaged");
        let manifest = manifest(&corpus);
        let mut bytes = std::fs::read(&manifest).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        std::fs::write(&manifest, bytes).unwrap();
        place.read(&corpus)
    }),
    ("family … is damaged: Corruption: …", |place| {
        let corpus = place.again("damaged");
        let postings = &crate::support::tables(Path::new(&corpus))["postings"];
        postings.iter().for_each(|table| std::fs::write(table, "no table").unwrap());
        corpusdb(&["count", &corpus, "--where", "kept"]).into()
    }),
    (
        "storage: Corruption: Corruption: IO error: No such file or directory: While open a file for random read: … may be corrupted.",
        |place| {
            let corpus = place.again("damaged");
            let postings = &crate::support::tables(Path::new(&corpus))["postings"];
            postings.iter().for_each(|table| std::fs::remove_file(table).unwrap());
            place.read(&corpus)
        },
    ),
    ("… is being repaired: …", |place| {
        let (path, families) = (place.scratch.path("corpus"), vec!["bands".to_owned()]);
        StoreError::Repairing { path, families }.into()
    }),
    ("corrupt … in family …, key …, byte …: …", |_| {
        let (what, family, key, why) = ("state", "meta", "00".to_owned(), "it ends".to_owned());
        StoreError::Corrupt { what, family, key, offset: 0, why }.into()
    }),
    ("…: … is not what was backed up", |place| {
        place.scratch.run("backup create corpus backups");
        for file in paths_below(&place.scratch.path("backups/files")) {
            std::fs::write(file, "x").unwrap();
        }
        place.ran("backup restore backups new")
    }),
    ("… is not a corpus", |place| place.read(&place.scratch.arg("nothing"))),
    ("… already exists and is not an empty directory", |place| {
        corpusdb(&["init", &place.again("taken")]).into()
    }),
    ("… has a corpus whose creation was interrupted", |place| {
        let corpus = place.scratch.arg("half-made");
        place.refusing("write:28", ".log", &["init", &corpus]).fails(&["No space left"]);
        place.ran("init half-made")
    }),
    (
        "… has store format …, this release reads up to …; it was last written by corpusdb …",
        |place| {
            let corpus = place.again("newer");
            std::fs::write(Path::new(&corpus).join("FORMAT"), "corpusdb 99 7.4.1\n").unwrap();
            place.read(&corpus)
        },
    ),
    ("… has store format …, older than …", |place| {
        let corpus = place.scratch.path("older");
        copy(&repository("tests/formats/v8/corpus"), &corpus);
        place.read(&corpus.display().to_string())
    }),
    ("…: it has backups of another corpus: use one directory for each corpus", |place| {
        place.scratch.run("init other");
        place.scratch.run("backup create other backups");
        place.ran("backup create corpus backups")
    }),
];

fn manifest(corpus: &str) -> PathBuf {
    let database = Path::new(corpus).join("db");
    let current = std::fs::read_to_string(database.join("CURRENT")).unwrap();
    database.join(current.trim())
}

/// The file of that kind with the highest number.
fn newest(directory: &Path, kind: &str) -> PathBuf {
    let paths = paths_below(directory).into_iter();
    paths.filter(|path| path.extension().is_some_and(|end| end == kind)).max().unwrap()
}

/// Messages and exit statuses of the tables of the page.
fn documented() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(repository("docs/reference/trouble.md")).unwrap();
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("| `")?.strip_suffix(" |")?.split(" | ").collect();
        let (message, exit) = (cells.first()?.strip_suffix('`')?, cells.last()?);
        Some((message.to_owned(), (*exit).to_owned()))
    });
    rows.collect()
}

/// Whether `text` has the parts of a message in their order.
fn says(text: &str, message: &str) -> bool {
    let mut rest = text;
    message.split('…').all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

#[test]
fn the_command_prints_every_row_of_the_page() {
    assert!(says("a/b is not a corpus; make one", "… is not a corpus"));
    assert!(!says("a/b is no corpus", "… is not a corpus") && !says("b: a", "a…b"));
    let cases: Vec<Case> = EVERYDAY.into_iter().chain(REFUSED).chain(FOUND).collect();
    let documented = documented();
    let rows: BTreeSet<&str> = documented.iter().map(|(message, _)| message.as_str()).collect();
    let tried: BTreeSet<&str> = cases.iter().map(|(message, _)| *message).collect();
    assert_eq!(rows, tried, "rows of docs/reference/trouble.md, then cases");
    for (message, case) in cases {
        // Each in a place of its own.
        let Some(place) = Trouble::new() else { return };
        let Told(words, exit) = case(&place);
        let error = words.lines().find_map(|line| line.strip_prefix("error: "));
        // What is no error is a note, or an alarm of the report.
        let noted = || words.lines().find(|line| says(line, message));
        let line = error.or_else(noted);
        let line = line.unwrap_or_else(|| panic!("no error of `{message}`:\n{words}"));
        assert!(says(line, message), "`{message}` is documented, the command says\n{line}");
        let (_, told) = documented.iter().find(|(row, _)| row == message).unwrap();
        assert_eq!(
            *told,
            exit.map_or_else(|| "-".to_owned(), |exit| exit.to_string()),
            "{message}"
        );
        // What the system refuses has its way out behind it.
        assert!(!message.contains("rror") || line.contains("; "), "no way out: {line}");
    }
}

/// Wherever room ends, in a commit, its acknowledgement, a flush or an opening, the same command goes on.
#[test]
fn a_full_disk_loses_nothing_and_the_same_command_goes_on() {
    let Some(place) = Trouble::new() else { return };
    let file = place.scratch.arg("b.jsonl");
    let whole = place.again("whole");
    corpusdb(&place.more(&whole, &file)).good();
    let (before, expected) = (digest(&place.scratch.arg("corpus")), digest(&whole));
    let mut commits = 0;
    for (at, within) in [".log", ".sst", "MANIFEST-", "/journal", "/manifest"].iter().enumerate() {
        for (number, refuse) in
            ["write:28", "write:28:3000", "write:122", "write:5:900"].iter().enumerate()
        {
            let corpus = place.again(&format!("full-{at}-{number}"));
            let ran = place.refusing(refuse, within, &place.more(&corpus, &file));
            // Where little is written, some of it is room enough.
            if ran.code != Some(0) {
                ran.fails(&["; "]);
            }
            sound(&corpus);
            let found = digest(&corpus);
            assert!(found == before || found == expected, "{refuse} in {within}");
            commits += u64::from(found == expected);
            corpusdb(&place.more(&corpus, &file)).good();
            sound(&corpus);
            assert_eq!(digest(&corpus), expected, "{refuse} in {within}");
            let compacted = place.refusing(refuse, within, &["compact", &corpus]);
            assert!(matches!(compacted.code, Some(0 | 2)), "{compacted}");
            sound(&corpus);
            corpusdb(&["compact", &corpus]).good();
            assert_eq!(digest(&corpus), expected, "compact, {refuse} in {within}");
        }
    }
    assert!(commits > 0, "room never ended behind the commit");
}

#[test]
fn backups_and_restores_on_a_full_disk_change_nothing() {
    let Some(place) = Trouble::new() else { return };
    let (corpus, directory) = (place.again("held"), place.scratch.arg("backups"));
    corpusdb(&["backup", "create", &corpus, &directory]).good();
    corpusdb(&place.more(&corpus, &place.scratch.arg("b.jsonl"))).good();
    for bytes in [0, 5_000, 60_000] {
        let refuse = format!("write:28:{bytes}");
        let words = ["backup", "create", &corpus, &directory];
        place.refusing(&refuse, "backups", &words).fails(&["No space left", "free space"]);
        corpusdb(&["backup", "verify", &directory]).good();
        let words = ["backup", "restore", &directory, &place.scratch.arg("new")];
        place.refusing(&refuse, "restoring", &words).fails(&["No space left", "free space"]);
        let mut left = file_names(place.scratch.path("")).into_iter();
        assert!(!left.any(|name| name.starts_with("new")));
    }
    corpusdb(&["backup", "create", &corpus, &directory]).good();
    corpusdb(&["backup", "restore", &directory, &place.scratch.arg("new")]).good();
    assert_eq!(digest(&place.scratch.arg("new")), digest(&corpus));
}

/// SMB shares and some of FUSE have no links, and answer a sync of a directory with an error; exports failed there.
#[test]
fn exports_and_backups_need_no_links_and_no_sync_of_directories() {
    let Some(place) = Trouble::new() else { return };
    let corpus = place.again("held");
    let expected = digest(&corpus);
    for (at, refuse) in ["link:95,syncdir:22", "link:1,syncdir:95"].into_iter().enumerate() {
        let arg = |name: &str| place.scratch.arg(&format!("share-{at}/{name}"));
        std::fs::create_dir(place.scratch.path(&format!("share-{at}"))).unwrap();
        let run = |words: &[&str]| place.refusing(refuse, "share-", words).good();
        run(&["export", &corpus, "--to", &arg("a.jsonl")]);
        run(&["export", &corpus, "--to", &arg("a"), "--format", "parquet"]);
        run(&["sql", &corpus, "SELECT id FROM documents", "-o", &arg("a.csv")]);
        run(&["backup", "create", &corpus, &arg("backups")]);
        run(&["backup", "verify", &arg("backups")]);
        corpusdb(&["backup", "restore", &arg("backups"), &place.scratch.arg("restored")]).good();
        assert_eq!(digest(&place.scratch.arg("restored")), expected);
        std::fs::remove_dir_all(place.scratch.path("restored")).unwrap();
        let left = file_names(place.scratch.path(&format!("share-{at}")));
        assert!(left.iter().all(|name| !name.contains("tmp")), "{left:?}");
    }
    // The corpus itself: a dry run and a backup copy its tables.
    let words = place.more(&corpus, &place.scratch.arg("b.jsonl")).map(str::to_owned);
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--dry-run"]).collect();
    place.refusing("link:95", "held", &words).good();
    let directory = place.scratch.arg("copied");
    place.refusing("link:95", "", &["backup", "create", &corpus, &directory]).good();
    assert_eq!(digest(&corpus), expected);
}

/// What reads needs no right to write, nor room, nor a lock.
#[test]
fn a_corpus_that_nothing_can_be_written_to_is_read() {
    let Some(place) = Trouble::new() else { return };
    let corpus = place.again("refused");
    let directory = place.scratch.arg("backups");
    for refuse in ["change:30", "change:13", "write:28", "flock:37"] {
        let read = |words: &[&str]| place.refusing(refuse, "refused", words).good();
        assert_eq!(read(&["count", &corpus]).stdout, corpusdb(&["count", &corpus]).stdout);
        read(&["check", &corpus, "--deep"]);
        read(&["backup", "create", &corpus, &directory]);
    }
}

/// All that is stored and exported, by clocks that are wrong and one that runs backwards.
#[test]
fn no_clock_decides_anything_that_is_stored_or_exported() {
    let Some(place) = Trouble::new() else { return };
    let (a, b) = (place.scratch.arg("a.jsonl"), place.scratch.arg("b.jsonl"));
    let recipe = place.scratch.write("recipe.toml", format!("version = 1\n{SPECIALS}"));
    let made = |at: usize, clock: (&str, &str)| {
        let directory = place.scratch.path(&format!("clock-{at}"));
        std::fs::create_dir(&directory).unwrap();
        let run = |words: &[&str]| place.at_clock(clock, &directory, words);
        run(&["init", "corpus"]);
        run(&place.more("corpus", &a));
        let train = ["tokenizer", "train", "corpus", "own", "--vocab-size", "300"];
        run(&[&train[..], &["--special", EOS, "--special", "<|pad|>"]].concat());
        run(&["snapshot", "create", "corpus", "then"]);
        run(&place.more("corpus", &b));
        run(&["remove", "corpus", "3", "5"]);
        run(&["export", "corpus", "--to", "out/export.jsonl", "--all"]);
        run(&["export", "corpus", "--to", "out/parquet", "--format", "parquet"]);
        run(&["epoch", "build", "corpus", &recipe, "--out", "out/epoch"]);
        run(&["backup", "create", "corpus", "backups"]);
        run(&["backup", "restore", "backups", "restored"]);
        let arg = |name: &str| directory.join(name).display().to_string();
        sound(&arg("restored"));
        let found = digest(&arg("corpus"));
        assert_eq!(digest(&arg("restored")), found);
        (found, directory.join("out"))
    };
    let (expected, out) = made(0, ("0", "0"));
    for (at, clock) in
        [("-1700000000", "0"), ("4000000000", "0"), ("0", "3600")].into_iter().enumerate()
    {
        let (found, other) = made(at + 1, clock);
        assert_eq!(found, expected, "{clock:?}");
        let read = |out: &Path| std::fs::read(out.join("export.jsonl")).unwrap();
        assert!(read(&out) == read(&other), "{clock:?}");
        for folder in ["parquet", "epoch"] {
            same_files(&out.join(folder), &other.join(folder));
        }
    }
}
