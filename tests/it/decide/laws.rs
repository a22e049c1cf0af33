//! Laws of the way in: how input is split, by how many threads, and in which order it comes.

use crate::support::world::{
    SOURCES, World, corpus_writer, init, kin, options, page_of, policies, policy,
};
use crate::support::{Page, Random, TestDir, crawl, lines, part, pour, reader, sound_digest};
use corpusdb::dedup::{DedupScope, KeepOrder};
use corpusdb::{DedupMode, DocId, Policy};
use std::collections::BTreeSet;

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
                            let header = view.expect_header(DocId(id)).unwrap();
                            view.source_name(header.source).to_owned()
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
