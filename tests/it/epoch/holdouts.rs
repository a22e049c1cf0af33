//! The border to a holdout through histories: whatever takes a document's place stays on its side.

use crate::support::checker::corpus::{plan, recipe};
use crate::support::holdouts::{Pages, SHARE, first_crawl, leaks, policy};
use crate::support::{MEMORY, Page, Random, corpusdb, edited, seeds};
use corpusdb::dedup::{KeepOrder, MatchKind};
use corpusdb::{Context, Corpus, DocId};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn a_recrawl_with_a_footer_moves_nothing_over_the_border() {
    let mut random = Random::new(61);
    let mut pages = Pages::new(&KeepOrder::First);
    let mut crawl = first_crawl(&mut random, 120);
    pages.pour(&crawl);
    let before = pages.sides();
    for round in 0..2 {
        for page in &mut crawl {
            page.text.push_str(&format!(" seen again in round {round} of the crawl"));
        }
        pages.pour(&crawl);
        let after = pages.sides();
        assert_eq!(after.0.len() + after.1.len(), 120, "nothing met another lineage");
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "round {round}");
    }
}

#[test]
fn longer_mirror_copies_move_nothing_over_the_border() {
    let mut random = Random::new(62);
    let mut pages = Pages::new(&KeepOrder::Longest);
    let crawl = first_crawl(&mut random, 120);
    pages.pour(&crawl);
    let before = pages.sides();
    for round in 1..3 {
        let mirror = |page: &Page| {
            let id = format!("mirror-{round}-{}", page.id.as_deref().unwrap());
            Page::keyed(id, format!("{}{}", page.text, " mirrored here".repeat(round)))
        };
        pages.pour(&crawl.iter().map(mirror).collect::<Vec<_>>());
        let after = pages.sides();
        assert!(after.0.is_disjoint(&before.0) && after.1.is_disjoint(&before.1), "all displaced");
        assert_eq!(after.0.len() + after.1.len(), 120);
        assert_eq!(leaks(&pages, 0.6, &before, &after), 0, "round {round}");
    }
}

/// What a view shows of one moment.
#[derive(Default)]
struct Moment {
    kept: BTreeSet<u64>,
    /// The witness of each duplicate.
    witness: BTreeMap<u64, u64>,
    /// What superseded each document.
    heir: BTreeMap<u64, u64>,
}

impl Moment {
    fn of(corpus: &Corpus) -> Self {
        let view = corpus.view();
        let mut moment =
            Self { kept: corpus.select("kept").unwrap().iter().collect(), ..Self::default() };
        for id in 0..view.documents() {
            let Some(found) = view.match_of(DocId(id)).unwrap() else { continue };
            let into = if found.kind == MatchKind::Superseded {
                &mut moment.heir
            } else {
                &mut moment.witness
            };
            into.insert(id, found.witness.0);
        }
        moment
    }

    /// The kept document that stands for another one after it was superseded and displaced.
    fn stands_for(&self, id: u64) -> Option<u64> {
        let mut at = id;
        while let Some(heir) = self.heir.get(&at) {
            at = *heir;
        }
        let at = self.witness.get(&at).copied().unwrap_or(at);
        self.kept.contains(&at).then_some(at)
    }
}

/// Whose place each document took, told from what is shown before and after each commit.
#[derive(Default)]
struct SideLedger(BTreeMap<u64, BTreeSet<u64>>);

impl SideLedger {
    fn roots(&self, id: u64) -> BTreeSet<u64> {
        self.0.get(&id).cloned().unwrap_or_else(|| BTreeSet::from([id]))
    }

    fn follow(&mut self, before: &Moment, after: &Moment) {
        let mut taken: Vec<(u64, u64)> = Vec::new();
        for id in before.kept.difference(&after.kept) {
            taken.extend(after.stands_for(*id).map(|next| (next, *id)));
        }
        for id in after.kept.difference(&before.kept) {
            taken.extend(before.witness.get(id).map(|witness| (*id, *witness)));
        }
        let roots: Vec<(u64, BTreeSet<u64>)> =
            taken.iter().map(|(next, id)| (*next, self.roots(*id))).collect();
        for (next, roots) in roots {
            // One that was never kept had no side of its own.
            let was_kept = before.kept.contains(&next) || self.0.contains_key(&next);
            let own = if was_kept { self.roots(next) } else { BTreeSet::new() };
            self.0.entry(next).or_insert(own).extend(roots);
        }
    }
}

/// The documents of both sides with their roots.
type Sides = [Vec<(u64, BTreeSet<u64>)>; 2];

fn random_history(keep: &KeepOrder, seed: u64) {
    let mut random = Random::new(seed);
    let mut pages = Pages::new(keep);
    let mut crawl = first_crawl(&mut random, 40);
    pages.pour(&crawl);
    let open = |pages: &Pages| Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let mut moment = Moment::of(&open(&pages));
    let mut ledger = SideLedger::default();
    // Sides and roots at each snapshot.
    let mut history: Vec<Sides> = Vec::new();
    let mut removed: Vec<u64> = Vec::new();
    for step in 0..14_u64 {
        match random.below(6) {
            0 | 1 => {
                // Some pages again under their keys, with few edits or as another page's.
                let mut again = Vec::new();
                for _ in 0..12 {
                    let other = random.pick(&crawl).text.clone();
                    let at = random.below(crawl.len());
                    let from = if random.chance(30) { other } else { crawl[at].text.clone() };
                    crawl[at].text = edited(&mut random, &from, 2);
                    crawl[at].text.push_str(&format!(" step {step}"));
                    again.push(crawl[at].clone());
                }
                pages.pour(&again);
            }
            2 => {
                let mut mirrors = Vec::new();
                for number in 0..10 {
                    let from = random.pick(&crawl).text.clone();
                    let text = format!("{} and more of it", edited(&mut random, &from, 1));
                    mirrors.push(Page::keyed(format!("mirror-{step}-{number}"), text));
                }
                pages.pour(&mirrors);
                crawl.extend(mirrors);
            }
            3 => {
                let kept: Vec<u64> = moment.kept.iter().copied().collect();
                let some: Vec<u64> = (0..4).map(|_| *random.pick(&kept)).collect();
                removed.extend(&some);
                let mut writer = pages.writer();
                let selection = some.into_iter().collect();
                writer.remove(&selection, false, &Context::new()).unwrap();
            }
            4 if !removed.is_empty() => {
                let some = removed.drain(..removed.len().div_ceil(2)).collect();
                pages.writer().restore(&some, &Context::new()).unwrap();
            }
            _ => {
                let policy = policy(keep, [0.6, 0.7, 0.8][random.below(3)]);
                let mut writer = pages.writer();
                writer.redo(&policy, &Context::new()).unwrap();
                writer.switch(&policy, &Context::new()).unwrap();
            }
        }
        let corpus = open(&pages);
        let now = Moment::of(&corpus);
        ledger.follow(&moment, &now);
        moment = now;
        drop(corpus);
        let (train, held) = pages.sides();
        assert!(train.is_disjoint(&held));
        let with_roots = |ids: &BTreeSet<u64>| -> Vec<(u64, BTreeSet<u64>)> {
            ids.iter().map(|id| (*id, ledger.roots(*id))).collect()
        };
        let sides = [with_roots(&train), with_roots(&held)];
        for (at, before) in history.iter().enumerate() {
            for (held, trained) in [(&before[1], &sides[0]), (&sides[1], &before[0])] {
                for (one, roots) in held {
                    let shared = trained.iter().find(|(_, others)| !others.is_disjoint(roots));
                    assert!(
                        shared.is_none(),
                        "document {one} held out, {shared:?} trained on: steps {at} and {step}, {keep:?}, {roots:?}"
                    );
                }
            }
        }
        history.push(sides);
    }
    let (train, held) = pages.sides();
    assert!(!train.is_empty() && !held.is_empty());
}

#[test]
fn held_out_documents_never_turn_into_trained_ones() {
    for seed in 0..seeds(2) {
        random_history(&KeepOrder::First, 630 + seed);
        random_history(&KeepOrder::Longest, 640 + seed);
    }
}

/// A recipe over a snapshot gives the same documents whatever took their place since.
#[test]
fn the_sides_of_a_snapshot_never_change() {
    let mut random = Random::new(65);
    let mut pages = Pages::new(&KeepOrder::Longest);
    let mut crawl = first_crawl(&mut random, 60);
    pages.pour(&crawl);
    pages.writer().create_snapshot("then").unwrap();
    let text = format!("snapshot = \"then\"\n[select]\nholdout = {{ share = {SHARE} }}\n");
    let hash = |pages: &Pages| {
        let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
        corpus.plan(&recipe(&text), &Context::new()).unwrap().plan.hash()
    };
    let before = hash(&pages);
    for page in &mut crawl {
        page.text.push_str(" with a footer");
    }
    pages.pour(&crawl);
    assert_eq!(hash(&pages), before);
}

/// Documents with a family on each side were left out of both without a report.
#[test]
fn documents_on_neither_side_are_counted_and_said() {
    let mut pages = Pages::new(&KeepOrder::First);
    let mut random = Random::new(77);
    let first = first_crawl(&mut random, 60);
    pages.pour(&first);
    // Half of the keys come again with what the other half says: each of those has two lineages from then on.
    let moved = first.iter().zip(&first[30..]).map(|(page, other)| {
        let text = edited(&mut random, &other.text, 1);
        Page { text, ..page.clone() }
    });
    let moved: Vec<Page> = moved.collect();
    pages.pour(&moved);
    let (train, held) = pages.sides();
    let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let kept: BTreeSet<u64> = corpus.select("kept").unwrap().iter().collect();
    let neither = kept.iter().filter(|id| !train.contains(id) && !held.contains(id)).count();
    assert!(neither > 3, "{neither} of {}", kept.len());
    let told = format!("holdout: {neither} documents are on neither side");
    for take in ["train", "holdout"] {
        let text = format!("[select]\nholdout = {{ share = {SHARE}, take = \"{take}\" }}\n");
        let planned = plan(&corpus, &text).unwrap();
        assert_eq!(corpus.undecided(&planned).unwrap(), Some(neither as u64));
        assert!(!planned.plan.to_json().contains("undecided"), "it is no part of the plan");
        let explained = corpus.explain(&planned, &Context::new()).unwrap();
        assert_eq!(explained.undecided_documents, Some(neither as u64));
        assert!(explained.to_string().contains(&told), "{explained}");
        let file = pages.scratch.write(&format!("{take}.toml"), format!("version = 1\n{text}"));
        let path = pages.path.display().to_string();
        let said = corpusdb(&["epoch", "plan", &path, &file]).good().stdout;
        assert!(said.contains(&told), "{said}");
        let said = corpusdb(&["epoch", "plan", &path, &file, "--json"]).good().json();
        assert_eq!(said["undecided_documents"], neither);
    }
    // What a condition leaves out is not missed.
    let text = "[select]\nwhere = \"id < 45\"\nholdout = { share = 0.3, take = \"train\" }\n";
    let narrow = plan(&corpus, text).unwrap();
    let of = kept.iter().filter(|id| **id < 45 && !train.contains(id) && !held.contains(id));
    assert_eq!(corpus.undecided(&narrow).unwrap(), Some(of.count() as u64));
    let plain = plan(&corpus, "").unwrap();
    assert_eq!(corpus.undecided(&plain).unwrap(), None);
}
