//! The rows of one source: pass after pass, each a pure function of (source, pass, row).
//!
//! A source is one stratum, or several under a curriculum. `pass_rows` packs what one pass over a stratum holds and
//! finds what is in a row; `pass` goes through the rows of a stratum, `source` through those of the source, and both say
//! where they stand in a few numbers from which they continue. `given_lengths` packs documents of no source at all.

mod given_lengths;
mod pass;
mod pass_rows;
mod source;

pub use given_lengths::{SegmentArrays, pack_lengths};
pub(super) use pass::PassPosition;
pub(super) use source::{SourceCursor, SourcePosition, strata_table};

use crate::epoch::coverage::{Coverage, PinnedSource, run_of};
use crate::epoch::error::EpochError;
use crate::epoch::lengths::{LengthReader, LossReader};
use crate::epoch::mix::Fluid;
use crate::epoch::pack::{LengthHistogram, PackItems, PackPolicy, Segment, without_repeated};
use crate::epoch::plan::{LaterPasses, RowRules};
use crate::epoch::recipe::{MixUnit, PackKind};
use crate::epoch::torch::OrderStep;
use model::TokenizerId;
use pass_rows::PassRows;
use roaring::RoaringTreemap;
use std::sync::Arc;

/// The most passes whose rows are counted, where each pass has another number.
const PASSES_WALKED: u32 = 64;

/// A source opened to give its rows.
pub(super) struct SourceRows {
    rules: RowRules,
    pinned: Arc<PinnedSource>,
    /// Passes of each run of passes but the last, which serves all that follow. Where each pass has lengths of its own,
    /// it is a run.
    times: Vec<u32>,
    /// By stratum, by run.
    strata: Vec<Vec<Arc<PassRows>>>,
    /// The schedule of the strata, by run; empty with one stratum.
    schedules: Vec<Arc<Fluid>>,
}

/// A row of a run, named by where it is in its source; [`SourceRows::segments`] finds what is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowRef {
    /// Index of its source in the plan.
    pub source: usize,
    /// The pass it belongs to.
    pub pass: u32,
    /// Its real tokens, those repeated apart.
    pub tokens: u32,
    /// Tokens at its beginning that the row before has too.
    pub repeated: u32,
    /// What it counts in the mix's unit.
    pub amount: u64,
    stratum: u16,
    place: RowContent,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RowContent {
    /// Position among the rows of its pass.
    Packed(u64),
    /// What is in it.
    Cut(Vec<Segment>),
}

/// What sources are opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenPurpose {
    /// Counting rows and tokens.
    Count,
    /// Giving rows.
    Give,
}

impl SourceRows {
    /// Opens a source: its lengths are scanned once for every stratum and run of passes.
    ///
    /// # Errors
    /// [`EpochError::NotEncoded`]; [`EpochError::Store`].
    pub fn open(
        rules: RowRules,
        lengths: &LengthReader,
        pinned: Arc<PinnedSource>,
        trained: &LossReader,
        purpose: OpenPurpose,
    ) -> Result<Self, EpochError> {
        let mut strata = Vec::new();
        let passes = lengths.draws.len().min(rules.max_repeats as usize);
        let times = match passes {
            0 => pinned.times(),
            passes => vec![1; passes - 1],
        };
        for stratum in 0..pinned.strata.len() {
            let (mut runs, mut first) = (Vec::new(), 0_u32);
            for times in times.iter().chain([&1]) {
                let run = pinned.run_of(first);
                let key = pass_rows::PassKey { pinned: Arc::clone(&pinned), stratum, run };
                let lengths = lengths.of_pass(first);
                let trained = match passes {
                    0 => trained.clone(),
                    _ => trained.by(lengths.tokenizer),
                };
                let opened = PassRows::open(&rules, &lengths, key, &trained, purpose)?;
                runs.push(Arc::new(opened));
                first = first.saturating_add(*times);
            }
            strata.push(runs);
        }
        let mut source = Self { rules, pinned, times, strata, schedules: Vec::new() };
        if source.strata.len() > 1 && !source.rules.replace {
            for (run, opens) in source.rules.opens.iter().enumerate() {
                let amounts = source.amounts(run);
                source.schedules.push(Arc::new(strata_table(&amounts, opens)?));
            }
        }
        Ok(source)
    }

    pub const fn rules(&self) -> &RowRules {
        &self.rules
    }

    /// What the source's passes hold.
    pub fn pinned(&self) -> &PinnedSource {
        &self.pinned
    }

    /// Runs of passes that hold the same; the last one serves all that follow.
    pub fn runs(&self) -> usize {
        self.strata.first().map_or(0, Vec::len)
    }

    /// Strata that are scheduled by themselves.
    pub fn strata(&self) -> usize {
        self.strata.len()
    }

    fn run_of(&self, pass: u32) -> usize {
        run_of(&self.times, pass)
    }

    /// The passes from `first` to before `end` by the run that they belong to: the first of each, and how many.
    pub fn by_run(&self, first: u32, end: u32) -> Vec<(u32, u32)> {
        let mut by_run = Vec::new();
        let (mut from, mut start) = (first, 0_u32);
        for times in self.times.iter().copied().chain([u32::MAX]) {
            let next = start.saturating_add(times).min(end);
            if next > from {
                by_run.push((from, next - from));
                from = next;
            }
            start = next;
        }
        by_run
    }

    fn stratum(&self, stratum: u16, pass: u32) -> Result<&Arc<PassRows>, EpochError> {
        let runs = self.strata.get(usize::from(stratum));
        runs.and_then(|runs| runs.get(self.run_of(pass)))
            .ok_or_else(|| EpochError::bug("a row of no stratum"))
    }

    fn of_run(&self, run: usize) -> impl Iterator<Item = &Arc<PassRows>> {
        self.strata.iter().filter_map(move |runs| runs.get(run))
    }

    /// Packed tokens of each stratum in a pass of a run, as [`SourceRows::scheduled_tokens`] counts them.
    pub fn amounts(&self, run: usize) -> Vec<u64> {
        self.of_run(run).map(|rows| rows.packed_tokens()).collect()
    }

    /// Documents by effective length, whole ones of all strata in a pass of a run, each as often as it comes.
    pub fn histogram(&self, run: usize) -> LengthHistogram {
        let mut all = LengthHistogram::new();
        for rows in self.of_run(run) {
            for (length, count) in rows.histogram() {
                *all.entry(*length).or_default() += count;
            }
        }
        all
    }

    /// Rows by the places that each takes up, and their tokens, if the documents of a pass were not packed: one row a
    /// document, or part of one that is longer than a row.
    pub fn without_packing(&self, pass: u32) -> (LengthHistogram, u64) {
        let policy = PackPolicy {
            kind: PackKind::None,
            overlap: false,
            whole_rows: false,
            ..self.rules.policy
        };
        let documents = self.histogram(self.run_of(pass));
        let mut tokens = policy.packed_tokens(&documents);
        let whole = PackItems::of(&documents, &[], &policy);
        let mut rows: LengthHistogram = whole.descending().collect();
        let parts = self.pinned.strata_of(pass).flat_map(|of| of.parts.segments());
        for part in parts.flat_map(|part| policy.pieces(*part)) {
            *rows.entry(policy.slot(policy.in_row(part).length)).or_default() += 1;
            tokens += policy.part_tokens(&part);
        }
        (rows, tokens)
    }

    /// A digest of the lengths in its passes: BLAKE3 over, run by run, length u32 and documents u64, little-endian,
    /// ascending, and u32 0 after each run.
    pub fn lengths_digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for run in 0..self.runs() {
            for (length, documents) in self.histogram(run) {
                hasher.update(&length.to_le_bytes());
                hasher.update(&documents.to_le_bytes());
            }
            hasher.update(&0_u32.to_le_bytes());
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Whether anything of `rest` is packed.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn packs_any(&self, rest: &Coverage) -> Result<bool, EpochError> {
        if !rest.parts.is_empty() {
            return Ok(true);
        }
        match (self.strata.iter().flatten().next(), rest.whole.layers().first()) {
            (Some(rows), Some(documents)) => rows.packs_any(documents),
            _ => Ok(false),
        }
    }

    /// The tokenizer whose ids the rows of a pass have; none of a source without strata.
    pub fn tokenizer_of(&self, pass: u32) -> Option<TokenizerId> {
        self.of_run(self.run_of(pass)).next().map(|rows| rows.tokenizer())
    }

    /// The documents of `rest` of which anything is packed in a pass.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn packed_documents(
        &self,
        pass: u32,
        rest: &Coverage,
    ) -> Result<RoaringTreemap, EpochError> {
        let mut packed = rest.parts.documents();
        if let (Some(rows), Some(all)) =
            (self.of_run(self.run_of(pass)).next(), rest.whole.layers().first())
        {
            packed |= rows.packed_of(all)?;
        }
        Ok(packed)
    }

    /// Documents of the first pass of which a part ends without their EOS; none where there is no EOS. A document that
    /// `concat` cuts goes on in the next row.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when the plan pins nothing.
    pub fn cut_without_eos(&self) -> Result<u64, EpochError> {
        let policy = self.rules.policy;
        if !policy.eos || policy.cut_eos {
            return Ok(0);
        }
        let is_concat = policy.kind == PackKind::Concat;
        let is_cut = |length: u32| {
            let packed = policy.packed(length);
            packed > 0 && (packed < length || (packed > policy.capacity && !is_concat))
        };
        let whole = self.histogram(0);
        let whole: u64 =
            whole.iter().filter(|(length, _)| is_cut(**length)).map(|(_, of)| of).sum();
        let mut parts = RoaringTreemap::new();
        for part in self.pinned.strata_of(0).flat_map(|of| of.parts.segments()) {
            let is_last = part.end() == part.document_length;
            if !(is_last || is_concat && part.end() < policy.packed(part.document_length)) {
                parts.insert(part.document.0);
            }
        }
        Ok(whole + parts.len())
    }

    /// What the first pass comes to; walks it where rows are cut in order.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_first(&self) -> Result<PassCount, EpochError> {
        self.count(0, 0)
    }

    /// What passes after the first count, run by run, where `first` is what the first comes to: of passes that count
    /// differently, as much as they can all be relied on to give together. The last run is there even if no pass of it
    /// comes.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn count_later(&self, first: &PassCount) -> Result<Vec<LaterPasses>, EpochError> {
        let last = self.runs().saturating_sub(1);
        let mut later = Vec::new();
        for (pass, passes) in self.by_run(1, self.rules.max_repeats.max(1)) {
            let run = self.run_of(pass);
            later.push(LaterPasses { passes, amount: self.count_run(run, (pass, passes), first)? });
        }
        if later.is_empty() {
            let amount = if last == 0 { first.amount } else { self.count(last, 0)?.amount };
            later.push(LaterPasses { passes: 0, amount });
        }
        Ok(later)
    }

    /// What each of some passes of a run counts.
    fn count_run(
        &self,
        run: usize,
        (pass, passes): (u32, u32),
        first: &PassCount,
    ) -> Result<u64, EpochError> {
        if !self.rules.passes_differ() {
            return if run == 0 { Ok(first.amount) } else { Ok(self.count(run, 0)?.amount) };
        }
        let walked = passes.min(PASSES_WALKED);
        let (mut amount, mut fewest) = (0, 0);
        for pass in pass..pass + walked {
            let count = self.count(run, pass)?;
            amount += u128::from(count.amount);
            fewest = fewest.max(self.fewest(run, &count));
        }
        amount += u128::from(passes - walked) * u128::from(fewest);
        Ok(u64::try_from(amount / u128::from(passes.max(1))).unwrap_or(u64::MAX))
    }

    fn count(&self, run: usize, pass: u32) -> Result<PassCount, EpochError> {
        let mut count = PassCount::default();
        for (stratum, rows) in (0_u16..).zip(self.of_run(run)) {
            count.add(&pass::count(rows, stratum, pass)?);
        }
        Ok(count)
    }

    /// The least that a pass of a run counts in any order, where another pass comes to `count`: the rows that its
    /// places fill, or the tokens of its documents, to which a row adds at most one EOS.
    fn fewest(&self, run: usize, count: &PassCount) -> u64 {
        let capacity = u64::from(self.rules.policy.capacity);
        match self.rules.unit {
            MixUnit::Rows => self.of_run(run).map(|rows| rows.places() / capacity.max(1)).sum(),
            _ => count.amount.saturating_sub(count.rows),
        }
    }

    /// Packed tokens of the documents that a pass holds whole, each as often as it comes, without EOS at cuts.
    pub fn whole_tokens(&self, pass: u32) -> u64 {
        let policy = self.rules.policy;
        let whole = self.histogram(self.run_of(pass)).into_iter();
        whole.map(|(length, documents)| u64::from(policy.packed(length)) * documents).sum()
    }

    /// The tokens of these documents, each counted once.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn tokens_of(&self, documents: &RoaringTreemap) -> Result<u64, EpochError> {
        let rows = self.strata.iter().flatten().next().filter(|_| !documents.is_empty());
        rows.map_or(Ok(0), |rows| rows.tokens_of(documents))
    }

    /// Rows of a pass, where they are known without walking it.
    pub fn pass_rows(&self, pass: u32) -> Option<u64> {
        self.of_run(self.run_of(pass)).map(|rows| rows.rows()).sum()
    }

    /// Tokens of a row by which its stratum is scheduled: where the rows decide how many EOS are added, without those.
    pub fn scheduled_tokens(&self, row: &RowRef) -> u64 {
        let policy = self.rules.policy;
        let added = match &row.place {
            RowContent::Cut(segments) if policy.cut_eos && policy.kind == PackKind::Concat => {
                segments.iter().filter(|segment| policy.adds_eos(segment)).count() as u64
            }
            RowContent::Cut(_) | RowContent::Packed(_) => 0,
        };
        u64::from(row.tokens).saturating_sub(added)
    }

    /// Real tokens of a pass; of `concat` without an EOS that is added.
    pub fn pass_tokens(&self, pass: u32) -> u64 {
        self.amounts(self.run_of(pass)).iter().sum()
    }

    /// Tokens at the end of a pass of a run that fill no row and are left out.
    pub fn unfilled_tokens(&self, run: usize) -> u64 {
        self.of_run(run).map(|rows| rows.unfilled_tokens()).sum()
    }

    /// The tokens of listed rows, in the order of documents; none where no other sampler puts them in
    /// order.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such pass.
    pub fn listed_lengths(&self, pass: u32) -> Result<Option<Vec<u32>>, EpochError> {
        Ok(self.stratum(0, pass)?.listed_lengths())
    }

    /// Shows each step to the order of a pass to `seen`, where another sampler puts its rows in order.
    ///
    /// # Errors
    /// [`EpochError::Recipe`] when there are more rows in a batch than memory has places.
    pub fn show_order(
        &self,
        pass: u32,
        seen: &mut dyn FnMut(OrderStep<'_>),
    ) -> Result<(), EpochError> {
        self.stratum(0, pass)?.listed_order(pass, seen).map(|_| ())
    }

    /// Row `index` of a pass, in the order of documents, where rows are listed.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn listed_row(&self, pass: u32, index: u64) -> Result<RowRef, EpochError> {
        self.stratum(0, pass)?.row(0, pass, index)
    }

    /// What is left out at the end of a pass because it fills no row.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn unfilled_segments(&self, pass: u32) -> Result<Vec<Segment>, EpochError> {
        let mut left_out = Vec::new();
        let rows = self.of_run(self.run_of(pass));
        for rows in rows.filter(|rows| rows.unfilled_tokens() > 0) {
            left_out.extend(pass::unfilled_segments(rows, pass, rows.unfilled_tokens())?);
        }
        Ok(left_out)
    }

    /// What is in a row and not in the row before.
    ///
    /// # Errors
    /// As [`SourceRows::segments`].
    pub fn segments_without_repeated(&self, row: &RowRef) -> Result<Vec<Segment>, EpochError> {
        let segments = self.segments(row)?;
        Ok(if row.repeated == 0 {
            segments
        } else {
            without_repeated(&segments, row.repeated).collect()
        })
    }

    /// Tokens of each segment of a row, without finding its documents.
    ///
    /// # Errors
    /// [`EpochError::Bug`] when there is no such row.
    pub fn segment_lengths(&self, row: &RowRef) -> Result<Vec<u32>, EpochError> {
        match &row.place {
            RowContent::Cut(segments) => {
                Ok(segments.iter().map(|segment| segment.length).collect())
            }
            RowContent::Packed(index) => {
                self.stratum(row.stratum, row.pass)?.segment_lengths(row.pass, *index)
            }
        }
    }

    /// What is in a row.
    ///
    /// # Errors
    /// [`EpochError::Store`].
    pub fn segments(&self, row: &RowRef) -> Result<Vec<Segment>, EpochError> {
        match &row.place {
            RowContent::Cut(segments) => Ok(segments.clone()),
            RowContent::Packed(index) => {
                self.stratum(row.stratum, row.pass)?.segments(row.pass, *index)
            }
        }
    }
}

/// Rows, tokens and size of one pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PassCount {
    pub rows: u64,
    /// Rows whose every place holds a real token.
    pub full_rows: u64,
    /// Rows with as many segments as they may have, and places left.
    pub segment_full_rows: u64,
    /// Real tokens.
    pub tokens: u64,
    /// In the mix's unit.
    pub amount: u64,
}

impl PassCount {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.full_rows += other.full_rows;
        self.segment_full_rows += other.segment_full_rows;
        self.tokens += other.tokens;
        self.amount += other.amount;
    }
}
