//! Choosing a policy: profiles, settings, what they mean, and what another one would cost.

use crate::support::scenarios::{FamilyCorpus, family_words};
use crate::support::{
    MEMORY, Page, TestDir, assert_has, corpusdb, corpusdb_reading, corpusdb_test, ingest, init,
    lines, make, pour, reader, writer,
};
use corpusdb::dedup::{DedupScope, Fingerprinter, KeepOrder, Profile, bands};
use corpusdb::inspect::explain_policy;
use corpusdb::{Corpus, DedupMode, IngestOptions, Policy};
use serde_json::{Value, json};

fn policy_of(scratch: &TestDir, name: &str, flags: &[&str]) -> Policy {
    let corpus = scratch.arg(name);
    init(&corpus, flags);
    Corpus::options().memory(MEMORY).open(scratch.path(name)).unwrap().view().policy().clone()
}

corpusdb_test!(flags_change_single_settings_of_a_profile, |scratch| {
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
});

corpusdb_test!(settings_that_do_not_go_together_make_nothing, |scratch| {
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
});

corpusdb_test!(info_explains_every_setting, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--keep", "longest", "--scope", "per-source"]);
    let text = corpusdb(&["info", &corpus, "--settings"]).good().stdout;
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
    let given = (&settings[7]["value"], &settings[8]["value"]);
    assert_eq!(given, (&json!("longest"), &json!("per-source")));
    assert_eq!(found["policy_settings"]["bands"], 32);
});

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
    assert_eq!(explain(&["--threshold", "0.77"])["detection"].as_array().unwrap().len(), 16);
    let text = corpusdb(&["dedup", "explain", "--threshold", "0.7"]).good().stdout;
    for part in ["42 x 6", "0.7 = T", "candidates in a million pairs", "bytes a document"] {
        assert!(text.contains(part), "no `{part}` in\n{text}");
    }
}

corpusdb_test!(explain_estimates_the_cost_of_another_threshold, FamilyCorpus::new(), |place| {
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
    assert_has(&other["change"], &json!({ "new_bands": true, "band_rows": 5 * 42 }));
    assert_eq!(other["sample"]["candidates_after"], json!(0.0));
    let other = explain(&["--keep", "longest"]);
    assert_has(&other["change"], &json!({ "new_bands": false, "band_rows": 0 }));
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
});

corpusdb_test!(candidates_are_counted_by_looking_up_kept_documents, |scratch| {
    let path = scratch.path("corpus");
    // Nothing but equal shingle sets is removed: similar documents stay, and are each other's candidates.
    make(&path, DedupMode::Witness, 1.0);
    let variants = [
        family_words("a", &[]),
        family_words("a", &[103]),
        family_words("a", &[0]),
        family_words("b", &[]),
    ];
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
});

// Only the first 1,024 documents of a bucket were looked at, whatever they were.
corpusdb_test!(the_likeliest_of_all_members_of_a_crowded_bucket_are_found, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--threshold", "0.95"]);
    // Fills of one template: all share buckets, no two are duplicates.
    let words: String = (0..300).map(|n| format!("template{n} ")).collect();
    let fill = |n: usize| {
        format!("{words} {}", (0..9).map(|at| format!("fill{n}x{at} ")).collect::<String>())
    };
    let lines: String = (0..1900).map(|n| format!("{}\n", json!({ "text": fill(n) }))).collect();
    let report = scratch.ingest(&corpus, "fills.jsonl", lines, &["--source", "web"]);
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
});

// A file that is written again each day, and standard input: many documents were read at one place.
corpusdb_test!(documents_without_a_key_get_unique_keys_in_exports, |scratch, corpus| {
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
});
