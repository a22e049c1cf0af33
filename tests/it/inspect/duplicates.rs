//! Duplicates and similar documents: summaries, lists, witnesses; and what the library gives one by one.

use crate::support::scenarios::{FamilyCorpus, common_bands, family_words};
use crate::support::{
    Page, TestDir, assert_has, corpusdb, corpusdb_reading, corpusdb_test, crawl, ingest, init,
    lines, make, pour, reader, writer,
};
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use corpusdb::dedup::{Fingerprint, Fingerprinter, Profile, Standing, bands, shared};
use corpusdb::ingest::{ReadOptions, Records};
use corpusdb::inspect::{DuplicatesOptions, SimilarOptions, SimilarTo};
use corpusdb::{Context, Corpus, DedupMode, DocId, IngestOptions, Interrupt, Policy};
use serde_json::{Value, json};

// ----
// Duplicates: summaries, the list, and one document beside its witness.

corpusdb_test!(a_summary_counts_every_duplicate_once, FamilyCorpus::new(), |place| {
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

    assert_has(&found["similarity"], &json!({ "exact": 1, "same_shingles": 1 }));
    let bins = found["similarity"]["bins"].as_array().unwrap();
    let counts: Vec<u64> = bins.iter().map(|bin| bin["documents"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    let shown = (&bins[0]["from"], &bins[5]["from"], &bins[9]["to"]);
    assert_eq!(shown, (&json!(0.8), &json!(0.9), &json!(1.0)));

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
        "6 duplicates in 3 clusters: 1 exact, 5 near (web, .80)\n5 of 13 documents kept; 1 superseded, 1 empty\n",
        "  web            11        6   54.5 %",
        "   .80 ████████         1      .92                  0\n   .82                  0 ",
        "      .98 ████████████████ 2\n   .88                  0        1 ████████         1\n",
        "   .90 ████████         1\n",
        "sizes of clusters: 2 of 2, 1 of 5-8\n",
        "  a                         5  books and 1 more   0     5 at 0.905\n",
        " ID --diff; all: --list, counts: --matrix\n",
    ] {
        assert!(text.contains(line), "no `{line}` in\n{text}");
    }
});

// Every pair of sources was a line, with no way to ask for less or for another field.
corpusdb_test!(a_summary_is_of_one_source_or_by_a_field_or_a_matrix, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "month:keyword", "--field", "quality:float", "--field", "day:int"]);
    let page = |text: String, month: Option<&str>, day: u32| match month {
        Some(month) => json!({ "text": text, "month": month, "day": day }),
        None => json!({ "text": text, "day": day }),
    };
    let pour = |source: &str, pages: &[Value]| {
        let lines: String = pages.iter().map(|page| format!("{page}\n")).collect();
        scratch.ingest(&corpus, &format!("{source}.jsonl"), lines, &["--source", source]);
    };
    pour(
        "books",
        &[
            page(family_words("a", &[]), Some("may"), 1),
            page(family_words("b", &[]), Some("june"), 2),
        ],
    );
    pour(
        "web",
        &[page(family_words("a", &[50]), Some("june"), 3), page(family_words("b", &[]), None, 3)],
    );
    pour(
        "feed",
        &[
            page(family_words("a", &[]), Some("may"), 1),
            page(family_words("c", &[]), Some("may"), 4),
        ],
    );
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
    assert_has(&feed, &json!({ "documents": 2, "kept": 1, "clusters": 1 }));
    assert_eq!(feed["removed"], json!([{ "kind": "exact", "documents": 1 }]));
    assert_eq!(pairs(&json(&["--source", "web", "--by", "day"])), [of("3", "1"), of("3", "2")]);
    let listed =
        corpusdb(&["duplicates", &corpus, "--list", "--source", "web", "--limit", "1", "--json"]);
    let listed = listed.good().json();
    assert_eq!((&listed["source"], &listed["id"]), (&json!("web"), &json!(2)));
    let matrix = corpusdb(&["duplicates", &corpus, "--matrix", "--by", "month"]).good().stdout;
    let row = matrix.lines().find(|line| line.trim().starts_with("may")).unwrap();
    let shown = row.split_whitespace().collect::<Vec<_>>();
    assert_eq!(shown, ["may", "3", "1", "33.3", "%", ".", "1", "33.3", "%"]);
    let fails = |more: &[&str], words: &[&str]| {
        corpusdb(&[&["duplicates", &corpus], more].concat()).fails(words);
    };
    fails(&["--source", "none"], &["no source `none`", "`books`, `web`, `feed`"]);
    fails(&["--list", "--source", "none"], &["no source `none`", "`books`, `web`, `feed`"]);
    fails(&["--by", "quality"], &["`quality`", "`source`, `language`, `month`, `day`"]);
});

// They were listed as they are spelled: 10 before 2.
corpusdb_test!(a_summary_by_an_integer_is_in_the_order_of_its_values, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "day:int"]);
    let mut lines = String::new();
    for day in [-3, 10, 2, 100] {
        let text = family_words(&format!("day{day}"), &[]);
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
});

corpusdb_test!(a_summary_agrees_with_the_list_on_a_crawl, |scratch| {
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
        let removed = &counted.removed;
        assert_eq!((removed.documents, removed.bytes), (of_pair.count() as u64, bytes));
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
    let shown = found.cluster_sizes.iter().map(|bin| bin.documents).sum::<u64>();
    assert_eq!(shown, sizes.values().sum::<u64>());
    let mut ordered: Vec<(u64, u64)> = sizes.into_iter().collect();
    ordered.sort_by_key(|(id, size)| (std::cmp::Reverse(*size), *id));
    let largest: Vec<(u64, u64)> =
        found.largest.iter().map(|cluster| (cluster.id, cluster.size)).collect();
    assert_eq!(largest, ordered[..3]);
});

corpusdb_test!(a_removed_document_shows_its_difference, FamilyCorpus::new(), |place| {
    let found = place.json(&["duplicates", "5", "--diff"]);
    assert_eq!(found["type"], "document_duplicates");
    assert_has(&found, &json!({ "id": 5, "standing": "near", "bands": 32 }));
    let witness = &found["witness"];
    assert_eq!((&witness["witness"], &witness["witness_key"]), (&json!(0), &json!("a")));
    assert_eq!(witness["jaccard"], json!(95.0 / 105.0));
    let contained = (&witness["containment_removed"], &witness["containment_witness"]);
    assert_eq!(contained, (&json!(0.95), &json!(0.95)));
    let expected = common_bands(&family_words("a", &[]), &family_words("a", &[50]));
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
});

corpusdb_test!(documents_of_every_standing_can_be_looked_at, FamilyCorpus::new(), |place| {
    let of = |id: &str| place.json(&["duplicates", id]);
    assert_eq!(of("0")["cluster"]["size"], 5);
    assert_eq!(of("0")["witness"], Value::Null);
    let exact = of("2");
    assert_has(&exact["witness"], &json!({ "kind": "exact", "jaccard": 1.0 }));
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
});

corpusdb_test!(a_corpus_without_duplicates_says_so, |scratch| {
    let corpus = scratch.arg("corpus");
    for mode in ["witness", "exact", "none"] {
        let corpus = format!("{corpus}-{mode}");
        init(&corpus, &["--mode", mode]);
        corpusdb(&["duplicates", &corpus])
            .good()
            .prints(&["no duplicates (web, ", "0 of 0 documents kept"]);
        let list = corpusdb(&["duplicates", &corpus, "--list"]).good();
        assert_eq!((list.stdout.as_str(), list.stderr.as_str()), ("", "no duplicates\n"));
    }
});

// ----
// Documents that are similar to a text: which, in which order, and by which bands.

fn similar(place: &FamilyCorpus, more: &[&str]) -> Vec<(u64, f64)> {
    let found = place.json(&[&["similar"], more].concat());
    assert_eq!(found["type"], "similar");
    let found = found["found"].as_array().unwrap();
    found
        .iter()
        .map(|one| (one["id"].as_u64().unwrap(), one["jaccard"].as_f64().unwrap()))
        .collect()
}

corpusdb_test!(similar_documents_are_ranked_by_exact_similarity, FamilyCorpus::new(), |place| {
    let one_word = 95.0 / 105.0;
    assert_eq!(similar(&place, &["5"]), [(0, one_word)]);
    assert_eq!(similar(&place, &["w5"]), [(0, one_word)]);
    let all = [(0, one_word), (2, one_word), (3, one_word), (4, 94.0 / 106.0)];
    assert_eq!(similar(&place, &["5", "--all"]), all);
    assert_eq!(similar(&place, &["5", "--all", "-k", "2"]), all[..2]);
    assert_eq!(similar(&place, &["5", "--all", "--source", "web"]), all[1..]);
    let text = family_words("a", &[]);
    assert_eq!(similar(&place, &["--text", &text]), [(0, 1.0)]);
    let of_text = [(0, 1.0), (2, 1.0), (3, 1.0), (4, 99.0 / 101.0), (5, one_word)];
    assert_eq!(similar(&place, &["--text", &text, "--all"]), of_text);
    let file = place.scratch.write("a.txt", &text);
    assert_eq!(similar(&place, &["--file", &file]), [(0, 1.0)]);
    for arguments in [
        &["similar", &place.corpus, "-", "--json"][..],
        &["similar", &place.corpus, "--file", "-", "--json"],
    ] {
        let read = corpusdb_reading(arguments, text.as_bytes()).good().json();
        assert_eq!((&read["found"][0]["id"], &read["document"]), (&json!(0), &Value::Null));
    }

    let found = place.json(&["similar", "5"]);
    let first = &found["found"][0];
    assert_has(&found, &json!({ "tokens": 104, "shingles": 100, "by": "bands" }));
    assert_has(&found, &json!({ "buckets": 32, "capped": 0, "candidates": 1 }));
    let policy = Policy::of(Profile::Web);
    assert_eq!(first["detection"], json!(policy.detection(one_word)));
    assert_eq!(found["found_at_threshold"], json!(policy.detection(0.8)));
    assert_eq!(first["shared_bands"], json!(common_bands(&text, &family_words("a", &[50])).len()));
    assert_eq!((&first["standing"], &first["duplicate"]), (&json!("kept"), &json!(true)));
    assert_has(first, &json!({ "containment_text": 0.95, "containment_document": 0.95 }));
    let shown = corpusdb(&["similar", &place.corpus, "5"]).good();
    assert_eq!(shown.stdout, "0.905  0  duplicate  books  a\n");
    assert_eq!(
        shown.stderr,
        "1 of 1 candidate compared; 99.7 % of documents 0.8 similar are candidates\n"
    );
    let long = corpusdb(&["similar", &place.corpus, "5", "--all", "--long"]).good();
    assert!(
        long.stdout.contains("0.905  2  exact      web    w2\n       it contains 95.0 %"),
        "{long}"
    );
    assert!(long.stderr.contains("104 tokens and 100 shingles, in 32 buckets\n"), "{long}");
    assert_eq!(reader(&place.scratch.path("corpus")).view().documents(), 13, "nothing is ingested");
});

corpusdb_test!(a_text_below_a_shingle_matches_as_a_whole, FamilyCorpus::new(), |place| {
    let found = place.json(&["similar", "--text", "Only THREE, words"]);
    assert_eq!((&found["by"], &found["found"][0]["id"]), (&json!("equal-text"), &json!(9)));
    assert_eq!(found["found"][0]["jaccard"], json!(1.0));
    let talk = corpusdb(&["similar", &place.corpus, "--text", "Only THREE, words"]).good();
    assert!(talk.stderr.contains("3 tokens, fewer than a shingle of 5"), "{talk}");
    let none = corpusdb(&["similar", &place.corpus, "--text", "only three"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{none}");
    assert!(none.stderr.contains("nothing similar found"));
});

corpusdb_test!(impossible_searches_say_why, FamilyCorpus::new(), |place| {
    let corpus = &*place.corpus;
    corpusdb(&["similar", corpus, "--text", " \n"]).fails(&["no words", "`web@2`"]);
    corpusdb(&["similar", corpus, "77"]).fails(&["no document 77", "`key:77`"]);
    corpusdb(&["similar", corpus, "5", "--source", "wbe"])
        .fails(&["no source `wbe`", "did you mean `web`?"]);
    corpusdb(&["similar", corpus]).fails(&["--text"]);
    corpusdb(&["similar", corpus, "5", "--text", "x"]).fails(&["cannot be used with"]);
    corpusdb(&["similar", corpus, "--file", "/nowhere"]).fails(&["/nowhere"]);
    let file = place.scratch.write("pages.gz", [0x1f, 0x8b, 8, 0, 0xff]);
    corpusdb(&["similar", corpus, "--file", &file])
        .fails(&["not UTF-8", "unpack a compressed file"]);

    let none = place.scratch.arg("none");
    init(&none, &["--mode", "none"]);
    corpusdb(&["similar", &none, "--text", "x"]).fails(&["mode `none`", "--mode witness"]);
    let exact = place.scratch.arg("exact");
    init(&exact, &["--mode", "exact"]);
    place.scratch.ingest(&exact, "x.jsonl", "{\"text\":\"some bytes\"}\n", &["--source", "web"]);
    let found = corpusdb(&["similar", &exact, "--text", "some bytes", "--json"]).good().json();
    assert_eq!((&found["by"], &found["found"][0]["jaccard"]), (&json!("equal-bytes"), &json!(1.0)));
    let other = corpusdb(&["similar", &exact, "--text", "Some bytes"]);
    assert_eq!(other.code, Some(1), "{other}");
    assert!(other.stderr.contains("mode exact has no near duplicates"), "{other}");
});

/// Kept documents that share a band with a text or equal it, most similar first.
fn by_brute_force(corpus: &Corpus, own: u64, all: &[(Standing, Fingerprint)]) -> Vec<(u64, f64)> {
    let policy = corpus.view().policy();
    let keys = |of: &Fingerprint| {
        of.sketch.as_ref().map(|sketch| bands(sketch, policy)).unwrap_or_default()
    };
    let query = &all[own as usize].1;
    let mut found: Vec<(u64, f64)> = Vec::new();
    for (id, (standing, other)) in (0..).zip(all) {
        let meets = keys(query).iter().zip(keys(other)).any(|(a, b)| *a == b);
        let equal = query.normalised == other.normalised;
        if id != own && *standing == Standing::Kept && (meets || equal) {
            let shared = f64::from(shared(&query.shingles, &other.shingles));
            let union = (query.shingles.len() + other.shingles.len()) as f64 - shared;
            found.push((id, shared / union));
        }
    }
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

corpusdb_test!(similar_documents_share_a_band_in_any_number, |scratch| {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.9);
    let file = scratch.write("pages.jsonl", lines(&crawl(73, 400, false)));
    pour(&mut writer(&path), &[file], &IngestOptions::new("web"));
    let corpus = reader(&path);
    let mut craft = Fingerprinter::new(corpus.view().policy());
    let all: Vec<(Standing, Fingerprint)> = (0..corpus.view().documents())
        .map(DocId)
        .map(|id| {
            let text = corpus.view().text(id).unwrap();
            (corpus.view().standing(id).unwrap(), craft.fingerprint(&text))
        })
        .collect();
    let mut several = 0;
    for id in (0..corpus.view().documents()).filter(|id| all[*id as usize].1.tokens > 0) {
        let expected = by_brute_force(&corpus, id, &all);
        for k in [1, 3, 1000] {
            let options = SimilarOptions { k, ..SimilarOptions::default() };
            let report = corpus.similar(SimilarTo::Document(DocId(id)), &options).unwrap();
            let found: Vec<(u64, f64)> =
                report.found.iter().map(|one| (one.id, one.jaccard)).collect();
            assert_eq!(found, expected[..k.min(expected.len())], "document {id}, k {k}");
            assert_eq!(report.candidates, expected.len() as u64);
        }
        several += usize::from(expected.len() > 3);
    }
    assert!(
        several > 20,
        "{several} documents with several similar ones are too few to mean anything"
    );
});

// ----
// What the library gives one by one: rows of a statement, documents, duplicates, rejects.

fn corpus_of(scratch: &TestDir, pages: &[Page]) -> Corpus {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let file = scratch.write("a.jsonl", lines(pages) + "bad\n{\"text\":1}\n");
    pour(&mut writer(&path), &[file], &IngestOptions::new("web"));
    reader(&path)
}

corpusdb_test!(rows_of_a_statement_end_when_dropped, |scratch| {
    let corpus = corpus_of(&scratch, &crawl(91, 300, false));
    let names = |sql: &str| {
        let schema = corpus.sql(sql).unwrap().schema();
        schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    let mut none = corpus.sql("SELECT id, text AS words FROM documents WHERE id > 1000").unwrap();
    assert!(none.next().is_none() && none.next().is_none());
    assert_eq!(names("SELECT id, text AS words FROM documents WHERE id > 1000"), ["id", "words"]);
    let found = names("SHOW TABLES").len();
    assert_eq!(found, corpus.sql("SHOW TABLES").unwrap().schema().fields().len());
    // Eight thousand million rows: who drops it does not wait for them.
    let many = "SELECT a.id FROM documents a, documents b, documents c, documents d";
    let first = corpus.sql(many).unwrap().next().unwrap().unwrap();
    assert!(first.num_rows() > 0);
    // A statement that is wrong fails at once; one that fails while it runs, where its rows would stand.
    assert!(corpus.sql("SELECT nothing FROM documents").is_err());
    assert!(corpus.sql("DELETE FROM documents").is_err());
    let mut fails = corpus.sql("SELECT 1 / (id - 7) AS x FROM documents").unwrap();
    let error = fails.find_map(Result::err).expect("a division by zero").to_string();
    assert!(error.to_lowercase().contains("divide by zero"), "{error}");
    assert!(fails.next().is_none());
    // Rows need no corpus that is open.
    let rows = corpus.sql("SELECT id FROM documents ORDER BY id").unwrap();
    drop(corpus);
    let ids: Vec<u64> = rows
        .flat_map(|batch| batch.unwrap().column(0).as_primitive::<UInt64Type>().values().to_vec())
        .collect();
    assert_eq!(ids, (0..300).collect::<Vec<_>>());
});

corpusdb_test!(rows_of_a_statement_can_be_ingested_into_another_corpus, |scratch| {
    let corpus = corpus_of(&scratch, &crawl(92, 120, false));
    make(&scratch.path("kept"), DedupMode::Exact, 0.8);
    let rows = corpus.sql("SELECT id, text, source AS origin FROM documents WHERE kept").unwrap();
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("kept") };
    let records = Records::batches("kept of corpus", rows.into_reader());
    let mut kept = writer(&scratch.path("kept"));
    let interrupt = Interrupt::default();
    let report =
        kept.ingest(records, &options, &Context::new().with_interrupt(&interrupt)).unwrap();
    assert_eq!(report.kept, corpus.count("kept").unwrap());
    drop(kept);
    let kept = reader(&scratch.path("kept"));
    for document in kept.documents(None).unwrap() {
        let document = document.unwrap();
        let of = corpus.show(DocId(document.key.parse().unwrap())).unwrap();
        assert_eq!((document.text, document.metadata.get()), (of.text, "{\"origin\":\"web\"}"));
    }
});

corpusdb_test!(documents_duplicates_and_rejects_come_one_by_one, |scratch| {
    let corpus = corpus_of(&scratch, &crawl(93, 200, false));
    let removed = "standing = 'near' OR standing = 'exact'";
    let shown: Vec<_> = corpus.documents(removed).unwrap().map(Result::unwrap).collect();
    let pairs: Vec<_> = corpus.duplicates(None).unwrap().map(Result::unwrap).collect();
    assert!(pairs.len() > 20);
    assert_eq!(pairs.len(), shown.len());
    for (pair, shown) in pairs.iter().zip(&shown) {
        let found = shown.found.as_ref().unwrap();
        assert_eq!((pair.id, pair.witness, &*pair.key), (shown.id, found.witness, &*shown.key));
        let own: Vec<_> = corpus.duplicates(Some(DocId(pair.id))).unwrap().collect();
        assert_eq!(own.len(), 1);
        let members = corpus.duplicates(Some(DocId(pair.witness))).unwrap();
        assert!(members.map(Result::unwrap).any(|member| member == *pair));
    }
    assert!(corpus.duplicates(Some(DocId(1000))).is_err());
    assert!(corpus.documents("nothing > 1").is_err());
    let numbers = |limit| -> Vec<u64> {
        corpus.rejects(limit).unwrap().map(|reject| reject.unwrap().number).collect()
    };
    assert_eq!((numbers(10), numbers(1), numbers(0)), (vec![200, 201], vec![200], vec![]));
});
