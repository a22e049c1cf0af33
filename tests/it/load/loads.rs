//! Documents with decisions made elsewhere come in as an ingest of the same files would have stored them.

use crate::support::loads::{
    COLUMNS, documents, journal, kill_anywhere, load, make, manifest, pour_rows, refused,
    same_ingest, same_ingest_without, say, schema, write_load, write_rows,
};
use crate::support::{
    Page, Random, TestDir, copy, corpusdb, crawl, digest, ingest, lines, policies, pour, reader,
    sound, sound_digest, trained, writer,
};
use arrow::datatypes::{DataType, Field, Schema};
use corpusdb::dedup::{KeepOrder, Standing, StandingsDigest};
use corpusdb::ingest::LoadOptions;
use corpusdb::tokenizer::Tokenizer;
use corpusdb::{Context, CorpusWriter, DedupMode, DocId, IngestOptions, Policy};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Adds what one ingest of all decides about them.
fn decide(policy: &Policy, rows: Vec<Value>) -> Vec<Value> {
    decide_against(policy, &[], rows).0
}

/// Adds what an ingest into a corpus of others decides about them, and says whether these stand otherwise then.
fn decide_against(policy: &Policy, stored: &[Value], mut rows: Vec<Value>) -> (Vec<Value>, bool) {
    let scratch = TestDir::new();
    let mut writer = make(&scratch.path("corpus"), policy);
    pour_rows(&mut writer, &scratch, "stored.jsonl", stored);
    let first = stored.len() as u64;
    let decided = |writer: &CorpusWriter| -> Vec<_> {
        let view = writer.view();
        let of = |id| (view.standing(DocId(id)).unwrap(), view.match_of(DocId(id)).unwrap());
        (0..first).map(of).collect()
    };
    let before = decided(&writer);
    pour_rows(&mut writer, &scratch, "rows.jsonl", &rows);
    let is_changed = decided(&writer) != before;
    let all = stored.iter().chain(&rows);
    let names: Vec<(Value, Value)> =
        all.map(|row| (row["key"].clone(), row["source"].clone())).collect();
    for (at, row) in (0..).zip(&mut rows) {
        // Any distinct ascending numbers.
        row["_order"] = (at * 3 + 1).into();
        say(row, &writer, DocId(first + at), first, &names);
        if row["_standing"] != "empty" {
            let witness = &row["_witness"];
            row["_cluster"] = if witness.is_null() { &row["key"] } else { witness }.clone();
        }
    }
    (rows, is_changed)
}

#[test]
fn a_load_equals_its_ingest_and_so_do_later_changes() {
    let (mut later, mut compared) = (0, 0);
    for (seed, policy) in (0..).zip(policies()) {
        let mut random = Random::new(seed + 70);
        let scratch = TestDir::new();
        let rows = decide(&policy, documents(seed + 500, 150));
        let directory = scratch.path("load");
        write_load(&directory, &policy, &rows, &[random.between(1, 60), random.between(1, 60)]);
        let mut ingested = make(&scratch.path("ingested"), &policy);
        same_ingest(&mut ingested, &directory);
        let expected = sound_digest(&ingested.corpus());

        let mut loaded = make(&scratch.path("loaded"), &policy);
        let batch_bytes = [2000, 9000, 1 << 20][random.below(3)];
        let check_all = random.chance(50);
        let options = LoadOptions { batch_bytes, check_all, ..LoadOptions::default() };
        let done = load(&mut loaded, &directory, &options).unwrap();
        assert_eq!(done.ingest.added, rows.len() as u64);
        assert_eq!(sound_digest(&loaded.corpus()), expected, "{policy}, {batch_bytes} bytes");
        let removed = rows.iter().filter(|row| row["_witness"].is_string()).count() as u64;
        assert!(!check_all || done.compared == removed, "{} of {removed}", done.compared);
        assert_eq!(done.ingest.exact_duplicates + done.ingest.near_duplicates, removed);
        later += done.later;
        compared += done.compared;
        // Once more, and nothing happens: neither by a load nor by the ingest.
        let again = load(&mut loaded, &directory, &options).unwrap();
        same_ingest(&mut loaded, &directory);
        assert_eq!((again.ingest.added, again.ingest.commits), (0, 0));
        assert_eq!(loaded.corpus().digest(&Context::new()).unwrap(), expected);

        // What comes next finds the same texts, buckets and clusters.
        let more = scratch.write("more.jsonl", lines(&crawl(seed + 500, 220, false)));
        let other = Policy::new(DedupMode::Witness, 0.8).unwrap();
        let digests = [&mut ingested, &mut loaded].map(|writer| {
            pour(writer, std::slice::from_ref(&more), &IngestOptions::new("books"));
            let before = sound_digest(&writer.corpus());
            let (first, year) = (KeepOrder::First, KeepOrder::Field("year".to_owned()));
            let keep = if policy.keep == first { year } else { first };
            let near = if policy.mode.is_near() { policy.mode } else { other.mode };
            let redone = Policy { keep, mode: near, ..policy.clone() };
            writer.redo(&redone, &Context::new()).unwrap();
            (before, sound_digest(&writer.corpus()))
        });
        assert_eq!(digests[0], digests[1], "{policy}");
    }
    assert!(
        later > 50 && compared > 100,
        "{later} came before their witnesses, {compared} compared"
    );
}

/// A load, as it says against how many documents it was decided.
fn write_load_against(directory: &Path, policy: &Policy, rows: &[Value], stored: usize) {
    write_load(directory, policy, rows, &[30]);
    manifest(directory, policy, rows.len(), |manifest| {
        manifest["against"] = json!({ "documents": stored });
    });
}

#[test]
fn a_load_comes_into_the_corpus_that_it_was_decided_against() {
    let (mut loads, mut of_stored) = (0, 0);
    for (seed, policy) in (0..).zip(policies()) {
        let mut stored = documents(seed + 900, 160);
        let rows = stored.split_off(90);
        let (rows, is_changed) = decide_against(&policy, &stored, rows);
        if is_changed {
            continue;
        }
        let scratch = TestDir::new();
        let directory = scratch.path("load");
        write_load_against(&directory, &policy, &rows, stored.len());
        let made = |name: &str| {
            let mut writer = make(&scratch.path(name), &policy);
            pour_rows(&mut writer, &scratch, "stored.jsonl", &stored);
            writer
        };
        let mut ingested = made("ingested");
        same_ingest(&mut ingested, &directory);
        let expected = sound_digest(&ingested.corpus());

        let mut loaded = made("loaded");
        let options = LoadOptions { batch_bytes: 4000, check_all: true, ..LoadOptions::default() };
        // Half of it, and then the rest.
        let (part, aside) = (directory.join("documents/part=00001"), scratch.path("aside"));
        std::fs::rename(&part, &aside).unwrap();
        let why = refused(load(&mut loaded, &directory, &options));
        assert!(why.contains("30 documents were loaded, and its manifest counts"), "{why}");
        std::fs::rename(&aside, &part).unwrap();
        let done = load(&mut loaded, &directory, &options).unwrap();
        assert_eq!(done.ingest.added, rows.len() as u64 - 30);
        assert_eq!(sound_digest(&loaded.corpus()), expected, "{policy}");
        let again = load(&mut loaded, &directory, &options).unwrap();
        assert_eq!((again.ingest.added, again.ingest.commits), (0, 0));
        loads += 1;
        of_stored += rows.iter().filter(|row| row["_witness_id"].is_u64()).count();
    }
    assert!(loads > 5 && of_stored > 40, "{loads} loads, {of_stored} with stored witnesses");
}

#[test]
fn a_load_against_a_corpus_is_refused_by_another_one_and_by_row() {
    let policy = Policy::new(DedupMode::Witness, 0.6).unwrap();
    let mut stored = documents(905, 160);
    let rows = stored.split_off(90);
    let (good, is_changed) = decide_against(&policy, &stored, rows);
    assert!(!is_changed);
    let options = LoadOptions::default();
    let removed = good.iter().position(|row| row["_witness_id"].is_u64()).unwrap();
    let kept = good.iter().position(|row| row["_standing"] == "kept").unwrap();
    let id = good[removed]["_witness_id"].as_u64().unwrap();
    for (at, change, told) in [
        (removed, json!({ "_witness_id": 90 }), "it was decided against 90"),
        (removed, json!({ "_witness_id": (id + 1) % 90 }), "its witness should be"),
        (
            kept,
            json!({ "key": stored[5]["key"], "source": stored[5]["source"], "_cluster": null }),
            "which the load does not supersede",
        ),
    ] {
        let scratch = TestDir::new();
        let mut rows = good.clone();
        rows[at].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        write_load_against(&scratch.path("load"), &policy, &rows, stored.len());
        let mut writer = make(&scratch.path("corpus"), &policy);
        pour_rows(&mut writer, &scratch, "stored.jsonl", &stored);
        let why = refused(load(&mut writer, &scratch.path("load"), &options));
        assert!(why.contains("rows.parquet: row ") && why.contains(told), "{told}: {why}");
        assert_eq!(writer.view().documents(), 90);
    }

    let scratch = TestDir::new();
    let directory = scratch.path("load");
    write_load_against(&directory, &policy, &good, stored.len());
    let mut writer = make(&scratch.path("corpus"), &policy);
    let why = refused(load(&mut writer, &directory, &options));
    assert!(why.contains("a corpus of 90 documents, and this one has 0"), "{why}");
    pour_rows(&mut writer, &scratch, "stored.jsonl", &stored);
    drop(writer);
    // A witness that was removed since is none; where the load says how documents stood, nothing is read of it.
    let which = format!("id = {id}");
    let (other, same, told) =
        (scratch.path("blocking"), scratch.path("same"), scratch.path("told"));
    copy(&scratch.path("corpus"), &other);
    copy(&scratch.path("corpus"), &same);
    corpusdb(&["remove", &scratch.arg("blocking"), "--where", &which]).good();
    let why = refused(load(&mut self::writer(&other), &directory, &options));
    assert!(why.contains("row ") && why.contains("its witness is not kept"), "{why}");
    let mut digest = StandingsDigest::default();
    let mut writer = self::writer(&same);
    for document in (0..90).map(DocId) {
        digest.add(document, writer.view().standing(document).unwrap());
    }
    write_load_against(&told, &policy, &good, stored.len());
    manifest(&told, &policy, good.len(), |manifest| {
        manifest["against"] = json!({ "documents": 90, "standings": digest.to_string() });
    });
    let why = refused(load(&mut self::writer(&other), &told, &options));
    assert!(why.contains("differ from those") && why.contains(&digest.to_string()), "{why}");
    let fits = LoadOptions { batch_bytes: 2000, ..options.clone() };
    assert_eq!(load(&mut writer, &told, &fits).unwrap().ingest.added, good.len() as u64);
    assert_eq!(load(&mut writer, &told, &fits).unwrap().ingest.added, 0);
    drop(writer);
    // Another document, and it is another corpus.
    let mut writer = self::writer(&scratch.path("corpus"));
    let file = scratch.write("more.jsonl", lines(&[Page::new("one page more")]));
    pour(&mut writer, &[file], &IngestOptions::new("web"));
    let why = refused(load(&mut writer, &directory, &options));
    assert!(why.contains("a corpus of 90 documents, and this one has 91"), "{why}");
}

/// A load refused a row with the key of a removed document, which an ingest takes: as `blocked`, or as kept where the
/// removal lets keys in.
#[test]
fn keys_of_removed_documents_load_as_they_ingest() {
    let policy = Policy::new(DedupMode::Witness, 0.6).unwrap();
    let mut stored = documents(905, 160);
    let rows = stored.split_off(90);
    let (mut rows, is_changed) = decide_against(&policy, &stored, rows);
    assert!(!is_changed);
    let is_witness = |key: &Value| rows.iter().any(|row| row["_witness"] == *key);
    let kept = |row: &&Value| row["_standing"] == "kept" && !is_witness(&row["key"]);
    let at = rows.iter().position(|row| kept(&row)).unwrap();
    let options = LoadOptions::default();
    let scratch = TestDir::new();
    let mut writer = make(&scratch.path("corpus"), &policy);
    pour_rows(&mut writer, &scratch, "stored.jsonl", &stored);
    let view = writer.view();
    let lonely = |id: &u64| {
        let id = DocId(*id);
        view.standing(id).unwrap() == Standing::Kept
            && view.members(id).unwrap().is_empty()
            && !is_witness(&stored[id.0 as usize]["key"])
    };
    let gone = (0..90).find(lonely).unwrap();
    let own = &stored[gone as usize];
    (rows[at]["key"], rows[at]["source"]) = (own["key"].clone(), own["source"].clone());
    (rows[at]["_cluster"], rows[at]["year"]) = (Value::Null, json!(1999));
    drop(writer);
    let directory = scratch.path("load");
    write_load_against(&directory, &policy, &rows, stored.len());
    for (more, standing) in [(&["--no-block"][..], Standing::Kept), (&[], Standing::Blocked)] {
        let (loaded, ingested) = (format!("loaded-{standing:?}"), format!("ingested-{standing:?}"));
        for name in [&loaded, &ingested] {
            copy(&scratch.path("corpus"), &scratch.path(name));
            let (corpus, which) = (scratch.arg(name), format!("id = {gone}"));
            corpusdb(&[&["remove", corpus.as_str(), "--where", &which][..], more].concat()).good();
        }
        let mut writer = self::writer(&scratch.path(&ingested));
        same_ingest(&mut writer, &directory);
        let expected = sound_digest(&writer.corpus());
        assert_eq!(writer.view().standing(DocId(90 + at as u64)).unwrap(), standing);
        let mut writer = self::writer(&scratch.path(&loaded));
        let done =
            load(&mut writer, &directory, &LoadOptions { batch_bytes: 2000, ..options.clone() });
        assert_eq!(done.unwrap().ingest.added, rows.len() as u64);
        assert_eq!(sound_digest(&writer.corpus()), expected);
        assert_eq!(load(&mut writer, &directory, &options).unwrap().ingest.added, 0);
    }
}

#[test]
fn token_ids_come_with_their_documents_and_are_not_made_again() {
    let keep = KeepOrder::Longest;
    let policy = Policy { keep, ..Policy::new(DedupMode::Witness, 0.7).unwrap() };
    let file = trained();
    let tokenizer = Tokenizer::load(file, &[]).unwrap();
    let mut encoder = tokenizer.encoder();
    let mut rows = decide(&policy, documents(87, 150));
    let mut brought = 0;
    for (at, row) in rows.iter_mut().enumerate() {
        // Where none came they are made.
        if row["_standing"] == "kept" && at % 3 > 0 {
            let mut ids = Vec::new();
            encoder.encode(row["text"].as_str().unwrap(), &mut ids).unwrap();
            row["_ids_0"] = json!(ids);
            brought += 1;
        }
    }
    assert!(brought > 40);
    let scratch = TestDir::new();
    let directory = scratch.path("load");
    let mut fields = schema(None).fields().to_vec();
    fields.push(Arc::new(Field::new("_ids_0", DataType::new_list(DataType::Int32, true), true)));
    let schema = Arc::new(Schema::new(fields));
    let tokenizers = |column: &str| {
        let hash = blake3::hash(file).to_hex();
        json!([{ "name": "own", "hash": hash.as_str(), "ids": column }])
    };
    write_rows(&directory, &rows, &[70], Arc::clone(&schema));
    manifest(&directory, &policy, rows.len(), |manifest| {
        manifest["tokenizers"] = tokenizers("_ids_0");
    });
    let made = |name: &str| {
        let mut writer = make(&scratch.path(name), &policy);
        writer.add_tokenizer("own", file, "", &Context::new()).unwrap();
        writer
    };
    let mut ingested = made("ingested");
    same_ingest_without(&mut ingested, &directory, &[&COLUMNS[..], &["_ids_0"]].concat());
    let expected = sound_digest(&ingested.corpus());
    let mut loaded = made("loaded");
    let options = LoadOptions { batch_bytes: 20_000, check_all: true, ..LoadOptions::default() };
    let done = load(&mut loaded, &directory, &options).unwrap();
    assert_eq!((done.ingest.added, done.brought), (rows.len() as u64, brought));
    assert_eq!(sound_digest(&loaded.corpus()), expected);

    let good = rows.clone();
    let at = good.iter().rposition(|row| row["_ids_0"].is_array()).unwrap();
    let ids = good[at]["_ids_0"].as_array().unwrap().len();
    let mut refuses = made("refuses");
    for (name, value, told) in [
        (
            "less",
            json!(good[at]["_ids_0"].as_array().unwrap()[1..]),
            format!("its {} token ids are not the {ids} of tokenizer `own`", ids - 1),
        ),
        (
            "unknown",
            json!([1, 70_000]),
            "`_ids_0` has the id 70000, of a vocabulary of 400".to_owned(),
        ),
    ] {
        let directory = scratch.path(name);
        rows[at]["_ids_0"] = value;
        write_rows(&directory, &rows, &[], Arc::clone(&schema));
        manifest(&directory, &policy, rows.len(), |manifest| {
            manifest["tokenizers"] = tokenizers("_ids_0");
        });
        let whole = LoadOptions { batch_bytes: 1 << 20, ..options.clone() };
        let why = refused(load(&mut refuses, &directory, &whole));
        assert!(why.contains(&format!("row {at} ")) && why.contains(&told), "{told}: {why}");
        assert_eq!(refuses.view().documents(), 0);
    }
    manifest(&directory, &policy, rows.len(), |manifest| {
        manifest["tokenizers"] = tokenizers("ids");
    });
    let why = refused(load(&mut refuses, &directory, &options));
    assert!(why.contains("\"ids\" of token ids must begin with `_ids`"), "{why}");
}

#[test]
fn a_killed_load_goes_on_to_the_same_end() {
    let keep = KeepOrder::Longest;
    let policy = Policy { keep, ..Policy::new(DedupMode::Witness, 0.7).unwrap() };
    let scratch = TestDir::new();
    let rows = decide(&policy, documents(81, 300));
    write_load(&scratch.path("load"), &policy, &rows, &[90, 120]);
    let tokenizer = scratch.write("tokenizer.json", trained());
    let made = |name: &str| {
        let corpus = scratch.arg(name);
        drop(make(&scratch.path(name), &policy));
        corpusdb(&["tokenizer", "add", &corpus, "own", &tokenizer]).good();
        corpus
    };
    let words = |corpus: &str| {
        let words = ["bulk-load", corpus, &scratch.arg("load"), "--batch-bytes", "2500", "--json"];
        words.map(str::to_owned)
    };
    let whole = made("whole");
    let before = journal(&whole);
    let report = corpusdb(&words(&whole)).good().json();
    assert!(report["later"].as_u64() > Some(10), "{report}");
    sound(&whole);
    let (expected, commits) = (digest(&whole), journal(&whole));
    assert!(commits > before + 20, "{commits} commits are too few to be killed between");
    let ingested = made("ingested");
    // The folders of a load are no fields of its documents.
    let dropped = COLUMNS.join(",") + ",part";
    let flags = ["--source", "web", "--source-from", "source", "--id-field", "key"];
    let flags =
        [&flags[..], &["--text-field", "text", "--format", "parquet", "--drop-fields", &dropped]]
            .concat();
    ingest(&ingested, &[&scratch.arg("load/documents/*/*.parquet")], &flags);
    assert_eq!(digest(&ingested), expected);

    let killed = kill_anywhere(&made, &words, (before, commits), &expected, 6);
    assert!(killed > 2, "killed {killed} times before the end");
}

#[test]
fn an_impossible_row_is_refused_with_its_batch() {
    let policy = Policy::new(DedupMode::Witness, 0.7).unwrap();
    let longest = Policy { keep: KeepOrder::Longest, ..policy.clone() };
    let good = decide(&policy, documents(83, 120));
    let at = |standing: &str, from: usize| {
        (from..).find(|at| good[*at]["_standing"] == standing).expect("a row of every standing")
    };
    let (near, exact) = (at("near", 60), at("exact", 50));
    let is_witness = |at: usize| good.iter().any(|row| row["_witness"] == good[at]["key"]);
    let alone = |at: &usize| good[*at]["_standing"] == "kept" && !is_witness(*at);
    let kept = (70..good.len()).find(alone).expect("a document that is like no other");
    let less = |name: &str| good[near][name].as_i64().unwrap() - 1;
    let other = &good[at("kept", 0)];
    let mut own: Value = COLUMNS.iter().map(|name| ((*name).to_owned(), Value::Null)).collect();
    own["_standing"] = "kept".into();
    own["_order"] = good[exact]["_order"].clone();
    let changes = [
        (near, json!({ "_jaccard": 0.99 }), "`_jaccard` is 0.99, and its counts give"),
        (
            near,
            json!({ "_shared": less("_shared"), "_jaccard": null }),
            "shingles with its witness",
        ),
        (near, json!({ "_removed_shingles": less("_removed_shingles") }), "`_jaccard` is"),
        (
            near,
            json!({ "_removed_shingles": less("_removed_shingles"), "_jaccard": null }),
            "it should have",
        ),
        (
            near,
            json!({ "_witness": other["key"], "_cluster": other["key"], "_witness_source": other["source"] }),
            "its witness should have",
        ),
        (near, json!({ "_witness": "nobody", "_cluster": null }), "its witness comes after it"),
        (
            near,
            json!({ "_witness": good[near]["key"], "_witness_source": good[near]["source"], "_cluster": null }),
            "its witness does not outrank it",
        ),
        (near, json!({ "_cluster": "another" }), "`_cluster` is \"another\""),
        (near, json!({ "_kind": "exact" }), "`_kind` is \"exact\""),
        (near, json!({ "_standing": null }), "`_standing` has no value"),
        (near, json!({ "_order": 2 }), "rows must be in order"),
        (near, json!({ "_order": null }), "`_order` has no value"),
        (kept, json!({ "key": good[5]["key"] }), "an earlier row of its source has the same key"),
        (kept, json!({ "text": null }), "text"),
        (kept, json!({ "text": "" }), "it should be `kept` and is `empty`"),
        (exact, own, "a better-ranked document has the same text"),
        (
            exact,
            json!({ "_standing": "near", "_kind": "near" }),
            "it should be `near` and is `exact`",
        ),
    ];
    let options = LoadOptions { check_all: true, ..LoadOptions::default() };
    for (at, change, told) in changes {
        let scratch = TestDir::new();
        let mut rows = good.clone();
        if told.contains("same key") {
            rows[at]["source"] = rows[5]["source"].clone();
        }
        rows[at].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        write_load(&scratch.path("load"), &policy, &rows, &[40]);
        let mut writer = make(&scratch.path("corpus"), &policy);
        let why = refused(load(&mut writer, &scratch.path("load"), &options));
        let place = format!("part=00001/rows.parquet: row {} (counted from 0): ", at - 40);
        assert!(why.contains(&place) && why.contains(told), "{told}: {why}");
        assert_eq!(writer.view().documents(), 0, "one batch has them all");
        // In small batches those before are there, and sound.
        let small = LoadOptions { batch_bytes: 3000, ..options.clone() };
        refused(load(&mut writer, &scratch.path("load"), &small));
        let stored = writer.view().documents();
        assert!(stored > 0 && stored <= at as u64, "{stored} documents before row {at}");
        sound_digest(&writer.corpus());
    }

    // Where witnesses may come later, it is found out at the end.
    let good = decide(&longest, documents(83, 120));
    let small = LoadOptions { batch_bytes: 3000, ..options };
    let later = |row: &&Value| {
        let witness = good.iter().position(|one| one["key"] == row["_witness"]);
        witness.is_some_and(|at| good[at]["_order"].as_u64() > row["_order"].as_u64())
            && row["_standing"] == "near"
    };
    let at = good.iter().position(|row| later(&row)).expect("a witness that comes later");
    for (change, told) in [
        (
            json!({ "_witness": "nobody", "_cluster": null }),
            "no document has the key of its witness",
        ),
        (
            json!({ "_shared": good[at]["_shared"].as_i64().unwrap() - 1, "_jaccard": null }),
            "shingles with its witness",
        ),
        (
            json!({ "_standing": "exact", "_kind": "exact", "_jaccard": 1.0 }),
            "it should be `exact`",
        ),
    ] {
        let scratch = TestDir::new();
        let mut rows = good.clone();
        rows[at].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        write_load(&scratch.path("load"), &longest, &rows, &[]);
        let mut writer = make(&scratch.path("corpus"), &longest);
        let why = refused(load(&mut writer, &scratch.path("load"), &small));
        let place = format!("rows.parquet: row {at} (counted from 0): ");
        assert!(why.contains(&place) && why.contains(told), "{told}: {why}");
        sound_digest(&writer.corpus());
    }
}

#[test]
fn a_load_for_another_corpus_is_refused_with_both_values() {
    let policy = Policy::new(DedupMode::Witness, 0.7).unwrap();
    let rows = decide(&policy, documents(84, 40));
    let scratch = TestDir::new();
    let directory = scratch.path("load");
    write_load(&directory, &policy, &rows, &[]);
    let corpus = scratch.path("corpus");
    let mut writer = make(&corpus, &policy);
    let options = LoadOptions::default();
    let other = Policy::new(DedupMode::Witness, 0.8).unwrap();
    let hash = "0".repeat(64);
    let tokenizers = json!([{ "name": "own", "hash": hash }]);
    for (name, value, told) in [
        ("format", json!(3), vec!["format 3 of loads; this release reads 1 to 2"]),
        ("signature_version", json!(7), vec!["signature version 7, and the corpus has 1"]),
        ("policy", json!(other), vec!["threshold 0.8", "and the corpus has", "threshold 0.7"]),
        ("tokenizers", tokenizers, vec![hash.as_str(), "and the corpus has none of that name"]),
        ("documents", Value::Null, vec!["not a manifest of a load"]),
        ("author", json!("me"), vec!["not a manifest of a load", "author"]),
    ] {
        manifest(&directory, &policy, rows.len(), |manifest| manifest[name] = value.clone());
        let why = refused(load(&mut writer, &directory, &options));
        assert!(told.iter().all(|told| why.contains(told)), "{told:?}: {why}");
        assert_eq!(writer.view().documents(), 0);
    }
    std::fs::remove_file(directory.join("manifest/part-0.txt")).unwrap();
    let why = refused(load(&mut writer, &directory, &options));
    assert!(why.contains("manifest: there is not one file in it"), "{why}");

    // A column that is not there, a file that is missing, and a corpus that has other documents.
    for (column, told) in [
        ("key", "key"),
        ("_standing", "`_standing` has no value"),
        ("_witness", "`_witness` has no value"),
        ("_shared", "`_shared` has no value"),
    ] {
        let scratch = TestDir::new();
        let directory = scratch.path("load");
        write_rows(&directory, &rows, &[], schema(Some(column)));
        manifest(&directory, &policy, rows.len(), |_| {});
        let why = refused(load(&mut writer, &directory, &options));
        assert!(why.contains(told) && why.contains("rows.parquet"), "{why}");
        assert_eq!(writer.view().documents(), 0);
    }
    manifest(&directory, &policy, rows.len() + 1, |_| {});
    let why = refused(load(&mut writer, &directory, &options));
    let count = rows.len();
    assert!(why.contains(&format!(
        "{count} documents were loaded, and its manifest counts {}",
        count + 1
    )));
    manifest(&directory, &policy, rows.len(), |_| {});
    load(&mut writer, &directory, &options).unwrap();
    let file = scratch.write("more.jsonl", lines(&[Page::new("one page more")]));
    pour(&mut writer, &[file], &IngestOptions::new("web"));
    let why = refused(load(&mut writer, &directory, &options));
    assert!(why.contains("load it into a new corpus"), "{why}");
    assert_eq!(reader(&corpus).view().documents(), count as u64 + 1);
}
