//! Snapshots and statistics through a history: shown, compared, dropped, and counted again by `sql`.

use crate::support::epochs::{EpochCorpus, SPECIALS, same_files};
use crate::support::{
    Page, Ran, Random, TestDir, assert_has, corpusdb, corpusdb_test, crawl, digest, edited, ingest,
    init, lines, prose, sound, sql,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

// ----
// Snapshots by command: shown, compared, renamed and dropped, with the plans that draw from them.

/// Five pages, then new content for one, a copy of another, a removal with a copy of what was removed, and a newcomer.
fn moved(place: &EpochCorpus) -> Vec<Page> {
    let mut random = Random::new(71);
    let pages: Vec<Page> =
        (0..5).map(|at| Page::keyed(format!("p{at}"), prose(&mut random, 0, 90))).collect();
    let pour = |name: &str, pages: &[Page]| {
        let file = place.scratch.write(name, lines(pages));
        ingest(&place.corpus, &[&file], &["--source", "news", "--id-field", "id"]);
    };
    pour("first.jsonl", &pages);
    corpusdb(&["snapshot", "create", &place.corpus, "june"]).good();
    corpusdb(&["remove", &place.corpus, "p4"]).good();
    let later = [
        Page::keyed("p0", prose(&mut random, 0, 90)),
        Page::keyed("q1", edited(&mut random, &pages[1].text, 1)),
        Page::keyed("q4", pages[4].text.clone()),
        Page::keyed("q5", prose(&mut random, 0, 90)),
    ];
    pour("second.jsonl", &later);
    pages
}

fn snapshot(verb: &[&str], corpus: &str, rest: &[&str]) -> Ran {
    corpusdb(&[&["snapshot"], verb, &[corpus], rest].concat())
}

corpusdb_test!(a_snapshot_equals_info_at_its_moment, EpochCorpus::holding(90), |place| {
    let info = corpusdb(&["info", &place.corpus, "--json"]).good().json();
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    moved(&place);
    let shown = snapshot(&["show"], &place.corpus, &["then", "--json"]).good().json();
    assert_has(&shown, &json!({ "type": "snapshot_details", "name": "then", "plans": [] }));
    for name in ["commit", "documents", "kept", "kept_bytes"] {
        assert_eq!(shown[name], info[name], "{name}");
    }
    let sources = info["sources"].as_array().unwrap().iter().map(|source| {
        json!({
            "source": source["name"], "documents": source["kept"], "bytes": source["kept_bytes"],
            "tokens": source["tokens"],
        })
    });
    assert_eq!(shown["sources"], Value::Array(sources.collect()));
    assert_eq!(shown["tokens"]["own"], info["tokenizers"][0]["tokens"]);
    let text = snapshot(&["show"], &place.corpus, &["then"]).good().stdout;
    for word in ["then: commit", "books", "tokens own", "no stored plan draws from it"] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    snapshot(&["show"], &place.corpus, &["never"])
        .fails(&["no snapshot `never`; there are `june`, `then`"]);
});

corpusdb_test!(changes_are_listed_with_their_reason, EpochCorpus::holding(60), |place| {
    moved(&place);
    let lines = snapshot(&["diff"], &place.corpus, &["june", "--json"]).good().json_lines();
    let (all, groups) = lines.split_first().unwrap();
    let parts = |of: &Value| {
        ["added", "kept_again", "removed", "not_kept"].map(|name| of[name]["documents"].clone())
    };
    assert_eq!(all["type"], "snapshot_diff");
    assert_eq!((&all["earlier"]["name"], &all["later"]["name"]), (&json!("june"), &json!("now")));
    assert_eq!(parts(all), [2, 0, 2, 2].map(|count| json!(count)));
    assert_eq!((groups.len(), &groups[0]["group"]), (1, &json!("news")));
    let found = (&groups[0]["type"], parts(&groups[0]));
    assert_eq!(found, (&json!("snapshot_diff_group"), parts(all)));
    let reasons = |name: &str| -> Vec<(&str, u64)> {
        let all = all[name].as_array().unwrap().iter();
        all.map(|of| (of["reason"].as_str().unwrap(), of["documents"].as_u64().unwrap())).collect()
    };
    assert_eq!(reasons("removed_by"), [("superseded", 1), ("removed", 1)]);
    assert_eq!(reasons("not_kept_by"), [("near", 1), ("blocked", 1)]);
    assert!(all["added"]["tokens"]["own"].as_u64().unwrap() > 0);

    let listed = snapshot(&["diff"], &place.corpus, &["june", "--list", "--json"]).good();
    let told: Vec<[&str; 3]> = vec![
        ["p0", "removed", "superseded"],
        ["p4", "removed", "removed"],
        ["p0", "added", ""],
        ["q1", "not_kept", "near"],
        ["q4", "not_kept", "blocked"],
        ["q5", "added", ""],
    ];
    let listed = listed.json_lines();
    let of = |one: &Value| {
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        [word("key"), word("change"), word("reason")]
    };
    assert_eq!(listed.iter().map(of).collect::<Vec<_>>(), told);
    assert_eq!(listed[0]["successor"], listed[2]["id"]);
    assert_eq!(listed[3]["witness_key"], "p1");

    let text = snapshot(&["diff"], &place.corpus, &["june", "now"]).good().stdout;
    for word in [
        "june (commit ",
        "2 removed + 0 kept again + 2 added",
        "in all:",
        "source news:",
        "removed: superseded",
        "not kept: blocked",
        "tokens own",
    ] {
        assert!(text.contains(word), "no {word} in\n{text}");
    }
    let text = snapshot(&["diff"], &place.corpus, &["june", "--list"]).good().stdout;
    assert!(text.lines().any(|line| line.starts_with("not kept: near") && line.ends_with(" p1")));
    let text = snapshot(&["diff"], &place.corpus, &["june", "june"]).good().stdout;
    assert!(text.ends_with("no document changed\n"), "{text}");
});

corpusdb_test!(unknown_moments_and_groups_are_refused, EpochCorpus::holding(60), |place| {
    moved(&place);
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let diff = |rest: &[&str]| snapshot(&["diff"], &place.corpus, rest);
    diff(&["may"]).fails(&["no snapshot `may`; there are `july`, `june`"]);
    diff(&["june", "may"]).fails(&["no snapshot `may`"]);
    diff(&["july", "june"]).fails(&["`july` (commit ", "`june` and then `july`"]);
    diff(&["june", "july", "--by", "key"])
        .fails(&["cannot group by `key`", "there are `source`, `language`, `year`"]);
    let years = diff(&["june", "july", "--by", "year", "--json"]).good().json_lines();
    assert_eq!((&years[0]["by"], &years[1]["group"]), (&json!("year"), &json!("(none)")));
    // A snapshot may be called `now`: then its name means it, and the present is what is left out.
    corpusdb(&["snapshot", "create", &place.corpus, "now"]).good();
    let commit = |rest: &[&str]| {
        diff(&[rest, &["--json"]].concat()).good().json_lines()[0]["later"]["commit"].clone()
    };
    assert_eq!(commit(&["june", "now"]).as_u64(), commit(&["june"]).as_u64().map(|now| now - 1));
});

corpusdb_test!(conditions_count_and_draw_kept_documents, EpochCorpus::holding(60), |place| {
    moved(&place);
    let count = |rest: &[&str]| {
        let ran = corpusdb(&[&["count", &place.corpus], rest].concat()).good();
        ran.stdout.trim().parse::<u64>().unwrap()
    };
    let june = snapshot(&["show"], &place.corpus, &["june", "--json"]).good().json();
    assert_eq!(count(&["--snapshot", "june"]), june["kept"].as_u64().unwrap());
    let news = ["--snapshot", "june", "--where", "source = 'news'"];
    assert_eq!(count(&news), 5);
    assert_eq!(count(&["--snapshot", "june", "--where", "source = 'news' AND kept"]), 3);
    let sampled = corpusdb(&[&["sample", &place.corpus, "-n", "9", "--json"][..], &news].concat());
    let mut keys: Vec<String> =
        sampled.good().json_lines().iter().map(|one| one["key"].to_string()).collect();
    keys.sort();
    assert_eq!(keys, ["\"p0\"", "\"p1\"", "\"p2\"", "\"p3\"", "\"p4\""]);
    let told = corpusdb(&["count", &place.corpus, "--snapshot", "june", "--json"]).good().json();
    assert_eq!((&told["snapshot"], &told["documents"]), (&json!("june"), &june["kept"]));
    corpusdb(&["sample", &place.corpus, "--snapshot", "may"]).fails(&["no snapshot `may`"]);
});

corpusdb_test!(a_plan_gives_the_same_bytes_without_snapshot, EpochCorpus::holding(120), |place| {
    corpusdb(&["snapshot", "create", &place.corpus, "then"]).good();
    let packs = ["kind = \"best-fit\"", "kind = \"concat\""].map(|pack| {
        let holdout = "[select]\nholdout = { share = 0.3 }\n";
        format!("snapshot = \"then\"\n{SPECIALS}{holdout}[pack]\n{pack}\nlength = 96\n")
    });
    for (number, recipe) in ["1", "2"].into_iter().zip(&packs) {
        place.recipe("plan", recipe, &[]).good();
        place
            .run("build", number, &["--out", &place.scratch.arg(&format!("before-{number}"))])
            .good();
    }
    moved(&place);
    let (before, kept) =
        (digest(&place.corpus), place.run("explain", "1", &["--json"]).good().json());
    assert!(kept["undecided_documents"].is_u64() && kept["snapshot_dropped"].is_null());
    let drawn = ["plans 1, 2 draw from snapshot `then`", "--force"];
    snapshot(&["drop"], &place.corpus, &["then"]).fails(&drawn);
    snapshot(&["rename"], &place.corpus, &["then", "other"])
        .fails(&["plans 1, 2 draw from snapshot `then`", "hash"]);
    let shown = snapshot(&["show"], &place.corpus, &["then", "--json"]).good().json();
    assert_eq!(shown["plans"], json!([1, 2]));
    let ran = snapshot(&["drop"], &place.corpus, &["then", "--force", "--json"]).good();
    assert_eq!(ran.json(), json!({ "type": "snapshot_dropped", "name": "then", "plans": [1, 2] }));

    for number in ["1", "2"] {
        let name = format!("after-{number}");
        place.run("build", number, &["--out", &place.scratch.arg(&name)]).good();
        same_files(&place.path(&format!("before-{number}")), &place.path(&name));
        place.verified(&format!("before-{number}"));
        let told = place.run("explain", number, &["--json"]).good().json();
        assert_eq!(told["snapshot_dropped"], true);
        assert!(told["undecided_documents"].is_null(), "nothing tells it any more");
    }
    assert!(place.run("explain", "1", &[]).good().stdout.contains("snapshot then (dropped)"));
    // What needs the snapshot says so by its name.
    place.recipe("plan", &packs[0], &[]).fails(&["no snapshot `then`; there is `june`"]);
    place.run("extend", "1", &["--consumed", "3"]).good();
    // Nobody takes the name for another moment while plans say it.
    for verb in [&["create", &place.corpus, "then"][..], &["rename", &place.corpus, "june", "then"]]
    {
        corpusdb(&[&["snapshot"], verb].concat())
            .fails(&["plan 1 draws from a snapshot `then` that was dropped", "another name"]);
    }
    assert_eq!(digest(&place.corpus), before);
    sound(&place.corpus);
});

corpusdb_test!(names_are_changed_and_given_back, EpochCorpus::holding(60), |place| {
    moved(&place);
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let rename = |old: &str, new: &str| snapshot(&["rename"], &place.corpus, &[old, new]);
    rename("may", "april").fails(&["no snapshot `may`; there are `july`, `june`"]);
    rename("june", "july").fails(&["snapshot `july` exists already"]);
    rename("june", "").fails(&["1 to 200 bytes"]);
    rename("june", "two\nlines").fails(&["no control characters"]);
    let before = snapshot(&["diff"], &place.corpus, &["june", "july", "--json"]).good().stdout;
    let told = rename("june", "2025-06").good().stdout;
    assert!(told.starts_with("2025-06: commit "), "{told}");
    let after = snapshot(&["diff"], &place.corpus, &["2025-06", "july", "--json"]).good().stdout;
    assert_eq!(after, before.replace("\"june\"", "\"2025-06\""));
    let told = snapshot(&["drop"], &place.corpus, &["july"]).good().stdout;
    assert_eq!(told, "snapshot july is dropped\n");
    snapshot(&["drop"], &place.corpus, &["july"])
        .fails(&["no snapshot `july`; there is `2025-06`"]);
    // The name is free again; one that planning would give this moment may be taken.
    corpusdb(&["snapshot", "create", &place.corpus, "july"]).good();
    let log =
        corpusdb(&["sql", &place.corpus, "SELECT max(commit) AS commit FROM commits", "--json"]);
    let commit = log.good().json()["commit"].as_u64().unwrap();
    let file = place.scratch.write(
        "more.jsonl",
        lines(&[Page::keyed("new", "Nine new words that nobody has said before here")]),
    );
    rename("july", &format!("commit-{}", commit + 2)).good();
    ingest(&place.corpus, &[&file], &["--source", "news", "--id-field", "id"]);
    let planned = place.recipe("plan", SPECIALS, &["--json"]).good().json();
    assert_eq!(planned["plan"]["snapshot"]["name"], format!("commit-{}-2", commit + 2));
    sound(&place.corpus);
});

// ----
// `stats` after a history of ingests, crawls that come again, removals and another policy: all that it tells is
// computed again from the rows of `sql`.

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
    sql(corpus, &statement)
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
        corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "400"]).good();
        let books = scratch.write("books.jsonl", lines(&pages(&mut random, "books", 9, 90)));
        ingest(&corpus, &[&books], &keyed("books"));
        let again: Vec<Page> = web
            .iter()
            .take(60)
            .map(|page| Page { text: edited(&mut random, &page.text, 9), ..page.clone() })
            .collect();
        scratch.ingest(&corpus, "again.jsonl", lines(&again), &keyed("web"));
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
    compare_lengths(told["lengths"].as_array().unwrap(), &kept);

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

/// Compares the lengths of each source, and their counts by bins, with those of its rows.
#[track_caller]
fn compare_lengths(lengths: &[Value], kept: &[&Value]) {
    let mut sources: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    kept.iter().for_each(|row| {
        sources.entry(row["source"].as_str().unwrap()).or_default().push(row);
    });
    assert_eq!(lengths.len(), sources.len());
    let rows: Vec<&Vec<&Value>> =
        lengths.iter().map(|it| &sources[it["source"].as_str().unwrap()]).collect();
    assert!(rows.is_sorted_by_key(|rows| std::cmp::Reverse(rows.len())));
    for (it, rows) in lengths.iter().zip(rows) {
        spread(it, "tokens_own", "int", rows);
        // The greatest bin that begins at the length or before it.
        let from = |bin: usize| match bin {
            0 => 0.0,
            bin => 2f64.powi((bin as i32 - 1) / 4) * (1.0 + ((bin - 1) % 4) as f64 / 4.0),
        };
        let mut bins: Vec<u64> = Vec::new();
        for length in rows.iter().filter_map(|row| row["tokens_own"].as_f64()) {
            let bin = (0..100).rev().find(|bin| from(*bin) <= length).unwrap();
            bins.resize(bins.len().max(bin + 1), 0);
            bins[bin] += 1;
        }
        assert_eq!(it["bins"], json!(bins));
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

    for (by, words) in [
        ("source", &["kept documents by tokens of own:", "superseded", "rejected records:"][..]),
        ("language", &["by source and language:"]),
        ("column", &["kept documents:", "all documents:", "tokens_own"]),
    ] {
        let ran = corpusdb(&["stats", &corpus, "--by", by]).good().prints(words);
        assert!(ran.stdout.lines().all(|line| line.chars().count() <= 160), "{ran}");
    }
    corpusdb(&["stats", &corpus, "--source", "nope"])
        .fails(&["no source `nope`", "`web`, `books`"]);
    corpusdb(&["stats", &corpus, "--snapshot", "nope"]).fails(&["nope", "before"]);
    corpusdb(&["stats", &corpus, "--where", "nope"]).fails(&["`nope`"]);
}

corpusdb_test!(stats_of_an_empty_and_of_a_multilingual_corpus, |scratch| {
    let empty = scratch.arg("empty");
    init(&empty, &[]);
    let told = stats(&empty, &[]);
    let found = (&told["all"]["documents"], &told["groups"], &told["losses"]);
    assert_eq!(found, (&json!(0), &json!([]), &json!([])));
    corpusdb(&["stats", &empty]).good();

    let many = scratch.arg("many");
    init(&many, &["--mode", "none"]);
    let pages: Vec<Page> = (0..1500)
        .map(|n| Page {
            fields: json!({ "language": format!("l{n}") }),
            ..Page::new(format!("text {n}"))
        })
        .collect();
    scratch.ingest(&many, "many.jsonl", lines(&pages), &["--source", "web"]);
    let told = stats(&many, &[]);
    assert_eq!(told["is_by_source_alone"], true);
    assert_eq!(told["groups"].as_array().unwrap().len(), 1);
    assert_eq!(told["groups"][0]["all"]["documents"], 1500);
    let few = stats(&many, &["--where", "id < 900"]);
    let found = (few["groups"].as_array().unwrap().len(), &few["is_by_source_alone"]);
    assert_eq!(found, (900, &json!(false)));
});
