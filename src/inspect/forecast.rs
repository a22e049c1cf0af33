//! What a corpus of a given size would need: bytes of each family, memory, hours, and how many corpora.
//!
//! Sizes are those of a corpus, multiplied; without a corpus those of the layout. Hours are figures of
//! docs/BENCHMARKS.md, since no commit stores how long it took.

use crate::inspect::info::{CorpusInfo, DiskInfo};
use model::named;
use model::{Error, ErrorKind, Hint, Policy, show};
use serde::Serialize;
use std::collections::BTreeMap;
use store::MemoryBudget;

/// Families whose rows do not become more with the documents.
const FIXED: [&str; 7] =
    ["meta", "sources", "tokenizers", "dictionaries", "suites", "suite_ngrams", "verdicts"];
/// The families of the band index. Runs become tables as a corpus grows, so their sizes say something together only.
const BANDS: [&str; 3] = ["bands", "bands_more", "band_runs"];
/// Measured share of English text and code that zstd leaves of it (docs/BENCHMARKS.md#on-disk).
const TEXT_SHARE: (u64, u64) = (3, 10);

/// CPU time of a document up to a hundred thousand of them, and what each tenfold adds to that of all: the two rows of
/// docs/BENCHMARKS.md#growth, less the time of their 700 bytes.
const DOCUMENT_SECONDS: f64 = 60e-6;
const TENFOLD_SECONDS: f64 = 83e-6;
const TENFOLD_FROM: f64 = 1e5;
/// CPU time of a byte of text and of a token, from `tldr` and `code` in docs/BENCHMARKS.md#ingest.
const BYTE_SECONDS: f64 = 7.5e-9;
const TOKEN_SECONDS: f64 = 50e-9;
/// The share of a document's time on the one thread that decides and commits: wall by CPU time of a million documents on
/// two cores (docs/BENCHMARKS.md#growth).
const ONE_THREAD: f64 = 0.6;
const CORES: [u32; 3] = [1, 2, 8];
const HOURS_ARE: &str = "an ingest of all into an empty corpus, by figures of two cores of an AMD EPYC (Zen 4); no commit stores its time, and beyond 1,000,000 documents none was measured";

/// Bytes of filters and index blocks that look-ups ask for a kept document, in tenths: of `bands` 40, of `exact` 3, of
/// `keys` 1.5.
const LOOKUP_TENTHS: u64 = 445;

/// What a corpus would need at another size.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Forecast {
    /// UTF-8 bytes of the texts of all documents.
    pub bytes: u64,
    /// Documents, kept or not.
    pub documents: u64,
    /// Documents kept, if the share of duplicates stays; more text of one kind has more of them.
    pub kept: u64,
    /// Tokens of kept documents, by tokenizer.
    pub tokens: BTreeMap<String, u64>,
    /// Bytes of each family that has any.
    pub disk: Vec<FamilyForecast>,
    /// Bytes of all families.
    pub disk_bytes: u64,
    /// What must fit into memory, and what happens otherwise.
    pub memory: Vec<MemoryNeed>,
    /// Hours of an ingest of all, by cores.
    pub hours: Vec<HoursForecast>,
    /// What the hours stand for.
    pub hours_are: &'static str,
    /// Corpora into which it should be cut, so that each has the filter of its band index in memory; 1 if it need not be.
    pub shards: u64,
    /// What the sizes follow from.
    pub by: String,
}

/// Bytes of one family, or of the three of the band index as `bands`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FamilyForecast {
    /// The family (docs/reference/format.md).
    pub family: &'static str,
    /// Bytes of its tables.
    pub bytes: u64,
    /// What it grows with.
    pub grows: FamilyGrowth,
}

/// What the size of a family follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FamilyGrowth {
    /// The documents.
    Documents,
    /// The distinct values of fields: at most as the documents.
    Values,
    /// Nothing that comes with documents.
    Nothing,
}

named!(FamilyGrowth { Documents = "documents", Values = "values, at most", Nothing = "nothing" });

impl FamilyGrowth {
    fn of(family: &str) -> Self {
        match family {
            "terms" => Self::Values,
            family if FIXED.contains(&family) => Self::Nothing,
            _ => Self::Documents,
        }
    }
}

/// Something that an ingest, or any reader, should have in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryNeed {
    /// What it is.
    pub what: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Bytes that it gets of `memory`.
    pub has: u64,
    /// What happens where it does not fit.
    pub otherwise: &'static str,
    /// The least `memory` in which it fits; none if no memory suffices in one corpus.
    pub memory: Option<u64>,
}

impl MemoryNeed {
    fn of(
        what: &'static str,
        bytes: u64,
        memory: u64,
        share: fn(MemoryBudget) -> u64,
        otherwise: &'static str,
    ) -> Self {
        let of = |memory| share(MemoryBudget::within(memory));
        let least = least(|memory| of(memory) >= bytes);
        Self { what, bytes, has: of(memory), otherwise, memory: least }
    }

    /// Whether it fits.
    #[must_use]
    pub const fn fits(&self) -> bool {
        self.bytes <= self.has
    }
}

/// The least memory, in steps of 64 MiB, that suffices. More of it never suffices less.
fn least(suffices: impl Fn(u64) -> bool) -> Option<u64> {
    const STEP: u64 = 64 << 20;
    let (mut low, mut high) = (0, 1_u64 << 24);
    if !suffices(high * STEP) {
        return None;
    }
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if suffices(middle * STEP) { high = middle } else { low = middle }
    }
    Some(high * STEP)
}

/// Hours on a number of cores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct HoursForecast {
    /// Cores that have no other work.
    pub cores: u32,
    /// Hours from the first record to the last commit.
    pub hours: f64,
    /// Whether one thread, which decides and commits, takes that long by itself: then more cores do not help.
    pub of_one_thread: bool,
}

/// What is multiplied, or follows from a layout.
struct CorpusSize {
    bytes: u64,
    documents: u64,
    kept: u64,
    tokens: BTreeMap<String, u64>,
}

/// What a corpus with `bytes` of text in all would need, if all of it were as what is stored.
///
/// # Errors
/// [`Error`] when the corpus has no text.
pub(crate) fn forecast(info: &CorpusInfo, bytes: u64, memory: u64) -> Result<Forecast, Error> {
    if info.bytes == 0 {
        let message = "there is no text in the corpus whose sizes a forecast could multiply";
        let hint = Hint::text("ingest some 100 MB first, or ask without a corpus")
            .with_command("corpusdb dedup explain --documents 250000000 --bytes-each 4kB");
        return Err(Error::of(ErrorKind::NotFound, message).with_hint(hint));
    }
    let scaled = |of: u64| scale(of, bytes, info.bytes);
    let tokens = info.tokenizers.iter().map(|it| (it.name.clone(), scaled(it.tokens)));
    let size = CorpusSize {
        bytes,
        documents: scaled(info.documents),
        kept: scaled(info.kept),
        tokens: tokens.collect(),
    };
    let mut disk: Vec<FamilyForecast> = Vec::new();
    for DiskInfo { family, bytes } in &info.disk {
        let grows = FamilyGrowth::of(family);
        let bytes = if grows == FamilyGrowth::Nothing { *bytes } else { scaled(*bytes) };
        match disk.iter_mut().find(|it| BANDS.contains(family) && it.family == BANDS[0]) {
            Some(bands) => bands.bytes = bands.bytes.saturating_add(bytes),
            None => disk.push(FamilyForecast { family, bytes, grows }),
        }
    }
    let by = format!(
        "the rates of {} with {} of text, times {}",
        show::count(info.documents, "document", "documents"),
        show::size(info.bytes),
        show::decimals(real(bytes) / real(info.bytes)),
    );
    Ok(of_size(size, disk, bands_of(&info.policy_settings), memory, by))
}

/// What documents that are all kept would need under a policy, without a corpus: of the families that dedup needs the
/// given bytes of a document, of texts a measured share, no token ids and no other fields.
pub(super) fn forecast_layout(
    policy: &Policy,
    families: &[(&'static str, f64)],
    (documents, bytes_each): (u64, u64),
    memory: u64,
) -> Forecast {
    let bytes = documents.saturating_mul(bytes_each);
    let (numerator, denominator) = TEXT_SHARE;
    let texts = scale(bytes, numerator, denominator);
    let family = |family, bytes| FamilyForecast { family, bytes, grows: FamilyGrowth::Documents };
    let mut disk = vec![family("text_pages", texts)];
    for (name, each) in families {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "bytes of a document are whole, few and positive"
        )]
        let each = each.round() as u64;
        disk.push(family(name, documents.saturating_mul(each)));
    }
    let size = CorpusSize { bytes, documents, kept: documents, tokens: BTreeMap::new() };
    let by = "the layout: all documents kept, texts at 0.3 of their bytes, no token ids, no other fields";
    of_size(size, disk, bands_of(policy), memory, by.to_owned())
}

/// Bands that a kept document has in the index.
const fn bands_of(policy: &Policy) -> u32 {
    if policy.mode.is_near() { policy.bands } else { 0 }
}

fn of_size(
    size: CorpusSize,
    mut disk: Vec<FamilyForecast>,
    bands: u32,
    memory: u64,
    by: String,
) -> Forecast {
    disk.retain(|family| family.bytes > 0);
    let CorpusSize { bytes, documents, kept, tokens } = size;
    let needs = needs(documents, kept, bands, memory);
    let filter = needs.first().filter(|_| bands > 0).map_or(0, |filter| filter.bytes);
    let most = MemoryBudget::within(u64::MAX).band_filter();
    Forecast {
        bytes,
        documents,
        kept,
        disk_bytes: disk.iter().map(|family| family.bytes).fold(0, u64::saturating_add),
        disk,
        memory: needs,
        hours: hours(documents, bytes, tokens.values().copied().fold(0, u64::saturating_add)),
        hours_are: HOURS_ARE,
        shards: filter.div_ceil(most).max(1),
        tokens,
        by,
    }
}

fn needs(documents: u64, kept: u64, bands: u32, memory: u64) -> Vec<MemoryNeed> {
    let filter = store::band_filter_bytes(kept.saturating_mul(u64::from(bands)));
    let mut needs = Vec::new();
    if bands > 0 {
        needs.push(MemoryNeed::of(
            "filter over the band index",
            filter,
            memory,
            MemoryBudget::band_filter,
            "an ingest reads the band index for every band of every document",
        ));
    }
    needs.push(MemoryNeed::of(
        "filters and index blocks of look-ups",
        scale(kept, LOOKUP_TENTHS, 10),
        memory,
        MemoryBudget::block_cache,
        "those of the bands, texts and keys looked up are read from disk again",
    ));
    needs.push(MemoryNeed::of(
        "bitmap of kept documents",
        documents.div_ceil(8),
        memory,
        MemoryBudget::query_bytes,
        "nothing gives way: a writer, and a reader that selects, hold it whole",
    ));
    needs
}

fn hours(documents: u64, bytes: u64, tokens: u64) -> Vec<HoursForecast> {
    let [documents, bytes, tokens] = [documents, bytes, tokens].map(real);
    let tenfold = (documents / TENFOLD_FROM).log10().max(0.0);
    let decided = documents * (DOCUMENT_SECONDS + TENFOLD_SECONDS * tenfold);
    let all = decided + bytes * BYTE_SECONDS + tokens * TOKEN_SECONDS;
    let on = |cores: u32| {
        let (spread, alone) = (all / f64::from(cores), decided * ONE_THREAD);
        HoursForecast { cores, hours: spread.max(alone) / 3600.0, of_one_thread: alone > spread }
    };
    CORES.map(on).to_vec()
}

/// `value * times / by`, exact: a corpus at its own size is what it is.
fn scale(value: u64, times: u64, by: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(times) / u128::from(by.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "hours and shares are shown with a few digits")]
const fn real(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scaling_is_exact_at_one_and_never_falls(value: u64, by in 1_u64.., times: u64) {
            prop_assert_eq!(scale(value, by, by), value);
            prop_assert!(scale(value, times, by) <= scale(value, times.saturating_add(1), by));
        }

        #[test]
        fn the_least_memory_suffices_and_a_step_less_does_not(bytes in 1_u64..1 << 45) {
            let share = MemoryBudget::band_filter;
            let of = |memory| share(MemoryBudget::within(memory));
            match least(|memory| of(memory) >= bytes) {
                Some(memory) => {
                    prop_assert!(of(memory) >= bytes);
                    let less = memory - (64 << 20);
                    prop_assert!(less == 0 || of(less) < bytes);
                }
                None => prop_assert!(of(u64::MAX) < bytes),
            }
        }
    }

    /// The rows of docs/BENCHMARKS.md#growth that the constants were taken from, and two that they were not.
    #[test]
    fn hours_are_those_of_the_benchmarks() {
        let cpu = |documents, bytes, tokens| hours(documents, bytes, tokens)[0].hours * 3600.0;
        let is_near = |found: f64, measured: f64, by: f64| {
            assert!((found / measured - 1.0).abs() < by, "{found} instead of {measured}");
        };
        is_near(cpu(100_000, 70_000_000, 0), 6.5, 0.05);
        is_near(cpu(1_000_000, 700_000_000, 0), 148.0, 0.05);
        is_near(cpu(11_766, 115_000_000, 53_919_176), 4.42, 0.10);
        is_near(cpu(38_404, 18_301_775, 9_259_823), 3.39, 0.20);
        let wall = hours(1_000_000, 700_000_000, 0)[1];
        is_near(wall.hours * 3600.0, 89.0, 0.05);
        assert!(wall.of_one_thread);
    }

    /// 1 TB of pages of 4 kB: the filter of 250 million documents is in no corpus, that of a quarter of them is.
    #[test]
    fn a_terabyte_of_pages_is_cut_into_shards() {
        let policy = Policy::of(model::Profile::Web);
        let of = |documents, memory| {
            forecast_layout(&policy, &[("bands", 480.0)], (documents, 4_000), memory)
        };
        let whole = of(250_000_000, 64 << 30);
        assert_eq!((whole.bytes, whole.shards), (1_000_000_000_000, 4));
        assert!(!whole.memory[0].fits() && whole.memory[0].memory.is_none());
        let part = of(62_500_000, 64 << 30);
        assert_eq!(part.shards, 1);
        assert!(part.memory[0].fits());
        let poor = of(62_500_000, 8 << 30);
        assert!(!poor.memory[0].fits());
        let given = of(62_500_000, poor.memory[0].memory.unwrap());
        assert!(given.memory[0].fits());
    }
}
