//! Repair and salvage: whatever byte of whatever table is bad, the corpus is as before, or what is lost is named.

use crate::support::{
    Page, Random, StopAt, StopWhen, TestDir, copy, corpusdb, corpusdb_reading, corpusdb_test,
    crawl, digest, edited, lines, policies, reader, repository, seeds, shard, silent, sound_digest,
    tables, trained, writer,
};
use corpusdb::curate::BlockReach;
use corpusdb::store::table::FAMILIES;
use corpusdb::{Context, Corpus, CorpusOptions, CorpusWriter, DedupMode, DocId, FieldKind, Policy};
use roaring::RoaringTreemap;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Little, so that files are read and not remembered.
fn options() -> CorpusOptions {
    Corpus::options().memory(32 << 20).threads(2)
}

pub const RECIPE: &str = r#"version = 1
seed = 3
[tokenizer]
name = "own"
[pack]
length = 96
"#;

/// A corpus with rows in nearly every family: a golden store with removals of each reach, a purge, new versions,
/// another policy behind a snapshot, and a plan.
pub fn make(path: &Path) {
    copy(&repository("tests/formats/v8/corpus"), path);
    let name = path.display().to_string();
    let newer: Vec<Page> = crawl(7, 60, true)
        .into_iter()
        .step_by(9)
        .map(|page| Page { text: format!("{} in a newer version", page.text), ..page })
        .collect();
    let web = ["ingest", &name, "-", "--source", "web", "--id-field", "id"];
    corpusdb_reading(&web, lines(&newer).as_bytes()).good();
    {
        let mut writer = writer(path);
        let nth = |writer: &CorpusWriter, at: u32, count: usize| {
            let kept = writer.corpus().select("kept AND source = 'web'").unwrap();
            kept.iter().skip(at as usize).take(count).collect()
        };
        let context = Context::new();
        for (at, reach) in
            [(3, BlockReach::Similar), (9, BlockReach::Exact), (15, BlockReach::Nothing)]
        {
            writer.remove(&nth(&writer, at, 2), reach, &context).unwrap();
        }
        let documents = nth(&writer, 20, 2);
        writer.remove(&documents, BlockReach::Similar, &context).unwrap();
        writer.purge(&documents, BlockReach::Similar, true, &context).unwrap();
        let other = Policy { threshold: 0.6, ..writer.view().policy().clone() };
        writer.redo(&other, &context).unwrap();
        writer.switch(&other, &context).unwrap();
        let more = crawl(19, 40, true);
        drop(writer);
        corpusdb_reading(&web, lines(&more).as_bytes()).good();
    }
    corpusdb(&["snapshot", "create", &name, "now"]).good();
    let recipe = path.with_extension("toml");
    std::fs::write(&recipe, RECIPE).unwrap();
    corpusdb(&["epoch", "plan", &name, &recipe.display().to_string()]).good();
    corpusdb(&["compact", &name]).good();
    corpusdb_reading(&web, lines(&crawl(23, 6, true)).as_bytes()).good();
}

/// A copy whose tables are links, but the one that is about to be damaged.
fn damaged(corpus: &Path, to: &Path, table: &Path, random: &mut Random) -> usize {
    copy(corpus, to);
    let target = to.join("db").join(table.file_name().unwrap());
    let mut bytes = std::fs::read(&target).unwrap();
    let at = random.below(bytes.len());
    bytes[at] ^= 1 << random.below(8);
    std::fs::write(&target, bytes).unwrap();
    at
}

/// What a later ingest of old and new pages comes to: identities, texts and buckets decide it.
fn after_more(corpus: &Path) -> String {
    let mut pages = crawl(7, 60, true);
    pages.extend(crawl(19, 50, true));
    pages.extend(crawl(7, 30, false));
    let name = corpus.display().to_string();
    corpusdb_reading(
        &["ingest", &name, "-", "--source", "web", "--id-field", "id", "--on-error", "reject"],
        lines(&pages).as_bytes(),
    )
    .good();
    corpusdb(&["compact", &name]).good();
    sound_digest(&reader(corpus))
}

/// Text and metadata of each document by its number.
fn documents(corpus: &Corpus) -> BTreeMap<u64, (String, String)> {
    let view = corpus.view();
    (0..view.documents())
        .map(DocId)
        .map(|id| (id.0, (view.text(id).unwrap(), view.metadata(id).unwrap())))
        .collect()
}

/// The numbers that a list such as `3, 7 to 9` names.
fn numbers_of(listed: &str) -> BTreeSet<u64> {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let parts = listed.split(", ").filter(|part| !part.is_empty());
    let ranges = parts.map(|part| match part.split_once(" to ") {
        Some((first, last)) => number(first)..=number(last),
        None => number(part)..=number(part),
    });
    ranges.flatten().collect()
}

/// One trial; answers whether rows were lost.
fn trial(scratch: &TestDir, whole: (&Path, &str, Option<&str>), found: &Path, what: &str) -> bool {
    let (corpus, expected, more) = whole;
    let report =
        options().repair(found, &Context::new()).unwrap_or_else(|error| panic!("{what}: {error}"));
    if report.lost.is_empty() {
        assert!(report.is_sound(), "{what}: {:?}", report.faults);
        assert_eq!(reader(found).digest(&Context::new()).unwrap(), expected, "{what}");
        if let Some(more) = more {
            assert_eq!(after_more(found), more, "{what}: {:?}", report.repaired);
        }
        return false;
    }
    assert!(report.repaired.is_empty() && report.lost.iter().all(|rows| !rows.what.is_empty()));
    // What is whole comes out; what is lost is named.
    let target = scratch.path("rescued");
    match options().salvage(found, &target, &Context::new()) {
        Err(error) => assert!(!error.to_string().is_empty(), "{what}"),
        Ok(salvaged) => {
            let all = documents(&reader(corpus));
            assert_eq!(salvaged.documents, all.len() as u64, "{what}");
            assert_eq!(
                salvaged.copied + salvaged.lost + salvaged.purged,
                salvaged.documents,
                "{what}"
            );
            let originals: BTreeSet<&String> = all.values().map(|(text, _)| text).collect();
            let rescued = documents(&reader(&target));
            assert!(rescued.values().all(|(text, _)| originals.contains(text)), "{what}");
            let lost = numbers_of(&salvaged.lost_documents);
            let texts: BTreeSet<&String> = rescued.values().map(|(text, _)| text).collect();
            for (id, (text, _)) in &all {
                assert!(
                    lost.contains(id) || text.is_empty() || texts.contains(text),
                    "{what}: {id}"
                );
            }
        }
    }
    let _ = std::fs::remove_dir_all(&target);
    true
}

/// Damages tables of some families, each so often; answers what became of each.
fn bad_bytes(
    scratch: &TestDir,
    corpus: &Path,
    families: &[&str],
    random: &mut Random,
) -> Vec<String> {
    let expected = sound_digest(&reader(corpus));
    let more = {
        let twin = scratch.path("twin");
        copy(corpus, &twin);
        after_more(&twin)
    };
    let mut told = Vec::new();
    for (family, tables) in tables(corpus) {
        if !families.is_empty() && !families.contains(&family) {
            continue;
        }
        let info = FAMILIES.iter().find(|info| info.name == family).unwrap();
        let (mut repaired, mut lost) = (0, 0);
        // A salvage proves the tokenizer again: what follows from nothing else is damaged once.
        for place in 0..seeds(1 + u64::from(info.is_derived())) {
            let table = random.pick(&tables).clone();
            let found = scratch.path("damaged");
            let at = damaged(corpus, &found, &table, random);
            let what = format!("{family}, {} byte {at}", table.display());
            let more = (place == 0 && info.is_derived()).then_some(more.as_str());
            let is_lost = trial(scratch, (corpus, &expected, more), &found, &what);
            // Of these something follows from nothing else.
            let is_part = ["tokens", "loss", "sketch_pages"].contains(&family);
            assert!(!is_lost || !info.is_derived() || is_part, "{what}");
            (repaired, lost) = (repaired + u64::from(!is_lost), lost + u64::from(is_lost));
            std::fs::remove_dir_all(&found).unwrap();
        }
        told.push(format!("{family}: {repaired} as before, {lost} refused with what is lost"));
    }
    told
}

corpusdb_test!(a_bad_byte_in_any_family_is_repaired_or_its_loss_named, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus);
    let mut random = Random::new(71 + shard());
    let told = bad_bytes(&scratch, &corpus, &[], &mut random);
    println!("{}", told.join("\n"));
    assert_eq!(told.len(), FAMILIES.len(), "{told:#?}");
});

corpusdb_test!(a_missing_table_is_repaired_without_readers, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus);
    let expected = sound_digest(&reader(&corpus));
    let name = corpus.display().to_string();
    for family in ["postings", "terms", "bands", "keys", "columns"] {
        for table in &tables(&corpus)[family] {
            std::fs::remove_file(table).unwrap();
        }
        corpusdb(&["check", &name, "--repair"]).good();
        assert_eq!(digest(&name), expected, "{family}");
    }
    // Stopped after each commit in turn, it goes on.
    for table in &tables(&corpus)["terms"] {
        std::fs::write(table, b"nothing that is a table").unwrap();
    }
    let mut stops = 0;
    loop {
        let stopping = StopAt::new(StopWhen::Told(1 + 2 * stops));
        let Err(error) = options().repair(&corpus, &stopping.context()) else { break };
        assert!(error.is_interrupt(), "{error}");
        stops += 1;
        assert!(stops < 100, "never ends");
        let refused = options().open(&corpus).map(|_| ());
        if let Err(error) = refused {
            let hint = error.hint().unwrap().to_string();
            assert!(hint.contains("--repair"), "{error}; {hint}");
            let backup = ["backup", "create", &name, &scratch.arg("backups")];
            corpusdb(&backup).fails(&["is being repaired", "--repair"]);
        }
    }
    assert!(stops > 2, "{stops}");
    assert_eq!(digest(&name), expected);
});

corpusdb_test!(a_repair_that_is_killed_anywhere_goes_on, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus);
    let expected = sound_digest(&reader(&corpus));
    let name = corpus.display().to_string();
    let mut random = Random::new(5);
    for _ in 0..seeds(2) {
        let tables = tables(&corpus);
        // Of these nothing is lost whatever is cut.
        for family in ["terms", "bands", "exact", "suite_ngrams"] {
            if let Some(tables) = tables.get(family) {
                let table = random.pick(tables);
                let length = std::fs::metadata(table).unwrap().len();
                let cut = std::fs::read(table).unwrap()[..(length / 2) as usize].to_vec();
                std::fs::write(table, cut).unwrap();
            }
        }
        let mut tries = 0;
        loop {
            let mut child = silent(&["check", &name, "--repair"]);
            tries += 1;
            // Longer and longer: a slow machine gets to the end too.
            let limit = 40.0 * 1.6_f64.powi(tries);
            let until = Instant::now() + Duration::from_millis(random.below(limit as usize) as u64);
            while Instant::now() < until && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(3));
            }
            if child.try_wait().unwrap().is_some_and(|status| status.success()) {
                break;
            }
            let _ = child.kill();
            if child.wait().unwrap().success() {
                break;
            }
            assert!(tries < 30, "never ends");
        }
        assert_eq!(sound_digest(&reader(&corpus)), expected);
    }
    corpusdb(&["compact", &name]).good();
});

corpusdb_test!(verbs_name_the_family_and_the_way_out_and_others_go_on, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus);
    let name = corpus.display().to_string();
    for table in &tables(&corpus)["bands"] {
        std::fs::write(table, b"nothing that is a table").unwrap();
    }
    // Who asks no bucket goes on.
    corpusdb(&["info", &name]).good();
    corpusdb(&["count", &name, "--where", "kept"]).good();
    corpusdb(&["sql", &name, "SELECT count(*) FROM documents"]).good();
    let file = scratch.write("more.jsonl", lines(&crawl(91, 8, true)));
    let ingest = ["ingest", &name, &file, "--source", "web", "--id-field", "id"];
    corpusdb(&ingest).fails(&["bands", "check", "--repair"]);
    let told = corpusdb(&["check", &name]);
    assert!(told.code == Some(1) && told.stdout.contains("bands: "), "{told}");
    let made = corpusdb(&["check", &name, "--repair"]).good().stdout;
    assert!(
        made.contains("made again: bands, bands_more, band_runs") || made.contains("bands"),
        "{made}"
    );
    corpusdb(&ingest).good();
    corpusdb(&["check", &name, "--deep"]).good();
    assert!(corpusdb(&["check", &name, "--repair"]).good().stdout.contains("nothing to repair"));
    // Of texts nothing can be made again.
    for table in &tables(&corpus)["text_pages"] {
        let mut bytes = std::fs::read(table).unwrap();
        bytes[10] ^= 1;
        std::fs::write(table, bytes).unwrap();
    }
    let lost = corpusdb(&["check", &name, "--repair"]);
    assert!(lost.code == Some(1) && lost.stdout.contains("lost: text_pages: documents "), "{lost}");
    assert!(lost.stdout.contains("--salvage"), "{lost}");
    let target = scratch.arg("rescued");
    let salvaged = corpusdb(&["check", &name, "--salvage", &target, "--json"]);
    let report = salvaged.json();
    assert!(salvaged.code == Some(1) && report["lost"].as_u64() > Some(0), "{salvaged}");
    corpusdb(&["check", &target, "--deep"]).good();
    // Careless: a target that is taken, the same corpus, none.
    corpusdb(&["check", &name, "--salvage", &target]).fails(&["already exists"]);
    corpusdb(&["check", &scratch.arg("none"), "--repair"]).fails(&["is not a corpus"]);
});

corpusdb_test!(a_sound_corpus_has_nothing_to_repair, |scratch| {
    let corpus = scratch.path("corpus");
    crate::support::make(&corpus, DedupMode::Witness, 0.7);
    let report = options().repair(&corpus, &Context::new()).unwrap();
    assert!(report.is_sound() && report.repaired.is_empty());
});

/// How each document stands.
fn standings(corpus: &Path) -> Vec<String> {
    let corpus = reader(corpus);
    let view = corpus.view();
    let of = |id| format!("{id} {}", view.standing(DocId(id)).unwrap());
    (0..view.documents()).map(of).collect()
}

/// A history of everything that gives documents a standing.
struct History {
    path: PathBuf,
    random: Random,
    snapshots: usize,
    /// Whether policies of other thresholds come; else removals block what is similar.
    has_thresholds: bool,
}

impl History {
    fn begin(path: PathBuf, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let fields = [
            ("url".to_owned(), FieldKind::Keyword),
            ("quality".to_owned(), FieldKind::Float),
            ("year".to_owned(), FieldKind::Int),
        ];
        Corpus::init(&path, random.pick(&policies()), &fields).unwrap();
        let has_thresholds = random.chance(50);
        let mut history = Self { path, random, snapshots: 0, has_thresholds };
        history.with(|writer, _| {
            writer.add_tokenizer("own", trained(), "", &Context::new()).unwrap();
        });
        history
    }

    fn with(&mut self, act: impl FnOnce(&mut CorpusWriter, &mut Random)) {
        act(&mut writer(&self.path), &mut self.random);
    }

    fn ingest(&mut self) {
        let (seed, count) = (self.random.below(3) as u64, self.random.between(5, 60));
        let mut pages = crawl(seed, count, true);
        for page in &mut pages {
            if self.random.chance(20) {
                page.text = edited(&mut self.random, &page.text, 2);
            }
            if self.random.chance(3) {
                page.text = "...".to_owned();
            }
        }
        let name = self.path.display().to_string();
        let source = *self.random.pick(&["web", "books"]);
        let ingest = ["ingest", &name, "-", "--source", source, "--id-field", "id"];
        corpusdb_reading(&ingest, lines(&pages).as_bytes()).good();
    }

    fn some(writer: &CorpusWriter, random: &mut Random, condition: &str) -> RoaringTreemap {
        let all = writer.corpus().select(condition).unwrap();
        all.iter().filter(|_| random.chance(8)).take(6).collect()
    }

    fn step(&mut self) {
        let context = Context::new();
        let reaches =
            [BlockReach::Nothing, BlockReach::Exact, BlockReach::Normalised, BlockReach::Similar];
        // Who was blocked by similarity stays so under another threshold, which then tells nobody why.
        let has_thresholds = self.has_thresholds;
        let reaches = if has_thresholds { &reaches[..3] } else { &reaches[..] };
        match self.random.below(10) {
            0..=3 => self.ingest(),
            4 => self.with(|writer, random| {
                let documents = Self::some(writer, random, "standing <> 'purged'");
                writer.remove(&documents, *random.pick(reaches), &context).unwrap();
            }),
            5 => self.with(|writer, random| {
                let documents = Self::some(writer, random, "standing = 'removed'");
                writer.restore(&documents, &context).unwrap();
            }),
            6 => self.with(|writer, random| {
                let documents = Self::some(writer, random, "standing <> 'purged'");
                writer.purge(&documents, *random.pick(reaches), true, &context).unwrap();
            }),
            7 => self.with(|writer, random| {
                let thresholds: &[f64] = if has_thresholds { &[0.6, 0.7, 0.8] } else { &[0.6] };
                let threshold = *random.pick(thresholds);
                let policy = Policy { threshold, ..writer.view().policy().clone() };
                writer.redo(&policy, &context).unwrap();
                if random.chance(80) {
                    writer.switch(&policy, &context).unwrap();
                }
            }),
            8 => {
                self.snapshots += 1;
                let name = format!("at {}", self.snapshots);
                self.with(|writer, _| {
                    writer.create_snapshot(&name).unwrap();
                });
            }
            _ => self.with(|writer, _| {
                writer.compact(&context).unwrap();
            }),
        }
    }
}

#[test]
fn a_missing_family_is_rebuilt_after_any_history() {
    let derived: Vec<&str> =
        FAMILIES.iter().filter(|family| family.is_derived()).map(|family| family.name).collect();
    for seed in 0..seeds(4) {
        let scratch = TestDir::new();
        let mut history = History::begin(scratch.path("corpus"), 1000 + seed);
        history.ingest();
        for _ in 0..history.random.between(3, 14) {
            history.step();
        }
        let corpus = history.path.clone();
        corpusdb(&["compact", &corpus.display().to_string()]).good();
        let expected = sound_digest(&reader(&corpus));
        let random = &mut history.random;
        let twin = scratch.path("twin");
        copy(&corpus, &twin);
        let more = after_more(&twin);
        let (tables, before) = (tables(&corpus), standings(&corpus));
        let mut gone = Vec::new();
        for family in &derived {
            if random.chance(40)
                && let Some(tables) = tables.get(family)
            {
                gone.push(*family);
                for table in tables {
                    // Of sketches those of purged documents follow from nothing.
                    if *family == "sketch_pages" && random.chance(70) {
                        continue;
                    }
                    std::fs::write(table, b"nothing that is a table").unwrap();
                }
            }
        }
        let report = options().repair(&corpus, &Context::new()).unwrap();
        if report.lost.is_empty() {
            assert_eq!(standings(&corpus), before, "{seed}, {gone:?}");
        } else {
            assert!(
                report.lost.iter().all(|rows| rows.family == "sketch_pages"),
                "{seed}: {report:?}"
            );
            continue;
        }
        assert!(report.is_sound(), "{seed}, {gone:?}: {:?}", report.faults);
        let found = reader(&corpus).digest(&Context::new()).unwrap();
        assert_eq!(found, expected, "{seed}, {gone:?}");
        assert_eq!(after_more(&corpus), more, "{seed}, {gone:?}");
    }
}
