//! What a commit changes: between snapshots, against any history; one that loses too much is refused.

use crate::support::world::{SOURCES, World, kin, options, page_of, policies, policy};
use crate::support::{Page, Random, corpusdb, corpusdb_test, lines, reader, sound, train};
use corpusdb::dedup::{MatchKind, Standing};
use corpusdb::inspect::{ChangedDocument, DocumentCounts, LossCounts, SnapshotChanges};
use corpusdb::roaring::RoaringTreemap;
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, DocId, IngestOptions, Policy};
use serde_json::Value;
use std::collections::BTreeMap;

// ----
// Laws of what changed between snapshots: any history, any batches, against what each moment showed when it was there.

/// What a moment showed.
#[derive(Clone)]
struct Truth {
    /// None: the present.
    name: Option<String>,
    kept: RoaringTreemap,
    documents: u64,
    told: Vec<(Standing, Option<(MatchKind, u64)>)>,
    /// Removals and restorations before it.
    removals: usize,
}

fn truth(world: &World, name: Option<String>, removals: usize) -> Truth {
    let view = world.writer.view();
    let told = (0..view.documents()).map(DocId).map(|id| {
        let matched = view.match_of(id).unwrap().map(|found| (found.kind, found.witness.0));
        (view.standing(id).unwrap(), matched)
    });
    let told = told.collect();
    Truth { name, kept: view.kept().unwrap(), documents: view.documents(), told, removals }
}

/// What of a document is counted.
struct Counted {
    source: String,
    year: String,
    bytes: u64,
    tokens: u64,
}

fn counted(corpus: &Corpus) -> Vec<Counted> {
    let of = corpus.documents(None).unwrap().map(|shown| {
        let shown = shown.unwrap();
        let year = shown.fields["year"].as_i64();
        Counted {
            source: shown.source,
            year: year.map_or_else(|| "(none)".to_owned(), |year| year.to_string()),
            bytes: shown.bytes,
            tokens: shown.tokens["own"].as_u64().unwrap_or(0),
        }
    });
    of.collect()
}

/// Changes by group, change and reason: documents, bytes, tokens.
type Sums = BTreeMap<(String, String), (u64, u64, u64)>;

fn sums<'a>(parts: impl Iterator<Item = (String, &'a SnapshotChanges)>) -> Sums {
    let mut sums = Sums::new();
    let mut add = |group: &str, change: String, counts: &DocumentCounts| {
        if counts.documents > 0 {
            let of = (counts.documents, counts.bytes, counts.tokens["own"]);
            assert!(sums.insert((group.to_owned(), change), of).is_none());
        }
    };
    for (group, of) in parts {
        add(&group, "added".to_owned(), &of.added);
        add(&group, "kept_again".to_owned(), &of.kept_again);
        for (change, all, by) in
            [("removed", &of.removed, &of.removed_by), ("not_kept", &of.not_kept, &of.not_kept_by)]
        {
            add(&group, change.to_owned(), all);
            let documents = |loss: &LossCounts| loss.counts.documents;
            assert_eq!(by.iter().map(documents).sum::<u64>(), all.documents);
            by.iter()
                .for_each(|loss| add(&group, format!("{change}: {}", loss.reason), &loss.counts));
        }
    }
    sums
}

/// The same, of the documents listed.
fn recomputed(
    listed: &[ChangedDocument],
    documents: &[Counted],
    group: impl Fn(&Counted) -> String,
) -> Sums {
    let mut sums = Sums::new();
    for one in listed {
        let of = &documents[one.id as usize];
        let reason = one.reason.map(|reason| format!("{}: {reason}", one.change));
        for change in [Some(one.change.to_owned()), reason].into_iter().flatten() {
            let sum = sums.entry((group(of), change)).or_default();
            *sum = (sum.0 + 1, sum.1 + of.bytes, sum.2 + of.tokens);
        }
    }
    sums
}

/// Reasons looked at: all, and those that nothing tells any more.
#[derive(Default)]
struct Seen {
    reasons: usize,
    unknown: usize,
    changes: BTreeMap<String, usize>,
}

/// Expects that a listed document is what the two moments showed.
fn is_told(one: &ChangedDocument, a: &Truth, b: &Truth, now: usize, seen: &mut Seen, what: &str) {
    let is_new = one.id >= a.documents;
    let change = match (is_new, a.kept.contains(one.id), b.kept.contains(one.id)) {
        (true, _, true) => "added",
        (true, _, false) => "not_kept",
        (false, false, true) => "kept_again",
        (false, true, false) => "removed",
        _ => panic!("{what}: document {} did not change", one.id),
    };
    assert_eq!(one.change, change, "{what}: document {}", one.id);
    *seen.changes.entry(change.to_owned()).or_default() += 1;
    if b.kept.contains(one.id) {
        assert_eq!((one.reason, one.witness, one.successor), (None, None, None), "{what}");
        return;
    }
    let (standing, matched) = b.told[one.id as usize];
    let other = match matched {
        Some((MatchKind::Superseded, successor)) => (None, Some(successor)),
        Some((_, witness)) => (Some(witness), None),
        None => (None, None),
    };
    assert_eq!((one.witness, one.successor), other, "{what}: document {}: {one:?}", one.id);
    assert_eq!(one.witness.is_some(), one.witness_key.is_some());
    let reason = one.reason.unwrap();
    seen.reasons += 1;
    if let Some((kind, _)) = matched {
        assert_eq!(reason, kind.name(), "{what}: document {}", one.id);
    } else if b.name.is_none() {
        assert_eq!(reason, standing.name(), "{what}: document {}", one.id);
    } else if reason == "unknown" {
        seen.unknown += 1;
    } else if b.removals == now {
        assert_eq!(reason, standing.name(), "{what}: document {}", one.id);
    } else {
        // What was removed, blocked or empty may have become another of these since.
        assert!(["removed", "blocked", "empty"].contains(&reason), "{what}: document {}", one.id);
    }
}

fn compare(corpus: &Corpus, a: &Truth, b: &Truth, now: usize, seen: &mut Seen, what: &str) {
    let from = a.name.as_deref().unwrap_or("now");
    let what = &format!("{what}, {from} to {:?}", b.name);
    let listed = corpus.snapshot_changes(from, b.name.as_deref()).unwrap();
    let listed: Vec<ChangedDocument> = listed.map(Result::unwrap).collect();
    let mut differ = &a.kept ^ &b.kept;
    differ.extend(a.documents..b.documents);
    let ids: Vec<u64> = listed.iter().map(|one| one.id).collect();
    assert_eq!(ids, differ.iter().collect::<Vec<_>>(), "{what}");
    listed.iter().for_each(|one| is_told(one, a, b, now, seen, what));
    let documents = counted(corpus);
    for by in ["source", "year"] {
        let diff = corpus.snapshot_diff(from, b.name.as_deref(), Some(by)).unwrap();
        assert_eq!((diff.earlier.kept, diff.later.kept), (a.kept.len(), b.kept.len()), "{what}");
        let of = &diff.all;
        assert_eq!(
            diff.later.kept,
            diff.earlier.kept - of.removed.documents + of.kept_again.documents + of.added.documents,
            "{what}"
        );
        let told = sums(std::iter::once(("all".to_owned(), of)));
        assert_eq!(told, recomputed(&listed, &documents, |_| "all".to_owned()), "{what}");
        let told = sums(diff.groups.iter().map(|group| (group.group.clone(), &group.changes)));
        let group = |of: &Counted| if by == "year" { of.year.clone() } else { of.source.clone() };
        assert_eq!(told, recomputed(&listed, &documents, group), "{what} by {by}");
    }
}

/// One step of a history; answers whether it was a removal or a restoration.
fn step(world: &mut World, random: &mut Random, texts: &[String]) -> bool {
    let stored = world.model.documents.len();
    match random.below(100) {
        choice if stored == 0 || choice < 45 => {
            let keys = random.chance(70).then_some(12);
            let pages: Vec<Page> =
                (0..random.between(1, 14)).map(|_| page_of(random, texts, keys)).collect();
            let batch = *random.pick(&[600, 2 << 10, 1 << 20]);
            let source = *random.pick(&SOURCES[..]);
            world.pour(source, &pages, batch);
            false
        }
        0..60 => {
            let file = random.below(world.files.len());
            world.pour_again(file, *random.pick(&[600, 1 << 20]), random.chance(50));
            false
        }
        60..78 => {
            let ids = [random.below(stored) as u64, random.below(stored) as u64];
            world.remove(&ids[..random.between(1, 3)], random.chance(60));
            true
        }
        78..90 => {
            let removed: Vec<u64> = (0..stored as u64)
                .filter(|id| world.model.documents[*id as usize].removal.is_some())
                .filter(|_| random.chance(60))
                .collect();
            world.restore(&removed);
            true
        }
        _ => {
            let mode = *random.pick(&[DedupMode::Witness, DedupMode::Exact, DedupMode::Components]);
            world.redo(&policy(mode, *random.pick(&[0.5, 0.8])));
            false
        }
    }
}

/// Wanders with snapshots between, then compares every two moments. Some snapshots are renamed and dropped: the
/// others go on showing what they showed.
fn wander(policy: &Policy, seed: u64, steps: usize, seen: &mut Seen) {
    let mut random = Random::new(seed);
    let texts = kin(&mut random, 16);
    let mut world = World::new(policy);
    let (mut moments, mut removals) = (Vec::<Truth>::new(), 0);
    for at in 0..steps {
        removals += usize::from(step(&mut world, &mut random, &texts));
        if at == 0 {
            let tokenizer = train(&world.writer, 270, &[]);
            world.writer.add_tokenizer("own", &tokenizer, "test", &Context::new()).unwrap();
        }
        if random.chance(45) {
            let name = format!("s{at}");
            world.writer.create_snapshot(&name).unwrap();
            moments.push(truth(&world, Some(name), removals));
        }
    }
    moments.push(truth(&world, None, removals));
    let what = format!("seed {seed}, {policy}");
    let corpus = reader(&world.path);
    for (at, b) in moments.iter().enumerate() {
        for a in moments.iter().take(at + 1).filter(|a| a.name.is_some()) {
            compare(&corpus, a, b, removals, seen, &what);
            if a.name == b.name {
                let diff =
                    corpus.snapshot_diff(a.name.as_deref().unwrap(), b.name.as_deref(), None);
                let diff = diff.unwrap();
                let none = sums(std::iter::once((String::new(), &diff.all))).is_empty();
                assert!(diff.groups.is_empty() && none, "{what}: {diff:?}");
            }
        }
    }
    drop(corpus);
    let digest = world.digest();
    let mut left = Vec::new();
    for (at, truth) in moments.into_iter().enumerate() {
        match (&truth.name, at % 3) {
            (Some(name), 0) => {
                assert_eq!(world.writer.drop_snapshot(name, false).unwrap().1, [0_u32; 0]);
            }
            (Some(name), 1) => {
                let new = format!("renamed {name}");
                let record = world.writer.rename_snapshot(name, &new).unwrap();
                assert_eq!((record.name.as_str(), record.kept), (new.as_str(), truth.kept.len()));
                left.push(Truth { name: Some(new), ..truth });
            }
            _ => left.push(truth),
        }
    }
    assert_eq!(world.digest(), digest, "{what}: names change nothing of what a corpus means");
    let corpus = reader(&world.path);
    assert!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap().is_empty(), "{what}");
    for (at, b) in left.iter().enumerate() {
        for a in left.iter().take(at + 1).filter(|a| a.name.is_some()) {
            compare(&corpus, a, b, removals, seen, &what);
        }
    }
}

#[test]
fn changes_between_moments_equal_the_difference_of_their_rows() {
    let mut seen = Seen::default();
    for (at, policy) in (0..).zip(policies(0.7)).step_by(7) {
        wander(&policy, 3000 + at, 14, &mut seen);
    }
    println!("{} reasons, {} unknown, {:?}", seen.reasons, seen.unknown, seen.changes);
    assert!(seen.changes.len() == 4 && seen.changes.values().all(|count| *count > 50));
    assert!(seen.unknown * 10 < seen.reasons, "{} of {} unknown", seen.unknown, seen.reasons);
}

#[test]
fn an_earlier_policy_is_shown_until_its_last_snapshot_goes() {
    let mut random = Random::new(9);
    let texts = kin(&mut random, 16);
    let mut world = World::new(&policy(DedupMode::Witness, 0.7));
    let mut pour = |world: &mut World, count: usize| {
        let pages: Vec<Page> = (0..count).map(|_| page_of(&mut random, &texts, None)).collect();
        world.pour("web", &pages, 1 << 20);
    };
    pour(&mut world, 10);
    world.writer.create_snapshot("first").unwrap();
    pour(&mut world, 30);
    world.writer.create_snapshot("second").unwrap();
    let before = reader(&world.path).snapshot_diff("first", Some("second"), None).unwrap();
    assert!(before.all.not_kept.documents > 5, "{before:?}");
    world.redo(&policy(DedupMode::None, 0.7));
    pour(&mut world, 3);
    let told = reader(&world.path).snapshot_diff("first", Some("second"), None).unwrap();
    assert_eq!(told, before);
    // What the policy let in again.
    let now = reader(&world.path).snapshot_diff("second", None, None).unwrap();
    assert_eq!(now.all.kept_again.documents, now.earlier.documents - now.earlier.kept);
    let digest = world.digest();
    let why = reader(&world.path).snapshot_diff("second", Some("first"), None).unwrap_err();
    let why = why.to_string();
    assert!(why.contains("`second`") && why.contains("`first` and then `second`"), "{why}");
    world.writer.drop_snapshot("first", false).unwrap();
    let gone = reader(&world.path).snapshot_diff("first", None, None).unwrap_err();
    assert_eq!(gone.to_string(), "no snapshot `first`");
    assert_eq!(gone.hint().unwrap().to_string(), "there is `second`");
    world.writer.drop_snapshot("second", false).unwrap();
    assert_eq!(world.digest(), digest);
    world.redo(&policy(DedupMode::Witness, 0.7));
    world.agrees("back under the first policy");
}

// ----
// Alarms before a commit is final: the batch that loses too much is refused, and undone by a command.

/// Pages of which nearly all are made from one of two templates.
fn templates(fresh: usize, made: usize) -> Vec<Page> {
    let word = |name: &str, at: usize| format!("{name}{at}");
    let text = |name: &str, own: &str| {
        let common = (0..40).map(|at| word(name, at)).collect::<Vec<_>>().join(" ");
        format!("{common} {own}")
    };
    let own = (0..fresh).map(|at| {
        Page::new((0..12).map(|part| format!("own{at}part{part}")).collect::<Vec<_>>().join(" "))
    });
    let made = (0..made).map(|at| Page::new(text(["first", "second"][at % 2], &word("slot", at))));
    own.chain(made).collect()
}

corpusdb_test!(the_loss_limit_refuses_a_batch_and_names_the_undo, World::witness(), |mut world| {
    world.pour("web", &[Page::new("a page that was here before and is to stay here")], 1 << 20);
    let pages = templates(5_200, 5_600);
    let file = world.scratch.write("templates.jsonl", lines(&pages));
    let batches = IngestOptions { max_removed: Some(0.5), ..options("web", 64 << 10, &pages) };
    let error = world.writer.ingest(&[file], &batches, &Context::new()).unwrap_err().to_string();
    for words in ["share of 0.5", "was taken for a duplicate of", "corpusdb remove CORPUS --where"]
    {
        assert!(error.contains(words), "no `{words}` in {error}");
    }
    let stored = world.writer.view().documents();
    assert!((9_000..10_801).contains(&stored), "earlier batches stay: {stored}");
    let mut half = 0;
    for id in 1..stored {
        let standing = world.writer.view().standing(corpusdb::DocId(id)).unwrap();
        half += u64::from(standing != corpusdb::dedup::Standing::Kept);
    }
    assert!(half * 2 <= stored, "no batch over the limit was committed: {half} of {stored}");
    // The command as printed works.
    let condition = error.split("--where \"").nth(1).unwrap().split('"').next().unwrap();
    let corpus = world.path.display().to_string();
    drop(world.writer);
    let report = corpusdb(&["remove", &corpus, "--where", condition, "--json"]).good().json();
    assert_eq!(report["changed"], stored - 1, "{report}");
    assert_eq!(corpusdb(&["count", &corpus, "--where", "kept"]).good().stdout, "1\n");
    sound(&corpus);
    // Restored, all of it is as it was.
    corpusdb(&["restore", &corpus, "--where", condition]).good();
    let kept = corpusdb(&["count", &corpus, "--where", "kept"]).good().stdout;
    assert_eq!(kept.trim().parse::<u64>().unwrap(), stored - half);
    sound(&corpus);
});

/// The pages have none of the declared fields, which is told too.
fn about_duplicates(alarms: &Value) -> Vec<Value> {
    let alarms = alarms.as_array().unwrap().iter();
    alarms.filter(|alarm| alarm["kind"] != "field-absent").cloned().collect()
}

corpusdb_test!(a_warning_names_a_source_that_is_nearly_gone, World::witness(), |world| {
    let corpus = world.path.display().to_string();
    drop(world.writer);
    let words = |at| (0..40).map(move |part| format!("own{at}part{part}"));
    let pages: Vec<Page> =
        (0..130).map(|at| Page::new(words(at).collect::<Vec<_>>().join(" "))).collect();
    let alarms = |name: &str, pages: &[Page]| {
        let pages: Vec<Page> =
            pages.iter().map(|page| Page::new(format!("{} again", page.text))).collect();
        let file = world.scratch.write(&format!("{name}.jsonl"), lines(&pages));
        let arguments = ["ingest", &corpus, &file, "--source", name, "--json"];
        let report = corpusdb(&arguments).good().json();
        about_duplicates(&report["alarms"])
    };
    let first = world.scratch.write("first.jsonl", lines(&pages));
    corpusdb(&["ingest", &corpus, &first, "--source", "first"]).good();
    assert!(alarms("few", &pages[..99]).is_empty());
    let told = alarms("mirror", &pages);
    let [alarm] = &told[..] else { panic!("{told:?}") };
    assert_eq!(alarm["kind"], "source-removed", "{alarm}");
    assert_eq!((&alarm["source"], &alarm["added"]), (&"mirror".into(), &130.into()), "{alarm}");
    let removed = alarm["removed"].as_u64().unwrap();
    let stored = ["count", &corpus, "--where", "source = 'mirror' AND NOT kept"];
    assert_eq!(corpusdb(&stored).good().stdout, format!("{removed}\n"));
    assert!(removed >= 117 && alarm["example"]["removed_text"].is_string(), "{alarm}");
});

/// Texts that share a header of many words and have few of their own, and texts that share nothing.
fn headed(heads: usize, others: usize) -> Vec<Page> {
    let words = |name: &str, count: usize| {
        (0..count).map(|at| format!("{name}{at}")).collect::<Vec<_>>().join(" ")
    };
    let header = words("licence", 80);
    let heads = (0..heads).map(|at| Page::new(format!("{header} own{at} code{at}")));
    heads.chain((0..others).map(|at| Page::new(words(&format!("page{at}word"), 30)))).collect()
}

/// The alarms of that kind.
fn near_ones(alarms: &Value) -> Vec<Value> {
    let alarms = alarms.as_array().unwrap().iter();
    alarms.filter(|alarm| alarm["kind"] == "near-one").cloned().collect()
}

corpusdb_test!(half_of_a_source_near_one_document_is_a_warning, |scratch| {
    // Of 40 small files with one licence header 39 were lost without a word.
    let told = |name: &str, files: &[&[Page]], (batch_bytes, threads): (u64, usize)| {
        let path = scratch.path(name);
        Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.7).unwrap(), &[]).unwrap();
        let mut writer = CorpusWriter::open(&path).unwrap();
        let mut last = Vec::new();
        for (at, pages) in files.iter().enumerate() {
            let file = scratch.write(&format!("{at}.jsonl"), lines(pages));
            let batches = IngestOptions { batch_bytes, ..IngestOptions::new("code") };
            let context = Context::new().with_threads(threads);
            let report = writer.ingest(&[file], &batches, &context).unwrap();
            last = near_ones(&serde_json::to_value(&report.alarms).unwrap());
        }
        last
    };
    let whole = (1 << 20, 2);
    for (heads, others, removed) in
        [(20, 0, None), (21, 0, Some(20)), (21, 19, Some(20)), (21, 20, None), (40, 0, Some(39))]
    {
        let name = format!("{heads}-{others}");
        let found = told(&name, &[&headed(heads, others)], whole);
        assert_eq!(
            found.first().map(|alarm| alarm["removed"].as_u64().unwrap()),
            removed,
            "{name}"
        );
    }
    // Two stored documents have half each, in any order; however the file is cut and read, the same is said.
    let other = |page: &Page| Page::new(page.text.replace("licence", "other"));
    let twice = |pages: &[Page]| -> Vec<Page> {
        pages
            .iter()
            .map(|page| Page::new(page.text.clone()))
            .chain(pages.iter().map(other))
            .collect()
    };
    let stored = twice(&headed(1, 0));
    let mut pages = twice(&headed(21, 0)[1..]);
    let mut random = Random::new(5);
    (1..pages.len()).rev().for_each(|at| pages.swap(at, random.below(at + 1)));
    let expected = told("both", &[&stored, &pages], whole);
    let removed: Vec<_> = expected.iter().map(|alarm| alarm["removed"].clone()).collect();
    assert_eq!(removed, [20, 20], "{expected:?}");
    for (at, how) in [(1 << 9, 1), (1 << 11, 3), (1 << 14, 1)].into_iter().enumerate() {
        assert_eq!(told(&format!("both{at}"), &[&stored, &pages], how), expected);
    }
});

corpusdb_test!(a_warning_of_near_duplicates_names_source_and_pair, |scratch| {
    let corpus = scratch.arg("corpus");
    corpusdb(&["init", &corpus, "--profile", "code", "--keep", "longest"]).good();
    // Each is longer than those before: all of them are near duplicates of the last.
    let code = |at: usize| {
        let words: Vec<String> = (0..80 + at / 4).map(|word| format!("licence{word}")).collect();
        serde_json::json!({ "src": "code", "text": format!("{} own{at} code{at}", words.join(" ")) })
    };
    let page = |at: usize| {
        let words: Vec<String> = (0..30).map(|word| format!("page{at}word{word}")).collect();
        serde_json::json!({ "src": "web", "text": words.join(" ") })
    };
    let records = (0..30).map(code).chain((0..60).map(page));
    let file = scratch
        .write("both.jsonl", records.map(|record| format!("{record}\n")).collect::<String>());
    let ran =
        corpusdb(&["ingest", &corpus, &file, "--source-from", "src", "--source", "rest"]).good();
    let said = format!("{}{}", ran.stdout, ran.stderr);
    for words in [
        "29 of 30 new documents of the source code",
        "header or a template",
        "--threshold 0.95",
        "removed: \"licence0",
        "witness: \"licence0",
    ] {
        assert!(said.contains(words), "no `{words}` in {said}");
    }
    sound(&corpus);
});

corpusdb_test!(below_the_limit_a_large_cluster_is_only_a_warning, World::witness(), |mut world| {
    let pages = templates(9_000, 3_000);
    let file = world.scratch.write("templates.jsonl", lines(&pages));
    let batches = IngestOptions { max_removed: Some(0.5), ..options("web", 256 << 10, &pages) };
    let report = world.writer.ingest(&[file], &batches, &Context::new());
    let report = report.unwrap();
    assert_eq!((report.added, report.kept), (12_000, 9_002));
    let told = serde_json::to_value(&report.alarms).unwrap();
    let told = about_duplicates(&told);
    assert_eq!(told.len(), 2, "{told:?}");
    for alarm in &told {
        assert_eq!((alarm["kind"].as_str(), alarm["size"].as_u64()), (Some("cluster"), Some(1500)));
        let example = &alarm["example"];
        let beginning = |text: &str| example[text].as_str().unwrap()[..100].to_owned();
        assert_eq!(beginning("witness_text"), beginning("removed_text"), "{alarm}");
    }
    world.digest();
});
