//! The rule of mode `witness`: which of documents in rank order stay, given those that are similar to each.

use super::similarity::Overlap;

/// The lexicographically first maximal independent set, decided member by member in rank order: a member is kept unless
/// a kept one before it is similar.
#[derive(Clone, Debug, Default)]
pub struct IndependentSet(Vec<MemberState>);

/// What is known of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberState {
    Kept,
    Removed,
    Unknown,
}

/// What becomes of a member of an [`IndependentSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberDecision {
    /// It is kept.
    Kept,
    /// It is removed for the sake of this kept member, with the overlap of the two, its own shingles first.
    Removed(usize, Overlap),
    /// It is kept unless a member that is not known yet explains it.
    Unknown,
}

impl IndependentSet {
    /// Decides the next member. `similar` are members before it that are similar to it, the best-ranked first, each
    /// with the overlap seen from this one; nothing is asked of it beyond the first kept one. `is_open` says that there
    /// may be others.
    ///
    /// # Errors
    /// Those of `similar`.
    pub fn decide<E>(
        &mut self,
        is_open: bool,
        similar: impl IntoIterator<Item = Result<(usize, Overlap), E>>,
    ) -> Result<MemberDecision, E> {
        let mut decision = if is_open { MemberDecision::Unknown } else { MemberDecision::Kept };
        for one in similar {
            let (other, overlap) = one?;
            match self.0.get(other) {
                Some(MemberState::Kept) => {
                    decision = MemberDecision::Removed(other, overlap);
                    break;
                }
                Some(MemberState::Unknown) => decision = MemberDecision::Unknown,
                Some(MemberState::Removed) | None => {}
            }
        }
        self.0.push(match decision {
            MemberDecision::Kept => MemberState::Kept,
            MemberDecision::Removed(..) => MemberState::Removed,
            MemberDecision::Unknown => MemberState::Unknown,
        });
        Ok(decision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    #[test]
    fn the_best_kept_one_explains_a_removal() {
        let mut set = IndependentSet::default();
        let overlap = |shared| Overlap { shared, left: 10, right: 10 };
        let seen = |other: usize| overlap(u32::try_from(other).unwrap());
        let mut decide = |is_open, similar: &[usize]| {
            let similar = similar.iter().map(|one| Ok::<_, Infallible>((*one, seen(*one))));
            set.decide(is_open, similar).unwrap()
        };
        assert_eq!(decide(false, &[]), MemberDecision::Kept);
        assert_eq!(decide(false, &[0]), MemberDecision::Removed(0, overlap(0)));
        assert_eq!(decide(false, &[1]), MemberDecision::Kept, "a removed one explains nothing");
        assert_eq!(decide(true, &[1, 2]), MemberDecision::Removed(2, overlap(2)));
        assert_eq!(decide(true, &[1]), MemberDecision::Unknown);
        assert_eq!(decide(false, &[4]), MemberDecision::Unknown, "it may be kept");
        assert_eq!(decide(false, &[4, 2]), MemberDecision::Removed(2, overlap(2)));
    }

    #[test]
    fn nobody_is_asked_behind_the_witness() {
        let mut set = IndependentSet::default();
        let whole = Overlap::whole(3);
        assert_eq!(
            set.decide(false, std::iter::empty::<Result<_, ()>>()),
            Ok(MemberDecision::Kept)
        );
        let mut asked = 0;
        let similar = [Ok((0, whole)), Err("asked")].into_iter().inspect(|_| asked += 1);
        assert_eq!(set.decide(false, similar), Ok(MemberDecision::Removed(0, whole)));
        assert_eq!(asked, 1);
    }
}
