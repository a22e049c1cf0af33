//! Which pair to merge next, so that few tokens are needed between the pieces and the whole.

/// What a token would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinState {
    /// It is there.
    Exists,
    /// It would have to be made.
    Missing,
    /// It must not be made.
    Forbidden,
}

/// More pieces than this are not planned for: the work is cubic.
pub(super) const MOST: usize = 64;

/// Costs above any real one.
const NEVER: u32 = u32::MAX / 4;

/// The first pair (left index) of a binary tree over `length` pieces that makes the fewest tokens
/// which are not there; among equals, the tree that joins the last piece last. None if every tree
/// makes a forbidden one. `standing(start, end)` tells of the pieces start..end joined, at least two.
pub(super) fn cheapest_pair(
    length: usize,
    mut standing: impl FnMut(usize, usize) -> JoinState,
) -> Option<usize> {
    if !(2..=MOST).contains(&length) {
        return None;
    }
    // best[start][end]: (cost, split) of making one token of start..end.
    let mut best = vec![vec![(0_u32, 0_usize); length + 1]; length];
    for size in 2..=length {
        for start in 0..=length - size {
            let end = start + size;
            let own = match standing(start, end) {
                JoinState::Exists => 0,
                JoinState::Missing => 1,
                JoinState::Forbidden => NEVER,
            };
            let cost = |from: usize, to: usize| -> u32 {
                best.get(from).and_then(|row| row.get(to)).map_or(NEVER, |(cost, _)| *cost)
            };
            let chosen = (start + 1..end)
                .rev()
                .map(|split| (cost(start, split) + cost(split, end), split))
                .min_by_key(|(cost, _)| *cost);
            let (cost, split) = chosen.unwrap_or((NEVER, start + 1));
            if let Some(slot) = best.get_mut(start).and_then(|row| row.get_mut(end)) {
                *slot = ((cost + own).min(NEVER), split);
            }
        }
    }
    // Down to a node over two pieces, the left one first.
    let (mut start, mut end) = (0, length);
    let node = |start: usize, end: usize| best.get(start).and_then(|row| row.get(end)).copied();
    node(start, end).filter(|(cost, _)| *cost < NEVER)?;
    while end - start > 2 {
        let (_, split) = node(start, end)?;
        if split - start > 1 {
            end = split;
        } else {
            start = split;
        }
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins until one piece is left; answers the tokens made that were not there.
    fn made(pieces: &[&str], known: &[&str], forbidden: &[&str]) -> Option<Vec<String>> {
        let mut pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let mut made = Vec::new();
        while pieces.len() > 1 {
            let at = cheapest_pair(pieces.len(), |start, end| {
                let whole = pieces[start..end].concat();
                if forbidden.contains(&whole.as_str()) {
                    JoinState::Forbidden
                } else if known.contains(&whole.as_str()) || made.contains(&whole) {
                    JoinState::Exists
                } else {
                    JoinState::Missing
                }
            })?;
            let whole = pieces[at..at + 2].concat();
            if !known.contains(&whole.as_str()) && !made.contains(&whole) {
                made.push(whole.clone());
            }
            pieces.splice(at..at + 2, [whole]);
        }
        Some(made)
    }

    #[test]
    fn the_tree_with_the_fewest_new_tokens_is_chosen() {
        assert_eq!(made(&["a", "b"], &[], &[]).unwrap(), ["ab"]);
        assert_eq!(made(&["a", "b", "c", "d"], &[], &[]).unwrap(), ["ab", "abc", "abcd"]);
        assert_eq!(made(&["a", "b", "c", "d"], &["cd"], &[]).unwrap(), ["ab", "abcd"]);
        assert_eq!(made(&["a", "b", "c", "d"], &["bc", "bcd"], &[]).unwrap(), ["abcd"]);
        assert_eq!(made(&["a", "b", "c"], &[], &["ab"]).unwrap(), ["bc", "abc"]);
        assert_eq!(made(&["a", "b", "c"], &["ab"], &["abc"]), None);
    }
}
