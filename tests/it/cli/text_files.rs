//! Texts that editors on Windows wrote: a mark of byte order before scripts, recipes, templates and lists, line ends of
//! two characters, and UTF-16, which is called by its name.

use crate::support::{
    MEMORY, Page, TestDir, corpusdb, corpusdb_reading, crawl, ingest, init, json_lines, lines,
};
use corpusdb::tokenizer::{TokenizerInput, convert};
use corpusdb::{Corpus, Recipe};
use serde_json::json;

const MARK: &str = "\u{feff}";

fn corpus(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("pages.jsonl", lines(&crawl(7, 40, true)));
    ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    corpus
}

/// "sql parser error: Expected: an SQL statement, found: \u{feff}SELECT".
#[test]
fn statements_and_conditions_may_start_with_a_byte_order_mark() {
    let scratch = TestDir::new();
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
}

#[test]
fn text_in_utf_16_is_called_by_its_name() {
    let scratch = TestDir::new();
    let corpus = corpus(&scratch);
    let bytes: Vec<u8> = std::iter::once(0xfeff)
        .chain("SELECT 1".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    let file = scratch.write("q.sql", bytes);
    corpusdb(&["sql", &corpus, "-f", &file]).fails(&["q.sql is UTF-16", "UTF-8"]);
    corpusdb(&["epoch", "explain", &corpus, &file]).fails(&["q.sql is UTF-16"]);
    let file = scratch.write("latin.sql", b"SELECT '\xe9'");
    corpusdb(&["sql", &corpus, "-f", &file]).fails(&["latin.sql is not UTF-8 text at byte 8"]);
}

#[test]
fn recipes_lists_and_texts_behind_a_mark_are_read() {
    let scratch = TestDir::new();
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
}

/// The mark stood before every text that the template made.
#[test]
fn a_template_of_chats_behind_a_mark_makes_the_same_texts() {
    let scratch = TestDir::new();
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
}

#[test]
fn tokenizer_files_with_a_byte_order_mark_are_kept_unchanged() {
    let scratch = TestDir::new();
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
}

/// A record of JSON lines with such a mark was read all along; a column of a table was not looked for without it.
#[test]
fn inputs_behind_a_mark_have_their_columns() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let table = scratch.write("t.csv", format!("{MARK}id,text\r\na,some words of a page\r\n"));
    ingest(&corpus, &[&table], &["--source", "t", "--id-field", "id"]);
    let page = Page::keyed("b", "other words of another page");
    let file = scratch.write("t.jsonl", format!("{MARK}{}", lines(&[page])));
    ingest(&corpus, &[&file], &["--source", "j", "--id-field", "id"]);
    let keys =
        corpusdb(&["sql", &corpus, "SELECT key FROM documents ORDER BY key", "--format", "csv"]);
    assert_eq!(keys.good().stdout, "key\na\nb\n");
}
