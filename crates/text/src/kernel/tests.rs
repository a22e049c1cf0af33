//! Tests of the kernel's decisions, components and bucket pairs, against their definitions.

use super::{
    BucketMember, Edge, GraphDecision, GraphMember, Overlap, Rank, TextComparer, components,
    decide, near_in_bucket, similar_in_bucket,
};
use crate::dedup::{Fingerprinter, Profile};
use model::{DedupMode, DocId, Policy, Standing};
use proptest::prelude::*;
use std::collections::BTreeSet;

const SIMILAR: Overlap = Overlap { shared: 9, left: 10, right: 10 };
const DIFFERENT: Overlap = Overlap { shared: 7, left: 10, right: 10 };

fn rank(number: u64) -> Rank {
    Rank::first(DocId(number))
}

/// Document `number`; every text is of its own unless `text` says otherwise.
fn member(number: u64, text: u8) -> GraphMember {
    let (raw, text) = ([u8::try_from(number).unwrap_or(u8::MAX); 16], [text; 16]);
    GraphMember { rank: rank(number), text, raw, tokens: 20, shingles: 10, is_open: false }
}

fn graph() -> impl Strategy<Value = (Vec<GraphMember>, Vec<Edge>)> {
    let members = prop::collection::vec(0..30_u8, 1..40);
    let edges = prop::collection::vec((0..40_u64, 0..40_u64, any::<bool>()), 0..80);
    (members, edges).prop_map(|(texts, edges)| {
        let members: Vec<GraphMember> = (0..).zip(texts).map(|(n, text)| member(n, text)).collect();
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
fn are_similar(members: &[GraphMember], edges: &[Edge], a: usize, b: usize) -> bool {
    let text = |rank: Rank| members.iter().find(|one| one.rank == rank).map(|one| one.text);
    let (a, b) = (members[a].text, members[b].text);
    a == b
        || edges.iter().any(|edge| {
            let ends = [text(edge.left), text(edge.right)];
            edge.overlap == SIMILAR && (ends == [Some(a), Some(b)] || ends == [Some(b), Some(a)])
        })
}

fn standings(outcomes: &[GraphDecision]) -> Vec<Option<Standing>> {
    outcomes.iter().map(|one| one.standing).collect()
}

proptest! {
    #[test]
    fn the_kept_rows_are_the_first_independent_set((members, edges) in graph()) {
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
    fn early_decisions_stay((members, edges) in graph(), hidden in prop::collection::vec(any::<bool>(), 80)) {
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
        let open: Vec<GraphMember> = members
            .iter()
            .map(|one| GraphMember { is_open: worse.contains(&Some(one.text)), ..*one })
            .collect();
        let early = standings(&decide(&open, &known, &policy));
        for (early, last) in early.iter().zip(standings(&outcomes)) {
            prop_assert!(early.is_none() || *early == last, "{early:?} became {last:?}");
        }
    }

    #[test]
    fn a_bucket_names_the_pairs_of_its_first(
        states in prop::collection::vec((any::<bool>(), 0..20_u64), 1..20),
        most in 1..25_usize,
    ) {
        let policy = Policy::of(Profile::Web);
        let mut craft = Fingerprinter::new(&policy);
        let sketch = craft.fingerprint("one two three four five six seven").sketch.unwrap();
        let seats: Vec<BucketMember> = (0..).zip(&states).map(|(n, (is_live, witness))| {
            // A removed document looks for a better witness than the one it has; the first of all has none.
            let bound = if *is_live { rank(n) } else { rank((*witness).min(n)) };
            BucketMember { rank: rank(n), sketch: sketch.clone(), bound, is_live: *is_live, cluster: None }
        }).collect();
        let (pairs, open) = near_in_bucket(&seats, &policy, most);
        let live: Vec<Rank> = seats.iter().filter(|one| one.is_live).map(|one| one.rank).collect();
        let matters = |a: Rank, b: &BucketMember| a < b.rank && a < b.bound;
        let expected: Vec<(Rank, Rank)> = live.iter().take(most)
            .flat_map(|a| seats.iter().filter(move |b| matters(*a, b)).map(move |b| (*a, b.rank))).collect();
        prop_assert_eq!(pairs, expected);
        // Documents that were not compared with all that matter to them are open.
        let waits = |b: &&BucketMember| live.iter().skip(most).any(|a| matters(*a, b));
        prop_assert_eq!(open, seats.iter().filter(waits).map(|one| one.rank).collect::<Vec<_>>());
    }

    #[test]
    fn the_similar_pairs_of_a_bucket_are_those_of_all_its_pairs(
        texts in prop::collection::vec((prop::collection::vec(0..40_usize, 0..9), 0..3_u8, 0..60_u64), 2..60),
        threshold in 0.3..0.95_f64,
        most in 1..70_usize,
        is_transitive in any::<bool>(),
    ) {
        let mode = if is_transitive { DedupMode::Components } else { DedupMode::Witness };
        let policy = Policy::new(mode, threshold).unwrap();
        let (mut craft, mut overlaps) = (Fingerprinter::new(&policy), TextComparer::new(&policy));
        let texts: Vec<(String, bool, u64)> = texts.iter().map(|(slots, state, other)| {
            let word = |at: usize| if slots.contains(&at) { format!("own{at}x{}", slots.len()) } else { format!("stem{at}") };
            ((0..40).map(word).collect::<Vec<_>>().join(" "), *state > 0, *other)
        }).collect();
        // One in three is removed and looks for a better witness than it has, or is connected to another already.
        let mut clusters: Vec<Rank> = Vec::new();
        let seats: Vec<(BucketMember, &str)> = (0..).zip(&texts).map(|(n, (text, is_live, other))| {
            let known = (*other).min(n);
            let bound = if *is_live || is_transitive { rank(n) } else { rank(known) };
            let of_other = clusters.get(known as usize).copied().unwrap_or(rank(n));
            clusters.push(if *is_live { rank(n) } else { of_other });
            let cluster = clusters.last().copied().filter(|_| is_transitive);
            let sketch = craft.fingerprint(text).sketch.unwrap();
            (BucketMember { rank: rank(n), sketch, bound, is_live: *is_live || is_transitive, cluster }, text.as_str())
        }).collect();
        let (found, open) = similar_in_bucket(&seats, &policy, most);
        let plain: Vec<BucketMember> = seats.iter().map(|(seat, _)| seat.clone()).collect();
        let (near, waits) = near_in_bucket(&plain, &policy, most);
        prop_assert_eq!(open, waits);
        let text = |of: Rank| seats.iter().find(|(seat, _)| seat.rank == of).unwrap().1;
        let mut expected: Vec<Edge> = near.into_iter()
            .map(|(left, right)| Edge { left, right, overlap: overlaps.of(text(left), text(right)) })
            .filter(|edge| edge.overlap.reaches(threshold)).collect();
        expected.sort_unstable_by_key(|edge| (edge.right, edge.left));
        if is_transitive {
            let known = seats.iter().filter_map(|(seat, _)| Some((seat.cluster?, seat.rank)));
            let links = |edges: &[Edge]| {
                let new = edges.iter().map(|edge| (edge.left, edge.right));
                components(&known.clone().chain(new).collect::<Vec<_>>())
            };
            prop_assert_eq!(links(&found), links(&expected));
            let count = |links: Vec<(Rank, Rank)>| links.into_iter().map(|(_, root)| root).collect::<BTreeSet<Rank>>().len();
            prop_assert_eq!(found.len(), count(links(&[])) - count(links(&found)));
        } else {
            prop_assert_eq!(found, expected);
        }
    }
}

#[test]
fn documents_without_tokens_are_empty_where_similarity_counts() {
    let blank = GraphMember { tokens: 0, ..member(1, 0) };
    let of = |mode| {
        let policy = Policy { mode, ..Policy::of(Profile::Web) };
        standings(&decide(&[member(0, 0), blank], &[], &policy))
    };
    assert_eq!(of(DedupMode::Witness), [Some(Standing::Kept), Some(Standing::Empty)]);
    assert_eq!(of(DedupMode::Exact), [Some(Standing::Kept), Some(Standing::Near)]);
    assert_eq!(of(DedupMode::None), [Some(Standing::Kept), Some(Standing::Kept)]);
}
