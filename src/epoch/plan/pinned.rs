//! The documents a plan pins: for each source, its strata, what each pass over them holds, and the
//! form in which that is stored.
//!
//! A pass over a stratum draws from a [`PinnedPool`]: whole documents, as often as layers hold them,
//! and fragments of others. The first pass may differ from the others (an extended plan begins with
//! what its parent left).

use crate::epoch::error::EpochError;
use crate::epoch::lengths::blocks_and_slots;
use crate::epoch::pack::Fragment;
use crate::model::DocId;
use roaring::RoaringTreemap;
use std::io::Read;

const FORM: u8 = 1;
/// Bytes of a stored fragment.
const FRAGMENT_BYTES: usize = 20;

/// The documents of one source of an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedSource {
    /// Its name in the epoch.
    pub name: String,
    /// Classes of documents, easiest first; one unless the order is a curriculum.
    pub strata: Vec<PinnedStratum>,
}

/// A class of documents that is scheduled by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedStratum {
    /// What the passes hold: pass `p` the pool `p`, the last one serving all that follow.
    pub pools: Vec<PinnedPool>,
}

/// The documents that one pass holds, whole and in parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedPool {
    /// Whole documents: layer `k` has those that come more than `k` times.
    pub layers: Vec<RoaringTreemap>,
    /// Parts of documents, ascending by document and offset.
    pub fragments: Vec<Fragment>,
}

impl PinnedSource {
    /// Sets of documents that are packed by themselves.
    pub(in crate::epoch) fn sets(&self) -> usize {
        self.strata.iter().map(|stratum| stratum.pools.len()).sum()
    }

    /// Documents of any pass, each once.
    #[must_use]
    pub fn documents(&self) -> RoaringTreemap {
        let mut all = RoaringTreemap::new();
        for pool in self.strata.iter().flat_map(|stratum| &stratum.pools) {
            for layer in &pool.layers {
                all |= layer;
            }
            all.extend(pool.fragments.iter().map(|fragment| fragment.document.0));
        }
        all
    }

    /// The pools that a pass draws from, one a stratum.
    pub(in crate::epoch) fn pools_of(&self, pass: u32) -> impl Iterator<Item = &PinnedPool> {
        self.strata.iter().filter_map(move |stratum| {
            stratum.pools.get((pass as usize).min(stratum.pools.len().saturating_sub(1)))
        })
    }

    /// A digest of everything pinned, whatever the shape of its bitmaps: BLAKE3 over counts and values
    /// in order, little-endian.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let count = |hasher: &mut blake3::Hasher, n: usize| {
            hasher.update(&(n as u64).to_le_bytes());
        };
        count(&mut hasher, self.strata.len());
        for stratum in &self.strata {
            count(&mut hasher, stratum.pools.len());
            for pool in &stratum.pools {
                count(&mut hasher, pool.layers.len());
                for layer in &pool.layers {
                    hasher.update(&layer.len().to_le_bytes());
                    blocks_and_slots(layer, |bytes| {
                        hasher.update(bytes);
                    });
                }
                count(&mut hasher, pool.fragments.len());
                for fragment in &pool.fragments {
                    hasher.update(&fragment_bytes(fragment));
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The stored form: counts u32 and, for each pool, its layers (length u64 and a roaring treemap) and
    /// its fragments (document u64, offset, length and document length u32), little-endian.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when a bitmap cannot be written to memory.
    pub fn encode(&self) -> Result<Vec<u8>, EpochError> {
        let mut out = vec![FORM];
        put_count(&mut out, self.strata.len())?;
        for stratum in &self.strata {
            put_count(&mut out, stratum.pools.len())?;
            for pool in &stratum.pools {
                put_count(&mut out, pool.layers.len())?;
                for layer in &pool.layers {
                    out.extend_from_slice(&(layer.serialized_size() as u64).to_le_bytes());
                    layer
                        .serialize_into(&mut out)
                        .map_err(|error| EpochError::bug(format!("writing a bitmap: {error}")))?;
                }
                put_count(&mut out, pool.fragments.len())?;
                for fragment in &pool.fragments {
                    out.extend_from_slice(&fragment_bytes(fragment));
                }
            }
        }
        Ok(out)
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// [`EpochError::Plan`] for bytes that are none.
    pub fn decode(name: &str, bytes: &[u8]) -> Result<Self, EpochError> {
        Self::read(name, bytes).map_err(|why| {
            EpochError::Plan(format!("the documents of source `{name}` cannot be read: {why}"))
        })
    }

    fn read(name: &str, mut bytes: &[u8]) -> std::io::Result<Self> {
        let from = &mut bytes;
        let form = take::<1>(from)?;
        if form != [FORM] {
            return Err(std::io::Error::other(format!("unknown form {form:?}")));
        }
        let mut source = Self { name: name.to_owned(), strata: Vec::new() };
        for _ in 0..count(from)? {
            let mut stratum = PinnedStratum::default();
            for _ in 0..count(from)? {
                let mut pool = PinnedPool::default();
                for _ in 0..count(from)? {
                    let length = usize::try_from(u64::from_le_bytes(take(from)?));
                    let part = length.ok().and_then(|length| from.split_at_checked(length));
                    let (part, rest) = part.ok_or(std::io::ErrorKind::UnexpectedEof)?;
                    pool.layers.push(RoaringTreemap::deserialize_from(part)?);
                    *from = rest;
                }
                for _ in 0..count(from)? {
                    pool.fragments.push(fragment_of(take(from)?));
                }
                stratum.pools.push(pool);
            }
            source.strata.push(stratum);
        }
        if from.is_empty() { Ok(source) } else { Err(std::io::Error::other("bytes after the end")) }
    }
}

fn fragment_bytes(fragment: &Fragment) -> [u8; FRAGMENT_BYTES] {
    let mut bytes = [0; FRAGMENT_BYTES];
    let fields = [fragment.offset, fragment.length, fragment.document_length];
    let values = fragment.document.0.to_le_bytes().into_iter();
    let values = values.chain(fields.into_iter().flat_map(u32::to_le_bytes));
    bytes.iter_mut().zip(values).for_each(|(byte, value)| *byte = value);
    bytes
}

fn fragment_of(bytes: [u8; FRAGMENT_BYTES]) -> Fragment {
    let number = |from: usize| {
        let mut wide = [0; 8];
        wide.iter_mut().zip(bytes.iter().skip(from).take(4)).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(wide)
    };
    // Four bytes each: the casts keep every bit.
    Fragment {
        document: DocId(number(0) | number(4) << 32),
        offset: number(8) as u32,
        length: number(12) as u32,
        document_length: number(16) as u32,
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<(), EpochError> {
    let count = u32::try_from(count).map_err(|_| EpochError::bug("over 2^32 fragments"))?;
    out.extend_from_slice(&count.to_le_bytes());
    Ok(())
}

fn take<const N: usize>(from: &mut &[u8]) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn count(from: &mut &[u8]) -> std::io::Result<u32> {
    Ok(u32::from_le_bytes(take(from)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> PinnedSource {
        let fragment = |document, offset| Fragment {
            document: DocId(document),
            offset,
            length: 70_000,
            document_length: 900_000,
        };
        let pool = PinnedPool {
            layers: vec![(0..100_000).collect(), [5, 1 << 40].into_iter().collect()],
            fragments: vec![fragment(7, 0), fragment((1 << 40) + 3, 65_536)],
        };
        let stratum = PinnedStratum { pools: vec![pool.clone(), PinnedPool::default()] };
        PinnedSource { name: "web".to_owned(), strata: vec![stratum, PinnedStratum::default()] }
    }

    #[test]
    fn the_stored_form_comes_back_and_every_cut_is_an_error() {
        let source = source();
        let bytes = source.encode().unwrap();
        assert_eq!(PinnedSource::decode("web", &bytes).unwrap(), source);
        for cut in [0, 1, 4, 9, 20, bytes.len() - 1] {
            assert!(PinnedSource::decode("web", &bytes[..cut]).is_err(), "{cut}");
        }
        assert_eq!(source.documents().len(), 100_002);
    }

    #[test]
    fn the_digest_sees_every_change_and_no_shape() {
        let plain = source();
        let mut shaped = source();
        shaped.strata[0].pools[0].layers[0].optimize();
        assert_eq!(shaped.digest(), plain.digest());
        shaped.strata[0].pools[0].fragments[1].length += 1;
        assert_ne!(shaped.digest(), plain.digest());
        shaped = source();
        shaped.strata[0].pools.pop();
        assert_ne!(shaped.digest(), plain.digest());
    }
}
