//! Documents that are similar to a text: which, in which order, and by which bands.

use crate::support::families::{FamilyCorpus, common_bands, words};
use crate::support::{
    TestDir, corpusdb, corpusdb_reading, crawl, ingest, init, lines, make, pour, reader, writer,
};
use corpusdb::dedup::{Fingerprint, Fingerprinter, bands, shared};
use corpusdb::dedup::{Profile, Standing};
use corpusdb::duplicates::{SimilarOptions, SimilarTo};
use corpusdb::{Corpus, DedupMode, DocId, IngestOptions, Policy};
use serde_json::{Value, json};

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
