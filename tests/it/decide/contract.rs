//! The dedup contract by brute force, by laws of the way in, by example, and by the kernel.

use crate::support::world::{
    SOURCES, World, corpus_writer, init, kin, options, orders, page_of, policies, policy,
};
use crate::support::{
    Page, Random, TestDir, corpusdb_test, crawl, lines, make, part, pour, reader, seeds,
    sound_digest, writer,
};
use corpusdb::dedup::{
    DedupScope, Fingerprinter, KeepOrder, Match, Profile, Sketch, Standing, band_keys, bands,
    estimate_floor,
};
use corpusdb::ingest::ReadOptions;
use corpusdb::kernel::{Edge, GraphMember, Rank, TextComparer, TextPrint, TextPrinter, decide};
use corpusdb::store::SourceId;
use corpusdb::{Corpus, DedupMode, DocId, FieldKind, IngestOptions, Policy};
use std::collections::{BTreeMap, BTreeSet, HashSet};

// ----
// The contract by brute force: what is removed has a witness, and no two kept candidates are similar.

/// Checks (a) and (b) without the model's graph; answers how often each standing occurs, and the
/// similar kept pairs that never met in a band.
fn contract(world: &World, what: &str) -> (BTreeMap<&'static str, usize>, usize) {
    let (model, policy) = (&world.model, world.model.policy());
    let sets: Vec<HashSet<u64>> =
        model.prints.iter().map(|print| print.shingles.iter().copied().collect()).collect();
    let jaccard = |a: usize, b: usize| {
        let [a, b] = [a, b].map(|id: usize| &sets[model.documents[id].text]);
        let both = a.intersection(b).count() as f64;
        both / (a.len() as f64 + b.len() as f64 - both)
    };
    let in_scope = |a: usize, b: usize| {
        policy.scope == DedupScope::Global || model.documents[a].source == model.documents[b].source
    };
    let view = world.writer.view();
    let mut counts = BTreeMap::new();
    let mut kept: Vec<usize> = Vec::new();
    for id in 0..model.documents.len() {
        let standing = view.standing(DocId(id as u64)).unwrap();
        let matched = view.match_of(DocId(id as u64)).unwrap();
        *counts.entry(standing.name()).or_insert(0) += 1;
        match standing {
            Standing::Exact | Standing::Near => {
                let matched = matched.unwrap();
                let witness = matched.witness.0 as usize;
                assert_eq!(view.standing(matched.witness).unwrap(), Standing::Kept, "{what}: {id}");
                assert!(in_scope(id, witness), "{what}: {id} and {witness}");
                assert!(
                    model.rank(witness as u64) < model.rank(id as u64),
                    "{what}: the witness ranks before what it removed"
                );
                let exact = jaccard(id, witness);
                assert!(exact >= policy.threshold - 1e-9, "{what}: {id} is removed at {exact}");
                assert!((matched.jaccard() - exact).abs() < 1e-9, "{what}: {id}");
                let is_equal = model.documents[id].page.text == model.documents[witness].page.text;
                assert_eq!(standing == Standing::Exact, is_equal, "{what}: {id}");
            }
            Standing::Kept => {
                assert!(matched.is_none(), "{what}: {id}");
                kept.push(id);
            }
            _ => assert!(matched.is_none(), "{what}: {id}"),
        }
    }
    let sketch = |id: usize| model.prints[model.documents[id].text].sketch.as_ref();
    let bands = |id: usize| sketch(id).map(|sketch| band_keys(sketch, policy, SourceId(1)));
    let mut missed = 0;
    for (at, a) in kept.iter().enumerate() {
        for b in &kept[..at] {
            if !in_scope(*a, *b) || jaccard(*a, *b) < policy.threshold {
                continue;
            }
            let (Some(x), Some(y)) = (bands(*a), bands(*b)) else {
                panic!("{what}: {a} and {b} are short, equal and both kept");
            };
            let meet = x.iter().zip(&y).any(|(x, y)| x == y);
            let estimate = sketch(*a).unwrap().estimate(sketch(*b).unwrap());
            assert!(
                !meet || estimate < estimate_floor(policy),
                "{what}: {a} and {b} are both kept"
            );
            missed += 1;
        }
    }
    (counts, missed)
}

corpusdb_test!(removed_have_witnesses_and_kept_are_dissimilar, World::witness(), |mut world| {
    world.pour("web", &crawl(1, 450, false), 32 << 10);
    world.agrees("contract");
    let (counts, missed) = contract(&world, "contract");
    // The bands find a pair at the threshold with probability 0.997.
    assert!(missed <= 1, "{missed} similar pairs never met in a band");
    // The crawl is what it should be: of everything some.
    for (standing, least) in [("kept", 150), ("exact", 20), ("near", 40), ("empty", 5)] {
        assert!(counts[standing] >= least, "{counts:?}");
    }
    world.digest();
});

#[test]
fn the_contract_holds_in_every_keep_order_and_scope() {
    for (seed, keep) in (0..).zip(orders()) {
        for scope in [DedupScope::Global, DedupScope::PerSource] {
            let policy = Policy { keep: keep.clone(), scope, ..policy(DedupMode::Witness, 0.6) };
            let mut random = Random::new(seed + 70);
            let texts = kin(&mut random, 50);
            let mut pages = crawl(seed + 70, 120, false);
            pages.extend((0..80).map(|_| page_of(&mut random, &texts, None)));
            let mut world = World::new(&policy);
            for (at, pages) in pages.chunks(45).enumerate() {
                world.pour(SOURCES[at % 3], pages, *random.pick(&[1 << 10, 6 << 10, 1 << 20]));
                world.agrees(&format!("after file {at}"));
            }
            let what = format!("{policy}");
            let (counts, _) = contract(&world, &what);
            assert!(counts["near"] > 15 && counts["exact"] > 5, "{what}: {counts:?}");
            world.digest();
        }
    }
}

#[test]
fn every_policy_decides_as_its_definition_says() {
    for (seed, policy) in part((0..).zip(policies(0.7)), 3) {
        let mut random = Random::new(seed + 800);
        let texts = kin(&mut random, 30);
        let mut pages = crawl(seed + 800, 70, false);
        pages.extend((0..50).map(|_| page_of(&mut random, &texts, None)));
        let mut world = World::new(&policy);
        for (at, pages) in pages.chunks(30).enumerate() {
            world.pour(SOURCES[at % 3], pages, *random.pick(&[2 << 10, 1 << 20]));
            world.agrees(&format!("after file {at}"));
        }
        world.digest();
    }
    for profile in Profile::ALL {
        let mut world = World::new(&Policy::of(profile));
        for (at, pages) in crawl(33, 160, false).chunks(60).enumerate() {
            world.pour(SOURCES[at % 2], pages, 4 << 10);
            world.agrees(&format!("{}, after file {at}", profile.name()));
        }
        world.digest();
    }
}

#[test]
fn the_kept_set_is_the_first_maximal_independent_set() {
    let check = |policy: &Policy, pages: &[Page], batches: &[u64]| {
        let mut world = World::new(policy);
        for (at, pages) in pages.chunks(90).enumerate() {
            world.pour("web", pages, batches[at % batches.len()]);
            world.agrees(&format!("after file {at}"));
        }
        world.digest();
    };
    for (seed, threshold) in [(11, 0.8), (12, 0.7), (13, 0.5), (14, 0.3), (15, 1.0)] {
        let pages = crawl(seed, 250, false);
        check(&policy(DedupMode::Witness, threshold), &pages, &[1 << 10, 1 << 20, 8 << 10]);
    }
    for mode in [DedupMode::Exact, DedupMode::None, DedupMode::Components, DedupMode::Lsh] {
        check(&policy(mode, 0.8), &crawl(16, 250, true), &[2 << 10]);
    }
}

#[test]
fn random_upserts_keep_the_same_as_a_decision_from_scratch() {
    let (mut superseded, mut witnesses, mut others) = (0, 0, 0);
    for seed in 101..101 + seeds(7) {
        let mut random = Random::new(seed);
        let pages = crawl(seed, 240, true);
        let keep = if seed < 106 { KeepOrder::First } else { random.pick(&orders()).clone() };
        let policy = Policy { keep, ..policy(DedupMode::Witness, *random.pick(&[0.8, 0.6, 0.4])) };
        let mut world = World::new(&policy);
        for (at, pages) in pages.chunks(random.between(20, 110)).enumerate() {
            world.pour("web", pages, *random.pick(&[500, 2 << 10, 9 << 10, 1 << 20]));
            world.agrees(&format!("seed {seed}, after file {at}"));
        }
        let documents = &world.model.documents;
        superseded += documents.iter().filter(|one| one.successor.is_some()).count();
        witnesses += world.witnesses;
        others += world.others;
        world.digest();
    }
    // Under `first` alone, and seldom: who came back explains better, and nobody looked.
    assert!(20 * others <= witnesses, "{others} of {witnesses} witnesses are not the best-ranked");
    assert!(superseded > 120, "{superseded} upserts are too few to mean anything");
}

// ----
// Laws of the way in: how input is split, by how many threads, and in which order it comes.

/// Digest and kept documents of a corpus of these files.
fn ingested(
    scratch: &TestDir,
    policy: &Policy,
    files: &[(String, Vec<Page>)],
    batch_bytes: u64,
    threads: usize,
) -> (String, Vec<u64>) {
    let directory = TestDir::new();
    let path = directory.path("corpus");
    init(&path, policy);
    let mut writer = corpus_writer(&path, threads);
    for (at, (name, pages)) in files.iter().enumerate() {
        let options = options(SOURCES[at % 2], batch_bytes, pages);
        pour(&mut writer, &[scratch.arg(name)], &options);
    }
    let corpus = reader(&path);
    (sound_digest(&corpus), corpus.view().kept().unwrap().iter().collect())
}

#[test]
fn any_batches_and_threads_give_one_digest() {
    for (seed, policy) in part((0..).zip(policies(0.7)), 3) {
        let keyed = seed % 3 == 0;
        let scratch = TestDir::new();
        let pages = crawl(seed + 200, 120, keyed);
        let files: Vec<(String, Vec<Page>)> = pages
            .chunks(50)
            .enumerate()
            .map(|(at, pages)| (format!("{at}.jsonl"), pages.to_vec()))
            .collect();
        for (name, pages) in &files {
            scratch.write(name, lines(pages));
        }
        let what = format!("seed {seed}, keyed {keyed}, {policy}");
        let expected = ingested(&scratch, &policy, &files, 1 << 20, 1);
        for (batch, threads) in [(2 << 10, 2), (7 << 10, 1)] {
            let found = ingested(&scratch, &policy, &files, batch, threads);
            assert_eq!(found.1, expected.1, "{what}: kept, batches of {batch} B");
            // Under `first` a document that was never kept before may come back by a supersession, and nobody
            // looks for those that it would explain better.
            if !keyed || policy.mode != DedupMode::Witness || policy.keep != KeepOrder::First {
                assert_eq!(found.0, expected.0, "{what}: digest, batches of {batch} B");
            }
        }
    }
}

#[test]
fn any_files_give_the_same_kept_documents() {
    for (seed, policy) in part((0..).zip(policies(0.6)), 7) {
        let mut random = Random::new(seed + 400);
        let pages = crawl(seed + 400, 90, seed % 2 == 0);
        let mut kept = None;
        for size in [pages.len(), random.between(11, 40)] {
            let mut world = World::new(&policy);
            for pages in pages.chunks(size) {
                world.pour("web", pages, *random.pick(&[3 << 10, 1 << 20]));
            }
            let what = format!("seed {seed}, files of {size}");
            world.agrees(&what);
            let found = world.writer.view().kept().unwrap();
            assert_eq!(found, *kept.get_or_insert_with(|| found.clone()), "{what}, {policy}");
        }
    }
}

#[test]
fn any_order_of_batches_keeps_the_same_texts_under_keep_longest() {
    for (seed, mode) in (0..).zip([
        DedupMode::Witness,
        DedupMode::Witness,
        DedupMode::Witness,
        DedupMode::Witness,
        DedupMode::Components,
        DedupMode::Lsh,
        DedupMode::Exact,
    ]) {
        let scope = if seed % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
        let policy = Policy { keep: KeepOrder::Longest, scope, ..policy(mode, 0.6) };
        let mut random = Random::new(seed + 600);
        let texts = kin(&mut random, 60);
        let mut pages: Vec<Page> = crawl(seed + 600, 120, false);
        pages.extend((0..60).map(|_| page_of(&mut random, &texts, None)));
        let batches: Vec<&[Page]> = pages.chunks(random.between(15, 50)).collect();
        let mut expected: Option<BTreeSet<(String, String)>> = None;
        for round in 0..3 {
            let mut world = World::new(&policy);
            let mut order: Vec<usize> = (0..batches.len()).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, random.below(at + 1));
            }
            // A batch stays of its source wherever it comes.
            for at in order {
                world.pour(SOURCES[at % 2], batches[at], *random.pick(&[2 << 10, 1 << 20]));
            }
            world.agrees(&format!("seed {seed}, round {round}"));
            let view = world.writer.view();
            let kept = view.kept().unwrap();
            let found: Vec<(String, String)> = kept
                .iter()
                .map(|id| {
                    let source = match scope {
                        DedupScope::Global => String::new(),
                        DedupScope::PerSource => {
                            let source = view.source_of(DocId(id)).unwrap();
                            view.source_name(source).unwrap().to_owned()
                        }
                    };
                    (source, view.text(DocId(id)).unwrap())
                })
                .collect();
            let set: BTreeSet<_> = found.iter().cloned().collect();
            assert_eq!(set.len(), found.len(), "no text is kept twice");
            assert_eq!(
                *expected.get_or_insert_with(|| set.clone()),
                set,
                "seed {seed}, round {round}, {policy}"
            );
            world.digest();
        }
    }
}

// ----
// The dedup contract told by example.

/// What a corpus says of each document.
fn told(corpus: &Corpus) -> Vec<(Standing, Option<Match>)> {
    let view = corpus.view();
    let ids = (0..view.documents()).map(DocId);
    ids.map(|id| (view.standing(id).unwrap(), view.match_of(id).unwrap())).collect()
}

fn web_options(batch_bytes: u64, id_field: bool) -> IngestOptions {
    let read =
        ReadOptions { id_field: id_field.then(|| "id".to_owned()), ..ReadOptions::default() };
    IngestOptions { batch_bytes, read, ..IngestOptions::new("web") }
}

/// Ingests files of pages one after the other; after each the corpus must agree with the model.
fn compare(mode: DedupMode, threshold: f64, files: &[Vec<Page>], what: &str) -> World {
    let mut world = World::new(&policy(mode, threshold));
    for (at, pages) in files.iter().enumerate() {
        world.pour("web", pages, 1 << 20);
        world.agrees(&format!("{what}, after file {at}"));
    }
    world.digest();
    world
}

/// Forty words, of which the last `changed` are its own.
fn variant(name: &str, changed: usize) -> String {
    let common = (0..40 - changed).map(|at| format!("word{at}"));
    common.chain((0..changed).map(|at| format!("{name}{at}"))).collect::<Vec<_>>().join(" ")
}

#[test]
fn in_a_chain_the_first_and_the_third_are_kept() {
    // b shares 33 of 39 shingles with each neighbour; a and c share 30 of 42.
    let words: Vec<String> = (0..46).map(|at| format!("word{at}")).collect();
    let chain =
        [&words[..40], &words[3..43], &words[6..46]].map(|words| Page::new(words.join(" ")));
    let world = compare(DedupMode::Witness, 0.8, &[chain.to_vec()], "chain");
    let standings: Vec<_> =
        told(&reader(&world.path)).into_iter().map(|(standing, _)| standing).collect();
    assert_eq!(standings, [Standing::Kept, Standing::Near, Standing::Kept]);
}

#[test]
fn a_document_comes_back_when_its_witness_is_superseded() {
    let words: Vec<String> = (0..46).map(|at| format!("word{at}")).collect();
    let [a, b, c] = [&words[..40], &words[3..43], &words[6..46]].map(|words| words.join(" "));
    let first = vec![Page::keyed("a", &a), Page::keyed("b", &b), Page::keyed("c", &c)];
    let second = vec![Page::keyed("a", variant("new", 40))];
    let world = compare(DedupMode::Witness, 0.8, &[first, second], "chain");
    let corpus = reader(&world.path);
    let standings: Vec<_> = told(&corpus).into_iter().map(|(standing, _)| standing).collect();
    assert_eq!(standings, [Standing::Superseded, Standing::Kept, Standing::Near, Standing::Kept]);
    let pairs: Vec<_> = corpus.duplicates(None).unwrap().collect::<Result<_, _>>().unwrap();
    let shown = pairs.iter().find(|pair| pair.id == 2).unwrap();
    assert_eq!((shown.witness, shown.witness_key.as_str(), shown.kind), (1, "b", "near"));
    assert_eq!(corpus.count("kept").unwrap(), 2);
    assert_eq!(corpus.count("standing = 'superseded'").unwrap(), 1);
}

#[test]
fn a_change_of_fields_alone_keeps_the_text() {
    let page = |n: u32| Page {
        fields: serde_json::json!({ "n": n }),
        ..Page::keyed("a", variant("a", 5))
    };
    let generations: Vec<_> = (0..4).map(page).collect();
    let files = [generations, vec![page(3)], vec![page(9)]];
    let world = compare(DedupMode::Witness, 0.8, &files, "fields");
    let corpus = reader(&world.path);
    let standings: Vec<_> = told(&corpus).into_iter().map(|(standing, _)| standing).collect();
    let before = [Standing::Superseded; 4].into_iter();
    assert_eq!(standings, before.chain([Standing::Kept]).collect::<Vec<_>>());
    assert_eq!(corpus.view().metadata(DocId(4)).unwrap(), r#"{"n":9}"#);
    let found = corpus.view().place(DocId(4)).unwrap().text_of;
    assert_eq!(found, Some(DocId(0)), "the text is stored once");
}

corpusdb_test!(records_without_a_key_never_supersede, |scratch| {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let mut writer = writer(&path);
    for round in 0..3 {
        // The same file, the same record number, the same `id` that nobody named as the key.
        let file = scratch
            .write("pages.jsonl", Page::keyed("a", variant(&format!("round{round}"), 40)).line());
        let report = pour(&mut writer, &[file], &web_options(1 << 20, false));
        assert_eq!((report.added, report.kept, report.updated), (1, 1, 0), "round {round}");
    }
    assert_eq!(reader(&path).count("kept").unwrap(), 3);
});

#[test]
fn documents_restored_together_join_the_cluster_that_stayed() {
    // One band, so one bucket of all: a look-up that stops at the restored ones never meets the third.
    for mode in [DedupMode::Lsh, DedupMode::Components, DedupMode::Witness] {
        let policy = Policy { bands: 1, rows: 1, ..policy(mode, 0.8) };
        let band = |page: &Page| {
            let print = Fingerprinter::new(&policy).fingerprint(&page.text);
            bands(&print.sketch.unwrap(), &policy)
        };
        let pages = (0..20).map(|at| Page::new(variant(&format!("name{at}x"), 1)));
        let mut pages: Vec<Page> = pages.collect();
        // The bucket of most of them: the texts differ in one shingle only.
        let met = |one: &Page| pages.iter().filter(|page| band(page) == band(one)).count();
        let bucket = band(pages.iter().max_by_key(|page| met(page)).unwrap());
        pages.retain(|page| band(page) == bucket);
        pages.truncate(3);
        let mut world = World::new(&policy);
        world.pour("web", &pages, 1 << 20);
        let told = world.told();
        let near = (Standing::Near, Some(0));
        assert_eq!(told, [(Standing::Kept, None), near, near], "{mode:?}");
        world.remove(&[0, 1], false);
        world.agrees("removed");
        world.restore(&[0, 1]);
        world.agrees("restored");
        assert_eq!(world.told(), told, "{mode:?}");
        world.digest();
    }
}

// ----
// The kernel decides as an ingest of the same documents does, row for row.

/// What an ingest and the kernel must agree on, by document.
#[derive(Debug, PartialEq)]
struct KernelRow {
    standing: Standing,
    witness: Option<u64>,
    overlap: Option<(u32, u32, u32)>,
}

/// What the store decided about documents that came in two sources.
fn stored_rows(policy: &Policy, parts: &[(&str, &[Page])]) -> Vec<KernelRow> {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    Corpus::init(&path, policy, &[("year".to_owned(), FieldKind::Int)]).unwrap();
    let mut writer = writer(&path);
    for (at, (source, pages)) in parts.iter().enumerate() {
        let file = scratch.write(&format!("{at}.jsonl"), lines(pages));
        pour(&mut writer, &[file], &IngestOptions::new(source));
    }
    let view = writer.view();
    let count: usize = parts.iter().map(|(_, pages)| pages.len()).sum();
    let row = |id: u64| {
        let matched = view.match_of(DocId(id)).unwrap();
        KernelRow {
            standing: view.standing(DocId(id)).unwrap(),
            witness: matched.map(|found| found.witness.0),
            overlap: matched.map(|m| (m.shared, m.removed_shingles, m.witness_shingles)),
        }
    };
    (0..count as u64).map(row).collect()
}

/// What the kernel decides about them, from prints and pairs alone.
fn computed(policy: &Policy, parts: &[(&str, &[Page])]) -> Vec<KernelRow> {
    let mut printer = TextPrinter::new(policy);
    let documents =
        parts.iter().flat_map(|(source, pages)| pages.iter().map(move |p| (*source, p)));
    let documents: Vec<(&str, &Page)> = documents.collect();
    let prints: Vec<TextPrint> =
        documents.iter().map(|(source, page)| printer.print(&page.text, source)).collect();
    let member =
        |(number, (print, (source, page))): (u64, (&TextPrint, &(&str, &Page)))| GraphMember {
            rank: printer.rank(print, source, page.fields["year"].as_i64(), DocId(number)),
            text: print.text,
            raw: print.raw,
            tokens: print.tokens,
            shingles: print.shingles,
            is_open: false,
        };
    let members: Vec<GraphMember> = (0..).zip(prints.iter().zip(&documents)).map(member).collect();
    let mut overlaps = TextComparer::new(policy);
    let mut edges = Vec::new();
    for a in 0..prints.len() {
        for b in 0..a {
            if is_candidate(&prints[a], &prints[b], policy) {
                let overlap = overlaps.of(&documents[a].1.text, &documents[b].1.text);
                edges.push(Edge { left: members[a].rank, right: members[b].rank, overlap });
            }
        }
    }
    let texts: BTreeMap<Rank, &str> = members
        .iter()
        .zip(&documents)
        .map(|(one, (_, page))| (one.rank, page.text.as_str()))
        .collect();
    let row = |outcome: corpusdb::kernel::GraphDecision| {
        let overlap = outcome.witness.map(|witness| {
            let told = overlaps.of(texts[&outcome.rank], texts[&witness.rank]);
            assert!(witness.overlap.is_none_or(|overlap| overlap == told));
            (told.shared, told.left, told.right)
        });
        let witness = outcome.witness.map(|witness| witness.rank.document.0);
        KernelRow { standing: outcome.standing.unwrap(), witness, overlap }
    };
    decide(&members, &edges, policy).into_iter().map(row).collect()
}

/// Whether two documents share a bucket and, where texts are compared, their sketches are close enough.
fn is_candidate(a: &TextPrint, b: &TextPrint, policy: &Policy) -> bool {
    let (Some(one), Some(other)) = (&a.sketch, &b.sketch) else { return false };
    let is_close = |one: &Sketch, other: &Sketch| one.estimate(other) >= estimate_floor(policy);
    a.bands.iter().zip(&b.bands).any(|(a, b)| a == b)
        && (policy.mode == DedupMode::Lsh || is_close(one, other))
}

corpusdb_test!(the_kernel_decides_as_an_ingest_does, BTreeMap::new(), |mut standings| {
    for (seed, policy) in (0..).zip(crate::support::policies()) {
        let mut random = Random::new(seed + 900);
        let mut pages = crawl(seed + 900, 160, false);
        pages.push(Page { id: None, text: "...".to_owned(), fields: pages[0].fields.clone() });
        // The year decides where the keep order asks for it: some have the same, and some none.
        for page in &mut pages {
            if random.chance(80) {
                page.fields["year"] = (1990 + random.below(20)).into();
            }
        }
        // Without keys, a record that comes again word for word is a document of its own.
        let cut = random.between(40, 120);
        let parts = [("web", &pages[..cut]), ("books", &pages[cut..])];
        let expected = stored_rows(&policy, &parts);
        assert_eq!(computed(&policy, &parts), expected, "{policy}");
        expected.iter().for_each(|row| *standings.entry(row.standing).or_insert(0) += 1);
    }
    for standing in [Standing::Kept, Standing::Exact, Standing::Near, Standing::Empty] {
        assert!(standings.get(&standing).is_some_and(|count| *count > 10), "{standings:?}");
    }
});
