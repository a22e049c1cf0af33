//! `stats` after a history of ingests, crawls that come again, removals and another policy: all that it tells is
//! computed again from the rows of `sql`.

use crate::support::{Page, Random, TestDir, corpusdb, crawl, edited, ingest, init, lines, sound};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const PERCENTS: [(&str, usize); 5] =
    [("p5", 5), ("p25", 25), ("p50", 50), ("p75", 75), ("p95", 95)];
const COLUMNS: [(&str, &str); 6] = [
    ("bytes", "int"),
    ("chars", "int"),
    ("tokens_own", "int"),
    ("year", "int"),
    ("quality", "float"),
    ("seen", "timestamp"),
];

fn stats(corpus: &str, more: &[&str]) -> Value {
    corpusdb(&[&["stats", corpus, "--json"], more].concat()).good().json()
}

/// The rows of `documents` that are looked at, as `sql` prints them.
fn rows(corpus: &str, condition: &str) -> Vec<Value> {
    let statement = format!(
        "SELECT id, source, language, standing, kept, bytes, chars, tokens_own, year, quality, seen \
         FROM documents WHERE {condition}"
    );
    corpusdb(&["sql", corpus, &statement, "--json"]).good().json_lines()
}

/// Pages with fields of every kind, the ids of each source its own.
fn pages(random: &mut Random, source: &str, seed: u64, count: usize) -> Vec<Page> {
    let mut pages = crawl(seed, count, true);
    for page in &mut pages {
        page.id = page.id.take().map(|id| format!("{source}-{id}"));
        let mut fields = json!({ "language": *random.pick(&["en", "de", "ru"]) });
        if random.chance(80) {
            fields["year"] = json!(1990 + random.below(40) as i64 - 20);
        }
        if random.chance(70) {
            fields["quality"] = json!(random.below(2000) as f64 / 700.0 - 1.0);
        }
        if random.chance(60) {
            fields["seen"] =
                json!(format!("2024-0{}-11T10:00:0{}.25Z", random.between(1, 9), random.below(9)));
        }
        if random.chance(10) {
            fields.as_object_mut().unwrap().remove("language");
        }
        page.fields = fields;
    }
    pages
}

/// Two sources, one of which comes again with other texts and fields, a removal, a snapshot, another threshold, more.
struct StatsCorpus {
    scratch: TestDir,
    corpus: String,
    /// What `stats` said when the snapshot was made.
    then: Value,
}

impl StatsCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        let fields =
            ["--field", "year:int", "--field", "quality:float", "--field", "seen:timestamp"];
        init(&corpus, &fields);
        let mut random = Random::new(5);
        let web = pages(&mut random, "web", 7, 220);
        let mut file = lines(&web);
        // Records that cannot be read, alike but for their numbers.
        for n in 0..7 {
            file.push_str(&format!(
                "{{\"id\": {n}, \"no text\": true}}\n{{\"text\": {}\n",
                "9".repeat(n)
            ));
        }
        let file = scratch.write("web.jsonl", file);
        let keyed = |source| ["--source", source, "--id-field", "id", "--on-error", "reject"];
        ingest(&corpus, &[&file], &keyed("web"));
        let train = ["tokenizer", "train", &corpus, "own", "--vocab-size", "400"];
        corpusdb(&train).good();
        let books = scratch.write("books.jsonl", lines(&pages(&mut random, "books", 9, 90)));
        ingest(&corpus, &[&books], &keyed("books"));
        let again: Vec<Page> = web
            .iter()
            .take(60)
            .map(|page| Page { text: edited(&mut random, &page.text, 9), ..page.clone() })
            .collect();
        let again = scratch.write("again.jsonl", lines(&again));
        ingest(&corpus, &[&again], &keyed("web"));
        corpusdb(&["remove", &corpus, "--where", "kept AND id % 17 = 3"]).good();
        corpusdb(&["snapshot", "create", &corpus, "before"]).good();
        let then = stats(&corpus, &[]);
        corpusdb(&["dedup", "redo", &corpus, "--threshold", "0.5"]).good();
        let more = scratch.write("more.jsonl", lines(&pages(&mut random, "web", 31, 80)));
        ingest(&corpus, &[&more], &keyed("web"));
        sound(&corpus);
        Self { scratch, corpus, then }
    }
}

/// What a set of documents comes to.
fn counts(rows: &[&Value]) -> Value {
    let sum = |name: &str| rows.iter().filter_map(|row| row[name].as_u64()).sum::<u64>();
    json!({ "documents": rows.len(), "bytes": sum("bytes"), "tokens": { "own": sum("tokens_own") } })
}

/// Compares what was told with what the rows come to.
#[track_caller]
fn compare(told: &Value, rows: &[Value]) {
    let all: Vec<&Value> = rows.iter().collect();
    let kept: Vec<&Value> = rows.iter().filter(|row| row["kept"] == true).collect();
    assert_eq!((&told["all"], &told["kept"]), (&counts(&all), &counts(&kept)));

    let mut groups: BTreeMap<(String, Option<String>), Vec<&Value>> = BTreeMap::new();
    for row in rows {
        let language = row["language"].as_str().map(str::to_owned);
        groups.entry((row["source"].as_str().unwrap().to_owned(), language)).or_default().push(row);
    }
    let expected: Vec<Value> = groups
        .into_iter()
        .map(|((source, language), all)| {
            let kept: Vec<&Value> = all.iter().copied().filter(|row| row["kept"] == true).collect();
            json!({ "source": source, "language": language, "all": counts(&all), "kept": counts(&kept) })
        })
        .collect();
    assert_eq!(told["groups"], Value::Array(expected));
    assert_eq!(told["is_by_source_alone"], false);

    let columns = told["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 2 * COLUMNS.len());
    for (pair, (name, kind)) in columns.chunks(2).zip(COLUMNS) {
        for (of, rows) in pair.iter().zip([&all, &kept]) {
            spread(of, name, kind, rows);
        }
        assert_eq!((&pair[0]["of_kept"], &pair[1]["of_kept"]), (&json!(false), &json!(true)));
    }

    let mut standings: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for row in rows {
        let standing = row["standing"].as_str().unwrap();
        *standings
            .entry(row["source"].as_str().unwrap())
            .or_default()
            .entry(standing)
            .or_default() += 1;
    }
    let losses = told["losses"].as_array().unwrap();
    assert_eq!(losses.len(), standings.len());
    for (loss, (source, counts)) in losses.iter().zip(standings) {
        assert_eq!(loss["source"], source);
        let documents: u64 = counts.values().sum();
        assert_eq!(loss["documents"], documents);
        for kind in ["kept", "exact", "near", "superseded", "removed", "blocked", "empty"] {
            let count = counts.get(kind).copied().unwrap_or(0);
            assert_eq!(loss[kind], count, "{kind} of {source}");
            if let Some(rate) = loss.get(format!("{kind}_rate")) {
                assert_eq!(rate.as_f64().unwrap(), count as f64 / documents as f64);
            }
        }
    }
}

#[track_caller]
fn spread(told: &Value, name: &str, kind: &str, rows: &[&Value]) {
    let mut values: Vec<&Value> =
        rows.iter().map(|row| &row[name]).filter(|it| !it.is_null()).collect();
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    values.sort_by(|a, b| number(a).total_cmp(&number(b)).then(a.as_str().cmp(&b.as_str())));
    assert_eq!((&told["column"], &told["kind"]), (&json!(name), &json!(kind)));
    assert_eq!(
        (told["count"].as_u64(), told["nulls"].as_u64()),
        (Some(values.len() as u64), Some((rows.len() - values.len()) as u64)),
        "{name}"
    );
    if values.is_empty() {
        assert!(["min", "p50", "max", "mean", "spread"].iter().all(|it| told[*it].is_null()));
        return;
    }
    // Timestamps are spelled with and without an offset.
    let same = |name: &str, expected: &Value| {
        let plain = |value: &Value| {
            value.as_str().map(|it| it.trim_end_matches(['Z', '0', '.']).to_owned())
        };
        match plain(expected) {
            Some(text) => assert_eq!(plain(&told[name]), Some(text), "{name} of {told}"),
            None => assert_eq!(&told[name], expected, "{name} of {told}"),
        }
    };
    same("min", values[0]);
    same("max", values[values.len() - 1]);
    for (percent, of) in PERCENTS {
        same(percent, values[(of * values.len()).div_ceil(100).max(1) - 1]);
    }
    if kind != "timestamp" {
        let mean = values.iter().map(|it| number(it)).sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|it| (number(it) - mean).powi(2)).sum::<f64>();
        let close = |name: &str, expected: f64| {
            let got = told[name].as_f64().unwrap();
            assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{got} {expected}");
        };
        close("mean", mean);
        close("spread", (squares / values.len() as f64).sqrt());
    }
}

#[test]
fn summary_equals_recount_of_rows() {
    let StatsCorpus { scratch, corpus, then } = StatsCorpus::new();
    let now = stats(&corpus, &[]);
    compare(&now, &rows(&corpus, "true"));
    // Each kind of loss happened, or the comparison says little.
    let lost = |kind: &str| {
        now["losses"].as_array().unwrap().iter().map(|it| it[kind].as_u64().unwrap()).sum::<u64>()
    };
    for kind in ["exact", "near", "superseded", "removed", "empty"] {
        assert!(lost(kind) > 0, "no {kind} in {now}");
    }
    assert_eq!(now, stats(&corpus, &["--threads", "1", "--memory", "64MB"]));
    for condition in [
        "quality > 0.5 OR language = 'de'",
        "length(text) % 3 = 0",
        "kept AND year < 2000",
        "false",
    ] {
        compare(&stats(&corpus, &["--where", condition]), &rows(&corpus, condition));
    }
    let web = stats(&corpus, &["--source", "web", "--where", "bytes > 50"]);
    compare(&web, &rows(&corpus, "source = 'web' AND bytes > 50"));
    // A snapshot's documents are those of its moment, whatever became of them.
    let mut before = stats(&corpus, &["--snapshot", "before"]);
    let mut then = then;
    assert_eq!(before["moment"]["name"], "before");
    assert_eq!(before["moment"]["kept"], then["moment"]["kept"]);
    for stats in [&mut before, &mut then] {
        for only in ["moment", "rejects"] {
            stats.as_object_mut().unwrap().remove(only);
        }
        // What was lost then may have been kept, and so encoded, since.
        stats["all"]["tokens"] = Value::Null;
        let groups = stats["groups"].as_array_mut().unwrap();
        groups.iter_mut().for_each(|group| group["all"]["tokens"] = Value::Null);
        let columns = stats["columns"].as_array_mut().unwrap();
        columns.retain(|it| it["column"] != "tokens_own" || it["of_kept"] == true);
    }
    assert_eq!(before, then);
    drop(scratch);
}

#[test]
fn rejects_are_counted_by_reason_and_fit_the_terminal() {
    let StatsCorpus { scratch: _scratch, corpus, .. } = StatsCorpus::new();
    let told = stats(&corpus, &["--source", "web"]);
    let rejects = told["rejects"].as_array().unwrap();
    let records: u64 = rejects.iter().map(|it| it["records"].as_u64().unwrap()).sum();
    let counted =
        corpusdb(&["sql", &corpus, "SELECT count(*) AS n FROM rejects", "--json"]).good().json();
    assert_eq!(counted["n"], records);
    assert!(
        rejects.len() < 7 && rejects.iter().any(|it| it["reason"].as_str().unwrap().contains('N')),
        "{rejects:?}"
    );
    assert_eq!(stats(&corpus, &["--source", "books"])["rejects"], json!([]));

    let text = corpusdb(&["stats", &corpus]).good().stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 160), "{text}");
    for words in [
        "by source and language:",
        "kept documents:",
        "all documents:",
        "tokens_own",
        "superseded",
        "rejected records:",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    corpusdb(&["stats", &corpus, "--source", "nope"])
        .fails(&["no source `nope`", "`web`, `books`"]);
    corpusdb(&["stats", &corpus, "--snapshot", "nope"]).fails(&["nope", "before"]);
    corpusdb(&["stats", &corpus, "--where", "nope"]).fails(&["`nope`"]);
}

#[test]
fn stats_of_an_empty_and_of_a_multilingual_corpus() {
    let scratch = TestDir::new();
    let empty = scratch.arg("empty");
    init(&empty, &[]);
    let told = stats(&empty, &[]);
    assert_eq!(
        (&told["all"]["documents"], &told["groups"], &told["losses"]),
        (&json!(0), &json!([]), &json!([]))
    );
    corpusdb(&["stats", &empty]).good();

    let many = scratch.arg("many");
    init(&many, &["--mode", "none"]);
    let pages: Vec<Page> = (0..1500)
        .map(|n| Page {
            fields: json!({ "language": format!("l{n}") }),
            ..Page::new(format!("text {n}"))
        })
        .collect();
    let file = scratch.write("many.jsonl", lines(&pages));
    ingest(&many, &[&file], &["--source", "web"]);
    let told = stats(&many, &[]);
    assert_eq!(told["is_by_source_alone"], true);
    assert_eq!(told["groups"].as_array().unwrap().len(), 1);
    assert_eq!(told["groups"][0]["all"]["documents"], 1500);
    let few = stats(&many, &["--where", "id < 900"]);
    assert_eq!(
        (few["groups"].as_array().unwrap().len(), &few["is_by_source_alone"]),
        (900, &json!(false))
    );
}
