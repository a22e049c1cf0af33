//! The same keys again and again: what it costs, and whose content wins.

use crate::support::{
    Page, Random, StopAt, StopWhen, TestDir, corpusdb_test, edited, keyed_options, lines, make,
    pour, prose, reader, seeds, sound_digest, writer,
};
use corpusdb::dedup::Standing;
use corpusdb::ingest::{InputFormat, ReadOptions, TextUnit};
use corpusdb::{Context, CorpusWriter, DedupMode, DocId, IngestOptions, IngestReport, Interrupt};

/// The text in force under each key, as (key, text) in the order of ids.
fn in_force(writer: &CorpusWriter) -> Vec<(String, String)> {
    let view = writer.view();
    let ids = (0..view.documents()).map(DocId);
    ids.filter(|id| view.standing(*id).unwrap() == Standing::Kept)
        .map(|id| (view.key(id).unwrap().unwrap(), view.text(id).unwrap()))
        .collect()
}

/// Pages of `count` keys with texts of their own, all different.
fn pages(seed: u64, count: usize) -> Vec<Page> {
    let mut random = Random::new(seed);
    (0..count).map(|at| Page::keyed(format!("k{at}"), prose(&mut random, 0, 40))).collect()
}

// ---- whose content wins ----

corpusdb_test!(a_repeated_file_wins_its_keys_back, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus, DedupMode::Witness, 0.8);
    let mut writer = writer(&corpus);
    let (old, new) = (pages(1, 40), pages(2, 60));
    let (a, b) = (scratch.write("a.jsonl", lines(&old)), scratch.write("b.jsonl", lines(&new)));
    let told = |pages: &[Page]| -> Vec<(String, String)> {
        let mut all: Vec<_> =
            pages.iter().map(|page| (page.id.clone().unwrap(), page.text.clone())).collect();
        all.sort();
        all
    };
    let stands = |writer: &CorpusWriter| {
        let mut all = in_force(writer);
        all.sort();
        all
    };
    pour(&mut writer, std::slice::from_ref(&a), &keyed_options(1 << 20));
    pour(&mut writer, std::slice::from_ref(&b), &keyed_options(1 << 20));
    assert_eq!(stands(&writer), told(&new));
    // The later ingest wins: keys of both files get the content of `a`; keys not in `a` keep the content of `b`.
    let report = pour(&mut writer, std::slice::from_ref(&a), &keyed_options(2 << 10));
    assert_eq!((report.added, report.updated, report.unchanged), (40, 40, 0));
    let mixed: Vec<Page> = old.iter().chain(&new[40..]).cloned().collect();
    assert_eq!(stands(&writer), told(&mixed));
    // Twice in a row changes nothing, with and without --reread.
    for reread in [false, true] {
        let again = IngestOptions { reread, ..keyed_options(1 << 20) };
        let report = pour(&mut writer, std::slice::from_ref(&a), &again);
        assert_eq!((report.added, report.unchanged), (0, 40), "reread {reread}");
    }
    // Files of one command keep the order in which they came.
    for paths in [[a.clone(), b.clone()], [b.clone(), a.clone()]] {
        let report = pour(&mut writer, &paths, &keyed_options(1 << 20));
        assert_eq!((report.added, report.read), (0, 0));
    }
    assert_eq!(stands(&writer), told(&mixed));
    let report = pour(&mut writer, &[b], &keyed_options(1 << 20));
    assert_eq!((report.added, report.unchanged), (40, 20));
    assert_eq!(stands(&writer), told(&new));
    assert_eq!(writer.view().documents(), 40 + 60 + 40 + 40, "no id is used twice");
    sound_digest(&reader(&corpus));
});

corpusdb_test!(files_that_share_keys_are_unchanged_the_second_time, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus, DedupMode::Witness, 0.8);
    let mut writer = writer(&corpus);
    let files: Vec<String> = (0..4)
        .map(|night| scratch.write(&format!("{night}.jsonl"), lines(&pages(night, 30))))
        .collect();
    assert_eq!(pour(&mut writer, &files[..3], &keyed_options(4 << 10)).added, 90);
    for _ in 0..2 {
        assert_eq!(pour(&mut writer, &files[..3], &keyed_options(4 << 10)).commits, 0);
    }
    // A new file beside them is all that is read.
    let report = pour(&mut writer, &files, &keyed_options(4 << 10));
    assert_eq!((report.added, report.read, report.unchanged), (30, 30, 90));
    assert_eq!(pour(&mut writer, &files, &keyed_options(4 << 10)).commits, 0);
});

#[test]
fn a_key_twice_in_a_file_adds_nothing_the_second_time() {
    for batch_bytes in [200, 1 << 20] {
        let scratch = TestDir::new();
        let corpus = scratch.path("corpus");
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        let mut twice = pages(1, 20);
        twice.extend(pages(2, 20));
        let file = scratch.write("twice.jsonl", lines(&twice));
        assert_eq!(
            pour(&mut writer, std::slice::from_ref(&file), &keyed_options(batch_bytes)).added,
            40
        );
        let before = sound_digest(&reader(&corpus));
        for _ in 0..3 {
            let again = IngestOptions { reread: true, ..keyed_options(batch_bytes) };
            let report = pour(&mut writer, std::slice::from_ref(&file), &again);
            assert_eq!((report.added, report.read, report.unchanged), (0, 40, 40));
        }
        assert_eq!(sound_digest(&reader(&corpus)), before);
    }
}

corpusdb_test!(reading_again_that_is_interrupted_ends_as_if_it_had_not_been, |scratch| {
    let (old, new) = (pages(1, 300), pages(2, 300));
    let (a, b) = (scratch.write("a.jsonl", lines(&old)), scratch.write("b.jsonl", lines(&new)));
    let mut digests = Vec::new();
    for interrupted in [false, true] {
        let corpus = scratch.path(if interrupted { "interrupted" } else { "whole" });
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        for file in [&a, &b] {
            pour(&mut writer, std::slice::from_ref(file), &keyed_options(4 << 10));
        }
        let mut stops = 0;
        while interrupted && stops < 3 {
            let stop = StopAt::new(StopWhen::Advance(1));
            let done =
                writer.ingest(std::slice::from_ref(&a), &keyed_options(4 << 10), &stop.context());
            if done.is_ok() {
                break;
            }
            stops += 1;
        }
        pour(&mut writer, std::slice::from_ref(&a), &keyed_options(4 << 10));
        assert!(!interrupted || stops > 0, "nothing was interrupted");
        assert_eq!(pour(&mut writer, std::slice::from_ref(&a), &keyed_options(4 << 10)).commits, 0);
        assert_eq!(writer.view().documents(), 900);
        digests.push(sound_digest(&reader(&corpus)));
    }
    assert_eq!(digests[0], digests[1]);
});

// ---- what it costs ----

/// A family of pages: some are near duplicates of others.
fn family(seed: u64, count: usize) -> Vec<Page> {
    let mut random = Random::new(seed);
    let mut pages: Vec<Page> = Vec::new();
    for at in 0..count {
        let text = match pages.get(random.below(pages.len() + 1)) {
            Some(page) if random.chance(30) => {
                let edits = random.between(1, 4);
                edited(&mut random, &page.text.clone(), edits)
            }
            _ => prose(&mut random, 0, 60),
        };
        pages.push(Page::keyed(format!("k{at}"), text));
    }
    pages
}

/// The pages with another value in a field: every one is superseded.
fn crawled(pages: &[Page], night: u64) -> String {
    let mut pages = pages.to_vec();
    pages.iter_mut().for_each(|page| page.fields["night"] = night.into());
    lines(&pages)
}

#[test]
fn every_generation_of_a_crawl_costs_the_same() {
    let pages = family(7, 300);
    let scratch = TestDir::new();
    let mut told = Vec::new();
    for batch_bytes in [8 << 10, 1 << 30] {
        let corpus = scratch.path(&format!("corpus-{batch_bytes}"));
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        let mut costs: Vec<IngestReport> = Vec::new();
        for night in 0..5 {
            let file = scratch.write(&format!("{night}.jsonl"), crawled(&pages, night));
            costs.push(pour(&mut writer, &[file], &keyed_options(batch_bytes)));
        }
        let members: Vec<u64> = costs.iter().map(|report| report.dedup.members).collect();
        let compared: Vec<u64> = costs.iter().map(|report| report.dedup.compared).collect();
        for counted in [&members, &compared] {
            let second = counted[1] as f64;
            let is_flat = |count: &u64| (second * 0.8..=second * 1.2).contains(&(*count as f64));
            assert!(counted[1..].iter().all(is_flat), "{batch_bytes} B: {members:?}, {compared:?}");
        }
        // Standings are read once a commit, of the one block there is.
        assert!(costs.iter().all(|report| report.dedup.standings <= report.commits));
        sound_digest(&reader(&corpus));
        told.push(in_force(&writer));
    }
    assert!(told.iter().all(|other| *other == told[0]), "batches matter");
}

/// A page that all spokes are near duplicates of, which are none of one another.
fn hub(spokes: usize) -> Vec<Page> {
    let mut random = Random::new(3);
    let hub = prose(&mut random, 0, 300);
    let mut pages = vec![Page::keyed("hub", hub.clone())];
    for at in 0..spokes {
        let own = prose(&mut random, 0, 50);
        pages.push(Page::keyed(format!("spoke{at}"), format!("{hub} {own}")));
    }
    pages
}

corpusdb_test!(a_hub_crawled_again_reads_standings_once_a_commit, Vec::new(), |mut standings| {
    for spokes in [100, 200] {
        let scratch = TestDir::new();
        let corpus = scratch.path("corpus");
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        let pages = hub(spokes);
        for night in 0..2 {
            let file = scratch.write(&format!("{night}.jsonl"), crawled(&pages, night));
            let report = pour(&mut writer, &[file], &keyed_options(16 << 10));
            assert!(report.commits > 5, "{} commits", report.commits);
            assert!(report.dedup.standings <= report.commits);
            standings.push(report.dedup.standings);
        }
        sound_digest(&reader(&corpus));
    }
    assert!(standings[3] <= standings[1] * 5 / 2, "{standings:?}");
});

/// Pages of which each differs from the first in one place: near duplicates of one another.
fn alike(seed: u64, count: usize) -> Vec<Page> {
    let base = prose(&mut Random::new(4), 0, 150);
    let mut random = Random::new(seed);
    (0..count).map(|at| Page::keyed(format!("k{at}"), edited(&mut random, &base, 1))).collect()
}

// Each batch took the witness of all others away, which were decided again: half the pages a batch.
corpusdb_test!(equal_pages_crawled_again_are_decided_once_each, |scratch| {
    let mut digests = Vec::new();
    for (count, batch_bytes) in [(300, 16 << 10), (600, 16 << 10), (600, 8 << 10), (600, 1 << 30)] {
        let corpus = scratch.path(&format!("corpus-{count}-{batch_bytes}"));
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        let bad = |pages: &[Page]| {
            // Bad records in many batches, of which the file's record must tell the sum.
            let lines = lines(pages);
            let mut all = String::new();
            for (at, line) in lines.lines().enumerate() {
                all.push_str(line);
                all.push_str(if at % 20 == 7 { "\nbad\n" } else { "\n" });
            }
            all
        };
        let mut told = Vec::new();
        let mut file = String::new();
        for seed in [1, 2] {
            file = scratch.write(&format!("{seed}.jsonl"), bad(&alike(seed, count)));
            told.push(pour(&mut writer, std::slice::from_ref(&file), &keyed_options(batch_bytes)));
        }
        let (first, second) = (&told[0], &told[1]);
        // Hardly any comes again as it was.
        assert!(first.added == count as u64 && second.added > count as u64 - 8);
        assert!(second.commits <= first.commits);
        let again = second.dedup.reconsidered;
        assert!(again <= count as u64 + 256, "{again} of {count} in {} commits", second.commits);
        assert!(second.dedup.verified <= 4 * count as u64, "{} verified", second.dedup.verified);
        let third = pour(&mut writer, &[file], &keyed_options(batch_bytes));
        assert_eq!((third.unchanged, third.commits), (count as u64, 0));
        digests.push((count, sound_digest(&reader(&corpus))));
    }
    assert!(digests[1..].iter().all(|other| *other == digests[1]), "batches matter");
});

corpusdb_test!(changing_one_of_many_equal_texts_reads_no_crowded_bucket, Vec::new(), |mut read| {
    for count in [100_u64, 200] {
        let scratch = TestDir::new();
        let corpus = scratch.path("corpus");
        make(&corpus, DedupMode::Witness, 0.8);
        let mut writer = writer(&corpus);
        let text = prose(&mut Random::new(5), 0, 60);
        let mut pages: Vec<Page> =
            (0..count).map(|at| Page::keyed(format!("k{at}"), text.clone())).collect();
        let mut members = 0;
        for night in 0..4 {
            pages[night].text = prose(&mut Random::new(50 + night as u64), 0, 60);
            let file = scratch.write(&format!("{night}.jsonl"), lines(&pages));
            members = pour(&mut writer, &[file], &keyed_options(1 << 20)).dedup.members;
        }
        read.push(members);
        sound_digest(&reader(&corpus));
    }
    assert!(read[1] <= read[0] * 5 / 2, "members read, of twice as many documents: {read:?}");
});

corpusdb_test!(restored_documents_are_found_again, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus, DedupMode::Witness, 0.8);
    let mut writer = writer(&corpus);
    let first = family(9, 100);
    let file = scratch.write("0.jsonl", lines(&first));
    pour(&mut writer, &[file], &keyed_options(1 << 20));
    let kept: roaring::RoaringTreemap = writer.view().kept().unwrap().iter().take(30).collect();
    let before = sound_digest(&reader(&corpus));
    let interrupt = Interrupt::default();
    writer.remove(&kept, false, &Context::new().with_interrupt(&interrupt)).unwrap();
    sound_digest(&reader(&corpus));
    writer.restore(&kept, &Context::new().with_interrupt(&interrupt)).unwrap();
    assert_eq!(sound_digest(&reader(&corpus)), before);
    // Near copies that come now are duplicates of what was restored.
    let mut random = Random::new(10);
    let copies: Vec<Page> = kept
        .iter()
        .map(|id| writer.view().text(DocId(id)).unwrap())
        .enumerate()
        .map(|(at, text)| Page::keyed(format!("copy{at}"), edited(&mut random, &text, 1)))
        .collect();
    let file = scratch.write("1.jsonl", lines(&copies));
    let report = pour(&mut writer, &[file], &keyed_options(1 << 20));
    assert_eq!((report.added, report.kept), (30, 0));
    sound_digest(&reader(&corpus));
});

/// The texts in force, in their order.
fn texts_in_force(writer: &CorpusWriter) -> Vec<String> {
    let view = writer.view();
    let ids = (0..view.documents()).map(DocId);
    let kept = ids.filter(|id| view.standing(*id).unwrap() == Standing::Kept);
    let mut texts: Vec<String> = kept.map(|id| view.text(id).unwrap()).collect();
    texts.sort_unstable();
    texts
}

/// Files that grow at any byte, read at any time by processes that end at any commit: what has no end yet is replaced by
/// what it becomes.
#[test]
fn a_growing_file_ends_as_its_last_state() {
    let lines = |end: &str| -> String {
        (0..12).map(|n| format!("line number {n} of a log that a crawler writes{end}")).collect()
    };
    let objects: Vec<String> = (0..12)
        .map(|n| format!("{{\"id\": \"k{}\", \"text\": \"state {n} of a page\"}}", n % 5))
        .collect();
    let rows: String = (0..12).map(|n| format!("{n},row {n} of a table,x\n")).collect();
    let kinds = [
        ("a.txt", lines("\n"), InputFormat::Text, None),
        ("a.csv", format!("n,text,more\n{rows}"), InputFormat::Csv, None),
        ("keyed.csv", format!("n,text,more\n{rows}"), InputFormat::Csv, Some("n")),
        ("a.jsonl", objects.join("\n") + "\n", InputFormat::Jsonl, Some("id")),
        ("keyless.jsonl", objects.join("\n"), InputFormat::Jsonl, None),
    ];
    let mut random = Random::new(91);
    for round in 0..seeds(6) {
        for (name, whole, format, id) in &kinds {
            let scratch = TestDir::new();
            let read = ReadOptions {
                format: *format,
                id_field: id.map(str::to_owned),
                text_by: TextUnit::Line,
                ..ReadOptions::default()
            };
            let batch_bytes = [1, 100, 1 << 20][random.below(3)];
            let options = IngestOptions { read, batch_bytes, ..IngestOptions::new("log") };
            for corpus in ["grown", "once"] {
                make(&scratch.path(corpus), DedupMode::None, 0.8);
            }
            let mut grown = writer(&scratch.path("grown"));
            let mut cuts: Vec<usize> =
                (0..4).map(|_| random.between(12, whole.len())).chain([whole.len()]).collect();
            cuts.sort_unstable();
            for cut in &cuts {
                let path = scratch.write(name, &whole[..*cut]);
                let options = IngestOptions { reread: random.chance(25), ..options.clone() };
                if random.chance(40) {
                    // It ends behind a commit, with its process; the file may grow before it goes on.
                    let stop = StopAt::new(StopWhen::Advance(1));
                    let _ = grown.ingest(std::slice::from_ref(&path), &options, &stop.context());
                    drop(grown);
                    grown = writer(&scratch.path("grown"));
                    if random.chance(50) {
                        continue;
                    }
                }
                pour(&mut grown, &[path], &options);
            }
            let path = scratch.write(name, whole);
            pour(&mut grown, std::slice::from_ref(&path), &options);
            let last = pour(&mut grown, std::slice::from_ref(&path), &options);
            assert_eq!(last.added, 0, "{name} {cuts:?}");
            let mut once = writer(&scratch.path("once"));
            pour(&mut once, &[path], &options);
            assert_eq!(texts_in_force(&grown), texts_in_force(&once), "{name} {round} {cuts:?}");
            drop(grown);
            let corpus = reader(&scratch.path("grown"));
            sound_digest(&corpus);
            assert_eq!(corpus.rejects(9).unwrap().count(), 0, "{name} {cuts:?}");
        }
    }
}

// A list that a program appends to is read on, from behind its last value.
corpusdb_test!(a_list_that_has_grown_is_read_on, |scratch| {
    make(&scratch.path("corpus"), DedupMode::None, 0.8);
    let mut writer = writer(&scratch.path("corpus"));
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("log") };
    let values: Vec<String> = (0..6)
        .map(|n| format!("{{\"id\": \"k{}\", \"text\": \"state {n} of a page\"}}", n % 2))
        .collect();
    for (count, read) in [(2, 2), (3, 1), (6, 3)] {
        let text = format!("[\n{}\n]\n", values[..count].join(",\n"));
        let report = pour(&mut writer, &[scratch.write("a.json", text)], &options);
        assert_eq!((report.read, report.added), (read, read));
    }
    assert_eq!(texts_in_force(&writer), ["state 4 of a page", "state 5 of a page"]);
});

/// Shards that share keys: reading them again changes nothing, in their order or in another one.
#[test]
fn reading_unchanged_files_again_rests_in_any_order() {
    let mut random = Random::new(17);
    for _ in 0..seeds(8) {
        let scratch = TestDir::new();
        make(&scratch.path("corpus"), DedupMode::None, 0.8);
        let mut corpus = writer(&scratch.path("corpus"));
        let mut files = Vec::new();
        for shard in 0..random.between(2, 5) {
            let mut text = String::new();
            for _ in 0..random.between(1, 9) {
                let key = random.below(6);
                let words = format!("shard {shard} says {} of it", random.below(5));
                text.push_str(&format!("{{\"id\":\"k{key}\",\"text\":\"{words}\"}}\n"));
            }
            files.push(scratch.write(&format!("{shard}.jsonl"), text));
        }
        let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
        let batch_bytes = [1, 60, 1 << 20][random.below(3)];
        let options = IngestOptions { read, batch_bytes, ..IngestOptions::new("web") };
        pour(&mut corpus, &files, &options);
        let again = IngestOptions { reread: true, ..options.clone() };
        for _ in 0..2 {
            assert_eq!(pour(&mut corpus, &files, &again).added, 0);
        }
        for _ in 0..2 {
            for at in (1..files.len()).rev() {
                files.swap(at, random.below(at + 1));
            }
            // It is a function of the files and their order.
            pour(&mut corpus, &files, &again);
            let path = scratch.path(&format!("fresh{}", random.next()));
            make(&path, DedupMode::None, 0.8);
            let mut fresh = writer(&path);
            pour(&mut fresh, &files, &options);
            let sorted = |writer: &CorpusWriter| {
                let mut all = in_force(writer);
                all.sort_unstable();
                all
            };
            assert_eq!(sorted(&corpus), sorted(&fresh));
            assert_eq!(pour(&mut corpus, &files, &again).added, 0);
        }
    }
}
