//! The kernel decides as an ingest of the same documents does, row for row.

use crate::support::{Page, Random, TestDir, corpusdb_test, crawl, lines, policies, pour, writer};
use corpusdb::dedup::{Sketch, Standing, estimate_floor};
use corpusdb::kernel::{Edge, GraphMember, Rank, TextComparer, TextPrint, TextPrinter, decide};
use corpusdb::{Corpus, DedupMode, DocId, FieldKind, IngestOptions, Policy};
use std::collections::BTreeMap;

const SOURCES: [&str; 2] = ["web", "books"];

/// What an ingest and the kernel must agree on, by document.
#[derive(Debug, PartialEq)]
struct KernelRow {
    standing: Standing,
    witness: Option<u64>,
    overlap: Option<(u32, u32, u32)>,
}

/// What the store decided about documents that came in two sources.
fn ingested(policy: &Policy, parts: &[(&str, &[Page])]) -> Vec<KernelRow> {
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
    for (seed, policy) in (0..).zip(policies()) {
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
        let parts = [(SOURCES[0], &pages[..cut]), (SOURCES[1], &pages[cut..])];
        let expected = ingested(&policy, &parts);
        assert_eq!(computed(&policy, &parts), expected, "{policy}");
        expected.iter().for_each(|row| *standings.entry(row.standing).or_insert(0) += 1);
    }
    for standing in [Standing::Kept, Standing::Exact, Standing::Near, Standing::Empty] {
        assert!(standings.get(&standing).is_some_and(|count| *count > 10), "{standings:?}");
    }
});
