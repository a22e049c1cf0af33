//! How options and texts are written: in the names of fields, and as editors on Windows write them.

use crate::support::sources::{File, files};
use crate::support::{
    MEMORY, Page, TestDir, WEB_BY_ID, assert_none, corpusdb, corpusdb_reading, corpusdb_test,
    crawl, ingest, init, json_lines, lines,
};
use corpusdb::cli::rows::{Face, spell_message};
use corpusdb::tokenizer::{TokenizerInput, convert};
use corpusdb::{Corpus, ErrorKind, Recipe};
use serde_json::json;

// ----
// Options in the words of the library: by the names of their fields, which each face writes as its users do.

/// Files whose words are stored, as reasons of rejects, or run as they stand: they are in the spelling of the command.
const STORED: [&str; 14] = [
    "crates/model/src/record.rs",
    "crates/files/src/input/builder.rs",
    "crates/files/src/input/csv_reader.rs",
    "crates/files/src/input/foreign.rs",
    "crates/files/src/input/json_reader.rs",
    "src/ingest/chat/budget.rs",
    "src/ingest/chat/conversation.rs",
    "src/ingest/chat/forged.rs",
    "src/ingest/chat/renderer.rs",
    "src/ingest/id_fields.rs",
    "src/ingest/monitor.rs",
    "src/sql/tables/specs.rs",
    "src/epoch/stream/gather.rs",
    "crates/model/src/error.rs",
];

/// Lines of the library, without the command, comments and tests: file, number, line.
fn library_lines() -> Vec<(String, usize, String)> {
    let mut found = Vec::new();
    for File { path: name, text } in files(&["src", "crates"]) {
        if name.starts_with("src/cli/") || name.contains("tests") {
            continue;
        }
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = (1..).zip(text.lines());
        let lines = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
        found.extend(lines.map(|(number, line)| (name.clone(), number, line.to_owned())));
    }
    found
}

/// The options in backticks of a line: name and value.
fn options(line: &str) -> Vec<(&str, &str)> {
    let named = line.split('`').skip(1).step_by(2).filter_map(|part| part.split_once('='));
    let is_field = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    named.filter(|(name, _)| !name.is_empty() && name.chars().all(is_field)).collect()
}

/// Messages named flags of the command, also to those who wrote Python.
#[test]
fn options_in_messages_exist_and_each_face_spells_them() {
    let reference = corpusdb(&["reference"]).good().stdout;
    let (mut faults, mut count) = (Vec::new(), 0);
    for (file, number, line) in library_lines() {
        // `files` is of the library and Python alone: who runs the command may read its files.
        for (name, value) in options(&line).into_iter().filter(|(name, _)| *name != "files") {
            count += 1;
            let text = format!("give `{name}={value}` here");
            let command = spell_message(&text, Face::Command);
            let flag = command.split(" --").nth(1).and_then(|rest| rest.split(' ').next());
            let is_flag = flag.is_some_and(|flag| reference.contains(&format!("--{flag}")));
            if !is_flag || command.contains('`') {
                faults.push(format!("{file}:{number}: the command says {command}"));
            }
            let python = spell_message(&text, Face::Python);
            if !python.starts_with(&format!("give `{name}=")) || python.contains("--") {
                faults.push(format!("{file}:{number}: Python says {python}"));
            }
        }
        let flags = line.split(['"', ' ', '(', '`']).filter(|word| {
            word.strip_prefix("--")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
        });
        let is_command = line.contains("corpusdb ") || STORED.contains(&file.as_str());
        if !is_command && flags.count() > 0 {
            faults.push(format!("{file}:{number}: a flag of the command: {}", line.trim()));
        }
    }
    assert_none(&faults);
    assert!(count > 40, "{count} options only: are they read?");
}

/// A corpus with a name of each kind.
fn of_names(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "quality:float", "--field", "site:keyword"]);
    let file = scratch.write("a.jsonl", lines(&crawl(3, 30, true)));
    ingest(&corpus, &[&file], &["--source", "harbour", "--id-field", "id"]);
    corpusdb(&["tokenizer", "train", &corpus, "harbour-300", "--vocab-size", "300"]).good();
    corpusdb(&["snapshot", "create", &corpus, "december"]).good();
    let suite = scratch.write("suite.jsonl", "{\"question\":\"How deep is the harbour?\"}\n");
    corpusdb(&["contamination", "add", &corpus, "harbours", &suite]).good();
    corpus
}

corpusdb_test!(a_misspelt_name_gets_the_nearest_one, |scratch| {
    let corpus = of_names(&scratch);
    let values = scratch.write("values.jsonl", "{\"id\":\"1\",\"quality\":1}\n");
    let out = scratch.arg("out.jsonl");
    let set = |more: &[&str]| {
        let given = ["field", "set", &corpus, "--from", &values, "--on", "key=id"];
        corpusdb(&[&given, more].concat())
    };
    for (arguments, what, name) in [
        (&["duplicates", &corpus, "--source", "habrour"][..], "no source `habrour`", "harbour"),
        (
            &["duplicates", &corpus, "--list", "--source", "habrour"],
            "no source `habrour`",
            "harbour",
        ),
        (&["stats", &corpus, "--source", "habrour"], "no source `habrour`", "harbour"),
        (&["similar", &corpus, "1", "--source", "habrour"], "no source `habrour`", "harbour"),
        (&["rejects", &corpus, "--drop", "--source", "habrour"], "no source `habrour`", "harbour"),
        (&["sql", &corpus, "SELECT 1 FROM documnets"], "no table `documnets`", "documents"),
        (&["sql", &corpus, "DESCRIBE documnets"], "no table `documnets`", "documents"),
        (
            &["sql", &corpus, "SELECT 1 FROM read_csvv('x')"],
            "no table function `read_csvv`",
            "read_csv",
        ),
        (&["sql", &corpus, "SELECT lenght(text) FROM documents"], "no function `lenght`", "length"),
        (&["sql", &corpus, "SELECT qualty FROM documents"], "no column `qualty`", "quality"),
        (&["count", &corpus, "--where", "qualty > 1"], "`qualty` is not a column", "quality"),
        (
            &["export", &corpus, "--to", &out, "--columns", "qualty"],
            "no column `qualty`",
            "quality",
        ),
        (&["field", "drop", &corpus, "qualty"], "no field `qualty`", "quality"),
        (
            &["tokenizer", "check", &corpus, "habour-300"],
            "no tokenizer `habour-300`",
            "harbour-300",
        ),
        (&["snapshot", "show", &corpus, "decembre"], "no snapshot `decembre`", "december"),
        (&["snapshot", "drop", &corpus, "decembre"], "no snapshot `decembre`", "december"),
        (&["sample", &corpus, "--snapshot", "decembre"], "no snapshot `decembre`", "december"),
        (&["contamination", "drop", &corpus, "habours"], "no suite `habours`", "harbours"),
        (&["contamination", "review", &corpus, "habours"], "no suite `habours`", "harbours"),
    ] {
        let told = format!("{what}; did you mean `{name}`?");
        corpusdb(arguments).fails(&[&told]);
    }
    set(&["qualty"]).fails(&["no field `qualty`; did you mean `quality`?", "field add"]);
    set(&["quality", "--source", "habrour"])
        .fails(&["no source `habrour`; did you mean `harbour`?"]);
    let parted = [
        "export",
        &corpus,
        "--to",
        &scratch.arg("parts"),
        "--format",
        "jsonl",
        "--partition-by",
        "sorce",
    ];
    corpusdb(&parted).fails(&["cannot partition an export by `sorce`", "did you mean `source`?"]);
    let by = ["duplicates", &corpus, "--matrix", "--by", "sorce"];
    corpusdb(&by).fails(&["cannot group by `sorce`", "did you mean `source`?"]);
    for (recipe, what, name) in [
        ("[pack]\nlenght = 4", "", "length"),
        ("[pack]\nkind = \"conact\"\nlength = 4", "", "concat"),
        (
            "[[source]]\nname = \"harbor\"\nweight = 1.0\n[pack]\nlength = 4",
            "no source `harbor`; ",
            "harbour",
        ),
        ("snapshot = \"decembre\"\n[pack]\nlength = 4", "no snapshot `decembre`; ", "december"),
        (
            "[tokenizer]\nname = \"habour-300\"\n[pack]\nlength = 4",
            "no tokenizer `habour-300`; ",
            "harbour-300",
        ),
    ] {
        let recipe = scratch.write("r.toml", format!("version = 1\n{recipe}\n"));
        let told = format!("{what}did you mean `{name}`?");
        corpusdb(&["epoch", "plan", &corpus, &recipe]).fails(&[&told]);
    }
    let open = Corpus::open(&corpus).unwrap();
    let error = open.count("qualty > 1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BadQuery);
});

// What is like nothing is not guessed: which names there are is told, or what makes the first.
corpusdb_test!(an_unknown_name_gets_the_list_of_names, |scratch| {
    let corpus = of_names(&scratch);
    let backups = scratch.arg("backups");
    corpusdb(&["backup", "create", &corpus, &backups]).good();
    for (arguments, told) in [
        (&["stats", &corpus, "--source", "xyz"][..], "no source `xyz`; there is `harbour`"),
        (&["sql", &corpus, "SELECT 1 FROM xyzzy"], "no table `xyzzy`; there are `documents`, `d"),
        (
            &["sql", &corpus, "SELECT xyzzy FROM documents"],
            "no column `xyzzy`; there are `id`, `key`, ",
        ),
        (&["field", "drop", &corpus, "xyz"], "no field `xyz`; there are `quality`, `site`"),
        (&["tokenizer", "show", &corpus, "xyz"], "no tokenizer `xyz`; there is `harbour-300`"),
        (&["snapshot", "show", &corpus, "xyz"], "no snapshot `xyz`; there is `december`"),
        (&["contamination", "drop", &corpus, "xyz"], "no suite `xyz`; there is `harbours`"),
        (
            &["epoch", "drop", &corpus, "7"],
            "no plan `7`; there is none; this makes one: `corpusdb epoch plan`",
        ),
        (
            &["backup", "restore", &backups, &scratch.arg("new"), "--id", "99"],
            "no backup of commit 99; there is `",
        ),
    ] {
        let ran = corpusdb(arguments).fails(&[told]);
        assert!(!ran.stderr.contains("did you mean"), "{}", ran.stderr);
    }
    // Of many names ten are told.
    let many = corpusdb(&["sql", &corpus, "SELECT xyzzy FROM documents"]).fails(&[" more (a name"]);
    assert!(many.stderr.lines().all(|line| line.len() < 400), "{}", many.stderr);
    let empty = scratch.arg("empty");
    init(&empty, &[]);
    corpusdb(&["tokenizer", "show", &empty, "xyz"]).fails(&["there is none", "tokenizer add"]);
});

/// Files that make text of other kinds, which is nobody's way out.
const OTHER_TEXTS: [&str; 3] =
    ["src/sql/tables/specs.rs", "src/pages/croissant.rs", "src/pages/eu_summary.rs"];

/// Whether the words begin with a verb of the command.
fn verb<'a>(words: &str, verbs: &'a [String]) -> Option<&'a String> {
    let is_it = |verb: &&String| {
        words.strip_prefix(verb.as_str()).is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        })
    };
    verbs.iter().filter(is_it).max_by_key(|verb| verb.len())
}

/// Ways out named a verb as the shell has it, also to those who wrote Python.
#[test]
fn verbs_in_messages_exist_and_python_has_their_methods() {
    let schema = corpusdb(&["reference", "schema"]).good().json();
    let verbs: Vec<String> = schema["verbs"].as_object().unwrap().keys().cloned().collect();
    let (mut faults, mut count) = (Vec::new(), 0);
    for (file, number, line) in library_lines() {
        if OTHER_TEXTS.contains(&file.as_str()) {
            continue;
        }
        for part in line.split('`').skip(1).step_by(2).filter(|part| part.contains(' ')) {
            if verbs.iter().any(|verb| verb == part) {
                faults.push(format!("{file}:{number}: `{part}` without `corpusdb`"));
            }
        }
        // With the quotes of a text as bounds: what is a command by itself is put into backticks by who shows it.
        let line = line.replace("\\\"", "'").replace('"', "`");
        let mut named = 0;
        for part in line.split('`').skip(1) {
            let Some(words) = part.strip_prefix("corpusdb ") else { continue };
            if verb(words, &verbs).is_none() {
                continue;
            }
            (count, named) = (count + 1, named + 1);
            let python = spell_message(&format!("`{part}`"), Face::Python);
            if python.contains("corpusdb ") {
                faults.push(format!("{file}:{number}: Python says {python}"));
            }
        }
        let all = line.split("corpusdb ").skip(1).filter(|words| verb(words, &verbs).is_some());
        if all.count() > named {
            faults.push(format!("{file}:{number}: a verb without backticks: {}", line.trim()));
        }
    }
    assert_none(&faults);
    assert!(count > 40, "{count} verbs only: are they read?");
}

// ----
// Texts that editors on Windows wrote: a mark of byte order before scripts, recipes, templates and lists, line ends of
// two characters, and UTF-16, which is called by its name.

const MARK: &str = "\u{feff}";

fn corpus(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    scratch.ingest(&corpus, "pages.jsonl", lines(&crawl(7, 40, true)), &WEB_BY_ID);
    corpus
}

// "sql parser error: Expected: an SQL statement, found: \u{feff}SELECT".
corpusdb_test!(statements_and_conditions_may_start_with_a_byte_order_mark, |scratch| {
    let corpus = corpus(&scratch);
    let text = format!("{MARK}-- what is there\r\nSELECT 1 AS a;\r\nSELECT 2 AS b;\r\n");
    let file = scratch.write("q.sql", &text);
    let sql = |more: &[&str]| -> Vec<String> {
        let words = [&["sql", &corpus, "--format", "csv"], more].concat();
        words.into_iter().map(str::to_owned).collect()
    };
    assert_eq!(corpusdb(&sql(&["-f", &file])).good().stdout, "a\n1\nb\n2\n");
    assert_eq!(corpusdb_reading(&sql(&["-"]), text.as_bytes()).good().stdout, "a\n1\nb\n2\n");
    assert_eq!(corpusdb(&sql(&[&format!("{MARK}SELECT 3 AS c")])).good().stdout, "c\n3\n");
    let condition = format!("{MARK}id < 3");
    assert_eq!(corpusdb(&["count", &corpus, "--where", &condition]).good().stdout.trim(), "3");
    let open = Corpus::options().memory(MEMORY).open(&corpus).unwrap();
    assert!(open.sql(format!("{MARK}SELECT 1 AS a")).is_ok());
    assert_eq!(open.count(condition.as_str()).unwrap(), 3);
    // The place of a fault is that of the text without it.
    let file = scratch.write("wrong.sql", format!("{MARK}SELECT 1;\nSELEC 2;"));
    corpusdb(&sql(&["-f", &file])).fails(&["line 2, column 1"]);
});

corpusdb_test!(text_in_utf_16_is_called_by_its_name, |scratch| {
    let corpus = corpus(&scratch);
    let bytes = std::iter::once(0xfeff).chain("SELECT 1".encode_utf16());
    let bytes: Vec<u8> = bytes.flat_map(u16::to_le_bytes).collect();
    let file = scratch.write("q.sql", bytes);
    corpusdb(&["sql", &corpus, "-f", &file]).fails(&["q.sql is UTF-16", "UTF-8"]);
    corpusdb(&["epoch", "explain", &corpus, &file]).fails(&["q.sql is UTF-16"]);
    let file = scratch.write("latin.sql", b"SELECT '\xe9'");
    corpusdb(&["sql", &corpus, "-f", &file]).fails(&["latin.sql is not UTF-8 text at byte 8"]);
});

corpusdb_test!(recipes_lists_and_texts_behind_a_mark_are_read, |scratch| {
    let corpus = corpus(&scratch);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let recipe = format!("{MARK}version = 1\r\n[pack]\r\nkind = \"concat\"\r\nlength = 64\r\n");
    assert!(Recipe::parse(&recipe).is_ok());
    let file = scratch.write("r.toml", &recipe);
    corpusdb(&["epoch", "plan", &corpus, &file]).good();
    // The first term had the mark in it, and became a token that no text has.
    let terms = scratch.write("terms.txt", format!("{MARK}zyzzyva\r\nqwertz\r\n"));
    let out = scratch.arg("longer");
    let extend =
        ["tokenizer", "extend", &corpus, "own", "longer", "--terms", &terms, "--out", &out];
    corpusdb(&[&extend[..], &["--forms", "bare", "--no-backfill"]].concat()).good();
    let encoded = ["tokenizer", "encode", &corpus, "longer", "--text", "zyzzyva", "--json"];
    assert_eq!(corpusdb(&encoded).good().json()["tokens"].as_array().unwrap().len(), 1);
    // As an ingest reads a file of text.
    let page = crawl(7, 40, true).into_iter().next().unwrap();
    let file = scratch.write("page.txt", format!("{MARK}{}", page.text));
    let found = corpusdb(&["similar", &corpus, "--file", &file, "--json"]).good();
    assert!(found.stdout.contains(r#""jaccard":1.0"#), "{}", found.stdout);
});

// The mark stood before every text that the template made.
corpusdb_test!(a_template_of_chats_behind_a_mark_makes_the_same_texts, |scratch| {
    let template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    let record = json!({"messages": [
        {"role": "user", "content": "how long is the harbour wall"},
        {"role": "assistant", "content": "some seven hundred ropes"},
    ]});
    let text = |name: &str, template: &str| {
        let (corpus, file) = (scratch.arg(name), scratch.write(&format!("{name}.jinja"), template));
        init(&corpus, &[]);
        let chat = ["--chat", "messages", "--chat-template", &file, "--template-markers", "text"];
        let ingest = [&["ingest", &corpus, "-", "--source", "chats"], &chat[..]].concat();
        corpusdb_reading(&ingest, format!("{record}\n").as_bytes()).good();
        let rows = corpusdb(&["sql", &corpus, "SELECT text FROM documents", "--format", "jsonl"]);
        json_lines(&rows.good().stdout)[0]["text"].as_str().unwrap().to_owned()
    };
    let plain = text("plain", template);
    assert!(plain.starts_with("user: how long"), "{plain}");
    assert_eq!(text("marked", &format!("{MARK}{template}")), plain);
});

corpusdb_test!(tokenizer_files_with_a_byte_order_mark_are_kept_unchanged, |scratch| {
    let corpus = corpus(&scratch);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let open = Corpus::options().memory(MEMORY).open(&corpus).unwrap();
    let json = open.tokenizer_json("own").unwrap();
    let marked = [MARK.as_bytes(), &json[..]].concat();
    let converted = convert(TokenizerInput::TokenizerJson(&marked)).unwrap();
    assert_eq!(converted.json, json);
    assert_eq!(converted.originals, [("tokenizer.json".to_owned(), marked)]);
    let (vocab, merges) = (br#"{"a": 0, "b": 1, "ab": 2}"#, b"#version: 0.2\na b\n");
    let plain = convert(TokenizerInput::VocabAndMerges { vocab, merges }).unwrap().json;
    let [vocab, merges] = [&vocab[..], &merges[..]].map(|text| [MARK.as_bytes(), text].concat());
    let given = TokenizerInput::VocabAndMerges { vocab: &vocab, merges: &merges };
    assert_eq!(convert(given).unwrap().json, plain);
});

// A record of JSON lines with such a mark was read all along; a column of a table was not looked for without it.
corpusdb_test!(inputs_behind_a_mark_have_their_columns, |scratch, corpus| {
    let table = scratch.write("t.csv", format!("{MARK}id,text\r\na,some words of a page\r\n"));
    ingest(&corpus, &[&table], &["--source", "t", "--id-field", "id"]);
    let page = Page::keyed("b", "other words of another page");
    let file = scratch.write("t.jsonl", format!("{MARK}{}", lines(&[page])));
    ingest(&corpus, &[&file], &["--source", "j", "--id-field", "id"]);
    let keys =
        corpusdb(&["sql", &corpus, "SELECT key FROM documents ORDER BY key", "--format", "csv"]);
    assert_eq!(keys.good().stdout, "key\na\nb\n");
});
