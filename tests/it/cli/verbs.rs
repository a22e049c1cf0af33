//! The command as a shell meets it: exit codes and kinds of errors, help, completions, JSON and its schema, sizes, pipes.

use crate::support::{
    TestDir, WEB_BY_ID, assert_fits, assert_none, command, corpusdb, corpusdb_reading,
    corpusdb_test, crawl, ingest, init, interrupt, line_misfits, lines, repository, resolved,
    schema,
};
use corpusdb::near_names::UnknownName;
use corpusdb::sql::SqlError;
use corpusdb::store::StoreError;
use corpusdb::{Corpus, Error, ErrorKind};
use serde_json::{Map, Value};
use std::error::Error as _;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

const VERBS: [&str; 17] = [
    "init",
    "ingest",
    "rejects",
    "info",
    "count",
    "sql",
    "sample",
    "show",
    "duplicates",
    "similar",
    "dedup explain",
    "check",
    "demo",
    "completions",
    "tokenizer add",
    "tokenizer train",
    "epoch",
];

/// A small corpus with a duplicate, a rejected line and a tokenizer.
struct VerbCorpus {
    scratch: TestDir,
    corpus: String,
}

impl VerbCorpus {
    fn new(count: usize) -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &["--field", "year:int"]);
        let file = scratch.write("a.jsonl", format!("{}oops\n", lines(&crawl(61, count, true))));
        ingest(&corpus, &[&file], &WEB_BY_ID);
        corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
        Self { scratch, corpus }
    }
}

#[test]
fn every_verb_has_help_with_examples() {
    for verb in VERBS {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = corpusdb(&words).good();
        assert!(help.stdout.contains("\nExample"), "no example in\n{help}");
        assert!(help.stdout.contains("Usage: corpusdb") && help.stderr.is_empty(), "{help}");
        assert!(!help.stdout.contains('\x1b'), "{help}");
    }
    let help = corpusdb(&["--help"]).good().stdout;
    for verb in VERBS {
        let verb = verb.split(' ').next().unwrap();
        assert!(help.contains(&format!("\n  {verb} ")), "no {verb} in\n{help}");
    }
    for word in ["Exit codes:", "Examples:"] {
        assert!(help.contains(word));
    }
    let version = corpusdb(&["--version"]).good().stdout;
    assert_eq!(version, format!("corpusdb {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn outputs_on_disk_refuse_addresses() {
    let at = "s3://bucket/name";
    for words in [
        &["init", at][..],
        &["epoch", "build", "crawl", "1", "--out", at],
        &["report", "crawl", "-o", at],
        &["report", "crawl", "--croissant", at],
        &["duplicates", "crawl", "--html", at],
        &["signals", "report", "crawl", "--html", at],
        &["tokenizer", "export", "crawl", "own", at],
        &["ingest", "crawl", "a.jsonl", "--source", "web", "--decisions", at],
        &["purge", "crawl", "--prove", at],
    ] {
        corpusdb(words).fails(&["s3:// is an address, and this must be written to disk"]);
    }
}

#[test]
fn completions_are_scripts_that_know_the_verbs() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = corpusdb(&["completions", shell]).good().stdout;
        for word in ["duplicates", "snapshot", "threshold", "decisions"] {
            assert!(script.contains(word), "no {word} for {shell}");
        }
    }
    corpusdb(&["completions", "tcsh"]).fails(&["tcsh", "bash", "zsh"]);
}

corpusdb_test!(exit_codes_say_how_it_went, VerbCorpus::new(30), |place| {
    let corpus = &*place.corpus;
    let code = |arguments: &[&str]| corpusdb(arguments).code.unwrap();
    assert_eq!(code(&["info", corpus]), 0);
    assert_eq!(code(&["check", corpus, "--deep"]), 0);
    assert_eq!(code(&["count", corpus, "--where", "false"]), 0, "zero is an answer");
    assert_eq!(code(&["show", corpus, "--key", "nobody"]), 1);
    for arguments in [
        &["frobnicate"][..],
        &[],
        &["count"],
        &["count", corpus, "--frobnicate"],
        &["count", corpus, "extra"],
        &["tokenizer"],
        &["tokenizer", "frobnicate"],
        &["epoch", "frobnicate"],
        &["show", corpus],
        &["show", corpus, "1", "--key", "x"],
        &["show", corpus, "1", "--tokenizer", "x"],
        &["ingest", corpus, "a.jsonl"],
        &["ingest", corpus, "--source", "web"],
        &["init", corpus, "--mode", "fuzzy"],
        &["sql", corpus, "SELECT 1", "--format", "xml"],
        &["info", corpus, "--threads", "0"],
        &["similar", corpus, "--text", "--all"],
        &["export", corpus, "--to", "-", "--format", "text", "--separator", "--force"],
        &["count", corpus, "--where", "--snapshot"],
    ] {
        let ran = corpusdb(arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran}");
        assert!(ran.stderr.contains("Usage:") || ran.stderr.contains("error:"), "{ran}");
    }
    // A value that begins with hyphens and is no option is a value.
    assert_eq!(code(&["count", corpus, "--where", "-1 < id"]), 0);
    assert_eq!(
        code(&["similar", corpus, "--text=--all of these words are a text that nobody has stored"]),
        1
    );
    let absent = place.scratch.arg("absent");
    for verb in ["info", "count", "check", "rejects", "duplicates", "sample"] {
        corpusdb(&[verb, &absent]).fails(&[&absent]);
        assert!(!place.scratch.path("absent").exists(), "{verb} made the corpus it did not find");
    }
    let file = place.scratch.write("plain.txt", "no corpus");
    corpusdb(&["info", &file]).fails(&[&file]);
    let directory = place.scratch.arg("");
    corpusdb(&["info", &directory]).fails(&["corpus"]);
    corpusdb(&["init", corpus]).fails(&[corpus]);
    corpusdb(&["ingest", corpus, &absent, "--source", "web"]).fails(&[&absent]);
});

corpusdb_test!(digits_name_an_id_and_key_digits_a_key, |scratch| {
    let corpus = scratch.arg("corpus");
    corpusdb(&["init", &corpus]).good();
    let page = |key: usize| {
        let words: String = (0..30).map(|word| format!(" word{}", key * 31 + word)).collect();
        serde_json::json!({ "n": if key == 2 { "id:0".into() } else { key.to_string() }, "text": words })
    };
    // Document 0 has the key 1, document 1 the key `id:0`.
    let pages = scratch.write("pages.jsonl", format!("{}\n{}\n", page(1), page(2)));
    corpusdb(&["ingest", &corpus, &pages, "--source", "web", "--id-field", "n"]).good();
    let shown =
        |name: &str| corpusdb(&["show", &corpus, name, "--json"]).good().json()["id"].clone();
    assert_eq!([shown("1"), shown("id:1"), shown("key:1")], [1, 1, 0]);
    assert_eq!([shown("id:0"), shown("key:id:0")], [0, 1]);
    corpusdb(&["show", &corpus, "7"]).fails(&["ids 0 to below 2", "`key:7`"]);
    // What cannot be taken back asks which one is meant.
    for verb in ["remove", "purge", "restore"] {
        let run = |name: &str| corpusdb(&[verb, &corpus, name, "--dry-run", "--json"]);
        run("1").fails(&["nothing was changed", "`1` is also the key", "`id:1` or `key:1`"]);
        // A prefix says it, whatever keys there are.
        for name in ["id:0", "id:1", "key:1", "key:id:0"] {
            run(name).good();
        }
        for key in ["007", "+1", "key:id:01", "id:+1"] {
            run(key).fails(&["no document", key.trim_start_matches("key:")]);
        }
    }
});

corpusdb_test!(a_value_that_begins_as_a_name_of_input_stays_as_it_was_typed, |scratch| {
    let corpus = scratch.arg("corpus");
    corpusdb(&["init", &corpus]).good();
    let line = b"{\"text\": \"one text of standard input\"}\n";
    corpusdb_reading(&["ingest", &corpus, "-", "--source", "web"], line).good();
    corpusdb(&["show", &corpus, "-:0@0"]).good();
    corpusdb(&["show", &corpus, "--", "-:0@0"]).good();
    corpusdb(&["remove", &corpus, "--reason", "-: spam", "-:0@0"]).good();
    let reasons = corpusdb(&["sql", &corpus, "SELECT reason FROM removals", "--json"]).good();
    assert!(reasons.stdout.contains("\"-: spam\""), "{}", reasons.stdout);
});

corpusdb_test!(errors_of_settings_name_valid_values, VerbCorpus::new(10), |place| {
    let fresh = place.scratch.arg("fresh");
    for (field, word) in [
        ("year", "NAME:KIND"),
        ("year:date", "keyword"),
        ("text:keyword", "text"),
        ("kept:int", "kept"),
        ("tokens_x:int", "tokens_x"),
        ("a b:int", "a b"),
        (":int", ""),
    ] {
        corpusdb(&["init", &fresh, "--field", field]).fails(&["error", word]);
    }
    corpusdb(&["init", &fresh, "--field", "a:int", "--field", "A:int"]).fails(&["`A`", "twice"]);
    for threshold in ["0", "1.5", "nan", "high"] {
        corpusdb(&["init", &fresh, "--threshold", threshold]).fails(&["threshold"]);
    }
    assert!(!place.scratch.path("fresh").exists(), "nothing is made of a wrong setting");
});

corpusdb_test!(sizes_have_units, VerbCorpus::new(10), |place| {
    let memory = |size: &str| corpusdb(&["count", &place.corpus, "--memory", size]);
    for size in
        ["64MB", "64 MB", "64mb", "67108864", "65536kB", "64MiB", "64M", "65536K", "1GiB", "1gb"]
    {
        memory(size).good();
    }
    memory("12XB").fails(&["12XB", "XB", "GiB"]);
    memory("0.1TB").good();
    memory("0.5GB").good();
    for size in ["MB", ".5GB", "1.GB", "-5MB", "", "ten"] {
        assert_eq!(memory(size).code, Some(2), "{size}");
    }
    memory("99999999999GiB").fails(&["more than 2^64 bytes"]);
    memory("99999999999999999999").fails(&["more than 2^64 bytes"]);
    // Too little to work with is said, and not found out.
    memory("1").fails(&["at least 16MiB"]);
    memory("15MiB").fails(&["at least 16MiB"]);
    // The same words everywhere.
    let file = place.scratch.write("b.jsonl", lines(&crawl(62, 5, false)));
    let ingest = ["ingest", &place.corpus, &file, "--source", "web"];
    for flag in ["--batch-bytes", "--max-doc-bytes"] {
        corpusdb(&[&ingest[..], &[flag, "12XB"]].concat()).fails(&[flag, "XB", "GiB"]);
    }
    corpusdb(&[&ingest[..], &["--batch-bytes", "8 KiB", "--max-doc-bytes", "1MB"]].concat()).good();
});

corpusdb_test!(json_is_one_object_a_line_with_its_type, VerbCorpus::new(60), |place| {
    let corpus = &*place.corpus;
    let recipe = place.scratch.write("recipe.toml", "version = 1\n[pack]\nlength = 64\n");
    let out = place.scratch.arg("out");
    let file = place.scratch.write("b.jsonl", lines(&crawl(63, 5, false)));
    let fresh = place.scratch.arg("fresh");
    let cases: &[(&str, &[&str])] = &[
        ("init", &["init", &fresh]),
        ("ingest", &["ingest", corpus, &file, "--source", "more"]),
        ("ingest", &["ingest", corpus, &file, "--source", "more", "--dry-run"]),
        ("reject", &["rejects", corpus]),
        ("info", &["info", corpus]),
        ("count", &["count", corpus]),
        ("document", &["sample", corpus, "-n", "3"]),
        ("document", &["show", corpus, "0"]),
        ("duplicates", &["duplicates", corpus]),
        ("duplicate", &["duplicates", corpus, "--list"]),
        ("duplicate", &["duplicates", corpus, "--list", "--diff", "--limit", "2"]),
        ("document_duplicates", &["duplicates", corpus, "0"]),
        ("similar", &["similar", corpus, "0", "--all"]),
        ("dedup_explanation", &["dedup", "explain"]),
        ("dedup_explanation", &["dedup", "explain", corpus, "--threshold", "0.7"]),
        ("tokenizer", &["tokenizer", "train", corpus, "two", "--vocab-size", "280"]),
        ("tokenizer", &["tokenizer", "show", corpus]),
        ("snapshot", &["snapshot", "create", corpus, "now"]),
        ("snapshot", &["snapshot", "show", corpus]),
        ("snapshot_details", &["snapshot", "show", corpus, "now"]),
        ("snapshot_diff", &["snapshot", "diff", corpus, "now", "now"]),
        ("snapshot", &["snapshot", "rename", corpus, "now", "then"]),
        ("snapshot_dropped", &["snapshot", "drop", corpus, "then"]),
        ("check", &["check", corpus]),
        ("check", &["check", corpus, "--deep"]),
        ("digest", &["check", corpus, "--digest"]),
    ];
    let recipe_of = "[tokenizer]\nname = \"own\"\n";
    let named = place.scratch.write("named.toml", format!("version = 1\n{recipe_of}"));
    let more: &[(&str, &[&str])] = &[
        ("explanation", &["epoch", "explain", corpus, &named]),
        ("plan", &["epoch", "plan", corpus, &named]),
        ("build", &["epoch", "build", corpus, "1", "--out", &out]),
        ("verification", &["epoch", "verify", corpus, &out]),
    ];
    for (kind, arguments) in cases.iter().chain(more) {
        let ran = corpusdb(&[*arguments, &["--json"]].concat()).good();
        let values: Vec<Value> = ran.json_lines();
        assert!(!values.is_empty(), "{ran}");
        for value in &values {
            assert_eq!(value["type"], *kind, "{ran}");
            assert_fits(arguments, value);
        }
        assert_eq!(ran.stderr, "", "JSON leaves nothing to say");
    }
    corpusdb(&["epoch", "explain", corpus, &recipe]).fails(&[
        "tokenizer.name is needed",
        "`own`",
        "`two`",
    ]);
});

corpusdb_test!(piped_output_has_no_terminal_codes, VerbCorpus::new(60), |place| {
    let corpus = &*place.corpus;
    let file = place.scratch.write("b.jsonl", lines(&crawl(64, 200, false)));
    let recipe = place.scratch.write("recipe.toml", "version = 1\n[pack]\nlength = 64\n");
    let out = place.scratch.arg("out");
    let cases: &[&[&str]] = &[
        &["ingest", corpus, &file, "--source", "more"],
        &["tokenizer", "show", corpus],
        &["info", corpus],
        &["sql", corpus, "SELECT id, source FROM documents"],
        &["duplicates", corpus],
        &["duplicates", corpus, "--list", "--diff"],
        &["similar", corpus, "0", "--all"],
        &["dedup", "explain", corpus],
        &["sample", corpus],
        &["show", corpus, "0"],
        &["check", corpus, "--deep"],
        &["epoch", "explain", corpus, &recipe],
        &["epoch", "build", corpus, &recipe, "--out", &out],
        &["epoch", "verify", corpus, &out],
        &["count", corpus, "--where", "nope"],
        &["frobnicate"],
    ];
    for arguments in cases {
        // Also where colours are forced on tools that know no better.
        let output = command(arguments).env("CLICOLOR", "1").env("TERM", "xterm-256color").output();
        let output = output.unwrap();
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let text = String::from_utf8_lossy(bytes);
            assert!(
                !text.contains('\x1b') && !text.contains('\r'),
                "{name} of {arguments:?}: {text}"
            );
        }
    }
});

corpusdb_test!(a_reader_that_goes_away_is_no_failure, VerbCorpus::new(120), |place| {
    let corpus = &*place.corpus;
    // More than a pipe holds.
    let many = "SELECT a.id, b.text FROM documents a CROSS JOIN documents b";
    let cases: &[&[&str]] = &[
        &["sql", corpus, many],
        &["sql", corpus, many, "--format", "csv"],
        &["sql", corpus, many, "--json"],
        &["sample", corpus, "-n", "100000", "--where", "true", "--json"],
        &["sample", corpus, "-n", "100000", "--where", "true"],
        &["duplicates", corpus, "--list", "--diff", "--json"],
        &["duplicates", corpus],
        &["completions", "zsh"],
        &["reference"],
        &["info", corpus],
    ];
    for arguments in cases {
        let mut child =
            command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        drop(out);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(!first.is_empty(), "{arguments:?}");
    }
    // Nobody listens from the start.
    let mut child = command(&["info", corpus]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
});

/// Waits until a process has computed for .6 s: so it is at work, however busy the machine is.
fn wait_for_work(child: &Child) {
    let ticks = || -> Option<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
        // Behind the name, which may have spaces in it: user and system time, in hundredths of a second.
        let (_, fields) = stat.rsplit_once(')')?;
        let of = |at| fields.split_whitespace().nth(at)?.parse::<u64>().ok();
        Some(of(11)? + of(12)?)
    };
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(50));
        match ticks() {
            Some(ticks) if ticks < 60 => {}
            Some(_) => return,
            // Where the system does not say.
            None => return std::thread::sleep(Duration::from_millis(700)),
        }
    }
}

corpusdb_test!(ctrl_c_ends_a_query_at_once, VerbCorpus::new(120), |place| {
    // Minutes of work.
    let many = "SELECT count(*) FROM documents a, documents b, documents c, documents d, documents e \
                WHERE a.text || b.text || c.text LIKE '%' || d.text || e.text";
    let mut child = command(&["sql", &place.corpus, many]).spawn().unwrap();
    wait_for_work(&child);
    assert!(child.try_wait().unwrap().is_none(), "it is under way");
    interrupt(&child);
    for _ in 0..200 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    panic!("it went on for 10 seconds");
});

corpusdb_test!(errors_are_one_line_on_stderr, VerbCorpus::new(10), |place| {
    for arguments in [
        &["info", "/nowhere/at/all"][..],
        &["show", &place.corpus, "77777"],
        &["count", &place.corpus, "--where", "nope"],
        &["snapshot", "create", &place.corpus, ""],
        &["epoch", "build", &place.corpus, "9", "--out", "never"],
    ] {
        let ran = corpusdb(arguments).fails(&["error: "]);
        assert_eq!((ran.stderr.lines().count(), ran.stdout.as_str()), (1, ""), "{ran}");
        let message = ran.stderr.trim_end();
        assert!(!message.ends_with('.') && !message.contains("Error {"), "{ran}");
    }
    assert!(!repository("never").exists());
});

// ----
// The schema of the reports: what `--json` prints is what `corpusdb reference schema` says.

#[test]
fn every_verb_has_a_report_and_every_name_in_it_is_there() {
    fn look(schema: &Value, definitions: &Map<String, Value>) {
        match schema {
            Value::Object(members) => {
                if let Some(path) = members.get("$ref").and_then(Value::as_str) {
                    let name = path.strip_prefix("#/$defs/").unwrap();
                    assert!(definitions.contains_key(name), "{path}");
                }
                members.values().for_each(|inner| look(inner, definitions));
            }
            Value::Array(all) => all.iter().for_each(|inner| look(inner, definitions)),
            _ => {}
        }
    }
    let definitions = schema()["$defs"].as_object().unwrap();
    look(schema(), definitions);
    let details = resolved(&definitions["TokenizerDetails"]);
    assert_eq!(details["properties"]["complete"]["type"], "boolean");
    assert!(details["required"].as_array().unwrap().contains(&"base".into()));
}

#[test]
fn a_line_that_does_not_fit_is_found() {
    let report = &schema()["verbs"]["tokenizer drop"];
    let line = |text: &str| line_misfits(&serde_json::from_str(text).unwrap(), report);
    assert!(line(r#"{"name": "t", "broken_plans": [1]}"#).is_empty());
    assert_eq!(line(r#"{"name": "t"}"#), [".broken_plans is absent"]);
    assert_eq!(line(r#"{"name": "t", "broken_plans": ["1"]}"#).len(), 1);
    assert_eq!(line(r#"{"name": "t", "broken_plans": [], "more": 1}"#), [".more is unknown"]);
}

/// Files of the package that are written from the rows; `make docs` writes them.
#[test]
fn generated_python_files_are_up_to_date() {
    for (page, file) in [("python-options", "_options.py"), ("python-reports", "_reports.py")] {
        let path = repository(Path::new("python/corpusdb").join(file));
        let printed = corpusdb(&["reference", page]).good().stdout;
        assert!(std::fs::read_to_string(path).unwrap() == printed, "{file}: run `make docs`");
    }
}

// ----
// The kinds of errors: each is a class of the Python package, and decides the exit status of the command.

/// Python found the class of an error in ten lists of two hundred variants.
#[test]
fn every_kind_is_a_class_in_python_and_the_exit_status_follows() {
    let classes = std::fs::read_to_string(repository("python/corpusdb/errors.py")).unwrap();
    let faults: Vec<String> = ErrorKind::ALL
        .iter()
        .filter(|kind| !matches!(kind, ErrorKind::Interrupted | ErrorKind::Failed))
        .filter(|kind| !classes.contains(&format!("\nclass {}(", kind.name())))
        .map(|kind| format!("{kind:?} is no class of errors.py"))
        .collect();
    assert_none(&faults);
    for kind in ErrorKind::ALL {
        let expected = if kind == ErrorKind::Interrupted { 130 } else { 2 };
        assert_eq!(kind.exit_status(), expected, "{kind:?}");
        assert_eq!(format!("{kind:?}"), kind.name());
    }
}

corpusdb_test!(errors_have_place_cause_and_way_out, |scratch| {
    let error = Corpus::open(scratch.path("corpus")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().ends_with("corpus is not a corpus"), "{error}");
    assert!(error.hint().unwrap().to_string().contains("corpusdb init"));
    assert!(matches!(error.origin(), Some(StoreError::NotACorpus { .. })));
    assert!(error.origin::<SqlError>().is_none());
    // The same error, met deeper: that of the store, not of the room that met it.
    let unknown =
        UnknownName { what: "snapshot", name: "june".to_owned(), known: vec!["may".to_owned()] };
    let met = Error::from(SqlError::from(StoreError::Unknown(unknown)));
    assert_eq!(met.kind(), ErrorKind::NotFound);
    assert!(met.origin::<StoreError>().is_some(), "{met}");
    // What the system said is behind it.
    init(&scratch.arg("corpus"), &[]);
    scratch.write("nowhere", "a file");
    let target = scratch.arg("nowhere/of/it.jsonl");
    let ran =
        corpusdb(&["export", &scratch.arg("corpus"), "--to", &target]).fails(&["Not a directory"]);
    assert!(ran.stderr.contains("nowhere"), "{}", ran.stderr);
    let corpus = Corpus::open(scratch.path("corpus")).unwrap();
    let error = corpus.count("nothing_like_it > 1").unwrap_err();
    assert_eq!((error.kind(), error.is_interrupt()), (ErrorKind::BadQuery, false));
    assert!(error.source().is_none());
});
