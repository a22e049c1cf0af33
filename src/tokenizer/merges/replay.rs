//! How many pairs each merge joined: the length of the text for every size of the vocabulary.

use super::counted_words::CountedWords;
use super::table::{MergeScratch, MergeTable};
use rayon::prelude::*;

/// CountedWords per piece of parallel work, at least.
const PIECE: usize = 4096;

/// The pairs that each merge joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeReplay {
    groups: usize,
    /// By merge, then by group.
    joined: Vec<u64>,
}

impl MergeReplay {
    /// Pairs joined when the merge at `merge` came into the list, per group; none beyond the last.
    #[must_use]
    pub fn joined(&self, merge: usize) -> Option<&[u64]> {
        let start = merge.checked_mul(self.groups)?;
        self.joined.get(start..start + self.groups)
    }
}

/// Applies the merges to all words and tells how many pairs each joined, as often as the words count.
///
/// Exact for every size V at once, also where a token is made by more than one merge. An encoder with
/// the first V merges goes the same way as one with all of them, until no merge below V is left; so
/// each joined pair belongs to the highest rank that its word had needed by then.
///
/// Memory: 8 bytes a merge, group and thread. The result does not depend on the number of threads.
#[must_use]
pub fn replay(words: &CountedWords, table: &MergeTable) -> MergeReplay {
    let groups = words.groups();
    let size = table.len() * groups;
    let piece = words.len().div_ceil(4 * rayon::current_num_threads().max(1)).max(PIECE);
    let starts: Vec<usize> = (0..words.len()).step_by(piece).collect();
    let joined = starts
        .into_par_iter()
        .map(|start| {
            let mut joined = vec![0_u64; size];
            let (mut symbols, mut scratch) = (Vec::new(), MergeScratch::default());
            for index in start..(start + piece).min(words.len()) {
                let Some((word, counts)) = words.word(index) else { continue };
                symbols.clear();
                symbols.extend_from_slice(word);
                let mut highest = 0;
                table.apply(&mut symbols, &mut scratch, |rank| {
                    highest = highest.max(rank as usize);
                    let row = joined.get_mut(highest * groups..).unwrap_or_default();
                    for (total, count) in row.iter_mut().zip(counts) {
                        *total = total.wrapping_add(*count);
                    }
                });
            }
            joined
        })
        .reduce_with(|mut all, part| {
            for (total, more) in all.iter_mut().zip(part) {
                *total = total.wrapping_add(more);
            }
            all
        });
    MergeReplay { groups, joined: joined.unwrap_or_else(|| vec![0; size]) }
}
