//! Counts repeats in an epoch: documents that come more than once, and near copies of documents.
//!
//! The counts are taken from what passes hold, as bitmaps, so that no row is read. A pass that the epoch does not
//! finish counts by its share.
//!
//! It is told from what passes hold, as bitmaps, so that no row is looked at. Of a pass that an epoch does not end, its
//! share counts.

use crate::corpus::Corpora;
use crate::epoch::coverage::{CopyLayers, Coverage};
use crate::epoch::error::EpochError;
use crate::epoch::plan::{PlannedSource, narrow, ratio};
use crate::epoch::rows::SourceRows;
use model::{DocId, Standing, TokenizerId};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;

/// What of a source comes more than once in some passes over it. Near copies are the documents of one cluster of
/// duplicates, as the corpus has it now: a plan over an earlier snapshot may draw several of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Repeats {
    /// Documents that come more than once.
    pub documents: u64,
    /// Tokens of their second and later copies, with BOS and EOS.
    pub tokens: u64,
    /// Documents that come more than once, where near copies are one document.
    pub near_documents: u64,
    /// Tokens of second and later copies, where near copies are one document: of these the one that was stored first
    /// is the first copy.
    pub near_tokens: u64,
}

/// What of a source comes more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SourceRepeats {
    /// In the epoch; in proportion, where it does not end a pass.
    pub epoch: Repeats,
    /// In all passes of the plan.
    pub passes: Repeats,
}

/// What of a source comes more than once, of which the epoch takes `tokens`; none where documents are drawn with
/// replacement, which have no passes.
pub(super) fn repeats(
    corpora: &Corpora,
    rows: &SourceRows,
    planned: &PlannedSource,
    tokens: u64,
) -> Result<Option<SourceRepeats>, EpochError> {
    if rows.rules().replace {
        return Ok(None);
    }
    let near = NearCopies::among(corpora, &rows.pinned().documents())?;
    let mut left = tokens;
    let mut in_epoch: Option<Repeats> = None;
    let mut sum = PassSum::of(rows);
    for (pass, times) in rows.by_run(0, rows.rules().max_repeats) {
        let of_pass = if pass == 0 { planned.packed_tokens } else { rows.pass_tokens(pass) };
        let whole = u32::try_from(left / of_pass.max(1)).unwrap_or(u32::MAX).min(times);
        left -= u64::from(whole) * of_pass;
        if in_epoch.is_none() && whole < times {
            sum.add_passes(rows, pass, whole)?;
            let before = sum.repeats(rows, &near)?;
            sum.add_passes(rows, pass, 1)?;
            let share = ratio(left.into(), of_pass.into());
            in_epoch = Some(before.towards(&sum.repeats(rows, &near)?, share));
            sum.add_passes(rows, pass, times - whole - 1)?;
        } else {
            sum.add_passes(rows, pass, times)?;
        }
    }
    let passes = sum.repeats(rows, &near)?;
    Ok(Some(SourceRepeats { epoch: in_epoch.unwrap_or(passes), passes }))
}

impl Repeats {
    /// Interpolates from these counts to those of one more pass, by the share `share`.
    fn towards(&self, more: &Self, share: f64) -> Self {
        let between =
            |from: u64, to: u64| from + (share * to.saturating_sub(from) as f64).round() as u64;
        Self {
            documents: between(self.documents, more.documents),
            tokens: between(self.tokens, more.tokens),
            near_documents: between(self.near_documents, more.near_documents),
            near_tokens: between(self.near_tokens, more.near_tokens),
        }
    }
}

/// The clusters of which a source draws several documents.
#[derive(Default)]
struct NearCopies(Vec<Vec<u64>>);

impl NearCopies {
    /// The near copies among `drawn`; only documents that are duplicates of another one are looked up.
    fn among(corpora: &Corpora, drawn: &RoaringTreemap) -> Result<Self, EpochError> {
        let mut clusters: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for standing in [Standing::Exact, Standing::Near] {
            for document in corpora.documents_standing(standing)? & drawn {
                if let Some(witness) = corpora.witness_of(DocId(document))? {
                    clusters.entry(witness.0).or_default().push(document);
                }
            }
        }
        for (witness, members) in &mut clusters {
            members.extend(drawn.contains(*witness).then_some(*witness));
            members.sort_unstable();
        }
        clusters.retain(|_, members| members.len() > 1);
        Ok(Self(clusters.into_values().collect()))
    }
}

/// How often documents come in some passes.
#[derive(Default)]
struct PassSum {
    /// Whether documents are left out for their length.
    drops: bool,
    /// Those that can come then, by the tokenizer of the pass that was counted last.
    packed: Option<(Option<TokenizerId>, RoaringTreemap)>,
    /// Whole documents that come, and those that come more than once.
    once: RoaringTreemap,
    again: RoaringTreemap,
    /// Tokens of all copies of whole documents.
    tokens: u128,
    /// The tokens of the first copies, where a pass that holds each document once says so.
    first: Option<u64>,
    /// Documents of which parts come: tokens of all parts, and those of the document.
    parts: BTreeMap<u64, (u64, u32)>,
}

impl PassSum {
    /// The count before any pass of a source.
    fn of(rows: &SourceRows) -> Self {
        let policy = rows.rules().policy;
        let drops = |run| rows.histogram(run).keys().any(|length| policy.packed(*length) == 0);
        Self { drops: (0..rows.runs()).any(drops), ..Self::default() }
    }

    /// Counts `times` passes of a source that each hold what `pass` does.
    fn add_passes(&mut self, rows: &SourceRows, pass: u32, times: u32) -> Result<(), EpochError> {
        if times == 0 {
            return Ok(());
        }
        let tokenizer = rows.tokenizer_of(pass);
        if self.drops && self.packed.as_ref().is_none_or(|(of, _)| *of != tokenizer) {
            let all = Coverage::whole(CopyLayers::single(rows.pinned().documents()));
            self.packed = Some((tokenizer, rows.packed_documents(pass, &all)?));
        }
        let (is_first, before) = (self.tokens == 0, self.once.len());
        let is_single = rows.pinned().strata_of(pass).all(|of| of.whole.layers().len() < 2);
        let strata = rows.pinned().strata_of(pass);
        strata.for_each(|coverage| self.add(coverage, times));
        let of_pass = rows.whole_tokens(pass);
        self.tokens += u128::from(of_pass) * u128::from(times);
        if is_first {
            self.first = is_single.then_some(of_pass);
        } else if self.once.len() != before {
            self.first = None;
        }
        Ok(())
    }

    /// Tokens of the first copies of whole documents.
    fn first_copies(&self, rows: &SourceRows) -> Result<u64, EpochError> {
        self.first.map_or_else(|| rows.tokens_of(&self.once), Ok)
    }

    fn add(&mut self, coverage: &Coverage, times: u32) {
        for layer in coverage.whole.layers() {
            let packed = self.packed.as_ref().map(|(_, packed)| packed & layer);
            let layer = packed.as_ref().unwrap_or(layer);
            // A third copy changes nothing here.
            for _ in 0..times.min(2) {
                self.again |= &self.once & layer;
                self.once |= layer;
            }
        }
        for part in coverage.parts.segments().iter().filter(|_| times > 0) {
            let of = self.parts.entry(part.document.0).or_insert((0, part.document_length));
            of.0 = of.0.saturating_add(u64::from(part.length) * u64::from(times));
        }
    }

    fn comes(&self, document: u64) -> bool {
        self.once.contains(document) || self.parts.contains_key(&document)
    }

    fn comes_again(&self, document: u64) -> bool {
        let of_parts = |(tokens, length): &(u64, u32)| {
            self.once.contains(document) || *tokens > u64::from(*length)
        };
        self.again.contains(document) || self.parts.get(&document).is_some_and(of_parts)
    }

    fn repeats(&self, rows: &SourceRows, near: &NearCopies) -> Result<Repeats, EpochError> {
        let in_parts = self.parts.keys().filter(|id| !self.again.contains(**id));
        let documents =
            self.again.len() + in_parts.filter(|id| self.comes_again(**id)).count() as u64;
        let mut tokens = match self.again.is_empty() {
            true => 0,
            false => self.tokens.saturating_sub(self.first_copies(rows)?.into()),
        };
        for (document, (of, length)) in &self.parts {
            let first = if self.once.contains(*document) { 0 } else { u64::from(*length) };
            tokens += u128::from(of.saturating_sub(first));
        }
        let (mut near_documents, mut near_tokens) = (documents, tokens);
        let mut followers = RoaringTreemap::new();
        for members in &near.0 {
            let mut come = members.iter().copied().filter(|member| self.comes(*member));
            let Some(first) = come.next() else { continue };
            let later: Vec<u64> = come.collect();
            let again = later.iter().chain([&first]).filter(|id| self.comes_again(**id)).count();
            near_documents -= again as u64;
            near_documents += u64::from(again > 0 || !later.is_empty());
            for member in later {
                match self.parts.get(&member).filter(|_| !self.once.contains(member)) {
                    Some((of, length)) => near_tokens += u128::from((*of).min((*length).into())),
                    None => {
                        followers.insert(member);
                    }
                }
            }
        }
        near_tokens += u128::from(rows.tokens_of(&followers)?);
        let (tokens, near_tokens) = (narrow(tokens), narrow(near_tokens));
        Ok(Repeats { documents, tokens, near_documents, near_tokens })
    }
}
