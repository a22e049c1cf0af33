//! Loads that change stored documents: keys that come again, and documents that are better than what is stored.

use crate::loads::{
    documents, load, make, manifest, pour_rows, refused, same_ingest, say, schema, write_file,
    write_load,
};
use crate::support::{Random, Scratch, edited, policies, prose, sound_digest};
use arrow::datatypes::{DataType, Field, Schema};
use corpusdb::dedup::{KeepOrder, Standing, StandingsDigest};
use corpusdb::ingest::LoadOptions;
use corpusdb::{CorpusWriter, DedupMode, DocId, Policy};
use serde_json::{Value, json};
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
        scratch: &Scratch,
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

/// Crawl after crawl goes into three corpora: one decides, one ingests each load, and one loads it.
fn crawls(seed: u64, policy: &Policy, rounds: usize, size: usize) -> (usize, usize, usize) {
    let mut random = Random::new(seed);
    let scratch = Scratch::new();
    let mut corpora = ["decides", "ingests", "loads"].map(|name| make(&scratch.path(name), policy));
    let (mut held, mut names) = (Vec::new(), Vec::new());
    let mut all = fresh(seed + 40, size * (rounds + 1), 0);
    let (mut superseded, mut back, mut gone) = (0, 0, 0);
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
        let batch_bytes = [800, 3000, 9000, 1 << 20][random.below(4)];
        let check_all = random.chance(50);
        let options = LoadOptions { threads: 2, batch_bytes, check_all, ..LoadOptions::default() };
        let done = load(loads, &directory, &options);
        let told = format!("seed {seed}, {policy}, round {round}, {batch_bytes} bytes");
        let done = done.unwrap_or_else(|error| panic!("{told}: {error}"));
        assert_eq!(done.ingest.added, rows.len() as u64, "{told}");
        assert_eq!(sound_digest(&loads.corpus()), sound_digest(&ingests.corpus()), "{told}");
        assert_eq!(done.ingest.updated, crawl.standing("superseded") as u64, "{told}");
        let again = load(loads, &directory, &options).unwrap();
        assert_eq!((again.ingest.added, again.ingest.commits), (0, 0), "{told}");
        superseded += crawl.standing("superseded");
        back += crawl.standing("kept");
        gone += crawl.standing("near") + crawl.standing("exact");
        held.extend(rows);
    }
    (superseded, back, gone)
}

#[test]
fn a_crawl_that_comes_again_is_loaded_as_an_ingest_would_take_it() {
    let (mut superseded, mut back, mut gone) = (0, 0, 0);
    let modes = policies().into_iter().filter(|policy| !policy.mode.is_transitive());
    for (seed, policy) in (0..).zip(modes) {
        let found = crawls(seed + 300, &policy, 3, 50);
        superseded += found.0;
        back += found.1;
        gone += found.2;
    }
    assert!(superseded > 200 && back > 20 && gone > 20, "{superseded}, {back}, {gone}");
}

#[test]
fn small_histories_are_loaded_as_an_ingest_would_take_them() {
    for seed in 0..40 {
        let keep =
            [KeepOrder::First, KeepOrder::First, KeepOrder::Longest][seed as usize % 3].clone();
        let mode =
            [DedupMode::Witness, DedupMode::Witness, DedupMode::Exact][seed as usize / 3 % 3];
        let policy = Policy { keep, ..Policy::new(mode, 0.5).unwrap() };
        crawls(seed + 9000, &policy, 3, 14);
    }
}
