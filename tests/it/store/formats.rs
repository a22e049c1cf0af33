//! Golden stores: what an earlier binary wrote is read, checked, and goes on.

use crate::support::{
    Page, TestDir, command, copy, corpusdb, corpusdb_reading, crawl, declaring, init, lines,
    numbers, reader, repository, sound_digest, strip_logs, trained, writer,
};
use corpusdb::Context;
use corpusdb::tokenizer::Tokenizer;
use std::path::Path;

/// The digest that the golden store of `format` had when it was made.
fn expected(format: &str) -> String {
    let digest =
        std::fs::read_to_string(repository("tests/formats").join(format).join("digest")).unwrap();
    digest.trim().to_owned()
}

#[test]
fn golden_stores_of_every_format_open_with_their_digest() {
    let mut formats = 0;
    for entry in std::fs::read_dir(repository("tests/formats")).unwrap() {
        let entry = entry.unwrap();
        let format = entry.file_name().into_string().unwrap();
        // Beside the stores there are epochs.
        if !entry.file_type().unwrap().is_dir() || !format.starts_with('v') {
            continue;
        }
        let expected = expected(&format);
        let scratch = TestDir::new();
        let corpus = scratch.path("corpus");
        copy(&entry.path().join("corpus"), &corpus);
        // The first writer may migrate, the second finds nothing to do.
        for _ in 0..2 {
            drop(writer(&corpus));
            assert_eq!(sound_digest(&reader(&corpus)), expected, "{format}");
        }
        shows_what_was_put_in(&corpus);
        // It goes on: what it knows is unchanged, what is new is added and deduplicated against it.
        let name = corpus.display().to_string();
        let again = ["ingest", &name, "-", "--source", "web", "--id-field", "id", "--json"];
        let report =
            corpusdb_reading(&again, lines(&crawl(7, 70, true)[60..]).as_bytes()).good().json();
        let [read, unchanged] = numbers(&report, ["read", "unchanged"]);
        assert_eq!(read, 10);
        assert!(unchanged < 10);
        let twin = corpusdb_reading(
            &["ingest", &name, "-", "--source", "more", "--json"],
            lines(&[first_kept()]).as_bytes(),
        )
        .good()
        .json();
        assert_eq!(numbers(&twin, ["added", "exact_duplicates"]), [1, 1], "{format}");
        let grown = sound_digest(&reader(&corpus));
        assert_ne!(grown, expected);
        formats += 1;
    }
    assert!(formats >= 1);
}

/// The first page that is kept and never superseded.
fn first_kept() -> Page {
    Page { id: None, ..pages().into_iter().next().unwrap() }
}

/// The text of the ids that come along, by the byte tokens of the golden store's tokenizer.
const GIVEN: &str = "abcd";

/// The text of the first page.
const FIRST_PAGE: &str = "the first page of the golden store is kept, and nothing like it follows";

/// A suite that asks for it.
const SUITE: &str = r#"{"id": "it", "question": "The first page of the golden store is kept, and nothing like it follows?", "answer": "yes"}"#;

/// What every golden store was made of.
fn pages() -> Vec<Page> {
    let mut pages = vec![Page::keyed("first", FIRST_PAGE)];
    pages.extend(crawl(7, 60, true));
    pages
}

fn shows_what_was_put_in(corpus: &Path) {
    let corpus = reader(corpus);
    let info = corpus.info().unwrap();
    let shown = info.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>();
    assert_eq!(shown, ["web", "notes"]);
    assert_eq!((info.tokenizers.len(), info.snapshots.len(), info.rejects), (1, 1, 1));
    assert!(
        info.standings.iter().filter(|count| count.documents > 0).count() >= 5,
        "{:?}",
        info.standings
    );
    let chat = "<|im_start|>user\nWhat is kept?<|im_end|>\n<|im_start|>assistant\nWhat was answered.<|im_end|>\n";
    let late = Page::new(FIRST_PAGE.to_uppercase());
    let put_in: Vec<String> = pages()
        .into_iter()
        .chain(crawl(8, 20, false))
        .chain([late])
        .map(|page| page.text)
        .chain([chat, GIVEN].map(str::to_owned))
        .collect();
    let texts: Vec<String> =
        (0..info.documents).map(|id| corpus.show(corpusdb::DocId(id)).unwrap().text).collect();
    assert_eq!(texts[0], put_in[0]);
    // A conversation, and ids that came with their record.
    let at = texts.iter().position(|text| text == chat).unwrap();
    let trained = |at: usize| -> String {
        let tokens = corpus.tokens_of(corpusdb::DocId(at as u64), None).unwrap().tokens;
        tokens.into_iter().filter(|token| token.trained).map(|token| token.text).collect()
    };
    assert_eq!(
        (trained(at).as_str(), trained(at + 1).as_str()),
        ("What was answered.<|im_end|>\n", "cd")
    );
    // Evidence of a suite, from before and after it was added, and what was decided about one of them.
    let rule = corpusdb::contamination::ContaminationRule::default();
    let evidence = corpus.suite_evidence("asked", &rule, 10).unwrap();
    let told: Vec<_> = evidence.iter().map(|one| (one.document, one.contaminated)).collect();
    let last = texts.iter().rposition(|text| *text == FIRST_PAGE.to_uppercase()).unwrap();
    assert_eq!(told, [(Some(0), true), (Some(last as u64), true)]);
    let verdicts: Vec<_> = evidence.iter().filter_map(|one| one.verdict).collect();
    assert_eq!(verdicts, ["accepted"]);
    assert!(texts.len() > 60 && texts.iter().all(|text| put_in.contains(text)));
}

#[test]
#[ignore = "writes tests/formats: run it once when a format is released, never again for that format"]
fn make_a_golden_store() {
    let home = repository("tests/formats").join(format!("v{}", corpusdb::store::format_version()));
    let corpus = home.join("corpus");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(&home).unwrap();
    let name = corpus.display().to_string();
    let fields = declaring(&["url:keyword", "quality:float", "year:int"]);
    init(&name, &[&["--threshold", "0.7"], &fields[..]].concat());
    {
        let mut writer = writer(&corpus);
        writer
            .add_tokenizer("own", trained(), "trained on a test's crawl", &Context::new())
            .unwrap();
    }
    // Through standard input, so that no path of the machine is in it.
    let input = format!("{}not a line\n", lines(&pages()));
    corpusdb_reading(
        &["ingest", &name, "-", "--source", "web", "--id-field", "id", "--batch-bytes", "4kB"],
        input.as_bytes(),
    )
    .good();
    corpusdb(&["snapshot", "create", &name, "then"]).good();
    let more = lines(&crawl(8, 20, false));
    corpusdb_reading(&["ingest", &name, "-", "--source", "notes"], more.as_bytes()).good();
    let template = home.join("chatml.jinja");
    std::fs::write(&template, "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}").unwrap();
    let chat = r#"{"messages": [{"role": "user", "content": "What is kept?"}, {"role": "assistant", "content": "What was answered."}]}"#;
    let chats =
        ["ingest", &name, "-", "--source", "notes", "--chat", "messages", "--chat-template"];
    corpusdb_reading(
        &[&chats[..], &[template.to_str().unwrap(), "--template-markers", "text"]].concat(),
        chat.as_bytes(),
    )
    .good();
    std::fs::remove_file(template).unwrap();
    let own = Tokenizer::load(trained(), &[]).unwrap();
    let ids: Vec<u32> = GIVEN.chars().filter_map(|c| own.token_to_id(&c.to_string())).collect();
    let labels = [-100, -100, i64::from(ids[2]), i64::from(ids[3])];
    let given = format!("{{\"input_ids\": {ids:?}, \"labels\": {labels:?}}}");
    let pretokenized = ["ingest", &name, "-", "--source", "notes", "--pretokenized", "own"];
    corpusdb_reading(&pretokenized, given.as_bytes()).good();
    corpusdb_reading(&["contamination", "add", &name, "asked", "-"], SUITE.as_bytes()).good();
    // What comes afterwards is searched for it too.
    let page = Page::keyed("late", FIRST_PAGE.to_uppercase());
    let late = ["ingest", &name, "-", "--source", "notes", "--id-field", "id"];
    corpusdb_reading(&late, page.line().as_bytes()).good();
    corpusdb(&["contamination", "review", &name, "--accept", "asked:it=late"]).good();
    strip_logs(&corpus);
    std::fs::write(home.join("digest"), format!("{}\n", sound_digest(&reader(&corpus)))).unwrap();
    assert!(command(&["info", &name]).status().unwrap().success());
}

/// Stores with a longer history than the ones above: of mode exact, with two tokenizers, and with purged documents under
/// snapshots. A release that changes how documents lie reads them with the same digest and exports the same rows.
const GROWN: [&str; 3] = ["grown-exact", "grown-tokenizers", "grown-purged"];

#[test]
fn grown_stores_have_their_digest_and_rows() {
    for name in GROWN {
        let golden = repository("tests/formats").join(name);
        let scratch = TestDir::new();
        let corpus = scratch.path("corpus");
        copy(&golden.join("corpus"), &corpus);
        drop(writer(&corpus));
        let found = [sound_digest(&reader(&corpus)), hash_of_rows(&scratch, &corpus)];
        let expected = ["digest", "rows"]
            .map(|file| std::fs::read_to_string(golden.join(file)).unwrap().trim().to_owned());
        assert_eq!(found, expected, "{name}");
    }
}

/// blake3 of all documents of a corpus as JSON lines, of every standing, with their ids and what SQL says of them.
fn hash_of_rows(scratch: &TestDir, corpus: &Path) -> String {
    let (name, rows) = (corpus.display().to_string(), scratch.arg("rows.jsonl"));
    let columns = "id,key,source,standing,language,bytes,chars,text,meta";
    corpusdb(&["export", &name, "--all", "--to", &rows, "--columns", columns]).good();
    blake3::hash(&std::fs::read(&rows).unwrap()).to_hex().to_string()
}

#[test]
#[ignore = "writes tests/formats: run it once before the format changes, never again for that format"]
fn make_grown_stores() {
    for name in GROWN {
        let home = repository("tests/formats").join(name);
        let _ = std::fs::remove_dir_all(&home);
        std::fs::create_dir_all(&home).unwrap();
        let corpus = home.join("corpus");
        grow(name, &corpus);
        strip_logs(&corpus);
        let scratch = TestDir::new();
        let hashes =
            [("digest", sound_digest(&reader(&corpus))), ("rows", hash_of_rows(&scratch, &corpus))];
        for (file, hash) in hashes {
            std::fs::write(home.join(file), format!("{hash}\n")).unwrap();
        }
    }
}

fn grow(name: &str, corpus: &Path) {
    let corpus_name = corpus.display().to_string();
    let fields = declaring(&["url:keyword", "quality:float", "year:int"]);
    let mode: &[&str] = match name {
        "grown-exact" => &["--mode", "exact"],
        _ => &["--threshold", "0.7"],
    };
    init(&corpus_name, &[mode, &fields[..]].concat());
    let pour = |source: &str, pages: &[Page]| {
        let more = ["--id-field", "id", "--batch-bytes", "4kB"];
        let ingest = [&["ingest", &corpus_name, "-", "--source", source][..], &more].concat();
        corpusdb_reading(&ingest, lines(pages).as_bytes()).good();
    };
    pour("web", &crawl(17, 90, true));
    match name {
        "grown-exact" => pour("books", &crawl(18, 60, true)),
        "grown-tokenizers" => {
            writer(corpus)
                .add_tokenizer("own", trained(), "trained on a test's crawl", &Context::new())
                .unwrap();
            let small = ["tokenizer", "train", &corpus_name, "small", "--vocab-size", "300"];
            corpusdb(&small).good();
            pour("books", &crawl(18, 60, true));
        }
        _ => {
            corpusdb(&["snapshot", "create", &corpus_name, "first"]).good();
            pour("books", &crawl(18, 60, true));
            corpusdb(&["remove", &corpus_name, "7", "11", "20"]).good();
            corpusdb(&["snapshot", "create", &corpus_name, "second"]).good();
            corpusdb(&["purge", &corpus_name, "3", "7", "100", "--force"]).good();
        }
    }
    // A second crawl: what it has again is unchanged, superseded or new.
    pour("web", &crawl(19, 90, true));
}

/// Stores of two tokenizers of one file, by the rule of masks that each release had: `begin` (format 1 of its record), where
/// a token that begins before the answer is not trained on, and `hold`. Each keeps its rule, for what comes later too.
#[test]
fn tokenizers_keep_the_rule_of_their_masks() {
    let golden = repository("tests/formats/masks");
    let came = std::fs::read_to_string(golden.join("in.jsonl")).unwrap();
    // Of the three answers; the second one is a token that begins with the space of its prompt.
    for (rule, answers) in [
        ("begin", [" Norway", "", " at the moon"]),
        ("hold", [" Norway", " Norway", " Norway at the moon"]),
    ] {
        let scratch = TestDir::new();
        copy(&golden.join(rule).join("corpus"), &scratch.path("c"));
        drop(writer(&scratch.path("c")));
        let corpus = scratch.arg("c");
        let stream = corpusdb(&["epoch", "stream", &corpus, "1"]).good().stdout;
        let expected = std::fs::read_to_string(golden.join(rule).join("epoch.jsonl")).unwrap();
        assert_eq!(stream, expected, "{rule}");
        let later = came.replace("harbour", "moon").replace("{\"id\": \"", "{\"id\": \"later ");
        let chat = ["ingest", &corpus, "-", "--source", "s", "--id-field", "id"];
        let chat = [&chat[..], &["--chat", "prompt-completion", "--json"]].concat();
        let report = corpusdb_reading(&chat, later.as_bytes()).good().json();
        let alarms = report["alarms"].as_array().unwrap().iter();
        let untrained = alarms.filter(|alarm| alarm["kind"] == "untrained");
        let untrained: Vec<_> = untrained.map(|alarm| alarm["conversations"].clone()).collect();
        assert_eq!(untrained, vec![serde_json::json!(1); usize::from(rule == "begin")], "{rule}");
        assert_eq!(trained_texts(&corpus), [answers, answers].concat(), "{rule}");
        sound_digest(&reader(&scratch.path("c")));
        // Registered again, it has today's rule.
        let file = scratch.arg("t.json");
        let exported = corpusdb(&["tokenizer", "export", &corpus, "t", &file]).good();
        drop(exported);
        corpusdb(&["epoch", "drop", &corpus, "1"]).good();
        corpusdb(&["tokenizer", "drop", &corpus, "t"]).good();
        corpusdb(&["tokenizer", "add", &corpus, "t", &file]).good();
        let today = [" Norway", " Norway", " Norway at the moon"];
        assert_eq!(trained_texts(&corpus), [today, today].concat(), "{rule}");
        sound_digest(&reader(&scratch.path("c")));
    }
}

/// What is trained on of each document.
fn trained_texts(corpus: &str) -> Vec<String> {
    let corpus = reader(Path::new(corpus));
    let documents = (0..corpus.info().unwrap().documents).map(corpusdb::DocId);
    let trained = |document| {
        let tokens = corpus.tokens_of(document, None).unwrap().tokens.into_iter();
        tokens.filter(|token| token.trained).map(|token| token.text).collect()
    };
    documents.map(trained).collect()
}

/// A corpus of a release that took values of tables for numbers wherever JSON spells numbers so, in fields and keys: `1e3`
/// is stored under the key 1000, `1.10` as 1.1.
#[test]
fn tables_of_earlier_releases_are_unchanged_when_repeated() {
    let inputs: [(&str, &str, &[&str]); 2] = [
        ("keyed", "keyed.csv", &["--format", "csv", "--id-field", "id"]),
        ("keyless", "keyless.csv", &["--format", "csv"]),
    ];
    repeated(&repository("tests/formats/cells"), &inputs);
}

/// Whether each of the inputs of a golden store adds nothing, read twice: source, file, and how it is read. The store as
/// it is then.
#[track_caller]
fn repeated(golden: &Path, inputs: &[(&str, &str, &[&str])]) -> TestDir {
    let scratch = TestDir::new();
    copy(&golden.join("corpus"), &scratch.path("corpus"));
    drop(writer(&scratch.path("corpus")));
    let corpus = scratch.arg("corpus");
    let before = sound_digest(&reader(&scratch.path("corpus")));
    for (source, file, more) in inputs {
        let text = std::fs::read(golden.join(file)).unwrap();
        for again in [&["--reread"][..], &[]] {
            let mut arguments = vec!["ingest", &corpus, "-", "--source", source, "--json"];
            arguments.extend(more.iter().chain(again));
            let report = corpusdb_reading(&arguments, &text).good().json();
            let [read, unchanged, added] = numbers(&report, ["read", "unchanged", "added"]);
            assert_eq!((unchanged, added), (read, 0), "{file}");
        }
    }
    assert_eq!(sound_digest(&reader(&scratch.path("corpus"))), before);
    scratch
}

/// A corpus of a release that kept the spelling of fields: spaces, escapes, nulls, digits, names that come twice.
#[test]
fn records_of_earlier_releases_are_unchanged_when_repeated() {
    let golden = repository("tests/formats/spelled");
    let template = golden.join("template.jinja").display().to_string();
    let inputs: [(&str, &str, &[&str]); 4] = [
        ("keyed", "keyed.jsonl", &["--id-field", "id"]),
        ("keyless", "keyless.jsonl", &["--format", "jsonl"]),
        ("table", "table.csv", &["--format", "csv", "--id-field", "id"]),
        (
            "chats",
            "chats.jsonl",
            &["--id-field", "id", "--chat", "messages", "--chat-template", &template],
        ),
    ];
    let scratch = repeated(&golden, &inputs);
    // Another value is another record.
    let other =
        std::fs::read_to_string(golden.join("keyed.jsonl")).unwrap().replace("2.50", "2.51");
    let corpus = scratch.arg("corpus");
    let arguments = ["ingest", &corpus, "-", "--source", "keyed", "--id-field", "id", "--json"];
    let report = corpusdb_reading(&arguments, other.as_bytes()).good().json();
    assert_eq!(numbers(&report, ["read", "unchanged", "updated"]), [4, 3, 1]);
}

/// A corpus of a release that had the canonical form, and took order, spelling and captures for content: `init corpus
/// --field score:float --field seen:timestamp`, then each file as here.
#[test]
fn contents_of_earlier_releases_are_unchanged_when_repeated() {
    let golden = repository("tests/formats/contents");
    let template = golden.join("template.jinja").display().to_string();
    let inputs: [(&str, &str, &[&str]); 4] = [
        ("keyed", "keyed.jsonl", &["--id-field", "id"]),
        ("keyless", "keyless.jsonl", &["--format", "jsonl"]),
        ("archive", "archive.wet", &["--id-field", "url"]),
        (
            "chats",
            "chats.jsonl",
            &["--id-field", "id", "--chat", "messages", "--chat-template", &template],
        ),
    ];
    repeated(&golden, &inputs);
}
