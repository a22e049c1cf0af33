//! Duplicates: summaries, the list, and one document beside its witness.

use crate::support::families::{FamilyCorpus, common_bands, words};
use crate::support::{TestDir, corpusdb, crawl, ingest, init, lines, make, pour, reader, writer};
use corpusdb::duplicates::DuplicatesOptions;
use corpusdb::{DedupMode, DocId, IngestOptions};
use serde_json::{Value, json};

#[test]
fn a_summary_counts_every_duplicate_once() {
    let place = FamilyCorpus::new();
    let found = place.json(&["duplicates"]);
    assert_eq!(found["type"], "duplicates");
    assert_eq!((&found["documents"], &found["kept"]), (&json!(13), &json!(5)));
    let of_kind = |kind: &str, documents: u32| json!({ "kind": kind, "documents": documents });
    let kinds =
        [of_kind("exact", 1), of_kind("near", 5), of_kind("superseded", 1), of_kind("empty", 1)];
    assert_eq!(found["removed"], json!(kinds));

    let bytes = |ids: &[u64]| -> usize {
        let corpus = reader(&place.scratch.path("corpus"));
        ids.iter().map(|id| corpus.view().text(DocId(*id)).unwrap().len()).sum()
    };
    let all = bytes(&[2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    let removed = bytes(&[2, 3, 4, 5, 6, 8]);
    assert_eq!(
        found["sources"],
        json!([{
            "source": "web", "documents": 11, "removed": 6, "share": 6.0 / 11.0,
            "bytes": all, "removed_bytes": removed, "share_bytes": removed as f64 / all as f64,
        }])
    );
    let (from_books, from_web) = (bytes(&[2, 3, 4, 5, 6]), bytes(&[8]));
    let pair = |witness: &str, documents: u32, exact: u32, bytes: usize| {
        json!({
            "source": "web", "witness_source": witness, "documents": documents, "exact": exact,
            "bytes": bytes, "share": f64::from(documents) / 11.0, "share_bytes": bytes as f64 / all as f64,
        })
    };
    assert_eq!(
        found["source_pairs"],
        json!([pair("books", 5, 1, from_books), pair("web", 1, 0, from_web)])
    );

    assert_eq!(
        (&found["similarity"]["exact"], &found["similarity"]["same_shingles"]),
        (&json!(1), &json!(1))
    );
    let bins = found["similarity"]["bins"].as_array().unwrap();
    let counts: Vec<u64> = bins.iter().map(|bin| bin["documents"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(
        (&bins[0]["from"], &bins[5]["from"], &bins[9]["to"]),
        (&json!(0.8), &json!(0.9), &json!(1.0))
    );

    assert_eq!(found["clusters"], 3);
    let sizes = |from: u32, to: u32, clusters: u32, documents: u32| json!({ "from": from, "to": to, "clusters": clusters, "documents": documents });
    assert_eq!(found["cluster_sizes"], json!([sizes(2, 2, 2, 4), sizes(5, 8, 1, 5)]));
    let largest = found["largest"].as_array().unwrap();
    let of = |at: usize| {
        let cluster = &largest[at];
        let example = &cluster["example"];
        [&cluster["id"], &cluster["size"], &cluster["key"], &example["id"], &example["witness"]]
            .map(|value| value.to_string())
    };
    assert_eq!(largest.len(), 3);
    assert_eq!(of(0), ["0", "5", "\"a\"", "5", "0"]);
    assert_eq!(of(1), ["1", "2", "\"b\"", "6", "1"]);
    assert_eq!(of(2), ["7", "2", "\"w7\"", "8", "7"]);
    let of_source =
        |source: &str, documents: u32| json!({ "source": source, "documents": documents });
    assert_eq!(largest[0]["sources"], json!([of_source("web", 4), of_source("books", 1)]));
    assert_eq!(largest[0]["example"]["jaccard"], json!(95.0 / 105.0));
    let beginning = largest[0]["example"]["witness_beginning"].as_str().unwrap();
    assert!(beginning.starts_with("a0 a1 a2 ") && beginning.ends_with('…'), "{beginning}");
    assert_eq!(place.json(&["duplicates", "--limit", "1"])["largest"].as_array().unwrap().len(), 1);

    let text = corpusdb(&["duplicates", &place.corpus]).good().stdout;
    for line in [
        "documents: 13, 5 kept",
        "not kept: 1 exact, 5 near, 1 superseded, 1 empty",
        "books <- web",
        "54.5 %",
        "0.90-0.92",
        "clusters: 3",
        "cluster 0 a (books): 5 documents: 4 web, 1 books",
        // Where the two part: their beginnings are the same.
        "      removed: …",
        " other50 ",
    ] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
}

#[test]
fn a_summary_is_of_one_source_or_by_a_field_or_a_matrix() {
    // Every pair of sources was a line, with no way to ask for less or for another field.
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "month:keyword", "--field", "quality:float", "--field", "day:int"]);
    let page = |text: String, month: Option<&str>, day: u32| match month {
        Some(month) => json!({ "text": text, "month": month, "day": day }),
        None => json!({ "text": text, "day": day }),
    };
    let pour = |source: &str, pages: &[Value]| {
        let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
        let file = scratch.write(&format!("{source}.jsonl"), lines);
        ingest(&corpus, &[&file], &["--source", source]);
    };
    pour("books", &[page(words("a", &[]), Some("may"), 1), page(words("b", &[]), Some("june"), 2)]);
    pour("web", &[page(words("a", &[50]), Some("june"), 3), page(words("b", &[]), None, 3)]);
    pour("feed", &[page(words("a", &[]), Some("may"), 1), page(words("c", &[]), Some("may"), 4)]);
    let json = |more: &[&str]| {
        corpusdb(&[&["duplicates", &corpus, "--json"], more].concat()).good().json()
    };
    let pairs = |found: &Value| -> Vec<(String, String, u64)> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let pairs = found["source_pairs"].as_array().unwrap().iter();
        let mut pairs: Vec<_> = pairs
            .map(|p| {
                (text(&p["source"]), text(&p["witness_source"]), p["documents"].as_u64().unwrap())
            })
            .collect();
        pairs.sort();
        pairs
    };
    let of = |a: &str, b: &str| (a.to_owned(), b.to_owned(), 1);
    let all = json(&[]);
    assert_eq!((&all["by"], pairs(&all).len(), &all["clusters"]), (&json!("source"), 2, &json!(2)));
    let months = json(&["--by", "month"]);
    assert_eq!(pairs(&months), [of("(none)", "june"), of("june", "may"), of("may", "may")]);
    let may = months["sources"].as_array().unwrap().iter().find(|s| s["source"] == "may").unwrap();
    assert_eq!((&may["documents"], &may["removed"]), (&json!(3), &json!(1)));
    let feed = json(&["--source", "feed"]);
    assert_eq!(pairs(&feed), [of("feed", "books")]);
    assert_eq!(
        (&feed["documents"], &feed["kept"], &feed["clusters"]),
        (&json!(2), &json!(1), &json!(1))
    );
    assert_eq!(feed["removed"], json!([{ "kind": "exact", "documents": 1 }]));
    assert_eq!(pairs(&json(&["--source", "web", "--by", "day"])), [of("3", "1"), of("3", "2")]);
    let listed =
        corpusdb(&["duplicates", &corpus, "--list", "--source", "web", "--limit", "1", "--json"]);
    let listed = listed.good().json();
    assert_eq!((&listed["source"], &listed["id"]), (&json!("web"), &json!(2)));
    let matrix = corpusdb(&["duplicates", &corpus, "--matrix", "--by", "month"]).good().stdout;
    let row = matrix.lines().find(|line| line.trim().starts_with("may")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["may", "3", "1", "33.3", "%", ".", "1", "33.3", "%"]
    );
    let fails = |more: &[&str], words: &[&str]| {
        corpusdb(&[&["duplicates", &corpus], more].concat()).fails(words);
    };
    fails(&["--source", "none"], &["no source `none`", "`books`, `web`, `feed`"]);
    fails(&["--list", "--source", "none"], &["no source `none`", "`books`, `web`, `feed`"]);
    fails(&["--by", "quality"], &["`quality`", "`source`, `language`, `month`, `day`"]);
}

/// They were listed as they are spelled: 10 before 2.
#[test]
fn a_summary_by_an_integer_is_in_the_order_of_its_values() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "day:int"]);
    let mut lines = String::new();
    for day in [-3, 10, 2, 100] {
        let text = words(&format!("day{day}"), &[]);
        lines.push_str(&format!("{}\n", json!({ "text": text, "day": day })).repeat(2));
    }
    ingest(&corpus, &[&scratch.write("a.jsonl", lines)], &["--source", "web"]);
    let run = |more: &[&str]| corpusdb(&[&["duplicates", &corpus, "--by", "day"], more].concat());
    let found = run(&["--json"]).good().json();
    let sources = found["sources"].as_array().unwrap().iter();
    let days: Vec<&str> = sources.map(|row| row["source"].as_str().unwrap()).collect();
    assert_eq!(days, ["-3", "2", "10", "100"]);
    let matrix = run(&["--matrix"]).good().stdout;
    let rows = matrix.lines().skip_while(|line| !line.trim().starts_with("day")).skip(1);
    let days: Vec<&str> = rows.filter_map(|row| row.split_whitespace().next()).collect();
    assert_eq!(days, ["-3", "2", "10", "100"]);
}

#[test]
fn a_summary_agrees_with_the_list_on_a_crawl() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let mut writer = writer(&path);
    for (source, seed) in [("one", 71), ("two", 71), ("one", 72)] {
        let file = scratch.write(&format!("{source}{seed}.jsonl"), lines(&crawl(seed, 300, false)));
        let mut options = IngestOptions::new(source);
        options.batch_bytes = 9 << 10;
        pour(&mut writer, &[file], &options);
    }
    let corpus = reader(&path);
    let pairs: Vec<_> = corpus.duplicates(None).unwrap().collect::<Result<_, _>>().unwrap();
    let found =
        corpus.duplicates_summary(&DuplicatesOptions { largest: 3, ..Default::default() }).unwrap();
    assert!(pairs.len() > 200 && found.source_pairs.len() > 1);
    for counted in &found.source_pairs {
        let of_pair = pairs.iter().filter(|pair| {
            (&pair.source, &pair.witness_source) == (&counted.source, &counted.witness_source)
        });
        let bytes =
            of_pair.clone().map(|pair| corpus.show(DocId(pair.id)).unwrap().bytes).sum::<u64>();
        assert_eq!((counted.documents, counted.bytes), (of_pair.count() as u64, bytes));
    }
    let near = found.similarity.bins.iter().map(|bin| bin.documents).sum::<u64>();
    assert_eq!(
        (near + found.similarity.exact + found.similarity.same_shingles) as usize,
        pairs.len()
    );
    for bin in &found.similarity.bins {
        let inside = pairs
            .iter()
            .filter(|pair| pair.kind == "near" && (bin.from..bin.to).contains(&pair.jaccard));
        assert_eq!(inside.count() as u64, bin.documents, "{bin:?}");
    }
    let mut sizes = std::collections::BTreeMap::<u64, u64>::new();
    for pair in &pairs {
        *sizes.entry(pair.witness).or_insert(1) += 1;
    }
    assert_eq!(found.clusters, sizes.len() as u64);
    assert_eq!(
        found.cluster_sizes.iter().map(|bin| bin.documents).sum::<u64>(),
        sizes.values().sum::<u64>()
    );
    let mut ordered: Vec<(u64, u64)> = sizes.into_iter().collect();
    ordered.sort_by_key(|(id, size)| (std::cmp::Reverse(*size), *id));
    let largest: Vec<(u64, u64)> =
        found.largest.iter().map(|cluster| (cluster.id, cluster.size)).collect();
    assert_eq!(largest, ordered[..3]);
}

#[test]
fn a_removed_document_shows_witness_bands_and_difference() {
    let place = FamilyCorpus::new();
    let found = place.json(&["duplicates", "5", "--diff"]);
    assert_eq!(found["type"], "document_duplicates");
    assert_eq!(
        (&found["id"], &found["standing"], &found["bands"]),
        (&json!(5), &json!("near"), &json!(32))
    );
    let witness = &found["witness"];
    assert_eq!((&witness["witness"], &witness["witness_key"]), (&json!(0), &json!("a")));
    assert_eq!(witness["jaccard"], json!(95.0 / 105.0));
    let contained = (&witness["containment_removed"], &witness["containment_witness"]);
    assert_eq!(contained, (&json!(0.95), &json!(0.95)));
    let expected = common_bands(&words("a", &[]), &words("a", &[50]));
    assert!(!expected.is_empty() && expected.len() < 32);
    assert_eq!(witness["shared_bands"], json!(expected));
    let diff: Vec<&Value> =
        witness["diff"].as_array().unwrap().iter().filter(|part| part["part"] != "same").collect();
    let part = |kind: &str, text: &str| json!({ "part": kind, "text": text });
    assert_eq!(diff, [&part("removed", "a50"), &part("added", "other50")]);
    let cluster = &found["cluster"];
    assert_eq!((&cluster["id"], &cluster["size"]), (&json!(0), &json!(5)));
    let members: Vec<&Value> =
        cluster["members"].as_array().unwrap().iter().map(|member| &member["id"]).collect();
    assert_eq!(members, [2, 3, 4, 5]);
    let listed = place.json(&["duplicates", "5", "--limit", "1"]);
    assert_eq!(listed["cluster"]["members"].as_array().unwrap().len(), 1);
    assert_eq!(listed["cluster"]["size"], 5);

    // The same by key, and in text.
    assert_eq!(place.json(&["duplicates", "w5", "--diff"]), found);
    let text = corpusdb(&["duplicates", &place.corpus, "w5", "--diff"]).good().stdout;
    for part in [
        "0.9048",
        "95.0 % of its shingles",
        "of 32 bands shared",
        "[-a50-]{+other50+}",
        "cluster 0 of 5",
    ] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn documents_of_every_standing_can_be_looked_at() {
    let place = FamilyCorpus::new();
    let of = |id: &str| place.json(&["duplicates", id]);
    assert_eq!(of("0")["cluster"]["size"], 5);
    assert_eq!(of("0")["witness"], Value::Null);
    let exact = of("2");
    assert_eq!(
        (&exact["witness"]["kind"], &exact["witness"]["jaccard"]),
        (&json!("exact"), &json!(1.0))
    );
    assert_eq!(exact["witness"]["shared_bands"].as_array().unwrap().len(), 32);
    assert_eq!(of("12")["cluster"]["size"], 1);
    let empty = of("10");
    assert_eq!((&empty["standing"], &empty["cluster"]), (&json!("empty"), &Value::Null));
    let superseded = of("11");
    assert_eq!((&superseded["successor"], &superseded["witness"]), (&json!(12), &Value::Null));
    // Both generations of a key.
    let both = corpusdb(&["duplicates", &place.corpus, "w11", "--json"]).good().json_lines();
    assert_eq!((&both[0]["id"], &both[1]["id"], both.len()), (&json!(11), &json!(12), 2));
    // Every member of a kept one with its difference.
    let diff = corpusdb(&["duplicates", &place.corpus, "0", "--diff"]).good().stdout;
    assert!(diff.contains("{+other50+}") && diff.contains("{+other103+}"), "{diff}");

    let nobody = corpusdb(&["duplicates", &place.corpus, "nobody"]);
    assert_eq!((nobody.code, nobody.stdout.as_str()), (Some(1), ""), "{nobody}");
    assert!(nobody.stderr.contains("no document has the key nobody"));
    corpusdb(&["duplicates", &place.corpus, "99"]).fails(&[
        "no document 99",
        "below 13",
        "`key:99`",
    ]);
    corpusdb(&["duplicates", &place.corpus, "--diff"]).fails(&["--diff", "--list"]);
    corpusdb(&["duplicates", &place.corpus, "5", "--list"])
        .fails(&["--list", "cannot be used with"]);
}

#[test]
fn a_corpus_without_duplicates_says_so() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    for mode in ["witness", "exact", "none"] {
        let corpus = format!("{corpus}-{mode}");
        init(&corpus, &["--mode", mode]);
        let empty = corpusdb(&["duplicates", &corpus]).good().stdout;
        assert!(empty.contains("documents: 0") && empty.contains("no duplicates"), "{empty}");
        let list = corpusdb(&["duplicates", &corpus, "--list"]).good();
        assert_eq!((list.stdout.as_str(), list.stderr.as_str()), ("", "no duplicates\n"));
    }
}
