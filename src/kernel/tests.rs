//! Laws of the decision, against its definition.

use super::{Edge, Member, Outcome, Overlap, Rank, Seat, components, decide, near_in_bucket};
use crate::dedup::{Fingerprinter, Profile};
use crate::model::{DedupMode, DocId, Policy, Standing};
use proptest::prelude::*;
use std::collections::BTreeSet;

const SIMILAR: Overlap = Overlap { shared: 9, left: 10, right: 10 };
const DIFFERENT: Overlap = Overlap { shared: 7, left: 10, right: 10 };

fn rank(number: u64) -> Rank {
    Rank::first(DocId(number))
}

/// Document `number`; every text is of its own unless `text` says otherwise.
fn member(number: u64, text: u8) -> Member {
    let (raw, text) = ([u8::try_from(number).unwrap_or(u8::MAX); 16], [text; 16]);
    Member { rank: rank(number), text, raw, tokens: 20, shingles: 10, is_open: false }
}

fn graph() -> impl Strategy<Value = (Vec<Member>, Vec<Edge>)> {
    let members = prop::collection::vec(0..30_u8, 1..40);
    let edges = prop::collection::vec((0..40_u64, 0..40_u64, any::<bool>()), 0..80);
    (members, edges).prop_map(|(texts, edges)| {
        let members: Vec<Member> = (0..).zip(texts).map(|(n, text)| member(n, text)).collect();
        let count = members.len() as u64;
        let edge = |(a, b, is_similar)| Edge {
            left: rank(a % count),
            right: rank(b % count),
            overlap: if is_similar { SIMILAR } else { DIFFERENT },
        };
        (members, edges.into_iter().map(edge).collect())
    })
}

/// Whether two documents are similar by definition: equal texts, or an edge between documents of these texts.
fn are_similar(members: &[Member], edges: &[Edge], a: usize, b: usize) -> bool {
    let text = |rank: Rank| members.iter().find(|one| one.rank == rank).map(|one| one.text);
    let (a, b) = (members[a].text, members[b].text);
    a == b
        || edges.iter().any(|edge| {
            let ends = [text(edge.left), text(edge.right)];
            edge.overlap == SIMILAR && (ends == [Some(a), Some(b)] || ends == [Some(b), Some(a)])
        })
}

fn standings(outcomes: &[Outcome]) -> Vec<Option<Standing>> {
    outcomes.iter().map(|one| one.standing).collect()
}

proptest! {
    #[test]
    fn what_is_kept_is_the_first_independent_set((members, edges) in graph()) {
        let policy = Policy::of(Profile::Web);
        let outcomes = decide(&members, &edges, &policy);
        let mut kept: Vec<usize> = Vec::new();
        for (at, outcome) in outcomes.iter().enumerate() {
            let witness = kept.iter().copied().find(|one| are_similar(&members, &edges, *one, at));
            prop_assert_eq!(outcome.witness.map(|one| one.rank), witness.map(|one| members[one].rank));
            prop_assert_eq!(outcome.standing == Some(Standing::Kept), witness.is_none());
            if witness.is_none() {
                kept.push(at);
            }
        }
    }

    #[test]
    fn components_keep_their_best((members, edges) in graph()) {
        let policy = Policy { mode: DedupMode::Components, ..Policy::of(Profile::Web) };
        let outcomes = decide(&members, &edges, &policy);
        let mut links = Vec::new();
        for a in 0..members.len() {
            for b in 0..=a {
                if are_similar(&members, &edges, a, b) {
                    links.push((members[b].rank, members[a].rank));
                }
            }
        }
        let expected = components(&links);
        let named = outcomes.iter().map(|one| (one.rank, one.cluster().unwrap()));
        prop_assert_eq!(named.collect::<Vec<_>>(), expected.clone());
        for (rank, root) in &expected {
            prop_assert!(root <= rank);
            prop_assert!(expected.contains(&(*root, *root)));
        }
    }

    #[test]
    fn what_is_decided_early_stays((members, edges) in graph(), hidden in prop::collection::vec(any::<bool>(), 80)) {
        let policy = Policy::of(Profile::Web);
        let outcomes = decide(&members, &edges, &policy);
        // Some edges are not known yet: the worse-ranked text of each is open.
        let known: Vec<Edge> = edges.iter().zip(&hidden).filter(|(_, hidden)| !**hidden).map(|(edge, _)| *edge).collect();
        let text = |rank: Rank| members.iter().find(|one| one.rank == rank).map(|one| one.text);
        let first = |text: Option<[u8; 16]>| members.iter().position(|one| Some(one.text) == text);
        let worse: BTreeSet<Option<[u8; 16]>> = edges
            .iter()
            .zip(&hidden)
            .filter(|(_, hidden)| **hidden)
            .map(|(edge, _)| {
                let (a, b) = (text(edge.left), text(edge.right));
                if first(a) < first(b) { b } else { a }
            })
            .collect();
        let open: Vec<Member> = members
            .iter()
            .map(|one| Member { is_open: worse.contains(&Some(one.text)), ..*one })
            .collect();
        let early = standings(&decide(&open, &known, &policy));
        for (early, last) in early.iter().zip(standings(&outcomes)) {
            prop_assert!(early.is_none() || *early == last, "{early:?} became {last:?}");
        }
    }

    #[test]
    fn a_bucket_names_the_pairs_of_its_first(count in 1..20_usize, most in 1..25_usize, dead in prop::collection::vec(any::<bool>(), 20)) {
        let policy = Policy::of(Profile::Web);
        let mut craft = Fingerprinter::new(&policy);
        let sketch = craft.fingerprint("one two three four five six seven").sketch.unwrap();
        let seats: Vec<Seat> = (0..count).zip(&dead).map(|(n, dead)| {
            let rank = rank(n as u64);
            // Who is removed has the first as its witness.
            let bound = if *dead { Rank::first(DocId(0)) } else { rank };
            Seat { rank, sketch: sketch.clone(), bound, is_live: !dead, cluster: None }
        }).collect();
        let (pairs, open) = near_in_bucket(&seats, &policy, most);
        let live: Vec<Rank> = seats.iter().filter(|one| one.is_live).map(|one| one.rank).collect();
        let expected: Vec<(Rank, Rank)> = live.iter().take(most)
            .flat_map(|a| live.iter().filter(move |b| a < *b).map(move |b| (*a, *b))).collect();
        prop_assert_eq!(pairs, expected);
        prop_assert_eq!(open, live.iter().copied().skip(most).collect::<Vec<_>>());
    }
}

#[test]
fn documents_without_tokens_are_empty_where_similarity_counts() {
    let blank = Member { tokens: 0, ..member(1, 0) };
    let of = |mode| {
        let policy = Policy { mode, ..Policy::of(Profile::Web) };
        standings(&decide(&[member(0, 0), blank], &[], &policy))
    };
    assert_eq!(of(DedupMode::Witness), [Some(Standing::Kept), Some(Standing::Empty)]);
    assert_eq!(of(DedupMode::Exact), [Some(Standing::Kept), Some(Standing::Near)]);
    assert_eq!(of(DedupMode::None), [Some(Standing::Kept), Some(Standing::Kept)]);
}
