//! What a card says of a run, of versions and duplicates, of dates, licences and languages, against the rows of `sql`.

use crate::support::{TestDir, assert_has, corpusdb, corpusdb_test, init, report, sql};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A corpus of spoken languages and code in two sources, with licences, dates, versions, a duplicate and an empty text.
fn mixed_place() -> (TestDir, String) {
    let scratch = TestDir::new();
    let corpus = scratch.arg("mixed");
    init(&corpus, &[]);
    let text = |n: usize| -> String {
        (0..30).map(|at| format!("w{}", n * 100 + at)).collect::<Vec<_>>().join(" ")
    };
    let (mut prose, mut code) = (String::new(), String::new());
    for n in 0..40 {
        let record = json!({
            "id": format!("p{n}"), "text": text(n), "language": (["en", "de", "pl"][n % 3]),
            "license": if n % 4 == 0 { json!(null) } else { json!(["MIT", "CC0-1.0"][n % 2]) },
            "date": format!("2026-01-{:02}", n % 28 + 1),
        });
        prose.push_str(&format!("{record}\n"));
        let record = json!({
            "id": format!("c{n}"), "text": text(n + 100), "language": (["rust", "go"][n % 2]),
            "licenses": ["MIT", "Apache-2.0"],
        });
        code.push_str(&format!("{record}\n"));
    }
    let again = json!({ "id": "p0", "text": text(500), "language": "en" });
    let same = json!({ "id": "copy", "text": text(1), "language": "en" });
    let empty = json!({ "id": "nothing", "text": " " });
    let later = format!("{again}\n{same}\n{empty}\n");
    for (name, file) in [("prose", prose), ("code", code), ("prose", later)] {
        let path = scratch.write(&format!("{name}.jsonl"), &file);
        let line = ["ingest", &corpus, &path, "--source", name, "--id-field", "id"];
        corpusdb(&line).good();
    }
    let file = r#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
        {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
    let tokenizer = scratch.write("tokenizer.json", file);
    for name in ["words", "another"] {
        corpusdb(&["tokenizer", "add", &corpus, name, &tokenizer]).good();
    }
    (scratch, corpus)
}

/// Writes a plan of a share of each source, and gives the documents of its rows.
fn documents_of_plan(scratch: &TestDir, corpus: &str) -> BTreeSet<u64> {
    let recipe = scratch.write(
        "recipe.toml",
        "version = 1\n[tokenizer]\nname = \"words\"\n[[source]]\nname = \"prose\"\nweight = 0.75\n[[source]]\nname = \"code\"\n\
         weight = 0.25\n[mix]\ntokens = 800\n[pack]\nkind = \"best-fit\"\nlength = 64\n",
    );
    corpusdb(&["epoch", "plan", corpus, &recipe]).good();
    let rows = corpusdb(&["epoch", "explain", corpus, "1", "--json"]).good().json();
    let of_row = |row: u64| {
        let row =
            corpusdb(&["epoch", "row", corpus, "1", &row.to_string(), "--json"]).good().json();
        let segments = row["segments"].as_array().unwrap().iter();
        segments.map(|it| it["document"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    (0..rows["rows"].as_u64().unwrap()).flat_map(of_row).collect()
}

corpusdb_test!(the_headline_tells_versions_from_duplicates, mixed_place(), |(scratch, corpus)| {
    let page = scratch.arg("card.html");
    corpusdb(&["report", &corpus, "-o", &page]).good();
    let html = std::fs::read_to_string(&page).unwrap();
    let headline = "80 of 83 documents are kept: 1 duplicate was removed, 1 is an earlier version of a document that \
                    came again, 1 is empty.";
    assert!(html.contains(headline), "{html}");
    // Code stands apart from what people speak; `pl` is Polish.
    assert!(
        html.contains(
            "40 kept documents are in programming and markup languages, 50.0 % of them in"
        )
    );
    assert!(html.contains("40 kept documents have a language that people speak"), "{html}");
    // Without a plan, each tokenizer is named.
    assert!(html.contains("tokens of words kept") && html.contains("tokens of another kept"));
});

corpusdb_test!(dates_and_licences_are_those_of_the_records, mixed_place(), |(_scratch, corpus)| {
    let told = report(&corpus, &[])["provenance"].clone();
    let kept = sql(&corpus, "SELECT meta FROM documents WHERE kept");
    let mut licences: BTreeMap<String, u64> = BTreeMap::new();
    let mut dates: Vec<String> = Vec::new();
    for row in &kept {
        let record: Value = match &row["meta"] {
            Value::String(text) => serde_json::from_str(text).unwrap(),
            other => other.clone(),
        };
        let licence = match (&record["license"], &record["licenses"]) {
            (Value::String(one), _) => one.clone(),
            (_, Value::Array(_)) => "MIT, Apache-2.0".to_owned(),
            _ => String::new(),
        };
        *licences.entry(licence).or_default() += 1;
        dates.extend(record["date"].as_str().map(|day| format!("{day}T00:00:00Z")));
    }
    assert_eq!(told["without_licence"], licences.remove("").unwrap());
    let shown = told["licences"]["shown"].as_array().unwrap();
    let found = shown
        .iter()
        .map(|it| (it["licence"].as_str().unwrap().to_owned(), it["documents"].as_u64().unwrap()));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), licences);
    dates.sort();
    let range = json!([{
        "field": "date", "documents": dates.len(), "first": dates[0], "last": dates[dates.len() - 1],
    }]);
    assert_eq!(told["dates"], range);
    // A declared field has the same span, from its column.
    corpusdb(&["field", "add", &corpus, "date:timestamp"]).good();
    assert_eq!(report(&corpus, &[])["provenance"]["dates"], range);
});

corpusdb_test!(documents_shown_are_those_that_sample_draws, mixed_place(), |(scratch, corpus)| {
    let drawn = ["sample", &corpus, "-n", "10", "--where", "kept", "--seed", "7", "--json"];
    let drawn = corpusdb(&drawn).good().json_lines();
    let told = report(&corpus, &["--seed", "7"]);
    let keys = |rows: &[Value]| rows.iter().map(|it| it["key"].clone()).collect::<Vec<_>>();
    assert_eq!(keys(told["samples"].as_array().unwrap()), keys(&drawn));
    assert_ne!(keys(report(&corpus, &[])["samples"].as_array().unwrap()), keys(&drawn));
    assert_eq!(report(&corpus, &["--no-texts"]).get("samples"), None);
    // With a plan they are of its run.
    let of_run = documents_of_plan(&scratch, &corpus);
    let told = report(&corpus, &["--plan", "1", "--seed", "7"]);
    let ids = sql(&corpus, "SELECT id, key FROM documents");
    for key in keys(told["samples"].as_array().unwrap()) {
        let is_of_run = |row: &&Value| of_run.contains(&row["id"].as_u64().unwrap());
        assert!(ids.iter().filter(is_of_run).any(|row| row["key"] == key), "{key}");
    }
});

corpusdb_test!(the_summary_of_a_plan_is_of_its_documents, mixed_place(), |(scratch, corpus)| {
    let of_run = documents_of_plan(&scratch, &corpus);
    let (summary, card) = (scratch.arg("summary.md"), scratch.arg("card.html"));
    corpusdb(&["report", &corpus, "--plan", "1", "--eu-summary", &summary, "-o", &card]).good();
    let told = std::fs::read_to_string(&summary).unwrap();
    let rows = sql(&corpus, "SELECT id, source, language, bytes FROM documents");
    let of_run: Vec<&Value> =
        rows.iter().filter(|row| of_run.contains(&row["id"].as_u64().unwrap())).collect();
    assert!(of_run.len() < 60 && of_run.len() > 20, "{}", of_run.len());
    let bytes: u64 = of_run.iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
    let sizes = &report(&corpus, &["--plan", "1"])["plan"]["sizes"]["all"];
    assert_has(sizes, &json!({ "documents": of_run.len(), "bytes": bytes }));
    let documents = format!("* Documents: {} with ", of_run.len());
    assert!(told.contains(&documents) && told.contains("one epoch of plan 1 trains on"), "{told}");
    let count = |of: &str, is: &str| of_run.iter().filter(|row| row[of] == is).count();
    for source in ["prose", "code"] {
        let row = format!("\n| {source} | {} | ", count("source", source));
        assert!(told.contains(&row), "{row}: {told}");
    }
    let line = |label: &str| told.lines().find(|line| line.starts_with(label)).unwrap().to_owned();
    let spoken = line("* Linguistic characteristics");
    let code = line("* Programming and markup languages");
    for (line, language, is_there) in [
        (&spoken, "en", true),
        (&spoken, "pl", true),
        (&spoken, "rust", false),
        (&code, "rust", true),
        (&code, "go", true),
        (&code, "pl", false),
    ] {
        let share = 100.0 * count("language", language) as f64 / of_run.len() as f64;
        assert_eq!(line.contains(&format!("{language} ({share:.1} %)")), is_there, "{line}");
    }
    // The card counts by the plan's tokenizer alone, and the run comes first.
    let html = std::fs::read_to_string(&card).unwrap();
    let tiles = &html[html.find("<dl class=\"tiles\">").unwrap()..html.find("</dl>").unwrap()];
    assert!(tiles.contains("tokens of words in the run") && !tiles.contains("another"), "{tiles}");
    let first = html.find("<section id=").unwrap();
    assert!(html[first..].starts_with("<section id=\"plan\""));
});
