//! The answers that people read most, as a terminal of 80 columns shows them: golden files, and no line is wider.

use crate::support::{
    TERMINAL, TestDir, command, crawl, lines, python, python_has, ran, repository,
};
use unicode_width::UnicodeWidthStr;

/// Each answer and its command line, in a folder with the corpus `web`.
const ANSWERS: [(&str, &str); 11] = [
    ("ingest", "ingest web june.jsonl --source crawl-of-june --id-field id"),
    ("info", "info web"),
    ("stats", "stats web"),
    ("duplicates", "duplicates web"),
    ("explain", "epoch explain web 1"),
    ("check", "check web"),
    ("rejects", "rejects web"),
    ("similar", "similar web 4"),
    ("show", "show web 4"),
    ("signals", "signals report web --set gopher"),
    ("export", "export web --to kept.parquet"),
];

/// Rows of 256 tokens of two sources, and a corpus in a folder with a long name of its own files.
const RECIPE: &str = r#"version = 1
tokenizer = { name = "own", specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" } }
source = [{ name = "crawl-of-may", weight = 0.7 }, { name = "books", weight = 0.3 }]
pack = { length = 256 }
batch = { rows = 4 }
"#;

/// A folder with a corpus of three sources, a tokenizer, signals, a snapshot and a plan.
fn place() -> TestDir {
    let scratch = TestDir::new();
    for (name, seed, count) in [("may", 5, 300), ("books", 6, 120), ("june", 7, 200)] {
        let mut records = lines(&crawl(seed, count, true));
        records.push_str("{\"id\": 7}\n{\"id\": \"x\", \"text\": \"cut\n");
        scratch.write(&format!("{name}.jsonl"), records);
    }
    scratch.write("mix.toml", RECIPE);
    for line in [
        "init web --field quality:float --field year:int",
        "ingest web may.jsonl --source crawl-of-may --id-field id",
        "ingest web books.jsonl --source books --id-field id",
        "tokenizer train web own --vocab-size 400 --special <|endoftext|>",
        "signals add web word_count mean_word_length",
        "snapshot create web before-june",
        "epoch plan web mix.toml",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        ran(&words, command(&words).current_dir(&scratch.root).output().unwrap()).good();
    }
    scratch
}

/// What a machine or a moment decides: times, rates and sizes of files, by their units.
fn scrubbed(shown: &str) -> String {
    let mut out = String::new();
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    for line in shown.replace("\r\n", "\n").split_inclusive('\n') {
        let words: Vec<&str> = line.split(' ').collect();
        for (at, word) in words.iter().enumerate() {
            let next = |more: usize| {
                words.get(at + more).map_or("", |it| it.trim_end_matches([',', ':', '\n', ';']))
            };
            // Tables on disk are as large as what was compacted until then.
            let is_disk = next(1).ends_with('B') && matches!(next(2), "on" | "read");
            let is_time = matches!(next(1), "s" | "ms" | "MB/s" | "kB/s");
            let masks = is_number(word) && (is_time || is_disk);
            out.push_str(if at == 0 { "" } else { " " });
            out.push_str(if masks { "N" } else { word });
        }
    }
    out
}

#[test]
fn answers_of_one_screen_are_those_written_down() {
    python_has("pty");
    let place = place();
    let mut faults = Vec::new();
    for (name, line) in ANSWERS {
        let mut terminal = python(TERMINAL);
        // Progress would stand among the lines: what goes to stderr comes behind them.
        terminal.args(["sh", "-c", "\"$0\" \"$@\" 2>notes; cat notes"]);
        terminal.arg(env!("CARGO_BIN_EXE_corpusdb")).args(line.split(' '));
        terminal.current_dir(&place.root).env("NO_COLOR", "1").env("PAGER", "cat");
        let output = terminal.output().unwrap();
        let shown = scrubbed(&String::from_utf8(output.stdout).unwrap());
        // Texts of documents go on in the next line by the terminal itself, so that a copy is theirs.
        let ours =
            if name == "show" { shown.split("\n\n").next().unwrap_or_default() } else { &shown };
        faults.extend(
            ours.lines()
                .filter(|line| line.width() > 80)
                .map(|line| format!("{name}: wider than 80: {line}")),
        );
        let file = repository(format!("tests/it/cli/answers/{name}.txt"));
        if std::env::var_os("CORPUSDB_WRITE_ANSWERS").is_some() {
            std::fs::write(&file, &shown).unwrap();
        }
        let written = std::fs::read_to_string(&file).unwrap_or_default();
        if written != shown {
            faults.push(format!("{}: the answer of `{line}` is now\n{shown}", file.display()));
        }
    }
    assert!(faults.is_empty(), "CORPUSDB_WRITE_ANSWERS=1 writes them\n{}", faults.join("\n"));
}
