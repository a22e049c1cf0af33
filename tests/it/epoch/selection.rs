//! Which documents: the border between training and validation, and copies.

use crate::support::Random;
use crate::support::checker::corpus::{CheckedCorpus, THREE, open, pages, plan, rows, stored};
use corpusdb::Corpus;
use std::collections::{BTreeMap, BTreeSet};

fn side(corpus: &Corpus, share: f64, by: &str, take: &str) -> BTreeSet<u64> {
    let text = format!(
        "seed = {}\n[select]\nholdout = {{ share = {share}, by = \"{by}\", take = \"{take}\" }}\n[pack]\nlength = 64\n",
        take.len()
    );
    let planned = plan(corpus, &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = rows(&open(corpus, &planned, 0));
    rows.iter().flat_map(|row| row.segments()).map(|segment| segment.document.0).collect()
}

/// All documents that an epoch without a holdout has.
fn everything(corpus: &Corpus) -> BTreeSet<u64> {
    let all = (0..).zip(stored(corpus));
    let held = all.filter(|(_, of)| of.kept && of.ids.as_ref().is_some_and(|ids| !ids.is_empty()));
    held.map(|(id, _)| id).collect()
}

#[test]
fn nothing_crosses_the_border_of_the_holdout() {
    let place = CheckedCorpus::of(41, &[("web", 400, 3, 20), ("code", 300, 3, 9)]);
    for by in ["cluster", "document", "site"] {
        for share in [0.1, 0.5] {
            let corpus = place.reader();
            let (train, held) =
                (side(&corpus, share, by, "train"), side(&corpus, share, by, "holdout"));
            assert!(train.is_disjoint(&held));
            let all = everything(&corpus);
            assert_eq!(&train | &held, all);
            if by != "site" {
                let found = held.len() as f64 / all.len() as f64;
                assert!((found - share).abs() < 0.06, "{found} is held out of {share}");
            }
            if by == "site" {
                for number in 0..12 {
                    let site = corpus.select(format!("site = 'site-{number}'")).unwrap();
                    let held = site.iter().filter(|id| held.contains(id)).count() as u64;
                    let train = site.iter().filter(|id| train.contains(id)).count() as u64;
                    assert!(held == 0 || train == 0, "site {number} is on both sides");
                    assert!(held + train > 0);
                }
            }
            drop(corpus);
            let mut writer = place.writer();
            let mut random = Random::new(share.to_bits() ^ by.len() as u64);
            place.pour(&mut writer, "web", &pages(&mut random, "web", 40, (3, 20)));
            drop(writer);
            let corpus = place.reader();
            let later = (side(&corpus, share, by, "train"), side(&corpus, share, by, "holdout"));
            assert!(
                train.is_subset(&later.0) && held.is_subset(&later.1),
                "a document changed sides"
            );
            assert_eq!(&later.0 | &later.1, everything(&corpus));
            assert!(later.0.is_disjoint(&later.1));
        }
    }
}

/// floor(x) copies and one more with the fraction as probability, the same ones in every pass.
#[test]
fn documents_repeat_by_their_weight() {
    let place = CheckedCorpus::of(42, &THREE);
    let corpus = place.reader();
    let text = "[select]\nrepeat = \"year - 2000 + 0.5\"\n[pack]\nlength = 64\n";
    let planned = plan(&corpus, text).unwrap();
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    for row in rows(&open(&corpus, &planned, 0)) {
        for segment in row.segments().iter().filter(|segment| segment.offset == 0) {
            *times.entry(segment.document.0).or_default() += 1;
        }
    }
    let mut more = 0;
    let all = everything(&corpus);
    for year in 0..5 {
        for id in corpus.select(format!("kept and year = {}", 2000 + year)).unwrap() {
            if !all.contains(&id) {
                continue;
            }
            let found = times.get(&id).copied().unwrap_or(0);
            assert!(
                (year..=year + 1).contains(&found),
                "document {id} of year {year} came {found} times"
            );
            more += u32::from(found > year);
        }
    }
    let share = f64::from(more) / all.len() as f64;
    assert!((0.35..0.65).contains(&share), "{share} of the documents came once more");
}
