//! What a name for a single file of output may stand for: nothing, a file of its own kind, a pipe; never an input.

use crate::support::corpus::tokenizer_of_chats;
use crate::support::{TestDir, command, corpusdb, crawl, ingest, init, json_lines, lines};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

struct NamedOutputs {
    scratch: TestDir,
    corpus: String,
}

impl NamedOutputs {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        scratch.write("data/in.jsonl", lines(&crawl(31, 40, true)));
        scratch.write("notes.txt", "precious\n");
        Self { scratch, corpus }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.scratch.path(name)).unwrap()
    }

    /// Names in the folder, so that nothing is left beside them.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.scratch.path("")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const KEYED: [&str; 4] = ["--source", "web", "--id-field", "id"];

/// `--decisions in.jsonl` replaced the very input, and `--decisions notes.txt` any file.
#[test]
fn decisions_take_no_place_but_that_of_decisions() {
    let place = NamedOutputs::new();
    let (scratch, corpus) = (&place.scratch, &place.corpus);
    let input = place.read("data/in.jsonl");
    symlink("data/in.jsonl", scratch.path("link")).unwrap();
    fs::hard_link(scratch.path("data/in.jsonl"), scratch.path("hard")).unwrap();
    symlink("notes.txt", scratch.path("to-notes")).unwrap();
    let before = place.names();
    let (file, folder) = (scratch.arg("data/in.jsonl"), scratch.arg("data"));
    for name in ["data/in.jsonl", "link", "hard", "notes.txt", "to-notes", "data", "none/in.jsonl"]
    {
        for from in [&file, &folder] {
            let to = scratch.arg(name);
            let arguments = [&["ingest", corpus, from], &KEYED[..], &["--decisions", &to]].concat();
            corpusdb(&arguments).fails(&[name]);
        }
    }
    // Standard input is that file too.
    let arguments = [&["ingest", corpus, "-"], &KEYED[..], &["--decisions", &file]].concat();
    let mut reading = command(&arguments);
    let ran = reading.stdin(fs::File::open(&file).unwrap()).output().unwrap();
    assert!(!ran.status.success());
    assert_eq!(
        (place.read("data/in.jsonl"), place.read("notes.txt")),
        (input, "precious\n".into())
    );
    assert_eq!(place.names(), before);
    assert_eq!(corpusdb(&["count", corpus]).good().stdout.trim(), "0");
    // A new file, an empty one, the decisions of an earlier ingest, by a link that stays.
    scratch.write("decisions.jsonl", "");
    symlink("decisions.jsonl", scratch.path("to-decisions")).unwrap();
    for (number, name) in ["new.jsonl", "to-decisions", "new.jsonl"].into_iter().enumerate() {
        let source = format!("s{number}");
        let to = scratch.arg(name);
        ingest(corpus, &[&file], &["--source", &source, "--decisions", &to]);
        assert_eq!(json_lines(&place.read(name)).len(), 40);
    }
    assert!(scratch.path("to-decisions").is_symlink());
}

#[test]
fn decisions_are_written_to_pipes_and_standard_output() {
    let place = NamedOutputs::new();
    let (scratch, corpus) = (&place.scratch, &place.corpus);
    let (file, pipe) = (scratch.arg("data/in.jsonl"), scratch.arg("pipe"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    ingest(corpus, &[&file], &["--source", "a", "--decisions", &pipe]);
    let told = reader.wait_with_output().unwrap().stdout;
    assert_eq!(json_lines(&String::from_utf8(told).unwrap()).len(), 40);
    let before = place.names();
    let arguments =
        ["ingest", corpus, &file, "--source", "b", "--decisions", "/dev/stdout", "--json"];
    assert_eq!(corpusdb(&arguments).good().json_lines().len(), 41);
    // A file that is standard output is written to, not replaced.
    let into = scratch.write("out.txt", "before\n");
    let appended = fs::File::options().append(true).open(into).unwrap();
    let arguments = ["ingest", corpus, &file, "--source", "c", "--decisions", "/dev/stdout"];
    assert!(command(&arguments).stdout(appended).status().unwrap().success());
    let told = place.read("out.txt");
    assert!(told.starts_with("before\n{") && told.matches("\"standing\"").count() == 40, "{told}");
    let after: Vec<String> = place.names().into_iter().filter(|name| name != "out.txt").collect();
    assert_eq!(after, before);
}

/// `report -o notes.txt` left a page where notes were.
#[test]
fn pages_take_no_place_but_that_of_pages() {
    let place = NamedOutputs::new();
    let (scratch, corpus) = (&place.scratch, &place.corpus);
    ingest(corpus, &[&scratch.arg("data/in.jsonl")], &KEYED);
    let notes = scratch.arg("notes.txt");
    for flag in ["-o", "--eu-summary"] {
        corpusdb(&["report", corpus, flag, &notes]).fails(&["notes.txt", "no page of this kind"]);
    }
    corpusdb(&["duplicates", corpus, "--html", &notes]).fails(&["no page of this kind"]);
    assert_eq!(place.read("notes.txt"), "precious\n");
    let page = scratch.arg("page.html");
    scratch.write("page.html", "");
    corpusdb(&["report", corpus, "-o", &page]).good();
    let made = place.read("page.html");
    corpusdb(&["duplicates", corpus, "--html", &page]).good();
    corpusdb(&["report", corpus, "-o", &page]).good();
    assert_eq!(place.read("page.html"), made);
    let printed = corpusdb(&["report", corpus, "-o", "/dev/stdout"]).good().stdout;
    assert_eq!(printed, made);
}

/// A page, a card or an export went into the corpus, and was taken along or removed with it; `tokenizer export` replaced
/// any file of it.
#[test]
fn nothing_is_written_into_a_corpus() {
    let place = NamedOutputs::new();
    let (scratch, corpus) = (&place.scratch, &place.corpus);
    let input = scratch.arg("data/in.jsonl");
    ingest(corpus, &[&input], &KEYED);
    let tokenizer = scratch.write("words.json", tokenizer_of_chats(1));
    corpusdb(&["tokenizer", "add", corpus, "words", &tokenizer]).good();
    let recipe = "version = 1\nseed = 1\n[tokenizer]\nname = \"words\"\n[pack]\nkind = \"none\"\n";
    let recipe = scratch.write("recipe.toml", recipe);
    symlink("corpus/db", scratch.path("link")).unwrap();
    let format = place.read("corpus/FORMAT");
    for to in ["corpus/new", "corpus/FORMAT", "corpus", "link/new", "corpus/sub/new"] {
        let to = scratch.arg(to);
        let asked: [&[&str]; 11] = [
            &["export", corpus, "--to", &to, "--format", "jsonl", "--force"],
            &["export", corpus, "--to", &to, "--format", "jsonl", "--shard-bytes", "1MB"],
            &["sql", corpus, "SELECT 1", "-o", &to, "--format", "csv", "--force"],
            &["epoch", "build", corpus, &recipe, "--out", &to],
            &["report", corpus, "-o", &to],
            &["report", corpus, "--croissant", &to],
            &["duplicates", corpus, "--html", &to],
            &["tokenizer", "export", corpus, "words", &to],
            &["tokenizer", "export", corpus, "words", &to, "--originals"],
            &["ingest", corpus, &input, "--source", "again", "--decisions", &to],
            &["backup", "create", corpus, &to],
        ];
        for asked in asked {
            corpusdb(asked).fails(&[&to, "is in the corpus", "give a path outside"]);
        }
    }
    for name in ["corpus/new", "corpus/sub", "corpus/db/new", "corpus/.new.manifest.json"] {
        assert!(!scratch.path(name).exists(), "{name}");
    }
    assert_eq!(place.read("corpus/FORMAT"), format);
    // Beside it is outside of it.
    corpusdb(&["export", corpus, "--to", &scratch.arg("corpus.jsonl")]).good();
}
