//! The dedup contract told by example.

use crate::support::world::{World, policy};
use crate::support::{Page, TestDir, make, pour, reader, writer};
use corpusdb::dedup::{Fingerprinter, bands};
use corpusdb::dedup::{Match, Standing};
use corpusdb::ingest::ReadOptions;
use corpusdb::{Corpus, DedupMode, DocId, IngestOptions, Policy};

/// What a corpus says of each document.
fn told(corpus: &Corpus) -> Vec<(Standing, Option<Match>)> {
    let view = corpus.view();
    let ids = (0..view.documents()).map(DocId);
    ids.map(|id| (view.standing(id).unwrap(), view.match_of(id).unwrap())).collect()
}

fn options(batch_bytes: u64, id_field: bool) -> IngestOptions {
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
    assert_eq!(
        corpus.view().expect_header(DocId(4)).unwrap().text_of,
        Some(DocId(0)),
        "the text is stored once"
    );
}

#[test]
fn records_without_a_key_never_supersede() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.8);
    let mut writer = writer(&path);
    for round in 0..3 {
        // The same file, the same record number, the same `id` that nobody named as the key.
        let file = scratch
            .write("pages.jsonl", Page::keyed("a", variant(&format!("round{round}"), 40)).line());
        let report = pour(&mut writer, &[file], &options(1 << 20, false));
        assert_eq!((report.added, report.kept, report.updated), (1, 1, 0), "round {round}");
    }
    assert_eq!(reader(&path).count("kept").unwrap(), 3);
}

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
