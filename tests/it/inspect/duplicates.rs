//! Looking at duplicates and choosing a policy: summaries, one document, similar texts, profiles, what a policy comes
//! to.

use crate::support::{
    MEMORY, Page, TestDir, corpusdb, corpusdb_reading, crawl, ingest, init, lines, make, pour,
    reader, writer,
};
use corpusdb::dedup::{DedupScope, KeepOrder, Profile, Standing};
use corpusdb::dedup::{Fingerprint, Fingerprinter, bands, shared};
use corpusdb::duplicates::{DuplicatesOptions, SimilarOptions, SimilarTo, explain_policy};
use corpusdb::{Corpus, DedupMode, DocId, IngestOptions, Policy};
use serde_json::{Value, json};

/// 104 words, which make 100 shingles; those `at` the given places are others.
fn words(name: &str, at: &[usize]) -> String {
    let word = |place| {
        if at.contains(&place) { format!("other{place}") } else { format!("{name}{place}") }
    };
    (0..104).map(word).collect::<Vec<_>>().join(" ")
}

/// 13 documents of two sources, by id:
/// 0 a and 1 b of books; of web 2 a again, 3 a in other letters, 4 a but for its last word (99 shingles of
/// 101), 5 a but for a word in the middle (95 of 105), 6 b but for two (90 of 110), 7 c, 8 c but for its
/// first word, 9 three words, 10 none, 11 and 12 one key twice.
struct FamilyCorpus {
    scratch: TestDir,
    corpus: String,
}

impl FamilyCorpus {
    fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        let books = [Page::keyed("a", words("a", &[])), Page::keyed("b", words("b", &[]))];
        let file = scratch.write("books.jsonl", lines(&books));
        ingest(&corpus, &[&file], &["--source", "books", "--id-field", "id"]);
        let web = [
            words("a", &[]),
            words("a", &[]).to_uppercase().replace(' ', ",  "),
            words("a", &[103]),
            words("a", &[50]),
            words("b", &[30, 60]),
            words("c", &[]),
            words("c", &[0]),
            "only three words".to_owned(),
            " \n\t".to_owned(),
            words("d", &[]),
        ];
        let web: Vec<Page> =
            (2..).zip(web).map(|(id, text)| Page::keyed(format!("w{id}"), text)).collect();
        let file = scratch.write("web.jsonl", lines(&web));
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        let file = scratch.write("new.jsonl", Page::keyed("w11", words("e", &[])).line());
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        Self { scratch, corpus }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let all = [&arguments[..1], &[&self.corpus], &arguments[1..], &["--json"]].concat();
        corpusdb(&all).good().json()
    }
}

fn fingerprint(text: &str) -> Fingerprint {
    Fingerprinter::new(&Policy::of(Profile::Web)).fingerprint(text)
}

/// Numbers of the bands that two texts share.
fn common_bands(a: &str, b: &str) -> Vec<usize> {
    let of = |text: &str| bands(&fingerprint(text).sketch.unwrap(), &Policy::of(Profile::Web));
    let pairs = of(a).into_iter().zip(of(b)).enumerate();
    pairs.filter(|(_, (a, b))| a == b).map(|(band, _)| band).collect()
}

// ---- duplicates ----

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

// ---- similar ----

fn similar(place: &FamilyCorpus, more: &[&str]) -> Vec<(u64, f64)> {
    let found = place.json(&[&["similar"], more].concat());
    assert_eq!(found["type"], "similar");
    let found = found["found"].as_array().unwrap();
    found
        .iter()
        .map(|one| (one["id"].as_u64().unwrap(), one["jaccard"].as_f64().unwrap()))
        .collect()
}

#[test]
fn similar_documents_are_ranked_by_exact_similarity() {
    let place = FamilyCorpus::new();
    let one_word = 95.0 / 105.0;
    assert_eq!(similar(&place, &["5"]), [(0, one_word)]);
    assert_eq!(similar(&place, &["w5"]), [(0, one_word)]);
    let all = [(0, one_word), (2, one_word), (3, one_word), (4, 94.0 / 106.0)];
    assert_eq!(similar(&place, &["5", "--all"]), all);
    assert_eq!(similar(&place, &["5", "--all", "-k", "2"]), all[..2]);
    assert_eq!(similar(&place, &["5", "--all", "--source", "web"]), all[1..]);
    let text = words("a", &[]);
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
    assert_eq!(
        (&found["tokens"], &found["shingles"], &found["by"]),
        (&json!(104), &json!(100), &json!("bands"))
    );
    assert_eq!(
        (&found["buckets"], &found["capped"], &found["candidates"]),
        (&json!(32), &json!(0), &json!(1))
    );
    let policy = Policy::of(Profile::Web);
    assert_eq!(first["detection"], json!(policy.detection(one_word)));
    assert_eq!(found["found_at_threshold"], json!(policy.detection(0.8)));
    assert_eq!(first["shared_bands"], json!(common_bands(&text, &words("a", &[50])).len()));
    assert_eq!((&first["standing"], &first["duplicate"]), (&json!("kept"), &json!(true)));
    assert_eq!(
        (&first["containment_text"], &first["containment_document"]),
        (&json!(0.95), &json!(0.95))
    );
    let shown = corpusdb(&["similar", &place.corpus, "5"]).good();
    assert!(shown.stdout.starts_with("0.905  0 a (books) duplicate\n"), "{shown}");
    assert!(shown.stderr.contains("candidates in 32 buckets: 1, read in full: 1;"), "{shown}");
    assert_eq!(reader(&place.scratch.path("corpus")).view().documents(), 13, "nothing is ingested");
}

#[test]
fn a_text_shorter_than_a_shingle_matches_only_as_a_whole() {
    let place = FamilyCorpus::new();
    let found = place.json(&["similar", "--text", "Only THREE, words"]);
    assert_eq!((&found["by"], &found["found"][0]["id"]), (&json!("equal-text"), &json!(9)));
    assert_eq!(found["found"][0]["jaccard"], json!(1.0));
    let talk = corpusdb(&["similar", &place.corpus, "--text", "Only THREE, words"]).good();
    assert!(talk.stderr.contains("3 tokens, fewer than a shingle of 5"), "{talk}");
    let none = corpusdb(&["similar", &place.corpus, "--text", "only three"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), ""), "{none}");
    assert!(none.stderr.contains("nothing similar found"));
}

#[test]
fn impossible_searches_say_why() {
    let place = FamilyCorpus::new();
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
    let file = place.scratch.write("x.jsonl", "{\"text\":\"some bytes\"}\n");
    ingest(&exact, &[&file], &["--source", "web"]);
    let found = corpusdb(&["similar", &exact, "--text", "some bytes", "--json"]).good().json();
    assert_eq!((&found["by"], &found["found"][0]["jaccard"]), (&json!("equal-bytes"), &json!(1.0)));
    let other = corpusdb(&["similar", &exact, "--text", "Some bytes"]);
    assert_eq!(other.code, Some(1), "{other}");
    assert!(other.stderr.contains("mode exact has no near duplicates"), "{other}");
}

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

#[test]
fn similar_documents_share_a_band_in_any_number() {
    let scratch = TestDir::new();
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
}

// ---- choosing a policy ----

fn policy_of(scratch: &TestDir, name: &str, flags: &[&str]) -> Policy {
    let corpus = scratch.arg(name);
    init(&corpus, flags);
    Corpus::options().memory(MEMORY).open(scratch.path(name)).unwrap().view().policy().clone()
}

#[test]
fn flags_change_single_settings_of_a_profile() {
    let scratch = TestDir::new();
    for profile in Profile::ALL {
        let made = policy_of(&scratch, profile.name(), &["--profile", profile.name()]);
        assert_eq!(made, Policy::of(profile));
    }
    assert_eq!(policy_of(&scratch, "default", &[]), Policy::of(Profile::Web));
    let mut number = 0;
    let mut made = |flags: &[&str], change: &dyn Fn(&mut Policy)| {
        number += 1;
        let mut expected = Policy::of(Profile::Bigcode);
        change(&mut expected);
        let flags = [&["--profile", "bigcode"], flags].concat();
        assert_eq!(policy_of(&scratch, &format!("made-{number}"), &flags), expected, "{flags:?}");
    };
    made(&["--mode", "components"], &|policy| policy.mode = DedupMode::Components);
    made(&["--normaliser", "code"], &|policy| {
        policy.normaliser = corpusdb::dedup::Normaliser::Code
    });
    made(&["--shingle", "7"], &|policy| policy.shingle = 7);
    made(&["--bands", "3", "--rows", "4"], &|policy| (policy.bands, policy.rows) = (3, 4));
    made(&["--keep", "longest"], &|policy| policy.keep = KeepOrder::Longest);
    made(&["--keep", "source-priority:b,a"], &|policy| {
        policy.keep = KeepOrder::SourcePriority(vec!["b".to_owned(), "a".to_owned()]);
    });
    made(&["--keep", "field:quality", "--field", "quality:int"], &|policy| {
        policy.keep = KeepOrder::Field("quality".to_owned());
    });
    made(&["--scope", "per-source"], &|policy| policy.scope = DedupScope::PerSource);
    // The profile's own threshold changes nothing; another one sets the bands.
    made(&["--threshold", "0.7"], &|_| {});
    made(&["--threshold", "0.8"], &|policy| policy.set_threshold(0.8).unwrap());
    made(&["--threshold", "0.8", "--bands", "25", "--rows", "10"], &|policy| {
        policy.threshold = 0.8
    });
    made(&["--hashes", "128"], &|policy| {
        (policy.hashes, policy.bands, policy.rows) = (128, 32, 4);
    });
    made(&["--hashes", "5", "--bands", "2", "--rows", "2", "--shingle", "3"], &|policy| {
        (policy.hashes, policy.bands, policy.rows, policy.shingle) = (5, 2, 2, 3);
    });
}

#[test]
fn settings_that_do_not_go_together_make_nothing() {
    let scratch = TestDir::new();
    let fresh = scratch.arg("fresh");
    let init = |flags: &[&str]| corpusdb(&[&["init", &fresh], flags].concat());
    init(&["--keep", "field:quality"]).fails(&[
        "`quality`",
        "not declared",
        "--field quality:float",
    ]);
    init(&["--keep", "field:url", "--field", "url:keyword"]).fails(&[
        "`url`",
        "keyword",
        "--field url:int",
    ]);
    init(&["--keep", "newest"]).fails(&["`newest`", "longest", "field:NAME"]);
    init(&["--keep", "source-priority:a,b,a"]).fails(&["`a`", "twice"]);
    init(&["--keep", "source-priority:"]).fails(&["source-priority:A,B"]);
    init(&["--bands", "20"]).fails(&["--rows"]);
    init(&["--bands", "64", "--rows", "8"]).fails(&["64 bands of 8 rows need 512 of 256"]);
    init(&["--bands", "300", "--rows", "1"]).fails(&["1 to 256"]);
    init(&["--threshold", "80"]).fails(&["80", "write 0.8"]);
    init(&["--shingle", "0"]).fails(&["0-token shingles", "1 to 64"]);
    init(&["--hashes", "128"]).fails(&["profile web always has 256 hashes", "--profile bigcode"]);
    init(&["--profile", "c4"]).fails(&["c4", "slimpajama"]);
    assert!(!scratch.path("fresh").exists(), "nothing is made of a wrong setting");
    let noted = init(&["--mode", "exact", "--threshold", "0.9"]).good();
    assert!(noted.stderr.contains("--threshold has no effect in mode exact"), "{noted}");
    let noted = corpusdb(&["init", &scratch.arg("few"), "--bands", "2", "--rows", "8"]).good();
    assert!(noted.stderr.contains("2 bands of 8 rows find a pair of similarity 0.8"), "{noted}");
}

#[test]
fn info_explains_every_setting() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--keep", "longest", "--scope", "per-source"]);
    let text = corpusdb(&["info", &corpus]).good().stdout;
    let found = corpusdb(&["info", &corpus, "--json"]).good().json();
    let settings = found["settings"].as_array().unwrap();
    let names: Vec<&str> = settings.iter().map(|line| line["setting"].as_str().unwrap()).collect();
    let expected = [
        "profile",
        "mode",
        "normaliser",
        "shingle",
        "hashes",
        "threshold",
        "bands x rows",
        "keep",
        "scope",
        "signature version",
    ];
    assert_eq!(names, expected);
    for line in settings {
        let [name, value, meaning] =
            ["setting", "value", "meaning"].map(|part| line[part].as_str().unwrap());
        let shown = text.lines().find(|shown| shown.trim_start().starts_with(&format!("{name} ")));
        let shown = shown.unwrap_or_else(|| panic!("no {name} in\n{text}"));
        assert!(shown.contains(value) && shown.ends_with(meaning), "{shown}");
    }
    let bands = &settings[6];
    assert_eq!(bands["value"], "32 x 8");
    assert!(
        bands["meaning"].as_str().unwrap().contains("found with probability 0.9972 at 0.8"),
        "{bands}"
    );
    assert_eq!(
        (&settings[7]["value"], &settings[8]["value"]),
        (&json!("longest"), &json!("per-source"))
    );
    assert_eq!(found["policy_settings"]["bands"], 32);
}

// ---- explain ----

#[test]
fn a_policy_is_explained_before_it_is_chosen() {
    let explain = |flags: &[&str]| {
        corpusdb(&[&["dedup", "explain"], flags, &["--json"]].concat()).good().json()
    };
    let found = explain(&["--profile", "fineweb"]);
    assert_eq!(found["type"], "dedup_explanation");
    let expected = serde_json::to_value(explain_policy(&Policy::of(Profile::Fineweb))).unwrap();
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name}");
    }
    assert_eq!(found["unused_slots"], 144);
    let lines = found["detection"].as_array().unwrap();
    assert_eq!((&lines[0]["jaccard"], lines.len()), (&json!(0.3), 15));
    let at = |jaccard: f64| lines.iter().find(|line| line["jaccard"] == json!(jaccard)).unwrap();
    // 1 - (1 - 0.75^8)^14.
    let found_with = 1.0 - (1.0 - 0.75_f64.powi(8)).powi(14);
    assert!((at(0.75)["found"].as_f64().unwrap() - found_with).abs() < 1e-12);
    assert_eq!(at(1.0)["found"], 1.0);
    assert_eq!(found["bytes"]["measured"], false);
    let bytes = |flags: &[&str]| explain(flags)["bytes"]["total"].as_f64().unwrap();
    assert!(bytes(&["--threshold", "0.5"]) > bytes(&[]), "a lower threshold needs more bands");
    // A threshold between the steps has a line of its own.
    let lines = explain(&["--threshold", "0.77"])["detection"].as_array().unwrap().len();
    assert_eq!(lines, 16);
    let text = corpusdb(&["dedup", "explain", "--threshold", "0.7"]).good().stdout;
    for part in ["42 x 6", "0.7 = T", "candidates in a million pairs", "bytes a document"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

#[test]
fn explain_estimates_the_cost_of_another_threshold() {
    let place = FamilyCorpus::new();
    let explain = |flags: &[&str]| {
        corpusdb(&[&["dedup", "explain", &place.corpus], flags, &["--json"]].concat()).good().json()
    };
    // a, b, c and e have sketches and no neighbours; the three words have none.
    let found = explain(&[]);
    let sample = &found["sample"];
    assert_eq!((&sample["documents"], &sample["candidates"]), (&json!(4), &json!(0.0)));
    assert_eq!((&sample["candidates_after"], &found["change"]), (&Value::Null, &Value::Null));
    let bytes = &found["bytes"];
    assert_eq!((&bytes["measured"], &bytes["documents"]), (&json!(true), &json!(13)));
    assert_eq!(explain(&["--threshold", "0.8"])["change"], Value::Null, "the corpus has that");

    let other = explain(&["--threshold", "0.7"]);
    assert_eq!(other["policy_settings"]["bands"], 42);
    assert_eq!(
        (&other["change"]["new_bands"], &other["change"]["band_rows"]),
        (&json!(true), &json!(5 * 42))
    );
    assert_eq!(other["sample"]["candidates_after"], json!(0.0));
    let other = explain(&["--keep", "longest"]);
    assert_eq!(
        (&other["change"]["new_bands"], &other["change"]["band_rows"]),
        (&json!(false), &json!(0))
    );
    let text = corpusdb(&["dedup", "explain", &place.corpus, "--threshold", "0.7"]).good().stdout;
    for part in ["cost of a change to this policy:", "the sketches stay", "210 rows of buckets"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }

    for flag in
        [["--profile", "code"], ["--normaliser", "code"], ["--shingle", "7"], ["--hashes", "5"]]
    {
        corpusdb(&[&["dedup", "explain", &place.corpus], &flag[..]].concat()).fails(&[
            flag[0],
            "has its sketches already",
            "without a corpus",
        ]);
    }
    let exact = place.scratch.arg("exact");
    init(&exact, &["--mode", "exact"]);
    // Sketches are stored in every mode: what `dedup redo` does is explained.
    let over = corpusdb(&["dedup", "explain", &exact, "--mode", "witness", "--json"]);
    let over = over.good().json();
    assert_eq!(over["change"]["new_bands"], json!(true));
    assert_eq!(over["sample"], Value::Null);
    assert_eq!(
        corpusdb(&["dedup", "explain", &exact, "--json"]).good().json()["sample"],
        Value::Null
    );
}

#[test]
fn candidates_are_counted_by_looking_up_kept_documents() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    // Nothing but equal shingle sets is removed: similar documents stay, and are each other's candidates.
    make(&path, DedupMode::Witness, 1.0);
    let variants = [words("a", &[]), words("a", &[103]), words("a", &[0]), words("b", &[])];
    let file = scratch.write("pages.jsonl", lines(&variants.clone().map(Page::new)));
    pour(&mut writer(&path), &[file], &IngestOptions::new("web"));
    let corpus = reader(&path);
    let policy = corpus.view().policy().clone();
    let mut craft = Fingerprinter::new(&policy);
    let prints = variants.map(|text| craft.fingerprint(&text));
    let meetings = |policy: &Policy, within: Option<&Policy>| {
        let meet = |a: usize, b: usize, policy: &Policy| {
            let of = |at: usize| bands(prints[at].sketch.as_ref().unwrap(), policy);
            of(a).iter().zip(of(b)).any(|(a, b)| *a == b)
        };
        let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b))).filter(|(a, b)| a != b);
        pairs
            .filter(|(a, b)| meet(*a, *b, policy) && within.is_none_or(|w| meet(*a, *b, w)))
            .count()
    };
    let sample = corpus.explain_dedup(None).unwrap().sample.unwrap();
    assert_eq!(sample.documents, 4);
    assert_eq!(sample.candidates, meetings(&policy, None) as f64 / 4.0);
    assert!(sample.candidates > 0.0 && sample.most <= 2);
    let mut other = policy.clone();
    other.set_threshold(0.8).unwrap();
    let after = corpus.explain_dedup(Some(&other)).unwrap().sample.unwrap().candidates_after;
    assert_eq!(after, Some(meetings(&policy, Some(&other)) as f64 / 4.0));
}

/// Only the first 1,024 documents of a bucket were looked at, whatever they were.
#[test]
fn the_likeliest_of_all_members_of_a_crowded_bucket_are_found() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--threshold", "0.95"]);
    // Fills of one template: all share buckets, no two are duplicates.
    let words: String = (0..300).map(|n| format!("template{n} ")).collect();
    let fill = |n: usize| {
        format!("{words} {}", (0..9).map(|at| format!("fill{n}x{at} ")).collect::<String>())
    };
    let lines: String = (0..1900).map(|n| format!("{}\n", json!({ "text": fill(n) }))).collect();
    let file = scratch.write("fills.jsonl", lines);
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert_eq!(report["kept"], json!(1900));
    // One word of the last of them is another.
    let text = fill(1899).replace("fill1899x5", "other");
    let found = corpusdb(&["similar", &corpus, "--text", &text, "-k", "1", "--json"]).good().json();
    assert!(found["capped"].as_u64().unwrap() > 0, "{found}");
    assert_eq!(found["found"][0]["id"], json!(1899));
    assert!(found["verified"].as_u64().unwrap() < 1900, "{found}");
    let shown = corpusdb(&["similar", &corpus, "--text", &text]).good();
    assert!(shown.stderr.contains("the sketches of all these were compared"), "{shown}");
    let explained = corpusdb(&["dedup", "explain", &corpus]).good();
    assert!(
        explained.stdout.contains("only the first 1,024 documents of each were counted"),
        "{explained}"
    );
}

/// A file that is written again each day, and standard input: many documents were read at one place.
#[test]
fn documents_without_a_key_get_unique_keys_in_exports() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let source = ["ingest", corpus.as_str(), "-", "--source", "web"];
    for day in ["the first day has one text of its own", "the second day another, quite unlike it"]
    {
        corpusdb_reading(&source, format!("{{\"text\":\"{day}\"}}\n").as_bytes()).good();
    }
    let news = scratch.write("news.txt", "yesterday the ferry left the harbour late");
    let folder = ["--source", "news"];
    ingest(&corpus, &[&news], &folder);
    scratch.write("news.txt", "today nobody waits for it at the quay, and the boats stay in");
    ingest(&corpus, &[&news], &[&folder[..], &["--reread"]].concat());
    let sql = |corpus: &str, statement: &str| {
        corpusdb(&["sql", corpus, statement, "--format", "json"]).good().json_lines()
    };
    let keys = sql(&corpus, "SELECT id, key, text FROM documents ORDER BY id");
    let shown = |row: &Value| row["key"].as_str().unwrap().to_owned();
    let expected =
        ["-:0@0".to_owned(), "-:0@1".to_owned(), format!("{news}@2"), format!("{news}@3")];
    assert_eq!(keys.iter().map(shown).collect::<Vec<_>>(), expected);

    for row in &keys {
        let found =
            corpusdb(&["show", &corpus, &format!("--key={}", shown(row)), "--json"]).good().json();
        let found = found.as_array().map_or(&found, |all| &all[0]);
        assert_eq!((&found["id"], &found["text"]), (&row["id"], &row["text"]));
    }
    corpusdb(&["show", &corpus, "--key=-:0"]).fails(&["2 documents", "-:0@0", "-:0@1"]);
    corpusdb(&["remove", &corpus, "--", "-:0"]).fails(&["2 documents", "-:0@0", "-:0@1"]);
    let other = "SELECT id FROM documents WHERE key IN ('-:00@0', '-:0@00', '-:0@7')";
    assert_eq!(sql(&corpus, other), [] as [Value; 0]);
    let one = "SELECT id FROM documents WHERE key = '-:0@1'";
    assert_eq!(sql(&corpus, one), [json!({"id": 1})]);
    assert_eq!(sql(&corpus, "SELECT id FROM documents WHERE key = '-:0'"), [] as [Value; 0]);

    // What is exported comes back as the same documents.
    let export = scratch.arg("out.jsonl");
    corpusdb(&["export", &corpus, "--to", &export]).good();
    let other = scratch.arg("other");
    init(&other, &[]);
    ingest(&other, &[&export], &["--source", "all", "--id-field", "key"]);
    let kept = "SELECT key, text FROM documents WHERE kept ORDER BY key";
    assert_eq!(sql(&other, kept), sql(&corpus, kept));
    assert_eq!(sql(&other, kept).len(), 4);

    // The place alone does while one document was read there, and an erasure takes no other.
    corpusdb(&["purge", &corpus, "--", "-:0@0"]).good();
    let left = sql(&corpus, "SELECT id FROM documents WHERE standing <> 'purged' ORDER BY id");
    assert_eq!(left, [json!({"id": 1}), json!({"id": 2}), json!({"id": 3})]);
}
