//! The documents that one pass over a stratum holds, and what follows from them for every kind of rows.

use crate::epoch::coverage::{Coverage, PinnedSource};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader, blocks_of};
use crate::epoch::pack::{LengthHistogram, Segment};
use crate::epoch::permutation::{Permutation, Purpose};
use crate::epoch::plan::RowRules;
use crate::epoch::recipe::MixUnit;
use model::DocId;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// Where a pool stands among what a source pins.
pub struct PassKey {
    pub pinned: Arc<PinnedSource>,
    pub stratum: usize,
    pub run: usize,
}

/// The documents of a pool.
pub struct PassDocuments {
    pub rules: RowRules,
    pub lengths: LengthReader,
    pub trained: LossReader,
    pub at: PassKey,
    /// Name that keys its permutations.
    pub key: String,
    /// Whole documents by effective length.
    pub histogram: LengthHistogram,
    /// Tokens in the rows of a pass; with `concat` only tokens of documents, without an EOS where a row cuts one.
    pub packed_tokens: u64,
    /// Tokens at the end of a pass that fill no row.
    pub unfilled_tokens: u64,
}

impl PassKey {
    /// What the plan pins there.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when it pins nothing.
    pub fn coverage(&self) -> Result<&Coverage, EpochError> {
        let stratum = self.pinned.strata.get(self.stratum);
        stratum
            .and_then(|stratum| stratum.runs.get(self.run))
            .map(|run| &run.coverage)
            .ok_or_else(|| EpochError::bug("a pass that is not pinned"))
    }
}

impl PassDocuments {
    /// The documents at `at`, counted: `histogram` has the whole ones by length.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when the plan pins nothing there.
    pub fn new(
        rules: &RowRules,
        lengths: &LengthReader,
        at: PassKey,
        trained: &LossReader,
        histogram: LengthHistogram,
    ) -> Result<Self, EpochError> {
        let parts = at.coverage()?.parts.segments();
        let fragments = parts.iter().map(|part| rules.policy.part_tokens(part));
        let all_tokens = rules.policy.packed_tokens(&histogram) + fragments.sum::<u64>();
        let unfilled_tokens = rules.policy.partial(all_tokens);
        let key = match at.stratum {
            0 => rules.name.to_string(),
            // No name of a source holds a zero byte.
            stratum => format!("{}\0{stratum}", rules.name),
        };
        let (rules, lengths, trained) = (rules.clone(), lengths.clone(), trained.clone());
        let packed_tokens = all_tokens - unfilled_tokens;
        Ok(Self { rules, lengths, trained, at, key, histogram, packed_tokens, unfilled_tokens })
    }

    /// The keyed permutation of `0..n` that a pass uses for a purpose.
    pub fn permutation(&self, n: u64, pass: u32, purpose: Purpose, class: u64) -> Permutation {
        Permutation::new(n, self.rules.seed, &self.key, pass.into(), purpose, class)
    }

    /// Places that its documents take up in rows, at least.
    pub fn places(&self) -> u64 {
        let policy = &self.rules.policy;
        let slot = |tokens: u64| tokens.next_multiple_of(policy.multiple.into());
        let whole = self.histogram.iter();
        let whole: u64 =
            whole.map(|(length, count)| slot(policy.row_tokens(*length)) * count).sum();
        let parts = self.at.coverage().map(|of| of.parts.segments()).unwrap_or_default();
        whole + parts.iter().map(|part| slot(policy.part_tokens(part))).sum::<u64>()
    }

    /// What documents give in a block, as the policy leaves it: ascending by document and offset.
    ///
    /// # Errors
    /// As [`Lengths::of`].
    pub fn parts(&self, block: u64) -> Result<Vec<Segment>, EpochError> {
        let coverage = self.at.coverage()?;
        let mut parts = Vec::new();
        for layer in coverage.whole.layers() {
            for (slot, length) in self.lengths.of(layer, block)? {
                let packed = self.rules.policy.packed(length);
                if packed > 0 {
                    let document = DocId::at(block, slot);
                    parts.push(Segment {
                        document,
                        offset: 0,
                        length: packed,
                        document_length: length,
                    });
                }
            }
        }
        let segments = coverage.parts.segments();
        let from = segments.partition_point(|part| part.document.block() < block);
        let of_block = segments.iter().skip(from);
        parts.extend(of_block.take_while(|part| part.document.block() == block));
        // Stable, though equals are the same: it merges the layers, each of which ascends.
        parts.sort();
        Ok(parts)
    }

    /// Whether any of the `documents` has packed tokens: few blocks are read where one has.
    ///
    /// # Errors
    /// As [`LengthReader::of`].
    pub fn packs_any(&self, documents: &RoaringTreemap) -> Result<bool, EpochError> {
        for (block, _) in blocks_of(documents) {
            let lengths = self.lengths.of(documents, block)?;
            if lengths.iter().any(|(_, length)| self.rules.policy.packed(*length) > 0) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Packed tokens of these documents, each once, without EOS at cuts.
    ///
    /// # Errors
    /// As [`LengthReader::count`].
    pub fn tokens_of(&self, documents: &RoaringTreemap) -> Result<u64, EpochError> {
        let mut histogram = LengthHistogram::new();
        self.lengths.count(documents, &mut histogram)?;
        let packed = |length: u32| u64::from(self.rules.policy.packed(length));
        Ok(histogram.into_iter().map(|(length, count)| packed(length) * count).sum())
    }

    /// The `documents` that have packed tokens.
    ///
    /// # Errors
    /// As [`LengthReader::of`].
    pub fn packed_of(&self, documents: &RoaringTreemap) -> Result<RoaringTreemap, EpochError> {
        let mut packed = RoaringTreemap::new();
        for (block, _) in blocks_of(documents) {
            let lengths = self.lengths.of(documents, block)?;
            let any = lengths.iter().filter(|(_, length)| self.rules.policy.packed(*length) > 0);
            packed.extend(any.map(|(slot, _)| DocId::at(block, *slot).0));
        }
        Ok(packed)
    }

    /// What a row of `tokens` tokens counts in the mix's unit; `segments` finds what is in it, where that decides.
    ///
    /// # Errors
    /// [`EpochError::Store`]; those of `segments`.
    pub fn amount(
        &self,
        tokens: u32,
        segments: impl FnOnce() -> Result<Vec<Segment>, EpochError>,
    ) -> Result<u64, EpochError> {
        match self.rules.unit {
            MixUnit::Tokens => Ok(tokens.into()),
            MixUnit::Rows => Ok(1),
            MixUnit::Documents => {
                Ok(segments()?.iter().filter(|segment| segment.offset == 0).count() as u64)
            }
            MixUnit::LossTokens => {
                segments()?.iter().map(|segment| self.trained.count(segment)).sum()
            }
        }
    }

    /// The error of a row that the pool does not have.
    pub fn no_row(&self, index: u64) -> EpochError {
        EpochError::bug(format!("source `{}` has no row {index}", self.rules.name))
    }
}
