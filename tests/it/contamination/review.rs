//! Pairs of items and documents are reviewed: what is decided stays with the text, wherever that goes.

use crate::support::epochs::{EpochCorpus, SPECIALS};
use crate::support::{
    ANSWER, Page, QUESTION, Random, TestDir, WEB_BY_ID, around, assert_contains, copy, corpusdb,
    corpusdb_reading, corpusdb_test, digest, ingest, init, lines, numbers, prose, repository,
    seeds, sound, sql, suite,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

fn review(corpus: &str, more: &[&str]) -> Vec<Value> {
    let asked = [&["contamination", "review", corpus, "--json"], more].concat();
    corpusdb(&asked).good().json_lines()
}

fn judge(corpus: &str, lines: &[Value]) -> Value {
    let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let judge = ["contamination", "review", corpus, "--verdicts", "-", "--json"];
    corpusdb_reading(&judge, lines.as_bytes()).good().json()
}

corpusdb_test!(pairs_are_shown_and_judged_by_the_command, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let pages = [
        Page::keyed("whole", around(&format!("{QUESTION}\n\n{ANSWER}"))),
        Page::keyed("hostile", around(&format!("<script>alert(1)</script> {}", &QUESTION[..90]))),
        Page::keyed("twin", around(&format!("<script>alert(1)</script> {}", &QUESTION[..90]))),
        Page::keyed("clean", "nothing of it stands here, whatever is asked about this page"),
    ];
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &WEB_BY_ID);
    let items = scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();

    // Worst first, a text once however many documents have it.
    let pairs = review(&corpus, &[]);
    let keys: Vec<&str> = pairs.iter().map(|pair| pair["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["whole", "hostile"]);
    assert_eq!((&pairs[0]["item"], &pairs[0]["verdict"]), (&json!("rolls"), &Value::Null));
    let part = &pairs[1]["parts"][0];
    for side in ["asked", "found"] {
        let piece = &part[side][0];
        let text = piece["text"].as_str().unwrap();
        let mark = [0, 1].map(|at| piece["marks"][0][at].as_u64().unwrap() as usize);
        assert!(text[mark[0]..mark[1]].starts_with("A baker sells 48"), "{side}: {piece}");
        assert!(QUESTION[..90].starts_with(&text[mark[0]..mark[1]]), "{side}: {piece}");
    }
    let shown = corpusdb(&["contamination", "review", &corpus]).good().stdout;
    assert!(shown.contains("ours rolls and document 0 (web whole): score 1.000"), "{shown}");
    assert!(shown.contains("[[A baker sells 48") && shown.contains(" | "), "{shown}");
    assert!(!shown.contains('\u{1b}') && !shown.contains("precision"), "{shown}");
    // Drawn by chance, the same with the same seed.
    assert_eq!(review(&corpus, &["--sample", "5"]), review(&corpus, &["--sample", "5"]));
    let drawn: BTreeSet<String> = (0..20)
        .map(|seed| {
            review(&corpus, &["--sample", &seed.to_string(), "--limit", "1"])[0]["key"].to_string()
        })
        .collect();
    assert_eq!(drawn.len(), 2);

    let given = [
        "contamination",
        "review",
        &corpus,
        "--accept",
        "ours:rolls=whole",
        "--reject",
        "ours:rolls=1",
    ];
    let told = corpusdb(&given).good().stdout;
    assert_contains(
        &told,
        &[
            "1 accepted, 1 rejected, 0 deleted; 0 of these verdicts existed already",
            "ours: precision 0.500 (95 % interval 0.095 to 0.905), 1 of 2 pairs",
        ],
    );
    assert!(corpusdb(&given).good().stdout.contains("; 2 of these verdicts existed already"));
    assert_eq!(review(&corpus, &[]), Vec::<Value>::new());
    let verdicts: Vec<Value> =
        review(&corpus, &["--judged"]).iter().map(|pair| pair["verdict"].clone()).collect();
    assert_eq!(verdicts, ["accepted", "rejected"]);
    let rows = sql(
        &corpus,
        "SELECT DISTINCT d.key, c.verdict, c.contaminated, d.contaminated_by FROM contamination c \
         JOIN documents d ON d.id = c.document ORDER BY d.key",
    );
    let told: Vec<Value> = rows
        .iter()
        .map(|row| json!([row["key"], row["verdict"], row["contaminated"], row["contaminated_by"]]))
        .collect();
    // The twin has the text that was rejected.
    assert_eq!(
        told,
        [
            json!(["hostile", "rejected", false, null]),
            json!(["twin", "rejected", false, null]),
            json!(["whole", "accepted", true, "ours"]),
        ]
    );
    let report = corpusdb(&["contamination", "report", &corpus, "--json"]).good().json();
    assert_eq!(numbers(&report, ["documents", "removed_documents"]), [1, 0]);
    assert_eq!(numbers(&report["precision"], ["accepted", "rejected"]), [1, 1]);
    // The same text that is not stored is judged too.
    let check = ["contamination", "check", &corpus, "-", "--id-field", "id", "--json"];
    let checked = corpusdb_reading(&check, lines(&pages[1..2]).as_bytes()).good().json_lines();
    assert_eq!(checked[0]["evidence"][0]["verdict"], "rejected");
    sound(&corpus);

    let page = scratch.arg("review.html");
    corpusdb(&["contamination", "review", &corpus, "--judged", "--html", &page]).good();
    let page = std::fs::read_to_string(&page).unwrap();
    assert_contains(&page, &["&lt;script&gt;alert(1)&lt;/script&gt;", "<mark>A baker"]);
    for bad in ["<script", "src=", "http://", "https://"] {
        assert!(!page.contains(bad), "{bad}");
    }

    // What is printed goes back in, edited or not; null leaves a pair open, none takes a verdict back.
    let mut lines = review(&corpus, &["--judged"]);
    lines[1]["verdict"] = json!("none");
    let report = judge(&corpus, &lines);
    assert_eq!(numbers(&report, ["accepted", "rejected", "withdrawn", "unchanged"]), [1, 0, 1, 1]);
    assert_eq!(
        numbers(&judge(&corpus, &review(&corpus, &[])), ["accepted", "rejected", "withdrawn"]),
        [0, 0, 0]
    );
    let by_key = json!({ "suite": "ours", "item": "rolls", "key": "twin", "verdict": "accepted" });
    judge(&corpus, &[by_key]);
    assert_eq!(review(&corpus, &[]).len(), 0);
    corpusdb(&["contamination", "drop", &corpus, "ours"]).good();
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    assert_eq!(review(&corpus, &[]).len(), 2);
    sound(&corpus);
});

corpusdb_test!(verdicts_on_unknown_pairs_are_refused_and_not_stored, |scratch, corpus| {
    scratch.ingest(
        &corpus,
        "pages.jsonl",
        lines(&[Page::keyed("a", around(QUESTION)), Page::keyed("b", "other things")]),
        &WEB_BY_ID,
    );
    let accept = |pair: &str| corpusdb(&["contamination", "review", &corpus, "--accept", pair]);
    accept("ours:rolls=0").fails(&["not SUITE:ITEM=ID|KEY", "none"]);
    let items = scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", &corpus, "ours", &items]).good();
    let before = digest(&corpus);
    accept("other:rolls=0").fails(&["`other:rolls=0` is not SUITE:ITEM=ID|KEY", "ours"]);
    accept("ours:rolls").fails(&["names no item of suite `ours`"]);
    accept("ours:buns=0").fails(&["names no item of suite `ours`"]);
    accept("ours:rolls=zzz").fails(&["no document has the key zzz"]);
    accept("ours:rolls=9").fails(&["no document 9"]);
    accept("ours:rolls=b").fails(&["document 1 has no evidence of item `rolls` of suite `ours`"]);
    corpusdb(&[
        "contamination",
        "review",
        &corpus,
        "--accept",
        "ours:rolls=a",
        "--reject",
        "ours:mill=a",
    ])
    .fails(&["document 0 has no evidence of item `mill`"]);
    corpusdb(&["contamination", "review", &corpus, "nothing"]).fails(&["no suite `nothing`"]);
    for (line, why) in [
        ("nonsense", "no line of verdicts"),
        (r#"{"suite": "ours", "item": "rolls", "verdict": "accepted"}"#, "it names no document"),
        (
            r#"{"suite": "ours", "item": "rolls", "document": 0, "verdict": "maybe"}"#,
            "is not accepted, rejected",
        ),
        (
            r#"{"suite": "ours", "item": "rolls", "document": 7, "verdict": "accepted"}"#,
            "no document 7",
        ),
        (
            r#"{"suite": "ours", "item": "rolls", "document": "a", "verdict": "accepted"}"#,
            r#"`document` is an id, got "a"; a key goes under `key`"#,
        ),
    ] {
        // The line before it is not stored either.
        let good = r#"{"suite": "ours", "item": "rolls", "document": 0, "verdict": "accepted"}"#;
        let file = scratch.write("verdicts.jsonl", format!("{good}\n{line}\n"));
        corpusdb(&["contamination", "review", &corpus, "--verdicts", &file])
            .fails(&["verdicts.jsonl", why]);
    }
    assert_eq!(digest(&corpus), before);
    accept("ours:rolls=a").good();
    assert_ne!(digest(&corpus), before);
});

/// Documents come, change, are removed and purged, suites come and go, while pairs are judged: what a document and an
/// item have is always what was decided last about its text, since the suite came, unless the text was purged.
#[test]
fn a_verdict_belongs_to_a_text_in_every_history() {
    let mut judged = 0;
    for seed in 1..=seeds(4) {
        let mut random = Random::new(seed);
        let questions: Vec<String> = (0..6).map(|n| prose(&mut random, n, 20)).collect();
        let scratch = TestDir::new();
        let line = |(n, question): (usize, &String)| {
            format!("{}\n", json!({ "id": format!("i{n}"), "question": question, "answer": "so" }))
        };
        let items = scratch
            .write("items.jsonl", questions.iter().enumerate().map(line).collect::<String>());
        let corpus = scratch.arg("corpus");
        init(&corpus, &["--mode", if seed % 2 == 0 { "none" } else { "exact" }]);
        corpusdb(&["contamination", "add", &corpus, "s", &items]).good();
        let mut model: BTreeMap<(String, String), String> = BTreeMap::new();
        for step in 0..16 {
            match random.below(9) {
                0..=2 => {
                    // Of few keys and few texts, so that keys change their texts and texts their keys.
                    let page = |_| {
                        let (a, b) = (random.below(6), random.below(6));
                        let text =
                            format!("page {}: {} {}", random.below(3), questions[a], questions[b]);
                        Page::keyed(format!("k{}", random.below(12)), text)
                    };
                    let pages: Vec<Page> = (0..8).map(page).collect();
                    scratch.ingest(&corpus, &format!("{step}.jsonl"), lines(&pages), &WEB_BY_ID);
                }
                3 => drop(corpusdb(&[
                    "remove",
                    &corpus,
                    "--where",
                    &format!("id % 4 = {}", random.below(4)),
                ])),
                4 => drop(corpusdb(&["restore", &corpus, "--where", "standing = 'removed'"])),
                5 => {
                    let some = format!("id % 5 = {}", random.below(5));
                    let purge =
                        ["purge", &corpus, "--where", &some, "--no-block", "--force", "--json"];
                    let purged = corpusdb(&purge).good().json();
                    let before = model.len();
                    let left: BTreeSet<String> =
                        sql(&corpus, "SELECT DISTINCT text FROM documents")
                            .iter()
                            .map(|row| row["text"].as_str().unwrap().to_owned())
                            .collect();
                    model.retain(|(_, text), _| left.contains(text));
                    assert_eq!(
                        purged["verdicts"],
                        before - model.len(),
                        "seed {seed}, step {step}"
                    );
                }
                6 if random.below(3) == 0 => {
                    corpusdb(&["contamination", "drop", &corpus, "s"]).good();
                    corpusdb(&["contamination", "add", &corpus, "s", &items]).good();
                    model.clear();
                }
                _ => {
                    let rows = sql(
                        &corpus,
                        "SELECT DISTINCT c.document, c.item, d.text FROM contamination c JOIN documents d ON d.id = c.document ORDER BY 1, 2",
                    );
                    let mut lines = Vec::new();
                    for row in &rows {
                        if random.below(4) > 0 {
                            continue;
                        }
                        let of = (
                            row["item"].as_str().unwrap().to_owned(),
                            row["text"].as_str().unwrap().to_owned(),
                        );
                        let verdict = ["accepted", "rejected", "none"][random.below(3)];
                        lines.push(json!({ "suite": "s", "item": of.0, "document": row["document"], "verdict": verdict }));
                        match verdict {
                            "none" => drop(model.remove(&of)),
                            verdict => drop(model.insert(of, verdict.to_owned())),
                        }
                    }
                    judged += lines.len();
                    judge(&corpus, &lines);
                }
            }
            let rows = sql(
                &corpus,
                "SELECT c.item, d.text, c.verdict, c.contaminated, c.score, c.tokens FROM contamination c JOIN documents d ON d.id = c.document",
            );
            let mut met = BTreeSet::new();
            for row in &rows {
                let of = (
                    row["item"].as_str().unwrap().to_owned(),
                    row["text"].as_str().unwrap().to_owned(),
                );
                let expected = model.get(&of).map(String::as_str);
                assert_eq!(row["verdict"].as_str(), expected, "seed {seed}, step {step}: {of:?}");
                let is_enough =
                    row["score"].as_f64().unwrap() >= 0.3 && row["tokens"].as_u64().unwrap() >= 9;
                assert_eq!(row["contaminated"], is_enough && expected != Some("rejected"), "{row}");
                met.insert(of);
            }
            // No verdict is of a text that is gone.
            assert!(model.keys().all(|of| met.contains(of)), "seed {seed}, step {step}");
        }
        sound(&corpus);
    }
    assert!(judged > 7, "{judged} pairs were judged");
}

corpusdb_test!(plans_pin_the_verdicts_that_epochs_follow, EpochCorpus::holding(40), |place| {
    let corpus = &place.corpus;
    let pages = [Page::keyed("one", around(QUESTION)), Page::keyed("two", around(&QUESTION[..90]))];
    place.scratch.ingest(corpus, "tainted.jsonl", lines(&pages), &WEB_BY_ID);
    let items = place.scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", corpus, "ours", &items]).good();
    corpusdb(&["snapshot", "create", corpus, "then"]).good();
    let recipe = |more: &str| {
        format!(
            "snapshot = \"then\"\n{SPECIALS}[pack]\nlength = 96\n[select]\nexclude_contaminated = [{{ suite = \"ours\"{more} }}]\n"
        )
    };
    let documents = |more: &str| {
        let told = place.recipe("explain", &recipe(more), &["--json"]).good().json();
        let sources = told["sources"].as_array().unwrap_or_else(|| panic!("{told}"));
        sources.iter().map(|source| source["documents"].as_u64().unwrap()).sum::<u64>()
    };
    let pinned = || {
        let plan = sql(corpus, "SELECT plan FROM epochs ORDER BY number DESC LIMIT 1")[0]["plan"]
            .as_str()
            .unwrap()
            .to_owned();
        let plan: Value = serde_json::from_str(&plan).unwrap();
        plan["recipe"]["select"]["exclude_contaminated"][0]["rejected"].as_str().unwrap().to_owned()
    };
    let hashes = || sql(corpus, "SELECT hash FROM epochs ORDER BY number");
    let clean = documents("");
    place.recipe("plan", &recipe(""), &[]).good();
    assert_eq!(pinned(), "none");
    // What is accepted changes nothing, and plans neither.
    corpusdb(&["contamination", "review", corpus, "--accept", "ours:rolls=two"]).good();
    place.recipe("plan", &recipe(""), &[]).good();
    assert_eq!((documents(""), hashes().len()), (clean, 1));
    let before = hashes();

    corpusdb(&["contamination", "review", corpus, "--reject", "ours:rolls=one"]).good();
    assert_eq!(documents(""), clean + 1);
    place.recipe("plan", &recipe(""), &[]).good();
    assert_eq!((hashes().len(), &hashes()[0]), (2, &before[0]));
    let hash = pinned();
    assert_eq!(hash.len(), 64);
    // The recipe as it was spelt out is another one now.
    place
        .recipe("plan", &recipe(", rejected = \"none\""), &[])
        .fails(&["the rejected pairs of suite `ours` changed", "leave `rejected` out"]);
    place.recipe("plan", &recipe(&format!(", rejected = \"{hash}\"")), &[]).good();
    assert_eq!(hashes().len(), 2);
    // It was refused from the verdict on: what goes on from a plan follows the verdicts of its own moment.
    place.run("extend", "1", &["--consumed", "1"]).good();
    assert_eq!((hashes().len(), pinned()), (3, hash));
});

// ----
// Suites in stores that were migrated, and in epochs.

corpusdb_test!(a_migrated_store_takes_suites, |scratch| {
    let corpus = scratch.path("corpus");
    copy(&repository("tests/formats/grown-exact/corpus"), &corpus);
    let name = corpus.display().to_string();
    corpusdb(&["contamination", "show", &name]).fails(&["store format 8", "corpusdb dedup settle"]);
    let settled = corpusdb(&["dedup", "settle", &name]).good();
    assert!(settled.stderr.contains("store format 8: it is converted to format"), "{settled}");
    assert!(!corpusdb(&["dedup", "settle", &name]).good().stderr.contains("converted"));
    assert_eq!(sql(&name, "SELECT count(*) AS n FROM contamination")[0]["n"], 0);
    let question = sql(&name, "SELECT text FROM documents WHERE id = 0")[0]["text"].clone();
    let item = json!({ "question": question, "answer": "it is" });
    let items = scratch.write("suite.jsonl", format!("{item}\n"));
    corpusdb(&["contamination", "add", &name, "ours", &items]).good();
    assert_eq!(
        sql(&name, "SELECT document FROM contamination WHERE contaminated")[0]["document"],
        0
    );
    sound(&name);
});

corpusdb_test!(epochs_exclude_documents_of_suites, EpochCorpus::holding(60), |place| {
    let corpus = &place.corpus;
    let pages =
        [Page::keyed("full", around(QUESTION)), Page::keyed("half", around(&QUESTION[..32]))];
    place.scratch.ingest(corpus, "tainted.jsonl", lines(&pages), &WEB_BY_ID);
    let items = place.scratch.write("suite.jsonl", suite());
    corpusdb(&["contamination", "add", corpus, "ours", &items]).good();
    corpusdb(&["snapshot", "create", corpus, "then"]).good();
    let recipe = |select: &str| {
        format!("snapshot = \"then\"\n{SPECIALS}[pack]\nlength = 96\n[select]\n{select}\n")
    };
    let documents = |select: &str| {
        let told = place.recipe("explain", &recipe(select), &["--json"]).good().json();
        let sources = told["sources"].as_array().unwrap_or_else(|| panic!("{told}"));
        sources.iter().map(|source| source["documents"].as_u64().unwrap()).sum::<u64>()
    };
    let all = documents("");
    assert_eq!(documents("exclude_contaminated = [\"ours\"]"), all - 1);
    let lower = "exclude_contaminated = [{ suite = \"ours\", score = 0.2, tokens = 8 }]";
    assert_eq!(documents(lower), all - 2);
    assert_eq!(documents("exclude_contaminated = [{ suite = \"ours\", tokens = 500 }]"), all);

    // The plan pins it: neither a snapshot's age nor what comes afterwards changes it.
    place.recipe("plan", &recipe(lower), &[]).good();
    let hashes = || sql(corpus, "SELECT hash FROM epochs ORDER BY number");
    let more = [Page::keyed("full", "it says something else now")];
    let more = place.scratch.write("more.jsonl", lines(&more));
    ingest(corpus, &[&more], &WEB_BY_ID);
    let first = hashes();
    // The same plan is stored once.
    place.recipe("plan", &recipe(lower), &[]).good();
    assert_eq!((hashes().len(), hashes()), (1, first));
    place.recipe("plan", &recipe(""), &[]).good();
    assert_eq!(hashes().len(), 2);
    let plan = sql(corpus, "SELECT plan FROM epochs WHERE number = 1")[0]["plan"]
        .as_str()
        .unwrap()
        .to_owned();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let pinned = &plan["recipe"]["select"]["exclude_contaminated"][0];
    assert_eq!((&pinned["score"], &pinned["tokens"]), (&json!(0.2), &json!(8)));
    let other =
        format!("exclude_contaminated = [{{ suite = \"ours\", items = \"{}\" }}]", "0".repeat(64));
    place.recipe("plan", &recipe(&other), &[]).fails(&["the items of suite `ours` changed since"]);

    // The suite itself, ingested under any name.
    ingest(corpus, &[&items], &["--source", "homework", "--text-field", "question"]);
    let now = |more: &str| format!("{SPECIALS}[pack]\nlength = 96\n{more}");
    place
        .recipe("explain", &now(""), &[])
        .fails(&["source `homework` is the suite `ours`", "[[source]]"]);
    let pattern = "[[source]]\nname = \"any\"\nfrom = \"[hw]*\"\n";
    place.recipe("explain", &now(pattern), &[]).fails(&["source `homework` is the suite `ours`"]);
    place.recipe("explain", &now("[[source]]\nname = \"homework\"\n"), &[]).good();
    place.recipe("explain", &now("[select]\nwhere = \"source <> 'homework'\"\n"), &[]).good();
    corpusdb(&["contamination", "drop", corpus, "ours"]).good();
    place.recipe("explain", &now(""), &[]).good();
});
