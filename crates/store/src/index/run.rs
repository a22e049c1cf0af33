//! The family `band_runs`: sorted runs of bucket entries until they are folded, and one row of counters of the index.
//!
//! A run has the entries that one commit put into buckets of one generation.
#![expect(clippy::big_endian_bytes, reason = "entries compare as their bytes do")]

use crate::bytes::cursor::ByteCursor;
use crate::bytes::key::BandRunKey;
use crate::database::family::store_family;
use crate::error::DecodeError;
use model::invariant::{at, part};
use model::{CommitSeq, DocId, Generation};
use xxhash_rust::xxh3::xxh3_64;

/// The format of a run without leaving members, and of one with some.
const FORMAT: u8 = 1;
const WITH_LEAVERS: u8 = 2;
/// The value of a first member's entry that says that the bucket has no member any more.
const VACANT: u64 = 1 << 41;
/// In the value of a further member's entry: it is no longer a member.
const LEFT: u64 = 1 << 40;
/// Most entries of one row: 3.6 MB.
pub(crate) const MOST: usize = 300_000;

/// Bucket and value, 6 bytes each, big-endian: of a first member, the document and in the lowest
/// bit whether there are more, or that there is none; of a further member, the document and in bit 40
/// whether it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexEntry([u8; 12]);

impl IndexEntry {
    pub(crate) fn new(bucket: u64, value: u64) -> Self {
        let [_, _, bucket @ ..] = bucket.to_be_bytes();
        let [_, _, value @ ..] = value.to_be_bytes();
        let mut bytes = [0; 12];
        for (to, from) in bytes.iter_mut().zip(bucket.into_iter().chain(value)) {
            *to = from;
        }
        Self(bytes)
    }

    /// What a commit says of a bucket's first member; none says that the bucket is vacant.
    pub(crate) fn of_first(bucket: u64, first: Option<FirstMember>) -> Self {
        Self::new(bucket, first.map_or(VACANT, |(first, more)| first.0 << 1 | u64::from(more)))
    }

    /// The first member; none of a vacant bucket.
    pub(crate) const fn first(self) -> Option<FirstMember> {
        let value = self.value();
        if value == VACANT { None } else { Some((DocId(value >> 1), value & 1 == 1)) }
    }

    /// What a commit says of a further member: it joined, or it left.
    pub(crate) fn of_member(bucket: u64, document: DocId, left: bool) -> Self {
        Self::new(bucket, document.0 | if left { LEFT } else { 0 })
    }

    /// The further member, and whether it left.
    pub(crate) const fn member(self) -> (DocId, bool) {
        let value = self.value();
        (DocId(value & !LEFT), value & LEFT != 0)
    }

    pub(crate) const fn bucket(self) -> u64 {
        let [a, b, c, d, e, f, ..] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    const fn value(self) -> u64 {
        let [.., a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

/// First member of a bucket, and whether it is marked as having more.
pub(crate) type FirstMember = (DocId, bool);

/// One row of `band_runs`, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRun {
    pub(crate) commit: CommitSeq,
    pub(crate) part: u32,
    pub(crate) generation: Generation,
    /// Digest of the entries of all commits before.
    pub(crate) previous: u64,
    /// Digest with this run's.
    pub(crate) chain: u64,
    /// First members, one a bucket, ascending.
    pub(crate) firsts: Vec<IndexEntry>,
    /// Further members that joined or left, ascending.
    pub(crate) members: Vec<IndexEntry>,
}

impl IndexRun {
    pub(crate) fn entries(&self) -> usize {
        self.firsts.len() + self.members.len()
    }

    /// The entries of one commit in one generation as runs of at most [`MOST`] entries, with their
    /// stored form. `previous` is the digest before, `part` the first part number.
    pub(crate) fn cut(
        commit: CommitSeq,
        part: u32,
        generation: Generation,
        previous: u64,
        firsts: Vec<IndexEntry>,
        members: Vec<IndexEntry>,
    ) -> Vec<(Self, Vec<u8>)> {
        let pieces: Vec<(Vec<IndexEntry>, Vec<IndexEntry>)> = if firsts.len() + members.len()
            <= MOST
        {
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

    fn has_leavers(&self) -> bool {
        self.firsts.iter().any(|entry| entry.value() == VACANT)
            || self.members.iter().any(|entry| entry.value() & LEFT != 0)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let count = |entries: &[IndexEntry]| u32::try_from(entries.len()).unwrap_or(u32::MAX);
        let mut out = Vec::with_capacity(21 + 12 * self.entries());
        out.push(if self.has_leavers() { WITH_LEAVERS } else { FORMAT });
        out.extend_from_slice(&self.generation.0.to_le_bytes());
        out.extend_from_slice(&self.previous.to_le_bytes());
        out.extend_from_slice(&count(&self.firsts).to_le_bytes());
        out.extend_from_slice(&count(&self.members).to_le_bytes());
        for entry in self.firsts.iter().chain(&self.members) {
            out.extend_from_slice(&entry.0);
        }
        out
    }

    pub(crate) fn decode(commit: CommitSeq, part: u32, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT && format != WITH_LEAVERS {
            let what = format!("run format {format}, not {FORMAT} or {WITH_LEAVERS}");
            return Err(DecodeError::at(0, what));
        }
        let generation = Generation(cursor.u32()?);
        let previous = cursor.u64()?;
        let (firsts, members) = (cursor.u32()?, cursor.u32()?);
        let ascend = |a: &IndexEntry, b: &IndexEntry| a.bucket() < b.bucket();
        let is_first = |value: u64| value >> 41 == 0 || value == VACANT;
        let firsts = entries(&mut cursor, firsts, ascend, is_first)?;
        let members = entries(&mut cursor, members, |a, b| a < b, |value: u64| value >> 41 == 0)?;
        cursor.end()?;
        let chain = xxh3_64(bytes);
        let run = Self { commit, part, generation, previous, chain, firsts, members };
        if run.has_leavers() != (format == WITH_LEAVERS) {
            return Err(DecodeError::at(0, "the format does not say whether somebody leaves"));
        }
        Ok(run)
    }
}

fn entries(
    cursor: &mut ByteCursor<'_>,
    count: u32,
    ascend: impl Fn(&IndexEntry, &IndexEntry) -> bool,
    is_right: impl Fn(u64) -> bool,
) -> Result<Vec<IndexEntry>, DecodeError> {
    let at = cursor.offset();
    let size = usize::try_from(u64::from(count) * 12).unwrap_or(usize::MAX);
    let (entries, _) = cursor.take(size)?.as_chunks::<12>();
    let entries: Vec<IndexEntry> = entries.iter().map(|bytes| IndexEntry(*bytes)).collect();
    if !entries.is_sorted_by(ascend) {
        return Err(DecodeError::at(at, "entries are not ascending"));
    }
    if !entries.iter().all(|entry| is_right(entry.value())) {
        return Err(DecodeError::at(at, "document id of more than 40 bits"));
    }
    Ok(entries)
}

/// Finds buckets in ascending entries; the buckets asked for must ascend too.
pub(crate) struct IndexRunCursor<'r>(&'r [IndexEntry]);

impl<'r> IndexRunCursor<'r> {
    pub(crate) const fn new(entries: &'r [IndexEntry]) -> Self {
        Self(entries)
    }

    /// The entries from the first of `bucket` or a later one on.
    ///
    /// Gallops, so that a dense question costs a step and a sparse one a logarithm.
    pub(crate) fn seek(&mut self, bucket: u64) -> &'r [IndexEntry] {
        let before = |at: usize| self.0.get(at).is_some_and(|entry| entry.bucket() < bucket);
        let mut low = 0;
        let mut step = 1;
        while before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let window = part(self.0, low..(low + step).min(self.0.len()));
        let skip = low + window.partition_point(|entry| entry.bucket() < bucket);
        self.0 = part(self.0, skip..);
        self.0
    }
}

const COUNTERS_FORMAT: u8 = 1;

/// Counters of the band index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BandCounters {
    /// Digest of all entries ever written, in order: two stores that differ in one differ in it.
    pub(crate) chain: u64,
    /// The last commit whose runs were folded.
    pub(crate) folded: u64,
    /// By generation, ascending: buckets, and one more than the highest band.
    pub(crate) generations: Vec<(Generation, Extent)>,
}

/// How large one generation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Buckets that have a member: exact since format 2, an estimate before.
    pub(crate) buckets: u64,
    /// One more than the highest band.
    pub(crate) bands: u32,
}

impl BandCounters {
    /// The key of the row: no commit is numbered 0.
    pub(crate) const KEY: BandRunKey = BandRunKey { commit: CommitSeq(0), part: 0 };

    pub(crate) fn extent(&self, generation: Generation) -> Extent {
        match self.generations.binary_search_by_key(&generation, |(id, _)| *id) {
            Ok(place) => at(&self.generations, place).1,
            Err(_) => Extent::default(),
        }
    }

    /// Adds `gained` buckets to the count of a generation, or takes some off.
    pub(crate) fn add(&mut self, generation: Generation, gained: i64, bands: u32) {
        let at = match self.generations.binary_search_by_key(&generation, |(id, _)| *id) {
            Ok(at) => at,
            Err(at) => {
                self.generations.insert(at, (generation, Extent::default()));
                at
            }
        };
        if let Some((_, extent)) = self.generations.get_mut(at) {
            extent.buckets = extent.buckets.saturating_add_signed(gained);
            extent.bands = extent.bands.max(bands);
        }
    }

    /// Buckets of all generations.
    pub(crate) fn buckets(&self) -> u64 {
        self.generations.iter().map(|(_, extent)| extent.buckets).sum()
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = vec![COUNTERS_FORMAT];
        out.extend_from_slice(&self.chain.to_le_bytes());
        out.extend_from_slice(&self.folded.to_le_bytes());
        for (generation, extent) in &self.generations {
            out.extend_from_slice(&generation.0.to_le_bytes());
            out.extend_from_slice(&extent.buckets.to_le_bytes());
            out.extend_from_slice(&extent.bands.to_le_bytes());
        }
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let format = cursor.u8()?;
        if format != COUNTERS_FORMAT {
            return Err(DecodeError::at(0, format!("format {format}, not {COUNTERS_FORMAT}")));
        }
        let (chain, folded) = (cursor.u64()?, cursor.u64()?);
        let mut generations: Vec<(Generation, Extent)> = Vec::new();
        while cursor.offset() < bytes.len() {
            let at = cursor.offset();
            let generation = Generation(cursor.u32()?);
            if generations.last().is_some_and(|(last, _)| *last >= generation) {
                return Err(DecodeError::at(at, "generations are not ascending"));
            }
            let extent = Extent { buckets: cursor.u64()?, bands: cursor.u32()? };
            generations.push((generation, extent));
        }
        Ok(Self { chain, folded, generations })
    }
}

store_family! {
    /// Entries of large commits, until they are folded into `bands` and `bands_more`; and counters of the index.
    BandRuns = "band_runs", DensePacked,
    BandRunKey, "commit u64, part u32"
    => {
        /// What is known of the index as a whole.
        RunCounters = "counts of the band index", (): () [BandRunKey { commit: CommitSeq(0), part: 0 }]
        => BandCounters, |(), bytes| BandCounters::decode(bytes);
        /// The entries of a commit.
        IndexRuns = "band run", (commit, part): (CommitSeq, u32) [BandRunKey { commit, part }] if commit != CommitSeq(0)
        => IndexRun, |(commit, part), bytes| IndexRun::decode(*commit, *part, bytes);
    }
    "run: hand-packed, see below; commit 0: counters"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(firsts: &[(u64, u64)], members: &[(u64, u64)]) -> (IndexRun, Vec<u8>) {
        let entries = |pairs: &[(u64, u64)]| {
            pairs.iter().map(|(bucket, value)| IndexEntry::new(*bucket, *value)).collect()
        };
        let cut =
            IndexRun::cut(CommitSeq(7), 0, Generation(2), 9, entries(firsts), entries(members));
        cut.into_iter().next().unwrap()
    }

    #[test]
    fn golden_bytes() {
        let (run, bytes) = run(&[(1 << 40 | 5, 258 << 1 | 1)], &[(1 << 40 | 5, 300)]);
        let mut expected = vec![1, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0];
        expected.extend([1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 2, 5]);
        expected.extend([1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 1, 0x2c]);
        assert_eq!(bytes, expected);
        assert_eq!(IndexRun::decode(CommitSeq(7), 0, &bytes), Ok(run));
    }

    #[test]
    fn golden_bytes_of_a_run_in_which_members_leave() {
        let firsts =
            vec![IndexEntry::of_first(3, None), IndexEntry::of_first(4, Some((DocId(9), true)))];
        let members = vec![
            IndexEntry::of_member(4, DocId(8), false),
            IndexEntry::of_member(4, DocId(7), true),
        ];
        let cut = IndexRun::cut(CommitSeq(7), 0, Generation(2), 9, firsts, members);
        let (run, bytes) = cut.into_iter().next().unwrap();
        let mut expected = vec![2, 2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        expected.extend([0, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 0]);
        expected.extend([0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 19]);
        expected.extend([0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8]);
        expected.extend([0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 7]);
        assert_eq!(bytes, expected);
        assert_eq!(run.firsts[0].first(), None);
        assert_eq!(run.firsts[1].first(), Some((DocId(9), true)));
        assert_eq!(run.members[0].member(), (DocId(8), false));
        assert_eq!(run.members[1].member(), (DocId(7), true));
        assert_eq!(IndexRun::decode(CommitSeq(7), 0, &bytes), Ok(run));
        expected[0] = 1;
        assert!(
            IndexRun::decode(CommitSeq(7), 0, &expected).is_err(),
            "an older format has no leavers"
        );
    }

    #[test]
    fn a_large_commit_is_cut_and_chained() {
        let firsts: Vec<IndexEntry> =
            (0..MOST as u64 + 5).map(|at| IndexEntry::new(at, at << 1)).collect();
        let members = vec![IndexEntry::new(3, 4)];
        let cut = IndexRun::cut(CommitSeq(1), 0, Generation(0), 0, firsts.clone(), members.clone());
        assert_eq!(cut.len(), 3);
        assert!(cut.windows(2).all(|pair| pair[0].0.chain == pair[1].0.previous));
        assert!(cut.iter().all(|(_, bytes)| bytes.len() <= 4 << 20));
        let joined: Vec<IndexEntry> = cut.iter().flat_map(|(run, _)| run.firsts.clone()).collect();
        assert!(joined == firsts && cut[2].0.members == members);
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_run(bytes: Vec<u8>, at: prop::sample::Index, byte: u8) {
            if let Ok(run) = IndexRun::decode(CommitSeq(1), 0, &bytes) {
                prop_assert_eq!(run.encode(), bytes);
            }
            let (_, mut good) = run(&[(5, 8), (6, 9)], &[(6, 7), (6, 8)]);
            let at = at.index(good.len());
            good[at] = byte;
            if let Ok(run) = IndexRun::decode(CommitSeq(1), 0, &good) {
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
            let entries: Vec<IndexEntry> = held.iter().map(|bucket| IndexEntry::new(*bucket, 0)).collect();
            let mut seeker = IndexRunCursor::new(&entries);
            for bucket in asked {
                let from = entries.partition_point(|entry| entry.bucket() < bucket);
                prop_assert_eq!(seeker.seek(bucket), &entries[from..]);
            }
        }
    }
}

#[cfg(test)]
mod counters_tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let mut counts = BandCounters { chain: 258, folded: 3, ..BandCounters::default() };
        counts.add(Generation(1), 4, 32);
        counts.add(Generation(1), 1, 8);
        let mut expected = vec![1, 2, 1, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([1, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0]);
        assert_eq!(counts.encode(), expected);
        assert_eq!(BandCounters::decode(&expected), Ok(counts));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_counts(mut bytes: Vec<u8>) {
            if let Some(first) = bytes.first_mut() {
                *first = FORMAT;
            }
            if let Ok(counts) = BandCounters::decode(&bytes) {
                prop_assert_eq!(counts.encode(), bytes);
            }
        }
    }
}
