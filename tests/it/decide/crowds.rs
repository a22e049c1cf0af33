//! Crowds: more similar documents than a bucket shows or memory holds, in every mode.

use crate::support::model::Model;
use crate::support::world::{World, init, options, orders, policy};
use crate::support::{
    MEMORY, Page, Random, StopAt, StopWhen, Template, TestDir, corpusdb, corpusdb_test, lines,
    reader, sound_digest,
};
use corpusdb::dedup::{DedupScope, KeepOrder, Standing};
use corpusdb::ingest::Alarm;
use corpusdb::{Context, Corpus, DedupMode, DocId, IngestReport, Interrupt, Policy};
use std::collections::BTreeSet;
use std::path::Path;

// ----
// Families of templates: buckets with more members than any look-up reads one by one.

fn removed(world: &World) -> usize {
    world.told().iter().filter(|(standing, _)| *standing == Standing::Near).count()
}

corpusdb_test!(a_twin_is_found_in_a_family_larger_than_a_bucket, World::witness(), |mut world| {
    let pages = Template::new(1).pages(500);
    world.pour("web", &pages, 1 << 30);
    world.agrees("one commit");
    assert_eq!(removed(&world), 50);
    world.digest();
});

#[test]
fn crowded_buckets_decide_the_same_under_any_policy_and_split() {
    for (seed, keep) in (0..).zip(orders()) {
        let scope = if seed % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
        let policy = Policy { keep, scope, ..policy(DedupMode::Witness, 0.8) };
        let mut pages = Template::new(seed).pages(260);
        let mut random = Random::new(seed);
        for at in (1..pages.len()).rev() {
            pages.swap(at, random.below(at + 1));
        }
        let mut told = BTreeSet::new();
        for batch in [1 << 30, 200 << 10, 20 << 10] {
            let mut world = World::new(&policy);
            world.pour("web", &pages[..180], batch);
            world.pour("web", &pages[180..], batch);
            world.agrees(&format!("batches of {batch} B"));
            assert_eq!(removed(&world), 26, "{policy}");
            world.digest();
            told.insert(world.told());
        }
        assert_eq!(told.len(), 1, "{policy}");
    }
}

corpusdb_test!(a_family_is_found_again_by_the_next_process, World::witness(), |mut world| {
    let template = Template::new(5);
    let pages = template.pages(300);
    world.pour("web", &pages[..300], 100 << 10);
    for part in pages[300..].chunks(11) {
        world.reopen();
        world.pour("web", part, 1 << 30);
    }
    world.agrees("after reopening");
    assert_eq!(removed(&world), 30);
});

#[test]
fn a_family_crawled_again_costs_and_keeps_the_same() {
    let compared = |count: usize| -> (u64, u64) {
        let mut world = World::witness();
        let mut pages = Template::new(7).pages(count);
        for (at, page) in pages.iter_mut().enumerate() {
            page.id = Some(format!("k{at}"));
        }
        let first = world.pour("web", &pages, 1 << 30);
        for page in &mut pages {
            page.text.push_str(" and a footer");
        }
        world.reopen();
        let again = world.pour("web", &pages, 1 << 30);
        assert_eq!(again.near_duplicates, first.near_duplicates);
        world.agrees("after the second crawl");
        (first.dedup.compared, again.dedup.compared)
    };
    // The buckets of the first crawl hold more than a look-up reads, and nobody of them is kept any more.
    for count in [300, 600] {
        let (first, again) = compared(count);
        assert!(again <= 2 * first, "{count}: {first} comparisons, then {again}");
    }
}

#[test]
fn members_of_a_family_come_and_go() {
    for keep in [KeepOrder::First, KeepOrder::Longest] {
        let mut world = World::new(&Policy { keep, ..policy(DedupMode::Witness, 0.8) });
        let template = Template::new(6);
        let pages = template.pages(240);
        world.pour("web", &pages[..200], 60 << 10);
        world.remove(&[0, 10, 50, 199], true);
        world.agrees("after a removal");
        world.pour("web", &pages[200..], 60 << 10);
        world.agrees("after the twins");
        world.remove(&[20, 30, 40, 241, 244], false);
        world.agrees("after a second removal");
        world.restore(&[0, 20, 30]);
        world.agrees("after restoring");
        let other = Policy::new(DedupMode::Witness, 0.85).unwrap();
        world.redo(&other);
        world.agrees("under another policy");
        world.redo(&policy(DedupMode::Witness, 0.8));
        world.agrees("and back");
    }
}

// ----
// Crowded buckets in the modes where a chain of similar documents is one cluster.

fn page(random: &mut Random, text: String) -> Page {
    let mut page = Page::new(text);
    page.fields["quality"] = (random.below(4) as f64 / 10.0).into();
    page.fields["year"] = (1998 + random.below(4)).into();
    page
}

fn shuffle(random: &mut Random, pages: &mut [Page]) {
    for at in (1..pages.len()).rev() {
        pages.swap(at, random.below(at + 1));
    }
}

/// Pages of one template that is filled at random. Many share the word of one slot, others a word with few,
/// most none with anybody.
fn mixed(template: &Template, random: &mut Random, count: usize) -> Vec<Page> {
    let all = (0..count).map(|number| {
        let own = |slot: usize| format!("own{number}s{slot}");
        let words = match random.below(10) {
            0..4 => [format!("a{}", random.below(count)), "hot".to_owned(), own(2)],
            4 => [own(0), format!("warm{}", random.below(3)), own(2)],
            5..7 => [format!("a{}", random.below(count)), own(1), own(2)],
            7 => [format!("a{}", random.below(count)), own(1), format!("c{}", random.below(count))],
            _ => [own(0), own(1), own(2)],
        };
        let text = template.with(words);
        page(random, if number % 31 == 0 { text.to_uppercase() } else { text })
    });
    all.collect()
}

#[test]
fn components_find_a_twin_in_a_family_larger_than_a_bucket() {
    let mut world = World::components();
    let report = world.pour("web", &Template::new(1).pages(400), 1 << 30);
    world.agrees("one commit");
    let near = |(standing, _): &(Standing, _)| *standing == Standing::Near;
    assert_eq!(world.told().iter().filter(|one| near(one)).count(), 40);
    assert_eq!((report.dedup.crowded, report.dedup.capped), (0, 0));
    // Of 97,000 pairs, those before their buckets are crowded. A twin is then compared with its fill alone.
    assert!(report.dedup.verified < 30_000, "{:?}", report.dedup);
    world.digest();
}

#[test]
fn clusters_in_crowded_buckets_are_whole_under_any_policy() {
    for (seed, keep) in (0..).zip(orders()) {
        let mode = if seed == 4 { DedupMode::Lsh } else { DedupMode::Components };
        let scope = if seed % 2 == 0 { DedupScope::Global } else { DedupScope::PerSource };
        let policy = Policy { keep, scope, ..policy(mode, 0.8) };
        let mut random = Random::new(seed);
        let mut pages = mixed(&Template::new(seed), &mut random, 250);
        shuffle(&mut random, &mut pages);
        let mut told = BTreeSet::new();
        for batch in [1 << 30, 15 << 10] {
            let mut world = World::new(&policy);
            let mut crowded = 0;
            for pages in [&pages[..180], &pages[180..]] {
                crowded += world.pour("web", pages, batch).dedup.crowded;
            }
            world.agrees(&format!("batches of {batch} B"));
            assert_eq!(crowded, 0, "{policy}");
            world.digest();
            told.insert(world.told());
        }
        assert_eq!(told.len(), 1, "{policy}");
    }
}

corpusdb_test!(a_document_joins_a_large_cluster_by_its_last_member, Template::new(3), |template| {
    let member = |number: usize| [format!("a{number}"), "hot".to_owned(), format!("c{number}")];
    let pages: Vec<Page> = (0..220).map(|at| Page::new(template.with(member(at)))).collect();
    let of = |number: usize| [format!("a{number}"), format!("x{number}"), format!("y{number}")];
    let late: Vec<Page> = (210..230).map(|number| Page::new(template.with(of(number)))).collect();
    for batch in [1 << 30, 20 << 10] {
        let mut world = World::components();
        world.pour("web", &pages, batch);
        assert_eq!(world.writer.view().kept().unwrap().len(), 1);
        world.reopen();
        let report = world.pour("web", &late, batch);
        world.agrees("after those that are like the last members");
        assert_eq!(world.writer.view().kept().unwrap().len(), 11);
        assert_eq!(report.dedup.crowded, 0);
        // All of the cluster once more, when it is in the crowd already.
        let again: Vec<Page> =
            (150..165).map(|number| Page::new(template.with(of(number)))).collect();
        world.pour("web", &again, batch);
        world.agrees("after those that are like others");
        world.digest();
    }
});

#[test]
fn a_near_copy_costs_one_link_however_many_there_are() {
    let cost = |count: usize| -> (u64, u64) {
        let mut world = World::components();
        let template = Template::new(4);
        let text =
            |number: usize| template.with(["one", "two", &format!("c{number}")].map(String::from));
        let pages: Vec<Page> = (0..count).map(|at| Page::new(text(at))).collect();
        let report = world.pour("web", &pages, 30 << 10);
        assert_eq!(report.dedup.crowded, 0);
        world.reopen();
        let more: Vec<Page> = (0..20).map(|at| Page::new(text(count + at))).collect();
        let later = world.pour("web", &more, 30 << 10);
        assert_eq!(later.dedup.crowded, 0);
        world.agrees("after the second process");
        let of = |report: &corpusdb::IngestReport| report.dedup.compared + report.dedup.verified;
        (of(&report), of(&later))
    };
    let (few, many) = (cost(200), cost(400));
    assert!(few.0 <= 2 * 200 && many.0 <= 2 * 400, "{few:?}, {many:?}");
    assert!(few.1 <= 2 * 20 && many.1 <= 2 * 20, "{few:?}, {many:?}");
}

#[test]
fn members_of_clusters_in_crowded_buckets_come_and_go() {
    for (seed, keep) in [(11, KeepOrder::First), (12, KeepOrder::Longest)] {
        let mut random = Random::new(seed);
        let policy = Policy { keep, ..policy(DedupMode::Components, 0.8) };
        let mut pages = mixed(&Template::new(seed), &mut random, 400);
        for (at, page) in pages.iter_mut().enumerate() {
            page.id = Some(format!("k{}", at % 380));
        }
        let mut world = World::new(&policy);
        world.pour("web", &pages[..200], 60 << 10);
        world.agrees("at first");
        for round in 0..3 {
            let gone: Vec<u64> = (0..8).map(|_| random.below(200 + 60 * round) as u64).collect();
            world.remove(&gone, round == 1);
            world.agrees(&format!("round {round}, after a removal"));
            world.pour("web", &pages[200 + 60 * round..260 + 60 * round], 15 << 10);
            world.agrees(&format!("round {round}, after more"));
            if round == 1 {
                world.reopen();
            }
            world.restore(&gone[..4]);
            world.agrees(&format!("round {round}, after restoring"));
        }
        // Their keys come again with other content.
        world.pour("web", &pages[380..], 15 << 10);
        world.agrees("after supersessions");
        world.digest();
    }
}

// ----
// Crowds that do not fit into memory: what is left out is said, and settled later.

/// So little that a crowd of some hundred does not fit.
const LITTLE: u64 = 1 << 19;

fn ingest(path: &Path, policy: &Policy, file: &str, pages: &[Page], memory: u64) -> IngestReport {
    init(path, policy);
    let mut writer = Corpus::options().memory(memory).threads(2).open_writer(path).unwrap();
    let files = [file.to_owned()];
    writer.ingest(&files, &options("web", 100 << 10, pages), &Context::new()).unwrap()
}

fn crowded(path: &Path) -> u64 {
    reader(path).view().crowded().unwrap().len()
}

fn kept(path: &Path) -> Vec<u64> {
    reader(path).view().kept().unwrap().iter().collect()
}

#[test]
fn documents_skipped_in_crowds_are_counted_and_settled() {
    for mode in [DedupMode::Witness, DedupMode::Components] {
        for keep in [KeepOrder::First, KeepOrder::Longest] {
            let scratch = TestDir::new();
            let policy = Policy { keep, ..policy(mode, 0.8) };
            let pages = Template::new(9).pages(300);
            let file = scratch.write("pages.jsonl", lines(&pages));
            let (small, large) = (scratch.path("small"), scratch.path("large"));
            let report = ingest(&large, &policy, &file, &pages, MEMORY);
            let is_witness = mode == DedupMode::Witness;
            assert_eq!((report.dedup.crowded, report.dedup.capped), (0, 0), "{policy}");
            let is_of_fields = |alarm: &Alarm| matches!(alarm, Alarm::FieldAbsent { .. });
            assert!(report.alarms.iter().all(is_of_fields), "{:?}", report.alarms);
            assert_eq!(crowded(&large), 0);
            let report = ingest(&small, &policy, &file, &pages, LITTLE);
            assert!(report.dedup.crowded > 0, "{policy}: {:?}", report.dedup);
            let told = report.alarms.iter().find_map(|alarm| match alarm {
                Alarm::Crowded { documents, example } => Some((*documents, example.clone())),
                _ => None,
            });
            let (documents, example) = told.expect("an alarm");
            assert_eq!(documents, report.dedup.crowded);
            if let Some(pair) = &example {
                assert!(pair.document != pair.other && pair.text.starts_with("w0x"), "{pair:?}");
            } else {
                assert!(!is_witness, "{policy}: no example");
            }
            let marked = crowded(&small);
            assert!(marked > 0 && marked <= documents);
            // A mark is no fault.
            sound_digest(&reader(&small));

            let mut writer =
                Corpus::options().memory(LITTLE).threads(2).open_writer(&small).unwrap();
            let stopped = Interrupt::default();
            stopped.raise();
            assert!(
                writer.settle(&Context::new().with_interrupt(&stopped)).unwrap_err().is_interrupt()
            );
            assert_eq!(writer.view().crowded().unwrap().len(), marked);
            let report = writer.settle(&Context::new()).unwrap();
            assert_eq!((report.crowded, report.settled), (marked, marked), "{policy}");
            let again = writer.settle(&Context::new()).unwrap();
            assert_eq!((again.crowded, again.commits), (0, 0));
            drop(writer);
            assert_eq!(crowded(&small), 0);

            assert_eq!(kept(&small), kept(&large), "{policy}");
            let mut model = Model::new(&policy);
            for (number, page) in pages.iter().enumerate() {
                model.take("web", &file, number, page);
            }
            let expected: Vec<u64> = (0..)
                .zip(model.settle())
                .filter(|(_, one)| one.standing == Standing::Kept)
                .map(|(id, _)| id)
                .collect();
            assert_eq!(kept(&small), expected, "{policy}");
            assert_eq!(sound_digest(&reader(&small)), sound_digest(&reader(&large)), "{policy}");
        }
    }
}

/// Fills and twins of a template, pages that are similar to two fills each, and these in capitals.
fn fills_and_twins(count: usize) -> Vec<Page> {
    let template = Template::new(9);
    let mut pages = template.pages(count);
    let between: Vec<String> =
        (0..count / 12).map(|at| template.between(at * 7, count - 1 - at * 5, 2)).collect();
    pages.extend(between.iter().cloned().map(Page::new));
    pages.extend(between.iter().map(|text| Page::new(text.to_uppercase())));
    pages
}

corpusdb_test!(settling_works_in_parts_and_resumes, |scratch| {
    for keep in [KeepOrder::First, KeepOrder::Longest] {
        let policy = Policy { keep, ..policy(DedupMode::Witness, 0.8) };
        let pages = fills_and_twins(420);
        let file = scratch.write("pages.jsonl", lines(&pages));
        let place = |name: &str| scratch.path(&format!("{name} {policy}").replace(' ', "-"));
        let (large, undisturbed, stopped) = (place("large"), place("small"), place("stopped"));
        ingest(&large, &policy, &file, &pages, MEMORY);
        let expected = sound_digest(&reader(&large));

        ingest(&undisturbed, &policy, &file, &pages, LITTLE);
        let mut writer =
            Corpus::options().memory(LITTLE).threads(2).open_writer(&undisturbed).unwrap();
        let report = writer.settle(&Context::new()).unwrap();
        assert!(report.commits > 3, "{policy}: {} commits", report.commits);
        // Not with every kept member of the family, of which some hundred are close enough. In other orders
        // removed ones are compared besides, which a document that is kept may explain better.
        let compared = report.dedup.compared + report.dedup.verified;
        let most = if policy.keep == KeepOrder::First { 16 } else { 80 };
        assert!(compared < most * report.settled, "{policy}: {compared} of {}", report.settled);
        assert_eq!(report.settled, report.crowded, "{policy}");
        drop(writer);
        assert_eq!(crowded(&undisturbed), 0, "{policy}: nothing is left out");
        assert_eq!(sound_digest(&reader(&undisturbed)), expected, "{policy}");

        ingest(&stopped, &policy, &file, &pages, LITTLE);
        let marked = crowded(&stopped);
        let mut runs = 0;
        loop {
            let mut writer =
                Corpus::options().memory(LITTLE).threads(2).open_writer(&stopped).unwrap();
            let raise = StopAt::new(StopWhen::Done(60));
            let left = writer.view().crowded().unwrap().len();
            runs += 1;
            match writer.settle(&raise.context()) {
                Ok(_) => break,
                Err(error) => assert!(error.is_interrupt(), "{error}"),
            }
            assert!(writer.view().crowded().unwrap().len() < left, "{policy}: it goes on");
        }
        assert!(runs > 2, "{policy}: {runs} runs for {marked}");
        assert_eq!(crowded(&stopped), 0);
        assert_eq!(sound_digest(&reader(&stopped)), expected, "{policy}");
    }
});

corpusdb_test!(crowded_documents_are_a_column_of_sql, |scratch| {
    let pages = Template::new(9).pages(300);
    let file = scratch.write("pages.jsonl", lines(&pages));
    let path = scratch.path("corpus");
    ingest(&path, &policy(DedupMode::Witness, 0.8), &file, &pages, LITTLE);
    let marked: Vec<u64> = reader(&path).view().crowded().unwrap().iter().collect();
    let corpus = path.display().to_string();
    let ran = corpusdb(&[
        "sql",
        &corpus,
        "SELECT count(*) AS n, min(id) AS first FROM documents WHERE crowded",
        "--format",
        "csv",
    ]);
    assert!(ran.stdout.contains(&format!("{},{}", marked.len(), marked[0])), "{}", ran.stdout);
    let ran = corpusdb(&["check", &corpus]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("dedup settle"), "{}", ran.stdout);
    let ran = corpusdb(&["dedup", "settle", &corpus, "--json"]);
    assert!(ran.stdout.contains("\"type\":\"settle\""), "{}", ran.stdout);
    let view_is_clear = |id: &u64| !reader(&path).view().crowded().unwrap().contains(DocId(*id).0);
    assert!(marked.iter().all(view_is_clear));
});
