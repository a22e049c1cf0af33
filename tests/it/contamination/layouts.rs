//! Suites as others publish them, with texts of our own: each part of an item is searched for, or it is said.

use crate::support::{
    ANSWER, QUESTION, TestDir, WEB_BY_ID, around, corpusdb, corpusdb_test, numbers, sound, sql,
};
use serde_json::{Value, json};

const OPTIONS: [&str; 10] = [
    "a lantern on the mole",
    "a bell of bronze",
    "a painted pole",
    "a rope of hemp",
    "a flag of linen",
    "a kite of paper",
    "a drum of goatskin",
    "a horn of brass",
    "a mirror of silver",
    "a fire of driftwood",
];

/// Stores pages by key.
fn pages(scratch: &TestDir, corpus: &str, pages: &[(&str, String)]) {
    let page = |(key, text): &(&str, String)| format!("{}\n", json!({ "id": key, "text": text }));
    scratch.ingest(corpus, "pages.jsonl", pages.iter().map(page).collect::<String>(), &WEB_BY_ID);
}

/// The keys of pages that a suite is found in.
fn tainted(corpus: &str) -> Vec<String> {
    let rows =
        sql(corpus, "SELECT key FROM documents WHERE contaminated_by IS NOT NULL ORDER BY id");
    rows.iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// What is said of a suite that is added.
fn added(corpus: &str, name: &str, file: &str) -> Value {
    corpusdb(&["contamination", "add", corpus, name, file, "--json"]).good().json()
}

corpusdb_test!(answers_behind_the_fifth_letter_are_options, |scratch, corpus| {
    // The letters F to J were searched for themselves: pages with the word `I` were found, and those of the item not.
    let asked = [
        ("What warns the pilots of Skerrow harbour in fog?", 1),
        ("What calls the fishwives of Skerrow to market?", 7),
        ("What tells the herring fleet of Skerrow to return?", 8),
        ("What marks the midsummer night in Skerrow town?", 9),
    ];
    let letter = |at: usize| char::from(b'A' + u8::try_from(at).unwrap()).to_string();
    let right = |(question, at): &(&str, usize)| {
        (
            format!("right-{at}"),
            format!(
                "At the quiz. {question} The answer was, as we all knew: {}. And on.",
                OPTIONS[*at]
            ),
        )
    };
    let word = |(question, at): &(&str, usize)| {
        let letter = letter(*at);
        (
            format!("word-{at}"),
            format!(
                "My aunt asked: {question} {letter} could not say, nor could anybody else in there."
            ),
        )
    };
    let all: Vec<(String, String)> =
        asked.iter().map(right).chain(asked.iter().map(word)).collect();
    let all: Vec<(&str, String)> =
        all.iter().map(|(key, text)| (key.as_str(), text.clone())).collect();
    pages(&scratch, &corpus, &all);
    let expected = ["right-1", "right-7", "right-8", "right-9"];

    let ten = asked.map(|(question, at)| {
        json!({ "question_id": at, "question": question, "options": OPTIONS, "answer": letter(at), "answer_index": at, "category": "sea" })
    });
    let report = added(&corpus, "ten", &scratch.write("ten.jsonl", lines(&ten)));
    assert_eq!(numbers(&report, ["items", "weak", "unsearchable", "uncounted"]), [4, 0, 0, 0]);
    let said = json!([{ "field": "category", "items": 4 }, { "field": "options (other options)", "items": 4 }]);
    assert_eq!(report["unsearched"], said, "{report}");
    assert_eq!(tainted(&corpus), expected);
    corpusdb(&["contamination", "drop", &corpus, "ten"]).good();

    // The same as tables have it: options as numpy, JSON and Python write them, answers as letters and numbers.
    let python = OPTIONS.map(|option| format!("'{option}'"));
    let tables = [
        (python.join("\n "), "answer", 1),
        (python.join(", "), "answer", 0),
        (OPTIONS.map(|option| format!("\"\"{option}\"\"")).join(", "), "answer", 0),
        (python.join(" "), "letter", 0),
    ];
    for (at, (options, kind, from)) in tables.iter().enumerate() {
        let row = |(question, at): &(&str, usize)| match *kind {
            "letter" => format!("{question},\"[{options}]\",{}\n", letter(*at)),
            _ => format!("{question},\"[{options}]\",{}\n", at + from),
        };
        let name = format!("table{at}");
        // One number that only one way of counting knows: the first or the last option.
        let edge =
            ("What stands at the end of the mole at Skerrow?", if *from == 0 { 0 } else { 9 });
        let rows: String = asked.iter().chain([&edge]).map(row).collect();
        let table =
            scratch.write(&format!("{name}.csv"), format!("question,choices,answer\n{rows}"));
        let report = added(&corpus, &name, &table);
        let counted = if *kind == "letter" { Value::Null } else { json!(from) };
        assert_eq!((&report["items"], &report["numbers_from"]), (&json!(5), &counted), "{report}");
        assert_eq!(tainted(&corpus), expected, "{name}");
        corpusdb(&["contamination", "drop", &corpus, &name]).good();
    }

    let beyond =
        json!({ "question_id": 70, "question": asked[0].0, "options": OPTIONS, "answer": "K" });
    let beyond = scratch.write("beyond.jsonl", lines(&[beyond]));
    corpusdb(&["contamination", "add", &corpus, "beyond", &beyond]).fails(&[
        "item `70`",
        "its answer is `K`",
        "10 options in `options`",
        "record 0",
    ]);
    let unread =
        scratch.write("unread.csv", "question,choices,answer\nWhat is it?,[a bell; a horn],1\n");
    corpusdb(&["contamination", "add", &corpus, "unread", &unread])
        .fails(&["`choices` is a text that is no list of options", "JSON list"]);
    sound(&corpus);
});

corpusdb_test!(each_turn_and_each_accepted_answer_of_a_suite_is_found, |scratch, corpus| {
    let turns = [
        QUESTION,
        "Tell the same story again as the miller would tell it, without a single number and in the form of a letter.",
    ];
    let short = "And how many rolls are left?";
    pages(
        &scratch,
        &corpus,
        &[
            ("first", around(turns[0])),
            ("second", around(turns[1])),
            ("third", around(&format!("{short} None of them, she said."))),
            ("other", around(&format!("{short} Nobody knew it."))),
            ("solution", around(ANSWER)),
            ("alias", around("Which town has the tallest mill? It is Old Quilbury, they say.")),
            ("name", around("Which town has the tallest mill? It is Quilbury upon the Hill.")),
            ("clean", around("A page of gulls and of what they eat when nobody looks at them.")),
        ],
    );
    let bench = json!({ "question_id": 81, "category": "rolls", "turns": [turns[0], turns[1], short], "reference": ["72", "none of them"] });
    let mill = json!({ "question_id": 82, "question": "Which town has the tallest mill?", "answers": ["Old Quilbury", "Quilbury upon the Hill"], "solution": ANSWER });
    let file = scratch.write("bench.jsonl", lines(&[bench, mill]));
    let report = added(&corpus, "bench", &file);
    assert_eq!(numbers(&report, ["items", "weak", "unsearchable", "sighted"]), [2, 0, 0, 6]);
    assert_eq!(tainted(&corpus), ["first", "second", "third", "solution", "alias", "name"]);
    let rows = sql(
        &corpus,
        "SELECT d.key, c.item, c.part, c.turn, c.score FROM contamination c JOIN documents d ON d.id = c.document \
         WHERE c.contaminated ORDER BY d.id",
    );
    let told: Vec<Value> = rows
        .iter()
        .map(|row| json!([row["key"], row["item"], row["part"], row["turn"], row["score"]]))
        .collect();
    assert_eq!(
        told,
        [
            json!(["first", "81", "question", 0, 1.0]),
            json!(["second", "81", "question", 1, 1.0]),
            json!(["third", "81", "question", 2, 1.0]),
            json!(["solution", "82", "answer", 0, 1.0]),
            json!(["alias", "82", "question", 0, 1.0]),
            json!(["name", "82", "question", 0, 1.0]),
        ]
    );
    let shown = corpusdb(&["contamination", "show", &corpus, "second"]).good().stdout;
    assert!(
        shown.contains("bench 81 (question 2) in document 1") && shown.contains(&turns[1][..60]),
        "{shown}"
    );
    let reviewed = corpusdb(&["contamination", "review", &corpus, "--json"]).good().json_lines();
    let second = reviewed.iter().find(|pair| pair["key"] == "second").unwrap();
    let asked = second["parts"][0]["asked"][0].clone();
    assert_eq!(asked["text"].as_str().unwrap(), turns[1], "{second}");
    sound(&corpus);
    // What comes later is found likewise, and what is stored is the same by whatever way.
    let later =
        json!({ "id": "later", "text": around(&format!("{short} None of them, she said again.")) });
    scratch.ingest(&corpus, "later.jsonl", lines(&[later]), &WEB_BY_ID);
    assert_eq!(tainted(&corpus).last().unwrap(), "later");
    sound(&corpus);
});

corpusdb_test!(fields_that_are_not_searched_are_named, |scratch, corpus| {
    let items = [
        json!({ "question": QUESTION, "answer": "72", "rationale": ANSWER, "hint": "Think of the morning." }),
        json!({ "question": "Which old bridge over the quiet river has nine arches?", "hint": "" }),
        json!({ "question": "Why?", "passage": QUESTION, "answer": "So", "hint": "None" }),
    ];
    let file = scratch.write("ours.jsonl", lines(&items));
    let report = added(&corpus, "ours", &file);
    assert_eq!(numbers(&report, ["items", "weak", "unsearchable", "uncounted"]), [3, 1, 0, 2]);
    assert_eq!(report["unsearched"], json!([{ "field": "hint", "items": 2 }]));
    corpusdb(&["contamination", "drop", &corpus, "ours"]).good();
    let said = corpusdb(&["contamination", "add", &corpus, "ours", &file]).good().stdout;
    for words in [
        "not searched for, with the number of items: hint (2)",
        "2 items have only a passage, or texts of fewer than 13 words",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    // A field that is named is the only one of its part.
    corpusdb(&["contamination", "drop", &corpus, "ours"]).good();
    let named = ["contamination", "add", &corpus, "ours", &file, "--passage", "rationale"];
    corpusdb(&named).fails(&["record 1 (counted from 0)", "no field `rationale`"]);
});
