//! What is known of the band index as a whole: one row of `band_runs`, rewritten by every commit
//! that adds entries and by every folding.

use crate::model::{CommitSeq, Generation};
use crate::store::error::Malformed;
use crate::store::rows::bytes::Cursor;
use crate::store::rows::keys::BandRunKey;

const FORMAT: u8 = 1;

/// Counters of the band index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BandCounters {
    /// Digest of all entries ever written, in order: two stores that differ in one differ in it.
    pub(in crate::store) chain: u64,
    /// The last commit whose runs were folded.
    pub(in crate::store) folded: u64,
    /// By generation, ascending: buckets, and one more than the highest band.
    pub(in crate::store) generations: Vec<(Generation, Extent)>,
}

/// How large one generation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::store) struct Extent {
    /// Buckets that have a member: exact since format 2, an estimate before.
    pub(in crate::store) buckets: u64,
    /// One more than the highest band.
    pub(in crate::store) bands: u32,
}

impl BandCounters {
    /// The key of the row: no commit is numbered 0.
    pub(in crate::store) const KEY: BandRunKey = BandRunKey { commit: CommitSeq(0), part: 0 };

    pub(in crate::store) fn extent(&self, generation: Generation) -> Extent {
        match self.generations.binary_search_by_key(&generation, |(id, _)| *id) {
            Ok(at) => self.generations.get(at).map(|(_, extent)| *extent).unwrap_or_default(),
            Err(_) => Extent::default(),
        }
    }

    /// Takes in that a generation has so many more buckets, or fewer.
    pub(in crate::store) fn add(&mut self, generation: Generation, gained: i64, bands: u32) {
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
    pub(in crate::store) fn buckets(&self) -> u64 {
        self.generations.iter().map(|(_, extent)| extent.buckets).sum()
    }

    pub(in crate::store) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.chain.to_le_bytes());
        out.extend_from_slice(&self.folded.to_le_bytes());
        for (generation, extent) in &self.generations {
            out.extend_from_slice(&generation.0.to_le_bytes());
            out.extend_from_slice(&extent.buckets.to_le_bytes());
            out.extend_from_slice(&extent.bands.to_le_bytes());
        }
        out
    }

    pub(in crate::store) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let format = cursor.u8()?;
        if format != FORMAT {
            return Err(Malformed::at(0, format!("format {format}, not {FORMAT}")));
        }
        let (chain, folded) = (cursor.u64()?, cursor.u64()?);
        let mut generations: Vec<(Generation, Extent)> = Vec::new();
        while cursor.offset() < bytes.len() {
            let at = cursor.offset();
            let generation = Generation(cursor.u32()?);
            if generations.last().is_some_and(|(last, _)| *last >= generation) {
                return Err(Malformed::at(at, "generations are not ascending"));
            }
            let extent = Extent { buckets: cursor.u64()?, bands: cursor.u32()? };
            generations.push((generation, extent));
        }
        Ok(Self { chain, folded, generations })
    }
}

#[cfg(test)]
mod tests {
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
