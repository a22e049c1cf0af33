//! Suites of evaluation items: found in what is stored and in what comes, whatever the order; told with evidence.

use crate::support::{
    ANSWER, Page, QUESTION, Random, StopAt, StopWhen, TestDir, WEB_BY_ID, around, copy, corpusdb,
    corpusdb_reading, corpusdb_test, digest, ingest, init, lines, numbers, prose, reader, seeds,
    sound, sound_digest, sql, suite, writer,
};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use corpusdb::Context;
use corpusdb::contamination::SuiteFields;
use corpusdb::dedup::{Normaliser, words};
use corpusdb::ingest::ReadOptions;
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All evidence, by the text that has it.
fn by_text(corpus: &str) -> BTreeSet<String> {
    let rows = sql(
        corpus,
        "SELECT d.text, c.suite, c.item, c.part, c.score, c.longest_run, c.matched, c.spans \
         FROM contamination c JOIN documents d ON d.id = c.document",
    );
    rows.iter().map(ToString::to_string).collect()
}

corpusdb_test!(sql_and_verbs_show_evidence_of_old_and_new_documents, |scratch, corpus| {
    let old = [
        Page::keyed(
            "clean",
            "nothing of any suite stands in this page, which tells of other things",
        ),
        Page::keyed("verbatim", around(QUESTION)),
    ];
    scratch.ingest(&corpus, "old.jsonl", lines(&old), &WEB_BY_ID);
    assert!(
        !corpusdb(&["sql", &corpus, "DESCRIBE documents"])
            .good()
            .stdout
            .contains("contaminated_by")
    );

    let items = scratch.write("suite.jsonl", suite());
    let added =
        corpusdb(&["contamination", "add", &corpus, "ours", &items, "--json"]).good().json();
    let found = numbers(&added, ["items", "weak", "unsearchable", "searched", "sighted"]);
    assert_eq!(found, [4, 1, 1, 2, 1]);
    // The same again changes nothing; other items under the name are refused.
    let again =
        corpusdb(&["contamination", "add", &corpus, "ours", &items, "--json"]).good().json();
    assert_eq!(numbers(&again, ["searched", "commits"]), [0, 0]);
    let other = scratch.write("other.jsonl", suite().replace("rolls", "buns"));
    corpusdb(&["contamination", "add", &corpus, "ours", &other])
        .fails(&["`ours` exists already", "drop"]);

    let new = [
        Page::keyed("edited", around(&QUESTION.replace("48", "52"))),
        Page::keyed(
            "short",
            "Q: which town has the TALLEST mill? A: Quilbury, they say, by some two feet.",
        ),
        Page::keyed(
            "asked",
            "Which town has the tallest mill? Nobody who was asked knew of any such mill.",
        ),
        Page::keyed(
            "weak",
            around(
                "tell in your own words why the keeper of the old lighthouse never once came down to the village",
            ),
        ),
    ];
    scratch.ingest(&corpus, "new.jsonl", lines(&new), &["--source", "books", "--id-field", "id"]);
    let rows = sql(
        &corpus,
        "SELECT d.key, c.item, c.part, c.score, c.longest_run, c.weak, c.contaminated FROM contamination c \
         JOIN documents d ON d.id = c.document ORDER BY d.id, c.item, c.part",
    );
    let told: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!([
                row["key"],
                row["item"],
                row["part"],
                row["longest_run"],
                row["weak"],
                row["contaminated"]
            ])
        })
        .collect();
    let tokens = words(QUESTION, Normaliser::Web).len() as u64;
    assert_eq!(
        told,
        [
            json!(["verbatim", "rolls", "question", tokens, false, true]),
            json!(["edited", "rolls", "question", tokens - 4, false, true]),
            json!(["short", "mill", "question", 6, false, true]),
            json!(["weak", "open", "question", 19, true, true]),
        ]
    );
    assert_eq!(rows[0]["score"], 1.0);
    let by = sql(&corpus, "SELECT key FROM documents WHERE contaminated_by = 'ours' ORDER BY id");
    let by: Vec<&str> = by.iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(by, ["verbatim", "edited", "short", "weak"]);
    let none = sql(&corpus, "SELECT count(*) AS n FROM documents WHERE contaminated_by IS NULL");
    assert_eq!(none[0]["n"], 2);

    let report = corpusdb(&["contamination", "report", &corpus, "--json"]).good().json();
    let counts =
        ["items", "contaminated_items", "weak_items", "documents", "sighted_documents", "common"];
    assert_eq!(numbers(&report, counts), [4, 3, 1, 4, 4, 0]);
    assert_eq!(report["sources"][0], json!({ "source": "books", "documents": 3 }));
    let strict =
        corpusdb(&["contamination", "report", &corpus, "--score", "1", "--json"]).good().json();
    assert_eq!(strict["documents"], 3);
    let shown = corpusdb(&["contamination", "show", &corpus, "1"]).good().stdout;
    assert!(shown.contains("ours rolls (question) in document 1: score 1.000"), "{shown}");
    assert!(shown.contains(&QUESTION[..60]) && shown.contains("; contaminated"), "{shown}");
    let worst = corpusdb(&["contamination", "show", &corpus, "ours", "--limit", "1", "--json"])
        .good()
        .json();
    assert_eq!((&worst["document"], &worst["score"]), (&json!(1), &json!(1.0)));
    assert_eq!(corpusdb(&["contamination", "show", &corpus, "clean"]).code, Some(1));
    let listed = corpusdb(&["contamination", "show", &corpus]).good().stdout;
    assert!(listed.contains("ours") && listed.contains("all"), "{listed}");
    sound(&corpus);

    corpusdb(&["contamination", "drop", &corpus, "ours"]).good();
    corpusdb(&["contamination", "drop", &corpus, "ours"])
        .fails(&["no suite `ours`", "there is none"]);
    assert_eq!(sql(&corpus, "SELECT count(*) AS n FROM contamination")[0]["n"], 0);
    sound(&corpus);
});

corpusdb_test!(texts_that_are_not_stored_are_checked_and_nothing_is_written, |scratch, corpus| {
    corpusdb(&["contamination", "check", &corpus, "-"]).fails(&["no suite to check against"]);
    let items = scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    let before = digest(&corpus);
    let pages =
        [Page::keyed("a", around(ANSWER)), Page::keyed("b", "nothing at all of it is here")];
    let ran = corpusdb_reading(
        &["contamination", "check", &corpus, "-", "--id-field", "id", "--json"],
        lines(&pages).as_bytes(),
    );
    assert_eq!(ran.code, Some(1), "{ran}");
    let told = ran.json_lines();
    let found = (told.len(), &told[0]["text"], &told[0]["contaminated"]);
    assert_eq!(found, (2, &json!("a"), &json!(true)));
    assert_eq!(told[0]["evidence"][0]["part"], "answer");
    assert_eq!(numbers(&told[1], ["texts", "contaminated"]), [2, 1]);
    let clean = scratch.write("clean.txt", "a text of which nothing is in any suite");
    let ran = corpusdb(&["contamination", "check", &corpus, &clean]).good();
    assert_eq!(ran.stdout, "0 of 1 texts are contaminated\n");
    assert_eq!(digest(&corpus), before);
});

corpusdb_test!(suites_are_read_from_lines_tables_and_parquet, |scratch, corpus| {
    scratch.ingest(&corpus, "page.txt", around(QUESTION), &["--source", "web", "--format", "text"]);
    let table = format!("question,A,B,answer\n\"{QUESTION}\",71,72,B\n");
    let table = scratch.write("mmlu.csv", table);
    let batch = RecordBatch::try_from_iter([
        ("question", Arc::new(StringArray::from(vec![QUESTION])) as ArrayRef),
        ("answer", Arc::new(Int64Array::from(vec![72])) as ArrayRef),
    ])
    .unwrap();
    let parquet = scratch.arg("items.parquet");
    let file = std::fs::File::create(&parquet).unwrap();
    let mut out = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    out.write(&batch).unwrap();
    out.close().unwrap();
    let humaneval =
        json!({ "task_id": "H/0", "prompt": QUESTION, "canonical_solution": ANSWER, "test": "" });
    let humaneval = scratch.write("humaneval.jsonl", format!("{humaneval}\n"));
    let named = scratch.write(
        "named.jsonl",
        format!("{}\n", json!({ "ask": QUESTION, "gold": { "text": "72" } })),
    );
    for (name, file, more) in [
        ("table", &table, &[][..]),
        ("parquet", &parquet, &[]),
        ("humaneval", &humaneval, &[]),
        ("named", &named, &["--question", "ask", "--answer", "gold.text"]),
    ] {
        let added =
            corpusdb(&[&["contamination", "add", &corpus, name, file, "--json"], more].concat());
        let found = numbers(&added.good().json(), ["items", "weak", "sighted"]);
        assert_eq!(found, [1, 0, 1], "{name}");
    }
    let items =
        sql(&corpus, "SELECT item FROM contamination WHERE part = 'question' ORDER BY suite");
    let items: Vec<&str> = items.iter().map(|row| row["item"].as_str().unwrap()).collect();
    assert_eq!(items, ["H/0", "named.jsonl:0", "items.parquet:0", "mmlu.csv:0"]);
    let by = sql(&corpus, "SELECT contaminated_by FROM documents");
    assert_eq!(by[0]["contaminated_by"], "humaneval, named, parquet, table");

    let before = digest(&corpus);
    let bad = scratch.write("bad.jsonl", "{\"question\": \"What is it?\"}\n{\"x\": 1}\n");
    corpusdb(&["contamination", "add", &corpus, "bad", &bad]).fails(&[
        "bad.jsonl: record 1 (counted from 0)",
        "its fields are x",
        "--question",
    ]);
    corpusdb(&["contamination", "add", &corpus, "a,b", &named, "--question", "ask"])
        .fails(&["without commas"]);
    assert_eq!(digest(&corpus), before);
});

corpusdb_test!(items_of_one_id_are_two_items, |scratch, corpus| {
    let other = QUESTION.replace(' ', " very ");
    let pages = scratch.write("pages.jsonl", {
        let page = |text: &str| format!("{}\n", json!({ "text": around(text) }));
        page(QUESTION) + &page(&other)
    });
    ingest(&corpus, &[&pages], &["--source", "web"]);
    let item = |id: &str, question: &str| {
        format!("{}\n", json!({ "id": id, "question": question, "answer": "72" }))
    };
    for folder in ["a", "b"] {
        std::fs::create_dir(scratch.path(folder)).unwrap();
    }
    let first = scratch.write("a/items.jsonl", item("q", QUESTION) + &item("q", &other));
    let second =
        scratch.write("b/items.jsonl", item("q", "What is the capital of France?").repeat(2));
    let added = corpusdb(&["contamination", "add", &corpus, "ours", &first, &second, "--json"]);
    assert_eq!(numbers(&added.good().json(), ["items", "sighted"]), [4, 2]);
    let found = sql(
        &corpus,
        "SELECT document, item FROM contamination WHERE part = 'question' AND contaminated ORDER BY document",
    );
    let expected =
        [json!({ "document": 0, "item": "q" }), json!({ "document": 1, "item": "items.jsonl:1" })];
    assert_eq!(found, expected);
    // A verdict on one is not on the other.
    corpusdb(&["contamination", "review", &corpus, "--reject", "ours:q=0"]).good();
    let by = sql(&corpus, "SELECT contaminated_by AS suite FROM documents ORDER BY id");
    assert_eq!(by, [json!({ "suite": null }), json!({ "suite": "ours" })]);
    // Files of one name are distinguished by the directory.
    let town = json!({ "id": 3, "text": "What is the capital of France? 72" });
    let town = scratch.write("town.jsonl", format!("{town}\n"));
    let checked = corpusdb(&["contamination", "check", &corpus, &town, "--json"]).json_lines();
    let names = checked[0]["evidence"].as_array().unwrap().iter().map(|one| &one["item"]);
    let mut names: Vec<&str> = names.map(|name| name.as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names[1], "items.jsonl:0");
    assert!(names.len() == 2 && names[0].ends_with("/b/items.jsonl:1"), "{names:?}");
});

corpusdb_test!(ngrams_of_very_many_documents_are_ignored, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let items = scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    let pages = |from: usize| -> Vec<Page> {
        (from..from + 20)
            .map(|n| Page::keyed(format!("p{n}"), format!("{QUESTION} page {n}")))
            .collect()
    };
    for (source, from) in [("a", 0), ("b", 20)] {
        let file = scratch.write(&format!("{source}.jsonl"), lines(&pages(from)));
        ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
    }
    let documents = |more: &[&str]| {
        let ran = corpusdb(&[&["contamination", "report", &corpus, "--json"], more].concat());
        numbers(&ran.good().json(), ["documents"])[0]
    };
    // Forty documents of two sources: not enough of either.
    assert_eq!((documents(&[]), documents(&["--common-documents", "40"])), (40, 40));
    scratch.ingest(&corpus, "c.jsonl", lines(&pages(40)), &["--source", "c", "--id-field", "id"]);
    assert_eq!((documents(&[]), documents(&["--common-documents", "61"])), (0, 60));
    // However many copies there are of a page: it is one text.
    let copies = |n: usize| Page::keyed(format!("copy{n}"), format!("{ANSWER} a page of its own"));
    for (source, from) in [("a", 100), ("b", 200), ("c", 300)] {
        let pages: Vec<Page> = (from..from + 20).map(copies).collect();
        let file = scratch.write(&format!("{source}{from}.jsonl"), lines(&pages));
        ingest(&corpus, &[&file], &["--source", source, "--id-field", "id"]);
    }
    assert_eq!(documents(&[]), 60);
    corpusdb(&["remove", &corpus, "--where", "text LIKE '%a page of its own'"]).good();
    // Kept documents count, as they are now: what the user removes is seen again in what is left.
    corpusdb(&["remove", &corpus, "--where", "source = 'c'"]).good();
    assert_eq!(documents(&[]), 40);
    sound(&corpus);
});

corpusdb_test!(an_interrupted_search_resumes_alone_and_with_an_ingest, |scratch| {
    let (whole, cut, other) = (scratch.path("whole"), scratch.path("cut"), scratch.path("other"));
    let name = whole.display().to_string();
    init(&name, &["--mode", "none"]);
    // More than a commit has.
    let long = "word ".repeat(100_000);
    let pages: Vec<Page> = (0..12)
        .map(|n| {
            Page::keyed(
                format!("p{n}"),
                format!("{n} {long} {}", if n % 3 == 0 { QUESTION } else { "" }),
            )
        })
        .collect();
    scratch.ingest(&name, "pages.jsonl", lines(&pages), &WEB_BY_ID);
    copy(&whole, &cut);
    let items = scratch.write("suite.jsonl", suite());
    let files = [items.clone()];
    let (read, fields) = (ReadOptions::default(), SuiteFields::default());
    let report = writer(&whole).add_suite("ours", &files, &read, &fields, &Context::new()).unwrap();
    assert_eq!((report.searched, report.sighted), (12, 4));
    assert!(report.commits > 2, "{report:?}");

    // Once for the items that are read, then after a commit.
    let stopping = StopAt::new(StopWhen::Advance(6));
    let error =
        writer(&cut).add_suite("ours", &files, &read, &fields, &stopping.context()).unwrap_err();
    assert!(error.is_interrupt(), "{error}");
    let suites = reader(&cut).suites().unwrap();
    assert!(!suites[0].complete && suites[0].searched > 0 && suites[0].searched < 12, "{suites:?}");
    assert_ne!(sound_digest(&reader(&cut)), sound_digest(&reader(&whole)));
    copy(&cut, &other);
    let report = writer(&cut).add_suite("ours", &files, &read, &fields, &Context::new()).unwrap();
    assert!(report.searched < 12, "{report:?}");
    assert_eq!(sound_digest(&reader(&cut)), sound_digest(&reader(&whole)));
    // An ingest finishes it first.
    let nothing = scratch.write("more.jsonl", lines(&pages[..1]));
    ingest(&other.display().to_string(), &[&nothing], &WEB_BY_ID);
    assert!(reader(&other).suites().unwrap()[0].complete);
    assert_eq!(by_text(&other.display().to_string()), by_text(&name));
    sound_digest(&reader(&other));
});

/// An item of a suite of code.
const CODE: &str = "def below_limit(numbers: list, limit: int) -> bool:\n    \"\"\" Tell whether the numbers given are all below the limit.\n    >>> below_limit([1, 2, 3], 4)\n    True\n    >>> below_limit([1, 20, 4, 5], 5)\n    False\n    \"\"\"\n";

#[test]
fn code_with_renamed_identifiers_is_contaminated() {
    let renamed = CODE.replace("below_limit", "f").replace("numbers", "xs").replace("limit", "top");
    let tokens = |text: &str| words(text, Normaliser::Web);
    let (item, page) = (tokens(CODE), tokens(&renamed));
    assert_eq!(item.len(), page.len());
    // No run of eight tokens is left of it.
    assert!(item.windows(8).zip(page.windows(8)).all(|(a, b)| a != b), "{item:?} {page:?}");
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    // Two words for one: nothing of it is at one distance.
    let shifted = CODE.replace("below_limit", "f of").replace("numbers", "the xs");
    let shifted = shifted.replace("limit", "top most");
    let pages = |name: &str| {
        lines(&[
            Page::keyed(format!("{name}-renamed"), format!("{name} {}", around(&renamed))),
            Page::keyed(format!("{name}-clean"), format!("{name} {}", around("[1, 2, 3], 4"))),
            Page::keyed(format!("{name}-shifted"), format!("{name} {}", around(&shifted))),
        ])
    };
    let old = scratch.write("old.jsonl", pages("old"));
    ingest(&corpus, &[&old], &WEB_BY_ID);
    let task = json!({ "task_id": "C/0", "prompt": CODE, "canonical_solution": "    return all(n < limit for n in numbers)\n" });
    let tasks = scratch.write("tasks.jsonl", format!("{task}\n"));
    corpusdb(&["contamination", "add", &corpus, "tasks", &tasks]).good();
    let new = scratch.write("new.jsonl", pages("new"));
    ingest(&corpus, &[&new], &WEB_BY_ID);
    let rows = sql(
        &corpus,
        "SELECT d.key, c.part, c.matched, c.longest_run, c.contaminated, c.spans FROM contamination c \
         JOIN documents d ON d.id = c.document WHERE c.contaminated ORDER BY d.id",
    );
    let keys: Vec<&str> = rows.iter().map(|row| row["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["old-renamed", "new-renamed"], "{rows:?}");
    for row in &rows {
        assert_eq!((&row["part"], &row["matched"]), (&json!("question"), &json!(0)), "{row}");
        assert!((5..8).contains(&row["longest_run"].as_u64().unwrap()), "{row}");
    }
    let shown = corpusdb(&["contamination", "show", &corpus, "old-renamed"]).good().stdout;
    assert!(shown.contains("C/0 (question)") && shown.contains("contaminated"), "{shown}");
    let pairs = corpusdb(&["contamination", "review", &corpus, "--json"]).good().json_lines();
    assert_eq!(pairs.len(), 2);
    corpusdb(&["contamination", "review", &corpus, "--accept", "tasks:C/0=new-renamed"]).good();
    sound(&corpus);
}

/// What the definition says of a text: parts of items of which a run of eight tokens stands in it, by the longest.
fn defined(text: &str, items: &BTreeMap<String, [String; 2]>) -> BTreeMap<(String, String), usize> {
    let text = words(text, Normaliser::Web);
    let mut found = BTreeMap::new();
    for (id, parts) in items {
        for (part, told) in parts.iter().zip(["question", "answer"]) {
            let part = words(part, Normaliser::Web);
            let run = |a: usize, b: usize| {
                text[a..].iter().zip(&part[b..]).take_while(|(a, b)| a == b).count()
            };
            let longest = (0..text.len()).flat_map(|a| (0..part.len()).map(move |b| (a, b)));
            let longest = longest.map(|(a, b)| run(a, b)).max().unwrap_or(0);
            if longest >= 8 {
                found.insert((id.clone(), told.to_owned()), longest);
            }
        }
    }
    found
}

/// Suites come and go while documents come, change, are removed and are purged; at the end there is what a corpus has
/// that was given the suites first and then every text at once, and what the definition says.
#[test]
fn evidence_does_not_depend_on_history() {
    for seed in 1..=seeds(3) {
        let mut random = Random::new(seed);
        let mut items: BTreeMap<String, [String; 2]> = BTreeMap::new();
        for number in 0..12 {
            let lengths = [random.between(9, 40), random.between(1, 20)];
            let parts = lengths.map(|length| prose(&mut random, number, length));
            items.insert(format!("i{number:02}"), parts);
        }
        let scratch = TestDir::new();
        let write = |name: &str, items: &BTreeMap<String, [String; 2]>| {
            let line = |(id, [question, answer]): (&String, &[String; 2])| {
                format!("{}\n", json!({ "id": id, "question": question, "answer": answer }))
            };
            scratch.write(name, items.iter().map(line).collect::<String>())
        };
        let file = write("items.jsonl", &items);
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        history(&mut random, &scratch, &corpus, &file, &items);
        corpusdb(&["contamination", "add", &corpus, "s", &file]).good();
        sound(&corpus);

        // Anew: the suite first, then all texts that are left, in one batch.
        let anew = scratch.arg("anew");
        init(&anew, &["--mode", "none"]);
        corpusdb(&["contamination", "add", &anew, "s", &file]).good();
        let left = sql(&corpus, "SELECT DISTINCT text FROM documents WHERE text <> ''");
        let texts: Vec<String> =
            left.iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect();
        let pages: Vec<Page> = texts
            .iter()
            .enumerate()
            .map(|(n, text)| Page::keyed(format!("k{n}"), text.clone()))
            .collect();
        let all = scratch.write("all.jsonl", lines(&pages));
        ingest(&anew, &[&all], &["--source", "all", "--id-field", "id"]);
        let found = by_text(&corpus);
        assert!(found.len() > 5, "seed {seed}: {}", found.len());
        assert_eq!(found, by_text(&anew), "seed {seed}");

        let rows = sql(
            &anew,
            "SELECT d.text, c.item, c.part, c.longest_run, c.score FROM contamination c JOIN documents d ON d.id = c.document",
        );
        let mut told: BTreeMap<&str, BTreeMap<(String, String), u64>> = BTreeMap::new();
        for row in &rows {
            let place = (
                row["item"].as_str().unwrap().to_owned(),
                row["part"].as_str().unwrap().to_owned(),
            );
            told.entry(row["text"].as_str().unwrap())
                .or_default()
                .insert(place, row["longest_run"].as_u64().unwrap());
        }
        for text in &texts {
            let told = told.remove(text.as_str()).unwrap_or_default();
            let defined = defined(text, &items);
            // Short questions may be there as a whole beside what runs say.
            assert!(
                defined.keys().all(|place| told.contains_key(place)),
                "seed {seed}: {told:?} {defined:?}"
            );
            for (place, run) in &told {
                let longest = defined.get(place).copied().unwrap_or(0) as u64;
                let is_short = words(&items[&place.0][0], Normaliser::Web).len() < 13;
                // Pieces are shorter than the runs of the definition.
                assert!(
                    *run <= longest.max(7) || is_short,
                    "seed {seed}: {place:?} {run} {longest}"
                );
            }
        }
    }
}

/// Some twenty steps.
fn history(
    random: &mut Random,
    scratch: &TestDir,
    corpus: &str,
    file: &str,
    items: &BTreeMap<String, [String; 2]>,
) {
    let all: Vec<&[String; 2]> = items.values().collect();
    for step in 0..14 {
        match random.below(8) {
            0 => drop(corpusdb(&["contamination", "add", corpus, "s", file])),
            1 => drop(corpusdb(&["contamination", "drop", corpus, "s"])),
            2 => drop(corpusdb(&[
                "remove",
                corpus,
                "--where",
                &format!("id % 5 = {}", random.below(5)),
            ])),
            3 => drop(corpusdb(&["restore", corpus, "--where", "standing = 'removed'"])),
            4 => {
                let some = format!("id % 7 = {}", random.below(7));
                corpusdb(&["purge", corpus, "--where", &some, "--no-block", "--force"]);
            }
            _ => {
                let mut page = |_| {
                    let [question, answer] = all[random.below(all.len())];
                    let words: Vec<&str> = question.split(' ').collect();
                    let from = random.below(words.len());
                    let number = random.below(1000);
                    let filler = prose(random, number, 12);
                    // One word in seven is another: no run of eight is left.
                    let replaced = |(at, word): (usize, &&str)| {
                        if at % 7 == from % 7 { "stray".to_owned() } else { (*word).to_owned() }
                    };
                    let text = match random.below(6) {
                        0 => filler,
                        1 => format!("{filler}\n\n{question}\n\n{answer}"),
                        2 => format!("{filler} {}", words[from..].join(" ")),
                        3 => format!(
                            "{} stray {filler} {}",
                            words[..from].join(" "),
                            words[from..].join("  ")
                        ),
                        4 => words.iter().enumerate().map(replaced).collect::<Vec<_>>().join(" "),
                        _ => format!("{question} {answer}"),
                    };
                    Page::keyed(format!("p{}", random.below(40)), text)
                };
                let pages: Vec<Page> = (0..12).map(&mut page).collect();
                let name = scratch.write(&format!("{step}.jsonl"), lines(&pages));
                let bytes = ["2kB", "64MB"][random.below(2)];
                ingest(
                    corpus,
                    &[&name],
                    &["--source", "web", "--id-field", "id", "--batch-bytes", bytes],
                );
            }
        }
    }
}

corpusdb_test!(a_purge_drops_evidence_and_keeps_items_of_suites, |scratch, corpus| {
    let items = scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    // The second has the text of the first, which lends it.
    let pages = [
        Page::keyed("first", around(QUESTION)),
        Page::keyed("twin", around(QUESTION)),
        Page::keyed("other", around(ANSWER)),
    ];
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &WEB_BY_ID);
    let documents = || -> Vec<u64> {
        let rows = sql(&corpus, "SELECT DISTINCT document FROM contamination ORDER BY document");
        rows.iter().map(|row| row["document"].as_u64().unwrap()).collect()
    };
    assert_eq!(documents(), [0, 1, 2]);
    corpusdb(&["purge", &corpus, "first", "--no-block"]).good();
    assert_eq!(documents(), [1, 2]);
    sound(&corpus);
    corpusdb(&["purge", &corpus, "--where", "key IN ('twin', 'other')", "--no-block"]).good();
    assert!(documents().is_empty());
    sound(&corpus);
    // Its words stand in the suite, and are the suite's.
    let proof = scratch.arg("proof.json");
    corpusdb(&["purge", &corpus, "--prove", &proof]).good();
    let proof: Value = serde_json::from_str(&std::fs::read_to_string(&proof).unwrap()).unwrap();
    let found = (&proof["clean"], proof["suite_runs"].as_u64() > Some(0));
    assert_eq!(found, (&json!(true), true), "{proof}");
    assert!(corpusdb(&["contamination", "show", &corpus]).good().stdout.contains("ours"));
});

corpusdb_test!(suites_beyond_the_memory_are_refused_before_any_write, |scratch, corpus| {
    let mut random = Random::new(5);
    let item = |n: usize| {
        format!("{}\n", json!({ "question": format!("{n} {}", prose(&mut random, n, 500)) }))
    };
    let large = scratch.write("large.jsonl", (0..1000).map(item).collect::<String>());
    let before = digest(&corpus);
    let add = ["contamination", "add", &corpus, "large", &large, "--memory", "32MB"];
    corpusdb(&add).fails(&["bytes of memory", "give --memory", "or drop a suite"]);
    assert_eq!(digest(&corpus), before);
});
