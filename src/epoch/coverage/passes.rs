//! The documents that a plan pins: for each source its strata, and what each pass over a stratum holds, as stored.
//!
//! Passes that hold the same are stored as one [`PassRun`]. The first pass of an extended plan begins with what its
//! parent left, and later ones hold only the documents whose passes are not used up.
//!
//! A plan that the first stored form can express is written in that form, so that its bytes and hash stay.

use super::{CopyLayers, Coverage, TokenSpans};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::blocks_and_slots;
use crate::epoch::pack::Segment;
use model::DocId;
use roaring::RoaringTreemap;
use std::borrow::Cow;
use std::io::Read;

/// Each run is one pass, but the last one, which is all that follow.
const FORM_OF_SINGLE_PASSES: u8 = 1;
/// Each run says how many passes it is.
const FORM_OF_RUNS: u8 = 2;
/// Bytes of a stored segment.
const SEGMENT_BYTES: usize = 20;

/// The documents of one source of an epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedSource {
    /// Its name in the epoch.
    pub name: String,
    /// Classes of documents, easiest first; one unless the order is a curriculum. All have as many runs of as many
    /// passes.
    pub strata: Vec<PinnedStratum>,
}

/// A class of documents that is scheduled by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PinnedStratum {
    /// What the passes hold, in their order; the last run serves all that follow.
    pub runs: Vec<PassRun>,
}

/// Passes one after the other that hold the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PassRun {
    /// How many passes; of the last run of a stratum, 1.
    pub times: u32,
    /// The documents and tokens that each of these passes holds.
    pub coverage: Coverage,
}

impl PassRun {
    /// One pass, or all that follow.
    #[must_use]
    pub const fn once(coverage: Coverage) -> Self {
        Self { times: 1, coverage }
    }
}

impl PinnedSource {
    /// Sets of documents that are packed by themselves.
    pub(in crate::epoch) fn sets(&self) -> usize {
        self.strata.iter().map(|stratum| stratum.runs.len()).sum()
    }

    /// What each run holds, of all strata.
    pub(in crate::epoch) fn coverages(&self) -> impl Iterator<Item = &Coverage> {
        self.strata.iter().flat_map(|stratum| &stratum.runs).map(|run| &run.coverage)
    }

    /// Documents of any pass, each once.
    #[must_use]
    pub fn documents(&self) -> RoaringTreemap {
        self.coverages().fold(RoaringTreemap::new(), |all, of| all | of.documents())
    }

    /// Runs of passes that hold the same.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.strata.first().map_or(0, |stratum| stratum.runs.len())
    }

    /// Passes of each run but the last, which serves all that follow.
    pub(in crate::epoch) fn times(&self) -> Vec<u32> {
        let runs = self.strata.first().map_or(&[][..], |stratum| &stratum.runs);
        let but_last = runs.split_last().map_or(&[][..], |(_, before)| before);
        but_last.iter().map(|run| run.times).collect()
    }

    /// The run that a pass belongs to.
    #[must_use]
    pub fn run_of(&self, pass: u32) -> usize {
        run_of(&self.times(), pass)
    }

    /// What a pass holds, one coverage a stratum.
    pub(in crate::epoch) fn strata_of(&self, pass: u32) -> impl Iterator<Item = &Coverage> {
        let run = self.run_of(pass);
        self.strata.iter().filter_map(move |stratum| Some(&stratum.runs.get(run)?.coverage))
    }

    /// What a pass holds; that of a single stratum is not copied.
    #[must_use]
    pub fn pass(&self, pass: u32) -> Cow<'_, Coverage> {
        let mut strata = self.strata_of(pass);
        let mut all = strata.next().map_or_else(Cow::default, Cow::Borrowed);
        for of in strata {
            all.to_mut().add(of);
        }
        all
    }

    /// A digest of everything pinned, whatever the shape of its bitmaps: BLAKE3 over counts and values in order,
    /// little-endian. How many passes a run is counts where it is more than one.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        let count = |hasher: &mut blake3::Hasher, n: usize| {
            hasher.update(&(n as u64).to_le_bytes());
        };
        count(&mut hasher, self.strata.len());
        for stratum in &self.strata {
            count(&mut hasher, stratum.runs.len());
            for PassRun { times, coverage } in &stratum.runs {
                if *times > 1 {
                    hasher.update(b"times");
                    hasher.update(&times.to_le_bytes());
                }
                count(&mut hasher, coverage.whole.layers().len());
                for layer in coverage.whole.layers() {
                    hasher.update(&layer.len().to_le_bytes());
                    blocks_and_slots(layer, |bytes| {
                        hasher.update(bytes);
                    });
                }
                count(&mut hasher, coverage.parts.segments().len());
                for segment in coverage.parts.segments() {
                    hasher.update(&segment_bytes(segment));
                }
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The stored form: its number, then counts u32 and, for each run, its passes (u32, in form 2 alone), the layers of
    /// its whole documents (length u64 and a roaring treemap) and its segments (document u64, offset, length and
    /// document length u32), little-endian. Form 1 is that of runs of one pass.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when a bitmap cannot be written to memory.
    pub fn encode(&self) -> Result<Vec<u8>, EpochError> {
        let mut runs = self.strata.iter().flat_map(|stratum| &stratum.runs);
        let has_runs = runs.any(|run| run.times != 1);
        let mut out = vec![if has_runs { FORM_OF_RUNS } else { FORM_OF_SINGLE_PASSES }];
        put_count(&mut out, self.strata.len())?;
        for stratum in &self.strata {
            put_count(&mut out, stratum.runs.len())?;
            for PassRun { times, coverage } in &stratum.runs {
                if has_runs {
                    out.extend_from_slice(&times.to_le_bytes());
                }
                put_count(&mut out, coverage.whole.layers().len())?;
                for layer in coverage.whole.layers() {
                    out.extend_from_slice(&(layer.serialized_size() as u64).to_le_bytes());
                    layer
                        .serialize_into(&mut out)
                        .map_err(|error| EpochError::bug(format!("writing a bitmap: {error}")))?;
                }
                put_count(&mut out, coverage.parts.segments().len())?;
                for segment in coverage.parts.segments() {
                    out.extend_from_slice(&segment_bytes(segment));
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
        let [form] = take::<1>(from)?;
        if !matches!(form, FORM_OF_SINGLE_PASSES | FORM_OF_RUNS) {
            return Err(std::io::Error::other(format!("unknown form {form}")));
        }
        let mut source = Self { name: name.to_owned(), strata: Vec::new() };
        for _ in 0..count(from)? {
            let mut stratum = PinnedStratum::default();
            for _ in 0..count(from)? {
                let times = if form == FORM_OF_RUNS { count(from)? } else { 1 };
                let mut layers = Vec::new();
                for _ in 0..count(from)? {
                    let length = usize::try_from(u64::from_le_bytes(take(from)?));
                    let part = length.ok().and_then(|length| from.split_at_checked(length));
                    let (part, rest) = part.ok_or(std::io::ErrorKind::UnexpectedEof)?;
                    layers.push(RoaringTreemap::deserialize_from(part)?);
                    *from = rest;
                }
                let mut segments = Vec::new();
                for _ in 0..count(from)? {
                    segments.push(segment_of(take(from)?));
                }
                let coverage =
                    Coverage { whole: CopyLayers::new(layers), parts: TokenSpans::new(segments) };
                stratum.runs.push(PassRun { times, coverage });
            }
            source.strata.push(stratum);
        }
        let times = source.times();
        let alike = |stratum: &PinnedStratum| {
            let own = stratum.runs.iter().take(times.len()).map(|run| run.times);
            stratum.runs.len() == source.runs() && own.eq(times.iter().copied())
        };
        if times.contains(&0) || !source.strata.iter().all(alike) {
            return Err(std::io::Error::other("its strata have other passes than one another"));
        }
        if from.is_empty() { Ok(source) } else { Err(std::io::Error::other("bytes after the end")) }
    }
}

/// The run that a pass belongs to, where `times` are the passes of each run but the last.
pub(in crate::epoch) fn run_of(times: &[u32], pass: u32) -> usize {
    let mut end = 0_u32;
    let ends = times.iter().map(|times| {
        end = end.saturating_add(*times);
        end
    });
    ends.take_while(|end| *end <= pass).count()
}

fn segment_bytes(segment: &Segment) -> [u8; SEGMENT_BYTES] {
    let mut bytes = [0; SEGMENT_BYTES];
    let fields = [segment.offset, segment.length, segment.document_length];
    let values = segment.document.0.to_le_bytes().into_iter();
    let values = values.chain(fields.into_iter().flat_map(u32::to_le_bytes));
    bytes.iter_mut().zip(values).for_each(|(byte, value)| *byte = value);
    bytes
}

fn segment_of(bytes: [u8; SEGMENT_BYTES]) -> Segment {
    let number = |from: usize| {
        let mut wide = [0; 8];
        wide.iter_mut().zip(bytes.iter().skip(from).take(4)).for_each(|(to, from)| *to = *from);
        u64::from_le_bytes(wide)
    };
    // Four bytes each: the casts keep every bit.
    Segment {
        document: DocId(number(0) | number(4) << 32),
        offset: number(8) as u32,
        length: number(12) as u32,
        document_length: number(16) as u32,
    }
}

fn put_count(out: &mut Vec<u8>, count: usize) -> Result<(), EpochError> {
    let count = u32::try_from(count).map_err(|_| EpochError::bug("over 2^32 segments"))?;
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
        let segment = |document, offset| Segment {
            document: DocId(document),
            offset,
            length: 70_000,
            document_length: 900_000,
        };
        let coverage = Coverage {
            whole: CopyLayers::new(vec![
                (0..100_000).chain([1 << 40]).collect(),
                [5, 1 << 40].into_iter().collect(),
            ]),
            parts: TokenSpans::new(vec![segment(7, 0), segment((1 << 40) + 3, 65_536)]),
        };
        let runs = vec![PassRun::once(coverage), PassRun::once(Coverage::default())];
        let empty = runs.iter().map(|_| PassRun::once(Coverage::default())).collect();
        let strata = vec![PinnedStratum { runs }, PinnedStratum { runs: empty }];
        PinnedSource { name: "web".to_owned(), strata }
    }

    #[test]
    fn the_stored_form_comes_back_and_every_cut_is_an_error() {
        for times in [1, 7] {
            let mut source = source();
            source.strata.iter_mut().for_each(|stratum| stratum.runs[0].times = times);
            let bytes = source.encode().unwrap();
            assert_eq!(u32::from(bytes[0]), if times == 1 { 1 } else { 2 });
            assert_eq!(PinnedSource::decode("web", &bytes).unwrap(), source);
            for cut in [0, 1, 4, 9, 20, bytes.len() - 1] {
                assert!(PinnedSource::decode("web", &bytes[..cut]).is_err(), "{cut}");
            }
            assert_eq!(source.documents().len(), 100_002);
        }
    }

    #[test]
    fn the_digest_sees_every_change_and_no_shape() {
        let plain = source();
        let mut shaped = source();
        let mut layers = shaped.strata[0].runs[0].coverage.whole.layers().to_vec();
        layers[0].optimize();
        shaped.strata[0].runs[0].coverage.whole = CopyLayers::new(layers);
        assert_eq!(shaped.digest(), plain.digest());
        let mut segments = shaped.strata[0].runs[0].coverage.parts.segments().to_vec();
        segments[1].length += 1;
        shaped.strata[0].runs[0].coverage.parts = TokenSpans::new(segments);
        assert_ne!(shaped.digest(), plain.digest());
        shaped = source();
        shaped.strata[0].runs.pop();
        assert_ne!(shaped.digest(), plain.digest());
        shaped = source();
        shaped.strata[0].runs[0].times = 2;
        assert_ne!(shaped.digest(), plain.digest());
    }

    #[test]
    fn passes_lie_in_their_runs() {
        let of = |pass| run_of(&[1, 3, 1], pass);
        assert_eq!([0, 1, 3, 4, 5, u32::MAX].map(of), [0, 1, 1, 2, 3, 3]);
        assert_eq!(run_of(&[], 9), 0);
    }
}
