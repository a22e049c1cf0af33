//! Computes what is compared of one text (hashes, sketch, buckets) and the text's rank in the keep order.

use crate::dedup::{BandHash, Fingerprinter, Rank, Ranker, Sketch, bands};
use model::{DedupMode, DedupScope, DocId, Policy, text_hash};
use xxhash_rust::xxh3::xxh3_64;

/// What dedup has to know of one text of a source: a function of the two and the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPrint {
    /// Hash of the raw bytes.
    pub raw: [u8; 16],
    /// The key under which documents of equal text meet: of the raw bytes in mode `exact`, else, and of prompts, of the
    /// normalised text; with the source in scope per source.
    pub text: [u8; 16],
    /// Tokens after normalisation; a text without any is empty.
    pub tokens: u32,
    /// Distinct shingles.
    pub shingles: u32,
    /// Characters of the text.
    pub chars: u64,
    /// None for a text of fewer tokens than a shingle, which matches only by its text.
    pub sketch: Option<Sketch>,
    /// The buckets in which similar documents meet, by band; none without a sketch, or where mode asks for none.
    pub bands: Vec<BandHash>,
}

/// Makes prints under one policy. Holds scratch memory; have one per thread.
#[derive(Clone, Debug)]
pub struct TextPrinter {
    policy: Policy,
    ranker: Ranker,
    craft: Fingerprinter,
}

impl TextPrinter {
    /// For texts under this policy. If it compares turns or prompts, give these.
    #[must_use]
    pub fn new(policy: &Policy) -> Self {
        let ranker = Ranker::new(&policy.keep);
        Self { policy: policy.clone(), ranker, craft: Fingerprinter::new(policy) }
    }

    /// The print of a text of a source.
    pub fn print(&mut self, text: &str, source: &str) -> TextPrint {
        let found = self.craft.fingerprint(text);
        let raw = text_hash(text);
        let mode = self.policy.mode;
        let is_raw = mode == DedupMode::Exact && !self.policy.compares_words();
        let key = if is_raw { raw } else { found.normalised };
        let mut bands = match &found.sketch {
            Some(sketch) if mode.is_near() => bands(sketch, &self.policy),
            _ => Vec::new(),
        };
        if self.policy.scope == DedupScope::PerSource {
            // Sources have no numbers here: their names keep documents apart.
            let mix = xxh3_64(source.as_bytes()) >> 24;
            bands.iter_mut().for_each(|band| *band ^= mix);
        }
        TextPrint {
            raw,
            text: self.scoped(key, source),
            tokens: found.tokens,
            shingles: u32::try_from(found.shingles.len()).unwrap_or(u32::MAX),
            chars: text.chars().count() as u64,
            sketch: found.sketch,
            bands,
        }
    }

    fn scoped(&self, key: [u8; 16], source: &str) -> [u8; 16] {
        match self.policy.scope {
            DedupScope::Global => key,
            DedupScope::PerSource => {
                let named = xxh3_64(source.as_bytes()).to_le_bytes();
                let mut key = key;
                key.iter_mut().zip(named).for_each(|(byte, part)| *byte ^= part);
                key
            }
        }
    }

    /// The rank of a document of a source: `number` is its value in the field that the keep order looks at, in the
    /// integer form of columns, and `document` the place in which it came.
    #[must_use]
    pub fn rank(
        &self,
        print: &TextPrint,
        source: &str,
        number: Option<i64>,
        document: DocId,
    ) -> Rank {
        let place = self.ranker.place_of_source(source);
        self.ranker.rank(document, &print.raw, print.chars, place, number)
    }
}
