//! Loads that change stored documents: keys that come again, and documents that are better than what is stored.

use crate::support::checker::corpus::plan;
use crate::support::loads::{
    documents, journal, kill_anywhere, load, make, manifest, pour_rows, refused, same_ingest, say,
    schema, write_file, write_load,
};
use crate::support::{
    Random, StopAt, StopWhen, TestDir, copy, corpusdb, digest, edited, fixture, policies, prose,
    reader, seeds, sound_digest, trained, writer,
};
use arrow::datatypes::{DataType, Field, Schema};
use corpusdb::dedup::{KeepOrder, StandingsDigest};
use corpusdb::ingest::LoadOptions;
use corpusdb::{Context, CorpusWriter, DedupMode, DocId, Interrupt, Policy};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// What was stored, what comes next, and how all of it stands then.
struct Crawl {
    policy: Policy,
    /// Records with what was decided about them.
    rows: Vec<Value>,
    /// Stored documents that stand otherwise, as the cluster tells of them.
    changed: Vec<Value>,
    stored: usize,
    /// The digest of how these stood.
    standings: String,
}

impl Crawl {
    /// Decides about what comes next into a corpus, which ingests it; `names` are all that came before.
    fn decide(
        writer: &mut CorpusWriter,
        scratch: &TestDir,
        names: &mut Vec<(Value, Value)>,
        mut rows: Vec<Value>,
    ) -> Self {
        let first = names.len() as u64;
        let decided = |writer: &CorpusWriter| -> Vec<_> {
            let view = writer.view();
            let of = |id| (view.standing(DocId(id)).unwrap(), view.match_of(DocId(id)).unwrap());
            (0..first).map(of).collect()
        };
        let before = decided(writer);
        let mut standings = StandingsDigest::default();
        (0..).zip(&before).for_each(|(id, (standing, _))| standings.add(DocId(id), *standing));
        pour_rows(writer, scratch, &format!("{first}.jsonl"), &rows);
        names.extend(rows.iter().map(|row| (row["key"].clone(), row["source"].clone())));
        for (at, row) in (0..).zip(&mut rows) {
            row["_order"] = (at * 2).into();
            say(row, writer, DocId(first + at), first, names);
        }
        let mut changed = Vec::new();
        for (id, ((was, _), (is, matched))) in before.into_iter().zip(decided(writer)).enumerate() {
            if was != is || matched.is_some_and(|one| is.is_eligible() && one.witness.0 >= first) {
                let mut row = json!({ "id": id, "key": names[id].0, "source": names[id].1 });
                say(&mut row, writer, DocId(id as u64), first, names);
                changed.push(row);
            }
        }
        let policy = writer.view().policy().clone();
        let (stored, standings) = (first as usize, standings.to_string());
        Self { policy, rows, changed, stored, standings }
    }

    fn write(&self, directory: &Path, parts: &[usize]) {
        write_load(directory, &self.policy, &self.rows, parts);
        self.say_changed(directory, &self.changed);
    }

    fn say_changed(&self, directory: &Path, changed: &[Value]) {
        if !changed.is_empty() {
            let mut fields = vec![Arc::new(Field::new("id", DataType::Int64, true))];
            let is_said = |name: &str| name.starts_with('_') || ["key", "source"].contains(&name);
            let all = schema(None);
            fields.extend(all.fields().iter().filter(|field| is_said(field.name())).cloned());
            let folder = directory.join("changed");
            write_file(&folder, changed, Arc::new(Schema::new(fields)));
        }
        manifest(directory, &self.policy, self.rows.len(), |manifest| {
            manifest["format"] = if changed.is_empty() { 1 } else { 2 }.into();
            manifest["against"] = json!({ "documents": self.stored, "standings": self.standings });
            if !changed.is_empty() {
                manifest["against"]["changed"] = changed.len().into();
            }
        });
    }

    fn standing(&self, standing: &str) -> usize {
        self.changed.iter().filter(|row| row["_standing"] == standing).count()
    }
}

/// Records of a crawl that comes after others: some under keys of these with other texts, and texts of these elsewhere.
fn next(random: &mut Random, held: &[Value], mut fresh: Vec<Value>, again: usize) -> Vec<Value> {
    let mut keys: Vec<(Value, Value)> = Vec::new();
    for row in &mut fresh {
        let old = &held[random.below(held.len())];
        let name = (old["key"].clone(), old["source"].clone());
        if !random.chance(again) || keys.contains(&name) {
            continue;
        }
        let text = old["text"].as_str().unwrap();
        let other = held[random.below(held.len())]["text"].as_str().unwrap();
        match random.below(6) {
            // Another text, or a few words of it.
            0 => row["text"] = prose(random, 0, 60).into(),
            1 | 2 => row["text"] = edited(random, text, 4).into(),
            // The text of another document, that may come again itself.
            3 => row["text"] = other.into(),
            // The text moves to another key.
            4 => {
                row["text"] = text.into();
                continue;
            }
            _ => {}
        }
        (row["key"], row["source"]) = name.clone();
        row["url"] = format!("https://example.org/again/{}", keys.len()).into();
        keys.push(name);
    }
    fresh
}

/// Documents whose keys nobody else has.
fn fresh(seed: u64, count: usize, round: usize) -> Vec<Value> {
    let mut rows = documents(seed, count);
    rows.iter_mut().enumerate().for_each(|(at, row)| row["key"] = format!("r{round}-{at}").into());
    rows
}

/// Bytes of a batch: each load in one, or in several.
const ONE: [u64; 1] = [1 << 20];
const MANY: [u64; 4] = [800, 3000, 9000, 1 << 20];

/// Crawl after crawl goes into three corpora: one decides, one ingests each load, and one loads it.
fn crawls(
    seed: u64,
    policy: &Policy,
    (rounds, size): (usize, usize),
    batches: &[u64],
) -> ReloadCounts {
    let mut random = Random::new(seed);
    let scratch = TestDir::new();
    let mut corpora = ["decides", "ingests", "loads"].map(|name| {
        let path = scratch.path(name);
        fixture(&format!("loads: {policy:?} with a tokenizer"), &path, |path| {
            make(path, policy).add_tokenizer("own", trained(), "", &Context::new()).unwrap();
        });
        writer(&path)
    });
    let (mut held, mut names) = (Vec::new(), Vec::new());
    let mut all = fresh(seed + 40, size * (rounds + 1), 0);
    let mut counts = ReloadCounts::default();
    let mut encoded = 0;
    for round in 0..=rounds {
        let rest = all.split_off(size.min(all.len()));
        let mut rows = std::mem::replace(&mut all, rest);
        if round > 0 {
            rows = next(&mut random, &held, rows, 50);
        }
        let [decides, ingests, loads] = &mut corpora;
        let crawl = Crawl::decide(decides, &scratch, &mut names, rows.clone());
        let directory = scratch.path(&format!("load-{round}"));
        crawl.write(&directory, &[random.between(1, size), random.between(1, size)]);
        same_ingest(ingests, &directory);
        let batch_bytes = batches[random.below(batches.len())];
        let check_all = random.chance(50);
        let options = LoadOptions { batch_bytes, check_all, ..LoadOptions::default() };
        let done = load(loads, &directory, &options);
        let told = format!("seed {seed}, {policy}, round {round}, {batch_bytes} bytes");
        let done = done.unwrap_or_else(|error| panic!("{told}: {error}"));
        assert_eq!(done.ingest.added, rows.len() as u64, "{told}");
        assert_eq!(sound_digest(&loads.corpus()), sound_digest(&ingests.corpus()), "{told}");
        assert_eq!(done.ingest.updated, crawl.standing("superseded") as u64, "{told}");
        encoded += done.ingest.tokens["own"];
        assert_eq!(encoded, stored_tokens(loads), "{told}");
        let again = load(loads, &directory, &options).unwrap();
        assert_eq!((again.ingest.added, again.ingest.commits), (0, 0), "{told}");
        counts.superseded += crawl.standing("superseded");
        counts.back += crawl.standing("kept");
        counts.gone += crawl.standing("near") + crawl.standing("exact");
        counts.later += done.later as usize;
        held.extend(rows);
        if *batches == ONE {
            let [ingested, loaded] = ["ingests", "loads"].map(|name| sides(&scratch.path(name)));
            assert_eq!(loaded, ingested, "{told}");
        }
    }
    // What comes next finds the same texts, buckets and clusters.
    let rows = next(&mut random, &held, fresh(seed + 41, size, rounds + 1), 50);
    let [_, ingests, loads] = &mut corpora;
    let digests = [ingests, loads].map(|writer| {
        pour_rows(writer, &scratch, "next.jsonl", &rows);
        sound_digest(&writer.corpus())
    });
    assert_eq!(digests[0], digests[1], "seed {seed}, {policy}");
    counts
}

/// Token ids of all documents, kept or not.
fn stored_tokens(writer: &CorpusWriter) -> u64 {
    let corpus = writer.corpus();
    let documents = (0..corpus.view().documents()).map(DocId);
    let tokens =
        |id| corpus.tokens_of(id, Some("own")).map_or(0, |shown| shown.tokens.len() as u64);
    documents.map(tokens).sum()
}

/// Of each document whether it is trained on, and whether it is held out.
fn sides(path: &Path) -> Vec<(u64, bool, bool)> {
    let corpus = reader(path);
    let side = |take: &str| -> BTreeSet<u64> {
        let text = format!("[select]\nholdout = {{ share = 0.4, take = \"{take}\" }}\n");
        let planned = plan(&corpus, &text).unwrap();
        planned.pinned.iter().flat_map(|of| of.documents()).collect()
    };
    let (train, held) = (side("train"), side("holdout"));
    let documents = corpus.view().documents();
    (0..documents).map(|id| (id, train.contains(&id), held.contains(&id))).collect()
}

/// What happened to stored documents.
#[derive(Default, Debug)]
struct ReloadCounts {
    superseded: usize,
    back: usize,
    gone: usize,
    /// New ones that waited for a witness.
    later: usize,
}

#[test]
fn a_repeated_crawl_loads_as_it_ingests() {
    let mut all = ReloadCounts::default();
    let modes = policies().into_iter().filter(|policy| !policy.mode.is_transitive());
    for (seed, policy) in (0..).zip(modes) {
        let found = crawls(seed + 300, &policy, (3, 50), &MANY);
        all.superseded += found.superseded;
        all.back += found.back;
        all.gone += found.gone;
        all.later += found.later;
    }
    assert!(all.superseded > 200 && all.back > 20 && all.gone > 20, "{all:?}");
}

#[test]
fn small_histories_load_as_they_ingest() {
    let mut later = 0;
    for seed in 0..seeds(9) {
        let found = crawls(seed + 9000, &small_policy(seed as usize), (3, 14), &MANY);
        later += found.later;
    }
    assert!(later > 0, "no document waited for its witness");
}

#[test]
fn a_load_holds_out_the_same_as_one_ingest() {
    for seed in 0..seeds(4) {
        crawls(seed + 9020, &small_policy(seed as usize), (2, 14), &ONE);
    }
}

fn small_policy(at: usize) -> Policy {
    let keep = [KeepOrder::First, KeepOrder::First, KeepOrder::Longest][at % 3].clone();
    let mode = [DedupMode::Witness, DedupMode::Witness, DedupMode::Exact][at / 3 % 3];
    Policy { keep, ..Policy::new(mode, 0.5).unwrap() }
}

/// A crawl that comes again into a corpus beside it, and the digest of what an ingest of it makes.
struct Again {
    scratch: TestDir,
    stored: Vec<Value>,
    crawl: Crawl,
    expected: String,
}

impl Again {
    fn new(seed: u64, policy: &Policy, count: usize) -> Self {
        let scratch = TestDir::new();
        let mut all = fresh(seed, 2 * count, 0);
        let rows = all.split_off(count);
        let rows = next(&mut Random::new(seed), &all, rows, 60);
        let mut decides = make(&scratch.path("decides"), policy);
        let mut names = Vec::new();
        Crawl::decide(&mut decides, &scratch, &mut names, all.clone());
        let crawl = Crawl::decide(&mut decides, &scratch, &mut names, rows);
        crawl.write(&scratch.path("load"), &[count / 3]);
        let again = Self { scratch, stored: all, crawl, expected: String::new() };
        let mut ingests = again.made("ingests");
        same_ingest(&mut ingests, &again.scratch.path("load"));
        let expected = sound_digest(&ingests.corpus());
        Self { expected, ..again }
    }

    /// A corpus with what was stored.
    fn made(&self, name: &str) -> CorpusWriter {
        let mut writer = make(&self.scratch.path(name), &self.crawl.policy);
        pour_rows(&mut writer, &self.scratch, "stored.jsonl", &self.stored);
        writer
    }

    /// Why a load is refused of which some rows say something else.
    fn refused(
        &self,
        change: impl Fn(&mut Vec<Value>, &mut Vec<Value>),
        check_all: bool,
    ) -> String {
        let directory = self.scratch.path("other");
        let _ = std::fs::remove_dir_all(&directory);
        let _ = std::fs::remove_dir_all(self.scratch.path("refuses"));
        let (mut rows, mut changed) = (self.crawl.rows.clone(), self.crawl.changed.clone());
        change(&mut rows, &mut changed);
        write_load(&directory, &self.crawl.policy, &rows, &[]);
        self.crawl.say_changed(&directory, &changed);
        let mut writer = self.made("refuses");
        let why = refused(load(&mut writer, &directory, &options(1 << 20, check_all)));
        sound_digest(&writer.corpus());
        why
    }
}

fn options(batch_bytes: u64, check_all: bool) -> LoadOptions {
    LoadOptions { batch_bytes, check_all, ..LoadOptions::default() }
}

fn witness(keep: KeepOrder) -> Policy {
    Policy { keep, ..Policy::new(DedupMode::Witness, 0.5).unwrap() }
}

#[test]
fn a_load_that_is_stopped_anywhere_goes_on_to_the_same_end() {
    for keep in [KeepOrder::First, KeepOrder::Longest] {
        let again = Again::new(713, &witness(keep), 40);
        assert!(again.crawl.standing("superseded") > 8 && again.crawl.standing("kept") > 0);
        drop(again.made("corpus"));
        let mut stops = 0;
        for steps in 0.. {
            let corpus = again.scratch.path(&format!("stopped-{steps}"));
            copy(&again.scratch.path("corpus"), &corpus);
            let mut writer = writer(&corpus);
            let directory = again.scratch.arg("load");
            let interrupt = Interrupt::default();
            let stop = StopAt::new(StopWhen::Told(steps));
            let done = writer.bulk_load(&directory, &options(1500, false), &stop.context());
            let digest = sound_digest(&writer.corpus());
            if done.is_ok() && !interrupt.is_raised() {
                assert_eq!(digest, again.expected);
                break;
            }
            stops += u64::from(digest != again.expected);
            load(&mut writer, Path::new(&directory), &options(1500, true)).unwrap();
            assert_eq!(sound_digest(&writer.corpus()), again.expected, "stopped after {steps}");
        }
        assert!(stops > 8, "stopped {stops} times before the end");
    }
}

#[test]
fn a_load_does_not_resume_after_a_change_of_ranks() {
    let again = Again::new(731, &witness(KeepOrder::Field("year".to_owned())), 40);
    let directory = again.scratch.path("load");
    let mut writer = again.made("corpus");
    let stop = StopAt::new(StopWhen::Told(6));
    assert!(
        writer
            .bulk_load(directory.to_str().unwrap(), &options(1500, false), &stop.context())
            .is_err()
    );
    assert!(writer.view().documents() > again.crawl.stored as u64, "nothing was loaded");
    drop(writer);
    let (corpus, taken) = (again.scratch.path("corpus"), again.scratch.path("taken"));
    copy(&corpus, &taken);
    let values = again.scratch.write("values.jsonl", "{\"id\": 3, \"year\": 1}\n");
    let words = ["year", "--from", &values, "--id", "id", "--value", "year"];
    corpusdb(&[&["field", "set", &again.scratch.arg("corpus")], &words[..]].concat()).good();
    let why = refused(load(&mut self::writer(&corpus), &directory, &options(1500, false)));
    assert!(why.contains("a commit of the kind `field`"), "{why}");
    let mut writer = self::writer(&taken);
    load(&mut writer, &directory, &options(1500, false)).unwrap();
    assert_eq!(sound_digest(&writer.corpus()), again.expected);
}

#[test]
fn a_killed_load_of_changes_resumes_to_the_same_end() {
    let again = Again::new(721, &witness(KeepOrder::Longest), 150);
    let made = |name: &str| {
        drop(again.made(name));
        again.scratch.arg(name)
    };
    let words = |corpus: &str| {
        let load = again.scratch.arg("load");
        let words = ["bulk-load", corpus, &load, "--batch-bytes", "2500", "--json"];
        words.map(str::to_owned)
    };
    let whole = made("whole");
    let before = journal(&whole);
    let report = corpusdb(&words(&whole)).good().json();
    assert_eq!(report["updated"], again.crawl.standing("superseded"), "{report}");
    assert_eq!(digest(&whole), again.expected);
    let commits = journal(&whole);
    assert!(commits > before + 10, "{commits} commits are too few to be killed between");
    let killed = kill_anywhere(&made, &words, (before, commits), &again.expected, 5);
    assert!(killed > 2, "killed {killed} times before the end");
}

#[test]
fn impossible_decisions_on_stored_documents_are_refused() {
    let again = Again::new(713, &witness(KeepOrder::Longest), 40);
    let changed = &again.crawl.changed;
    let at = |standing: &str| changed.iter().position(|row| row["_standing"] == standing).unwrap();
    let of_new = |row: &Value| row["_witness"].is_string() && row["_witness_id"].is_null();
    let new = changed.iter().position(of_new).expect("one with a new witness");
    let (gone, back) = (at("superseded"), at("kept"));
    let untouched = (0..40).find(|id| changed.iter().all(|row| row["id"] != *id)).unwrap();
    let set = |at: usize, name: &'static str, value: Value| {
        move |_: &mut Vec<Value>, changed: &mut Vec<Value>| changed[at][name] = value.clone()
    };
    let place = |at: usize| format!("changed/rows.parquet: row {at} (counted from 0): ");
    for (why, told) in [
        (again.refused(set(gone, "id", json!(40)), false), "decided against 40 documents"),
        (again.refused(set(gone, "key", json!("another")), false), "should be \"another\" of"),
        (again.refused(set(gone, "_standing", json!("empty")), false), "not kept, exact, near or"),
        (
            again.refused(set(back, "_standing", json!("superseded")), false),
            "and is `kept`: no doc",
        ),
        (again.refused(set(new, "_witness", json!("nobody")), false), "no document has the key of"),
        (again.refused(set(new, "_shared", json!(1)), false), "with its witness, of"),
        (
            again.refused(
                |_, changed| {
                    let shared = changed[new]["_removed_shingles"].as_i64();
                    changed[new]["_shared"] =
                        shared.min(changed[new]["_witness_shingles"].as_i64()).into();
                },
                true,
            ),
            "shingles with its witness and shares",
        ),
        (
            again.refused(
                |_, changed| {
                    let mut row = changed[gone].clone();
                    row["id"] = untouched.into();
                    (row["key"], row["source"]) = (Value::Null, Value::Null);
                    changed.push(row);
                },
                false,
            ),
            "it should be `superseded` and is `",
        ),
        (
            again.refused(|_, changed| changed.push(changed[gone].clone()), false),
            "an earlier row has the `id` ",
        ),
    ] {
        assert!(why.contains("changed/rows.parquet: row ") && why.contains(told), "{told}: {why}");
    }
    let why = again.refused(set(gone, "_standing", json!("nonsense")), false);
    assert!(why.contains(&place(gone)), "{why}");
    // A key that comes again without a word about it, and a record that is the stored one.
    let why = again.refused(|_, changed| drop(changed.remove(gone)), false);
    assert!(why.contains("which the load does not supersede"), "{why}");
    let id = changed[gone]["id"].as_u64().unwrap() as usize;
    let unchanged = |rows: &mut Vec<Value>, _: &mut Vec<Value>| {
        let key = &again.stored[id]["key"];
        let row = rows.iter_mut().find(|row| row["key"] == *key).unwrap();
        for name in ["text", "url", "language", "quality", "year"] {
            row[name] = again.stored[id][name].clone();
        }
    };
    let why = again.refused(unchanged, false);
    assert!(why.contains("the corpus has this record unchanged"), "{why}");
}

#[test]
fn impossible_changes_are_refused_before_the_first_row() {
    let again = Again::new(713, &witness(KeepOrder::First), 40);
    let directory = again.scratch.path("load");
    let count = again.crawl.changed.len();
    let say = |change: &dyn Fn(&mut Value)| {
        manifest(&directory, &again.crawl.policy, again.crawl.rows.len(), |manifest| {
            manifest["format"] = 2.into();
            manifest["against"] = json!({ "documents": 40, "changed": count });
            change(manifest);
        });
    };
    let mut writer = again.made("refuses");
    for (change, told) in [
        (json!({ "format": 1 }), "which format 1 cannot express"),
        (json!({ "shards": [10, 30] }), "the load is in shards"),
        (
            json!({ "against": { "documents": 40, "changed": count + 1 } }),
            "stored documents, and its manifest counts",
        ),
    ] {
        say(&|manifest: &mut Value| {
            change
                .as_object()
                .unwrap()
                .iter()
                .for_each(|(name, value)| manifest[name] = value.clone());
        });
        let why = refused(load(&mut writer, &directory, &options(1 << 20, false)));
        assert!(why.contains(told), "{told}: {why}");
        assert_eq!(writer.view().documents(), 40);
    }
    drop(writer);
    let policy = Policy { mode: DedupMode::Components, ..again.crawl.policy.clone() };
    let mut writer = make(&again.scratch.path("components"), &policy);
    pour_rows(&mut writer, &again.scratch, "stored.jsonl", &again.stored);
    say(&|manifest: &mut Value| manifest["policy"] = json!(policy));
    let why = refused(load(&mut writer, &directory, &options(1 << 20, false)));
    assert!(why.contains("which a load cannot do in mode `components`"), "{why}");
}

#[test]
fn a_load_does_not_resume_after_other_decisions() {
    let again = Again::new(713, &witness(KeepOrder::First), 40);
    let mut writer = again.made("corpus");
    let directory = again.scratch.path("load");
    let (part, aside) = (directory.join("documents/part=00001"), again.scratch.path("aside"));
    std::fs::rename(&part, &aside).unwrap();
    refused(load(&mut writer, &directory, &options(1500, false)));
    std::fs::rename(&aside, &part).unwrap();
    drop(writer);
    let (taken, removed) = (again.scratch.path("taken"), again.scratch.path("corpus"));
    copy(&removed, &taken);
    corpusdb(&["remove", &again.scratch.arg("corpus"), "--where", "id = 3"]).good();
    let mut other = self::writer(&removed);
    let why = refused(load(&mut other, &directory, &options(1500, false)));
    assert!(why.contains("a commit of the kind `remove`"), "{why}");
    let mut writer = self::writer(&taken);
    load(&mut writer, &directory, &options(1500, false)).unwrap();
    assert_eq!(sound_digest(&writer.corpus()), again.expected);
}
