//! Formats of files: what each gives, which files are read again, and which field is the text.

use crate::support::tabular::parquet_of_pages;
use crate::support::{
    Page, TestDir, corpusdb_reading, corpusdb_test, crawl, gzip, json_lines, lines, numbers,
    repository, zstd,
};

/// All texts, in the order of ids.
fn texts(t: &TestDir, corpus: &str) -> Vec<String> {
    t.column(corpus, "SELECT text FROM documents ORDER BY id")
}

corpusdb_test!(every_format_gives_the_same_texts_once, |t| {
    let pages = crawl(21, 60, true);
    let jsonl = lines(&pages);
    t.write("plain.jsonl", &jsonl);
    t.run("init plain");
    t.run("ingest plain plain.jsonl --source web");
    let expected = texts(&t, "plain");
    assert_eq!(expected, pages.iter().map(|page| page.text.clone()).collect::<Vec<_>>());
    // Compression is recognised by content: the names say something else.
    t.write("gz/pages.jsonl", gzip(jsonl.as_bytes()));
    t.write("zst/pages.jsonl.gz", zstd(jsonl.as_bytes()));
    let (first, second) = jsonl.as_bytes().split_at(jsonl.len() / 3);
    t.write("members/pages.gz", [gzip(first), gzip(second)].concat());
    t.write("frames/pages.zst", [zstd(first), zstd(b""), zstd(second)].concat());
    t.write("parquet/pages", "");
    parquet_of_pages(&t.path("parquet/pages"), &pages);
    for name in ["gz", "zst", "members", "frames", "parquet"] {
        let corpus = format!("{name}.corpus");
        t.run(&format!("init {corpus}"));
        let ingest = format!("ingest {corpus} {name} --source web --json");
        let small = format!("{ingest} --batch-bytes 3kB");
        let ran = t.run(&small).counts("read 60, added 60, unchanged 0, rejected 0");
        let report = ran.json();
        assert_eq!(report["type"], "ingest");
        let standings = ["kept", "exact_duplicates", "near_duplicates", "empty"];
        assert_eq!(numbers(&report, standings).iter().sum::<u64>(), 60, "{ran}");
        assert_eq!(texts(&t, &corpus), expected, "{name}");
        let before = t.run(&format!("check {corpus} --digest")).stdout;
        // Unread, because size and time are the same; then read, and known record for record.
        t.run(&small).counts("read 0, added 0, unchanged 60, commits 0");
        t.run(&format!("{ingest} --reread")).counts("added 0, unchanged 60, rejected 0");
        assert_eq!(t.run(&format!("check {corpus} --digest")).stdout, before, "{name}");
        t.sound(&corpus);
    }
});

corpusdb_test!(files_made_by_other_tools_are_read, |t| {
    let corpora = repository("tests/corpora");
    let pages = std::fs::read_to_string(corpora.join("pages.jsonl")).unwrap();
    let text = |page: &serde_json::Value| page["text"].as_str().unwrap().to_owned();
    let expected: Vec<String> = json_lines(&pages).iter().map(text).collect();
    for name in ["pages.jsonl", "pages-members.gz", "pages-frames.zst"] {
        let file = corpora.join(name);
        t.run(&format!("init {name}"));
        t.run(&format!("ingest {name} '{}' --source web --id-field id", file.display()));
        assert_eq!(texts(&t, name), expected, "{name}");
        let shown = t.run(&format!("show {name} --key 7 --json")).counts("id 7").json();
        assert_eq!(shown["metadata"]["year"], 2007, "{name}");
    }
});

corpusdb_test!(text_files_and_directories_are_read_in_byte_order_of_path, |t| {
    let prose = repository("tests/corpora/prose").display().to_string();
    t.run("init c");
    t.run(&format!("ingest c '{prose}' --source rights --format text --json"))
        .counts("added 4, kept 4");
    let keys = t.column("c", "SELECT key FROM documents ORDER BY id");
    let names: Vec<&str> = keys.iter().map(|key| key.strip_prefix(&prose).unwrap()).collect();
    assert_eq!(names, ["/asia/hi.txt@0", "/asia/zh.txt@1", "/de.txt@2", "/ru.txt@3"]);
    let read = |name: &str| std::fs::read_to_string(format!("{prose}/{name}")).unwrap();
    assert_eq!(texts(&t, "c"), ["asia/hi.txt", "asia/zh.txt", "de.txt", "ru.txt"].map(read));

    // The same by pattern and one by one, in the order given; a file reached twice is read once.
    t.run("init other");
    t.run(&format!("ingest other '{prose}/**/*.txt' '{prose}/de.txt' '{prose}' --source rights"));
    t.same("other", "c");

    t.write("hidden/.secret", "not for reading");
    t.ran("ingest c hidden --source x").fails(&["no files in this directory", "hidden"]);
    t.ran("ingest c nowhere --source x").fails(&["nowhere", "no such file"]);
    t.ran("ingest c *.nothing --source x").fails(&["*.nothing", "no file matches"]);
});

corpusdb_test!(standard_input_is_read_to_its_end_and_again_adds_nothing, |t| {
    t.run("init c");
    let jsonl = lines(&crawl(22, 40, false)).into_bytes();
    let arguments = ["ingest", &t.arg("c"), "-", "--source", "pipe", "--json"];
    let packed = [gzip(&jsonl), zstd(&jsonl)];
    corpusdb_reading(&arguments, &jsonl).good().counts("added 40, unchanged 0, rejected 0");
    for input in packed {
        corpusdb_reading(&arguments, &input).good().counts("added 0, unchanged 40, rejected 0");
    }
    t.sound("c");
});

corpusdb_test!(only_changed_files_are_read_again, |t| {
    t.run("init c");
    let pages = crawl(23, 90, false);
    for (at, part) in pages.chunks(30).enumerate() {
        t.write(&format!("crawl/{at}.jsonl"), lines(part));
    }
    let again = || t.run("ingest c crawl --source web --batch-bytes 2kB --json");
    again().counts("added 90, unchanged 0, rejected 0");
    again().counts("read 0, added 0, unchanged 90");
    // Lines appended: only they are new. A file rewritten: what stands where it stood is known.
    let appended = Page::new("appended to the second file").line();
    t.write("crawl/1.jsonl", lines(&pages[30..60]) + &appended);
    again().counts("read 1, added 1, unchanged 90");
    let mut changed = pages[..30].to_vec();
    changed[4].text = "another text at the same place".to_owned();
    t.write("crawl/0.jsonl", lines(&changed));
    again().counts("read 30, added 1, unchanged 90");
    again().counts("read 0, added 0, unchanged 91");
    t.sound("c");
});

corpusdb_test!(the_text_field_is_guessed_in_order_named_or_asked_for, |t| {
    t.run("init c");
    t.write(
        "a.jsonl",
        "{\"body\":\"the body\",\"document\":\"the document\",\"raw_content\":\"raw\"}\n",
    );
    t.run("ingest c a.jsonl --source guessed");
    t.run("ingest c a.jsonl --source named --text-field body");
    assert_eq!(texts(&t, "c"), ["raw", "the body"]);
    t.write("b.jsonl", "{\"titel\":\"x\",\"inhalt\":\"y\"}\n");
    t.ran("ingest c b.jsonl --source x").fails(&["b.jsonl", "`titel`, `inhalt`", "--text-field"]);
    parquet_of_pages(&t.path("c.parquet"), &crawl(1, 3, true));
    t.ran("ingest c c.parquet --source x --text-field inhalt").fails(&[
        "c.parquet",
        "inhalt",
        "`id`, `text`, `language`, `year`",
    ]);
    t.run("count c").is("2");
    t.sound("c");
});

corpusdb_test!(an_empty_cell_equals_a_null, |t| {
    t.run("init c");
    t.write("a.csv", "id,text,n\n1,,1\n2,\"\",2\n3,three words here,3\n");
    t.run("ingest c a.csv --source web --id-field id --json")
        .counts("added 2, empty 1, rejected 1");
    t.run("rejects c").prints(&["no text: field `text` is absent or null"]);
    t.sound("c");
});

corpusdb_test!(an_unknown_tokenizer_is_refused_before_anything_is_read, |t| {
    t.run("init c");
    t.write("a.jsonl", lines(&crawl(30, 5, false)));
    t.ran("ingest c a.jsonl --source web --tokenizer gpt2")
        .fails(&["no tokenizer `gpt2`", "tokenizer add"]);
    t.run("count c").is("0");
});
