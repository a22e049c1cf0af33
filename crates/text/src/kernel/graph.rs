//! Decides which documents stay, given their similar pairs, by the rule of an ingest, and finds connected components.
//!
//! Documents of equal text have the same neighbours, so that the best-ranked of them decides for all: if it is kept, it
//! is the witness of the others; if not, its witness is theirs.

use crate::dedup::{DisjointSets, IndependentSet, MemberDecision, Overlap, Rank};
use model::{DedupMode, MatchKind, Policy, Standing};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// A document to be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphMember {
    /// Its rank, unique among the members.
    pub rank: Rank,
    /// The key under which documents of equal text meet ([`TextPrint::text`](super::TextPrint::text)).
    pub text: [u8; 16],
    /// Hash of the raw bytes.
    pub raw: [u8; 16],
    /// Tokens after normalisation.
    pub tokens: u32,
    /// Distinct shingles.
    pub shingles: u32,
    /// Whether there may be better-ranked candidates that it was not compared with.
    pub is_open: bool,
}

/// A pair whose texts were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// One document.
    pub left: Rank,
    /// The other.
    pub right: Rank,
    /// Their overlap, that of `left` first.
    pub overlap: Overlap,
}

/// What is known of the leader of a text, the best-ranked document that has it.
#[derive(Clone, Copy)]
enum LeaderDecision {
    Kept,
    /// The number of the kept leader, and the overlap with it if an edge has it.
    Removed(usize, Option<Overlap>),
    Unknown,
}

/// Leaders in rank order, the leader of each document, and the similar leaders of each leader.
struct DecisionGraph<'m> {
    leaders: Vec<&'m GraphMember>,
    /// The number of its leader, for each member; none for an empty document.
    led: Vec<Option<usize>>,
    /// Better-ranked neighbours of each leader, best first, with the overlap seen from the leader.
    better: Vec<Vec<(usize, Overlap)>>,
}

/// Decides members, given every pair of them that reaches the threshold (pairs that do not are skipped, but in mode
/// `lsh`, where every pair links). Edges that name documents which are not members are left out. The answers stand in
/// the order of the members.
#[must_use]
pub fn decide(members: &[GraphMember], edges: &[Edge], policy: &Policy) -> Vec<GraphDecision> {
    let graph = DecisionGraph::new(members, edges, policy);
    let decided = if policy.mode.is_transitive() { graph.connected() } else { graph.independent() };
    let answer =
        |(member, led): (&GraphMember, &Option<usize>)| graph.outcome(member, *led, &decided);
    members.iter().zip(&graph.led).map(answer).collect()
}

impl<'m> DecisionGraph<'m> {
    fn new(members: &'m [GraphMember], edges: &[Edge], policy: &Policy) -> Self {
        let is_near = policy.mode.is_near();
        let mut sorted: Vec<(usize, &GraphMember)> = members.iter().enumerate().collect();
        sorted.sort_unstable_by_key(|(_, member)| member.rank);
        let mut leaders: Vec<&GraphMember> = Vec::new();
        let mut led = vec![None; members.len()];
        let mut by_text = BTreeMap::new();
        let mut by_rank = BTreeMap::new();
        for (at, member) in sorted {
            if policy.compares_words() && member.tokens == 0 {
                continue;
            }
            let new = leaders.len();
            let leader = match policy.mode {
                DedupMode::None => new,
                _ => *by_text.entry(member.text).or_insert(new),
            };
            if leader == new {
                leaders.push(member);
            }
            by_rank.insert(member.rank, leader);
            if let Some(place) = led.get_mut(at) {
                *place = Some(leader);
            }
        }
        let mut better = vec![Vec::new(); leaders.len()];
        let counts =
            |edge: &&Edge| policy.mode == DedupMode::Lsh || edge.overlap.reaches(policy.threshold);
        for edge in edges.iter().filter(|edge| is_near && counts(edge)) {
            let ends = (by_rank.get(&edge.left), by_rank.get(&edge.right));
            let (Some(left), Some(right)) = ends else { continue };
            let (best, other, overlap) = match left < right {
                true => (*left, *right, edge.overlap.turned()),
                false => (*right, *left, edge.overlap),
            };
            if best != other
                && let Some(neighbours) = better.get_mut(other)
            {
                neighbours.push((best, overlap));
            }
        }
        better.iter_mut().for_each(|neighbours: &mut Vec<(usize, Overlap)>| {
            neighbours.sort_unstable_by_key(|(other, _)| *other);
        });
        Self { leaders, led, better }
    }

    /// The lexicographically first maximal independent set.
    fn independent(&self) -> Vec<LeaderDecision> {
        let mut set = IndependentSet::default();
        let one = |(leader, neighbours): (&&GraphMember, &Vec<(usize, Overlap)>)| {
            let similar = neighbours.iter().map(|neighbour| Ok::<_, Infallible>(*neighbour));
            let Ok(decision) = set.decide(leader.is_open, similar);
            match decision {
                MemberDecision::Kept => LeaderDecision::Kept,
                MemberDecision::Removed(other, overlap) => {
                    LeaderDecision::Removed(other, Some(overlap))
                }
                MemberDecision::Unknown => LeaderDecision::Unknown,
            }
        };
        self.leaders.iter().zip(&self.better).map(one).collect()
    }

    /// The best-ranked of every component.
    fn connected(&self) -> Vec<LeaderDecision> {
        let mut sets: DisjointSets<usize> = (0..self.leaders.len()).collect();
        for (leader, neighbours) in self.better.iter().enumerate() {
            neighbours.iter().for_each(|(other, _)| {
                sets.join(leader, *other);
            });
        }
        let one = |(leader, neighbours): (usize, &Vec<(usize, Overlap)>)| {
            let root = sets.least(leader).unwrap_or(leader);
            if root == leader {
                return LeaderDecision::Kept;
            }
            let edge = neighbours.iter().find(|(other, _)| *other == root);
            // An unverified link says nothing of an overlap.
            LeaderDecision::Removed(
                root,
                edge.map(|(_, overlap)| *overlap).filter(|one| one.left > 0),
            )
        };
        self.better.iter().enumerate().map(one).collect()
    }

    fn outcome(
        &self,
        member: &GraphMember,
        led: Option<usize>,
        decided: &[LeaderDecision],
    ) -> GraphDecision {
        let rank = member.rank;
        let Some(led) = led else {
            return GraphDecision { rank, standing: Some(Standing::Empty), witness: None };
        };
        let is_leader = self.leaders.get(led).is_some_and(|leader| leader.rank == rank);
        let (witness, overlap) = match decided.get(led) {
            Some(LeaderDecision::Kept) if is_leader => {
                return GraphDecision { rank, standing: Some(Standing::Kept), witness: None };
            }
            Some(LeaderDecision::Kept) => (led, Some(Overlap::whole(member.shingles))),
            Some(LeaderDecision::Removed(kept, overlap)) => (*kept, *overlap),
            Some(LeaderDecision::Unknown) | None => {
                return GraphDecision { rank, standing: None, witness: None };
            }
        };
        let Some(kept) = self.leaders.get(witness) else {
            return GraphDecision { rank, standing: None, witness: None };
        };
        let (standing, kind) = Standing::of_duplicate(kept.raw == member.raw);
        let witness = Witness { rank: kept.rank, kind, overlap };
        GraphDecision { rank, standing: Some(standing), witness: Some(witness) }
    }
}

/// What became of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphDecision {
    /// The document.
    pub rank: Rank,
    /// Its standing; none while candidates that it was not compared with may decide it.
    pub standing: Option<Standing>,
    /// What explains its removal.
    pub witness: Option<Witness>,
}

/// The kept document that explains a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The kept document.
    pub rank: Rank,
    /// How the two relate.
    pub kind: MatchKind,
    /// Their overlap, the removed document's shingles first; none where no edge tells it, which the transitive modes
    /// lead to.
    pub overlap: Option<Overlap>,
}

impl Witness {
    /// The similarity that is shown.
    #[must_use]
    pub fn jaccard(&self) -> Option<f64> {
        if self.kind == MatchKind::Exact {
            return Some(1.0);
        }
        self.overlap.map(Overlap::jaccard)
    }
}

impl GraphDecision {
    /// The document that names its cluster: itself when it is kept, else its witness.
    #[must_use]
    pub fn cluster(&self) -> Option<Rank> {
        match self.standing {
            Some(Standing::Kept) => Some(self.rank),
            _ => self.witness.map(|witness| witness.rank),
        }
    }
}

/// Every document that a link names, ascending, with the best-ranked one that it is connected to.
#[must_use]
pub fn components(links: &[(Rank, Rank)]) -> Vec<(Rank, Rank)> {
    let mut ranks: Vec<Rank> = links.iter().flat_map(|(a, b)| [*a, *b]).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let places: BTreeMap<Rank, usize> = ranks.iter().copied().zip(0..).collect();
    let mut sets: DisjointSets<Rank> = ranks.iter().copied().collect();
    for (a, b) in links {
        if let (Some(a), Some(b)) = (places.get(a), places.get(b)) {
            sets.join(*a, *b);
        }
    }
    let name = |(at, rank): (usize, &Rank)| (*rank, sets.least(at).unwrap_or(*rank));
    ranks.iter().enumerate().map(name).collect()
}
