//! Sweeps over thresholds and shingle sizes: each count is that of a corpus that is decided so.

use crate::support::world::{SOURCES, World, kin, orders, page_of, policy};
use crate::support::{
    MEMORY, Page, Random, TestDir, assert_contains, corpusdb, corpusdb_test, crawl, part, prose,
};
use corpusdb::dedup::{DedupScope, Profile, Standing};
use corpusdb::inspect::{DedupSweep, SimilarityQuartiles, SweepLine, SweepOptions, SweepRemovals};
use corpusdb::sql::DocumentFilter;
use corpusdb::{Context, Corpus, DedupMode, DocId, ErrorKind, Interrupt, Policy};
use serde_json::json;
use std::collections::BTreeMap;

/// Thresholds, and sizes beside the corpus's own.
fn of(thresholds: &[f64], shingles: &[u32]) -> SweepOptions {
    let (thresholds, shingles) = (thresholds.to_vec(), shingles.to_vec());
    SweepOptions { thresholds, shingles, filter: DocumentFilter::default() }
}

fn swept(corpus: &Corpus, options: &SweepOptions) -> DedupSweep {
    corpus.sweep_dedup(None, options, &Context::new()).unwrap()
}

/// What a corpus removed, by its standings and matches; and how many of these are less similar than `threshold`.
fn removals(corpus: &Corpus, threshold: f64) -> (serde_json::Value, u64) {
    let view = corpus.view();
    let (mut removed, mut equal, mut below, mut compared) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut clusters: BTreeMap<DocId, u64> = BTreeMap::new();
    let mut similar = Vec::new();
    for id in (0..view.documents()).map(DocId) {
        let standing = view.standing(id).unwrap();
        compared += u64::from(standing == Standing::Kept);
        if !matches!(standing, Standing::Exact | Standing::Near) {
            continue;
        }
        let found = view.match_of(id).unwrap().unwrap();
        let [own, kept] = [id, found.witness].map(|id| view.print(id).unwrap().normalised);
        (removed, compared) = (removed + 1, compared + 1);
        *clusters.entry(found.witness).or_insert(1) += 1;
        if own == kept {
            equal += 1;
        } else {
            similar.push(found.jaccard());
            below += u64::from(found.jaccard() < threshold);
        }
    }
    similar.sort_by(f64::total_cmp);
    let quarter = |of: usize| similar[(similar.len() - 1) * of / 4];
    let mut all = json!({
        "removed": removed, "share": removed as f64 / compared as f64, "equal": equal,
        "clusters": clusters.len(), "largest": clusters.values().max().copied().unwrap_or(0),
    });
    if !similar.is_empty() {
        let [least, lower, median, upper, most] = [0, 1, 2, 3, 4].map(quarter);
        all["similarity"] = json!({ "least": least, "lower": lower, "median": median, "upper": upper, "most": most });
    }
    (all, below)
}

fn value<T: serde::Serialize>(of: &T) -> serde_json::Value {
    serde_json::to_value(of).unwrap()
}

/// Decides a corpus again by the policy of each line, with verification and without, and compares.
fn agrees(world: &mut World, sweep: &DedupSweep, base: &Policy) {
    for line in &sweep.lines {
        let SweepLine { threshold, bands, rows, .. } = *line;
        for mode in [DedupMode::Witness, DedupMode::Lsh] {
            let policy = Policy { mode, threshold, bands, rows, ..base.clone() };
            world.writer.redo(&policy, &Context::new()).unwrap();
            world.writer.switch(&policy, &Context::new()).unwrap();
            let (expected, below) = removals(&world.writer.corpus(), threshold);
            let found = if mode == DedupMode::Lsh { &line.unverified } else { &line.verified };
            assert_eq!(value(found), expected, "{policy}");
            let of_line = if mode == DedupMode::Lsh { line.unverified_below } else { 0 };
            assert_eq!(of_line, below, "{policy}");
        }
    }
}

fn pages(seed: u64, crawled: usize, drawn: usize) -> Vec<Page> {
    let mut random = Random::new(seed);
    let texts = kin(&mut random, 40);
    let mut pages = crawl(seed, crawled, false);
    pages.extend((0..drawn).map(|_| page_of(&mut random, &texts, None)));
    pages
}

fn world(policy: &Policy, pages: &[Page]) -> World {
    let mut world = World::new(policy);
    for (at, pages) in pages.chunks(70).enumerate() {
        world.pour(SOURCES[at % 3], pages, 4 << 10);
    }
    world
}

#[test]
fn a_sweep_removes_as_many_as_each_redo() {
    let mut below = 0;
    let all = orders().into_iter().flat_map(|keep| {
        [DedupScope::Global, DedupScope::PerSource].map(|scope| (keep.clone(), scope))
    });
    let modes = [DedupMode::Witness, DedupMode::Lsh, DedupMode::Exact, DedupMode::None];
    for (seed, (keep, scope)) in part((0..).zip(all), 3) {
        let mode = modes[seed as usize % modes.len()];
        let base = Policy { keep, scope, ..policy(mode, 0.8) };
        let mut world = world(&base, &pages(seed + 40, 150, 90));
        let sweep = swept(&world.writer.corpus(), &of(&[0.3, 0.6, 0.95], &[5]));
        let thresholds: Vec<f64> = sweep.lines.iter().map(|line| line.threshold).collect();
        assert_eq!(thresholds, [0.3, 0.6, 0.8, 0.95]);
        assert!(sweep.lines.iter().all(|line| line.own == (line.threshold == 0.8)));
        agrees(&mut world, &sweep, &base);
        below += sweep.lines.iter().map(|line| line.unverified_below).sum::<u64>();
        let line = &sweep.lines[1];
        assert!(line.verified.similarity.is_some() && line.verified.equal > 5, "{line:?}");
    }
    assert!(below > 100, "{below} unverified removals below the threshold mean little");
}

#[test]
fn a_sweep_of_a_profile_knows_its_bands_and_words() {
    for profile in Profile::ALL {
        let base = Policy::of(profile);
        let mut world = world(&base, &pages(90, 120, 60));
        let sweep = swept(&world.writer.corpus(), &of(&[0.5], &[base.shingle]));
        let own = sweep.lines.iter().find(|line| line.own).unwrap();
        assert_eq!((own.bands, own.rows), (base.bands, base.rows), "{}", profile.name());
        let (expected, _) = removals(&world.writer.corpus(), base.threshold);
        let found = if base.mode == DedupMode::Lsh { &own.unverified } else { &own.verified };
        assert_eq!(value(found), expected, "{}: as the corpus is", profile.name());
        agrees(&mut world, &sweep, &base);
    }
}

#[test]
fn another_shingle_size_removes_as_its_own_corpus() {
    let base = policy(DedupMode::Witness, 0.7);
    let pages = pages(17, 160, 80);
    let first = world(&base, &pages);
    let sweep = swept(&first.writer.corpus(), &of(&[0.5], &[2, 9]));
    let sizes: Vec<(u32, f64)> = sweep.lines.iter().map(|it| (it.shingle, it.threshold)).collect();
    assert_eq!(sizes, [(2, 0.5), (2, 0.7), (5, 0.5), (5, 0.7), (9, 0.5), (9, 0.7)]);
    for shingle in [2, 5, 9] {
        let base = Policy { shingle, ..base.clone() };
        let lines = sweep.lines.iter().filter(|line| line.shingle == shingle).cloned();
        let mut of_size = sweep.clone();
        of_size.lines = lines.collect();
        agrees(&mut world(&base, &pages), &of_size, &base);
    }
}

/// Variants of a page: each pair is similar, more or less.
fn variants(random: &mut Random, count: usize) -> Vec<Page> {
    let stem: Vec<String> = (0..120).map(|at| format!("stem{at}")).collect();
    let page = |random: &mut Random, number: usize| {
        let mut words = stem.clone();
        for _ in 0..random.between(1, 9) {
            let at = random.below(words.len());
            words[at] = format!("own{number}x{at}");
        }
        Page::new(words.join(" "))
    };
    (0..count).map(|number| page(random, number)).collect()
}

#[test]
fn a_sweep_finds_the_pairs_of_a_crowd() {
    let base = policy(DedupMode::Witness, 0.8);
    let mut random = Random::new(3);
    let mut pages = variants(&mut random, 400);
    pages.extend((0..40).map(|_| Page::new(prose(&mut random, 0, 50))));
    let mut world = world(&base, &pages);
    let sweep = swept(&world.writer.corpus(), &of(&[0.5, 0.7, 0.9], &[5]));
    assert!(sweep.lines[1].unverified.largest > 300, "{sweep:?}");
    assert!(sweep.lines[3].verified.clusters > 5, "{sweep:?}");
    agrees(&mut world, &sweep, &base);
}

#[test]
fn documents_that_are_gone_are_not_compared() {
    let base = policy(DedupMode::Witness, 0.8);
    let mut world = World::new(&base);
    let pages = crawl(5, 200, true);
    world.pour("web", &pages, 4 << 10);
    let gone: Vec<u64> = world.writer.view().kept().unwrap().iter().step_by(9).collect();
    world.remove(&gone, corpusdb::curate::BlockReach::Normalised);
    let sweep = swept(&world.writer.corpus(), &of(&[0.5], &[5]));
    assert!(sweep.documents < 190, "{sweep:?}");
    agrees(&mut world, &sweep, &base);
}

#[test]
fn a_filter_compares_as_if_there_were_no_others() {
    let base = policy(DedupMode::Witness, 0.8);
    let pages = pages(31, 140, 70);
    let whole = world(&base, &pages);
    let options = SweepOptions {
        filter: DocumentFilter::default().of_source("mirror"),
        ..of(&[0.5, 0.7], &[3])
    };
    let of_source = swept(&whole.writer.corpus(), &options);
    let mut alone = World::new(&base);
    for pages in pages.chunks(70).skip(1).step_by(3) {
        alone.pour("mirror", pages, 4 << 10);
    }
    let expected = swept(&alone.writer.corpus(), &of(&[0.5, 0.7], &[3]));
    assert_eq!(of_source, expected);
    assert!(expected.documents > 50 && expected.lines[0].verified.removed > 5, "{expected:?}");
}

// ---- how it runs ----

#[test]
fn threads_and_memory_change_no_count() {
    let base = policy(DedupMode::Witness, 0.8);
    let world = world(&base, &pages(77, 260, 90));
    let options = of(&[0.5, 0.7], &[3]);
    let expected = swept(&world.writer.corpus(), &options);
    for (threads, memory) in [(1, MEMORY), (3, MEMORY), (1, 2 << 20)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let corpus = Corpus::options().memory(memory).open(&world.path).unwrap();
        let found = pool.install(|| swept(&corpus, &options));
        assert_eq!(found, expected, "{threads} threads, {memory} bytes");
    }
    let corpus = Corpus::options().memory(128 << 10).open(&world.path).unwrap();
    let refused = corpus.sweep_dedup(None, &options, &Context::new()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Failed);
    assert_contains(&refused.to_string(), &["the sketches of the documents need about", "65.5 kB"]);
}

#[test]
fn a_sweep_that_is_stopped_says_so() {
    let world = world(&policy(DedupMode::Witness, 0.8), &pages(7, 60, 20));
    let interrupt = Interrupt::default();
    interrupt.raise();
    let context = Context::new().with_interrupt(&interrupt);
    let stopped = world.writer.corpus().sweep_dedup(None, &of(&[], &[]), &context).unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Interrupted);
}

corpusdb_test!(a_sweep_is_a_table_of_eighty_columns, |scratch| {
    let path = scratch.path("corpus");
    let corpus = scratch.arg("corpus");
    crate::support::init(&corpus, &[]);
    let lines = crate::support::lines(&pages(12, 120, 60));
    scratch.ingest(&corpus, "pages.jsonl", lines, &["--source", "web"]);
    let text = corpusdb(&["dedup", "explain", &corpus, "--sweep"]).good();
    assert_contains(
        &text.stderr,
        &["sketches of shingles of 3 and 7 tokens are made from", "about 0.0 s on"],
    );
    assert_contains(
        &text.stdout,
        &["shingles of 3 tokens:", "shingles of 7 tokens:", "  0.8 *", "false"],
    );
    assert!(
        text.stdout
            .lines()
            .all(|line| line.chars().count() <= 80 || line.starts_with("the policy")),
        "{text}"
    );
    let found = corpusdb(&["dedup", "explain", &corpus, "--sweep", "--json"]).good().json();
    let expected = swept(&crate::support::reader(&path), &of(&[], &[]));
    assert_eq!(found["sweep"], value(&expected));
    assert_eq!(expected.lines.len(), 18);
    // What is asked for without a sweep, without a corpus, or cannot be had.
    let explain = |more: &[&str]| corpusdb(&[&["dedup", "explain"], more].concat());
    explain(&["--sweep"]).fails(&["--sweep compares the documents of a corpus"]);
    explain(&[&corpus, "--thresholds", "0.7"]).fails(&["--sweep"]);
    explain(&[&corpus, "--where", "kept"]).fails(&["--where", "give it, too"]);
    explain(&[&corpus, "--sweep", "--thresholds", "70"]).fails(&["write 0.7"]);
    explain(&[&corpus, "--sweep", "--shingles", "0"]).fails(&["0-token shingles"]);
    explain(&[&corpus, "--sweep", "--where", "nobody"]).fails(&["nobody"]);
    let page = scratch.arg("sweep.html");
    explain(&[&corpus, "--sweep", "--html", &page]).good();
    let page = std::fs::read_to_string(page).unwrap();
    assert_contains(
        &page,
        &["Shingles of 5 tokens", "0.8 (the policy)", "Similarity inside clusters"],
    );
    explain(&[&corpus, "--html", "other.html"]).fails(&["--sweep"]);
    let none = explain(&[&corpus, "--sweep", "--source", "web", "--where", "id < 0", "--json"]);
    let none = none.good().json();
    assert_eq!(none["sweep"]["documents"], 0);
    let kept = ["--sweep", "--keep", "longest", "--thresholds", "0.7", "--shingles", "5"];
    let longest = explain(&[&[corpus.as_str()], &kept[..]].concat());
    assert_contains(&longest.good().stdout, &["keep longest", "  0.7 "]);
});

#[test]
fn quartiles_are_similarities_that_were_found() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    crate::support::make(&path, DedupMode::Witness, 0.5);
    let words = |changed: usize| -> String {
        let word = |at| if at < changed { format!("n{at}") } else { format!("w{at}") };
        (0..104).map(word).collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<Page> = [0, 0, 4, 10, 20].map(|changed| Page::new(words(changed))).to_vec();
    let file = scratch.write("pages.jsonl", crate::support::lines(&texts));
    let mut writer = crate::support::writer(&path);
    crate::support::pour(&mut writer, &[file], &corpusdb::IngestOptions::new("web"));
    let sweep = swept(&writer.corpus(), &of(&[0.5], &[5]));
    // Of 100 shingles the first copies have 100, 96, 90 and 80.
    let of = |shared: f64| shared / (200.0 - shared);
    let SweepRemovals { removed, equal, clusters, largest, similarity, .. } =
        sweep.lines[0].verified.clone();
    assert_eq!((removed, equal, clusters, largest), (4, 1, 1, 5));
    let SimilarityQuartiles { least, lower, median, upper, most, .. } = similarity.unwrap();
    let found = [least, lower, median, upper, most];
    assert_eq!(found, [80.0, 80.0, 90.0, 90.0, 96.0].map(of));
    assert_eq!((sweep.texts, sweep.documents), (4, 5));
}
