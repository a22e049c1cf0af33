//! Near duplicates that a plan draws beside what is kept, up to some of each cluster, against a naive recount.

use crate::support::checker::corpus::recipe;
use crate::support::epochs::{same_files, word_tokenizer};
use crate::support::scenarios::policy;
use crate::support::{
    Page, Random, TestDir, corpusdb_test, keyed_options, lines, pour, reader, seeds, sound_digest,
    writer,
};
use corpusdb::dedup::{KeepOrder, Standing};
use corpusdb::epoch::{BuildJob, Plan};
use corpusdb::{Context, Corpus, CorpusWriter, DocId, FieldKind};
use roaring::RoaringTreemap;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

// ----
// Histories drawn by chance; after each step some plans are compared with a recount from scratch.

/// A document as the model sees it: what came, and what the decisions say now.
struct ModelDocument {
    text: String,
    year: i64,
    standing: Standing,
    /// The kept document of its cluster; itself where it is kept.
    witness: Option<u64>,
}

impl ModelDocument {
    fn all(corpus: &Corpus) -> Vec<Self> {
        let (view, later) = (corpus.view(), corpus.select("year = 2001").unwrap());
        let of = |id: u64| {
            let standing = view.standing(DocId(id)).unwrap();
            let found = view.match_of(DocId(id)).unwrap().map(|found| found.witness.0);
            let witness = match standing {
                Standing::Kept => Some(id),
                Standing::Near => found,
                _ => None,
            };
            if standing == Standing::Purged {
                return Self { text: String::new(), year: 0, standing, witness };
            }
            let text = view.text(DocId(id)).unwrap();
            let year = 2000 + i64::from(later.contains(id));
            Self { text, year, standing, witness }
        };
        (0..view.documents()).map(of).collect()
    }
}

/// What a recipe asks for, as the model reads it.
struct Asked {
    per_cluster: usize,
    least: usize,
    year: Option<i64>,
}

impl Asked {
    fn drawn(random: &mut Random) -> Self {
        Self {
            per_cluster: random.between(2, 5),
            least: *random.pick(&[1, 1, 18, 22]),
            year: random.chance(40).then_some(2000 + random.below(2) as i64),
        }
    }

    fn text(&self, more: &str) -> String {
        let year = self.year.map_or(String::new(), |year| format!("where = \"year = {year}\"\n"));
        format!(
            "[select]\nper_cluster = {}\nmin_tokens = {}\n{year}{more}[pack]\nkind = \"concat\"\nlength = 8\n",
            self.per_cluster, self.least
        )
    }

    fn passes(&self, of: &ModelDocument) -> bool {
        of.witness.is_some()
            && of.text.split_whitespace().count() >= self.least
            && self.year.is_none_or(|year| of.year == year)
    }
}

fn documents(planned: &Plan) -> BTreeSet<u64> {
    planned.pinned.iter().flat_map(|of| of.documents()).collect()
}

/// Recounts from scratch what a plan draws. Ties of the keep order may go either way.
fn recount(all: &[ModelDocument], asked: &Asked, keep: &KeepOrder, drawn: &BTreeSet<u64>) {
    let place = |id: u64| match keep {
        KeepOrder::First => id as i64,
        _ => -(all[id as usize].text.chars().count() as i64),
    };
    let mut clusters: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (id, of) in (0..).zip(all) {
        if let Some(witness) = of.witness {
            clusters.entry(witness).or_default().push(id);
        }
    }
    let mut left = drawn.clone();
    for (kept, members) in clusters {
        let passes = |id: &u64| asked.passes(&all[*id as usize]);
        assert_eq!(left.remove(&kept), passes(&kept), "kept document {kept}");
        let room = asked.per_cluster - usize::from(passes(&kept));
        // The best place of each text.
        let mut texts: BTreeMap<&str, i64> = BTreeMap::new();
        for id in members.iter().filter(|id| **id != kept && passes(id)) {
            let best = texts.entry(all[*id as usize].text.as_str()).or_insert(i64::MAX);
            *best = place(*id).min(*best);
        }
        let mut places: Vec<i64> = texts.values().copied().collect();
        places.sort_unstable();
        places.truncate(room);
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for id in members.iter().filter(|id| **id != kept) {
            if left.remove(id) {
                assert!(passes(id), "{id} is drawn");
                assert!(seen.insert(&all[*id as usize].text), "the text of {id} is drawn twice");
                found.push(place(*id));
            }
        }
        found.sort_unstable();
        assert_eq!(found, places, "of the cluster of {kept}, of which {members:?} are");
    }
    assert!(left.is_empty(), "{left:?} are of no cluster");
}

struct NearHistory {
    scratch: TestDir,
    path: PathBuf,
    writer: CorpusWriter,
    keep: KeepOrder,
    texts: Vec<String>,
    files: usize,
    log: Vec<String>,
}

fn words(random: &mut Random, count: usize) -> Vec<String> {
    (0..count).map(|_| format!("v{}", random.below(300))).collect()
}

impl NearHistory {
    fn new(keep: KeepOrder) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        let fields = [("year".to_owned(), FieldKind::Int)];
        Corpus::init(&path, &policy(&keep, 0.5), &fields).unwrap();
        let mut writer = writer(&path);
        let file = word_tokenizer();
        writer.add_tokenizer("words", file.as_bytes(), "", &Context::new()).unwrap();
        Self { scratch, path, writer, keep, texts: Vec::new(), files: 0, log: Vec::new() }
    }

    /// New texts, texts with some other words, and the same texts, some under keys that are there.
    fn ingest(&mut self, random: &mut Random) {
        let mut pages = Vec::new();
        for at in 0..random.between(4, 16) {
            let text = match self.texts.is_empty() || random.chance(25) {
                true => {
                    let count = random.between(14, 30);
                    words(random, count).join(" ")
                }
                false => {
                    let known = random.pick(&self.texts).clone();
                    let mut of: Vec<&str> = known.split(' ').collect();
                    let new = words(random, 2);
                    for word in new.iter().take(random.below(3)) {
                        let at = random.below(of.len());
                        if random.chance(50) {
                            of[at] = word;
                        } else {
                            of.insert(at, word);
                        }
                    }
                    of.join(" ")
                }
            };
            let key = match random.chance(15) {
                true => format!("key {}", random.below(20)),
                false => format!("key {} {at}", self.files + 20),
            };
            self.texts.push(text.clone());
            let fields = json!({ "year": 2000 + random.below(2) });
            pages.push(Page { fields, ..Page::keyed(key, text) });
        }
        self.files += 1;
        let file = self.scratch.write(&format!("{}.jsonl", self.files), lines(&pages));
        let bytes = *random.pick(&[600, 1 << 20]);
        pour(&mut self.writer, &[file], &keyed_options(bytes));
        self.log.push(format!("ingest {} pages by {bytes}", pages.len()));
    }

    fn some(&self, random: &mut Random, of: Standing) -> RoaringTreemap {
        let all: Vec<u64> = self.writer.view().documents_standing(of).unwrap().iter().collect();
        let count = if all.is_empty() { 0 } else { random.between(1, 4) };
        (0..count).map(|_| *random.pick(&all)).collect()
    }

    fn step(&mut self, random: &mut Random) {
        let none = Context::new();
        match random.below(10) {
            0..5 => self.ingest(random),
            5 => {
                let policy = policy(&self.keep, *random.pick(&[0.5, 0.6, 0.8]));
                self.writer.redo(&policy, &none).unwrap();
                self.writer.switch(&policy, &none).unwrap();
                self.log.push("redo".to_owned());
            }
            6 | 7 => {
                let of = *random.pick(&[Standing::Kept, Standing::Near]);
                let ids = self.some(random, of);
                self.writer.remove(&ids, false, &none).unwrap();
                self.log.push(format!("remove {ids:?}"));
            }
            8 => {
                let ids = self.some(random, Standing::Removed);
                self.writer.restore(&ids, &none).unwrap();
                self.log.push(format!("restore {ids:?}"));
            }
            _ => {
                let of = *random.pick(&[Standing::Kept, Standing::Near]);
                let ids = self.some(random, of);
                self.writer.purge(&ids, false, true, &none).unwrap();
                self.log.push(format!("purge {ids:?}"));
            }
        }
    }

    /// A plan draws what the recount says; what it draws is given and verified, and a reader plans the same. A plan of
    /// another recipe in between, which encodes others, changes nothing.
    fn check(&mut self, random: &mut Random, number: usize) -> Option<usize> {
        let asked = Asked::drawn(random);
        let text = asked.text("");
        self.log.push(text.clone());
        let planned = match self.writer.plan(&recipe(&text), &Context::new()) {
            Ok((_, planned)) => planned,
            Err(error) => {
                let all = ModelDocument::all(&self.writer.corpus());
                assert!(all.iter().all(|of| !asked.passes(of)), "{error}\n{:#?}", self.log);
                return None;
            }
        };
        let corpus = self.writer.corpus();
        let all = ModelDocument::all(&corpus);
        recount(&all, &asked, &self.keep, &documents(&planned));
        let again = corpus.plan(&recipe(&text), &Context::new()).unwrap();
        assert_eq!(again.plan.hash(), planned.plan.hash(), "{:#?}", self.log);
        let explained = corpus.explain(&planned, &Context::new()).unwrap();
        let near = explained.sources.iter().filter_map(|source| source.near_duplicates);
        let near = near.fold((0, 0), |(all, of), near| (all + near.documents, of + near.clusters));
        let drawn = documents(&planned)
            .into_iter()
            .filter(|id| all[*id as usize].standing == Standing::Near);
        let drawn: Vec<u64> = drawn.collect();
        let clusters: BTreeSet<_> = drawn.iter().map(|id| all[*id as usize].witness).collect();
        assert_eq!(near.0, drawn.len() as u64, "{:#?}", self.log);
        // A snapshot may be older than the match of a document that came back.
        assert!(near.1 <= clusters.len() as u64, "{:#?}", self.log);
        let out = self.scratch.path(&format!("epoch-{number}"));
        corpus.build(&planned, &BuildJob { epoch: 0, out: &out }, &Context::new()).unwrap();
        let verified = corpus.verify(&planned, &out, &Context::new()).unwrap();
        assert!(verified.passed(), "{verified:?}");
        let more = Asked { per_cluster: 9, least: 1, year: None };
        self.writer.plan(&recipe(&more.text("")), &Context::new()).unwrap();
        let again = self.writer.corpus().plan(&recipe(&text), &Context::new()).unwrap();
        assert_eq!(again.plan.hash(), planned.plan.hash(), "{:#?}", self.log);
        Some(drawn.len())
    }
}

#[test]
fn plans_draw_near_duplicates_as_a_recount_says() {
    let (mut drawn, mut plans) = (0, 0);
    for seed in 0..seeds(6) {
        let mut random = Random::new(7_100 + seed);
        let keep = if seed % 2 == 0 { KeepOrder::First } else { KeepOrder::Longest };
        let mut history = NearHistory::new(keep);
        history.ingest(&mut random);
        for number in 0..6 {
            history.step(&mut random);
            if let Some(near) = history.check(&mut random, number) {
                (drawn, plans) = (drawn + near, plans + 1);
            }
        }
        sound_digest(&reader(&history.path));
    }
    assert!(drawn > plans && plans > 0, "{drawn} near duplicates in {plans} plans");
}

// ----
// The border to a holdout: members of a cluster are on one side, and nothing changes sides.

fn members_stay_on_one_side(first: u64, redoes: bool) {
    let mut held_members = 0;
    for seed in 0..seeds(4) {
        let mut random = Random::new(first + seed);
        let keep = if seed % 2 == 0 { KeepOrder::First } else { KeepOrder::Longest };
        let mut history = NearHistory::new(keep);
        let mut before: [BTreeSet<u64>; 2] = Default::default();
        for _ in 0..8 {
            match random.below(10) {
                0..6 => history.ingest(&mut random),
                6 if redoes => {
                    let policy = policy(&history.keep, *random.pick(&[0.5, 0.6, 0.8]));
                    history.writer.redo(&policy, &Context::new()).unwrap();
                    history.writer.switch(&policy, &Context::new()).unwrap();
                    history.log.push("redo".to_owned());
                }
                _ => {
                    let ids = history.some(&mut random, Standing::Kept);
                    history.writer.remove(&ids, false, &Context::new()).unwrap();
                    history.log.push(format!("remove {ids:?}"));
                }
            }
            let mut sides: [BTreeSet<u64>; 2] = Default::default();
            for (side, take) in sides.iter_mut().zip(["train", "holdout"]) {
                let holdout = format!("holdout = {{ share = 0.4, take = \"{take}\" }}\n");
                // A condition may leave out the kept document: its members are on its side all the same.
                for year in [None, Some(2000), Some(2001)] {
                    let asked = Asked { per_cluster: 4, least: 1, year };
                    let planned =
                        history.writer.plan(&recipe(&asked.text(&holdout)), &Context::new());
                    side.extend(planned.iter().flat_map(|(_, planned)| documents(planned)));
                }
            }
            let [train, held] = &sides;
            assert!(train.is_disjoint(held), "{:#?}", history.log);
            let all = ModelDocument::all(&history.writer.corpus());
            let of = |ids: &BTreeSet<u64>| -> BTreeSet<Option<u64>> {
                ids.iter().map(|id| all[*id as usize].witness).collect()
            };
            assert!(of(train).is_disjoint(&of(held)), "{:#?}", history.log);
            held_members +=
                held.iter().filter(|id| all[**id as usize].standing == Standing::Near).count();
            assert!(before[0].is_disjoint(held), "trained on, then held out: {:#?}", history.log);
            assert!(before[1].is_disjoint(train), "held out, then trained on: {:#?}", history.log);
            before[0].extend(train);
            before[1].extend(held);
        }
    }
    assert!(held_members > 10, "{held_members} near duplicates were held out");
}

#[test]
fn members_of_a_cluster_are_on_one_side() {
    members_stay_on_one_side(8_200, false);
}

#[test]
fn members_stay_on_their_side_through_a_redo() {
    members_stay_on_one_side(8_300, true);
}

// ----
// By the command.

/// Four near duplicates of one text, two of another one; the tokenizer knows their words.
fn clusters(scratch: &TestDir, corpus: &str, first: usize) {
    let text = |from: usize, change: Option<usize>| {
        let word = |at: usize| match change {
            Some(other) if at == other * 7 + 3 => format!("v{}", 280 + other),
            _ => format!("v{}", first + from + at),
        };
        (0..30).map(word).collect::<Vec<_>>().join(" ")
    };
    let mut pages = vec![Page::keyed(format!("{corpus} a"), text(0, None))];
    for change in 0..4 {
        pages.push(Page::keyed(format!("{corpus} a{change}"), text(0, Some(change))));
    }
    pages.push(Page::keyed(format!("{corpus} b"), text(40, None)));
    pages.push(Page::keyed(format!("{corpus} b0"), text(40, Some(0))));
    // The same text comes once, whatever a recipe asks for.
    pages.push(Page::keyed(format!("{corpus} b0 again"), text(40, Some(0))));
    scratch.run(&format!("init {corpus} --mode witness --threshold 0.6"));
    let path = scratch.arg(corpus);
    scratch.ingest(
        &path,
        &format!("{corpus}.jsonl"),
        lines(&pages),
        &["--source", "web", "--id-field", "id"],
    );
    scratch.write("words.json", word_tokenizer());
    scratch.run(&format!("tokenizer add {corpus} words words.json"));
}

corpusdb_test!(a_plan_draws_some_of_each_cluster, |t| {
    clusters(&t, "c", 0);
    let recipe = |name: &str, more: &str| {
        t.write(name, format!("version = 1\n{more}[pack]\nkind = \"concat\"\nlength = 10\n"));
    };
    recipe("one.toml", "");
    recipe("alone.toml", "[select]\nper_cluster = 1\n");
    recipe("three.toml", "[select]\nper_cluster = 3\n");
    recipe("many.toml", "[select]\nper_cluster = 100\n");
    let documents = |recipe: &str| {
        let explained = t.run(&format!("epoch explain c {recipe} --json")).json();
        explained["sources"][0]["documents"].as_u64().unwrap()
    };
    let plan = |recipe: &str| t.run(&format!("epoch plan c {recipe} --json")).json();
    // 1 is as if it were not there.
    assert_eq!(plan("one.toml")["hash"], plan("alone.toml")["hash"]);
    assert_eq!(documents("one.toml"), 2);
    // Who only reads cannot encode.
    t.ran("epoch explain c three.toml").fails(&[
        "has no tokens of tokenizer `words`",
        "select.per_cluster",
        "corpusdb epoch plan",
    ]);
    let planned = plan("three.toml");
    assert_eq!(documents("three.toml"), 5);
    let number = planned["number"].as_u64().unwrap();
    let explained = t.run(&format!("epoch explain c {number}"));
    explained
        .prints(&["note      + 3 near duplicates of 2 clusters, 90 tokens (select.per_cluster)"]);
    assert_eq!(plan("three.toml")["hash"], planned["hash"]);
    plan("many.toml");
    assert_eq!(documents("many.toml"), 7);
    t.run(&format!("epoch build c {number} --out three"));
    t.run("epoch verify c three");
    // A near duplicate that is removed afterwards is one that the plan draws.
    t.run("snapshot create c then");
    recipe("then.toml", "snapshot = \"then\"\n[select]\nper_cluster = 3\n");
    assert_eq!(plan("then.toml")["plan"]["sources"][0]["documents"], 5);
    t.run("remove c --where \"key = 'c a0'\"");
    let again = t.run(&format!("epoch build c {number} --out three-again"));
    assert!(again.stderr.contains("draws 1 documents that were removed"), "{again}");
    same_files(&t.path("three"), &t.path("three-again"));
    t.ran("epoch plan c then.toml").fails(&[
        "select.per_cluster",
        "since the snapshot `then` was made",
        "leave `snapshot` out",
    ]);
    // The next one of the cluster takes its place.
    assert_ne!(plan("three.toml")["hash"], planned["hash"]);
    assert_eq!(documents("three.toml"), 5);
    recipe("none.toml", "[select]\nper_cluster = 0\n");
    t.ran("epoch plan c none.toml").fails(&["select.per_cluster is 0"]);
    t.sound("c");
});

corpusdb_test!(contaminated_near_duplicates_are_not_drawn, |t| {
    clusters(&t, "c", 0);
    // The words around the change of `a1`, which no other document has.
    let question = (0..30).map(|at| if at == 10 { 281 } else { at }).map(|word| format!("v{word}"));
    let question = question.skip(4).take(16).collect::<Vec<_>>().join(" ");
    t.write("suite.jsonl", json!({ "question": question, "answer": "so" }).to_string() + "\n");
    t.run("contamination add c ours suite.jsonl");
    let found = t.column("c", "SELECT DISTINCT d.key AS key FROM contamination c JOIN documents d ON d.id = c.document WHERE c.contaminated");
    let text = |more: &str| {
        format!(
            "version = 1\n[select]\nper_cluster = 100\n{more}[pack]\nkind = \"concat\"\nlength = 10\n"
        )
    };
    t.write("all.toml", text(""));
    t.write("clean.toml", text("exclude_contaminated = [\"ours\"]\n"));
    let documents = |recipe: &str| {
        t.run(&format!("epoch plan c {recipe} --json")).json()["plan"]["sources"][0]["documents"]
            .as_u64()
    };
    assert!(!found.is_empty());
    assert_eq!(documents("all.toml"), Some(7));
    assert_eq!(documents("clean.toml"), Some(7 - found.len() as u64), "{found:?}");
});

corpusdb_test!(near_duplicates_of_shards_are_encoded_there, |t| {
    clusters(&t, "c", 0);
    clusters(&t, "d", 80);
    t.write(
        "two.toml",
        "version = 1\n[select]\nper_cluster = 2\n[pack]\nkind = \"concat\"\nlength = 10\n",
    );
    t.ran("epoch plan c two.toml --shards d")
        .fails(&["of shard 1", "plan the recipe once in the corpus of shard 1 alone"]);
    t.run("epoch plan d two.toml");
    let planned = t.run("epoch plan c two.toml --json --shards d").json();
    assert_eq!(planned["plan"]["sources"][0]["documents"], 8);
});
