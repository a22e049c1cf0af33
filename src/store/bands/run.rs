//! A sorted run: the entries that one commit put into buckets of one generation, as one row of
//! `band_runs`, until they are folded into the families.
#![expect(clippy::big_endian_bytes, reason = "entries compare as their bytes do")]

use crate::model::{CommitSeq, Generation};
use crate::store::bytes::Cursor;
use crate::store::error::Malformed;
use xxhash_rust::xxh3::xxh3_64;

const FORMAT: u8 = 1;
/// Most entries of one row: 3.6 MB.
pub(super) const MOST: usize = 300_000;

/// Bucket and value, 6 bytes each, big-endian: of a first member, the document and in the lowest
/// bit whether there are more; of a further member, the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry([u8; 12]);

impl Entry {
    pub(super) fn new(bucket: u64, value: u64) -> Self {
        let [_, _, bucket @ ..] = bucket.to_be_bytes();
        let [_, _, value @ ..] = value.to_be_bytes();
        let mut bytes = [0; 12];
        for (to, from) in bytes.iter_mut().zip(bucket.into_iter().chain(value)) {
            *to = from;
        }
        Self(bytes)
    }

    pub(super) const fn bucket(self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    pub(super) const fn value(self) -> u64 {
        let [.., a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

/// One row of `band_runs`, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    pub(super) commit: CommitSeq,
    pub(super) part: u32,
    pub(super) generation: Generation,
    /// Digest of the entries of all commits before.
    pub(super) previous: u64,
    /// Digest with this run's.
    pub(super) chain: u64,
    /// First members, one a bucket, ascending; the value is `document << 1 | more`.
    pub(super) firsts: Vec<Entry>,
    /// Further members, ascending.
    pub(super) members: Vec<Entry>,
}

impl Run {
    pub(super) fn entries(&self) -> usize {
        self.firsts.len() + self.members.len()
    }

    /// The entries of one commit in one generation as runs of at most [`MOST`] entries, with their
    /// stored form. `previous` is the digest before, `part` the first part number.
    pub(super) fn cut(
        commit: CommitSeq,
        part: u32,
        generation: Generation,
        previous: u64,
        firsts: Vec<Entry>,
        members: Vec<Entry>,
    ) -> Vec<(Self, Vec<u8>)> {
        let pieces: Vec<(Vec<Entry>, Vec<Entry>)> = if firsts.len() + members.len() <= MOST {
            vec![(firsts, members)]
        } else {
            let heads = firsts.chunks(MOST).map(|chunk| (chunk.to_vec(), Vec::new()));
            heads.chain(members.chunks(MOST).map(|chunk| (Vec::new(), chunk.to_vec()))).collect()
        };
        let mut previous = previous;
        let mut cut = Vec::with_capacity(pieces.len());
        for (part, (firsts, members)) in (part..).zip(pieces) {
            let mut run = Self { commit, part, generation, previous, chain: 0, firsts, members };
            let bytes = run.encode();
            run.chain = xxh3_64(&bytes);
            previous = run.chain;
            cut.push((run, bytes));
        }
        cut
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let count = |entries: &[Entry]| u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let mut out = Vec::with_capacity(21 + 12 * self.entries());
        out.push(FORMAT);
        out.extend_from_slice(&self.generation.0.to_le_bytes());
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.extend_from_slice(&count(&self.firsts).to_le_bytes());
        out.extend_from_slice(&count(&self.members).to_le_bytes());
        for entry in self.firsts.iter().chain(&self.members) {
            out.extend_from_slice(&entry.0);
        }
        out
    }

    pub(in crate::store) fn decode(
        commit: CommitSeq,
        part: u32,
        bytes: &[u8],
    ) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT {
            return Err(Malformed::at(0, format!("run format {format}, not {FORMAT}")));
        }
        let generation = Generation(cursor.u32()?);
        let previous = cursor.u64()?;
        let (firsts, members) = (cursor.u32()?, cursor.u32()?);
        let firsts = entries(&mut cursor, firsts, |a, b| a.bucket() < b.bucket(), 41)?;
        let members = entries(&mut cursor, members, |a, b| a < b, 40)?;
        cursor.end()?;
        let chain = xxh3_64(bytes);
        Ok(Self { commit, part, generation, previous, chain, firsts, members })
    }
}

fn entries(
    cursor: &mut Cursor<'_>,
    count: u32,
    ascend: impl Fn(&Entry, &Entry) -> bool,
    bits: u32,
) -> Result<Vec<Entry>, Malformed> {
    let at = cursor.offset();
    let size = usize::try_from(u64::from(count) * 12).unwrap_or(usize::MAX);
    let (entries, _) = cursor.take(size)?.as_chunks::<12>();
    let entries: Vec<Entry> = entries.iter().map(|bytes| Entry(*bytes)).collect();
    if !entries.is_sorted_by(ascend) {
        return Err(Malformed::at(at, "entries are not ascending"));
    }
    if entries.iter().any(|entry| entry.value() >> bits != 0) {
        return Err(Malformed::at(at, "document id of more than 40 bits"));
    }
    Ok(entries)
}

/// Finds buckets in ascending entries; the buckets asked for must ascend too.
pub(super) struct Seeker<'r>(&'r [Entry]);

impl<'r> Seeker<'r> {
    pub(super) const fn new(entries: &'r [Entry]) -> Self {
        Self(entries)
    }

    /// The entries from the first of `bucket` or a later one on.
    ///
    /// Gallops, so that a dense question costs a step and a sparse one a logarithm.
    pub(super) fn seek(&mut self, bucket: u64) -> &'r [Entry] {
        let before = |at: usize| self.0.get(at).is_some_and(|entry| entry.bucket() < bucket);
        let mut low = 0;
        let mut step = 1;
        while before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let window = self.0.get(low..(low + step).min(self.0.len())).unwrap_or_default();
        let skip = low + window.partition_point(|entry| entry.bucket() < bucket);
        self.0 = self.0.get(skip..).unwrap_or_default();
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(firsts: &[(u64, u64)], members: &[(u64, u64)]) -> (Run, Vec<u8>) {
        let entries = |pairs: &[(u64, u64)]| {
            pairs.iter().map(|(bucket, value)| Entry::new(*bucket, *value)).collect()
        };
        let cut = Run::cut(CommitSeq(7), 0, Generation(2), 9, entries(firsts), entries(members));
        cut.into_iter().next().unwrap()
    }

    #[test]
    fn golden_bytes() {
        let (run, bytes) = run(&[(1 << 40 | 5, 258 << 1 | 1)], &[(1 << 40 | 5, 300)]);
        let mut expected = vec![1, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
        expected.extend([1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 2, 5]);
        expected.extend([1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 0x2c]);
        assert_eq!(bytes, expected);
        assert_eq!(Run::decode(CommitSeq(7), 0, &bytes), Ok(run));
    }

    #[test]
    fn a_large_commit_is_cut_and_chained() {
        let firsts: Vec<Entry> = (0..MOST as u64 + 5).map(|at| Entry::new(at, at << 1)).collect();
        let members = vec![Entry::new(3, 4)];
        let cut = Run::cut(CommitSeq(1), 0, Generation(0), 0, firsts.clone(), members.clone());
        assert_eq!(cut.len(), 3);
        assert!(cut.windows(2).all(|pair| pair[0].0.chain == pair[1].0.previous));
        assert!(cut.iter().all(|(_, bytes)| bytes.len() <= 4 << 20));
        let joined: Vec<Entry> = cut.iter().flat_map(|(run, _)| run.firsts.clone()).collect();
        assert!(joined == firsts && cut[2].0.members == members);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_run(bytes: Vec<u8>, at: prop::sample::Index, byte: u8) {
            if let Ok(run) = Run::decode(CommitSeq(1), 0, &bytes) {
                prop_assert_eq!(run.encode(), bytes);
            }
            let (_, mut good) = run(&[(5, 8), (6, 9)], &[(6, 7), (6, 8)]);
            let at = at.index(good.len());
            good[at] = byte;
            if let Ok(run) = Run::decode(CommitSeq(1), 0, &good) {
                prop_assert_eq!(run.encode(), good);
            }
        }

        #[test]
        fn seeking_finds_what_a_search_finds(
            mut held in prop::collection::vec(0_u64..300, 0..200),
            mut asked in prop::collection::vec(0_u64..300, 0..50),
        ) {
            held.sort_unstable();
            asked.sort_unstable();
            let entries: Vec<Entry> = held.iter().map(|bucket| Entry::new(*bucket, 0)).collect();
            let mut seeker = Seeker::new(&entries);
            for bucket in asked {
                let from = entries.partition_point(|entry| entry.bucket() < bucket);
                prop_assert_eq!(seeker.seek(bucket), &entries[from..]);
            }
        }
    }
}
